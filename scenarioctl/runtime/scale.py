"""SCALE: how values are written as bytes and read again; the coders of all that holds no others.

Values are plain Python.  `encode` takes what `decode` gives, and a little more where said:

    integers             int (encode also takes decimal text); so is Compact<T>
    bool, str, char      bool, str, a str of one character
    Vec<u8>, [u8; N]     bytes (encode also takes `0x…` text)
    named fields         {"id": …, "fun": …}
    one unnamed field    the field itself: AccountId32 is 32 bytes, BoundedVec<u32> a list
    unnamed fields       a list; tuples, sequences and arrays too
    nothing              None
    variants             "Here", {"Parachain": 1000}, {"X2": [a, b]}, {"BuyExecution": {"fees": …}}
    Option<T>            None or the value; {"Some": value} where T itself can be None
    bit sequences        text of 0 and 1, the first bit first
    U256 of Rust crates  int, as the primitive u256

A Rust `Option<bool>` takes two bytes, as any Option does; only the type OptionBool, which no
metadata can show, takes one.  A char is its code point in four bytes.

Decoding is strict, since bytes that decode and encode again differently would be signed as
something else: compacts must be the shortest, a bool 0 or 1, padding bits zero.  It is bounded too:
no length is believed before the bytes that it speaks of are there.
"""

# ruff: noqa: ARG001, every encoder and every decoder takes the same arguments

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, NamedTuple

from scenarioctl.errors import shorten
from scenarioctl.model.amounts import read_digits

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

ONE_BYTE = [bytes((number,)) for number in range(256)]
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
        return ONE_BYTE[number << 2]
    if number < 1 << 14:
        return _pack_u16(number << 2 | 1)
    if number < 1 << 30:
        return _pack_u32(number << 2 | 2)
    size = (number.bit_length() + 7) >> 3
    return ONE_BYTE[(size - 4) << 2 | 3] + number.to_bytes(size, "little")


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
        raise ends_early(start) from None
    size = 4 if mode == 2 else (first >> 2) + 5
    end = start + size
    if end > len(data):
        raise ends_early(start)
    if mode == 2:
        number = int.from_bytes(data[start:end], "little") >> 2
        if number < 1 << 14:
            raise Refusal(_longer_than_needed(data, start, size))
        return number, end
    number = int.from_bytes(data[start + 1 : end], "little")
    if not data[end - 1] or number < 1 << 30:
        raise Refusal(_longer_than_needed(data, start, size))
    return number, end


def ends_early(start: int) -> Refusal:
    return Refusal(f"the bytes end early, in what begins at byte {start}")


def _longer_than_needed(data: bytes, start: int, size: int) -> str:
    return (
        f"the compact {shorten(data[start : start + size])} at byte {start} is longer than its "
        "number needs"
    )


def show(value: object) -> str:
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


# Nothing


def _encode_nothing(value: object, depth: int) -> bytes:
    if value is not None and value != {} and value != []:
        raise Refusal(f"{show(value)} is given where nothing belongs, expected null")
    return b""


def _decode_nothing(data: Input, start: int, depth: int) -> tuple[None, int]:
    return None, start


NOTHING = Coder(_encode_nothing, _decode_nothing)


# Numbers


def _as_integer(value: object, expected: str) -> int:
    """Return what is not simply an int as one: a subclass of int, or decimal text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and (digits := read_digits(value.removeprefix("-"))) is not None:
        return -digits if value.startswith("-") else digits
    raise Refusal(f"{show(value)} is not a whole number, expected {expected}")


def integer_coder(bits: int, *, signed: bool) -> Coder:
    size, name = bits // 8, f"{'i' if signed else 'u'}{bits}"

    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not int:
            value = _as_integer(value, name)
        try:
            return value.to_bytes(size, "little", signed=signed)  # type: ignore[no-any-return]
        except OverflowError:
            raise Refusal(f"{show(value)} does not fit {name}") from None

    def decode(data: Input, start: int, depth: int) -> tuple[int, int]:
        end = start + size
        if end > len(data):
            raise ends_early(start)
        return int.from_bytes(data[start:end], "little", signed=signed), end

    return Coder(encode, decode)


def compact_coder(largest: int, name: str) -> Coder:
    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not int:
            value = _as_integer(value, name)
        if not 0 <= value <= largest:
            raise Refusal(f"{show(value)} does not fit {name}")
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
    raise Refusal(f"{show(value)} is neither true nor false, expected bool")


def decode_bool(data: Input, start: int, depth: int) -> tuple[bool, int]:
    try:
        byte = data[start]
    except IndexError:
        raise ends_early(start) from None
    if byte > 1:
        raise Refusal(f"0x{byte:02x} at byte {start} is not a bool, expected 00 or 01")
    return byte == 1, start + 1


def _encode_str(value: object, depth: int) -> bytes:
    if not isinstance(value, str):
        raise Refusal(f"{show(value)} is not text, expected str")
    try:
        text = value.encode()
    except UnicodeEncodeError:
        raise Refusal(f"{show(value)} has a lone surrogate, which UTF-8 cannot hold") from None
    return encode_compact(len(text)) + text


def _decode_str(data: Input, start: int, depth: int) -> tuple[str, int]:
    text, end = _decode_bytes(data, start, depth)
    try:
        return text.decode(), end
    except UnicodeDecodeError:
        raise Refusal(f"the text at byte {start} is not UTF-8") from None


def _encode_char(value: object, depth: int) -> bytes:
    if not isinstance(value, str) or len(value) != 1 or 0xD800 <= ord(value) < 0xE000:
        raise Refusal(f"{show(value)} is not one character, expected char")
    return _pack_u32(ord(value))


def _decode_char(data: Input, start: int, depth: int) -> tuple[str, int]:
    end = start + 4
    if end > len(data):
        raise ends_early(start)
    code = int.from_bytes(data[start:end], "little")
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise Refusal(f"0x{code:x} at byte {start} is not a character")
    return chr(code), end


PRIMITIVES = {
    "bool": Coder(_encode_bool, decode_bool),
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
            raise Refusal(f"{show(value)} is not hexadecimal, expected {expected}") from None
        # bytes.fromhex skips blanks; what a person pasted in two halves is better refused.
        if len(data) * 2 == len(value) - 2:
            return data
    raise Refusal(f"{show(value)} is not bytes, expected {expected} as 0x… text")


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


BYTES = Coder(_encode_bytes, _decode_bytes)


def bytes_coder(length: int) -> Coder:
    def encode(value: Any, depth: int) -> bytes:
        if type(value) is not bytes:
            value = _as_bytes(value, f"{length} bytes")
        if len(value) != length:
            raise Refusal(f"{show(value)} has {len(value)} bytes, expected {length}")
        return value  # type: ignore[no-any-return]

    def decode(data: Input, start: int, depth: int) -> tuple[bytes, int]:
        end = start + length
        if end > len(data):
            raise ends_early(start)
        return data[start:end], end

    return Coder(encode, decode)


def bits_coder(store: int, most_significant_first: bool) -> Coder:
    size = store // 8

    def encode(value: object, depth: int) -> bytes:
        if not isinstance(value, str) or value.strip("01"):
            raise Refusal(f"{show(value)} is not text of 0 and 1, expected a bit sequence")
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
