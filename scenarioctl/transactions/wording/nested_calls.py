"""Words for calls that hold other calls: in batches, through proxies and multisigs, at a later block, by their hash.

Calls in a batch are said in the order of danger: rights, money, what is not understood, all else, remarks.  What gives a
right or moves money is never left out.  To word another call, add a row to WORDS.  One without a row is named, with the
calls that its arguments hold.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from scenarioctl.model.calls import Call
from scenarioctl.transactions.inner_calls import held_values, read_call
from scenarioctl.transactions.wording.phrases import MISFITS, Danger, Phrases, Words, counted
from scenarioctl.transactions.wording.sentences import fill, rows, sentence
from scenarioctl.transactions.wording.transfers import PAYMENTS

#: More payments, or calls that give and move nothing, in one batch are summed up …
_SHOWN = 8
#: … with the largest payments.
_LARGEST = 5


def say_named(phrases: Phrases, call: Call) -> str:
    """Return the name of a call without words of its own, and what the calls and programs in its arguments do."""
    name = f"{call.pallet}.{call.method}"
    phrases.reading.misses(f"what {name} does is not known here")
    said: list[str] = []
    read: set[str] = set()
    for held in held_values(call, phrases.tables(phrases.chain)):
        with suppress(*MISFITS):
            # It isn't known where a program runs.
            elsewhere = held.kind == "VersionedXcm"
            around = replace(phrases, place=None, here="another place") if elsewhere else phrases
            said.append(_HELD[held.kind](around, {"value": held.value}))
            read.add(held.field)
    unread = f": its {'other ' if read else ''}arguments are not shown" if set(call.args) - read else ""
    named = f"calls {name} on {phrases.here} (not understood{unread})"
    return f"{named} with {' and '.join(said)}" if said else named


#: What a call holds: the kind of its type -> the words for its value.
_HELD: Mapping[str, Words] = {
    "RuntimeCall": sentence("the call {call:value}"),
    "Bounded": sentence("the call {encoded:value.Inline}", "{hash:value.*.hash}"),
    "VersionedXcm": sentence("the XCM program {program:value}"),
}


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


def _say_calls(phrases: Phrases, values: Sequence[Any]) -> str:
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
    reading = phrases.reading
    around, reading.worst = reading.worst, Danger.REMARK
    text, danger = phrases.say(phrases, call), reading.worst
    # What holds a call is as dangerous as it is.
    reading.note(around)
    if (call.pallet, call.method) == ("Utility", "batch_all"):
        text = f"[{text}]"
    payment = None
    with suppress(*MISFITS):
        payment = _read_payment(phrases, call)
    return _SaidCall(name=f"{call.pallet}.{call.method}", text=text, danger=danger, payment=payment)


def _read_payment(phrases: Phrases, call: Call) -> _Payment:
    amount, receiver = PAYMENTS[call.pallet, call.method]
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


def _batch(template: str) -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        calls = args["calls"]
        return template % _say_calls(phrases, calls) if calls else "does nothing (an empty batch)"

    return say


_PROXY = "as {account:real}, through <force_proxy_type?a proxy of the type {plain:force_proxy_type}|a proxy>"
_MULTISIG = "as the multisig of {signatories:other_signatories}"
_REPEATED = (
    "<maybe_periodic? and every {blocks:maybe_periodic.0} from then, {plain:maybe_periodic.1} times in all>"
)
#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("Utility", "batch_all"): _batch("%s"),
    ("Utility", "batch"): _batch("[%s], and nothing after the first that fails"),
    ("Utility", "force_batch"): _batch("[%s], and goes on after one that fails"),
    ("Utility", "if_else"): sentence("tries {call:main}, and only if that fails {call:fallback}"),
    **rows(
        {
            "Utility.as_derivative": "as derivative account {plain:index} of the signer",
            "Utility.with_weight": "as root, with a weight of its own",
            "Utility.dispatch_as|dispatch_as_fallible": "as {origin:as_origin}",
            "Proxy.proxy": _PROXY,
            "Proxy.proxy_announced": f"{_PROXY}, as announced by {{account:delegate}}",
            "Multisig.as_multi": f"{_MULTISIG}, once {{plain:threshold}} of them approve",
            "Multisig.as_multi_threshold_1": _MULTISIG,
            "Scheduler.schedule|schedule_named": f"at block {{plain:when}}{_REPEATED}",
            "Scheduler.schedule_after|schedule_named_after": f"after {{blocks:after}}{_REPEATED}",
            "Sudo.sudo|sudo_unchecked_weight": "as root",
            "Sudo.sudo_as": "as {account:who}",
            "Recovery.as_recovered": "as the recovered account {account:account}",
            "Dispatcher.dispatch_with_extra_gas": "with gas for contracts",
            "Dispatcher.dispatch_evm_call": "through the EVM",
            "Dispatcher.dispatch_with_fee_payer": "with its fee paid by another account",
        },
        ": {call:call}",
    ),
}
#: Those of calls that run later, if at all.
STORED: Mapping[tuple[str, str], Words] = rows(
    {
        "Multisig.approve_as_multi": "approves, for the multisig of {plain:threshold} of {signatories:other_signatories} on {here}, {hash:call_hash}",
        "Preimage.note_preimage": "stores {encoded:bytes} on {here} for {deposit}, to be used by its hash",
    }
)
