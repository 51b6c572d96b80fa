"""Data in the body of an http step: encoded so that it stays one value, or part of one.

To add a kind of body, add an encoder and a line to `_find_encoder`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Filled,
    JsonEncoder,
    Placeholder,
    Unfillable,
    fill,
    is_json_text,
    is_placeholder,
    unfilled,
)

#: Characters that some parser takes for the end of a line.
_BREAKS = frozenset("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def content_type_of(form: Mapping[str, Any], body: str) -> str:
    """Return the content type that the headers name; JSON if they name none and the body looks like
    it."""
    kind = form.get("contentType")
    headers = form.get("headers")
    for entry in headers if isinstance(headers, list) else ():
        if isinstance(entry, dict) and str(entry.get("key")).lower() == "content-type":
            kind = entry.get("value")
    if not isinstance(kind, str) or not kind:
        return "application/json" if is_json_text(body) else ""
    return kind


def fill_body(body: str, content_type: str, data: Data) -> Any:
    """Return *body* with its placeholders replaced, each value encoded for its place."""
    kind = content_type.lower().partition(";")[0].strip()
    is_declared_json = kind.endswith(("/json", "+json")) and _may_be_json(body)
    encoder = _JsonEncoder if is_declared_json else _find_encoder(kind, content_type, body)
    filled = fill(body, data, encoder=encoder)
    if is_declared_json and isinstance(filled, Filled):
        try:
            json.loads(filled)
        except (ValueError, RecursionError):
            return unfilled(body, "is not JSON once it is filled in")
    return filled


def _find_encoder(kind: str, content_type: str, body: str) -> Callable[[], Encoder]:
    if kind == "application/x-www-form-urlencoded":
        return _FormEncoder
    if kind.endswith(("/xml", "+xml", "/html")):
        return _MarkupEncoder
    if is_json_text(body) and _is_json(body):
        # Some servers want JSON sent as plain text, or line by line.
        return _JsonEncoder
    if is_placeholder(body):
        # The data is the whole body, whatever it holds.
        return _PlainEncoder
    if kind == "text/csv":
        return _CsvEncoder
    if kind == "text/tab-separated-values":
        return _TabEncoder
    if kind.endswith(("/yaml", "/x-yaml", "+yaml")):
        return _YamlEncoder
    if kind.startswith("multipart/"):
        return lambda: _MultipartEncoder(_find_boundary(content_type, body))
    return _PlainEncoder


def _may_be_json(template: str) -> bool:
    """Return whether *template* starts like JSON: the editor declares every body as JSON."""
    start = str(fill(template, _Anything(), encoder=_JsonEncoder)).lstrip()[:1]
    return start in ("{", "[", '"')


class _Anything(Data):
    """Fills every placeholder with an empty text, to see whether the rest is JSON."""

    def find(self, placeholder: Placeholder) -> Any:  # noqa: ARG002
        return ""


def _is_json(template: str) -> bool:
    """Return whether *template* is JSON, or lines of JSON, apart from its placeholders."""
    filled = str(fill(template, _Anything(), encoder=_JsonEncoder))
    for parts in ((filled,), filled.split("\n")):
        try:
            for part in parts:
                if part.strip():
                    json.loads(part)
        except (ValueError, RecursionError):
            continue
        return True
    return False


class _PlainEncoder(Encoder):
    typed = False


class _JsonEncoder(JsonEncoder):
    typed = False


class _FormEncoder(_PlainEncoder):
    def write(self, value: Any, following: str) -> str:
        from urllib.parse import quote

        return quote(super().write(value, following), safe="")


class _MarkupEncoder(_PlainEncoder):
    def write(self, value: Any, following: str) -> str:
        from html import escape

        return escape(super().write(value, following))


class _ContextEncoder(_PlainEncoder, ABC):
    """Encodes data by the text before it."""

    def __init__(self) -> None:
        self._before = ""

    def passes(self, literal: str) -> None:
        self._before += literal

    def write(self, value: Any, following: str) -> str:
        written = self._write(value, super().write(value, following), following)
        self._before += written
        return written

    @abstractmethod
    def _write(self, value: Any, text: str, following: str) -> str:
        """Return *value*, which is *text* in a body without rules, as it is written after
        `_before`."""


class _CsvEncoder(_ContextEncoder):
    """RFC 4180: a field with a delimiter or line break is quoted, and quotes are doubled."""

    _DELIMITERS = frozenset(',;\t|"')

    def _write(self, value: Any, text: str, following: str) -> str:  # noqa: ARG002
        if self._before.count('"') % 2:
            return text.replace('"', '""')
        if not (self._DELIMITERS | _BREAKS) & set(text):
            return text
        if self._before[-1:] in ("", "\n", "\r", *",;\t|") and following in (
            "",
            "\n",
            "\r",
            *",;\t|",
        ):
            return '"' + text.replace('"', '""') + '"'
        raise Unfillable(
            "would be filled in with text that ends its CSV field: put the field in quotes"
        )


class _TabEncoder(_PlainEncoder):
    """TSV has no quotes that every parser knows."""

    def write(self, value: Any, following: str) -> str:
        text = super().write(value, following)
        if ({"\t"} | _BREAKS) & set(text):
            raise Unfillable("would be filled in with a tab or a line break, which ends its field")
        return text


class _YamlEncoder(_ContextEncoder):
    """JSON is valid YAML as a whole value or in double quotes; elsewhere only text without special
    meaning is allowed."""

    #: Indentation, dashes of lists, a key.
    _START = r"""[ ]*(?:-[ ]+)*(?:(?:[\w./-]+|"[^"\\]*"|'[^']*'):[ ]+)?"""
    _VALUE = re.compile(_START)
    _DOUBLE = re.compile(_START + r'"(?:[^"\\]|\\.)*')
    #: Text without special meaning inside a plain scalar, and at its start.
    _WITHIN = re.compile(r"[\w./@+ -]*", re.ASCII)
    _FIRST = re.compile(r"\w[\w./@+ -]*", re.ASCII)
    _SINGLE = re.compile(_START + r"'(?:[^']|'')*")

    def _write(self, value: Any, text: str, following: str) -> str:
        line = self._before.rpartition("\n")[2]
        if self._DOUBLE.fullmatch(line):
            return _to_yaml(text)[1:-1]
        if self._SINGLE.fullmatch(line) and text.isprintable():
            return text.replace("'", "''")
        if line.strip(" ") and self._VALUE.fullmatch(line) and following in ("", "\r", "\n"):
            return _to_yaml(value)
        if (self._WITHIN if line.strip(" ") else self._FIRST).fullmatch(text):
            return text
        raise Unfillable(
            "would be filled in with text that can mean something else in YAML: put the "
            "field in double quotes"
        )


#: A text, or the digits of a number like 1e-05, which is text to readers of YAML 1.1.
_TEXT_OR_DIGITS = re.compile(r'"(?:[^"\\]+|\\.)*"|(?<![\d.])\d+(?=e)')


def _to_yaml(value: Any) -> str:
    written = _TEXT_OR_DIGITS.sub(
        lambda found: found[0] if found[0][0] == '"' else f"{found[0]}.0",
        json.dumps(value, ensure_ascii=False),
    )
    # JSON allows characters that YAML takes for line breaks or forbids.
    return "".join(
        letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in written
    )


class _MultipartEncoder(_ContextEncoder):
    """A part ends at its boundary; in the header of a part, a field ends at a quote or a line
    break."""

    def __init__(self, boundary: str) -> None:
        super().__init__()
        self._boundary = boundary

    def _write(self, value: Any, text: str, following: str) -> str:  # noqa: ARG002
        if not self._boundary:
            raise Unfillable("is multipart without a boundary, expected one in its Content-Type")
        last = self._before.replace("\r\n", "\n").rpartition(f"--{self._boundary}")
        in_head = bool(last[1]) and "\n\n" not in last[2]
        if in_head and (not text.isprintable() or set('"\\;') & set(text)):
            raise Unfillable(
                "would be filled in with text that ends its field in the header of a part"
            )
        # The placeholder before may have written the start of the boundary.
        if self._boundary in self._before[-len(self._boundary) :] + text:
            raise Unfillable("would be filled in with the boundary, which ends its part")
        return text


def _find_boundary(content_type: str, body: str) -> str:
    from email.message import Message

    message = Message()
    message["Content-Type"] = content_type
    found = message.get_boundary("")
    if not found:
        # Take it from the first line.
        first = re.match(r"(?:[^\r\n]*\r?\n)*?--([^\r\n]+)", body)
        found = first[1].strip() if first else ""
    return found
