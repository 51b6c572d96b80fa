"""The items of a runtime, by the names that people write: calls, storage items, constants, methods,
and their types."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

from scenarioctl.errors import InvalidRequest, fold, suggest
from scenarioctl.model.json_types import SHOWN, Column
from scenarioctl.transactions.values import ValueReader, ValueWriter

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: As many types are described: more than an XCM program is made of, and a bound for metadata that
#: never ends.
MOST_TYPES = 400
#: Written down nowhere: every call or event of the runtime is one of theirs.
_WHOLE_RUNTIME = ("RuntimeCall", "RuntimeEvent", "RuntimeError")


class ParameterRow(TypedDict):
    name: Annotated[str, SHOWN]
    type: Annotated[str, SHOWN]
    #: What to write, like `an address` or `one of: Id, Index`.
    expected: Annotated[str, Column(detail=True)]


ItemKind: TypeAlias = Literal["call", "storage", "constant", "method"]


class ItemRow(TypedDict):
    kind: Annotated[ItemKind, SHOWN]
    #: The pallet or runtime API.
    pallet: Annotated[str, SHOWN]
    name: Annotated[str, SHOWN]
    #: Arguments of a call or method, or keys of a storage map.
    parameters: Annotated[list[ParameterRow], Column("takes")]
    #: Of the value of a storage item or constant, or of a method's answer; null for a call.
    type: Annotated[str | None, SHOWN]
    #: Of a constant, as `query` prints it; null for everything else.
    value: Annotated[str | None, SHOWN]
    #: Whether an absent value of a storage item is null, and not the runtime's default; null for
    #: everything else.
    optional: bool | None


class TypeRow(TypedDict):
    name: Annotated[str, SHOWN]
    #: With all modules: two types can have one name.
    path: str
    definition: Annotated[str, SHOWN]


def write_constant(table: "RuntimeTable", chain: "Chain", pallet: str, name: str) -> str:
    """Return a constant as a query answers it; no node is needed."""
    value = ValueWriter(table, chain, text_numbers=True).value(*table.constant_value(pallet, name))
    return format_result(value)


def format_result(value: Any) -> str:
    """Return plain data as the one text that a query answers with: itself where it is text, else
    compact JSON."""
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


def find_places(
    table: "RuntimeTable", name: object, *, field: str, otherwise: str = ""
) -> tuple[list[str], list[str]]:
    """Return the pallets and the runtime APIs that *name* means, in any case and without regard to
    `_` and `-`."""
    pallets, apis = _matching(name, table.pallets), _matching(name, table.apis)
    if pallets or apis:
        return pallets, apis
    silent = (
        ""
        if table.apis
        else f" (its metadata, version {table.metadata_version}, describes no runtime APIs)"
    )
    likely = suggest_item(
        name, [("pallets", table.pallets), ("runtime APIs", table.apis)], otherwise
    )
    raise InvalidRequest(
        field=field,
        value=name,
        problem=f"is not a pallet or a runtime API of {table}{silent}, {likely}",
    )


def items_of(
    table: "RuntimeTable", pallets: Sequence[str], apis: Sequence[str]
) -> list[tuple[ItemKind, str, str]]:
    """Return kind, pallet or runtime API, and name of each of their items."""
    rows: list[tuple[ItemKind, str, str]] = []
    for pallet in pallets:
        rows += [("call", pallet, name) for name in table.methods(pallet)]
        rows += [("storage", pallet, name) for name in table.storage_entries(pallet)]
        rows += [("constant", pallet, name) for name in table.constants(pallet)]
    return rows + [("method", api, name) for api in apis for name in table.api_methods(api)]


def is_named(known: str, name: object) -> bool:
    return isinstance(name, str) and fold(known) == fold(name)


def _matching(name: object, names: Sequence[str]) -> list[str]:
    return [each for each in names if name and is_named(each, name)]


def suggest_item(
    name: object, groups: Sequence[tuple[str, Sequence[str]]], otherwise: str = ""
) -> str:
    """Return what may have been meant by *name*, or all that it could have been."""
    listed = "; ".join(f"{plural}: {', '.join(names)}" for plural, names in groups if names)
    listed = listed if len(listed) <= 400 else listed[:399] + "…"
    everything = f"expected one of its {listed}" if listed else "it has nothing to read"
    return suggest(
        name,
        [each for _, names in groups for each in names],
        otherwise=otherwise or everything,
        count=3,
        cutoff=0.75,
    )


def find_items(
    table: "RuntimeTable", chain: "Chain", pallet: str, name: str
) -> tuple[list[str], list[str], list[tuple[ItemRow, list[int]]]]:
    """Return the pallets and the runtime APIs that *pallet* means, and their items, each with
    the types that it is made of; of these only *name*, if given.

    InvalidRequest suggests what was meant.
    """
    listed = f"expected one that `scenarioctl chain pallets {chain.name}"
    pallets, apis = find_places(table, pallet, field="item", otherwise=f"{listed}` lists")
    rows = items_of(table, pallets, apis)
    found = [row for row in rows if not name or is_named(row[2], name)]
    if not found and name:
        place = " or ".join([*pallets, *apis])
        likely = suggest_item(name, [("", [row[2] for row in rows])], f"{listed} {place}` lists")
        raise InvalidRequest(
            field="item",
            value=name,
            problem=(
                f"is not a call, storage item, constant or method of {place} of {table}, {likely}"
            ),
        )
    return pallets, apis, [_describe(table, chain, *row) for row in found]


def describe_types(table: "RuntimeTable", type_ids: Iterable[int]) -> list[TypeRow]:
    """Return each named type that these types are made of, the nearest
    first."""
    waiting = list(dict.fromkeys(type_ids))
    seen = set(waiting)
    found: list[TypeRow] = []
    while waiting and len(found) < MOST_TYPES:
        type_id = waiting.pop(0)
        path, _, kind, definition = table.types[type_id]
        name = path.rpartition("::")[2]
        if path and name not in _WHOLE_RUNTIME and not table.types.is_option(type_id):
            defined = _define(table, kind, definition)
            found.append({"name": table.type_name(type_id), "path": path, "definition": defined})
        if name in _WHOLE_RUNTIME or name == "AccountId32":
            continue
        for inner in table.types.parts(type_id):
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return found


def _describe(
    table: "RuntimeTable", chain: "Chain", kind: ItemKind, place: str, name: str
) -> tuple[ItemRow, list[int]]:
    fields: list[tuple[str, int]] = []
    result = value = optional = None
    if kind == "call":
        fields = [(field.name, field.type_id) for field in table.call_fields(place, name)]
    elif kind == "storage":
        entry = table.storage_entry(place, name)
        numbers = [f" {number}" for number in range(1, len(entry.key_types) + 1)]
        named = [f"key{number}" for number in numbers] if len(numbers) > 1 else ["key"]
        fields = list(zip(named, entry.key_types, strict=False))
        result, optional = entry.value_type, entry.modifier == "Optional"
    elif kind == "constant":
        result, _ = table.constant_value(place, name)
        value = write_constant(table, chain, place, name)
    else:
        method = table.api_method(place, name)
        fields = [(field.name, field.type_id) for field in method.inputs]
        result = method.output_type
    reader = ValueReader(table, "")
    row: ItemRow = {
        "kind": kind,
        "pallet": place,
        "name": name,
        "parameters": [
            {"name": each, "type": table.type_name(type_id), "expected": reader.example(type_id)}
            for each, type_id in fields
        ],
        "type": None if result is None else table.type_name(result),
        "value": value,
        "optional": optional,
    }
    return row, [*(type_id for _, type_id in fields), *([] if result is None else [result])]


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
