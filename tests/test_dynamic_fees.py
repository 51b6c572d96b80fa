"""Fees of the Omnipool in the next block: as executed trades had them, and within their bounds."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.transactions.swap.omnipool_math import ONE, FeeParameters, recalculate_fee
from tests.conftest import DATA

U128 = st.integers(min_value=0, max_value=2**128 - 1)
TRADED = st.integers(min_value=-(2**128), max_value=2**128)
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


def test_fees_are_those_that_executed_trades_had() -> None:
    rows = json.loads((DATA / "vectors" / "dynamic-fees.json").read_text(encoding="utf-8"))["rows"]
    signs = {"asset": 1, "protocol": -1}

    fees = [
        recalculate_fee(
            row["fee"],
            signs[row["kind"]] * (int(row["amount_out"]) - int(row["amount_in"])),
            liquidity=int(row["liquidity"]),
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
    traded=TRADED,
    liquidity=BALANCES,
    reserve=U128,
    blocks=BLOCKS,
    bounds=parameters(),
)
def test_a_recalculated_fee_stays_within_its_bounds(
    fee: int, traded: int, liquidity: int, reserve: int, blocks: int, bounds: FeeParameters
) -> None:
    changed = recalculate_fee(
        fee, traded, liquidity=liquidity, reserve=reserve, blocks=blocks, parameters=bounds
    )

    assert changed == fee or bounds.min_fee <= changed <= bounds.max_fee


@given(fee=st.integers(0, 1_000_000), traded=TRADED, reserve=BALANCES, bounds=parameters())
def test_within_its_block_a_fee_stands(
    fee: int, traded: int, reserve: int, bounds: FeeParameters
) -> None:
    kept = recalculate_fee(
        fee, traded, liquidity=reserve, reserve=reserve, blocks=0, parameters=bounds
    )

    assert kept == fee


def test_a_fee_with_bounds_that_contradict_each_other_stands() -> None:
    bounds = replace(ASSET, min_fee=5000, max_fee=4000)

    kept = recalculate_fee(
        4321, 10**9, liquidity=10**12, reserve=10**12, blocks=5, parameters=bounds
    )

    assert kept == 4321


@pytest.mark.parametrize(("liquidity", "fee"), [(1, 50_000), (0, 4321)])
def test_a_fee_survives_an_oracle_that_saw_next_to_nothing(liquidity: int, fee: int) -> None:
    # One unit against 10^18: the first divisor of the sum is next to nothing, and the fee at its
    # upper bound.
    changed = recalculate_fee(
        4321, 10**9, liquidity=liquidity, reserve=10**18, blocks=5, parameters=ASSET
    )

    assert changed == fee
