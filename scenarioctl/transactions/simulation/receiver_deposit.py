"""What a chain takes of an account that receives an asset for the first time: Hydration takes a deposit for those that keep no account alive."""

from typing import TYPE_CHECKING

from scenarioctl.transactions.simulation.balances import existential_deposit, read_details
from scenarioctl.transactions.simulation.fee_charge import FeeCurrency, convert_fee
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_storage, read_table

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.client import Client

#: The deposit in percent of HDX's existential deposit: `InsufficientEDinHDX` of Hydration, which its metadata doesn't have.
_PERCENT = 110


async def receiver_deposit(
    client: "Client", assets: "Assets", *, asset: "Asset", pays: "Asset", receiver: bytes
) -> int:
    """Return how much of *pays* the chain takes of *receiver* before it credits *asset*, raw; 0 for most.

    Hydration takes it in the currency in which the receiver pays fees, and fails the deposit of *asset* if there is too
    little; a new account pays in the first asset that it gets.  Inconclusive if the chain doesn't tell.
    """
    if asset.kind != "tokens" or not asset.id.isdigit():
        return 0
    # No chain but Hydration is known to take one.
    if "MultiTransactionPayment" not in (await read_table(client)).pallets:
        return 0
    row = await read_details(client, asset)
    if row is None:
        raise Inconclusive(f"{client.chain.name} has no asset {asset.label}")
    held = await read_storage(client, "Tokens", "Accounts", receiver, int(asset.id))
    if row["is_sufficient"] or held["free"] or held["reserved"]:
        return 0
    native = assets.native(client.chain)
    least = await existential_deposit(client, native) * _PERCENT // 100
    number = None if pays.kind == "native" else int(pays.id)
    return await convert_fee(client, FeeCurrency(asset=pays, number=number), least)
