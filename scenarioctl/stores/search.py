"""What a search finds: the words of texts, as stores keep them in one column, and what a search
wants there."""

import re
from typing import Any

from scenarioctl.chains.addresses import format_of
from scenarioctl.errors import InvalidRequest
from scenarioctl.stores import statements
from scenarioctl.stores.operations import Operation

#: Around a word in a sentence; `1.5` and `{{` have no such sign at their ends.
_SIGNS = ".,;:()[]\"'“”‘’"
_NUMBER = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?", re.ASCII)
_JOINT_NUMBER = re.compile(r"(?<![^-/:#_])\d+(?![^-/:#_])", re.ASCII)


def words_of(*texts: str) -> str:
    """Return the words of *texts*, each once, with a space on either side.

    An account is there as `0x` hex too, whatever its address, and a number that a sign joins to
    others by itself: `2026-11`.
    """
    found: dict[str, None] = {}
    for word in _split(" ".join(texts)):
        number = _number(word)
        found[number or word.casefold()] = None
        if not number:
            found.update(dict.fromkeys(_JOINT_NUMBER.findall(word)))
            if account := _account(word):
                found[account] = None
    return f" {' '.join(found)} "


def wanted_by(search: str) -> tuple[str, ...]:
    """Return the texts that `words_of` must have for *search* to find it.

    A word may be a part of one there, in either case.  A number is a whole one, however it is
    spelled: `5` isn't `1.5`, and `1,500.0` is `1500`.
    """
    wanted = []
    for word in _split(search):
        number = _number(word)
        wanted.append(f" {number} " if number else _account(word) or word.casefold())
    return tuple(dict.fromkeys(wanted))


def read_search(search: str) -> Operation[tuple[tuple[bool, ...], dict[str, Any]]]:
    """Return the words that *search* wants, for `statements.has_words`, and the values of their
    conditions.

    Each word is whether accounts of the address book have it in their name: a list shows that name,
    and any of them will do.
    """
    wanted = wanted_by(search)
    book = (yield statements.NAMED_ACCOUNTS, {}) if wanted else []
    named = [(words_of(name), account) for name, account in book]
    accounts = [[account for words, account in named if word in words] for word in wanted]
    literal = [
        each.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for each in wanted
    ]
    return tuple(map(bool, accounts)), {
        **{f"word_{place}": each for place, each in enumerate(wanted)},
        **{f"word_{place}_like": f"%{each}%" for place, each in enumerate(literal)},
        **{f"accounts_{place}": found for place, found in enumerate(accounts)},
    }


def _split(text: str) -> list[str]:
    # Digits come in groups, and addresses without their middle.
    words = text.replace("\u202f", "").replace("…", " ").split()
    return [word.strip(_SIGNS) or word for word in words]


def _number(word: str) -> str:
    """Return the number that *word* is, in its shortest form; empty if it is none."""
    if not (word[0].isdigit() and _NUMBER.fullmatch(word)):
        return ""
    whole, _, rest = word.replace(",", "").partition(".")
    rest = rest.rstrip("0")
    return f"{whole}.{rest}" if rest else whole


def _account(word: str) -> str:
    """Return the account whose address *word* is, as hex; empty if it is none."""
    if not 42 <= len(word) <= 66:
        return ""
    try:
        return f"0x{format_of(word).parse(word, field='search').hex()}"
    except InvalidRequest:
        return ""
