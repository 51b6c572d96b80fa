"""The items of a runtime, as people read and query them: calls, storage items, constants, methods,
and their types.

A query is judged by a runtime table alone (`find_query_item`, `parse_query`), before any node is
asked (`run_query`).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.errors import ChainUnreachable, InvalidRequest, blaming, fold, shorten, suggest
from scenarioctl.runtime.storage_keys import HASHERS, StorageKey, read_key, storage_key
from scenarioctl.runtime.type_table import ApiMethod, StorageEntry
from scenarioctl.transactions.values import ValueReader, ValueWriter

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
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
    table: "RuntimeTable",
    pallet: object,
    method: object,
    *,
    pallet_field: str = "pallet_name",
    method_field: str = "method_name",
) -> QueryItem:
    """Return what the two names mean, in any case and without regard to `_` and `-`.

    InvalidRequest lists what this runtime has, or what was meant.
    """
    pallets = _matching(pallet, table.pallets)
    apis = _matching(pallet, table.apis)
    if not pallets and not apis:
        silent = (
            ""
            if table.apis
            else f" (its metadata, version {table.metadata_version}, describes no runtime APIs)"
        )
        likely = _suggestion(pallet, [("pallets", table.pallets), ("runtime APIs", table.apis)])
        raise InvalidRequest(
            field=pallet_field,
            value=pallet,
            problem=f"is not a pallet or a runtime API of {table}{silent}, {likely}",
        )
    known: list[tuple[str, str, str]] = []
    for name in pallets:
        known += [("storage item", name, entry) for entry in table.storage_entries(name)]
        known += [("constant", name, constant) for constant in table.constants(name)]
    known += [("method", name, each) for name in apis for each in table.api_methods(name)]
    exact = [row for row in known if row[2] == method]
    found = exact or [
        row for row in known if isinstance(method, str) and fold(row[2]) == fold(method)
    ]
    if not found:
        raise _unknown_method(table, pallets, apis, known, method, method_field)
    if len(found) > 1 and not exact:
        meant = ", ".join(f"the {kind} {name}.{each}" for kind, name, each in found)
        raise InvalidRequest(
            field=method_field,
            value=method,
            problem=f"is ambiguous in {table}, it can mean: {meant}; use that spelling",
        )
    # Of several with one spelling the storage item is meant: it is what changes.
    kind, name, each = found[0]
    if kind == "storage item":
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
        if params:
            raise InvalidRequest(
                f"{item.pallet}.{item.name} is a constant and takes no parameters: leave "
                f"{shorten(params[0])} out"
            )
        return RuntimeQuery(item=item)
    if isinstance(item, ApiMethod):
        return RuntimeQuery(item=item, params=_read_arguments(table, item, params))
    kinds = ", ".join(table.type_name(type_id) for type_id in item.key_types)
    count = len(item.key_types)
    if len(params) > count:
        takes = (
            f"takes {count} key{'' if count == 1 else 's'} ({kinds})"
            if count
            else "is a single value and takes no keys"
        )
        raise InvalidRequest(f"{item.pallet}.{item.name} {takes}, not {len(params)}")
    keys = tuple(
        ValueReader(table, f"{item.pallet}.{item.name}: key {number}").read(type_id, value)
        for number, (type_id, value) in enumerate(
            zip(item.key_types, params, strict=False), start=1
        )
    )
    # What the types let pass may still not encode.
    storage_key(table, item.pallet, item.name, keys, partial=True)
    return RuntimeQuery(item=item, params=keys)


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
        return read_constant(table, client.chain, asked.item)
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
        if table.is_empty(value_type):
            # A value without content, as in a set, is there all the same.
            return QueryAnswer(text="[]")
    return QueryAnswer(text=format_result(writer.value(value_type, value)))


def read_constant(table: "RuntimeTable", chain: "Chain", constant: Constant) -> QueryAnswer:
    """Return a constant, for which no node is needed."""
    type_id, value = table.constant_value(constant.pallet, constant.name)
    return QueryAnswer(
        text=format_result(ValueWriter(table, chain, text_numbers=True).value(type_id, value))
    )


def format_result(value: Any) -> str:
    """Return plain data as the one text that a query answers with: itself where it is text, else
    compact JSON."""
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


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
        f"--limit allows up to {LARGEST_LIMIT}"
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
    count = len(method.inputs)
    if len(params) > count:
        kinds = ", ".join(
            f"{field.name}: {table.type_name(field.type_id)}" for field in method.inputs
        )
        takes = (
            f"{count} parameter{'' if count == 1 else 's'} ({kinds})" if count else "no parameters"
        )
        raise InvalidRequest(f"{name} takes {takes}, not {len(params)}")
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


def _matching(name: object, names: Sequence[str]) -> list[str]:
    if not isinstance(name, str):
        return []
    return [each for each in names if fold(each) == fold(name)] if name else []


def _unknown_method(
    table: "RuntimeTable",
    pallets: list[str],
    apis: list[str],
    known: list[tuple[str, str, str]],
    method: object,
    field: str,
) -> InvalidRequest:
    place = " or ".join([*pallets, *apis])
    for pallet in pallets:
        for call in table.methods(pallet):
            if isinstance(method, str) and fold(call) == fold(method):
                return InvalidRequest(
                    field=field,
                    value=method,
                    problem=(
                        f"is a call of {pallet}, which changes the chain and cannot be "
                        "queried: use a chainTx step"
                    ),
                )
    groups = [
        (plural, [each for kind, _, each in known if kind == one])
        for one, plural in (
            ("storage item", "storage items"),
            ("constant", "constants"),
            ("method", "methods"),
        )
    ]
    return InvalidRequest(
        field=field,
        value=method,
        problem=f"is not in {place} of {table}, {_suggestion(method, groups)}",
    )


def _suggestion(name: object, groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return what may have been meant by *name*, or all that it could have been."""
    listed = "; ".join(f"{plural}: {', '.join(names)}" for plural, names in groups if names)
    listed = listed if len(listed) <= 400 else listed[:399] + "…"
    otherwise = f"expected one of its {listed}" if listed else "it has nothing to read"
    return suggest(
        name,
        [each for _, names in groups for each in names],
        otherwise=otherwise,
        count=3,
        cutoff=0.75,
    )


#: As many types are described: more than an XCM program is made of, and a bound for metadata that
#: never ends.
MOST_TYPES = 400
#: Written down nowhere: every call or event of the runtime is one of theirs.
_WHOLE_RUNTIME = ("RuntimeCall", "RuntimeEvent", "RuntimeError")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """An argument, or a part of a key."""

    name: str
    type: str
    #: What to write for it.
    expected: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """What a pallet or a runtime API has."""

    kind: Literal["call", "storage", "constant", "method"]
    pallet: str
    name: str
    parameters: tuple[Parameter, ...] = ()
    #: Type of the value or the answer; None for a call.
    type: str | None = None
    #: Of a constant, as a query answers it.
    value: str | None = None
    #: Whether an absent value of a storage item is None.
    optional: bool | None = None
    #: The types of its parameters and its value.
    types: tuple[int, ...] = ()


def find_items(
    table: "RuntimeTable", chain: "Chain", pallet: str, name: str
) -> tuple[list[str], list[str], list[Item]]:
    """Return the pallets and the runtime APIs that *pallet* means, and their items; of these only
    *name*, if given.

    InvalidRequest suggests what was meant.
    """
    pallets = [each for each in table.pallets if fold(each) == fold(pallet)]
    apis = [each for each in table.apis if fold(each) == fold(pallet)]
    if not pallets and not apis:
        known = [*table.pallets, *table.apis]
        otherwise = f"expected one that `scenarioctl chain pallets {chain.name}` lists"
        raise InvalidRequest(
            field="item",
            value=pallet,
            problem=(
                f"is not a pallet or a runtime API of {table}, "
                f"{suggest(pallet, known, otherwise=otherwise, count=3, cutoff=0.7)}"
            ),
        )
    items = [item for each in pallets for item in _pallet_items(table, chain, each, name)]
    items += [item for each in apis for item in _methods(table, each, name)]
    if name and not items:
        place = " or ".join([*pallets, *apis])
        known = [item.name for each in pallets for item in _pallet_items(table, chain, each)]
        known += [item.name for each in apis for item in _methods(table, each)]
        otherwise = f"expected one that `scenarioctl chain pallets {chain.name} {place}` lists"
        raise InvalidRequest(
            field="item",
            value=name,
            problem=(
                f"is not a call, storage item, constant or method of {place} of {table}, "
                f"{suggest(name, known, otherwise=otherwise, count=3, cutoff=0.7)}"
            ),
        )
    return pallets, apis, items


def describe_types(table: "RuntimeTable", type_ids: Iterable[int]) -> list[tuple[str, str, str]]:
    """Return name, path and definition of each named type that these types are made of, the nearest
    first."""
    waiting = list(dict.fromkeys(type_ids))
    seen = set(waiting)
    found: list[tuple[str, str, str]] = []
    while waiting and len(found) < MOST_TYPES:
        type_id = waiting.pop(0)
        path, _, kind, definition = table.types[type_id]
        name = path.rpartition("::")[2]
        if path and name not in _WHOLE_RUNTIME and not table.types.is_option(type_id):
            found.append((table.type_name(type_id), path, _define(table, kind, definition)))
        if name in _WHOLE_RUNTIME or name == "AccountId32":
            continue
        for inner in table.types.parts(type_id):
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return found


def _pallet_items(table: "RuntimeTable", chain: "Chain", pallet: str, name: str = "") -> list[Item]:
    def is_wanted(each: str) -> bool:
        return not name or fold(each) == fold(name)

    items = [_call(table, pallet, each) for each in table.methods(pallet) if is_wanted(each)]
    items += [
        _storage(table, pallet, each) for each in table.storage_entries(pallet) if is_wanted(each)
    ]
    items += [
        _constant(table, chain, pallet, each) for each in table.constants(pallet) if is_wanted(each)
    ]
    return items


def _call(table: "RuntimeTable", pallet: str, name: str) -> Item:
    fields = table.call_fields(pallet, name)
    return Item(
        kind="call",
        pallet=pallet,
        name=name,
        parameters=_parameters(table, [(field.name, field.type_id) for field in fields]),
        types=tuple(field.type_id for field in fields),
    )


def _storage(table: "RuntimeTable", pallet: str, name: str) -> Item:
    entry = table.storage_entry(pallet, name)
    keys = [
        (f"key {number}" if len(entry.key_types) > 1 else "key", type_id)
        for number, type_id in enumerate(entry.key_types, start=1)
    ]
    return Item(
        kind="storage",
        pallet=pallet,
        name=name,
        parameters=_parameters(table, keys),
        type=table.type_name(entry.value_type),
        optional=entry.modifier == "Optional",
        types=(*entry.key_types, entry.value_type),
    )


def _constant(table: "RuntimeTable", chain: "Chain", pallet: str, name: str) -> Item:
    type_id, _ = table.constant_value(pallet, name)
    return Item(
        kind="constant",
        pallet=pallet,
        name=name,
        type=table.type_name(type_id),
        value=read_constant(table, chain, Constant(pallet=pallet, name=name)).text,
        types=(type_id,),
    )


def _methods(table: "RuntimeTable", api: str, name: str = "") -> list[Item]:
    found = []
    for each in table.api_methods(api):
        if name and fold(each) != fold(name):
            continue
        method = table.api_method(api, each)
        inputs = [(field.name, field.type_id) for field in method.inputs]
        found.append(
            Item(
                kind="method",
                pallet=api,
                name=each,
                parameters=_parameters(table, inputs),
                type=table.type_name(method.output_type),
                types=(*(type_id for _, type_id in inputs), method.output_type),
            )
        )
    return found


def _parameters(table: "RuntimeTable", fields: Sequence[tuple[str, int]]) -> tuple[Parameter, ...]:
    reader = ValueReader(table, "")
    return tuple(
        Parameter(name=name, type=table.type_name(type_id), expected=reader.example(type_id))
        for name, type_id in fields
    )


def _define(table: "RuntimeTable", kind: str, definition: Any) -> str:
    if kind == "composite":
        return _fields(table, definition).lstrip() or "nothing"
    if kind == "variant":
        return " | ".join(f"{label}{_fields(table, fields)}" for label, _, fields in definition)
    return kind


def _fields(table: "RuntimeTable", fields: list[Any]) -> str:
    if not fields:
        return ""
    if fields[0][0] is None:
        return f"({', '.join(table.type_name(field[1]) for field in fields)})"
    return " { " + ", ".join(f"{field[0]}: {table.type_name(field[1])}" for field in fields) + " }"
