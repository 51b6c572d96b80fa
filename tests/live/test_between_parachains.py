"""From parachain to parachain, of one of which nothing is written: over the chain that backs the
asset, by a check alone.

The other one is Hydration, and so is this one, by another para id.  None of its assets is listed
here: what it credits is known by its amount.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call, UnsignedTransaction
from scenarioctl.model.checks import Check
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.views import CheckTransaction, find_check
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import find_sent_asset
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.setup import (
    blocks_after,
    create_fee_pool,
    fund_teleports,
    has_prices,
    price_fees,
    send,
    sign,
    tell_relay,
    wait_for_quiet,
)
from tests.messages import says
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
USDT = "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)"
HDX = {"parents": 1, "interior": {"X2": [{"Parachain": 2034}, {"GeneralIndex": 0}]}}
_DEPOSITS = ("Balances.Minted", "Assets.Issued", "Assets.Deposited", "Tokens.Deposited")
#: source, destination, asset on the source, raw amount.  What comes first lets the parachain have
#: some.
ROUTES = (
    ("liveDex", "liveParachain", "10", 10**8),
    ("liveDex", "liveParachain", "5", 10**12),
    ("liveHub", "liveParachain", "1984", 10**9),
    ("liveHub", "liveParachain", "KSM", 10**13),
    ("liveRelay", "liveParachain", "KSM", 10**13),
    ("liveParachain", "liveDex", USDT, 10**7),
    ("liveParachain", "liveDex", "1/Here", 10**12),
    ("liveParachain", "liveHub", USDT, 10**7),
    ("liveParachain", "liveRelay", "1/Here", 10**12),
)


@pytest.fixture(scope="module")
def app(
    relay: Live, asset_hub: Live, dex: Live, parachain: Live, live_config: Path
) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint and parachain.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    fund_teleports(app, app.registry.find("liveRelay"), app.registry.find("liveHub"), ALICE)
    create_fee_pool(app, app.registry.find("liveHub"), 1984, ALICE)
    # What each holds of it, the Asset Hub keeps.
    for source in ("liveDex", "liveParachain"):
        deposit_backing(app, source)
    yield app
    finish(app.close())


def deposit_backing(app: Application, name: str) -> None:
    """Give the account of a parachain on the Asset Hub what its holders are owed, by two
    transfers."""
    hub, chain = app.registry.find("liveHub"), app.registry.find(name)
    assert chain.para_id is not None
    sovereign = b"sibl" + chain.para_id.to_bytes(4, "little") + bytes(24)
    for pallet, method, arguments in (
        ("Balances", "transfer_keep_alive", {"dest": {"Id": sovereign}, "value": 10**14}),
        (
            "Assets",
            "transfer_keep_alive",
            {"id": 1984, "target": {"Id": sovereign}, "amount": 10**10},
        ),
    ):
        send(app, hub, Call(pallet=pallet, method=method, args=arguments), ALICE)


def draft(
    app: Application, source: str, destination: str, asset: str, amount: int, to: bytes
) -> UnsignedTransaction:
    chain = app.registry.find(source)
    transfer = Transfer(
        source=chain,
        destination=app.registry.find(destination),
        asset=find_sent_asset(app.assets, chain, asset, field="assetid"),
        amount=amount,
        beneficiary=to,
    )
    wait_for_quiet(app, app.registry.find("liveHub"))
    parachain = app.registry.find("liveParachain")
    priced = (app.registry.find("liveDex"), parachain)
    for _ in range(5):
        for each in priced:
            price_fees(app, each)
        tell_relay(app, app.registry.find("liveRelay"), parachain)
        transaction = finish(draft_transfer(app, transfer, sender=ALICE.public_key))
        if all(has_prices(app, each) for each in priced):
            return transaction
    raise RuntimeError("the parachains did not come to rest")


def credited(
    app: Application, transaction: UnsignedTransaction, destination: str, to: bytes
) -> int:
    """Sign and broadcast *transaction*, and return what the last chain deposits to *to*, of
    whatever asset."""
    source, last = app.registry.find(transaction.chain), app.registry.find(destination)
    before, _ = finish(app.client(last).head())
    tx = "0x" + sign(app, source, transaction.call_data, ALICE).hex()
    assert finish(broadcast(app, Broadcast(chain=source.name, tx=tx, wait="in-block"))).answer[
        "success"
    ]
    for events in blocks_after(app, last, before):
        for event in events:
            fields = event.fields
            if str(event) in _DEPOSITS and isinstance(fields, Mapping) and to in fields.values():
                return int(fields["amount"])
    return 0


@pytest.mark.parametrize(("source", "destination", "asset", "amount"), ROUTES)
def test_what_is_predicted_arrives(
    app: Application, source: str, destination: str, asset: str, amount: int
) -> None:
    to = fresh(32)
    transaction = draft(app, source, destination, asset, amount, to)
    check = transaction.check
    assert check is not None
    assert (check.verdict, check.reasons) == ("ok", ())
    assert check.credited is not None
    assert check.computed == check.credited

    assert credited(app, transaction, destination, to) == check.credited.value


def test_the_own_asset_of_a_parachain_goes_without_the_asset_hub(app: Application) -> None:
    """The other one has an id for it, which is not known here."""
    parachain = app.registry.find("liveParachain")
    finish(
        app.client(parachain).call(
            "dev_setStorage", {"AssetRegistry": {"LocationAssets": [[[HDX], 10]]}}
        )
    )
    to = fresh(32)

    transaction = draft(app, "liveDex", "liveParachain", "HDX", 10**13, to)

    check = transaction.check
    assert check is not None
    assert (check.verdict, check.reasons) == ("ok", ())
    assert {stop.chain for stop in check.stops} == {"liveDex", "liveParachain"}
    assert check.credited is not None
    assert credited(app, transaction, "liveParachain", to) == check.credited.value


def test_what_the_runtime_does_not_take_stays_closed(app: Application) -> None:
    transaction = draft(app, "liveHub", "liveParachain", "1337", 10**9, fresh(32))

    check = transaction.check
    assert check is not None
    assert check.verdict == "refused"
    assert "; ".join(check.reasons) == says("liveParachain", "lost")


def test_bytes_for_a_para_id_that_another_chain_has_are_refused(app: Application) -> None:
    """What bytes bring isn't listed there, so that no check of them is ok."""
    parachain = app.registry.find("liveParachain")
    transaction = draft(app, "liveHub", "liveParachain", "1984", 10**9, fresh(32))
    request = CheckTransaction(
        tx="0x" + transaction.call_data.hex(), chain="liveHub", sender="0x" + ALICE.public_key.hex()
    )

    def check_bytes(para_id: int) -> Check:
        storage = {"ParachainInfo": {"ParachainId": para_id}}
        finish(app.client(parachain).call("dev_setStorage", storage))
        tell_relay(app, app.registry.find("liveRelay"), parachain)
        return finish(find_check(app, request))[1]

    try:
        wrong = check_bytes(2036)
    finally:
        right = check_bytes(2035)

    assert right.verdict == "unknown"
    assert "; ".join(right.reasons) == says("unlisted", "liveParachain")
    assert wrong.verdict == "refused"
    assert "chains.liveParachain.para_id 2035 is wrong: its nodes say 2036" in wrong.reasons[0]


def test_without_a_check_it_is_refused(app: Application) -> None:
    source = app.registry.find("liveDex")
    transfer = Transfer(
        source=source,
        destination=app.registry.find("liveParachain"),
        asset=app.assets.find(source, "10"),
        amount=10**7,
        beneficiary=fresh(32),
    )
    with pytest.raises(InvalidRequest) as refused:
        finish(draft_transfer(app, transfer))

    assert str(refused.value) == says("only over liveHub", "a check")
