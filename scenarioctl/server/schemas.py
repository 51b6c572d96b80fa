"""JSON schemas of requests and answers, from their types."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_type_hints, is_typeddict

import msgspec

from scenarioctl.model.request_fields import FieldRow, field_notes, field_rows, public_names

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
