"""Values inside a decoded value, found by their types."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarioctl.runtime.type_table import TypeTable


def find_typed(
    types: "TypeTable", type_id: int, value: Any, is_wanted: Callable[[int], bool]
) -> Iterator[tuple[int, Any]]:
    """Give the outermost values in *value*, of the type *type_id*, whose types are wanted: (type, value).

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
