"""One asset of one chain by two names: it is never taken for two assets."""

from dataclasses import replace

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.request import Transfer, check_request
from scenarioctl.transactions.transfer.ways import Route
from scenarioctl.transactions.transfer.xcm_calls import RemoteFee, TransferContext, build_call
from tests.messages import says
from tests.runtimes import BOB, bundled

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
USDT = "0/PalletInstance(50)/GeneralIndex(1984)"


def wanted(asset: object, pays: object) -> Transfer:
    hub = REGISTRY.find("assetHub")
    return Transfer(
        source=hub,
        destination=REGISTRY.find("hydraDx"),
        asset=ASSETS.find(hub, asset),
        amount=10**16,
        beneficiary=BOB,
        remote_fee_asset=ASSETS.find(hub, pays),
    )


# The asset that pays for another one


@pytest.mark.parametrize("place", [USDT, "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)"])
def test_an_asset_does_not_pay_for_itself_under_another_id(place: str) -> None:
    asked = wanted(1984, 1337)
    again = replace(asked.asset, id="1", symbol="FAKE", name="", mark="", location=place)

    with pytest.raises(InvalidRequest) as refused:
        check_request(replace(asked, remote_fee_asset=again))

    assert str(refused.value) == says("remote_fee_asset 1 (FAKE)", "is sent")


def test_an_asset_without_location_pays_for_another_one() -> None:
    asked = wanted(1984, 1337)
    nowhere = [replace(each, location="") for each in (asked.asset, ASSETS.find(asked.source, 1337))]

    check_request(replace(asked, asset=nowhere[0], remote_fee_asset=nowhere[1]))


def test_a_teleport_takes_nothing_along() -> None:
    """No such transfer passes the gate.  If one did, nothing may be left out of its call."""
    context = TransferContext(
        transfer=wanted("DOT", 1984),
        route=Route(first="Teleport"),
        table=bundled("assetHub"),
        version=5,
        remote_fee=RemoteFee(location=USDT, arriving=USDT, amount=1, transfer_type="Teleport"),
    )

    with pytest.raises(RuntimeError):
        build_call(context)
