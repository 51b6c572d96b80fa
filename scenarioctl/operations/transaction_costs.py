"""What a sent transaction moved and cost, by what the store remembers of its block and of its
destinations."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.model.amounts import to_text
from scenarioctl.model.checks import Amount
from scenarioctl.model.json_types import AmountAnswer, HoldingAnswer

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


#: Amounts have up to 39 digits.
_EXACT = Context(prec=120)


class TransactionCost(AmountAnswer):
    """A part of what a transaction cost its signer."""

    #: `execution`: what the chains on the way kept of the amount.
    what: Literal["transaction fee", "delivery", "execution"]


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
