"""Swaps on a real Omnipool bring what was quoted for them, to the last unit.

SCENARIOCTL_LIVE_SELLS says how many random sells are executed; 200 where it does not.
"""

import os
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.registry import Chain
from scenarioctl.cli.base import finish
from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.operations.creation import CreateSwap, create_swap
from scenarioctl.transactions.extrinsic import decode_extrinsic
from scenarioctl.transactions.quoting import POOL_ACCOUNT, Quote, quote_swap
from scenarioctl.transactions.swap import Swap, build_swap, parse_route
from tests.live.conftest import Live, Wire
from tests.live.setup import send
from tests.signing import dev_key

pytestmark = pytest.mark.live

#: So many in a recording.
RECORDED_SELLS = 10
SELLS = int(os.environ.get("SCENARIOCTL_LIVE_SELLS", "200"))
#: Id -> decimals, of what the Omnipool of the rig holds.
POOLED = {0: 12, 2: 18, 5: 10, 15: 10, 20: 18, 100: 18}
HDX, LRNA, DOT, USDT = 0, 1, 5, 10
MAX_SLIP_FEE = 50_000


class Market:
    """The Omnipool under test, and Alice, who trades there."""

    def __init__(self, app: Application, chain: Chain) -> None:
        self.app = app
        self.chain = chain
        self.client = app.client(chain)
        self.table = finish(self.client.table())
        self.alice: Keypair = dev_key("//Alice")

    def asset(self, number: int) -> Asset:
        decimals = {**POOLED, LRNA: 12, USDT: 6}[number]
        return Asset(
            chain=self.chain.name, id=str(number), symbol=f"asset {number}", decimals=decimals, kind="tokens"
        )

    def balance(self, account: bytes, asset: int) -> int:
        if asset == HDX:
            free: int = finish(self.client.storage("System", "Account", account))["data"]["free"]
        else:
            free = finish(self.client.storage("Tokens", "Accounts", account, asset))["free"]
        return free

    def write(self, storage: dict[str, Any]) -> None:
        finish(self.client.submit("dev_setStorage", storage))

    def charge_slip_fee(self, charged: bool) -> None:
        self.write({"Omnipool": {"SlipFee": {"maxSlipFee": MAX_SLIP_FEE} if charged else None}})

    def quote(self, sold: int, bought: int, amount: int, route: str = "", **options: Any) -> Quote:
        hops = parse_route(route, field="route") if route else None
        return finish(
            quote_swap(
                self.client,
                asset_in=self.asset(sold),
                asset_out=self.asset(bought),
                amount=amount,
                route=hops,
                **options,
            )
        )

    def sell(self, quote: Quote) -> int:
        """Execute what was quoted, and return what the trade's event says that it brought."""
        swap = Swap(
            chain=self.chain,
            asset_in=quote.asset_in,
            asset_out=quote.asset_out,
            amount=quote.amount_in,
            min_amount_out=1,
            route=quote.route,
        )
        return self.execute(build_swap(swap, self.table).call)

    def execute(self, call: Call) -> int:
        events = send(self.app, self.chain, call, self.alice)
        # The chain trades too, at the end of a block: who sold tells the two apart.
        brought = [
            event.fields["amount_out"]
            for event in events
            if str(event) == "Router.Executed"
            or (str(event) == "Omnipool.SellExecuted" and event.fields["who"] == self.alice.public_key)
        ]
        amount: int = brought[-1]
        return amount


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    market = Market(live_app, live_app.registry.find(omnipool.name))
    alice = format_account(market.alice.public_key, 63)
    rich = {number: str(10 ** (decimals + 7)) for number, decimals in {**POOLED, LRNA: 12, USDT: 6}.items()}
    # The rig's snapshot lacks the pool's HDX.
    pool = max(market.balance(POOL_ACCOUNT, HDX), 936_471 * 10**12)
    market.write(
        {
            "System": {
                "Account": [
                    [[format_account(POOL_ACCOUNT, 63)], {"providers": 1, "data": {"free": str(pool)}}],
                    [[alice], _account(market, rich.pop(HDX))],
                ]
            },
            "Tokens": {"Accounts": [[[alice, number], {"free": free}] for number, free in rich.items()]},
        }
    )
    market.charge_slip_fee(False)
    yield market
    market.charge_slip_fee(False)


def _account(market: Market, free: str) -> dict[str, Any]:
    """Return Alice's account with *free* of the native asset, and the nonce that she is at."""
    account = finish(market.client.storage("System", "Account", market.alice.public_key))
    return {"nonce": account["nonce"], "providers": 1, "consumers": 1, "data": {"free": free}}


def amounts(chance: random.Random, reserve: int) -> int:
    """Return an amount from a ten-millionth to a twentieth of *reserve*, small ones as often as large ones."""
    return int(reserve * 10 ** chance.uniform(-7, -1.3))


def test_random_sells_bring_what_was_quoted(
    market: Market, wire: Wire, capsys: pytest.CaptureFixture[str]
) -> None:
    sells = RECORDED_SELLS if wire.replayed else SELLS
    chance = random.Random(20261120)
    worst = worst_dry = Fraction(0)
    done = with_slip = dry_runs = 0
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
        with_slip += bool(quote.legs[0].slip_fee_amount)
        worst = max(worst, abs(Fraction(quote.amount_out, brought) - 1))
        if dry is not None:
            dry_runs += 1
            worst_dry = max(worst_dry, abs(Fraction(dry, brought) - 1))
        assert quote.amount_out == brought, quote.describe()
    with capsys.disabled():
        print(
            f"\n{done} sells, {with_slip} of them with the slip fee: worst deviation of the quote {float(worst):.2e}, "
            f"of the dry run at the head ({dry_runs}) {float(worst_dry):.2e}"
        )


def _dry_run(market: Market, quote: Quote) -> int | None:
    """Return what the chain's own dry run says, with the fees of the block that it runs on."""
    from scenarioctl.transactions.quoting import _Market

    try:
        pools = _Market(market.client, market.table, quote.block_hash, ())
        return finish(pools._dry_run(quote.route, quote.amount_in, market.alice.public_key))
    except ChainRefused:
        return None


def test_the_router_brings_what_was_quoted(market: Market) -> None:
    quote = market.quote(DOT, HDX, 7 * 10**10, "5>omnipool>0")
    route = [{"pool": "Omnipool", "asset_in": DOT, "asset_out": HDX}]
    args = {"asset_in": DOT, "asset_out": HDX, "amount_in": 7 * 10**10, "min_amount_out": 1, "route": route}

    brought = market.execute(Call(pallet="Router", method="sell", args=args))

    assert brought == quote.amount_out


@pytest.mark.parametrize("slip", [False, True], ids=["plain", "with the slip fee"])
def test_the_hub_asset_brings_what_was_quoted(market: Market, slip: bool) -> None:
    market.charge_slip_fee(slip)
    quote = market.quote(LRNA, DOT, 3 * 10**12)

    brought = market.sell(quote)

    assert brought == quote.amount_out
    assert bool(quote.legs[0].slip_fee_amount) == slip


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


@pytest.mark.usefixtures("runtime_apis")
def test_another_pool_and_the_omnipool_bring_what_was_quoted(market: Market) -> None:
    sold, bought = USDT, DOT
    if not any({sold, bought} == set(pair) for _, pair in finish(market.client.entries("XYK", "PoolAssets"))):
        args = {"asset_a": sold, "amount_a": 4_000_000 * 10**6, "asset_b": bought, "amount_b": 10**6 * 10**10}
        send(market.app, market.chain, Call(pallet="XYK", method="create_pool", args=args), market.alice)
    quote = market.quote(sold, HDX, 50 * 10**6, "10>xyk>5>omnipool>0")

    brought = market.sell(quote)

    assert [leg.asset_fee is None for leg in quote.legs] == [True, False]
    assert quote.impact is not None and quote.impact > 0
    assert brought == quote.amount_out


def test_a_swap_drafted_without_a_minimum_is_executed(market: Market) -> None:
    request = CreateSwap(assetin="DOT", assetout="HDX", amount="3", chain=market.chain.name)

    swap = finish(create_swap(market.app, request))
    call = decode_extrinsic(market.table, bytes.fromhex(swap.swap_tx[2:])).call
    brought = market.execute(call)

    minimum = call.args["min_buy_amount"]
    assert brought * 99 // 100 == minimum
    assert swap.notes[0].startswith("3 DOT would bring ")


@pytest.mark.usefixtures("runtime_apis")
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

    with pytest.raises(InvalidRequest, match="is more than the Omnipool takes at once"):
        market.quote(DOT, HDX, reserve // 3 + 1)
    with pytest.raises(RuntimeError, match="it failed"):
        market.execute(too_much)
