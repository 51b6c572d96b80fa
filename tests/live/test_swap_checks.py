"""What a check says of swaps is what the next block executes: to the unit if quoted, else within
the bounds it states."""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation.simulate import simulate
from scenarioctl.transactions.simulation.trial import Trial
from scenarioctl.transactions.swap.omnipool_state import POOL_ACCOUNT
from tests.live.conftest import Live
from tests.live.market import DOT, HDX, POOLED, Market, open_market
from tests.live.setup import send, sign
from tests.runner import finish

pytestmark = pytest.mark.live

#: What a price moves between a dry run and the next block, at most.
ABOUT = Fraction(3, 1000)


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    with open_market(live_app, omnipool.name) as market:
        yield market


def check(market: Market, call: Call, *, confirmed: bool = False) -> Check:
    trial = Trial(
        clients=market.app.client,
        assets=market.app.assets,
        chain=market.chain,
        call=call,
        sender=market.alice.public_key,
        confirmed=confirmed,
    )
    return finish(simulate(trial))


def sell(sold: int, bought: int, amount: int, least: int) -> Call:
    args = {"asset_in": sold, "asset_out": bought, "amount": amount, "min_buy_amount": least}
    return Call(pallet="Omnipool", method="sell", args=args)


def buy(sold: int, bought: int, amount: int, most: int) -> Call:
    args = {"asset_out": bought, "asset_in": sold, "amount": amount, "max_sell_amount": most}
    return Call(pallet="Omnipool", method="buy", args=args)


def route(method: str, assets: tuple[int, ...], **amounts: int) -> Call:
    hops = [
        {"pool": "Omnipool", "asset_in": one, "asset_out": other} for one, other in pairwise(assets)
    ]
    args = {"asset_in": assets[0], "asset_out": assets[-1], **amounts, "route": hops}
    return Call(pallet="Router", method=method, args=args)


def batch(*calls: Call) -> Call:
    inner = [{call.pallet: {call.method: call.args}} for call in calls]
    return Call(pallet="Utility", method="batch_all", args={"calls": inner})


def limited(call: Call, **limits: int) -> Call:
    return Call(pallet=call.pallet, method=call.method, args={**call.args, **limits})


def step(checked: Check, what: str) -> int:
    (value,) = [each.amount.value for each in checked.steps if each.what == what]
    return value


def execute(market: Market, call: Call) -> list[Event]:
    return send(market.app, market.chain, call, market.alice)


def traded(market: Market, events: list[Event], name: str, field: str) -> int:
    amounts = [
        event.fields[field]
        for event in events
        if str(event) == name
        and event.fields.get("who", market.alice.public_key) == market.alice.public_key
    ]
    return int(amounts[-1])


def test_a_checked_sale_brings_what_the_check_says(
    market: Market, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(26)
    rows = []
    for number in range(16):
        sold, bought = chance.sample(sorted(POOLED), 2)
        amount = int(market.balance(POOL_ACCOUNT, sold) * 10 ** chance.uniform(-6, -3))
        call = sell(sold, bought, amount, 1)
        event = "Omnipool.SellExecuted"
        if number % 4 == 3:
            call = route("sell", (sold, bought), amount_in=amount, min_amount_out=1)
            event = "Router.Executed"
        before = step(check(market, call, confirmed=True), "buys")
        limit = "min_buy_amount" if call.pallet == "Omnipool" else "min_amount_out"
        checked = check(market, limited(call, **{limit: before * 99 // 100}))

        brought = traded(
            market,
            execute(market, limited(call, **{limit: before * 99 // 100})),
            event,
            "amount_out",
        )

        rows.append((str(call.pallet), sold, bought, step(checked, "buys"), brought))
        assert checked.verdict == "ok", checked.reasons
        assert step(checked, "buys") == brought
        credited = {each.amount.value for each in checked.credits if each.role == "the sender"}
        assert brought in credited
    with capsys.disabled():
        for row in rows:
            print(*row)


@pytest.mark.parametrize("kind", ["buy", "router buy", "two hops", "batch", "sell all"])
def test_what_cant_be_quoted_stays_within_what_the_check_says(
    market: Market, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for size in (1, 30):
        amount = size * 10**13
        calls = {
            "buy": (buy(DOT, HDX, amount, U128_MAX), "max_sell_amount", "Omnipool.BuyExecuted"),
            "router buy": (
                route("buy", (DOT, HDX), amount_out=amount, max_amount_in=U128_MAX),
                "max_amount_in",
                "Router.Executed",
            ),
            "two hops": (
                route("sell", (DOT, HDX, 20), amount_in=size * 10**10, min_amount_out=1),
                "min_amount_out",
                "Router.Executed",
            ),
            "batch": (sell(DOT, HDX, size * 10**10, 1), "min_buy_amount", "Omnipool.SellExecuted"),
            "sell all": (
                route("sell_all", (15, HDX), min_amount_out=1),
                "min_amount_out",
                "Router.Executed",
            ),
        }
        call, field, event = calls[kind]
        if kind == "sell all":
            alice = format_account(market.alice.public_key, 63)
            market.write({"Tokens": {"Accounts": [[[alice, 15], {"free": str(size * 10**10)}]]}})
        verb, bound, side = (
            ("pays", "pays at most", "amount_in")
            if "buy" in kind
            else ("buys", "buys at least", "amount_out")
        )
        wrapped = batch if kind == "batch" else lambda inner: inner
        now = step(check(market, wrapped(call), confirmed=True), f"{verb} about")
        call = wrapped(limited(call, **{field: now * (101 if "buy" in kind else 99) // 100}))
        checked = check(market, call)

        moved = traded(market, execute(market, call), event, side)

        with capsys.disabled():
            print(
                kind,
                size,
                bound,
                step(checked, bound),
                "about",
                step(checked, f"{verb} about"),
                "executed",
                moved,
            )
        assert checked.verdict == "ok", checked.reasons
        assert abs(Fraction(moved, step(checked, f"{verb} about")) - 1) <= ABOUT
        assert moved <= step(checked, bound) if "buy" in kind else moved >= step(checked, bound)


def schedule(market: Market, order: dict[str, Any], slippage: int | None) -> Call:
    args = {
        "owner": market.alice.public_key,
        "period": 10,
        "total_amount": 500 * 10**10,
        "max_retries": None,
        "stability_threshold": None,
        "slippage": slippage,
        "order": order,
    }
    return Call(
        pallet="DCA", method="schedule", args={"schedule": args, "start_execution_block": None}
    )


def test_a_swap_without_protection_is_refused_until_it_is_confirmed(market: Market) -> None:
    market.count_issued()
    hops = [{"pool": "Omnipool", "asset_in": DOT, "asset_out": HDX}]
    order = {
        "asset_in": DOT,
        "asset_out": HDX,
        "amount_in": 10**11,
        "min_amount_out": 0,
        "route": hops,
    }
    unprotected = (
        sell(DOT, HDX, 2 * 10**10, 0),
        sell(DOT, HDX, 2 * 10**10, 10**12),
        route("sell", (DOT, HDX), amount_in=2 * 10**10, min_amount_out=1),
        buy(DOT, HDX, 10**14, U128_MAX),
        buy(DOT, HDX, 10**14, 10**16),
        batch(sell(DOT, HDX, 2 * 10**10, 1)),
        schedule(market, {"Sell": order}, None),
    )
    for call in unprotected:
        refused = check(market, call)
        confirmed = check(market, call, confirmed=True)

        assert refused.verdict == "refused"
        assert confirmed.verdict == "ok", confirmed.reasons
        assert [reason.partition("; pass")[0] for reason in refused.reasons] == list(
            confirmed.warnings[-1:]
        )
    assert check(market, schedule(market, {"Sell": order}, 15_000)).verdict == "ok"


def test_a_minimum_that_only_the_dry_run_reaches_is_refused(market: Market) -> None:
    """A trade raises the fee of the next one: the dry run doesn't know of it yet, and the quote
    does."""
    execute(market, sell(HDX, DOT, market.balance(POOL_ACCOUNT, HDX) // 50, 1))
    call = sell(HDX, DOT, 10**15, 1)
    exact = step(check(market, call, confirmed=True), "buys")

    above = check(market, limited(call, min_buy_amount=exact + 1))

    assert [
        reason.partition(" in the next block, less than")[1] != "" for reason in above.reasons
    ] == [True]
    assert check(market, limited(call, min_buy_amount=exact)).verdict == "ok"


def test_a_fee_paid_in_dot_is_reported_in_dot(market: Market) -> None:
    alice = format_account(market.alice.public_key, 63)
    market.write({"MultiTransactionPayment": {"AccountCurrencyMap": [[[alice], DOT]]}})
    before = market.balance(market.alice.public_key, DOT)
    call_data = market.table.encode_call(
        Call(pallet="System", method="remark", args={"remark": b"fee"})
    )
    tx = "0x" + sign(market.app, market.chain, call_data, market.alice).hex()

    answer = finish(
        broadcast(market.app, Broadcast(chain=market.chain.name, tx=tx, wait="in-block"))
    ).answer

    market.write({"MultiTransactionPayment": {"AccountCurrencyMap": [[[alice], None]]}})
    paid = before - market.balance(market.alice.public_key, DOT)
    assert paid > 0
    assert answer["fee_paid_in"]["value"] == str(paid)


def test_a_minimum_that_only_the_next_block_reaches_is_not_refused(market: Market) -> None:
    """Fees rise with trades one way and fall with those the other way; a dry run has those of the
    block before."""
    call = sell(DOT, 20, 10**11, 1)
    for sold, bought in ((DOT, 20), (DOT, 20), (20, DOT), (20, DOT), (20, DOT)):
        execute(market, sell(sold, bought, market.balance(POOL_ACCOUNT, sold) // 60, 1))
        dry = step(check(market, batch(call), confirmed=True), "buys about")
        exact = step(check(market, call, confirmed=True), "buys")
        if dry < exact:
            break
    assert dry < exact

    alone = check(market, limited(call, min_buy_amount=exact))
    batched = check(market, batch(limited(call, min_buy_amount=exact)))
    above = check(market, batch(limited(call, min_buy_amount=exact * 110 // 100)))

    brought = traded(
        market,
        execute(market, limited(call, min_buy_amount=exact)),
        "Omnipool.SellExecuted",
        "amount_out",
    )
    assert (alone.verdict, step(alone, "buys"), brought) == ("ok", exact, exact), alone.reasons
    assert (batched.verdict, above.verdict) == ("unknown", "refused")
    assert len(batched.reasons) == 1
