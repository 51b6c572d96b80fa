"""Send a signed transaction to its chain.  No private key ever enters this program."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Required, TypedDict, TypeVar

from scenarioctl.application import Application
from scenarioctl.errors import (
    ChainRefused,
    ChainUnreachable,
    Conflict,
    InvalidRequest,
    ScenarioctlError,
)
from scenarioctl.model.amounts import read_choice, read_number
from scenarioctl.model.jobs import SentFor, SentState, SentTransaction
from scenarioctl.model.json_types import SHOWN, AmountAnswer, Column, Digits, Hex
from scenarioctl.model.request_fields import (
    ChainName,
    DraftNumber,
    JobName,
    PayloadJson,
    ScenarioName,
    StepName,
    TransactionHex,
    Value,
)
from scenarioctl.operations.built_transactions import read_aside
from scenarioctl.operations.payout_records import refuse_second
from scenarioctl.operations.results import Result, refuse_warnings
from scenarioctl.operations.sent_matches import find_made, keep_elsewhere
from scenarioctl.operations.sent_records import SentRecord, state_of, write_record
from scenarioctl.operations.sent_states import outcome_of, settle, standing_of
from scenarioctl.operations.signed_transactions import find_payload, read_expected, require_expected
from scenarioctl.operations.transaction_status import examine, read_effects, say_fee
from scenarioctl.operations.views import say_transaction
from scenarioctl.stores.rows import cut_line
from scenarioctl.transactions.extrinsic import parse_hex

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.signatures import SignedExtrinsic
    from scenarioctl.transactions.submission.inclusion import Inclusion
    from scenarioctl.transactions.submission.submit import Submission

__all__ = ["broadcast"]

T = TypeVar("T")

WAITS = ("in-block", "finalized")
#: Seconds: a block is final well within, on every chain that is known here.
PATIENCE = 180
_LONGEST = 24 * 60 * 60
#: What an unreachable chain says of building, which is not meant here.
_BUILDING = " `offline` builds with the stored runtime table."


@dataclass(frozen=True, kw_only=True)
class Broadcast:
    """Send a signed transaction to its chain."""

    chain: ChainName
    #: 0x hex of a signed extrinsic.
    tx: TransactionHex
    #: Wait until it is `in-block` or `finalized`, and say what it did there.
    wait: Annotated[str, Value("STATE", WAITS)] = ""
    #: Wait at most so many seconds (default 180).
    timeout: Annotated[int | str | None, Value("SECONDS")] = None
    #: Do not send it if there is a warning.
    strict: bool = False
    #: With `draft`: the job whose draft was signed, if others have the same call. What is sent is
    #: known by its call.
    job: JobName = ""
    #: The draft that was signed, by its seq in `job drafts`.
    draft: DraftNumber = ""
    #: The scenario whose transaction was signed, if others have the same call. It can be told
    #: afterwards: the same bytes aren't sent again.
    scenario: ScenarioName = ""
    #: With `scenario`: which of its transactions (default the one with this call): its number,
    #: counted from 1, the id of its node, or `all` for those of `scenario build --batch`.
    step: StepName = ""
    #: What was to be signed: the answer of `tx payload`, or polkadot.js's SignerPayloadJSON.
    #: Anything else is not sent.
    expect: PayloadJson = None
    #: Send once more what was sent before. It is refused unless the chain shows that no block has
    #: it.
    again: bool = False


class IncludedTransaction(TypedDict, total=False):
    """What a transaction did in its block."""

    block: Annotated[Hex, SHOWN]
    block_number: int
    extrinsic_index: int
    #: False if it did nothing there; null if a part of it failed or is unknown.
    success: bool | None
    #: In the asset that `fee_paid_in` names, else in the chain's native asset; null if it is
    #: unknown.
    fee: "Digits | None"
    #: `fee` in whole tokens of the native asset, with the symbol; empty if it isn't known.
    fee_human: Annotated[str, Column("transaction fee")]
    fee_paid_in: AmountAnswer
    #: What the signer has less by it, fees included; left out if that isn't known.
    left: Annotated[list[AmountAnswer], Column("left the signer")]
    events: list[Any]
    #: How many endpoints say so: 2 if a second one says that the block is final.
    asked: Literal[1, 2]


class BroadcastTransaction(IncludedTransaction):
    """A transaction that was sent; the fields of its block are there if the request waits for
    it."""

    status: Required[Literal["broadcasted"]]
    #: blake2b-256 of the transaction's bytes.
    hash: Required[Annotated[Hex, SHOWN]]


async def broadcast(app: Application, request: Broadcast) -> Result[BroadcastTransaction]:
    """Judge the transaction, write it down in the store, send it once, and answer with its hash.

    InvalidRequest for what is not a signed transaction of the chain, before the chain is asked;
    Conflict for a used nonce or for one that was sent before; ChainRefused with the chain's reason;
    ChainUnreachable says whether it may have been sent.
    """
    from scenarioctl.transactions.submission.validation import (
        check_is_signed,
        check_nonce,
        check_signature,
        decode_for_chain,
        read_signer_state,
    )

    chain = app.registry.find(request.chain)
    seconds = _check_waiting(request)
    data = parse_hex(request.tx, field="tx")
    known = app.known_runtime(chain)
    expected = None
    if request.expect is not None:
        _, expected = find_payload(app, request.expect, field="expect", chain=chain.name)
    await _check_named(app, request)

    async def aside(work: Callable[..., T], *args: Any) -> T:
        return await read_aside(app, data, work, *args)

    await aside(check_is_signed, chain, known, data)
    others = _other_chains(app, chain)
    doubt = await aside(_doubt, chain, known, data, others)
    try:
        client = app.client(chain)
        table = await client.table()
        # The connected chain's runtime is the one that judges.
        doubt = None
        signed = await aside(decode_for_chain, chain, table, data, others)
        if expected is not None:
            to_sign = await read_expected(app, chain, table, expected, field="expect")
            await aside(partial(require_expected, field="tx"), app, chain, table, data, to_sign)
        standing = await read_signer_state(client, table, signed)
        warnings = [await check_signature(client, table, data, signed, standing, others, aside)]
    except (ChainUnreachable, ChainRefused) as error:
        # A runtime that is known here does not read it: that is likelier than that a newer one
        # would.
        if doubt is not None:
            raise doubt from None
        raise _kind_of(error)(f"{error.statement}; nothing was sent") from None
    from scenarioctl.transactions.extrinsic import extrinsic_hash
    from scenarioctl.transactions.submission.submit import Submission

    hash = extrinsic_hash(data)
    made = await find_made(app, request, chain, table, signed, hash)
    says = await aside(_say, app, chain, table, data)
    stored = await app.store.sent().get(chain.name, hash)
    is_told = bool(request.scenario or request.job) and not request.again
    if is_told and stored is not None and await _tell_again(app, stored, made):
        return _say_told(hash, made)
    try:
        warnings.append(check_nonce(chain, signed, standing))
    except Conflict as error:
        former = stored or await _find_elsewhere(app, chain, hash, signed, made, says)
        if is_told and stored is None and former is not None:
            return _say_told(hash, made)
        raise Conflict(error.statement, details=state_of(former) if former else {}) from None
    if request.strict:
        refuse_warnings(warnings)
    record = await write_record(
        app,
        chain,
        hash,
        signed,
        number=standing.number,
        made_of=made,
        says=says,
        again=request.again,
    )
    try:
        await refuse_second(app, made, hash)
    except Conflict:
        await record.forget()
        raise
    submission = Submission(
        client=client,
        data=data,
        hash=hash,
        signed=signed,
        number=standing.number,
        tell=app.tell,
        taken=record.confirm,
    )
    try:
        return await _send(app, submission, record, request.wait, seconds, warnings)
    except ChainRefused:
        await record.forget()
        raise
    except BaseException as stop:
        # A bug, or ctrl-C: whoever reads of it has to know.
        if not isinstance(stop, ScenarioctlError):
            stop.add_note(f"the transaction {submission.hash} may have been sent")
        raise


async def _tell_again(app: Application, sent: SentTransaction, made: tuple[SentFor, ...]) -> bool:
    """Store what *sent*, which was surely sent, is made of; return whether that is new."""
    told = settle(replace(sent, made_of=made))
    is_new = sent.state is not SentState.UNCERTAIN and told.made_of != sent.made_of
    return is_new and await app.store.sent().change(told)


async def _find_elsewhere(
    app: Application,
    chain: "Chain",
    hash: str,
    signed: "SignedExtrinsic",
    made: tuple[SentFor, ...],
    says: str,
) -> SentTransaction | None:
    """Return the transaction, if another wallet has sent it and one of the newest blocks has it; it
    is stored then."""
    try:
        found, _ = await examine(app, chain, hash)
    except (ChainUnreachable, ChainRefused):
        found = None
    if found is None:
        return None
    account = "" if signed.account is None else f"0x{signed.account.hex()}"
    found = replace(found, signer=account, nonce=signed.nonce, made_of=made, says=cut_line(says))
    return await keep_elsewhere(app, found) or found


def _say_told(hash: str, made: tuple[SentFor, ...]) -> Result[BroadcastTransaction]:
    names = " and ".join(
        f"draft {each.draft} of job {each.job}" if each.draft else f"scenario {each.scenario}"
        for each in made
    )
    note = f"It was sent already, and nothing was sent now; it is known as sent for {names}."
    return Result(answer={"status": "broadcasted", "hash": hash}, notes=(note,))


async def _send(
    app: Application,
    submission: "Submission",
    record: SentRecord,
    wait: str,
    seconds: float,
    warnings: Sequence[str],
) -> Result[BroadcastTransaction]:
    answer: BroadcastTransaction = {"status": "broadcasted", "hash": submission.hash}
    if not wait:
        notes = await submission.send()
        return Result(
            answer=answer, warnings=tuple(filter(None, [*warnings, *notes, *record.warnings]))
        )
    block, notes = await submission.send_and_follow(wait, seconds)
    inclusion = await _read_inclusion(app, submission, block)
    included = _included(submission, inclusion)
    asked: Literal[1, 2] = 1
    doubt = ""
    if wait == "finalized":
        asked, doubt = await _confirm_final(app, submission, included)
    told = describe_inclusion(inclusion, submission.client.chain)
    told["success"] = standing_of(included).success
    await record.include(inclusion, final=wait == "finalized" and not doubt, asked=asked)
    if doubt:
        raise ChainUnreachable(
            f"the transaction {submission.hash} may not be final: {doubt}",
            details={**answer, **told},
        )
    standing = standing_of(included)
    if standing.became in ("failed", "partly-failed"):
        spent = " and failed there; its fee is spent" if inclusion.error else f", {standing.words}"
        error = f": {inclusion.error}" if inclusion.error else ""
        raise ChainRefused(
            (
                f"the transaction {submission.hash} is in block {inclusion.number} of "
                f"{submission.client.chain.title}{spent}{error}"
            ),
            details={**answer, **told},
        )
    said = (
        () if standing.became in ("in-block", "finalized") else (f"It is {outcome_of(included)}.",)
    )
    return Result(
        answer={**answer, **told, "asked": asked},
        notes=said,
        warnings=tuple(filter(None, [*warnings, *notes, *inclusion.inner, *record.warnings])),
    )


def _included(submission: "Submission", inclusion: "Inclusion") -> SentTransaction:
    """Return the transaction as the store would have it once it is in its final block."""
    from scenarioctl.transactions.submission.tracking import write_effects

    account = submission.signed.account
    return SentTransaction(
        chain=submission.client.chain.name,
        hash=submission.hash,
        # It is followed.
        sent=1,
        at_block=submission.number,
        searched=submission.number,
        signer="" if account is None else "0x" + account.hex(),
        block=inclusion.block,
        block_number=inclusion.number,
        state=SentState.FINALIZED,
        effects=write_effects(inclusion),
    )


async def _confirm_final(
    app: Application, submission: "Submission", final: SentTransaction
) -> tuple[Literal[1, 2], str]:
    """Return how many endpoints say that the block of a transaction is final, and why that is in
    doubt."""
    from scenarioctl.transactions.submission.tracking import confirm_final

    try:
        found, doubts = await confirm_final(submission.client, final, assets=app.assets)
    except ChainUnreachable as error:
        return 2, str(error)
    return (2 if doubts else read_effects(found)["asked"]), " ".join(doubts)


def describe_inclusion(inclusion: "Inclusion", chain: "Chain") -> IncludedTransaction:
    answer: IncludedTransaction = {
        "block": inclusion.block,
        "block_number": inclusion.number,
        "extrinsic_index": inclusion.index,
        "success": not inclusion.error,
        "fee": None if inclusion.fee is None else str(inclusion.fee),
        "fee_human": say_fee(inclusion.fee, chain),
    }
    if inclusion.fee_paid_in is not None:
        answer["fee_paid_in"] = inclusion.fee_paid_in.answer()
    if inclusion.left is not None:
        answer["left"] = [each.answer() for each in inclusion.left]
    answer["events"] = list(inclusion.events)
    return answer


def _kind_of(error: ChainUnreachable | ChainRefused) -> type[ChainUnreachable | ChainRefused]:
    """Return the kind of *error* without what it was made of."""
    return ChainUnreachable if isinstance(error, ChainUnreachable) else ChainRefused


async def _check_named(app: Application, request: Broadcast) -> None:
    """Refuse fields that name what the transaction is made of and don't fit together, or don't
    exist."""
    from scenarioctl.operations.sent_matches import find_node
    from scenarioctl.operations.sources import find_draft

    needs = {"step": "scenario", "job": "draft", "draft": "job"}
    for name, other in needs.items():
        if getattr(request, name) != "" and getattr(request, other) == "":
            raise InvalidRequest(
                field=name,
                value=getattr(request, name),
                problem=f"needs a {other}",
                expected="its id in scenario" if other == "scenario" else "both or neither",
            )
    if request.job and request.scenario:
        raise InvalidRequest(
            field="job", problem="and scenario are both given", expected="only one"
        )
    if request.job:
        await find_draft(app, request.job, request.draft)
    if request.scenario:
        await find_node(app, request.scenario, request.step)


def _check_waiting(request: Broadcast) -> float:
    if request.wait != "":
        read_choice(request.wait, field="wait", choices=WAITS)
    if request.timeout in (None, ""):
        return PATIENCE
    if not request.wait:
        raise InvalidRequest(
            field="timeout",
            value=request.timeout,
            problem="needs wait",
            expected="wait in-block or finalized with it",
        )
    return read_number(
        request.timeout,
        field="timeout",
        kind=f"a whole number of seconds from 1 to {_LONGEST}",
        least=1,
        most=_LONGEST,
    )


def _say(app: Application, chain: "Chain", table: "RuntimeTable", data: bytes) -> str:
    """Return what the transaction does; empty if that can't be said."""
    from scenarioctl.transactions.extrinsic import decode_extrinsic

    try:
        return say_transaction(app, chain, table, decode_extrinsic(table, data))
    except InvalidRequest:
        return ""


def _other_chains(app: Application, chain: "Chain") -> Any:
    """Return what gives the chains that a transaction may have been signed for instead, with their
    known runtimes."""

    def others() -> Iterable[tuple["Chain", "RuntimeTable"]]:
        # The chain itself too: with the runtime known here, which may be older than the one it
        # runs.
        for other in (chain, *(each for each in app.registry.all() if each.name != chain.name)):
            known = app.known_runtime(other)
            if known is not None:
                yield other, known

    return others


def _doubt(
    chain: "Chain", known: "RuntimeTable | None", data: bytes, others: Any
) -> InvalidRequest | None:
    """Return what the runtime known here has against *data*, None for nothing."""
    from scenarioctl.transactions.submission.validation import decode_for_chain

    if known is None:
        return None
    try:
        decode_for_chain(chain, known, data, others)
    except InvalidRequest as error:
        return error
    return None


async def _read_inclusion(app: Application, submission: "Submission", block: str) -> "Inclusion":
    from scenarioctl.transactions.submission.inclusion import read_inclusion

    chain = submission.client.chain
    details = {"status": "broadcasted", "hash": submission.hash, "block": block}
    try:
        inclusion = await read_inclusion(
            submission.client,
            block,
            submission.hash,
            assets=app.assets,
            account=submission.signed.account,
        )
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise ChainUnreachable(
            (
                f"the transaction {submission.hash} is in block {block} of {chain.title}, but "
                f"its effects could not be read ({error})"
            ),
            details=details,
        ) from None
    return inclusion
