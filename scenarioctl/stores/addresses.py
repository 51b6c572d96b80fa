"""The address book of a store: accounts with names, no two of which are easily confused."""

import json
from functools import partial

from scenarioctl.errors import Conflict
from scenarioctl.model.acting import NamedAddress, appearance
from scenarioctl.stores import statements
from scenarioctl.stores.asking import Asking, Operation, find, find_all

#: A store has at most so many; all are read at once.
MOST = 1000


class AddressBook:
    """That of one store; `tests/test_address_book.py` shows it by example."""

    def __init__(self, store: Asking) -> None:
        self._store = store

    async def list(self) -> list[NamedAddress]:
        """Return all entries, in the order of their names."""
        return await self._store.read(_read_all)

    async def put(self, entry: NamedAddress) -> None:
        """Add *entry*, or change how the same account of the same name is spelled, whether it is
        watched, and who acts for it.

        Conflict if another account has the name or one that looks like it, if the account has
        another name, or if the book is full.
        """
        await self._store.write(partial(_put, entry))

    async def remove(self, name: str) -> bool:
        """Remove the entry; False if there is none."""
        return (
            await self._store.write(partial(find, statements.REMOVE_ADDRESS, name=name)) is not None
        )


def _read_all() -> Operation[list[NamedAddress]]:
    rows = yield from find_all(statements.LIST_ADDRESSES)
    entries = [
        NamedAddress(
            name=name,
            account=account,
            address=address,
            watched=bool(watched),
            layers=tuple(json.loads(layers or "[]")),
            created=created,
        )
        for name, account, address, watched, layers, created in rows
    ]
    return sorted(entries, key=lambda each: (each.name.casefold(), each.name))


def _put(entry: NamedAddress) -> Operation[None]:
    yield statements.LOCK_ADDRESSES, {}
    entries = yield from _read_all()
    same = [each for each in entries if (each.name, each.account) == (entry.name, entry.account)]
    if not same:
        _refuse_mix_up(entry, entries)
    layers = json.dumps(entry.layers) if entry.layers else ""
    yield statements.PUT_ADDRESS, {**vars(entry), "watched": int(entry.watched), "layers": layers}


def _refuse_mix_up(entry: NamedAddress, entries: list[NamedAddress]) -> None:
    for each in entries:
        if each.name == entry.name:
            raise Conflict(
                f"{each.name!r} is the name of {each.address}: to use it for another "
                "account, remove it first, with address remove"
            ).blame("name", each.name)
        if each.account == entry.account:
            raise Conflict(
                f"{entry.address} has the name {each.name!r}: use that, or remove it "
                "first, with address remove"
            ).blame("address", entry.address)
        if appearance(each.name) == appearance(entry.name):
            raise Conflict(
                f"the name {entry.name!r} is easily confused with {each.name!r}, which "
                f"means {each.address}: choose another name"
            ).blame("name", entry.name)
    if len(entries) >= MOST:
        raise Conflict(
            f"the address book has {MOST} names, the most there can be: remove one first, "
            "with address remove"
        )
