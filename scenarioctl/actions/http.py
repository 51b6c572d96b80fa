"""The node `http`: a request to a web server."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.delay import timeout_part
from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Filled,
    JsonEncoder,
    Placeholder,
    StepData,
    Unfillable,
    find_placeholders,
    has_placeholder,
    is_json_text,
    is_placeholder,
    unfilled,
)
from scenarioctl.actions.placeholders import fill as fill_any
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Story, one_line
from scenarioctl.actions.vocabulary import Kind, Part, Reading, Terms, parsing
from scenarioctl.errors import InvalidRequest, RequestFailed, name_of
from scenarioctl.formats.diagram_builder import DiagramBuilder, EditorBox
from scenarioctl.model.amounts import read_choice, read_number
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.outgoing import DEFAULT_RETRIES, DEFAULT_TIMEOUT, WebRequest, place_of

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application

#: Methods that change nothing on the server.
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
#: Type of a body that names none.
_JSON = "application/json"
_LONGEST_URL = 8192
_USER = re.compile(r"[^/?#]*//[^/?#]*@")
#: Limits of `timeout` (seconds) and `retries`.
_LONGEST_TIMEOUT = 300
_MOST_RETRIES = 10

#: Headers that frame the request or control the connection; with them, one request could smuggle a
#: second.
_OURS = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "upgrade",
        "te",
        "trailer",
        "expect",
    }
)

BOX = EditorBox(type="http", label="http")
DATA = StepData(
    name="http",
    title="an http step's answer",
    label="response",
    fields=("status", "headers", "body"),
    secret=("headers",),
    editor_paths={("eventData",): ("body",), ("status",): ("status",), ("headers",): ("headers",)},
)


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    given, method = node.form.get("url"), node.form.get("method")
    # A query may contain a key, and descriptions are shown to others.  A path may too, and pictures
    # go further: they have the host.
    shown = re.sub(r"[?#].*", "?…", given, flags=re.DOTALL) if isinstance(given, str) else given
    url, shown = one_line(given, 300), one_line(shown, 120)
    verb = (one_line(method, 12) or "get").upper()
    return Story(
        kind=f"{verb} request" if url else "Request",
        sentence=f"{verb} {shown}" if shown else "no URL yet",
        what=_host(url) if url else "",
    )


def _host(url: str) -> str:
    """Return the host of a URL, without the user and password before it."""
    _, found, rest = url.partition("://")
    rest = rest if found else url
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return rest[:end].rpartition("@")[2] or "?"


async def run(running: "Run", diagram: Diagram, node: Node) -> None:
    step = STEP.read(running.app, diagram, node)
    request = _once(read_request(step), f"{running.key} {node.id}")
    what = f"{request.method} {place_of(request.url)}"
    running.say(f"Requesting {what}")
    try:
        answer = await running.app.outgoing.send(request, sleep=running.app.sleep)
    except RequestFailed as failed:
        raise RequestFailed(f"{what}: {failed}") from None
    tries = "" if answer.tries == 1 else f" (after {answer.tries} tries)"
    running.say(f"{what}: {answer.status} in {answer.milliseconds} ms{tries}")
    found = {"status": answer.status, "headers": answer.headers, "body": answer.body}
    running.data.add(DATA, found, node=node.id)


def _once(request: WebRequest, key: str) -> WebRequest:
    """Return *request*, if it is one that sends, with a key by which the server can tell that it is
    sent again.

    The header is that of draft-ietf-httpapi-idempotency-key-header; a scenario's own takes
    precedence.
    """
    if request.method in _READING or any(
        name.lower() == "idempotency-key" for name, _ in request.headers
    ):
        return request
    header = ("Idempotency-Key", sha256(key.encode(errors="replace")).hexdigest()[:32])
    return replace(request, headers=(*request.headers, header))


def _fill_url(url: Any, data: Data, _form: object) -> Any:
    filled = fill_any(url, data, encoder=_UrlEncoder)
    if isinstance(filled, Filled) and not is_placeholder(str(url)) and _steps_up(filled):
        return unfilled(
            str(url),
            (
                "has a path segment of dots only once it is filled in, expected one that stays "
                "in its path"
            ),
        )
    return filled


def _fill_content(body: Any, data: Data, form: Mapping[str, Any]) -> Any:
    if not isinstance(body, str):
        return fill_any(body, data)
    return fill_body(body, content_type_of(form, body), data)


class _UrlEncoder(Encoder):
    """Writes data into a URL: percent-encoded; in the host name, only text that can be part of
    one."""

    _HOST = re.compile(r"[A-Za-z0-9_-]{0,63}", re.ASCII)
    _WHOLE_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}", re.ASCII)

    def __init__(self) -> None:
        self._before = ""

    def passes(self, literal: str) -> None:
        self._before += literal

    def write(self, value: Any, following: str) -> str:
        from urllib.parse import quote

        text = super().write(value, following)
        scheme, _, rest = self._before.partition("://")
        in_host = bool(scheme) and "://" in self._before and not set("/?#\\") & set(rest)
        if in_host:
            whole = not rest and following in ("", "/", ":", "?", "#")
            if not (self._WHOLE_HOST if whole else self._HOST).fullmatch(text):
                raise Unfillable("would be filled in with text that is not part of a host name")
        written = quote(text, safe="")
        self._before += written
        return written


def _steps_up(url: str) -> bool:
    from urllib.parse import unquote

    path = url.partition("?")[0].partition("#")[0].partition("://")[2].replace("\\", "/")
    return any(unquote(part) in (".", "..") for part in path.split("/")[1:])


def read_request(step: Reading) -> WebRequest:
    return WebRequest(**{**step, "timeout": float(step["timeout"])})


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    kind = step.given("content_type")
    form = {
        "method": "get",
        "headers": [],
        "requestContent": "",
        **step.form(),
        "contentType": (_JSON if step["body"] else "") if kind is None else step["content_type"],
        "connectionType": "httpRequest",
        "parseResponse": "yes",
    }
    node = builder.add(BOX, form)
    return node, node


def parse_url(value: object, *, field: str) -> str:
    """Return *value*, an http or https URL with a host and without user and password."""
    from urllib.parse import urlsplit

    if not isinstance(value, str) or not value:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not an address",
            expected="one like https://example.org/path",
        )
    if _USER.match(value):
        # First, since later messages show the URL.
        raise InvalidRequest(
            field=field, problem="contains a user or a password", expected="them in a header"
        )
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or len(value) > _LONGEST_URL or not value.isprintable() or " " in value:
        # The query may be secret.
        raise InvalidRequest(
            field=field,
            value=value.partition("?")[0],
            problem="is not an http address",
            expected="one like https://example.org/path",
        )
    return value


def parse_method(value: object, *, field: str) -> str:
    """Return the request's method in upper case; GET if there is none."""
    if value is None or value == "":
        return "GET"
    return read_choice(value, field=field, choices=METHODS, fold=str.upper)


def _headers(reading: Reading, value: Any, name: str, _of: object) -> tuple[tuple[str, Any], ...]:
    """Return names and values: of a table in a flow file, of a list in a form."""
    if value is None:
        return ()
    if reading.way != "form":
        if not isinstance(value, dict):
            raise InvalidRequest(
                field=name, problem=f"is {name_of(value)}", expected="a table of name and value"
            )
        for key, each in value.items():
            _header_name(key, name)
            if not has_placeholder(each):
                _header_value(each, field=f"{name}.{key}")
        return tuple(value.items())
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InvalidRequest(
            field=name, problem=f"is {name_of(value)}", expected="a list of key and value"
        )
    return tuple(
        (
            _header_name(entry.get("key"), f"{name}[{number}].key"),
            _header_value(entry.get("value"), field=f"{name}[{number}].value"),
        )
        for number, entry in enumerate(value)
        # The editor leaves an empty row at the end.
        if entry.get("key") or entry.get("value")
    )


def _header_name(value: object, field: str) -> str:
    if isinstance(value, str) and value.lower() in _OURS:
        raise InvalidRequest(
            field=field, value=value, problem="is set by the request itself: leave it out"
        )
    if not isinstance(value, str) or not value or not _TOKEN.issuperset(value):
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not the name of a header",
            expected="one like Accept",
        )
    return value


def _header_value(value: object, *, field: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    # A line break would start another header.  The message leaves out the value, which may be
    # secret.
    if not isinstance(value, str) or not value.replace("\t", " ").isprintable():
        raise InvalidRequest(
            field=field, problem="is not the value of a header", expected="one line of text"
        )
    return value


def _headers_back(_app: object, headers: Any, _form: object) -> dict[str, Any]:
    """Return the headers of a form as a flow file has them."""
    entries = headers if isinstance(headers, list) else []
    return {str(each.get("key")): each.get("value") for each in entries if isinstance(each, dict)}


def _body(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _template(value: Any) -> str:
    """Return the body of a flow file as text, as the editor keeps it.

    In JSON a text that is one placeholder stands without quotes, so that it becomes the data in its
    own type.
    """
    if not isinstance(value, (dict, list)) or not find_placeholders(value):
        return _body(value)
    return _write(value)


def _write(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{json.dumps(key, ensure_ascii=False)}: {_write(entry)}"
                for key, entry in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_write(entry) for entry in value) + "]"
    if isinstance(value, str) and is_placeholder(value):
        return value.strip()
    return json.dumps(value, ensure_ascii=False)


def _retries(value: object, *, field: str) -> int:
    if value is None:
        return DEFAULT_RETRIES
    return read_number(
        value,
        field=field,
        kind="a number of retries",
        expected=f"0 to {_MOST_RETRIES}",
        most=_MOST_RETRIES,
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
    filled = fill_any(body, data, encoder=encoder)
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
    start = str(fill_any(template, _Anything(), encoder=_JsonEncoder)).lstrip()[:1]
    return start in ("{", "[", '"')


class _Anything(Data):
    """Fills every placeholder with an empty text, to see whether the rest is JSON."""

    def find(self, placeholder: Placeholder) -> Any:  # noqa: ARG002
        return ""


def _is_json(template: str) -> bool:
    """Return whether *template* is JSON, or lines of JSON, apart from its placeholders."""
    filled = str(fill_any(template, _Anything(), encoder=_JsonEncoder))
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


STEP: StepKind = StepKind(
    name="http",
    box=BOX,
    look=Look(
        name="http",
        color="teal",
        icon="M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16M4 12h16M12 4c-5 5-5 11 0 16M12 4c5 5 5 11 0 16",
    ),
    tell=tell,
    terms=Terms(
        {
            "url": Part(
                kind=parsing(parse_url, open=True, fill=_fill_url, unread=lambda _, typed: typed),
                at="url",
                needed=True,
            ),
            "method": Part(
                kind=parsing(
                    parse_method,
                    write=lambda method, _: method.lower(),
                    back=lambda _app, method, _form: (
                        None if method == "get" else str(method).upper()
                    ),
                ),
                at="method",
            ),
            "headers": Part(
                kind=Kind(
                    read=_headers,
                    write=lambda headers, _: [
                        {"key": key, "value": value} for key, value in headers
                    ],
                    back=_headers_back,
                ),
                at="headers",
            ),
            "body": Part(
                kind=Kind(
                    read=lambda reading, value, _name, _of: (
                        _body(value) if reading.way == "form" else _template(value)
                    ),
                    write=lambda body, _: body,
                    fill=_fill_content,
                ),
                at="requestContent",
            ),
            "content_type": Part(
                kind=parsing(
                    lambda value, field: _header_value("" if value is None else value, field=field),
                    back=lambda _app, kind, form: (
                        None if form.get("requestContent") and kind == _JSON else kind
                    ),
                ),
                at="contentType",
            ),
            "timeout": timeout_part(Decimal(DEFAULT_TIMEOUT), _LONGEST_TIMEOUT),
            "retries": Part(
                kind=parsing(_retries, write=lambda retries, _: retries, open=True), at="retries"
            ),
        }
    ),
    draw=draw,
    formless="the http step has no form, expected a url and a method",
    check=lambda app, diagram, node: STEP.read(app, diagram, node),
    run=run,
    data=DATA,
)
