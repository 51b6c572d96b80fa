"""The types of one runtime, values found by them, and what a table answers of its entries.

A type is a list `[path, parameters, kind, definition]`, the shape in which it stands in a table's
file:

    composite   [[name or null, type id, type name or null], …]
    variant     [[name, index, fields as of a composite], …]
    sequence    type id
    array       [length, type id]
    tuple       [type id, …]
    primitive   "bool", "char", "str", "u8" … "u256", "i8" … "i256"
    compact     type id
    bits        [store type id, order type id]

where a parameter is `[name, type id or null]`.  A type that came from a file stays text until it is
asked for: one call needs some fifty of a runtime's thousand types.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from scenarioctl.errors import InvalidRequest, fold, suggest


class Field(NamedTuple):
    """An argument of a call, or a parameter of a runtime API."""

    name: str
    type_id: int
    #: As the runtime's authors wrote it (`T::Balance`); empty where the metadata has none.
    type_name: str = ""


class Extension(NamedTuple):
    """A signed extension: what it adds to an extrinsic, and what it adds to the bytes that are
    signed."""

    identifier: str
    type_id: int
    additional_type_id: int


class StorageEntry(NamedTuple):
    """How one storage item is found and read."""

    pallet: str
    #: What is hashed for the first half of the key; nearly always the pallet's name.
    prefix: str
    name: str
    #: `Optional` (absent is None) or `Default` (absent is `default`).
    modifier: str
    #: One name for each part of the key (`Blake2_128Concat`, …); none for a plain value.
    hashers: tuple[str, ...]
    #: One type for each part of the key.
    key_types: tuple[int, ...]
    value_type: int
    #: SCALE.
    default: bytes


class ApiMethod(NamedTuple):
    """One method of a runtime API."""

    api: str
    name: str
    inputs: tuple[Field, ...]
    output_type: int


#: `[path, parameters, kind, definition]`, see the top of the module.
Definition = list[Any]

#: Deeper inside a type its name is cut.
NAME_DEPTH = 8
#: So many types are named in a name; those of real runtimes have at most 24.  The metadata of a
#: node that lies can have names that double with each type.
NAME_PARTS = 200
#: Characters of one of them.
_NAME_LENGTH = 100
#: So many types may stand around the number in a compact.
_COMPACT_DEPTH = 64
#: Deeper inside a type nobody looks whether it takes bytes; it is then taken for one that does.
_EMPTY_DEPTH = 64

PATH, PARAMETERS, KIND, DEFINITION = range(4)


class TypeTable:
    """Every type of a runtime, by id."""

    def __init__(self, rows: list[Definition | bytes]) -> None:
        """Take *rows*, each a definition or its line of JSON; a type's id is its place among
        them."""
        self._rows = rows
        self._names: dict[int, str] = {}
        self._empty: dict[int, bool] = {}
        self._variants: dict[int, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, type_id: int) -> Definition:
        """Return the definition of *type_id*; InvalidRequest where there is none."""
        if not 0 <= type_id < len(self._rows):
            raise InvalidRequest(
                field="type",
                value=type_id,
                problem="is not in this runtime",
                expected=f"0 to {len(self._rows) - 1}",
            )
        row = self._rows[type_id]
        if type(row) is bytes:
            row = self._rows[type_id] = json.loads(row.removesuffix(b","))
        return row  # type: ignore[return-value]

    def name(self, type_id: int) -> str:
        """Return the type as people write it: `Option<AccountId32>`, `Vec<(u32, u128)>`,
        `BoundedVec<u8>`."""
        known = self._names.get(type_id)
        if known is None:
            known = self._names[type_id] = self._write(type_id, (), [NAME_PARTS])
        return known

    def variants(self, type_id: int) -> tuple[str, ...]:
        """Return the names of the variants, in the order of the metadata; none where it is no
        variant type."""
        known = self._variants.get(type_id)
        if known is None:
            _, _, kind, definition = self[type_id]
            known = tuple(variant[0] for variant in definition) if kind == "variant" else ()
            self._variants[type_id] = known
        return known

    def is_empty(self, type_id: int, outer: tuple[int, ...] = ()) -> bool:
        """Tell whether a value of this type, which stands in those of *outer*, takes no bytes at
        all."""
        known = self._empty.get(type_id)
        if known is None:
            # A type inside itself has no finite value; the answer must only end.
            if type_id in outer or len(outer) > _EMPTY_DEPTH:
                return False
            known = self._empty[type_id] = self._takes_nothing(type_id, (*outer, type_id))
        return known

    def is_option(self, type_id: int) -> bool:
        """Tell whether this is Rust's own Option."""
        path, _, kind, definition = self[type_id]
        return (
            path == "Option"
            and kind == "variant"
            and [variant[:2] for variant in definition] == [["None", 0], ["Some", 1]]
            and not definition[0][2]
            and len(definition[1][2]) == 1
        )

    def can_be_none(self, type_id: int) -> bool:
        """Tell whether a value of this type can be Python's None, so that an Option of it has to
        say `Some`."""
        seen: set[int] = set()
        while type_id not in seen:
            seen.add(type_id)
            _, _, kind, definition = self[type_id]
            if kind == "composite" and len(definition) == 1 and definition[0][0] is None:
                type_id = definition[0][1]
            elif kind == "compact":
                type_id = definition
            else:
                return (kind in ("composite", "tuple") and not definition) or self.is_option(
                    type_id
                )
        return False

    def inside_compact(self, type_id: int) -> tuple[list[str], str]:
        """Return the names of the fields around the unsigned number in a compact of this type, and
        the number's type; "" for a compact of nothing."""
        names: list[str] = []
        inner = type_id
        for _ in range(_COMPACT_DEPTH):
            _, _, kind, definition = self[inner]
            if kind == "primitive" and definition.startswith("u"):
                return names, definition
            if kind not in ("composite", "tuple") or len(definition) > 1:
                break
            if not definition:
                return names, ""
            field = definition[0] if kind == "composite" else [None, definition[0]]
            names += [] if field[0] is None else [field[0]]
            inner = field[1]
        raise InvalidRequest(
            f"a compact {self.name(type_id)} does not exist, only compact unsigned integers"
        )

    def parts(self, type_id: int) -> list[int]:
        """Return the types that values of this type are made of; none for bits."""
        _, _, kind, definition = self[type_id]
        if kind == "composite":
            return [field[1] for field in definition]
        if kind == "variant":
            return [field[1] for _, _, fields in definition for field in fields]
        if kind == "array":
            return [definition[1]]
        if kind in ("sequence", "compact"):
            return [definition]
        return list(definition) if kind == "tuple" else []

    def _takes_nothing(self, type_id: int, outer: tuple[int, ...]) -> bool:
        _, _, kind, definition = self[type_id]
        if kind == "composite":
            return all(self.is_empty(field[1], outer) for field in definition)
        if kind == "tuple":
            return all(self.is_empty(inner, outer) for inner in definition)
        if kind == "array":
            return definition[0] == 0 or self.is_empty(definition[1], outer)
        if kind == "compact":
            return self.is_empty(definition, outer)
        return False

    def _write(self, type_id: int, outer: tuple[int, ...], room: list[int]) -> str:
        """Return the name of a type inside those of *outer*; *room* counts down the types that may
        still be named."""
        if room[0] <= 0:
            return "…"
        room[0] -= 1
        path, parameters, kind, definition = self[type_id]
        if path:
            last = str(path).rpartition("::")[2]
            last = last if len(last) <= _NAME_LENGTH else last[: _NAME_LENGTH - 1] + "…"
            given = [inner for _, inner in parameters if inner is not None]
            if not given or type_id in outer or len(outer) > NAME_DEPTH:
                return last
            return f"{last}<{self._write_all(given, (*outer, type_id), room)}>"
        if type_id in outer or len(outer) > NAME_DEPTH:
            return "…"
        outer = (*outer, type_id)
        if kind == "primitive":
            return str(definition)
        if kind == "sequence":
            return f"Vec<{self._write(definition, outer, room)}>"
        if kind == "array":
            return f"[{self._write(definition[1], outer, room)}; {definition[0]}]"
        if kind == "tuple":
            return (
                f"({self._write_all(definition, outer, room)}{',' if len(definition) == 1 else ''})"
            )
        if kind == "compact":
            return f"Compact<{self._write(definition, outer, room)}>"
        if kind == "bits":
            return f"BitVec<{self._write_all(definition, outer, room)}>"
        return "{…}" if kind == "composite" else "enum"

    def _write_all(self, type_ids: list[int], outer: tuple[int, ...], room: list[int]) -> str:
        written: list[str] = []
        for inner in type_ids:
            written.append(self._write(inner, outer, room))
            if room[0] <= 0:
                break
        return ", ".join(written)


def find_typed(
    types: "TypeTable", type_id: int, value: Any, is_wanted: Callable[[int], bool]
) -> Iterator[tuple[int, Any]]:
    """Give the outermost values in *value*, of the type *type_id*, whose types are wanted: (type,
    value).

    LookupError, TypeError, ValueError or AttributeError if *value* is not of that type.
    """
    if is_wanted(type_id):
        yield type_id, value
        return
    _, _, kind, definition = types[type_id]
    if kind in ("sequence", "array") and isinstance(value, list):
        element = definition if kind == "sequence" else definition[1]
        for item in value:
            yield from find_typed(types, element, item, is_wanted)
    elif kind == "tuple" and isinstance(value, (list, tuple)):
        for inner, item in zip(definition, value, strict=True):
            yield from find_typed(types, inner, item, is_wanted)
    elif kind == "composite":
        yield from _find_in_fields(types, definition, value, is_wanted)
    elif types.is_option(type_id):
        if value is not None:
            yield from find_typed(types, definition[1][2][0][1], value, is_wanted)
    elif kind == "variant" and isinstance(value, Mapping):
        ((label, inner),) = value.items()
        fields: list[Any] = next((variant[2] for variant in definition if variant[0] == label), [])
        yield from _find_in_fields(types, fields, inner, is_wanted)


def _find_in_fields(
    types: "TypeTable", fields: list[Any], value: Any, is_wanted: Callable[[int], bool]
) -> Iterator[tuple[int, Any]]:
    if not fields:
        return
    if fields[0][0] is not None:
        for name, type_id, _ in fields:
            yield from find_typed(types, type_id, value[name], is_wanted)
    elif len(fields) == 1:
        yield from find_typed(types, fields[0][1], value, is_wanted)
    else:
        for (_, type_id, _), item in zip(fields, value, strict=True):
            yield from find_typed(types, type_id, item, is_wanted)


def find_name(name: object, names: Any, *, what: str, where: str) -> str:
    """Return the one of *names* that *name* means, without regard to case, spaces, `_` and `-`.

    InvalidRequest lists the names, or those that *name* could mean.
    """
    if isinstance(name, str) and name in names:
        return name
    folded = fold(name) if isinstance(name, str) else None
    found = [known for known in names if fold(known) == folded]
    if len(found) == 1:
        return str(found[0])
    if found:
        raise InvalidRequest(
            field=what,
            value=name,
            problem=f"is ambiguous in {where}, it can mean: {listed(found)}",
        )
    otherwise = f"expected one of: {listed(names) or 'none'}"
    likely = suggest(name, list(names), otherwise=otherwise, count=3, cutoff=0.75)
    raise InvalidRequest(field=what, value=name, problem=f"is not in {where}, {likely}")


def listed(names: Any) -> str:
    text = ", ".join(names)
    return text if len(text) <= 600 else text[:599] + "…"
