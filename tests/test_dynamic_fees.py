"""Fees of the Omnipool in the next block: as executed trades had them, and within their bounds."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.transactions.swap.omnipool_math import (
    ONE,
    FeeParameters,
    TradedVolume,
    recalculate_asset_fee,
    recalculate_protocol_fee,
)
from tests.conftest import DATA

U128 = st.integers(min_value=0, max_value=2**128 - 1)
BALANCES = st.integers(min_value=1, max_value=10**30)
BLOCKS = st.integers(min_value=0, max_value=2**32)
#: 0.25 % to 5 %, losing 0.005 % a block.
ASSET = FeeParameters(min_fee=2500, max_fee=50_000, decay=5 * 10**13, amplification=2 * ONE)


@st.composite
def parameters(draw: st.DrawFn) -> FeeParameters:
    bounds = sorted((draw(st.integers(0, 500_000)), draw(st.integers(0, 500_000))))
    return FeeParameters(
        min_fee=bounds[0],
        max_fee=bounds[1],
        decay=draw(st.integers(0, 10**16)),
        amplification=draw(st.integers(1, 100 * ONE)),
    )


def volumes(traded: st.SearchStrategy[int]) -> st.SearchStrategy[TradedVolume]:
    return st.builds(TradedVolume, amount_in=traded, amount_out=traded, liquidity=BALANCES)


def test_fees_are_those_that_executed_trades_had() -> None:
    rows = json.loads((DATA / "vectors" / "dynamic-fees.json").read_text(encoding="utf-8"))["rows"]
    kinds = {"asset": recalculate_asset_fee, "protocol": recalculate_protocol_fee}

    fees = [
        kinds[row["kind"]](
            row["fee"],
            volume=TradedVolume(
                amount_in=int(row["amount_in"]),
                amount_out=int(row["amount_out"]),
                liquidity=int(row["liquidity"]),
            ),
            reserve=int(row["reserve"]),
            blocks=row["blocks"],
            parameters=FeeParameters(
                min_fee=row["min_fee"],
                max_fee=row["max_fee"],
                decay=int(row["decay"]),
                amplification=int(row["amplification"]),
            ),
        )
        for row in rows
    ]

    assert len(rows) > 200
    assert fees == [row["expected"] for row in rows]


@given(
    fee=st.integers(0, 1_000_000),
    volume=volumes(U128),
    reserve=U128,
    blocks=BLOCKS,
    bounds=parameters(),
)
def test_a_recalculated_fee_stays_within_its_bounds(
    fee: int, volume: TradedVolume, reserve: int, blocks: int, bounds: FeeParameters
) -> None:
    changed = recalculate_asset_fee(
        fee, volume=volume, reserve=reserve, blocks=blocks, parameters=bounds
    )

    assert changed == fee or bounds.min_fee <= changed <= bounds.max_fee


@given(
    fee=st.integers(0, 1_000_000), volume=volumes(BALANCES), reserve=BALANCES, bounds=parameters()
)
def test_within_its_block_a_fee_stands(
    fee: int, volume: TradedVolume, reserve: int, bounds: FeeParameters
) -> None:
    assert (
        recalculate_asset_fee(fee, volume=volume, reserve=reserve, blocks=0, parameters=bounds)
        == fee
    )


def test_a_fee_with_bounds_that_contradict_each_other_stands() -> None:
    bounds = replace(ASSET, min_fee=5000, max_fee=4000)
    volume = TradedVolume(amount_in=0, amount_out=10**9, liquidity=10**12)

    assert (
        recalculate_asset_fee(4321, volume=volume, reserve=10**12, blocks=5, parameters=bounds)
        == 4321
    )


def test_a_fee_survives_an_oracle_that_saw_next_to_nothing() -> None:
    # One unit against 10^18: the first divisor of the sum is next to nothing, and the fee at its
    # upper bound.
    volume = TradedVolume(amount_in=0, amount_out=10**9, liquidity=1)

    assert (
        recalculate_asset_fee(4321, volume=volume, reserve=10**18, blocks=5, parameters=ASSET)
        == 50_000
    )
    empty = replace(volume, liquidity=0)
    assert (
        recalculate_asset_fee(4321, volume=empty, reserve=10**18, blocks=5, parameters=ASSET)
        == 4321
    )
