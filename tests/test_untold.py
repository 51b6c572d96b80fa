"""What a chain doesn't tell, or tells in a form that is not known, is inconclusive."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.blocks import read_block_hashes
from scenarioctl.transactions.connected_transfer import TransferBuilder, find_maximum
from scenarioctl.transactions.signing.signing_context import read_next_nonce
from scenarioctl.transactions.simulation.dry_run import MOST_STOPS, trace_call
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    existential_deposit,
    free_balance,
    query_runtime_api,
    query_runtime_api_result,
    read_constant,
)
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import UNLISTED
from scenarioctl.transactions.transfer_prices import receiver_deposit
from tests.messages import says
from tests.runner import finish
from tests.runtimes import ASSETS, REGISTRY, bundled
from tests.test_check import (
    ALICE_KEY,
    BOB_KEY,
    RELAY_TO_HUB,
    call_effects,
    message,
    message_effects,
)

HYDRATION = REGISTRY.find("hydraDx")
DOT = ASSETS.find(HYDRATION, 5)
#: The ids of its kind are numbers.
ODD = DOT._replace(id="odd")
UNKNOWN = TransferBuilder(
    clients=lambda _: told(),
    assets=ASSETS,
    transfer=Transfer(
        source=HYDRATION,
        destination=HYDRATION,
        asset=DOT._replace(kind=UNLISTED),
        amount=1,
        beneficiary=BOB_KEY,
    ),
    table=bundled("hydraDx"),
    known_destination=None,
)


@dataclass
class Told:
    """A chain that gives one answer to each call of its runtime, and has one value in all of its
    storage."""

    chain: Chain = HYDRATION
    answers: dict[str, Any] = field(default_factory=dict)
    stored: Any = None
    endpoint: str = "ws://one"

    async def table(self) -> RuntimeTable:
        return bundled(self.chain.name)

    async def raw_runtime_call(self, name: str, *_: Any) -> Any:
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def storage(self, *_: Any) -> Any:
        return self.stored

    async def call(self, *_: Any) -> Any:
        return None

    async def call_many(self, requests: Sequence[Any]) -> list[Any]:
        return [None for _ in requests]

    def read_value(self, *_: Any) -> Any:
        return self.stored


def told(**answers: Any) -> Any:
    return Told(answers=answers)


REMARK = Call(pallet="System", method="remark", args={"remark": b"hi"})
WEIGHT = ("XcmPaymentApi", "query_xcm_weight")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda: query_runtime_api(told(), *WEIGHT), ("query_xcm_weight", "1 parameters")),
        (
            lambda: query_runtime_api(
                told(Core_version=InvalidRequest("2 bytes are left")), "Core", "version"
            ),
            ("Core_version", "2 bytes are left"),
        ),
        (
            lambda: query_runtime_api_result(
                told(Core_version={"spec_version": 1}), "Core", "version"
            ),
            ("Core_version", "Result"),
        ),
        (lambda: read_constant(told(), "Balances", "Nothing"), ("Balances.Nothing", "hydraDx")),
        (lambda: free_balance(told(), ODD, BOB_KEY), ("balance of odd",)),
        (lambda: existential_deposit(told(), ODD), ("existential deposit of odd",)),
        (lambda: existential_deposit(told(), DOT), ("Hydration has no asset 5",)),
        (
            lambda: receiver_deposit(told(), ASSETS, asset=DOT, pays=DOT, receiver=BOB_KEY),
            ("Hydration has no asset 5",),
        ),
    ],
    ids=[
        *(
            *("other parameters", "not decoded", "no Result", "no constant", "no balance"),
            "no deposit",
        ),
        *("no asset", "no asset to receive"),
    ],
)
def test_what_is_not_told_is_inconclusive(
    asked: Callable[[], Awaitable[Any]], words: tuple[str, ...]
) -> None:
    async def ask() -> None:
        await asked()

    with pytest.raises(Inconclusive) as unknown:
        finish(ask())

    assert str(unknown.value) == says(*words)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (lambda: read_next_nonce(told(), BOB_KEY), InvalidRequest, ("nonce is missing", "hydraDx")),
        (lambda: read_block_hashes(told(), [7]), ChainUnreachable, ("ws://one", "no hash")),
        (
            lambda: find_maximum(UNKNOWN, BOB_KEY),
            InvalidRequest,
            ("amount max", "not known to list it"),
        ),
    ],
    ids=["no nonce", "no block", "no maximum"],
)
def test_what_is_not_told_is_named(
    asked: Callable[[], Awaitable[Any]], error: type[ScenarioctlError], words: tuple[str, ...]
) -> None:
    async def ask() -> None:
        await asked()

    with pytest.raises(error) as refused:
        finish(ask())

    assert str(refused.value) == says(*words)


def test_a_dry_run_in_another_format_is_unknown() -> None:
    answers = {"DryRunApi_dry_run_call": {"Ok": {"execution_result": "Ok"}}}

    (hop,) = finish(trace_call(lambda _: told(**answers), REGISTRY, HYDRATION, REMARK, ALICE_KEY))

    assert hop.unknown == says("DryRunApi", "unknown format")


def test_messages_without_an_end_are_unknown() -> None:
    """The relay chain and its Asset Hub send the message to each other."""
    onward = {"polkadot": RELAY_TO_HUB, "assetHub": {"parents": 1, "interior": "Here"}}

    def client(chain: Chain) -> Any:
        sent = (onward[chain.name], message())
        answers = {
            "DryRunApi_dry_run_call": call_effects(sent),
            "DryRunApi_dry_run_xcm": message_effects(forwarded=(sent,)),
        }
        return Told(chain=chain, answers=answers)

    hops = finish(trace_call(client, REGISTRY, REGISTRY.find("polkadot"), REMARK, ALICE_KEY))

    assert len(hops) == MOST_STOPS + 2
    assert [hop.unknown for hop in hops if hop.unknown] == [says("more than 8 chains")]
