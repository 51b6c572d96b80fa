"""Words for the parts of calls: amounts, accounts, chains; and how much is said of calls that hold others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import write_location
from scenarioctl.model.calls import Call

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Calls and instructions inside others that one sentence tells of, all together …
_ROOM = 24
#: … so many of one list …
_SHOWN = 8
#: … and so deep.
_DEPTH = 6


#: Finds the runtime table that reads the calls of a chain; None if there is none.
Tables = Callable[["Chain"], "RuntimeTable | None"]


class NoPhrase(Exception):
    """The call is of a shape that no sentence here describes whole."""


#: What stops a sentence: an argument of another shape than the one that is worded.
MISFITS = (NoPhrase, LookupError, TypeError, ValueError, AttributeError)


@dataclass
class Budget:
    """How many calls and instructions may still be said."""

    left: int = _ROOM

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


@dataclass
class Phrases:
    """Words for the parts of calls on one chain."""

    chain: "Chain"
    assets: "Assets"
    #: Reads encoded calls, of this chain and of others.
    tables: Tables
    #: Says a call, whichever it is.
    say: Callable[["Phrases", Call], str]
    budget: Budget = field(default_factory=Budget)
    depth: int = 0

    def within(self, chain: "Chain | None" = None) -> "Phrases":
        """Return the phrases for what stands inside a call, on *chain* if that is another one."""
        if self.depth >= _DEPTH:
            # A sentence that nests deeper is read by nobody.
            self.budget.left = 0
        return replace(self, chain=chain or self.chain, depth=self.depth + 1)

    def list(self, items: Sequence[Any], say: Callable[["Phrases", Any], str], noun: str) -> str:
        """Return what the first of *items* do, and how many more there are."""
        inside = self.within()
        said: list[str] = []
        for item in items[:_SHOWN]:
            if not self.budget.spend():
                break
            said.append(say(inside, item))
        left = len(items) - len(said)
        if left:
            said.append(f"{left} {'more ' if said else ''}{noun}{'s' * (left != 1)} not shown")
        return "; then ".join(said)

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


#: Says a call, from its arguments.
Words = Callable[[Phrases, Mapping[str, Any]], str]
