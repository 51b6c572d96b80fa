"""How data is written into the body of an http step: it stays the one value, or part of one, that it is filled into.

To add a kind of body, add an encoder and a line to `_find_encoder`.
"""

import json
import re
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

#: Characters that end a line, for some reader or other.
_BREAKS = frozenset("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def content_type_of(form: Mapping[str, Any], body: str) -> str:
    """Return what kind of text the body is, as its headers say; JSON where they say nothing and it looks like it."""
    kind = form.get("contentType")
    headers = form.get("headers")
    for entry in headers if isinstance(headers, list) else ():
        if isinstance(entry, dict) and str(entry.get("key")).lower() == "content-type":
            kind = entry.get("value")
    if not isinstance(kind, str) or not kind:
        return "application/json" if is_json_text(body) else ""
    return kind


def fill_body(body: str, content_type: str, data: Data) -> Any:
    """Return *body* with its placeholders replaced, each value kept in its place."""
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
    """Return whether *template* begins as JSON does: the editor says so of any text that it sends."""
    start = str(fill(template, _Anything(), encoder=_JsonEncoder)).lstrip()[:1]
    return start in ("{", "[", '"')


class _Anything(Data):
    """Fills every placeholder; what is JSON with it does not depend on what really comes."""

    def find(self, placeholder: Placeholder) -> Any:  # noqa: ARG002
        return ""


def _is_json(template: str) -> bool:
    """Return whether *template* is JSON but for its placeholders, or lines of it."""
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


class _BodyEncoder(Encoder):
    typed = False

    def __init__(self) -> None:
        self._before = ""

    def passes(self, literal: str) -> None:
        self._before += literal

    def write(self, value: Any, following: str) -> str:
        written = self._write(value, super().write(value, following), following)
        self._before += written
        return written

    def _write(self, value: Any, text: str, following: str) -> str:
        raise NotImplementedError

    @property
    def _line(self) -> str:
        """The line so far."""
        return self._before.rpartition("\n")[2]


class _CsvEncoder(_BodyEncoder):
    """RFC 4180: what would end a field is put in quotes, and quotes are doubled."""

    _DELIMITERS = frozenset(',;\t|"')

    def _write(self, value: Any, text: str, following: str) -> str:  # noqa: ARG002
        if self._before.count('"') % 2:
            return text.replace('"', '""')
        if not (self._DELIMITERS | _BREAKS) & set(text):
            return text
        if self._before[-1:] in ("", "\n", "\r", *",;\t|") and following in ("", "\n", "\r", *",;\t|"):
            return '"' + text.replace('"', '""') + '"'
        raise Unfillable("would be filled in with what ends its field of CSV: put the field in quotes")


class _TabEncoder(_BodyEncoder):
    """It has no quotes that every reader knows."""

    def _write(self, value: Any, text: str, following: str) -> str:  # noqa: ARG002
        if ({"\t"} | _BREAKS) & set(text):
            raise Unfillable("would be filled in with a tab or a line break, which ends its field")
        return text


class _YamlEncoder(_BodyEncoder):
    """JSON is YAML: a value of its own, or inside of double quotes; elsewhere only what is plain text in any case."""

    #: Indentation, dashes of lists, a key.
    _START = r"""[ ]*(?:-[ ]+)*(?:(?:[\w./-]+|"[^"\\]*"|'[^']*'):[ ]+)?"""
    _VALUE = re.compile(_START)
    _DOUBLE = re.compile(_START + r'"(?:[^"\\]|\\.)*')
    #: What means nothing but itself within plain text, and where a line begins.
    _WITHIN = re.compile(r"[\w./@+ -]*", re.ASCII)
    _FIRST = re.compile(r"\w[\w./@+ -]*", re.ASCII)
    _SINGLE = re.compile(_START + r"'(?:[^']|'')*")

    def _write(self, value: Any, text: str, following: str) -> str:
        line = self._line
        if self._DOUBLE.fullmatch(line):
            return _to_yaml(text)[1:-1]
        if self._SINGLE.fullmatch(line) and text.isprintable():
            return text.replace("'", "''")
        if line.strip(" ") and self._VALUE.fullmatch(line) and following in ("", "\r", "\n"):
            return _to_yaml(value)
        if (self._WITHIN if line.strip(" ") else self._FIRST).fullmatch(text):
            return text
        raise Unfillable(
            "would be filled in with what can mean something else in YAML: put the field in double quotes"
        )


#: A text, or the digits of a number like 1e-05, which is text to readers of YAML 1.1.
_TEXT_OR_DIGITS = re.compile(r'"(?:[^"\\]+|\\.)*"|(?<![\d.])\d+(?=e)')


def _to_yaml(value: Any) -> str:
    written = _TEXT_OR_DIGITS.sub(
        lambda found: found[0] if found[0][0] == '"' else f"{found[0]}.0",
        json.dumps(value, ensure_ascii=False),
    )
    # What YAML takes for a line break, or does not take at all, JSON may have as it is.
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in written)


class _MultipartEncoder(_BodyEncoder):
    """A part ends at its boundary; in the head of a part, a field ends at a quote or a line break."""

    def __init__(self, boundary: str) -> None:
        super().__init__()
        self._boundary = boundary

    def _write(self, value: Any, text: str, following: str) -> str:  # noqa: ARG002
        if not self._boundary:
            raise Unfillable("is multipart without a boundary, which its Content-Type should name")
        last = self._before.replace("\r\n", "\n").rpartition(f"--{self._boundary}")
        in_head = bool(last[1]) and "\n\n" not in last[2]
        if in_head and (not text.isprintable() or set('"\\;') & set(text)):
            raise Unfillable("would be filled in with what ends its field in the head of a part")
        # A part of it may have come from the placeholder before.
        if self._boundary in self._before[-len(self._boundary) :] + text:
            raise Unfillable("would be filled in with the boundary, which ends its part")
        return text


def _find_boundary(content_type: str, body: str) -> str:
    from email.message import Message

    message = Message()
    message["Content-Type"] = content_type
    found = message.get_boundary("")
    if not found:
        # What the first line says.
        first = re.match(r"(?:[^\r\n]*\r?\n)*?--([^\r\n]+)", body)
        found = first[1].strip() if first else ""
    return found
