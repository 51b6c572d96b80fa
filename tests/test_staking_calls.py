"""The transactions of stakers: bytes beside those of polkadot.js, and what a node on loopback says
that they depend on.

No real runtime that stakes is played here: storage is encoded by the bundled runtimes.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.runtime.table import load_bundled
from tests.conftest import BOB, BOB_HEX, DATA, ROOT, Ended, Run
from tests.messages import says
from tests.network import FakeChain, FakeNetwork, table_of
from tests.test_staking import (
    DOT,
    OTHER,
    VALIDATOR,
    bond,
    expose,
    hub,
    join,
    network,
    nominate,
    written,
)

__all__ = ["hub", "network"]

VECTORS = [
    pytest.param(vector, id=vector["id"])
    for vector in json.loads((DATA / "vectors" / "golden.json").read_text())["vectors"]
    if vector["kind"] == "staking"
]
WHO = bytes.fromhex(BOB_HEX[2:])
Build = Callable[..., Ended]


@pytest.fixture
def build(scenarioctl: Run, network: FakeNetwork) -> Build:
    def run(*line: str) -> Ended:
        return scenarioctl("--config", str(network.config), "staking", "build", *line)

    return run


def call_of(ended: Ended, chain: str = "assetHub") -> Any:
    """Return the call in an answer of `--output-format call`, and what it is made of."""
    assert ended.code == 0, ended
    call = table_of(chain).decode_call(bytes.fromhex(ended.out.strip()[2:]))
    return call.pallet, call.method, call.args


CALL = ("--output-format", "call")


@pytest.mark.parametrize("vector", VECTORS)
def test_a_stakers_call_is_the_one_of_polkadot_js(scenarioctl: Run, vector: dict[str, Any]) -> None:
    words = (*vector["words"], "--chain", vector["chain"])

    ended = scenarioctl("--offline", "staking", "build", *words)

    assert (ended.code, ended.out) == (0, f"{vector['extrinsic_hex']}\n")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (("bond",), 2, ("amount", "bond")),
        (("bond", "--amount", "0"), 2, ("amount", "0")),
        (("bond", "--amount", "1 KSM"), 2, ("amount", "KSM")),
        (("bond", "--amount", "1", "--pool", "3"), 2, ("pool", "bond")),
        (
            ("bond", "--amount", "1", "--payee", "Nobody"),
            2,
            ("payee", "Nobody", "staked, stash, none"),
        ),
        (("nominate",), 2, ("--validator", "nominate")),
        (("nominate", "--validator", "15oF4"), 2, ("--validator", "15oF4")),
        (("pool-join", "--amount", "1", "--pool", "x"), 2, ("pool", "x")),
        (("pool-unbond", "--amount", "1"), 2, ("sender",)),
        (("pool-unbond", "--amount", "max", "--sender", BOB), 5, ("offline",)),
        (("unbond", "--amount", "max", "--sender", BOB), 5, ("offline",)),
        (("payout", "--sender", BOB), 5, ("unclaimed", "offline")),
        (("payout", "--amount", "1", "--sender", BOB), 2, ("amount", "payout")),
        (("chill", "--chain", "hydraDx"), 2, ("chill", "hydradx")),
        (("chil",), 2, ("action", "chill")),
    ],
)
def test_what_makes_no_call_is_refused(
    scenarioctl: Run, line: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    ended = scenarioctl("--offline", "staking", "build", *line)

    assert (ended.code, ended.out, ended.err) == (code, "", says(*words))


@pytest.mark.parametrize(
    ("payee", "expected"), [("Stash", "Stash"), ("none", "None"), (BOB_HEX, {"Account": WHO})]
)
def test_rewards_go_where_the_staker_says(scenarioctl: Run, payee: str, expected: Any) -> None:
    line = ("--offline", "staking", "build", "bond", "--amount", "1", "--payee", payee)

    assert call_of(scenarioctl(*line, *CALL))[2] == {"value": DOT, "payee": expected}


@pytest.mark.parametrize("action", ["bond", "bond-extra", "unbond", "rebond"])
def test_an_amount_of_which_the_chain_takes_what_is_there_is_told_as_a_bound(
    scenarioctl: Run, action: str
) -> None:
    ended = scenarioctl("--offline", "--json", "staking", "build", action, "--amount", "7")

    assert json.loads(ended.out)["says"] == says("7 DOT", "at most")


# Withdrawing and unbonding


def test_all_that_earns_rewards_is_unbonded(build: Build, hub: FakeChain) -> None:
    bond(hub)

    ended = build("unbond", "--amount", "max", "--sender", BOB, *CALL)

    assert call_of(ended) == ("Staking", "unbond", {"value": 8 * DOT})


def test_nothing_bonded_is_not_unbonded(build: Build, hub: FakeChain) -> None:
    ended = build("unbond", "--amount", "max", "--sender", BOB)

    assert (ended.code, ended.err) == (3, says("nothing bonded"))


def test_an_amount_in_a_pool_is_what_its_points_are_worth(build: Build, hub: FakeChain) -> None:
    join(hub)
    hub.api["NominationPoolsApi_balance_to_points"] = 5 * DOT // 4

    ended = build("pool-unbond", "--amount", "1", "--sender", BOB, "--json")

    answer = json.loads(ended.out)
    assert (answer["asked"], answer["says"]) == (1, says("12500000000 points"))
    assert hub.asked[-1] == (
        "NominationPoolsApi_balance_to_points",
        (12).to_bytes(4, "little") + DOT.to_bytes(16, "little"),
    )


def test_all_points_leave_a_pool(build: Build, hub: FakeChain) -> None:
    join(hub)

    ended = build("pool-unbond", "--amount", "max", "--sender", BOB, *CALL)

    expected = {"member_account": {"Id": WHO}, "unbonding_points": 5 * DOT}
    assert call_of(ended) == ("NominationPools", "unbond", expected)


def test_who_is_in_no_pool_leaves_none(build: Build, hub: FakeChain) -> None:
    ended = build("pool-unbond", "--amount", "1", "--sender", BOB)

    assert (ended.code, ended.err) == (3, says("no nomination pool"))


@pytest.mark.parametrize(("prior", "expected"), [(None, 0), ([], 1), ([4, 5], 3)])
def test_slashing_spans_are_counted_where_a_runtime_has_them(
    build: Build, network: FakeNetwork, prior: list[int] | None, expected: int
) -> None:
    relay = network.chains["polkadot"]
    if prior is not None:
        spans = {"span_index": 3, "last_start": 2, "last_nonzero_slash": 1, "prior": prior}
        relay.store("Staking", "SlashingSpans", WHO, value=spans)

    ended = build("withdraw", "--chain", "polkadot", "--sender", BOB, *CALL)

    assert call_of(ended, "polkadot")[2] == {"num_slashing_spans": expected}


# Where staking lives


def test_a_relay_chain_whose_staking_has_moved_is_refused(
    build: Build, network: FakeNetwork
) -> None:
    network.chains["polkadot"].store("StakingAhClient", "Mode", value="Active")

    ended = build("chill", "--chain", "polkadot")

    assert (ended.code, ended.err) == (4, says("Polkadot", "Asset Hub"))


@pytest.mark.parametrize(
    ("call", "warned"),
    [
        (("polkadot", "Staking", "chill"), True),
        (("kusama", "NominationPools", "claim_payout"), True),
        (("assetHub", "Staking", "chill"), False),
        (("polkadot", "System", "remark", "Staking"), False),
    ],
)
def test_any_build_on_a_relay_chain_says_where_staking_lives(
    scenarioctl: Run, call: tuple[str, ...], warned: bool
) -> None:
    ended = scenarioctl("--offline", "tx", "call", *call)

    # Behind a warning, what the call does is told too.
    assert ("Asset Hubs" in ended.err.splitlines()[0]) is warned
    assert not warned or ended.err == says("Asset Hubs", call[0])


# Payouts


def weigh(hub: FakeChain, pages: int) -> None:
    """Let so many pages fill what a transaction may weigh."""
    table = load_bundled("assetHub")
    assert table is not None
    most = table.constant("System", "BlockWeights")["per_class"]["normal"]["max_extrinsic"]

    def info(arguments: bytes) -> Any:
        # The bytes of a validator stand once in each payout.
        count = arguments.count(VALIDATOR)
        part = {name: int(value * 0.75) * count // pages for name, value in most.items()}
        return {"weight": part, "class": "Normal", "partial_fee": 1}

    hub.api["TransactionPaymentApi_query_info"] = info


def test_all_unclaimed_rewards_are_paid_out_in_one_batch(build: Build, hub: FakeChain) -> None:
    bond(hub)
    nominate(hub, VALIDATOR)
    for era in (90, 92):
        expose(hub, era, {OTHER: 500}, {WHO: 2500})
    weigh(hub, 2)

    ended = build("payout", "--sender", BOB, *CALL)

    payouts = [
        {
            "Staking": {
                "payout_stakers_by_page": {"validator_stash": VALIDATOR, "era": era, "page": 1}
            }
        }
        for era in (90, 92)
    ]
    assert call_of(ended) == ("Utility", "force_batch", {"calls": payouts})
    assert ended.err == says("2 unclaimed pages", "3.3749999952 DOT", "90", "92")


def test_the_oldest_payouts_are_made_that_fit(build: Build, hub: FakeChain) -> None:
    bond(hub)
    nominate(hub, VALIDATOR)
    for era in range(60, 70):
        expose(hub, era, {WHO: 2500})
    weigh(hub, 3)

    ended = build("payout", "--account", BOB, *CALL)

    eras = [each["Staking"]["payout_stakers_by_page"]["era"] for each in call_of(ended)[2]["calls"]]
    assert eras == [60, 61, 62]
    assert ended.err == says("7 more")


def test_without_unclaimed_rewards_there_is_no_payout(build: Build, hub: FakeChain) -> None:
    bond(hub)

    ended = build("payout", "--sender", BOB)

    assert (ended.code, ended.err) == (3, says("no unclaimed rewards"))


def test_what_payouts_weigh_is_never_guessed(build: Build, hub: FakeChain) -> None:
    bond(hub)
    nominate(hub, VALIDATOR)
    for era in (90, 92):
        expose(hub, era, {WHO: 2500})
    hub.api["TransactionPaymentApi_query_info"] = b"\x01"

    ended = build("payout", "--sender", BOB)

    assert (ended.code, ended.err) == (5, says("fit", "unknown"))


def test_the_guide_pays_out_what_a_validator_has_open(
    scenarioctl: Run, network: FakeNetwork, hub: FakeChain
) -> None:
    """Each command of the section on a validator's payouts runs, as a shell would run it."""
    bond(hub, VALIDATOR)
    hub.store("Staking", "Validators", VALIDATOR, value={"commission": 10**8, "blocked": False})
    for era in (90, 92):
        expose(hub, era, {WHO: 2500})
    weigh(hub, 20)
    section = (
        (ROOT / "docs" / "stakes.md")
        .read_text(encoding="utf-8")
        .partition("## A validator's payouts")[2]
    )
    show, build, decode = section.partition("```sh\n")[2].partition("```")[0].splitlines()
    common = ("--config", str(network.config))
    for name, account in (("Validator", VALIDATOR), ("Alice", WHO)):
        scenarioctl(*common, "address", "add", name, written(account))

    shown = scenarioctl(*common, *show.split()[1:])
    built = scenarioctl(*common, *build.partition(" > ")[0].split()[1:])
    decoded = scenarioctl(
        *common, *decode.replace('"$(cat payout.hex)"', built.out.strip()).split()[1:]
    )

    assert shown.out == "2.1428571368 DOT\n"
    assert decoded.out.count("pays out the rewards of era 9") == 2


# Who acts


def test_a_proxy_bonds_for_another_account(scenarioctl: Run, tmp_path: Path) -> None:
    line = ("--offline", "--store", str(tmp_path / "scenarios.db"))
    scenarioctl(*line, "address", "add", "vault", "--proxy-of", written(OTHER), "--type", "Staking")

    ended = scenarioctl(
        *line, "staking", "build", "pool-withdraw", "--as", "vault", "--sender", BOB, *CALL
    )

    pallet, method, arguments = call_of(ended)
    assert (pallet, method, arguments["real"]) == ("Proxy", "proxy", {"Id": OTHER})
    # The member is the account that is acted for.
    member = arguments["call"]["NominationPools"]["withdraw_unbonded"]["member_account"]
    assert member == {"Id": OTHER}
