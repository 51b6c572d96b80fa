"""Words for calls that hold other calls: in batches, through proxies and multisigs, at a later block, by their hash.

Calls in a batch are said in the order of danger: rights, money, what is not understood, all else, remarks.  What gives a
right or moves money is never left out.  To word another call, add a row to WORDS.  One without a row is named, with the
calls that its arguments hold.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.inner_calls import held_values, read_call
from scenarioctl.transactions.wording.phrases import (
    MISFITS,
    Danger,
    NoPhrase,
    Payment,
    Phrases,
    Words,
    counted,
)
from scenarioctl.transactions.wording.sentences import around, say_hash, say_inner
from scenarioctl.transactions.wording.xcm_programs import NamedPlace, say_encoded, say_program, unversioned

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
        try:
            said.append(_HELD[held.kind](phrases, held.value))
        except MISFITS:
            continue
        read.add(held.field)
    unread = f": its {'other ' if read else ''}arguments are not shown" if set(call.args) - read else ""
    named = f"calls {name} on {phrases.chain.name} (not understood{unread})"
    return f"{named} with {' and '.join(said)}" if said else named


@dataclass(frozen=True, kw_only=True)
class _SaidCall:
    """A call of a batch in words."""

    name: str
    text: str
    danger: Danger
    payment: Payment | None


def _say_calls(phrases: Phrases, values: Sequence[Any]) -> str:
    """Return what the calls of a batch do, in the order of danger; in which they run, if all are said in it."""
    inside = phrases.within()
    found = [_say_one(inside, call) for value in values for call in _flat(read_call(value))]
    said = [text for danger in Danger for text in _section(danger, found)]
    in_order = said == counted(each.text for each in found)
    return ("; then " if in_order else "; ").join(said)


def _section(danger: Danger, found: Sequence[_SaidCall]) -> list[str]:
    """Return what those calls do that are as dangerous as *danger*; harmless ones of many are counted."""
    alike = [each for each in found if each.danger is danger]
    if danger is Danger.REMARK and len(alike) > 1:
        return [f"and {len(alike)} remarks" if len(found) > len(alike) else f"writes {len(alike)} remarks"]
    if danger is Danger.OTHER and len(alike) > _SHOWN:
        return counted(sorted(f"calls {each.name}" for each in alike))
    payments = [each.payment for each in alike if each.payment is not None]
    if len(payments) > _SHOWN:
        return [_sum_up(payments), *counted(each.text for each in alike if each.payment is None)]
    return counted(each.text for each in alike)


def _flat(call: Call) -> list[Call]:
    """Return the calls of a batch that all succeed or none, those of such a batch in it among them."""
    flat, pending = [], [call]
    while pending:
        each = pending.pop()
        if (each.pallet, each.method) == ("Utility", "batch_all") and each.args["calls"]:
            pending += [read_call(value) for value in reversed(each.args["calls"])]
        else:
            flat.append(each)
    return flat


def _say_one(phrases: Phrases, call: Call) -> _SaidCall:
    reading = phrases.reading
    with reading.apart():
        text = phrases.say(phrases, call)
        return _SaidCall(
            name=f"{call.pallet}.{call.method}", text=text, danger=reading.worst, payment=reading.payment
        )


def _sum_up(payments: Sequence[Payment]) -> str:
    """Return how much is paid of each asset, and the largest payments, those of each asset first."""
    totals: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[int, Payment]] = []
    ranks: Counter[tuple[str, str]] = Counter()
    for payment in sorted(payments, key=lambda each: -each.value):
        totals[payment.of] += payment.value
        ranked.append((ranks[payment.of], payment))
        ranks[payment.of] += 1
    of = {payment.of: payment for payment in payments}
    total = " and ".join(of[each].amount(value) for each, value in totals.items())
    largest = [payment for _, payment in sorted(ranked, key=lambda each: each[0])][:_LARGEST]
    shown = ", ".join(f"{each.amount(each.value)} to {each.receiver}" for each in largest)
    accounts = len({each.receiver for each in payments})
    paid = f"pays {accounts} account{'s' * (accounts != 1)}"
    often = f" in {len(payments)} transfers" if len(payments) != accounts else ""
    return f"{paid} {total} in total{often} on {payments[0].of[1]}; the largest: {shown}"


def _bounded(phrases: Phrases, value: Any) -> str:
    """Return what a call does that is stored with its bytes or by its hash."""
    ((kind, inner),) = value.items()
    if kind == "Inline":
        return f"the call {say_encoded(phrases, inner, phrases.chain)}"
    return say_hash(phrases, inner["hash"])


def _program(phrases: Phrases, value: Any) -> str:
    return f"the XCM program {say_program(phrases, unversioned(value), NamedPlace(None, 'another place'))}"


#: The last name of a type's path -> the words for its value.
_HELD: Mapping[str, Callable[[Phrases, Any], str]] = {
    "RuntimeCall": lambda phrases, value: f"the call {say_inner(phrases, value)}",
    "Bounded": _bounded,
    "VersionedXcm": _program,
}


def _batch_all(phrases: Phrases, args: Mapping[str, Any]) -> str:
    if not args["calls"]:
        return "does nothing (an empty batch)"
    return _say_calls(phrases, args["calls"])


def _batch(beside: str) -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        said = _batch_all(phrases, args)
        return f"[{said}], and {beside}" if args["calls"] else said

    return say


def _dispatch_as(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"as {_origin(phrases, args['as_origin'])}: {say_inner(phrases, args['call'])}"


def _origin(phrases: Phrases, value: Any) -> str:
    ((pallet, inner),) = value.items()
    if pallet == "system" and inner == "Root":
        return "root"
    if pallet == "system" and isinstance(inner, Mapping) and set(inner) == {"Signed"}:
        return phrases.account(inner["Signed"])
    if isinstance(inner, str):
        return f"the origin {pallet}.{inner}"
    raise NoPhrase


def _proxy(phrases: Phrases, args: Mapping[str, Any]) -> str:
    kind = args["force_proxy_type"]
    through = "a proxy" if kind is None else f"a proxy of the type {kind}"
    if "delegate" in args:
        through += f", as announced by {phrases.account(args['delegate'])}"
    return f"as {phrases.account(args['real'])}, through {through}: {say_inner(phrases, args['call'])}"


def _multisig(phrases: Phrases, args: Mapping[str, Any]) -> str:
    number = len(args["other_signatories"]) + 1
    threshold = args.get("threshold", 1)
    once = f", once {threshold} of them approve" if threshold > 1 else ""
    return f"as the multisig of {number} signatories{once}: {say_inner(phrases, args['call'])}"


def _approve(phrases: Phrases, args: Mapping[str, Any]) -> str:
    number = len(args["other_signatories"]) + 1
    needed = f"{args['threshold']} of {number} signatories"
    return f"approves, for the multisig of {needed} on {phrases.chain.name}, {say_hash(phrases, args['call_hash'])}"


def _schedule(phrases: Phrases, args: Mapping[str, Any]) -> str:
    after = args.get("after")
    when = f"at block {args['when']}" if after is None else f"after {after} block{'s' * (after != 1)}"
    if args["maybe_periodic"] is not None:
        period, times = args["maybe_periodic"]
        when += f" and every {period} blocks from then, {times} times"
    return f"{when}: {say_inner(phrases, args['call'])}"


def _note_preimage(phrases: Phrases, args: Mapping[str, Any]) -> str:
    data = args["bytes"]
    table = phrases.tables(phrases.chain)
    try:
        if table is not None:
            table.decode_call(data)
            said = say_encoded(phrases, data, phrases.chain)
            return f"stores the call {said} on {phrases.chain.name}, to be run by its hash"
    except InvalidRequest:
        pass
    return f"stores {len(data)} bytes on {phrases.chain.name} that are not a call"


#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("Utility", "batch_all"): _batch_all,
    ("Utility", "batch"): _batch("nothing after the first that fails"),
    ("Utility", "force_batch"): _batch("goes on after one that fails"),
    ("Utility", "if_else"): around("tries {call:main}, and only if that fails {call:fallback}"),
    ("Utility", "as_derivative"): around("as derivative account {plain:index} of the signer: {call:call}"),
    ("Utility", "with_weight"): around("as root, with a weight of its own: {call:call}"),
    ("Utility", "dispatch_as"): _dispatch_as,
    ("Utility", "dispatch_as_fallible"): _dispatch_as,
    ("Proxy", "proxy"): _proxy,
    ("Proxy", "proxy_announced"): _proxy,
    ("Multisig", "as_multi"): _multisig,
    ("Multisig", "as_multi_threshold_1"): _multisig,
    ("Scheduler", "schedule"): _schedule,
    ("Scheduler", "schedule_named"): _schedule,
    ("Scheduler", "schedule_after"): _schedule,
    ("Scheduler", "schedule_named_after"): _schedule,
    ("Sudo", "sudo"): around("as root: {call:call}"),
    ("Sudo", "sudo_unchecked_weight"): around("as root: {call:call}"),
    ("Sudo", "sudo_as"): around("as {account:who}: {call:call}"),
    ("Recovery", "as_recovered"): around("as the recovered account {account:account}: {call:call}"),
    ("Dispatcher", "dispatch_with_extra_gas"): around("with gas for contracts: {call:call}"),
    ("Dispatcher", "dispatch_evm_call"): around("through the EVM: {call:call}"),
    ("Dispatcher", "dispatch_with_fee_payer"): around("with its fee paid by another account: {call:call}"),
}
#: Those of calls that run later, if at all.
STORED: Mapping[tuple[str, str], Words] = {
    ("Proxy", "announce"): around("announces, as a proxy of {account:real}, {hash:call_hash}"),
    ("Multisig", "approve_as_multi"): _approve,
    ("Preimage", "note_preimage"): _note_preimage,
}
