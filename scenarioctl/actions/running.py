"""A run: the steps of a diagram executed in order, with their log and their drafts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scenarioctl.actions import find_step, number_steps, unknown_sentence
from scenarioctl.actions.drafts import CarriedData
from scenarioctl.actions.placeholders import Data, WaitsForData, first_names
from scenarioctl.actions.step_kind import DraftStep, StepKind, Wait
from scenarioctl.actions.story import tell_step
from scenarioctl.errors import (
    InvalidRequest,
    ScenarioctlError,
    StoreBusy,
    StoreUnavailable,
    shorten,
)
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    RUN_FAILED,
    SECOND,
    STEP_TEXT_MAX,
    MempoolDraft,
    StepOutcome,
    StepResult,
    WebhookEvent,
)

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.model.calls import UnsignedTransaction

#: Characters of one line of the log.
_LONGEST_LINE = 2000


class Run:
    """One execution of a scenario, in legs: each from where it waited, or from the start, to the
    next wait or to the end.

    Its log and drafts can be read at any time, even after it was canceled or failed with a bug.
    """

    def __init__(
        self,
        app: "Application",
        id: str,
        diagram: Diagram,
        *,
        summary: str = "",
        key: str = "",
        clock: Callable[[], int] | None = None,
        together: bool = False,
    ) -> None:
        self.app = app
        #: Id of the scenario, and so of its job.
        self.id = id
        #: The same for each attempt at this run, and for no other run.
        self.key = key
        #: Tells when drafts are made: by default the clock of this machine.
        self._clock = clock or app.clock
        self.summary = summary
        self.lines: list[str] = []
        self.drafts: list[MempoolDraft] = []
        #: Webhook uuid -> id of the event that was used.
        self.used_events: dict[str, int] = {}
        #: What became of each step that does something, by the id of its node.
        self.steps: dict[str, StepResult] = {}
        #: The last failure as logged; empty if there was none.
        self.failure = ""
        #: The error behind it.
        self.error: ScenarioctlError | None = None
        #: Data for placeholders.
        self.data = Data(diagram.numbering)
        #: Webhook uuid -> the event that this run uses.
        self.events: dict[str, WebhookEvent] = {}
        #: What it waits for; while its step is taken again, what is left of that.
        self.wait: Wait | None = None
        #: Seconds that its legs have taken.
        self.spent = 0.0
        #: The number of the step that it is at, counted from 1.
        self.number = 0
        self._carried = CarriedData(diagram)
        self._diagram = diagram
        #: All steps are drafted as one transaction.
        self._together = together
        #: What their one draft is called; empty before it is made, and for several.
        self._joined = ""
        #: The node that waits; empty before the first leg.  When the step that it is at began, and
        #: its number of lines then.
        self._at = ""
        self._began = 0
        self._said = 0
        #: Node -> the failed node because of which it is skipped; a failed node maps to itself.
        self._stopped: dict[str, str] = {}
        #: Node -> the condition because of which it is skipped; one that isn't met maps to itself.
        #: And the one that ended the run.
        self._unmet: dict[str, str] = {}
        self._ended = ""
        self._several = False
        #: Name of a swap's data or node id of a swap -> the node of the swap, if it failed.
        self._lost: dict[str, str] = {}
        #: Steps that draft a transaction, and transactions of earlier legs.
        self._drafting = self._drafted = 0

    async def go(self, *, waited: float = 0.0) -> Wait | None:
        """Take the steps of one leg, after the run has *waited* so many seconds; return what it
        waits for then, None at its end.

        Failures go to `failure` and `lines`; only bugs raise, and a store that doesn't answer:
        StoreBusy, StoreUnavailable.
        """
        import asyncio

        try:
            nodes = self._diagram.in_order()
            self.app = self.app.acting_as(self._diagram.acting)
        except ScenarioctlError as error:
            self._fail(f"The scenario cannot be run: {error}", error)
            return None
        before = self._diagram.incoming
        steps = [step for node in nodes if (step := find_step(node)) is not None]
        self._several = sum(step.tx_type != "" for step in steps) > 1
        self._drafting = sum(step.draft is not None for step in steps)
        if self._together and self._drafting > 1:
            await self._take_together(nodes)
            return None
        filled = self._diagram.with_neighbors(self._fill_near)
        first = next((place for place, node in enumerate(nodes) if node.id == self._at), 0)
        if self.wait is not None:
            self.wait = replace(self.wait, seconds=max(0.0, self.wait.seconds - waited))
        numbers = number_steps(nodes)
        for node in nodes[first:]:
            self.number = numbers.get(node.id, 0)
            stopper = next(
                (self._stopped[name] for name in before.get(node.id, ()) if name in self._stopped),
                "",
            )
            unmet = self._ended or next(
                (self._unmet[name] for name in before.get(node.id, ()) if name in self._unmet), ""
            )
            if stopper:
                self._stopped[node.id] = stopper
                self._lose(node, stopper)
                await self._leave_out(node, stopper)
            elif unmet:
                self._unmet[node.id] = unmet
                self._pass_over(node, f"{shorten(unmet)} isn't met")
            else:
                self.wait = await self._take(filled, node)
                if self.wait is not None:
                    self._at = node.id
                    return self.wait
            # Let other tasks run between steps.
            await asyncio.sleep(0)
        return None

    def save(self) -> dict[str, Any]:
        """Return what the next leg goes on with, as JSON; lines, drafts and used events of this leg
        are not in it."""
        if self.wait is None:
            raise RuntimeError(f"the run of {self.id} does not wait")
        return {
            "at": self._at,
            "wait": vars(self.wait),
            "began": self._began,
            "spent": self.spent,
            "data": self.data.contents(),
            "carried": self._carried.save(),
            "events": [vars(event) for event in self.events.values()],
            "steps": {node: asdict(step) for node, step in self.steps.items()},
            "failure": self.failure,
            "stopped": self._stopped,
            "lost": self._lost,
            "missing": self.data.missing,
            "unmet": self._unmet,
            "ended": self._ended,
            "drafted": self._made,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where the run stood whose `save` returned *saved*."""
        self._at, self.wait, self.spent = saved["at"], Wait(**saved["wait"]), saved["spent"]
        nodes = {node.id: node for node in self._diagram.nodes}
        for node, content in saved["data"]:
            step = find_step(nodes[node])
            if step is None or step.data is None:
                raise ValueError(node)
            self.data.add(step.data, content, node=node)
        for name, failed in saved["missing"].items():
            self.data.lose(name, failed)
        self._carried.restore(saved["carried"], dict(saved["data"]))
        self.events = {event["uuid"]: WebhookEvent(**event) for event in saved["events"]}
        self.steps = {
            node: StepResult(**{**step, "outcome": StepOutcome(step["outcome"])})
            for node, step in saved["steps"].items()
        }
        self._began = saved["began"]
        self.failure = saved["failure"]
        self._stopped, self._lost = dict(saved["stopped"]), dict(saved["lost"])
        self._unmet, self._ended = dict(saved["unmet"]), saved["ended"]
        self._drafted = saved["drafted"]

    @property
    def _made(self) -> int:
        """How many transactions it has drafted."""
        return self._drafted + sum(draft.spec_version is not None for draft in self.drafts)

    @property
    def now(self) -> int:
        """The time of its clock, in nanoseconds since 1970."""
        return self._clock()

    def leave_behind(self, node: Node, *, everything: bool) -> None:
        """Take no step behind *node*, a condition that isn't met; or with *everything*, none at all
        any more."""
        self._unmet[node.id] = node.id
        if everything:
            self._ended = node.id

    def say(self, line: str) -> None:
        """Add a line to the log."""
        text = " ".join(line.encode(errors="replace").decode().split())
        self.lines.append(text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…")

    def failure_line(self, failure: str) -> str:
        """Return the log line for a failed run, with the number of drafts that are missing."""
        unwanted = sum(
            (step := find_step(node)) is not None
            and step.draft is not None
            and node.id in self._unmet
            for node in self._diagram.nodes
        )
        missing = self._drafting - self._made - unwanted
        share = f"{missing} of {self._drafting} drafts: " if missing > 0 else ""
        return f"{RUN_FAILED}: {share}{failure.removeprefix(f'{NO_TRANSACTION}: ')}"

    def add_entry(
        self,
        tx_type: str,
        node: str,
        *,
        chain: str,
        tx: str,
        amount: str = "0",
        human: str = "",
        beside: str = "",
        spec_version: int | None = None,
        call: str = "",
    ) -> None:
        """Add an entry to the mempool; *spec_version* is the runtime version that a transaction is
        built for."""
        date = self._clock()
        hours = self.app.settings.draft_hours if spec_version is not None else 0
        self.drafts.append(
            MempoolDraft(
                chain=chain,
                amount=amount,
                tx_type=tx_type,
                date=date,
                tx=tx,
                spec_version=spec_version,
                expires=date + hours * 3600 * SECOND if hours else None,
                node=node,
                human=human,
                beside=beside,
                uuid=str(uuid4()),
                call=call,
            )
        )

    async def _take(self, diagram: Diagram, node: Node) -> Wait | None:
        """Take a step; return what has to be waited for before it is taken again."""
        step = find_step(node)
        self._said = len(self.lines)
        if step is None:
            self.say(f"Skipped {_named(node)}: {unknown_sentence(node)}")
            self._skip(node)
            return None
        lost = next(filter(None, map(self._lost.get, sorted(first_names(node.form)))), "")
        if lost and not step.is_shared:
            self._lost[node.id] = lost
            self._lose(node, lost)
            if not step.tx_type:
                # As if it had failed: nothing is drafted behind a condition that nobody judged.
                self._stopped[node.id] = lost
            await self._leave_out(node, lost)
            return None
        unfilled, node = node, _fill_node(step, node, self.data)
        if self.wait is None:
            self._began = self._clock()
        try:
            if step.draft is not None:
                await self._draft(step, step.draft, diagram, node, unfilled)
                self._end(diagram, node, StepOutcome.DRAFTED, self.lines[self._said])
            elif step.run is not None:
                wait = await step.run(self, diagram, node)
                if wait is not None:
                    return wait
                self._end(diagram, node, StepOutcome.DONE, self._output_of(step, node))
        except (StoreBusy, StoreUnavailable):
            # No step is to blame: the leg is taken again.
            raise
        except ScenarioctlError as error:
            self._lose(node, node.id)
            if step.tx_type:
                self._keep_failure(step, diagram, node, error)
            else:
                self._stopped[node.id] = node.id
                self._fail(f"{_named(node)} failed: {error.statement}", error)
            self._end(diagram, node, StepOutcome.FAILED, self.failure)
        return None

    def _lose(self, node: Node, failed: str) -> None:
        """Let nothing be filled with the data of *node*, since *failed* did: older data of that
        name isn't meant."""
        step = find_step(node)
        if step is None or step.data is None:
            return
        if step.draft is not None:
            self._lost |= {step.data.name: failed, node.id: failed}
        elif step.data.name:
            self.data.lose(step.data.name, failed)

    async def _take_together(self, nodes: Sequence[Node]) -> None:
        """Draft all steps, which are *nodes*, as one transaction."""
        from scenarioctl.actions.batching import (
            BATCH,
            check_together,
            draft_together,
            sum_drafted,
        )

        self._drafting, self._began, self._joined = 1, self._clock(), BATCH
        drafting = [
            (step, node) for node in nodes if (step := find_step(node)) is not None and step.draft
        ]
        outcome = StepOutcome.DRAFTED
        try:
            check_together(self.app, self._diagram)
            transaction, drafted = await draft_together(self.app, self._diagram)
            amount, human = sum_drafted(self.app, drafted)
            await self._keep(BATCH, "", transaction, amount=amount, human=human)
        except (StoreBusy, StoreUnavailable):
            raise
        except ScenarioctlError as error:
            outcome = StepOutcome.FAILED
            self._add_missing(drafting[0][0], self._diagram, drafting[0][1])
            self._fail(f"{NO_TRANSACTION}: {error.statement}", error)
        said = self.lines[0]
        for _, node in drafting:
            self._end(self._diagram, node, outcome, said)

    def _end(self, diagram: Diagram, node: Node, outcome: StepOutcome, output: str) -> None:
        """Keep what became of a step that ends now."""
        self.steps[node.id] = StepResult(
            outcome=outcome,
            seconds=round(max(0, self._clock() - self._began) / SECOND, 3) if self._began else None,
            input=tell_step(self.app, diagram, node).sentence,
            output=output[:STEP_TEXT_MAX],
            length=len(output),
        )

    def _skip(self, node: Node) -> None:
        """Keep that a step is skipped, and the line that says why."""
        why = self.lines[self._said]
        self.steps[node.id] = StepResult(outcome=StepOutcome.SKIPPED, output=why, length=len(why))

    def _output_of(self, step: StepKind, node: Node) -> str:
        """Return the data that a step gives to later ones, as JSON; empty if it gives none."""
        if step.data is None:
            return ""
        content = next((each for id, each in self.data.contents() if id == node.id), None)
        if isinstance(content, dict) and step.data.secret:
            content = {
                name: value for name, value in content.items() if name not in step.data.secret
            }
        return json.dumps(content, ensure_ascii=False)

    def _fill_near(self, near: Node, node: Node) -> Node:
        self._carried.note_near(near, node)
        return _fill_node(find_step(near), near, self.data)

    async def _draft(
        self, step: StepKind, draft: DraftStep, diagram: Diagram, node: Node, unfilled: Node
    ) -> None:
        drafted = self._carried.add(unfilled, await draft(self.app, diagram, node, None))
        transaction, way = drafted.transaction, drafted.dest_chain
        await self._keep(
            step.tx_type,
            node.id,
            transaction,
            amount=drafted.raw_amount,
            human=drafted.human,
            to=way,
        )
        if drafted.data is not None and step.data is not None:
            self.data.add(step.data, drafted.data, node=node.id)
            self._lost.pop(step.data.name, None)

    async def _keep(
        self,
        tx_type: str,
        node: str,
        transaction: "UnsignedTransaction",
        *,
        amount: int,
        human: str,
        to: str = "",
    ) -> None:
        """Add *transaction* to the drafts, and what its signer should know to the log."""
        from scenarioctl.transactions.extrinsic import bare_extrinsic

        chain = transaction.chain
        self.add_entry(
            tx_type,
            node,
            chain=chain,
            amount=str(amount),
            human=human,
            beside=transaction.beside,
            tx="0x" + bare_extrinsic(transaction.call_data).hex(),
            spec_version=transaction.spec_version,
            call=transaction.key,
        )
        moved = " and ".join(filter(None, (human, transaction.beside)))
        offline = ", built offline, not checked against a node" * transaction.offline
        self.say(
            f"Drafted {moved and f'{moved}, '}{chain} > {tx_type} > {to or chain} for "
            f"{chain} {transaction.spec_version}{offline}"
        )
        for sentence in transaction.notes:
            self.say(f"Note: {sentence}")
        for sentence in transaction.warnings:
            self.say(f"Warning: {sentence}")

    def _keep_failure(
        self, step: StepKind, diagram: Diagram, node: Node, error: ScenarioctlError
    ) -> None:
        self._add_missing(step, diagram, node)
        which = f"node {shorten(node.id)}: " if self._several else ""
        self._fail(f"{NO_TRANSACTION}: {which}{error.statement}", error)

    def _pass_over(self, node: Node, why: str, *, failed: str = "") -> None:
        """Log that a step is skipped, with what *failed* so."""
        step = find_step(node)
        if step is not None and (step.draft is not None or step.run is not None):
            self._said = len(self.lines)
            self.say(f"{failed}{_named(node)} was skipped because {why}")
            self._skip(node)

    async def _leave_out(self, node: Node, stopper: str) -> None:
        """Log that a step is skipped, and what is wrong with it even so."""
        step, wrong = find_step(node), None
        why = f"{shorten(stopper)} failed"
        if step is None or not step.tx_type:
            self._pass_over(node, why)
            return
        try:
            if step.draft is not None:
                await step.draft(self.app, self._diagram, node, None)
            elif step.check is not None:
                step.check(self.app, self._diagram, node)
        except ScenarioctlError as error:
            if isinstance(error, InvalidRequest) and not isinstance(error, WaitsForData):
                wrong = error
        self._pass_over(node, why, failed="" if wrong else f"{NO_TRANSACTION}: ")
        if wrong is None:
            self._add_missing(step, self._diagram, node)
        else:
            self._keep_failure(step, self._diagram, node, wrong)

    def give_up(self, failure: str) -> list[str]:
        """Add an entry for each draft that the run didn't come to, which *failure* ended; return
        the lines that say so."""
        rest = [
            (step, node)
            for node in (self._diagram.in_order() if self._drafting else ())
            if (step := find_step(node)) is not None
            and step.draft is not None
            and not {node.id} & {*self.steps, *self._unmet}
        ]
        for step, node in rest[: 1 if self._joined else None]:
            self._add_missing(step, self._diagram, node)
        return [f"{NO_TRANSACTION}: {_named(node)} was skipped: {failure}" for _, node in rest]

    def _add_missing(self, step: StepKind, diagram: Diagram, node: Node) -> None:
        """Add the entry of a draft that there isn't."""
        chain, amount = step.outline(self.app, diagram, node)
        if self._joined:
            self.add_entry(self._joined, "", chain=chain, tx=NO_TRANSACTION)
        else:
            self.add_entry(step.tx_type, node.id, chain=chain, amount=amount, tx=NO_TRANSACTION)

    def _fail(self, sentence: str, error: ScenarioctlError) -> None:
        self.say(sentence)
        self.failure, self.error = self.lines[-1], error


def _fill_node(step: StepKind | None, node: Node, data: Data) -> Node:
    """Return *node* with the placeholders in its form replaced."""
    if not node.form or step is None:
        return node
    return replace(node, form=step.fill(node.form, data))


def _named(node: Node) -> str:
    kind = node.form.get("action") if node.type == "action" else node.type
    return f"{kind if isinstance(kind, str) and len(kind) < 40 else 'step'} {shorten(node.id)}"
