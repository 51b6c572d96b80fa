"""What the Omnipool's fees of an asset will be in a block: recalculated from its last trades, as the runtime does.

Source: the dynamic fees of Hydration's runtime.  Numbers are FixedU128, 18 decimals in an int; every product and
quotient is floored, and stops at the largest u128.
"""

from dataclasses import dataclass

from scenarioctl.model.amounts import U128_MAX

#: One, in FixedU128.
ONE = 10**18
#: FixedU128 of one part per million.
_PART = 10**12
#: The oracle forgets 4 / (its period) a block; the Short period is 20 blocks, which no metadata tells.
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


@dataclass(frozen=True, kw_only=True)
class TradedVolume:
    """What the pool's oracle says of an asset, smoothed over the Short period; in the asset's smallest unit."""

    amount_in: int
    amount_out: int
    liquidity: int


def recalculate_asset_fee(
    fee: int, *, volume: TradedVolume, reserve: int, blocks: int, parameters: FeeParameters
) -> int:
    """Return the asset fee, *blocks* after it was *fee*; it rises where more left the pool than came in."""
    return _recalculate(
        fee, volume.amount_out - volume.amount_in, volume.liquidity, reserve, blocks, parameters
    )


def recalculate_protocol_fee(
    fee: int, *, volume: TradedVolume, reserve: int, blocks: int, parameters: FeeParameters
) -> int:
    """Return the protocol fee, *blocks* after it was *fee*; it rises where more came into the pool than left."""
    return _recalculate(
        fee, volume.amount_in - volume.amount_out, volume.liquidity, reserve, blocks, parameters
    )


def _recalculate(
    fee: int, net_volume: int, liquidity: int, reserve: int, blocks: int, parameters: FeeParameters
) -> int:
    """Return *fee*, in parts per million, *blocks* later.

    change = x * sum(w^j / (1 ± w^j * |liquidity - reserve| / reserve), j < min(blocks, 20)) + … - blocks * decay.
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
    amplified = min(abs(net_volume) * parameters.amplification // ONE, U128_MAX)
    change = _product(_ratio(amplified, reserve), total)
    decay = min(parameters.decay * blocks, U128_MAX)
    change = change - decay if net_volume >= 0 else -min(change + decay, U128_MAX)
    changed = min(max(fee * _PART + change, 0), ONE) // _PART
    return min(max(changed, parameters.min_fee), parameters.max_fee)


def _ratio(numerator: int, denominator: int) -> int:
    return min(numerator * ONE // denominator, U128_MAX)


def _product(one: int, other: int) -> int:
    return min(one * other // ONE, U128_MAX)


def _quotient(one: int, other: int) -> int:
    return min(one * ONE // other, U128_MAX)


def _power(base: int, exponent: int) -> int:
    """Return base^exponent by squaring from the lowest bit: another order of products floors to another number."""
    result = ONE
    while exponent:
        if exponent & 1:
            result = _product(result, base)
        base = _product(base, base)
        exponent >>= 1
    return result
