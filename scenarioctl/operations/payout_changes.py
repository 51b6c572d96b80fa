"""A payout that gets other lines: what was sent stays as it is, so that no line is paid twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scenarioctl.actions.drafting import was_sent
from scenarioctl.actions.payout_files import REREAD
from scenarioctl.actions.payout_lines import Mistake, PayoutLine, mistakes_error, read_lines
from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.model.diagram import Diagram, Node, label_document, read_diagram
from scenarioctl.model.jobs import JobState
from scenarioctl.operations.payout_portions import Told
from scenarioctl.operations.payout_records import (
    describe_payment,
    find_payment,
    is_standing,
    payouts_of,
    read_sent_payouts,
)
from scenarioctl.operations.stored_diagrams import open_scenario, pack_document
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.validation import changed_meanwhile


@dataclass(frozen=True, kw_only=True)
class Former:
    """The payout that is changed."""

    stored: StoredScenario
    #: With what was sent marked.
    diagram: Diagram


@dataclass(frozen=True, kw_only=True)
class SentPortion:
    """A transaction of it that was sent."""

    node: Node
    #: With the numbers that they have in the new file, 0 if they aren't in it.
    lines: list[PayoutLine]


async def open_former(app: Application, id: str) -> Former | None:
    """Return the payout that is changed; None for no *id*."""
    if not id:
        return None
    stored = await app.store.get_scenario(id)
    diagram = await open_scenario(app, id)
    if len(payouts_of(diagram)) < len(diagram.nodes) or not diagram.nodes:
        raise InvalidRequest(
            field="replace",
            value=id,
            problem="is not a payout: change its steps with scenario edit",
        )
    job = await app.store.get_job(id)
    if job is not None and job.state is not JobState.STOPPED:
        raise Conflict(
            f"payout {id} has a job, each of whose runs pays all lines: change them with "
            "scenario edit, or stop the job"
        )
    reads = next((node.form[REREAD] for node in payouts_of(diagram) if node.form.get(REREAD)), "")
    if (job is not None or reads) and any(map(is_standing, await read_sent_payouts(app, id))):
        why = f"each draft reads {reads} anew" if reads else "its job may have drafted other lines"
        raise Conflict(
            f"which lines of payout {id} were sent isn't known, since {why}: create "
            "another payout, of the lines that are left to pay"
        )
    return Former(stored=stored, diagram=diagram)


def keep_sent(
    app: Application, former: Former, lines: Sequence[PayoutLine], told: Told
) -> list[SentPortion]:
    """Return what was sent of *former*, each line with the number of the one of *lines* that asks
    for it.

    InvalidRequest names those that pay an account another amount than was sent to it.
    """

    def key_of(line: PayoutLine, amount: int | None = None) -> tuple[Any, ...]:
        return line.chain.name, line.account, line.asset.id, amount

    waiting: dict[tuple[Any, ...], list[int]] = {}
    for each in lines:
        waiting.setdefault(key_of(each, each.raw), []).append(each.number)
    kept: list[SentPortion] = []
    for node in former.diagram.nodes:
        if not was_sent(node):
            continue
        chain = app.registry.find(node.form.get("selectedChain"), field="selectedChain")
        found = [
            replace(
                each,
                number=numbers.pop(0) if (numbers := waiting.get(key_of(each, each.raw))) else 0,
            )
            for each in read_lines(app, node.form.get("lines"), chain=chain)
        ]
        kept.append(SentPortion(node=node, lines=found))
    gone = [each for portion in kept for each in portion.lines if not each.number]
    others = {number for numbers in waiting.values() for number in numbers}
    sent = {key_of(each): each for each in gone}
    mistakes = [
        Mistake(
            line=each.number,
            column="amount",
            sentence=(
                f"line {each.number}, amount {each.amount} differs from the {before.amount} "
                f"sent before to {each.name or each.address}: write {before.amount}, and pay "
                "the rest in another payout"
            ),
        )
        for each in lines
        if each.number in others and (before := sent.get(key_of(each))) is not None
    ]
    if mistakes:
        raise mistakes_error(mistakes)
    count = sum(len(portion.lines) for portion in kept)
    if count:
        told.notes.append(
            f"{count} payment{'s were' if count > 1 else ' was'} sent before, and not paid again."
        )
    if gone:
        told.warnings.append(
            f"Not in the file, but sent before: {len(gone)} "
            f"payment{'s' * (len(gone) > 1)}, like {gone[0].asset.amount(gone[0].raw)} to "
            f"{gone[0].address}."
        )
    return kept


async def refuse_edit(app: Application, id: str, former: Diagram, new: Diagram) -> None:
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
                f"{describe_payment(sent)}. create payout --replace {id} (replace) changes "
                "its lines and keeps what was sent; a copy pays everybody once more"
            )


async def replace_payout(app: Application, former: Former, diagram: Diagram) -> str:
    """Store *diagram* in place of *former*; Conflict if that was changed, or a transaction of it
    sent, meanwhile."""
    id = former.stored.id
    packed = replace(await app.aside(pack_document, app, diagram.document, diagram), id=id)
    await app.store.change_scenario(packed, revision=former.stored.revision)
    left = {node.id for node in diagram.nodes}
    if any(
        is_standing(each) and each.node not in left for each in await read_sent_payouts(app, id)
    ):
        await app.store.change_scenario(former.stored, revision=packed.revision)
        raise changed_meanwhile(id)
    return id


def with_labels(diagram: Diagram, former: Former) -> Diagram:
    labels = former.diagram
    labeled = read_diagram(label_document(diagram.document, name=labels.name, tags=labels.tags))
    return labeled.acted_by(labels.acting)
