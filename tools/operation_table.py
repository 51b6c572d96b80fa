"""`scenarioctl/cli/operations.json`: each operation's request, its fields, and the paths into its
answer.

Command lines are made from it: reading them from the types takes longer than anybody waits behind a
TAB.
"""

import json
from collections.abc import Iterator, Mapping
from inspect import getdoc
from itertools import chain
from typing import Any, get_args, get_origin, get_type_hints

from scenarioctl.cli.drawing import labels_of, list_in
from scenarioctl.model.request_fields import field_rows
from scenarioctl.operations import answer_type, find_handler

#: Deeper fields of an answer are found by `--json`.
LEVELS = 3


def operation_table(operations: set[str]) -> str:
    """Return the table of *operations*, with a field to a line."""
    return "{\n" + ",\n".join(_rows_of(each) for each in sorted(operations)) + "\n}\n"


def _rows_of(operation: str) -> str:
    _, request_type = find_handler(operation)
    answer = answer_type(operation)
    columns = f'"columns": "{", ".join(labels_of(answer))}", ' if list_in(answer) else ""
    paths = " ".join(dict.fromkeys(_paths(answer, LEVELS)))
    fields = ",\n".join(
        f"  {json.dumps(each, ensure_ascii=False)}" for each in field_rows(request_type)
    )
    about = json.dumps(_unwrapped(getdoc(request_type) or ""), ensure_ascii=False)
    head = f'"{operation}": {{"about": {about}, "paths": "{paths}", {columns}'
    return head + f'"fields": [\n{fields}\n]}}'


def _unwrapped(text: str) -> str:
    """Return a docstring with a line for each paragraph."""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _paths(kind: Any, levels: int) -> Iterator[str]:
    """Yield the paths into a value of the type *kind*."""
    origin = get_origin(kind)
    if isinstance(kind, type) and hasattr(kind, "__total__"):
        for name, inner in get_type_hints(kind).items():
            yield name
            if levels > 1:
                yield from (f"{name}.{path}" for path in _paths(inner, levels - 1))
    elif origin in (list, tuple):
        yield "*"
        if levels > 1:
            yield from (f"*.{path}" for path in _paths(get_args(kind)[0], levels - 1))
    elif not (isinstance(origin, type) and issubclass(origin, Mapping)):
        # Unions and markers like NotRequired; the keys of a mapping are not known.
        yield from chain.from_iterable(_paths(each, levels) for each in get_args(kind))
