"""A fee in another asset than the native one: what a check says, held against what the Asset Hub
then takes.

Every transaction is signed with the asset in its payload.  The Asset Hub exchanges the fee in a
pool.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check
from scenarioctl.operations.views import (
    CheckTransaction,
    check_transaction,
    find_check,
    read_unsigned,
)
from tests.live.conftest import Live
from tests.live.playing import Played, play
from tests.live.senders import ALICE, NATIVE, UNIT, USDT, USDT_PLACE, Sender, batch, remark
from tests.live.setup import create_fee_pool, price_fees
from tests.runner import finish

pytestmark = pytest.mark.live

#: Far more than any fee, in USDT.
MUCH = 50_000_000
USDC = 1337
#: It costs more than an account has to keep of the asset.
LONG = batch(*[remark(b"x" * 2000)] * 20)


@pytest.fixture(scope="module")
def app(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    hub = app.registry.find("liveHub")
    if finish(app.client(hub).storage("AssetConversion", "Pools", [NATIVE, USDT_PLACE])) is None:
        create_fee_pool(app, hub, USDT, ALICE)
    yield app
    finish(app.close())


@pytest.fixture
def sender(app: Application) -> Sender:
    return Sender(app, "liveHub")


def check(sender: Sender, call: Call, asset: int = USDT) -> Check:
    data = "0x" + sender.table.encode_call(call).hex()
    request = CheckTransaction(
        tx=data, chain="liveHub", sender="0x" + sender.account.hex(), fee_asset=str(asset)
    )
    return finish(find_check(sender.app, request))[1]


def played_in(sender: Sender, call: Call, asset: int = USDT) -> Played:
    place = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": asset}]}}
    return play(sender.app, sender.chain, call, sender.key, asset_id=place)


def fee_of(result: Check) -> int:
    return next(step.amount.value for step in result.steps if step.what == "transaction fee")


def taken(played: Played) -> int:
    event = next(each for each in played.events if str(each) == "AssetTxPayment.AssetTxFeePaid")
    return int(event.fields["actual_fee"])


def held(sender: Sender, asset: int = USDT) -> int:
    row = finish(
        sender.app.client(sender.chain).storage("Assets", "Account", asset, sender.account)
    )
    return 0 if row is None else int(row["balance"])


CALLS: dict[str, Callable[[Sender], Call]] = {
    "a remark": lambda s: remark(),
    "the asset that pays": lambda s: s.sends_asset(1_000_000, "transfer_keep_alive"),
    "a long batch": lambda s: LONG,
    "to the exchange": lambda s: s.goes_to("liveDex", str(USDT), 5_000_000),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_fee_is_the_one_that_the_check_says(sender: Sender, name: str) -> None:
    call = CALLS[name](sender.holds(UNIT).is_given(MUCH))
    price_fees(sender.app, sender.app.registry.find("liveDex"))

    result = check(sender, call)
    played = played_in(sender, call)

    print(f"\n{name}: {result.reasons}, predicted {fee_of(result)}, taken {taken(played)}")
    assert (result.verdict, result.reasons, played.outcome) == ("ok", (), "executed")
    assert taken(played) == fee_of(result)


def test_an_account_without_the_native_asset_can_pay(sender: Sender) -> None:
    call = sender.is_given(MUCH).sends_asset(1_000_000)

    result = check(sender, call)
    played = played_in(sender, call)

    assert (result.verdict, result.reasons, played.outcome) == ("ok", (), "executed")
    assert held(sender) == MUCH - 1_000_000 - fee_of(result)


def test_delivery_is_paid_in_the_native_asset(sender: Sender) -> None:
    call = sender.is_given(MUCH).goes_to("liveDex", str(USDT), 5_000_000)
    price_fees(sender.app, sender.app.registry.find("liveDex"))

    result = check(sender, call)
    played = played_in(sender, call)

    print(f"\n{result.verdict} {result.reasons}; {played.outcome} {played.reason}")
    assert (result.verdict, played.outcome) == ("refused", "failed")
    assert "FeesNotMet" in result.reasons[0]


def test_the_maximum_keeps_the_fee(sender: Sender) -> None:
    sender.is_given(MUCH)
    request = CheckTransaction(
        sourchain="liveHub",
        destchain="liveHub",
        assetid=str(USDT),
        amount="max",
        allow_death=True,
        destinationaddress="0x" + ALICE.public_key.hex(),
        sender="0x" + sender.account.hex(),
        fee_asset=str(USDT),
    )

    answer = finish(check_transaction(sender.app, request)).answer
    call, _ = read_unsigned(sender.table, sender.chain, bytes.fromhex(answer["txdata"][2:]))
    played = played_in(sender, call)

    kept = MUCH - call.args["amount"]
    print(f"\nkept {kept}, taken {taken(played)}, left {held(sender)}")
    assert (answer["verdict"], played.outcome) == ("ok", "executed")
    # A tenth of the fee is kept beside it, because its price may change.
    assert taken(played) <= kept <= taken(played) * 1.11


def test_what_is_left_after_the_fee_can_be_sent(sender: Sender) -> None:
    call = sender.is_given(MUCH).sends_asset(1)
    left = MUCH - fee_of(check(sender, call)) - 1

    # Some bytes more cost some fee more.
    fee = fee_of(check(sender, sender.sends_asset(left)))
    too_much = check(sender, sender.sends_asset(MUCH - fee + 1))
    everything = sender.sends_asset(MUCH - fee)
    result = check(sender, everything)
    played = played_in(sender, everything)

    assert (too_much.verdict, result.verdict, played.outcome) == ("refused", "ok", "executed")
    assert held(sender) == 0


def test_an_asset_without_a_pool_is_refused(sender: Sender) -> None:
    sender.holds(UNIT).is_given(MUCH, USDC)

    result = check(sender, remark(), USDC)
    played = played_in(sender, remark(), USDC)

    assert (result.verdict, played.outcome) == ("refused", "rejected")
    assert "has no pool with enough KSM" in result.reasons[0]


@pytest.mark.parametrize(
    ("call", "more"), [(remark(), 5000), (LONG, 0)], ids=["what must stay", "less than the fee"]
)
def test_too_little_is_refused(sender: Sender, call: Call, more: int) -> None:
    least = finish(sender.app.client(sender.chain).storage("Assets", "Asset", USDT))["min_balance"]
    sender.holds(UNIT).is_given(least + more)

    result = check(sender, call)
    played = played_in(sender, call)

    # The pool of transactions does not know yet what must stay.
    assert (result.verdict, played.outcome in ("rejected", "dropped")) == ("refused", True)
    assert "can be taken only if the existential deposit" in result.reasons[0]


def test_the_fee_currency_of_the_exchange_is_set_by_the_transaction(app: Application) -> None:
    dex = app.registry.find("liveDex")
    client = app.client(dex)
    included = predicted = 0
    # The exchange's fees change with each block: the one after the block of the check has to
    # include the transaction.
    for _ in range(5):
        sender = Sender(app, dex.name).holds(1000 * UNIT).is_given(MUCH, 10)
        data = "0x" + sender.table.encode_call(remark()).hex()
        request = CheckTransaction(
            tx=data, chain=dex.name, sender="0x" + sender.account.hex(), fee_asset="10"
        )
        price_fees(app, dex)
        predicted, _ = finish(client.head())
        transaction, result = finish(find_check(app, request))
        played = play(app, dex, transaction.call, sender.key)
        included, _ = finish(client.head())
        if included == predicted + 1:
            break

    assert included == predicted + 1
    assert (result.verdict, result.reasons, played.outcome) == ("ok", (), "executed")
    assert "fee currency on liveDex to USDT" in result.warnings[0]
    tokens = finish(client.storage("Tokens", "Accounts", sender.account, 10))
    currency = finish(
        client.storage("MultiTransactionPayment", "AccountCurrencyMap", sender.account)
    )
    print(f"\nset in a batch: predicted {fee_of(result)}, taken {MUCH - tokens['free']}")
    # The oracle and the price that the rig falls back on are rounded differently.
    assert (fee_of(result) - (MUCH - tokens["free"]) in (0, 1), currency) == (True, 10)
