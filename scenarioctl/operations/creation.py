"""Create scenarios: a transfer, a swap, a remark, a query, or a flow of several steps."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from scenarioctl.actions.chain_query import QueryStep
from scenarioctl.actions.remark import RemarkStep
from scenarioctl.actions.swap import BoundedSwapStep
from scenarioctl.actions.transfer_fields import (
    TRANSFER,
    LossFields,
    TransferFields,
    TransferStep,
    complete,
    is_open,
)
from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.model.amounts import values_of
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.json_types import CheckAnswer, Hex, ScenarioId
from scenarioctl.model.request_fields import (
    Syntax,
)
from scenarioctl.operations.built_transactions import (
    CHECKED_ALONE,
    WHOSE_BALANCE,
    Checked,
    CreationFields,
    LabelFields,
    RuntimeUsed,
    check_sender,
    hex_of,
    parse_sender,
    passed_check,
    refuse_checked_loss,
    runtime_used,
)
from scenarioctl.operations.results import Result, refuse_warnings
from scenarioctl.operations.stored_diagrams import (
    ONLY_CHECKED,
    add_labels,
    describe_account,
    note_created,
    open_flow,
    store_document,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from scenarioctl.actions.flow_files import DrawnFlow
    from scenarioctl.actions.vocabulary import Reading
    from scenarioctl.model.calls import UnsignedTransaction

__all__ = ["create_flow", "create_query", "create_remark", "create_scenario", "create_swap"]


@dataclass(frozen=True, kw_only=True)
class CreateScenario(TransferStep, TransferFields, LossFields, CreationFields):
    """Create a transfer scenario between two chains, or within one; of an `amount` max it keeps
    the number."""


class CreatedScenario(Checked):
    result: "ScenarioId"
    #: Of an amount `max`: how many endpoints it rests on, as in a check.
    asked: NotRequired[Literal[1, 2]]


async def create_scenario(app: Application, request: CreateScenario) -> Result[CreatedScenario]:
    from scenarioctl.actions.drafting import check_death
    from scenarioctl.actions.fields import is_maximum
    from scenarioctl.actions.transfer import draft_step, draw, maximize
    from scenarioctl.actions.vocabulary import Reading
    from scenarioctl.formats.diagram_builder import DiagramBuilder
    from scenarioctl.model.formulas import needs_maximum

    is_max = is_maximum(request.amount)
    asked: Literal[0, 1, 2] = 0
    closing = bool(request.allow_death)
    fields = {**values_of(request), "allow_death": closing}
    if is_max:
        # Any amount will do until the largest is known.
        fields |= {"amount": 1, "allow_death": False}
    transfer = Reading(app, TRANSFER, fields)
    is_read = bool(request.acting) or needs_maximum(str(request.amount))
    sender = check_sender(request.check, request.sender, transfer["source_chain"], is_read=is_read)
    refuse_checked_loss(check=request.check, accept_loss=request.accept_loss)
    if is_max:
        signer = parse_sender(request.sender, transfer["source_chain"], expected=WHOSE_BALANCE)
        asked = (await maximize(app, transfer, signer, allow_death=closing)).asked
    else:
        check_death(request.allow_death, transfer["source_chain"], transfer["dest_chain"])
    builder = DiagramBuilder()
    draw(builder, transfer, "")
    diagram = add_labels(app, builder.diagram(), request)
    if is_open(transfer):
        _read_single(diagram.document)
    created = await _store_drafted(
        app, request, diagram, sender, lambda view: draft_step(view, transfer, sender), transfer
    )
    if asked:
        created.answer["asked"] = asked
    return replace(created, notes=tuple(dict.fromkeys((*created.notes, *transfer.notes))))


@dataclass(frozen=True, kw_only=True)
class CreateSwap(BoundedSwapStep, CreationFields):
    """Create a swap scenario on the exchange parachain, and draft its transaction."""


class SwapTransaction(RuntimeUsed):
    swap_tx: "Hex"
    scenarioid: "ScenarioId"


class CreatedSwap(Checked):
    success: Literal[True]
    swap: SwapTransaction


async def create_swap(app: Application, request: CreateSwap) -> Result[CreatedSwap]:
    from scenarioctl.actions.drafts import draft_first

    sender = check_sender(request.check, request.sender, is_read=bool(request.acting))
    diagram = _draw(app, "swap", request)
    drafted = await draft_first(app, diagram, sender=sender)
    transaction = drafted.transaction
    check = passed_check(transaction)
    warnings = confirm_doubts(transaction, yes=request.yes)
    _judge(request, warnings)
    swap: SwapTransaction = {
        "swap_tx": hex_of(transaction),
        "scenarioid": await store_document(app, diagram.document, diagram),
        **runtime_used(transaction, offline=transaction.offline),
    }
    return Result(
        answer={"success": True, "swap": swap, **check},
        notes=(
            await note_created(app, swap["scenarioid"], diagram),
            *transaction.notes,
        ),
        warnings=warnings,
    )


def confirm_doubts(transaction: "UnsignedTransaction", *, yes: bool | None) -> tuple[str, ...]:
    """Return the warnings of *transaction*: with *yes* not those that are confirmed, with False a
    doubt is refused."""
    if yes is None:
        # A client of the interface can't know of `yes`.
        return tuple(dict.fromkeys((*transaction.warnings, *transaction.doubts)))
    if transaction.doubts and not yes:
        raise InvalidRequest("; ".join(transaction.doubts), advice="Pass `yes` if you mean it.")
    return tuple(each for each in transaction.warnings if each not in transaction.doubts)


@dataclass(frozen=True, kw_only=True)
class CreateRemark(RemarkStep, CreationFields):
    """Create a scenario that writes a text to a chain's history."""


async def create_remark(app: Application, request: CreateRemark) -> Result[CreatedScenario]:
    from scenarioctl.actions.drafts import draft_first

    sender = check_sender(request.check, request.sender, is_read=bool(request.acting))
    diagram = _draw(app, "Remark", request)

    async def draft(view: Application) -> "UnsignedTransaction":
        return (await draft_first(view, diagram, sender=sender)).transaction

    return await _store_drafted(app, request, diagram, sender, draft)


@dataclass(frozen=True, kw_only=True)
class CreateQuery(QueryStep, LabelFields):
    """Create a scenario that reads a chain: a storage entry, a constant, or a runtime call."""


async def create_query(app: Application, request: CreateQuery) -> Result[CreatedScenario]:
    return await _store(app, _draw(app, "chainQuery", request))


@dataclass(frozen=True, kw_only=True)
class CreateFlow(CreationFields):
    """Create a scenario of several steps from a flow file."""

    #: The file's text, or its content if it comes as JSON.
    flow: Any
    #: Syntax of the flow: `toml` or `json`.
    syntax: Syntax = "toml"


class StepCheck(CheckAnswer):
    #: The step as the flow file names it.
    step: str
    node: str
    summary: str


class CreatedFlow(TypedDict):
    result: "ScenarioId"
    #: Of every step that drafts a transaction, if a check was asked for.
    checks: NotRequired[list[StepCheck]]


async def create_flow(app: Application, request: CreateFlow) -> Result[CreatedFlow]:
    sender = check_sender(request.check, request.sender)
    flow = await open_flow(app, request.flow, syntax=request.syntax, checked=sender is not None)
    drawn, diagram = flow.drawn, flow.diagram
    if request.name or request.tags or request.acting:
        diagram = await app.aside(add_labels, app, diagram, request)
    if sender is None:
        _judge(request, flow.warnings)
        id = await store_document(app, diagram.document, diagram)
        return Result(
            answer={"result": id},
            notes=(await note_created(app, id, diagram), *flow.notes),
            warnings=flow.warnings,
        )
    stored = await _store_checked_flow(app, request, drawn, diagram, sender)
    opened = tuple(note for note in flow.notes if note.endswith(ONLY_CHECKED))
    return replace(stored, notes=(*stored.notes, *opened))


async def _store_checked_flow(
    app: Application, request: CreateFlow, drawn: "DrawnFlow", diagram: Diagram, sender: bytes
) -> Result[CreatedFlow]:
    """Store a flow each of whose transactions passes, by itself, on what the chains hold now."""
    checked = await check_steps(app, diagram, sender, drawn)
    _judge(request, checked.warnings)
    id = await store_document(app, diagram.document, diagram)
    return Result(
        answer={"result": id, "checks": checked.checks},
        warnings=tuple(checked.warnings),
        notes=(await note_created(app, id, diagram), *checked.notes),
    )


@dataclass(kw_only=True)
class CheckedSteps:
    """The checks of a scenario's transactions, and what is said beside them."""

    checks: list[StepCheck] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def check_steps(
    app: Application, diagram: Diagram, sender: bytes, drawn: "DrawnFlow | None" = None
) -> CheckedSteps:
    """Return the checks of all transactions of *diagram*, which must pass; steps are called as in
    the flow that was *drawn*."""
    from contextlib import aclosing

    from scenarioctl.actions.drafts import draft_each
    from scenarioctl.actions.placeholders import WaitsForData

    found = CheckedSteps()
    async with aclosing(draft_each(app, diagram, sender=sender)) as drafting:
        async for node, outcome in drafting:
            name = node if drawn is None else drawn.place(node)
            if isinstance(outcome, WaitsForData) and drawn is not None:
                found.notes.append(f"{name} was not checked: {drawn.reason(node, outcome)}")
                continue
            try:
                if isinstance(outcome, ScenarioctlError):
                    raise outcome
                check = passed_check(outcome.transaction)
            except ScenarioctlError as error:
                raise (
                    error.within(name) if drawn is None else drawn.explain(node, error)
                ) from None
            if "check" in check:
                found.checks.append(
                    {
                        "step": name,
                        "node": outcome.node,
                        "summary": outcome.summary,
                        **check["check"],
                    }
                )
            found.notes += [f"{name}: {note}" for note in outcome.transaction.notes]
            found.warnings += [f"{name}: {warning}" for warning in outcome.transaction.warnings]
    if not found.checks:
        found.notes.append("nothing was checked: no step of this flow drafts a transaction now")
    elif len(found.checks) > 1:
        found.notes.append(CHECKED_ALONE)
    return found


def _judge(
    request: CreateScenario | CreateSwap | CreateRemark | CreateFlow, warnings: "Iterable[str]"
) -> None:
    """Raise Warned if the request is strict and there are warnings; nothing is stored yet."""
    if request.strict:
        refuse_warnings(warnings)


def _draw(app: Application, name: str, request: CreateSwap | CreateRemark | CreateQuery) -> Diagram:
    """Return the diagram of one step of the type *name*."""
    from scenarioctl.actions.flow_files import draw_single

    document = draw_single(app, name, **values_of(request))
    return add_labels(app, _read_single(document), request)


def _read_single(document: Any) -> Diagram:
    """Return the diagram of a scenario of one step, which has no placeholders: no step before it
    could fill them."""
    from scenarioctl.actions.flow_files import in_keys
    from scenarioctl.actions.problems import unfillable_fields

    diagram = read_diagram(document)
    for step, error in unfillable_fields(diagram):
        raise error if step is None else in_keys(step, error)
    return diagram


async def _store_drafted(
    app: Application,
    request: CreateScenario | CreateRemark,
    diagram: Diagram,
    sender: bytes | None,
    draft: "Callable[[Application], Awaitable[UnsignedTransaction]]",
    transfer: "Reading | None" = None,
) -> Result[CreatedScenario]:
    """Store a scenario if its transaction can be drafted, and with a *sender* if it passes its
    check.

    Without a *sender* no node is asked. A scenario can be written without a network: if the chain's
    runtime is not known here, or only a connection tells what a transfer costs, the first run
    judges it.
    """
    from scenarioctl.transactions.transfer.request import OnlyConnected

    try:
        transaction = await draft(app if sender is not None else app.unconnected())
    except ChainUnreachable:
        if sender is not None:
            raise
        return await _store(app, diagram)
    except OnlyConnected as problem:
        if sender is not None:
            raise
        stored = await _store(app, diagram)
        return replace(
            stored, notes=(*stored.notes, f"It is not drafted yet, since {problem.reason}.")
        )
    check = passed_check(transaction)
    _judge(request, transaction.warnings)
    account = ""
    if sender is not None and transfer is not None:
        receiver = transfer["destination_address"][1]
        # The check has just asked the receiver's chain.
        account = receiver and await describe_account(app, transfer["dest_chain"], receiver)
    stored = await _store(app, diagram, account)
    opened = (
        (ONLY_CHECKED,)
        if sender is not None and transfer is not None and _opens_by_check(app, transfer)
        else ()
    )
    return replace(
        stored,
        answer={**stored.answer, **check},
        warnings=transaction.warnings,
        notes=(*stored.notes, *(transaction.notes if sender is not None else ()), *opened),
    )


def _opens_by_check(app: Application, transfer: "Reading") -> bool:
    """Tell whether only a check opens the route of *transfer*."""
    from scenarioctl.transactions.transfer.request import OnlyChecked
    from scenarioctl.transactions.transfer.routes import check_route

    try:
        check_route(complete(transfer), app.assets)
    except OnlyChecked:
        return True
    except InvalidRequest:
        return False
    return False


async def _store(app: Application, diagram: Diagram, account: str = "") -> Result[CreatedScenario]:
    """Store a scenario and say what was understood; *account* is what is known of the receiver's
    account."""
    id = await store_document(app, diagram.document, diagram)
    return Result(
        answer={"result": id}, notes=(await note_created(app, id, diagram, account=account),)
    )
