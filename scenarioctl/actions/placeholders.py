"""Placeholders in a form: found, and filled with data of earlier steps.  Nothing is evaluated.

The editor writes `<span class="pill" data-id="eventData.content.address" data-nodeindex="1"
…>…</span>`, a person writes `{{ address }}`.  To add a kind of text with rules of its own, add a
class like `Encoder`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import read_digits

#: Where the editor keeps a webhook's data; a path may leave it out.
_ROOT = ("eventData", "content")

#: Characters of the longest tag; a limit, since a hostile text could make the search slow.
_LONGEST = 4096

#: Characters of a filled text: a small form could name a large event a thousand times.
MAX_FILLED = 4 * 1024 * 1024

#: One regular expression finds all: a hostile text has millions of places where one might begin.
_PLACEHOLDER = re.compile(
    r"""\{\{[ \t]{0,16}([^{}\s]{1,256})[ \t]{0,16}\}\}"""
    r"""|<span((?a:(?:\s{1,16}[\w:-]{1,64}"""
    r"""(?:=(?:"[^"]{0,2048}"|'[^']{0,2048}'))?){1,32})\s{0,16})>"""
)
_ATTRIBUTE = re.compile(r"""([\w:-]{1,64})=(?:"([^"]*)"|'([^']*)')""", re.ASCII)

#: A path into the answer of an http step or a query, or into the draft of a swap: by its name, or
#: by a node id that scenarioctl made.
_ANSWER = re.compile(r"(?:http|query|swap)(?:\.|$)|(?:http|chainQuery|action)_", re.ASCII)
#: The editor writes an invisible space after a placeholder, for the cursor.
_INVISIBLE = "\u200b\ufeff"
_BLANK = _INVISIBLE + " \t\r\n"


class WaitsForData(InvalidRequest):
    """A field has a placeholder whose data is not there yet."""


class Filled(str):
    """Text from outside: it is never searched for placeholders."""


class Unfilled(str):
    """Text with a placeholder that could not be filled; reading its field raises `reason`."""

    reason = ""


class Unfillable(Exception):
    """The part of an error message that follows the name of the field."""


@dataclass(frozen=True, kw_only=True)
class StepData:
    """What a step gives to the placeholders of later steps."""

    #: `{{ NAME.… }}` finds the data of the newest such step; empty: its fields are found by their
    #: own names.
    name: str = ""
    #: What messages call it, like `an http step's answer`.
    title: str
    #: Text on the arrow that leaves the step.
    label: str
    #: Fields that the data can have; empty if any.
    fields: tuple[str, ...] = ()
    #: Fields that may hold secrets: what is kept of a run has none of them.
    secret: tuple[str, ...] = ()
    #: First parts of a path in the web editor -> where that is in the data.
    editor_paths: Mapping[tuple[str, ...], tuple[str, ...]]

    def find_path(self, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return where the data has what the web editor calls *path*; None if it has no such
        field."""
        for start, place in self.editor_paths.items():
            if path[: len(start)] == start:
                return place + path[len(start) :]
        return None


class Data:
    """The data that fills placeholders: events of webhooks and answers of steps."""

    def __init__(self, numbering: Sequence[str] = (), *, partial: bool = False) -> None:
        """*numbering* lists the node ids in the order of the editor's numbers.

        With *partial* data, a placeholder that it can't fill stays as it is: a run may fill it.
        """
        self.partial = partial
        #: Newest first.
        self._events: list[Any] = []
        self._answers: dict[str, Any] = {}
        self._kinds: dict[str, StepData] = {}
        #: Name of an answer or node id -> the node whose answer it is.
        self._nodes: dict[str, str] = {}
        #: Name of an answer that didn't come -> the node that failed.
        self.missing: dict[str, str] = {}
        self._numbering = numbering

    def add(self, kind: StepData, content: Any, *, node: str) -> None:
        """Add data of a step, which is looked up before that of earlier steps, by name and by node
        id."""
        content = self._answers[node] = _protect(content)
        self._kinds[node] = kind
        self._nodes[node] = node
        if kind.name:
            self._nodes[kind.name] = node
            self._answers[kind.name] = content
            self.missing.pop(kind.name, None)
        else:
            self._events.insert(0, content)

    def lose(self, name: str, failed: str) -> None:
        """Look up nothing by *name* until a step answers again: the newest answer is meant, and
        *failed* kept it from coming."""
        self._answers.pop(name, None)
        self._nodes.pop(name, None)
        self.missing[name] = failed

    def contents(self) -> list[tuple[str, Any]]:
        """Return what was added, oldest first, by the node that it is of."""
        return [(node, self._answers[node]) for node in self._kinds]

    def find(self, placeholder: "Placeholder") -> Any:
        """Return the data for *placeholder*; Unfillable if there is none.

        A placeholder of the editor names its step: no other step fills it.
        """
        if placeholder.step is None:
            return self.look_up(placeholder.path)
        if not placeholder.step:
            raise Unfillable(f"holds {shorten('.'.join(placeholder.path))}, which no step provides")
        node = (
            self._numbering[placeholder.step - 1]
            if 0 < placeholder.step <= len(self._numbering)
            else ""
        )
        if node not in self._kinds:
            raise Unfillable(
                f"needs {shorten(placeholder.shown)} of step {placeholder.step}, which "
                "provided no data"
            )
        path = self._kinds[node].find_path(placeholder.path)
        found = _NOTHING if path is None else _descend(self._answers[node], path, folded=True)
        if found is _NOTHING:
            raise Unfillable(
                f"needs {shorten(placeholder.shown)}, which is not in the data of step "
                f"{placeholder.step} ({shorten(node)})"
            )
        return found

    def sources(self, value: object) -> set[str]:
        """Return the nodes whose answers fill placeholders in *value*, text or JSON; events of
        webhooks have none."""
        found = set()
        for _, placeholder in _all_placeholders(value):
            if placeholder.step is None:
                found.add("" if placeholder.is_rooted else self._nodes.get(placeholder.path[0], ""))
            elif 0 < placeholder.step <= len(self._numbering):
                found.add(self._nodes.get(self._numbering[placeholder.step - 1], ""))
        return found - {""}

    def look_up(self, path: tuple[str, ...]) -> Any:
        """Return the data at *path*; Unfillable if there is none.

        Names of answers and node ids are looked up first, so that an event cannot replace an
        answer.
        """
        if path[: len(_ROOT)] == _ROOT:
            path = path[len(_ROOT) :]
        elif path[0] in self._answers:
            found = _descend(self._answers[path[0]], path[1:])
            if found is not _NOTHING:
                return found
            raise Unfillable(
                f"needs {shorten('.'.join(path))}, which is not in the answer of {shorten(path[0])}"
            )
        elif path[0] in self.missing:
            raise Unfillable(
                f"needs {shorten('.'.join(path))}, which did not come: "
                f"{shorten(self.missing[path[0]])} failed"
            )
        for content in self._events:
            found = _descend(content, path)
            if found is not _NOTHING:
                return found
        if self._events:
            raise Unfillable(f"needs {shorten('.'.join(path))}, which is not in the webhook's data")
        raise Unfillable(f"needs {shorten('.'.join(path))}, which no earlier step provided")


class Encoder:
    """Writes data into a text: text as it is, other data as JSON."""

    #: A text that is only a placeholder becomes the data itself: a number, a list or a text.
    typed = True

    def passes(self, literal: str) -> None:
        """Read the text before the next placeholder."""

    def write(self, value: Any, following: str) -> str:  # noqa: ARG002
        """Return *value* as it is written in this text; *following* is the next character."""
        return value if isinstance(value, str) else _to_json(value)


class JsonEncoder(Encoder):
    """Writes data into JSON: escaped inside a string, elsewhere as a JSON value."""

    _MARK = re.compile(r'\\(.?)|"', re.DOTALL)

    def __init__(self) -> None:
        self._inside = False

    def passes(self, literal: str) -> None:
        for mark in self._MARK.finditer(literal):
            if mark[0] == '"':
                self._inside = not self._inside
            elif not mark[1] and self._inside:
                # It would escape the first character of the data.
                raise Unfillable(
                    "has a backslash right before a placeholder, expected the placeholder alone"
                )

    def write(self, value: Any, following: str) -> str:  # noqa: ARG002
        if not self._inside:
            return _to_json(value)
        return _to_json(value if isinstance(value, str) else _to_json(value))[1:-1]


def has_placeholder(value: object) -> bool:
    """Return whether *value* is a text that contains a placeholder."""
    # Fast path: most texts have nothing that looks like one.
    return (
        isinstance(value, str)
        and _PLACEHOLDER.search(value) is not None
        and next(_find(value), None) is not None
    )


def is_placeholder(text: str) -> bool:
    """Return whether *text* is one placeholder and nothing else."""
    return _is_whole(text, list(_find(text)))


def find_placeholders(value: object) -> tuple[str, ...]:
    """Return the paths of all placeholders in *value*, a text or any JSON: `address`,
    `user.name`."""
    return tuple(placeholder.shown for _, placeholder in _all_placeholders(value))


def has_numbered(value: object) -> bool:
    """Return whether *value*, text or JSON, has a placeholder of the editor, which names its step
    by a number."""
    return any(placeholder.step is not None for _, placeholder in _all_placeholders(value))


def first_names(value: object) -> set[str]:
    """Return the first part of the path of each placeholder in *value*, text or JSON."""
    return {placeholder.path[0] for _, placeholder in _all_placeholders(value)}


def unfilled(text: str, reason: str) -> Unfilled:
    """Return *text*, marked as one that could not be filled."""
    left = Unfilled(text)
    left.reason = reason
    return left


def require_filled(value: Any, *, field: str) -> Any:
    """Return *value*, which must have no placeholder left; WaitsForData names the first one.

    InvalidRequest says why a placeholder could not be filled in, where that was tried.
    """
    for text, placeholder in _all_placeholders(value):
        if isinstance(text, Unfilled):
            raise InvalidRequest(field=field, problem=text.reason)
        answer = (
            _ANSWER.match(placeholder.shown)
            if placeholder.step is None
            else not placeholder.is_rooted
        )
        source = "an earlier step's data" if answer else "webhook data"
        raise WaitsForData(
            field=field, problem=f"waits for {source}: {{{{ {shorten(placeholder.shown)[1:-1]} }}}}"
        )
    return value


def require_value(value: Any, *, field: str, expected: str) -> Any:
    """Return *value*, which must not be empty and must have no placeholder left."""
    value = require_filled(value, field=field)
    if value is None or value == "":
        raise InvalidRequest(field=field, problem="is missing", expected=expected)
    return value


def mark_unfillable(value: Any, lacking: "Callable[[Placeholder], str]") -> Any:
    """Return *value*, text or JSON, with the texts marked for whose placeholders *lacking* returns
    a reason."""

    def mark(text: str) -> str:
        reason = next(filter(None, map(lacking, _find(text))), "")
        return unfilled(text, reason) if reason else text

    return _map_texts(value, mark)


def unfillable_texts(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place of each marked text in *value*, and its reason."""
    if isinstance(value, Unfilled):
        yield place, value.reason
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from unfillable_texts(entry, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from unfillable_texts(entry, f"{place}[{number}]")


def fill(value: Any, data: Data, *, encoder: Callable[[], Encoder] = Encoder) -> Any:
    """Return *value*, a text or any JSON, with its placeholders replaced by *data*.

    A text that is one placeholder and nothing else becomes the data itself, number or list or text.
    Nothing is raised: a field that nobody reads may lack its data, and `require_filled` raises for
    one that is read.
    """
    return _map_texts(value, lambda text: _fill_text(text, data, encoder))


def fill_argument(value: Any, data: Data) -> Any:
    """Return *value*, an argument of a call as text or JSON, with its placeholders replaced.

    A text that is JSON itself stays the JSON that it was: data has one place in it.
    """
    return _map_texts(
        value, lambda text: _fill_text(text, data, JsonEncoder if is_json_text(text) else Encoder)
    )


def is_json_text(value: object) -> bool:
    """Return whether *value* is text that starts like a JSON object or list, and not with a
    placeholder."""
    if not isinstance(value, str):
        return False
    text = value.lstrip(_BLANK)
    if not text.startswith(("{", "[")):
        return False
    first = next(_find(value), None)
    return first is None or first.start != len(value) - len(text)


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """Return *value*, text or JSON, with the first part of each placeholder's path replaced by
    *names*."""
    return _map_texts(value, lambda text: _rename_in_text(text, names)) if names else value


def _rename_in_text(text: str, names: Mapping[str, str]) -> str:
    def write(placeholder: Placeholder) -> str:
        name = names.get(placeholder.path[0])
        if name is None or placeholder.step is not None:
            return text[placeholder.start : placeholder.end]
        return f"{{{{ {'.'.join((name, *placeholder.path[1:]))} }}}}"

    return _replace(text, write)


def replace_each(text: str, written: str) -> str:
    """Return *text* with *written* in place of each placeholder."""
    return _replace(text, lambda _: written).replace("\u200b", "").replace("\ufeff", "")


def display(text: str) -> str:
    """Return *text* with the editor's placeholders written as `{{ path }}`."""
    return _replace(text, lambda placeholder: f"{{{{ {placeholder.shown} }}}}").strip(_INVISIBLE)


def _replace(text: str, write: Callable[["Placeholder"], str]) -> str:
    parts = []
    at = 0
    for placeholder in _find(text):
        parts += [text[at : placeholder.start], write(placeholder)]
        at = placeholder.end
    return "".join((*parts, text[at:]))


class Placeholder(NamedTuple):
    """One placeholder of a text."""

    start: int
    end: int
    path: tuple[str, ...]
    #: Number of the step that the editor wrote, 0 if that is no number; None for `{{ path }}`.
    step: int | None = None

    @property
    def is_rooted(self) -> bool:
        """Whether the path starts where the editor keeps a webhook's data."""
        return self.path[: len(_ROOT)] == _ROOT

    @property
    def shown(self) -> str:
        for length in (len(_ROOT), 1 if self.step is not None else 0):
            if 0 < length < len(self.path) and self.path[:length] == _ROOT[:length]:
                return ".".join(self.path[length:])
        return ".".join(self.path)


_NOTHING = object()


def _descend(value: Any, path: tuple[str, ...], *, folded: bool = False) -> Any:
    """Return the value at *path*; *folded*: `refTime` also finds `ref_time`, since the editor
    changes the spelling."""
    for name in path:
        if isinstance(value, Mapping) and name not in value and folded:
            alike = [key for key in value if _fold(key) == _fold(name)]
            name = alike[0] if len(alike) == 1 else name
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif (
            isinstance(value, list)
            and (place := read_digits(name)) is not None
            and place < len(value)
        ):
            value = value[place]
        else:
            return _NOTHING
    return value


def _fold(name: str) -> str:
    return name.replace("_", "").lower()


def _protect(value: Any) -> Any:
    """Return *value*, JSON from outside, with all its texts as `Filled`."""
    return _map_texts(value, Filled)


def _map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return *value*, a text or any JSON, with each text replaced by what *change* returns for
    it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_texts(entry, change) for key, entry in value.items()}
    if isinstance(value, list):
        return [_map_texts(entry, change) for entry in value]
    return value


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fill_text(text: str, data: Data, encoder: Callable[[], Encoder]) -> Any:
    found = list(_find(text))
    if not found or isinstance(text, Unfilled):
        return text
    writer = encoder()
    parts = []
    size = at = 0
    try:
        if writer.typed and _is_whole(text, found):
            return data.find(found[0])
        for placeholder in found:
            writer.passes(text[at : placeholder.start])
            # Drop the invisible space with its placeholder.
            end = (
                placeholder.end + 1
                if text[placeholder.end : placeholder.end + 1] in tuple(_INVISIBLE)
                else placeholder.end
            )
            written = writer.write(data.find(placeholder), text[end : end + 1])
            size += len(written)
            if size > MAX_FILLED:
                raise Unfillable(  # noqa: TRY301
                    f"is longer than {MAX_FILLED} characters once it is filled in"
                )
            parts += [text[at : placeholder.start], written]
            at = end
    except Unfillable as lacking:
        return text if data.partial else unfilled(text, str(lacking))
    parts.append(text[at:])
    return Filled("".join(parts))


def _is_whole(text: str, found: list[Placeholder]) -> bool:
    return len(found) == 1 and not (text[: found[0].start] + text[found[0].end :]).strip(_BLANK)


def _all_placeholders(value: object) -> Iterator[tuple[str, Placeholder]]:
    """Yield each placeholder with the text around it."""
    if isinstance(value, str):
        for placeholder in _find(value):
            yield value, placeholder
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _all_placeholders(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _all_placeholders(entry)


def _find(text: str) -> Iterator[Placeholder]:
    """Yield every placeholder in *text*, in order."""
    if isinstance(text, Filled):
        return
    at = 0
    while (match := _PLACEHOLDER.search(text, at)) is not None:
        start, end, path, step = match.start(), match.end(), match[1], None
        if path is None:
            end, path, step = _read_span(text, match)
        if path:
            yield Placeholder(start, end, tuple(path.split(".")), step)
        at = end


def _read_span(text: str, tag: re.Match[str]) -> tuple[int, str, int | None]:
    """Return the end of the element that *tag* opens, its path (empty if it is no placeholder) and
    its step number."""
    attributes = {name: double or single for name, double, single in _ATTRIBUTE.findall(tag[2])}
    path = attributes.get("data-id", "").strip()
    if not path or "pill" not in attributes.get("class", "").split():
        return tag.start() + 1, "", None
    end = text.find("</span>", tag.end(), tag.end() + _LONGEST)
    if end < 0:
        return tag.start() + 1, "", None
    number = attributes.get("data-nodeindex")
    step = None
    if number is not None:
        # The editor writes `undefined` for pills that stand for one of its functions.
        step = read_digits(number) or 0
    from html import unescape

    return end + len("</span>"), unescape(path), step
