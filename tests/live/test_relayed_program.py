"""The program of Snowbridge's second protocol, run by an Asset Hub.

No Asset Hub here leads to Ethereum.  The one beyond the bridge between Polkadot and Kusama stands
for it: to an executor they differ in their place only.
"""

from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import place_of, read_location
from scenarioctl.operations.transaction_checks import CheckTransaction, find_check
from scenarioctl.transactions.simulation.dry_run import try_call
from scenarioctl.transactions.simulation.ledger import read_balance_changes
from scenarioctl.transactions.simulation.xcm_fees import delivery_fees, query_weight, weight_fee
from scenarioctl.transactions.transfer.plan import Plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import Route, TransferType
from scenarioctl.transactions.transfer.xcm_calls import (
    relayed_call,
    relayed_message,
    relayed_program,
)
from scenarioctl.transactions.xcm_instructions import read_instruction
from tests.live.recorder import fresh
from tests.live.test_bridges import ALICE, NATIVE, Hubs, hubs
from tests.network import FOREIGN_ASSET
from tests.runner import finish

__all__ = ["hubs"]

pytestmark = pytest.mark.live

AMOUNT, FEE = 10**12, 10**9
HELD = {"balance": 2 * AMOUNT, "status": "Liquid", "reason": "Consumer", "extra": None}


def context(hubs: Hubs, location: str, first: TransferType) -> Plan:
    """Return a transfer of the asset at *location* seen from the Asset Hub, all of whose assets
    Alice gets."""
    fee_place = place_of(hubs.other, hubs.hub)
    hubs.store("PolkadotXcm", "SupportedVersion", [5, {"V5": read_location(fee_place)}], 5)
    for place in {fee_place, location} - {"1/Here"}:
        hubs.store("ForeignAssets", "Asset", [read_location(place)], FOREIGN_ASSET)
        hubs.store("ForeignAssets", "Account", [read_location(place), ALICE.public_key], HELD)
    asset = Asset(
        chain=hubs.hub.name,
        id=location,
        symbol="",
        decimals=None,
        kind="foreign",
        location=location,
    )
    transfer = Transfer(
        source=hubs.hub,
        destination=hubs.other,
        asset=asset,
        amount=AMOUNT,
        beneficiary=fresh(32),
        relayer_fee=FEE,
        sender=ALICE.public_key,
    )
    table = finish(hubs.app.client(hubs.hub).table())
    return Plan(transfer=transfer, route=Route(first=first), table=table, version=5)


@pytest.mark.parametrize(
    ("below", "first"),
    [
        ("/PalletInstance(50)/GeneralIndex(7)", "DestinationReserve"),
        ("", "DestinationReserve"),
        (None, "LocalReserve"),
    ],
    ids=["a token goes home", "ether goes home", "the native asset goes out"],
)
def test_the_program_sends_the_message_that_is_priced(
    hubs: Hubs, below: str | None, first: TransferType
) -> None:
    location = "1/Here" if below is None else place_of(hubs.other, hubs.hub) + below
    wanted = context(hubs, location, first)
    client = hubs.app.client(hubs.hub)
    fees = 10**12
    weight = finish(query_weight(client, {"V5": relayed_program(wanted, fees)}))
    execution = finish(weight_fee(client, weight, {"V5": NATIVE}))

    hop = finish(
        try_call(
            hubs.app.client,
            hubs.app.registry,
            hubs.hub,
            relayed_call(wanted, fees, weight),
            ALICE.public_key,
        )
    )

    assert not hop.failure and not hop.unknown
    (sent,) = hop.sent
    expected = [read_instruction(item) for item in relayed_message(wanted)["V5"]]
    # The bridge between the two networks puts three before it; the router writes the topic.
    arrived = list(sent.instructions[3:])
    assert arrived[:-1] == expected[:-1]
    assert arrived[-1][0] == expected[-1][0] == "SetTopic"
    assert any(arrived[-1][1])
    # What the fees leave goes back to the sender.
    (delivery,) = finish(delivery_fees(client, sent))
    moves = read_balance_changes(hop.events, hubs.hub, hubs.app.assets)
    native = sum(
        move.value
        for move in moves
        if move.account == ALICE.public_key and move.asset.kind == "native"
    )
    out = AMOUNT if below is None else 0
    assert native == -(execution + delivery.amount + out)


@pytest.mark.parametrize("below", ["", None], ids=["ether goes home", "the native asset goes out"])
def test_a_check_misses_nothing_of_what_leaves(hubs: Hubs, below: str | None) -> None:
    location = "1/Here" if below is None else place_of(hubs.other, hubs.hub)
    wanted = context(hubs, location, "LocalReserve" if below is None else "DestinationReserve")
    weight = finish(query_weight(hubs.app.client(hubs.hub), {"V5": relayed_program(wanted, 1)}))
    call = relayed_call(wanted, 10**12, weight)
    data = "0x" + wanted.table.encode_call(call).hex()
    asked = CheckTransaction(
        chain=hubs.hub.name, tx=data, sender=format_account(ALICE.public_key, 0)
    )

    _, check = finish(find_check(hubs.app, asked))

    # Nobody can reach the other side.
    assert check.verdict == "unknown", check.reasons
    assert not any("credited to nobody" in reason for reason in check.reasons)


def test_too_little_for_the_fees_takes_nothing(hubs: Hubs) -> None:
    wanted = context(hubs, "1/Here", "LocalReserve")
    client = hubs.app.client(hubs.hub)
    weight = finish(query_weight(client, {"V5": relayed_program(wanted, 1)}))

    def tried(fees: int, limit: Any) -> str:
        call = relayed_call(wanted, fees, limit)
        hop = finish(try_call(hubs.app.client, hubs.app.registry, hubs.hub, call, ALICE.public_key))
        assert not hop.sent
        return hop.failure

    assert "LocalExecutionIncomplete" in tried(10**6, weight)
    assert "LocalExecutionIncomplete" in tried(
        10**12, {**weight, "ref_time": weight["ref_time"] - 1}
    )
