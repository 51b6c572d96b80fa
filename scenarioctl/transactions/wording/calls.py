"""A call in words, for the person who is about to sign it.

Only what is understood whole is worded; a call that is not is named, and the sentence says so.
Rights come first, then what moves money; neither is ever left out.  To word another call, add a row
to `../calls.json`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from scenarioctl.transactions.explain import say_payments
from scenarioctl.transactions.inner_calls import (
    DISPATCH_PRECOMPILE,
    Danger,
    call_kinds,
    decoded_call,
    held_values,
    kind_of_call,
    read_call,
)
from scenarioctl.transactions.wording.phrases import (
    MISFITS,
    CallStory,
    GrantedRight,
    NoPhrase,
    Payment,
    Phrases,
    Tables,
    Words,
    counted,
)
from scenarioctl.transactions.wording.sentences import (
    PARTS,
    fill,
    find_value,
    given_to,
    say_program,
    sentence,
)
from scenarioctl.transactions.xcm_instructions import kind_of, read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.extrinsic import Extrinsic

#: More payments, or calls that give and move nothing, in one batch are summed up …
_SHOWN = 8
#: … with the largest payments.
_LARGEST = 5
#: Before the number of an asset in its address on Hydration, …
_ASSET = bytes(15) + b"\1"
#: … which these functions of ERC-20 are called at, with an account and an amount.
_TRANSFER, _APPROVE = bytes.fromhex("a9059cbb"), bytes.fromhex("095ea7b3")
_ERC20 = 4 + 32 + 32
#: Filters that let all of a single asset through.
_EVERYTHING = ({"Wild": "All"}, {"Wild": {"AllCounted": 1}})


def tell_call(call: Call, chain: "Chain", assets: "Assets", tables: Tables) -> CallStory:
    """Return what *call* does on *chain*: `sells 2 DOT for at least 900 HDX on hydraDx`, and what
    else there is to know.

    *tables* finds the runtimes by which encoded calls inside it are read.
    """
    phrases = Phrases(
        chain=chain, place=chain, here=chain.title, assets=assets, tables=tables, parts=_PARTS
    )
    phrases.story.sentence = _say(phrases, call)
    return phrases.story


def tell_extrinsic(
    extrinsic: "Extrinsic", chain: "Chain", assets: "Assets", tables: Tables
) -> CallStory:
    """Return what *extrinsic* does; its sentence says too what its signer pays beside the plain
    fee."""
    story = tell_call(extrinsic.call, chain, assets, tables)
    story.sentence = ", with ".join(
        (story.sentence, *say_payments(extrinsic.extensions, chain, assets))
    )
    return story


def _say(phrases: Phrases, call: Call) -> str:
    story, kind = phrases.story, kind_of_call(call)
    if phrases.too_deep:
        return (
            f"calls {call.pallet}.{call.method} on {phrases.here}, with more inside that is "
            "not read"
        )
    said = []
    try:
        if kind.right and (given := given_to(kind.right, call.args)) is not None:
            story.note(Danger.RIGHT)
            said.append(fill(phrases, kind.right, call.args))
            # Something that names no account is for nobody known.
            accounts = frozenset(who for value in given for who in _accounts_in(value) or [b""])
            story.grants(GrantedRight(sentence=said[0], accounts=accounts))
        if kind.words and (not said or kind.danger is Danger.MONEY):
            story.note(kind.danger)
            said.append(sentence(*kind.words)(phrases, call.args))
    except MISFITS:
        # An argument of another shape than the one that is worded: say no more than is sure.
        said.append(_say_named(phrases, call))
    return ", and ".join(said) or _say_named(phrases, call)


def _accounts_in(value: Any) -> list[bytes]:
    """Return what is named in a field that holds accounts."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [who for item in value for who in _accounts_in(item)]
    return [value] if isinstance(value, bytes) else []


def _say_named(phrases: Phrases, call: Call) -> str:
    """Return the name of a call without words of its own, and what the calls and programs in its
    arguments do."""
    name = f"{call.pallet}.{call.method}"
    phrases.story.misses(f"what {name} does is not known here")
    said: list[str] = []
    read: set[str] = set()
    for held in held_values(call, phrases.tables(phrases.chain)):
        with suppress(*MISFITS):
            # It isn't known where a program runs.
            elsewhere = held.kind == "VersionedXcm"
            around = replace(phrases, place=None, here="another place") if elsewhere else phrases
            said.append(_HELD[held.kind](around, {"value": held.value}))
            read.add(held.field)
    unread = (
        f": its {'other ' if read else ''}arguments are not shown" if set(call.args) - read else ""
    )
    named = f"calls {name} on {phrases.here} (not understood{unread})"
    return f"{named} with {' and '.join(said)}" if said else named


#: What a call holds: the kind of its type -> the words for its value.
_HELD: Mapping[str, Words] = {
    "RuntimeCall": sentence("the call {call:value}"),
    "Bounded": sentence("the call {encoded:value.Inline}", "{hash:value.*.hash}"),
    "VersionedXcm": sentence("the XCM program {program:value}"),
}


def _call(phrases: Phrases, value: Any) -> str:
    """Return what a call inside another one does, in brackets."""
    return f"[{_say(phrases.within(phrases.chain), read_call(value))}]"


def _encoded(phrases: Phrases, value: Any) -> str:
    """Return what an encoded call does here, in brackets; on another chain, by which runtime it was
    read."""
    data = value["encoded"] if isinstance(value, Mapping) else value
    chain = phrases.place
    table = phrases.tables(chain) if chain else None
    if chain is None or table is None:
        return (
            f"[{len(data)} bytes that are not decoded, as the runtime of {phrases.here} is not "
            "known]"
        )
    inside = phrases.within(chain)
    if inside.too_deep:
        return f"[{len(data)} bytes that are not read]"
    call = decoded_call(data, table)
    if call is None:
        return f"[{len(data)} bytes that are not a call of {table}]"
    said = f"[{_say(inside, call)}]"
    # A chain that isn't asked may have a newer runtime, to which the bytes mean something else.
    return said if chain.name == phrases.chain.name else f"{said}, as {table} reads it"


@dataclass(frozen=True, kw_only=True)
class _SaidCall:
    """A call of a batch in words."""

    name: str
    text: str
    danger: Danger
    payment: Payment | None


def _say_calls(phrases: Phrases, values: Sequence[Any]) -> str:
    """Return what the calls of a batch do, in the order of danger; in which they run, if all are
    said in it."""
    inside = phrases.within(phrases.chain)
    found = [_say_one(inside, read_call(value)) for value in values]
    said = [text for danger in Danger for text in _section(inside, danger, found)]
    in_order = said == counted(each.text for each in found)
    return ("; then " if in_order else "; ").join(said)


def _section(phrases: Phrases, danger: Danger, found: Sequence[_SaidCall]) -> list[str]:
    """Return what those calls do that are as dangerous as *danger*; harmless ones of many are
    counted."""
    alike = [each for each in found if each.danger is danger]
    if danger is Danger.REMARK and len(alike) > 1:
        return [
            f"and {len(alike)} remarks"
            if len(found) > len(alike)
            else f"writes {len(alike)} remarks"
        ]
    if danger is Danger.OTHER and len(alike) > _SHOWN:
        return counted(sorted(f"calls {each.name}" for each in alike))
    payments = [each.payment for each in alike if each.payment is not None]
    if len(payments) > _SHOWN:
        phrases.story.payments += payments
        return [
            _sum_up(phrases, payments),
            *counted(each.text for each in alike if each.payment is None),
        ]
    return counted(each.text for each in alike)


def _say_one(phrases: Phrases, call: Call) -> _SaidCall:
    story = phrases.story
    around, story.worst = story.worst, Danger.REMARK
    text, danger = _say(phrases, call), story.worst
    # What holds a call is as dangerous as it is.
    story.note(around)
    if (call.pallet, call.method) == ("Utility", "batch_all"):
        text = f"[{text}]"
    payment = None
    with suppress(*MISFITS):
        payment = _read_payment(phrases, call)
    return _SaidCall(name=f"{call.pallet}.{call.method}", text=text, danger=danger, payment=payment)


def _read_payment(phrases: Phrases, call: Call) -> Payment:
    payment = kind_of_call(call).payment
    if payment is None:
        raise NoPhrase
    amount, receiver = payment
    field = re.split("[:,]", amount)[1]
    return Payment(
        value=call.args[field],
        receiver=phrases.account(call.args[receiver]),
        amount=lambda value: fill(phrases, f"{{{amount}}}", {**call.args, field: value}),
    )


def _sum_up(phrases: Phrases, payments: Sequence[Payment]) -> str:
    """Return how much is paid of each asset, and the largest payments, those of each asset
    first."""
    by_asset: dict[str, list[Payment]] = {}
    for payment in sorted(payments, key=lambda each: -each.value):
        by_asset.setdefault(payment.amount(0), []).append(payment)
    total = " and ".join(
        alike[0].amount(sum(each.value for each in alike)) for alike in by_asset.values()
    )
    ranked = [
        payment
        for rank in zip_longest(*by_asset.values())
        for payment in rank
        if payment is not None
    ]
    largest = ", ".join(
        f"{each.amount(each.value)} to {each.receiver}" for each in ranked[:_LARGEST]
    )
    accounts = len({each.receiver for each in payments})
    paid = f"pays {accounts} account{'s' * (accounts != 1)} {total} in total"
    often = f" in {len(payments)} transfers" if len(payments) != accounts else ""
    return f"{paid}{often} on {phrases.here}; the largest: {largest}"


def _is_plain(args: Mapping[str, Any]) -> bool:
    return not (args["value"] or args["access_list"] or args["authorization_list"])


def _dispatched(phrases: Phrases, args: Mapping[str, Any]) -> str:
    """Return the call that the EVM hands to the precompile that dispatches calls."""
    table = phrases.tables(phrases.chain)
    is_call = table is not None and decoded_call(args["input"], table) is not None
    if not (_is_plain(args) and args["target"] == DISPATCH_PRECOMPILE and is_call):
        raise NoPhrase
    return fill(phrases, "{encoded:input}", args)


def _erc20(phrases: Phrases, args: Mapping[str, Any]) -> str:
    """Return what a call of an asset's own contract does."""
    target, data = args["target"], args["input"]
    if not (
        _is_plain(args) and target[:16] == _ASSET and len(data) == _ERC20 and not any(data[4:16])
    ):
        raise NoPhrase
    who, amount = (
        data[16:36],
        phrases.amount(int.from_bytes(data[36:]), int.from_bytes(target[16:])),
    )
    if data[:4] == _TRANSFER:
        phrases.story.note(Danger.MONEY)
        return f"transfers {amount} to 0x{who.hex()} on {phrases.here}, through the EVM"
    if data[:4] == _APPROVE:
        right = (
            f"lets 0x{who.hex()} transfer up to {amount} of the signer to anyone from now on, "
            f"on {phrases.here}"
        )
        phrases.story.grants(GrantedRight(sentence=right, accounts=frozenset((who,))))
        return right
    raise NoPhrase


def _sent_by_type(phrases: Phrases, args: Mapping[str, Any]) -> str:
    """Return what a transfer does whose ways of the assets and of the fees are chosen apart."""
    items, fees = find_value(args, "assets"), find_value(args, "remote_fees_id")
    there = phrases.at(find_value(args, "dest"))
    program = find_value(args, "custom_xcm_on_dest")
    alike = args["assets_transfer_type"] == args["fees_transfer_type"]
    is_plain = alike and len(items) == 1 and items[0]["id"] == fees
    apart = "" if is_plain else "; fees in {asset:remote_fees_id}, {way:fees_transfer_type,dest}"
    over = (
        " over the bridge"
        if there.place is not None and there.place.relay != phrases.chain.relay
        else ""
    )
    sent = (
        f"sends {{assets:assets}} from {{here}}{over} to {{place:dest}} "
        f"({{way:assets_transfer_type,dest}}{apart})"
    )
    onward = _onward(there, program) if is_plain else ""
    return fill(phrases, sent, args) + (onward or f", which does {say_program(there, program)}")


def _onward(phrases: Phrases, program: Any) -> str:
    """Return whom a program gives everything, here or further on; nothing for one that does
    anything else."""
    if len(program) != 1:
        return ""
    name, fields = read_instruction(program[0])
    kind = kind_of(name)
    if not isinstance(fields, Mapping) or fields.get("assets") not in _EVERYTHING:
        return ""
    if kind.pays:
        return f" for {phrases.receiver(fields[kind.pays])}"
    match kind.arrives_as, fields.get(kind.program):
        case "ReceiveTeleportedAsset" | "ReserveAssetDeposited", [{"BuyExecution": _}, *rest]:
            last = phrases.at(fields[kind.onward])
            way = (
                "by teleport"
                if kind.arrives_as == "ReceiveTeleportedAsset"
                else f"reserve on {phrases.here}"
            )
            then = _onward(last, rest)
            return f" and on to {last.here} ({way}){then}" if then else ""
    return ""


def _trade(method: str) -> Callable[[Phrases, Any], str]:
    """Return how an order of the router is written that has the fields of its trade *method*."""
    return lambda phrases, order: fill(phrases, call_kinds()["Router", method].words[0], order)


#: How each part of a text is written: those that only calls have are told by what the call holds.
_PARTS: Mapping[str, Callable[..., str]] = {
    **PARTS,
    "call": _call,
    "encoded": _encoded,
    "calls": _say_calls,
    "dispatched": _dispatched,
    "erc20": _erc20,
    "sent_by_type": _sent_by_type,
    "sale": _trade("sell"),
    "purchase": _trade("buy"),
}
