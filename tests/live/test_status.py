"""What became of a transaction, by its hash: its block, and the messages that it sent to other
chains."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.registry import Chain
from scenarioctl.config import load_settings
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.builds import AssetTransfer, asset_transfer
from scenarioctl.operations.transaction_status import (
    TransactionState,
    TransactionStatus,
    transaction_status,
)
from scenarioctl.transactions.extrinsic import decode_extrinsic
from tests.live.conftest import Live
from tests.live.recorder import clock, fresh, pause
from tests.live.setup import sign
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

#: Seconds that a message may take.
PATIENCE = 60.0
#: A moment: how long ago it was sent says how far back a destination is searched.
NOW = 1_763_666_958_000_000_000


@pytest.fixture(scope="module")
def app(live_config: Path) -> Iterator[Application]:
    app = Application(load_settings({"config": str(live_config)}, {}), clock=lambda: NOW)
    yield app
    finish(app.close())


def send(app: Application, source: str, destination: str, asset: str, amount: int) -> str:
    """Transfer to an account that nobody has used, by the program's handlers; return the hash."""
    transfer = AssetTransfer(
        sourchain=source,
        destchain=destination,
        assetid=asset,
        amount=str(amount),
        destinationaddress="0x" + dev_key(f"//status//{fresh(8).hex()}").public_key.hex(),
        accept_loss=True,
    )
    drafted = finish(asset_transfer(app, transfer)).answer["txdata"]
    chain = app.registry.find(source)
    return submit(app, chain, bytes.fromhex(drafted[2:]))


def submit(app: Application, chain: Chain, drafted: bytes) -> str:
    call_data = decode_extrinsic(finish(app.client(chain).table()), drafted).call_data
    tx = "0x" + sign(app, chain, call_data, dev_key()).hex()
    return finish(broadcast(app, Broadcast(chain=chain.name, tx=tx))).answer["hash"]


def settled(app: Application, chain: str, hash: str) -> TransactionState:
    """Return the status once nothing of it can change any more."""
    deadline = clock() + PATIENCE
    while clock() < deadline:
        status = finish(transaction_status(app, TransactionStatus(chain=chain, hash=hash))).answer
        if status["settled"]:
            return status
        pause(0.5)
    raise AssertionError(f"not settled after {PATIENCE:g} seconds: {status}")


@pytest.mark.parametrize(
    ("source", "destination", "asset", "amount"),
    [
        # The first one funds what backs the asset on the way back.
        pytest.param("liveRelay", "liveHub", "KSM", 2000 * 10**12, id="relay to Asset Hub"),
        pytest.param("liveHub", "liveRelay", "KSM", 10**12, id="Asset Hub to relay"),
        pytest.param("liveHub", "liveDex", "USDT", 10**8, id="Asset Hub to Hydration"),
    ],
)
def test_a_message_is_seen_to_arrive(
    relay: Live,
    asset_hub: Live,
    dex: Live,
    app: Application,
    source: str,
    destination: str,
    asset: str,
    amount: int,
) -> None:
    status = settled(app, source, send(app, source, destination, asset, amount))

    assert (status["state"], status["success"], status["error"]) == ("finalized", True, "")
    (arrival,) = status["arrivals"]
    assert (arrival["chain"], arrival["state"], arrival["reason"]) == (destination, "arrived", "")
    assert arrival["block_number"] is not None


def test_a_message_that_fails_on_its_destination_says_why(
    relay: Live, asset_hub: Live, app: Application
) -> None:
    # Too little to pay for its own execution.
    status = settled(app, "liveRelay", send(app, "liveRelay", "liveHub", "KSM", 1000))

    assert (status["state"], status["success"]) == ("finalized", True)
    (arrival,) = status["arrivals"]
    assert (arrival["chain"], arrival["state"]) == ("liveHub", "failed")
    assert arrival["reason"]


def test_a_transfer_within_a_chain_sends_no_message(relay: Live, app: Application) -> None:
    status = settled(app, "liveRelay", send(app, "liveRelay", "liveRelay", "KSM", 10**12))

    assert (status["state"], status["success"], status["arrivals"]) == ("finalized", True, [])
    assert status["fee_human"].endswith(" KSM")
