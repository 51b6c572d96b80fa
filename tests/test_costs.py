"""Fees, deposits and what must stay are held against the sender's balance before a check says
ok."""

from collections.abc import Callable
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from scenarioctl.transactions.balances import NativeBalance
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
