"""One node's word: an answer about money counts if a second endpoint gives the same one at the same
block."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.chains import pool
from scenarioctl.chains.connection import TIMEOUTS
from scenarioctl.errors import InvalidRequest
from tests.blocks import block_hash, header_of
from tests.check_rules import CAROL_KEY
from tests.conftest import BOB, BOB_HEX, Ended, Run
from tests.messages import raises, says
from tests.network import HEAD, FakeNetwork
from tests.node import Gone, Refusal
from tests.pool import HDX, subpool
from tests.pool import pool as omnipool
from tests.runtimes import REGISTRY
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    DOT,
    FEE,
    RELAY_TO_HUB,
    TRANSFER,
    account,
    call_effects,
    fill,
    info,
    message,
    message_effects,
    minted,
)

NOWHERE = "ws://127.0.0.1:1/"
CHAINS = ("polkadot", "assetHub", "hydraDx")


class Two:
    """Two endpoints for each chain; what `first` answers is asked for first."""

    def __init__(self, folder: Path, first: FakeNetwork, second: FakeNetwork, run: Run) -> None:
        self.first, self.second = first, second
        self._folder, self._run = folder, run
        self.configure()

    def url(self, which: str, chain: str = "polkadot") -> str:
        network: FakeNetwork = getattr(self, which)
        return network.chains[chain].node.url

    def configure(self, *, second: str = "", **more: Any) -> None:
        """Write a config.toml; *second* is the second endpoint of polkadot in place of its node."""
        chains = {
            name: {"endpoints": [self.url("first", name), self.url("second", name)], **more}
            for name in CHAINS
        }
        if second:
            chains["polkadot"]["endpoints"][1] = second
        self.write(chains)

    def write(self, chains: Any) -> None:
        self.config = self._folder / "config.toml"
        cache = str(self._folder / "cache")
        self.config.write_text(tomli_w.dumps({"cache": cache, "chains": chains}))

    def run(self, *words: str) -> Ended:
        return self._run("--config", str(self.config), *words)

    def check(self, *words: str) -> Any:
        """Return the answer of a check of a transfer from polkadot to assetHub, what stderr has,
        and the exit code."""
        ended = self.run("--json", "tx", "check", *TRANSFER, "--destinationaddress", BOB,
            "--sender", ALICE, *words)  # fmt: skip
        return {**json.loads(ended.out), "said": ended.said, "exit": ended.code}

    def transfer(self, *words: str) -> Ended:
        return self.run(
            *(
                "xcm",
                "asset-transfer",
                "--from",
                "polkadot",
                "--to",
                "polkadot",
                "--assetid",
                "DOT",
            ),
            *("--amount", "max", "--destinationaddress", BOB, "--sender", ALICE, *words),
        )


@pytest.fixture
def two(tmp_path: Path, scenarioctl: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    # The first one stays the first, however busy the machine is.
    monkeypatch.setattr(pool, "TIMEOUTS", replace(TIMEOUTS, stagger=5.0, catching_up=0.4))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with FakeNetwork(tmp_path / "one") as first, FakeNetwork(tmp_path / "two") as second:
        for network in (first, second):
            fill(network)
            for chain in network.chains.values():
                chain.store("System", "Number", value=100)
        yield Two(tmp_path, first, second, scenarioctl)


Lie = Callable[[FakeNetwork], None]


def forge_the_arrival(network: FakeNetwork) -> None:
    """Credit what the chain doesn't."""
    network.chains["assetHub"].api["DryRunApi_dry_run_xcm"] = message_effects()


def forge_the_message(network: FakeNetwork) -> None:
    """Forward another message than the chain does."""
    stolen = call_effects((RELAY_TO_HUB, message(to=CAROL_KEY)))
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = stolen


def forge_the_events(network: FakeNetwork) -> None:
    """Leave out that somebody else is paid too."""
    paid = {"Balances": {"Transfer": {"from": ALICE_KEY, "to": CAROL_KEY, "amount": DOT}}}
    effects = call_effects((RELAY_TO_HUB, message()), events=(paid,))
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = effects


def forge_the_fee(network: FakeNetwork) -> None:
    network.chains["polkadot"].api["TransactionPaymentApi_query_info"] = info(2 * FEE)


LIES = [forge_the_arrival, forge_the_message, forge_the_events, forge_the_fee]


def test_what_two_endpoints_say_is_ok(two: Two) -> None:
    answer = two.check()

    assert (answer["verdict"], answer["asked"], answer["exit"]) == ("ok", 2, 0)
    assert "second endpoint" not in answer["said"]
    for name in CHAINS:
        asked, again = (network.chains[name].asked for network in (two.first, two.second))
        assert asked == again


def test_both_endpoints_are_asked_at_the_same_time(two: Two) -> None:
    hub = two.first.chains["assetHub"].api
    relay = two.second.chains["polkadot"].api
    effects, arrival = relay["DryRunApi_dry_run_call"], hub["DryRunApi_dry_run_xcm"]
    is_asked = threading.Event()

    def try_call(_: bytes) -> Any:
        is_asked.set()
        return effects

    def try_message(_: bytes) -> Any:
        assert is_asked.wait(10)
        return arrival

    relay["DryRunApi_dry_run_call"], hub["DryRunApi_dry_run_xcm"] = try_call, try_message

    answer = two.check()

    assert (answer["verdict"], answer["asked"]) == ("ok", 2)


def test_a_question_that_both_answer_alike_is_asked_once_of_each(two: Two) -> None:
    two.check()

    for name in CHAINS[:2]:
        first, second = (network.chains[name].asked for network in (two.first, two.second))
        assert len(second) == len(first)


@pytest.mark.parametrize("truth", LIES)
@pytest.mark.parametrize("liar", ["first", "second"])
def test_a_forged_dry_run_is_not_ok(two: Two, truth: Lie, liar: str) -> None:
    # What is canned says ok: that is the lie, and the other endpoint tells the truth.
    truth(two.second if liar == "first" else two.first)

    answer = two.check()

    assert (answer["verdict"], answer["asked"]) == ("unknown", 2)
    assert answer["exit"] == 5
    (reason,) = answer["reasons"]
    for which in ("first", "second"):
        assert two.url(which) in reason
        assert two.url(which, "assetHub") in reason
    # Nothing that only one of them told is shown as a fact.
    assert (answer["steps"], answer["credits"], answer["stops"]) == ([], [], [])


def test_the_sentence_says_what_each_of_them_said(two: Two) -> None:
    forge_the_arrival(two.second)
    two.first.chains["polkadot"].store("System", "Account", ALICE_KEY, value=account(5 * DOT))

    (reason,) = two.check()["reasons"]

    assert reason == says(
        "ok",
        "refused",
        one=two.url("first"),
        two=two.url("second"),
        hub=two.url("first", "assetHub"),
        other_hub=two.url("second", "assetHub"),
    )


def test_a_refusal_of_both_stays_one(two: Two) -> None:
    for network in (two.first, two.second):
        forge_the_arrival(network)

    answer = two.check()

    assert (answer["verdict"], answer["asked"], answer["exit"]) == ("refused", 2, 6)


def test_a_call_is_checked_twice_too(two: Two) -> None:
    forge_the_events(two.second)
    relay = two.first.chains["polkadot"]
    relay.api["DryRunApi_dry_run_call"] = call_effects()
    two.second.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(
        events=(minted(CAROL_KEY, 5),)
    )
    remark = ("0x00071468656c6c6f", "--chain", "polkadot", "--sender", ALICE)

    answer = json.loads(two.run("--json", "tx", "check", *remark).out)

    assert (answer["verdict"], answer["asked"]) == ("unknown", 2)
    assert two.url("first") in answer["reasons"][0]


# The second endpoint


def test_one_that_is_down_leaves_one_and_it_is_said(two: Two) -> None:
    two.configure(second=NOWHERE)

    answer = two.check()

    assert (answer["verdict"], answer["asked"], answer["exit"]) == ("ok", 1, 0)
    assert answer["said"].splitlines()[-1] == says("second endpoint", "Polkadot", NOWHERE,
        url=two.url("first"))  # fmt: skip


def test_one_that_stands_in_for_the_first_does_not_confirm_itself(two: Two) -> None:
    def go(_: bytes) -> Any:
        raise Gone

    two.first.chains["polkadot"].api["TransactionPaymentApi_query_info"] = go

    answer = two.check()

    assert (answer["verdict"], answer["asked"], answer["exit"]) == ("ok", 1, 0)
    assert two.url("second") in answer["said"]


def test_one_that_answers_nothing_about_blocks_leaves_one(two: Two) -> None:
    def refuse(*_: Any) -> Any:
        raise Refusal(-32601, "rate limited")

    two.second.chains["polkadot"].node.answers["chain_getHeader"] = refuse

    answer = two.check()

    assert (answer["verdict"], answer["asked"]) == ("ok", 1)
    assert "rate limited" in answer["said"]


def test_one_that_is_a_block_behind_is_waited_for(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "TIMEOUTS", replace(TIMEOUTS, stagger=5.0, catching_up=30.0))
    headers = [None, None]
    two.second.chains["polkadot"].node.answers["chain_getHeader"] = lambda block=HEAD: (
        headers.pop() if headers else header_of(block)
    )

    answer = two.check()

    assert (answer["verdict"], answer["asked"], headers) == ("ok", 2, [])


def test_one_that_does_not_get_the_block_contradicts(two: Two) -> None:
    # The first could have made it up.
    behind = block_hash(97)
    genesis = REGISTRY.find("polkadot").genesis
    two.second.chains["polkadot"].node.answers.update(
        chain_getBlockHash=lambda number=None: genesis if number == 0 else behind,
        chain_getHeader=lambda block=behind: header_of(block) if block == behind else None,
    )

    answer = two.check()

    assert (answer["verdict"], answer["exit"]) == ("unknown", 5)
    assert answer["reasons"] == [says(HEAD, "97", one=two.url("first"), two=two.url("second"))]


def test_a_single_endpoint_is_asked_once_and_it_is_said(two: Two) -> None:
    two.write({name: {"endpoints": [two.url("first", name)]} for name in CHAINS})

    answer = two.check()

    assert (answer["verdict"], answer["asked"]) == ("ok", 1)
    assert answer["said"].splitlines()[-1] == says(
        "Polkadot", "Polkadot Asset Hub", one=two.url("first"), two=two.url("first", "assetHub")
    )
    assert two.first.chains["polkadot"].node.asked.count("chain_getBlockHash") < 4


def test_two_endpoints_of_one_chain_confirm_what_they_can(two: Two) -> None:
    two.write(
        {
            "polkadot": {"endpoints": [two.url("first")]},
            "assetHub": {
                "endpoints": [two.url("first", "assetHub"), two.url("second", "assetHub")]
            },
        }
    )

    agreed = two.check()
    forge_the_arrival(two.second)
    contradicted = two.check()

    assert (agreed["verdict"], agreed["asked"]) == ("ok", 1)
    assert agreed["said"].splitlines()[-1] == says("Polkadot", one=two.url("first"))
    assert contradicted["verdict"] == "unknown"


def test_nodes_of_your_own_need_no_second(two: Two) -> None:
    forge_the_arrival(two.second)
    two.configure(trusted=True)

    answer = two.check()

    assert (answer["verdict"], answer["asked"]) == ("ok", 1)
    assert "second endpoint" not in answer["said"]


@pytest.mark.parametrize("table", [{"trusted": True}, {"trusted": True, "endpoints": []}])
def test_nodes_of_others_are_not_trusted_by_mistake(table: Any) -> None:
    from scenarioctl.chains.registry import Registry

    with raises(InvalidRequest, says("chains.polkadot.trusted", "endpoints")):
        Registry({"polkadot": table})


# Balances


def test_a_maximum_that_two_endpoints_tell_says_so(two: Two) -> None:
    ended = two.transfer("--json")

    assert (ended.code, json.loads(ended.out)["asked"]) == (0, 2)
    assert "second endpoint" not in ended.said


SCENARIO = (
    "create",
    "scenario",
    "--from",
    "polkadot",
    "--to",
    "polkadot",
    "--asset",
    "DOT",
    "--destination-address",
    BOB,
)
SWAP = ("--assetin", "DOT", "--assetout", "HDX", "--amount", "2")
SWAP_AND_REMARK = """
[[steps]]
type = "swap"
assetin = "DOT"
assetout = "HDX"
amount = 2

[[steps]]
type = "Remark"
chain = "hydraDx"
text = "gm"
"""
#: Commands about money, and where their answer says how many endpoints told it.
ASKING = {
    (*SCENARIO, "--amount", "max", "--sender", ALICE): (),
    (*SCENARIO, "--amount", "1", "--sender", ALICE, "--check"): ("check",),
    ("quote", *SWAP): (),
    ("create", "swap", *SWAP): ("swap",),
    ("balance", ALICE, "polkadot"): ("chains", 0),
}


def list_assets(two: Two) -> None:
    for network in (two.first, two.second):
        dex = network.chains["hydraDx"]
        for place, value in omnipool().items():
            dex.store(*place, value=value)
        network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(
            events=(
                {
                    "Balances": {
                        "Transfer": {
                            "from": ALICE_KEY,
                            "to": bytes.fromhex(BOB_HEX[2:]),
                            "amount": DOT,
                        }
                    }
                },
            )
        )


@pytest.mark.parametrize(
    ("words", "path"), ASKING.items(), ids=[" ".join(words[:2]) for words in ASKING]
)
def test_an_answer_about_money_says_how_many_endpoints_told_it(
    two: Two, words: Any, path: Any
) -> None:
    list_assets(two)

    def ask() -> tuple[int, str]:
        ended = two.run("--json", *words)
        assert ended.code == 0, ended.err
        answer = json.loads(ended.out)
        for key in path:
            answer = answer[key]
        return answer["asked"], ended.said

    agreed = ask()
    two.write({name: {"endpoints": [two.url("first", name)]} for name in CHAINS})
    alone = ask()

    assert agreed[0] == 2
    assert "second endpoint" not in agreed[1]
    assert alone[0] == 1
    assert alone[1].count("second endpoint") == 1


def test_a_stored_swap_says_how_many_endpoints_quoted_it(two: Two, tmp_path: Path) -> None:
    list_assets(two)
    flow = tmp_path / "flow.toml"
    flow.write_text(SWAP_AND_REMARK)
    created = two.run("create", "flow", str(flow))
    assert created.code == 0, created.err
    id = created.out.strip()

    full = json.loads(two.run("--json", "scenario", "full", id).out)["result"]
    batch = json.loads(two.run("--json", "scenario", "build", "--batch", id).out)

    assert (full["asked"], batch["asked"]) == (2, 2)
    assert ["asked" in each for each in full["transactions"]] == [True, False]


def test_a_false_quote_makes_no_swap(two: Two) -> None:
    list_assets(two)
    dex = two.first.chains["hydraDx"]
    for place, value in subpool(HDX, reserve=50_000_000 * 10**12, hub=2_000_000 * 10**12).items():
        dex.store(*place, value=value)

    quoted = two.run("quote", *SWAP)
    created = two.run("create", "swap", *SWAP)
    drafted = two.run("scenario", "list")

    for ended in (quoted, created):
        assert (ended.out, ended.code) == ("", 5)
        sentence = says("HDX", one=two.url("first", "hydraDx"), two=two.url("second", "hydraDx"))
        assert ended.err.splitlines()[-1] == sentence
    assert drafted.out == ""


@pytest.mark.parametrize(("told", "held"), [(1_000_000 * DOT, 5 * DOT), (0, 5 * DOT), (5 * DOT, 0)])
def test_a_false_balance_makes_no_maximum(two: Two, told: int, held: int) -> None:
    two.first.chains["polkadot"].store("System", "Account", ALICE_KEY, value=account(told))
    two.second.chains["polkadot"].store("System", "Account", ALICE_KEY, value=account(held))

    ended = two.transfer()

    assert (ended.out, ended.code) == ("", 5)
    assert ended.err.splitlines()[-1] == says(
        "amount max", one=two.url("first"), two=two.url("second")
    )


def test_a_maximum_that_one_endpoint_tells_says_so(two: Two) -> None:
    two.configure(second=NOWHERE)

    ended = two.transfer("--json")

    assert json.loads(ended.out)["asked"] == 1
    assert ended.err.splitlines()[-1] == says(
        "second endpoint", "Polkadot", NOWHERE, url=two.url("first")
    )


def test_a_false_balance_is_not_shown(two: Two) -> None:
    two.first.chains["polkadot"].store(
        "System", "Account", ALICE_KEY, value=account(1_000_000 * DOT)
    )

    ended = two.run("--json", "balance", ALICE, "polkadot", "assetHub")

    answer = json.loads(ended.out)
    relay, hub = answer["chains"]
    assert (relay["asked"], relay["block"], hub["asked"], hub["error"]) == (None, None, 2, None)
    assert relay["error"] == says(
        "1000000", "50000000000", one=two.url("first"), two=two.url("second")
    )
    assert {row["chain"] for row in answer["balances"]} == {"assetHub"}


def test_which_chains_one_endpoint_told_of_is_said_in_one_line(two: Two) -> None:
    two.write({name: {"endpoints": [two.url("first", name)]} for name in CHAINS})

    ended = two.run("balance", ALICE, "polkadot", "assetHub")

    assert ended.code == 0
    assert ended.said == says(
        "Polkadot", "Polkadot Asset Hub", one=two.url("first"), two=two.url("first", "assetHub")
    )


def test_which_endpoints_were_asked_is_logged_for_verbose(
    two: Two, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="scenarioctl.chains"):
        two.run("balance", ALICE, "polkadot")

    assert f"polkadot: asked {two.url('first')} and {two.url('second')}" in caplog.text
