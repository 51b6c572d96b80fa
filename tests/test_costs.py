"""Fees, deposits and what must stay are held against the sender's balance before a check says
ok."""

from collections.abc import Callable
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from scenarioctl.transactions.balances import NativeBalance
from tests.conftest import BOB
from tests.messages import Says, says
from tests.network import FakeNetwork, made_by_root, table_of
from tests.node import Refusal
from tests.test_check import (
    ALICE_KEY,
    BOB_KEY,
    DOT,
    FEE,
    RELAY_TO_HUB,
    Check,
    account,
    call_effects,
    check,
    fill,
    info,
    message,
    module_error,
)

__all__ = ["check"]

HDX = 10**12
NOT_EXPENDABLE = {"Token": "NotExpendable"}


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    fill(network)
    network.chains["hydraDx"].api.update(
        DryRunApi_dry_run_call=call_effects(),
        TransactionPaymentApi_query_info=info(HDX),
        TransactionPaymentApi_query_weight_to_fee=150 * HDX,
    )
    return network


def call_hex(chain: str, pallet: str, method: str, **arguments: Any) -> str:
    return (
        "0x" + table_of(chain).encode_call(Call(pallet=pallet, method=method, args=arguments)).hex()
    )


def transfer_hex(method: str, amount: int) -> str:
    return call_hex("polkadot", "Balances", method, dest={"Id": BOB_KEY}, value=amount)


REMARK = call_hex("polkadot", "System", "remark", remark=b"x")
DEX_REMARK = call_hex("hydraDx", "System", "remark", remark=b"x")


def error(value: Any) -> dict[str, Any]:
    return {"Err": {"post_info": {"actual_weight": None, "pays_fee": "Yes"}, "error": value}}


def once_charged(value: Any) -> Callable[[bytes], Any]:
    """Return a dry run in which a call passes, and ends as *value* once its fee is taken."""
    return lambda arguments: value if made_by_root(arguments) else call_effects()


def hold(
    network: FakeNetwork, *, chain: str = "polkadot", free: int, reserved: int = 0, frozen: int = 0
) -> None:
    row = account(free, reserved=reserved, frozen=frozen)
    network.chains[chain].store("System", "Account", ALICE_KEY, value=row)


EXECUTE = call_hex(
    "polkadot",
    "Utility",
    "batch_all",
    calls=[
        {
            "XcmPallet": {
                "execute": {
                    "message": {"V5": []},
                    "max_weight": {"ref_time": 4 * 10**9, "proof_size": 10**5},
                }
            }
        }
    ],
)


def weight(ref_time: int) -> dict[str, int]:
    return {"ref_time": ref_time, "proof_size": 0}


def test_a_fee_for_more_weight_than_the_call_uses_is_a_bound(
    network: FakeNetwork, check: Check
) -> None:
    relay = network.chains["polkadot"]
    used = {"Ok": {"actual_weight": weight(10), "pays_fee": "Yes"}}
    relay.api.update(
        DryRunApi_dry_run_call=call_effects(result=used),
        TransactionPaymentApi_query_info={
            "weight": weight(1100),
            "class": "Normal",
            "partial_fee": FEE,
        },
        TransactionPaymentCallApi_query_call_info={
            "weight": weight(1000),
            "class": "Normal",
            "partial_fee": FEE,
        },
        # Of two bytes as a compact.
        TransactionPaymentApi_query_weight_to_fee=lambda data: (
            FEE // 2000 * (int.from_bytes(data[:2], "little") >> 2)
        ),
    )
    relay.store("TransactionPayment", "NextFeeMultiplier", value=10**18)

    bound = check(EXECUTE, "--chain", "polkadot")
    # Like a force_batch, which returns the weight that it doesn't use.
    less = check(REMARK, "--chain", "polkadot")
    del relay.api["TransactionPaymentCallApi_query_call_info"]
    untold = check(EXECUTE, "--chain", "polkadot")
    less_untold = check(REMARK, "--chain", "polkadot")
    all_used = {"Ok": {"actual_weight": weight(1100), "pays_fee": "Yes"}}
    relay.api["DryRunApi_dry_run_call"] = call_effects(result=all_used)
    whole = check(REMARK, "--chain", "polkadot")
    relay.api["DryRunApi_dry_run_call"] = call_effects()
    plain = check(REMARK, "--chain", "polkadot")

    fees = [
        next(s for s in each["steps"] if s["what"] == "transaction fee")
        for each in (bound, less, untold, less_untold, whole, plain)
    ]
    assert [fee.get("at_most") for fee in fees] == [True, True, True, True, None, None]
    assert {fee["value"] for fee in fees} == {str(FEE)}
    assert bound["warnings"] == [says("at most", "the call names", "0.00808 DOT", "refunded")]
    assert less["warnings"] == [says("at most", "0.00808 DOT", "refunded")]
    assert untold["warnings"] == [says("at most", "the call names", "refunds")]
    assert less_untold["warnings"] == [says("at most", "refunds")]


# The fee is taken before the call is tried


def test_a_call_is_tried_by_root_with_its_fee_taken(network: FakeNetwork, check: Check) -> None:
    relay = network.chains["polkadot"]
    relay.api["DryRunApi_dry_run_call"] = call_effects()

    answer = check(REMARK, "--chain", "polkadot")

    tried = [data for name, data in relay.asked if name == "DryRunApi_dry_run_call"]
    assert answer["verdict"] == "ok"
    assert [made_by_root(data) for data in tried] == [True, False]
    # Behind the origin, and before the version of XCM.
    call = relay.table.decode_call(tried[0][2:-4])
    signed = {"system": {"Signed": ALICE_KEY}}
    burn = {"Balances": {"burn": {"value": FEE, "keep_alive": True}}}
    remark = {"System": {"remark": {"remark": b"x"}}}
    assert (call.pallet, call.method) == ("Utility", "batch_all")
    assert call.args["calls"] == [
        {"Utility": {"dispatch_as": {"as_origin": signed, "call": each}}} for each in (burn, remark)
    ]


@pytest.mark.parametrize("tx", [transfer_hex("transfer_allow_death", 5 * DOT)], ids=["all"])
def test_a_call_that_fails_once_its_fee_is_paid_is_refused(
    network: FakeNetwork, check: Check, tx: str
) -> None:
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = once_charged(
        call_effects(result=error(NOT_EXPENDABLE))
    )

    answer = check(tx, "--chain", "polkadot")

    assert (answer["verdict"], answer["exit"]) == ("refused", 6)
    assert answer["reasons"] == [says("0.016", "DOT")]


def test_a_call_that_the_chain_filters_is_refused_though_root_may_make_it(
    network: FakeNetwork, check: Check
) -> None:
    filtered = call_effects(result=module_error("System", "CallFiltered"))
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = lambda arguments: (
        call_effects() if made_by_root(arguments) else filtered
    )

    answer = check(REMARK, "--chain", "polkadot")

    assert (answer["verdict"], answer["reasons"]) == (
        "refused",
        [says("Polkadot", "System.CallFiltered")],
    )


def test_what_is_sent_is_what_is_sent_once_the_fee_is_paid(
    network: FakeNetwork, check: Check
) -> None:
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = once_charged(
        call_effects((RELAY_TO_HUB, message(amount=DOT)))
    )

    answer = check(REMARK, "--chain", "polkadot")

    assert answer["arrival"]["computed"]["human"] == "0.998 DOT"


@pytest.mark.parametrize(
    ("effects", "reason"),
    [
        (
            {"Ok": {**call_effects(result=error("BadOrigin"))["Ok"]}},
            says("0.016", "DOT", "BadOrigin"),
        ),
        (call_effects(events=({"Utility": "ItemCompleted"},)), says("0.016", "DOT")),
    ],
    ids=["root may not", "events that do not tell"],
)
def test_a_fee_that_cannot_be_taken_in_a_dry_run_leaves_it_unknown(
    network: FakeNetwork, check: Check, effects: Any, reason: Says
) -> None:
    relay = network.chains["polkadot"]
    method = relay.table.api_method("DryRunApi", "dry_run_call").output_type
    encoded = relay.table.encode(method, effects)
    relay.api["DryRunApi_dry_run_call"] = once_charged(encoded)

    answer = check(REMARK, "--chain", "polkadot")

    assert (answer["verdict"], answer["reasons"], answer["exit"]) == ("unknown", [reason], 5)


def test_a_fee_that_the_runtime_does_not_take_is_refused(
    network: FakeNetwork, check: Check
) -> None:
    relay = network.chains["polkadot"]
    taken = {"Utility": {"DispatchedAs": {"result": {"Err": {"Token": "Frozen"}}}}}
    done = {"Utility": {"DispatchedAs": {"result": {"Ok": None}}}}
    item = {"Utility": "ItemCompleted"}
    method = relay.table.api_method("DryRunApi", "dry_run_call").output_type
    encoded = relay.table.encode(method, call_effects(events=(taken, item, done, item)))
    relay.api["DryRunApi_dry_run_call"] = once_charged(encoded)

    answer = check(REMARK, "--chain", "polkadot")

    assert answer["reasons"] == [says("0.016", "DOT", "Token.Frozen")]


def test_dust_that_the_runtime_removes_is_named(network: FakeNetwork, check: Check) -> None:
    dust = {"Balances": {"DustLost": {"account": ALICE_KEY, "amount": DOT // 2}}}
    killed = {"System": {"KilledAccount": {"account": ALICE_KEY}}}
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(events=(killed, dust))

    answer = check(REMARK, "--chain", "polkadot")

    assert answer["verdict"] == "ok"
    assert answer["warnings"] == [says("sender", "0.5", "DOT", "1"), says("0", "transactions")]


# What stays with the sender, and what is reserved


def test_what_the_call_reserves_is_a_step(network: FakeNetwork, check: Check) -> None:
    reserved = {"Balances": {"Reserved": {"who": ALICE_KEY, "amount": 20 * DOT}}}
    returned = {"Balances": {"Unreserved": {"who": ALICE_KEY, "amount": 5 * DOT}}}
    other = {"Balances": {"Reserved": {"who": BOB_KEY, "amount": 7 * DOT}}}
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(
        events=(reserved, returned, other)
    )

    answer = check(REMARK, "--chain", "polkadot")

    assert [(step["what"], step["human"]) for step in answer["steps"]] == [
        ("transaction fee", "0.016 DOT"),
        ("deposit", "15 DOT"),
    ]


def within(check: Check, amount: int) -> dict[str, Any]:
    return check(
        *("--from", "polkadot", "--to", "polkadot", "--assetid", "DOT", "--amount", f"{amount}raw"),
        *("--destinationaddress", BOB),
    )


@pytest.mark.parametrize(
    ("amount", "verdict", "reasons"),
    [
        (4 * DOT - FEE, "ok", []),
        (
            4 * DOT - FEE + 1,
            "refused",
            [
                (
                    "0.9999999999 DOT would stay with the sender on Polkadot, less than the "
                    "existential deposit of 1 DOT, which Balances.transfer_keep_alive keeps: "
                    "send at most 3.984 DOT"
                )
            ],
        ),
        (
            5 * DOT,
            "refused",
            ["the sender can spend 5 DOT on Polkadot, but 5.016 DOT would leave, fees included"],
        ),
    ],
)
def test_a_transfer_within_a_chain_keeps_the_existential_deposit(
    network: FakeNetwork, check: Check, amount: int, verdict: str, reasons: list[str]
) -> None:
    moved = {"Balances": {"Transfer": {"from": ALICE_KEY, "to": BOB_KEY, "amount": amount}}}
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(events=(moved,))

    answer = within(check, amount)

    assert (answer["verdict"], answer["reasons"], answer["warnings"]) == (verdict, reasons, [])


# Locks


@pytest.mark.parametrize(
    ("balance", "alive", "closed"),
    [
        ({}, 9 * DOT, 10 * DOT),
        # What is locked and the existential deposit overlap.
        ({"frozen": 4 * DOT}, 6 * DOT, 6 * DOT),
        ({"frozen": DOT // 2}, 9 * DOT, 95 * DOT // 10),
        ({"frozen": 11 * DOT}, 0, 0),
        ({"needed": True}, 9 * DOT, 9 * DOT),
        ({"free": DOT // 2}, 0, DOT // 2),
    ],
)
def test_locks_and_the_existential_deposit_are_not_added_up(
    balance: dict[str, Any], alive: int, closed: int
) -> None:
    held = NativeBalance(
        **{
            **dict.fromkeys(("reserved", "frozen", "locked"), 0),
            "free": 10 * DOT,
            "needed": False,
            "existential_deposit": DOT,
            **balance,
        }
    )

    assert (held.spendable(keep_alive=True), held.spendable(keep_alive=False)) == (alive, closed)


# Fees in another currency


def _trap(_: bytes) -> Any:
    raise Refusal(-32603, "Internal error")


def pay_in(
    network: FakeNetwork,
    currency: int | None,
    free: int,
    *,
    price: int | None = 2 * 10**7,
    quote: Any = None,
) -> None:
    """Let the sender pay fees on hydraDx in *currency*, of which it has *free*; a unit of HDX costs
    *price*, with 18 decimals."""
    dex = network.chains["hydraDx"]
    if currency is not None:
        dex.store("MultiTransactionPayment", "AccountCurrencyMap", ALICE_KEY, value=currency)
    if price is not None:
        dex.store("MultiTransactionPayment", "AcceptedCurrencies", 10, value=price)
    dex.store("Tokens", "Accounts", ALICE_KEY, 10, value={"free": free, "reserved": 0, "frozen": 0})
    place = {
        "parents": 1,
        "interior": {"X3": [{"Parachain": 1000}, {"PalletInstance": 50}, {"GeneralIndex": 1984}]},
    }
    dex.store("AssetRegistry", "AssetLocations", 10, value=place)
    dex.api["XcmPaymentApi_query_weight_to_asset_fee"] = quote or {"Err": "WeightNotComputable"}
    hold(network, chain="hydraDx", free=0)


def registered(existential_deposit: int) -> dict[str, Any]:
    return {
        "name": b"USDT",
        "asset_type": "Token",
        "existential_deposit": existential_deposit,
        "symbol": b"USDT",
        "decimals": 6,
        "xcm_rate_limit": None,
        "is_sufficient": True,
    }


def dex_check(check: Check, tx: str = DEX_REMARK) -> dict[str, Any]:
    return check(tx, "--chain", "hydraDx")


def test_a_fee_in_another_currency_is_quoted_by_the_oracle(
    network: FakeNetwork, check: Check
) -> None:
    # A third, rounded up: 0.4 USDT for 1 HDX, of 150 in the quote.
    pay_in(network, 10, 400_001, quote={"Ok": 60_000_001})

    answer = dex_check(check)

    assert (answer["verdict"], answer["reasons"], answer["warnings"]) == ("ok", [], [])
    assert [(step["what"], step["human"]) for step in answer["steps"]] == [
        ("transaction fee", "0.400001 USDT")
    ]


def test_without_an_oracle_the_price_that_the_chain_falls_back_on_counts(
    network: FakeNetwork, check: Check
) -> None:
    pay_in(network, 10, 20)

    answer = dex_check(check)

    dex = network.chains["hydraDx"]
    tried = next(data for name, data in dex.asked if name == "DryRunApi_dry_run_call")
    call = dex.table.decode_call(tried[2:-4])
    assert (answer["verdict"], answer["reasons"]) == ("ok", [])
    assert answer["steps"][0]["human"] == "0.00002 USDT"
    assert call.args["calls"][0] == {
        "Currencies": {"update_balance": {"who": ALICE_KEY, "currency_id": 10, "amount": -20}}
    }


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        (
            lambda network: pay_in(network, 10, 19),
            "refused",
            says("sender", "Hydration", "0.00002 USDT"),
        ),
        (
            lambda network: pay_in(network, 10, 10**9, price=None),
            "unknown",
            says("sender", "Hydration", "10", "USDT"),
        ),
        (
            lambda network: pay_in(network, 10, 10**9, quote=_trap),
            "unknown",
            says("XcmPaymentApi_query_weight_to_asset_fee", "Hydration", "-32603"),
        ),
    ],
    ids=["too little of it", "a currency without a price", "a price that the chain does not tell"],
)
def test_a_fee_in_another_currency_that_cannot_be_paid_or_told(
    network: FakeNetwork,
    check: Check,
    change: Callable[[FakeNetwork], Any],
    verdict: str,
    reason: Says,
) -> None:
    change(network)

    answer = dex_check(check)

    assert (answer["verdict"], answer["reasons"]) == (verdict, [reason])


SET_CURRENCY = {"MultiTransactionPayment": {"set_currency": {"currency": 10}}}


@pytest.mark.parametrize(
    "tx",
    [
        call_hex("hydraDx", "MultiTransactionPayment", "set_currency", currency=10),
        call_hex("hydraDx", "Utility", "batch", calls=[SET_CURRENCY]),
        call_hex("hydraDx", "Utility", "batch_all", calls=[SET_CURRENCY]),
    ],
)
def test_a_call_that_sets_the_currency_is_paid_in_it(
    network: FakeNetwork, check: Check, tx: str
) -> None:
    pay_in(network, None, 20)

    answer = dex_check(check, tx)

    assert (answer["verdict"], answer["steps"][0]["human"]) == ("ok", "0.00002 USDT")


def test_the_exchange_takes_a_fee_that_closes_the_account(
    network: FakeNetwork, check: Check
) -> None:
    pay_in(network, None, 0)
    hold(network, chain="hydraDx", free=HDX)
    passes = dex_check(check)
    hold(network, chain="hydraDx", free=HDX - 1)
    fails = dex_check(check)

    assert passes["verdict"] == "ok"
    assert fails["reasons"] == [says("sender", "0.999999999999", "HDX", "Hydration", "1")]


def test_on_the_exchange_a_lock_keeps_a_fee_whatever_is_reserved(
    network: FakeNetwork, check: Check
) -> None:
    pay_in(network, None, 0)
    hold(network, chain="hydraDx", free=3 * HDX, frozen=5 * HDX, reserved=5 * HDX)

    answer = dex_check(check)

    assert answer["reasons"] == [says("sender", "0", "HDX", "Hydration", "5")]


def test_what_is_sent_and_the_fee_are_added_up_in_the_currency_of_both(
    network: FakeNetwork, check: Check
) -> None:
    pay_in(network, 10, 1_000_010)
    dex = network.chains["hydraDx"]
    dex.store("AssetRegistry", "Assets", 10, value=registered(10_000))
    moved = {
        "Tokens": {
            "Transfer": {"currency_id": 10, "from": ALICE_KEY, "to": BOB_KEY, "amount": 10**6}
        }
    }
    dex.api["DryRunApi_dry_run_call"] = call_effects(events=(moved,))

    answer = check(
        *("--from", "hydraDx", "--to", "hydraDx", "--assetid", "10", "--amount", "1000000raw"),
        *("--destinationaddress", BOB),
    )

    assert answer["reasons"] == [says("sender", "1.00001", "USDT", "Hydration", "1.00002")]
