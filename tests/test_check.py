"""A check claims nothing that no chain has shown: `ok` needs the beneficiary's credit, all else has
its sentence."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BOB, BOB_HEX, DATA, Ended, Run, without_echo
from tests.messages import Says, says
from tests.network import FakeNetwork, table_of
from tests.node import Refusal
from tests.test_cli import on_a_terminal, without_colours

ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
ALICE_KEY = bytes.fromhex("d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d")
BOB_KEY = bytes.fromhex(BOB_HEX[2:])

DOT = 10**10
AMOUNT = 15 * 10**9
FEE, DELIVERY, EXECUTION = 160_000_000, 300_000_000, 20_000_000
ARRIVING = AMOUNT - EXECUTION

NATIVE_UP = {"parents": 1, "interior": "Here"}
RELAY_TO_HUB = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
HUB_TO_DEX = {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}
DEX_TO_HUB = {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}
USDT_ON_HUB = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]}}


def location(account: bytes) -> dict[str, Any]:
    return {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": account}}]}}


def asset(place: Any, amount: int) -> dict[str, Any]:
    return {"id": place, "fun": {"Fungible": amount}}


def message(
    incoming: str = "ReceiveTeleportedAsset",
    place: Any = NATIVE_UP,
    amount: int = AMOUNT,
    to: bytes = BOB_KEY,
) -> dict[str, Any]:
    """Return what reaches a chain and is deposited there."""
    return {
        "V5": [
            {incoming: [asset(place, amount)]},
            "ClearOrigin",
            {"BuyExecution": {"fees": asset(place, amount), "weight_limit": "Unlimited"}},
            {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": location(to)}},
            {"SetTopic": b"\7" * 32},
        ]
    }


def call_effects(
    *forwarded: tuple[Any, Any], result: Any = None, events: tuple[Any, ...] = ()
) -> dict[str, Any]:
    return {
        "Ok": {
            "execution_result": result or {"Ok": {"actual_weight": None, "pays_fee": "Yes"}},
            "emitted_events": list(events),
            "local_xcm": None,
            "forwarded_xcms": [[{"V5": where}, [what]] for where, what in forwarded],
        }
    }


def message_effects(
    *events: Any, outcome: Any = None, forwarded: tuple[tuple[Any, Any], ...] = ()
) -> dict[str, Any]:
    complete = {"Complete": {"used": {"ref_time": 1, "proof_size": 1}}}
    return {
        "Ok": {
            "execution_result": outcome or complete,
            "emitted_events": list(events),
            "forwarded_xcms": [[{"V5": where}, [what]] for where, what in forwarded],
        }
    }


def minted(who: bytes = BOB_KEY, amount: int = ARRIVING) -> dict[str, Any]:
    return {"Balances": {"Minted": {"who": who, "amount": amount}}}


def incomplete(error: str) -> dict[str, Any]:
    return {
        "Incomplete": {
            "used": {"ref_time": 1, "proof_size": 1},
            "error": {"index": 2, "error": error},
        }
    }


def account(free: int, *, reserved: int = 0, frozen: int = 0) -> dict[str, Any]:
    data = {"free": free, "reserved": reserved, "frozen": frozen, "flags": 1 << 127}
    return {"nonce": 3, "consumers": 0, "providers": 1, "sufficients": 0, "data": data}


def fill(network: FakeNetwork) -> None:
    """Let a transfer of 1.5 DOT from polkadot to assetHub pass."""
    relay, hub, dex = (network.chains[name] for name in ("polkadot", "assetHub", "hydraDx"))
    delivery = {"Ok": {"V5": [asset({"parents": 0, "interior": "Here"}, DELIVERY)]}}
    relay.api.update(
        DryRunApi_dry_run_call=call_effects((RELAY_TO_HUB, message())),
        TransactionPaymentApi_query_info=info(FEE),
        XcmPaymentApi_query_delivery_fees=delivery,
    )
    relay.store("System", "Account", ALICE_KEY, value=account(5 * DOT))
    hub.api.update(
        DryRunApi_dry_run_xcm=message_effects(minted()),
        XcmPaymentApi_query_xcm_weight={"Ok": {"ref_time": 600, "proof_size": 8000}},
        XcmPaymentApi_query_weight_to_asset_fee={"Ok": EXECUTION},
    )
    dex.store("System", "Account", ALICE_KEY, value=account(10**16))


def info(fee: int) -> dict[str, Any]:
    return {"weight": {"ref_time": 1, "proof_size": 1}, "class": "Normal", "partial_fee": fee}


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    fill(network)
    return network


Check = Callable[..., dict[str, Any]]
TRANSFER = (
    *("--from", "polkadot", "--to", "assetHub", "--assetid", "DOT"),
    *("--amount", f"{AMOUNT}raw"),
)


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Check:
    """Run `tx check --json` with these words, and return its answer with the exit code in it."""

    def run(*words: str, sender: str = ALICE) -> dict[str, Any]:
        ended = scenarioctl(
            "--json", "--config", str(network.config), "tx", "check", *words, "--sender", sender
        )
        answer: dict[str, Any] = json.loads(ended.out)
        return {**answer, "exit": ended.code}

    return run


def transfer_check(check: Check) -> dict[str, Any]:
    return check(*TRANSFER, "--destinationaddress", BOB)


def test_what_leaves_what_each_hop_takes_and_what_arrives(check: Check) -> None:
    answer = transfer_check(check)

    assert (answer["verdict"], answer["reasons"], answer["warnings"], answer["exit"]) == (
        "ok",
        [],
        [],
        0,
    )
    assert [(step["chain"], step["what"], step["human"]) for step in answer["steps"]] == [
        ("polkadot", "leaves", "1.5 DOT"),
        ("polkadot", "transaction fee", "0.016 DOT"),
        ("polkadot", "delivery", "0.03 DOT"),
        ("assetHub", "execution", "0.002 DOT"),
        ("assetHub", "computed arrival", "1.498 DOT"),
        ("assetHub", "arrives", "1.498 DOT"),
    ]
    arrived = {"value": "14980000000", "asset": "DOT", "human": "1.498 DOT"}
    assert answer["arrival"] == {"computed": arrived, "credited": arrived}
    assert [(stop["chain"], stop["tried"], stop["outcome"]) for stop in answer["stops"]] == [
        ("polkadot", "call", "ok"),
        ("assetHub", "message", "ok"),
    ]
    assert answer["stops"][1]["weight"] == {"ref_time": "600", "proof_size": "8000"}
    assert answer["stops"][1]["events"] == ["Balances.Minted"]


def test_the_message_is_tried_byte_for_byte_as_it_is_forwarded(
    network: FakeNetwork, check: Check
) -> None:
    transfer_check(check)

    relay, hub = network.chains["polkadot"], network.chains["assetHub"]
    tried = dict(hub.asked)["DryRunApi_dry_run_xcm"]
    message_type = hub.table.api_method("DryRunApi", "dry_run_xcm").inputs[1].type_id
    origin = hub.table.encode(
        hub.table.api_method("DryRunApi", "dry_run_xcm").inputs[0].type_id, {"V5": NATIVE_UP}
    )
    assert tried == origin + hub.table.encode(message_type, message())
    # The origin by the runtime's own type, the call, and the version that the messages come back
    # in.
    asked = dict(relay.asked)["DryRunApi_dry_run_call"]
    assert asked.startswith(b"\0\1" + ALICE_KEY)
    assert asked.endswith((5).to_bytes(4, "little"))


def test_the_fee_is_asked_for_a_signed_transaction(network: FakeNetwork, check: Check) -> None:
    transfer_check(check)

    asked = dict(network.chains["polkadot"].asked)["TransactionPaymentApi_query_info"]
    extrinsic, length = asked[:-4], int.from_bytes(asked[-4:], "little")
    assert length == len(extrinsic)
    # Behind its length of two bytes: version 4, signed, by Alice.
    assert extrinsic[2:4] == b"\x84\x00"
    assert extrinsic[4:36] == ALICE_KEY


def test_on_a_terminal_it_is_a_table(network: FakeNetwork, tmp_path: Path) -> None:
    words = ("tx", "check", *TRANSFER, "--destinationaddress", BOB, "--sender", ALICE)

    drawn, said, code = on_a_terminal(tmp_path, "--config", str(network.config), *words)

    assert without_colours(drawn) == says("chain", "1.5", "DOT", "0.016")
    assert (without_echo(said), code) == ("", 0)


# Faults: what no chain shows is not claimed

Change = Callable[[FakeNetwork], None]


def trap(_: bytes) -> Any:
    raise Refusal(-32603, "Internal error: wasm trap: unreachable")


def module_error(pallet: str, name: str) -> dict[str, Any]:
    """Return how a call fails with an error of a pallet of polkadot, by its numbers."""
    table = table_of("polkadot")
    _, index, _ = table._places[pallet]
    number = next(
        row[1] for row in table.types[table._pallet(pallet)["error"]][3] if row[0] == name
    )
    error = {"Module": {"index": index, "error": bytes((number, 0, 0, 0))}}
    return {"Err": {"post_info": {"actual_weight": None, "pays_fee": "Yes"}, "error": error}}


def api(chain: str, name: str, value: Any) -> Change:
    return lambda network: network.chains[chain].api.__setitem__(name, value)


def relay(value: Any) -> Change:
    return api("polkadot", "DryRunApi_dry_run_call", value)


def hub(value: Any) -> Change:
    return api("assetHub", "DryRunApi_dry_run_xcm", value)


def balance(**amounts: int) -> Change:
    return lambda network: network.chains["polkadot"].store(
        "System", "Account", ALICE_KEY, value=account(**amounts)
    )


def carrying(amount: int) -> Change:
    """Let the message that leaves bring *amount*, all of which is credited but the fee."""

    def change(network: FakeNetwork) -> None:
        relay(call_effects((RELAY_TO_HUB, message(amount=amount))))(network)
        hub(message_effects(minted(amount=max(amount - EXECUTION, 1))))(network)

    return change


NOBODY = says("no DOT is credited to the beneficiary on Polkadot Asset Hub")
#: What is changed, the verdict, and what the one reason says.
FAULTS: dict[str, tuple[Change, str, Says]] = {
    "a version of XCM that the destination does not know": (
        *(hub({"Err": "VersionedConversionFailed"}), "unknown"),
        says("DryRunApi_dry_run_xcm", "Polkadot Asset Hub", "VersionedConversionFailed"),
    ),
    "wasm that traps": (
        *(relay(trap), "unknown"),
        says("DryRunApi_dry_run_call of Polkadot failed", "unreachable (-32603)"),
    ),
    "an answer that is cut": (
        *(hub(b"\0\0\0"), "unknown"),
        says("Polkadot Asset Hub", "XcmDryRunEffects", "proof_size: the bytes end early"),
    ),
    "a destination that cannot be reached": (
        *(lambda network: network.cut("assetHub"), "unknown"),
        says("Polkadot Asset Hub cannot be reached", "ws://127.0.0.1:1/"),
    ),
    "a message to where no chain is": (
        *(relay(call_effects((HUB_TO_DEX, message()))), "unknown"),
        says("1/Parachain(2034)", "not a chain of the registry"),
    ),
    "a fee that the chain does not tell": (
        *(api("polkadot", "TransactionPaymentApi_query_info", trap), "unknown"),
        says("TransactionPaymentApi_query_info of Polkadot failed"),
    ),
    "a delivery fee that the chain does not tell": (
        api("polkadot", "XcmPaymentApi_query_delivery_fees", {"Err": "Unroutable"}),
        *("unknown", says("XcmPaymentApi_query_delivery_fees of Polkadot", "Unroutable")),
    ),
    "a call that sends nothing": (
        *(relay(call_effects()), "refused"),
        says("the transfer ends on Polkadot instead of Polkadot Asset Hub"),
    ),
    "a message that completes and credits nobody": (hub(message_effects()), "refused", NOBODY),
    "a credit of somebody else": (hub(message_effects(minted(who=ALICE_KEY))), "refused", NOBODY),
    "a message that fails after a credit": (
        *(hub(message_effects(minted(), outcome=incomplete("Barrier"))), "refused"),
        says("fails on Polkadot Asset Hub: Barrier", "trapped or lost there"),
    ),
    "a call that its chain refuses": (
        *(relay(call_effects(result=module_error("XcmPallet", "FeesNotMet"))), "refused"),
        says("Polkadot refuses the call: XcmPallet.FeesNotMet"),
    ),
    "a wrong reserve that nobody refuses": (
        *(relay(call_effects((RELAY_TO_HUB, message("ReserveAssetDeposited")))), "refused"),
        says("DOT", "Polkadot as its reserve", "Polkadot Asset Hub backs it", "wrong place"),
    ),
    "a message that carries too little": (
        *(carrying(AMOUNT // 100), "refused", says("1.5 DOT should leave", "carries 0.015 DOT")),
    ),
    "a message that carries too much": (
        *(carrying(2 * AMOUNT), "refused", says("1.5 DOT should leave", "carries 3 DOT")),
    ),
    "a message that carries nothing": (
        *(carrying(0), "unknown", says("1.5 DOT should leave", "none is seen")),
    ),
    "a fee that would take the existential deposit": (
        *(balance(free=DOT), "refused"),
        says("can spend 1 DOT", "fee of 0.016 DOT", "only if the existential deposit of 1 DOT"),
    ),
    "the amount but not the fees": (
        *(balance(free=int(1.54 * DOT)), "refused"),
        says("can spend 1.54 DOT on Polkadot", "1.546 DOT would leave"),
    ),
}


@pytest.mark.parametrize(("change", "verdict", "reason"), FAULTS.values(), ids=FAULTS)
def test_nothing_is_called_ok_that_is_not_shown(
    network: FakeNetwork, check: Check, change: Change, verdict: str, reason: Says
) -> None:
    change(network)

    answer = transfer_check(check)

    assert (answer["verdict"], answer["exit"]) == (verdict, {"refused": 6, "unknown": 5}[verdict])
    assert answer["reasons"] == [reason]
    # Its route is open without a check.
    assert answer["txdata"]


def old_runtime(network: FakeNetwork, chain: str, file: str, spec_version: int) -> None:
    """Let *chain* run a runtime of the past, whose metadata the node serves in its own version
    14."""
    data = (DATA / "metadata" / file).read_bytes()
    fake = network.chains[chain]
    version = {"specName": fake.table.spec_name, "specVersion": spec_version}
    fake.node.answers.update(state_getRuntimeVersion=version, state_getMetadata="0x" + data.hex())

    def call(name: str, _: str, *__: Any) -> Any:
        raise Refusal(-32603, f"Exported method {name} is not found")

    fake.node.answers["state_call"] = call


def test_a_source_without_dry_runs_proves_nothing(network: FakeNetwork, check: Check) -> None:
    old_runtime(network, "polkadot", "polkadot-1002005.v14.scale", 1002005)

    answer = transfer_check(check)

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert (
        "the runtime polkadot 1002005 of Polkadot has no DryRunApi_dry_run_call"
        in answer["reasons"]
    )


def test_an_arrival_below_the_existential_deposit_is_lost(
    network: FakeNetwork, check: Check
) -> None:
    hub = network.chains["assetHub"]
    hub.api["DryRunApi_dry_run_xcm"] = message_effects()
    hub.api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": AMOUNT - 1000}

    answer = transfer_check(check)

    assert answer["reasons"] == [says("0.0000001", "DOT", "0.01", "Polkadot Asset Hub")]


def test_a_weight_that_is_not_told_leaves_open_what_is_taken(
    network: FakeNetwork, check: Check
) -> None:
    network.chains["assetHub"].api["XcmPaymentApi_query_xcm_weight"] = {
        "Err": "WeightNotComputable"
    }

    answer = transfer_check(check)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("0.002", "DOT", "Polkadot Asset Hub", "WeightNotComputable")]
    assert answer["warnings"] == [
        says("XcmPaymentApi_query_xcm_weight", "Polkadot Asset Hub", "WeightNotComputable")
    ]
    assert answer["arrival"]["computed"] is None
    assert answer["arrival"]["credited"]["human"] == "1.498 DOT"


def test_two_answers_that_differ_are_told(network: FakeNetwork, check: Check) -> None:
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        minted(amount=ARRIVING - 1)
    )

    answer = transfer_check(check)

    assert answer["verdict"] == "ok"
    assert answer["warnings"] == [says("1.498", "DOT", "Polkadot Asset Hub", "1.4979999999")]


def test_what_would_be_left_below_the_existential_deposit_is_told(
    network: FakeNetwork, check: Check
) -> None:
    balance(free=2 * DOT)(network)

    answer = transfer_check(check)

    assert answer["verdict"] == "ok"
    assert answer["warnings"] == [says("0.454", "DOT", "1")]


# Any call

REMARK = "0x00071468656c6c6f"


def remark_effects(*events: Any, result: Any = None) -> dict[str, Any]:
    return call_effects(result=result, events=events)


def test_any_call_is_tried(network: FakeNetwork, check: Check) -> None:
    remarked = {"System": {"Remarked": {"sender": ALICE_KEY, "hash": b"\1" * 32}}}
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = remark_effects(remarked)

    answer = check(REMARK, "--chain", "polkadot")

    assert (answer["verdict"], answer["reasons"], answer["exit"]) == ("ok", [], 0)
    assert answer["txdata"] == "0x240400071468656c6c6f"
    assert answer["stops"] == [
        {"chain": "polkadot", "tried": "call", "outcome": "ok", "events": ["System.Remarked"]}
    ]
    assert [(step["what"], step["human"]) for step in answer["steps"]] == [
        ("transaction fee", "0.016 DOT")
    ]


def test_the_accounts_that_a_message_names_must_be_credited(
    network: FakeNetwork, check: Check
) -> None:
    passes = check(REMARK, "--chain", "polkadot")
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects()
    fails = check(REMARK, "--chain", "polkadot")

    assert passes["verdict"] == "ok"
    assert passes["arrival"]["credited"]["human"] == "1.498 DOT"
    assert fails["reasons"] == [says("DOT", "Polkadot Asset Hub")]


def two_assets() -> dict[str, Any]:
    """Return a message in which DOT pays the fee for USDT."""
    brought = [asset(USDT_ON_HUB, 10**8), asset(NATIVE_UP, EXECUTION)]
    return {
        "V5": [
            {"WithdrawAsset": brought},
            "ClearOrigin",
            {"BuyExecution": {"fees": asset(NATIVE_UP, EXECUTION), "weight_limit": "Unlimited"}},
            {
                "DepositAsset": {
                    "assets": {"Wild": {"AllCounted": 2}},
                    "beneficiary": location(BOB_KEY),
                }
            },
            {"SetTopic": b"\7" * 32},
        ]
    }


@pytest.mark.parametrize(
    ("event", "verdict", "reasons"),
    [
        ({"Assets": {"Issued": {"asset_id": 1984, "owner": BOB_KEY, "amount": 10**8}}}, "ok", []),
        (
            minted(amount=1),
            "refused",
            [
                (
                    "no USDt is credited to the beneficiary on Polkadot Asset Hub, although "
                    "nothing fails there"
                )
            ],
        ),
    ],
    ids=["the asset", "only what was left of the fee"],
)
def test_what_pays_the_fee_for_another_asset_may_be_used_up(
    network: FakeNetwork, check: Check, event: Any, verdict: str, reasons: list[str]
) -> None:
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(
        (RELAY_TO_HUB, two_assets())
    )
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(event)

    answer = check(REMARK, "--chain", "polkadot")

    assert (answer["verdict"], answer["reasons"]) == (verdict, reasons)
    assert answer["arrival"]["computed"] == {
        "value": "100000000",
        "asset": "USDt",
        "human": "100 USDt",
    }
    told = [warning for warning in answer["warnings"] if "goes along" in warning]
    assert told == [says("0.002 DOT goes along", "0.002 DOT now", "trapped")]


# Remarks and flows

STEPS = """
[[steps]]
type = "xTransfer"
source_chain = "polkadot"
dest_chain = "assetHub"
destination_address = "{to}"
amount = "1.5"
assetid = "DOT"

[[steps]]
type = "Remark"
chain = "polkadot"
text = "paid in full"
"""


def with_remarks(network: FakeNetwork, remarked: Any = None) -> None:
    """Let a remark on polkadot pass beside the transfer, or end as *remarked* says."""

    def tried(arguments: bytes) -> Any:
        if b"paid in full" in arguments:
            return remarked or call_effects()
        return call_effects((RELAY_TO_HUB, message()))

    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = tried


def create_flow(
    network: FakeNetwork, scenarioctl: Run, text: str, *, as_json: bool = True
) -> Ended:
    path = network.config.with_name("flow.toml")
    path.write_text(text, encoding="utf-8")
    words = (
        *("create", "flow", str(path), "--check", "--sender", ALICE),
        *(["--json"] if as_json else []),
    )
    return scenarioctl("--config", str(network.config), *words)


def count_stored(network: FakeNetwork, scenarioctl: Run) -> int:
    listed = scenarioctl("--config", str(network.config), "--json", "scenario", "list")
    total: int = json.loads(listed.out)["total"]
    return total


def test_what_would_not_go_through_is_not_stored(network: FakeNetwork, scenarioctl: Run) -> None:
    with_remarks(network, call_effects(result=module_error("System", "CallFiltered")))
    hub(message_effects())(network)
    words = ("--config", str(network.config), "create")
    checking = ("--check", "--sender", ALICE)

    remark = scenarioctl(
        *(*words, "remark", "--chain", "polkadot", "--text", "paid in full", *checking)
    )
    transfer = scenarioctl(
        *(*words, "scenario", "--from", "polkadot", "--to", "assetHub", "--assetid", "DOT"),
        *("--amount", "1.5", "--destination-address", BOB, *checking),
    )

    assert (remark.out, remark.code, transfer.out, transfer.code) == ("", 6, "", 6)
    assert remark.err.startswith(
        "Error: the check refuses this transaction: Polkadot refuses the call: System.CallFiltered"
    )
    assert count_stored(network, scenarioctl) == 0


def test_each_step_of_a_flow_is_tried_before_it_is_stored(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    with_remarks(network)

    ended = create_flow(network, scenarioctl, STEPS.format(to=BOB))

    answer = json.loads(ended.out)
    assert ended.code == 0
    assert ended.said == says("checked", "chains")
    assert [(each["summary"], each["verdict"]) for each in answer["checks"]] == [
        ("polkadot > xTransfer > assetHub", "ok"),
        ("polkadot > Remark > polkadot", "ok"),
    ]
    assert answer["checks"][0]["arrival"]["credited"]["human"] == "1.498 DOT"
    exported = scenarioctl(
        *(
            *("--config", str(network.config), "--json", "scenario", "export", answer["result"]),
            *("--as", "json"),
        )
    )
    assert [each["node"] for each in answer["checks"]] == [
        node["id"] for node in json.loads(exported.out)["nodes"] if node["type"] == "action"
    ]


def test_a_flow_one_of_whose_steps_would_fail_is_not_stored(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    with_remarks(network, call_effects(result=module_error("System", "CallFiltered")))

    ended = create_flow(network, scenarioctl, STEPS.format(to=BOB), as_json=False)

    assert (ended.out, ended.code) == ("", 6)
    assert re.fullmatch(
        (
            r"Error: steps\[1\]: the check refuses this transaction: Polkadot refuses the "
            r"call: System.CallFiltered.*\n"
        ),
        ended.err,
    )
    assert count_stored(network, scenarioctl) == 0


def test_a_step_that_waits_for_data_is_said_not_to_be_checked(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    with_remarks(network)
    webhook = '[[steps]]\ntype = "webhook"\nname = "payouts"\n'

    ended = create_flow(network, scenarioctl, webhook + STEPS.format(to="{{ address }}"))

    answer = json.loads(ended.out)
    assert [each["summary"] for each in answer["checks"]] == ["polkadot > Remark > polkadot"]
    assert ended.said == says("steps[1]", "destination_address")
    assert [each["step"] for each in answer["checks"]] == ["steps[2]"]
    assert count_stored(network, scenarioctl) == 1


def test_a_flow_without_transactions_says_that_nothing_was_checked(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    ended = create_flow(network, scenarioctl, '[[steps]]\ntype = "delay"\nseconds = 1\n')

    assert ended.said == says("checked", "transaction")
    assert json.loads(ended.out)["checks"] == []


def test_a_transfer_to_oneself_moves_nothing_and_is_refused(
    network: FakeNetwork, check: Check
) -> None:
    """A pallet of tokens tells of a transfer to oneself too, though it moves nothing."""
    moved = {"asset_id": 1984, "from": ALICE_KEY, "to": ALICE_KEY, "amount": 10**6}
    place = network.chains["assetHub"]
    place.api.update(
        DryRunApi_dry_run_call=call_effects(events=({"Assets": {"Transferred": moved}},)),
        TransactionPaymentApi_query_info=info(FEE),
    )
    place.store("System", "Account", ALICE_KEY, value=account(5 * DOT))

    answer = check(
        *("--from", "assetHub", "--to", "assetHub", "--assetid", "1984", "--amount", "1000000raw"),
        *("--destinationaddress", ALICE),
    )

    assert (answer["verdict"], answer["exit"]) == ("refused", 6)
    assert (
        "the receiver is the sender: nothing would move on Polkadot Asset Hub, but the fee "
        "would be paid"
    ) in answer["reasons"]
