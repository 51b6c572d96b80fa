"""What the Omnipool gives for an amount: its own integer arithmetic, to the last unit.

What its fees of an asset will be in a block is recalculated from its last trades.  Source: the
dynamic fees of Hydration's runtime, whose numbers are FixedU128, 18 decimals in an int; every
product and quotient is floored, and stops at the largest u128.
"""

from dataclasses import dataclass
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
    """What a sale in the Omnipool brings, and what becomes of its parts; fees of the hub asset."""

    amount_out: int
    protocol_fee: int = 0
    #: Of both sides.
    slip_fee: int = 0
    #: The hub asset that left the side of the asset sold.
    hub_in: int = 0
    #: The hub asset that entered the side of the asset bought.
    hub_out: int = 0


def sell_to_omnipool(
    amount: int,
    *,
    sold: PoolSide | None,
    bought: PoolSide,
    asset_fee: int,
    protocol_fee: int,
    max_slip_fee: int,
) -> Sale:
    """Return what the Omnipool gives of the asset *bought* for *amount* raw units of the one
    *sold*, None for its hub asset.

    Fees are in parts per million: the asset fee is the bought asset's, the protocol fee the sold
    one's.  Every division is floored as on chain; equal to `calculate_sell_state_changes` of
    Hydration's mathematics, without the slip fee where its maximum is 0.
    """
    hub_in = hub_fee = slip = 0
    hub_net = amount
    if sold is not None:
        hub_in = amount * sold.hub_reserve // (sold.reserve + amount)
        hub_fee = protocol_fee * hub_in // MILLION
        slip = _slip_fee(sold, -hub_in, hub_in, max_slip_fee)
        hub_net = max(hub_in - hub_fee - slip, 0)
    onward = _slip_fee(bought, hub_net, hub_net, max_slip_fee)
    hub_out = hub_net - onward
    gross = bought.reserve * hub_out // (bought.hub_reserve + hub_out)
    return Sale(
        # The fee is a Permill of the amount, rounded so that what is left is floored.
        amount_out=(MILLION - asset_fee) * gross // MILLION,
        protocol_fee=hub_fee,
        slip_fee=slip + onward,
        hub_in=hub_in,
        hub_out=hub_out,
    )


def minimum_received(quote: int, slippage_percent: Decimal) -> int:
    """Return the least to accept for *quote* raw units, *slippage_percent* below it, rounded down
    but never to 0."""
    if not (slippage_percent.is_finite() and 0 <= slippage_percent < 100):
        raise InvalidRequest(
            field="slippage",
            problem=(
                f"{to_text(slippage_percent) if slippage_percent.is_finite() else slippage_percent}"
                " is not a percentage"
            ),
            expected="from 0 to below 100, like 1",
        )
    numerator, denominator = slippage_percent.as_integer_ratio()
    minimum = quote * (100 * denominator - numerator) // (100 * denominator)
    if minimum < 1:
        raise InvalidRequest(
            field="amount",
            problem=(
                f"is too small: the pool would give {quote} of the smallest unit, less a "
                f"slippage of {to_text(slippage_percent)} %"
            ),
            expected="an amount that gives at least 1",
        )
    return minimum


def _slip_fee(side: PoolSide, change: int, amount: int, maximum: int) -> int:
    """Return floor(min(|all changes of the block| / (hub reserve at its start + these), maximum) *
    amount)."""
    if not maximum:
        return 0
    changed = side.moved + change
    size, moved = abs(changed), (side.hub_at_start or side.hub_reserve) + changed
    if moved <= 0 or size * MILLION >= maximum * moved:
        return maximum * amount // MILLION
    return size * amount // moved


#: One, in FixedU128.
ONE = 10**18
#: FixedU128 of one part per million.
_PART = 10**12
#: The oracle forgets 4 / (its period) a block; the Short period is 20 blocks, which no metadata
#: tells.
DECAY_FACTOR = 4 * ONE // 20
_KEPT = ONE - DECAY_FACTOR
#: Beyond so many blocks a closed form takes the place of the sum.
_SUMMED_BLOCKS = 20


@dataclass(frozen=True, kw_only=True)
class FeeParameters:
    """Bounds in parts per million, decay and amplification in FixedU128."""

    min_fee: int
    max_fee: int
    #: What the fee loses each block.
    decay: int
    amplification: int


def recalculate_fee(
    fee: int, traded: int, *, liquidity: int, reserve: int, blocks: int, parameters: FeeParameters
) -> int:
    """Return *fee*, in parts per million, *blocks* later; it rises with what was *traded*, and
    falls with less than nothing.

    *traded* and *liquidity* are what the pool's oracle says of the asset, smoothed over the Short
    period: of the asset fee more that left the pool than came in, of the protocol fee the reverse.
    change = x * sum(w^j / (1 ± w^j * |liquidity - reserve| / reserve), j < min(blocks, 20)) + … -
    blocks * decay.
    """
    unusable = parameters.min_fee > parameters.max_fee or not (
        reserve and liquidity and parameters.amplification
    )
    if not blocks or unusable:
        return fee
    summed = min(blocks, _SUMMED_BLOCKS)
    drift = _ratio(abs(liquidity - reserve), reserve)
    total = 0
    for block in range(summed):
        weight = _power(_KEPT, block)
        part = _product(drift, weight)
        divisor = max(ONE - part, 0) if liquidity < reserve else min(ONE + part, U128_MAX)
        if not divisor:
            return fee
        total = min(total + _quotient(weight, divisor), U128_MAX)
    forgotten = max(_power(_KEPT, summed) - _power(_KEPT, blocks), 0)
    total = min(total + _quotient(_product(_KEPT, forgotten), DECAY_FACTOR), U128_MAX)
    # The amplified volume is a whole number of units before it is divided.
    amplified = min(abs(traded) * parameters.amplification // ONE, U128_MAX)
    change = _product(_ratio(amplified, reserve), total)
    decay = min(parameters.decay * blocks, U128_MAX)
    change = change - decay if traded >= 0 else -min(change + decay, U128_MAX)
    changed = min(max(fee * _PART + change, 0), ONE) // _PART
    return min(max(changed, parameters.min_fee), parameters.max_fee)


def _ratio(numerator: int, denominator: int) -> int:
    return min(numerator * ONE // denominator, U128_MAX)


def _product(one: int, other: int) -> int:
    return min(one * other // ONE, U128_MAX)


def _quotient(one: int, other: int) -> int:
    return min(one * ONE // other, U128_MAX)


def _power(base: int, exponent: int) -> int:
    """Return base^exponent by squaring from the lowest bit: another order of products floors to
    another number."""
    result = ONE
    while exponent:
        if exponent & 1:
            result = _product(result, base)
        base = _product(base, base)
        exponent >>= 1
    return result
