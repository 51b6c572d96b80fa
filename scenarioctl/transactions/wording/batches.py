"""Words for a batch of calls: in the order of danger, and of many alike how many, and what they move in all.

What gives a right or moves money is never left out.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_kinds import Danger, kind_of_call
from scenarioctl.transactions.inner_calls import read_call
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases, counted
from scenarioctl.transactions.wording.sentences import fill

#: More payments, or calls that give and move nothing, in one batch are summed up …
_SHOWN = 8
#: … with the largest payments.
_LARGEST = 5


@dataclass(frozen=True, kw_only=True)
class _Payment:
    """A plain transfer to one account."""

    value: int
    receiver: str
    #: The words for so much of its asset.
    amount: Callable[[int], str]


@dataclass(frozen=True, kw_only=True)
class _SaidCall:
    """A call of a batch in words."""

    name: str
    text: str
    danger: Danger
    payment: _Payment | None


def say_calls(phrases: Phrases, values: Sequence[Any]) -> str:
    """Return what the calls of a batch do, in the order of danger; in which they run, if all are said in it."""
    inside = phrases.within(phrases.chain)
    found = [_say_one(inside, read_call(value)) for value in values]
    said = [text for danger in Danger for text in _section(inside, danger, found)]
    in_order = said == counted(each.text for each in found)
    return ("; then " if in_order else "; ").join(said)


def _section(phrases: Phrases, danger: Danger, found: Sequence[_SaidCall]) -> list[str]:
    """Return what those calls do that are as dangerous as *danger*; harmless ones of many are counted."""
    alike = [each for each in found if each.danger is danger]
    if danger is Danger.REMARK and len(alike) > 1:
        return [f"and {len(alike)} remarks" if len(found) > len(alike) else f"writes {len(alike)} remarks"]
    if danger is Danger.OTHER and len(alike) > _SHOWN:
        return counted(sorted(f"calls {each.name}" for each in alike))
    payments = [each.payment for each in alike if each.payment is not None]
    if len(payments) > _SHOWN:
        return [_sum_up(phrases, payments), *counted(each.text for each in alike if each.payment is None)]
    return counted(each.text for each in alike)


def _say_one(phrases: Phrases, call: Call) -> _SaidCall:
    story = phrases.story
    around, story.worst = story.worst, Danger.REMARK
    text, danger = phrases.say(phrases, call), story.worst
    # What holds a call is as dangerous as it is.
    story.note(around)
    if (call.pallet, call.method) == ("Utility", "batch_all"):
        text = f"[{text}]"
    payment = None
    with suppress(*MISFITS):
        payment = _read_payment(phrases, call)
    return _SaidCall(name=f"{call.pallet}.{call.method}", text=text, danger=danger, payment=payment)


def _read_payment(phrases: Phrases, call: Call) -> _Payment:
    payment = kind_of_call(call).payment
    if payment is None:
        raise NoPhrase
    amount, receiver = payment
    field = re.split("[:,]", amount)[1]
    return _Payment(
        value=call.args[field],
        receiver=phrases.account(call.args[receiver]),
        amount=lambda value: fill(phrases, f"{{{amount}}}", {**call.args, field: value}),
    )


def _sum_up(phrases: Phrases, payments: Sequence[_Payment]) -> str:
    """Return how much is paid of each asset, and the largest payments, those of each asset first."""
    by_asset: dict[str, list[_Payment]] = {}
    for payment in sorted(payments, key=lambda each: -each.value):
        by_asset.setdefault(payment.amount(0), []).append(payment)
    total = " and ".join(alike[0].amount(sum(each.value for each in alike)) for alike in by_asset.values())
    ranked = [payment for rank in zip_longest(*by_asset.values()) for payment in rank if payment is not None]
    largest = ", ".join(f"{each.amount(each.value)} to {each.receiver}" for each in ranked[:_LARGEST])
    accounts = len({each.receiver for each in payments})
    paid = f"pays {accounts} account{'s' * (accounts != 1)} {total} in total"
    often = f" in {len(payments)} transfers" if len(payments) != accounts else ""
    return f"{paid}{often} on {phrases.here}; the largest: {largest}"
