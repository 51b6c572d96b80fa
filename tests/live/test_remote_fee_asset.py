"""An asset in which no destination takes fees, with another one beside it that pays there.

Two are made on the rig, without pool or price: one with the number of WUD, which on the exchange
keeps accounts alive, and one that does so on neither chain.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w

from scenarioctl.application import Application
from scenarioctl.chains.locations import read_location
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call, UnsignedTransaction
from scenarioctl.transactions.transfer.plan import shape_location
from tests.live.conftest import Live
from tests.live.network import Network
from tests.live.recorder import fresh
from tests.live.setup import (
    act_as_root,
    blocks_after,
    create_fee_pool,
    credit_of,
    fund_teleports,
    send,
    wait_for_quiet,
)
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
WUD = 31337
PLACE = "1/Parachain(1000)/PalletInstance(50)/GeneralIndex"
#: Their ids on the exchange, where root can register those below a million.
NUMBER, SCARCE_NUMBER = 85, 86
#: The other one, on the Asset Hub; it comes before USDT in a message.
SCARCE = 1000
UNIT = 10**10
LEAST = 10**7


@pytest.fixture(scope="module")
def network(
    relay: Live,
    asset_hub: Live,
    dex: Live,
    live_config: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Network]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    document = tomllib.loads(live_config.read_text())
    for here, there, symbol in ((WUD, NUMBER, "WUD"), (SCARCE, SCARCE_NUMBER, "SCARCE")):
        made = {"symbol": symbol, "decimals": 10, "pays_fees": False}
        document["chains"]["liveHub"]["assets"].append({**made, "id": str(here)})
        there_too = {**made, "id": str(there), "location": f"{PLACE}({here})"}
        document["chains"]["liveDex"]["assets"].append(there_too)
    path = tmp_path_factory.mktemp("remote_fee") / "config.toml"
    path.write_text(tomli_w.dumps(document))
    app = Application(load_settings({"config": str(path)}, {}))
    network = Network(app)
    create_assets(network)
    yield network
    finish(app.close())


def create_assets(network: Network) -> None:
    """Create both assets on both chains, give them to Alice, and back what pays on the way back."""
    app, hub, dex = network.app, network.hub, network.dex
    create_asset(network, WUD, NUMBER, sufficient=True)
    create_asset(network, SCARCE, SCARCE_NUMBER, sufficient=False)
    fund_teleports(app, network.relay, hub, ALICE)
    native, usdt = (
        {"parents": 1, "interior": "Here"},
        shape_location(read_location("0/PalletInstance(50)/GeneralIndex(1984)"), 5),
    )
    if finish(app.client(hub).storage("AssetConversion", "Pools", [native, usdt])) is None:
        create_fee_pool(app, hub, 1984, ALICE)
    for asset, amount in (("KSM", 20 * 10**12), ("USDT", 100 * 10**6)):
        to_alice = network.draft("liveHub", "liveDex", asset, amount, to=ALICE.public_key)
        assert network.arrived(to_alice, "liveDex", asset, ALICE.public_key)
    wait_for_quiet(app, hub)
    wait_for_quiet(app, dex)


def create_asset(network: Network, here: int, there: int, *, sufficient: bool) -> None:
    app, hub, dex = network.app, network.hub, network.dex
    if finish(app.client(hub).storage("Assets", "Asset", here)) is None:
        alice = {"Id": ALICE.public_key}
        created = {"id": here, "admin": alice, "min_balance": LEAST}
        send(app, hub, Call(pallet="Assets", method="create", args=created), ALICE)
        minted = {"id": here, "beneficiary": alice, "amount": 10**6 * UNIT}
        send(app, hub, Call(pallet="Assets", method="mint", args=minted), ALICE)
    if finish(app.client(dex).storage("AssetRegistry", "Assets", there)) is None:
        name = f"asset {there}".encode()
        arguments = {
            "asset_id": there,
            "name": name,
            "asset_type": "Token",
            "existential_deposit": LEAST,
            "symbol": name.replace(b" ", b""),
            "decimals": 10,
            "location": shape_location(read_location(f"{PLACE}({here})"), 5),
            "xcm_rate_limit": None,
            "is_sufficient": sufficient,
        }
        act_as_root(app, dex, Call(pallet="AssetRegistry", method="register", args=arguments))


def credits(
    network: Network,
    transaction: UnsignedTransaction,
    destination: str,
    assets: list[str],
    to: bytes,
) -> list[int]:
    """Sign and submit *transaction*, and return what *to* keeps on the destination of each of its
    *assets* there."""
    last = network.app.registry.find(destination)
    before, _ = finish(network.app.client(last).head())
    source = network.app.registry.find(transaction.chain)
    send(network.app, source, transaction.call_data, ALICE)
    held = [network.app.assets.find(last, asset) for asset in assets]
    for events in blocks_after(network.app, last, before):
        found = [credit_of(network.app, last, events, asset, to) for asset in held]
        if any(found):
            return found
    return []


WAYS = [
    ("liveHub", "liveDex", str(WUD), "USDT", [str(NUMBER), "USDT"]),
    ("liveHub", "liveDex", str(WUD), "KSM", [str(NUMBER), "DOT"]),
    ("liveDex", "liveHub", str(NUMBER), "DOT", [str(WUD), "KSM"]),
]


@pytest.mark.parametrize(("source", "destination", "asset", "pays", "arriving"), WAYS)
def test_both_arrive_as_predicted(
    network: Network, source: str, destination: str, asset: str, pays: str, arriving: list[str]
) -> None:
    if source == "liveDex":
        # Backed by what went there.
        back = network.draft(
            "liveHub",
            "liveDex",
            str(WUD),
            3000 * UNIT,
            to=ALICE.public_key,
            remote_fee_asset="USDT",
        )
        assert credits(network, back, "liveDex", [str(NUMBER)], ALICE.public_key)
    to = fresh(32)

    transaction = network.draft(
        source, destination, asset, 1000 * UNIT, to=to, remote_fee_asset=pays
    )

    check = transaction.check
    assert check is not None
    print(f"\n{check.reasons} {check.steps}")
    assert (check.verdict, check.reasons) == ("ok", ())
    of_bytes = network.check_bytes(network.app.registry.find(source), transaction.call)
    assert (of_bytes.verdict, of_bytes.reasons) == ("ok", ())
    last = [step for step in check.steps if step.what in ("arrives", "computed arrival")]
    assert check.computed is not None and check.credited is not None
    got = credits(network, transaction, destination, arriving, to)
    assert check.computed.value == check.credited.value == got[0] == 1000 * UNIT
    assert sorted(step.amount.value for step in last) == sorted(got * 2)


@pytest.mark.parametrize(("pays", "arriving"), [("KSM", "DOT"), ("USDT", "USDT")])
def test_a_new_receiver_pays_the_deposit_out_of_what_goes_along(
    network: Network, pays: str, arriving: str
) -> None:
    """USDT is deposited after the asset itself."""
    to = fresh(32)

    transaction = network.draft(
        "liveHub", "liveDex", str(SCARCE), 1000 * UNIT, to=to, remote_fee_asset=pays
    )

    check = transaction.check
    assert check is not None
    print(f"\n{check.verdict} {check.reasons} {check.warnings} {transaction.warnings}")
    for step in check.steps:
        print(step)
    assert (check.verdict, check.reasons) == ("ok", ())
    arrives = [
        step.amount.value for step in check.steps if step.what in ("arrives", "computed arrival")
    ]
    taken = [step.amount.value for step in check.steps if step.what == "receiver deposit"]
    got = credits(network, transaction, "liveDex", [str(SCARCE_NUMBER), arriving], to)
    assert len(taken) == 1
    assert arrives == [got[0], got[0], got[1], got[1]]


def test_it_is_refused_without_what_pays(network: Network) -> None:
    for source, destination, asset in (
        ("liveHub", "liveDex", str(WUD)),
        ("liveDex", "liveHub", str(NUMBER)),
    ):
        with pytest.raises(InvalidRequest) as refused:
            network.draft(source, destination, asset, 1000 * UNIT)

        assert "not known to accept fees" in refused.value.statement


def test_a_receiver_that_can_hold_only_what_pays_is_found(network: Network) -> None:
    # An account that USDT alone keeps alive can hold no asset that is not sufficient.
    check = network.check(
        "liveDex", "liveHub", str(NUMBER), 1000 * UNIT, to=fresh(32), remote_fee_asset="USDT"
    )

    assert check.verdict == "refused"
    assert "trapped" in check.reasons[-1]
