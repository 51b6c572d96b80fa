"""Quotes of transfers on real runtimes, held against what then arrives, to the unit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.operations.transfer_quotes import QuoteTransfer, TransferQuote, quote_transfer
from tests.live.conftest import Live
from tests.live.playing import new_key, play
from tests.live.recorder import clock, pause
from tests.live.senders import ALICE, UNIT, Sender
from tests.live.setup import PATIENCE, fund_teleports, price_fees
from tests.messages import raises, says
from tests.runner import finish

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def app(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    fund_teleports(app, app.registry.find("liveRelay"), app.registry.find("liveHub"), ALICE)
    price_fees(app, app.registry.find("liveDex"))
    yield app
    finish(app.close())


def held(app: Application, chain: str, asset: str, account: bytes) -> int:
    client = app.client(app.registry.find(chain))
    if chain == "liveDex":
        return int(finish(client.storage("Tokens", "Accounts", account, int(asset)))["free"])
    if asset == "1984":
        row = finish(client.storage("Assets", "Account", 1984, account))
        return 0 if row is None else int(row["balance"])
    return int(finish(client.storage("System", "Account", account))["data"]["free"])


def quote(
    app: Application, source: str, destination: str, asset: str, amount: str, **more: str
) -> TransferQuote:
    request = QuoteTransfer(
        source_chain=source, dest_chain=destination, assetid=asset, amount=amount, **more
    )
    return finish(quote_transfer(app, request)).answer


#: From, to, the asset there and here, and the amount in whole tokens.
ROUTES = [
    ("liveRelay", "liveHub", "KSM", "KSM", "2"),
    ("liveHub", "liveRelay", "KSM", "KSM", "2"),
    ("liveHub", "liveDex", "1984", "10", "5"),
    ("liveHub", "liveHub", "KSM", "KSM", "1"),
]


@pytest.mark.parametrize(("source", "destination", "asset", "there", "amount"), ROUTES)
def test_what_is_quoted_arrives_to_the_unit(
    app: Application, source: str, destination: str, asset: str, there: str, amount: str
) -> None:
    from scenarioctl.actions.drafting import draft_transfer
    from scenarioctl.actions.fields import read_tokens
    from scenarioctl.transactions.transfer.request import Transfer

    sender = Sender(app, source).holds(10 * UNIT)
    if asset == "1984":
        sender.is_given(50_000_000)
    receiver = new_key().public_key
    chain, home = app.registry.find(destination), app.registry.find(source)
    to = format_account(receiver, chain.ss58_prefix)
    named = quote(
        app,
        source,
        destination,
        asset,
        amount,
        sender="0x" + sender.account.hex(),
        destination_address=to,
    )
    prices = quote(app, source, destination, asset, amount, destination_address=to)

    found = app.assets.find(home, asset)
    transfer = Transfer(
        source=home,
        destination=chain,
        asset=found,
        amount=read_tokens(amount, found, "amount")[1],
        beneficiary=receiver,
    )
    call = finish(draft_transfer(app, transfer, sender=sender.account)).call
    assert play(app, home, call, sender.key).outcome == "executed"
    deadline = clock() + PATIENCE
    while not (got := held(app, destination, there, receiver)) and clock() < deadline:
        pause(0.5)

    print(named, prices)
    assert named["basis"] == "dry run"
    assert prices["basis"] == "fee APIs"
    assert named["receive"] is not None and int(named["receive"]["value"]) == got
    assert prices["receive"] is not None and int(prices["receive"]["value"]) == got
    assert named["minimum"] is not None and named["maximum"] is not None
    assert {fee["what"] for fee in named["fees"]} >= {"transaction fee"}
    assert None not in [fee["amount"] for fee in prices["fees"]]


def test_the_least_that_is_quoted_arrives_and_one_less_is_refused(app: Application) -> None:
    sender = Sender(app, "liveRelay").holds(10 * UNIT)
    account = "0x" + sender.account.hex()
    receiver = format_account(new_key().public_key, 2)

    quoted = quote(
        app, "liveRelay", "liveHub", "KSM", "1", sender=account, destination_address=receiver
    )
    assert quoted["minimum"] is not None
    least = int(quoted["minimum"]["value"])
    at_least, below = (
        quote(
            app,
            "liveRelay",
            "liveHub",
            "KSM",
            f"{amount}raw",
            sender=account,
            destination_address=receiver,
        )
        for amount in (least, least - 1)
    )

    assert at_least["basis"] == "dry run"
    assert below["basis"] == "fee APIs" and below["reasons"]


def test_a_sender_without_funds_is_told_the_prices_and_why_it_was_not_tried(
    app: Application,
) -> None:
    poor = "0x" + new_key().public_key.hex()

    quoted = quote(app, "liveRelay", "liveHub", "KSM", "1", sender=poor)

    assert (quoted["basis"], quoted["maximum"]) == ("fee APIs", None)
    assert quoted["receive"] is not None
    assert any("spend" in reason for reason in quoted["reasons"])


def test_what_no_route_takes_is_refused_not_quoted(app: Application) -> None:
    with raises(InvalidRequest, says("liveRelay", "HDX")):
        quote(app, "liveDex", "liveRelay", "HDX", "1")
