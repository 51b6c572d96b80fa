"""What a check says of the trades of a call: their limits, and what they bring."""

from types import SimpleNamespace
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import ChainUnreachable
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Amount, Holding
from scenarioctl.transactions.events import Event
from scenarioctl.transactions.inner_calls import walk_calls
from scenarioctl.transactions.simulation import swap_credit
from scenarioctl.transactions.simulation.dry_run import DryRunResult
from scenarioctl.transactions.simulation.findings import Findings
from scenarioctl.transactions.simulation.swap_credit import SwapCheck
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
) -> SwapCheck:
    async def quote(*_: Any, **__: Any) -> Any:
        if quoted is None:
            raise ChainUnreachable("no node")
        return SimpleNamespace(amount_out=quoted, omnipool=True)

    async def table() -> Any:
        return bundled("hydraDx")

    monkeypatch.setattr(swap_credit, "fetch_quote", quote)

    def clients(_: Any) -> Any:
        return SimpleNamespace(table=table)

    account = format_account(WHO, CHAIN.ss58_prefix)
    got = Holding(
        chain=CHAIN.name,
        account=account,
        amount=Amount(value=NOW, asset="HDX", decimals=12),
        role="the sender",
    )
    check = SwapCheck(
        findings=Findings(),
        clients=clients,
        assets=ASSETS,
        hop=DryRunResult(chain=CHAIN, events=events),
        calls=list(walk_calls(call, bundled("hydraDx"))),
        sender=WHO,
        credits=[got],
        confirmed=confirmed,
    )
    finish(check.run())
    return check


def steps(check: SwapCheck) -> list[tuple[str, int]]:
    return [(step.what, step.amount.value) for step in check.findings.steps]


def test_a_sale_in_the_omnipool_credits_what_the_quote_says(monkeypatch: pytest.MonkeyPatch) -> None:
    check = run(monkeypatch, sell(NEXT - 5), quoted=NEXT)

    assert check.findings.verdict == "ok"
    assert steps(check) == [("buys at least", NEXT - 5), ("buys", NEXT)]
    assert [holding.amount.value for holding in check.credits] == [NEXT]


def test_a_minimum_above_the_quote_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check = run(monkeypatch, sell(NEXT + 1), quoted=NEXT)

    assert check.findings.refusals == [says("144", "144.000000000001")]


@pytest.mark.parametrize(
    "call", [sell(NOW * 99 // 100), batch(sell(NOW * 99 // 100))], ids=["alone", "batched"]
)
def test_without_a_quote_the_range_is_said(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    check = run(monkeypatch, call)

    assert check.findings.verdict == "ok"
    assert steps(check) == [("buys at least", NOW * 99 // 100), ("buys about", NOW)]
    assert [holding.amount.value for holding in check.credits] == [NOW]


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
    assert (confirmed.verdict, confirmed.warnings) == ("ok", [refused.refusals[0].partition("; pass")[0]])


def test_the_slippage_of_an_order_protects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    check = run(monkeypatch, schedule("Sell", 15_000, amount_in=TWO_DOT, min_amount_out=0))

    assert check.findings.verdict == "ok"
    assert check.findings.warnings == [says("1.5")]


def test_an_order_is_held_against_a_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    call = schedule("Sell", None, amount_in=TWO_DOT, min_amount_out=NOW // 3)

    assert run(monkeypatch, call, quoted=NOW).findings.refusals == [says("66.6666")]
    assert run(monkeypatch, call).findings.unknowns == [says("every 10 blocks")]
    near = schedule("Sell", None, amount_in=TWO_DOT, min_amount_out=NOW * 9 // 10)
    assert run(monkeypatch, near, quoted=NOW).findings.verdict == "ok"


def test_a_trade_that_the_dry_run_does_not_show_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, sell(NOW), events=()).findings.unknowns == [says("2 DOT")]
