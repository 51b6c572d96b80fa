"""All transactions of a scenario in one: a batch of its calls, which does all of them or nothing,
with one signature."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.actions import find_step
from scenarioctl.actions.drafting import (
    Drafted,
    check_draft,
    draft_batch,
    require_check,
)
from scenarioctl.actions.drafts import draft_each, order_warning
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.model.checks import Check
from scenarioctl.transactions.call_builder import read_limits

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.diagram import Diagram


#: In the list of drafts, the type of a transaction of all steps.
BATCH = "Batch"


async def draft_together(
    app: "Application", diagram: "Diagram", *, sender: bytes | None = None
) -> tuple[UnsignedTransaction, list[Drafted]]:
    """Return one transaction that does what all steps of *diagram* draft, in their order
    (`Utility.batch_all`), and each of them.

    With a *sender* each step is checked for them, and then the batch as a whole; `check` has the
    verdict on the batch. InvalidRequest if a step does more than draft, if they draft on several
    chains, if a step cannot draft, or if no batch holds them all.
    """
    _check_steps(diagram)
    acting = app.acting or diagram.acting
    drafted: list[Drafted] = []
    # Who acts for another account makes the whole batch for them, and only that is checked.
    steps = draft_each(
        app.acting_as(None), diagram.acted_by(None), sender=None if acting is not None else sender
    )
    async with aclosing(steps) as drafting:
        async for node, outcome in drafting:
            if isinstance(outcome, ScenarioctlError):
                raise type(outcome)(f"node {shorten(node)}: {outcome}") from None
            if outcome.transaction.part:
                raise InvalidRequest(
                    f"node {shorten(node)}: some of its payments were sent: sign its step alone"
                )
            drafted.append(outcome)
    transactions = [each.transaction for each in drafted]
    if len(transactions) < 2:
        raise InvalidRequest(
            "a batch needs at least two transactions, and this scenario drafts "
            f"{len(transactions) or 'none'}"
        )
    chain = _find_chain(app, (each.chain for each in transactions))
    calls = [each.call for each in transactions]
    batch = await draft_batch(app.acting_as(acting), chain=chain, kind="batch-all", calls=calls)
    count = sum(len(call.args.get("calls", (call,))) for call in calls)
    limits = read_limits(await app.runtime(chain))
    if limits.share(length=len(batch.call_data), calls=count, weight=None) > 1:
        raise InvalidRequest(
            f"the {count} calls of this scenario are more than a transaction of {chain.title} "
            "holds: sign its transactions one by one"
        )
    # Each step says more of its own call than is known of any call in a batch.
    batch = replace(
        batch,
        warnings=_counted(
            (text for each in drafted for text in _warnings_in_batch(each)), batch.warnings
        ),
        doubts=_counted(text for each in transactions for text in each.doubts),
        beside=" and ".join(each.beside for each in transactions if each.beside),
        notes=(*batch.notes, *_counted(text for each in transactions for text in each.notes)),
        asked=min((each.asked for each in transactions if each.asked), default=0),
    )
    if sender is None:
        return batch, drafted
    batch = await check_draft(app, batch, sender)
    return replace(batch, check=doubt_steps(require_check(batch), drafted)), drafted


def check_together(app: "Application", diagram: "Diagram") -> None:
    """Refuse a *diagram* of which is known before it is drafted that its steps don't make one
    transaction.

    InvalidRequest if there is a step that does more than draft, none that drafts, or if they draft
    on several chains.
    """
    _check_steps(diagram)
    steps = [(node, step) for node in diagram.in_order() if (step := find_step(node)) is not None]
    outlines = [step.outline(app, diagram, node) for node, step in steps if step.draft]
    if not outlines:
        raise InvalidRequest(
            "a batch needs a step that drafts a transaction, and this scenario has none"
        )
    named = [chain for chain, _ in outlines if chain]
    if named:
        _find_chain(app, named)


def sum_drafted(app: "Application", drafted: Sequence[Drafted]) -> tuple[int, str]:
    """Return what *drafted* transactions of one chain move: raw, 0 if it is more than one asset,
    and in whole tokens."""
    sums: Counter[Asset] = Counter()
    others = []
    for each in drafted:
        if each.asset and each.raw_amount:
            sums[app.assets.find(app.registry.find(each.source_chain), each.asset)] += (
                each.raw_amount
            )
        elif each.human:
            others.append(each.human)
    named = (asset.whole_amount(raw) for asset, raw in sums.items())
    one = sum(sums.values()) if len(sums) == 1 and not others else 0
    return one, " and ".join(filter(None, (*named, *others)))


def _find_chain(app: "Application", named: Iterable[str]) -> "Chain":
    """Return the chain that all of these names are of; InvalidRequest if they are of several."""
    chains = [app.registry.find(name) for name in dict.fromkeys(named)]
    if len(chains) > 1:
        raise InvalidRequest(
            "a batch is made on one chain, and this scenario drafts transactions on "
            f"{' and '.join(each.title for each in chains)}: sign them one by one"
        )
    return chains[0]


def _counted(sentences: Iterable[str], of_all: Sequence[str] = ()) -> tuple[str, ...]:
    """Return each sentence once; one that several transactions have says of how many, if it isn't
    one *of all*."""
    return tuple(
        text if times == 1 or text in of_all else f"each of {times} transactions: {text}"
        for text, times in Counter(sentences).items()
    )


def _warnings_in_batch(step: Drafted) -> list[str]:
    """Return the warnings of *step*, without the one about its order: a batch keeps the order."""
    order = order_warning(step.after[-1]) if step.after else ""
    return [text for text in step.transaction.warnings if text != order]


def doubt_steps(check: Check, drafted: Sequence[Drafted]) -> Check:
    """Return the verdict *check* on a batch, `unknown` instead of `ok` if one of its steps isn't
    proven alone.

    A step's own check knows more than that of the batch: which transfer is meant, and whether only
    a check opens its route. A transfer within the chain has no route: where it spends what a swap
    of the batch brings, only the batch can prove it.
    """
    unproven = tuple(
        f"node {shorten(each.node)} alone is not proven: {reason}"
        for each in drafted
        if each.transaction.check is not None
        and each.transaction.check.verdict != "ok"
        and not (each.after and each.txtype == "xTransfer" and each.source_chain == each.dest_chain)
        for reason in each.transaction.check.reasons
    )
    if check.verdict != "ok" or not unproven:
        return check
    return replace(check, verdict="unknown", reasons=unproven)


def _check_steps(diagram: "Diagram") -> None:
    """Refuse a step that runs between the transactions: in a batch, nothing comes between them."""
    for node in diagram.in_order():
        step = find_step(node)
        if step is not None and step.run is not None:
            raise InvalidRequest(
                f"this scenario has a {step.name} step, which cannot be part of a batch: "
                "only steps that draft a transaction can"
            )
