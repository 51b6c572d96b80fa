"""Requests of http steps and notifications to web servers, kept away from private networks.

`guard.py` says which addresses are allowed. `client.py` sends requests and retries them: each try
on a new connection.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

#: Seconds for one try, from the DNS lookup to the last byte of the response.
DEFAULT_TIMEOUT = 30.0
#: Retries after a failure that may be temporary.
DEFAULT_RETRIES = 2
#: Length from which a part of a path may be a secret.
_SECRET = 16


@dataclass(frozen=True, kw_only=True)
class WebRequest:
    """A request as a scenario gives it, before its URL is checked."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: str = field(default="", repr=False)
    content_type: str = ""
    #: Seconds for each try.
    timeout: float = DEFAULT_TIMEOUT
    retries: int = DEFAULT_RETRIES


@dataclass(frozen=True, kw_only=True)
class WebAnswer:
    """What a web server answered."""

    status: int
    #: Names are in lower case. Repeated headers are joined with commas.
    headers: dict[str, str] = field(repr=False)
    #: Parsed JSON if the response is JSON, else its text.
    body: Any = field(repr=False)
    milliseconds: int = 0
    tries: int = 1


class AttemptFailed(Exception):
    """A failed try. The sentence goes into the log of the job."""

    def __init__(self, sentence: str, *, sent: bool, passing: bool) -> None:
        super().__init__(sentence)
        #: The server may have received the request.
        self.sent = sent
        #: The failure may be temporary.
        self.passing = passing
        #: Seconds of the server's `Retry-After`.
        self.pause: float | None = None


def place_of(url: str) -> str:
    """Return host, port and path of *url* for the log.

    The path of many services holds a secret: a part that looks like one becomes `…`. The query is
    left out.
    """
    parts = urlsplit(url)
    path = "/".join("…" if _is_secret(part) else part for part in (parts.path or "/").split("/"))
    return f"{parts.netloc.rpartition('@')[2]}{path}"


def _is_secret(part: str) -> bool:
    """Tell whether a *part* of a path looks like a key, an id or an address: long, with digits or
    mixed case."""
    if len(part) < _SECRET:
        return False
    is_mixed = part != part.lower() and part != part.upper()
    return is_mixed or any(letter.isdigit() for letter in part)
