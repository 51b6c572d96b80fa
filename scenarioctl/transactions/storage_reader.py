"""Reads storage of one block, many values in few requests, and what a runtime may lack."""

from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.runtime.storage_keys import StorageAddress, storage_key

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable

#: Values that are asked for at once: a page of nominators has up to 25 kB.
_AT_ONCE = 100


class StorageReader:
    """Reads storage of one block."""

    def __init__(self, client: "Client", table: "RuntimeTable", at: str) -> None:
        self.client, self.table, self.at = client, table, at

    def has(self, pallet: str, entry: str) -> bool:
        return pallet in self.table.pallets and entry in self.table.storage_entries(pallet)

    async def read(self, *entries: StorageAddress) -> list[Any]:
        """Return the values, None or the default where nothing is stored; None of what the runtime
        hasn't got."""
        keys = {
            place: storage_key(self.table, *each)
            for place, each in enumerate(entries)
            if self.has(*each[:2])
        }
        found: dict[int, Any] = {}
        places = list(keys)
        for start in range(0, len(places), _AT_ONCE):
            some = places[start : start + _AT_ONCE]
            values = await self.client.storage_values(
                self.table, [keys[each] for each in some], at=self.at
            )
            found |= zip(some, values, strict=True)
        return [found.get(place) for place in range(len(entries))]

    async def stored(self, pallet: str, entry: str, *parts: Any) -> Any:
        """Return a value; None if nothing is stored, also where the runtime has a default."""
        key = storage_key(self.table, pallet, entry, parts)
        answer = await self.client.call("state_getStorage", key.hex, self.at)
        return (
            None if answer is None else self.client.decode(self.table, key.entry.value_type, answer)
        )

    async def ask(self, api: str, method: str, *arguments: Any) -> int | None:
        """Return the amount that a runtime API answers; None if the chain doesn't tell."""
        try:
            return int(await self.client.runtime_call(api, method, *arguments, at=self.at))
        except (ChainRefused, InvalidRequest):
            return None
