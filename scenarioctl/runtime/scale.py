"""The SCALE codec: one compiled coder for each type of a runtime, made when first needed.

Values are plain Python.  `encode` takes what `decode` gives, and a little more where said:

    integers             int (encode also takes decimal text); so is Compact<T>
    bool, str, char      bool, str, a str of one character
    Vec<u8>, [u8; N]     bytes (encode also takes `0x…` text)
    named fields         {"id": …, "fun": …}
    one unnamed field    the field itself: AccountId32 is 32 bytes, BoundedVec<u32> a list
    unnamed fields       a list; tuples, sequences and arrays too
    nothing              None
    variants             "Here", {"Parachain": 1000}, {"X2": [a, b]}, {"BuyExecution": {"fees": …,
    "weight_limit": …}} Option<T>            None or the value; {"Some": value} where T itself can
    be None bit sequences        text of 0 and 1, the first bit first
    U256 of Rust crates  int, as the primitive u256

A Rust `Option<bool>` takes two bytes, as any Option does; only the type OptionBool, which no
metadata can show, takes one.  A char is its code point in four bytes.

Decoding is strict, since bytes that decode and encode again differently would be signed as
something else: compacts must be the shortest, a bool 0 or 1, padding bits zero.  It is bounded too:
no length is believed before the bytes that it speaks of are there.
"""

# ruff: noqa: ARG001, every encoder and every decoder takes the same arguments

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from struct import Struct
from threading import RLock
from typing import Any, NamedTuple

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import read_digits
from scenarioctl.runtime.type_table import DEFINITION, KIND, PATH, TypeTable

#: Takes a value and how deep it stands.
Encoder = Callable[[Any, int], bytes]
#: Takes the bytes, where to begin and how deep that is; gives the value and where it ended.
Decoder = Callable[["Input", int, int], tuple[Any, int]]

#: How many sequences and variants may stand inside each other; 66 batches in a batch.  Far below
#: Python's own limit.
MAX_DEPTH = 200
#: How many elements without bytes a list may have: nothing else bounds them.
MAX_EMPTY = 16
#: How many values one decoding makes at most: by the metadata of a node that lies, a few bytes can
#: be millions of them.
MAX_VALUES = 500_000
#: The same for a call: a batch of 5 MiB could hold a million calls, each of which takes a thousand
#: bytes once it is decoded.
MAX_CALL_VALUES = 100_000

_BYTE = [bytes((number,)) for number in range(256)]
_U16, _U32, _U64 = Struct("<H"), Struct("<I"), Struct("<Q")
_pack_u16, _pack_u32 = _U16.pack, _U32.pack


class Coder(NamedTuple):
    """Both ways of one type."""

    encode: Encoder
    decode: Decoder


class Input(bytes):
    """Bytes that are decoded, and how many values may still be made of them."""

    most = room = MAX_VALUES

    def spend(self, values: int) -> None:
        self.room -= values
        if self.room < 0:
            raise Refusal(f"it holds more than {self.most} values")


class CallInput(Input):
    """Those of a call, which anybody may send."""

    most = room = MAX_CALL_VALUES


class Refusal(Exception):
    """Why a value has no bytes or bytes no value; containers add where, so that success costs
    nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        #: Field names and `[places]`, innermost first.
        self.path: list[str] = []

    def __str__(self) -> str:
        parts = self.path[::-1]
        if len(parts) > 30:
            parts[15:-10] = ["…"]
        path = ""
        for part in parts:
            path += part if part.startswith("[") or not path else f".{part}"
        return f"{path}: {self.reason}" if path else self.reason


def encode_compact(number: int) -> bytes:
    """Return *number*, not negative and below 2^536, as a SCALE compact."""
    if number < 64:
        return _BYTE[number << 2]
    if number < 1 << 14:
        return _pack_u16(number << 2 | 1)
    if number < 1 << 30:
        return _pack_u32(number << 2 | 2)
    size = (number.bit_length() + 7) >> 3
    return _BYTE[(size - 4) << 2 | 3] + number.to_bytes(size, "little")


def decode_compact(data: bytes, start: int) -> tuple[int, int]:
    """Return the compact at *start* and where it ends; Refusal if it is cut off or not the shortest
    form."""
    try:
        first = data[start]
        mode = first & 3
        if mode == 0:
            return first >> 2, start + 1
        if mode == 1:
            number = (first | data[start + 1] << 8) >> 2
            if number < 64:
                raise Refusal(_longer_than_needed(data, start, 2))
            return number, start + 2
    except IndexError:
        raise _ends_early(start) from None
    size = 4 if mode == 2 else (first >> 2) + 5
    end = start + size
    if end > len(data):
        raise _ends_early(start)
    if mode == 2:
        number = int.from_bytes(data[start:end], "little") >> 2
        if number < 1 << 14:
            raise Refusal(_longer_than_needed(data, start, size))
        return number, end
    number = int.from_bytes(data[start + 1 : end], "little")
    if not data[end - 1] or number < 1 << 30:
        raise Refusal(_longer_than_needed(data, start, size))
    return number, end


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
            return _NOTHING
        if fields[0][0] is None:
            if len(fields) == 1:
                return self.coder(fields[0][1])
            return _tuple([self.coder(field[1]) for field in fields])
        return _named([(field[0], self.coder(field[1])) for field in _distinct(fields)])

    def _compile(self, type_id: int) -> Coder:
        path, _, kind, definition = self.types[type_id]
        if kind == "composite":
            bits = self._wide_unsigned(path, definition)
            return _integer(bits, signed=False) if bits else self.fields(definition)
        if kind == "variant":
            if self.types.is_option(type_id):
                inner = definition[1][2][0][1]
                return _option(self.coder(inner), wrapped=self.types.can_be_none(inner))
            return _variant(self, type_id, definition)
        if kind == "sequence":
            if self._is_byte(definition):
                return _BYTES
            return _sequence(self.coder(definition), empty=self.types.is_empty(definition))
        if kind == "array":
            length, inner = definition
            if self._is_byte(inner):
                return _byte_array(length)
            if self.types.is_empty(inner) and length > MAX_EMPTY:
                raise Refusal(_too_many_empty(length))
            return _array(self.coder(inner), length)
        if kind == "tuple":
            return _tuple([self.coder(inner) for inner in definition]) if definition else _NOTHING
        if kind == "primitive":
            return _PRIMITIVES.get(definition) or _integer(
                int(definition[1:]), signed=definition[0] == "i"
            )
        if kind == "compact":
            return self._compile_compact(definition)
        return _bits(*self._bit_order(definition))

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

    def _compact_of(self, type_id: int) -> tuple[list[str], int, str]:
        """Return the field names around the number in a compact, its largest value and its name."""
        names: list[str] = []
        for _ in range(MAX_DEPTH):
            _, _, kind, definition = self.types[type_id]
            if kind == "composite" and len(definition) == 1:
                if definition[0][0] is not None:
                    names.append(definition[0][0])
                type_id = definition[0][1]
            elif kind in ("tuple", "composite") and not definition:
                return names, -1, "()"
            elif kind == "primitive" and definition.startswith("u"):
                return names, (1 << int(definition[1:])) - 1, definition
            else:
                break
        raise Refusal(
            f"a compact {self.types.name(type_id)} does not exist, only compact unsigned integers"
        )

    def _compile_compact(self, type_id: int) -> Coder:
        names, largest, name = self._compact_of(type_id)
        coder = _NOTHING if largest < 0 else _compact(largest, name)
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


def _show(value: object) -> str:
    """Return *value* for a sentence, never spelling out a huge number or a container."""
    if isinstance(value, int) and value.bit_length() > 600:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return shorten(value[:100])
    if isinstance(value, Mapping):
        return f"an object of {len(value)} fields" if len(value) != 1 else "an object of one field"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return shorten(value)


def _choices(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= 400 else text[:399] + "…"


def _ends_early(start: int) -> Refusal:
    return Refusal(f"the bytes end early, in what begins at byte {start}")


def _longer_than_needed(data: bytes, start: int, size: int) -> str:
    return (
        f"the compact {shorten(data[start : start + size])} at byte {start} is longer than its "
        "number needs"
    )


def _too_many_empty(length: int) -> str:
    return f"a list of {length} elements without bytes is refused, at most {MAX_EMPTY} are read"


def _distinct(fields: list[list[Any]]) -> list[list[Any]]:
    """Return *fields*, refusing those that a dict cannot hold."""
    names = [field[0] for field in fields]
    if None in names or len(set(names)) != len(names):
        raise Refusal("the runtime's metadata names some of its fields twice or not at all")
    return fields


# Nothing


def _encode_nothing(value: object, depth: int) -> bytes:
    if value is not None and value != {} and value != []:
        raise Refusal(f"{_show(value)} is given where nothing belongs, expected null")
    return b""


def _decode_nothing(data: Input, start: int, depth: int) -> tuple[None, int]:
    return None, start


_NOTHING = Coder(_encode_nothing, _decode_nothing)


# Numbers


def _as_integer(value: object, expected: str) -> int:
    """Return what is not simply an int as one: a subclass of int, or decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and (digits := read_digits(value.removeprefix("-"))) is not None:
        return -digits if value.startswith("-") else digits
    raise Refusal(f"{_show(value)} is not a whole number, expected {expected}")


def _integer(bits: int, *, signed: bool) -> Coder:
    size, name = bits // 8, f"{'i' if signed else 'u'}{bits}"

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not int:
            value = _as_integer(value, name)
        try:
            return value.to_bytes(size, "little", signed=signed)  # type: ignore[no-any-return]
        except OverflowError:
            raise Refusal(f"{_show(value)} does not fit {name}") from None

    def decode(data: Input, start: int, depth: int) -> tuple[int, int]:
        end = start + size
        if end > len(data):
            raise _ends_early(start)
        return int.from_bytes(data[start:end], "little", signed=signed), end

    return Coder(encode, decode)


def _compact(largest: int, name: str) -> Coder:
    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not int:
            value = _as_integer(value, name)
        if not 0 <= value <= largest:
            raise Refusal(f"{_show(value)} does not fit {name}")
        return encode_compact(value)

    def decode(data: Input, start: int, depth: int) -> tuple[int, int]:
        value, end = decode_compact(data, start)
        if value > largest:
            raise Refusal(f"{value} at byte {start} does not fit {name}")
        return value, end

    return Coder(encode, decode)


# Truth and text


def _encode_bool(value: object, depth: int) -> bytes:
    if value is True:
        return b"\x01"
    if value is False:
        return b"\x00"
    raise Refusal(f"{_show(value)} is neither true nor false, expected bool")


def _decode_bool(data: Input, start: int, depth: int) -> tuple[bool, int]:
    try:
        byte = data[start]
    except IndexError:
        raise _ends_early(start) from None
    if byte > 1:
        raise Refusal(f"0x{byte:02x} at byte {start} is not a bool, expected 00 or 01")
    return byte == 1, start + 1


def _encode_str(value: object, depth: int) -> bytes:
    if not isinstance(value, str):
        raise Refusal(f"{_show(value)} is not text, expected str")
    try:
        text = value.encode()
    except UnicodeEncodeError:
        raise Refusal(f"{_show(value)} has a lone surrogate, which UTF-8 cannot hold") from None
    return encode_compact(len(text)) + text


def _decode_str(data: Input, start: int, depth: int) -> tuple[str, int]:
    text, end = _decode_bytes(data, start, depth)
    try:
        return text.decode(), end
    except UnicodeDecodeError:
        raise Refusal(f"the text at byte {start} is not UTF-8") from None


def _encode_char(value: object, depth: int) -> bytes:
    if not isinstance(value, str) or len(value) != 1 or 0xD800 <= ord(value) < 0xE000:
        raise Refusal(f"{_show(value)} is not one character, expected char")
    return _pack_u32(ord(value))


def _decode_char(data: Input, start: int, depth: int) -> tuple[str, int]:
    end = start + 4
    if end > len(data):
        raise _ends_early(start)
    code = int.from_bytes(data[start:end], "little")
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise Refusal(f"0x{code:x} at byte {start} is not a character")
    return chr(code), end


_PRIMITIVES = {
    "bool": Coder(_encode_bool, _decode_bool),
    "str": Coder(_encode_str, _decode_str),
    "char": Coder(_encode_char, _decode_char),
}


# Bytes and bits


def _as_bytes(value: object, expected: str) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str) and value.startswith("0x") and value.isascii():
        try:
            data = bytes.fromhex(value[2:])
        except ValueError:
            raise Refusal(f"{_show(value)} is not hexadecimal, expected {expected}") from None
        # bytes.fromhex skips blanks; what a person pasted in two halves is better refused.
        if len(data) * 2 == len(value) - 2:
            return data
    raise Refusal(f"{_show(value)} is not bytes, expected {expected} as 0x… text")


def _encode_bytes(value: Any, depth: int) -> bytes:
    if type(value) is not bytes:
        value = _as_bytes(value, "bytes")
    return encode_compact(len(value)) + value  # type: ignore[no-any-return]


def _decode_bytes(data: Input, start: int, depth: int) -> tuple[bytes, int]:
    length, begin = decode_compact(data, start)
    end = begin + length
    if end > len(data):
        raise Refusal(f"the bytes end early, byte {start} promises {length} more")
    return data[begin:end], end


_BYTES = Coder(_encode_bytes, _decode_bytes)


def _byte_array(length: int) -> Coder:
    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not bytes:
            value = _as_bytes(value, f"{length} bytes")
        if len(value) != length:
            raise Refusal(f"{_show(value)} has {len(value)} bytes, expected {length}")
        return value  # type: ignore[no-any-return]

    def decode(data: Input, start: int, depth: int) -> tuple[bytes, int]:
        end = start + length
        if end > len(data):
            raise _ends_early(start)
        return data[start:end], end

    return Coder(encode, decode)


def _bits(store: int, most_significant_first: bool) -> Coder:
    size = store // 8

    def encode(value: object, depth: int) -> bytes:
        if not isinstance(value, str) or value.strip("01"):
            raise Refusal(f"{_show(value)} is not text of 0 and 1, expected a bit sequence")
        elements = -(-len(value) // store)
        if not elements:
            return b"\x00"
        padded = value.ljust(elements * store, "0")
        if not most_significant_first:
            return encode_compact(len(value)) + int(padded[::-1], 2).to_bytes(
                elements * size, "little"
            )
        body = int(padded, 2).to_bytes(elements * size, "big")
        return encode_compact(len(value)) + _swap(body, size)

    def decode(data: Input, start: int, depth: int) -> tuple[str, int]:
        length, begin = decode_compact(data, start)
        elements = -(-length // store)
        end = begin + elements * size
        if end > len(data):
            raise Refusal(f"the bytes end early, byte {start} promises {length} bits")
        if not length:
            return "", end
        data.spend(elements)
        body = data[begin:end]
        if most_significant_first:
            text = format(int.from_bytes(_swap(body, size), "big"), f"0{elements * store}b")
        else:
            text = format(int.from_bytes(body, "little"), f"0{elements * store}b")[::-1]
        if "1" in text[length:]:
            raise Refusal(f"the bit sequence at byte {start} has a bit set behind its end")
        return text[:length], end

    return Coder(encode, decode)


def _swap(data: bytes, size: int) -> bytes:
    """Return *data* with the bytes of each element of *size* reversed."""
    if size == 1:
        return data
    return b"".join(data[start : start + size][::-1] for start in range(0, len(data), size))


# Fields, lists, variants


def _as_mapping(value: object, names: Iterable[str]) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise Refusal(f"{_show(value)} is not an object, expected the fields {_choices(names)}")


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
            raise Refusal(f"{_show(unknown)} is not one of its fields, expected {_choices(names)}")
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
    raise Refusal(f"{_show(value)} is not a list, expected {expected}")


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
            raise Refusal(f"{_show(value)} is given, expected a list of {count}")
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
            raise Refusal(f"{_show(value)} is given, expected a list of {length}")
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
                raise Refusal(f'{_show(value)} is given, expected null or {{"Some": …}}')
            value = value["Some"]
        if depth >= MAX_DEPTH:
            raise Refusal(_TOO_DEEP)
        return b"\x01" + encode_some(value, depth + 1)

    def decode(data: Input, start: int, depth: int) -> tuple[Any, int]:
        present, start = _decode_bool(data, start, depth)
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
    plain: dict[str, bytes] = {name: _BYTE[index] for name, index, fields in variants if not fields}
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
        return Refusal(f"{_show(value)} is not one of {_choices(by_name)}")

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
            return _BYTE[index] + body_of(name, fields).encode(inner, depth + 1)
        except Refusal as refusal:
            refusal.path.append(name)
            raise

    def decode(data: Input, start: int, depth: int) -> tuple[Any, int]:
        try:
            index = data[start]
        except IndexError:
            raise _ends_early(start) from None
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
