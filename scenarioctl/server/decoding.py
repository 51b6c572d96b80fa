"""Decodes JSON bodies and query strings into requests of operations; JSON schemas of requests and
answers, from their types.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict
from urllib.parse import parse_qsl

import msgspec

from scenarioctl.chains.registry import Registry
from scenarioctl.errors import BadRequest, InvalidRequest, shorten, suggest
from scenarioctl.model.amounts import read_digits
from scenarioctl.model.request_fields import (
    FieldRow,
    field_aliases,
    field_notes,
    field_rows,
    field_values,
    public_names,
)

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
#: The longest name of an unknown field that an answer repeats beside its sentence.
LONGEST = 60
#: The first that a type is a subclass of.
_WORDS = (
    (bool, "true or false"),
    (str, "text"),
    (Enum, "text"),
    (int, "a whole number"),
    (float, "a number"),
    (list, "a list"),
    (tuple, "a list"),
)
_NUMBER_WORDS = {"a whole number", "a number"}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The values that a field of a request takes."""

    name: str
    #: `text`, `a number`, `a whole number`, `true or false`, `a list`, `an object`; empty if any
    #: value is allowed.
    kinds: tuple[str, ...]
    required: bool
    #: null is a value of the field; in other fields it means that the field is left out.
    nullable: bool

    @property
    def wanted(self) -> str:
        kinds = [
            kind
            for kind in self.kinds
            if not (kind == "a whole number" and "a number" in self.kinds)
        ]
        return " or ".join(kinds) or "a value"


def shapes_of(request_type: type) -> dict[str, Shape]:
    """Return the fields of *request_type*, by name and in order."""
    hints, names = get_type_hints(request_type), public_names(request_type)
    found: dict[str, Shape] = {}
    for each in fields(request_type):
        kinds, nullable = _kinds(hints[each.name])
        required = each.default is MISSING and each.default_factory is MISSING
        name = names[each.name]
        found[name] = Shape(name=name, kinds=kinds, required=required, nullable=nullable)
    return found


class Decoder:
    """Decodes the requests of one operation."""

    def __init__(self, request_type: type, *, in_path: tuple[str, ...] = ()) -> None:
        self.request_type = request_type
        #: The field that takes the whole body; empty if the body's fields are those of the request.
        self.whole_body: str = getattr(request_type, "whole_body", "")
        self.shapes = shapes_of(request_type)
        self.in_path = in_path
        #: Fields of a body or query string, required ones first.
        self.given = {
            name: shape
            for name, shape in sorted(self.shapes.items(), key=lambda item: not item[1].required)
            if name not in self.in_path and name != self.whole_body
        }
        self._aliases = field_aliases(request_type)
        self._chains = {
            self._aliases.get(name, name)
            for name, value in field_values(request_type).items()
            if value.unit == "CHAIN"
        }
        #: Name in JSON -> field, where they differ.
        self._renamed = {
            public: name for name, public in public_names(request_type).items() if public != name
        }

    def decode(self, body: Any, parameters: Mapping[str, str]) -> Any:
        """Return the request in *body*, a JSON value, and the path's *parameters*, or raise
        InvalidRequest."""
        if self.whole_body:
            return self._make({self.whole_body: body, **parameters})
        if not isinstance(body, dict):
            raise InvalidRequest(
                f"the body {_show(body)} is {_kind_of(body)}, expected an "
                f"object{self._with_fields()}"
            )
        given = self._rename(
            {
                name: value
                for name, value in body.items()
                if value is not None or not self._is_left_out(name)
            }
        )
        for name, shape in self.given.items():
            if shape.required and name not in given:
                raise InvalidRequest(field=name, problem="is missing", expected=shape.wanted)
        return self._make({**given, **parameters})

    def read_query(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the fields in a query string, converted to the types of the request."""
        found: dict[str, Any] = {}
        for name, text in pairs:
            shape = self.given.get(self._aliases.get(name, name))
            if shape is None:
                self._refuse_unknown(name)
                continue
            value: Any
            if shape.kinds == ("a list",):
                value = [*found.get(name, ()), text]
            else:
                value = _from_text(shape, text)
                if name in found and not self._means_same(name, found[name], value):
                    raise InvalidRequest(
                        field=name,
                        problem=(
                            f"is given twice, as {shorten(found[name])} and as "
                            f"{shorten(value)}; give it once"
                        ),
                    )
            found[name] = value
        return found

    def join(self, query: dict[str, Any], body: Any) -> Any:
        """Merge the fields of a query string and a body; raise InvalidRequest if they conflict."""
        if not isinstance(body, dict):
            return body
        for name, value in query.items():
            given = body.get(name)
            if given is not None and not self._means_same(name, given, value):
                raise InvalidRequest(
                    field=name,
                    problem=(
                        f"is {shorten(given)} in the body and {shorten(value)} in the "
                        "query string; give it once"
                    ),
                )
        return {**body, **query}

    def _is_left_out(self, name: str) -> bool:
        """Return whether a null in the field means that it is left out."""
        shape = self.given.get(self._aliases.get(name, name))
        return shape is not None and shape.kinds != ()

    def _means_same(self, name: str, one: Any, other: Any) -> bool:
        """Return whether two values of a field are the same, or call the same chain."""
        if one == other and type(one) is type(other):
            return True
        with suppress(InvalidRequest):
            return name in self._chains and Registry().find(one) == Registry().find(other)
        return False

    def _make(self, given: Mapping[str, Any]) -> Any:
        fields = {self._renamed.get(name, name): value for name, value in given.items()}
        try:
            return msgspec.convert(fields, self.request_type)
        except msgspec.ValidationError as error:
            reason = str(error)
        for name, value in given.items():
            shape = self.shapes[name]
            if not _fits(value, shape):
                raise InvalidRequest(
                    field=name,
                    value=value,
                    shown=_show(value),
                    problem=f"is {_kind_of(value)}",
                    expected=shape.wanted,
                )
        # A type that this module can't describe: name at least the field.
        name = reason.rpartition("`$.")[2].rstrip("`") if "`$." in reason else "the body"
        raise InvalidRequest(field=name, problem="has an unsupported type")

    def _rename(self, given: dict[str, Any]) -> dict[str, Any]:
        renamed = dict(given)
        for alias, name in self._aliases.items():
            if alias not in renamed:
                continue
            value = renamed.pop(alias)
            if name in renamed and not self._means_same(name, renamed[name], value):
                raise InvalidRequest(
                    field=name,
                    problem=(
                        f"{_show(renamed[name])} and {alias} {_show(value)} are the same field "
                        "and differ; give one of them"
                    ),
                )
            renamed[name] = value
        for name in renamed:
            if name not in self.given:
                self._refuse_unknown(name)
        return renamed

    def _refuse_unknown(self, name: str) -> None:
        if name in self.in_path:
            raise InvalidRequest(field=name, problem="is already in the path; leave it out")
        otherwise = f"expected one of: {', '.join(self.given)}" if self.given else "expected none"
        hint = suggest(name, list(self.given), otherwise=otherwise)
        error = InvalidRequest(f"unknown field {shorten(name)}; {hint}")
        raise error.blame(name) if len(name) <= LONGEST else error

    def _with_fields(self) -> str:
        if not self.given:
            return ""
        needed = [name for name, shape in self.given.items() if shape.required]
        return f" with {', '.join(needed or self.given)}"


def read_pairs(query: str) -> list[tuple[str, str]]:
    """Return the names and values of a query string."""
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except UnicodeDecodeError:
        raise BadRequest(f"the query string {shorten(query)} is not UTF-8 text") from None
    except ValueError:
        raise BadRequest("the query string has more than 100 fields") from None


def _kinds(hint: Any) -> tuple[tuple[str, ...], bool]:
    """Return the kinds of value that *hint* takes, and whether it takes null."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if Any in parts or object in parts:
        return (), True
    origins = [get_origin(part) or part for part in parts if part is not type(None)]
    found = [
        next((word for kind, word in _WORDS if issubclass(origin, kind)), "an object")
        if isinstance(origin, type)
        else "an object"
        for origin in origins
    ]
    return tuple(dict.fromkeys(found)), type(None) in parts


def _fits(value: Any, shape: Shape) -> bool:
    kind = _kind_of(value).replace("a boolean", "true or false")
    return (
        not shape.kinds
        or (value is None and shape.nullable)
        or kind in shape.kinds
        or (kind == "a whole number" and "a number" in shape.kinds)
    )


def _kind_of(value: Any) -> str:
    words = {**dict(_WORDS), bool: "a boolean", type(None): "null"}
    return words.get(type(value), "an object")


def _show(value: Any) -> str:
    """Return *value* for a message: null, true and false as in JSON, others shortened."""
    is_word = value is None or isinstance(value, bool)
    return msgspec.json.encode(value).decode() if is_word else shorten(value)


def _from_text(shape: Shape, text: str) -> Any:
    """Return *text*, a value in a query string, converted to the type of *shape*."""
    if not shape.kinds or "text" in shape.kinds:
        return text
    if "true or false" in shape.kinds:
        word = text.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    elif not _NUMBER_WORDS.isdisjoint(shape.kinds):
        number = read_digits(text.removeprefix("-"))
        if number is not None:
            return -number if text.startswith("-") else number
    raise InvalidRequest(field=shape.name, value=text, problem="is text", expected=shape.wanted)


Schema = dict[str, Any]


def answer_schemas(types: Sequence[Any], place: str) -> tuple[list[Schema], dict[str, Schema]]:
    """Return a schema for each of *types*, and the named schemas at `#/{place}/` that they refer
    to."""
    nested = list(dict.fromkeys(found for each in types for found in _typed_dicts(each)))
    schemas, components = msgspec.json.schema_components(
        [*types, *nested], schema_hook=_text_schema, ref_template=f"#/{place}/{{name}}"
    )
    for each, reference in zip(nested, schemas[len(types) :], strict=True):
        component = components[reference["$ref"].rpartition("/")[2]]
        _describe(component["properties"], field_notes(each))
    return list(schemas[: len(types)]), components


def request_schema(request_type: type, leave_out: Iterable[str] = ()) -> Schema:
    """Return the schema of a request without the fields in *leave_out*. null means that a field is
    left out."""
    names = public_names(request_type)
    components = msgspec.json.schema_components([request_type], schema_hook=_text_schema)[1]
    schema = components[request_type.__name__]
    required = [names[name] for name in schema.get("required", ()) if name not in leave_out]
    properties = {
        names[name]: _field(each, required=names[name] in required)
        for name, each in schema["properties"].items()
        if name not in leave_out
    }
    for row in field_rows(request_type):
        if names[row["name"]] in properties:
            _declare(properties[names[row["name"]]], row)
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _field(field: Schema, *, required: bool) -> Schema:
    kinds = list(dict.fromkeys(each.get("type") for each in field.get("anyOf", [field])))
    if None in kinds:
        # Any JSON.
        return {}
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    if not required and "null" not in kinds:
        kinds.append("null")
    found: Schema = {"type": kinds if len(kinds) > 1 else kinds[0]}
    if field.get("default") not in (None, "", ()):
        found["default"] = field["default"]
    return found


#: Attribute of a schema -> that of a field.
_BOUNDS: Mapping[str, Literal["least", "most"]] = {"minimum": "least", "maximum": "most"}


def kinds_of(schema: Schema) -> list[str]:
    """Return the types of the values that *schema* takes."""
    kinds = schema.get("type", "string")
    return [kinds] if isinstance(kinds, str) else kinds


def _declare(schema: Schema, row: FieldRow) -> None:
    """Add what a field is for, its bounds, and the values to choose from."""
    if row["help"]:
        schema["description"] = row["help"]
    schema |= {name: row[of] for name, of in _BOUNDS.items() if of in row}
    kinds = kinds_of(schema)
    if "choices" in row and "string" in kinds:
        empty = [""] if row.get("default") == "" else []
        schema["enum"] = [*row["choices"], *empty, *([None] if "null" in kinds else [])]


def _describe(properties: Mapping[str, Schema], notes: Mapping[str, str]) -> None:
    for name, note in notes.items():
        if name in properties:
            properties[name]["description"] = note


def _text_schema(kind: type) -> Schema:
    """Return the schema of a text type in `model/json_types.py`."""
    facts = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    return {"type": "string", "description": " ".join((kind.__doc__ or "").split()), **facts}


def _typed_dicts(hint: Any) -> Iterator[Any]:
    if is_typeddict(hint):
        yield hint
        for each in get_type_hints(hint).values():
            yield from _typed_dicts(each)
    for argument in get_args(hint):
        yield from _typed_dicts(argument)
