"""Performs a request that names what the store has: scenarios by name, the beginning of an id or
`@last`, accounts by their names in the address book."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from scenarioctl.application import Application
from scenarioctl.chains.addresses import EXAMPLE
from scenarioctl.errors import InvalidRequest, meant, shorten
from scenarioctl.model.request_fields import (
    account_fields,
    could_be_address,
    normalized,
    stored_fields,
)
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")

#: Scenarios that the error names if several are meant.
_LISTED = 5


async def perform(
    app: Application, handler: Callable[[Application, R], Awaitable[Result[Any]]], request: R
) -> Result[Any]:
    """Return what *handler* returns for *request*, with the ids and addresses that the names in the
    request stand for."""
    changed, ids = await _resolve(app, request)
    changed, notes = await _resolve_accounts(app, changed)
    acting = await _act(app, changed)
    try:
        result = await handler(acting, changed)
    except InvalidRequest as error:
        renamed = await _rename_argument(app, changed, error)
        if renamed is changed:
            raise
        return await perform(app, handler, renamed)
    return (
        replace(result, ids=ids or result.ids, notes=(*notes, *result.notes))
        if ids or notes
        else result
    )


def needs_store(request: "DataclassInstance") -> bool:
    """Tell whether the store has what *request* names, unless an argument of a call is a name."""
    is_stored = any(getattr(request, field) for field in stored_fields(type(request)))
    is_acting = bool(getattr(request, "acting", ""))
    return is_stored or is_acting or _has_names(_accounts_of(request))


async def _act(app: Application, request: R) -> Application:
    """Return *app* as who signs by *request*, and as the account that they act for."""
    acting, signer = getattr(request, "acting", ""), str(getattr(request, "sender", "") or "")
    if not acting:
        return app.acting_as(None, signer=signer) if signer else app
    from scenarioctl.operations.acting_accounts import find_acting

    return app.acting_as(await find_acting(app, acting, field="as"), signer=signer)


async def find_scenario(app: Application, text: str, *, field: str) -> str:
    """Return the id of the scenario that *text* means; *text* itself if no scenario could ever have
    that id or name.

    An id precedes a name, and a name the beginning of an id. InvalidRequest if several scenarios
    are meant.
    """
    from scenarioctl.stores.validation import is_id

    # Pasted ones bring spaces and line breaks.
    text = text.strip() or text
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
    """Return *request* with the ids of its scenarios, and the ids of those that it names
    otherwise."""
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


async def _resolve_accounts(app: Application, request: R) -> tuple[R, tuple[str, ...]]:
    """Return *request* with the addresses of its accounts, and which names they had; text that is
    no name stays."""
    named = _accounts_of(request)
    if not _has_names(named):
        return request, ()
    book = {each.name: each.address for each in await app.store.addresses().list()}
    changed: dict[str, Any] = {}
    notes: list[str] = []
    for field, texts in named.items():
        found = tuple(
            _address_of(text, book, field)
            if _is_name(text)
            else text.strip()
            if isinstance(text, str)
            else text
            for text in texts
        )
        notes += [
            f"{normalized(text)} is {new} in the address book."
            for text, new in zip(texts, found, strict=True)
            if _is_name(text)
        ]
        if found != texts:
            changed[field] = (
                found if isinstance(getattr(request, field), (tuple, list)) else found[0]
            )
    return (replace(request, **changed) if changed else request), tuple(dict.fromkeys(notes))


async def _rename_argument(app: Application, request: R, error: InvalidRequest) -> R:
    """Return *request* with the address of the one argument of a call or a query that doesn't fit,
    if the address book has it: only the runtime's type tells that it is an account."""
    name = str(error.details.get("value", "")).strip()
    for field in ("args", "params"):
        given = getattr(request, field, ())
        texts = [str(each).strip() for each in given] if isinstance(given, (tuple, list)) else []
        if _is_name(name) and texts.count(name) == 1:
            book = {each.name: each.address for each in await app.store.addresses().list()}
            if (address := book.get(normalized(name))) is not None:
                place = texts.index(name)
                changed = (*given[:place], address, *given[place + 1 :])
                return replace(request, **{field: changed})
    return request


def _accounts_of(request: "DataclassInstance") -> dict[str, tuple[Any, ...]]:
    return {field: _texts(getattr(request, field)) for field in account_fields(type(request))}


def _has_names(named: Mapping[str, tuple[Any, ...]]) -> bool:
    return any(
        _is_name(text) or text != text.strip()
        for texts in named.values()
        for text in texts
        if isinstance(text, str)
    )


def _texts(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _is_name(text: object) -> bool:
    """Tell whether *text* can only be a name of the address book: it is no address, and no run
    fills it in."""
    return (
        isinstance(text, str)
        and bool(text.strip())
        and not could_be_address(text.strip())
        and "{{" not in text
    )


def _address_of(text: str, book: Mapping[str, str], field: str) -> str:
    """Return the address of the account that *text* names; InvalidRequest if the *book* hasn't
    it."""
    name = normalized(text)
    if name not in book:
        raise InvalidRequest(
            field=field,
            value=text,
            limit=80,
            problem="is neither an address nor in the address book",
            expected=f"an SS58 address like {EXAMPLE} or 0x hex",
            # Else all names would be listed.
            known=list(book) if meant(name, list(book)) else None,
        )
    return book[name]
