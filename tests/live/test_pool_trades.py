"""Trades in other pools than the Omnipool, and orders at a price of their own: what a check says,
and what they then do."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Chain
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check
from scenarioctl.transactions.inner_calls import kind_of_call
from scenarioctl.transactions.simulation.simulate import simulate
from scenarioctl.transactions.simulation.trial import Trial
from tests.live.conftest import Live
from tests.live.market import (
    DAI,
    DOT,
    HDX,
    SHARE,
    USDT,
    Market,
    make_lbp_pool,
    make_stable_pool,
    make_xyk_pool,
    open_market,
)
from tests.live.setup import create_fee_pool, send
from tests.live.test_swap_checks import ABOUT, limited, step
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
KSM = {"parents": 1, "interior": "Here"}
HUB_USDT = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]}}


@pytest.fixture
def market(live_app: Application, omnipool: Live) -> Iterator[Market]:
    with open_market(live_app, omnipool.name) as market:
        make_stable_pool(market)
        make_xyk_pool(market)
        make_lbp_pool(market)
        yield market


@pytest.fixture
def hub(live_app: Application, asset_hub: Live) -> Chain:
    hub = live_app.registry.find(asset_hub.name)
    create_fee_pool(live_app, hub, 1984, ALICE)
    return hub


def check(
    app: Application, chain: Chain, call: Call, *, who: Keypair = ALICE, confirmed: bool = False
) -> Check:
    trial = Trial(
        clients=app.client,
        assets=app.assets,
        chain=chain,
        call=call,
        sender=who.public_key,
        confirmed=confirmed,
    )
    return finish(simulate(trial))


def hops(*route: tuple[object, int, int]) -> list[dict[str, object]]:
    return [{"pool": pool, "asset_in": sold, "asset_out": bought} for pool, sold, bought in route]


def free(app: Application, chain: Chain, asset: int) -> int:
    client, who = app.client(chain), ALICE.public_key
    if chain.role == "dex":
        return int(finish(client.storage("Tokens", "Accounts", who, asset))["free"])
    return int(finish(client.storage("Assets", "Account", asset, who))["balance"])


def pair(sold: int, bought: int, **more: object) -> dict[str, object]:
    return {"asset_in": sold, "asset_out": bought, **more}


#: Calls -> the asset whose amount follows the price, and whether that follows the number of the
#: block too.
CALLS = (
    (
        Call(
            pallet="Stableswap", method="sell", args=pair(USDT, DAI, pool_id=SHARE, amount_in=10**7)
        ),
        DAI,
        True,
    ),
    (
        Call(
            pallet="Stableswap", method="buy", args=pair(DAI, USDT, pool_id=SHARE, amount_out=10**7)
        ),
        DAI,
        True,
    ),
    (
        Call(pallet="XYK", method="sell", args=pair(DOT, USDT, amount=10**10, discount=False)),
        USDT,
        False,
    ),
    (
        Call(pallet="XYK", method="buy", args=pair(USDT, DOT, amount=10**10, discount=False)),
        USDT,
        False,
    ),
    (Call(pallet="LBP", method="sell", args=pair(DOT, USDT, amount=10**10)), USDT, True),
    (Call(pallet="LBP", method="sell", args=pair(USDT, DOT, amount=10**7)), DOT, True),
    (Call(pallet="LBP", method="buy", args=pair(USDT, DOT, amount=10**10)), USDT, True),
    (Call(pallet="LBP", method="buy", args=pair(DOT, USDT, amount=10**7)), DOT, True),
    (
        Call(
            pallet="Router",
            method="buy",
            args=pair(USDT, DOT, amount_out=10**10, route=hops(("XYK", USDT, DOT))),
        ),
        USDT,
        False,
    ),
)
CONVERSIONS = (
    Call(
        pallet="AssetConversion",
        method="swap_exact_tokens_for_tokens",
        args={
            "path": [KSM, HUB_USDT],
            "amount_in": 10**12,
            "send_to": ALICE.public_key,
            "keep_alive": True,
        },
    ),
    Call(
        pallet="AssetConversion",
        method="swap_tokens_for_exact_tokens",
        args={
            "path": [HUB_USDT, KSM],
            "amount_out": 10**12,
            "send_to": ALICE.public_key,
            "keep_alive": True,
        },
    ),
)


def judge(
    app: Application, chain: Chain, call: Call, asset: int, *, moves: bool, best: str = "ok"
) -> None:
    """Try the limits of *call*: none, far off, at what it brings now, just beyond it, and one that
    protects."""
    fields = kind_of_call(call).trade
    assert fields is not None

    def at(limit: int, *, confirmed: bool = False) -> Check:
        return check(app, chain, limited(call, **{fields.limit: limit}), confirmed=confirmed)

    verb, bound = ("pays", "at most") if fields.buys else ("buys", "at least")
    least = U128_MAX if fields.buys else 1
    now = step(at(least, confirmed=True), f"{verb} about")
    better, worse = (99, 101) if fields.buys else (101, 99)
    assert at(least, confirmed=True).verdict == best
    assert [str(at(limit).verdict) for limit in (least, now * 3 if fields.buys else now // 3)] == [
        "refused"
    ] * 2
    assert at(now).verdict == ("unknown" if moves else best)
    assert at(now * (1000 + (better - 100)) // 1000).verdict == ("unknown" if moves else "refused")
    assert at(now * (100 + 10 * (better - 100)) // 100).verdict == "refused"
    good = at(now * worse // 100)
    assert good.verdict == best, good.reasons
    assert step(good, f"{verb} {bound}") == now * worse // 100
    before = free(app, chain, asset)

    send(app, chain, limited(call, **{fields.limit: now * worse // 100}), ALICE)

    moved = abs(free(app, chain, asset) - before)
    assert abs(Fraction(moved, step(good, f"{verb} about")) - 1) <= (ABOUT if moves else 0)


@pytest.mark.parametrize(
    ("call", "asset", "moves"),
    CALLS,
    ids=lambda value: f"{value.pallet}.{value.method}" if isinstance(value, Call) else "",
)
def test_a_trade_in_another_pool_is_judged_by_its_limit(
    market: Market, call: Call, asset: int, moves: bool
) -> None:
    # Someone whom nobody names collects the fees of an LBP.
    best = "unknown" if call.pallet == "LBP" else "ok"
    judge(market.app, market.chain, call, asset, moves=moves, best=best)


@pytest.mark.parametrize("call", CONVERSIONS, ids=lambda call: call.method)
def test_a_trade_on_an_asset_hub_is_judged_by_its_limit(
    live_app: Application, hub: Chain, call: Call
) -> None:
    judge(live_app, hub, call, 1984, moves=False)


def test_an_order_is_judged_by_what_a_swap_would_bring(market: Market) -> None:
    market.count_issued()
    bob = dev_key("//Bob")
    rich = {"free": str(10**20)}
    address = format_account(bob.public_key, 63)
    market.write(
        {
            "System": {"Account": [[[address], {"providers": 1, "data": rich}]]},
            "Tokens": {"Accounts": [[[address, DOT], {"free": str(10**14)}]]},
        }
    )
    price = market.quote(DOT, HDX, 10**11).amount_out
    place = Call(
        pallet="OTC",
        method="place_order",
        args={**pair(HDX, DOT, amount_in=price, amount_out=10**11), "partially_fillable": True},
    )
    send(market.app, market.chain, place, market.alice)
    number = finish(market.client.storage("OTC", "NextOrderId")) - 1
    whole = Call(pallet="OTC", method="fill_order", args={"order_id": number})
    part = Call(
        pallet="OTC",
        method="partial_fill_order",
        args={"order_id": number, "amount_in": price // 2},
    )
    batched = Call(
        pallet="Utility", method="batch_all", args={"calls": [{"OTC": {"fill_order": whole.args}}]}
    )

    fair = [
        check(market.app, market.chain, call, who=bob) for call in (place, whole, part, batched)
    ]
    dear = limited(place, amount_out=10**11, amount_in=price * 3)
    cheap = check(market.app, market.chain, limited(place, amount_in=price // 3))
    send(market.app, market.chain, dear, market.alice)
    bad = Call(pallet="OTC", method="fill_order", args={"order_id": number + 1})
    refused = check(market.app, market.chain, bad, who=bob)
    confirmed = check(market.app, market.chain, bad, who=bob, confirmed=True)

    # The maker of an offer that is filled in part gets something, and no call names an account.
    assert [each.verdict for each in fair] == ["ok", "ok", "unknown", "ok"], [
        each.reasons for each in fair
    ]
    assert [cheap.verdict, refused.verdict, confirmed.verdict] == ["refused", "refused", "ok"], (
        confirmed.reasons
    )
    assert [reason.count("% below") for each in (cheap, refused) for reason in each.reasons] == [
        1,
        1,
    ]
