"""What a call does, and the words for its parts: amounts, accounts, chains."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.chains.locations import interior, junctions_of, write_location
from scenarioctl.transactions.inner_calls import DEEPEST, Danger
from scenarioctl.transactions.keyless_accounts import describe_keyless, kind_of
from scenarioctl.transactions.xcm_instructions import chain_at, read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Finds the runtime table that reads the calls of a chain; None if there is none.
Tables = Callable[["Chain"], "RuntimeTable | None"]


class NoPhrase(Exception):
    """The call is of a shape that no sentence here describes whole."""


#: What stops a sentence: an argument of another shape than the one that is worded.
MISFITS = (NoPhrase, LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, kw_only=True)
class GrantedRight:
    """A right that a call gives: what somebody may do from now on, and the accounts that may."""

    sentence: str
    accounts: frozenset[bytes]


@dataclass(frozen=True, kw_only=True)
class Payment:
    """A plain transfer to one account."""

    value: int
    receiver: str
    #: The words for so much of its asset.
    amount: Callable[[int], str]


@dataclass
class CallStory:
    """What a call does, as far as that is understood; found while it is put into words."""

    sentence: str = ""
    rights: list[GrantedRight] = field(default_factory=list)
    #: Why it is not known what the call does.
    unknown: list[str] = field(default_factory=list)
    worst: Danger = Danger.REMARK
    #: The payments of batches that the sentence only sums up, in their order.
    payments: "list[Payment]" = field(default_factory=list)

    def note(self, danger: Danger) -> None:
        self.worst = min(self.worst, danger)

    def grants(self, right: GrantedRight) -> None:
        self.rights.append(right)
        self.note(Danger.RIGHT)

    def misses(self, reason: str) -> None:
        if reason not in self.unknown:
            self.unknown.append(reason)
        self.note(Danger.UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """Words for the parts of calls on one chain, and of programs there or elsewhere."""

    chain: "Chain"
    #: Where the locations in a program are seen from; None if that is no chain of the registry.
    place: "Chain | None"
    #: What that place is called.
    here: str
    assets: "Assets"
    #: Reads encoded calls, of this chain and of others.
    tables: Tables
    #: Write the parts of a text, by their names.
    parts: Mapping[str, Callable[..., str]]
    story: CallStory = field(default_factory=CallStory)
    depth: int = 0

    @property
    def too_deep(self) -> bool:
        """Tell whether what stands here is not read any more."""
        if self.depth <= DEEPEST:
            return False
        self.story.misses(f"what stands more than {DEEPEST} calls deep inside others is not read")
        return True

    def within(self, chain: "Chain") -> "Phrases":
        """Return the phrases for a call on *chain* that stands inside another one."""
        return replace(self, chain=chain, place=chain, here=chain.title, depth=self.depth + 1)

    def at(self, location: Any) -> "Phrases":
        """Return the phrases for a program at *location*, seen from here."""
        text = write_location(location)
        place = chain_at(self.assets.registry, self.place, text) if text and self.place else None
        here = f"the place {text} seen from {self.here}" if text else "an unknown location"
        here = "Ethereum" if text.partition("/")[2] == "GlobalConsensus(Ethereum:1)" else here
        return replace(self, place=place, here=place.title if place else here)

    def native(self, value: int) -> str:
        return self.assets.native(self.chain).amount(_whole(value))

    def amount(self, value: int, identity: Any) -> str:
        """Return an amount of an asset, which its number or its location seen from here names."""
        asset, value = self._listed(identity), _whole(value)
        return asset.amount(value) if asset else f"{value} smallest units of {self.asset(identity)}"

    def asset(self, identity: Any) -> str:
        """Return what an asset is called, by its number or its location seen from here."""
        if asset := self._listed(identity):
            return asset.display_name
        if isinstance(identity, int):
            return f"asset {identity}"
        if text := write_location(identity):
            return f"the asset at {text} seen from {self.here}"
        self.story.misses("an asset is at a location that is not known here")
        return "an unknown asset"

    def _listed(self, identity: Any) -> "Asset | None":
        return self.assets.named(self.place, identity) if self.place else None

    def account(self, value: Any) -> str:
        """Return an account, bare or in a MultiAddress, as text."""
        if isinstance(value, Mapping):
            kind, value = read_instruction(value)
            if kind in ("Address20", "Raw"):
                return f"the address 0x{value.hex()} ({kind})"
        if not isinstance(value, bytes):
            raise NoPhrase
        chain, what = self.place or self.chain, kind_of(value)
        text = ACCOUNT_FORMATS[len(value)].format(value, chain.ss58_prefix)
        is_told = what.name == "placeholder" or (what.pallet and describe_keyless(value, chain))
        return f"{text} ({what.words})" if is_told else text

    def receiver(self, location: Any, seen_from: Any = None) -> str:
        """Return the account that a location names, seen from here or from the place
        *seen_from*."""
        if seen_from is not None:
            return self.at(seen_from).receiver(location)
        *around, last = junctions_of(location) or [None]
        for form in ACCOUNT_FORMATS.values():
            if isinstance(last, Mapping) and set(last) == {form.junction_name}:
                there, inner = (
                    self.at({**location, "interior": interior(around)}),
                    last[form.junction_name],
                )
                network = read_instruction(inner.get("network"))[0]
                beside = "" if inner.get("network") is None else f" (of the network {network})"
                where = f" on {there.here}" if around or location["parents"] else ""
                return f"{there.account(inner[form.junction_field])}{beside}{where}"
        return f"the account of {self.at(location).here}"


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise NoPhrase
    return value


def counted(said: Iterable[str]) -> list[str]:
    """Return *said* with the same words in a row said once."""
    found = [(text, sum(1 for _ in same)) for text, same in groupby(said)]
    return [text if number == 1 else f"{text} ({number} times)" for text, number in found]


#: Says a call, from its arguments.
Words = Callable[[Phrases, Mapping[str, Any]], str]
