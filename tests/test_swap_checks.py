"""What a check says of the trades of a call: their limits, and what they bring."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainUnreachable
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Amount, Holding
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.inner_calls import walk_calls
from scenarioctl.transactions.simulation import swap_credit
from scenarioctl.transactions.simulation.dry_run import DryRunResult
from scenarioctl.transactions.simulation.runtime_api import Findings
from scenarioctl.transactions.simulation.trial import Trial
from scenarioctl.transactions.swap.route_quote import TOLERANCE
from tests.messages import Says, says
from tests.runner import finish
from tests.runtimes import ASSETS, REGISTRY, bundled

CHAIN = REGISTRY.find("hydraDx")
WHO = b"\1" * 32
#: What 2 DOT buy by the dry run, and in the next block.
NOW, NEXT = 144_322_004_855_668, 144_000_000_000_000
TWO_DOT = 2 * 10**10


def sell(least: int) -> Call:
    args = {"asset_in": 5, "asset_out": 0, "amount": TWO_DOT, "min_buy_amount": least}
    return Call(pallet="Omnipool", method="sell", args=args)


def buy(most: int) -> Call:
    args = {"asset_out": 0, "asset_in": 5, "amount": NOW, "max_sell_amount": most}
    return Call(pallet="Omnipool", method="buy", args=args)


def batch(call: Call) -> Call:
    inner = {call.pallet: {call.method: call.args}}
    return Call(pallet="Utility", method="batch_all", args={"calls": [inner]})


def schedule(kind: str, slippage: int | None, **limits: int) -> Call:
    order = {"asset_in": 5, "asset_out": 0, "route": [], **limits}
    fields = {
        "owner": WHO,
        "period": 10,
        "total_amount": 5 * TWO_DOT,
        "slippage": slippage,
        "order": {kind: order},
    }
    return Call(
        pallet="DCA",
        method="schedule",
        args={"schedule": {**fields, "max_retries": None, "stability_threshold": None}},
    )


def traded(name: str = "SellExecuted") -> Event:
    fields = {"who": WHO, "asset_in": 5, "asset_out": 0, "amount_in": TWO_DOT, "amount_out": NOW}
    return Event(pallet="Omnipool", name=name, fields=fields)


def run(
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    *,
    quoted: int | None = None,
    confirmed: bool = False,
    events: tuple[Event, ...] = (traded(), traded("BuyExecuted")),
    stored: Any = None,
    chain: Chain = CHAIN,
    room: Fraction | None = TOLERANCE,
) -> Trial:
    async def fees_change(*_: Any) -> Fraction:
        if room is None:
            raise ChainUnreachable("no node")
        return room

    async def quote(*_: Any, **__: Any) -> Any:
        if quoted is None:
            raise ChainUnreachable("no node")
        return SimpleNamespace(amount_out=quoted, omnipool=True)

    async def table() -> Any:
        return bundled(chain.name)

    async def storage(*_: Any) -> Any:
        return stored

    monkeypatch.setattr(swap_credit, "fetch_quote", quote)
    monkeypatch.setattr(swap_credit, "fetch_room", fees_change)

    def clients(_: Any) -> Any:
        return SimpleNamespace(table=table, storage=storage)

    account = format_account(WHO, CHAIN.ss58_prefix)
    got = Holding(
        chain=CHAIN.name,
        account=account,
        amount=Amount(value=NOW, asset="HDX", decimals=12),
        role="the sender",
    )
    check = Trial(
        clients=clients,
        assets=ASSETS,
        chain=chain,
        sender=WHO,
        call=call,
        confirmed=confirmed,
        findings=Findings(credits=[got]),
        hops=[DryRunResult(chain=chain, events=events)],
        calls=list(walk_calls(call, bundled(chain.name))),
    )
    finish(swap_credit.check_swaps(check))
    return check


def steps(check: Trial) -> list[tuple[str, int]]:
    return [(step.what, step.amount.value) for step in check.findings.steps]


def test_a_minimum_above_the_quote_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = run(monkeypatch, sell(NEXT - 5), quoted=NEXT)
    above = run(monkeypatch, sell(NEXT + 1), quoted=NEXT)

    assert steps(exact) == [("buys at least", NEXT - 5), ("buys", NEXT)]
    assert [holding.amount.value for holding in exact.findings.credits] == [NEXT]
    assert above.findings.refusals == [says("144", "144.000000000001")]


@pytest.mark.parametrize(
    "call", [sell(NOW * 99 // 100), batch(sell(NOW * 99 // 100))], ids=["alone", "batched"]
)
def test_without_a_quote_the_range_is_said(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    check = run(monkeypatch, call)

    assert check.findings.verdict == "ok"
    assert steps(check) == [("buys at least", NOW * 99 // 100), ("buys about", NOW)]
    assert [holding.amount.value for holding in check.findings.credits] == [NOW]


def test_a_purchase_has_a_range_too(monkeypatch: pytest.MonkeyPatch) -> None:
    check = run(monkeypatch, buy(TWO_DOT * 2))

    assert check.findings.verdict == "ok"
    assert steps(check) == [("pays at most", TWO_DOT * 2), ("pays about", TWO_DOT)]


@pytest.mark.parametrize(
    ("call", "error"),
    [(batch(sell(NOW - 1)), says("buys")), (buy(TWO_DOT + 1), says("pays"))],
    ids=["sale", "purchase"],
)
def test_a_limit_that_the_next_fees_may_break_is_unknown(
    monkeypatch: pytest.MonkeyPatch, call: Call, error: Says
) -> None:
    check = run(monkeypatch, call)

    assert check.findings.unknowns == [error]


@pytest.mark.parametrize(
    ("room", "verdict"),
    [(Fraction(9, 1000), "ok"), (Fraction(11, 1000), "unknown"), (None, "unknown")],
    ids=["less than the slippage", "more", "not known"],
)
def test_how_far_fees_rise_is_the_pools_own(
    monkeypatch: pytest.MonkeyPatch, room: Fraction | None, verdict: str
) -> None:
    """After a large trade they rise by more than they usually do."""
    call = batch(sell(NOW * 99 // 100))

    assert run(monkeypatch, call, room=room).findings.verdict == verdict


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(sell(0), says("at any price"), id="no minimum"),
        pytest.param(sell(1), says("at any price"), id="a minimum of one unit"),
        pytest.param(batch(sell(1)), says("at any price"), id="in a batch"),
        pytest.param(sell(NOW // 3), says("for at least"), id="far below"),
        pytest.param(buy(U128_MAX), says("at any price"), id="no maximum"),
        pytest.param(buy(TWO_DOT * 5), says("5 times"), id="far above"),
        pytest.param(
            schedule("Sell", None, amount_in=TWO_DOT, min_amount_out=0),
            says("at any price"),
            id="order to sell",
        ),
        pytest.param(
            schedule("Sell", 900_000, amount_in=TWO_DOT, min_amount_out=0),
            says("at any price"),
            id="wild slippage",
        ),
        pytest.param(
            schedule("Buy", None, amount_out=NOW, max_amount_in=U128_MAX),
            says("at any price"),
            id="order to buy",
        ),
    ],
)
def test_a_limit_that_protects_nothing_has_to_be_confirmed(
    monkeypatch: pytest.MonkeyPatch, call: Call, error: Says
) -> None:
    refused = run(monkeypatch, call).findings
    confirmed = run(monkeypatch, call, confirmed=True).findings

    assert refused.refusals == [error]
    assert (confirmed.verdict, confirmed.warnings) == (
        "ok",
        [refused.refusals[0].partition("; pass")[0]],
    )


def test_the_slippage_of_an_order_protects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    check = run(monkeypatch, schedule("Sell", 15_000, amount_in=TWO_DOT, min_amount_out=0))

    assert check.findings.verdict == "ok"
    assert check.findings.warnings == [says("1.5")]


def test_an_order_that_may_never_trade_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    check = run(monkeypatch, schedule("Sell", 4_999, amount_in=TWO_DOT, min_amount_out=NOW))

    assert check.findings.verdict == "ok"
    assert check.findings.warnings == [says("0.4999 %", "never trade")]


def test_an_order_is_held_against_a_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    call = schedule("Sell", None, amount_in=TWO_DOT, min_amount_out=NOW // 3)

    assert run(monkeypatch, call, quoted=NOW).findings.refusals == [says("66.6666")]
    assert run(monkeypatch, call).findings.unknowns == [says("every 10 blocks")]
    near = schedule("Sell", None, amount_in=TWO_DOT, min_amount_out=NOW * 9 // 10)
    assert run(monkeypatch, near, quoted=NOW).findings.verdict == "ok"


def test_a_trade_that_the_dry_run_does_not_show_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, sell(NOW), events=()).findings.unknowns == [says("2 DOT")]


def order(method: str, **args: int) -> Call:
    return Call(pallet="OTC", method=method, args=args)


def offer(least: int) -> Call:
    return order("place_order", asset_in=0, asset_out=5, amount_in=least, amount_out=TWO_DOT)


@pytest.mark.parametrize(
    ("call", "gets"),
    [
        (offer(NOW), NOW),
        (order("fill_order", order_id=7), NOW),
        (order("partial_fill_order", order_id=7, amount_in=TWO_DOT), 2 * NOW),
        (batch(order("fill_order", order_id=7)), NOW),
    ],
    ids=["offer", "fill", "part", "batch"],
)
def test_an_offer_is_held_against_a_quote(
    monkeypatch: pytest.MonkeyPatch, call: Call, gets: int
) -> None:
    """Its maker gives the asset out, and who fills it the asset in."""
    whole = TWO_DOT if gets == NOW else 2 * TWO_DOT
    stored = {
        "asset_in": 5,
        "asset_out": 0,
        "amount_in": whole,
        "amount_out": 2 * NOW if whole > TWO_DOT else NOW,
    }

    fair = run(monkeypatch, call, quoted=NOW, stored=stored)
    dear = run(monkeypatch, call, quoted=2 * NOW + 1, stored=stored)
    confirmed = run(monkeypatch, call, quoted=2 * NOW + 1, stored=stored, confirmed=True)
    unknown = run(monkeypatch, call, stored=stored)

    assert (fair.findings.verdict, fair.findings.warnings) == ("ok", [])
    assert dear.findings.refusals == [says("50 %", "`yes`")]
    assert (confirmed.findings.verdict, len(confirmed.findings.warnings)) == ("ok", 1)
    assert unknown.findings.unknowns == [says("price")]


def test_an_offer_for_nothing_or_of_which_nothing_is_known_is_not_ok(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(monkeypatch, offer(1), quoted=NOW).findings.refusals == [
        says("2 DOT", "instead", "`yes`")
    ]
    filled = run(monkeypatch, order("fill_order", order_id=7), quoted=NOW)
    assert filled.findings.unknowns == [says("order 7", "price")]


#: What goes in and out of a pool in the tests, and what the pool takes beside it.
PAID, GOT, BESIDE = 10**10, 2 * 10**7, 3 * 10**7
HUB = REGISTRY.find("assetHub")
PATH = [
    {"parents": 1, "interior": "Here"},
    {"parents": 0, "interior": {"X1": [{"GeneralIndex": 7}]}},
]


def swapped(*fees: tuple[int, int]) -> Event:
    """Return the event of a trade of 5 for 10, with what is taken of an asset."""
    fields = {
        "inputs": [{"asset": 5, "amount": PAID}],
        "outputs": [{"asset": 10, "amount": GOT}],
        "fees": [{"asset": asset, "amount": amount} for asset, amount in fees],
    }
    return Event(pallet="Broadcast", name="Swapped3", fields=fields)


def exchanged(pallet: str, **fields: Any) -> Event:
    return Event(
        pallet=pallet, name="Executed", fields={"amount_in": PAID, "amount_out": GOT, **fields}
    )


#: Pallet, method, field of the amount, field of the limit, what else the call has, the event of its
#: trade, what is paid.
OTHER_TRADES = [
    ("XYK", "sell", "amount", "max_limit", {"discount": False}, swapped((10, 5)), PAID),
    ("XYK", "buy", "amount", "max_limit", {"discount": False}, swapped((5, BESIDE)), PAID + BESIDE),
    ("LBP", "sell", "amount", "max_limit", {}, swapped((5, BESIDE)), PAID + BESIDE),
    ("LBP", "buy", "amount", "max_limit", {}, swapped((10, 5)), PAID),
    ("HSM", "sell", "amount_in", "slippage_limit", {}, swapped(), PAID),
    ("HSM", "buy", "amount_out", "slippage_limit", {}, swapped(), PAID),
    (
        *("Stableswap", "sell", "amount_in", "min_buy_amount", {"pool_id": 100}),
        *(exchanged("Stableswap", asset_in=5, asset_out=10), PAID),
    ),
    (
        *("Stableswap", "buy", "amount_out", "max_sell_amount", {"pool_id": 100}),
        *(exchanged("Stableswap", asset_in=5, asset_out=10), PAID),
    ),
    (
        *("AssetConversion", "swap_exact_tokens_for_tokens", "amount_in", "amount_out_min"),
        *({"path": PATH, "send_to": WHO, "keep_alive": True}, exchanged("AssetConversion"), PAID),
    ),
    (
        *("AssetConversion", "swap_tokens_for_exact_tokens", "amount_out", "amount_in_max"),
        *({"path": PATH, "send_to": WHO, "keep_alive": True}, exchanged("AssetConversion"), PAID),
    ),
]


@pytest.mark.parametrize(
    ("pallet", "method", "amount", "limit", "more", "event", "paid"),
    OTHER_TRADES,
    ids=[f"{row[0]}.{row[1]}" for row in OTHER_TRADES],
)
def test_a_trade_in_any_pool_is_judged_by_its_limit(
    monkeypatch: pytest.MonkeyPatch,
    pallet: str,
    method: str,
    amount: str,
    limit: str,
    more: dict[str, Any],
    event: Event,
    paid: int,
) -> None:
    buys = amount == "amount_out" or method == "buy"
    now, traded = (paid, GOT) if buys else (GOT, paid)
    assets = {} if "path" in more else {"asset_in": 5, "asset_out": 10}
    chain = HUB if "path" in more else CHAIN
    events = (event, Event(pallet=pallet, name="Touched"))

    def judge(least: int, *, confirmed: bool = False, sold: int = traded) -> Findings:
        args = {**assets, **more, amount: sold, limit: least}
        call = Call(pallet=pallet, method=method, args=args)
        return run(monkeypatch, call, events=events, chain=chain, confirmed=confirmed).findings

    for least in (U128_MAX, now * 2 + 2) if buys else (0, 1, now // 2 - 1):
        refused, confirmed = judge(least), judge(least, confirmed=True)
        assert (refused.verdict, confirmed.verdict) == ("refused", "ok")
        assert [
            f"{said}; pass `yes` if you mean it" for said in confirmed.warnings
        ] == refused.refusals
    # The price of a pool without fees or weights of its own follows trades alone.
    for least in (now, now * 10029 // 10000 if buys else now * 9971 // 10000):
        assert judge(least).verdict == ("ok" if pallet in ("XYK", "AssetConversion") else "unknown")
    good = now * 2 if buys else now // 2
    verb, bound = ("pays", "at most") if buys else ("buys", "at least")
    assert judge(now * 102 // 100 if buys else now * 98 // 100).verdict == "ok"
    assert [(step.what, step.amount.value) for step in judge(good).steps] == [
        (f"{verb} {bound}", good),
        (f"{verb} about", now),
    ]
    assert judge(good, sold=traded + 1).verdict == "unknown"


@pytest.mark.parametrize(
    ("now", "least", "near"),
    [(1000, 1000, False), (1000, 1060, True), (1000, 1061, False), (None, 1000, False)],
    ids=["the limit is met", "it is nearly met", "it is not met", "something else fails"],
)
@pytest.mark.parametrize("pallet", ["Omnipool", "XYK"])
@pytest.mark.parametrize("batched", [False, True])
def test_a_limit_that_the_next_block_may_meet_is_tried_without_it(
    now: int | None, least: int, near: bool, pallet: str, batched: bool
) -> None:
    limit, more = (
        ("min_buy_amount", {}) if pallet == "Omnipool" else ("max_limit", {"discount": False})
    )
    call = Call(
        pallet=pallet,
        method="sell",
        args={"asset_in": 5, "asset_out": 0, "amount": 7, limit: least, **more},
    )
    tried = []

    async def trace(what: Call) -> list[DryRunResult]:
        tried.append(what)
        (inner,) = [
            each.call for each in walk_calls(what, bundled("hydraDx")) if each.call.method == "sell"
        ]
        fails = now is None or inner.args[limit] > now
        fields = {
            "inputs": [{"asset": 5, "amount": 7}],
            "outputs": [{"asset": 0, "amount": now}],
            "fees": [],
        }
        if pallet == "Omnipool":
            fields = {"asset_in": 5, "asset_out": 0, "amount_in": 7, "amount_out": now}
        event = Event(pallet="Broadcast" if pallet == "XYK" else pallet, name="Done", fields=fields)
        return [
            DryRunResult(
                chain=CHAIN, failure="no" if fails else "", events=() if fails else (event,)
            )
        ]

    whole = batch(call) if batched else call
    hops = finish(
        swap_credit.try_trades(
            trace, whole, list(walk_calls(whole, bundled("hydraDx"))), bundled("hydraDx")
        )
    )

    met = least == now or (near and pallet == "Omnipool")
    assert (hops[0].failure == "") == met
    assert len(tried) == (1 if least == now else 2)
    assert call.args[limit] == least
