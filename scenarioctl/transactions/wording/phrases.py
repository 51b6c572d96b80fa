"""Words for the parts of calls: amounts, accounts, chains; and what a sentence says first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import write_location
from scenarioctl.model.calls import Call

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Deeper inside a call nothing is read; no runtime decodes deeper either.
_DEPTH = 64


#: Finds the runtime table that reads the calls of a chain; None if there is none.
Tables = Callable[["Chain"], "RuntimeTable | None"]


class NoPhrase(Exception):
    """The call is of a shape that no sentence here describes whole."""


#: What stops a sentence: an argument of another shape than the one that is worded.
MISFITS = (NoPhrase, LookupError, TypeError, ValueError, AttributeError)


class Danger(IntEnum):
    """What a call does to the signer, the worst first: in this order calls are told."""

    RIGHT = 0
    MONEY = 1
    UNKNOWN = 2
    OTHER = 3
    REMARK = 4


@dataclass(frozen=True, kw_only=True)
class Payment:
    """A plain transfer to one account."""

    #: What it is counted with: its asset, as it is named, and the chain.
    of: tuple[str, str]
    value: int
    amount: Callable[[int], str]
    receiver: str


@dataclass(frozen=True, kw_only=True)
class GrantedRight:
    """A right that a call gives: what somebody may do from now on, and the accounts that may."""

    sentence: str
    accounts: frozenset[bytes]


@dataclass
class Reading:
    """What is found in a call while it is put into words."""

    rights: list[GrantedRight] = field(default_factory=list)
    #: Why it is not known what the call does.
    unknown: list[str] = field(default_factory=list)
    worst: Danger = Danger.REMARK
    #: The one plain transfer that was said last.
    payment: Payment | None = None

    @contextmanager
    def apart(self) -> "Iterator[None]":
        """Let `worst` and `payment` be of one call alone; what holds it is as dangerous as it is."""
        around, self.worst, self.payment = self.worst, Danger.REMARK, None
        yield
        self.worst, self.payment = min(around, self.worst), None

    def note(self, danger: Danger) -> None:
        self.worst = min(self.worst, danger)

    def grants(self, right: GrantedRight) -> None:
        self.rights.append(right)
        self.note(Danger.RIGHT)

    def misses(self, reason: str) -> None:
        self.unknown.append(reason)
        self.note(Danger.UNKNOWN)


@dataclass
class Phrases:
    """Words for the parts of calls on one chain."""

    chain: "Chain"
    assets: "Assets"
    #: Reads encoded calls, of this chain and of others.
    tables: Tables
    #: Says a call, whichever it is.
    say: Callable[["Phrases", Call], str]
    reading: Reading = field(default_factory=Reading)
    depth: int = 0

    @property
    def too_deep(self) -> bool:
        """Tell whether what stands here is not read any more."""
        if self.depth <= _DEPTH:
            return False
        self.reading.misses(f"what stands more than {_DEPTH} calls deep inside others is not read")
        return True

    def within(self, chain: "Chain | None" = None) -> "Phrases":
        """Return the phrases for what stands inside a call, on *chain* if that is another one."""
        return replace(self, chain=chain or self.chain, depth=self.depth + 1)

    def list(self, items: Sequence[Any], say: Callable[["Phrases", Any], str], noun: str) -> str:
        """Return what *items* do, in their order."""
        inside = self.within()
        if inside.too_deep:
            return f"{len(items)} {noun}{'s' * (len(items) != 1)} not read"
        return "; then ".join(counted(say(inside, item) for item in items))

    def native(self, value: int) -> str:
        return self.assets.native(self.chain).amount(value)

    def listed(self, value: int, number: Any) -> str:
        if not isinstance(number, int):
            raise NoPhrase
        asset = self.assets.listed(self.chain, number)
        return asset.amount(value) if asset else f"{value} smallest units of asset {number}"

    def placed(self, value: int, location: Any) -> str:
        """Return an amount of what lives at *location*, seen from this chain."""
        if not isinstance(value, int):
            raise NoPhrase
        place = write_location(location)
        if not place:
            raise NoPhrase
        asset = self.assets.at(self.chain, place)
        return asset.amount(value) if asset else f"{value} smallest units of the asset at {place}"

    def asset(self, identity: Any) -> str:
        """Return what an asset is called, by its number or its location seen from this chain."""
        asset = self.assets.named(self.chain, identity)
        if asset is not None:
            return asset.display_name
        if isinstance(identity, int):
            return f"asset {identity}"
        place = write_location(identity)
        if not place:
            raise NoPhrase
        return f"the asset at {place}"

    def account(self, value: Any) -> str:
        """Return an account of this chain, bare or in a MultiAddress, as text."""
        if isinstance(value, Mapping) and len(value) == 1:
            ((kind, inner),) = value.items()
            if kind in ("Address20", "Raw") and isinstance(inner, bytes):
                return f"the address 0x{inner.hex()} ({kind})"
            if kind not in ("Id", "Address32"):
                raise NoPhrase
            value = inner
        if not isinstance(value, bytes):
            raise NoPhrase
        form = self.chain.account_format
        if len(value) == form.length:
            return form.format(value, self.chain.ss58_prefix)
        if len(value) == 32:
            return format_account(value, self.chain.ss58_prefix)
        raise NoPhrase


def counted(said: Iterable[str]) -> list[str]:
    """Return *said* with the same words in a row said once."""
    found = [(text, sum(1 for _ in same)) for text, same in groupby(said)]
    return [text if number == 1 else f"{text} ({number} times)" for text, number in found]


#: Says a call, from its arguments.
Words = Callable[[Phrases, Mapping[str, Any]], str]
