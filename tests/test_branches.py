"""What could run counts: whoever a handler, an appendix, a claim, a fallback or a later call can
pay is named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from tests.check_rules import (
    CAROL,
    CAROL_KEY,
    HERE,
    batch,
    burn_asset,
    burned,
    checker,
    deposit,
    execute,
    inner,
    judge,
    minted,
    pay,
    transferred,
    withdraw,
)
from tests.conftest import Run
from tests.messages import says
from tests.network import FakeNetwork
from tests.test_check import (
    ALICE_KEY,
    BOB_KEY,
    DOT,
    Check,
    asset,
    fill,
    location,
)

REMARK = Call(pallet="System", method="remark", args={"remark": b"hi"})


@pytest.fixture
def network(tmp_path: Path) -> Iterator[FakeNetwork]:
    with FakeNetwork(tmp_path) as network:
        fill(network)
        yield network


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Check:
    return checker(network, scenarioctl)


def program(network: FakeNetwork, check: Check, *first: Any) -> Any:
    call = execute(withdraw(DOT), *first, deposit(BOB_KEY))
    return judge(network, check, call, burned(DOT), minted(DOT))


@pytest.mark.parametrize(
    "instruction",
    [
        pytest.param({"SetErrorHandler": [deposit(CAROL_KEY)]}, id="a handler"),
        pytest.param({"SetAppendix": ["RefundSurplus", deposit(CAROL_KEY)]}, id="an appendix"),
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
def test_a_stranger_who_could_be_paid_is_named(
    network: FakeNetwork,
    check: Check,
    instruction: Any,
) -> None:
    answer = program(network, check, instruction)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says(CAROL, "Polkadot")]


@pytest.mark.parametrize("account", [ALICE_KEY, BOB_KEY], ids=["the signer", "the only receiver"])
def test_whoever_is_expected_may_be_paid_in_any_case(
    network: FakeNetwork,
    check: Check,
    account: bytes,
) -> None:
    handler = program(network, check, {"SetErrorHandler": [deposit(account)]})
    appendix = program(network, check, {"SetAppendix": ["RefundSurplus", deposit(account)]})

    assert (handler["verdict"], appendix["verdict"]) == ("ok", "ok")


def test_a_place_that_is_no_account_is_named_too(network: FakeNetwork, check: Check) -> None:
    place = {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}
    handler = {
        "SetErrorHandler": [{"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": place}}]
    }

    answer = program(network, check, handler)

    assert answer["reasons"] == [says("0/Parachain(2034)", "Polkadot")]


def if_else(main: Call, fallback: Call) -> Call:
    return Call(
        pallet="Utility", method="if_else", args={"main": inner(main), "fallback": inner(fallback)}
    )


def test_the_branch_that_did_not_run_counts(network: FakeNetwork, check: Check) -> None:
    paid = transferred(BOB_KEY, DOT)
    stranger = judge(
        network, check, if_else(pay(), pay(CAROL_KEY)), paid, {"Utility": "IfElseMainSuccess"}
    )
    same = judge(
        network, check, if_else(pay(), pay(BOB_KEY, 2)), paid, {"Utility": "IfElseMainSuccess"}
    )

    assert (stranger["verdict"], same["verdict"]) == ("unknown", "ok")
    assert stranger["reasons"] == [says("Utility.if_else", CAROL)]


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
    network: FakeNetwork, check: Check, main: Call, fallback: Call, event: Any, branch: str
) -> None:
    paid = transferred(BOB_KEY, DOT)

    answer = judge(network, check, if_else(main, fallback), paid, {"Utility": event})
    other = judge(
        network, check, if_else(batch(pay(), pay()), REMARK), paid, {"Utility": "IfElseMainSuccess"}
    )

    assert answer["reasons"] == [says(branch, "Utility.if_else")]
    assert other["verdict"] == "ok"


@pytest.mark.parametrize(
    "spends",
    [
        burn_asset(DOT),
        {"BuyExecution": {"fees": asset(HERE, DOT), "weight_limit": "Unlimited"}},
        {"PayFees": {"asset": asset(HERE, DOT)}},
    ],
    ids=["burns", "buys", "pays"],
)
def test_a_handler_that_leaves_less_is_not_ok(
    network: FakeNetwork, check: Check, spends: Any
) -> None:
    answer = program(network, check, {"SetErrorHandler": [spends]})

    assert (answer["verdict"], answer["reasons"]) == ("unknown", [says("Polkadot", *spends)])


def test_a_receiver_named_by_its_place_is_judged_as_one_named_by_its_bytes(
    network: FakeNetwork, check: Check
) -> None:
    place = {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}
    call = execute(
        withdraw(DOT), {"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": place}}
    )
    sovereign = b"para" + (2034).to_bytes(4, "little") + bytes(24)

    lost = judge(network, check, call, burned(DOT), minted(DOT, sovereign))
    stranger = judge(network, check, call, burned(DOT), minted(DOT, CAROL_KEY))

    assert lost["reasons"] == [says("sovereign account of parachain 2034", "--yes")]
    assert (stranger["verdict"], stranger["reasons"]) == (
        "unknown",
        [says(CAROL, "1 DOT", "Polkadot")],
    )


@pytest.mark.parametrize(
    "later", [pay(), pay(CAROL_KEY), REMARK], ids=["known", "a stranger", "a remark"]
)
def test_a_call_for_later_is_not_simulated(network: FakeNetwork, check: Check, later: Call) -> None:
    arguments = {"when": 10**8, "maybe_periodic": None, "priority": 0, "call": inner(later)}
    scheduled = Call(pallet="Scheduler", method="schedule", args=arguments)

    answer = judge(network, check, batch(pay(), scheduled), transferred(BOB_KEY, DOT))

    if later is REMARK:
        assert answer["verdict"] == "ok"
    else:
        assert answer["reasons"] == [says("Scheduler.schedule", "Balances.transfer_keep_alive")]
