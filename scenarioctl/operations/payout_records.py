"""Which payments of a payout were sent, and what became of each: they are not drafted again, and no
second transaction for them is sent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, NotFound
from scenarioctl.model.calls import call_key
from scenarioctl.model.jobs import UNDONE, SentFor, SentTransaction
from scenarioctl.model.json_types import timestamp
from scenarioctl.operations.sent_states import read_effects
from scenarioctl.stores.sent import SentFilter
from scenarioctl.stores.validation import changed_meanwhile

if TYPE_CHECKING:
    from scenarioctl.actions.payout_lines import PayoutLine
    from scenarioctl.model.diagram import Diagram, Node

_PAGE = 1000

PaymentStatus: TypeAlias = Literal[
    "not sent",
    "not known to be sent",
    "uncertain",
    "sent",
    "in-block",
    "finalized",
    "pending",
    "failed",
    "canceled",
    "expired",
    "replaced",
    "unknown",
]
#: A payment of these wasn't made, and won't be: it may be made again.
_UNPAID = ("failed", "canceled", "expired", "replaced")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A transaction that was sent for a payout."""

    sent: SentTransaction
    made: SentFor
    #: What became of each line that it pays, by its place.
    lines: dict[int, PaymentStatus]

    def standing(self) -> set[int]:
        """Return the lines that it has paid, or may still pay."""
        return {place for place, status in self.lines.items() if status not in _UNPAID}

    def __str__(self) -> str:
        sent = self.sent
        told = (
            ""
            if self.made.certain
            else (
                ". It may also be made of another scenario with the same call: send the same bytes "
                "again with `scenario`, which sends nothing and tells which"
            )
        )
        return (
            f"{sent.hash} on {timestamp(sent.sent)[:16].replace('T', ' ')} UTC, see tx status "
            f"{sent.chain} {sent.hash}{told}"
        )


async def read_sent_payouts(
    app: Application, scenario: str
) -> list[tuple[SentFor, SentTransaction]]:
    """Return all transactions that were sent for *scenario* and its job, the newest first."""
    found: list[SentTransaction] = []
    after = ""
    while True:
        page = await app.store.sent().list(SentFilter(scenario=scenario), limit=_PAGE, after=after)
        found += page.items
        after = page.next
        if not after:
            return [
                (made, each) for each in found for made in each.made_of if made.scenario == scenario
            ]


def payouts_of(diagram: "Diagram") -> "list[Node]":
    from scenarioctl.actions.payout import PAYOUT

    return [node for node in diagram.nodes if node.type == PAYOUT]


def read_payout(app: Application, node: "Node") -> "list[PayoutLine]":
    from scenarioctl.actions.payout_lines import read_lines

    chain = app.registry.find(node.form.get("selectedChain"), field="selectedChain")
    return read_lines(app, node.form.get("lines"), chain=chain)


def find_attempts(
    app: Application,
    node: "Node",
    lines: "Sequence[PayoutLine]",
    sent: Iterable[tuple[SentFor, SentTransaction]],
) -> list[Attempt]:
    """Return those of *sent* that pay *lines*, which are those of *node*, in their order."""
    own = [(made, each) for made, each in sent if made.node in (node.id, "")]
    keys = _call_keys(app, lines) if any(_is_mixed(each) for _, each in own) else []
    return [
        Attempt(sent=each, made=made, lines=_statuses(made, each, keys, len(lines)))
        for made, each in own
    ]


def _is_mixed(sent: SentTransaction) -> bool:
    """Tell whether some of its calls failed, and some did not."""
    effects = read_effects(sent)
    states = {state in UNDONE for *_, state, _ in effects.get("outcomes", ())}
    return len(states) > 1


def _call_keys(app: Application, lines: "Sequence[PayoutLine]") -> list[str]:
    """Return the key of the call of each line; none if its chain's runtime isn't known here."""
    from scenarioctl.actions.payout import build_calls

    table = app.known_runtime(lines[0].chain)
    if table is None:
        return []
    return [call_key(table.encode_call(each)) for each in build_calls(lines, table, memos=False)]


def _statuses(
    made: SentFor, sent: SentTransaction, keys: Sequence[str], count: int
) -> dict[int, PaymentStatus]:
    whole = status_of(made, sent)
    told: dict[str, list[str]] = {}
    for hash, _, _, state, _ in read_effects(sent).get("outcomes", ()) if keys else ():
        told.setdefault(hash, []).append(state)
    found: dict[int, PaymentStatus] = {}
    for place in map(int, made.part.split()) if made.part else range(count):
        # Of equal payments each has its own.
        states = told.get(keys[place], []) if place < len(keys) else []
        state = states.pop(0) if states else ""
        found[place] = "failed" if state in UNDONE and whole not in _UNPAID else whole
    return found


def status_of(made: SentFor, sent: SentTransaction) -> PaymentStatus:
    """Return what became of a payment that *made*, one of what *sent* is made of, makes."""
    if not made.certain:
        return "uncertain"
    if made.outcome in ("canceled", "replaced", "pending"):
        return cast("PaymentStatus", made.outcome)
    return "failed" if made.outcome in UNDONE else sent.state.value


async def mark_sent(app: Application, scenario: str, diagram: "Diagram") -> "Diagram":
    """Return *diagram* with each payout marked of which payments were sent, so that these aren't
    drafted again."""
    from scenarioctl.actions.payout import SENT

    payouts = payouts_of(diagram)
    sent = await read_sent_payouts(app, scenario) if payouts else []

    def mark(node: "Node") -> "Node":
        if node not in payouts:
            return node
        lines = read_payout(app, node) if sent else []
        attempts = [each for each in find_attempts(app, node, lines, sent) if each.standing()]
        paid = set[int]().union(*(each.standing() for each in attempts))
        left = [place for place in range(len(lines)) if place not in paid]
        mark = {"told": str(attempts[0]), "left": left} if attempts else None
        return replace(node, form={**node.form, SENT: mark})

    if not payouts:
        return diagram
    return replace(diagram, nodes=tuple(map(mark, diagram.nodes)))


async def refuse_edit(app: Application, id: str, former: "Diagram", new: "Diagram") -> None:
    """Refuse a *new* version of *former* that changes what a transaction is said to have paid; one
    with a job pays anew in each run."""
    payouts = payouts_of(former)
    if not payouts or await app.store.get_job(id) is not None:
        return
    sent = await read_sent_payouts(app, id)
    forms = {node.id: node.form for node in new.nodes}
    for node in payouts:
        lines = read_payout(app, node) if sent else []
        for each in find_attempts(app, node, lines, sent):
            if each.standing() and forms.get(node.id) != node.form:
                raise Conflict(
                    f"payout {id} can't be edited, since its payments were sent: {each}. A copy "
                    "pays everybody once more"
                )


async def refuse_second(app: Application, made_of: Iterable[SentFor], hash: str) -> None:
    """Refuse the transaction *hash*, which is made of *made_of*, if another one was sent for the
    same draft, or for the same payments: both would pay.

    It is written down already, so that of two that are sent at once none is overlooked.
    """
    from scenarioctl.operations.stored_diagrams import open_stored

    for made in made_of:
        try:
            diagram = await open_stored(app, made.scenario)
        except NotFound:
            continue
        payouts = payouts_of(diagram)
        if made.node and payouts and all(each.id != made.node for each in diagram.nodes):
            raise changed_meanwhile(made.scenario)
        sent = await read_sent_payouts(app, made.scenario) if payouts else []
        others = [
            (other, each)
            for other, each in sent
            if each.hash != hash and made.draft in (0, other.draft)
        ]
        for node in payouts:
            if others and made.node in (node.id, ""):
                lines = read_payout(app, node)
                places = {int(place) for place in made.part.split()} or {*range(len(lines))}
                for each in find_attempts(app, node, lines, others):
                    if each.standing() & places:
                        raise Conflict(
                            f"its payments were sent: {each}; nothing was sent now. To pay "
                            "everybody once more, copy the scenario"
                        )
