"""A run: the steps of a diagram one after the other, and what they leave behind."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from scenarioctl.actions import Asker, Drafter, Runner, find_handler, unknown_sentence
from scenarioctl.actions.pills import Data, WaitsForWebhook, fill
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.jobs import NO_TRANSACTION, RUN_FAILED, SECOND, MempoolDraft, WebhookEvent

if TYPE_CHECKING:
    import asyncio

    from scenarioctl.actions import Handler
    from scenarioctl.application import Application

OnWait = Callable[[str], Awaitable[None]]
OnStep = Callable[[], Awaitable[None]]

_QUERY = "ChainQuery"
#: Characters of one line of the log.
_LONGEST_LINE = 2000
#: Characters that a line shows of what a chain answered; the mempool has it whole.
_SHOWN = 200


class Run:
    """One execution of a scenario.

    What it has left behind so far can be read at any time, also after it was cancelled or a bug ended it.
    """

    def __init__(
        self,
        app: "Application",
        id: str,
        diagram: Diagram,
        *,
        summary: str = "",
        on_wait: OnWait | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        self.app = app
        #: The scenario's, by which its job goes.
        self.id = id
        self.summary = summary
        self.lines: list[str] = []
        self.drafts: list[MempoolDraft] = []
        #: Webhook uuid -> id of the event that was used.
        self.used_events: dict[str, int] = {}
        #: The last sentence of what failed; empty if all went well.
        self.failure = ""
        #: What that was, for whoever asks what kind of failure.
        self.error: ScenarioctlError | None = None
        #: What pills are filled with.
        self.data = Data(diagram.numbering)
        #: Webhook uuid -> the event that this run has got.
        self.events: dict[str, WebhookEvent] = {}
        #: Ends the run; waits for webhooks and delays do not count.
        self.limit: asyncio.Timeout | None = None
        self._diagram = diagram
        self._on_wait = on_wait
        self._on_step = on_step
        #: Node -> the failed node before it, for which it is not run; a failed node stands for itself.
        self._stopped: dict[str, str] = {}
        self._several = False
        #: Steps that draft a transaction.
        self._drafting = 0

    async def go(self) -> None:
        """Run every step; what a user can mend or wait out is in `failure` and `lines`, only a bug raises."""
        import asyncio

        try:
            nodes = self._diagram.in_order()
        except ScenarioctlError as error:
            self._fail(f"The scenario cannot be run: {error}", error)
            return
        before: dict[str, list[str]] = {}
        for edge in self._diagram.edges:
            before.setdefault(edge.target, []).append(edge.source)
        entering = [handler for node in nodes if (handler := _entering(find_handler(node))) is not None]
        self._several = len(entering) > 1
        self._drafting = sum(not isinstance(handler, Asker) for handler in entering)
        filled = _FilledDiagram(
            nodes=self._diagram.nodes,
            edges=self._diagram.edges,
            document=self._diagram.document,
            data=self.data,
        )
        for node in nodes:
            stopper = next(
                (self._stopped[name] for name in before.get(node.id, ()) if name in self._stopped), ""
            )
            if stopper:
                self._stopped[node.id] = stopper
                await self._leave_out(node, stopper)
            else:
                await self._take(filled, node)
            # A long scenario computes for a while; others have their turn in between.
            await asyncio.sleep(0)

    def say(self, line: str) -> None:
        """Add a line to the log."""
        text = " ".join(line.encode(errors="replace").decode().split())
        self.lines.append(text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…")

    async def announce(self, line: str) -> None:
        """Add a line about a step that begins now, and let it be read at once."""
        self.say(line)
        if self._on_step is not None:
            await self._on_step()

    def failure_line(self, failure: str) -> str:
        """Return the line of the log that says that the run failed, and how many of its drafts it did not make."""
        made = sum(draft.tx != NO_TRANSACTION and draft.tx_type != _QUERY for draft in self.drafts)
        missing = self._drafting - made
        share = f"{missing} of {self._drafting} drafts: " if missing > 0 else ""
        return f"{RUN_FAILED}: {share}{failure.removeprefix(f'{NO_TRANSACTION}: ')}"

    @asynccontextmanager
    async def waiting(self, what: str) -> AsyncIterator[None]:
        """Let it be known meanwhile what the run waits for; an empty *what* is not worth a word."""
        with self._uncounted():
            if not what or self._on_wait is None:
                yield
                return
            await self._on_wait(what)
            try:
                yield
            except ScenarioctlError:
                await self._on_wait("")
                raise
            # Whoever cancels a run, or finds a bug in it, puts away what it waited for with the run itself.
            await self._on_wait("")

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """Let the limit of the run stand still meanwhile."""
        import asyncio

        end = self.limit.when() if self.limit is not None else None
        if self.limit is None or end is None:
            yield
            return
        clock = asyncio.get_running_loop().time
        left = end - clock()
        self.limit.reschedule(None)
        try:
            yield
        finally:
            self.limit.reschedule(clock() + left)

    async def _take(self, diagram: Diagram, node: Node) -> None:
        handler = find_handler(node)
        if handler is None:
            self.say(f"Skipped {_named(node)}: {unknown_sentence(node)}")
            return
        node = _fill_node(handler, node, self.data)
        entering = _entering(handler)
        if entering is not None:
            await self._enter(entering, diagram, node)
        elif isinstance(handler, Runner):
            try:
                await handler.run(self, diagram, node)
            except ScenarioctlError as error:
                self._stopped[node.id] = node.id
                self._fail(f"{_named(node)} failed: {error.statement}", error)

    async def _enter(self, handler: "Drafter | Asker", diagram: Diagram, node: Node) -> None:
        """Run a step that leaves an entry in the mempool, whatever becomes of it."""
        try:
            if isinstance(handler, Asker):
                if asked := handler.question(node):
                    await self.announce(f"Querying {asked}")
                chain, text = await handler.answer(self.app, diagram, node)
                self._keep_answer(handler.TX_TYPE, chain, text, node)
            else:
                await self._draft(handler, diagram, node)
        except ScenarioctlError as error:
            self._keep_failure(handler, diagram, node, error)

    async def _draft(self, handler: "Drafter", diagram: Diagram, node: Node) -> None:
        from scenarioctl.transactions.bare_extrinsic import bare_extrinsic

        drafted = await handler.draft(self.app, diagram, node)
        transaction = drafted.transaction
        date = self.app.clock()
        hours = self.app.settings.draft_hours
        self.drafts.append(
            MempoolDraft(
                chain=drafted.source_chain,
                amount=str(drafted.raw_amount),
                tx_type=drafted.txtype,
                date=date,
                tx="0x" + bare_extrinsic(transaction.call_data).hex(),
                spec_version=transaction.spec_version,
                expires=date + hours * 3600 * SECOND if hours else None,
                node=node.id,
            )
        )
        runtime = f"{transaction.chain} {transaction.spec_version}"
        self.say(
            f"Drafted {drafted.summary} for {runtime}{', which no node confirmed' * transaction.offline}"
        )
        for sentence in transaction.notes:
            self.say(f"Note: {sentence}")
        for sentence in transaction.warnings:
            self.say(f"Warning: {sentence}")

    def _keep_answer(self, tx_type: str, chain: str, text: str, node: Node) -> None:
        self.drafts.append(
            MempoolDraft(
                chain=chain, amount="0", tx_type=tx_type, date=self.app.clock(), tx=text, node=node.id
            )
        )
        self.data.add_answer("query", _read_answer(text), node=node.id)
        self.say(f"Query of {chain} answered: {text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}")

    def _keep_failure(
        self, handler: "Drafter | Asker", diagram: Diagram, node: Node, error: ScenarioctlError
    ) -> None:
        chain, amount = handler.outline(self.app, diagram, node)
        self.drafts.append(
            MempoolDraft(
                chain=chain,
                amount=amount,
                tx_type=handler.TX_TYPE,
                date=self.app.clock(),
                tx=NO_TRANSACTION,
                node=node.id,
            )
        )
        which = f"node {shorten(node.id)}: " if self._several else ""
        self._fail(f"{NO_TRANSACTION}: {which}{error.statement}", error)

    async def _leave_out(self, node: Node, stopper: str) -> None:
        """Say that a step is not run; and what is wrong with it even so, which nothing that failed before it could mend."""
        handler = _entering(find_handler(node))
        if handler is not None or isinstance(find_handler(node), Runner):
            self.say(f"{_named(node)} was not run, since {shorten(stopper)} before it failed")
        if handler is None:
            return
        try:
            if isinstance(handler, Asker):
                await handler.check(self.app, self._diagram, node)
            else:
                await handler.draft(self.app, self._diagram, node)
        except WaitsForWebhook:
            pass
        except InvalidRequest as error:
            self._keep_failure(handler, self._diagram, node, error)
        except ScenarioctlError:
            pass

    def _fail(self, sentence: str, error: ScenarioctlError) -> None:
        self.say(sentence)
        self.failure, self.error = self.lines[-1], error


@dataclass(frozen=True, kw_only=True)
class _FilledDiagram(Diagram):
    """A diagram whose nodes have their pills replaced where a step looks at them."""

    data: Data

    def nearest(
        self, node: Node, types: frozenset[str], *, upstream: bool, stop: frozenset[str]
    ) -> list[Node]:
        found = super().nearest(node, types, upstream=upstream, stop=stop)
        return [_fill_node(find_handler(near), near, self.data) for near in found]


def _entering(handler: "Handler | None") -> "Drafter | Asker | None":
    """Return the module if its nodes leave entries in the mempool."""
    return cast("Drafter | Asker", handler) if hasattr(handler, "TX_TYPE") else None


def _fill_node(handler: "Handler | None", node: Node, data: Data) -> Node:
    """Return *node* with the pills in its form replaced, by the rules of its own kind where that has some."""
    if not node.form:
        return node
    own: Callable[[Mapping[str, Any], Data], Mapping[str, Any]] = getattr(handler, "fill", fill)
    return replace(node, form=own(node.form, data))


def _named(node: Node) -> str:
    kind = node.form.get("action") if node.type == "action" else node.type
    return f"{kind if isinstance(kind, str) and len(kind) < 40 else 'step'} {shorten(node.id)}"


def _read_answer(text: str) -> Any:
    """Return what a chain answered as pills can look into it: lists and objects, all else as the text that it is."""
    if text[:1] not in ("{", "["):
        return text
    from scenarioctl.formats.documents import parse_json

    try:
        return parse_json(text, field="query")
    except ScenarioctlError:
        return text
