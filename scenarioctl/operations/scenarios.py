"""Stored scenarios: find, show, summarise, import, export, delete."""

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, Conflict, InvalidRequest, ScenarioctlError, shorten
from scenarioctl.formats.documents import canonical_json, write_json
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.operations.built_transactions import (
    BuiltTransaction,
    CheckableFields,
    built_fields,
    check_sender,
)
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


@dataclass(frozen=True, kw_only=True)
class Summary:
    result: str

    def answer(self) -> dict[str, Any]:
        return {"result": self.result}


async def scenario_info(app: Application, request: ScenarioInfo) -> Summary:
    return Summary(result=(await app.store.get_scenario(request.id)).summary)


@dataclass(frozen=True, kw_only=True)
class FullScenarioInfo(CheckableFields):
    """Describe and draft the first transaction of a scenario; of several, `transactions` has all."""

    id: str
    #: Confirm receivers that nobody holds the key of, for this answer.
    yes: bool = False


@dataclass(frozen=True, kw_only=True)
class FullInfo(BuiltTransaction):
    tx: str
    summary: str
    asset: str
    #: Whole tokens, as the scenario has it.
    amount: str
    source_chain: str
    dest_chain: str
    txtype: str
    #: Of every step that drafts one, in order; empty where there is no other one.
    transactions: tuple[dict[str, Any], ...] = ()

    def answer(self) -> dict[str, Any]:
        fields = ("tx", "summary", "asset", "amount", "source_chain", "dest_chain", "txtype")
        result = {name: getattr(self, name) for name in fields} | self.beside()
        if self.transactions:
            result["transactions"] = list(self.transactions)
        return self.checked({"result": result})


async def full_scenario_info(app: Application, request: FullScenarioInfo) -> FullInfo:
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
    described = await _describe(app, first, request)
    others: list[dict[str, Any]] = []
    async with aclosing(draft_each(app, diagram, sender=sender, after=first.node)) as drafting:
        async for node, outcome in drafting:
            others.append(await _transaction_of(app, node, outcome, request))
    facts = built_fields(first.transaction, *payload_warnings(app, request))
    if others and request.output_format == "payload":
        said = "each payload has the nonce that the sender has now: submit one transaction before you prepare the next"
        facts["notes"] = (*facts["notes"], said)
    transactions = (await _transaction_of(app, first.node, first, request), *others) if others else ()
    return FullInfo(**described, transactions=transactions, **facts)


async def _describe(app: Application, drafted: "Drafted", request: FullScenarioInfo) -> dict[str, Any]:
    return {
        "tx": await write_transaction(app, drafted.transaction, request),
        "summary": f"{drafted.source_chain} > {drafted.txtype} > {drafted.dest_chain}",
        "asset": drafted.asset,
        "amount": drafted.amount,
        "source_chain": drafted.source_chain,
        "dest_chain": drafted.dest_chain,
        "txtype": drafted.txtype,
    }


async def _transaction_of(
    app: Application, node: str, outcome: "Drafted | ScenarioctlError", request: FullScenarioInfo
) -> dict[str, Any]:
    """Return what a step drafts, or in its place why it drafts nothing now: the first step's is there all the same."""
    try:
        if isinstance(outcome, ScenarioctlError):
            raise outcome
        facts = built_fields(outcome.transaction)
        said: dict[str, Any] = {"node": node, **await _describe(app, outcome, request)}
    except ScenarioctlError as error:
        return {"node": node, "error": str(error), "code": error.code}
    said["spec_version"] = facts["spec_version"]
    said["warnings"] = list(facts["warnings"])
    if facts["check"] is not None:
        said["check"] = facts["check"].answer()
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


@dataclass(frozen=True, kw_only=True)
class ScenarioPage:
    scenarios: tuple[dict[str, Any], ...]
    total: int
    next: str = ""
    warnings: tuple[str, ...] = ()

    def answer(self) -> dict[str, Any]:
        return {"scenarios": list(self.scenarios), "total": self.total, "next": self.next or None}


async def list_scenarios(app: Application, request: ListScenarios) -> ScenarioPage:
    chain = app.registry.find(request.chain).name if request.chain else ""
    page = await app.store.list_scenarios(
        limit=page_size(request.limit),
        after=request.after,
        chain=chain,
        search=request.search,
        sort=request.sort,
        descending=request.descending,
    )
    rows = tuple(
        {
            "id": row.id,
            **({"name": row.name} if row.name else {}),
            "summary": row.summary,
            "chains": list(row.chains),
            "created": timestamp(row.created),
            "size": row.size,
        }
        for row in page.items
    )
    warnings = tuple(
        f"scenario {shorten(id)} is damaged in the store and left out here: delete it and create it again"
        for id in page.damaged
    )
    return ScenarioPage(scenarios=rows, total=page.total, next=page.next, warnings=warnings)


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


@dataclass(frozen=True, kw_only=True)
class ScenarioView:
    id: str
    name: str
    summary: str
    created: str
    nodes: tuple[dict[str, str], ...]
    edges: tuple[dict[str, str], ...]
    problems: tuple[dict[str, Any], ...]

    def answer(self) -> dict[str, Any]:
        return {
            "id": self.id,
            **({"name": self.name} if self.name else {}),
            "summary": self.summary,
            "created": self.created,
            "nodes": list(self.nodes),
            "edges": list(self.edges),
            "problems": list(self.problems),
        }


async def show_scenario(app: Application, request: ShowScenario) -> ScenarioView:
    from scenarioctl.actions.problems import find_problems
    from scenarioctl.actions.summaries import describe_node

    stored = await app.store.get_scenario(request.id)
    diagram = await open_blob(app, stored.blob, request.id)
    breathe = app.breather()
    nodes = []
    for node in diagram.in_safe_order():
        await breathe()
        nodes.append({"id": node.id, "type": node.type, "text": describe_node(app, node, diagram)})
    return ScenarioView(
        id=stored.id,
        name=diagram.name,
        summary=stored.summary,
        created=timestamp(stored.created),
        nodes=tuple(nodes),
        edges=tuple({"source": edge.source, "target": edge.target} for edge in diagram.edges),
        problems=tuple(
            {"node": problem.node, "problem": problem.sentence}
            # Nothing to mend: a run brings it.
            | ({"waiting": True} if problem.waiting else {})
            for problem in await find_problems(app.unconnected(), diagram)
            # What a chain has to be asked for is no problem where it may be asked.
            if app.settings.offline or problem.code != ChainUnreachable.code
        ),
    )


@dataclass(frozen=True, kw_only=True)
class ImportScenario:
    """Store a diagram: the editor's share string, a link with one, or the diagram's JSON."""

    url: str
    #: Id to store it under; left out, it is a fresh one, or that of the same diagram if it is stored already.
    id: str = ""


@dataclass(frozen=True, kw_only=True)
class Imported:
    id: str
    notes: tuple[str, ...] = ()

    def answer(self) -> dict[str, Any]:
        return {"success": True, "shortUrl": self.id}


async def import_scenario(app: Application, request: ImportScenario) -> Imported:
    if request.id:
        check_id(request.id)
    # A share string may unpack to a thousand times its size.
    text, facts = await app.aside(_read_import, app, request.url)
    if request.id:
        return await _import_as(app, request.id, text, facts)
    fresh, id = await _store(app, text, facts, known=True)
    return Imported(id=id, notes=() if fresh else (f"This diagram is stored already, as {id}.",))


def _read_import(app: Application, url: str) -> "tuple[bytes, Facts]":
    from scenarioctl.formats.share import read_import

    document = read_import(url, field="diagram")
    # In its own order, so that what is exported is what was imported.
    return write_json(document), _facts_of(app, read_diagram(document, field="diagram"))


async def _import_as(app: Application, id: str, text: bytes, facts: "Facts") -> Imported:
    """Store a diagram under *id*, unless it is there already; Conflict where that is another diagram's."""
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
        return Imported(id=id, notes=(f"This diagram is stored already, as {id}.",))
    return Imported(id=id)


@dataclass(frozen=True, kw_only=True)
class ExportScenario:
    """Give a scenario back as the editor's share string, or as JSON."""

    id: str


@dataclass(frozen=True, kw_only=True)
class Exported:
    share: str
    document: dict[str, Any]

    def answer(self) -> dict[str, Any]:
        return {"success": True, "longUrl": self.share}


async def export_scenario(app: Application, request: ExportScenario) -> Exported:
    stored = await app.store.get_scenario(request.id)
    share, document = await app.aside(_write_export, stored)
    return Exported(share=share, document=document)


def _write_export(stored: StoredScenario) -> tuple[str, dict[str, Any]]:
    from scenarioctl.formats.share import write_share

    document = _read_blob(stored.blob, stored.id).document
    return write_share(document), dict(document)


@dataclass(frozen=True, kw_only=True)
class DeleteScenario:
    """Remove a scenario from the store."""

    id: str


@dataclass(frozen=True, kw_only=True)
class Deleted:
    id: str

    def answer(self) -> dict[str, Any]:
        return {"success": True, "result": f"Deleted {self.id}"}


async def delete_scenario(app: Application, request: DeleteScenario) -> Deleted:
    await app.store.delete_scenario(request.id)
    return Deleted(id=request.id)


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
