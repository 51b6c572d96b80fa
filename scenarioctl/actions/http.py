"""The node `http`: a request to a web server."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import Fields
from scenarioctl.actions.pills import has_pill, settled
from scenarioctl.actions.words import word
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.diagram import Diagram, Node, name_of

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.shapes import Canvas

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LONGEST_URL = 8192


@dataclass(frozen=True, kw_only=True)
class WebRequest:
    """What is sent, before anybody has looked where it leads."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str
    content_type: str


def summary(node: Node, registry: "Registry") -> str:
    return "http"


def describe(node: Node, diagram: Diagram) -> str:
    url = word(node.form.get("url"), 120)
    return (
        f"{(word(node.form.get('method')) or 'get').upper()} {url}"
        if url
        else "a request without an address yet"
    )


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_request(node)


def read_request(node: Node) -> WebRequest:
    """Return the request in *node*'s form; InvalidRequest names the field that cannot be used."""
    form = node.form
    if not form:
        raise InvalidRequest("the http step has no form, expected a url and a method")
    content_type = settled(form.get("contentType"), field="contentType") or ""
    body = settled(form.get("requestContent"), field="requestContent")
    return WebRequest(
        method=parse_method(settled(form.get("method"), field="method"), field="method"),
        url=parse_url(settled(form.get("url"), field="url"), field="url"),
        headers=_headers(settled(form.get("headers"), field="headers")),
        body=_body(body),
        content_type=_header_value(content_type, "contentType"),
    )


def draw(
    canvas: "Canvas", app: "Application", values: Mapping[str, Any], *, place: str, start: str
) -> tuple[str, str]:
    fields = Fields(values, place)
    url, headers = fields.filled("url"), fields.get("headers", {})
    if not has_pill(url):
        parse_url(url, field=fields.name("url"))
    if not isinstance(headers, dict):
        raise InvalidRequest(
            f"{fields.name('headers')} is {name_of(headers)}, expected a table of name and value"
        )
    for name, value in headers.items():
        _header_name(name, fields.name("headers"))
        if not has_pill(value):
            _header_value(value, f"{fields.name('headers')}.{name}")
    body = _body(fields.get("body"))
    form = {
        "url": url,
        "method": parse_method(fields.text("method", "get"), field=fields.name("method")).lower(),
        "connectionType": "httpRequest",
        "headers": [{"key": name, "value": value} for name, value in headers.items()],
        "requestContent": body,
        "contentType": fields.text("content_type", "application/json" if body else ""),
        "parseResponse": "yes",
    }
    node = canvas.add("http", form)
    return node, node


def parse_url(value: object, *, field: str) -> str:
    """Return *value*, an http or https address with a host and without a user's password."""
    from urllib.parse import urlsplit

    if not isinstance(value, str) or not value:
        raise InvalidRequest(
            f"{field} {shorten(value)} is not an address, expected one like https://example.org/path"
        )
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or len(value) > _LONGEST_URL or not value.isprintable() or " " in value:
        raise InvalidRequest(
            f"{field} {shorten(value)} is not an http address, expected one like https://example.org/path"
        )
    if "@" in parts.netloc:
        raise InvalidRequest(f"{field} holds a user or a password before its host, expected them in a header")
    return value


def parse_method(value: object, *, field: str) -> str:
    """Return the request's method in capitals; GET if there is none."""
    if value is None or value == "":
        return "GET"
    method = value.upper() if isinstance(value, str) else ""
    if method not in METHODS:
        raise InvalidRequest(
            f"{field} {shorten(value)} is not a method, expected one of: {', '.join(METHODS)}"
        )
    return method


def _headers(value: object) -> tuple[tuple[str, str], ...]:
    if value is None or value == "":
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InvalidRequest(f"headers is {name_of(value)}, expected a list of key and value")
    return tuple(
        (
            _header_name(entry.get("key"), f"headers[{number}].key"),
            _header_value(entry.get("value"), f"headers[{number}].value"),
        )
        for number, entry in enumerate(value)
        # The editor leaves an empty row at the end.
        if entry.get("key") or entry.get("value")
    )


def _header_name(value: object, field: str) -> str:
    if not isinstance(value, str) or not value or not _TOKEN.issuperset(value):
        raise InvalidRequest(
            f"{field} {shorten(value)} is not the name of a header, expected one like Accept"
        )
    return value


def _header_value(value: object, field: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    # A line break would start a header of its own.
    if not isinstance(value, str) or any(character in value for character in "\r\n\0"):
        raise InvalidRequest(
            f"{field} {shorten(value)} is not the value of a header, expected one line of text"
        )
    return value


def _body(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
