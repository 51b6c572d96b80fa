"""Queries of storage items, constants and runtime APIs.

A query is judged by a runtime table alone (`find_query_item`, `parse_query`), before any node is
asked (`run_query`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainUnreachable, InvalidRequest, blaming, shorten
from scenarioctl.runtime.storage_keys import HASHERS, StorageKey, read_key, storage_key
from scenarioctl.runtime.type_table import ApiMethod, StorageEntry
from scenarioctl.transactions.runtime_items import (
    find_places,
    format_result,
    is_named,
    items_of,
    suggest_item,
    write_constant,
)
from scenarioctl.transactions.values import ValueReader, ValueWriter

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable


#: Keys of a map that are asked for at once, and values.
KEYS_PAGE = 500
VALUES_PAGE = 200
#: So many entries of a map are read unless more are wanted, and so many at most.
DEFAULT_LIMIT = 100
LARGEST_LIMIT = 10_000


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A value that stands in the runtime itself."""

    pallet: str
    name: str


QueryItem = StorageEntry | Constant | ApiMethod
#: A kind of item -> what several are called.
_KINDS = {"storage": "storage items", "constant": "constants", "method": "methods"}


@dataclass(frozen=True, kw_only=True)
class RuntimeQuery:
    """An item, and with which parameters it is asked."""

    item: QueryItem
    #: Values of the runtime's types: parts of a storage key, or arguments of a runtime API.
    params: tuple[Any, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it is one value, not the entries of a map."""
        return not isinstance(self.item, StorageEntry) or len(self.params) == len(self.item.hashers)


@dataclass(frozen=True, kw_only=True)
class QueryAnswer:
    """What a chain answered."""

    #: As `format_result` writes it.
    text: str
    warnings: tuple[str, ...] = ()


def find_query_item(
    table: "RuntimeTable", pallet: object, method: object, *, pallet_field: str, method_field: str
) -> QueryItem:
    """Return what the two names mean.

    InvalidRequest lists what this runtime has, or what was meant.
    """
    pallets, apis = find_places(table, pallet, field=pallet_field)
    rows = items_of(table, pallets, apis)
    known = [row for row in rows if row[0] != "call"]
    exact = [row for row in known if row[2] == method]
    found = exact or [row for row in known if is_named(row[2], method)]
    if not found:
        place = " or ".join([*pallets, *apis])
        call = next((row for row in rows if is_named(row[2], method)), None)
        if call is not None:
            problem = (
                f"is a call of {call[1]}, which changes the chain and cannot be queried: use a "
                "chainTx step"
            )
        else:
            groups = [
                (_KINDS[kind], [row[2] for row in known if row[0] == kind])
                for kind in ("storage", "constant", "method")
            ]
            problem = f"is not in {place} of {table}, {suggest_item(method, groups)}"
        raise InvalidRequest(field=method_field, value=method, problem=problem)
    if len(found) > 1 and not exact:
        meant = ", ".join(
            f"the {_KINDS[kind].removesuffix('s')} {name}.{each}" for kind, name, each in found
        )
        raise InvalidRequest(
            field=method_field,
            value=method,
            problem=f"is ambiguous in {table}, it can mean: {meant}; use that spelling",
        )
    # Of several with one spelling the storage item is meant: it is what changes.
    kind, name, each = found[0]
    if kind == "storage":
        return table.storage_entry(name, each)
    if kind == "constant":
        return Constant(pallet=name, name=each)
    return table.api_method(name, each)


@blaming("params")
def parse_query(table: "RuntimeTable", item: QueryItem, params: Sequence[object]) -> RuntimeQuery:
    """Return *item* with parameters made from text by the runtime's types.

    InvalidRequest names the parameter that does not fit, its type, and what would.
    """
    if isinstance(item, Constant):
        _check_count(f"{item.pallet}.{item.name}", "is a constant and", "parameter", (), params)
        return RuntimeQuery(item=item)
    if isinstance(item, ApiMethod):
        return RuntimeQuery(item=item, params=_read_arguments(table, item, params))
    name, kinds = f"{item.pallet}.{item.name}", [*map(table.type_name, item.key_types)]
    _check_count(name, "" if kinds else "is a single value and", "key", kinds, params)
    keys = tuple(
        ValueReader(table, f"{name}: key {number}").read(type_id, value)
        for number, (type_id, value) in enumerate(
            zip(item.key_types, params, strict=False), start=1
        )
    )
    # What the types let pass may still not encode.
    storage_key(table, item.pallet, item.name, keys, partial=True)
    return RuntimeQuery(item=item, params=keys)


def _check_count(
    name: str, what: str, noun: str, kinds: Sequence[str], given: Sequence[object]
) -> None:
    """Refuse more than *name*, which has a key or parameter of each of *kinds*, takes."""
    if len(given) > len(kinds):
        takes = f"no {noun}s"
        if kinds:
            takes = f"{len(kinds)} {noun}{'s' * (len(kinds) != 1)} ({', '.join(kinds)})"
        takes = " ".join(filter(None, (name, what, "takes", takes)))
        raise InvalidRequest(f"{takes}, not {len(given)}: leave {shorten(given[len(kinds)])} out")


async def run_query(
    client: "Client",
    table: "RuntimeTable",
    asked: RuntimeQuery,
    *,
    block: str = "",
    limit: int = DEFAULT_LIMIT,
) -> QueryAnswer:
    """Return what the chain answers at the block with the hash *block*, whose runtime *table* is;
    at its best without.

    The entries of a map come in the order of the trie, at most *limit*, each `{"key": …, "value":
    …}`; the key is a list where it has several parts.
    """
    if isinstance(asked.item, Constant):
        item = asked.item
        return QueryAnswer(text=write_constant(table, client.chain, item.pallet, item.name))
    writer = ValueWriter(table, client.chain, text_numbers=True)
    if isinstance(asked.item, ApiMethod):
        return await _read_api(client, table, writer, asked.item, asked.params, block)
    key = storage_key(table, asked.item.pallet, asked.item.name, asked.params, partial=True)
    if not asked.whole:
        return await _read_entries(client, table, writer, key, block, limit)
    answer = await client.call("state_getStorage", key.hex, *([block] if block else []))
    value_type = asked.item.value_type
    if answer is None and asked.item.modifier == "Optional":
        return QueryAnswer(text="null")
    if answer is None:
        value = table.decode(value_type, asked.item.default)
    else:
        value = client.decode(table, value_type, answer)
        if table.types.is_empty(value_type):
            # A value without content, as in a set, is there all the same.
            return QueryAnswer(text="[]")
    return QueryAnswer(text=format_result(writer.value(value_type, value)))


async def _read_api(
    client: "Client",
    table: "RuntimeTable",
    writer: ValueWriter,
    method: ApiMethod,
    arguments: tuple[Any, ...],
    block: str,
) -> QueryAnswer:
    data = _encode_arguments(table, method, arguments)
    answer = await client.call(
        "state_call", f"{method.api}_{method.name}", "0x" + data.hex(), *([block] if block else [])
    )
    value = client.decode(table, method.output_type, answer)
    return QueryAnswer(text=format_result(writer.value(method.output_type, value)))


async def read_entries(
    client: "Client", table: "RuntimeTable", key: StorageKey, at: str, limit: int
) -> tuple[list[tuple[str, Any]], bool]:
    """Return up to *limit* entries of a map whose keys begin with *key*, with their values, and
    whether there are more."""
    found: list[str] = []
    # One more than wanted tells whether there are more.
    while len(found) <= limit:
        wanted = min(KEYS_PAGE, limit + 1 - len(found))
        page = await client.call(
            "state_getKeysPaged", key.hex, wanted, found[-1] if found else None, at
        )
        # A node that repeats itself must not hold us for ever.
        if not isinstance(page, list) or (page and found and page[0] <= found[-1]):
            raise ChainUnreachable(
                f"{client.chain.title} returned no keys of a map: {shorten(page)}"
            )
        found += page
        if len(page) < wanted:
            break
    cut, found = len(found) > limit, found[:limit]
    entries = []
    for start in range(0, len(found), VALUES_PAGE):
        some = found[start : start + VALUES_PAGE]
        answers = await client.call_many([("state_getStorage", (each, at)) for each in some])
        entries += [
            (each, client.decode(table, key.entry.value_type, answer))
            for each, answer in zip(some, answers, strict=True)
        ]
    return entries, cut


async def _read_entries(
    client: "Client",
    table: "RuntimeTable",
    writer: ValueWriter,
    key: StorageKey,
    block: str,
    limit: int,
) -> QueryAnswer:
    # All of one block, however many are made meanwhile.
    entries, cut = await read_entries(client, table, key, block or (await client.head())[1], limit)
    rows = [
        {
            "key": _write_key(table, writer, key.entry, each),
            "value": writer.value(key.entry.value_type, value),
        }
        for each, value in entries
    ]
    answered = QueryAnswer(text=format_result(rows))
    if not cut:
        return answered
    more = (
        f"`limit` allows up to {LARGEST_LIMIT}"
        if limit < LARGEST_LIMIT
        else "pass the first part of the key to narrow it down"
    )
    name = f"{key.entry.pallet}.{key.entry.name}"
    return replace(answered, warnings=(f"{name} has more than the {limit} entries shown; {more}",))


def _write_key(table: "RuntimeTable", writer: ValueWriter, entry: StorageEntry, key: str) -> Any:
    """Return the parts of a key, or its only one; 0x hex of the hash of a part that is kept as a
    hash alone."""
    parts = [
        writer.value(type_id, part) if HASHERS[hasher][2] else "0x" + part.hex()
        for hasher, type_id, part in zip(
            entry.hashers, entry.key_types, read_key(table, entry, key, hashes=True), strict=True
        )
    ]
    return parts[0] if len(parts) == 1 else parts


def _read_arguments(
    table: "RuntimeTable", method: ApiMethod, params: Sequence[object]
) -> tuple[Any, ...]:
    name = f"{method.api}.{method.name}"
    kinds = [f"{field.name}: {table.type_name(field.type_id)}" for field in method.inputs]
    _check_count(name, "", "parameter", kinds, params)
    arguments = []
    for number, field in enumerate(method.inputs):
        reader = ValueReader(table, f"{name}: parameter {field.name}")
        if number >= len(params) and not table.types.is_option(field.type_id):
            raise InvalidRequest(
                f"{name}: parameter {field.name} is missing, its type is "
                f"{table.type_name(field.type_id)}: "
                f"expected {reader.example(field.type_id)}"
            )
        arguments.append(
            reader.read(field.type_id, params[number] if number < len(params) else None)
        )
    _encode_arguments(table, method, arguments)
    return tuple(arguments)


def _encode_arguments(table: "RuntimeTable", method: ApiMethod, arguments: Sequence[Any]) -> bytes:
    return b"".join(
        table.encode(field.type_id, value)
        for field, value in zip(method.inputs, arguments, strict=True)
    )
