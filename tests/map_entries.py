"""Entries of a storage map of a connected chain, for the tests that look for some."""

from typing import Any

from scenarioctl.chains.client import Client
from scenarioctl.runtime.storage_keys import read_key, storage_key

#: So many keys, and so many values, are asked for at once.
_PAGE = 500


async def read_entries(
    client: Client, pallet: str, entry: str, *partial: Any, limit: int = 1000
) -> list[tuple[list[Any], Any]]:
    """Return keys and values of a map that begin with *partial*; a part of a key that is only
    hashed is None."""
    table = await client.table()
    prefix = storage_key(table, pallet, entry, partial, partial=True)
    _, block = await client.head()
    found: list[str] = []
    while len(found) < limit:
        start = found[-1] if found else prefix.hex
        wanted = min(_PAGE, limit - len(found))
        page = await client.call("state_getKeysPaged", prefix.hex, wanted, start, block)
        found += page or ()
        if not page or len(page) < _PAGE:
            break
    answers: list[Any] = []
    for begin in range(0, len(found), _PAGE):
        some = found[begin : begin + _PAGE]
        answers += await client.call_many([("state_getStorage", (key, block)) for key in some])
    return [
        (read_key(table, prefix.entry, key), client.read_value(table, prefix, answer))
        for key, answer in zip(found, answers, strict=True)
    ]
