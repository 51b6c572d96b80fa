"""What keeps native tokens of an account, as an answer has it: locks, holds and votes, with the
dates on which they end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.model.json_types import AmountAnswer, Timestamp, timestamp

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.locks import Lock, Locks, VoteLock


class LockRow(TypedDict):
    #: Locks and freezes overlap: what is kept is the largest of them. Holds and reserves add up.
    kind: Literal["lock", "freeze", "hold", "reserve"]
    #: As the chain names it: `pyconvot`, or pallet and reason, like `Staking.Staking`.
    id: str
    amount: AmountAnswer
    #: Of vesting and of votes: the block from which on nothing keeps it. It is one of the relay
    #: chain, but of votes on Hydration its own; other parachains count either. Null if that is
    #: unknown, or not decided yet.
    until: int | None
    #: About when that is; null if it has passed, or if it is unknown.
    estimated: "Timestamp | None"


class VoteRow(TypedDict):
    track: int
    amount: AmountAnswer
    #: The referendum that it votes on; null for a delegation, and for votes that were removed.
    referendum: int | None
    #: To whom the votes of the track are delegated.
    delegate: str | None
    #: Block, as in a lock, from which on the tokens can be unlocked; null as long as the referendum
    #: or the delegation goes on, or if nothing locks them any more.
    until: int | None
    #: About when that is; null if it has passed, or if it is unknown.
    estimated: "Timestamp | None"
    #: Whether they can be unlocked now, once the vote is removed; null if that is unknown.
    unlockable: bool | None


@dataclass(frozen=True, kw_only=True)
class _Clock:
    """Tells when the blocks of a chain are made; each is None if it is unknown."""

    now: int | None
    #: In milliseconds since 1970.
    time: int | None
    seconds: float | None

    def date(self, block: int | None) -> "Timestamp | None":
        """Return about when *block* is made; None if it was, or if that is unknown."""
        if (
            block is None
            or self.now is None
            or self.time is None
            or self.seconds is None
            or block <= self.now
        ):
            return None
        return to_date(self.time + int((block - self.now) * self.seconds * 1000))

    def is_past(self, block: int | None) -> bool | None:
        """Tell whether *block* was made, 0 at any time; None if that is unknown."""
        if not block:
            return block is not None
        return None if self.now is None else block <= self.now


def describe_locks(
    app: Application, chain: "Chain", table: "RuntimeTable | None", locks: "Locks"
) -> tuple[list[LockRow], list[VoteRow]]:
    """Return what keeps tokens, and the votes among it, with dates by the block times of the
    runtimes."""
    from scenarioctl.chains.availability import block_seconds
    from scenarioctl.transactions.locks import governed_seconds, relay_table

    relay = relay_table(app.registry, chain)
    # Other parachains count their own blocks or those of the relay chain, and which isn't known
    # here.
    relay_block = locks.relay_block if chain.role in ("relay", "asset_hub", "dex") else None
    vesting = _Clock(
        now=relay_block, time=locks.time, seconds=None if relay is None else block_seconds(relay)
    )
    governed = _Clock(
        now=locks.block if chain.role == "dex" else relay_block,
        time=locks.time,
        seconds=governed_seconds(app.registry, chain, table),
    )
    native = app.assets.native(chain)

    def amount(raw: int) -> AmountAnswer:
        from scenarioctl.model.checks import Amount

        return Amount(value=raw, asset=native.display_name, decimals=native.decimals).answer()

    def lock(each: "Lock") -> LockRow:
        is_vote = each.id == _VOTES
        until = _last_end(locks.votes) if is_vote else each.until
        date = (governed if is_vote else vesting).date(until)
        return {
            "kind": each.kind,
            "id": each.id,
            "amount": amount(each.amount),
            "until": until or None,
            "estimated": date,
        }

    def vote(each: "VoteLock") -> VoteRow:
        return {
            "track": each.track,
            "amount": amount(each.amount),
            "referendum": each.referendum,
            "delegate": None
            if each.delegate is None
            else format_account(each.delegate, chain.ss58_prefix),
            "until": each.until or None,
            "estimated": governed.date(each.until),
            "unlockable": governed.is_past(each.until),
        }

    return [lock(each) for each in locks.locks], [vote(each) for each in locks.votes]


#: The lock of votes and delegations.
_VOTES = "pyconvot"


def _last_end(votes: "Sequence[VoteLock]") -> int | None:
    """Return the block that ends the last of *votes*; None if one has no known end."""
    ends = [each.until for each in votes]
    return None if None in ends or not ends else max(end for end in ends if end is not None)


def to_date(milliseconds: int) -> "Timestamp | None":
    """Return a time since 1970 as a date; None for a year that no calendar has."""
    try:
        return timestamp(milliseconds * 1_000_000)
    except (OverflowError, ValueError):
        return None
