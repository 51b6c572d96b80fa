"""The items of a runtime as people read them: calls, storage items, constants and methods, and the types they are made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.errors import InvalidRequest, fold, suggest
from scenarioctl.transactions.runtime_query import Constant, read_constant
from scenarioctl.transactions.values import ValueReader

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: As many types are described: more than an XCM program is made of, and a bound for metadata that never ends.
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
    """Return the pallets and the runtime APIs that *pallet* means, and their items; of these only *name*, if given.

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
            problem=f"is not a pallet or a runtime API of {table}, {suggest(pallet, known, otherwise=otherwise, count=3, cutoff=0.7)}",
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
            problem=f"is not a call, storage item, constant or method of {place} of {table}, {suggest(name, known, otherwise=otherwise, count=3, cutoff=0.7)}",
        )
    return pallets, apis, items


def describe_types(table: "RuntimeTable", type_ids: Iterable[int]) -> list[tuple[str, str, str]]:
    """Return name, path and definition of each named type that these types are made of, the nearest first."""
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
    items += [_storage(table, pallet, each) for each in table.storage_entries(pallet) if is_wanted(each)]
    items += [_constant(table, chain, pallet, each) for each in table.constants(pallet) if is_wanted(each)]
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
