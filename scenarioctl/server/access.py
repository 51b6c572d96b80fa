"""Who may call the daemon: bearer tokens and their scopes, and the checks that keep web pages out.

A web page in a browser can reach a daemon on loopback as easily as the user can. Therefore the Host
header must name this daemon, which stops DNS rebinding, and a cross-origin request must come from
an origin in `cors`.
"""

import hmac
import ipaddress
import re
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from scenarioctl.config import Settings, without_password
from scenarioctl.errors import Forbidden, InvalidRequest, Unauthorized, shorten

if TYPE_CHECKING:
    from asyncio import BaseTransport

    from aiohttp.web import BaseRequest

#: The scopes of tokens.
SCOPES = ("read", "create", "broadcast", "jobs")
#: Prefix of every token, so that secret scanners find leaked ones.
PREFIX = "sctl_"
#: Methods without side effects.
_SAFE = ("GET", "HEAD", "OPTIONS")
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_TOKEN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")


class Scoped(Protocol):
    """An endpoint with its required scope."""

    @property
    def scope(self) -> str:
        """The scope that a token must have; `open` if no token is required."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token that the daemon knows, as its SHA-256 hash."""

    name: str
    digest: bytes
    scopes: frozenset[str]


class Access:
    """The access rules in force. A reload replaces all of them or none."""

    def __init__(self, settings: Settings) -> None:
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Apply the rules of *settings*. If one is invalid, raise InvalidRequest and change
        nothing."""
        tokens = read_tokens(settings.tokens)
        hosts = read_hosts(settings.hosts)
        origins = read_origins(settings.cors, tokens)
        self.tokens = tokens
        self._hosts = hosts
        self._origins = origins

    def admit(self, request: "BaseRequest", endpoint: Scoped) -> str:
        """Return the client's name: that of its token, else its address.

        Raises Forbidden for a foreign Host, an origin not in `cors`, or a token without the
        endpoint's scope; Unauthorized for a missing or unknown token.
        """
        self._check_host(request)
        self._check_origin(request)
        if not self.tokens or endpoint.scope == "open":
            return address_of(request)
        return self._check_token(request.headers.get("Authorization"), endpoint.scope)

    def cors(self, request: "BaseRequest") -> dict[str, str]:
        """Return the CORS headers of a response: for a page of an allowed origin, those that let it
        read the response."""
        if not self._origins:
            return {}
        headers = {"Vary": "Origin"}
        origin = request.headers.get("Origin")
        if origin is not None and self._allows(origin):
            headers["Access-Control-Allow-Origin"] = origin
            if request.headers.get("Access-Control-Request-Private-Network") == "true":
                headers["Access-Control-Allow-Private-Network"] = "true"
        return headers

    def _check_host(self, request: "BaseRequest") -> None:
        host = request.headers.get("Host", "")
        matched = _HOST.fullmatch(host)
        name = matched[1].lower().rstrip(".") if matched else ""
        if name and (name == "localhost" or name in self._hosts or is_loopback(name)):
            return
        reached = request.get_extra_info("sockname")
        if isinstance(reached, tuple):
            # The Host is the IP address that the client connected to, so no DNS name is involved.
            if name and _address(name) == _address(str(reached[0])) is not None:
                return
        elif "Origin" not in request.headers and "Sec-Fetch-Site" not in request.headers:
            # On a Unix socket, clients make up a Host. A browser gets there only through a proxy,
            # with one of these headers.
            return
        raise Forbidden(
            f"Host {shorten(host)} is not a name of this daemon, expected localhost, its "
            "address, or a name in the setting hosts"
        )

    def _check_origin(self, request: "BaseRequest") -> None:
        headers = request.headers
        origin = headers.get("Origin")
        if origin is not None:
            if self._allows(origin):
                return
            if not origin.isascii():
                # Lower-casing turns some other letters into ASCII letters, so compare only ASCII.
                raise _foreign(origin)
            scheme, _, authority = origin.lower().partition("://")
            if scheme not in ("http", "https") or authority != headers.get("Host", "").lower():
                raise _foreign(origin)
        if headers.get("Sec-Fetch-Site") == "cross-site" and not (
            request.method in _SAFE and headers.get("Sec-Fetch-Mode") == "navigate"
        ):
            raise _foreign(origin or "of another site")

    def _allows(self, origin: str) -> bool:
        # An origin is ASCII. A header couldn't echo anything else.
        return origin.isascii() and (origin.lower() in self._origins or "*" in self._origins)

    def _check_token(self, header: str | None, scope: str) -> str:
        if header is None:
            raise Unauthorized(
                "this daemon requires a token: set SCENARIOCTL_TOKEN, or send the header "
                "Authorization: Bearer sctl_…"
            )
        scheme, _, given = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("unknown kind of Authorization, expected Bearer sctl_…")
        digest = sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
        # Compare with every token, so that the time it takes reveals nothing.
        same = [token for token in self.tokens if hmac.compare_digest(token.digest, digest)]
        if not same:
            raise Unauthorized("this daemon does not know the token")
        (found, *_) = same
        if scope not in found.scopes:
            raise Forbidden(
                f"the token {found.name} allows {', '.join(sorted(found.scopes))}; this "
                f"needs one that allows {scope}"
            )
        return found.name


def _foreign(origin: str) -> Forbidden:
    return Forbidden(
        f"Origin {shorten(origin)} is not allowed to call this daemon, expected none, the "
        "daemon's own, or one in the setting cors"
    )


def read_tokens(tables: Mapping[str, Any]) -> tuple[Token, ...]:
    """Return the tokens of `[tokens.NAME]`. Raises InvalidRequest for an invalid one, without its
    hash."""
    tokens: list[Token] = []
    for name, table in tables.items():
        given = table if isinstance(table, Mapping) else {}
        digest = str(given.get("sha256"))
        if (
            not _TOKEN_NAME.fullmatch(name)
            or not _DIGEST.fullmatch(digest)
            or given.keys() - {"sha256", "scopes"}
        ):
            # Don't show the value: it may be the token itself.
            raise InvalidRequest(
                field=f"tokens.{name}" if name.isidentifier() else f"tokens.{shorten(name)}",
                problem="is not a table of a token",
                expected="sha256, of 64 hex digits, and scopes. Make one with scenarioctl config "
                "token NAME, of 1 to 64 letters, digits, - or _",
            )
        scopes = read_scopes(given.get("scopes"), field=f"tokens.{name}.scopes")
        tokens.append(Token(name=name, digest=bytes.fromhex(digest), scopes=frozenset(scopes)))
    return tuple(tokens)


def read_scopes(value: object, *, field: str) -> list[str]:
    """Return the scopes in the list *value*, in the order of SCOPES, or raise InvalidRequest."""
    given = value if isinstance(value, (list, tuple)) else ()
    wrong = [scope for scope in given if scope not in SCOPES]
    if wrong or not given:
        raise InvalidRequest(
            field=field,
            value=wrong[0] if wrong else value,
            problem="is not a scope" if wrong else "is not a list of scopes",
            expected=f"some of: {', '.join(SCOPES)}",
        )
    return [scope for scope in SCOPES if scope in given]


def new_token() -> tuple[str, str]:
    """Return a new random token and its SHA-256 hash in hex."""
    import secrets

    token = PREFIX + secrets.token_urlsafe(32)
    return token, sha256(token.encode()).hexdigest()


def check_binding(access: Access, exposed: Sequence[str], *, force: bool) -> None:
    """Raise InvalidRequest if other machines can reach the addresses *exposed* without a token,
    unless *force*."""
    if exposed and not access.tokens and not force:
        raise InvalidRequest(
            field="listen",
            value=exposed[0],
            problem=(
                "is reachable from other machines and no token is configured: anyone there "
                "could create, run and broadcast. Make a token with scenarioctl config token "
                "NAME, listen on 127.0.0.1, or accept the risk with --force"
            ),
        )


def address_of(request: "BaseRequest") -> str:
    """Return the client's IPv4 address, the /64 of its IPv6 address, or its user id on a Unix
    socket."""
    return _client(request.remote or "", request.get_extra_info("socket"))


def peer_of(transport: "BaseTransport") -> str:
    """Return the same as `address_of` for a connection."""
    peer = transport.get_extra_info("peername")
    remote = str(peer[0]) if isinstance(peer, tuple) else ""
    return _client(remote, transport.get_extra_info("socket"))


def _client(remote: str, connection: Any) -> str:
    found = _address(remote)
    if isinstance(found, ipaddress.IPv6Address) and not found.is_loopback:
        # A single IPv6 client usually has a whole /64.
        return str(ipaddress.IPv6Network((found, 64), strict=False))
    if remote:
        return remote
    try:
        size = struct.calcsize("3i")
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    except (AttributeError, OSError):
        return "local"
    return f"uid {struct.unpack('3i', peer)[1]}"


def is_loopback(host: str) -> bool:
    """Tell whether *host* is a loopback address; an IPv6 address may be in brackets."""
    found = _address(host)
    return found is not None and found.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def read_hosts(hosts: Iterable[str]) -> frozenset[str]:
    """Return the names of *hosts* without ports, or raise InvalidRequest."""
    names: set[str] = set()
    for host in hosts:
        matched = _HOST.fullmatch(host)
        if matched is None:
            raise InvalidRequest(
                field="hosts",
                problem=f"holds {shorten(without_password(host))}, which is not a host name",
                expected="one like daemon.example.org",
            )
        names.add(matched[1].lower().rstrip("."))
    return frozenset(names)


def read_origins(origins: Iterable[str], tokens: Sequence[Token]) -> frozenset[str]:
    """Return *origins* in lower case, or raise InvalidRequest."""
    for origin in origins:
        if origin == "*" and not tokens:
            raise InvalidRequest(
                field="cors",
                problem=(
                    "holds '*' and no token is configured: every web page could call the "
                    "daemon. Name the origins, or make a token with scenarioctl config token "
                    "NAME"
                ),
            )
        if origin != "*" and not _ORIGIN.fullmatch(origin.lower()):
            raise InvalidRequest(
                field="cors",
                problem=f"holds {shorten(without_password(origin))}, which is not an origin",
                expected="one like https://app.example.org",
            )
    return frozenset(origin.lower() for origin in origins)
