"""Coders for the types of a runtime, compiled of those in `runtime/scale.py` when first needed."""

from collections.abc import Iterable, Mapping
from itertools import repeat
from threading import RLock
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.scale import (
    BYTES,
    MAX_DEPTH,
    MAX_EMPTY,
    NOTHING,
    ONE_BYTE,
    PRIMITIVES,
    Coder,
    Decoder,
    Encoder,
    Input,
    Refusal,
    bits_coder,
    bytes_coder,
    compact_coder,
    decode_bool,
    decode_compact,
    encode_compact,
    ends_early,
    integer_coder,
    show,
)
from scenarioctl.runtime.type_table import DEFINITION, KIND, PATH, TypeTable


class Codec:
    """Coders for the types of one table, compiled when first needed and kept."""

    def __init__(self, types: TypeTable) -> None:
        self.types = types
        self._coders: dict[int, Coder] = {}
        #: Types being compiled right now: one met again is inside itself, and found later through
        #: its id.
        self._unfinished: set[int] = set()
        #: Held by the thread that compiles: another one would take its types for some that are
        #: inside themselves.
        self._compiling = RLock()

    def encode(self, type_id: int, value: object) -> bytes:
        """Return *value* as bytes; InvalidRequest naming the place that does not fit."""
        try:
            return self.coder(type_id).encode(value, 0)
        except (Refusal, RecursionError) as problem:
            raise invalid(problem) from None

    def decode(self, type_id: int, data: bytes) -> Any:
        """Return the value that all of *data* is; InvalidRequest if it is anything more, less or
        else."""
        value, end = self.decode_at(type_id, data, 0)
        if end != len(data):
            raise InvalidRequest(
                f"{len(data) - end} bytes too many after {self.types.name(type_id)}"
            )
        return value

    def decode_at(self, type_id: int, data: bytes, start: int) -> tuple[Any, int]:
        """Return the value that begins at *start* and where it ends."""
        try:
            return self.coder(type_id).decode(Input(data), start, 0)
        except (Refusal, RecursionError) as problem:
            raise invalid(problem) from None

    def coder(self, type_id: int) -> Coder:
        """Return the compiled coder of *type_id*."""
        coder = self._coders.get(type_id)
        if coder is not None:
            return coder
        with self._compiling:
            # Another thread may have been first.
            coder = self._coders.get(type_id)
            if coder is not None:
                return coder
            if type_id in self._unfinished:
                return Coder(
                    lambda value, depth: self.coder(type_id).encode(value, depth),
                    lambda data, start, depth: self.coder(type_id).decode(data, start, depth),
                )
            self._unfinished.add(type_id)
            try:
                coder = self._coders[type_id] = self._compile(type_id)
            finally:
                self._unfinished.discard(type_id)
        return coder

    def fields(self, fields: list[list[Any]]) -> Coder:
        """Return a coder of *fields*, as of a composite or of one variant."""
        if not fields:
            return NOTHING
        if fields[0][0] is None:
            if len(fields) == 1:
                return self.coder(fields[0][1])
            return _tuple([self.coder(field[1]) for field in fields])
        return _named([(field[0], self.coder(field[1])) for field in _distinct(fields)])

    def _compile(self, type_id: int) -> Coder:
        path, _, kind, definition = self.types[type_id]
        if kind == "composite":
            bits = self._wide_unsigned(path, definition)
            return integer_coder(bits, signed=False) if bits else self.fields(definition)
        if kind == "variant":
            if self.types.is_option(type_id):
                inner = definition[1][2][0][1]
                return _option(self.coder(inner), wrapped=self.types.can_be_none(inner))
            return _variant(self, type_id, definition)
        if kind == "sequence":
            if self._is_byte(definition):
                return BYTES
            return _sequence(self.coder(definition), empty=self.types.is_empty(definition))
        if kind == "array":
            length, inner = definition
            if self._is_byte(inner):
                return bytes_coder(length)
            if self.types.is_empty(inner) and length > MAX_EMPTY:
                raise Refusal(_too_many_empty(length))
            return _array(self.coder(inner), length)
        if kind == "tuple":
            return _tuple([self.coder(inner) for inner in definition]) if definition else NOTHING
        if kind == "primitive":
            return PRIMITIVES.get(definition) or integer_coder(
                int(definition[1:]), signed=definition[0] == "i"
            )
        if kind == "compact":
            return self._compile_compact(definition)
        return bits_coder(*self._bit_order(definition))

    def _is_byte(self, type_id: int) -> bool:
        definition = self.types[type_id]
        return bool(definition[KIND] == "primitive" and definition[DEFINITION] == "u8")

    def _wide_unsigned(self, path: str, fields: list[list[Any]]) -> int:
        """Return the bits of Rust's U256 and its like, which the metadata shows as an array of u64;
        else 0."""
        if not path.startswith("primitive_types::U") or len(fields) != 1:
            return 0
        _, _, kind, definition = self.types[fields[0][1]]
        if kind != "array" or self.types[definition[1]][DEFINITION] != "u64":
            return 0
        # U64 to U512; an encoder sets the bytes of the number aside before it looks whether it
        # fits.
        if not 1 <= definition[0] <= 8:
            return 0
        return int(definition[0]) * 64

    def _compile_compact(self, type_id: int) -> Coder:
        names, number = self.types.inside_compact(type_id)
        coder = compact_coder((1 << int(number[1:])) - 1, number) if number else NOTHING
        for field in reversed(names):
            coder = _named([(field, coder)])
        return coder

    def _bit_order(self, definition: list[int]) -> tuple[int, bool]:
        """Return the bits of one store element and whether its most significant bit is the
        first."""
        store, order = self.types[definition[0]], self.types[definition[1]]
        name = order[PATH].rpartition("::")[2]
        if store[DEFINITION] not in ("u8", "u16", "u32", "u64") or name not in ("Lsb0", "Msb0"):
            raise Refusal(
                f"bits in {self.types.name(definition[0])} by {name!r} are unknown, "
                "expected Lsb0 or Msb0"
            )
        return int(store[DEFINITION][1:]), name == "Msb0"


def invalid(problem: Refusal | RecursionError, prefix: str = "") -> InvalidRequest:
    """Return what stopped an encoder or a decoder as the error that callers see, its sentence after
    *prefix*."""
    return InvalidRequest(f"{prefix}{problem if isinstance(problem, Refusal) else _TOO_DEEP}")


_TOO_DEEP = (
    f"it is nested too deep, at most {MAX_DEPTH} lists and variants may stand inside each other"
)


def _choices(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= 400 else text[:399] + "…"


def _too_many_empty(length: int) -> str:
    return f"a list of {length} elements without bytes is refused, at most {MAX_EMPTY} are read"


def _distinct(fields: list[list[Any]]) -> list[list[Any]]:
    """Return *fields*, refusing those that a dict cannot hold."""
    names = [field[0] for field in fields]
    if None in names or len(set(names)) != len(names):
        raise Refusal("the runtime's metadata names some of its fields twice or not at all")
    return fields


# Fields, lists, variants


def _as_mapping(value: object, names: Iterable[str]) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise Refusal(f"{show(value)} is not an object, expected the fields {_choices(names)}")


def _named(fields: list[tuple[str, Coder]]) -> Coder:
    names = [name for name, _ in fields]
    encoders = [(name, coder.encode) for name, coder in fields]
    decoders = [(name, coder.decode) for name, coder in fields]

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not dict:
            value = _as_mapping(value, names)
        out = b""
        name = ""
        try:
            for name, encode_field in encoders:
                out += encode_field(value[name], depth)
        except KeyError:
            if name in value:
                raise
            raise Refusal(f"{name!r} is missing, expected {_choices(names)}") from None
        except Refusal as refusal:
            refusal.path.append(name)
            raise
        if len(value) != len(names):
            unknown = next(key for key in value if key not in names)
            raise Refusal(f"{show(unknown)} is not one of its fields, expected {_choices(names)}")
        return out

    def decode(data: Input, start: int, depth: int) -> tuple[dict[str, Any], int]:
        data.spend(len(names) + 1)
        value: dict[str, Any] = {}
        name = ""
        try:
            for name, decode_field in decoders:
                value[name], start = decode_field(data, start, depth)
        except Refusal as refusal:
            refusal.path.append(name)
            raise
        return value, start

    return Coder(encode, decode)


def _as_list(value: object, expected: str) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, list):
        return value
    raise Refusal(f"{show(value)} is not a list, expected {expected}")


def _encode_each(pairs: Iterable[tuple[Encoder, Any]], depth: int) -> bytes:
    out: list[bytes] = []
    try:
        for encode, value in pairs:
            out.append(encode(value, depth))
    except Refusal as refusal:
        refusal.path.append(f"[{len(out)}]")
        raise
    return b"".join(out)


def _decode_each(
    decoders: Iterable[Decoder], data: Input, start: int, depth: int
) -> tuple[list[Any], int]:
    values: list[Any] = []
    try:
        for decode in decoders:
            value, start = decode(data, start, depth)
            values.append(value)
    except Refusal as refusal:
        refusal.path.append(f"[{len(values)}]")
        raise
    return values, start


def _tuple(coders: list[Coder]) -> Coder:
    count = len(coders)
    encoders = [coder.encode for coder in coders]
    decoders = [coder.decode for coder in coders]

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not list:
            value = _as_list(value, f"a list of {count}")
        if len(value) != count:
            raise Refusal(f"{show(value)} is given, expected a list of {count}")
        return _encode_each(zip(encoders, value, strict=True), depth)

    def decode(data: Input, start: int, depth: int) -> tuple[list[Any], int]:
        data.spend(count + 1)
        return _decode_each(decoders, data, start, depth)

    return Coder(encode, decode)


def _array(item: Coder, length: int) -> Coder:
    encode_item, decode_item = item

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not list:
            value = _as_list(value, f"a list of {length}")
        if len(value) != length:
            raise Refusal(f"{show(value)} is given, expected a list of {length}")
        return _encode_each(zip(repeat(encode_item), value, strict=False), depth)

    def decode(data: Input, start: int, depth: int) -> tuple[list[Any], int]:
        data.spend(length + 1)
        return _decode_each(repeat(decode_item, length), data, start, depth)

    return Coder(encode, decode)


def _sequence(item: Coder, *, empty: bool) -> Coder:
    encode_item, decode_item = item

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not list:
            value = _as_list(value, "a list")
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        if empty and len(value) > MAX_EMPTY:
            raise Refusal(_too_many_empty(len(value)))
        body = _encode_each(zip(repeat(encode_item), value, strict=False), depth + 1)
        return encode_compact(len(value)) + body

    def decode(data: Input, start: int, depth: int) -> tuple[list[Any], int]:
        length, begin = decode_compact(data, start)
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        if empty and length > MAX_EMPTY:
            raise Refusal(_too_many_empty(length))
        if not empty and length > len(data) - begin:
            raise Refusal(f"the bytes end early, byte {start} promises {length} elements")
        data.spend(length + 1)
        return _decode_each(repeat(decode_item, length), data, begin, depth + 1)

    return Coder(encode, decode)


def _option(some: Coder, *, wrapped: bool) -> Coder:
    encode_some, decode_some = some

    def encode(value: Any, depth: int) -> bytes:
        if value is None:
            return b"\x00"
        if wrapped:
            if not isinstance(value, Mapping) or list(value) != ["Some"]:
                raise Refusal(f'{show(value)} is given, expected null or {{"Some": …}}')
            value = value["Some"]
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        return b"\x01" + encode_some(value, depth + 1)

    def decode(data: Input, start: int, depth: int) -> tuple[Any, int]:
        present, start = decode_bool(data, start, depth)
        if not present:
            return None, start
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        data.spend(1)
        value, start = decode_some(data, start, depth + 1)
        return ({"Some": value} if wrapped else value), start

    return Coder(encode, decode)


# One closure for each form of variants, for speed.
def _variant(  # noqa: C901
    codec: Codec, type_id: int, variants: list[list[Any]]
) -> Coder:
    by_name: dict[str, tuple[int, list[Any]]] = {
        name: (index, fields) for name, index, fields in variants
    }
    by_index = {index: (name, fields) for name, index, fields in variants}
    if len(by_name) != len(variants):
        raise Refusal("the runtime's metadata names a variant twice")
    if len(by_index) != len(variants):
        raise Refusal("the runtime's metadata numbers two variants alike")
    plain: dict[str, bytes] = {
        name: ONE_BYTE[index] for name, index, fields in variants if not fields
    }
    #: Compiled when first met: RuntimeCall alone leads to most of a runtime's types.
    bodies: dict[str, Coder] = {}

    def body_of(name: str, fields: list[Any]) -> Coder:
        body = bodies.get(name)
        if body is None:
            body = bodies[name] = codec.fields(fields)
        return body

    def refuse(value: object) -> Refusal:
        if not variants:
            return Refusal("this type has no values at all")
        if isinstance(value, str) and value in by_name and value not in plain:
            return Refusal(f'{value!r} is given alone, expected {{"{value}": …}}')
        return Refusal(f"{show(value)} is not one of {_choices(by_name)}")

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is str:
            try:
                return plain[value]
            except KeyError:
                raise refuse(value) from None
        if type(value) is not dict and isinstance(value, Mapping):
            value = dict(value)
        if type(value) is not dict or len(value) != 1:
            raise refuse(value)
        ((name, inner),) = value.items()
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        if name not in by_name:
            raise refuse(name)
        index, fields = by_name[name]
        try:
            return ONE_BYTE[index] + body_of(name, fields).encode(inner, depth + 1)
        except Refusal as refusal:
            refusal.path.append(name)
            raise

    def decode(data: Input, start: int, depth: int) -> tuple[Any, int]:
        try:
            index = data[start]
        except IndexError:
            raise ends_early(start) from None
        if index not in by_index:
            raise Refusal(
                f"0x{index:02x} at byte {start} is not a variant of {codec.types.name(type_id)}"
            )
        name, fields = by_index[index]
        if not fields:
            return name, start + 1
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        try:
            body = body_of(name, fields)
            data.spend(1)
            value, end = body.decode(data, start + 1, depth + 1)
        except Refusal as refusal:
            refusal.path.append(name)
            raise
        return {name: value}, end

    return Coder(encode, decode)
