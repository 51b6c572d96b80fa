"""Which transactions of a payout were sent: their lines are not drafted again, and no second
transaction for them is sent."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest, shorten
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.model.json_types import timestamp
from scenarioctl.operations.sent_states import standing_of
from scenarioctl.stores.sent import SentFilter
from scenarioctl.stores.validation import changed_meanwhile

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.model.diagram import Diagram, Node
    from scenarioctl.model.jobs import MempoolEntry
    from scenarioctl.runtime.table import RuntimeTable

_PAGE = 1000


async def read_sent_payouts(app: Application, scenario: str) -> list[SentTransaction]:
    """Return all transactions that were sent for *scenario* and its job, the newest first."""
    found: list[SentTransaction] = []
    after = ""
    while True:
        page = await app.store.sent().list(SentFilter(scenario=scenario), limit=_PAGE, after=after)
        found += page.items
        after = page.next
        if not after:
            return found


def is_standing(sent: SentTransaction) -> bool:
    """Tell whether *sent* has paid, or may still pay: it neither expired nor failed."""
    return sent.state is not SentState.EXPIRED and standing_of(sent).success is not False


def payouts_of(diagram: "Diagram") -> "list[Node]":
    from scenarioctl.actions.drafting import PAYOUT

    return [node for node in diagram.nodes if node.type == PAYOUT]


async def mark_sent(app: Application, scenario: str, diagram: "Diagram") -> "Diagram":
    """Return *diagram* with each payout marked whose transaction was sent, so that it isn't drafted
    again."""
    if not payouts_of(diagram):
        return diagram
    from scenarioctl.actions.drafting import SENT

    standing = [each for each in await read_sent_payouts(app, scenario) if is_standing(each)]
    found = {node.id: find_payment(standing, node.id) for node in payouts_of(diagram)}
    forms = {
        id: {SENT: "" if sent is None else describe_payment(sent)} for id, sent in found.items()
    }
    nodes = tuple(
        replace(node, form={**node.form, **forms[node.id]}) if node.id in forms else node
        for node in diagram.nodes
    )
    return replace(diagram, nodes=nodes)


def find_payment(sent: Iterable[SentTransaction], node: str) -> SentTransaction | None:
    """Return the one of *sent* that pays what *node* pays, alone or with all others of its
    scenario."""
    return next((each for each in sent if each.node in (node, "")), None)


def describe_payment(sent: SentTransaction) -> str:
    return (
        f"{sent.hash} on {timestamp(sent.sent)[:16].replace('T', ' ')} UTC, see tx status "
        f"{sent.chain} {sent.hash}"
    )


async def refuse_edit(app: Application, id: str, former: "Diagram", new: "Diagram") -> None:
    """Refuse a *new* version of *former* that changes what a transaction is said to have paid; one
    with a job pays anew in each run."""
    payouts = payouts_of(former)
    if not payouts or await app.store.get_job(id) is not None:
        return
    standing = [each for each in await read_sent_payouts(app, id) if is_standing(each)]
    forms = {node.id: node.form for node in new.nodes}
    for node in payouts:
        sent = find_payment(standing, node.id)
        if sent is not None and forms.get(node.id) != node.form:
            raise Conflict(
                f"payout {id} can't be edited, since its payments were sent: "
                f"{describe_payment(sent)}. A copy pays everybody once more"
            )


async def find_payout_step(
    app: Application,
    step: tuple[str, str],
    *,
    is_chosen: bool,
    chain: "Chain",
    table: "RuntimeTable",
    call: "Call",
) -> tuple[str, str]:
    """Return the scenario and the node that *call* is made of, for a *step* of a scenario that has
    payouts; another one as it is.

    InvalidRequest if it is made of no node, or makes the payments of another one than was chosen.
    """
    from scenarioctl.actions.drafting import draft_each
    from scenarioctl.operations.stored_diagrams import open_stored
    from scenarioctl.transactions.inner_calls import walk_calls

    scenario, wanted = step
    diagram = await open_stored(app, scenario)
    payouts = {node.id for node in payouts_of(diagram)}
    if not payouts or wanted == "" or (is_chosen and wanted not in payouts):
        return step
    inner = [each.call for each in walk_calls(call, table)]
    whole: list[str] = []
    held: list[str] = []
    # Who acts for another one has the payments in a call around them.
    async for node, outcome in draft_each(app, diagram.acted_by(None)):
        if not isinstance(outcome, Exception) and outcome.transaction.chain == chain.name:
            if outcome.transaction.call == call:
                whole.append(node)
            elif node in payouts and outcome.transaction.call in inner:
                held.append(node)
    found = whole or held
    if is_chosen and wanted in found:
        return step
    if is_chosen or not found:
        which = f"step {shorten(wanted)}" if is_chosen else "any step"
        other = (
            ""
            if is_chosen or len(payouts) == len(diagram.nodes)
            else ", name its step if it is another one"
        )
        raise InvalidRequest(
            f"the transaction doesn't make the payments of {which} of payout {scenario}, "
            f"as they are now: leave scenario out{other}, or make its payload again"
        )
    sent = [each for each in await read_sent_payouts(app, scenario) if is_standing(each)]
    return scenario, next((node for node in found if find_payment(sent, node) is None), found[0])


async def refuse_second(
    app: Application, step: tuple[str, str], draft: "MempoolEntry | None", hash: str
) -> None:
    """Refuse the transaction *hash* if another one was sent for the same draft, or for the same
    payout: both would pay.

    It is written down already, so that of two that are sent at once none is overlooked.
    """
    from scenarioctl.actions.drafting import BATCH
    from scenarioctl.actions.payout import TX_TYPE
    from scenarioctl.operations.stored_diagrams import open_stored

    scenario, node = step
    if draft is not None:
        kind = draft.draft.tx_type
        if kind != TX_TYPE and not (
            kind == BATCH and payouts_of(await open_stored(app, draft.job))
        ):
            return
        sent = await read_sent_payouts(app, draft.job)
        others = [each for each in sent if each.draft == draft.seq]
    elif scenario and (payouts := payouts_of(diagram := await open_stored(app, scenario))):
        if node and all(each.id != node for each in diagram.nodes):
            raise changed_meanwhile(scenario)
        if node and all(each.id != node for each in payouts):
            return
        sent = await read_sent_payouts(app, scenario)
        others = [each for each in sent if node == "" or each.node in (node, "")]
    else:
        return
    former = next((each for each in others if each.hash != hash and is_standing(each)), None)
    if former is not None:
        raise Conflict(
            f"its payments were sent: {describe_payment(former)}; nothing was sent now. To "
            "pay everybody once more, copy the scenario"
        )
