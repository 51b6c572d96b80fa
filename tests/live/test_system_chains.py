"""Teleports among the relay chain and its system parachains: what a check predicts is what arrives.

The relay chain and its Asset Hub of this module are connected to the system parachains; those of
other modules needn't be.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call, UnsignedTransaction
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.views import CheckTransaction, find_check
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.setup import blocks_after, credit_of, fund_teleports, sign, wait_for_quiet
from tests.messages import says
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
PARACHAINS = ("livePeople", "liveCoretime", "liveCollectives", "liveBridgeHub")
#: source, destination, raw amount; in an order in which each backs those after it.
ROUTES = (
    *(("liveHub", chain, 10**12) for chain in PARACHAINS),
    *((chain, "liveHub", 5 * 10**11) for chain in PARACHAINS),
    *(("liveRelay", chain, 10**12) for chain in PARACHAINS),
    *((chain, "liveRelay", 4 * 10**11) for chain in PARACHAINS),
    ("livePeople", "liveCoretime", 3 * 10**11),
    ("liveCoretime", "liveCollectives", 3 * 10**11),
    ("liveCollectives", "liveBridgeHub", 3 * 10**11),
    ("liveBridgeHub", "livePeople", 3 * 10**11),
)


@pytest.fixture(scope="module")
def app(
    relay: Live, asset_hub: Live, system_chains: list[Live], live_config: Path
) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and len(system_chains) == len(PARACHAINS)
    app = Application(load_settings({"config": str(live_config)}, {}))
    fund_teleports(app, app.registry.find("liveRelay"), app.registry.find("liveHub"), ALICE)
    wait_for_quiet(app, app.registry.find("liveHub"))
    yield app
    finish(app.close())


def draft(
    app: Application, source: str, destination: str, amount: int, to: bytes
) -> UnsignedTransaction:
    chain = app.registry.find(source)
    transfer = Transfer(
        source=chain,
        destination=app.registry.find(destination),
        asset=app.assets.native(chain),
        amount=amount,
        beneficiary=to,
    )
    return finish(draft_transfer(app, transfer, sender=ALICE.public_key))


def arrived(app: Application, transaction: UnsignedTransaction, destination: str, to: bytes) -> int:
    """Sign and broadcast *transaction*, and return what is credited to *to* on the destination."""
    source, last = app.registry.find(transaction.chain), app.registry.find(destination)
    before, _ = finish(app.client(last).head())
    tx = "0x" + sign(app, source, transaction.call_data, ALICE).hex()
    assert finish(broadcast(app, Broadcast(chain=source.name, tx=tx, wait="in-block"))).answer[
        "success"
    ]
    for events in blocks_after(app, last, before):
        credit = credit_of(app, last, events, app.assets.native(last), to)
        if credit:
            return credit
    return 0


def test_on_every_route_what_is_predicted_arrives(app: Application) -> None:
    rows = []
    for source, destination, amount in ROUTES:
        to = fresh(32)
        transaction = draft(app, source, destination, amount, to)
        check = transaction.check
        assert check is not None
        assert (source, destination, check.verdict, check.reasons) == (
            source,
            destination,
            "ok",
            (),
        )
        assert check.computed is not None
        assert check.credited is not None
        credit = arrived(app, transaction, destination, to)
        rows.append(
            (source, destination, amount, check.computed.value, check.credited.value, credit)
        )

    print(
        "\nroute                              amount         computed          dry run     "
        "     arrived  deviation"
    )
    for source, destination, amount, computed, credited, credit in rows:
        print(
            f"{source[4:]:>11} > {destination[4:]:<12} {amount:>15} {computed:>16} "
            f"{credited:>16} {credit:>16}  {credit - computed}"
        )
    assert [(row[3], row[4]) for row in rows] == [(row[5], row[5]) for row in rows]


@pytest.mark.parametrize("chain", PARACHAINS)
def test_a_reserve_transfer_to_a_system_parachain_is_refused(app: Application, chain: str) -> None:
    call = reserve_transfer(app, chain)
    hub = app.registry.find("liveHub")
    data = finish(app.client(hub).table()).encode_call(call)
    request = CheckTransaction(
        tx="0x" + data.hex(), chain=hub.name, sender="0x" + ALICE.public_key.hex()
    )

    check = finish(find_check(app, request))[1]

    assert check.verdict == "refused"
    assert any("would be trapped or lost there" in reason for reason in check.reasons)


def reserve_transfer(app: Application, chain: str) -> Call:
    """Return the transfer that the Asset Hub would make as the reserve of the relay's asset."""
    there = {
        "V5": {"parents": 1, "interior": {"X1": [{"Parachain": app.registry.find(chain).para_id}]}}
    }
    receiver = {"AccountId32": {"network": None, "id": fresh(32)}}
    native = {"parents": 1, "interior": "Here"}
    deposit = {
        "DepositAsset": {
            "assets": {"Wild": {"AllCounted": 1}},
            "beneficiary": {"parents": 0, "interior": {"X1": [receiver]}},
        }
    }
    return Call(
        pallet="PolkadotXcm",
        method="transfer_assets_using_type_and_then",
        args={
            "dest": there,
            "assets": {"V5": [{"id": native, "fun": {"Fungible": 10**12}}]},
            "assets_transfer_type": "LocalReserve",
            "remote_fees_id": {"V5": native},
            "fees_transfer_type": "LocalReserve",
            "custom_xcm_on_dest": {"V5": [deposit]},
            "weight_limit": "Unlimited",
        },
    )


def test_only_the_asset_of_the_relay_chain_goes_to_a_system_parachain(app: Application) -> None:
    hub = app.registry.find("liveHub")
    transfer = Transfer(
        source=hub,
        destination=app.registry.find("livePeople"),
        asset=app.assets.find(hub, "1984"),
        amount=10**6,
        beneficiary=fresh(32),
    )

    with pytest.raises(InvalidRequest) as refused:
        finish(draft_transfer(app, transfer, sender=ALICE.public_key))

    assert str(refused.value) == says("liveHub", "livePeople")
