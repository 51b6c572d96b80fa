"""Stored scenarios: find, show, summarise, import, export, delete."""

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Required, TypedDict, cast

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, Conflict, InvalidRequest, ScenarioctlError, shorten
from scenarioctl.formats.documents import canonical_json, write_json
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.json_types import CheckAnswer, Hex, ScenarioId, Timestamp
from scenarioctl.operations.built_transactions import CheckableFields, check_sender, passed_check
from scenarioctl.operations.results import Done, Result
from scenarioctl.operations.signing_fields import check_output_format, payload_warnings, write_transaction
from scenarioctl.stores import StoredScenario, check_id

if TYPE_CHECKING:
    from scenarioctl.actions.drafting import Drafted

__all__ = [
    "delete_scenario",
    "export_scenario",
    "full_scenario_info",
    "import_scenario",
    "list_scenarios",
    "scenario_info",
    "show_scenario",
]

#: Bytes of JSON that are read on the event loop, in a few milliseconds; larger diagrams are read aside …
_AT_ONCE = 64 * 1024
#: … and so are those of more nodes written.
_NODES_AT_ONCE = 100


@dataclass(frozen=True, kw_only=True)
class ScenarioInfo:
    """Summarise a scenario in one line."""

    id: str


class ScenarioSummary(TypedDict):
    #: `assetHub > xTransfer > hydraDx`
    result: str


async def scenario_info(app: Application, request: ScenarioInfo) -> Result[ScenarioSummary]:
    return Result(answer={"result": (await app.store.get_scenario(request.id)).summary})


@dataclass(frozen=True, kw_only=True)
class FullScenarioInfo(CheckableFields):
    """Describe and draft the first transaction of a scenario; of several, `transactions` has all."""

    id: str
    #: Confirm receivers that nobody holds the key of, for this answer.
    yes: bool = False


class DescribedTransaction(TypedDict):
    tx: "Hex"
    summary: str
    asset: str
    #: Whole tokens, as the scenario has it.
    amount: str
    source_chain: str
    dest_chain: str
    txtype: str
    spec_version: int


class StepTransaction(TypedDict, total=False):
    """What one step drafts; a step that cannot draft now has only `node`, `error` and `code`."""

    node: Required[str]
    tx: "Hex"
    summary: str
    asset: str
    amount: str
    source_chain: str
    dest_chain: str
    txtype: str
    spec_version: int
    warnings: list[str]
    check: CheckAnswer
    error: str
    code: str


class FirstTransaction(DescribedTransaction):
    #: Built offline, not checked against a node.
    offline: NotRequired[Literal[True]]
    #: Of every step that drafts a transaction, in order; left out if there is only one.
    transactions: NotRequired[list[StepTransaction]]


class FullScenario(TypedDict):
    result: FirstTransaction
    check: NotRequired[CheckAnswer]


async def full_scenario_info(app: Application, request: FullScenarioInfo) -> Result[FullScenario]:
    from contextlib import aclosing

    from scenarioctl.actions.drafting import draft_each, draft_first
    from scenarioctl.actions.transfer import confirm_receivers

    check_output_format(request.output_format)
    sender = check_sender(request.check, request.sender)
    stored = await app.store.get_scenario(request.id)
    diagram = await open_blob(app, stored.blob, request.id)
    if request.yes:
        diagram = confirm_receivers(diagram)
    first = await draft_first(app, diagram, sender=sender)
    transaction = first.transaction
    result = cast("FirstTransaction", await _describe(app, first, request))
    if transaction.offline:
        result["offline"] = True
    others: list[StepTransaction] = []
    async with aclosing(draft_each(app, diagram, sender=sender, after=first.node)) as drafting:
        async for node, outcome in drafting:
            others.append(await _transaction_of(app, node, outcome, request))
    answer: FullScenario = {"result": result}
    check = passed_check(transaction)
    if check is not None:
        answer["check"] = check.answer()
    notes = transaction.notes
    if others:
        result["transactions"] = [await _transaction_of(app, first.node, first, request), *others]
        if request.output_format == "payload":
            said = "each payload has the nonce that the sender has now: submit one transaction before you prepare the next"
            notes = (*notes, said)
    return Result(
        answer=answer, notes=notes, warnings=(*transaction.warnings, *payload_warnings(app, request))
    )


async def _describe(app: Application, drafted: "Drafted", request: FullScenarioInfo) -> DescribedTransaction:
    return {
        "tx": await write_transaction(app, drafted.transaction, request),
        "summary": f"{drafted.source_chain} > {drafted.txtype} > {drafted.dest_chain}",
        "asset": drafted.asset,
        "amount": drafted.amount,
        "source_chain": drafted.source_chain,
        "dest_chain": drafted.dest_chain,
        "txtype": drafted.txtype,
        "spec_version": drafted.transaction.spec_version,
    }


async def _transaction_of(
    app: Application, node: str, outcome: "Drafted | ScenarioctlError", request: FullScenarioInfo
) -> StepTransaction:
    """Return what a step drafts, or in its place why it drafts nothing now: the first step's is there all the same."""
    try:
        if isinstance(outcome, ScenarioctlError):
            raise outcome
        check = passed_check(outcome.transaction)
        said = cast("StepTransaction", {"node": node, **await _describe(app, outcome, request)})
    except ScenarioctlError as error:
        return {"node": node, "error": str(error), "code": error.code}
    said["warnings"] = list(outcome.transaction.warnings)
    if check is not None:
        said["check"] = check.answer()
    return said


@dataclass(frozen=True, kw_only=True)
class ListScenarios:
    """List the stored scenarios, a page at a time."""

    #: At most this many.
    limit: int | str = 50
    #: The `next` of the page before.
    after: str = ""
    chain: str = ""
    #: Text that the summary, the name or the id holds.
    search: str = ""
    #: `created`, `id` or `summary`.
    sort: str = "created"
    descending: bool = False


class _MaybeNamed(TypedDict, total=False):
    name: str


class ScenarioRow(_MaybeNamed):
    id: "ScenarioId"
    summary: str
    chains: list[str]
    created: "Timestamp"
    #: Bytes of the stored blob.
    size: int


class ScenarioList(TypedDict):
    scenarios: list[ScenarioRow]
    total: int
    #: `after` of the next page; null on the last one.
    next: str | None


async def list_scenarios(app: Application, request: ListScenarios) -> Result[ScenarioList]:
    chain = app.registry.find(request.chain).name if request.chain else ""
    page = await app.store.list_scenarios(
        limit=page_size(request.limit),
        after=request.after,
        chain=chain,
        search=request.search,
        sort=request.sort,
        descending=request.descending,
    )
    rows: list[ScenarioRow] = [
        {
            "id": row.id,
            **_named(row.name),
            "summary": row.summary,
            "chains": list(row.chains),
            "created": timestamp(row.created),
            "size": row.size,
        }
        for row in page.items
    ]
    warnings = tuple(
        f"scenario {shorten(id)} is damaged in the store and left out here: delete it and create it again"
        for id in page.damaged
    )
    return Result(
        answer={"scenarios": rows, "total": page.total, "next": page.next or None}, warnings=warnings
    )


def _named(name: str) -> _MaybeNamed:
    return {"name": name} if name else {}


def page_size(value: int | str) -> int:
    """Return *value*, a number or its digits; the store judges how large a page may be."""
    if isinstance(value, int):
        return value
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise InvalidRequest(f"limit {shorten(value)} is not a page size, expected a number from 1 to 1000")
    return int(value)


def timestamp(nanoseconds: int) -> str:
    """Return ISO 8601 UTC with nanoseconds, as the interface writes dates."""
    from datetime import UTC, datetime

    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


@dataclass(frozen=True, kw_only=True)
class ShowScenario:
    """Show a scenario's steps, and what is wrong with them."""

    id: str


class StepText(TypedDict):
    id: str
    type: str
    text: str


class EdgeEnds(TypedDict):
    source: str
    target: str


class StepProblem(TypedDict):
    node: str
    problem: str
    #: Nothing to fix: a run brings the data.
    waiting: NotRequired[Literal[True]]


class ScenarioDetails(_MaybeNamed):
    id: "ScenarioId"
    summary: str
    created: "Timestamp"
    nodes: list[StepText]
    edges: list[EdgeEnds]
    problems: list[StepProblem]


async def show_scenario(app: Application, request: ShowScenario) -> Result[ScenarioDetails]:
    from scenarioctl.actions.problems import find_problems
    from scenarioctl.actions.summaries import describe_node

    stored = await app.store.get_scenario(request.id)
    diagram = await open_blob(app, stored.blob, request.id)
    breathe = app.breather()
    nodes: list[StepText] = []
    for node in diagram.in_safe_order():
        await breathe()
        nodes.append({"id": node.id, "type": node.type, "text": describe_node(app, node, diagram)})
    found: list[StepProblem] = []
    for problem in await find_problems(app.unconnected(), diagram):
        # What only a chain can answer is no problem if the chain can be asked.
        if app.settings.offline or problem.code != ChainUnreachable.code:
            found.append({"node": problem.node, "problem": problem.sentence})
            if problem.waiting:
                found[-1]["waiting"] = True
    return Result(
        answer={
            "id": stored.id,
            **_named(diagram.name),
            "summary": stored.summary,
            "created": timestamp(stored.created),
            "nodes": nodes,
            "edges": [{"source": edge.source, "target": edge.target} for edge in diagram.edges],
            "problems": found,
        }
    )


@dataclass(frozen=True, kw_only=True)
class ImportScenario:
    """Store a diagram: the editor's share string, a link with one, or the diagram's JSON."""

    url: str
    #: Id to store it under; left out, it is a fresh one, or that of the same diagram if it is stored already.
    id: str = ""


class ImportedScenario(TypedDict):
    success: Literal[True]
    #: The scenario's id.
    shortUrl: "ScenarioId"


async def import_scenario(app: Application, request: ImportScenario) -> Result[ImportedScenario]:
    if request.id:
        check_id(request.id)
    # A share string may unpack to a thousand times its size.
    text, facts = await app.aside(_read_import, app, request.url)
    if request.id:
        fresh, id = await _import_as(app, request.id, text, facts), request.id
    else:
        fresh, id = await _store(app, text, facts, known=True)
    notes = () if fresh else (f"This diagram is stored already, as {id}.",)
    return Result(answer={"success": True, "shortUrl": id}, notes=notes)


def _read_import(app: Application, url: str) -> "tuple[bytes, Facts]":
    from scenarioctl.formats.share import read_import

    document = read_import(url, field="diagram")
    # In its own order, so that what is exported is what was imported.
    return write_json(document), _facts_of(app, read_diagram(document, field="diagram"))


async def _import_as(app: Application, id: str, text: bytes, facts: "Facts") -> bool:
    """Store a diagram under *id*, and tell whether it is new there; Conflict if another diagram has that id."""
    from scenarioctl.formats.compression import unpack

    try:
        await app.store.put_scenario(_scenario(app, id, text, facts))
    except Conflict:
        stored = await app.store.get_scenario(id)
        # Whatever the order of its keys: an older version stored them sorted.
        if await app.aside(lambda: unpack(stored.blob, name=f"scenario {id}") != json.loads(text)):
            raise Conflict(
                f"scenario {id!r} is in the store with another diagram: delete that one, or import this one without its id"
            ) from None
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class ExportScenario:
    """Give a scenario back as the editor's share string, or as JSON."""

    id: str


class ExportedScenario(TypedDict):
    success: Literal[True]
    #: The editor's share string.
    longUrl: str


async def export_scenario(app: Application, request: ExportScenario) -> Result[ExportedScenario]:
    stored = await app.store.get_scenario(request.id)
    return Result(answer={"success": True, "longUrl": await app.aside(_write_share, stored)})


def _write_share(stored: StoredScenario) -> str:
    from scenarioctl.formats.share import write_share

    return write_share(_read_blob(stored.blob, stored.id).document)


@dataclass(frozen=True, kw_only=True)
class DeleteScenario:
    """Remove a scenario from the store."""

    id: str


async def delete_scenario(app: Application, request: DeleteScenario) -> Result[Done]:
    await app.store.delete_scenario(request.id)
    return Result(answer={"success": True, "result": f"Deleted {request.id}"})


async def open_blob(app: Application, blob: bytes, scenario_id: str) -> Diagram:
    """Return the diagram in a stored blob."""
    from scenarioctl.formats.compression import unpacked_size

    if unpacked_size(blob) <= _AT_ONCE:
        return _read_blob(blob, scenario_id)
    return await app.aside(_read_blob, blob, scenario_id)


def _read_blob(blob: bytes, scenario_id: str) -> Diagram:
    from scenarioctl.formats.compression import unpack

    return read_diagram(unpack(blob, name=f"scenario {scenario_id}"), field=f"scenario {scenario_id}")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the store keeps of a diagram beside its blob."""

    summary: str
    chains: tuple[str, ...]
    webhooks: tuple[str, ...] = ()
    name: str = ""


async def store_document(app: Application, document: Any, diagram: Diagram | None = None) -> str:
    """Store a diagram that was drawn here under a fresh id, and return the id; *diagram* is what was read of it already."""
    if len(document["nodes"]) <= _NODES_AT_ONCE:
        text, facts = _write_document(app, document, diagram)
    else:
        text, facts = await app.aside(_write_document, app, document, diagram)
    return (await _store(app, text, facts))[1]


def _write_document(app: Application, document: Any, diagram: Diagram | None) -> "tuple[bytes, Facts]":
    facts = _facts_of(app, diagram or read_diagram(document, field="diagram"))
    return canonical_json(document), facts


async def _store(app: Application, text: bytes, facts: Facts, *, known: bool = False) -> tuple[bool, str]:
    """Store a diagram under a fresh id; tell whether it was stored now, and the id.

    *known*: not if the same text is stored already, and the id is that one's.
    """
    for _ in range(8):
        scenario = _scenario(app, app.new_id(), text, facts)
        try:
            if known:
                id = await app.store.keep_scenario(scenario)
                return id == scenario.id, id
            await app.store.put_scenario(scenario)
        except Conflict:
            continue
        return True, scenario.id
    raise Conflict("no free scenario id was found in 8 tries, try again")


def _scenario(app: Application, id: str, text: bytes, facts: Facts) -> StoredScenario:
    from scenarioctl.formats.compression import pack_text

    now = app.clock()
    return StoredScenario(
        id=id,
        blob=pack_text(text),
        summary=facts.summary,
        chains=facts.chains,
        webhooks=facts.webhooks,
        created=now,
        updated=now,
        name=facts.name,
        digest=hashlib.sha256(text).digest()[:16],
    )


def _facts_of(app: Application, diagram: Diagram) -> Facts:
    from scenarioctl.actions.summaries import chains_of, summarise
    from scenarioctl.actions.webhook import webhooks_of

    return Facts(
        summary=summarise(diagram, app.registry),
        chains=tuple(sorted(chains_of(diagram, app.registry))),
        webhooks=webhooks_of(diagram),
        name=diagram.name,
    )
