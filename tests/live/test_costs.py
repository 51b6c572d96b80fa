"""What a check says of fees, deposits and balances, held against what the runtime then does with
the signed transaction.

Each row makes a sender of its own.  A crafted row is one that a dry run alone lets through or that
a careless sum refuses; an ordinary row must never be refused.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainRefused
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check
from scenarioctl.operations.creation import CreateSwap, create_swap
from scenarioctl.operations.views import CheckTransaction, find_check
from scenarioctl.transactions.swap.swap_call import Swap, build_swap
from tests.live.conftest import Live
from tests.live.cost_rows import CRAFTED, ORDINARY, Row
from tests.live.market import DOT, HDX, open_market
from tests.live.playing import Played, play
from tests.live.senders import (
    ALICE,
    FREE,
    MEAGER,
    NATIVE,
    UNIT,
    USDT,
    USDT_PLACE,
    Sender,
    batch,
    execute,
)
from tests.live.setup import create_fee_pool, has_prices, price_fees, send
from tests.runner import finish

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def app(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    _prepare(app)
    yield app
    finish(app.close())


def _prepare(app: Application) -> None:
    """Give the hub a pool, a meager asset, and something to send up."""
    hub = app.registry.find("liveHub")
    client = app.client(hub)
    if finish(client.storage("AssetConversion", "Pools", [NATIVE, USDT_PLACE])) is None:
        create_fee_pool(app, hub, USDT, ALICE)
    if finish(client.storage("Assets", "Asset", MEAGER)) is None:
        me = {"Id": ALICE.public_key}
        create = {"id": MEAGER, "admin": me, "min_balance": 1}
        mint = {"id": MEAGER, "beneficiary": me, "amount": 10**9}
        send(
            app,
            hub,
            batch(
                Call(pallet="Assets", method="create", args=create),
                Call(pallet="Assets", method="mint", args=mint),
            ),
            ALICE,
        )


def _check(sender: Sender, call: Call) -> Check:
    data = "0x" + sender.table.encode_call(call).hex()
    request = CheckTransaction(tx=data, chain=sender.chain.name, sender="0x" + sender.account.hex())
    return finish(find_check(sender.app, request))[1]


def _check_priced(sender: Sender, call: Call) -> Check:
    """Return what a check finds while the exchange has its prices, from first to last."""
    dex = sender.app.registry.find("liveDex")
    for _ in range(5):
        price_fees(sender.app, dex)
        check = _check(sender, call)
        if has_prices(sender.app, dex):
            return check
    raise RuntimeError(f"{dex.name} did not come to rest")


def _play(app: Application, row: Row) -> tuple[Check, Played]:
    sender = Sender(app, row.chain)
    call = row.make(sender)
    check = (_check_priced if row.priced else _check)(sender, call)
    played = play(app, sender.chain, call, sender.key)
    fee = next((step.amount for step in check.steps if step.what == "transaction fee"), None)
    print(
        f"\n{row.chain}, {row.name}: {check.verdict}, fee {fee}; {played.outcome} {played.reason}"
    )
    for line in (*check.reasons, *check.warnings):
        print(f"    {line}")
    return check, played


def _named(row: Row) -> str:
    return f"{row.chain}, {row.name}"


@pytest.mark.parametrize("row", CRAFTED, ids=_named)
def test_what_is_crafted_is_judged_as_the_runtime_does(app: Application, row: Row) -> None:
    check, played = _play(app, row)

    assert (check.verdict, played.outcome) == (row.verdict, row.outcome)
    assert row.says in " ".join((*check.reasons, *check.warnings))


@pytest.mark.parametrize("row", ORDINARY, ids=_named)
def test_what_is_ordinary_is_not_refused(app: Application, row: Row) -> None:
    check, played = _play(app, row)

    assert (check.verdict, check.reasons, played.outcome) == ("ok", (), "executed")
    assert row.says in " ".join(check.warnings)


def test_a_swap_of_all_leaves_no_fee(live_app: Application, omnipool: Live) -> None:
    with open_market(live_app, omnipool.name) as market:
        whole = 1000

        def sell(amount: int) -> tuple[Check, Played]:
            sender = Sender(live_app, omnipool.name).holds(whole * UNIT)
            swap = Swap(
                chain=sender.chain,
                asset_in=market.asset(HDX),
                asset_out=market.asset(DOT),
                amount=amount,
                min_amount_out=market.quote(HDX, DOT, amount).amount_out * 9 // 10,
            )
            call = build_swap(swap, sender.table).call
            return _check(sender, call), play(live_app, sender.chain, call, sender.key)

        request = CreateSwap(
            chain=omnipool.name,
            assetin="0",
            assetout="5",
            amount=str(whole),
            check=True,
            sender="0x" + Sender(live_app, omnipool.name).holds(whole * UNIT).account.hex(),
        )
        with pytest.raises(ChainRefused, match=r"once its fee of .* HDX is paid"):
            finish(create_swap(live_app, request))
        everything, failed = sell(whole * UNIT)
        most, executed = sell((whole - 20) * UNIT)

    assert (everything.verdict, failed.outcome) == ("refused", "failed")
    assert (most.verdict, most.reasons, executed.outcome) == ("ok", (), "executed")


@pytest.mark.parametrize("chain", ["liveRelay", "liveHub"])
def test_the_fee_of_a_call_that_names_its_weight_is_a_bound(app: Application, chain: str) -> None:
    sender = Sender(app, chain).holds(FREE)
    program = execute(sender, UNIT)
    weight = {"ref_time": 4 * 10**11, "proof_size": 10**6}
    call = batch(
        Call(pallet=program.pallet, method="execute", args={**program.args, "max_weight": weight})
    )

    check = _check(sender, call)
    events = send(app, sender.chain, call, sender.key)

    paid = next(
        event.fields for event in events if str(event) == "TransactionPayment.TransactionFeePaid"
    )
    (fee,) = (step for step in check.steps if step.what == "transaction fee")
    actual = replace(fee.amount, value=paid["actual_fee"])
    print(f"{chain}: at most {fee.amount}, {actual} taken: {check.warnings}")
    assert (check.verdict, fee.at_most, fee.amount.value > 10 * actual.value) == ("ok", True, True)
    about = re.search(r"about ([0-9.]+) KSM of it is taken", " ".join(check.warnings))
    # The multiplier of fees moves with each block, and a dry run doesn't see what is reclaimed at
    # its end.
    assert about is not None
    assert abs(Decimal(about[1]) * 10**12 / actual.value - 1) < Decimal("0.01")


def test_the_lists_are_as_long_as_they_claim() -> None:
    assert len(CRAFTED) >= 25
    assert len(ORDINARY) >= 30
