"""What the Omnipool gives for an amount: its own integer arithmetic, to the last unit."""

from dataclasses import dataclass, replace
from decimal import Decimal

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import U128_MAX, to_text

#: Fees are counted in parts per million, the chain's Permill.
MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class PoolSide:
    """One asset of the Omnipool: what the pool holds of it, and of the hub asset against it."""

    reserve: int
    hub_reserve: int
    #: The hub reserve when the block began, where earlier trades of the block have moved it.
    hub_at_start: int | None = None
    #: The hub asset that those trades brought in, less what they took out.
    moved: int = 0


@dataclass(frozen=True, kw_only=True)
class Sale:
    """What a sale in the Omnipool brings, and what becomes of its parts; fees of the hub asset but for `asset_fee`."""

    amount_out: int
    #: Of the asset bought; kept by the pool.
    asset_fee: int = 0
    protocol_fee: int = 0
    #: Of both sides.
    slip_fee: int = 0
    #: The hub asset that left the side of the asset sold.
    hub_in: int = 0
    #: The hub asset that entered the side of the asset bought.
    hub_out: int = 0


def sell_to_omnipool(
    amount: int, *, sold: PoolSide, bought: PoolSide, asset_fee: int, protocol_fee: int, max_slip_fee: int = 0
) -> Sale:
    """Return what the Omnipool gives of the asset *bought* for *amount* raw units of the one *sold*.

    Fees are in parts per million: the asset fee is the bought asset's, the protocol fee the sold one's.  Every
    division is floored as on chain; equal to `calculate_sell_state_changes` of Hydration's mathematics, without
    the slip fee where its maximum is 0.
    """
    _check(amount, sold, bought, (asset_fee, protocol_fee, max_slip_fee))
    hub_in = amount * sold.hub_reserve // (sold.reserve + amount)
    hub_fee = protocol_fee * hub_in // MILLION
    hub_slip = _slip_fee(sold, -hub_in, hub_in, max_slip_fee)
    hub_net = hub_in - hub_fee - hub_slip
    if hub_net <= 0:
        return Sale(amount_out=0, protocol_fee=hub_fee, slip_fee=hub_slip, hub_in=hub_in)
    bought_for = _buy(hub_net, bought, asset_fee, max_slip_fee)
    return replace(bought_for, protocol_fee=hub_fee, slip_fee=hub_slip + bought_for.slip_fee, hub_in=hub_in)


def sell_hub_asset(amount: int, *, bought: PoolSide, asset_fee: int, max_slip_fee: int = 0) -> Sale:
    """Return what the Omnipool gives of the asset *bought* for *amount* raw units of its hub asset."""
    _check(amount, bought, bought, (asset_fee, max_slip_fee))
    return _buy(amount, bought, asset_fee, max_slip_fee)


def _buy(hub: int, bought: PoolSide, asset_fee: int, max_slip_fee: int) -> Sale:
    hub_slip = _slip_fee(bought, hub, hub, max_slip_fee)
    hub_out = hub - hub_slip
    if hub_out <= 0:
        return Sale(amount_out=0, slip_fee=hub_slip)
    gross = bought.reserve * hub_out // (bought.hub_reserve + hub_out)
    # The fee is a Permill of the amount, rounded so that what is left is floored.
    net = (MILLION - asset_fee) * gross // MILLION
    return Sale(amount_out=net, asset_fee=gross - net, slip_fee=hub_slip, hub_out=hub_out)


def minimum_received(quote: int, slippage_percent: Decimal) -> int:
    """Return the least to accept for *quote* raw units, *slippage_percent* below it, rounded down but never to 0."""
    if not (slippage_percent.is_finite() and 0 <= slippage_percent < 100):
        raise InvalidRequest(
            f"slippage {to_text(slippage_percent) if slippage_percent.is_finite() else slippage_percent} is not a percentage, expected from 0 to below 100, like 1"
        )
    numerator, denominator = slippage_percent.as_integer_ratio()
    minimum = quote * (100 * denominator - numerator) // (100 * denominator)
    if minimum < 1:
        raise InvalidRequest(
            f"amount is too small: the pool would give {quote} of the smallest unit, less a slippage of {to_text(slippage_percent)} %, expected an amount that gives at least 1"
        )
    return minimum


def _slip_fee(side: PoolSide, change: int, amount: int, maximum: int) -> int:
    """Return floor(min(|all changes of the block| / (hub reserve at its start + these), maximum) * amount)."""
    if not maximum:
        return 0
    changed = side.moved + change
    size, moved = abs(changed), (side.hub_at_start or side.hub_reserve) + changed
    if moved <= 0 or size * MILLION >= maximum * moved:
        return maximum * amount // MILLION
    return size * amount // moved


def _check(amount: int, sold: PoolSide, bought: PoolSide, fees: tuple[int, ...]) -> None:
    if not 0 < amount <= U128_MAX:
        raise InvalidRequest(f"amount {amount} cannot be quoted, expected from 1 to 2^128 - 1 smallest units")
    for value in (sold.reserve, sold.hub_reserve, bought.reserve, bought.hub_reserve):
        if not 0 < value <= U128_MAX:
            raise InvalidRequest(f"the pool's reserve {value} is out of range, expected from 1 to 2^128 - 1")
    for fee in fees:
        if not 0 <= fee <= MILLION:
            raise InvalidRequest(f"fee {fee} is not in parts per million, expected from 0 to {MILLION}")
