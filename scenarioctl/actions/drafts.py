"""The drafts of a diagram, in execution order, and the data that one step's draft gives to later
ones: the minimum received of a swap, as the amount of a transfer."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import find_step
from scenarioctl.actions.drafting import Drafted, check_draft, draft_batch, require_check
from scenarioctl.actions.placeholders import Data, first_names, has_numbered
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.amounts import read_digits
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.model.checks import Check
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.step_kind import DraftStep
    from scenarioctl.application import Application

#: Nodes that an error lists.
_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class _Earlier:
    """A draft that gives data to later steps."""

    #: Chain, id and name of the asset that it brings; None if it brings none, or an unknown one.
    received: tuple[str, str, str] | None
    #: As `Drafted.after`.
    after: tuple[str, ...]
    #: None if it was drafted before a wait.
    transaction: UnsignedTransaction | None = None


class CarriedData:
    """The drafts of a diagram that later steps take data from, and the steps filled with it."""

    def __init__(self, diagram: Diagram) -> None:
        self._data = Data(diagram.numbering, partial=True)
        self._earlier: dict[str, _Earlier] = {}
        #: The diagram, in which neighbors of a step are filled too.
        self.diagram = diagram.with_neighbors(self.fill_near)
        #: Step -> the nodes whose data was in its neighbors.
        self._near: dict[str, set[str]] = {}

    def fill(self, node: Node) -> Node:
        """Return *node* with the placeholders replaced whose data is known; others stay."""
        step = find_step(node)
        if step is None or not node.form:
            return node
        return replace(node, form=step.fill(node.form, self._data))

    def note_near(self, near: Node, node: Node) -> None:
        """Note that *node* reads its neighbor *near*, unfilled here, and needs what fills it."""
        self._near.setdefault(node.id, set()).update(self._data.sources(near.form))

    def fill_near(self, near: Node, node: Node) -> Node:
        self.note_near(near, node)
        return self.fill(near)

    def _sources(self, node: Node) -> set[str]:
        """Return the nodes whose data *node* or one of its neighbors uses."""
        return self._data.sources(node.form) | self._near.get(node.id, set())

    def _check_asset(self, sources: set[str], drafted: Drafted) -> None:
        """Refuse a step that sends another asset than the swaps in *sources* bring, or from another
        chain."""
        for source in sorted(sources):
            received, sent = self._earlier[source].received, drafted.sent
            if received is None or sent is None or received[:2] == (sent.chain, sent.id):
                continue
            chain, _, name = received
            where = " on another chain" if chain != sent.chain else ""
            raise InvalidRequest(
                f"it sends {sent.display_name}, but uses the minimum received of the swap "
                f"in node {shorten(source)}, {name}{where}: expected the same asset on the "
                "same chain"
            )

    def _needs(self, sources: set[str]) -> tuple[str, ...]:
        """Return *sources* and the nodes that they need, whose transactions have to be in a block
        before, in order."""
        needed = {name for source in sources for name in (*self._earlier[source].after, source)}
        return tuple(name for name in self._earlier if name in needed)

    def add(self, node: Node, drafted: Drafted) -> Drafted:
        """Keep the data of *drafted*, and return it with a warning if other transactions have to
        come before it.

        *node* has its placeholders as they were before they were filled.  InvalidRequest if it
        sends something else than what the swap brings whose amount it uses.
        """
        sources = self._sources(node)
        self._check_asset(sources, drafted)
        after = self._needs(sources)
        if after:
            warning = order_warning(after[-1])
            transaction = replace(
                drafted.transaction, warnings=(*drafted.transaction.warnings, warning)
            )
            drafted = replace(drafted, after=after, transaction=transaction)
        step = find_step(node)
        if step is not None and step.data is not None and drafted.data is not None:
            self._data.add(step.data, drafted.data, node=node.id)
            brought = drafted.received
            self._earlier[node.id] = _Earlier(
                received=None
                if brought is None
                else (brought.chain, brought.id, brought.display_name),
                after=drafted.after,
                transaction=drafted.transaction,
            )
        return drafted

    def lose(self, node: Node) -> None:
        """Let nothing be filled by the name of what *node* would have brought, had it been drafted:
        older data isn't meant."""
        step = find_step(node)
        if step is not None and step.data is not None and step.data.name:
            self._data.lose(step.data.name, node.id)

    def save(self) -> dict[str, Any]:
        """Return what `restore` takes, as JSON."""
        return {node: [earlier.received, earlier.after] for node, earlier in self._earlier.items()}

    def restore(self, saved: Mapping[str, Any], contents: Mapping[str, Any]) -> None:
        """Go on with the drafts that `save` returned, and with the *contents* that each node
        gave."""
        nodes = {node.id: node for node in self.diagram.nodes}
        # In the order in which they were drafted: the newest is meant by its name.
        for id, (received, after) in saved.items():
            node = nodes.get(id)
            step = None if node is None else find_step(node)
            if node is not None and step is not None and step.data is not None:
                self._data.add(step.data, contents[node.id], node=node.id)
                self._earlier[node.id] = _Earlier(
                    received=None if received is None else tuple(received), after=tuple(after)
                )

    def is_needed(self, earlier: Node, node: Node) -> bool:
        """Return whether *earlier* is drafted before *node* for its data.  One too many costs time
        only."""
        step = find_step(earlier)
        if step is None or step.data is None or earlier.id in self._earlier:
            return False
        return has_numbered(node.form) or bool(
            first_names(node.form) & {step.data.name, earlier.id}
        )

    def transactions(self, nodes: Sequence[str]) -> list[UnsignedTransaction]:
        """Return the transactions of *nodes*, which were added."""
        return [
            transaction
            for node in nodes
            if (transaction := self._earlier[node].transaction) is not None
        ]


async def draft_carried(
    app: "Application", carried: CarriedData, node: Node, sender: bytes | None = None
) -> Drafted:
    """Return the transaction of *node*, filled with what earlier drafts give; with a *sender* it is
    checked for them."""
    step = find_step(node)
    if step is None or step.draft is None:
        raise RuntimeError(f"{node.id} drafts no transaction")
    app = app.acting_as(app.acting or carried.diagram.acting)
    drafted = await step.draft(app, carried.diagram, carried.fill(node), sender)
    if sender is not None:
        drafted = replace(drafted, transaction=await check_draft(app, drafted.transaction, sender))
    drafted = carried.add(node, drafted)
    if sender is None or not drafted.after:
        return drafted
    return replace(drafted, transaction=await _check_after(app, carried, drafted, sender))


async def _check_after(
    app: "Application", carried: CarriedData, drafted: Drafted, sender: bytes
) -> UnsignedTransaction:
    """Return the transaction with a verdict that says what comes of it after the transactions that
    it needs.

    It is simulated together with them in one batch.  That is never more than `unknown`: it is not
    what will be signed.
    """
    alone = drafted.transaction
    stops = require_check(alone).stops
    if require_check(alone).verdict == "ok" or (stops and stops[0].outcome == "ok"):
        # The sender holds what it takes: what else is wrong with it, the swap doesn't mend.
        return alone
    earlier = carried.transactions(drafted.after)
    calls = [each.call for each in (*earlier, alone)]
    source = shorten(drafted.after[-1])
    if any(each.chain != alone.chain for each in earlier):
        return replace(
            alone, check=_unknown(alone, f"it needs the swap in node {source} in a block first")
        )
    chain = app.registry.find(alone.chain)
    try:
        # They are made as whoever acts in it already.
        batch = await draft_batch(app.acting_as(None), chain=chain, kind="batch-all", calls=calls)
    except InvalidRequest:
        return replace(
            alone, check=_unknown(alone, f"it needs the swap in node {source} in a block first")
        )
    check = require_check(await check_draft(app, batch, sender))
    if check.verdict == "ok":
        reasons: tuple[str, ...] = (
            (
                f"it succeeds in a simulation right after the swap in node {source}, but that "
                "swap is not in a block yet"
            ),
        )
        return replace(alone, check=replace(check, verdict="unknown", reasons=reasons))
    reasons = tuple(
        f"simulated after the swap in node {source}: {reason}" for reason in check.reasons
    )
    return replace(alone, check=replace(check, reasons=reasons))


def _unknown(transaction: UnsignedTransaction, reason: str) -> Check:
    return replace(require_check(transaction), verdict="unknown", reasons=(reason,))


def order_warning(node: str) -> str:
    """Return what the signer of a transaction should know that uses data of the swap in *node*."""
    return (
        f"this transaction uses the minimum received of the swap in node {shorten(node)}. "
        "Submit it only after that swap "
        "is in a block and has succeeded. Before that it fails and still costs its fee, or "
        "it spends tokens that the "
        "account already held. If you draft the swap again, draft this one again too: the "
        "amount may change"
    )


async def draft_first(
    app: "Application",
    diagram: Diagram,
    *,
    step: int | str = "",
    sender: bytes | None = None,
    carried: CarriedData | None = None,
) -> Drafted:
    """Return the first transaction in execution order, or that of *step*; InvalidRequest if no step
    drafts one.

    *step* is a number, counted from 1 among the steps that draft a transaction, or the id of a
    node.  With a *sender* it is checked for them: `transaction.check` has the verdict.  Earlier
    steps are drafted too if it needs their data;
    *carried* collects the data.
    """
    carried = carried or CarriedData(diagram)
    drafting = [
        (node, draft) for node in diagram.in_order() if (draft := _draft_of(node)) is not None
    ]
    place = find_step_place(step, [node.id for node, _ in drafting])
    if step == "":
        # What was sent is not drafted again.
        place = next(
            (number for number, (each, _) in enumerate(drafting) if not _is_done(each)), place
        )
    node = drafting[place][0]
    needed = [node]
    for earlier, _ in reversed(drafting[:place]):
        if any(carried.is_needed(earlier, later) for later in needed):
            needed.insert(0, earlier)
    try:
        for node in needed[:-1]:
            await draft_carried(app, carried, node)
        node = needed[-1]
        return await draft_carried(app, carried, node, sender)
    except ScenarioctlError as error:
        if len(drafting) == 1:
            raise
        raise error.within(f"node {shorten(node.id)}") from None


def _is_done(node: Node) -> bool:
    step = find_step(node)
    return step is not None and step.is_done(node)


def find_drafting_node(diagram: Diagram, step: int | str) -> str:
    """Return the id of the node of *step*, or of the first one that drafts a transaction."""
    nodes = [node.id for node in diagram.in_order() if _draft_of(node) is not None]
    return nodes[find_step_place(step, nodes)]


def find_step_place(step: int | str, nodes: Sequence[str]) -> int:
    """Return the place of *step* among the *nodes* that draft a transaction; the first for an empty
    one."""
    if not nodes:
        raise InvalidRequest("this scenario has no step that drafts a transaction")
    if step == "":
        return 0
    text = str(step)
    number = read_digits(text) or 0
    if 1 <= number <= len(nodes):
        return number - 1
    if step in nodes:
        return nodes.index(text)
    known = ", ".join(map(shorten, nodes[:_SHOWN])) + (", …" if len(nodes) > _SHOWN else "")
    several = len(nodes) > 1
    raise InvalidRequest(
        field="step",
        value=step,
        problem=f"does not exist: this scenario drafts {len(nodes)} transaction{'s' * several}",
        expected=(
            f"{'a number from 1 to ' if several else ''}{len(nodes)}, or the id of a node: {known}"
        ),
    )


async def draft_each(
    app: "Application",
    diagram: Diagram,
    *,
    sender: bytes | None = None,
    after: str = "",
    carried: CarriedData | None = None,
) -> AsyncGenerator[tuple[str, Drafted | ScenarioctlError]]:
    """Yield the node of each step that drafts a transaction, and the transaction or what is wrong
    with it.

    With a *sender* it is checked for them; *after* leaves out the steps up to that node, whose data
    *carried* has.
    """
    carried = carried or CarriedData(diagram)
    async with app.long_loop(len(diagram.nodes)) as breathe:
        for node in diagram.in_order():
            if after or _draft_of(node) is None:
                after = "" if node.id == after else after
                continue
            await breathe()
            try:
                yield node.id, await draft_carried(app, carried, node, sender)
            except ScenarioctlError as error:
                carried.lose(node)
                yield node.id, error


def _draft_of(node: Node) -> "DraftStep | None":
    step = find_step(node)
    return None if step is None else step.draft
