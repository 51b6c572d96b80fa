"""Swaps on a real Omnipool bring what was quoted for them, to the last unit.

SCENARIOCTL_LIVE_SELLS says how many random sells are executed; 200 where it does not.
"""

import os
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.operations.creation import CreateSwap, create_swap
from scenarioctl.transactions.extrinsic import decode_extrinsic
from scenarioctl.transactions.swap.omnipool_state import POOL_ACCOUNT
from scenarioctl.transactions.swap.swap_call import Quote
from tests.live.conftest import Live, Wire
from tests.live.market import DOT, HDX, LRNA, POOLED, Market, open_market
from tests.runner import finish

pytestmark = pytest.mark.live

#: So many in a recording.
RECORDED_SELLS = 10
SELLS = int(os.environ.get("SCENARIOCTL_LIVE_SELLS", "200"))


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    with open_market(live_app, omnipool.name) as market:
        yield market


def amounts(chance: random.Random, reserve: int) -> int:
    """Return an amount from a ten-millionth to a twentieth of *reserve*, small ones as often as
    large ones."""
    return int(reserve * 10 ** chance.uniform(-7, -1.3))


def test_random_sells_bring_what_was_quoted(
    market: Market, wire: Wire, capsys: pytest.CaptureFixture[str]
) -> None:
    sells = RECORDED_SELLS if wire.replayed else SELLS
    chance = random.Random(20261120)
    worst = worst_dry = Fraction(0)
    done = dry_runs = 0
    while done < sells:
        if done and done % max(sells // 4, 1) == 0:
            market.charge_slip_fee(done // max(sells // 4, 1) % 2 == 1)
        sold, bought = chance.sample(sorted(POOLED), 2)
        amount = amounts(chance, market.balance(POOL_ACCOUNT, sold))
        try:
            quote = market.quote(sold, bought, amount, sender=market.alice.public_key)
        except InvalidRequest:
            # Too much of what the pool holds least of.
            continue
        dry = _dry_run(market, quote)
        brought = market.sell(quote)

        done += 1
        worst = max(worst, abs(Fraction(quote.amount_out, brought) - 1))
        if dry is not None:
            dry_runs += 1
            worst_dry = max(worst_dry, abs(Fraction(dry, brought) - 1))
        assert quote.amount_out == brought, quote.describe()
    with capsys.disabled():
        print(
            f"\n{done} sells: worst deviation of the quote {float(worst):.2e}, "
            f"of the dry run at the head ({dry_runs}) {float(worst_dry):.2e}"
        )


def _dry_run(market: Market, quote: Quote) -> int | None:
    """Return what the chain's own dry run says, with the fees of the block that it runs on."""
    from scenarioctl.transactions.swap.route_quote import RouterDryRun

    try:
        router = RouterDryRun(market.client, market.table, quote.block_hash)
        return finish(router.sell(quote.route, quote.amount_in, market.alice.public_key))
    except ChainRefused:
        return None


def test_the_router_brings_what_was_quoted(market: Market) -> None:
    quote = market.quote(DOT, HDX, 7 * 10**10, "5>omnipool>0")
    route = [{"pool": "Omnipool", "asset_in": DOT, "asset_out": HDX}]
    args = {
        "asset_in": DOT,
        "asset_out": HDX,
        "amount_in": 7 * 10**10,
        "min_amount_out": 1,
        "route": route,
    }

    brought = market.execute(Call(pallet="Router", method="sell", args=args))

    assert brought == quote.amount_out


@pytest.mark.parametrize("slip", [False, True], ids=["plain", "with the slip fee"])
def test_the_hub_asset_brings_what_was_quoted(market: Market, slip: bool) -> None:
    market.charge_slip_fee(slip)
    quote = market.quote(LRNA, DOT, 3 * 10**12)

    brought = market.sell(quote)

    assert brought == quote.amount_out


@pytest.mark.parametrize("slip", [False, True], ids=["plain", "with the slip fee"])
def test_two_hops_in_the_omnipool_stay_within_the_tolerance(
    market: Market, slip: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    market.charge_slip_fee(slip)
    quote = market.quote(DOT, 20, 50 * 10**10, "5>omnipool>0>omnipool>20")

    brought = market.sell(quote)

    deviation = abs(Fraction(quote.amount_out, brought) - 1)
    with capsys.disabled():
        print(f"\ntwo hops in the Omnipool: deviation {float(deviation):.2e}")
    # What of the first hop's asset fee leaves the pool is not known before.
    assert deviation < Fraction(3, 1000)


def test_a_swap_drafted_without_a_minimum_is_executed(market: Market) -> None:
    request = CreateSwap(assetin="DOT", assetout="HDX", amount="3", chain=market.chain.name)

    created = finish(create_swap(market.app, request))
    swap_tx = created.answer["swap"]["swap_tx"]
    call = decode_extrinsic(market.table, bytes.fromhex(swap_tx[2:])).call
    brought = market.execute(call)

    minimum = call.args["min_buy_amount"]
    assert brought * 99 // 100 == minimum
    assert any(note.startswith("3 DOT would buy ") for note in created.notes)


def test_the_sender_dry_run_agrees(market: Market) -> None:
    quote = market.quote(DOT, HDX, 5 * 10**10, sender=market.alice.public_key)

    assert quote.warnings == ()


def test_what_is_refused_would_have_failed(market: Market) -> None:
    reserve = market.balance(POOL_ACCOUNT, DOT)
    too_much = Call(
        pallet="Omnipool",
        method="sell",
        args={"asset_in": DOT, "asset_out": HDX, "amount": reserve // 3 + 1, "min_buy_amount": 1},
    )

    with pytest.raises(InvalidRequest, match="is more than the Omnipool accepts in one trade"):
        market.quote(DOT, HDX, reserve // 3 + 1)
    with pytest.raises(RuntimeError, match="it failed"):
        market.execute(too_much)
