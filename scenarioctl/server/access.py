"""Who may call the daemon: bearer tokens and their scopes, and the checks that keep web pages out.

A page in somebody's browser reaches a daemon on loopback as easily as its owner does.  So the Host has to be a name of this
daemon (a rebound DNS name is not), and a request that names another origin has to come from one of `cors`.
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

from scenarioctl.config import Settings
from scenarioctl.errors import Forbidden, InvalidRequest, Unauthorized, shorten

if TYPE_CHECKING:
    from asyncio import BaseTransport

    from aiohttp.web import BaseRequest

#: What a token can be good for.
SCOPES = ("read", "create", "broadcast", "jobs")
#: How every token begins, for those who look for secrets in the wrong places.
PREFIX = "sctl_"
#: Methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")
_TOKEN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")
#: Hosts that were found good are remembered, so many at most.
_REMEMBERED = 64


class Scoped(Protocol):
    """An endpoint, as far as access to it goes."""

    @property
    def scope(self) -> str:
        """What a token must be good for; `open` where none is asked for."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token that the daemon knows: its hash, never itself."""

    name: str
    digest: bytes
    scopes: frozenset[str]


class Access:
    """The rules in force, which a reload changes all at once."""

    def __init__(self, settings: Settings) -> None:
        self.change(settings)

    def change(self, settings: Settings) -> None:
        """Take over the rules of *settings*; where one of them cannot be used, InvalidRequest, and nothing changes."""
        tokens = read_tokens(settings.tokens)
        hosts = read_hosts(settings.hosts)
        origins = read_origins(settings.cors, tokens)
        self.tokens = tokens
        self._hosts = hosts
        self._origins = origins
        self._good_hosts: set[str] = set()

    def admit(self, request: "BaseRequest", endpoint: Scoped) -> str:
        """Return the name of the client, of its token, else its address.

        Forbidden for a Host that is not the daemon's, an origin that is none of `cors`, and a token that is not good for
        the endpoint; Unauthorized where a token is missing or unknown.
        """
        self._check_host(request)
        self._check_origin(request)
        if not self.tokens or endpoint.scope == "open":
            return address_of(request)
        return self._check_token(request.headers.get("Authorization"), endpoint.scope)

    def cors(self, request: "BaseRequest") -> dict[str, str]:
        """Return the header by which a browser lets the page of an allowed origin have the answer; empty for others."""
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
        if host in self._good_hosts:
            return
        matched = _HOST.fullmatch(host)
        name = matched[1].lower().rstrip(".") if matched else ""
        if name and (name == "localhost" or name in self._hosts or is_loopback(name)):
            if len(self._good_hosts) < _REMEMBERED:
                self._good_hosts.add(host)
            return
        reached = request.get_extra_info("sockname")
        if isinstance(reached, tuple):
            # At the very address in the Host: no DNS name has anything to do with it.
            if name and _address(name) == _address(str(reached[0])) is not None:
                return
        elif "Origin" not in request.headers and "Sec-Fetch-Site" not in request.headers:
            # On a Unix socket, clients make a Host up; a browser gets there through a proxy only.
            return
        raise Forbidden(
            f"Host {shorten(host)} is no name of this daemon, expected localhost, the address it listens on, or one of the setting hosts"
        )

    def _check_origin(self, request: "BaseRequest") -> None:
        headers = request.headers
        origin = headers.get("Origin")
        if origin is not None:
            if self._allows(origin):
                return
            if not origin.isascii():
                # Lower case makes ASCII letters of some others: what is compared has to be what was sent.
                raise _foreign(origin)
            scheme, _, authority = origin.lower().partition("://")
            if scheme not in ("http", "https") or authority != headers.get("Host", "").lower():
                raise _foreign(origin)
        if headers.get("Sec-Fetch-Site") == "cross-site" and not (
            request.method in _SAFE and headers.get("Sec-Fetch-Mode") == "navigate"
        ):
            raise _foreign(origin or "of another site")

    def _allows(self, origin: str) -> bool:
        # What is not ASCII is no origin, and no header could say that it may read the answer.
        return origin.isascii() and (origin.lower() in self._origins or "*" in self._origins)

    def _check_token(self, header: str | None, scope: str) -> str:
        if header is None:
            raise Unauthorized("this daemon wants a token, expected the header Authorization: Bearer sctl_…")
        scheme, _, given = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("Authorization is of no known kind, expected Bearer sctl_…")
        digest = sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
        found: Token | None = None
        for token in self.tokens:
            # All of them, each time: how long it takes tells nothing of which one was close.
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None:
            raise Unauthorized("the token is not one that this daemon knows")
        if scope not in found.scopes:
            raise Forbidden(
                f"the token {found.name} is good for {', '.join(sorted(found.scopes))}, expected one that is good for {scope}"
            )
        return found.name


def _foreign(origin: str) -> Forbidden:
    return Forbidden(
        f"Origin {shorten(origin)} may not call this daemon, expected none, its own, or one of the setting cors"
    )


def read_tokens(tables: Mapping[str, Any]) -> tuple[Token, ...]:
    """Return the tokens of `[tokens.NAME]`; InvalidRequest, which shows no hash, for one that cannot be used."""
    tokens: list[Token] = []
    for name, table in tables.items():
        if not _TOKEN_NAME.fullmatch(name):
            raise InvalidRequest(
                f"tokens.{shorten(name)} is no name of a token, expected 1 to 64 letters, digits, - or _"
            )
        if not isinstance(table, Mapping):
            raise InvalidRequest(f"tokens.{name} is not a table, expected [tokens.{name}]")
        for key in table:
            if key not in ("sha256", "scopes"):
                raise InvalidRequest(
                    f"tokens.{name} has the unknown key {shorten(key)}, expected sha256 and scopes"
                )
        digest = table.get("sha256")
        if not isinstance(digest, str) or not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
            # What stands there may be the token itself.
            raise InvalidRequest(
                f"tokens.{name}.sha256 is not the hash of a token, expected 64 hex digits: make it with scenarioctl config token {name}"
            )
        tokens.append(
            Token(
                name=name,
                digest=bytes.fromhex(digest),
                scopes=frozenset(read_scopes(table.get("scopes"), field=f"tokens.{name}.scopes")),
            )
        )
    return tuple(tokens)


def read_scopes(value: object, *, field: str) -> list[str]:
    """Return *value*, a list, if it names scopes, in the order of SCOPES."""
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidRequest(
            f"{field} {shorten(value)} is not a list of scopes, expected some of: {', '.join(SCOPES)}"
        )
    for scope in value:
        if scope not in SCOPES:
            raise InvalidRequest(
                f"{field} holds {shorten(scope)}, which is no scope, expected some of: {', '.join(SCOPES)}"
            )
    return [scope for scope in SCOPES if scope in value]


def new_token() -> tuple[str, str]:
    """Return a token that nobody guesses, and its hash in hex."""
    import secrets

    token = PREFIX + secrets.token_urlsafe(32)
    return token, sha256(token.encode()).hexdigest()


def check_binding(access: Access, exposed: Sequence[str], *, force: bool) -> None:
    """Refuse to be reached from other machines (at the addresses *exposed*) by whoever likes, unless *force*."""
    if exposed and not access.tokens and not force:
        raise InvalidRequest(
            f"listen {shorten(exposed[0])} can be reached from other machines, and no token is configured, so that anybody there could "
            "create, run and broadcast: make a token with scenarioctl config token NAME, listen on 127.0.0.1, or accept that with --force"
        )


def address_of(request: "BaseRequest") -> str:
    """Return where a client calls from: its IP address, of IPv6 the network, on a Unix socket its user's id."""
    return _client(request.remote or "", request)


def peer_of(transport: "BaseTransport") -> str:
    """Return the same of a connection."""
    peer = transport.get_extra_info("peername")
    return _client(str(peer[0]) if isinstance(peer, tuple) else "", transport)


def _client(remote: str, caller: "BaseRequest | BaseTransport") -> str:
    if not remote:
        return _user_of(caller)
    if ":" in remote:
        # One customer has a whole /64 to call from.
        found = _address(remote)
        if isinstance(found, ipaddress.IPv6Address) and not found.is_loopback:
            return str(ipaddress.IPv6Network((found, 64), strict=False))
    return remote


def _user_of(caller: "BaseRequest | BaseTransport") -> str:
    connection = caller.get_extra_info("socket")
    try:
        size = struct.calcsize("3i")
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    except (AttributeError, OSError):
        return "local"
    return f"uid {user}"


def is_loopback(host: str) -> bool:
    """Tell whether *host* is an address of this machine that no other can reach; an IPv6 one may stand in brackets."""
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
                f"hosts holds {shorten(host)}, which is no name of a host, expected one like daemon.example.org"
            )
        names.add(matched[1].lower().rstrip("."))
    return frozenset(names)


def read_origins(origins: Iterable[str], tokens: Sequence[Token]) -> frozenset[str]:
    """Return *origins* as browsers write them, or raise InvalidRequest."""
    for origin in origins:
        if origin == "*" and not tokens:
            raise InvalidRequest(
                "cors holds '*' and no token is configured, so that every web page could call the daemon: name the origins, "
                "or make a token with scenarioctl config token NAME"
            )
        if origin != "*" and not _ORIGIN.fullmatch(origin.lower()):
            raise InvalidRequest(
                f"cors holds {shorten(origin)}, which is no origin, expected one like https://app.example.org"
            )
    return frozenset(origin.lower() for origin in origins)
