"""Results and errors as JSON responses."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
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


def encode_large(answer: Mapping[str, object]) -> bytes:
    """Return *answer* as compact JSON, encoded item by item, because msgspec holds the GIL while it
    encodes."""
    parts: list[bytes] = []
    for name, value in answer.items():
        parts += (b"," if parts else b"{", encode(name), b":")
        parts += (b"[", encode_items(value), b"]") if isinstance(value, list) else (encode(value),)
    return b"".join((*parts, b"}")) if parts else b"{}"


def encode_items(items: Sequence[object]) -> bytes:
    """Return the items of a list as compact JSON, without its brackets."""
    return b",".join(map(encode, items))


async def encode_portions(
    result: Result[Any], aside: Callable[..., Awaitable[bytes]]
) -> AsyncIterator[bytes]:
    """Yield the answer of *result* as compact JSON, encoded *aside*: its list, then everything
    else."""
    first: dict[str, Any] = dict(result.answer)
    name = next(name for name, value in first.items() if isinstance(value, list))
    yield b"{" + encode(name) + b":[" + await aside(encode_items, first.pop(name))
    others = first
    assert result.rest is not None  # noqa: S101 - whose answer is in portions
    async for portion in result.rest:
        values = dict(portion)
        yield b"," + await aside(encode_items, values.pop(name))
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
