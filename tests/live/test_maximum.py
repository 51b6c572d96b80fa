"""`--amount max` on real runtimes: what is left is what has to stay, and an account that may be
closed is gone."""

from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.model.calls import Call
from scenarioctl.operations.builds import AssetTransfer, asset_transfer
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.setup import call_in, fund_teleports, send, wait_for_quiet
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE, BOB = dev_key("//Alice"), dev_key("//Bob")
UNIT = 10**12
HELD = 3 * UNIT + 12_345_678_901
USDT, USDT_HELD = 1984, 7_654_321
#: A fee is computed for a mortal transaction; the tests sign an immortal one, a byte shorter.  It
#: falls from block to block too.
SLACK = 20_000_000


@pytest.fixture
def money(live_app: Application, relay: Live, asset_hub: Live) -> None:
    """Let the relay's asset go up as well as down."""
    hub = live_app.registry.find(asset_hub.name)
    if (
        finish(live_app.client(hub).storage("System", "Account", ALICE.public_key))["data"]["free"]
        < 10**16
    ):
        fund_teleports(live_app, live_app.registry.find(relay.name), hub, ALICE)


def give(app: Application, chain: Any, key: Any, asset: str) -> None:
    call = Call(
        pallet="Balances",
        method="transfer_allow_death",
        args={"dest": {"Id": key.public_key}, "value": HELD},
    )
    send(app, chain, call, ALICE)
    if asset == str(USDT):
        arguments = {"id": USDT, "target": {"Id": key.public_key}, "amount": USDT_HELD}
        send(app, chain, Call(pallet="Assets", method="transfer", args=arguments), ALICE)


@pytest.mark.usefixtures("money", "dex")
@pytest.mark.parametrize("closes", [False, True], ids=["keep alive", "allow death"])
@pytest.mark.parametrize(
    ("source", "destination", "asset"),
    [
        ("liveRelay", "liveRelay", "native"),
        ("liveRelay", "liveHub", "native"),
        ("liveHub", "liveRelay", "native"),
        ("liveHub", "liveHub", "native"),
        ("liveHub", "liveHub", str(USDT)),
        ("liveHub", "liveDex", str(USDT)),
    ],
)
def test_what_is_left_is_what_has_to_stay(
    live_app: Application, source: str, destination: str, asset: str, closes: bool
) -> None:
    chain = live_app.registry.find(source)
    client = live_app.client(chain)
    key = dev_key(f"//Alice//{fresh(6).hex()}")
    give(live_app, chain, key, asset)
    request = AssetTransfer(
        sourchain=source,
        destchain=destination,
        assetid=asset,
        amount="max",
        destinationaddress=BOB.ss58_address,
        sender=key.ss58_address,
        allow_death=closes,
    )

    built = finish(asset_transfer(live_app, request))
    send(live_app, chain, call_in(built.answer["txdata"]), key)

    wait_for_quiet(live_app, chain)
    if asset == "native":
        row = finish(client.storage("System", "Account", key.public_key))
        deposit = 0 if closes else finish(client.table()).constant("Balances", "ExistentialDeposit")
        assert row["providers"] == (0 if closes else 1)
        assert deposit <= row["data"]["free"] <= deposit + (0 if closes else SLACK)
    else:
        held = finish(client.storage("Assets", "Account", USDT, key.public_key))
        least = finish(client.storage("Assets", "Asset", USDT))["min_balance"]
        assert (None if held is None else held["balance"]) == (None if closes else least)
