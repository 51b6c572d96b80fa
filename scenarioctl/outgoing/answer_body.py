"""Reads the body of a web server's answer: bounded while it is decompressed, JSON if it is JSON."""

import codecs
import json
import zlib
from typing import Any

from scenarioctl.errors import RequestFailed, ScenarioctlError
from scenarioctl.model.amounts import MOST_DIGITS, read_json_number
from scenarioctl.model.diagram import check_depth

#: Bytes of the largest body, decompressed.
MAX_BODY = 1024 * 1024

#: Python codecs that are no charsets of the web. Decoding a megabyte of punycode takes minutes.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


class Body:
    """Collects and decompresses a body. Raises RequestFailed above MAX_BODY bytes, before it uses
    more memory."""

    def __init__(self, encoding: str, host: str) -> None:
        self._host = host
        self._parts: list[bytes] = []
        self._size = 0
        #: Whether any data has arrived.
        self._begun = False
        encoding = encoding.strip().lower()
        if encoding in ("", "identity"):
            self._inflate = None
        elif encoding in ("gzip", "x-gzip", "deflate"):
            # 32: detect gzip or zlib.
            self._inflate = zlib.decompressobj(wbits=32 + zlib.MAX_WBITS)
        else:
            raise RequestFailed(f"{host} answered in an encoding that was not requested")

    def add(self, data: bytes) -> None:
        self._begun = self._begun or bool(data)
        if self._inflate is not None:
            try:
                data = self._inflate.decompress(data, MAX_BODY - self._size + 1)
            except zlib.error:
                raise RequestFailed(
                    f"{self._host} sent a response that cannot be decompressed"
                ) from None
            if self._inflate.unused_data:
                # zlib would keep all of it in memory.
                raise RequestFailed(f"{self._host} sent a response that goes on after its end")
        self._size += len(data)
        if self._size > MAX_BODY:
            raise RequestFailed(f"{self._host} answered with more than {MAX_BODY} bytes")
        self._parts.append(data)

    def read(self) -> bytes:
        if self._inflate is not None and self._begun and not self._inflate.eof:
            raise RequestFailed(f"{self._host} sent a truncated response")
        return b"".join(self._parts)


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
