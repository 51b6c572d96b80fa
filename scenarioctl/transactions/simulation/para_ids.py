"""Whether a parachain has the para id that config.toml says: messages go by that number, whatever node was asked."""

from typing import TYPE_CHECKING

from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.simulation.runtime_api import Clients, read_storage

if TYPE_CHECKING:
    from scenarioctl.transactions.transfer.request import Transfer


async def check_para_ids(clients: Clients, transfer: "Transfer") -> None:
    """Refuse a transfer if a chain without trust facts has another para id than its table says; Inconclusive if it doesn't tell."""
    for chain in (transfer.source, transfer.destination):
        if trust_of(chain) is not None:
            continue
        told = await read_storage(clients(chain), "ParachainInfo", "ParachainId")
        if told != chain.para_id:
            raise InvalidRequest(
                f"chains.{chain.name}.para_id {chain.para_id} is wrong: its nodes say {told}, and the transfer would go to another chain"
            )
