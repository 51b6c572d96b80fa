"""Results and errors as JSON responses."""

import json
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import web

from scenarioctl.errors import ScenarioctlError
from scenarioctl.operations.results import OUTCOMES, Result, join

JSON = "application/json"
#: Bytes of the largest header with notes or warnings.
_HEADER_MAX = 4096


def encode(answer: object) -> bytes:
    """Return *answer* as compact JSON."""
    try:
        return msgspec.json.encode(answer)
    except (UnicodeEncodeError, OverflowError):
        # An imported diagram may contain a lone surrogate, which msgspec refuses and json escapes.
        return json.dumps(answer, separators=(",", ":")).encode()


async def encode_portions(result: Result[Any]) -> AsyncIterator[bytes]:
    """Yield the answer of *result* as compact JSON: its list, then everything else."""
    others: dict[str, Any] = dict(result.answer)
    name = next(name for name, value in others.items() if isinstance(value, list))
    yield b"{" + encode(name) + b":[" + encode(others.pop(name))[1:-1]
    assert result.rest is not None  # noqa: S101 - whose answer is in portions
    async for portion in result.rest:
        values = dict(portion)
        yield b"," + encode(values.pop(name))[1:-1]
        others = join(others, values)
    yield b"]," + encode(others)[1:] if others else b"]}"


def write_header(value: object) -> str:
    """Return *value* as the value of a header: percent-encoded JSON."""
    return quote(json.dumps(value, ensure_ascii=False), safe="", errors="replace")


@lru_cache(256)
def write_sentences(sentences: tuple[str, ...]) -> str:
    """Return *sentences* as the value of a header: percent-encoded JSON, cut to at most 4 kB."""
    kept = list(sentences)
    while len(written := write_header(kept)) > _HEADER_MAX:
        if len(kept) > 1:
            kept.pop()
        else:
            kept = [kept[0][: len(kept[0]) // 2] + "…"]
    return written


def error_response(error: ScenarioctlError, flag: str) -> web.Response:
    """Return the response to a failed request; *flag* is that of the endpoint, or empty."""
    said: dict[str, object] = {flag: False} if flag else {}
    said |= {"error": str(error), "code": error.code, **error.details}
    if error.advice:
        said["advice"] = error.advice
    return web.Response(status=OUTCOMES[error.code].status, body=encode(said), content_type=JSON)
