"""Assets from beyond a bridge between an Asset Hub and Hydration, which the rig has after they are
made to exist there."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.chains.locations import read_location
from scenarioctl.config import load_settings
from scenarioctl.model.calls import Call
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.transfer.plan import shape_location
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.conftest import Live
from tests.live.network import Network
from tests.live.recorder import fresh
from tests.live.setup import act_as_root, fund_teleports, send, wait_for_quiet
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
ETHER = "2/GlobalConsensus(Ethereum:1)"
#: Its id on the exchange, as on Hydration, and what its oracle would say of its price.
NUMBER = 34
PRICE = "2000000000000000"
AMOUNT = 10**18


def place(text: str) -> Any:
    return shape_location(read_location(text), 5)


class EtherNetwork(Network):
    """The Asset Hub and the exchange, both with ether."""

    def write(self, entry: str, value: Any) -> None:
        """Write what the Asset Hub's ForeignAssets has for ether."""
        client = self.app.client(self.hub)
        table = finish(client.table())
        key = storage_key(table, "ForeignAssets", entry, [place(ETHER)])
        encoded = "0x" + table.encode(key.entry.value_type, value).hex()
        finish(client.submit("dev_setStorage", [[key.hex, encoded]]))

    def price(self) -> None:
        super().price()
        prices = {"MultiTransactionPayment": {"AcceptedCurrencyPrice": [[[NUMBER], PRICE]]}}
        finish(self.app.client(self.dex).call("dev_setStorage", prices))


@pytest.fixture(scope="module")
def network(
    relay: Live,
    asset_hub: Live,
    dex: Live,
    live_config: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[EtherNetwork]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    document = tomllib.loads(live_config.read_text())
    ether = {"symbol": "ETH", "decimals": 18, "location": ETHER}
    document["chains"]["liveHub"]["assets"].append({**ether, "id": ETHER, "kind": "foreign"})
    document["chains"]["liveDex"]["assets"].append({**ether, "id": str(NUMBER)})
    path = tmp_path_factory.mktemp("bridged") / "config.toml"
    path.write_text(tomli_w.dumps(document))
    app = Application(load_settings({"config": str(path)}, {}))
    network = EtherNetwork(app)
    create_ether(network)
    yield network
    finish(app.close())


def create_ether(network: EtherNetwork) -> None:
    """Create ether on both chains, and give it to Alice on the Asset Hub."""
    app, hub, dex = network.app, network.hub, network.dex
    if finish(app.client(hub).storage("ForeignAssets", "Asset", place(ETHER))) is None:
        account = ALICE.public_key
        nobody = {"supply": 0, "deposit": 0, "accounts": 0, "sufficients": 0, "approvals": 0}
        owned = dict.fromkeys(("owner", "issuer", "admin", "freezer"), account)
        network.write(
            "Asset",
            {
                **owned,
                **nobody,
                "min_balance": 15 * 10**12,
                "is_sufficient": True,
                "status": "Live",
            },
        )
        minted = {"id": place(ETHER), "beneficiary": {"Id": account}, "amount": 100 * AMOUNT}
        send(app, hub, Call(pallet="ForeignAssets", method="mint", args=minted), ALICE)
    if finish(app.client(dex).storage("AssetRegistry", "Assets", NUMBER)) is None:
        arguments = {
            "asset_id": NUMBER,
            "name": b"Ether",
            "asset_type": "Token",
            "existential_deposit": 10**12,
            "symbol": b"ETH",
            "decimals": 18,
            "location": place(ETHER),
            "xcm_rate_limit": None,
            "is_sufficient": True,
        }
        act_as_root(app, dex, Call(pallet="AssetRegistry", method="register", args=arguments))
        accepted = {"currency": NUMBER, "price": 2 * 10**15}
        act_as_root(
            app, dex, Call(pallet="MultiTransactionPayment", method="add_currency", args=accepted)
        )
    fund_teleports(app, network.relay, hub, ALICE)
    # What pays on the way back has to be backed too.
    transfer = Transfer(
        source=hub,
        destination=dex,
        asset=app.assets.native(hub),
        amount=20 * 10**12,
        beneficiary=ALICE.public_key,
    )
    send(app, hub, finish(draft_transfer(app, transfer)).call_data, ALICE)
    wait_for_quiet(app, hub)
    wait_for_quiet(app, dex)


@pytest.mark.parametrize(
    ("source", "destination"), [("liveHub", "liveDex"), ("liveDex", "liveHub")]
)
def test_what_is_predicted_arrives(network: EtherNetwork, source: str, destination: str) -> None:
    if source == "liveDex":
        # Backed by what went there.
        back = network.draft("liveHub", "liveDex", "ETH", 3 * AMOUNT, to=ALICE.public_key)
        assert network.arrived(back, "liveDex", "ETH", ALICE.public_key)
    to = fresh(32)

    transaction = network.draft(source, destination, "ETH", AMOUNT, to=to)

    check = transaction.check
    assert check is not None
    assert (check.verdict, check.reasons) == ("ok", ())
    assert check.computed is not None and check.credited is not None
    assert (
        check.computed.value
        == check.credited.value
        == network.arrived(transaction, destination, "ETH", to)
    )
