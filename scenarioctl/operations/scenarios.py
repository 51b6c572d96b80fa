"""Stored scenarios: list, count, show, summarize, import, export, delete."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Required, TypedDict, cast

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, InvalidRequest, NotFound, ScenarioctlError
from scenarioctl.formats.documents import write_json
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.json_types import (
    SHOWN,
    BatchPayment,
    Column,
    Hex,
    Meaning,
    ScenarioId,
    Timestamp,
    timestamp,
)
from scenarioctl.model.request_fields import (
    ChainName,
    OwnScenarioId,
    OwnScenarioName,
    ScenarioName,
    StepName,
    Value,
)
from scenarioctl.operations.built_transactions import BuiltFields, explain, hex_of
from scenarioctl.operations.job_runs import LastRun, last_runs_of
from scenarioctl.operations.results import Done, PageFields, Result, read_page_size
from scenarioctl.operations.sent_matches import drafted_call, note_drafted
from scenarioctl.operations.sent_records import SentScenario, read_sent
from scenarioctl.operations.stored_diagrams import (
    created,
    open_blob,
    open_scenario,
    pack_diagram,
    read_blob,
    store_as,
    store_new,
    titles_of,
    understand,
    warn_of_conditions,
)
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.validation import check_id

if TYPE_CHECKING:
    from scenarioctl.actions.drafting import Drafted

__all__ = [
    "count_templates",
    "delete_scenario",
    "export_scenario",
    "full_scenario_info",
    "import_scenario",
    "list_scenarios",
    "scenario_info",
    "show_scenario",
]


@dataclass(frozen=True, kw_only=True)
class ScenarioInfo:
    """Summarize a scenario in one line."""

    id: ScenarioName


class ScenarioSummary(TypedDict):
    #: `assetHub > xTransfer > hydraDx`
    result: str


async def scenario_info(app: Application, request: ScenarioInfo) -> Result[ScenarioSummary]:
    return Result(answer={"result": (await app.store.get_scenario(request.id)).summary})


@dataclass(frozen=True, kw_only=True)
class FullScenarioInfo(BuiltFields):
    """Show a scenario and its first unsigned transaction; if there are several, `transactions` has
    all of them."""

    id: ScenarioName
    #: Draft only this transaction: its number, counted from 1 among those of the scenario, or the
    #: id of its node.
    step: StepName = ""
    #: Confirm a receiver without a private key, like the account of a pallet, for this answer only.
    yes: bool = False


class DescribedTransaction(Meaning):
    tx: "Hex"
    summary: str
    asset: str
    #: Whole tokens, as the scenario has it.
    amount: str
    source_chain: str
    dest_chain: str
    txtype: str
    spec_version: int
    #: Of a swap: how many endpoints its quote rests on, as in a check.
    asked: NotRequired[Literal[1, 2]]


class StepTransaction(TypedDict, total=False):
    """What one step drafts; a step that cannot draft now has only `node`, `error` and `code`."""

    node: Required[str]
    tx: "Hex"
    says: str
    payments: list[BatchPayment]
    summary: str
    asset: str
    amount: str
    source_chain: str
    dest_chain: str
    txtype: str
    spec_version: int
    asked: Literal[1, 2]
    warnings: list[str]
    error: str
    code: str


class FirstTransaction(DescribedTransaction):
    #: Built offline, not checked against a node.
    offline: NotRequired[Literal[True]]
    #: Of every step that drafts a transaction, in order; left out if there is only one.
    transactions: NotRequired[list[StepTransaction]]


class FullScenario(TypedDict):
    result: FirstTransaction


async def full_scenario_info(app: Application, request: FullScenarioInfo) -> Result[FullScenario]:
    from contextlib import aclosing

    from scenarioctl.actions.drafts import CarriedData, draft_each, draft_first

    diagram = await open_scenario(app, request.id, yes=request.yes)
    carried = CarriedData(diagram)
    first = await draft_first(app, diagram, step=request.step, carried=carried)
    transaction = first.transaction
    result = cast("FirstTransaction", {**await _describe(app, first)})
    if transaction.offline:
        result["offline"] = True
    others: list[StepTransaction] = []
    made = [first]
    if request.step == "":
        async with aclosing(
            draft_each(app, diagram, after=first.node, carried=carried)
        ) as drafting:
            async for node, outcome in drafting:
                if isinstance(outcome, ScenarioctlError):
                    others.append({"node": node, "error": outcome.statement, "code": outcome.code})
                else:
                    others.append(await _step_transaction(app, outcome))
                    made.append(outcome)
    await note_drafted(
        app, [drafted_call(app, request.id, each.node, each.transaction) for each in made]
    )
    if others:
        result["transactions"] = [await _step_transaction(app, first), *others]
    return Result(
        answer={"result": result},
        notes=transaction.notes,
        warnings=(*warn_of_conditions(diagram), *transaction.warnings),
    )


async def _describe(app: Application, drafted: "Drafted") -> DescribedTransaction:
    meaning = await explain(app, drafted.transaction)
    described: DescribedTransaction = {
        "tx": hex_of(drafted.transaction),
        "says": meaning["says"],
        "summary": drafted.summary,
        "asset": drafted.asset,
        "amount": drafted.amount,
        "source_chain": drafted.source_chain,
        "dest_chain": drafted.dest_chain,
        "txtype": drafted.txtype,
        "spec_version": drafted.transaction.spec_version,
    }
    if "payments" in meaning:
        described["payments"] = meaning["payments"]
    if drafted.transaction.asked:
        described["asked"] = drafted.transaction.asked
    return described


async def _step_transaction(app: Application, drafted: "Drafted") -> StepTransaction:
    step = {
        "node": drafted.node,
        **await _describe(app, drafted),
        "warnings": list(drafted.transaction.warnings),
    }
    return cast("StepTransaction", step)


@dataclass(frozen=True, kw_only=True)
class ListScenarios(PageFields):
    """List the stored scenarios, a page at a time."""

    #: Only scenarios that use this chain.
    chain: ChainName = ""
    #: Only scenarios that have this tag.
    tag: str = ""
    #: Only scenarios whose name, summary or id has this text in it.
    search: Annotated[str, Value("WORDS")] = ""
    #: Sort by `created` (default), `id` or `summary`.
    sort: Annotated[str, Value("KEY", offers=("created", "id", "summary"))] = "created"
    #: Last first, or first first. Default: the newest first if sorted by `created`, else from A to
    #: Z.
    descending: Annotated[bool | None, Value(off="--ascending")] = None


class _MaybeLabeled(TypedDict, total=False):
    name: Annotated[str, SHOWN]
    tags: Annotated[list[str], SHOWN]


class ScenarioRow(_MaybeLabeled):
    id: Annotated[ScenarioId, SHOWN]
    created: Annotated[Timestamp, SHOWN]
    #: In words: `1.5 DOT · Polkadot → Asset Hub`.
    title: Annotated[str, Column("what")]
    #: Who receives it, as the scenario has it; null if nobody does, or if several do.
    receiver: Annotated[str | None, SHOWN]
    #: Null if it never ran.
    last_run: Annotated[LastRun | None, SHOWN]
    #: Its transaction that was sent last; null if none was.
    sent: Annotated[SentScenario | None, SHOWN]
    summary: str
    chains: list[str]
    #: Bytes of the stored blob.
    size: int


class ScenarioList(TypedDict):
    scenarios: Annotated[list[ScenarioRow], SHOWN]
    total: int
    #: `after` of the next page; null on the last one.
    next: str | None


async def list_scenarios(app: Application, request: ListScenarios) -> Result[ScenarioList]:
    chain = app.registry.literal(request.chain) if request.chain else ""
    page = await app.existing_store.list_scenarios(
        limit=read_page_size(request.limit),
        after=request.after,
        chain=chain,
        tag=request.tag,
        search=request.search,
        sort=request.sort,
        descending=request.sort == "created" if request.descending is None else request.descending,
    )
    ids = [row.id for row in page.items]
    titles, runs = await titles_of(app, ids), await last_runs_of(app, ids)
    sent = await read_sent(app, {row.id: row.updated for row in page.items})
    rows: list[ScenarioRow] = [
        {
            "id": row.id,
            **_labels(row.name, row.tags),
            "title": titles[row.id].text if row.id in titles else row.summary,
            "receiver": (titles[row.id].receiver or None) if row.id in titles else None,
            "last_run": runs.get(row.id),
            "sent": next(iter(sent.get(row.id, ())), None),
            "summary": row.summary,
            "chains": list(row.chains),
            "created": timestamp(row.created),
            "size": row.size,
        }
        for row in page.items
    ]
    return Result(answer={"scenarios": rows, "total": page.total, "next": page.next or None})


def _labels(name: str, tags: Sequence[str]) -> _MaybeLabeled:
    labels: _MaybeLabeled = {"name": name} if name else {}
    if tags:
        labels["tags"] = list(tags)
    return labels


@dataclass(frozen=True, kw_only=True)
class ShowScenario:
    """Show the steps of a scenario and their problems."""

    id: OwnScenarioName


class StepText(TypedDict):
    id: Annotated[str, Column("step")]
    #: The type of its node in the web editor.
    type: Annotated[str, SHOWN]
    #: The step type, as in flow files; empty if it is unknown.
    step: str
    text: Annotated[str, Column("what")]


class EdgeEnds(TypedDict):
    source: str
    target: str


class StepProblem(TypedDict):
    node: Annotated[str, Column("problem in")]
    problem: Annotated[str, SHOWN]
    #: Nothing to fix: a run brings the data.
    waiting: NotRequired[Literal[True]]


class ActingDetails(TypedDict):
    """The account as which a scenario's transactions are made."""

    name: Annotated[str, SHOWN]
    address: Annotated[str, SHOWN]
    #: Who acts for it, in words, and as the address book has it.
    acting: Annotated[str, SHOWN]
    layers: list[dict[str, Any]]
    #: Who signs what its job drafts, as it was given; empty if anyone entitled can.
    signer: Annotated[str, SHOWN]


class _MaybeActing(TypedDict):
    #: The multisig or the account with proxies that makes its transactions; absent if the signer's
    #: own account does.
    acting: NotRequired[Annotated[ActingDetails, Column("made as")]]


class ScenarioDetails(_MaybeLabeled, _MaybeActing):
    id: Annotated[ScenarioId, SHOWN]
    #: In words: `1.5 DOT · Polkadot → Asset Hub`.
    title: str
    summary: Annotated[str, SHOWN]
    created: Annotated[Timestamp, SHOWN]
    #: What a change of this version names, so that it is refused if somebody else has changed the
    #: scenario meanwhile.
    revision: str
    nodes: Annotated[list[StepText], Column("steps")]
    edges: list[EdgeEnds]
    problems: Annotated[list[StepProblem], SHOWN]
    #: The transaction of each step that was sent last, the newest first.
    sent: Annotated[list[SentScenario], SHOWN]


async def show_scenario(app: Application, request: ShowScenario) -> Result[ScenarioDetails]:
    from scenarioctl.actions import find_step
    from scenarioctl.actions.problems import find_problems
    from scenarioctl.actions.story import tell_scenario, tell_step

    stored = await app.store.get_scenario(request.id)
    diagram = await open_blob(app, stored.blob, request.id)
    nodes: list[StepText] = []
    async with app.long_loop(len(diagram.nodes)) as breathe:
        for node in diagram.in_safe_order():
            await breathe()
            step = find_step(node)
            nodes.append(
                {
                    "id": node.id,
                    "type": node.type,
                    "step": step.name if step is not None else "",
                    "text": tell_step(app, diagram, node).sentence,
                }
            )
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
            **_labels(diagram.name, diagram.tags),
            "title": tell_scenario(app, diagram).title,
            "summary": stored.summary,
            "created": timestamp(stored.created),
            "revision": stored.revision,
            "nodes": nodes,
            "edges": [{"source": edge.source, "target": edge.target} for edge in diagram.edges],
            "problems": found,
            "sent": (await read_sent(app, {stored.id: stored.updated})).get(stored.id, []),
            **await _acting_of(app, diagram),
        }
    )


async def _acting_of(app: Application, diagram: Diagram) -> "_MaybeActing":
    from scenarioctl.operations.acting_accounts import describe_layers, write_address

    try:
        acting = diagram.acting
    except InvalidRequest:
        # Its transactions are refused with the reason.
        return {}
    if acting is None:
        return {}
    layers = [each.write() for each in acting.layers]
    names = {each.account: each.name for each in await app.store.addresses().list()}
    return {
        "acting": {
            "name": acting.name,
            "address": write_address(acting.layers),
            "acting": describe_layers(layers, names),
            "layers": layers,
            "signer": acting.signer,
        }
    }


@dataclass(frozen=True, kw_only=True)
class ImportScenario:
    """Store a diagram: the editor's share string, a link with one, or the diagram's JSON."""

    url: Annotated[str, Value("URL", called=("diagram",))]
    #: The id to store it under. Default: a new id, or the id of the same diagram if it is already
    #: stored.
    id: Annotated[str, Value("ID")] = ""


class ImportedScenario(TypedDict):
    success: Literal[True]
    #: The scenario's id.
    shortUrl: "ScenarioId"


async def import_scenario(app: Application, request: ImportScenario) -> Result[ImportedScenario]:
    if request.id:
        check_id(request.id)
    # A share string may unpack to a thousand times its size.
    scenario, understood = await app.aside(_read_import, app, request.url)
    if request.id:
        id, is_new = request.id, await store_as(app, request.id, scenario)
    else:
        id, is_new = await store_new(app, scenario, reuse=True)
    note = created(id, understood) if is_new else f"This diagram is already stored as {id}."
    return Result(answer={"success": True, "shortUrl": id}, notes=(note,))


def _read_import(app: Application, url: str) -> tuple[StoredScenario, str]:
    """Return the scenario of a diagram that is imported, and what was understood."""
    from scenarioctl.formats.documents import read_import

    document = read_import(url, field="diagram")
    # The keys keep their order, so that an export is what was imported.
    diagram = read_diagram(document, field="diagram")
    return pack_diagram(app, write_json(document), diagram), understand(app, diagram)


@dataclass(frozen=True, kw_only=True)
class ExportScenario:
    """Export a scenario as a share string for the web editor, or as JSON."""

    id: ScenarioName
    #: `share`: the share string, in `longUrl`. `json`: the diagram, in `diagram`. `as` is another
    #: spelling of this field.
    form: Annotated[str, Value("FORM", also=("as",))] = "share"


class ExportedScenario(TypedDict):
    success: Literal[True]
    #: The editor's share string.
    longUrl: NotRequired[str]
    #: The diagram, in place of `longUrl`.
    diagram: NotRequired[dict[str, Any]]


async def export_scenario(app: Application, request: ExportScenario) -> Result[ExportedScenario]:
    form = read_choice(request.form, field="as", choices=("share", "json"))
    stored = await app.store.get_scenario(request.id)
    if form == "json":
        diagram = await open_blob(app, stored.blob, stored.id)
        return Result(answer={"success": True, "diagram": dict(diagram.document)})
    return Result(answer={"success": True, "longUrl": await app.aside(_write_share, stored)})


def _write_share(stored: StoredScenario) -> str:
    from scenarioctl.formats.documents import write_share

    return write_share(read_blob(stored.blob, stored.id).document)


@dataclass(frozen=True, kw_only=True)
class DeleteScenario:
    """Remove a scenario from the store."""

    #: Its id; no name, and no beginning of an id.
    id: OwnScenarioId


async def delete_scenario(app: Application, request: DeleteScenario) -> Result[Done]:
    await app.store.delete_scenario(request.id)
    return Result(answer={"success": True, "result": f"Deleted {request.id}"})


@dataclass(frozen=True, kw_only=True)
class CountTemplates:
    """Count the stored scenarios in which a chain appears."""

    chain: ChainName


class TemplateCount(TypedDict):
    Amount: int


async def count_templates(app: Application, request: CountTemplates) -> Result[TemplateCount]:
    chain = app.registry.literal(request.chain, error=NotFound)
    return Result(answer={"Amount": await app.existing_store.count_scenarios(chain)})
