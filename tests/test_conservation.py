"""The check accounts for every unit: what leaves is what somebody gets, what goes on, what is
taken, and what is destroyed."""

from typing import Any

import pytest

from scenarioctl.model.calls import Call
from tests.check_rules import (
    CAROL_KEY,
    HERE,
    Judge,
    balances,
    burn_asset,
    burned,
    check,
    deposit,
    execute,
    judge,
    minted,
    network,
    pay,
    steps,
    withdraw,
)
from tests.messages import says
from tests.network import FakeNetwork
from tests.test_check import (
    ALICE_KEY,
    AMOUNT,
    ARRIVING,
    BOB_KEY,
    DELIVERY,
    DOT,
    EXECUTION,
    NATIVE_UP,
    RELAY_TO_HUB,
    USDT_ON_HUB,
    asset,
    message,
    message_effects,
)

__all__ = ["check", "judge", "network"]

POT = b"modlPotStake".ljust(32, b"\0")


def burn(amount: int) -> Call:
    return Call(pallet="Balances", method="burn", args={"value": amount, "keep_alive": True})


@pytest.mark.parametrize("missing", [1])
def test_a_single_unit_that_nobody_gets_is_not_ok(judge: Judge, missing: int) -> None:
    call = execute(withdraw(100 * DOT), deposit(BOB_KEY))

    answer = judge(call, burned(100 * DOT), minted(100 * DOT - missing))
    whole = judge(call, burned(100 * DOT), minted(100 * DOT))

    assert (answer["verdict"], whole["verdict"]) == ("unknown", "ok")
    assert [reason.split(" that leaves")[1] for reason in answer["reasons"]] == [
        " accounts on Polkadot is credited to nobody: it may be lost"
    ]


def test_more_than_is_said_to_be_destroyed_is_not_ok(judge: Judge) -> None:
    call = execute(withdraw(100 * DOT), burn_asset(DOT), deposit(BOB_KEY))

    answer = judge(call, burned(100 * DOT), minted(98 * DOT))

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("1", "DOT", "Polkadot")]
    assert answer["warnings"][0] == "destroys 1 DOT on Polkadot"


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        pytest.param(
            (minted(ARRIVING), balances("Deposit", who=POT, amount=EXECUTION)),
            "ok",
            id="credited to a pot",
        ),
        pytest.param(
            (minted(ARRIVING), balances("Deposit", who=CAROL_KEY, amount=EXECUTION)),
            "ok",
            id="credited to whoever made the block",
        ),
        pytest.param((minted(ARRIVING - 2),), "unknown", id="two units more than the fee"),
        pytest.param(
            (minted(ARRIVING - EXECUTION // 2), balances("Deposit", who=POT, amount=EXECUTION)),
            "unknown",
            id="half of the fee once more",
        ),
    ],
)
def test_a_fee_may_be_missing_whole_and_once(
    judge: Judge, network: FakeNetwork, events: tuple[Any, ...], verdict: str
) -> None:
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(*events)

    answer = judge(pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, message()),))

    assert answer["verdict"] == verdict, answer["reasons"]


def test_what_a_program_pays_for_its_execution_is_told(network: FakeNetwork, judge: Judge) -> None:
    """It buys as much weight as it likes, and the rest of what it withdraws is all that arrives."""
    limit = {"Limited": {"ref_time": 10**12, "proof_size": 10**6}}
    buys = {"BuyExecution": {"fees": asset(HERE, 99 * DOT), "weight_limit": limit}}
    network.chains["polkadot"].api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": 99 * DOT}

    answer = judge(
        execute(withdraw(100 * DOT), buys, deposit(BOB_KEY)), burned(100 * DOT), minted(DOT)
    )

    assert answer["verdict"] == "ok"
    assert ("polkadot", "execution", "99 DOT") in steps(answer)


@pytest.mark.parametrize(
    ("incoming", "verdict"), [("Withdraw", "ok"), ("ReceiveTeleported", "unknown")]
)
def test_what_a_program_withdraws_from_an_account_counts_once(
    judge: Judge, network: FakeNetwork, incoming: str, verdict: str
) -> None:
    descend = {"DescendOrigin": {"X1": [{"AccountId32": {"network": None, "id": ALICE_KEY}}]}}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        burned(AMOUNT, CAROL_KEY), minted(ARRIVING)
    )
    theirs = {"V5": [descend, *message(f"{incoming}Asset")["V5"]]}

    answer = judge(pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, theirs),))

    assert answer["verdict"] == verdict, answer["reasons"]


def test_delivery_that_the_account_pays_is_told_once(judge: Judge) -> None:
    fees = {"SetFeesMode": {"jit_withdraw": True}}
    call = execute(fees, withdraw(AMOUNT), deposit(BOB_KEY))
    events = (burned(AMOUNT + DELIVERY), minted(AMOUNT))

    answer = judge(call, *events, forwarded=((RELAY_TO_HUB, message()),))

    told = [step for step in steps(answer) if step[0] == "polkadot"]
    assert ("polkadot", "leaves", "1.5 DOT") in told
    assert [what for _, what, _ in told].count("delivery") == 1


@pytest.mark.parametrize(("got", "verdict"), [(1000, "ok"), (999, "unknown")])
def test_a_fee_of_another_asset_explains_nothing(
    judge: Judge, network: FakeNetwork, got: int, verdict: str
) -> None:
    descend = {"DescendOrigin": {"X1": [{"AccountId32": {"network": None, "id": ALICE_KEY}}]}}
    _, clear, *rest = message()["V5"]
    brought = {"WithdrawAsset": [asset(USDT_ON_HUB, 1000), asset(NATIVE_UP, AMOUNT)]}
    credited = {"Assets": {"Deposited": {"asset_id": 1984, "who": BOB_KEY, "amount": got}}}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(
        minted(ARRIVING), credited
    )
    both = {"V5": [descend, brought, clear, *rest]}

    answer = judge(pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, both),))

    assert answer["verdict"] == verdict, answer["reasons"]


def test_a_program_that_refunds_may_pay_less_than_the_fee(
    judge: Judge, network: FakeNetwork
) -> None:
    program = message()["V5"]
    refunding = {"V5": [*program[:-2], "RefundSurplus", *program[-2:]]}
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(minted(ARRIVING + 7))

    answer = judge(pay(), burned(AMOUNT), forwarded=((RELAY_TO_HUB, refunding),))

    assert not any("credited to nobody" in reason for reason in answer["reasons"])


def test_the_backing_of_what_goes_on_counts_once(judge: Judge) -> None:
    checking = b"modlpy/xcmch".ljust(32, b"\0")
    events = (burned(AMOUNT), minted(AMOUNT, checking))

    answer = judge(pay(), *events, forwarded=((RELAY_TO_HUB, message()),))
    half = judge(
        pay(),
        *(burned(2 * AMOUNT), minted(AMOUNT, checking)),
        forwarded=((RELAY_TO_HUB, message()),),
    )

    assert (answer["verdict"], half["verdict"]) == ("ok", "unknown")


def test_the_backing_of_what_goes_on_counts_once_also_if_its_account_is_named(judge: Judge) -> None:
    sovereign = b"para" + (1000).to_bytes(4, "little") + bytes(24)
    events = (burned(2 * AMOUNT), minted(AMOUNT, sovereign))

    answer = judge(
        pay(sovereign), *events, forwarded=((RELAY_TO_HUB, message()),), words=("--yes",)
    )

    assert [reason for reason in answer["reasons"] if "nobody" in reason] == [
        says("1.47 DOT that leaves accounts on Polkadot", "nobody")
    ]


def test_a_delivery_fee_that_is_burned_is_accounted_for(judge: Judge) -> None:
    events = (burned(AMOUNT), burned(DELIVERY))

    answer = judge(pay(), *events, forwarded=((RELAY_TO_HUB, message()),))

    assert answer["verdict"] == "ok"


def test_an_event_that_moves_something_unknown_is_not_ok(judge: Judge) -> None:
    answer = judge(pay(), balances("BalanceSet", who=ALICE_KEY, free=0))

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("Polkadot", "Balances.BalanceSet")]


def test_an_item_that_is_not_fungible_is_not_followed(judge: Judge) -> None:
    item = {"WithdrawAsset": [{"id": HERE, "fun": {"NonFungible": {"Index": 7}}}]}

    answer = judge(execute(item, deposit(BOB_KEY)))

    assert answer["verdict"] == "unknown"
    assert says("not fungible", "Polkadot") in answer["reasons"]
