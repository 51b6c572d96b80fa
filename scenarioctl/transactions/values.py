"""Values of a runtime's types, from what people write and to what they read."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from string import hexdigits
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import parse_account
from scenarioctl.errors import InvalidRequest, fold, shorten
from scenarioctl.model.amounts import from_hex, read_digits, read_json_number
from scenarioctl.transactions.extrinsic import decode_extrinsic, looks_like_extrinsic

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Longer texts than any call that a block takes.
MAX_TEXT = 4 * 1024 * 1024
MAX_DEPTH = 64
#: Deeper inside a type its example is cut.
_EXAMPLE_DEPTH = 8
_HEX_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,128}", re.ASCII)
#: Composites that are numbers.
_WIDE = ("primitive_types::U128", "primitive_types::U256", "primitive_types::U512")


class ValueReader:
    """Makes values of the runtime's types from text; says which parameter did not fit."""

    def __init__(self, table: "RuntimeTable", where: str) -> None:
        self._table = table
        self._where = where

    def read(self, type_id: int, value: object, depth: int = 0) -> Any:
        """Return *value*, text or (inside JSON) a JSON value, as a value of the type."""
        if depth > MAX_DEPTH:
            raise InvalidRequest(field=self._where, problem=f"is nested more than {MAX_DEPTH} deep")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise InvalidRequest(
                field=self._where,
                problem=f"is {len(value)} characters long",
                expected=f"at most {MAX_TEXT}",
            )
        path, _, kind, definition = self._table.types[type_id]
        name = path.rpartition("::")[2]
        if self._table.types.is_option(type_id):
            return self._read_option(definition[1][2][0][1], value, depth)
        if name == "AccountId32":
            return self._read_account(type_id, value)
        if name == "MultiAddress" and not _is_table(value):
            return {"Id": self._read_account(type_id, value)}
        if kind == "compact":
            return self.read(definition, value, depth + 1)
        if kind == "primitive":
            return self._read_primitive(type_id, definition, value)
        if kind == "bits":
            return self._read_bits(type_id, value)
        if kind in ("sequence", "array"):
            length, element = (None, definition) if kind == "sequence" else definition
            if self._is_byte(element):
                return self._read_bytes(type_id, length, value)
            items = self._read_items(type_id, length, value)
            return [self.read(element, item, depth + 1) for item in items]
        if kind == "tuple":
            if not definition:
                return self._read_nothing(type_id, value)
            items = self._read_items(type_id, len(definition), value)
            return [
                self.read(inner, item, depth + 1)
                for inner, item in zip(definition, items, strict=True)
            ]
        if path in _WIDE and isinstance(value, (str, int)):
            return self._read_wide(type_id, int(name[1:]), value)
        if kind == "composite":
            return self._read_fields(type_id, definition, value, depth)
        return self._read_variant(type_id, definition, value, depth)

    def example(self, type_id: int, depth: int = 0) -> str:
        """Return a text that would fit, or a description of one."""
        if depth > _EXAMPLE_DEPTH:
            return "…"
        path, _, kind, definition = self._table.types[type_id]
        name = path.rpartition("::")[2]
        if self._table.types.is_option(type_id):
            return f"nothing, or {self.example(definition[1][2][0][1], depth + 1)}"
        if name in ("AccountId32", "MultiAddress"):
            return (
                "an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or 0x "
                "and 64 hex digits"
            )
        if kind == "compact":
            return self.example(definition, depth + 1)
        if kind == "primitive":
            return {"bool": "true or false", "char": "one character", "str": "text"}.get(
                definition, "a whole number like 1000"
            )
        if kind == "bits":
            return "digits 0 and 1 like 0110"
        if kind in ("sequence", "array"):
            element = definition if kind == "sequence" else definition[1]
            if self._is_byte(element):
                return (
                    "text or 0x hex"
                    if kind == "sequence"
                    else f"0x and {definition[0] * 2} hex digits"
                )
            return (
                "a JSON list like [1, 2]"
                if kind == "sequence"
                else f"a JSON list of {definition[0]}"
            )
        if kind == "tuple":
            return f"a JSON list of {len(definition)}" if definition else "nothing"
        if kind == "composite":
            return (
                "a whole number like 1000 or 0x3e8"
                if path in _WIDE
                else self._fields_like(definition, depth)
            )
        if type_id == self._table.call_type:
            return '0x hex of call data, or JSON like {"System": {"remark": {"remark": "hello"}}}'
        names = [variant[0] for variant in definition]
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        if all(not variant[2] for variant in definition):
            return f"one of: {shown}"
        return (
            f"JSON like {{{json.dumps(next((v[0] for v in definition if v[2]), ''))}: …}}, one "
            f"of: {shown}"
        )

    def _fields_like(self, definition: Any, depth: int) -> str:
        if len(definition) == 1 and definition[0][0] is None:
            return self.example(definition[0][1], depth + 1)
        names = [field[0] for field in definition]
        if None in names:
            return f"a JSON list of {len(names)}"
        return (
            f"JSON like {{{', '.join(json.dumps(inner) + ': …' for inner in names)}}}"
            if names
            else "nothing"
        )

    def misfit(self, type_id: int, value: object, reason: str = "") -> InvalidRequest:
        why = f" ({reason})" if reason else ""
        return InvalidRequest(
            field=self._where,
            value=value,
            problem=f"does not fit {self._table.type_name(type_id)}{why}",
            expected=self.example(type_id),
        )

    def _read_wide(self, type_id: int, bits: int, value: str | int) -> Any:
        if isinstance(value, str) and _HEX_NUMBER.fullmatch(value.strip()):
            # As the EVM and its tools write it; the bytes of the key are little-endian all the
            # same.
            value = int(value, 16)
        return self._read_integer(type_id, 0, 2**bits, value)

    def _read_option(self, inner: int, value: object, depth: int) -> Any:
        if value is None or value in ("", "null", "None"):
            return None
        value = self._parsed_table(inner, value)
        if isinstance(value, Mapping) and set(value) == {"Some"}:
            value = value["Some"]
        read = self.read(inner, value, depth + 1)
        return {"Some": read} if self._table.types.can_be_none(inner) else read

    def _read_account(self, type_id: int, value: object) -> bytes:
        if not isinstance(value, str):
            raise self.misfit(type_id, value)
        return parse_account(value.strip(), field=self._where)

    def _read_primitive(self, type_id: int, name: str, value: object) -> Any:
        if name == "bool":
            if value is True or value == "true":
                return True
            if value is False or value == "false":
                return False
            raise self.misfit(type_id, value)
        if name in ("str", "char"):
            if isinstance(value, str) and (name == "str" or len(value) == 1):
                return value
            raise self.misfit(type_id, value)
        bits = int(name[1:])
        if name[0] == "i":
            return self._read_integer(type_id, -(2 ** (bits - 1)), 2 ** (bits - 1), value)
        return self._read_integer(type_id, 0, 2**bits, value)

    def _read_integer(self, type_id: int, lowest: int, beyond: int, value: object) -> int:
        if isinstance(value, Mapping) and value.keys() == {"value", "human"}:
            # An amount as `tx decode` prints it.
            value = value["value"]
        given = value
        if isinstance(value, str):
            text = value.strip()
            sign = "-" if lowest < 0 and text.startswith("-") else ""
            value = read_digits(text.removeprefix(sign))
            if value is None:
                raise self.misfit(type_id, given)
            value = -value if sign else value
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.misfit(type_id, given)
        if not lowest <= value < beyond:
            raise self.misfit(type_id, given, f"it is not from {lowest} to {beyond - 1}")
        return value

    def _read_bits(self, type_id: int, value: object) -> str:
        if isinstance(value, str) and not value.strip("01"):
            return value
        raise self.misfit(type_id, value)

    def _read_bytes(self, type_id: int, length: int | None, value: object) -> bytes:
        """Return bytes of 0x hex, or those of a plain text; a list of numbers in JSON too."""
        if isinstance(value, str):
            is_hex = value[:2] in ("0x", "0X")
            read = from_hex(value) if is_hex else None
            # What is meant as hex is no text: a text has other letters, and any length.
            if is_hex and read is None and (length is not None or not value[2:].strip(hexdigits)):
                raise self.misfit(type_id, value, "it is not hex")
            if read is not None:
                data = read
            else:
                try:
                    data = value.encode("utf-8")
                except UnicodeEncodeError:
                    raise self.misfit(type_id, value, "it contains half a character") from None
                # A name of that very length is one (`omnipool`); what is as long as a hash may be a
                # mistyped one.
                if length is not None and (length != len(data) or length >= 20):
                    # What a location has is printed as an address.
                    try:
                        data = parse_account(value.strip(), field=self._where)
                    except InvalidRequest:
                        raise self.misfit(type_id, value) from None
        elif isinstance(value, list) and all(
            type(item) is int and 0 <= item < 256 for item in value
        ):
            data = bytes(value)
        else:
            raise self.misfit(type_id, value)
        if length is not None and len(data) != length:
            raise self.misfit(type_id, value, f"it has {len(data)} bytes")
        return data

    def _read_items(self, type_id: int, length: int | None, value: object) -> list[Any]:
        items = self._parsed(type_id, value)
        if not isinstance(items, list):
            raise self.misfit(type_id, value)
        if length is not None and len(items) != length:
            raise self.misfit(type_id, value, f"it has {len(items)} parts")
        return items

    def _read_nothing(self, type_id: int, value: object) -> None:
        if value is not None and value not in ("", "null", "()", {}, [], "{}", "[]"):
            raise self.misfit(type_id, value)

    def _read_fields(self, type_id: int, fields: list[Any], value: object, depth: int) -> Any:
        if not fields:
            return self._read_nothing(type_id, value)
        if fields[0][0] is None:
            if len(fields) == 1:
                return self.read(fields[0][1], value, depth + 1)
            items = self._read_items(type_id, len(fields), value)
            return [
                self.read(field[1], item, depth + 1)
                for field, item in zip(fields, items, strict=True)
            ]
        parts = self._parsed(type_id, value)
        if not isinstance(parts, dict):
            raise self.misfit(type_id, value)
        names = {field[0] for field in fields}
        for key in parts:
            if key not in names:
                raise self.misfit(type_id, value, f"it has the unknown part {shorten(key)}")
        for field in fields:
            if field[0] not in parts and not self._table.types.is_option(field[1]):
                raise self.misfit(type_id, value, f"its part {field[0]!r} is missing")
        return {field[0]: self.read(field[1], parts.get(field[0]), depth + 1) for field in fields}

    def _read_variant(self, type_id: int, variants: list[Any], value: object, depth: int) -> Any:
        if (
            type_id == self._table.call_type
            and isinstance(value, str)
            and value[:2] in ("0x", "0X")
        ):
            return self._read_call(type_id, value)
        value = self._parsed_table(type_id, value)
        if isinstance(value, Mapping) and value.keys() == {"pallet", "method", "args"}:
            # A call as `tx decode` prints it.
            value = {value["pallet"]: {value["method"]: value["args"]}}
        chosen, inner = (value, None) if isinstance(value, str) else (None, None)
        if isinstance(value, Mapping) and len(value) == 1:
            chosen, inner = next(iter(value.items()))
        folded = fold(chosen) if isinstance(chosen, str) else None
        exact = [variant for variant in variants if variant[0] == chosen]
        fits = exact or [variant for variant in variants if fold(variant[0]) == folded]
        if len(fits) != 1:
            raise self.misfit(type_id, value)
        label, _, fields = fits[0]
        if not fields:
            self._read_nothing(type_id, inner)
            return label
        return {label: self._read_fields(type_id, fields, inner, depth)}

    def _read_call(self, type_id: int, value: str) -> Any:
        """Return a call of its call data, or of the bare extrinsic around it."""
        data = from_hex(value)
        if data is None:
            raise self.misfit(type_id, value, "it is not hex")
        try:
            if not looks_like_extrinsic(data):
                return self._table.decode(type_id, data)
            extrinsic = decode_extrinsic(self._table, data)
        except InvalidRequest as error:
            raise InvalidRequest(field=self._where, problem=f": {error}") from None
        if extrinsic.form != "bare":
            raise self.misfit(type_id, value, "it is a signed extrinsic")
        return self._table.decode(type_id, extrinsic.call_data)

    def _parsed(self, type_id: int, value: object) -> Any:
        """Return the JSON in *value*; inside JSON it is parsed already."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value, parse_float=read_json_number, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise self.misfit(type_id, value, "it is not JSON") from None

    def _parsed_table(self, type_id: int, value: object) -> Any:
        """Return the JSON object in *value*, or *value* as it is where it holds none."""
        with suppress(InvalidRequest):
            return self._parsed(type_id, value) if _is_table(value) else value
        return value

    def _is_byte(self, type_id: int) -> bool:
        _, _, kind, definition = self._table.types[type_id]
        return bool(kind == "primitive" and definition == "u8")


class ValueWriter:
    """Makes plain data of values, along the runtime's types: what a person can read and a program
    can parse.

    Accounts are SS58 of the chain, bytes 0x hex, integers wider than 32 bits decimal text, or all
    of them.
    """

    def __init__(
        self, table: "RuntimeTable", chain: "Chain", *, text_numbers: bool = False
    ) -> None:
        self._table = table
        self._chain = chain
        #: Whether even a small integer becomes text.
        self._text_numbers = text_numbers

    def value(self, type_id: int, value: Any) -> Any:
        """Return *value*, of the type, as plain data."""
        types = self._table.types
        path, _, kind, definition = types[type_id]
        name = path.rpartition("::")[2]
        if types.is_option(type_id):
            if value is None:
                return None
            inner = definition[1][2][0][1]
            if types.can_be_none(inner):
                return {"Some": self.value(inner, value["Some"])}
            return self.value(inner, value)
        if name in ("AccountId32", "AccountId20") and isinstance(value, bytes):
            return write_account(value, self._chain)
        if isinstance(value, bytes):
            return "0x" + value.hex()
        if kind == "compact":
            return self.value(definition, value)
        if kind == "primitive":
            if definition[1:] in ("64", "128", "256") or (
                self._text_numbers and definition[1:].isdigit()
            ):
                return str(value)
            return value
        if kind in ("sequence", "array") and isinstance(value, list):
            element = definition if kind == "sequence" else definition[1]
            return [self.value(element, item) for item in value]
        if kind == "tuple" and isinstance(value, list):
            return [self.value(inner, item) for inner, item in zip(definition, value, strict=True)]
        if kind == "composite" and definition:
            if isinstance(value, int) and path.startswith("primitive_types::U"):
                return str(value)
            return self._fields(definition, value)
        if kind == "variant":
            return self.variant(name, definition, value)
        return value

    def variant(self, name: str, variants: list[Any], value: Any) -> Any:
        if isinstance(value, str):
            return value
        label, inner = next(iter(value.items()))
        fields = next(variant[2] for variant in variants if variant[0] == label)
        described = self._fields(fields, inner)
        # An Id is what everybody means by an address.
        return described if name == "MultiAddress" and label == "Id" else {label: described}

    def _fields(self, fields: list[Any], value: Any) -> Any:
        if fields[0][0] is not None:
            return {field[0]: self.value(field[1], value[field[0]]) for field in fields}
        if len(fields) == 1:
            return self.value(fields[0][1], value)
        return [self.value(field[1], item) for field, item in zip(fields, value, strict=True)]


def write_account(value: Any, chain: "Chain") -> Any:
    """Return an account as *chain* shows it; another kind of account as plain data."""
    if isinstance(value, bytes) and len(value) == chain.account_format.length:
        return chain.account_format.format(value, chain.ss58_prefix)
    return write_plain(value)


def write_plain(value: Any) -> Any:
    """Return *value*, of no known type, as plain data."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Mapping):
        return {key: write_plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [write_plain(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**32:
        return str(value)
    return value


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip().startswith("{"))


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)
