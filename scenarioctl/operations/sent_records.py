"""What the store remembers of a transaction that is sent: written before its bytes go out, so that
it is never sent twice.  And which transactions of a scenario were sent, so that nobody pays
twice."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, ScenarioctlError
from scenarioctl.model.jobs import UNDONE, SentFor, SentState, SentTransaction
from scenarioctl.model.json_types import SHOWN, Column, Hex, Timestamp, timestamp
from scenarioctl.operations.sent_matches import ALL
from scenarioctl.operations.sent_states import outcome_of, settle, standing_of
from scenarioctl.operations.transaction_status import examine
from scenarioctl.stores.rows import cut_line
from scenarioctl.stores.sent import SentTransactions

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.jobs import MempoolEntry
    from scenarioctl.transactions.signing.signatures import SignedExtrinsic
    from scenarioctl.transactions.submission.inclusion import Inclusion


#: How often a change of a row is tried.
_ATTEMPTS = 5


class SentMark(TypedDict):
    """How far the transaction has come that was made of a draft, as it was last seen."""

    hash: "Hex"
    state: Literal["uncertain", "sent", "in-block", "finalized", "expired"]
    block_number: int | None
    #: False if it failed in its block; null if that isn't known.
    success: bool | None


async def read_marks(app: Application, entries: Sequence["MempoolEntry"]) -> dict[int, SentMark]:
    """Return the mark of each draft that was sent, by its seq."""
    found = await app.store.sent().of_drafts([entry.seq for entry in entries])
    jobs = {entry.seq: entry.job for entry in entries}
    # In a store that was restored to an earlier time, another draft may have this number.
    return {
        made.draft: mark_of(each, made) for made, each in found if made.scenario == jobs[made.draft]
    }


def mark_of(sent: SentTransaction, made: SentFor) -> SentMark:
    return {
        "hash": sent.hash,
        "state": sent.state.value if made.certain else "uncertain",
        "block_number": sent.block_number,
        "success": False if made.outcome in UNDONE else standing_of(sent).success,
    }


class SentRecord:
    """The row of one transaction, as the store has it."""

    def __init__(
        self, sent: SentTransactions, transaction: SentTransaction, former: SentTransaction | None
    ) -> None:
        self._sent = sent
        self._transaction = former or transaction
        #: Whether it was sent before.
        self._is_old = former is not None
        self._is_taken = False
        #: What can't be remembered, in a sentence each.
        self.warnings: list[str] = []

    async def confirm(self) -> None:
        """Note that a node took it."""
        self._is_taken = True

        def confirmed(known: SentTransaction) -> SentTransaction:
            return (
                replace(known, state=SentState.SENT)
                if known.state is SentState.UNCERTAIN
                else known
            )

        await self._change(confirmed)

    async def forget(self) -> None:
        """Remove it, because the node surely refused it and it was never sent before."""
        if not self._is_old and not self._is_taken:
            # If it can't be removed, it still says that it may have been sent.
            with suppress(ScenarioctlError):
                await self._sent.remove(self._transaction)

    async def include(self, inclusion: "Inclusion", *, final: bool, asked: int) -> None:
        """Note which block has it, and what it did there, and how many endpoints say so."""
        from scenarioctl.transactions.submission.tracking import write_effects

        state = SentState.FINALIZED if final else SentState.IN_BLOCK

        def included(known: SentTransaction) -> SentTransaction:
            if known.state is SentState.FINALIZED and known.effects:
                return known
            return settle(
                replace(
                    known,
                    state=state,
                    block=inclusion.block,
                    block_number=inclusion.number,
                    effects=write_effects(inclusion, asked=asked),
                )
            )

        await self._change(included)

    async def _change(self, change: Callable[[SentTransaction], SentTransaction]) -> None:
        try:
            # Somebody who asks for its state meanwhile changes the row, too.
            for _ in range(_ATTEMPTS):
                known = self._transaction
                changed = change(known)
                if changed == known:
                    return
                if await self._sent.change(changed):
                    self._transaction = replace(changed, revision=changed.revision + 1)
                    return
                newer = await self._sent.get(known.chain, known.hash)
                if newer is None:
                    return
                self._transaction = newer
        except ScenarioctlError as error:
            # It was sent, and its hash has to be told.
            self.warnings.append(f"The store still says that it may have been sent: {error}")


async def write_record(
    app: Application,
    chain: "Chain",
    hash: str,
    signed: "SignedExtrinsic",
    *,
    number: int,
    made_of: tuple[SentFor, ...],
    says: str,
    again: bool,
) -> SentRecord:
    """Write down that the transaction may have been sent, now that the best block is *number*.

    *says* is what it does, in a sentence.

    Conflict if it was sent before, unless *again* and the chain shows that no block since then has
    it.  A free nonce shows nothing: it starts at 0 again for an account that was removed because it
    was empty.
    """
    from scenarioctl.transactions.extrinsic import decode_era, era_start
    from scenarioctl.transactions.submission.tracking import AT_ONCE, FORK

    mortal = decode_era(signed.era)
    transaction = SentTransaction(
        chain=chain.name,
        hash=hash,
        sent=app.clock(),
        signer="" if signed.account is None else "0x" + signed.account.hex(),
        nonce=signed.nonce,
        at_block=number,
        valid_until=None if mortal is None else era_start(signed.era, number + 1) + mortal[0] - 1,
        made_of=made_of,
        says=cut_line(says),
        searched=max(number - FORK, 0),
    )
    scenario = transaction.origin.scenario
    named = (await app.store.find_scenarios([scenario])).get(scenario) if scenario else None
    transaction = replace(transaction, name="" if named is None else named.name)
    sent = app.store.sent()
    try:
        former = await sent.add(transaction)
    except ScenarioctlError as error:
        raise type(error)(f"{error.statement}; nothing was sent", details=error.details) from None
    if former is None:
        return SentRecord(sent, transaction, None)
    if not again:
        raise Conflict(
            _say_former(former, chain, "Pass again to send the same bytes once more"),
            details=state_of(former),
        )
    found, doubts = await examine(app, chain, hash)
    if found is None or found.block_number is not None:
        raise Conflict(_say_former(found or former, chain), details=state_of(found or former))
    if doubts or former.searched + AT_ONCE < number:
        raise Conflict(
            _say_former(
                found,
                chain,
                (
                    "Not all blocks since then are searched yet, so it can't be sent again: "
                    "run tx status first"
                ),
            ),
            details=state_of(found),
        )
    # What the search has changed.
    return SentRecord(sent, transaction, await sent.get(chain.name, hash) or found)


def state_of(transaction: SentTransaction) -> dict[str, object]:
    """Return what an error says beside its sentence."""
    return {
        "hash": transaction.hash,
        "state": str(transaction.state),
        "block": transaction.block or None,
        "block_number": transaction.block_number,
    }


def _say_former(former: SentTransaction, chain: "Chain", advice: str = "") -> str:
    if former.block_number is not None:
        what = f"is already in block {former.block_number} of {chain.title}"
        advice = ""
    elif former.state is SentState.UNCERTAIN:
        what = f"may already have been sent to {chain.title}"
    else:
        what = f"was already sent to {chain.title}"
    look = f"See what became of it with tx status {former.chain} {former.hash}"
    return (
        f"the transaction {former.hash} {what}; nothing was sent now. "
        f"{look}{advice and '. '}{advice}"
    )


class SentScenario(SentMark):
    """A transaction of a scenario that was sent, as it was last seen."""

    chain: Annotated[str, Column(detail=True)]
    #: When it was sent.
    date: Annotated[Timestamp, SHOWN]
    #: Node of the step whose transaction it was; empty for all of the scenario in one.
    node: Annotated[str, Column("step")]
    #: What became of it, in words: `in block 20, finalized`.
    outcome: Annotated[str, SHOWN]
    #: Whether the scenario was changed since.
    changed_since: Annotated[bool, SHOWN]


async def read_sent(app: Application, updated: Mapping[str, int]) -> dict[str, list[SentScenario]]:
    """Return the transaction that was sent last for each step of these scenarios, the newest first.

    *updated* says when each of them was changed last, in nanoseconds since 1970.
    """
    found: dict[str, list[SentScenario]] = {}
    pairs = await app.store.sent().of_scenarios(list(updated))
    for made, sent in sorted(pairs, key=lambda pair: -pair[1].sent):
        found.setdefault(made.scenario, []).append(
            {
                **mark_of(sent, made),
                "chain": sent.chain,
                "date": timestamp(sent.sent),
                "node": made.node,
                "outcome": outcome_of(sent, made),
                "changed_since": updated[made.scenario] > sent.sent,
            }
        )
    return found


async def warn_of_scenario(
    app: Application,
    scenario: str,
    node: str = ALL,
    *,
    since: int = 0,
    but: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return a warning for each transaction that was sent for *node* of *scenario*, and may have
    done what it should.

    Those are left out that were sent before *since*, in nanoseconds since 1970, and those with
    the hashes *but*.
    """
    pairs = await app.store.sent().of_scenarios([scenario])
    concerned = [
        (made, sent)
        for made, sent in pairs
        if (node == ALL or made.node in (node, "")) and sent.sent >= since and sent.hash not in but
    ]
    return warn_of_sent(f"scenario {scenario}", concerned)


def warn_of_sent(name: str, pairs: Sequence[tuple[SentFor, SentTransaction]]) -> tuple[str, ...]:
    """Return a warning about each transaction that was made of *name*, and may have done what it
    should."""
    return tuple(
        f"{name} {'was' if made.certain else 'may have been'} signed and sent on "
        f"{timestamp(sent.sent)[:16].replace('T', ' ')} UTC: {outcome_of(sent, made)}. If you sign "
        f"it again, you pay again. See what became of it with tx status {sent.chain} {sent.hash}"
        for made, sent in pairs
        if sent.stands(made)
    )
