"""What could run counts: whoever a handler, an appendix, a claim, a fallback or a later call can
pay is named."""

from typing import Any

import pytest

from scenarioctl.model.calls import Call
from tests.check_rules import (
    CAROL,
    CAROL_KEY,
    HERE,
    Judge,
    batch,
    burn_asset,
    burned,
    check,
    deposit,
    execute,
    inner,
    judge,
    minted,
    network,
    pay,
    transferred,
    withdraw,
)
from tests.messages import says
from tests.test_check import ALICE_KEY, BOB_KEY, DOT, asset, location

__all__ = ["check", "judge", "network"]

REMARK = Call(pallet="System", method="remark", args={"remark": b"hi"})


def program(judge: Judge, *first: Any) -> Any:
    call = execute(withdraw(DOT), *first, deposit(BOB_KEY))
    return judge(call, burned(DOT), minted(DOT))


@pytest.mark.parametrize(
    "instruction",
    [
        pytest.param(
            {"SetAppendix": [{"SetErrorHandler": [deposit(CAROL_KEY)]}]},
            id="a handler in an appendix",
        ),
        pytest.param(
            {"SetHints": {"hints": [{"AssetClaimer": {"location": location(CAROL_KEY)}}]}},
            id="a claim",
        ),
    ],
)
def test_a_stranger_who_could_be_paid_is_named(judge: Judge, instruction: Any) -> None:
    answer = program(judge, instruction)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says(CAROL, "Polkadot")]


@pytest.mark.parametrize("account", [ALICE_KEY, BOB_KEY], ids=["the signer", "the only receiver"])
def test_whoever_is_expected_may_be_paid_in_any_case(judge: Judge, account: bytes) -> None:
    handler = program(judge, {"SetErrorHandler": [deposit(account)]})
    appendix = program(judge, {"SetAppendix": ["RefundSurplus", deposit(account)]})

    assert (handler["verdict"], appendix["verdict"]) == ("ok", "ok")


def test_a_place_that_is_no_account_is_named_too(judge: Judge) -> None:
    place = {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}
    handler = {
        "SetErrorHandler": [{"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": place}}]
    }

    answer = program(judge, handler)

    assert answer["reasons"] == [says("0/Parachain(2034)", "Polkadot")]


def if_else(main: Call, fallback: Call) -> Call:
    return Call(
        pallet="Utility", method="if_else", args={"main": inner(main), "fallback": inner(fallback)}
    )


FELL_BACK: dict[str, Any] = {"IfElseFallbackCalled": {"main_error": {"Token": "FundsUnavailable"}}}
BURN = Call(pallet="Balances", method="burn", args={"value": 1000 * DOT, "keep_alive": True})


@pytest.mark.parametrize(
    ("main", "fallback", "event", "branch"),
    [
        pytest.param(pay(), BURN, "IfElseMainSuccess", "Balances.burn", id="destroys"),
        pytest.param(
            batch(pay(), BURN), pay(), FELL_BACK, "Utility.batch_all", id="holds more calls"
        ),
    ],
)
def test_a_branch_that_does_more_than_pay_is_not_ok(
    judge: Judge, main: Call, fallback: Call, event: Any, branch: str
) -> None:
    paid = transferred(BOB_KEY, DOT)

    answer = judge(if_else(main, fallback), paid, {"Utility": event})
    other = judge(if_else(batch(pay(), pay()), REMARK), paid, {"Utility": "IfElseMainSuccess"})

    assert answer["reasons"] == [says(branch, "Utility.if_else")]
    assert other["verdict"] == "ok"


@pytest.mark.parametrize(
    "spends",
    [burn_asset(DOT), {"BuyExecution": {"fees": asset(HERE, DOT), "weight_limit": "Unlimited"}}],
    ids=["burns", "buys"],
)
def test_a_handler_that_leaves_less_is_not_ok(judge: Judge, spends: Any) -> None:
    answer = program(judge, {"SetErrorHandler": [spends]})

    assert (answer["verdict"], answer["reasons"]) == ("unknown", [says("Polkadot", *spends)])


def test_a_receiver_named_by_its_place_is_judged_as_one_named_by_its_bytes(judge: Judge) -> None:
    place = {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}
    call = execute(
        withdraw(DOT), {"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": place}}
    )
    sovereign = b"para" + (2034).to_bytes(4, "little") + bytes(24)

    lost = judge(call, burned(DOT), minted(DOT, sovereign))
    stranger = judge(call, burned(DOT), minted(DOT, CAROL_KEY))

    assert lost["reasons"] == [says("sovereign account of parachain 2034", "--yes")]
    assert (stranger["verdict"], stranger["reasons"]) == (
        "unknown",
        [says(CAROL, "1 DOT", "Polkadot")],
    )


@pytest.mark.parametrize(
    "later", [pay(), pay(CAROL_KEY), REMARK], ids=["known", "a stranger", "a remark"]
)
def test_a_call_for_later_is_not_simulated(judge: Judge, later: Call) -> None:
    arguments = {"when": 10**8, "maybe_periodic": None, "priority": 0, "call": inner(later)}
    scheduled = Call(pallet="Scheduler", method="schedule", args=arguments)

    answer = judge(batch(pay(), scheduled), transferred(BOB_KEY, DOT))

    if later is REMARK:
        assert answer["verdict"] == "ok"
    else:
        assert answer["reasons"] == [says("Scheduler.schedule", "Balances.transfer_keep_alive")]
