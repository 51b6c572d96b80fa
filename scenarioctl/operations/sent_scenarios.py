"""Which transactions of a scenario were sent, so that nobody pays twice: linked when they are sent, read by all who show it."""

from collections.abc import Mapping, Sequence

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.json_types import Timestamp, timestamp
from scenarioctl.model.sent import SentState, SentTransaction
from scenarioctl.operations.sent_records import SentMark, mark_of
from scenarioctl.operations.transaction_status import read_effects

#: Names all transactions of a scenario, signed as one, in place of a step.
ALL = "all"


class SentScenario(SentMark):
    """A transaction of a scenario that was sent, as it was last seen."""

    chain: str
    #: When it was sent.
    date: "Timestamp"
    #: Node of the step whose transaction it was; empty for all of the scenario in one.
    node: str
    #: What became of it, in words: `in block 20, finalized`.
    outcome: str
    #: Whether the scenario was changed since.
    changed_since: bool


async def read_sent(app: Application, updated: Mapping[str, int]) -> dict[str, list[SentScenario]]:
    """Return the transaction that was sent last for each step of these scenarios, the newest first.

    *updated* says when each of them was changed last, in nanoseconds since 1970.
    """
    found: dict[str, list[SentScenario]] = {}
    sent = await app.store.sent().of_scenarios(list(updated))
    for each in sorted(sent.values(), key=lambda each: -each.sent):
        found.setdefault(each.scenario, []).append(_describe(each, updated[each.scenario]))
    return found


def _describe(sent: SentTransaction, updated: int) -> SentScenario:
    return {
        **mark_of(sent),
        "chain": sent.chain,
        "date": timestamp(sent.sent),
        "node": sent.node,
        "outcome": outcome_of(sent),
        "changed_since": updated > sent.sent,
    }


def outcome_of(sent: SentTransaction) -> str:
    """Return what became of *sent*, as it was last seen."""
    if sent.state is SentState.UNCERTAIN:
        return "whether a node took it isn't known"
    if sent.state is SentState.SENT:
        return "in no block when last looked at"
    if sent.state is SentState.EXPIRED:
        return "expired, in no block"
    final = "finalized" if sent.state is SentState.FINALIZED else "not finalized when last looked at"
    failed = ", where it failed" if read_effects(sent).get("success") is False else f", {final}"
    return f"in block {sent.block_number}{failed}"


async def warn_of_scenario(app: Application, scenario: str, node: str = ALL) -> tuple[str, ...]:
    """Return a warning for each transaction that was sent for *node* of *scenario*, and may have done what it should."""
    sent = await app.store.sent().of_scenarios([scenario])
    concerned = [each for each in sent.values() if node == ALL or each.node in (node, "")]
    return warn_of_sent(f"scenario {scenario}", concerned)


def warn_of_sent(name: str, sent: Sequence[SentTransaction]) -> tuple[str, ...]:
    """Return a warning about each transaction of *sent*, which were made of *name*, that may have done what it should."""
    return tuple(
        f"{name} was signed and sent on {timestamp(each.sent)[:16].replace('T', ' ')} UTC: {outcome_of(each)}. If you sign it "
        f"again, you pay again. See what became of it with tx status {each.chain} {each.hash}"
        for each in sent
        if each.state is not SentState.EXPIRED and read_effects(each).get("success") is not False
    )


async def find_signed_step(app: Application, scenario: str, step: int | str) -> tuple[str, str]:
    """Return the scenario that a transaction is said to be made of, and the node of its step, empty for all; two empty ones for none."""
    from scenarioctl.actions.drafting import find_drafting_node
    from scenarioctl.operations.stored_diagrams import open_scenario

    if scenario == "":
        if step != "":
            raise InvalidRequest(f"step {shorten(step)} needs a scenario, expected its id in scenario")
        return "", ""
    diagram = await open_scenario(app, scenario)
    return scenario, "" if step == ALL else find_drafting_node(diagram, step)
