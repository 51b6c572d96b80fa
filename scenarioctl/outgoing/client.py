"""Sends the requests of http steps and notifications, each try on a new connection, and retries
them if that may help."""

import asyncio
import codecs
import json
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from scenarioctl import __version__
from scenarioctl.chains.websocket import Resolver
from scenarioctl.errors import RequestFailed, ScenarioctlError
from scenarioctl.model.amounts import MOST_DIGITS, read_json_number
from scenarioctl.model.diagram import check_depth
from scenarioctl.outgoing import AttemptFailed, WebAnswer, WebRequest, place_of
from scenarioctl.outgoing.guard import Guard
from scenarioctl.retries import delay_after

#: Statuses that may be temporary.
_PASSING = frozenset({429, 500, 502, 503, 504})
#: Seconds for connecting.
_CONNECT = 10
_CHUNK = 64 * 1024


#: Error before a connection -> what the server did, and whether that may be temporary.
_REASONS: tuple[tuple[tuple[type[Exception], ...], str, bool], ...] = (
    (
        (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError),
        "has no trusted certificate",
        False,
    ),
    ((aiohttp.ClientConnectorDNSError,), "could not be found", True),
    ((aiohttp.ClientConnectorError,), "could not be reached", True),
    ((aiohttp.InvalidURL, UnicodeError), "cannot be called: the URL is not valid", False),
)
_REFUSED = (
    "leads to a private, local or reserved address. To allow hosts and networks of your own, list "
    "them in private_targets in config.toml"
)


class Attempt:
    """Sends one request once."""

    def __init__(self, request: WebRequest, guard: Guard, resolver: Resolver) -> None:
        self._request = request
        self._host = place_of(request.url).partition("/")[0]
        self._guard = guard
        #: Whether there was a connection, so that the server may have got the request.
        self._connected = False
        self._refused = False
        try:
            # Parsed only once: two parsers could disagree, and the guard would check a host other
            # than the one called.
            self._url = URL(request.url)
        except ValueError:
            raise self._failed("cannot be called: the URL is not valid", sent=False) from None
        self._trusted = guard.trusts(self._url.raw_host or "")
        self._connector = aiohttp.TCPConnector(
            resolver=resolver, use_dns_cache=False, force_close=True, socket_factory=self._open
        )

    def _open(self, info: Any) -> socket.socket:
        """Open a socket, so that the address that is checked is the one that is connected to."""
        family, kind, protocol, _, address = info
        known = family in (socket.AF_INET, socket.AF_INET6)
        if not known or not (self._trusted or self._guard.allows(str(address[0]))):
            self._refused = True
            raise PermissionError("the address is not allowed")
        return socket.socket(family=family, type=kind, proto=protocol)

    async def send(self) -> WebAnswer:
        """Return the response, or raise AttemptFailed."""
        try:
            async with asyncio.timeout(self._request.timeout):
                return await self._send()
        except (TimeoutError, aiohttp.ClientError, ValueError, OSError) as error:
            raise self._explain(error) from None

    async def _send(self) -> WebAnswer:
        request = self._request
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(self._note_connection)
        connecting = min(_CONNECT, request.timeout)
        # Where the request has none of its own.
        headers = {"Accept-Encoding": "gzip, deflate", "User-Agent": f"scenarioctl/{__version__}"}
        if request.content_type:
            headers["Content-Type"] = request.content_type
        async with (
            aiohttp.ClientSession(
                connector=self._connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=connecting),
                middlewares=[self._send_once],
                trace_configs=[trace],
                headers=headers,
            ) as session,
            session.request(
                request.method,
                self._url,
                data=request.body.encode() if request.body else None,
                headers=list(request.headers),
                allow_redirects=False,
            ) as response,
        ):
            self._check_status(response)
            found, body = _headers_of(response), b""
            # Decompressed as it is read.
            async for chunk in response.content.iter_chunked(_CHUNK):
                body += chunk
                if len(body) > MAX_BODY:
                    raise self._failed(f"answered with more than {MAX_BODY} bytes")
            parsed = read_body(body, found.get("content-type", ""))
            return WebAnswer(status=response.status, headers=found, body=parsed)

    async def _note_connection(self, *_: object) -> None:
        self._connected = True

    async def _send_once(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Keep aiohttp from retrying idempotent requests by itself, as it does after these two
        errors."""
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            raise self._failed("closed the connection without a response", passing=True) from None

    def _check_status(self, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if 300 <= status < 400:
            raise self._failed(f"answered {status}, {_describe_redirect(response)}")
        if not 200 <= status < 300:
            # The body is not logged: it may hold secrets.
            asked = response.headers.get("Retry-After", "") if status in (429, 503) else ""
            failed = self._failed(f"answered {status}", passing=status in _PASSING)
            failed.pause = _pause(asked)
            raise failed

    def _explain(self, error: Exception) -> AttemptFailed:
        """Return the failure to report for *error*."""
        if isinstance(error, TimeoutError) and self._connected:
            return self._failed(f"did not answer within {self._request.timeout:g} s")
        if isinstance(error, TimeoutError):
            return self._failed("could not be reached in time", sent=False, passing=True)
        if self._refused and type(error) is aiohttp.ClientConnectorError:
            return self._failed(_REFUSED, sent=False)
        for kinds, what, passing in _REASONS:
            if isinstance(error, kinds):
                return self._failed(what, sent=False, passing=passing)
        return self._failed("sent a malformed response")

    def _failed(self, what: str, *, sent: bool = True, passing: bool = False) -> AttemptFailed:
        return AttemptFailed(f"{self._host} {what}", sent=sent, passing=passing)


def _headers_of(response: aiohttp.ClientResponse) -> dict[str, str]:
    def clean(name: str) -> str:
        joined = ", ".join(response.headers.getall(name))
        return joined.encode(errors="surrogateescape").decode(errors="replace")

    return {name.lower(): clean(name) for name in response.headers}


def _describe_redirect(response: aiohttp.ClientResponse) -> str:
    """Return the host of a redirect in words that may be logged; the rest of its URL may hold
    secrets."""
    try:
        host = urlsplit(response.headers.get("Location", "")).hostname or ""
    except ValueError:
        host = ""
    target = f" to {host[:100]}" if host.isascii() and host.isprintable() and host else ""
    return f"a redirect{target}; redirects are not followed, use the final URL"


def _pause(text: str) -> float | None:
    """Return the seconds of a `Retry-After`, which is a number or a date; None if it is neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


#: Bytes of the largest body, decompressed.
MAX_BODY = 1024 * 1024

#: Python codecs that are no charsets of the web. Decoding a megabyte of punycode takes minutes.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


def read_body(data: bytes, content_type: str) -> Any:
    """Return parsed JSON if the type says JSON or the body starts like JSON, else text.

    Numbers are never rounded: a number with more digits than a float or our integers keep becomes
    text.
    """
    kind, _, parameters = content_type.lower().partition(";")
    text = _decode(data, parameters)
    kind = kind.strip()
    if kind.endswith(("/json", "+json")) or text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(
                text,
                parse_float=_exact_float,
                parse_int=_exact_int,
                parse_constant=_refuse_constant,
            )
            if isinstance(value, (dict, list)):
                check_depth(value, field="body")
            # A lone surrogate can't be encoded as UTF-8.
            json.dumps(value, ensure_ascii=False).encode()
            return value
        except (ValueError, RecursionError, ScenarioctlError):
            return text
    return text


def _decode(data: bytes, parameters: str) -> str:
    _, _, charset = parameters.partition("charset=")
    name = charset.partition(";")[0].strip(" \"'") or "utf-8"
    try:
        if codecs.lookup(name).name not in {"utf-8", *_NO_CHARSETS}:
            text = data.decode(name, errors="replace")
            # Some codecs, like UTF-7, produce lone surrogates, which can't be encoded as UTF-8.
            return text.encode(errors="surrogatepass").decode(errors="replace")
    except (LookupError, ValueError):
        pass
    return data.decode("utf-8-sig", errors="replace")


def _exact_float(text: str) -> int | float | str:
    try:
        return read_json_number(text)
    except ValueError:
        return text


def _exact_int(text: str) -> int | str:
    return int(text) if len(text) <= MOST_DIGITS else text


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


Sleep = Callable[[float], Awaitable[None]]

#: Methods that are safe to retry.
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})

#: Requests in progress at once; others wait.
_REQUESTS = 500
#: Seconds before the second try, doubled before each further try.
_PAUSE = 0.5
#: The longest pause in seconds that a server may ask for.
_LONGEST_PAUSE = 60


class Outgoing:
    """The HTTP client of http steps, or of notifications, which reaches no private networks except
    those in *private_targets*."""

    def __init__(self, *, private_targets: Sequence[str] = ()) -> None:
        self._guard = Guard(private_targets)
        self._resolver = Resolver(socket.AI_ADDRCONFIG)
        self._places = asyncio.Semaphore(_REQUESTS)

    async def send(self, request: WebRequest, *, sleep: Sleep = asyncio.sleep) -> WebAnswer:
        """Return the answer, or raise RequestFailed, also for every status outside 200 to 299.

        Idempotent methods are retried after temporary failures, other methods only if no connection
        was made.
        """
        started = time.monotonic()
        tries = 0
        while True:
            tries += 1
            try:
                async with self._places:
                    answer = await Attempt(request, self._guard, self._resolver).send()
            except AttemptFailed as failed:
                again = failed.passing and (request.method in IDEMPOTENT or not failed.sent)
                if not again or tries > request.retries:
                    times = "" if tries == 1 else f" (after {tries} tries)"
                    raise RequestFailed(f"{failed}{times}") from None
                pause = failed.pause
                if pause is None:
                    pause = delay_after(tries, first=_PAUSE, longest=_LONGEST_PAUSE, jitter=True)
                elif pause > _LONGEST_PAUSE:
                    raise RequestFailed(f"{failed} and asks to wait {pause:.0f} s") from None
            else:
                milliseconds = round((time.monotonic() - started) * 1000)
                return replace(answer, milliseconds=milliseconds, tries=tries)
            await sleep(pause)
