"""A transfer over the bridge that a runtime of each network executes: only the bridge itself can't
be tried.

The Asset Hub beyond the bridge isn't connected to the others. The program has it built in, with a
genesis of its own. So the chain under test stands in for it wherever the check asks it something.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import place_of, read_location
from scenarioctl.config import load_settings
from scenarioctl.transactions.simulation.simulate import simulate
from scenarioctl.transactions.simulation.trial import Trial
from scenarioctl.transactions.transfer.request import sovereign_account_beyond
from tests.live.conftest import Live
from tests.live.playing import endow, put
from tests.live.programs import and_then, deposit
from tests.live.recorder import fresh
from tests.network import FOREIGN_ASSET
from tests.runner import finish

pytestmark = pytest.mark.live

DOT = 10**10
#: The native asset of the other network, as this one sees it.
DOT_PLACE = "2/GlobalConsensus(Polkadot)"


@pytest.fixture(scope="module")
def app(
    relay: Live, asset_hub: Live, live_config: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    document = tomllib.loads(live_config.read_text())
    chains = document["chains"]
    chains[relay.name]["consensus"] = "Kusama"
    dot = {
        "id": DOT_PLACE,
        "symbol": "DOT",
        "decimals": 10,
        "kind": "foreign",
        "location": DOT_PLACE,
    }
    chains[asset_hub.name]["assets"] = [dot]
    path = tmp_path_factory.mktemp("bridge") / "config.toml"
    path.write_text(tomli_w.dumps(document))
    app = Application(load_settings({"config": str(path)}, {}))
    # Only in a block does a new chain hear of its channels; without one it forwards nothing.
    finish(app.client(app.registry.find(asset_hub.name)).submit("dev_newBlock"))
    yield app
    finish(app.close())


def test_what_both_ends_accept_is_unknown_because_of_the_bridge(
    app: Application, asset_hub: Live, beyond: Live
) -> None:
    hub, other = app.registry.find(asset_hub.name), app.registry.find("assetHub")
    stand_in = app.registry.find(beyond.name)
    sender, to = fresh(32), fresh(32)
    place, dot = read_location(place_of(other, hub)), read_location(DOT_PLACE)
    held = {"balance": 100 * DOT, "status": "Liquid", "reason": "Consumer", "extra": None}
    # The router sends nothing until the version of the other side is known.
    put(app, hub, "PolkadotXcm", "SupportedVersion", 5, {"V5": place}, value=5)
    put(app, hub, "ForeignAssets", "Asset", dot, value=FOREIGN_ASSET)
    put(app, hub, "ForeignAssets", "Account", dot, sender, value=held)
    endow(app, hub, sender, 10**13)
    endow(app, stand_in, sovereign_account_beyond(hub), 1000 * DOT)
    trial = Trial(
        clients=lambda chain: app.client(stand_in if chain == other else chain),
        assets=app.assets,
        chain=hub,
        sender=sender,
        call=and_then("PolkadotXcm", place, dot, 5 * DOT, "DestinationReserve", deposit(to)),
    )

    check = finish(simulate(trial))

    assert [(stop.chain, stop.outcome) for stop in check.stops] == [
        (hub.name, "ok"),
        (other.name, "ok"),
    ]
    (credit,) = [
        each.amount
        for each in check.credits
        if each.account == format_account(to, other.ss58_prefix)
    ]
    assert credit in [step.amount for step in check.steps if step.what == "computed arrival"]
    assert check.verdict == "unknown"
    (reason,) = check.reasons
    assert "bridge" in reason
    assert hub.title in reason
    assert other.title in reason
