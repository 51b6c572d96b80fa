"""Makes values of any type, and tables of random types, for tests of the codec.

It reads type definitions by itself and shares no code with the codec, so that the two can disagree.
"""

from random import Random
from typing import Any
from weakref import WeakKeyDictionary

from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.type_table import TypeTable

#: How deep the shortest value of each type of a table is; a type without any value has none.
_HEIGHTS: WeakKeyDictionary[TypeTable, dict[int, int]] = WeakKeyDictionary()
#: Deeper than this the shortest value is taken.
DEEP = 6

INTEGERS = ("u8", "u16", "u32", "u64", "u128", "u256", "i8", "i16", "i32", "i64", "i128", "i256")
PRIMITIVES = ("bool", "char", "str", *INTEGERS)


class Generator:
    """Values for the types of one table."""

    def __init__(self, types: TypeTable, random: Random) -> None:
        self.types = types
        self.random = random
        self.heights = _HEIGHTS.setdefault(types, {})
        if not self.heights:
            self._measure()

    def has_values(self, type_id: int) -> bool:
        """Tell whether the type has a value at all."""
        return type_id in self.heights

    def value(self, type_id: int, depth: int = 0) -> Any:
        """Return some value, spelled as the codec's conventions say."""
        path, _, kind, definition = self.types[type_id]
        if kind == "primitive":
            return self.primitive(definition)
        if kind == "compact":
            return self.value(definition, depth)
        if kind == "composite":
            if path.startswith("primitive_types::U"):
                return self.integer(64 * self.types[definition[0][1]][3][0], signed=False)
            return self.fields(definition, depth)
        if kind == "tuple":
            return [self.value(inner, depth + 1) for inner in definition] or None
        if kind == "bits":
            return "".join(
                self.random.choice("01")
                for _ in range(self.random.choice((0, 1, 7, 8, 9, 31, 64, 65, 130)))
            )
        if kind == "sequence":
            return self.repeated(definition, self.length(definition, depth), depth)
        if kind == "array":
            return self.repeated(definition[1], definition[0], depth)
        return self.variant(type_id, definition, depth)

    def variant(self, type_id: int, variants: list[Any], depth: int) -> Any:
        heights = [(self.height_of_fields(variant[2]), variant) for variant in variants]
        known = [(height, variant) for height, variant in heights if height is not None]
        if depth > DEEP:
            shortest = min(height for height, _ in known)
            known = [(height, variant) for height, variant in known if height == shortest]
        name, _, fields = self.random.choice(known)[1]
        if self.types[type_id][0] == "Option":
            if name == "None":
                return None
            value = self.value(fields[0][1], depth + 1)
            return {"Some": value} if self.types.can_be_none(fields[0][1]) else value
        return {name: self.fields(fields, depth + 1)} if fields else name

    def fields(self, fields: list[Any], depth: int) -> Any:
        if not fields:
            return None
        if fields[0][0] is not None:
            return {name: self.value(type_id, depth + 1) for name, type_id, _ in fields}
        values = [self.value(type_id, depth + 1) for _, type_id, _ in fields]
        return values[0] if len(values) == 1 else values

    def length(self, type_id: int, depth: int) -> int:
        if not self.has_values(type_id) or depth > DEEP:
            return 0
        if self.types[type_id][3] == "u8":
            return self.random.choice((0, 1, 2, 31, 32, 33, 63, 64, 70))
        return self.random.choice((0, 1, 1, 2, 3))

    def repeated(self, type_id: int, length: int, depth: int) -> Any:
        if self.types[type_id][2:] == ["primitive", "u8"]:
            return bytes(self.random.randrange(256) for _ in range(length))
        return [self.value(type_id, depth + 1) for _ in range(length)]

    def primitive(self, name: str) -> Any:
        if name == "bool":
            return self.random.choice((False, True))
        if name == "str":
            return "".join(self.character() for _ in range(self.random.choice((0, 1, 5, 40))))
        if name == "char":
            return self.character()
        return self.integer(int(name[1:]), signed=name[0] == "i")

    def character(self) -> str:
        return self.random.choice("aZ09 _\n\0é…界🌍\ud7ff\ue000\U0010ffff")

    def integer(self, bits: int, *, signed: bool) -> int:
        if self.random.randrange(3):
            edge = 1 << self.random.choice((0, 6, 8, 14, 16, 30, 32, 56, 64, 128, bits))
            number = edge + self.random.choice((-1, 0, 1))
        else:
            number = self.random.getrandbits(self.random.randrange(1, bits + 1))
        number %= 1 << bits
        return number - (1 << (bits - 1)) if signed else number

    def call(self, table: RuntimeTable, pallet: str, method: str) -> Call | None:
        """Return the call with some arguments; None where an argument's type has no values."""
        fields = table.call_fields(pallet, method)
        if not all(self.has_values(field.type_id) for field in fields):
            return None
        return Call(
            pallet=pallet,
            method=method,
            args={field.name: self.value(field.type_id, 1) for field in fields},
        )

    def height_of_fields(self, fields: list[Any]) -> int | None:
        return self.tallest([field[1] for field in fields])

    def tallest(self, type_ids: list[int]) -> int | None:
        if any(type_id not in self.heights for type_id in type_ids):
            return None
        return 1 + max((self.heights[type_id] for type_id in type_ids), default=0)

    def _measure(self) -> None:
        changed = True
        while changed:
            changed = False
            for type_id in range(len(self.types)):
                height = self._height(type_id)
                if height is not None and height < self.heights.get(type_id, height + 1):
                    self.heights[type_id] = height
                    changed = True

    def _height(self, type_id: int) -> int | None:
        _, _, kind, definition = self.types[type_id]
        if kind == "composite":
            return self.height_of_fields(definition)
        if kind == "tuple":
            return self.tallest(definition)
        if kind == "array":
            return self.tallest([definition[1]]) if definition[0] else 1
        if kind == "compact":
            return self.tallest([definition])
        if kind == "variant":
            heights = [self.height_of_fields(variant[2]) for variant in definition]
            return min((height for height in heights if height is not None), default=None)
        return 1


def random_types(random: Random, count: int) -> TypeTable:
    """Return a table of the primitives, bit orders and compacts, and *count* types made of any of
    its types.

    Types may contain themselves, and some have no values.
    """
    rows: list[Any] = [["", [], "primitive", name] for name in PRIMITIVES]
    rows.append(["bitvec::order::Lsb0", [], "composite", []])
    rows.append(["bitvec::order::Msb0", [], "composite", []])
    lsb0, msb0 = len(rows) - 2, len(rows) - 1
    rows.append(["", [], "tuple", []])
    unsigned = [PRIMITIVES.index(name) for name in INTEGERS if name[0] == "u"]
    compactable = [*unsigned, len(rows) - 1]
    total = len(rows) + count

    def anything() -> int:
        return random.randrange(total)

    def fields(count: int) -> list[Any]:
        named = random.randrange(2)
        return [[f"field_{place}" if named else None, anything(), None] for place in range(count)]

    while len(rows) < total:
        kind = random.choice(
            (
                "composite",
                "wrapper",
                "variant",
                "option",
                "sequence",
                "array",
                "tuple",
                "compact",
                "bits",
                "wide",
            )
        )
        if kind == "composite":
            rows.append(["some::Thing", [], "composite", fields(random.randrange(4))])
        elif kind == "wrapper":
            name = random.choice((None, "inner"))
            inner = random.choice(compactable)
            compactable.append(len(rows))
            rows.append(["some::Wrapper", [], "composite", [[name, inner, None]]])
        elif kind == "variant":
            indices = random.sample(range(256), random.randrange(5))
            rows.append(
                [
                    "some::Choice",
                    [],
                    "variant",
                    [[f"V{index}", index, fields(random.randrange(4))] for index in indices],
                ]
            )
        elif kind == "option":
            inner = anything()
            variants = [["None", 0, []], ["Some", 1, [[None, inner, None]]]]
            rows.append(["Option", [["T", inner]], "variant", variants])
        elif kind == "sequence":
            rows.append(["", [], "sequence", anything()])
        elif kind == "array":
            rows.append(["", [], "array", [random.randrange(5), anything()]])
        elif kind == "tuple":
            rows.append(["", [], "tuple", [anything() for _ in range(random.randrange(4))]])
        elif kind == "compact":
            rows.append(["", [], "compact", random.choice(compactable)])
        elif kind == "wide":
            # Rust's U256 and its like are a type of their own here, never two levels of one.
            place = len(rows)
            rows.append(["", [], "array", [random.choice((2, 4, 8)), PRIMITIVES.index("u64")]])
            rows.append(["primitive_types::U256", [], "composite", [[None, place, None]]])
            total = max(total, len(rows))
        else:
            store = PRIMITIVES.index(random.choice(("u8", "u16", "u32", "u64")))
            rows.append(["", [], "bits", [store, random.choice((lsb0, msb0))]])
    return TypeTable(rows)
