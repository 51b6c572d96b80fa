"""What a Bridge Hub says to messages for Ethereum in the form that is built here.  No Ethereum runs
here.

The Bridge Hub of a test network leads to Ethereum's test network Sepolia, which its runtime calls
by another number.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.locations import place_of
from scenarioctl.chains.registry import Chain
from scenarioctl.transactions.simulation.dry_run import refused_export
from scenarioctl.transactions.transfer.bridges import export_request
from scenarioctl.transactions.transfer.plan import Plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import Route, TransferType
from scenarioctl.transactions.transfer.xcm_calls import arriving_message, relayed_message
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.runner import finish

pytestmark = pytest.mark.live

SEPOLIA = "Ethereum:11155111"
TOKEN = "AccountKey20(0x7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9)"


@pytest.fixture
def ethereum(live_app: Application, system_chains: list[Live]) -> Chain:
    """Return Ethereum as the Bridge Hub under test calls it."""
    bridge_hub = live_app.registry.find(
        next(each.name for each in system_chains if each.name == "liveBridgeHub")
    )
    table = finish(live_app.client(bridge_hub).table())
    ethereum = live_app.registry.find("ethereum")
    return (
        ethereum
        if table.spec_name == "bridge-hub-polkadot"
        else replace(ethereum, consensus=SEPOLIA)
    )


def context(
    app: Application, hub: Chain, ethereum: Chain, location: str, first: TransferType
) -> Plan:
    """Return the transfer of an asset at *location* seen from *hub*, in the latest XCM."""
    asset = replace(app.assets.native(hub), id=location, kind="foreign", location=location)
    transfer = Transfer(
        source=replace(hub, consensus="Polkadot"),
        destination=ethereum,
        asset=asset,
        amount=10**18,
        beneficiary=fresh(20),
        relayer_fee=10**15,
        sender=fresh(32),
    )
    table = finish(app.client(hub).table())
    return Plan(transfer=transfer, route=Route(first=first), table=table, version=5)


def program(
    app: Application, hub: Chain, ethereum: Chain, location: str, first: TransferType
) -> list[Any]:
    """Return the message of Snowbridge's first protocol, which has nothing for a relayer."""
    built: list[Any] = arriving_message(context(app, hub, ethereum, location, first))["V5"]
    return built


def relayed(
    app: Application, hub: Chain, ethereum: Chain, location: str, first: TransferType
) -> list[Any]:
    """Return the message of Snowbridge's second protocol."""
    built: list[Any] = relayed_message(context(app, hub, ethereum, location, first))["V5"]
    return built


def refused(app: Application, hub: Chain, ethereum: Chain, sent: Sequence[Any]) -> str:
    request = {"V5": export_request(sent, hub, ethereum)}
    return finish(refused_export(app.client, app.registry, hub, request, 5))


@pytest.mark.parametrize("token", ["", f"/{TOKEN}"], ids=["ether", "a token"])
def test_a_bridge_hub_queues_what_goes_home_to_ethereum(
    live_app: Application, asset_hub: Live, ethereum: Chain, token: str
) -> None:
    hub = live_app.registry.find(asset_hub.name)
    location = place_of(ethereum, hub).removesuffix("/Here") + token
    sent = program(live_app, hub, ethereum, location, "DestinationReserve")

    assert refused(live_app, hub, ethereum, sent) == ""


@pytest.mark.parametrize("token", ["", f"/{TOKEN}"], ids=["ether", "a token"])
def test_a_bridge_hub_queues_what_brings_ether_for_a_relayer(
    live_app: Application, asset_hub: Live, ethereum: Chain, token: str
) -> None:
    hub = live_app.registry.find(asset_hub.name)
    location = place_of(ethereum, hub).removesuffix("/Here") + token
    sent = relayed(live_app, hub, ethereum, location, "DestinationReserve")

    assert refused(live_app, hub, ethereum, sent) == ""
    # The same without the fee's Ether, without the origin, and without the topic.
    for place in (0, 1, 3, 5):
        other = [*sent[:place], *sent[place + 1 :]]
        assert "Unroutable" in refused(live_app, hub, ethereum, other)


def test_a_bridge_hub_drops_an_asset_that_was_never_registered(
    live_app: Application, asset_hub: Live, ethereum: Chain
) -> None:
    hub = live_app.registry.find(asset_hub.name)
    location = "0/PalletInstance(50)/GeneralIndex(4294967294)"
    sent = program(live_app, hub, ethereum, location, "LocalReserve")

    assert "Unroutable" in refused(live_app, hub, ethereum, sent)


def test_a_bridge_hub_drops_a_message_with_another_form(
    live_app: Application, asset_hub: Live, ethereum: Chain
) -> None:
    hub = live_app.registry.find(asset_hub.name)
    sent = program(live_app, hub, ethereum, place_of(ethereum, hub), "DestinationReserve")

    # Without the topic, and with one more instruction.
    assert "Unroutable" in refused(live_app, hub, ethereum, sent[:-1])
    assert "Unroutable" in refused(live_app, hub, ethereum, [*sent[:-1], "ClearError", sent[-1]])
