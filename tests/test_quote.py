"""Quotes: the Omnipool's own arithmetic."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.swap.omnipool_math import PoolSide, minimum_received, sell_to_omnipool
from tests.conftest import DATA
from tests.messages import Says, raises, says

RESERVES = st.integers(min_value=10**6, max_value=10**30)
SIDES = st.builds(PoolSide, reserve=RESERVES, hub_reserve=RESERVES)
FEES = st.integers(min_value=0, max_value=500_000)


def quote_omnipool_sell(amount: int, **terms: Any) -> int:
    return sell_to_omnipool(amount, **terms).amount_out


def test_all_1000_quotes_are_those_of_the_omnipool() -> None:
    rows = json.loads((DATA / "vectors" / "omnipool-sell.json").read_text(encoding="utf-8"))

    quotes = [
        quote_omnipool_sell(
            int(row["amount_in"]),
            sold=PoolSide(reserve=int(row["reserve_in"]), hub_reserve=int(row["hub_in"])),
            bought=PoolSide(reserve=int(row["reserve_out"]), hub_reserve=int(row["hub_out"])),
            asset_fee=row["asset_fee_ppm"],
            protocol_fee=row["protocol_fee_ppm"],
            max_slip_fee=row["max_slip_fee_ppm"],
        )
        for row in rows
    ]

    assert len(quotes) == 1000
    assert quotes == [int(row["amount_out"]) for row in rows]


@given(
    amount=st.integers(min_value=1, max_value=2**128 - 1),
    sold=SIDES,
    bought=SIDES,
    asset_fee=FEES,
    protocol_fee=FEES,
    slip=st.integers(min_value=0, max_value=1_000_000),
)
def test_the_pool_never_gives_more_than_it_has(
    amount: int, sold: PoolSide, bought: PoolSide, asset_fee: int, protocol_fee: int, slip: int
) -> None:
    quote = quote_omnipool_sell(
        amount,
        sold=sold,
        bought=bought,
        asset_fee=asset_fee,
        protocol_fee=protocol_fee,
        max_slip_fee=slip,
    )

    assert 0 <= quote < bought.reserve


@pytest.mark.parametrize(
    ("quote", "slippage", "minimum"),
    [
        (10**15, "1", 990_000_000_000_000),
        (10**15, "0", 10**15),
        (10**15, "0.5", 995_000_000_000_000),
        (101, "1", 99),
        (2**128 - 1, "1", (2**128 - 1) * 99 // 100),
        (10**38 + 1, "0.0000000001", (10**38 + 1) * (10**12 - 1) // 10**12),
    ],
)
def test_the_minimum_is_the_quote_less_the_slippage_rounded_down(
    quote: int, slippage: str, minimum: int
) -> None:
    assert minimum_received(quote, Decimal(slippage)) == minimum


@pytest.mark.parametrize(
    ("quote", "slippage", "sentence"),
    [
        (100, "100", says("slippage", "100")),
        (100, "-1", says("slippage", "-1")),
        (100, "NaN", says("slippage", "NaN")),
        (0, "1", says("amount", "0", "1")),
        (1, "1", says("amount", "1")),
    ],
)
def test_a_minimum_of_nothing_is_refused(quote: int, slippage: str, sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        minimum_received(quote, Decimal(slippage))
