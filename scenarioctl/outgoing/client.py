"""Sending a step's request."""

import asyncio
import random
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scenarioctl import __version__
from scenarioctl.errors import RequestFailed
from scenarioctl.outgoing import WebAnswer, WebRequest
from scenarioctl.outgoing.answers import Body, read_body
from scenarioctl.outgoing.guard import Guard

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver

    from scenarioctl.outgoing.metering import Turns

Sleep = Callable[[float], Awaitable[None]]

#: May be sent again, since twice is as good as once.
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
#: Answers that may be better the next time.
PASSING = frozenset({429, 500, 502, 503, 504})

#: Requests under way at once; further ones wait.
_AT_ONCE = 500
#: Names that are looked up at once.  Threads of our own: a name server that hangs delays nothing but names.
_LOOKUPS = 16
#: Seconds until a connection stands.
_CONNECT = 10
#: Seconds before the second try; twice as many before each further one.
_PAUSE = 0.5
#: The longest that a server may ask to be left alone before a further try.
_LONGEST_PAUSE = 60
_CHUNK = 64 * 1024
#: Characters of a part of a path that may be a secret.
_SECRET = 16


class _Failed(Exception):
    """A try that failed; the sentence is for the log."""

    def __init__(self, sentence: str, *, sent: bool, passing: bool, pause: float | None = None) -> None:
        super().__init__(sentence)
        #: The server may have got the request.
        self.sent = sent
        #: The next try may be better.
        self.passing = passing
        #: What the server asks for.
        self.pause = pause


class Outgoing:
    """The way to web servers, kept away from private networks but those in *private_targets*.

    Each request has a connection of its own, without cookies, proxies or what the environment says of them; a redirect is
    not followed, since it could lead anywhere.
    """

    def __init__(self, *, private_targets: Sequence[str] = ()) -> None:
        self._guard = Guard(private_targets)
        self._lookups: ThreadPoolExecutor | None = None
        self._places: asyncio.Semaphore | None = None
        self._turns: Turns | None = None

    async def send(self, request: WebRequest, *, sleep: Sleep = asyncio.sleep) -> WebAnswer:
        """Return the answer, or raise RequestFailed: a status of 300 and above is a failure too, and so is one below 200.

        Idempotent methods are tried again where that may help, others only where no connection was made.
        """
        if self._places is None:
            self._places = asyncio.Semaphore(_AT_ONCE)
        started = time.monotonic()
        tries = 0
        while True:
            tries += 1
            try:
                async with self._places:
                    status, headers, body = await self._try(request)
            except _Failed as failed:
                again = failed.passing and (request.method in IDEMPOTENT or not failed.sent)
                if not again or tries > request.retries:
                    times = "" if tries == 1 else f", at the last of {tries} tries"
                    raise RequestFailed(f"{failed}{times}") from None
                pause = failed.pause
                if pause is None:
                    # Scenarios that failed together do not come back together.
                    pause = min(_PAUSE * 2 ** (tries - 1), _LONGEST_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
                elif pause > _LONGEST_PAUSE:
                    raise RequestFailed(f"{failed}, and asks to be left alone for {pause:.0f} s") from None
            else:
                milliseconds = round((time.monotonic() - started) * 1000)
                return WebAnswer(
                    status=status, headers=headers, body=body, milliseconds=milliseconds, tries=tries
                )
            await sleep(pause)

    async def close(self) -> None:
        """Let go of the threads that look up names."""
        if self._lookups is not None:
            self._lookups.shutdown(wait=False, cancel_futures=True)
            self._lookups = None

    async def _try(self, request: WebRequest) -> tuple[int, dict[str, str], Any]:
        import aiohttp
        from yarl import URL

        from scenarioctl.outgoing.metering import MeteredConnector, Turns

        if self._turns is None:
            self._turns = Turns()
        host = place_of(request.url).partition("/")[0]
        try:
            # Read once: what is judged and what is called must not differ by who reads the address.
            url = URL(request.url)
        except ValueError:
            raise _Failed(f"{host} cannot be called by this address", sent=False, passing=False) from None
        door = _Door(self._guard, url.raw_host or "")
        sent = aiohttp.TraceConfig()
        on_the_wire = False

        async def note(*_: object) -> None:
            nonlocal on_the_wire
            on_the_wire = True

        sent.on_connection_create_end.append(note)
        connector = MeteredConnector(
            host,
            self._turns,
            resolver=self._resolver(),
            use_dns_cache=False,
            force_close=True,
            socket_factory=door.open,
        )
        try:
            async with (
                asyncio.timeout(request.timeout),
                aiohttp.ClientSession(
                    connector=connector,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    trust_env=False,
                    auto_decompress=False,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(_CONNECT, request.timeout)),
                    trace_configs=[sent],
                ) as session,
            ):
                # aiohttp would send a request again by itself; how often is for us to say.
                session._retry_connection = False
                async with session.request(
                    request.method,
                    url,
                    data=request.body.encode() if request.body else None,
                    headers=_headers(request),
                    allow_redirects=False,
                ) as response:
                    if connector.meter is not None:
                        connector.meter.end_headers(response.content)
                    return await self._read(host, response)
        except RequestFailed as failed:
            raise _Failed(str(failed), sent=True, passing=False) from None
        except TimeoutError:
            if on_the_wire:
                raise _Failed(
                    f"{host} did not answer within {request.timeout:g} s", sent=True, passing=False
                ) from None
            raise _Failed(f"{host} could not be reached in time", sent=False, passing=True) from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError):
            raise _Failed(
                f"{host} has no certificate that can be trusted", sent=False, passing=False
            ) from None
        except aiohttp.ClientConnectorDNSError:
            raise _Failed(f"{host} could not be found", sent=False, passing=True) from None
        except aiohttp.ClientConnectorError:
            if door.refused:
                raise _Failed(
                    f"{host} leads to an address that http steps may not reach: it is private, local or reserved; "
                    "private_targets in config.toml names hosts and networks of one's own that they may",
                    sent=False,
                    passing=False,
                ) from None
            raise _Failed(f"{host} could not be reached", sent=False, passing=True) from None
        except (aiohttp.InvalidURL, aiohttp.InvalidUrlClientError, UnicodeError):
            raise _Failed(f"{host} cannot be called by this address", sent=False, passing=False) from None
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            raise _Failed(
                f"{host} closed the connection before it answered", sent=True, passing=True
            ) from None
        except (aiohttp.ClientError, ValueError, OSError):
            raise _Failed(f"{host} sent an answer that cannot be read", sent=True, passing=False) from None
        finally:
            if connector.meter is not None:
                connector.meter.stop()

    async def _read(self, host: str, response: "aiohttp.ClientResponse") -> tuple[int, dict[str, str], Any]:
        status = response.status
        if 300 <= status < 400:
            raise _Failed(f"{host} answered {status}, {_whither(response)}", sent=True, passing=False)
        if not 200 <= status < 400:
            # What it says beside that is not ours to log.
            raise _Failed(
                f"{host} answered {status}",
                sent=True,
                passing=status in PASSING,
                pause=_pause(response.headers.get("Retry-After", "")) if status in (429, 503) else None,
            )
        headers: dict[str, str] = {}
        for name, value in response.headers.items():
            key = name.lower()
            value = value.encode(errors="surrogateescape").decode(errors="replace")
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        body = Body(headers.get("content-encoding", ""), host)
        try:
            async for chunk in response.content.iter_chunked(_CHUNK):
                body.add(chunk)
            data = body.read()
        except RequestFailed as failed:
            raise _Failed(str(failed), sent=True, passing=False) from None
        return status, headers, read_body(data, headers.get("content-type", ""))

    def _resolver(self) -> "AbstractResolver":
        if self._lookups is None:
            self._lookups = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="outgoing")
        return _make_resolver(self._lookups)


class _Door:
    """Opens the sockets of one request: the address that is judged is the one that is connected to."""

    def __init__(self, guard: Guard, host: str) -> None:
        self._guard = guard
        self._trusted = guard.trusts(host)
        self.refused = False

    def open(self, info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        known = family in (socket.AF_INET, socket.AF_INET6)
        if not known or not (self._trusted or self._guard.allows(str(address[0]))):
            self.refused = True
            raise PermissionError("the address may not be reached")
        return socket.socket(family=family, type=kind, proto=protocol)


def place_of(url: str) -> str:
    """Return host, port and path of *url*, as far as they may be logged.

    Secrets stand in headers, queries and bodies, and with many services in the path: what looks like one is left out.
    """
    parts = urlsplit(url)
    path = "/".join("…" if _is_secret(part) else part for part in (parts.path or "/").split("/"))
    return f"{parts.netloc.rpartition('@')[2]}{path}"


def _is_secret(part: str) -> bool:
    """Tell whether a *part* of a path is long, and no word or words: a key, an id, an address."""
    if len(part) < _SECRET:
        return False
    is_mixed = part != part.lower() and part != part.upper()
    return is_mixed or any(letter.isdigit() for letter in part)


def _headers(request: WebRequest) -> "list[tuple[str, str]]":
    headers = list(request.headers)
    given = {name.lower() for name, _ in headers}
    if request.content_type and "content-type" not in given:
        headers.append(("Content-Type", request.content_type))
    if "accept-encoding" not in given:
        headers.append(("Accept-Encoding", "gzip, deflate"))
    if "user-agent" not in given:
        headers.append(("User-Agent", f"scenarioctl/{__version__}"))
    return headers


def _whither(response: "aiohttp.ClientResponse") -> str:
    """Return where a redirect leads, as far as that may be logged."""
    try:
        host = urlsplit(response.headers.get("Location", "")).hostname or ""
    except ValueError:
        host = ""
    target = f" to {host[:100]}" if host.isascii() and host.isprintable() and host else ""
    return f"a redirect{target}, which is not followed: write the address that it leads to"


def _pause(text: str) -> float | None:
    """Return the seconds in a `Retry-After`, which is a number or a date; None where it is neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _make_resolver(threads: ThreadPoolExecutor) -> "AbstractResolver":
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Resolver(AbstractResolver):
        """The system's own, on threads of ours."""

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            found = await asyncio.get_running_loop().run_in_executor(
                threads,
                lambda: socket.getaddrinfo(
                    host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
                ),
            )
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address[0]),
                    port=int(address[1]),
                    family=found_family,
                    proto=protocol,
                    flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                )
                for found_family, _, protocol, _, address in found
                if found_family in (socket.AF_INET, socket.AF_INET6)
            ]

        async def close(self) -> None:
            """Nothing is held: the threads are shared."""

    return Resolver()
