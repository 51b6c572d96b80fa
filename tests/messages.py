"""Sentences of the program, apart from what they must hold.

A test says which words a sentence must hold, like the field and the value it is about:

    with raises(InvalidRequest, says("amount", "1e400")):

The sentence itself stands in `tests/data/messages.toml`, under the test that sees it, so that it
can be improved without touching tests: `pytest --update-messages` writes the file anew for the
tests that run, and its diff is read as prose.  A sentence that the file does not have under that
test fails the test.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.registry import CHAINS
from scenarioctl.errors import shorten

TESTS = Path(__file__).resolve().parent
PATH = TESTS / "data" / "messages.toml"

#: Chains by what a command calls them: in a sentence the title stands for it.
TITLES = {chain.name: chain.title for chain in CHAINS}

#: (file, test, "[id of its parameters]" or "") -> the sentences.
Key = tuple[str, str, str]
Snapshot = dict[Key, set[str]]


class Recorder:
    """Which sentences the tests of this process saw, and which they should see."""

    def __init__(self) -> None:
        self.updating = False
        self.test: Key = ("", "", "")
        self.seen: Snapshot = {}
        self._expected: Snapshot | None = None

    @property
    def expected(self) -> Snapshot:
        if self._expected is None:
            self._expected = read(PATH)
        return self._expected

    def accepts(self, sentence: str) -> bool:
        """Return whether the running test may see *sentence*, and remember that it did."""
        if not self.updating and sentence not in self.expected.get(self.test, ()):
            return False
        self.seen.setdefault(self.test, set()).add(sentence)
        return True


recorder = Recorder()


class Says:
    """Equal to the text that holds all *words* and *values*, and stands in the snapshot for the
    running test.

    The text of a value in *values* varies from run to run: in the snapshot its name stands for it,
    in braces.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, words: Iterable[object], values: Mapping[str, object] | None = None, frame: str = "{}"
    ) -> None:
        # As `shorten` writes them.
        self.words = [
            shorten(word) if word is None or isinstance(word, bool) else str(word) for word in words
        ]
        self.values = {name: str(value) for name, value in (values or {}).items()}
        if not self.words:
            raise ValueError("says() needs a word that the sentence must hold")
        self._before, _, self._after = frame.partition("{}")
        self._frame = frame
        self._why = ""

    @property
    def name(self) -> str:
        """The words that are the same in each run, as the id of a test."""
        return " ".join(word for word in self.words if word not in self.values.values())[:60]

    @property
    def printed(self) -> "Says":
        """The sentence as the command line prints an error."""
        return self.within("Error: {}\n")

    def within(self, frame: str) -> "Says":
        """The sentence in the place of `{}` of a text that stays as it is."""
        return Says(self.words, self.values, frame)

    def where(self, **values: object) -> "Says":
        """The same where the words may hold names of values in braces."""
        words = self.words
        for name, value in values.items():
            words = [word.replace(f"{{{name}}}", str(value)) for word in words]
        return Says(words, self.values | values, self._frame)

    def __eq__(self, text: object) -> bool:
        self._why = self._judge(text)
        return not self._why

    def _judge(self, text: object) -> str:
        """Return why *text* is not the one expected, or nothing."""
        if not isinstance(text, str):
            return "not a text"
        if not (text.startswith(self._before) and text.endswith(self._after)):
            return f"the text is not {self._frame!r}"
        sentence = text.removeprefix(self._before).removesuffix(self._after)
        missing = [
            word
            for word in self.words
            if word not in sentence and TITLES.get(word, word) not in sentence
        ]
        if missing:
            return f"the sentence lacks {missing}"
        # The longest first: a folder may begin with another one.
        for name, value in sorted(self.values.items(), key=lambda item: -len(item[1])):
            sentence = sentence.replace(value, f"{{{name}}}")
        if not recorder.accepts(sentence):
            known = sorted(recorder.expected.get(recorder.test, ())) or "nothing"
            return (
                f"{PATH.name} has {known} for this test; "
                f"if the new sentence is right: pytest --update-messages tests/{recorder.test[0]}"
            )
        return ""

    def __repr__(self) -> str:
        return f"says({', '.join(map(repr, self.words))})" + (
            f" <{self._why}>" if self._why else ""
        )


def says(*words: object, **values: object) -> Any:
    """Return what equals a sentence with these *words* and *values*; see the module."""
    return Says([*words, *values.values()], values)


@contextmanager
def raises(error: type[BaseException], sentence: object) -> Iterator[None]:
    """Fail unless what is done raises *error*, whose text is *sentence*."""
    with pytest.raises(error) as caught:
        yield
    if str(caught.value) != sentence:
        pytest.fail(f"{str(caught.value)!r} is not {sentence!r}")


def key_of(nodeid: str) -> Key:
    """Return where the snapshot has the sentences of the test `tests/test_x.py::test_y[id]`."""
    file, _, name = nodeid.removeprefix("tests/").partition("::")
    test, bracket, parameters = name.partition("[")
    return file, test, bracket + parameters


def read(path: Path) -> Snapshot:
    """Return the snapshot; one that does not exist is empty."""
    snapshot: Snapshot = {}
    for file, tests in tomllib.loads(path.read_text()).items() if path.exists() else ():
        for test, entry in tests.items():
            rows = (
                {f"[{key}]": said for key, said in entry.items()}
                if isinstance(entry, dict)
                else {"": entry}
            )
            for parameters, said in rows.items():
                snapshot[file, test, parameters] = {said} if isinstance(said, str) else set(said)
    return snapshot


def write(path: Path, snapshot: Snapshot) -> None:
    """Write *snapshot* sorted, one sentence a line."""
    lines = [
        "# The sentences that the tests see, under the test that sees them: see tests/messages.py.",
        "# Written by `pytest --update-messages`; read the diff as prose.",
    ]
    section = ""
    # Tests without parameters first: TOML wants the rows of a table before the tables below it.
    for (file, test, parameters), sentences in sorted(
        snapshot.items(), key=lambda row: (row[0][0], bool(row[0][2]), row[0])
    ):
        name = f"[{_key(file)}.{_key(test)}]" if parameters else f"[{_key(file)}]"
        if name != section:
            lines += ["", name]
            section = name
        said = sorted(map(_text, sentences))
        value = (
            said[0] if len(said) == 1 else "\n".join(["[", *(f"  {text}," for text in said), "]"])
        )
        lines.append(f"{_key(parameters[1:-1] if parameters else test)} = {value}")
    path.write_text("\n".join(lines) + "\n")


def _text(text: str) -> str:
    """Return *text* as a basic string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def find_gone(snapshot: Snapshot, collected: set[Key]) -> set[Key]:
    """Return the tests of *snapshot* that do not exist: their file is gone, or *collected* has only
    others of it."""
    files = {file for file, _, _ in collected}
    missing = {key for key in snapshot if key not in collected}
    return {key for key in missing if key[0] in files or not (TESTS / key[0]).is_file()}


def find_unused(
    snapshot: Snapshot, seen: Snapshot, passed: set[Key], collected: set[Key]
) -> list[str]:
    """Return the lines of *snapshot* that no test sees: of tests that *passed* without, or that do
    not exist."""
    unused = {key: snapshot[key] - seen.get(key, set()) for key in passed & snapshot.keys()}
    unused |= {key: snapshot[key] for key in find_gone(snapshot, collected)}
    return [
        f"{key[0]}::{key[1]}{key[2]}: {text}"
        for key in sorted(unused)
        for text in sorted(unused[key])
    ]


def merge(snapshot: Snapshot, seen: Snapshot, passed: set[Key], collected: set[Key]) -> Snapshot:
    """Return *snapshot* with what was *seen*: of a test that *passed*, nothing else stays."""
    gone = find_gone(snapshot, collected)
    merged = {key: set(said) for key, said in snapshot.items() if key not in passed | gone}
    for key, sentences in seen.items():
        merged.setdefault(key, set()).update(sentences)
    return merged
