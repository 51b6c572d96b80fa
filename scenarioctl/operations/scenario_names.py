"""Performs a request that may name its scenarios otherwise than by their ids: by their names, the beginnings of their ids, or `@last`."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.request_fields import stored_fields
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")

#: Scenarios that the error names if several are meant.
_LISTED = 5


async def perform(
    app: Application, handler: Callable[[Application, R], Awaitable[Result[Any]]], request: R
) -> Result[Any]:
    """Return what *handler* returns for *request*, with the ids of the scenarios that the request names."""
    changed, ids = await _resolve(app, request)
    result = await handler(app, changed)
    return replace(result, ids=ids) if ids else result


async def find_scenario(app: Application, text: str, *, field: str) -> str:
    """Return the id of the scenario that *text* means; *text* itself if no scenario could ever have that id or name.

    An id precedes a name, and a name the beginning of an id. InvalidRequest if several scenarios are meant.
    """
    from scenarioctl.stores.validation import is_id

    found = await app.store.find_named(text, limit=_LISTED + 1)
    if len(found) > 1:
        listed = [f"{id} ({shorten(name, 40)})" if name else id for id, name in found[:_LISTED]]
        raise InvalidRequest(
            field=field,
            value=text,
            problem="means several scenarios",
            expected=f"one of: {', '.join(listed)}{' …' if len(found) > _LISTED else ''}",
        )
    if not found and text and not is_id(text):
        raise InvalidRequest(
            field=field,
            value=text,
            problem="is not the name of a scenario",
            expected="a name, an id, or the first 4 characters of an id",
        )
    return found[0][0] if found else text


async def _resolve(app: Application, request: R) -> tuple[R, Mapping[str, str]]:
    """Return *request* with the ids of its scenarios, and the ids of those that it names otherwise."""
    changed: dict[str, Any] = {}
    ids: dict[str, str] = {}
    for field in stored_fields(type(request)):
        value = getattr(request, field)
        texts = value if isinstance(value, (tuple, list)) else (value,)
        found = {text: await find_scenario(app, text, field=field) for text in texts if text}
        otherwise = {text: id for text, id in found.items() if id != text}
        if otherwise:
            ids |= otherwise
            changed[field] = tuple(found.values()) if value is texts else found[value]
    return (replace(request, **changed) if changed else request), ids
