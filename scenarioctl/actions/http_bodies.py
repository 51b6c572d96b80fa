"""Data in the body of an http step: encoded so that it stays one value, or part of one.

To add a kind of body, add an encoder and a line to `_find_encoder`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Filled,
    JsonEncoder,
    Placeholder,
    Unfillable,
    fill,
    is_json_text,
    is_placeholder,
    unfilled,
)

#: Ends of kinds of bodies whose fields end at characters that a value may hold.
_STRUCTURED = ("/csv", "/tab-separated-values", "/yaml", "/x-yaml", "+yaml")


def content_type_of(form: Mapping[str, Any], body: str) -> str:
    """Return the content type that the headers name; JSON if they name none and the body looks like
    it."""
    kind = form.get("contentType")
    headers = form.get("headers")
    for entry in headers if isinstance(headers, list) else ():
        if isinstance(entry, dict) and str(entry.get("key")).lower() == "content-type":
            kind = entry.get("value")
    if not isinstance(kind, str) or not kind:
        return "application/json" if is_json_text(body) else ""
    return kind


def fill_body(body: str, content_type: str, data: Data) -> Any:
    """Return *body* with its placeholders replaced, each value encoded for its place."""
    kind = content_type.lower().partition(";")[0].strip()
    is_declared_json = kind.endswith(("/json", "+json")) and _may_be_json(body)
    encoder = _JsonEncoder if is_declared_json else _find_encoder(kind, content_type, body)
    filled = fill(body, data, encoder=encoder)
    if is_declared_json and isinstance(filled, Filled):
        try:
            json.loads(filled)
        except (ValueError, RecursionError):
            return unfilled(body, "is not JSON once it is filled in")
    return filled


def _find_encoder(kind: str, content_type: str, body: str) -> Callable[[], Encoder]:
    if kind == "application/x-www-form-urlencoded":
        return _FormEncoder
    if kind.endswith(("/xml", "+xml", "/html")):
        return _MarkupEncoder
    if is_json_text(body) and _is_json(body):
        # Some servers want JSON sent as plain text, or line by line.
        return _JsonEncoder
    if is_placeholder(body):
        # The data is the whole body, whatever it holds.
        return _PlainEncoder
    if kind.startswith("multipart/") or kind.endswith(_STRUCTURED):
        return lambda: _Refusing(kind)
    return _PlainEncoder


def _may_be_json(template: str) -> bool:
    """Return whether *template* starts like JSON: the editor declares every body as JSON."""
    start = str(fill(template, _Anything(), encoder=_JsonEncoder)).lstrip()[:1]
    return start in ("{", "[", '"')


class _Anything(Data):
    """Fills every placeholder with an empty text, to see whether the rest is JSON."""

    def find(self, placeholder: Placeholder) -> Any:  # noqa: ARG002
        return ""


def _is_json(template: str) -> bool:
    """Return whether *template* is JSON, or lines of JSON, apart from its placeholders."""
    filled = str(fill(template, _Anything(), encoder=_JsonEncoder))
    for parts in ((filled,), filled.split("\n")):
        try:
            for part in parts:
                if part.strip():
                    json.loads(part)
        except (ValueError, RecursionError):
            continue
        return True
    return False


class _PlainEncoder(Encoder):
    typed = False


class _JsonEncoder(JsonEncoder):
    typed = False


class _FormEncoder(_PlainEncoder):
    def write(self, value: Any, following: str) -> str:
        from urllib.parse import quote

        return quote(super().write(value, following), safe="")


class _MarkupEncoder(_PlainEncoder):
    def write(self, value: Any, following: str) -> str:
        from html import escape

        return escape(super().write(value, following))


class _Refusing(_PlainEncoder):
    """Fills in nothing where a value could end its field."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def write(self, value: Any, following: str) -> str:  # noqa: ARG002
        raise Unfillable(
            f"is in a body of the type {self._kind}, where a value could end its field: send JSON, "
            "a form or XML"
        )
