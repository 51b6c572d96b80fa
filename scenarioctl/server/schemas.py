"""JSON schemas of requests and answers, from their types."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import takewhile
from typing import Any, get_args, get_type_hints, is_typeddict

import msgspec

Schema = dict[str, Any]


def answer_schemas(types: Sequence[Any], place: str) -> tuple[list[Schema], dict[str, Schema]]:
    """Return a schema for each of *types*, and the named schemas at `#/{place}/` that they refer to."""
    nested = list(dict.fromkeys(found for each in types for found in _typed_dicts(each)))
    schemas, components = msgspec.json.schema_components(
        [*types, *nested], schema_hook=_text_schema, ref_template=f"#/{place}/{{name}}"
    )
    for each, reference in zip(nested, schemas[len(types) :], strict=True):
        component = components[reference["$ref"].rpartition("/")[2]]
        component["additionalProperties"] = False
        _describe(component["properties"], field_notes(each))
    return list(schemas[: len(types)]), components


def request_schema(request_type: type, leave_out: Iterable[str] = ()) -> Schema:
    """Return the schema of a request without the fields in *leave_out*. null means that a field is left out."""
    components = msgspec.json.schema_components([request_type], schema_hook=_text_schema)[1]
    schema = components[request_type.__name__]
    required = [name for name in schema.get("required", ()) if name not in leave_out]
    properties = {
        name: _field(each, required=name in required)
        for name, each in schema["properties"].items()
        if name not in leave_out
    }
    _describe(properties, field_notes(request_type))
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


def _describe(properties: Mapping[str, Schema], notes: Mapping[str, str]) -> None:
    for name, note in notes.items():
        if name in properties:
            properties[name]["description"] = note


def _text_schema(kind: type) -> Schema:
    """Return the schema of a text type in `model/json_types.py`."""
    facts = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    return {"type": "string", "description": kind.__doc__, **facts}


def _typed_dicts(hint: Any) -> Iterator[Any]:
    if is_typeddict(hint):
        yield hint
        for each in get_type_hints(hint).values():
            yield from _typed_dicts(each)
    for argument in get_args(hint):
        yield from _typed_dicts(argument)


@cache
def field_notes(declared: type) -> Mapping[str, str]:
    """Return the `#:` comments on the fields of a dataclass or TypedDict, including inherited fields."""
    if not is_dataclass(declared) and not is_typeddict(declared):
        return {}
    found: dict[str, str] = {}
    # Before Python 3.12, `__bases__` of a TypedDict lacks its base classes.
    for base in reversed(getattr(declared, "__orig_bases__", declared.__bases__)):
        found |= field_notes(base)
    comment: list[str] = []
    for line in _body(declared):
        text = line.strip()
        if text.startswith("#:"):
            comment.append(text[2:].strip())
            continue
        named = re.match(r"([A-Za-z_][A-Za-z0-9_]*)\s*:", text)
        if named and comment:
            found[named[1]] = " ".join(comment)
        comment = []
    return found


def _body(declared: type) -> Iterator[str]:
    """Return the source lines inside a class at the top of its module.

    `inspect.getsource` parses the whole module for each class: 0.3 s of a daemon's start.
    """
    lines, _ = inspect.getsourcelines(sys.modules[declared.__module__])
    heads = f"class {declared.__name__}(", f"class {declared.__name__}:"
    first = next(number for number, line in enumerate(lines) if line.startswith(heads))
    return takewhile(lambda line: line[0] in " \n)", lines[first + 1 :])
