"""Crafted programs: what a check says of assets that are trapped, split, lost, or sent on over the
wrong chain."""

from hashlib import blake2b
from typing import Any

import pytest

from scenarioctl.model.calls import Call
from tests.check_rules import ALL, CAROL, CAROL_KEY, HERE, check, deposit, network
from tests.conftest import BOB
from tests.messages import Says, says
from tests.network import FakeNetwork
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    AMOUNT,
    ARRIVING,
    BOB_KEY,
    DELIVERY,
    DOT,
    EXECUTION,
    HUB_TO_DEX,
    NATIVE_UP,
    RELAY_TO_HUB,
    TRANSFER,
    USDT_ON_HUB,
    Check,
    asset,
    call_effects,
    location,
    message,
    message_effects,
    minted,
    two_assets,
)

__all__ = ["check", "network"]

RELAY_TO_DEX = {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}
REMARK = bytes.fromhex("0007086869")
BUY = {"BuyExecution": {"fees": asset(NATIVE_UP, AMOUNT), "weight_limit": "Unlimited"}}


def check_transfer(check: Check) -> dict[str, Any]:
    return check(*TRANSFER, "--destinationaddress", BOB)


def check_call(
    network: FakeNetwork, check: Check, pallet: str, method: str, **arguments: Any
) -> Any:
    """Check a call of polkadot, whatever its dry run is told to say."""
    data = network.chains["polkadot"].table.encode_call(
        Call(pallet=pallet, method=method, args=arguments)
    )
    return check("0x" + data.hex(), "--chain", "polkadot")


def check_payments(network: FakeNetwork, check: Check) -> Any:
    """Check a call that names Bob and Carol, whatever its dry run is told to say."""
    calls = [
        {"Balances": {"transfer_keep_alive": {"dest": {"Id": who}, "value": DOT}}}
        for who in (BOB_KEY, CAROL_KEY)
    ]
    return check_call(network, check, "Utility", "batch_all", calls=calls)


def execute(network: FakeNetwork, check: Check, *program: Any) -> Any:
    weight = {"ref_time": 10**9, "proof_size": 10**5}
    return check_call(
        network, check, "XcmPallet", "execute", message={"V5": list(program)}, max_weight=weight
    )


def events_of(network: FakeNetwork, *events: Any, chain: str = "polkadot") -> None:
    """Let the call on polkadot, or the message on another chain, do what *events* tell."""
    if chain == "polkadot":
        network.chains[chain].api["DryRunApi_dry_run_call"] = call_effects(events=events)
    else:
        network.chains[chain].api["DryRunApi_dry_run_xcm"] = message_effects(*events)


def forward(
    network: FakeNetwork, *program: Any, where: Any = RELAY_TO_HUB, events: tuple[Any, ...] = ()
) -> None:
    """Let the call on polkadot send *program* to another chain."""
    effects = call_effects((where, {"V5": list(program)}), events=events)
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = effects


def burned(who: bytes, amount: int) -> dict[str, Any]:
    return {"Balances": {"Burned": {"who": who, "amount": amount}}}


def moved(source: bytes, to: bytes, amount: int) -> dict[str, Any]:
    return {"Balances": {"Transfer": {"from": source, "to": to, "amount": amount}}}


def trapped(pallet: str, origin: Any, *items: Any) -> dict[str, Any]:
    fields = {"hash": b"\5" * 32, "origin": origin, "assets": {"V5": list(items)}}
    return {pallet: {"AssetsTrapped": fields}}


def holdings(answer: dict[str, Any], field: str) -> list[tuple[str, str, str, str | None, bool]]:
    return [
        (each["chain"], each["account"], each["human"], each["role"], each["system"])
        for each in answer[field]
    ]


# Traps


@pytest.mark.parametrize(
    ("origin", "claim"),
    [
        (
            location(ALICE_KEY),
            (
                "The sender may be able to claim it there with `tx claim assetHub` with "
                "`trapped_in` BLOCK (PolkadotXcm.claim_assets)."
            ),
        ),
        (
            NATIVE_UP,
            "Only the chain Polkadot itself can claim it, with a message that contains ClaimAsset.",
        ),
        (
            {
                "parents": 1,
                "interior": {"X1": [{"AccountId32": {"network": None, "id": ALICE_KEY}}]},
            },
            (
                "The sender can claim it only from Polkadot, with a message that contains "
                "ClaimAsset: with XcmPallet.send, if Polkadot lets accounts send messages."
            ),
        ),
        (
            {"parents": 2, "interior": {"X1": [{"GlobalConsensus": "Kusama"}]}},
            (
                "Only the chain 2/GlobalConsensus(Kusama) itself can claim it, with a message "
                "that contains ClaimAsset."
            ),
        ),
    ],
    ids=["the sender", "a chain", "an account of another chain", "another network"],
)
def test_a_trap_where_a_message_ends_is_refused(
    network: FakeNetwork, check: Check, origin: Any, claim: str
) -> None:
    events_of(
        network,
        minted(),
        trapped("PolkadotXcm", origin, asset(NATIVE_UP, DOT // 2)),
        chain="assetHub",
    )

    answer = check_transfer(check)

    assert (answer["verdict"], answer["exit"]) == ("refused", 6)
    assert answer["reasons"] == [says("0.5", "DOT", "Polkadot Asset Hub", claim)]
    assert [
        (each["chain"], each["human"]) for each in answer["steps"] if each["what"] == "trapped"
    ] == [("assetHub", "0.5 DOT")]


def test_all_that_a_trap_holds_is_told(network: FakeNetwork, check: Check) -> None:
    item = {"id": NATIVE_UP, "fun": {"NonFungible": {"Index": 7}}}
    held = trapped("PolkadotXcm", location(ALICE_KEY), item, asset(NATIVE_UP, DOT // 2))
    events_of(network, minted(), held, chain="assetHub")

    assert check_transfer(check)["reasons"] == [says("an item of 1/Here", "0.5 DOT")]


# Who gets what


def test_two_assets_may_go_to_two_accounts(network: FakeNetwork, check: Check) -> None:
    program = two_assets()["V5"]
    dollars, rest = asset(USDT_ON_HUB, 10**8), {"Wild": "All"}
    forward(
        network, *program[:3], deposit(BOB_KEY, {"Definite": [dollars]}), deposit(CAROL_KEY, rest)
    )
    issued = {"Assets": {"Issued": {"asset_id": 1984, "owner": BOB_KEY, "amount": 10**8}}}
    events_of(network, issued, minted(CAROL_KEY, EXECUTION), chain="assetHub")
    both = check_payments(network, check)
    events_of(network, issued, chain="assetHub")
    one = check_payments(network, check)

    assert (both["verdict"], both["reasons"]) == ("ok", [])
    assert one["reasons"] == [says(CAROL, "Polkadot Asset Hub")]


def test_what_leaves_is_told_of_bytes_too(network: FakeNetwork, check: Check) -> None:
    checking = b"modlpy/xcmch".ljust(32, b"\0")
    effects = call_effects(
        (RELAY_TO_HUB, message()),
        events=(
            {"Balances": {"Minted": {"who": checking, "amount": AMOUNT}}},
            burned(ALICE_KEY, AMOUNT),
            moved(ALICE_KEY, CAROL_KEY, DOT),
        ),
    )
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = effects

    answer = check_payments(network, check)

    assert (answer["verdict"], answer["reasons"]) == ("ok", [])
    assert holdings(answer, "leaves") == [("polkadot", ALICE, "2.5 DOT", says("sender"), False)]
    assert [step["human"] for step in answer["steps"] if step["what"] == "leaves"] == ["2.5 DOT"]
    assert [(each[0], each[2], each[3]) for each in holdings(answer, "credits")] == [
        ("polkadot", "1.5 DOT", says("teleports", "checking")),
        ("polkadot", "1 DOT", None),
        ("assetHub", "1.498 DOT", None),
    ]


def test_a_transfer_that_somebody_else_shares_is_refused(
    network: FakeNetwork, check: Check
) -> None:
    events_of(
        network,
        minted(amount=ARRIVING - DOT // 100),
        minted(CAROL_KEY, DOT // 100),
        chain="assetHub",
    )

    answer = check_transfer(check)

    assert answer["verdict"] == "refused"
    assert answer["reasons"] == [says("0.01", "DOT", CAROL, "Polkadot Asset Hub")]


def test_a_transfer_that_credits_far_less_than_computed_is_not_ok(
    network: FakeNetwork, check: Check
) -> None:
    events_of(network, minted(amount=ARRIVING // 2), chain="assetHub")

    answer = check_transfer(check)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [says("0.749", "DOT", "Polkadot Asset Hub")]
    assert says("1.498", "0.749") in answer["warnings"]


# The reserve gate

WRONG_RESERVE = (
    "DOT would go from Polkadot to Hydration with Polkadot as its reserve, but Polkadot "
    "Asset Hub backs it: no chain refuses "
    "this, and the backing would end up in the wrong place"
)
TRANSACT = {
    "Transact": {
        "origin_kind": "SovereignAccount",
        "fallback_max_weight": None,
        "call": {"encoded": REMARK},
    }
}


DOWN = {
    "assets": {"Definite": [asset(HERE, DOT)]},
    "dest": RELAY_TO_DEX,
    "xcm": [BUY, deposit(BOB_KEY)],
}


@pytest.mark.parametrize(
    "program",
    [
        [{"DepositReserveAsset": DOWN}],
        [{"TransferReserveAsset": {**DOWN, "assets": [asset(HERE, DOT)]}}],
        [{"SetAppendix": [{"DepositReserveAsset": DOWN}]}],
        [{"SetErrorHandler": [{"SetAppendix": [{"DepositReserveAsset": DOWN}]}]}],
        [
            {
                "ExecuteWithOrigin": {
                    "descendant_origin": None,
                    "xcm": [{"DepositReserveAsset": DOWN}],
                }
            }
        ],
        [
            {
                "InitiateTransfer": {
                    "destination": RELAY_TO_DEX,
                    "remote_fees": {"ReserveDeposit": {"Definite": [asset(HERE, DOT)]}},
                    "preserve_origin": False,
                    "assets": [],
                    "remote_xcm": [deposit(BOB_KEY)],
                }
            }
        ],
        [
            {
                "InitiateTeleport": {
                    "assets": ALL,
                    "dest": RELAY_TO_HUB,
                    "xcm": [
                        {
                            "InitiateReserveWithdraw": {
                                "assets": {"Definite": [asset(NATIVE_UP, DOT)]},
                                "reserve": NATIVE_UP,
                                "xcm": [{"DepositReserveAsset": DOWN}],
                            }
                        }
                    ],
                }
            }
        ],
    ],
    ids=[
        *(
            *("at the top", "out of the account", "in an appendix", "in an error handler"),
            "with another origin",
        ),
        *("as V5 has it", "two chains on"),
    ],
)
def test_the_gate_reads_programs_that_the_chain_executes_itself(
    network: FakeNetwork, check: Check, program: list[Any]
) -> None:
    events_of(network)

    answer = execute(network, check, {"WithdrawAsset": [asset(HERE, DOT)]}, *program)

    assert answer["verdict"] == "refused"
    assert WRONG_RESERVE in answer["reasons"]


def test_a_teleport_that_neither_end_backs_is_refused(network: FakeNetwork, check: Check) -> None:
    events_of(network)

    answer = execute(network, check, {"InitiateTeleport": {**DOWN, "xcm": []}})

    assert answer["reasons"] == [says("DOT", "Hydration")]


@pytest.mark.parametrize("para_id", [2000, 2037])
@pytest.mark.parametrize("instruction", ["InitiateTeleport", "DepositReserveAsset"])
def test_what_a_parachain_would_credit_for_good_is_refused_with_its_reason(
    network: FakeNetwork, check: Check, para_id: int, instruction: str
) -> None:
    """Acala mints DOT that is teleported to it, and the others credit it from the relay chain: it
    never leaves again."""
    events_of(network)
    there = {"parents": 0, "interior": {"X1": [{"Parachain": para_id}]}}

    answer = execute(
        network,
        check,
        {"WithdrawAsset": [asset(HERE, DOT)]},
        {instruction: {**DOWN, "dest": there}},
    )

    assert answer["verdict"] == "refused"
    assert answer["reasons"][0] == says("DOT must not go from Polkadot to")


def test_a_receiver_of_32_bytes_is_refused_where_accounts_have_20(
    network: FakeNetwork, check: Check
) -> None:
    """Darwinia would credit an account that it makes from the 32 bytes, and nobody has its key."""
    events_of(network)
    there = {"parents": 0, "interior": {"X1": [{"Parachain": 2046}]}}

    answer = execute(
        network,
        check,
        {"WithdrawAsset": [asset(HERE, DOT)]},
        {"DepositReserveAsset": {**DOWN, "dest": there}},
    )

    assert answer["verdict"] == "refused"
    (reason,) = (each for each in answer["reasons"] if "32 bytes" in each)
    assert reason == says("Darwinia", "20")


@pytest.mark.parametrize("around", [False, True], ids=["after", "inside"])
def test_assets_of_an_account_that_a_message_withdraws_name_no_reserve(
    network: FakeNetwork, check: Check, around: bool
) -> None:
    descendant = {"X1": [{"AccountId32": {"network": None, "id": ALICE_KEY}}]}
    program: list[Any] = [{"WithdrawAsset": [asset(NATIVE_UP, AMOUNT)]}, BUY, deposit(BOB_KEY)]
    sent = [{"DescendOrigin": descendant}, *program]
    if around:
        sent = [{"ExecuteWithOrigin": {"descendant_origin": descendant, "xcm": program}}]
    effects = call_effects((RELAY_TO_DEX, {"V5": sent}))
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = effects
    dex = network.chains["hydraDx"]
    got = {"Tokens": {"Deposited": {"currency_id": 5, "who": BOB_KEY, "amount": AMOUNT}}}
    dex.api["DryRunApi_dry_run_xcm"] = message_effects(got)
    dex.api["XcmPaymentApi_query_xcm_weight"] = {"Ok": {"ref_time": 1, "proof_size": 1}}
    dex.api["XcmPaymentApi_query_weight_to_asset_fee"] = {"Ok": 1}

    answer = check_payments(network, check)

    assert (answer["verdict"], answer["reasons"]) == ("ok", [])
    assert around == any("ExecuteWithOrigin" in warning for warning in answer["warnings"])


# What no dry run shows


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        (
            {"Transact": {**TRANSACT["Transact"], "call": {"encoded": b"\xff"}}},
            says("Polkadot Asset Hub", "executes"),
        ),
        (
            {"LockAsset": {"asset": asset(NATIVE_UP, 1), "unlocker": HUB_TO_DEX}},
            says("Polkadot Asset Hub", "LockAsset"),
        ),
        (
            {"ExportMessage": {"network": "Kusama", "destination": "Here", "xcm": []}},
            says("Polkadot Asset Hub", "ExportMessage"),
        ),
    ],
    ids=["a call of another runtime", "a lock", "an export"],
)
@pytest.mark.parametrize("nested", [False, True], ids=["at the top", "in an appendix"])
def test_what_is_not_followed_is_never_ok(
    network: FakeNetwork, check: Check, instruction: Any, reason: Says, nested: bool
) -> None:
    program = message()["V5"]
    forward(network, *program, {"SetAppendix": [instruction]} if nested else instruction)

    answer = check_payments(network, check)

    assert answer["verdict"] == ("unknown" if reason else "ok")
    assert answer["reasons"] == ([reason] if reason else [])


def test_an_exchange_at_any_price_has_to_be_confirmed(network: FakeNetwork, check: Check) -> None:
    exchange = {"ExchangeAsset": {"give": ALL, "want": [], "maximal": True}}
    forward(network, *message()["V5"], {"SetErrorHandler": [exchange]})

    answer = check_payments(network, check)

    assert (answer["verdict"], answer["reasons"]) == ("refused", [says("at any price", "`yes`")])


def test_the_delivery_fee_has_a_receiver_of_its_own(network: FakeNetwork, check: Check) -> None:
    """On an Asset Hub that is an account which nobody could tell from a person's."""
    paid = {
        "XcmPallet": {"FeesPaid": {"paying": location(ALICE_KEY), "fees": [asset(HERE, DELIVERY)]}}
    }
    forward(
        network,
        *message()["V5"],
        events=(
            burned(ALICE_KEY, AMOUNT),
            burned(ALICE_KEY, DELIVERY),
            {"Balances": {"Minted": {"who": CAROL_KEY, "amount": DELIVERY}}},
            paid,
        ),
    )

    answer = check_transfer(check)

    assert (answer["verdict"], answer["reasons"]) == ("ok", [])
    assert holdings(answer, "leaves") == [("polkadot", ALICE, "1.5 DOT", says("sender"), False)]
    assert holdings(answer, "credits")[0] == (
        *("polkadot", CAROL, "0.03 DOT", says("gets", "delivery"), True),
    )


# What a block takes, and what runs of a call with a condition


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (
            {"ref_time": 1_479_873_955_001, "proof_size": 1},
            "the transaction is too heavy for a block of Polkadot: it takes 1.480 s of "
            "computing time, and the "
            "limit of a transaction is 1.480 s. Split it",
        ),
        ({"ref_time": 1_479_873_955_000, "proof_size": 1}, ""),
    ],
    ids=["time", "just light enough"],
)
def test_a_transaction_that_no_block_takes_is_refused_untried(
    network: FakeNetwork, check: Check, weight: dict[str, int], reason: str
) -> None:
    info = {"weight": weight, "class": "Normal", "partial_fee": 1}
    network.chains["polkadot"].api["TransactionPaymentApi_query_info"] = info

    answer = check_payments(network, check)

    assert answer["verdict"] == ("refused" if reason else "ok")
    assert answer["reasons"] == ([reason] if reason else [])
    tried = [
        name for name, _ in network.chains["polkadot"].asked if name == "DryRunApi_dry_run_call"
    ]
    assert bool(tried) == (not reason)


def as_multi(network: FakeNetwork, check: Check, tried_later: Any) -> Any:
    """Check a multisig's first approval of a payment to Bob; trying that itself ends as
    *tried_later* says."""
    relay = network.chains["polkadot"]
    arguments = {"dest": {"Id": BOB_KEY}, "value": DOT}
    payment = {"Balances": {"transfer_keep_alive": arguments}}
    data = relay.table.encode_call(
        Call(pallet="Balances", method="transfer_keep_alive", args=arguments)
    )
    waiting = {
        "approving": ALICE_KEY,
        "multisig": CAROL_KEY,
        "call_hash": blake2b(data, digest_size=32).digest(),
    }
    now = call_effects(events=({"Multisig": {"NewMultisig": waiting}},))
    relay.api["DryRunApi_dry_run_call"] = lambda asked: (
        tried_later if CAROL_KEY in asked[:40] else now
    )
    return check_call(
        network,
        check,
        *("Multisig", "as_multi"),
        threshold=2,
        other_signatories=[BOB_KEY],
        maybe_timepoint=None,
        call=payment,
        max_weight={"ref_time": 1, "proof_size": 1},
    )


def test_a_call_that_waits_for_approvals_is_tried_as_the_multisig_account(
    network: FakeNetwork, check: Check
) -> None:
    trap = trapped("XcmPallet", location(CAROL_KEY), asset(HERE, DOT))
    traps = as_multi(network, check, call_effects(events=(trap,)))
    pays = as_multi(network, check, call_effects(events=(moved(CAROL_KEY, BOB_KEY, DOT),)))

    assert traps["verdict"] == "refused"
    assert traps["reasons"] == [says(CAROL, "1", "DOT", "XcmPallet.claim_assets")]
    assert (pays["verdict"], [each[1:3] for each in holdings(pays, "credits")]) == (
        "ok",
        [(BOB, "1 DOT")],
    )
    assert [each[1:3] for each in holdings(pays, "leaves")] == [(CAROL, "1 DOT")]
    # It isn't the money of who signs.
    assert [each["role"] for each in pays["leaves"]] == ["the multisig"]
    assert [stop["events"] for stop in pays["stops"]] == [
        ["Multisig.NewMultisig"],
        ["Balances.Transfer"],
    ]
    assert pays["warnings"] == [says(CAROL, "signatory")]


def test_a_call_that_another_multisig_makes_of_that_is_tried_too(
    network: FakeNetwork, check: Check
) -> None:
    relay, other = network.chains["polkadot"], bytes(range(32))
    terms = {
        "threshold": 2,
        "maybe_timepoint": None,
        "max_weight": {"ref_time": 1, "proof_size": 1},
    }
    payment = {"Balances": {"transfer_keep_alive": {"dest": {"Id": BOB_KEY}, "value": DOT}}}
    inner = {"as_multi": {**terms, "other_signatories": [BOB_KEY], "call": payment}}

    def waits(multisig: bytes, pallet: str, call: dict[str, Any]) -> Any:
        ((method, arguments),) = call.items()
        data = relay.table.encode_call(Call(pallet=pallet, method=method, args=arguments))
        hashed = blake2b(data, digest_size=32).digest()
        waiting = {"approving": ALICE_KEY, "multisig": multisig, "call_hash": hashed}
        return call_effects(events=({"Multisig": {"NewMultisig": waiting}},))

    trap = call_effects(events=(trapped("XcmPallet", location(other), asset(HERE, DOT)),))
    tried = {CAROL_KEY: waits(other, "Balances", payment["Balances"]), other: trap}
    now = waits(CAROL_KEY, "Multisig", inner)
    relay.api["DryRunApi_dry_run_call"] = lambda asked: next(
        (effects for account, effects in tried.items() if account in asked), now
    )

    outer = {**terms, "other_signatories": [BOB_KEY], "call": {"Multisig": inner}}
    answer = check_call(network, check, "Multisig", "as_multi", **outer)

    assert answer["verdict"] == "refused"
    assert answer["reasons"] == [says(CAROL, "trapped", "1 DOT")]
