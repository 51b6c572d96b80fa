"""Pills: places in a form that a webhook's data fills, found and filled in, never run as code.

The editor writes `<span class="pill" data-id="eventData.content.address" …>…</span>`, a person writes
`{{ address }}`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten

#: Where the editor keeps a webhook's data; a path may leave it out.
_ROOT = ("eventData", "content")

#: Longer than any tag or name that is meant as a pill; keeps a hostile text from being searched for long.
_LONGEST = 4096

_OPENING = re.compile(r"\{\{|<span")
_BRACES = re.compile(r"\{\{[ \t]{0,16}([^{}\s]{1,256})[ \t]{0,16}\}\}")
_TAG = re.compile(
    r"""<span((?:\s{1,16}[\w:-]{1,64}(?:=(?:"[^"]{0,2048}"|'[^']{0,2048}'))?){1,32})\s{0,16}>""", re.ASCII
)
_ATTRIBUTE = re.compile(r"""([\w:-]{1,64})=(?:"([^"]*)"|'([^']*)')""", re.ASCII)

#: The editor puts an invisible space behind a pill, so that the cursor can stand there.
_INVISIBLE = "\u200b\ufeff"


class WaitsForWebhook(InvalidRequest):
    """A field is filled in by a webhook's data, which is not there yet."""


def has_pill(value: object) -> bool:
    """Return whether *value* is a text with a pill in it."""
    return isinstance(value, str) and next(_find(value), None) is not None


def find_pills(value: object) -> tuple[str, ...]:
    """Return the paths of all pills in *value*, a text or any JSON: `address`, `user.name`."""
    if isinstance(value, str):
        return tuple(".".join(path) for _, _, path in _find(value))
    if isinstance(value, Mapping):
        return tuple(path for entry in value.values() for path in find_pills(entry))
    if isinstance(value, list):
        return tuple(path for entry in value for path in find_pills(entry))
    return ()


def settled(value: Any, *, field: str) -> Any:
    """Return *value*, which must not have a pill; WaitsForWebhook names the one it has."""
    paths = find_pills(value)
    if paths:
        raise WaitsForWebhook(f"{field} waits for webhook data: {{{{ {shorten(paths[0])[1:-1]} }}}}")
    return value


def resolve(value: Any, content: object, *, field: str) -> Any:
    """Return *value* with its pills replaced by the webhook data in *content*.

    A text that is one pill and nothing else becomes the data itself, number or list or text; within other
    text, data that is not text is written as JSON.  InvalidRequest names a path that the data does not have.
    """
    if isinstance(value, str):
        return _resolve_text(value, content, field)
    if isinstance(value, Mapping):
        return {key: resolve(entry, content, field=f"{field}.{key}") for key, entry in value.items()}
    if isinstance(value, list):
        return [resolve(entry, content, field=f"{field}[{n}]") for n, entry in enumerate(value)]
    return value


def display(text: str) -> str:
    """Return *text* with the editor's pills written as a person writes them."""
    parts = []
    at = 0
    for start, end, path in _find(text):
        parts.append(text[at:start])
        parts.append(f"{{{{ {'.'.join(path)} }}}}")
        at = end
    parts.append(text[at:])
    return "".join(parts).strip(_INVISIBLE)


def _resolve_text(text: str, content: object, field: str) -> Any:
    found = list(_find(text))
    if not found:
        return text
    if len(found) == 1:
        start, end, path = found[0]
        if not (text[:start] + text[end:]).strip(_INVISIBLE + " \t\r\n"):
            return _look_up(path, content, field)
    parts = []
    at = 0
    for start, end, path in found:
        data = _look_up(path, content, field)
        parts.append(text[at:start])
        parts.append(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))
        # The invisible space belongs to the pill before it.
        at = end + 1 if text[end : end + 1] in tuple(_INVISIBLE) else end
    parts.append(text[at:])
    return "".join(parts)


def _look_up(path: tuple[str, ...], content: object, field: str) -> Any:
    value = content
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(value):
            value = value[int(name[:9])]
        else:
            raise InvalidRequest(
                f"{field} needs {shorten('.'.join(path))}, which the webhook's data does not have"
            )
    return value


def _find(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield start, end and path of every pill in *text*, in order."""
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        start = opening.start()
        if opening[0] == "{{":
            match = _BRACES.match(text, start)
            end, path = (match.end(), match[1]) if match is not None else (start + 1, "")
        else:
            end, path = _read_span(text, start)
        if path:
            yield start, end, _split(path)
        at = end


def _read_span(text: str, start: int) -> tuple[int, str]:
    """Return where the element at *start* ends, and its path; an empty one if it is no pill."""
    tag = _TAG.match(text, start)
    if tag is None:
        return start + 1, ""
    attributes = {name: double or single for name, double, single in _ATTRIBUTE.findall(tag[1])}
    end = text.find("</span>", tag.end(), tag.end() + _LONGEST)
    path = attributes.get("data-id", "").strip()
    if end < 0 or not path or "pill" not in attributes.get("class", "").split():
        return start + 1, ""
    from html import unescape

    return end + len("</span>"), unescape(path)


def _split(path: str) -> tuple[str, ...]:
    parts = tuple(path.split("."))
    return parts[2:] if parts[:2] == _ROOT else parts
