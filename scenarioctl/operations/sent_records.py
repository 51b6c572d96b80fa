"""What the store remembers of a transaction that is sent: written before its bytes go out, so that
it is never sent twice.  And which transactions of a scenario were sent, so that nobody pays
twice."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.model.json_types import Hex, Timestamp, timestamp
from scenarioctl.operations.sent_states import outcome_of, standing_of
from scenarioctl.operations.transaction_status import examine
from scenarioctl.stores.rows import cut_line
from scenarioctl.stores.sent import SentTransactions

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.jobs import MempoolEntry
    from scenarioctl.runtime.table import RuntimeTable
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
    return {seq: mark_of(each) for seq, each in found.items() if each.job == jobs[seq]}


def mark_of(sent: SentTransaction) -> SentMark:
    return {
        "hash": sent.hash,
        "state": sent.state.value,
        "block_number": sent.block_number,
        "success": standing_of(sent).success,
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
            return replace(
                known,
                state=state,
                block=inclusion.block,
                block_number=inclusion.number,
                effects=write_effects(inclusion, asked=asked),
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
    draft: "MempoolEntry | None",
    step: tuple[str, str],
    says: str,
    again: bool,
) -> SentRecord:
    """Write down that the transaction may have been sent, now that the best block is *number*.

    It was made of *draft*, or of *step*: the id of a scenario and of a node.  *says* is what it
    does, in a sentence.

    Conflict if it was sent before, unless *again* and the chain shows that no block since then has
    it.  A free nonce shows nothing: it starts at 0 again for an account that was removed because it
    was empty.
    """
    from scenarioctl.transactions.mortality import decode_era, era_start
    from scenarioctl.transactions.submission.tracking import AT_ONCE, FORK

    mortal = decode_era(signed.era)
    scenario, node = step if draft is None else (draft.job, draft.draft.node)
    named = (await app.store.find_scenarios([scenario])).get(scenario) if scenario else None
    transaction = SentTransaction(
        chain=chain.name,
        hash=hash,
        sent=app.clock(),
        signer="" if signed.account is None else "0x" + signed.account.hex(),
        nonce=signed.nonce,
        at_block=number,
        valid_until=None if mortal is None else era_start(signed.era, number + 1) + mortal[0] - 1,
        job="" if draft is None else draft.job,
        draft=None if draft is None else draft.seq,
        scenario=scenario,
        node=node,
        says=cut_line(says),
        name="" if named is None else named.name,
        searched=max(number - FORK, 0),
    )
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


async def find_signed_draft(app: Application, job: str, draft: int | str) -> "MempoolEntry | None":
    """Return the draft that a transaction is said to be made of; None if none is named."""
    from scenarioctl.operations.unsigned_transactions import find_draft

    if job == "" and draft == "":
        return None
    if job == "" or draft == "":
        given, missing = ("draft", "job") if job == "" else ("job", "draft")
        raise InvalidRequest(
            field=given,
            value=draft or job,
            problem=f"needs a {missing}",
            expected="both or neither",
        )
    return await find_draft(app, job, draft)


def check_draft(
    chain: "Chain", entry: "MempoolEntry", table: "RuntimeTable", call_data: bytes
) -> None:
    """Refuse a signed transaction of *chain* whose call is not the one of the draft *entry*, nor
    sets the fee currency before it."""
    from scenarioctl.model.amounts import from_hex
    from scenarioctl.transactions.extrinsic import length_size, looks_like_extrinsic
    from scenarioctl.transactions.signing.fee_asset import without_set_currency

    name = f"draft {entry.seq} of job {shorten(entry.job)}"
    if entry.draft.chain != chain.name:
        raise InvalidRequest(
            f"draft {entry.seq} is not this transaction: {name} is for another chain, not "
            f"for {chain.title}"
        )
    drafted = from_hex(entry.draft.tx) or b""
    if looks_like_extrinsic(drafted):
        # A length and a version stand before the call.
        drafted = drafted[length_size(drafted) + 1 :]
    if drafted not in (call_data, without_set_currency(table, call_data)):
        raise InvalidRequest(
            f"draft {entry.seq} is not this transaction: the call of {name} differs. Sign "
            "that draft, or leave job and draft out"
        )


#: Names all transactions of a scenario, signed as one, in place of a step.
ALL = "all"


class SentScenario(SentMark):
    """A transaction of a scenario that was sent, as it was last seen."""

    chain: str
    #: When it was sent.
    date: "Timestamp"
    #: Node of the step whose transaction it was; empty for all of the scenario in one.
    node: str
    #: What became of it, in words: `in block 20, finalized`.
    outcome: str
    #: Whether the scenario was changed since.
    changed_since: bool


async def read_sent(app: Application, updated: Mapping[str, int]) -> dict[str, list[SentScenario]]:
    """Return the transaction that was sent last for each step of these scenarios, the newest first.

    *updated* says when each of them was changed last, in nanoseconds since 1970.
    """
    found: dict[str, list[SentScenario]] = {}
    sent = await app.store.sent().of_scenarios(list(updated))
    for each in sorted(sent.values(), key=lambda each: -each.sent):
        found.setdefault(each.scenario, []).append(_describe(each, updated[each.scenario]))
    return found


def _describe(sent: SentTransaction, updated: int) -> SentScenario:
    return {
        **mark_of(sent),
        "chain": sent.chain,
        "date": timestamp(sent.sent),
        "node": sent.node,
        "outcome": outcome_of(sent),
        "changed_since": updated > sent.sent,
    }


async def warn_of_scenario(
    app: Application,
    scenario: str,
    node: str = ALL,
    *,
    since: int = 0,
    but: Sequence[SentTransaction] = (),
) -> tuple[str, ...]:
    """Return a warning for each transaction that was sent for *node* of *scenario*, and may have
    done what it should.

    Those are left out that were sent before *since*, in nanoseconds since 1970, and those of *but*.
    """
    sent = await app.store.sent().of_scenarios([scenario])
    concerned = [
        each
        for each in sent.values()
        if (node == ALL or each.node in (node, "")) and each.sent >= since and each not in but
    ]
    return warn_of_sent(f"scenario {scenario}", concerned)


def warn_of_sent(name: str, sent: Sequence[SentTransaction]) -> tuple[str, ...]:
    """Return a warning about each transaction of *sent*, which were made of *name*, that may have
    done what it should."""
    return tuple(
        f"{name} was signed and sent on {timestamp(each.sent)[:16].replace('T', ' ')} UTC: "
        f"{outcome_of(each)}. If you sign it "
        f"again, you pay again. See what became of it with tx status {each.chain} {each.hash}"
        for each in sent
        if each.state is not SentState.EXPIRED and standing_of(each).success is not False
    )


async def find_signed_step(app: Application, scenario: str, step: int | str) -> tuple[str, str]:
    """Return the scenario that a transaction is said to be made of, and the node of its step, empty
    for all; two empty ones for none."""
    from scenarioctl.actions.drafting import find_drafting_node
    from scenarioctl.operations.stored_diagrams import open_scenario

    if scenario == "":
        if step != "":
            raise InvalidRequest(
                field="step", value=step, problem="needs a scenario", expected="its id in scenario"
            )
        return "", ""
    diagram = await open_scenario(app, scenario)
    return scenario, "" if step == ALL else find_drafting_node(diagram, step)
