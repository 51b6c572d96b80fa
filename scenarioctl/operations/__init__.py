"""What scenarioctl can do: a module per noun, with its requests, answers and handlers.

A handler takes the application and one frozen request, and returns a `Result` or raises an error of
`errors.py`.  It is the same function for the command line and for HTTP.  The answer in the result
is the documented JSON, and its type, a TypedDict, the JSON schema.  To add an operation: a request,
an answer, a handler named in its module's `__all__`; then a command (`cli/`) and a row in
`server/endpoints.py`.  The parity test names what is missing.
"""

from importlib import import_module
from typing import Any, get_args, get_type_hints


def find_handler(operation: str) -> tuple[Any, Any]:
    """Return the handler of an operation, named `module.handler`, and the type of its requests."""
    module, _, name = operation.partition(".")
    handler = getattr(import_module(f"{__name__}.{module}"), name)
    return handler, get_type_hints(handler)["request"]


def answer_type(operation: str) -> Any:
    """Return the type of the answers of an operation."""
    (answer,) = get_args(get_type_hints(find_handler(operation)[0])["return"])
    return answer
