"""What the tests of the check's rules share: a fake relay chain, Asset Hub and exchange, and calls
of Alice."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.simulation.trial import Trial
from tests.conftest import Run
from tests.network import FakeNetwork, table_of
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    BOB_KEY,
    DOT,
    Check,
    asset,
    call_effects,
    fill,
    location,
)

CAROL_KEY = bytes.fromhex("90b5ab205c6974c9ea841be688864633dc9ca8a357843eeacf2314649965fe22")
CAROL = "14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q"
HERE = {"parents": 0, "interior": "Here"}
ALL: dict[str, Any] = {"Wild": "All"}
WEIGHT = {"ref_time": 10**9, "proof_size": 10**5}


def checker(network: FakeNetwork, scenarioctl: Run) -> Check:
    """Return what runs `tx check --json` for Alice, and gives its answer with the exit code in
    it."""

    def run(*words: str) -> dict[str, Any]:
        ended = scenarioctl(
            "--json", "--config", str(network.config), "tx", "check", *words, "--sender", ALICE
        )
        answer: dict[str, Any] = json.loads(ended.out)
        return {**answer, "exit": ended.code}

    return run


class Offline:
    """A chain of which only the runtime is known."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    async def table(self) -> RuntimeTable:
        return table_of(self.chain.name)


def trial(chain: str = "polkadot", **fields: Any) -> Trial:
    """Return a trial of a remark of Alice on *chain*, of which a rule reads *fields*."""
    registry = Registry()
    remark = Call(pallet="System", method="remark", args={"remark": b"hi"})
    known = {
        "clients": Offline,
        "assets": Assets(registry),
        "sender": ALICE_KEY,
        "call": remark,
        **fields,
    }
    return Trial(chain=registry.find(chain), **known)


def inner(call: Call) -> dict[str, Any]:
    return {call.pallet: {call.method: call.args}}


def pay(to: bytes = BOB_KEY, amount: int = DOT) -> Call:
    return Call(
        pallet="Balances", method="transfer_keep_alive", args={"dest": {"Id": to}, "value": amount}
    )


def batch(*calls: Call, method: str = "batch_all") -> Call:
    return Call(pallet="Utility", method=method, args={"calls": [inner(call) for call in calls]})


def execute(*program: Any) -> Call:
    arguments = {"message": {"V5": list(program)}, "max_weight": WEIGHT}
    return Call(pallet="XcmPallet", method="execute", args=arguments)


def burn_asset(amount: int) -> dict[str, Any]:
    return {"BurnAsset": [asset(HERE, amount)]}


def deposit(to: bytes, assets: Any = ALL) -> dict[str, Any]:
    return {"DepositAsset": {"assets": assets, "beneficiary": location(to)}}


def withdraw(amount: int) -> dict[str, Any]:
    return {"WithdrawAsset": [{"id": HERE, "fun": {"Fungible": amount}}]}


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    fill(network)
    return network


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Check:
    return checker(network, scenarioctl)


Judge = Callable[..., Any]


@pytest.fixture
def judge(network: FakeNetwork, check: Check) -> Judge:
    """Return the check of a call on polkadot, whose dry run tells of *events* and sends what is
    *forwarded*."""
    relay = network.chains["polkadot"]

    def run(call: Call, *events: Any, forwarded: Any = (), words: Any = ()) -> Any:
        relay.api["DryRunApi_dry_run_call"] = call_effects(*forwarded, events=events)
        return check("0x" + relay.table.encode_call(call).hex(), "--chain", "polkadot", *words)

    return run


def balances(name: str, **fields: Any) -> dict[str, Any]:
    return {"Balances": {name: fields}}


def transferred(to: bytes, amount: int, source: bytes = ALICE_KEY) -> dict[str, Any]:
    return balances("Transfer", **{"from": source, "to": to, "amount": amount})


def burned(amount: int, who: bytes = ALICE_KEY) -> dict[str, Any]:
    return balances("Burned", who=who, amount=amount)


def minted(amount: int, who: bytes = BOB_KEY) -> dict[str, Any]:
    return balances("Minted", who=who, amount=amount)


def steps(answer: Any) -> list[tuple[str, str, str]]:
    return [(each["chain"], each["what"], each["human"]) for each in answer["steps"]]
