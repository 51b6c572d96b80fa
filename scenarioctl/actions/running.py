"""A run: the steps of a diagram executed in order, with their log and their drafts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.actions import find_step, unknown_sentence
from scenarioctl.actions.carried_data import CarriedData
from scenarioctl.actions.placeholders import Data, WaitsForData, first_names
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.jobs import NO_TRANSACTION, RUN_FAILED, SECOND, MempoolDraft, StepOutcome, WebhookEvent

if TYPE_CHECKING:
    import asyncio

    from scenarioctl.actions.step_kind import DraftStep, StepKind
    from scenarioctl.application import Application

OnWait = Callable[[str], Awaitable[None]]
OnStep = Callable[[], Awaitable[None]]

#: Characters of one line of the log.
_LONGEST_LINE = 2000


class Run:
    """One execution of a scenario.

    Its log and drafts can be read at any time, even after it was canceled or failed with a bug.
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
        #: Id of the scenario, and so of its job.
        self.id = id
        self.summary = summary
        self.lines: list[str] = []
        self.drafts: list[MempoolDraft] = []
        #: Webhook uuid -> id of the event that was used.
        self.used_events: dict[str, int] = {}
        #: What became of each step that does something, by the id of its node.
        self.outcomes: dict[str, StepOutcome] = {}
        #: The last failure as logged; empty if there was none.
        self.failure = ""
        #: The error behind it.
        self.error: ScenarioctlError | None = None
        #: Data for placeholders.
        self.data = Data(diagram.numbering)
        #: Webhook uuid -> the event that this run uses.
        self.events: dict[str, WebhookEvent] = {}
        #: Time limit of the run, without the time it waits for webhooks and delays.
        self.limit: asyncio.Timeout | None = None
        self._carried = CarriedData(diagram)
        self._diagram = diagram
        self._on_wait = on_wait
        self._on_step = on_step
        #: Node -> the failed node because of which it is skipped; a failed node maps to itself.
        self._stopped: dict[str, str] = {}
        self._several = False
        #: Name of a swap's data or node id of a swap -> the node of the swap, if it failed.
        self._lost: dict[str, str] = {}
        #: Steps that draft a transaction.
        self._drafting = 0

    async def go(self) -> None:
        """Run every step.  Failures go to `failure` and `lines`; only bugs raise."""
        import asyncio

        try:
            nodes = self._diagram.in_order()
        except ScenarioctlError as error:
            self._fail(f"The scenario cannot be run: {error}", error)
            return
        before = self._diagram.incoming
        steps = [step for node in nodes if (step := find_step(node)) is not None]
        self._several = sum(step.tx_type != "" for step in steps) > 1
        self._drafting = sum(step.draft is not None for step in steps)
        filled = self._diagram.with_neighbors(self._fill_near)
        for node in nodes:
            stopper = next(
                (self._stopped[name] for name in before.get(node.id, ()) if name in self._stopped), ""
            )
            if stopper:
                self._stopped[node.id] = stopper
                await self._leave_out(node, stopper)
            else:
                await self._take(filled, node)
            # Let other tasks run between steps.
            await asyncio.sleep(0)

    def say(self, line: str) -> None:
        """Add a line to the log."""
        text = " ".join(line.encode(errors="replace").decode().split())
        self.lines.append(text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…")

    async def announce(self, line: str) -> None:
        """Add a line about a step that starts, and publish it at once."""
        self.say(line)
        if self._on_step is not None:
            await self._on_step()

    def failure_line(self, failure: str) -> str:
        """Return the log line for a failed run, with the number of drafts that are missing."""
        made = sum(draft.spec_version is not None for draft in self.drafts)
        missing = self._drafting - made
        share = f"{missing} of {self._drafting} drafts: " if missing > 0 else ""
        return f"{RUN_FAILED}: {share}{failure.removeprefix(f'{NO_TRANSACTION}: ')}"

    @asynccontextmanager
    async def waiting(self, what: str) -> AsyncIterator[None]:
        """Publish what the run waits for while it waits; an empty *what* is not published.

        A stop of the worker does not wait for a run in here.
        """
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
            # After a cancellation or a bug the worker clears it with the run.
            await self._on_wait("")

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """Pause the time limit of the run."""
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

    def add_entry(
        self,
        step: "StepKind",
        node: Node,
        *,
        chain: str,
        tx: str,
        amount: str = "0",
        human: str = "",
        spec_version: int | None = None,
    ) -> None:
        """Add an entry to the mempool; *spec_version* is the runtime version that a transaction is built for."""
        date = self.app.clock()
        hours = self.app.settings.draft_hours if spec_version is not None else 0
        self.drafts.append(
            MempoolDraft(
                chain=chain,
                amount=amount,
                tx_type=step.tx_type,
                date=date,
                tx=tx,
                spec_version=spec_version,
                expires=date + hours * 3600 * SECOND if hours else None,
                node=node.id,
                human=human,
            )
        )

    async def _take(self, diagram: Diagram, node: Node) -> None:
        step = find_step(node)
        if step is None:
            self.outcomes[node.id] = StepOutcome.SKIPPED
            self.say(f"Skipped {_named(node)}: {unknown_sentence(node)}")
            return
        lost = next(filter(None, map(self._lost.get, sorted(first_names(node.form)))), "")
        if lost and not step.is_shared:
            self._lost[node.id] = lost
            await self._leave_out(node, lost)
            return
        unfilled, node = node, _fill_node(step, node, self.data)
        try:
            if step.draft is not None:
                await self._draft(step, step.draft, diagram, node, unfilled)
                self.outcomes[node.id] = StepOutcome.DRAFTED
            elif step.run is not None:
                await step.run(self, diagram, node)
                self.outcomes[node.id] = StepOutcome.DONE
        except ScenarioctlError as error:
            self.outcomes[node.id] = StepOutcome.FAILED
            if step.draft is not None and step.data is not None:
                self._lost |= {step.data.name: node.id, node.id: node.id}
            if step.tx_type:
                self._keep_failure(step, diagram, node, error)
            else:
                self._stopped[node.id] = node.id
                self._fail(f"{_named(node)} failed: {error.statement}", error)

    def _fill_near(self, near: Node, node: Node) -> Node:
        self._carried.note_near(near, node)
        return _fill_node(find_step(near), near, self.data)

    async def _draft(
        self, step: "StepKind", draft: "DraftStep", diagram: Diagram, node: Node, unfilled: Node
    ) -> None:
        from scenarioctl.transactions.bare_extrinsic import bare_extrinsic

        drafted = self._carried.add(unfilled, await draft(self.app, diagram, node, None))
        if drafted.data is not None and step.data is not None:
            self.data.add(step.data, drafted.data, node=node.id)
            self._lost.pop(step.data.name, None)
        transaction = drafted.transaction
        self.add_entry(
            step,
            node,
            chain=drafted.source_chain,
            amount=str(drafted.raw_amount),
            human=drafted.human,
            tx="0x" + bare_extrinsic(transaction.call_data).hex(),
            spec_version=transaction.spec_version,
        )
        runtime = f"{transaction.chain} {transaction.spec_version}"
        self.say(
            f"Drafted {drafted.summary} for {runtime}{', built offline, not checked against a node' * transaction.offline}"
        )
        for sentence in transaction.notes:
            self.say(f"Note: {sentence}")
        for sentence in transaction.warnings:
            self.say(f"Warning: {sentence}")

    def _keep_failure(self, step: "StepKind", diagram: Diagram, node: Node, error: ScenarioctlError) -> None:
        chain, amount = step.outline(self.app, diagram, node) if step.outline is not None else ("", "0")
        self.add_entry(step, node, chain=chain, amount=amount, tx=NO_TRANSACTION)
        which = f"node {shorten(node.id)}: " if self._several else ""
        self._fail(f"{NO_TRANSACTION}: {which}{error.statement}", error)

    async def _leave_out(self, node: Node, stopper: str) -> None:
        """Log that a step is skipped, and what is wrong with it even so."""
        step = find_step(node)
        if step is None or (step.draft is None and step.run is None):
            return
        self.outcomes[node.id] = StepOutcome.SKIPPED
        self.say(f"{_named(node)} was skipped because {shorten(stopper)} failed")
        if not step.tx_type:
            return
        try:
            if step.draft is not None:
                await step.draft(self.app, self._diagram, node, None)
            elif step.check is not None:
                step.check(self.app, self._diagram, node)
        except ScenarioctlError as error:
            if isinstance(error, InvalidRequest) and not isinstance(error, WaitsForData):
                self._keep_failure(step, self._diagram, node, error)

    def _fail(self, sentence: str, error: ScenarioctlError) -> None:
        self.say(sentence)
        self.failure, self.error = self.lines[-1], error


def _fill_node(step: "StepKind | None", node: Node, data: Data) -> Node:
    """Return *node* with the placeholders in its form replaced."""
    if not node.form or step is None:
        return node
    return replace(node, form=step.fill(node.form, data))


def _named(node: Node) -> str:
    kind = node.form.get("action") if node.type == "action" else node.type
    return f"{kind if isinstance(kind, str) and len(kind) < 40 else 'step'} {shorten(node.id)}"
