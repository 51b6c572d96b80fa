"""What could run counts: whoever a handler, an appendix, a claim, a fallback or a later call can
pay is named."""

from dataclasses import replace
from typing import Any

import pytest

from scenarioctl.chains.locations import located_accounts
from scenarioctl.chains.registry import Registry
from scenarioctl.model.calls import Call
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.inner_calls import local_programs, named_accounts, walk_calls
from scenarioctl.transactions.simulation.branches import (
    check_branches,
    check_competing_messages,
    check_removed_proxies,
)
from scenarioctl.transactions.simulation.dry_run import DryRunResult, read_programs
from scenarioctl.transactions.simulation.ledger import HopLedger, LedgerEntry
from scenarioctl.transactions.simulation.trial import Trial
from tests.check_rules import (
    ALL,
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
    trial,
    withdraw,
)
from tests.live.programs import proxied as through
from tests.live.programs import utility
from tests.messages import says
from tests.runner import finish
from tests.test_check import ALICE_KEY, BOB_KEY, DOT, asset, location
from tests.test_truth import table_of

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


KUSAMA, POOL = table_of("statemine"), bytes([7]) * 32
#: Of an Asset Hub of Kusama: a transfer of 1 KSM, or else 300; 1 KSM withdrawn, or 100 more.
MORE = {
    "if_else": "28060a03004f86f2052cc023664c471652b56f88f423ff9d98dc57f615cb94e4899cae1987070010a5"
    "d4e80a03004f86f2052cc023664c471652b56f88f423ff9d98dc57f615cb94e4899cae19870f00c06e31d91001",
    "a handler": "1f03050c0004010000070010a5d4e8150c1700040100000b00407a10f35a0d010000010100a67c"
    "1968d39f3d5f58cc2e2125f983e6244e74ac7e73dbbb865f00a79a1ead2b0d010000010100a67c1968d39f3d5f"
    "58cc2e2125f983e6244e74ac7e73dbbb865f00a79a1ead2b0700e8764817021bb700",
}


MAIN_RAN = Event(pallet="Utility", name="IfElseMainSuccess")
FALLBACK_RAN = Event(pallet="Utility", name="IfElseFallbackCalled", fields={})


def proxied(call: Call) -> Call:
    return through(CAROL_KEY, call)


class Kusama:
    """A chain on which Alice and Bob may do anything as Carol, and Alice votes as her too."""

    async def table(self) -> Any:
        return KUSAMA

    async def storage(self, *_: Any) -> Any:
        rights = ((ALICE_KEY, "Any"), (BOB_KEY, "Any"), (ALICE_KEY, "Governance"))
        return [{"delegate": who, "proxy_type": kind, "delay": 0} for who, kind in rights], 1


def entries(tried: Trial, changes: dict[bytes, int]) -> list[LedgerEntry]:
    asset, roles = tried.assets.native(tried.chain), {POOL: "pool"}
    return [
        LedgerEntry(account=who, asset=asset, value=value, identity="", role=roles.get(who, ""))
        for who, value in changes.items()
    ]


def branches_of(call: Call, *events: Event) -> list[str]:
    """Return what a check leaves open of the branches of *call* on Kusama's Asset Hub, where it
    pays whoever it names."""
    tried = trial("assetHubKusama", clients=lambda _: Kusama(), call=call)
    programs = local_programs(call, KUSAMA)
    tried.calls = list(walk_calls(call, KUSAMA))
    tried.hops = [DryRunResult(chain=tried.chain, events=events)]
    tried.instructions = read_programs(programs, tried.hops, Registry())
    paid = dict.fromkeys((*named_accounts(call, KUSAMA), *located_accounts(programs)), 1)
    tried.ledgers = [HopLedger(hop=tried.hops[0], entries=entries(tried, paid))]
    finish(check_branches(tried))
    return tried.findings.unknowns


@pytest.mark.parametrize(("name", "amount"), [("if_else", "300 KSM"), ("a handler", "100 KSM")])
def test_a_branch_that_takes_more_for_the_same_receiver_is_told(name: str, amount: str) -> None:
    call = KUSAMA.decode_call(bytes.fromhex(MORE[name]))

    assert branches_of(call, MAIN_RAN) == [says(amount, "Kusama Asset Hub")]


USDT = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]}}
FIVE = {"WithdrawAsset": [asset(USDT, 5 * 10**6)]}
MOVED = {"TransferAsset": {"assets": [asset(USDT, 5 * 10**6)], "beneficiary": location(BOB_KEY)}}


@pytest.mark.parametrize("takes", [FIVE, MOVED], ids=["withdraws", "transfers"])
@pytest.mark.parametrize(
    "place",
    [
        lambda takes: [{"SetErrorHandler": [{"SetAppendix": [takes]}]}],
        lambda takes: [{"SetAppendix": [takes]}],
        lambda takes: [{"SetErrorHandler": []}, takes],
        lambda takes: [{"SetErrorHandler": []}, {"ExecuteWithOrigin": {
            "descendant_origin": None, "xcm": [takes]}}],
    ],
    ids=["in a handler", "in an appendix", "behind a handler", "deep behind a handler"],
)  # fmt: skip
def test_what_a_program_takes_only_if_it_fails_or_only_if_not_is_told(
    place: Any, takes: Any
) -> None:
    call = hub_program(*place(takes), deposit(BOB_KEY))

    assert branches_of(call) == [says("5 USDt", *takes, "Kusama Asset Hub")]
    assert branches_of(hub_program(takes, {"SetErrorHandler": []}, deposit(BOB_KEY))) == []


def test_what_may_go_to_a_chain_that_is_not_known_is_told() -> None:
    place = {"parents": 1, "interior": {"X1": [{"Parachain": 9999}]}}
    away = {"DepositReserveAsset": {"assets": ALL, "dest": place, "xcm": [deposit(BOB_KEY)]}}

    assert branches_of(hub_program({"SetErrorHandler": []}, away)) == [says("registry")]
    assert branches_of(hub_program(away)) == []


def hub_program(*program: Any) -> Call:
    return replace(execute(*program), pallet="PolkadotXcm")


def on_hub(amount: int, to: bytes = BOB_KEY, method: str = "transfer") -> Call:
    args = {"id": 1984, "target": {"Id": to}, "amount": amount}
    return Call(pallet="Assets", method=method, args=args)


@pytest.mark.parametrize(
    ("main", "fallback", "told"),
    [
        (on_hub(5), on_hub(5), ""),
        (on_hub(5), batch(on_hub(3), on_hub(2)), ""),
        (batch(on_hub(3), pay(), on_hub(3)), batch(pay(), on_hub(4)), ""),
        (on_hub(5), batch(on_hub(3), on_hub(3)), "0.000003 USDt"),
        (on_hub(5), pay(amount=10**12), "1 KSM"),
        (on_hub(5), on_hub(5, CAROL_KEY), "transfer"),
        (on_hub(5), on_hub(5, method="transfer_keep_alive"), "keep_alive"),
        (on_hub(5), proxied(on_hub(5)), "0.000005 USDt"),
        (proxied(on_hub(5)), on_hub(5), "0.000005 USDt"),
    ],
)
def test_the_other_branch_may_only_make_the_payments_of_the_one_that_ran(
    main: Call, fallback: Call, told: str
) -> None:
    expected = [says("Utility.if_else", told)] if told else []

    assert branches_of(if_else(main, fallback), MAIN_RAN) == expected
    assert branches_of(if_else(fallback, main), FALLBACK_RAN) == expected
    assert len(branches_of(if_else(main, fallback), MAIN_RAN, FALLBACK_RAN)) == 2


def test_a_payment_behind_a_handler_that_ran_instead_is_told(judge: Judge) -> None:
    """The verdict may be another one by then: it is told all the same."""
    call = execute(
        withdraw(DOT),
        {"SetErrorHandler": ["ClearError", deposit(BOB_KEY)]},
        {"Trap": 1},
        deposit(CAROL_KEY),
    )
    refused = judge(call, burned(DOT), minted(DOT), {"Utility": "BatchCompletedWithErrors"})

    assert judge(call, burned(DOT), minted(DOT))["reasons"] == [says(CAROL, "Polkadot")]
    assert (refused["verdict"], refused["warnings"][:1]) == ("refused", [says(CAROL, "Polkadot")])


FELL_BACK: dict[str, Any] = {"IfElseFallbackCalled": {"main_error": {"Token": "FundsUnavailable"}}}
BURN = Call(pallet="Balances", method="burn", args={"value": 1000 * DOT, "keep_alive": True})


@pytest.mark.parametrize(
    ("main", "fallback", "event", "branch"),
    [
        pytest.param(pay(), BURN, "IfElseMainSuccess", "Balances.burn", id="destroys"),
        pytest.param(
            batch(pay(), BURN), pay(), FELL_BACK, "Utility.batch_all", id="holds more calls"
        ),
        pytest.param(
            pay(), batch(pay(), pay()), "IfElseMainSuccess", "Utility.batch_all", id="pays more"
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

    assert lost["reasons"] == [says("sovereign account of parachain 2034", "`yes`")]
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


@pytest.mark.parametrize(
    ("call", "message", "told"),
    [
        pytest.param({POOL: 5}, {POOL: -3, BOB_KEY: 3}, True, id="fills the pool"),
        pytest.param({POOL: -5}, {POOL: -3, BOB_KEY: 3}, True, id="drains the pool"),
        pytest.param({ALICE_KEY: -5}, {POOL: -3, BOB_KEY: 3}, False, id="leaves the pool"),
        pytest.param({CAROL_KEY: -5}, {CAROL_KEY: 3}, True, id="closes the receiver's account"),
        pytest.param({ALICE_KEY: -5}, {ALICE_KEY: 3}, False, id="sends to itself"),
    ],
)
@pytest.mark.parametrize("fee_asset", [False, True])
def test_a_message_that_comes_back_meets_what_the_call_did(
    call: dict[bytes, int], message: dict[bytes, int], told: bool, fee_asset: bool
) -> None:
    """A fee that a pool exchanges is a part of that."""
    tried = trial()
    tried.fee_asset = tried.assets.native(tried.chain) if fee_asset else None
    closed = Event(pallet="System", name="KilledAccount", fields={"account": CAROL_KEY})
    back = DryRunResult(chain=tried.chain, message=object())  # type: ignore[arg-type]
    tried.hops = [DryRunResult(chain=tried.chain, events=(closed,)), back]
    tried.ledgers = [
        HopLedger(hop=hop, entries=entries(tried, changes))
        for hop, changes in zip(tried.hops, (call, message), strict=True)
    ]
    finish(check_competing_messages(tried))

    expected = [says("comes back", "Polkadot")] if told or (fee_asset and POOL in message) else []
    assert tried.findings.unknowns == expected


def removing(who: bytes, kind: str = "Any") -> Call:
    args = {"delegate": {"Id": who}, "proxy_type": kind, "delay": 0}
    return Call(pallet="Proxy", method="remove_proxy", args=args)


EVERY = Call(pallet="Proxy", method="remove_proxies", args={})
BOTH = batch(removing(ALICE_KEY), removing(BOB_KEY))


@pytest.mark.parametrize(
    ("call", "losses", "unknowns"),
    [
        (EVERY, 0, 0),
        (proxied(EVERY), 1, 1),
        (proxied(BOTH), 1, 1),
        (proxied(removing(BOB_KEY)), 1, 0),
        (batch(proxied(removing(BOB_KEY)), proxied(removing(ALICE_KEY))), 1, 1),
        (through(BOB_KEY, proxied(EVERY)), 1, 1),
        (utility("as_derivative", index=1, call=inner(EVERY)), 1, 0),
    ],
)
def test_proxies_are_never_removed_in_silence_and_the_last_one_is_not_ok(
    call: Call, losses: int, unknowns: int
) -> None:
    tried = trial("assetHubKusama", clients=lambda _: Kusama())
    tried.calls = list(walk_calls(call, KUSAMA, ALICE_KEY))
    finish(check_removed_proxies(tried))
    found = tried.findings

    assert found.losses == [says("Kusama Asset Hub")] * losses
    assert found.unknowns == [says("Kusama Asset Hub", "lost")] * unknowns
