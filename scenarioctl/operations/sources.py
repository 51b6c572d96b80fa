"""Where a transaction comes from that is about to be signed, and what pays its fee."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, Conflict, InvalidRequest, NotFound, shorten
from scenarioctl.model.amounts import read_number
from scenarioctl.model.json_types import timestamp
from scenarioctl.model.request_fields import (
    ActingName,
    ChainName,
    JobName,
    SourceScenario,
    StepName,
    TransactionHex,
    Value,
)
from scenarioctl.operations.built_transactions import find_fee_asset, read_aside
from scenarioctl.transactions.extrinsic import parse_hex

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call, UnsignedTransaction
    from scenarioctl.model.jobs import DraftedCall, MempoolEntry
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class PaidCall:
    """A call, and what pays its fee."""

    call: "Call"
    #: What pays; None if it is unknown.
    asset: "Asset | None"
    #: What the transaction itself names, on a chain where it does; None for the native asset.
    named: "Asset | None" = None
    warnings: tuple[str, ...] = ()


async def choose_fee_asset(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    call: "Call",
    *,
    fee_asset: object,
    sender: bytes,
) -> PaidCall:
    """Return what *sender* signs so that *fee_asset* pays the fee of *call*: the call itself, or a
    batch that sets the currency first.

    InvalidRequest if it cannot pay on *chain*; ChainUnreachable if the account's currency cannot be
    read.
    """
    from scenarioctl.transactions.signing.fee_asset import has_fee_currencies, set_currency_before

    if not has_fee_currencies(table):
        named = await find_fee_asset(app, chain, fee_asset)
        return PaidCall(call=call, asset=named or app.assets.native(chain), named=named)
    current, unknown = await _read_currency(app, chain, call, sender)
    if fee_asset in ("", None):
        return PaidCall(call=call, asset=current)
    asset = app.assets.find(chain, fee_asset, field="fee_asset")
    if unknown:
        raise ChainUnreachable(f"the fee currency of the sender is unknown: {unknown}")
    if current is not None and current.id == asset.id:
        return PaidCall(call=call, asset=asset)
    warning = (
        f"this transaction sets the account's fee currency on {chain.title} to "
        f"{asset.display_name}; it pays all its fees there in {asset.display_name} until it "
        "sets another"
    )
    return PaidCall(call=set_currency_before(table, call, asset), asset=asset, warnings=(warning,))


async def _read_currency(
    app: Application, chain: "Chain", call: "Call", sender: bytes
) -> "tuple[Asset | None, str]":
    """Return the currency in which *sender* would pay for *call*, or why it is unknown; neither of
    them offline."""
    from scenarioctl.transactions.simulation.fees import fee_currency
    from scenarioctl.transactions.simulation.runtime_api import Inconclusive

    if app.settings.offline:
        return None, ""
    try:
        return (await fee_currency(app.client(chain), app.assets, call, sender)).asset, ""
    except Inconclusive as problem:
        return None, str(problem)


@dataclass(frozen=True, kw_only=True)
class SourceFields:
    """Fields of an operation that takes a transaction as hex, from a scenario, or from a job."""

    #: 0x hex of an unsigned extrinsic or of call data.
    tx: TransactionHex = ""
    #: Chain of `tx`. A scenario and a draft have their own.
    chain: ChainName = ""
    #: Make `tx`, or the transaction of `scenario`, as this account of the address book, a multisig
    #: or one that has proxies; `sender` signs.
    acting: ActingName = ""
    #: Id of a stored scenario that drafts the transaction.
    scenario: SourceScenario = ""
    #: Which transaction of the scenario (default the first): its number, counted from 1, or the id
    #: of its node.
    step: StepName = ""
    #: With `scenario`: all its transactions in one, which does all of them or nothing.
    together: Annotated[bool, Value(rare=True)] = False
    #: Confirm a receiver without a private key, like the account of a pallet.
    yes: bool = False
    #: Take the transaction from the mempool of this job.
    job: JobName = ""
    #: With `job`: the draft, by its seq in `job drafts` (default the newest).
    draft: Annotated[int | str, Value("SEQ", rare=True)] = ""


@dataclass(frozen=True, kw_only=True)
class Unsigned:
    """A transaction that somebody may sign."""

    chain: "Chain"
    table: "RuntimeTable"
    transaction: "UnsignedTransaction"
    #: What it is in the store; None for hex.
    drafted: "DraftedCall | None" = None


async def find_unsigned(
    app: Application, request: SourceFields, sender: bytes | None = None
) -> Unsigned:
    """Return the transaction that *request* names; one of a scenario is checked for a *sender*."""
    given = [name for name in ("tx", "scenario", "job") if getattr(request, name)]
    if not given:
        raise InvalidRequest(
            field="tx",
            problem="is missing",
            expected=(
                "0x hex of an unsigned transaction, the id of a scenario, or a job and its draft"
            ),
        )
    if len(given) > 1:
        raise InvalidRequest(
            field=given[0], problem=f"and {given[1]} are both given", expected="only one"
        )
    if request.chain and not request.tx:
        raise InvalidRequest(
            field="chain",
            value=request.chain,
            problem=f"cannot be combined with {given[0]}, which has its own chain: omit it",
        )
    if request.together and request.step != "":
        raise InvalidRequest(
            field="step", value=request.step, problem="and together are both given: omit one"
        )
    for name, of in (("step", "scenario"), ("together", "scenario"), ("draft", "job")):
        if getattr(request, name) not in ("", False) and not getattr(request, of):
            raise InvalidRequest(
                field=name,
                value=getattr(request, name),
                problem=f"needs a {of}",
                expected=f"its id in {of}",
            )
    if request.scenario:
        return await _from_scenario(app, request, sender)
    if request.job:
        if request.acting:
            raise InvalidRequest(
                field="as",
                value=request.acting,
                problem=(
                    "cannot be combined with job, whose drafts are made as its scenario says: "
                    "omit it"
                ),
            )
        return await _from_job(app, request)
    data = parse_hex(request.tx, field="tx")
    if not request.chain:
        raise InvalidRequest(
            field="chain", problem="is missing", expected="the chain that tx is for"
        )
    chain = app.registry.find(request.chain)
    found = await _read(app, chain, data)
    if app.acting is None:
        return found
    from scenarioctl.actions.drafting import act_as

    acted = await act_as(app, chain, found.table, found.transaction.call)
    transaction = replace(
        found.transaction,
        call=acted.call,
        call_data=found.table.encode_call(acted.call),
        notes=acted.notes,
        warnings=(*found.transaction.warnings, *acted.warnings),
    )
    return replace(found, transaction=transaction)


async def _read(app: Application, chain: "Chain", data: bytes) -> Unsigned:
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.operations.views import read_unsigned

    table = await app.runtime(chain)
    call, call_data = await read_aside(app, data, read_unsigned, table, chain, data)
    transaction = UnsignedTransaction(
        chain=chain.name,
        call=call,
        call_data=call_data,
        spec_version=table.spec_version,
        warnings=app.runtime_warnings(chain, table),
    )
    return Unsigned(chain=chain, table=table, transaction=transaction)


async def _from_scenario(app: Application, request: SourceFields, sender: bytes | None) -> Unsigned:
    from scenarioctl.actions.batching import draft_together
    from scenarioctl.actions.drafts import draft_first
    from scenarioctl.operations.sent_matches import drafted_call, look
    from scenarioctl.operations.sent_records import warn_of_scenario
    from scenarioctl.operations.stored_diagrams import open_scenario, warn_of_conditions

    looked = await look(app, request.scenario)
    diagram = await open_scenario(app, request.scenario, yes=request.yes)
    if request.together:
        node = ""
        transaction, _ = await draft_together(app, diagram, sender=sender)
    else:
        first = await draft_first(app, diagram, step=request.step, sender=sender)
        node, transaction = first.node, first.transaction
    chain = app.registry.find(transaction.chain)
    drafted = drafted_call(app, request.scenario, node, transaction)
    warnings = (
        *warn_of_conditions(diagram),
        *transaction.warnings,
        *await warn_of_scenario(app, request.scenario, node),
        *looked.warnings,
    )
    return Unsigned(
        chain=chain,
        table=await app.runtime(chain),
        transaction=replace(transaction, warnings=warnings),
        drafted=drafted,
    )


async def _from_job(app: Application, request: SourceFields) -> Unsigned:
    from scenarioctl.model.jobs import NO_TRANSACTION
    from scenarioctl.operations.sent_matches import call_of_draft, look
    from scenarioctl.operations.sent_records import warn_of_scenario, warn_of_sent
    from scenarioctl.transactions.extrinsic import explain_incompatibility

    entry = await _find_draft(app, request)
    draft, name = entry.draft, f"draft {entry.seq} of job {shorten(entry.job)}"
    if draft.spec_version is None:
        what = NO_TRANSACTION if draft.tx == NO_TRANSACTION else f"a {draft.tx_type}"
        raise InvalidRequest(field=name, problem=f"is not a transaction: {what}")
    if entry.flag:
        raise Conflict(field=name, problem=f"must not be signed: {entry.flag}")
    chain = app.registry.find(draft.chain)
    unsigned = await _read(app, chain, parse_hex(draft.tx, field="tx"))
    if unsigned.table.spec_version != draft.spec_version:
        old = app.older_runtime(chain, draft.spec_version)
        reason = explain_incompatibility(
            old, unsigned.table, draft.tx, spec_version=draft.spec_version
        )
        if reason:
            raise Conflict(field=name, problem=f"must not be signed: {reason}")
    late: tuple[str, ...] = ()
    if draft.expires is not None and app.clock() >= draft.expires:
        late = (f"{name} expired at {timestamp(draft.expires)}; draft it again before you sign it",)
    looked = await look(app, entry.job)
    sent = await app.store.sent().of_drafts([entry.seq])
    own = [(made, each) for made, each in sent if made.scenario == entry.job]
    warnings = (
        *unsigned.transaction.warnings,
        *late,
        *warn_of_sent(name, own),
        # In place of this draft, perhaps.
        *await warn_of_scenario(
            app, entry.job, draft.node, since=draft.date, but=[each.hash for _, each in own]
        ),
        *looked.warnings,
    )
    return replace(
        unsigned,
        transaction=replace(unsigned.transaction, warnings=warnings),
        drafted=call_of_draft(entry),
    )


async def _find_draft(app: Application, request: SourceFields) -> "MempoolEntry":
    """Return the draft that *request* names; the newest transaction if it names none."""
    if request.draft == "":
        entries = await app.store.read_mempool(request.job)
        drafted = [entry for entry in entries if entry.draft.spec_version is not None]
        if not drafted:
            raise NotFound(
                field="job", value=request.job, problem="has no drafted transaction in its mempool"
            )
        return drafted[-1]
    return await find_draft(app, request.job, request.draft)


async def find_draft(app: Application, job: str, draft: int | str) -> "MempoolEntry":
    """Return the draft of *job* with the number *draft*; NotFound if its mempool doesn't have
    it."""
    seq = read_number(
        draft, field="draft", kind="the number of a draft", expected="its seq in the mempool"
    )
    found = await app.store.read_mempool(job, after=max(seq - 1, 0), limit=1)
    if not found or found[0].seq != seq:
        raise NotFound(
            f"draft {seq} is not in the mempool of job {shorten(job)}, whose drafts have "
            "their number in seq"
        )
    return found[0]
