"""One request and its answer: admission, body, decoding, handler, JSON, errors, figures; one wrapper, no middlewares."""

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from time import perf_counter
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from scenarioctl.application import Application
from scenarioctl.errors import (
    BadRequest,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    ScenarioctlError,
    TooLarge,
    TooSlow,
    UnsupportedType,
    shorten,
)
from scenarioctl.formats.documents import parse_json
from scenarioctl.operations.outcomes import OUTCOMES
from scenarioctl.server.decoding import Decoder
from scenarioctl.server.endpoints import Endpoint
from scenarioctl.server.metrics import Metrics

log = logging.getLogger("scenarioctl.http")

JSON = "application/json"
#: Bodies above this are read by a thread: the loop has others to serve meanwhile.
_AT_ONCE = 256 * 1024
#: Bytes of a header with notes or warnings.
_HEADER_MAX = 4096
#: Where `OPTIONS` comes from a web page: what it may send and read.
_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-Id, Last-Event-ID",
    "Access-Control-Max-Age": "600",
}
_EXPOSED = "X-Request-Id, Retry-After, Scenarioctl-Notes, Scenarioctl-Warnings"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
#: Operations of these scopes write, or send: once begun they are not given up because a client went away.
_READING = frozenset({"read"})


class Access(Protocol):
    """Who may ask what; `server/access.py`."""

    def admit(self, request: web.BaseRequest, endpoint: Endpoint) -> None:
        """Raise Unauthorized or Forbidden where token, Host or Origin do not allow it."""

    def cors(self, request: web.BaseRequest) -> Mapping[str, str]:
        """Return the headers that let the page of an allowed origin read the answer; none for others."""


class Limits(Protocol):
    """How much may be asked; `server/limits.py`."""

    def admit(self, request: web.BaseRequest, endpoint: Endpoint) -> None:
        """Raise RateLimited for one too many."""

    def place(self) -> AbstractAsyncContextManager[None]:
        """Wait until fewer than the configured number of requests are worked on."""
