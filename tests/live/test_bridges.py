"""The bridge between Polkadot and Kusama, each half of it: what a runtime sends, and what it does
with what arrives.

No Bridge Hubs here join both networks.  The Asset Hub and its Bridge Hub are connected, so a
message leaves and its cost can be compared; what comes from the other side is executed as it should
arrive.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import place_of, read_location
from scenarioctl.chains.registry import Chain
from scenarioctl.config import load_settings
from scenarioctl.model.calls import Call
from scenarioctl.operations.views import CheckTransaction, find_check
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.simulation.arrival import compute_arrival, delivery_fees
from scenarioctl.transactions.simulation.dry_run import XcmMessage, try_call, try_message
from scenarioctl.transactions.simulation.trial import Trial, read_ledger
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import Plan, arriving_message, build_call
from scenarioctl.transactions.transfer.request import (
    ARRIVING_INSTRUCTIONS,
    Transfer,
    arriving_program,
    sovereign_account_beyond,
)
from scenarioctl.transactions.transfer.ways import Route, TransferType
from scenarioctl.transactions.xcm_instructions import read_instruction
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.setup import credit_of, send
from tests.network import FOREIGN_ASSET
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
AMOUNT = 10**12
ETHER = "2/GlobalConsensus(Ethereum:1)"
#: Of a foreign asset.
NATIVE = {"parents": 1, "interior": "Here"}


class Hubs:
    """A connected Asset Hub, and the built-in one beyond the bridge, which nobody can reach."""

    def __init__(self, app: Application, other: str) -> None:
        self.app = app
        self.hub = app.registry.find("liveHub")
        self.other = app.registry.find(other)

    def store(self, pallet: str, entry: str, keys: list[Any], value: Any) -> None:
        client = self.app.client(self.hub)
        table = finish(client.table())
        key = storage_key(table, pallet, entry, keys)
        finish(
            client.submit(
                "dev_setStorage",
                [[key.hex, "0x" + table.encode(key.entry.value_type, value).hex()]],
            )
        )


@pytest.fixture(scope="module")
def hubs(
    relay: Live, asset_hub: Live, live_config: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hubs]:
    document = tomllib.loads(live_config.read_text())
    chains = document["chains"]
    network, other = {"DOT": ("Polkadot", "assetHub_kusama"), "KSM": ("Kusama", "assetHub")}[
        chains[asset_hub.name]["symbol"]
    ]
    chains[relay.name]["consensus"] = network
    ether = {"id": ETHER, "symbol": "ETH", "decimals": 18, "kind": "foreign", "location": ETHER}
    chains[asset_hub.name]["assets"] = [*chains[asset_hub.name].get("assets", ()), ether]
    chains[other] = {"endpoints": ["ws://127.0.0.1:1/"]}
    path = tmp_path_factory.mktemp("bridges") / "config.toml"
    path.write_text(tomli_w.dumps(document))
    app = Application(load_settings({"config": str(path)}, {}))
    hubs = Hubs(app, other)
    # Only in a block does a new chain hear of its channels; without one it forwards nothing.
    finish(app.client(hubs.hub).submit("dev_newBlock"))
    yield hubs
    finish(app.close())


def test_delivery_over_the_bridge_costs_what_is_predicted(hubs: Hubs) -> None:
    place = read_location(place_of(hubs.other, hubs.hub))
    # The router sends nothing until the version of the other side is known.
    hubs.store("PolkadotXcm", "SupportedVersion", [5, {"V5": place}], 5)
    client = hubs.app.client(hubs.hub)
    transfer = Transfer(
        source=hubs.hub,
        destination=hubs.other,
        asset=hubs.app.assets.native(hubs.hub),
        amount=AMOUNT,
        beneficiary=fresh(32),
    )
    table = finish(client.table())
    call = build_transfer(transfer, table, assets=hubs.app.assets, fee_accepted=True).call
    asked = CheckTransaction(
        chain=hubs.hub.name, tx="0x" + table.encode_call(call).hex(), sender=_address(hubs.hub)
    )

    _, check = finish(find_check(hubs.app, asked))
    events = send(hubs.app, hubs.hub, call, ALICE)

    # Nobody can reach the other side.
    assert check.verdict == "unknown"
    predicted = [step.amount.value for step in check.steps if step.what == "delivery"]
    (paid,) = (event for event in events if str(event) == "PolkadotXcm.FeesPaid")
    assert predicted == [fee["fun"]["Fungible"] for fee in paid.fields["fees"]]
    assert any(str(event) == "XcmpQueue.XcmpMessageSent" for event in events)
    # What stays behind is the other Asset Hub's.
    native = hubs.app.assets.native(hubs.hub)
    assert (
        credit_of(hubs.app, hubs.hub, events, native, sovereign_account_beyond(hubs.other))
        == AMOUNT
    )
    roles = {credit.role for credit in check.credits}
    assert roles == {f"sovereign account of {hubs.other.title}", "gets the delivery fee"}


@pytest.mark.parametrize(
    ("asset", "first"),
    [("native", "LocalReserve"), ("1984", "LocalReserve"), (ETHER, "DestinationReserve")],
    ids=["the native asset", "out with a fee beside it", "home with a fee beside it"],
)
def test_the_message_that_leaves_is_the_one_that_is_weighed(
    hubs: Hubs, asset: str, first: TransferType
) -> None:
    place = read_location(place_of(hubs.other, hubs.hub))
    ether = read_location(ETHER)
    held = {"balance": AMOUNT, "status": "Liquid", "reason": "Consumer", "extra": None}
    hubs.store("PolkadotXcm", "SupportedVersion", [5, {"V5": place}], 5)
    hubs.store("ForeignAssets", "Asset", [ether], FOREIGN_ASSET)
    hubs.store("ForeignAssets", "Account", [ether, ALICE.public_key], held)
    client = hubs.app.client(hubs.hub)
    transfer = Transfer(
        source=hubs.hub,
        destination=hubs.other,
        asset=hubs.app.assets.find(hubs.hub, asset),
        amount=10**10,
        beneficiary=fresh(32),
    )
    # The gate would refuse some of these assets; their form is the one of those that it lets
    # through.
    context = Plan(
        transfer=transfer,
        route=Route(first=first),
        table=finish(client.table()),
        version=5,
        beside=None if asset == "native" else (hubs.app.assets.native(hubs.hub), 10**11),
    )

    hop = finish(
        try_call(
            hubs.app.client, hubs.app.registry, hubs.hub, build_call(context), ALICE.public_key
        )
    )

    assert (hop.failure, hop.unknown) == ("", "")
    (message,) = hop.sent
    weighed = arriving_message(context)["V5"]
    # Less the topics, the router's and ours.
    assert message.program[ARRIVING_INSTRUCTIONS:-1] == weighed[:-1]
    (fee,) = finish(delivery_fees(client, message))
    (paid,) = (event for event in hop.events if str(event) == "PolkadotXcm.FeesPaid")
    assert [fee.amount] == [item["fun"]["Fungible"] for item in paid.fields["fees"]]


def test_what_comes_over_the_bridge_arrives_as_computed(hubs: Hubs) -> None:
    """The native asset comes home: the account of the other Asset Hub holds it, and trust, weight
    and price are the runtime's."""
    client = hubs.app.client(hubs.hub)
    holder = sovereign_account_beyond(hubs.other)
    account = finish(client.storage("System", "Account", holder))
    held = {**account, "providers": 1, "data": {**account["data"], "free": 10 * AMOUNT}}
    hubs.store("System", "Account", [holder], held)
    to = fresh(32)
    message = arriving(hubs, to)

    hop = finish(try_message(hubs.app.client, hubs.app.registry, message))
    native = hubs.app.assets.native(hubs.hub)
    remark = Call(pallet="System", method="remark", args={"remark": b""})
    tried = Trial(
        clients=hubs.app.client, assets=hubs.app.assets, chain=hubs.other, sender=to, call=remark
    )
    ledger = finish(read_ledger(tried, hop))
    computed = finish(compute_arrival(hubs.app.client, [ledger])).assets[""]

    assert (hop.failure, hop.unknown) == ("", "")
    assert credit_of(hubs.app, hubs.hub, hop.events, native, to) == computed
    assert 0 < AMOUNT - computed < AMOUNT // 100


def arriving(hubs: Hubs, to: bytes) -> XcmMessage:
    """Return the message in which the native asset comes home to *to*."""
    paid = {"id": NATIVE, "fun": {"Fungible": AMOUNT}}
    beneficiary = {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": to}}]}}
    sent = [
        {"WithdrawAsset": [paid]},
        "ClearOrigin",
        {"BuyExecution": {"fees": paid, "weight_limit": "Unlimited"}},
        {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": beneficiary}},
        {"SetTopic": bytes(32)},
    ]
    program = arriving_program(sent, hubs.other, 5)
    table = finish(hubs.app.client(hubs.hub).table())
    _, message_type = table.api_method("DryRunApi", "dry_run_xcm").inputs
    place = place_of(hubs.hub, hubs.other)
    return XcmMessage(
        origin=hubs.other,
        destination=hubs.hub,
        place=place,
        location={"V5": read_location(place)},
        version=5,
        instructions=tuple(map(read_instruction, program)),
        data=table.encode(message_type.type_id, {"V5": program}),
        exported=table.encode(message_type.type_id, {"V5": sent}),
    )


def _address(chain: Chain) -> str:
    return format_account(ALICE.public_key, chain.ss58_prefix)
