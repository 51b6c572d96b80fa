"""Transfers in one signature over an Asset Hub and the bridge between Polkadot and Kusama: what is
built, asked before, and refused."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.locations import read_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.plan import Plan, make_plan
from scenarioctl.transactions.transfer.routes import candidate_routes, find_route
from scenarioctl.transactions.transfer.xcm_calls import arriving_message, hub_message
from tests.conftest import BOB, Run
from tests.messages import says
from tests.network import FOREIGN_ASSET, FakeChain, FakeNetwork
from tests.runtimes import ASSETS, bundled
from tests.test_balances import registered
from tests.test_bridges import HERE, KUSAMA, POLKADOT, configure, exported, held, transfer
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    BOB_KEY,
    account,
    asset,
    call_effects,
    info,
    message_effects,
)

DELIVERY, EXECUTION, LAST = 1_500_000_000, 50_000_000, 70_000_000
DOT, KSM = 10**10, 10**12
HUB_BELOW, HUB_BESIDE = (
    {"parents": parents, "interior": {"X1": [{"Parachain": 1000}]}} for parents in (0, 1)
)
HYDRATION = {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}


@dataclass(frozen=True)
class Case:
    source: str
    hub: str
    destination: str
    asset: str
    amount: int
    #: How the last chain tells of its credit, without the amount.
    credit: Callable[[int], dict[str, Any]]

    @property
    def plan(self) -> Plan:
        wanted = replace(
            transfer(self.source, self.destination, self.asset, self.amount), sender=ALICE_KEY
        )
        route = find_route(wanted, ASSETS, fee_settled=True)
        plan = make_plan(wanted, route, bundled(self.source), bundled(self.destination))
        return replace(plan, last_hop_fee=2 * LAST, beside=self.beside)

    @property
    def beside(self) -> Any:
        if self.asset in ("5", "2/GlobalConsensus(Polkadot)", "DOT"):
            return None
        dot = ASSETS.counterpart(ASSETS.native(ASSETS.registry.find("assetHub")), self.chain)
        assert dot is not None
        fee = DELIVERY + EXECUTION + (DELIVERY + EXECUTION) // 10 + 10**8
        return dot, fee

    @property
    def chain(self) -> Any:
        return ASSETS.registry.find(self.source)

    @property
    def onward(self) -> int:
        """How much of it the Asset Hub sends on."""
        return self.amount if self.beside else self.amount - DELIVERY - EXECUTION


def _issued(place: Any) -> Callable[[int], dict[str, Any]]:
    return lambda amount: {
        "ForeignAssets": {"Issued": {"asset_id": place, "owner": BOB_KEY, "amount": amount}}
    }


def _minted(amount: int) -> dict[str, Any]:
    return {"Balances": {"Minted": {"who": BOB_KEY, "amount": amount}}}


def _deposited(number: int) -> Callable[[int], dict[str, Any]]:
    return lambda amount: {
        "Tokens": {"Deposited": {"currency_id": number, "who": BOB_KEY, "amount": amount}}
    }


CASES = {
    "DOT of Hydration": Case(
        "hydraDx", "assetHub", "assetHub_kusama", "5", 3 * DOT, _issued(POLKADOT)
    ),
    "KSM of Hydration": Case("hydraDx", "assetHub", "assetHub_kusama", "1000771", KSM, _minted),
    "DOT of Polkadot": Case(
        "polkadot", "assetHub", "assetHub_kusama", "DOT", 3 * DOT, _issued(POLKADOT)
    ),
    "DOT to Hydration": Case(
        "assetHub_kusama",
        "assetHub",
        "hydraDx",
        "2/GlobalConsensus(Polkadot)",
        3 * DOT,
        _deposited(5),
    ),
    "KSM to Hydration": Case(
        "assetHub_kusama", "assetHub", "hydraDx", "KSM", KSM, _deposited(1000771)
    ),
    "DOT to Polkadot": Case(
        "assetHub_kusama", "assetHub", "polkadot", "2/GlobalConsensus(Polkadot)", 3 * DOT, _minted
    ),
}


#: One of each kind: what pays out of the amount, and what something else pays for.
OUT_AND_BACK = CASES["DOT of Hydration"], CASES["KSM to Hydration"]


def sent_on(case: Case, amount: int | None = None) -> tuple[Any, Any]:
    """Return what the Asset Hub sends on: to the last chain, or to its Bridge Hub."""
    plan = case.plan
    onward = replace(plan.transfer, amount=case.onward if amount is None else amount)
    program = arriving_message(replace(plan, transfer=onward))["V5"]
    if case.destination == "assetHub_kusama":
        return exported("Kusama", program)
    return (HYDRATION if case.destination == "hydraDx" else HERE), {"V5": program}


def sent_first(case: Case) -> tuple[Any, Any]:
    program = hub_message(case.plan, ASSETS.registry.find(case.hub))["V5"]
    if case.source == "assetHub_kusama":
        return exported("Polkadot", program)
    return (HUB_BELOW if case.source == "polkadot" else HUB_BESIDE), {"V5": program}


def left(case: Case) -> list[dict[str, Any]]:
    """Return the event in which the Asset Hub gives the rest of what went along to the sender."""
    rest = case.beside[1] - DELIVERY - EXECUTION if case.beside else 0
    return [{"Balances": {"Minted": {"who": ALICE_KEY, "amount": rest}}}] if rest else []


@pytest.fixture(params=tuple(CASES.values()), ids=tuple(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def network(case: Case, tmp_path: Path) -> Iterator[FakeNetwork]:
    with FakeNetwork(tmp_path, (case.source, case.hub, case.destination)) as network:
        for chain in network.chains.values():
            chain.api.update(
                TrustedQueryApi_is_trusted_reserve={"Ok": True},
                XcmPaymentApi_query_delivery_fees={"Ok": {"V5": [asset(HERE, DELIVERY)]}},
                XcmPaymentApi_query_xcm_weight={"Ok": {"ref_time": 5, "proof_size": 5}},
                XcmPaymentApi_query_weight_to_asset_fee={"Ok": EXECUTION},
                XcmPaymentApi_query_acceptable_payment_assets={
                    "Ok": [{"V5": HERE}, {"V5": POLKADOT}]
                },
            )
        source, hub, last = network.chains.values()
        source.api.update(
            DryRunApi_dry_run_call=call_effects(sent_first(case)),
            TransactionPaymentApi_query_info=info(10**9),
        )
        if case.source == "hydraDx":
            source.api["XcmPaymentApi_query_delivery_fees"] = {"Ok": {"V5": []}}
        if case.source == "polkadot":
            source.api["XcmPaymentApi_query_delivery_fees"] = {
                "Ok": {"V5": [asset({"parents": 0, "interior": "Here"}, DELIVERY)]}
            }
        hub.api["DryRunApi_dry_run_xcm"] = message_effects(*left(case), forwarded=(sent_on(case),))
        last.api["DryRunApi_dry_run_xcm"] = message_effects(case.credit(case.onward - LAST))
        last.api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": LAST}
        fund(network)
        yield network


def fund(network: FakeNetwork) -> None:
    """Give Alice some of everything, wherever it is, by the reserve that the facts say."""
    polkadot, kusama = (
        f"2/GlobalConsensus({name})/Parachain(1000)" for name in ("Polkadot", "Kusama")
    )
    for name, chain in network.chains.items():
        chain.store("System", "Account", ALICE_KEY, value=account(10**15))
        if name == "hydraDx":
            for number in (5, 1000771):
                chain.store(
                    "Tokens",
                    "Accounts",
                    ALICE_KEY,
                    number,
                    value={"free": 10**13, "reserved": 0, "frozen": 0},
                )
                chain.store("AssetRegistry", "Assets", number, value=registered(17_540_000))
        for hub, place, reserve in (
            ("assetHub", KUSAMA, kusama),
            ("assetHub_kusama", POLKADOT, polkadot),
        ):
            if name == hub:
                chain.store("ForeignAssets", "Asset", place, value=FOREIGN_ASSET)
                chain.store("ForeignAssets", "Account", place, ALICE_KEY, value=held(10**13))
                configure(chain, place, reserve)


Try = Callable[..., Any]


@pytest.fixture
def build(network: FakeNetwork, case: Case, scenarioctl: Run) -> Try:
    def run(*words: str, sender: str = ALICE, amount: int = case.amount) -> Any:
        return scenarioctl(
            *("--config", str(network.config), "xcm", "asset-transfer", "--from", case.source),
            *("--to", case.destination, "--asset", case.asset, "--amount", f"{amount}raw"),
            *("--destinationaddress", BOB, *("--sender", sender) * bool(sender)),
            *("--output-format", "call", *words),
        )

    return run


def test_what_the_way_costs_and_whose_the_rest_is_is_told(case: Case, build: Try) -> None:
    ended = build()

    assert ended.code == 0, ended.err
    told = [line for line in ended.err.splitlines() if line.startswith("Warning: ")]
    assert told[0] == says("minutes to hours")
    assert told[1] == says("Polkadot Asset Hub", "for delivery to", "for executing the message")
    assert told[2] == says(
        "Polkadot Asset Hub", "the sender" if case.beside is None else "nothing goes on"
    )
    if case.source != "hydraDx":
        assert told[-1] == says("for delivery to Polkadot Asset Hub")
    table = bundled(case.source)
    assert table.decode_call(bytes.fromhex(ended.out.strip()[2:])).method == (
        "transfer_assets_using_type_and_then"
    )


def test_the_message_is_tried_on_the_asset_hub_as_it_arrives_there(
    case: Case, network: FakeNetwork, build: Try
) -> None:
    assert build().code == 0

    hub = network.chains[case.hub]
    ((_, data),) = [each for each in hub.asked if each[0] == "DryRunApi_dry_run_xcm"]
    inputs = hub.table.api_method("DryRunApi", "dry_run_xcm").inputs
    origin, at = hub.table.decode_at(inputs[0].type_id, data, 0)
    message, _ = hub.table.decode_at(inputs[1].type_id, data, at)
    program = hub_message(case.plan, ASSETS.registry.find(case.hub))["V5"]
    if case.source == "assetHub_kusama":
        assert origin == {"V5": read_location("1/Parachain(1002)")}
        assert message["V5"][:3] == [
            {"DescendOrigin": {"X1": [{"PalletInstance": 53}]}},
            {"UniversalOrigin": {"GlobalConsensus": "Kusama"}},
            {"DescendOrigin": {"X1": [{"Parachain": 1000}]}},
        ]
        assert message["V5"][3:] == program
    else:
        assert origin == {"V5": HERE if case.source == "polkadot" else HYDRATION}
        assert message["V5"] == program


def test_without_its_sender_nothing_is_built(build: Try) -> None:
    ended = build(sender="")

    assert (ended.code, ended.out) == (2, "")
    assert ended.said == says("Error: ", "sender", "Polkadot Asset Hub")


def test_a_sender_without_a_key_on_the_asset_hub_is_refused(build: Try) -> None:
    ended = build(sender="0x" + (b"modlpy/trsry" + bytes(20)).hex())

    assert (ended.code, ended.out) == (2, "")
    assert ended.said == says("Error: ", "pallet", "Polkadot Asset Hub")


def test_offline_nothing_is_built(case: Case, scenarioctl: Run) -> None:
    ended = scenarioctl(
        *("--offline", "xcm", "asset-transfer", "--from", case.source, "--to", case.destination),
        *("--asset", case.asset, "--amount", f"{case.amount}raw", "--sender", ALICE),
        *("--destinationaddress", BOB),
    )

    assert ended.code != 0 and not ended.out
    assert ended.said == says("Error: ", "Polkadot Asset Hub", "without --offline")


FAILED = {
    "Incomplete": {
        "used": {"ref_time": 1, "proof_size": 1},
        "error": {"index": 5, "error": "TooExpensive"},
    }
}
Change = Callable[[Case, FakeChain, FakeChain], None]


def api(which: int, name: str, value: Any) -> Change:
    return lambda case, *chains: chains[which].api.update({name: value})


def sends(amount: Callable[[Case], int]) -> Change:
    return lambda case, hub, last: hub.api.update(
        DryRunApi_dry_run_xcm=message_effects(forwarded=(sent_on(case, amount(case)),))
    )


def credits(amount: Callable[[Case], int]) -> Change:
    return lambda case, hub, last: last.api.update(
        DryRunApi_dry_run_xcm=message_effects(case.credit(amount(case)))
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            api(0, "DryRunApi_dry_run_xcm", message_effects(outcome=FAILED)),
            ("Polkadot Asset Hub", "fails"),
        ),
        (api(0, "DryRunApi_dry_run_xcm", message_effects()), ("Polkadot Asset Hub", "all of it")),
        (
            api(0, "DryRunApi_dry_run_xcm", {"Err": "Unimplemented"}),
            ("Polkadot Asset Hub", "Unimplemented"),
        ),
        (sends(lambda case: case.onward - DELIVERY), ("Polkadot Asset Hub", "all of it")),
        (api(0, "XcmPaymentApi_query_delivery_fees", {"Err": "Unroutable"}), ("Unroutable",)),
        (api(0, "XcmPaymentApi_query_delivery_fees", {"Ok": {"V5": []}}), ("fee", "none")),
        (api(1, "DryRunApi_dry_run_xcm", message_effects(outcome=FAILED)), ("fails", "trapped")),
        (api(1, "DryRunApi_dry_run_xcm", message_effects()), ("credit", "receiver")),
        (credits(lambda case: case.onward - 3 * LAST), ("credit", "receiver")),
        (api(1, "DryRunApi_dry_run_xcm", {"Err": "Unimplemented"}), ("Unimplemented",)),
        (api(1, "XcmPaymentApi_query_xcm_weight", {"Err": "Unimplemented"}), ("Unimplemented",)),
    ],
    ids=[
        *(
            "fails on the Asset Hub",
            "not sent on",
            "not tried",
            "sent on in part",
            "no way",
            "no fee",
        ),
        *(
            "fails at the end",
            "no credit",
            "too little credit",
            "not tried at the end",
            "not weighed",
        ),
    ],
)
@pytest.mark.parametrize("case", OUT_AND_BACK, ids=("out", "back"), indirect=True)
def test_what_could_not_go_all_the_way_is_refused(
    case: Case, network: FakeNetwork, build: Try, change: Change, words: tuple[str, ...]
) -> None:
    _, hub, last = network.chains.values()
    change(case, hub, last)

    ended = build()

    assert ended.code != 0 and not ended.out
    assert ended.said == says("Error: ", *words)


def test_a_reserve_that_is_not_trusted_now_is_refused(network: FakeNetwork, build: Try) -> None:
    for chain in network.chains.values():
        chain.api["TrustedQueryApi_is_trusted_reserve"] = {"Ok": False}

    ended = build()

    assert (ended.code, ended.out) == (2, "")
    assert ended.said == says("Error: ", "trust", "lost")


def test_less_than_the_fees_is_refused(case: Case, build: Try) -> None:
    ended = build(amount=10**8)

    if case.beside is None:
        assert (ended.code, ended.out) == (2, "")
        assert ended.said == says("Error: ", "amount", "too small", "Polkadot Asset Hub")
    else:
        # Something else pays; here, the Asset Hub was asked about another amount.
        assert ended.said == says("Error: ", "all of it")


def test_more_than_the_sender_holds_is_refused(build: Try) -> None:
    ended = build(amount=10**20)

    assert (ended.code, ended.out) == (2, "")
    assert ended.said == says("Error: ", "the sender can spend only")


def test_a_check_follows_it_to_the_end_and_never_says_ok(
    case: Case, network: FakeNetwork, scenarioctl: Run
) -> None:
    ended = scenarioctl(
        *(
            "--json",
            "--config",
            str(network.config),
            "tx",
            "check",
            "--sender",
            ALICE,
            "--from",
            case.source,
        ),
        *("--to", case.destination, "--asset", case.asset, "--amount", f"{case.amount}raw"),
        *("--destinationaddress", BOB),
    )

    answer = json.loads(ended.out or ended.err)
    assert (answer.get("verdict"), ended.code) == ("unknown", 5), answer
    assert answer["reasons"] == [says("bridge", "can't be simulated")]
    assert [(stop["chain"], stop["outcome"]) for stop in answer["stops"]] == [
        (name, "ok") for name in (case.source, case.hub, case.destination)
    ]
    arrived = {
        step["what"]: step["value"] for step in answer["steps"] if step["chain"] == case.destination
    }
    assert arrived["arrives"] == arrived["computed arrival"] == str(case.onward - LAST)


@pytest.mark.parametrize(
    ("source", "destination", "asset_id", "words"),
    [
        # Over both Asset Hubs to a chain beside the second one.
        ("hydraDx", "kusama", "1000771", ("Polkadot Asset Hub and Kusama Asset Hub",)),
        ("polkadot", "kusama", "DOT", ("Polkadot Asset Hub and Kusama Asset Hub",)),
        # No list has it between the Asset Hub and the parachain.
        (
            "assetHub",
            "basilisk",
            "2/GlobalConsensus(Kusama)",
            ("Basilisk", "by way of Kusama Asset Hub"),
        ),
        # No registry has it on the other Asset Hub.
        ("hydraDx", "assetHub_kusama", "1000762", ("Hydration", "by way of Polkadot Asset Hub")),
        # Neither network's: it doesn't cross at all.
        ("hydraDx", "assetHub_kusama", "0", ("Hydration", "by way of Polkadot Asset Hub")),
    ],
)
def test_what_no_lists_have_is_refused_and_no_check_opens_it(
    source: str, destination: str, asset_id: str, words: tuple[str, ...]
) -> None:
    wanted = replace(transfer(source, destination, asset_id), sender=ALICE_KEY)

    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, ASSETS, fee_settled=True)

    assert str(refused.value) == says(*words)
    assert candidate_routes(wanted, ASSETS) == ()
