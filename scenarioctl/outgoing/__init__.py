"""Requests of http steps to web servers, kept away from private networks.

`guard.py` says which addresses may be reached, `client.py` sends and tries again.
"""

from dataclasses import dataclass, field
from typing import Any

#: Seconds for one try, from the look-up of the name to the last byte of the answer.
DEFAULT_TIMEOUT = 30.0
#: Further tries where the first one failed in a way that may pass.
DEFAULT_RETRIES = 2


@dataclass(frozen=True, kw_only=True)
class WebRequest:
    """What is sent, before anybody has looked where it leads."""

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
    #: Names in lower case; what came more than once is joined with commas.
    headers: dict[str, str] = field(repr=False)
    #: JSON where the answer is JSON, else its text.
    body: Any = field(repr=False)
    milliseconds: int = 0
    tries: int = 1
