"""An order of Hydration's DCA on a real runtime: scheduled, executed by the chain, listed, and
stopped."""

from collections.abc import Iterator
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotFound
from scenarioctl.model.calls import Call
from scenarioctl.operations.dca import (
    CreateOrder,
    ListOrders,
    OrderRow,
    StopOrder,
    create_order,
    list_orders,
    stop_order,
)
from scenarioctl.transactions.events import Event
from tests.live.conftest import Live
from tests.live.market import DOT, HDX, Market, open_market
from tests.live.setup import send
from tests.messages import raises, says
from tests.runner import finish

pytestmark = pytest.mark.live
UNIT = 10**12
#: What each order sells, and all of them.
EACH, TOTAL = 1_000 * UNIT, 5_000 * UNIT
#: Blocks in which the chain has to make an order; it puts one off by a block now and then.
MOST_BLOCKS = 60


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    with open_market(live_app, omnipool.name) as market:
        yield market


def create(market: Market, **fields: Any) -> Any:
    request = {
        "total": "5000",
        "every": 10,
        "sender": "0x" + market.alice.public_key.hex(),
        **fields,
    }
    return finish(
        create_order(
            market.app,
            CreateOrder(
                chain=market.chain.name, assetin="HDX", assetout="DOT", amount="1000", **request
            ),
        )
    )


def sign(market: Market, tx: str) -> list[Event]:
    """Sign and send call data, and return the events of its block."""
    call: Call = market.table.decode_call(bytes.fromhex(tx[2:]))
    return send(market.app, market.chain, call, market.alice)


def orders(market: Market) -> dict[int, OrderRow]:
    request = ListOrders(address="0x" + market.alice.public_key.hex(), chain=market.chain.name)
    return {row["id"]: row for row in finish(list_orders(market.app, request)).answer["orders"]}


def test_an_order_is_scheduled_executed_listed_and_stopped(market: Market) -> None:
    # Two trades, and the chain has a price of the pair.
    for _ in range(2):
        market.sell(market.quote(HDX, DOT, EACH))
    least = market.quote(HDX, DOT, EACH).amount_out * 95 // 100
    tx = create(market, min_amount_out=str(least), check=True, output_format="call").answer["tx"]
    before = orders(market)
    sign(market, tx)
    ((number, planned),) = ((id, row) for id, row in orders(market).items() if id not in before)
    bought = market.balance(market.alice.public_key, DOT)
    for _ in range(MOST_BLOCKS):
        row = orders(market)[number]
        if row["spent"] != planned["spent"]:
            break
        finish(market.client.submit("dev_newBlock"))
    brought = market.balance(market.alice.public_key, DOT) - bought
    sender = "0x" + market.alice.public_key.hex()
    request = StopOrder(
        order=number, chain=market.chain.name, sender=sender, check=True, output_format="call"
    )
    sign(market, finish(stop_order(market.app, request)).answer["tx"])

    assert planned["spent"] == {"value": "0", "asset": "HDX", "human": "0 HDX"}
    assert (planned["remaining"], planned["limit"]["value"]) == (planned["total"], str(least))
    assert planned["next_block"] is not None and planned["estimated"] is not None
    spent = int(row["spent"]["value"]) if row["spent"] else 0
    # The fee of the order comes from the total too.
    assert EACH < spent < EACH * 102 // 100, row
    assert row["remaining"] is not None and int(row["remaining"]["value"]) + spent == TOTAL
    assert row["next_block"] is not None and row["next_block"] > planned["next_block"]
    assert brought >= least
    assert number not in orders(market)
    with raises(NotFound, says("no DCA order")):
        finish(stop_order(market.app, request))


def test_a_minimum_above_the_price_is_refused(market: Market) -> None:
    with raises(InvalidRequest, says("1000000 DOT", "more than", "lower the minimum")):
        create(market, min_received="1000000")
