"""`--url`: runs commands on a daemon.

A request goes to its endpoint in `server/endpoints.py`. The daemon's answer or error gives the same
output and exit status as a local run.
"""

import http.client
import json
import re
import socket
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, unquote, urlencode, urlsplit

from scenarioctl import __version__, errors
from scenarioctl.cli.output import printable, say
from scenarioctl.errors import DaemonUnreachable, InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.amounts import read_digits
from scenarioctl.model.request_fields import public_names
from scenarioctl.operations.results import Result
from scenarioctl.server.access import is_loopback
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint

if TYPE_CHECKING:
    from scenarioctl.config import Settings

#: Timeouts in seconds.
CONNECTING = 10.0
READING = 300.0
#: Limit of an answer in bytes, far above that of a whole log or a page of drafts.
ANSWER_LIMIT = 256 * 1024 * 1024

_EXPECTED = "one like http://127.0.0.1:8080, https://host.example or unix:///path/to.sock"
_USER = re.compile(r"[^/?#]*//[^/?#]*@")
#: Flags that have no effect on a daemon, and why.
_LOCAL_FLAGS = {
    "offline": "because the daemon decides whether it connects to chains",
    "old_facts": "because the daemon builds from its own facts",
    "store": "because the daemon has its own store",
}
#: How to run the command locally, by the origin of `url`.
_BACK = {"flag": "leave out --url", "config.toml": "remove url from config.toml"}

_ERRORS: Mapping[str, type[ScenarioctlError]] = {
    each.code: each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, ScenarioctlError)
}


@dataclass(frozen=True, kw_only=True)
class DaemonAddress:
    """The address of a daemon."""

    #: The URL as given.
    url: str
    scheme: str
    host: str = ""
    port: int | None = None
    #: Path prefix of the interface, if a proxy serves the daemon below one.
    prefix: str = ""
    #: Path of a Unix socket.
    path: str = ""

    @property
    def is_local(self) -> bool:
        """Tell whether the daemon is on this machine."""
        return self.scheme == "unix" or self.host == "localhost" or is_loopback(self.host)


class _Object(dict[str, Any]):
    """An object in an answer. A missing field that a command prints means that no daemon
    answered."""

    def __missing__(self, name: str) -> NoReturn:
        raise DaemonUnreachable(
            f"the daemon's answer has no field {shorten(name)}. Check that scenarioctl "
            f"{__version__} or a similar version runs there"
        )


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def parse_url(url: str) -> DaemonAddress:
    """Return the address of the daemon in *url*, or raise InvalidRequest."""
    if _USER.match(url):
        # Don't show the URL: it may contain a password.
        raise InvalidRequest(
            field="url",
            problem="has a user name or a password before the host",
            expected="neither. Put a token into SCENARIOCTL_TOKEN or config.toml",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidRequest(
            field="url", value=url, problem="is not the address of a daemon", expected=_EXPECTED
        ) from None
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise InvalidRequest(
            field="url", value=url, problem="has a query or a fragment", expected=_EXPECTED
        )
    if parts.scheme == "unix" and not parts.netloc and len(parts.path) > 1:
        return DaemonAddress(url=url, scheme="unix", path=unquote(parts.path))
    host = parts.hostname or ""
    if (
        parts.scheme not in ("http", "https")
        or not host
        or not _is_plain(host)
        or not _is_plain(parts.path)
    ):
        raise InvalidRequest(
            field="url", value=url, problem="is not the address of a daemon", expected=_EXPECTED
        )
    return DaemonAddress(
        url=url, scheme=parts.scheme, host=host, port=port, prefix=parts.path.rstrip("/")
    )


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def ask(
    settings: "Settings", operation: str, request: Any, *, waits: bool = False
) -> Result[dict[str, Any]]:
    """Run *operation* on the daemon at `url` and return its answer, or raise its error.

    With *waits*, there is no timeout for the answer.
    """
    daemon = parse_url(settings.url)
    for name, reason in _LOCAL_FLAGS.items():
        if settings.origins.get(name) == "flag" and getattr(settings, name):
            raise InvalidRequest(
                field=name,
                problem=(
                    f"cannot be combined with url {shorten(settings.url)}, {reason}. Leave one out"
                ),
            )
    endpoint = next(each for each in ENDPOINTS if each.operation == operation)
    target, body = write_request(endpoint, request)
    beside = fields_in_headers(request)
    for name, value in beside.items():
        if not (value.isascii() and value.isprintable()):
            raise InvalidRequest(field=name, value=value, problem="cannot be sent in a header")
    headers = {**_headers(settings, daemon, body), **beside}
    connection = _connect(settings, daemon)
    try:
        timeout = None if waits else READING + _seconds_to_wait(request)
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        try:
            _send(connection, endpoint.method, daemon.prefix + target, body, headers)
            with connection.getresponse() as response:
                text = response.read(ANSWER_LIMIT + 1)
                if response.length and len(text) <= ANSWER_LIMIT:
                    raise http.client.IncompleteRead(text, response.length)
        except TimeoutError:
            raise DaemonUnreachable(
                f"the daemon at {daemon.url} did not answer within {timeout:g} "
                f"seconds{_doubt(endpoint)}"
            ) from None
        except (http.client.HTTPException, OSError) as error:
            raise _broken(daemon, endpoint, error) from None
    finally:
        connection.close()
    return _read(daemon, endpoint, response, text)


def _seconds_to_wait(request: Any) -> int:
    """Return the timeout in *request*, in seconds: a broadcast may wait for its block."""
    given = str(getattr(request, "timeout", None))
    return read_digits(given, longest=5) or 0


def write_request(endpoint: Endpoint, request: Any) -> tuple[str, bytes | None]:
    """Return path with query, and body, of *request*, without fields at their default."""
    given = {
        each.name: getattr(request, each.name)
        for each in fields(request)
        if each.default is MISSING or getattr(request, each.name) != each.default
    }
    path = endpoint.path
    for name in endpoint.in_path:
        path = path.replace(f"{{{name}}}", _in_path(name, given.pop(name)))
    if endpoint.method == "GET":
        pairs = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in given.items()
        }
        query = urlencode(pairs, doseq=True, quote_via=quote, errors="surrogateescape")
        return (f"{path}?{query}" if query else path), None
    whole = getattr(request, "whole_body", "")
    value = given[whole] if whole else given
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return path, text.encode()
    except UnicodeEncodeError:
        # A lone surrogate from an argument that isn't UTF-8; the daemon refuses it.
        return path, json.dumps(value, separators=(",", ":")).encode()


def fields_in_headers(request: Any) -> dict[str, str]:
    """Return the fields that are sent in headers: of a request whose whole body is another one."""
    request_type: type = type(request)
    names = public_names(request_type) if hasattr(request, "whole_body") else {}
    return {
        public: value
        for name, public in names.items()
        if public != name and (value := getattr(request, name))
    }


def _in_path(name: str, value: object) -> str:
    text = str(value)
    if text in ("", ".", ".."):
        raise InvalidRequest(field=name, value=text, problem="cannot be part of a URL")
    return quote(text, safe="", errors="surrogateescape")


def _headers(settings: "Settings", daemon: DaemonAddress, body: bytes | None) -> dict[str, str]:
    headers = {
        "User-Agent": f"scenarioctl/{__version__}",
        "Accept": "application/json",
        "Connection": "close",
    }
    if body is not None:
        headers["Content-Type"] = "application/json"
    if settings.token and _is_meant_for(settings):
        if not _is_plain(settings.token):
            raise InvalidRequest(
                field="token",
                problem=f"({settings.origins.get('token')}) contains characters that no token has",
                expected="letters, digits, - and _",
            )
        if daemon.scheme == "http" and not daemon.is_local:
            say(
                f"Warning: the token is sent to {printable(daemon.host)} without "
                "encryption. Use https."
            )
        headers["Authorization"] = f"Bearer {settings.token}"
    return headers


def _is_meant_for(settings: "Settings") -> bool:
    """Tell whether the token is for this daemon. A token in config.toml is only for the `url`
    there, if it has one."""
    if (
        settings.origins.get("token") != "config.toml"
        or settings.origins.get("url") == "config.toml"
    ):
        return True
    from scenarioctl.config import read_config

    url = read_config(settings.config).get("url")
    if not url or url == settings.url:
        return True
    say(
        f"Warning: the token in config.toml is for {printable(url)} and was not sent. Set "
        "SCENARIOCTL_TOKEN for another daemon."
    )
    return False


def _connect(settings: "Settings", daemon: DaemonAddress) -> http.client.HTTPConnection:
    connection: http.client.HTTPConnection
    if daemon.scheme == "unix":
        connection = _UnixConnection(daemon.path, CONNECTING)
    else:
        secure = daemon.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(daemon.host, daemon.port, timeout=CONNECTING)
    try:
        connection.connect()
    except TimeoutError:
        reason = f"no connection within {CONNECTING:g} seconds"
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        connection.close()
        _check_certificate(daemon, error)
        reason = _reason(error)
    else:
        if connection.sock is not None and daemon.scheme != "unix":
            # Detect that the other machine is gone during a long silent run.
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection
    connection.close()
    origin = settings.origins.get("url", "flag")
    back = _BACK.get(origin, f"unset {origin}")
    raise DaemonUnreachable(
        f"no daemon answers at {daemon.url} ({reason}). Start it with scenarioctl daemon, "
        f"or {back} to run locally"
    )


def _check_certificate(daemon: DaemonAddress, error: Exception) -> None:
    """Raise DaemonUnreachable with instructions if *error* is about an untrusted certificate."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        raise DaemonUnreachable(
            f"the certificate of {daemon.url} is not trusted "
            f"({error.verify_message.rstrip('.')}). Set SSL_CERT_FILE to a file with the "
            "trusted certificates"
        ) from None


def _reason(error: Exception) -> str:
    import ssl

    if isinstance(error, http.client.IncompleteRead):
        return f"got {len(error.partial)} bytes"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {(error.reason or 'unknown').lower().replace('_', ' ')}"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> None:
    try:
        connection.request(method, target, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError):
        # The daemon may have refused a large body early, so read its answer.
        if body is None:
            raise


def _broken(daemon: DaemonAddress, endpoint: Endpoint, error: Exception) -> DaemonUnreachable:
    if isinstance(error, (http.client.RemoteDisconnected, http.client.IncompleteRead, OSError)):
        return DaemonUnreachable(
            f"the daemon at {daemon.url} closed the connection before its answer was "
            f"complete ({_reason(error)}){_doubt(endpoint)}"
        )
    return DaemonUnreachable(
        f"{daemon.url} does not speak HTTP ({shorten(str(error))}), expected a scenarioctl daemon"
    )


def _doubt(endpoint: Endpoint) -> str:
    """Return a warning for a lost answer if the daemon may have changed something."""
    return "" if endpoint.scope in ("read", "open") else "; it may have carried out the request"


def _read(
    daemon: DaemonAddress, endpoint: Endpoint, response: http.client.HTTPResponse, text: bytes
) -> Result[dict[str, Any]]:
    status = response.status
    if 300 <= status < 400:
        raise DaemonUnreachable(
            f"{daemon.url} redirects to "
            f"{shorten(response.headers.get('Location', ''), 200)} (HTTP {status}); "
            "redirects are not followed. Pass the daemon's own address"
        )
    if len(text) > ANSWER_LIMIT:
        raise DaemonUnreachable(f"the answer of {daemon.url} is larger than {ANSWER_LIMIT} bytes")
    try:
        body = json.loads(text, object_hook=_Object)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict) and status == 200:
        return Result(
            answer=body,
            ids=_ids(response),
            notes=_sentences(response, "Scenarioctl-Notes"),
            warnings=_sentences(response, "Scenarioctl-Warnings"),
        )
    if (
        isinstance(body, dict)
        and isinstance(body.get("error"), str)
        and isinstance(body.get("code"), str)
    ):
        raise _error(body, endpoint, status)
    kind = shorten(response.headers.get("Content-Type", "no type"))
    raise DaemonUnreachable(
        f"{daemon.url} does not answer like a scenarioctl daemon (HTTP {status}, "
        f"{kind}{'' if body is None else ', other JSON'}). Check the address"
    )


def _sentences(response: http.client.HTTPResponse, header: str) -> tuple[str, ...]:
    found = _header(response, header)
    return tuple(str(each) for each in found) if isinstance(found, list) else ()


def _ids(response: http.client.HTTPResponse) -> dict[str, str]:
    found = _header(response, "Scenarioctl-Ids")
    return {text: str(id) for text, id in found.items()} if isinstance(found, dict) else {}


def _header(response: http.client.HTTPResponse, name: str) -> object:
    """Return the value of a header in JSON; None if there is none."""
    try:
        return json.loads(unquote(response.headers.get(name, "null")))
    except ValueError:
        return None


def _error(body: Mapping[str, Any], endpoint: Endpoint, status: int) -> ScenarioctlError:
    """Return the daemon's error as the exception that a local run raises."""
    kind = _ERRORS.get(body["code"])
    if kind is None:
        # From a proxy in front of the daemon.
        kind = InvalidRequest if status < 500 else DaemonUnreachable
    known = ("error", "code", "advice", endpoint.flag)
    details = {name: value for name, value in body.items() if name not in known}
    advice = body.get("advice")
    advice = advice if isinstance(advice, str) and body["error"].endswith(advice) else ""
    sentence, field = body["error"].removesuffix(advice).rstrip(), body.get("field")
    sentence = sentence.removesuffix(".") if advice else sentence
    if isinstance(field, str) and field and sentence.startswith((f"{field} ", f"{field}:")):
        problem = sentence.removeprefix(field).removeprefix(" ")
        return kind(field=field, problem=problem, advice=advice, details=details)
    return kind(sentence, advice=advice, details=details)
