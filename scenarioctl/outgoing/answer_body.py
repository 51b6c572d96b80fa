"""Reads the body of a web server's answer: JSON if it is JSON, else text."""

import codecs
import json
from typing import Any

from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.amounts import MOST_DIGITS, read_json_number
from scenarioctl.model.diagram import check_depth

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
