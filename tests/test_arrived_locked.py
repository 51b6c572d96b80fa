"""What a receiver can't spend is not what arrived; keyless receivers in hex; messages that draw on
the same."""

from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.keyless_accounts import accounts_of_address
from scenarioctl.transactions.simulation.branches import check_competing_messages
from scenarioctl.transactions.simulation.dry_run import DryRunResult, XcmMessage
from scenarioctl.transactions.simulation.ledger import HopLedger, LedgerEntry
from tests.check_rules import (
    ALL,
    CAROL,
    CAROL_KEY,
    Judge,
    balances,
    batch,
    burned,
    check,
    execute,
    judge,
    network,
    pay,
    steps,
    transferred,
    trial,
    withdraw,
)
from tests.conftest import BOB
from tests.messages import says
from tests.network import FakeNetwork, table_of
from tests.runner import finish
from tests.test_check import (
    ALICE_KEY,
    AMOUNT,
    BOB_KEY,
    DOT,
    RELAY_TO_HUB,
    TRANSFER,
    Check,
    call_effects,
    message,
    message_effects,
    minted,
)

__all__ = ["check", "judge", "network"]

LOCKED = 5 * 10**9
ADDRESS = bytes.fromhex("93e6a91734d50ba4e55ce9f45e0a01593e506a41")
BOND = Call(pallet="Staking", method="bond", args={"value": DOT, "payee": "Staked"})


@pytest.mark.parametrize("name", ["Reserved", "Held"])
def test_an_arrival_that_is_locked_is_refused(
    network: FakeNetwork, check: Check, name: str
) -> None:
    reason = {"reason": {"Preimage": "Preimage"}} if name == "Held" else {}
    kept = balances(name, who=BOB_KEY, amount=LOCKED, **reason)
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(minted(), kept)

    refused = check(*TRANSFER, "--destinationaddress", BOB)

    assert refused["reasons"] == [says(BOB, "0.998 DOT", "1.498 DOT", "0.5 DOT")]


def test_what_is_released_again_is_no_lock(network: FakeNetwork, check: Check) -> None:
    kept = (
        balances("Reserved", who=BOB_KEY, amount=1),
        balances("Unreserved", who=BOB_KEY, amount=1),
    )
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects(minted(), *kept)

    assert check(*TRANSFER, "--destinationaddress", BOB)["verdict"] == "ok"


def test_what_is_locked_for_a_stranger_is_unknown_and_not_for_a_receiver(judge: Judge) -> None:
    """A pool may lock its fees for who collects them."""
    carol = transferred(CAROL_KEY, LOCKED), balances("Locked", who=CAROL_KEY, amount=LOCKED)

    answer = judge(pay(), transferred(BOB_KEY, DOT), *carol)

    assert (answer["verdict"], answer["reasons"]) == ("unknown", [says(CAROL, "0.5 DOT")])


def test_what_the_signer_locks_is_a_step(judge: Judge) -> None:
    answer = judge(pay(), balances("Locked", who=ALICE_KEY, amount=2 * DOT))

    assert ("polkadot", "locked", "2 DOT") in steps(answer)
    assert answer["warnings"] == [says("2 DOT", "Polkadot")]


@pytest.mark.parametrize(
    "account",
    [
        bytes(32),
        *(text.ljust(32, b"\0") for text in (b"modlpy/trsry", b"para\xe8\x03", b"modlpy/xcmch")),
        b"ETH\0" + ADDRESS + bytes(8),
        ADDRESS + b"\xee" * 12,
        b"yourWalletAddressToBeEnteredHere",
    ],
    ids=["zero", "treasury", "sovereign", "checking", "Hydration's", "a Hub's", "a placeholder"],
)
def test_a_receiver_without_a_key_is_refused_in_hex(judge: Judge, account: bytes) -> None:
    paid = transferred(BOB_KEY, DOT), transferred(account, DOT)
    refused = judge(batch(pay(), pay(account)), *paid)
    confirmed = judge(batch(pay(), pay(account)), *paid, words=("--yes",))

    name = format_account(account, 0)
    assert refused["verdict"] == "refused"
    assert refused["reasons"] == [says(name, "Polkadot", "`yes`")]
    assert confirmed["verdict"] == "ok"
    assert confirmed["warnings"] == [says(name, "Polkadot")]


@pytest.mark.parametrize(
    "call",
    [
        Call(pallet="System", method="remark", args={"remark": b"hi"}),
        Call(pallet="System", method="remark", args={"remark": BOB_KEY}),
        execute({"SetTopic": BOB_KEY}),
    ],
    ids=["nothing alike", "a remark alike", "a topic alike"],
)
def test_what_is_paid_to_nobody_whom_the_call_names_is_unknown(judge: Judge, call: Call) -> None:
    answer = judge(call, transferred(BOB_KEY, DOT))

    assert answer["reasons"] == [says(BOB, "1 DOT", "Polkadot")]


@pytest.mark.parametrize("account", accounts_of_address(ADDRESS))
def test_an_account_of_20_bytes_is_named_in_every_form(judge: Judge, account: bytes) -> None:
    key = {
        "parents": 0,
        "interior": {"X1": [{"AccountKey20": {"network": None, "key": ADDRESS}}]},
    }
    paying = execute(withdraw(DOT), {"DepositAsset": {"assets": ALL, "beneficiary": key}})
    events = burned(DOT), balances("Minted", who=account, amount=DOT)

    refused, confirmed = judge(paying, *events), judge(paying, *events, words=("--yes",))

    # Named, so that it is no stranger; and nobody has its key on a relay chain.
    assert (refused["verdict"], refused["reasons"]) == ("refused", [says("nobody", "`yes`")])
    assert confirmed["verdict"] == "ok"


@pytest.mark.parametrize("shared", [True, False])
def test_two_messages_that_draw_on_one_account_are_unknown(
    judge: Judge, network: FakeNetwork, shared: bool
) -> None:
    pools = iter([bytes(range(32))] * 2 if shared else [bytes(range(32)), bytes(range(1, 33))])
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = lambda _: message_effects(
        minted(), balances("Withdraw", who=next(pools), amount=1)
    )
    two = ((RELAY_TO_HUB, message()), (RELAY_TO_HUB, message()))

    answer = judge(batch(pay(), pay()), burned(2 * AMOUNT), forwarded=two)

    compete = [reason for reason in answer["reasons"] if "two messages" in reason]
    assert compete == ([says("Polkadot Asset Hub", "account or pool")] if shared else [])
    assert ("assetHub", "arrives", "2.996 DOT") in steps(answer)


def test_the_arrival_of_two_messages_is_not_computed(network: FakeNetwork, check: Check) -> None:
    two = ((RELAY_TO_HUB, message()), (RELAY_TO_HUB, message()))
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(*two)

    answer = check(*TRANSFER, "--destinationaddress", BOB)

    assert [each for each in answer["warnings"] if "computed" in each] == [
        says("more than one message")
    ]


@pytest.mark.parametrize("tail", [b"\0", b"\1"], ids=["a pallet's", "another one"])
def test_the_account_of_a_pallet_has_nothing_behind_its_name(judge: Judge, tail: bytes) -> None:
    account = b"modlpy/trsry".ljust(31, b"\0") + tail
    remark = Call(pallet="System", method="remark", args={"remark": b"hi"})

    answer = judge(remark, transferred(account, DOT))

    assert answer["verdict"] == ("ok" if tail == b"\0" else "unknown")
    assert [each["system"] for each in answer["credits"]] == [tail == b"\0"]


def test_what_another_pallet_keeps_without_a_word_of_the_balance_is_told(judge: Judge) -> None:
    bonded = {"Staking": {"Bonded": {"stash": ALICE_KEY, "amount": DOT}}}

    silent = judge(BOND, bonded)
    held = judge(BOND, bonded, balances("Locked", who=ALICE_KEY, amount=DOT))
    others = judge(BOND, {"Staking": {"Bonded": {"stash": CAROL_KEY, "amount": DOT}}})

    assert silent["warnings"] == [says("Staking.Bonded", "1 DOT", "Polkadot")]
    assert held["warnings"] == [says("1 DOT", "locked", "Polkadot")]
    assert others["warnings"] == []


def test_what_is_set_aside_of_another_account_is_told_and_refuses_nothing(judge: Judge) -> None:
    proxied = Call(
        pallet="Proxy",
        method="proxy",
        args={
            "real": {"Id": CAROL_KEY},
            "force_proxy_type": None,
            "call": {"System": {"remark": {"remark": b""}}},
        },
    )

    answer = judge(proxied, balances("Reserved", who=CAROL_KEY, amount=DOT))

    assert (answer["verdict"], answer["warnings"]) == ("ok", [says("1 DOT", CAROL, "Polkadot")])


class Limited:
    """Answers what Hydration has registered of any asset."""

    async def table(self) -> RuntimeTable:
        return table_of("hydraDx")

    async def storage(self, *_: Any) -> Any:
        return {"xcm_rate_limit": 50 * 10**6}


def test_two_messages_that_fill_one_deposit_limit_are_unknown() -> None:
    registry = Registry()
    chain = registry.find("hydraDx")
    message = XcmMessage(
        origin=registry.find("assetHub"),
        destination=chain,
        place="",
        location=None,
        version=5,
        instructions=(),
        data=b"",
    )
    hop = DryRunResult(chain=chain, message=message)
    dot = Assets(registry).find(chain, "DOT")
    entry = LedgerEntry(account=BOB_KEY, asset=dot, value=AMOUNT, identity="")
    ledger = HopLedger(hop=hop, entries=[entry])
    tried = trial("hydraDx", clients=lambda _: Limited(), hops=[hop], ledgers=[ledger, ledger])

    finish(check_competing_messages(tried))

    assert tried.findings.unknowns == [says("Hydration", "deposit limit")]
