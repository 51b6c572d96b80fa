"""A check claims nothing that no chain has shown: `ok` needs the beneficiary's credit, all else has
its sentence."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.scale import encode_compact
from tests.conftest import BOB, BOB_HEX, DATA, Ended, Run, without_echo
from tests.messages import Says, says
from tests.network import FakeNetwork, table_of
from tests.node import Refusal
from tests.refusals import refused
from tests.serving import Serving
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
def network(tmp_path: Path) -> Iterator[FakeNetwork]:
    with FakeNetwork(tmp_path) as network:
        fill(network)
        yield network


Check = Callable[..., dict[str, Any]]
TRANSFER = (
    "--from",
    "polkadot",
    "--to",
    "assetHub",
    "--assetid",
    "DOT",
    "--amount",
    f"{AMOUNT}raw",
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


@pytest.mark.parametrize("amount", ["1.5", "1.5 DOT", "15 000 000 000 raw"])
def test_whole_tokens_are_checked_and_told_in_both_units(
    network: FakeNetwork, scenarioctl: Run, check: Check, amount: str
) -> None:
    words = (*TRANSFER[:-1], amount, "--destinationaddress", BOB)

    ended = scenarioctl(
        "--config", str(network.config), "tx", "check", *words, "--sender", ALICE, "--json"
    )

    assert {**json.loads(ended.out), "exit": 0} == transfer_check(check)
    assert ended.err.splitlines()[0] == f"amount {amount} = 1.5 DOT (15000000000 raw)"


@pytest.mark.parametrize(
    "amount", ["1000000", "15_000_000_000", "15,000,000,000", "15 000 000 000", "2e10"]
)
def test_a_number_that_was_in_the_smallest_unit_does_not_change_its_meaning(
    check: Check, amount: str
) -> None:
    whole = int(Decimal(amount.replace(",", "").replace(" ", "")))

    answer = check(*TRANSFER[:-1], amount, "--destinationaddress", BOB)

    error = says("amount", amount, f"{whole}raw (smallest unit) or {whole}.0 (whole tokens)")
    assert refused(answer) == {"error": error, "code": "invalid_request", "exit": 2}


def test_over_http_an_amount_is_raw_unless_its_unit_says_otherwise(tmp_path: Path) -> None:
    body = {"sender": ALICE, "sourchain": "polkadot", "destchain": "assetHub", "assetid": "DOT"}
    with Serving(tmp_path, offline=True) as served:

        def said(amount: object, **fields: str) -> tuple[int, str]:
            sent = {**body, "destinationaddress": BOB, "amount": amount, **fields}
            answer = served.post("/api/tx/check", sent)
            return answer.status, answer.json()["error"]

        assert said("1.5") == (422, says("amount", "1.5", "15000000000"))
        assert said("1,500", unit="tokens") == (422, says("amount", "1500 or 1.5"))
        assert said("1.5", unit="dollars") == (422, says("unit", "dollars", "raw", "tokens"))
        # These are sound, and need the chain.
        accepted = [
            said(15000000000),
            said(1.5, unit="tokens"),
            said("15000000000raw", unit="tokens"),
        ]
        assert {status for status, _ in accepted} == {503}
        both = served.post(
            "/api/tx/check", {"sender": ALICE, "tx": REMARK, "chain": "polkadot", "unit": "tokens"}
        )
        assert both.json()["error"] == says("tx", "unit")


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


def test_a_refused_transfer_is_not_handed_out(network: FakeNetwork, scenarioctl: Run) -> None:
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects()
    words = (
        "--config",
        str(network.config),
        "xcm",
        "asset-transfer",
        *TRANSFER,
        "--destinationaddress",
        BOB,
    )

    ended = scenarioctl(*words, "--check", "--sender", ALICE)

    assert (ended.out, ended.code) == ("", 6)
    assert ended.err == says("check", "DOT", "Polkadot Asset Hub").printed


def test_what_stays_unknown_is_not_handed_out(network: FakeNetwork, scenarioctl: Run) -> None:
    network.cut("assetHub")
    words = (
        "--config",
        str(network.config),
        "xcm",
        "asset-transfer",
        *TRANSFER,
        "--destinationaddress",
        BOB,
    )

    ended = scenarioctl(*words, "--check", "--sender", ALICE)

    assert (ended.out, ended.code) == ("", 5)
    assert ended.err.startswith(
        "Error: the check could not prove that this transaction does what it should: "
        "Polkadot Asset Hub cannot be reached (ws://127.0.0.1:1/ did not open"
    )


def test_a_transfer_that_passes_is_handed_out_as_without_a_check(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    words = (
        "--config",
        str(network.config),
        "xcm",
        "asset-transfer",
        *TRANSFER,
        "--destinationaddress",
        BOB,
    )

    plain = scenarioctl(*words)
    checked = scenarioctl(*words, "--check", "--sender", ALICE)
    as_json = scenarioctl("--json", *words, "--check", "--sender", ALICE)

    assert (checked.out, checked.said, checked.code) == (plain.out, "", 0)
    answer = json.loads(as_json.out)
    assert answer["txdata"] == plain.out.strip()
    assert answer["check"]["verdict"] == "ok"


def test_a_scenario_is_created_only_if_its_transfer_passes(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    words = (
        *(
            "--config",
            str(network.config),
            "create",
            "scenario",
            "--from",
            "polkadot",
            "--to",
            "assetHub",
        ),
        *(
            "--assetid",
            "DOT",
            "--amount",
            "1.5",
            "--destination-address",
            BOB,
            "--check",
            "--sender",
            ALICE,
        ),
    )

    created = scenarioctl(*words)
    full = scenarioctl(
        *("--json", "--config", str(network.config), "scenario", "full", created.out.strip()),
        *("--check", "--sender", ALICE),
    )
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects()
    refused = scenarioctl(*words)
    stored = scenarioctl("--json", "--config", str(network.config), "scenario", "list")

    assert created.code == 0
    assert "(valid address, new account)" in created.err
    assert json.loads(full.out)["check"]["verdict"] == "ok"
    assert refused.code == 6
    assert json.loads(stored.out)["total"] == 1


def test_a_checked_transfer_to_an_account_that_exists_says_so(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    hub = network.chains["assetHub"]
    hub.store("System", "Account", BOB_KEY, value=account(5 * DOT))

    created = scenarioctl(
        *(
            "--config",
            str(network.config),
            "create",
            "scenario",
            "--from",
            "polkadot",
            "--to",
            "assetHub",
        ),
        *(
            "--assetid",
            "DOT",
            "--amount",
            "1.5",
            "--destination-address",
            BOB,
            "--check",
            "--sender",
            ALICE,
        ),
    )

    assert created.code == 0
    assert created.err.startswith(
        f"Created {created.out.strip()}: 1.5 DOT, Polkadot → Asset Hub, to "
    )
    assert created.err.splitlines()[0].endswith(" (valid address, existing account)")


@pytest.mark.parametrize(
    "words",
    [
        ("xcm", "asset-transfer", *TRANSFER, "--destinationaddress", BOB, "--check"),
        ("tx", "check", *TRANSFER, "--destinationaddress", BOB, "--sender", ""),
    ],
)
def test_a_check_needs_a_sender(
    network: FakeNetwork, scenarioctl: Run, words: tuple[str, ...]
) -> None:
    ended = scenarioctl("--config", str(network.config), *words)

    assert ended.err == says("sender", "missing").printed
    assert ended.code == 2


def test_offline_nothing_is_checked(network: FakeNetwork, scenarioctl: Run) -> None:
    words = (
        "xcm",
        "asset-transfer",
        *TRANSFER,
        "--destinationaddress",
        BOB,
        "--check",
        "--sender",
        ALICE,
    )

    ended = scenarioctl("--offline", "--config", str(network.config), *words)

    assert ended.err == says("Polkadot", "--offline").printed
    assert ended.code == 5


def test_on_a_terminal_it_is_a_table(network: FakeNetwork, tmp_path: Path) -> None:
    words = ("tx", "check", *TRANSFER, "--destinationaddress", BOB, "--sender", ALICE)

    drawn, said, code = on_a_terminal(tmp_path, "--config", str(network.config), *words)

    assert without_colours(drawn) == says("chain", "1.5", "DOT", "15000000000", "0.016")
    assert (without_echo(said), code) == ("", 0)


# Faults: what no chain shows is not claimed

Change = Callable[[FakeNetwork], None]


def api(chain: str, name: str, value: Any) -> Change:
    return lambda network: network.chains[chain].api.__setitem__(name, value)


def trap(_: bytes) -> Any:
    raise Refusal(-32603, "Internal error: wasm trap: unreachable")


def balance(**amounts: int) -> Change:
    return lambda network: network.chains["polkadot"].store(
        "System", "Account", ALICE_KEY, value=account(**amounts)
    )


def module_error(pallet: str, name: str) -> dict[str, Any]:
    """Return how a call fails with an error of a pallet of polkadot, by its numbers."""
    table = table_of("polkadot")
    _, index, _ = table._places[pallet]
    number = next(
        row[1] for row in table.types[table._pallet(pallet)["error"]][3] if row[0] == name
    )
    error = {"Module": {"index": index, "error": bytes((number, 0, 0, 0))}}
    return {"Err": {"post_info": {"actual_weight": None, "pays_fee": "Yes"}, "error": error}}


def carrying(amount: int) -> Change:
    """Let the message that leaves bring *amount*, all of which is credited but the fee."""

    def change(network: FakeNetwork) -> None:
        relay, hub = network.chains["polkadot"], network.chains["assetHub"]
        relay.api["DryRunApi_dry_run_call"] = call_effects((RELAY_TO_HUB, message(amount=amount)))
        hub.api["DryRunApi_dry_run_xcm"] = message_effects(
            minted(amount=max(amount - EXECUTION, 1))
        )

    return change


FAULTS: list[Any] = [
    pytest.param(
        api("assetHub", "DryRunApi_dry_run_xcm", {"Err": "VersionedConversionFailed"}),
        "unknown",
        "DryRunApi_dry_run_xcm of Polkadot Asset Hub returned the error VersionedConversionFailed",
        id="a version of XCM that the destination does not know",
    ),
    pytest.param(
        api("polkadot", "DryRunApi_dry_run_call", {"Err": "VersionedConversionFailed"}),
        "unknown",
        "DryRunApi_dry_run_call of Polkadot returned the error VersionedConversionFailed",
        id="a version of XCM that the source does not know",
    ),
    pytest.param(
        api("polkadot", "DryRunApi_dry_run_call", {"Err": "Unimplemented"}),
        "unknown",
        "DryRunApi_dry_run_call of Polkadot returned the error Unimplemented",
        id="a dry run that the runtime does not implement",
    ),
    pytest.param(
        api("polkadot", "DryRunApi_dry_run_call", trap),
        "unknown",
        (
            "DryRunApi_dry_run_call of Polkadot failed on the node: Internal error: wasm trap: "
            "unreachable (-32603)"
        ),
        id="wasm that traps on the source",
    ),
    pytest.param(
        api("assetHub", "DryRunApi_dry_run_xcm", trap),
        "unknown",
        (
            "DryRunApi_dry_run_xcm of Polkadot Asset Hub failed on the node: Internal error: "
            "wasm trap: unreachable (-32603)"
        ),
        id="wasm that traps on the destination",
    ),
    pytest.param(
        api("assetHub", "DryRunApi_dry_run_xcm", b"\0\0\0"),
        "unknown",
        (
            "Polkadot Asset Hub did not answer with a Result<XcmDryRunEffects<RuntimeEvent>, "
            "Error> of statemint 2003001: Ok.execution_result.Complete.used.proof_size: the "
            "bytes end early, in what begins at byte 3"
        ),
        id="an answer that is cut",
    ),
    pytest.param(
        api("assetHub", "DryRunApi_dry_run_xcm", b""),
        "unknown",
        (
            "Polkadot Asset Hub did not answer with a Result<XcmDryRunEffects<RuntimeEvent>, "
            "Error> of statemint 2003001: the bytes end early, in what begins at byte 0"
        ),
        id="an answer without a byte",
    ),
    pytest.param(
        lambda network: network.cut("assetHub"),
        "unknown",
        "Polkadot Asset Hub cannot be reached (ws://127.0.0.1:1/ did not open: ",
        id="a destination that cannot be reached",
    ),
    pytest.param(
        api("polkadot", "DryRunApi_dry_run_call", call_effects((HUB_TO_DEX, message()))),
        "unknown",
        "Polkadot sends a message to 1/Parachain(2034), which is not a chain of the registry",
        id="a message to where no chain is",
    ),
    pytest.param(
        api(
            "polkadot",
            "DryRunApi_dry_run_call",
            call_effects(({"parents": 0, "interior": {"X1": [{"Parachain": 3333}]}}, message())),
        ),
        "unknown",
        "Polkadot sends a message to 0/Parachain(3333), which is not a chain of the registry",
        id="a message to a chain that is not listed",
    ),
    pytest.param(
        api("polkadot", "TransactionPaymentApi_query_info", trap),
        "unknown",
        (
            "TransactionPaymentApi_query_info of Polkadot failed on the node: Internal error: "
            "wasm trap: unreachable (-32603)"
        ),
        id="a fee that the chain does not tell",
    ),
    pytest.param(
        api("polkadot", "XcmPaymentApi_query_delivery_fees", {"Err": "Unroutable"}),
        "unknown",
        "XcmPaymentApi_query_delivery_fees of Polkadot returned the error Unroutable",
        id="a delivery fee that the chain does not tell",
    ),
    pytest.param(
        api("polkadot", "DryRunApi_dry_run_call", call_effects()),
        "refused",
        "the transfer ends on Polkadot instead of Polkadot Asset Hub",
        id="a call that sends nothing",
    ),
    pytest.param(
        api("assetHub", "DryRunApi_dry_run_xcm", message_effects()),
        "refused",
        "no DOT is credited to the beneficiary on Polkadot Asset Hub, although nothing fails there",
        id="a message that completes and credits nobody",
    ),
    pytest.param(
        api("assetHub", "DryRunApi_dry_run_xcm", message_effects(minted(who=ALICE_KEY))),
        "refused",
        "no DOT is credited to the beneficiary on Polkadot Asset Hub, although nothing fails there",
        id="a credit of somebody else",
    ),
    pytest.param(
        api(
            "assetHub",
            "DryRunApi_dry_run_xcm",
            message_effects(
                {"Assets": {"Issued": {"asset_id": 1984, "owner": BOB_KEY, "amount": ARRIVING}}}
            ),
        ),
        "refused",
        "no DOT is credited to the beneficiary on Polkadot Asset Hub, although nothing fails there",
        id="a credit of another asset",
    ),
    pytest.param(
        api(
            "assetHub", "DryRunApi_dry_run_xcm", message_effects(outcome=incomplete("TooExpensive"))
        ),
        "refused",
        (
            "the message fails on Polkadot Asset Hub: TooExpensive, too little is set aside "
            "for the fee, or the asset cannot pay fees there; the assets sent would be trapped "
            "or lost there"
        ),
        id="a fee that is not paid",
    ),
    pytest.param(
        api(
            "assetHub",
            "DryRunApi_dry_run_xcm",
            message_effects(minted(), outcome=incomplete("Barrier")),
        ),
        "refused",
        (
            "the message fails on Polkadot Asset Hub: Barrier, the chain does not accept such "
            "a message; the assets sent would be trapped or lost there"
        ),
        id="a message that fails after a credit",
    ),
    pytest.param(
        api(
            "polkadot",
            "DryRunApi_dry_run_call",
            call_effects(result=module_error("XcmPallet", "FeesNotMet")),
        ),
        "refused",
        (
            "Polkadot refuses the call: XcmPallet.FeesNotMet, the fee for delivering the "
            "message cannot be paid"
        ),
        id="a call that its chain refuses",
    ),
    pytest.param(
        api(
            "polkadot",
            "DryRunApi_dry_run_call",
            call_effects(
                result={
                    "Err": {
                        **module_error("Balances", "InsufficientBalance")["Err"],
                        "error": "BadOrigin",
                    }
                }
            ),
        ),
        "refused",
        "Polkadot refuses the call: BadOrigin",
        id="a call from an origin that may not",
    ),
    pytest.param(
        api(
            "polkadot",
            "DryRunApi_dry_run_call",
            call_effects((RELAY_TO_HUB, message("ReserveAssetDeposited"))),
        ),
        "refused",
        (
            "DOT would go from Polkadot to Polkadot Asset Hub with Polkadot as its reserve, "
            "but Polkadot Asset Hub backs it: no chain refuses this, and the backing would end "
            "up in the wrong place"
        ),
        id="a wrong reserve that nobody refuses",
    ),
    *(
        pytest.param(
            carrying(amount),
            verdict,
            f"1.5 DOT should leave Polkadot, but {told}",
            id=f"a message that carries {amount}",
        )
        for amount, verdict, told in (
            (AMOUNT // 100, "refused", "its message carries 0.015 DOT"),
            (2 * AMOUNT, "refused", "its message carries 3 DOT"),
            (0, "unknown", "none is seen in its message"),
        )
    ),
    pytest.param(
        balance(free=DOT),
        "refused",
        (
            "the sender can spend 1 DOT on Polkadot: the fee of 0.016 DOT can be taken only if "
            "the existential deposit of 1 DOT stays"
        ),
        id="a fee that would take the existential deposit",
    ),
    pytest.param(
        balance(free=int(1.54 * DOT)),
        "refused",
        "the sender can spend 1.54 DOT on Polkadot, but 1.546 DOT would leave, fees included",
        id="the amount but not the fees",
    ),
    pytest.param(
        balance(free=5 * DOT, frozen=4 * DOT),
        "refused",
        "the sender can spend 1 DOT on Polkadot, but 1.546 DOT would leave, fees included",
        id="a balance that is frozen",
    ),
]


@pytest.mark.parametrize(("change", "verdict", "reason"), FAULTS)
def test_nothing_is_called_ok_that_is_not_shown(
    network: FakeNetwork, check: Check, change: Change, verdict: str, reason: str
) -> None:
    change(network)

    answer = transfer_check(check)

    assert (answer["verdict"], answer["exit"]) == (verdict, {"refused": 6, "unknown": 5}[verdict])
    # Where a sentence goes on with the system's own words, its beginning counts.
    assert [given[: len(reason)] for given in answer["reasons"]] == [reason]
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


def test_messages_of_an_older_version_of_xcm_are_followed_too(
    network: FakeNetwork, check: Check
) -> None:
    relay = network.chains["polkadot"]
    metadata = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
    relay.table = read_metadata(metadata)
    relay.node.answers["state_getRuntimeVersion"] = {"specName": "polkadot", "specVersion": 1006000}
    served = relay.node.answers["state_call"]

    def call(name: str, data: str, *rest: Any) -> Any:
        if name != "Metadata_metadata_at_version":
            return served(name, data, *rest)
        return (
            "0x01" + (encode_compact(len(metadata)) + metadata).hex()
            if data == "0x0f000000"
            else "0x00"
        )

    relay.node.answers["state_call"] = call
    forwarded = {**message(), "V4": message()["V5"]}
    del forwarded["V5"]
    effects = call_effects()
    effects["Ok"]["forwarded_xcms"] = [[{"V4": RELAY_TO_HUB}, [forwarded]]]
    relay.api["DryRunApi_dry_run_call"] = effects
    relay.api["XcmPaymentApi_query_delivery_fees"] = {
        "Ok": {"V4": [asset({"parents": 0, "interior": "Here"}, DELIVERY)]}
    }

    answer = transfer_check(check)

    assert (answer["verdict"], answer["reasons"], answer["warnings"]) == ("ok", [], [])


def test_what_a_check_warns_of_is_said_where_it_is_built_too(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    balance(free=2 * DOT)(network)
    words = (
        "--config",
        str(network.config),
        "xcm",
        "asset-transfer",
        *TRANSFER,
        "--destinationaddress",
        BOB,
    )

    ended = scenarioctl(*words, "--check", "--sender", ALICE)

    assert ended.code == 0
    assert ended.said == says("0.454", "DOT", "1")


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


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            {"Utility": {"BatchInterrupted": {"index": 1, "error": "BadOrigin"}}},
            says("Polkadot", "Utility.BatchInterrupted"),
        ),
        (
            {"Proxy": {"ProxyExecuted": {"result": {"Err": "BadOrigin"}}}},
            says("Polkadot", "Proxy.ProxyExecuted"),
        ),
        (
            {"XcmPallet": {"Attempted": {"outcome": incomplete("NotHoldingFees")}}},
            says("Polkadot", "XcmPallet.Attempted"),
        ),
    ],
)
def test_a_call_that_succeeds_around_one_that_fails_is_refused(
    network: FakeNetwork, check: Check, event: Any, reason: Says
) -> None:
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = remark_effects(event)

    answer = check(REMARK, "--chain", "polkadot")

    assert (answer["verdict"], answer["reasons"], answer["exit"]) == ("refused", [reason], 6)


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


def test_a_credit_that_is_reported_twice_counts_once(network: FakeNetwork, check: Check) -> None:
    again = {"Balances": {"Deposit": {"who": BOB_KEY, "amount": ARRIVING}}}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(minted(), again)

    answer = transfer_check(check)

    assert answer["arrival"]["credited"]["human"] == "1.498 DOT"
    assert answer["warnings"] == []


def test_a_message_that_brings_nothing_needs_no_receiver(
    network: FakeNetwork, check: Check
) -> None:
    nothing = {"V5": ["ClearOrigin", {"SetTopic": b"\1" * 32}]}
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects((RELAY_TO_HUB, nothing))
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects()

    answer = check(REMARK, "--chain", "polkadot")

    assert (answer["verdict"], answer["exit"], answer["reasons"]) == ("ok", 0, [])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("0x1234", "--chain", "polkadot"),
            says("tx", "0x1234", "2000000", "18"),
        ),
        ((REMARK,), says("chain", "missing")),
        (
            (REMARK, "--chain", "polkadot", "--amount", "1"),
            says("tx", "amount"),
        ),
        (
            (),
            says("sourchain", "missing"),
        ),
        (
            (*TRANSFER,),
            says("destinationaddress", "missing"),
        ),
        (
            (*TRANSFER, "--destinationaddress", BOB, "--chain", "polkadot"),
            says("chain", "sourchain"),
        ),
        (
            ("hello", "--chain", "polkadot"),
            says("tx", "hello"),
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    check: Check, words: tuple[str, ...], error: Says
) -> None:
    answer = check(*words)

    assert refused(answer) == {"error": error, "code": "invalid_request", "exit": 2}


# Remarks and flows

CREATE_REMARK = (
    "create",
    "remark",
    "--chain",
    "polkadot",
    "--text",
    "paid in full",
    "--check",
    "--sender",
    ALICE,
)
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
        "create",
        "--file",
        str(path),
        "--check",
        "--sender",
        ALICE,
        *(["--json"] if as_json else []),
    )
    return scenarioctl("--config", str(network.config), *words)


def count_stored(network: FakeNetwork, scenarioctl: Run) -> int:
    listed = scenarioctl("--config", str(network.config), "--json", "scenario", "list")
    total: int = json.loads(listed.out)["total"]
    return total


def test_a_remark_is_tried_for_its_sender(network: FakeNetwork, scenarioctl: Run) -> None:
    with_remarks(network)

    plain = scenarioctl("--config", str(network.config), *CREATE_REMARK)
    as_json = scenarioctl("--config", str(network.config), "--json", *CREATE_REMARK)

    answer = json.loads(as_json.out)
    check = answer["check"]
    assert (plain.said, plain.code, len(plain.out)) == ("", 0, 10)
    assert (check["verdict"], check["reasons"], check["warnings"]) == ("ok", [], [])
    assert [(step["chain"], step["what"], step["human"]) for step in check["steps"]] == [
        ("polkadot", "transaction fee", "0.016 DOT")
    ]
    tried = dict(network.chains["polkadot"].asked)["DryRunApi_dry_run_call"]
    # By Alice, and the call itself: System.remark_with_event with its text.
    assert tried.startswith(
        b"\0\1" + ALICE_KEY + b"\x00\x07" + encode_compact(12) + b"paid in full"
    )
    assert count_stored(network, scenarioctl) == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            balance(free=DOT // 100),
            "the check refuses this transaction: the sender can spend 0.01 DOT on "
            "Polkadot: the fee of 0.016 DOT can be taken only if "
            "the existential deposit of 1 DOT stays",
        ),
        (
            lambda network: with_remarks(
                network, call_effects(result=module_error("System", "CallFiltered"))
            ),
            "the check refuses this transaction: Polkadot refuses the call: System.CallFiltered",
        ),
    ],
    ids=["a sender who cannot pay", "a chain that refuses the call"],
)
def test_a_remark_that_would_not_go_through_is_not_stored(
    network: FakeNetwork, scenarioctl: Run, change: Change, sentence: str
) -> None:
    with_remarks(network)
    change(network)

    ended = scenarioctl("--config", str(network.config), *CREATE_REMARK)

    assert (ended.out, ended.code) == ("", 6)
    assert ended.err.startswith(f"Error: {sentence}")
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
            "--config",
            str(network.config),
            "--json",
            "scenario",
            "export",
            answer["result"],
            "--as",
            "json",
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


def test_a_flow_that_nobody_can_try_is_not_stored(network: FakeNetwork, scenarioctl: Run) -> None:
    network.cut("assetHub")

    ended = create_flow(network, scenarioctl, STEPS.format(to=BOB), as_json=False)

    assert (ended.out, ended.code) == ("", 5)
    assert (
        "could not prove that this transaction does what it should: Polkadot Asset Hub "
        "cannot be reached"
    ) in ended.err
    assert count_stored(network, scenarioctl) == 0


def test_on_a_terminal_each_step_of_a_flow_has_its_table(
    network: FakeNetwork, tmp_path: Path
) -> None:
    with_remarks(network)
    flow = network.config.with_name("flow.toml")
    flow.write_text(STEPS.format(to=BOB), encoding="utf-8")
    words = ("create", "--file", str(flow), "--check", "--sender", ALICE)

    drawn, _, code = on_a_terminal(tmp_path, "--config", str(network.config), *words, both=True)

    assert code == 0
    lines = without_colours(drawn).splitlines()
    titles = [line for line in lines if line.startswith("steps")]
    assert titles == [
        "steps[0]: polkadot > xTransfer > assetHub",
        "steps[1]: polkadot > Remark > polkadot",
    ]
    assert lines.count("ok") == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (CREATE_REMARK[:-2], says("sender", "missing")),
        (
            ("create", "--check", "remark", "--chain", "polkadot", "--text", "x"),
            says("--check", "create remark"),
        ),
        (
            ("create", "--sender", ALICE, "remark", "--chain", "polkadot", "--text", "x"),
            says("--sender", "create remark"),
        ),
    ],
    ids=["no sender", "check before the command", "sender before the command"],
)
def test_what_a_check_needs_is_told(
    network: FakeNetwork, scenarioctl: Run, words: tuple[str, ...], sentence: Any
) -> None:
    ended = scenarioctl("--config", str(network.config), *words)

    assert (ended.out, ended.err, ended.code) == ("", sentence.printed, 2)


@pytest.mark.parametrize("asset_id", ["DOT", "1984"])
def test_a_transfer_to_oneself_moves_nothing_and_is_refused(
    network: FakeNetwork, check: Check, asset_id: str
) -> None:
    """A pallet of tokens tells of a transfer to oneself too, though it moves nothing."""
    moved = {"asset_id": 1984, "from": ALICE_KEY, "to": ALICE_KEY, "amount": 10**6}
    hub = network.chains["assetHub"]
    hub.api.update(
        DryRunApi_dry_run_call=call_effects(events=({"Assets": {"Transferred": moved}},)),
        TransactionPaymentApi_query_info=info(FEE),
    )
    hub.store("System", "Account", ALICE_KEY, value=account(5 * DOT))
    route = (
        "--from",
        "assetHub",
        "--to",
        "assetHub",
        "--assetid",
        asset_id,
        "--amount",
        "1000000raw",
    )

    answer = check(*route, "--destinationaddress", ALICE)

    assert (answer["verdict"], answer["exit"]) == ("refused", 6)
    assert (
        "the receiver is the sender: nothing would move on Polkadot Asset Hub, but the fee "
        "would be paid"
    ) in answer["reasons"]
