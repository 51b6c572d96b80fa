"""A parachain of config.toml, of whose trust nothing is written: what its runtime says in a dry run
opens its transfers.

It is the rig's Hydration, which is declared as a parachain here.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.setup import (
    blocks_after,
    create_fee_pool,
    credit_of,
    fund_teleports,
    has_prices,
    price_fees,
    sign,
    tell_relay,
    wait_for_quiet,
)
from tests.messages import says
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
#: source, destination, asset on the source, raw amount.
ROUTES = (
    ("liveHub", "liveDex", "KSM", 10**12),
    ("liveHub", "liveDex", "1984", 5 * 10**7),
    ("liveDex", "liveHub", "5", 5 * 10**11),
    ("liveDex", "liveHub", "10", 10**7),
)


@pytest.fixture(scope="module")
def app(
    relay: Live,
    asset_hub: Live,
    dex: Live,
    live_config: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(declared(live_config, tmp_path_factory))}, {}))
    fund_teleports(app, app.registry.find("liveRelay"), app.registry.find("liveHub"), ALICE)
    create_fee_pool(app, app.registry.find("liveHub"), 1984, ALICE)
    yield app
    finish(app.close())


def declared(live_config: Path, folder: pytest.TempPathFactory, **changes: object) -> Path:
    """Return a configuration in which the exchange is any parachain."""
    config = tomllib.loads(live_config.read_text(encoding="utf-8"))
    config["chains"]["liveDex"] |= {"role": "parachain"} | changes
    # Two names for one para id are refused.
    config["chains"].pop("liveParachain", None)
    path = folder.mktemp("parachain") / "config.toml"
    path.write_text(tomli_w.dumps(config), encoding="utf-8")
    return path


def draft(
    app: Application,
    source: str,
    destination: str,
    asset: str,
    amount: int,
    to: bytes,
    *,
    told: bool = True,
) -> UnsignedTransaction:
    chain = app.registry.find(source)
    dex = app.registry.find("liveDex")
    transfer = Transfer(
        source=chain,
        destination=app.registry.find(destination),
        asset=app.assets.find(chain, asset),
        amount=amount,
        beneficiary=to,
    )
    wait_for_quiet(app, app.registry.find("liveHub"))
    for _ in range(5):
        price_fees(app, dex)
        if told:
            tell_relay(app, app.registry.find("liveRelay"), dex)
        transaction = finish(draft_transfer(app, transfer, sender=ALICE.public_key))
        if has_prices(app, dex):
            return transaction
    raise RuntimeError(f"{dex.name} did not come to rest")


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
    chain, last = app.registry.find(source), app.registry.find(destination)
    arriving = app.assets.counterpart(app.assets.find(chain, asset), last)
    assert arriving is not None
    before, _ = finish(app.client(last).head())
    tx = "0x" + sign(app, chain, transaction.call_data, ALICE).hex()
    assert finish(broadcast(app, Broadcast(chain=source, tx=tx, wait="in-block"))).answer["success"]

    credits = (
        credit_of(app, last, events, arriving, to) for events in blocks_after(app, last, before)
    )

    assert next(filter(None, credits), 0) == check.credited.value


def test_a_chain_that_its_relay_chain_does_not_know(app: Application) -> None:
    relay = app.registry.find("liveRelay")
    client = app.client(relay)
    key = storage_key(finish(client.table()), "Paras", "Heads", [2034])
    finish(client.call("dev_setStorage", [[key.hex, None]]))

    with pytest.raises(InvalidRequest) as refused:
        draft(app, "liveHub", "liveDex", "KSM", 10**12, fresh(32), told=False)

    assert str(refused.value) == says("liveRelay has no parachain", 2034)


def test_the_relay_chain_s_asset_goes_over_the_asset_hub(app: Application) -> None:
    """The exchange would accept the relay chain as its reserve, a wrong one."""
    check = draft(app, "liveRelay", "liveDex", "KSM", 10**13, fresh(32)).check

    assert check is not None
    assert (check.verdict, check.reasons) == ("ok", ())
    assert [stop.chain for stop in check.stops] == ["liveRelay", "liveHub", "liveDex"]


def test_another_para_id_than_the_runtime_has(
    app: Application, live_config: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    wrong = Application(
        load_settings({"config": str(declared(live_config, tmp_path_factory, para_id=2035))}, {})
    )
    with pytest.raises(InvalidRequest) as refused:
        draft(wrong, "liveHub", "liveDex", "KSM", 10**12, fresh(32))
    finish(wrong.close())

    assert str(refused.value) == says("chains.liveDex.para_id", 2035, 2034)
