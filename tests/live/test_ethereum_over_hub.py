"""Transfers from Hydration over the Asset Hub to Ethereum that the Asset Hub can't send on: the
sender gets it all there.

No Asset Hub here has a route to Ethereum, so each of them ends so.
"""

from dataclasses import replace
from typing import Any

import pytest

from scenarioctl.transactions.simulation.dry_run import try_call, try_message
from scenarioctl.transactions.simulation.runtime_api import free_balance
from scenarioctl.transactions.transfer.plan import Plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import Route
from scenarioctl.transactions.transfer.xcm_calls import build_call, hub_message
from tests.live.recorder import fresh
from tests.live.setup import blocks_after, credit_of, send
from tests.live.test_bridged_assets import ALICE, AMOUNT, EtherNetwork, network
from tests.runner import finish

__all__ = ["network"]

pytestmark = pytest.mark.live

#: Of the relay chain's asset, which is DOT on Polkadot.
FEE = 10**12


@pytest.fixture
def context(network: EtherNetwork) -> Plan:
    """Return what a transfer of ether to Ethereum is built from; there is ether to send."""
    back = network.draft("liveHub", "liveDex", "ETH", 3 * AMOUNT, to=ALICE.public_key)
    assert network.arrived(back, "liveDex", "ETH", ALICE.public_key)
    app, dex, hub = network.app, network.dex, network.hub
    transfer = Transfer(
        source=replace(dex, consensus="Polkadot"),
        destination=app.registry.find("ethereum"),
        asset=app.assets.find(dex, "ETH"),
        amount=AMOUNT,
        beneficiary=fresh(20),
        sender=fresh(32),
    )
    route = Route(
        first="DestinationReserve",
        via=replace(hub, consensus="Polkadot"),
        onward="DestinationReserve",
        crosses=True,
        paid_beside=True,
    )
    table = finish(app.client(dex).table())
    pays = app.assets.find(dex, "1/Here")
    return Plan(transfer=transfer, route=route, table=table, version=5, beside=(pays, FEE))


def holdings(network: EtherNetwork, account: bytes) -> tuple[int, int]:
    """Return what *account* holds on the Asset Hub: of its native asset, and of ether."""
    app, hub = network.app, network.hub
    assets = (app.assets.native(hub), app.assets.find(hub, "ETH"))
    native, ether = (finish(free_balance(app.client(hub), asset, account)) for asset in assets)
    return native, ether


def test_what_does_not_go_on_becomes_the_senders_there(
    network: EtherNetwork, context: Plan
) -> None:
    """Of a sender that had no account there."""
    app, dex, hub = network.app, network.dex, network.hub
    sender = context.transfer.sender
    assert sender is not None and holdings(network, sender) == (0, 0)

    before, _ = finish(app.client(hub).head())
    send(app, dex, build_call(context), ALICE)

    held = app.assets.find(hub, "ETH")
    assert any(
        credit_of(app, hub, events, held, sender) for events in blocks_after(app, hub, before)
    )
    native, ether = holdings(network, sender)
    assert ether == AMOUNT
    # Only what executing the message costs is gone.
    assert 0.9 * FEE < native < FEE


def test_the_message_of_the_exchange_is_the_one_that_is_tried(
    network: EtherNetwork, context: Plan
) -> None:
    app, dex = network.app, network.dex

    network.price()
    tried = finish(try_call(app.client, app.registry, dex, build_call(context), ALICE.public_key))

    (message,) = tried.sent
    *program, (last, _) = message.instructions
    assert context.route.via is not None
    expected: list[Any] = hub_message(context, context.route.via)["V5"]
    assert last == "SetTopic"
    assert [name if fields is None else {name: fields} for name, fields in program] == expected[:-1]
    # This Asset Hub has no route to Ethereum.
    ended = finish(try_message(app.client, app.registry, message))
    assert "Unroutable" in ended.failure
