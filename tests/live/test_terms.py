"""A swap's minimum on a real Omnipool: what a front-run may take, and what no minimum switches
off."""

from collections.abc import Iterator
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.operations.creation import CreateSwap, create_swap
from scenarioctl.transactions.extrinsic import decode_extrinsic
from scenarioctl.transactions.swap.omnipool_state import POOL_ACCOUNT
from tests.live.conftest import Live
from tests.live.market import DOT, HDX, Market, open_market
from tests.runner import finish

# Runtime APIs are in no recording, and neither is this module.
pytestmark = pytest.mark.live


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    with open_market(live_app, omnipool.name) as market:
        yield market


def drafted(market: Market, **options: Any) -> Call:
    request = CreateSwap(
        assetin="DOT", assetout="HDX", amount="2", chain=market.chain.name, **options
    )
    swap = finish(create_swap(market.app, request)).answer["swap"]
    return decode_extrinsic(market.table, bytes.fromhex(swap["swap_tx"][2:])).call


def front_run(market: Market) -> None:
    """Sell so much DOT that HDX gets dearer by several per cent."""
    market.sell(market.quote(DOT, HDX, market.balance(POOL_ACCOUNT, DOT) // 200))


def test_a_low_floor_leaves_the_slippage_that_stops_a_front_run(market: Market) -> None:
    call = drafted(market, min_amount_out="140")
    front_run(market)

    assert call.args["min_buy_amount"] > 140
    with pytest.raises(RuntimeError, match="it failed"):
        market.execute(call)


def test_an_exact_minimum_is_executed_at_any_price(market: Market) -> None:
    call = drafted(market, min_amount_out="140", exact_minimum=True)
    front_run(market)

    assert call.args["min_buy_amount"] == 140
    assert market.execute(call) > 140


def test_a_floor_above_the_quote_less_the_slippage_is_drafted_and_executed(market: Market) -> None:
    quote = market.quote(DOT, HDX, 2 * 10**10)
    floor = quote.amount_out * 999 // 1000

    call = drafted(market, min_amount_out=str(floor))

    assert call.args["min_buy_amount"] == floor
    assert market.execute(call) >= floor


def test_a_floor_above_the_quote_is_refused_as_it_would_fail(market: Market) -> None:
    quote = market.quote(DOT, HDX, 2 * 10**10)
    floor = quote.amount_out * 102 // 100

    with pytest.raises(InvalidRequest, match="is more than the swap would buy now"):
        drafted(market, min_amount_out=str(floor))
    with pytest.raises(RuntimeError, match="it failed"):
        market.execute(drafted(market, min_amount_out=str(floor), exact_minimum=True))


@pytest.mark.parametrize("exact", [False, True])
def test_a_minimum_does_not_switch_the_limit_on_impact_off(market: Market, exact: bool) -> None:
    large = str(market.balance(POOL_ACCOUNT, DOT) // 80 // 10**10)
    request = CreateSwap(
        assetin="DOT",
        assetout="HDX",
        amount=large,
        chain=market.chain.name,
        min_amount_out="140",
        exact_minimum=exact,
    )

    with pytest.raises(InvalidRequest, match="moves the price"):
        finish(create_swap(market.app, request)).answer["swap"]
