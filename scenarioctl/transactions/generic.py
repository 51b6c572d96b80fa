"""Any call, from arguments that are texts: what a chainTx node holds."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.calls import Call
from scenarioctl.transactions.drafts import Draft

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: Longer texts than any call that a block takes.
MAX_TEXT = 4 * 1024 * 1024
MAX_DEPTH = 64
#: Pallets whose calls move assets over a reserve of their own choosing.
_CROSS_CHAIN = ("PolkadotXcm", "XcmPallet")
_REFUSED = "XTokens"
#: Composites that are numbers.
_WIDE = ("primitive_types::U128", "primitive_types::U256", "primitive_types::U512")


def build_call(pallet: object, method: object, params: Mapping[str, object], table: "RuntimeTable") -> Draft:
    """Return the call with its arguments made from text by the runtime's types.

    A text is a number, `true`, an SS58 address, 0x hex, plain text for bytes, a variant's name, or JSON for what
    has parts.  Names are matched without case, `_` and `-`.  InvalidRequest names the parameter, its type and
    what would fit.
    """
    found, name = table.find_call(pallet, method)
    where = f"{found}.{name}"
    if not isinstance(params, Mapping):
        raise InvalidRequest(
            f"params {shorten(params)} is not a table, expected the arguments of {where} by name"
        )
    fields = {_fold(field.name): field for field in table.call_fields(found, name)}
    given: dict[str, object] = {}
    for key, value in params.items():
        field = fields.get(_fold(str(key)))
        if field is None:
            known = ", ".join(field.name for field in fields.values()) or "none, it takes no arguments"
            raise InvalidRequest(f"{where} has no parameter {shorten(key)}, expected: {known}")
        if field.name in given:
            raise InvalidRequest(f"{where} is given its parameter {field.name} twice, expected it once")
        given[field.name] = value
    arguments: dict[str, Any] = {}
    for field in fields.values():
        reader = _Reader(table, f"{where}: parameter {field.name}")
        if field.name not in given and not table.types.is_option(field.type_id):
            raise InvalidRequest(
                f"{where}: parameter {field.name} is missing, it is a {table.type_name(field.type_id)}: expected {reader.example(field.type_id)}"
            )
        arguments[field.name] = reader.read(field.type_id, given.get(field.name))
    call = Call(pallet=found, method=name, args=arguments)
    call = table.decode_call(table.encode_call(call))
    return Draft(call=call, warnings=_judge(call))


class _Reader:
    """Makes values of the runtime's types from text; says which parameter did not fit."""

    def __init__(self, table: "RuntimeTable", where: str) -> None:
        self._table = table
        self._where = where

    def read(self, type_id: int, value: object, depth: int = 0) -> Any:
        """Return *value*, text or (inside JSON) a JSON value, as a value of the type."""
        if depth > MAX_DEPTH:
            raise InvalidRequest(f"{self._where} is nested more than {MAX_DEPTH} deep")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise InvalidRequest(
                f"{self._where} is {len(value)} characters long, expected at most {MAX_TEXT}"
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
            return self.read(definition, value, depth)
        if kind == "primitive":
            return self._read_primitive(type_id, definition, value)
        if kind == "bits":
            return self._read_bits(type_id, value)
        if kind in ("sequence", "array"):
            element = definition if kind == "sequence" else definition[1]
            length = None if kind == "sequence" else definition[0]
            if self._is_byte(element):
                return self._read_bytes(type_id, length, value)
            items = self._read_items(type_id, length, value)
            return [self.read(element, item, depth + 1) for item in items]
        if kind == "tuple":
            if not definition:
                return self._read_nothing(type_id, value)
            items = self._read_items(type_id, len(definition), value)
            return [self.read(inner, item, depth + 1) for inner, item in zip(definition, items, strict=True)]
        if kind == "composite":
            if path in _WIDE and isinstance(value, (str, int)):
                return self._read_integer(type_id, 0, 2 ** int(name[1:]), value)
            return self._read_fields(type_id, definition, value, depth)
        return self._read_variant(type_id, name, definition, value, depth)

    def example(self, type_id: int, depth: int = 0) -> str:
        """Return a text that would fit, or a description of one."""
        path, _, kind, definition = self._table.types[type_id]
        name = path.rpartition("::")[2]
        if self._table.types.is_option(type_id):
            return f"nothing, or {self.example(definition[1][2][0][1], depth)}"
        if name in ("AccountId32", "MultiAddress"):
            return "an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or 0x and 64 hex digits"
        if kind == "compact":
            return self.example(definition, depth)
        if kind == "primitive":
            return {"bool": "true or false", "char": "one character", "str": "text"}.get(
                definition, "a whole number like 1000"
            )
        if kind == "bits":
            return "digits 0 and 1 like 0110"
        if kind in ("sequence", "array"):
            element = definition if kind == "sequence" else definition[1]
            if self._is_byte(element):
                return "text or 0x hex" if kind == "sequence" else f"0x and {definition[0] * 2} hex digits"
            return "a JSON list like [1, 2]" if kind == "sequence" else f"a JSON list of {definition[0]}"
        if kind == "tuple":
            return f"a JSON list of {len(definition)}" if definition else "nothing"
        if kind == "composite":
            if path in _WIDE:
                return "a whole number like 1000"
            if len(definition) == 1 and definition[0][0] is None and depth < 8:
                return self.example(definition[0][1], depth + 1)
            names = [field[0] for field in definition]
            if None in names:
                return f"a JSON list of {len(names)}"
            return (
                f"JSON like {{{', '.join(json.dumps(inner) + ': …' for inner in names)}}}"
                if names
                else "nothing"
            )
        if name == "RuntimeCall":
            return '0x hex of call data, or JSON like {"System": {"remark": {"remark": "hello"}}}'
        names = [variant[0] for variant in definition]
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        if all(not variant[2] for variant in definition):
            return f"one of: {shown}"
        return f"JSON like {{{json.dumps(next((v[0] for v in definition if v[2]), ''))}: …}}, one of: {shown}"

    def misfit(self, type_id: int, value: object, reason: str = "") -> InvalidRequest:
        why = f" ({reason})" if reason else ""
        return InvalidRequest(
            f"{self._where} {shorten(value)} does not fit {self._table.type_name(type_id)}{why}, expected {self.example(type_id)}"
        )

    def _read_option(self, inner: int, value: object, depth: int) -> Any:
        if value is None or value in ("", "null", "None"):
            return None
        value = self._parsed_table(value)
        if isinstance(value, Mapping) and set(value) == {"Some"}:
            value = value["Some"]
        read = self.read(inner, value, depth + 1)
        return {"Some": read} if self._table.types.can_be_none(inner) else read

    def _read_account(self, type_id: int, value: object) -> bytes:
        from scenarioctl.chains.addresses import parse_account

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
        given = value
        if isinstance(value, str):
            text = value.strip()
            digits = text.removeprefix("-") if lowest < 0 else text
            if not (digits.isascii() and digits.isdigit() and len(digits) <= 200):
                raise self.misfit(type_id, given)
            value = int(text)
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
            if value[:2] in ("0x", "0X"):
                digits = value[2:]
                if len(digits) % 2 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
                    raise self.misfit(type_id, value, "it is not hex")
                data = bytes.fromhex(digits)
            elif length is not None:
                raise self.misfit(type_id, value)
            else:
                try:
                    data = value.encode("utf-8")
                except UnicodeEncodeError:
                    raise self.misfit(type_id, value, "it holds half a character") from None
        elif isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
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
        if value is not None and value not in ("", "null", "()"):
            raise self.misfit(type_id, value)

    def _read_fields(self, type_id: int, fields: list[Any], value: object, depth: int) -> Any:
        if not fields:
            return self._read_nothing(type_id, value)
        if fields[0][0] is None:
            if len(fields) == 1:
                return self.read(fields[0][1], value, depth + 1)
            items = self._read_items(type_id, len(fields), value)
            return [self.read(field[1], item, depth + 1) for field, item in zip(fields, items, strict=True)]
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

    def _read_variant(self, type_id: int, name: str, variants: list[Any], value: object, depth: int) -> Any:
        if name == "RuntimeCall" and isinstance(value, str) and value[:2] in ("0x", "0X"):
            return self._read_call(type_id, value)
        value = self._parsed_table(value)
        chosen, inner = (value, None) if isinstance(value, str) else (None, None)
        if isinstance(value, Mapping) and len(value) == 1:
            chosen, inner = next(iter(value.items()))
        folded = _fold(chosen) if isinstance(chosen, str) else None
        exact = [variant for variant in variants if variant[0] == chosen]
        fits = exact or [variant for variant in variants if _fold(variant[0]) == folded]
        if len(fits) != 1:
            raise self.misfit(type_id, value)
        label, _, fields = fits[0]
        if not fields:
            self._read_nothing(type_id, inner)
            return label
        return {label: self._read_fields(type_id, fields, inner, depth)}

    def _read_call(self, type_id: int, value: str) -> Any:
        try:
            data = bytes.fromhex(value[2:])
        except ValueError:
            raise self.misfit(type_id, value, "it is not hex") from None
        try:
            return self._table.decode(type_id, data)
        except InvalidRequest as error:
            raise InvalidRequest(f"{self._where}: {error}") from None

    def _parsed(self, type_id: int, value: object) -> Any:
        """Return the JSON in *value*; inside JSON it is parsed already."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value, parse_float=_refuse_float, parse_constant=_refuse_float)
        except (ValueError, RecursionError):
            raise self.misfit(type_id, value, "it is not JSON") from None

    def _parsed_table(self, value: object) -> Any:
        """Return the JSON object in *value*, or *value* as it is where it holds none."""
        if isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                return json.loads(value, parse_float=_refuse_float, parse_constant=_refuse_float)
            except (ValueError, RecursionError):
                return value
        return value

    def _is_byte(self, type_id: int) -> bool:
        _, _, kind, definition = self._table.types[type_id]
        return bool(kind == "primitive" and definition == "u8")


def _judge(call: Call) -> tuple[str, ...]:
    """Refuse what loses funds by its nature, and return what the signer should know of the rest."""
    pallets = set(_pallets(call.pallet, call.args))
    if _REFUSED in pallets:
        raise InvalidRequest(
            f"{call.pallet}.{call.method}: {_REFUSED} is not built, it sends DOT over the wrong reserve: expected an xTransfer"
        )
    crossing = [pallet for pallet in _CROSS_CHAIN if pallet in pallets]
    if not crossing:
        return ()
    return (
        f"{crossing[0]} moves assets between chains as written here: only an xTransfer is checked for the right reserve, and over the wrong one funds are lost",
    )


def _pallets(pallet: str, args: Any) -> list[str]:
    """Return the pallets of a call and of the calls inside it."""
    found, stack = [pallet], [args]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            found.extend(key for key in value if key == _REFUSED or key in _CROSS_CHAIN)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return found


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip().startswith("{"))


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _refuse_float(text: str) -> Any:
    raise ValueError(text)
