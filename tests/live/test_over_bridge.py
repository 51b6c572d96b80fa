"""From the relay chain over the Asset Hub and the bridge, in one signature, as far as the chains
here go: the Asset Hub's message to its Bridge Hub.

What it can't send on is the sender's there.
"""

from dataclasses import replace

import pytest

from scenarioctl.chains.locations import place_of, read_location
from scenarioctl.transactions.events import Event
from scenarioctl.transactions.simulation.arrival import incoming_assets
from scenarioctl.transactions.simulation.dry_run import try_call, try_message
from scenarioctl.transactions.simulation.xcm_fees import delivery_fees, quote_message
from scenarioctl.transactions.transfer.bridges import (
    ARRIVING_INSTRUCTIONS,
    sovereign_account_beyond,
)
from scenarioctl.transactions.transfer.plan import Plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import Route
from scenarioctl.transactions.transfer.xcm_calls import arriving_message, build_call, hub_message
from tests.live.recorder import fresh
from tests.live.setup import blocks_after, credit_of, send
from tests.live.test_bridges import ALICE, AMOUNT, Hubs, hubs
from tests.runner import finish

__all__ = ["hubs"]

pytestmark = pytest.mark.live


def plan_of(hubs: Hubs) -> Plan:
    """Return the plan of a transfer from the relay chain; its sender has no account on the Asset
    Hub."""
    app, relay = hubs.app, hubs.app.registry.find("liveRelay")
    transfer = Transfer(
        source=relay,
        destination=hubs.other,
        asset=app.assets.native(relay),
        amount=AMOUNT,
        beneficiary=fresh(32),
        sender=fresh(32),
    )
    route = Route(first="Teleport", via=hubs.hub, onward="LocalReserve", crosses=True)
    table = finish(app.client(relay).table())
    return Plan(transfer=transfer, route=route, table=table, version=5, last_hop_fee=10**9)


def sent(hubs: Hubs, plan: Plan) -> tuple[dict[str, int], list[Event]]:
    """Send the transfer; return what the sender and the Asset Hub beyond get of it on this one, and
    the events of that block."""
    before, _ = finish(hubs.app.client(hubs.hub).head())
    assert plan.transfer.sender is not None
    accounts = {"sender": plan.transfer.sender, "beyond": sovereign_account_beyond(hubs.other)}
    native = hubs.app.assets.native(hubs.hub)
    send(hubs.app, plan.transfer.source, build_call(plan), ALICE)
    for events in blocks_after(hubs.app, hubs.hub, before):
        credits = {
            name: credit_of(hubs.app, hubs.hub, events, native, account)
            for name, account in accounts.items()
        }
        if any(credits.values()):
            return credits, events
    raise RuntimeError("nobody got anything on the Asset Hub")


def test_what_the_asset_hub_cannot_send_on_is_the_senders_there(hubs: Hubs) -> None:
    place = read_location(place_of(hubs.other, hubs.hub))
    # The router sends nothing while the version of the other side isn't known.
    finish(
        hubs.app.client(hubs.hub).submit(
            "dev_setStorage", {"PolkadotXcm": {"SupportedVersion": [[[5, {"V5": place}], None]]}}
        )
    )
    plan = plan_of(hubs)
    execution = finish(quote_message(hubs.app.client(hubs.hub), hub_message(plan, hubs.hub)))
    credits, _ = sent(hubs, plan)

    # Only what executing the message costs is gone.
    assert credits == {"sender": AMOUNT - execution, "beyond": 0}


def test_the_rest_goes_on_to_the_bridge_hub(hubs: Hubs) -> None:
    app, hub = hubs.app, hubs.hub
    place = read_location(place_of(hubs.other, hub))
    hubs.store("PolkadotXcm", "SupportedVersion", [5, {"V5": place}], 5)
    plan = plan_of(hubs)
    relay = plan.transfer.source

    # The message that is tried and priced is the one that the relay chain sends.
    tried = finish(try_call(app.client, app.registry, relay, build_call(plan), ALICE.public_key))
    (first,) = tried.sent
    assert first.program[:-1] == hub_message(plan, hub)["V5"][:-1]
    onward = finish(try_message(app.client, app.registry, first))
    assert (onward.failure, onward.unknown) == ("", "")
    (exported,) = onward.sent
    assert exported.destination == hubs.other
    ((_, carried),) = incoming_assets(exported).items()
    arriving = arriving_message(replace(plan, transfer=replace(plan.transfer, amount=carried)))[
        "V5"
    ]
    assert [
        name if isinstance(name, str) else next(iter(name))
        for name in exported.program[ARRIVING_INSTRUCTIONS:]
    ] == [name if isinstance(name, str) else next(iter(name)) for name in arriving]
    execution = finish(quote_message(app.client(hub), hub_message(plan, hub)))
    (delivery,) = finish(delivery_fees(app.client(hub), exported))
    assert carried == AMOUNT - execution - delivery.amount

    credits, events = sent(hubs, plan)

    assert credits == {"sender": 0, "beyond": carried}
    assert any(str(event) == "XcmpQueue.XcmpMessageSent" for event in events)
