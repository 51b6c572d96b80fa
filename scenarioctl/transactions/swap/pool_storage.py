"""Storage entries of the exchange chain, of which not every runtime has all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.storage_keys import StorageAddress
    from scenarioctl.runtime.table import RuntimeTable


async def read_entries(
    client: "Client", table: "RuntimeTable", entries: Sequence["StorageAddress"], *, at: str
) -> list[Any]:
    """Return the values stored at the block *at*, in one round trip; None also if the runtime has no such entry."""
    there = [
        pallet in table.pallets and entry in table.storage_entries(pallet) for pallet, entry, _ in entries
    ]
    wanted = [entry for entry, known in zip(entries, there, strict=True) if known]
    values = iter(await client.storages(wanted, at=at))
    return [next(values) if known else None for known in there]


def is_erc20(registered: Any) -> bool:
    """Tell whether an entry of the asset registry is a contract's token."""
    return bool(registered) and registered["asset_type"] == "Erc20"
