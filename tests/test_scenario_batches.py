"""All transactions of a scenario in one batch, with one signature."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.chains.registry import Registry
from scenarioctl.operations.views import read_unsigned
from tests.conftest import BOB, Run
from tests.messages import Says, says
from tests.network import FakeNetwork, call_tried
from tests.runtimes import bundled, unhex
from tests.test_check import ALICE, ALICE_KEY, BOB_KEY, DOT, FEE, account, call_effects, info

POLKADOT = Registry().find("polkadot")
TABLE = bundled("polkadot")


def flow(folder: Path, *steps: dict[str, Any]) -> str:
    file = folder / "flow.toml"
    file.write_text(tomli_w.dumps({"name": "several", "steps": list(steps)}))
    return str(file)


def transfer(
    amount: str, destination: str = "polkadot", source: str = "polkadot"
) -> dict[str, Any]:
    return {
        "type": "xTransfer",
        "source_chain": source,
        "dest_chain": destination,
        "assetid": "DOT",
        "amount": amount,
        "destination_address": BOB,
    }


def create(run: Run, file: str) -> str:
    ended = run("--offline", "--json", "create", "flow", file)
    return str(json.loads(ended.out)["id"])


def batch(run: Run, scenario: str, *line: str, config: str = "") -> dict[str, Any]:
    where = ("--config", config) if config else ("--offline",)
    answer: dict[str, Any] = json.loads(
        run("--json", *where, "scenario", "build", "--batch", scenario, *line).out
    )
    return answer


def inner(method: str, **args: Any) -> dict[str, Any]:
    return {"Balances": {method: {"dest": {"Id": BOB_KEY}, **args}}}


def test_all_transactions_are_in_one_batch_in_their_order(scenarioctl: Run, tmp_path: Path) -> None:
    remark = {"type": "Remark", "chain": "polkadot", "text": "paid"}
    scenario = create(
        scenarioctl, flow(tmp_path, transfer("2"), transfer("1.5", "assetHub"), remark)
    )

    answer = batch(scenarioctl, scenario)

    call, _ = read_unsigned(TABLE, POLKADOT, unhex(answer["tx"]))
    assert (call.pallet, call.method, answer["count"]) == ("Utility", "batch_all", 3)
    first, second, third = call.args["calls"]
    assert first == inner("transfer_keep_alive", value=2 * DOT)
    assert next(iter(second["XcmPallet"])) == "limited_teleport_assets"
    assert third == {"System": {"remark_with_event": {"remark": b"paid"}}}
    assert answer["says"] == says("2 DOT", "1.5 DOT", "paid", BOB)


def payout(count: int, **fields: Any) -> dict[str, Any]:
    lines = "".join(f"{BOB},1,DOT\n" for _ in range(count))
    return {
        "type": "payout",
        "chain": "polkadot",
        "lines": f"account,amount,asset\n{lines}",
        **fields,
    }


def test_the_payments_of_a_payout_are_joined_with_the_other_transactions(
    scenarioctl: Run, tmp_path: Path
) -> None:
    scenario = create(scenarioctl, flow(tmp_path, payout(2), transfer("3")))

    answer = batch(scenarioctl, scenario)

    call, _ = read_unsigned(TABLE, POLKADOT, unhex(answer["tx"]))
    paid = [inner("transfer_keep_alive", value=DOT * each) for each in (1, 1, 3)]
    assert (call.method, call.args["calls"], answer["count"]) == ("batch_all", paid, 2)


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([transfer("1")], says("two", "1")),
        ([transfer("1"), transfer("2", "polkadot", "assetHub")], says("polkadot", "assetHub")),
        ([transfer("1"), {"type": "delay", "seconds": 60}, transfer("2")], says("delay")),
        ([transfer("1"), payout(2, force_batch=True)], says("call 2", "Utility.force_batch")),
        ([payout(300), payout(101)], says("401", "one by one")),
    ],
    ids=["a single transaction", "two chains", "a delay between", "another kind", "too many"],
)
def test_what_cannot_be_one_batch_is_refused(
    scenarioctl: Run, tmp_path: Path, steps: list[dict[str, Any]], error: Says
) -> None:
    scenario = create(scenarioctl, flow(tmp_path, *steps))

    answer = batch(scenarioctl, scenario)

    assert (answer["error"], answer["code"]) == (error, "invalid_request")


def allow_transfers(network: FakeNetwork, free: int) -> None:
    """Let Alice, who has *free*, pay Bob on polkadot: calls that move all of it or more fail."""

    def dry_run(arguments: bytes) -> Any:
        call = call_tried(TABLE, arguments)
        calls = call.args.get("calls", [{"Balances": {call.method: call.args}}])
        values = [each["Balances"]["transfer_keep_alive"]["value"] for each in calls]
        moved = [
            {"Balances": {"Transfer": {"from": ALICE_KEY, "to": BOB_KEY, "amount": value}}}
            for value in values
        ]
        if sum(values) < free:
            return call_effects(events=tuple(moved))
        error = {"Token": "FundsUnavailable"}
        return call_effects(
            result={
                "Err": {"post_info": {"actual_weight": None, "pays_fee": "Yes"}, "error": error}
            }
        )

    relay = network.chains["polkadot"]
    relay.api.update(DryRunApi_dry_run_call=dry_run, TransactionPaymentApi_query_info=info(FEE))
    relay.store("System", "Account", ALICE_KEY, value=account(free))
    relay.store("System", "Account", BOB_KEY, value=account(50 * DOT))


@pytest.mark.parametrize("free", [50 * DOT, 3 * DOT], ids=["enough for both", "enough for each"])
def test_a_batch_is_checked_as_a_whole(scenarioctl: Run, tmp_path: Path, free: int) -> None:
    with FakeNetwork(tmp_path) as network:
        allow_transfers(network, free)
        config = str(network.config)
        file = flow(tmp_path, transfer("2"), transfer("1.5"))
        scenario = json.loads(
            scenarioctl("--config", config, "--json", "create", "flow", file).out
        )["id"]

        line = ("tx", "check", scenario, "--together", "--sender", ALICE)
        answer = json.loads(scenarioctl("--config", config, "--json", *line).out)

    if free == 50 * DOT:
        assert answer["verdict"] == "ok"
        assert [each["value"] for each in answer["credits"]] == [str(35 * DOT // 10)]
    else:
        assert (answer["verdict"], answer["reasons"]) == ("refused", [says("FundsUnavailable")])


def test_what_is_said_of_several_transactions_is_counted(scenarioctl: Run, tmp_path: Path) -> None:
    sent = transfer("2", "hydraDx", "assetHub")
    scenario = create(scenarioctl, flow(tmp_path, sent, {**sent, "amount": "3"}))

    ended = scenarioctl("--offline", "scenario", "build", "--batch", scenario)

    warnings = [line for line in ended.err.splitlines() if line.startswith("Warning: ")]
    assert warnings == [says("each of 2 transactions: ", "0.1 DOT")]
