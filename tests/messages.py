"""Sentences of the program: a test names the words that one must hold, like its field and value.

    with raises(InvalidRequest, says("amount", "1e400")):

So a sentence can be improved without touching the tests.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from scenarioctl.chains.registry import CHAINS
from scenarioctl.errors import shorten

#: Chains by what a command calls them: in a sentence the title stands for it.
TITLES = {chain.name: chain.title for chain in CHAINS}


class Says:
    """Equal to a text that holds all *words*, within *frame*."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, words: Iterable[object], frame: str = "{}") -> None:
        # As `shorten` writes them.
        self.words = [
            shorten(word) if word is None or isinstance(word, bool) else str(word) for word in words
        ]
        if not self.words:
            raise ValueError("says() needs a word that the sentence must hold")
        self._before, _, self._after = frame.partition("{}")
        self._frame = frame

    @property
    def name(self) -> str:
        """The words, as the id of a test."""
        return " ".join(self.words)[:60]

    @property
    def printed(self) -> "Says":
        """The sentence as the command line prints an error."""
        return self.within("Error: {}\n")

    def within(self, frame: str) -> "Says":
        """The sentence in the place of `{}` of a text that stays as it is."""
        return Says(self.words, frame)

    def where(self, **values: object) -> "Says":
        """The same where the words may hold names of values in braces."""
        words = self.words
        for name, value in values.items():
            words = [word.replace(f"{{{name}}}", str(value)) for word in words]
        return Says(words, self._frame)

    def __eq__(self, text: object) -> bool:
        return (
            isinstance(text, str)
            and text.startswith(self._before)
            and text.endswith(self._after)
            and all(word in text or TITLES.get(word, word) in text for word in self.words)
        )

    def __repr__(self) -> str:
        return f"says({', '.join(map(repr, self.words))})"


def says(*words: object, **values: object) -> Any:
    """Return what equals a sentence with these *words* and *values*."""
    return Says([*words, *values.values()])


@contextmanager
def raises(error: type[BaseException], sentence: object) -> Iterator[None]:
    """Fail unless what is done raises *error*, whose text is *sentence*."""
    with pytest.raises(error) as caught:
        yield
    if str(caught.value) != sentence:
        pytest.fail(f"{str(caught.value)!r} is not {sentence!r}")
