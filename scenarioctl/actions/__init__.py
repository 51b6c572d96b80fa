"""What the nodes of a diagram do: how each is summarised, checked and drafted.

To add a node type, write a module and add a row to `NODES`, or to `ACTIONS` if it is a choice in the editor's
action box.  A module has `summary` and `describe`, and `draft` if it drafts a transaction, else `check`; beside that
`answer` if it reads a chain, or `run` if it does something else in a run, and `fill` where pills need rules of their own.
`docs/flow.md` and `formats/flow.py` tell how it is written in a flow file, `draw` turns that into nodes, and `KEYS` says
what the fields of its form are called there.
"""

# Kept light: `scenarioctl xcm asset-transfer` passes through here on its way to drafting.py.
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from scenarioctl.actions.drafting import Drafted
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.flow import Flow
    from scenarioctl.formats.shapes import Canvas
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.model.diagram import Diagram, Node, Problem
    from scenarioctl.stores import StoredScenario

#: Module of each node type …
NODES = {
    "chain": "chain",
    "chainQuery": "chain_query",
    "chainTx": "chain_tx",
    "http": "http",
    "webhook": "webhook",
    "delay": "delay",
}
#: … and of each choice that a node of type `action` has in `formData.action`.
ACTIONS = {"xTransfer": "transfer", "swap": "swap", "Remark": "remark"}

_CHOICES = {name.lower(): name for name in ACTIONS}


class Handler(Protocol):
    """A module of this package, as far as all of them are alike."""

    def summary(self, node: "Node", registry: "Registry") -> str:
        """Return the node's word in a route like `polkadot > xTransfer > assetHub`; empty leaves it out."""

    def describe(self, app: "Application", diagram: "Diagram", node: "Node") -> str:
        """Return one line that says what the node does."""


class Entering(Handler, Protocol):
    """A module whose nodes leave an entry in the mempool."""

    #: `xTransfer`, `swap`, `Remark`, `ChainTx` or `ChainQuery`.
    TX_TYPE: str

    def outline(self, app: "Application", diagram: "Diagram", node: "Node") -> tuple[str, str]:
        """Return the chain and the raw amount as far as they can be told, else an empty text and `0`; never raises."""


class Drafter(Entering, Protocol):
    """A module whose nodes draft a transaction."""

    async def draft(self, app: "Application", diagram: "Diagram", node: "Node") -> "Drafted":
        """Return the transaction, or raise what is wrong."""


class Checker(Handler, Protocol):
    """A module whose nodes draft nothing."""

    async def check(self, app: "Application", diagram: "Diagram", node: "Node") -> None:
        """Raise what is wrong."""


@runtime_checkable
class Asker(Entering, Protocol):
    """A module whose nodes read a chain."""

    async def check(self, app: "Application", diagram: "Diagram", node: "Node") -> None:
        """Raise what is wrong."""

    def question(self, node: "Node") -> str:
        """Return what the chain is asked, in a few words; empty if the form does not say."""

    async def answer(self, app: "Application", diagram: "Diagram", node: "Node") -> tuple[str, str]:
        """Return the chain and what it answers, or raise what is wrong."""


@runtime_checkable
class Runner(Protocol):
    """A module whose nodes do something else in a run."""

    async def run(self, running: "Run", diagram: "Diagram", node: "Node") -> None:
        """Do it, or raise what went wrong: the steps behind are not run then."""


def summarise(diagram: "Diagram", registry: "Registry | None" = None) -> str:
    """Return the route in one line: `assetHub > xTransfer > polkadot`.

    Chain, action and other steps in execution order (in the file's where the graph gives none); chains by
    their literal; a chain or action without a form, and an unknown type of node, are left out.
    """
    registry = registry or _built_in()
    words = []
    for node in diagram.in_safe_order():
        handler = find_handler(node)
        if handler is None:
            continue
        word = handler.summary(node, registry)
        if word:
            words.append(word)
    return " > ".join(words)


def chains_of(diagram: "Diagram", registry: "Registry | None" = None) -> frozenset[str]:
    """Return the literals of all chains that appear in any node, an unknown name in lower case as typed."""
    from scenarioctl.actions.pills import has_pill

    registry = registry or _built_in()
    found = set()
    for name in {name for node in diagram.nodes for name in _chain_names(node.form) if name}:
        if not isinstance(name, str) or has_pill(name):
            continue
        try:
            found.add(registry.find(name).name)
        except InvalidRequest:
            # The index holds names, not the megabytes that an editor may save as one.
            found.add(name.strip().lower()[:64])
    return frozenset(found - {""})


def webhooks_of(diagram: "Diagram") -> tuple[str, ...]:
    """Return the UUIDs of the webhooks that *diagram* waits for, in lower case, each once; none that a pill will name."""
    from scenarioctl.actions.webhook import read_webhook

    found = {}
    for node in diagram.nodes:
        if node.type != "webhook":
            continue
        try:
            found[read_webhook(node)] = True
        except InvalidRequest:
            continue
    return tuple(found)


async def index_webhooks(app: "Application") -> int:
    """Tell the store which webhooks its scenarios of old wait for; return how many scenarios that were."""
    from scenarioctl.formats.blob import unpack
    from scenarioctl.model.diagram import read_diagram

    done: set[str] = set()

    def read(row: "StoredScenario") -> tuple[str, ...]:
        return webhooks_of(read_diagram(unpack(row.blob, name=f"scenario {row.id}")))

    while scenarios := [row for row in await app.store.unindexed() if row.id not in done]:
        for row in scenarios:
            try:
                webhooks = await app.aside(read, row)
            except ScenarioctlError:
                # A blob that cannot be read waits for nothing, and must not keep the daemon from its start.
                webhooks = ()
            await app.store.index_webhooks(row.id, webhooks)
            done.add(row.id)
    return len(done)


def describe_node(app: "Application", node: "Node", diagram: "Diagram") -> str:
    """Return one line that says what *node* does, also where it is unfinished."""
    handler = find_handler(node)
    if handler is not None:
        return handler.describe(app, diagram, node)
    if node.type == "action":
        return "an action that is not chosen yet"
    return "unknown, skipped in a run"


async def draft_first(app: "Application", diagram: "Diagram", *, sender: bytes | None = None) -> "Drafted":
    """Return the first transaction in execution order; InvalidRequest if no step drafts one.

    With a *sender* it is checked for them: `transaction.check` has the verdict.
    """
    drafting = [(node, drafter) for node in diagram.in_order() if (drafter := _drafter_of(node)) is not None]
    if not drafting:
        raise InvalidRequest("this scenario has no step that drafts a transaction")
    node, drafter = drafting[0]
    try:
        if sender is None:
            return await drafter.draft(app, diagram, node)
        return await _draft_checked(drafter, app, diagram, node, sender)
    except ScenarioctlError as error:
        if len(drafting) == 1:
            raise
        raise type(error)(f"node {shorten(node.id)}: {error}") from None


async def draft_each(
    app: "Application", diagram: "Diagram", *, sender: bytes | None = None, after: str = ""
) -> "AsyncGenerator[tuple[str, Drafted | ScenarioctlError]]":
    """Yield the node of each step that drafts a transaction, and the transaction or what is wrong with it.

    With a *sender* it is checked for them; *after* leaves out the steps up to that node.
    """
    breathe = app.breather()
    for node in diagram.in_order():
        drafter = _drafter_of(node)
        if after or drafter is None:
            after = "" if node.id == after else after
            continue
        await breathe()
        try:
            if sender is None:
                yield node.id, await drafter.draft(app, diagram, node)
            else:
                yield node.id, await _draft_checked(drafter, app, diagram, node, sender)
        except ScenarioctlError as error:
            yield node.id, error


async def _draft_checked(
    drafter: Drafter, app: "Application", diagram: "Diagram", node: "Node", sender: bytes
) -> "Drafted":
    from dataclasses import replace

    from scenarioctl.actions.drafting import check_draft

    draft_for = getattr(drafter, "draft_for", None)
    if draft_for is None:
        drafted = await drafter.draft(app, diagram, node)
    else:
        drafted = await draft_for(app, diagram, node, sender)
    return replace(drafted, transaction=await check_draft(app, drafted.transaction, sender))


async def problems(app: "Application", diagram: "Diagram") -> "tuple[Problem, ...]":
    """Return everything that keeps *diagram* from running, in execution order; drafts every node to find out."""
    return (await judge(app, diagram))[0]


async def judge(
    app: "Application", diagram: "Diagram"
) -> "tuple[tuple[Problem, ...], tuple[tuple[str, UnsignedTransaction], ...]]":
    """Return what `problems` does, and the node and the transaction of each step that drafts one now."""
    from scenarioctl.actions.pills import WaitsForWebhook
    from scenarioctl.actions.providers import JudgedDiagram, Providers, judge_pills, lacking_fields
    from scenarioctl.model.diagram import Problem

    found = list(diagram.problems())
    drafted = []
    providers = Providers(diagram)
    judged = JudgedDiagram(
        nodes=diagram.nodes, edges=diagram.edges, document=diagram.document, providers=providers
    )
    breathe = app.breather()
    for node in diagram.in_safe_order():
        await breathe()
        handler = find_handler(node)
        if handler is not None and node.type != "chain":
            # The fields of a chain are those of the action beside it.
            node = judge_pills(node, providers, handler=handler)
        lacking = tuple(lacking_fields(node.form))
        found += [Problem(node=node.id, sentence=sentence) for sentence in lacking]
        try:
            transaction = await _try(app, judged, node)
        except ScenarioctlError as error:
            if str(error) not in lacking:
                waiting = isinstance(error, WaitsForWebhook)
                found.append(Problem(node=node.id, sentence=str(error), waiting=waiting, code=error.code))
        else:
            if transaction is not None:
                drafted.append((node.id, transaction))
    return tuple(found), tuple(drafted)


def transfer_diagram(
    app: "Application", *, canvas: "Canvas | None" = None, **fields: Any
) -> "dict[str, Any]":
    """Return the document of a transfer; *fields* as `xTransfer` has them in `formats/flow.py`."""
    return _single("transfer", app, canvas, fields)


def swap_diagram(app: "Application", *, canvas: "Canvas | None" = None, **fields: Any) -> "dict[str, Any]":
    """Return the document of a swap; *fields* as `swap` has them in `formats/flow.py`."""
    return _single("swap", app, canvas, fields)


def remark_diagram(app: "Application", *, canvas: "Canvas | None" = None, **fields: Any) -> "dict[str, Any]":
    """Return the document of a remark; *fields* as `Remark` has them in `formats/flow.py`."""
    return _single("remark", app, canvas, fields)


def query_diagram(app: "Application", *, canvas: "Canvas | None" = None, **fields: Any) -> "dict[str, Any]":
    """Return the document of a chain query; *fields* as `chainQuery` has them in `formats/flow.py`."""
    return _single("chain_query", app, canvas, fields)


def flow_diagram(app: "Application", flow: "Flow", *, canvas: "Canvas | None" = None) -> "dict[str, Any]":
    """Return the document of a flow file; InvalidRequest names the step and the key that cannot be used."""
    from scenarioctl.actions.flows import draw_flow

    return draw_flow(app, flow, canvas=canvas).document


def _single(
    module: str, app: "Application", canvas: "Canvas | None", fields: "Mapping[str, Any]"
) -> "dict[str, Any]":
    from scenarioctl.formats.shapes import Canvas

    canvas = canvas or Canvas()
    given = {name: value for name, value in fields.items() if value is not None}
    find_module(module).draw(canvas, app, given, place="", start="")
    return canvas.document()


async def _try(app: "Application", diagram: "Diagram", node: "Node") -> "UnsignedTransaction | None":
    handler = find_handler(node)
    if handler is None:
        raise InvalidRequest(unknown_sentence(node))
    if hasattr(handler, "draft"):
        return (await cast("Drafter", handler).draft(app, diagram, node)).transaction
    await cast("Checker", handler).check(app, diagram, node)
    return None


def unknown_sentence(node: "Node") -> str:
    """Return what is said of a node that no module is for."""
    if node.type != "action":
        known = ", ".join((*NODES, "action"))
        return f"the node type {shorten(node.type)} is unknown and skipped in a run, expected one of: {known}"
    choice = node.form.get("action")
    known = ", ".join(ACTIONS)
    if choice in (None, ""):
        return f"the action has no form, expected one of: {known}"
    return f"the action {shorten(choice)} is unknown and skipped in a run, expected one of: {known}"


def find_handler(node: "Node") -> Handler | None:
    """Return the module of this package that *node* is for; None for an unknown type."""
    name = NODES.get(node.type)
    if name is None and node.type == "action":
        choice = node.form.get("action")
        name = ACTIONS.get(_CHOICES.get(choice.lower(), "")) if isinstance(choice, str) else None
    return cast("Handler", find_module(name)) if name is not None else None


def _drafter_of(node: "Node") -> Drafter | None:
    handler = find_handler(node)
    return cast("Drafter", handler) if hasattr(handler, "draft") else None


@cache
def find_module(name: str) -> Any:
    """Return a module of this package by its name in `NODES` or `ACTIONS`."""
    return import_module(f"scenarioctl.actions.{name}")


def _chain_names(form: "Mapping[str, Any]") -> list[Any]:
    """Return what stands where the editor keeps a chain's name, whatever the node's type."""
    names = [form.get("chain"), form.get("selectedChain")]
    data = form.get("actionData")
    if isinstance(data, dict):
        names += [
            side.get("chain") for side in (data.get("source"), data.get("target")) if isinstance(side, dict)
        ]
    return [name for name in names if isinstance(name, str)]


@cache
def _built_in() -> "Registry":
    from scenarioctl.chains.registry import Registry

    return Registry()
