"""Why a beneficiary is credited with nothing."""

from typing import TYPE_CHECKING

from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.simulation.runtime_api import Inconclusive

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.model.checks import Amount


async def say_no_credit(
    client: "Client", asset: "Asset", beneficiary: bytes, computed: "Amount | None"
) -> str:
    """Return why no *asset* is credited on the chain of *client*, where *computed* should arrive."""
    chain = client.chain.name
    sentence = (
        f"no {asset.display_name} is credited to the beneficiary on {chain}, although nothing fails there"
    )
    try:
        deposit = await existential_deposit(client, asset)
        held = await free_balance(client, asset, beneficiary)
    except Inconclusive:
        return sentence
    if computed is not None and computed.value < deposit and not held:
        return f"{computed} would arrive on {chain}, less than the existential deposit of {amount_of(asset, deposit)}, and the beneficiary holds none there yet: it would be lost without a trace"
    return sentence
