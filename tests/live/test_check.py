"""Checks before signing, held against what then happens; and the ways to lose money, each
refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.conftest import Live
from tests.live.network import Network
from tests.live.recorder import fresh
from tests.live.setup import (
    create_fee_pool,
    fund_teleports,
    send,
    wait_for_quiet,
)
from tests.map_entries import read_entries
from tests.messages import says
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
USDT = 1984
NATIVE = {"parents": 1, "interior": "Here"}
USDT_PLACE = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": USDT}]}}
#: source, destination, asset on the source, raw amount; in an order in which each backs those after
#: it.
ROUTES = (
    ("liveRelay", "liveHub", "native", 10**12),
    ("liveHub", "liveRelay", "native", 10**12),
    ("liveHub", "liveDex", "native", 20 * 10**12),
    ("liveHub", "liveDex", "1984", 1000 * 10**6),
    ("liveDex", "liveHub", "5", 10**12),
    ("liveDex", "liveHub", "10", 100 * 10**6),
    ("liveDex", "liveRelay", "5", 10**12),
    ("liveRelay", "liveDex", "native", 10**12),
)


@pytest.fixture(scope="module")
def network(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Network]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    network = Network(app)
    if network.check("liveHub", "liveRelay", "native", 10**12).verdict != "ok":
        fund_teleports(app, network.relay, network.hub, ALICE)
    if USDT_PLACE not in accepted_assets(network):
        create_fee_pool(app, network.hub, USDT, ALICE)
    wait_for_quiet(app, network.hub)
    yield network
    finish(app.close())


def accepted_assets(network: Network) -> list[Any]:
    answer = finish(
        network.app.client(network.hub).runtime_call(
            "XcmPaymentApi", "query_acceptable_payment_assets", 5
        )
    )
    return [asset["V5"] for asset in answer["Ok"]]


def test_on_every_route_what_is_predicted_arrives(network: Network) -> None:
    rows = []
    for source, destination, asset, amount in ROUTES:
        to = fresh(32)
        transaction = network.draft(source, destination, asset, amount, to=to)
        check = transaction.check
        assert check is not None
        assert (check.verdict, check.reasons) == ("ok", ())
        assert check.computed is not None
        assert check.credited is not None
        arrived = network.arrived(transaction, destination, asset, to)
        rows.append(
            (
                source,
                destination,
                asset,
                amount,
                check.computed.value,
                check.credited.value,
                arrived,
            )
        )

    print(
        "\nroute                      asset    amount           computed         dry run   "
        "       arrived  deviation"
    )
    for source, destination, asset, amount, computed, credited, arrived in rows:
        print(
            f"{source[4:]:>5} > {destination[4:]:<16} {asset:>6} {amount:>16} "
            f"{computed:>16} {credited:>16} {arrived:>16}  {arrived - computed}"
        )
    assert [(row[4], row[5]) for row in rows] == [(row[6], row[6]) for row in rows]


def test_what_leaves_and_what_each_hop_takes_adds_up(network: Network) -> None:
    check = network.check("liveRelay", "liveDex", "native", 10**12)

    by_line = [(step.chain, step.what) for step in check.steps]
    assert by_line == [
        ("liveRelay", "leaves"),
        ("liveRelay", "transaction fee"),
        ("liveRelay", "delivery"),
        ("liveHub", "execution"),
        ("liveHub", "delivery"),
        ("liveDex", "execution"),
        ("liveDex", "computed arrival"),
        ("liveDex", "arrives"),
    ]
    value = {line: step.amount.value for line, step in zip(by_line, check.steps, strict=True)}
    tolls = (("liveHub", "execution"), ("liveHub", "delivery"), ("liveDex", "execution"))
    assert value["liveDex", "arrives"] == 10**12 - sum(value[line] for line in tolls)


def test_the_fee_predicted_is_the_fee_taken(network: Network) -> None:
    transaction = network.draft("liveRelay", "liveHub", "native", 10**12)
    assert transaction.check is not None
    predicted = transaction.check.steps[1].amount.value

    events = send(network.app, network.relay, transaction.call_data, ALICE)

    taken = next(
        event.fields["actual_fee"] for event in events if event.name == "TransactionFeePaid"
    )
    # The test signs with an immortal era, one byte shorter than the mortal one that is reckoned
    # with.
    assert 0 <= predicted - taken < predicted // 50


def test_a_call_that_moves_nothing_abroad_is_tried_too(network: Network) -> None:
    call = Call(pallet="System", method="remark_with_event", args={"remark": b"hello"})

    check = network.check_bytes(network.hub, call)

    assert (check.verdict, check.reasons) == ("ok", ())
    assert check.stops[0].events == ("System.Remarked",)


class TestMoneyTraps:
    def test_hdx_to_the_asset_hub_is_refused(self, network: Network) -> None:
        check = network.check("liveDex", "liveHub", "0", 10**15)

        assert check.verdict == "refused"
        # The Asset Hub says that it takes HDX by teleport, so that no reserve transfer is tried.
        filtered = (
            "liveDex refuses the call: PolkadotXcm.Filtered, the runtime does not allow this "
            "message"
        )
        assert f"as a teleport: {filtered}" in check.reasons
        assert {reason.partition(": ")[2] for reason in check.reasons} == {filtered}

    def test_a_wrong_reserve_that_every_chain_would_take_is_refused(self, network: Network) -> None:
        down = network.build(network.hub, network.dex, "native", 10**12)
        wrong_down = Call(
            pallet="XcmPallet",
            method=down.method,
            args={
                **down.args,
                "dest": {"V5": {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}},
                "assets": {
                    "V5": [{"id": {"parents": 0, "interior": "Here"}, "fun": {"Fungible": 10**12}}]
                },
                "remote_fees_id": {"V5": {"parents": 0, "interior": "Here"}},
            },
        )
        up = network.build(network.dex, network.hub, "5", 10**12)
        wrong_up = Call(
            pallet=up.pallet,
            method=up.method,
            args={**up.args, "dest": {"V5": {"parents": 1, "interior": "Here"}}},
        )

        down_check = network.check_bytes(network.relay, wrong_down)
        up_check = network.check_bytes(network.dex, wrong_up)

        # The runtimes themselves have nothing against the first.
        assert [stop.outcome for stop in down_check.stops] == ["ok", "ok"]
        assert down_check.reasons == (says("DOT", "liveRelay", "liveDex", "liveHub"),)
        assert down_check.verdict == up_check.verdict == "refused"
        assert any(
            "with liveRelay as its reserve, but liveHub backs it" in reason
            for reason in up_check.reasons
        )

    def test_an_arrival_below_the_existential_deposit_is_refused(self, network: Network) -> None:
        fee = 10**12 - _computed(network.check("liveRelay", "liveHub", "native", 10**12))

        check = network.check("liveRelay", "liveHub", "native", fee + 1000)

        assert check.verdict == "refused"
        assert check.stops[-1].outcome == "ok"
        assert check.reasons == (says("0.000000001", "KSM", "0.000003333333", "liveHub"),)

    def test_a_sender_without_native_for_the_delivery_is_refused(self, network: Network) -> None:
        poor = fresh(32)
        transfer = Call(
            pallet="Assets",
            method="transfer",
            args={"id": USDT, "target": {"Id": poor}, "amount": 50 * 10**6},
        )
        send(network.app, network.hub, transfer, ALICE)

        check = network.check("liveHub", "liveDex", "1984", 10 * 10**6, by=poor)

        assert check.verdict == "refused"
        fee, refusal = check.reasons
        assert fee.startswith("the sender can spend 0 KSM on liveHub: the fee of ")
        assert refusal.startswith("liveHub refuses the call: PolkadotXcm.")
        assert "FeesNotMet, the fee for delivering the message cannot be paid" in refusal

    def test_more_than_the_sender_has_is_refused(self, network: Network) -> None:
        check = network.check("liveRelay", "liveHub", "native", 10**25)

        assert check.verdict == "refused"
        assert any("would leave, fees included" in reason for reason in check.reasons)

    def test_too_little_set_aside_for_the_last_hop_is_refused(self, network: Network) -> None:
        call = network.build(network.relay, network.dex, "native", 10**12, last_hop_fee=1)

        check = network.check_bytes(network.relay, call)

        assert (check.verdict, [stop.outcome for stop in check.stops]) == (
            "refused",
            ["ok", "ok", "failed"],
        )
        failed, trapped = check.reasons
        assert failed == says("liveDex", "TooExpensive")
        assert "DOT would be trapped on liveDex: nobody would receive it." in trapped

    def test_more_set_aside_for_the_last_hop_than_arrives_is_refused(
        self, network: Network
    ) -> None:
        call = network.build(network.relay, network.dex, "native", 10**12, last_hop_fee=10**12)

        check = network.check_bytes(network.relay, call)

        assert (check.verdict, [stop.outcome for stop in check.stops]) == (
            "refused",
            ["ok", "ok", "failed"],
        )
        failed, trapped = check.reasons
        assert failed == says("liveDex", "NotHoldingFees")
        assert "DOT would be trapped on liveDex: nobody would receive it." in trapped


# Once for all of them: the rig's node does not take the same away twice in one block.
@pytest.fixture(scope="class")
def without_pool(network: Network) -> Iterator[Network]:
    """Take the pool away for which the Asset Hub accepts USDT."""
    client = network.app.client(network.hub)
    table = finish(client.table())
    reserves = finish(client.runtime_call("AssetConversionApi", "get_reserves", NATIVE, USDT_PLACE))
    holders = finish(read_entries(client, "Assets", "Account", USDT))
    pool = next(key[1] for key, held in holders if held["balance"] == reserves[1])
    keys = [
        storage_key(table, "AssetConversion", "Pools", [[NATIVE, USDT_PLACE]]).hex,
        storage_key(table, "Assets", "Account", [USDT, pool]).hex,
    ]
    kept = [finish(client.call("state_getStorage", key)) for key in keys]
    finish(client.call("dev_setStorage", [[key, None] for key in keys]))
    yield network
    finish(
        client.call("dev_setStorage", [[key, value] for key, value in zip(keys, kept, strict=True)])
    )


class TestFeeAssetThatIsNotAccepted:
    def test_alone_it_is_refused_with_the_remedy(self, without_pool: Network) -> None:
        app = without_pool.app

        with pytest.raises(InvalidRequest) as refused:
            finish(
                draft_transfer(
                    app,
                    Transfer(
                        source=without_pool.dex,
                        destination=without_pool.hub,
                        asset=app.assets.find(without_pool.dex, "10"),
                        amount=100 * 10**6,
                        beneficiary=fresh(32),
                    ),
                )
            )

        assert str(refused.value) == says("USDT", "liveDex", "liveHub", "check", "sender")

    def test_with_a_little_native_beside_it_it_arrives_whole(self, without_pool: Network) -> None:
        to = fresh(32)
        transaction = without_pool.draft("liveDex", "liveHub", "10", 100 * 10**6, to=to)

        arrived = without_pool.arrived(transaction, "liveHub", "10", to)

        check = transaction.check
        assert check is not None
        assert (check.verdict, check.reasons) == ("ok", ())
        assert _computed(check) == arrived == 100 * 10**6
        assert len(transaction.warnings) == 1
        assert transaction.warnings[0].endswith(
            " goes along and pays the fee on liveHub, which takes none in USDT; what is "
            "left of it is the receiver's"
        )

    def test_a_single_asset_made_by_hand_is_refused(self, without_pool: Network) -> None:
        call = without_pool.build(without_pool.dex, without_pool.hub, "10", 100 * 10**6)

        check = without_pool.check_bytes(without_pool.dex, call)

        assert (check.verdict, [stop.outcome for stop in check.stops]) == (
            "refused",
            ["ok", "failed"],
        )
        assert "TooExpensive" in check.reasons[0]


def _computed(check: Check) -> int:
    assert check.computed is not None
    return check.computed.value
