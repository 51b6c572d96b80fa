"""What became of a sent transaction, as one state; what it moved, and what it cost."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING, Annotated, Any, Literal

from scenarioctl.model.amounts import to_text
from scenarioctl.model.checks import Amount
from scenarioctl.model.jobs import SentFor, SentState, SentTransaction
from scenarioctl.model.json_types import SHOWN, AmountAnswer, HoldingAnswer
from scenarioctl.transactions.submission.outcomes import LATER, Outcome

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


#: `replaced`: another transaction of its account has its nonce. `arrived`: it is final, and so is
#: what it sent to other chains. `failed`: it did nothing, or what it sent failed on its way.
#: `partly-failed`: some of the calls inside it failed. `pending`: a multisig collects approvals.
#: `canceled`: it doesn't any more. `unknown`: its block doesn't tell what became of its calls.
Became = Literal[
    "uncertain",
    "sent",
    "expired",
    "replaced",
    "in-block",
    "finalized",
    "arrived",
    "failed",
    "partly-failed",
    "pending",
    "canceled",
    "unknown",
]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What became of a transaction, as it was last seen."""

    became: Became
    #: The same in words; of one in a block what stands behind `in block 20, `.
    words: str
    #: False if it did nothing in its block; None before its block, and if a part of it failed or is
    #: unknown.
    success: bool | None = None
    #: Why it failed; empty unless it, or a part of it, did.
    error: str = ""


#: Of those that are in no block.
_BEFORE: Mapping[SentState, str] = {
    SentState.UNCERTAIN: "whether a node took it isn't known",
    SentState.SENT: "in no block when last looked at",
    SentState.EXPIRED: "expired, in no block",
}


def read_effects(transaction: SentTransaction) -> dict[str, Any]:
    """Return what the transaction did in its block; empty if that isn't known."""
    try:
        effects = json.loads(transaction.effects or "{}")
    except ValueError:
        return {}
    return effects if isinstance(effects, dict) else {}


def standing_of(sent: SentTransaction) -> Standing:
    """Return what became of *sent* as a whole: the innermost results count."""
    effects, state = read_effects(sent), sent.state
    if state in _BEFORE and effects.get("replaced"):
        words = "in no block, and another transaction of its account has its nonce"
        return Standing(became="replaced", words=words)
    if state in _BEFORE:
        return Standing(became=state.value, words=_BEFORE[state])
    if effects.get("success") is False:
        error = effects.get("error", "")
        return Standing(became="failed", words="where it failed", success=False, error=error)
    told = [Outcome.read(each) for each in effects.get("outcomes", ())]
    became, why = sum_up(told)
    arrivals = effects.get("arrivals", ())
    lost = [f"{each['chain']}: {each['reason']}" for each in arrivals if each["state"] == "failed"]
    if became == "done" and lost:
        became, why = "failed", lost[0]
    is_final = state is SentState.FINALIZED
    has_arrived = arrivals and all(each["state"] == "arrived" for each in arrivals)
    if became == "done" and is_final and has_arrived:
        return Standing(became="arrived", words="finalized, and arrived", success=True)
    if became == "done":
        words = "finalized" if is_final else "not finalized when last looked at"
        return Standing(became=state.value, words=words, success=effects.get("success"))
    words = {
        "failed": f"and what it sent failed on {why}"
        if lost
        else f"where a call inside it failed: {why}",
        "partly-failed": f"where {why}",
        "pending": why,
        "canceled": "and the call of the multisig is canceled",
    }.get(became, "and what became of a call inside it isn't known")
    success = None if became in ("partly-failed", "unknown") else became != "failed" or bool(lost)
    error = why if "failed" in became else ""
    return Standing(became=became, words=words, success=success, error=error)


def sum_up(told: Sequence[Outcome]) -> tuple[Literal["done"] | Became, str]:
    """Return what became of the calls *told* that hold no other one, and why; those that run later
    don't count."""
    outer = {each.place[:-1] for each in told if each.place}
    leaves = [each for each in told if each.place not in outer and each.why != LATER]
    count: Counter[str] = Counter(each.state for each in leaves)
    why: dict[str, str] = {each.state: each.why for each in reversed(leaves)}
    undone = count["failed"] + count["skipped"]
    if count["failed"] and undone < len(leaves):
        told_of = f"{undone} of {len(leaves)} calls inside it were not done: {why['failed']}"
        return "partly-failed", told_of
    order: tuple[Became, ...] = ("failed", "pending", "canceled", "unknown")
    state = next((each for each in order if count[each]), None)
    return ("done", "") if state is None else (state, why[state])


def settle(sent: SentTransaction) -> SentTransaction:
    """Return *sent* with what became of each call that it is made of, as its effects tell."""
    effects, standing = read_effects(sent), standing_of(sent)
    told = [Outcome.read(each) for each in effects.get("outcomes", ())]
    left, made_of = list(told), []
    for made in sent.made_of:
        own = next((each for each in left if made.call.startswith(each.hash)), None)
        state = "unknown" if effects else ""
        if own is not None:
            # The next one with the same call has the next of equal calls.
            left.remove(own)
            depth = len(own.place)
            state, _ = sum_up([each for each in told if each.place[:depth] == own.place])
            # A part of it is done.
            state = "done" if state == "partly-failed" else state
            state = own.state if own.state == "skipped" else state
        if effects.get("success") is False or standing.became == "replaced":
            state = standing.became
        made_of.append(replace(made, outcome=state))
    return replace(sent, made_of=tuple(made_of))


def outcome_of(sent: SentTransaction, made: SentFor | None = None) -> str:
    """Return what became of *sent*, as it was last seen: `in block 20, finalized`; of one that may
    be made of something else than *made* says, that."""
    if made is not None and not made.certain:
        return "something else has the same call, and it may be made of that"
    words = standing_of(sent).words
    return words if sent.state in _BEFORE else f"in block {sent.block_number}, {words}"


#: Amounts have up to 39 digits.
_EXACT = Context(prec=120)


class TransactionCost(AmountAnswer):
    """A part of what a transaction cost its signer."""

    #: `execution`: what the chains on the way kept of the amount.
    what: Annotated[Literal["transaction fee", "delivery", "execution"], SHOWN]


def fee_of(effects: Mapping[str, Any], chain: "Chain") -> AmountAnswer | None:
    """Return the fee in the asset that paid it; None if it isn't known."""
    paid: AmountAnswer | None = effects.get("fee_paid_in")
    fee = effects.get("fee")
    if paid is not None or fee is None:
        return paid
    return Amount(value=int(fee), asset=chain.symbol, decimals=chain.decimals).answer()


def received_by(effects: Mapping[str, Any]) -> list[HoldingAnswer]:
    """Return what the signer and those that the call names got, on its chain and then on the
    destinations."""
    found = list(effects.get("received") or ())
    for each in effects.get("arrivals", ()):
        found += each.get("received", ())
    return found


def costs_of(effects: Mapping[str, Any], chain: "Chain") -> list[TransactionCost]:
    """Return the costs that are known: the fee, the delivery of messages, and what was lost on the
    way once all has arrived."""
    fee = fee_of(effects, chain)
    if fee is None:
        return []
    costs: list[TransactionCost] = [{**fee, "what": "transaction fee"}]
    delivery: Sequence[AmountAnswer] = effects.get("delivery", ())
    costs += [{**each, "what": "delivery"} for each in delivery]
    arrivals = effects.get("arrivals", ())
    if not arrivals or not all(each.get("received") for each in arrivals):
        return costs
    with localcontext(_EXACT):
        return costs + _kept_on_the_way(effects, costs)


def _kept_on_the_way(
    effects: Mapping[str, Any], costs: Sequence[TransactionCost]
) -> list[TransactionCost]:
    found: list[TransactionCost] = []
    got = received_by(effects)
    sent = {each["asset"] for each in effects.get("left") or ()}
    if any(each["asset"] not in sent for each in effects.get("received") or ()):
        # Something was swapped beside: how much of what left went on the way isn't known.
        return []
    for left in effects.get("left") or ():
        arrived = [each for each in got if each["asset"] == left["asset"]]
        others = [each for each in costs if each["asset"] == left["asset"]]
        amounts = [_whole(each) for each in (left, *arrived, *others)]
        known = [each for each in amounts if each is not None]
        if not arrived or len(known) < len(amounts):
            continue
        kept = 2 * known[0] - sum(known)
        if kept > 0:
            # As long as the amount itself, whatever the decimals of the destination.
            value = str(int(kept * int(left["value"]) / known[0]))
            human = f"{to_text(kept)} {left['asset']}"
            found.append(
                {"what": "execution", "asset": left["asset"], "value": value, "human": human}
            )
    return found


def moved_by(effects: Mapping[str, Any], chain: "Chain") -> list[AmountAnswer]:
    """Return what the signer has less, without the fee and what delivery cost; nothing if that
    isn't known."""
    paid = [each for each in costs_of(effects, chain) if each["what"] != "execution"]
    left: Sequence[AmountAnswer] = effects.get("left") or ()
    known = {each["asset"] for each in left} if paid else ()
    rest = sum_by_asset([*left, *(negated(each) for each in paid if each["asset"] in known)])
    return [each for each in rest if paid and int(each["value"]) > 0]


def negated(amount: AmountAnswer) -> AmountAnswer:
    human = None if amount["human"] is None else f"-{amount['human']}"
    return {"value": f"-{amount['value']}", "asset": amount["asset"], "human": human}


def sum_by_asset(amounts: Iterable[AmountAnswer]) -> list[AmountAnswer]:
    """Return the sum of each asset's amounts, in the order in which the assets come first."""
    found: dict[str, list[AmountAnswer]] = {}
    for each in amounts:
        found.setdefault(each["asset"], []).append(each)
    with localcontext(_EXACT):
        return [_sum(asset, each) for asset, each in found.items()]


def _sum(asset: str, amounts: Sequence[AmountAnswer]) -> AmountAnswer:
    whole = [_whole(each) for each in amounts]
    known = [each for each in whole if each is not None]
    human = f"{to_text(sum(known, Decimal(0)))} {asset}" if len(known) == len(whole) else None
    return {
        "value": str(sum(int(each["value"]) for each in amounts)),
        "asset": asset,
        "human": human,
    }


def _whole(amount: AmountAnswer) -> Decimal | None:
    """Return an amount in whole tokens; None if the asset's decimals are unknown."""
    return None if amount["human"] is None else Decimal(amount["human"].split(" ", 1)[0])
