"""Addresses with names: what an entry of the address book is, and which names protect from a
mix-up."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenarioctl.errors import InvalidRequest

#: The longest name, in characters.
LONGEST = 60
#: So many letters and digits without a space are an address, or one that was mistyped.
_ADDRESS_LENGTH = 30
#: An address as pages and this program cut it.
_CUT = re.compile(r"(?=\w*\d)(?=\w*[A-Z])\w{4,}(?:…|\.{2,3})\w{4,}")
#: Small letters of Cyrillic and Greek, and digits, each before the Latin letter that it looks like.
_PAIRS = (
    "0o 1l il ıl аa еe оo рp сc уy хx кk мm тt нh вb іl јj ѕs ԁd һh ӏl ԛq ԝw αa βb εe ζz "
    "ηh ιl κk μm νn οo ρp τt υy χx γy"
)
_ALIKE = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


@dataclass(frozen=True, kw_only=True)
class NamedAddress:
    """An account with its name."""

    name: str
    #: The account in 0x hex: one for all its spellings.
    account: str
    #: As it was given.
    address: str
    #: Whether it is one's own, whose balances are shown.
    watched: bool = False
    #: What goes around its calls so that others make them, as `Acting.write` writes its layers;
    #: empty for an account whose key signs.
    layers: tuple[Mapping[str, Any], ...] = ()
    #: When it was added, in nanoseconds since 1970.
    created: int


def could_be_address(text: str) -> bool:
    """Tell whether *text* can only mean an address: such text never names one."""
    return text[:2] in ("0x", "0X") or (text.isalnum() and len(text) >= _ADDRESS_LENGTH)


def normalized(text: str) -> str:
    """Return the one form of a name that is kept and compared."""
    return unicodedata.normalize("NFC", text.strip())


def read_name(text: str) -> str:
    """Return the name that *text* is; InvalidRequest if no entry may have it."""
    name = normalized(text)

    def refuse(problem: str) -> InvalidRequest:
        expected = f"1 to {LONGEST} printable characters, no commas and no {{{{"
        return InvalidRequest(
            field="name", value=text, limit=80, problem=problem, expected=expected
        )

    if not name:
        raise refuse("is empty")
    if len(name) > LONGEST:
        raise refuse(f"has {len(name)} characters")
    if could_be_address(name) or _CUT.fullmatch(name):
        raise refuse("looks like an address, which a name must not hide")
    if not name.isprintable() or "," in name or "{{" in name:
        raise refuse("cannot name an address")
    return name


def appearance(name: str) -> str:
    """Return what names that are easily confused have in common."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", name).casefold() if letter.isalnum()
    ).translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w") or name
