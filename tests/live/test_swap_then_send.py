"""Swap, then send: what is said of the second transaction before the swap is in a block, and after
it."""

from typing import Any

import pytest

from scenarioctl.actions.batching import draft_together
from scenarioctl.actions.drafting import Drafted, require_check
from scenarioctl.actions.drafts import CarriedData, draft_each
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.model.diagram import Diagram, read_diagram
from tests.live.conftest import Live
from tests.live.market import DOT, Market, open_market
from tests.live.playing import new_key
from tests.live.setup import send
from tests.runner import finish

pytestmark = pytest.mark.live


def swap_then_send(market: Market, receiver: bytes) -> Diagram:
    chain = market.chain.name
    swap = {
        "type": "swap",
        "chain": chain,
        "assetin": "HDX",
        "assetout": str(DOT),
        "amount": "10000",
    }
    transfer = {
        "type": "xTransfer",
        "source_chain": chain,
        "dest_chain": chain,
        "destination_address": format_account(receiver, 63),
        "amount": "{{ swap.min_received }}",
        "assetid": str(DOT),
    }
    return read_diagram(
        draw_flow(market.app, read_flow({"steps": [swap, transfer]}, syntax="json")).document
    )


def drafts(market: Market, diagram: Diagram) -> list[Any]:
    async def collect() -> list[Any]:
        each = draft_each(
            market.app, diagram, sender=market.alice.public_key, carried=CarriedData(diagram)
        )
        return [outcome async for _, outcome in each]

    return finish(collect())


def test_the_transfer_is_unknown_before_the_swap_and_arrives_after_it(
    live_app: Application, omnipool: Live
) -> None:
    with open_market(live_app, omnipool.name) as market:
        alice = format_account(market.alice.public_key, 63)
        # For the fees, which Alice pays in DOT.
        market.write({"Tokens": {"Accounts": [[[alice, DOT], {"free": "1000000000"}]]}})
        receiver = new_key().public_key

        swap, transfer = drafts(market, swap_then_send(market, receiver))

        assert isinstance(swap, Drafted)
        assert require_check(swap.transaction).verdict == "ok", swap.transaction.check
        check = require_check(transfer.transaction)
        assert check.verdict == "unknown", check
        assert "right after the swap" in check.reasons[0]
        send(market.app, market.chain, swap.transaction.call, market.alice)
        send(market.app, market.chain, transfer.transaction.call, market.alice)
        assert market.balance(receiver, DOT) == transfer.raw_amount


def test_a_batch_of_both_is_ok_and_arrives(live_app: Application, omnipool: Live) -> None:
    with open_market(live_app, omnipool.name) as market:
        alice = format_account(market.alice.public_key, 63)
        # For the fees, which Alice pays in DOT.
        market.write({"Tokens": {"Accounts": [[[alice, DOT], {"free": "1000000000"}]]}})
        receiver = new_key().public_key
        diagram = swap_then_send(market, receiver)

        batch, _ = finish(draft_together(market.app, diagram, sender=market.alice.public_key))

        assert require_check(batch).verdict == "ok", batch.check
        least = batch.call.args["calls"][0]["Omnipool"]["sell"]["min_buy_amount"]
        send(market.app, market.chain, batch.call, market.alice)
        assert market.balance(receiver, DOT) == least
