"""What an account has at stake: read from a node on loopback, whose storage is encoded by the
bundled runtimes.

No real runtime that stakes is played here: the rewards are compared with numbers that were worked
out by hand, from the source that `staking_state.py` names.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.chains.addresses import format_account
from scenarioctl.transactions.staking_state import compute_reward
from scenarioctl.transactions.storage_reader import StorageReader
from tests.conftest import BOB, BOB_HEX, Run
from tests.messages import says
from tests.network import FakeChain, FakeNetwork
from tests.node import Refusal

WHO = bytes.fromhex(BOB_HEX[2:])
VALIDATOR, OTHER = bytes([7] * 32), bytes([8] * 32)
DOT = 10**10
#: 2026-11-27 at noon, in milliseconds.
NOON = 1_795_780_800_000


@pytest.fixture
def network(tmp_path: Path) -> Iterator[FakeNetwork]:
    with FakeNetwork(tmp_path) as network:
        yield network


@pytest.fixture
def hub(network: FakeNetwork) -> FakeChain:
    hub = network.chains["assetHub"]
    hub.store("Staking", "ActiveEra", value={"index": 100, "start": NOON})
    hub.store("Staking", "CurrentEra", value=101)
    return hub


class Ask:
    """Asks what Bob has at stake."""

    def __init__(self, scenarioctl: Run, network: FakeNetwork) -> None:
        self.run, self.network = scenarioctl, network

    def __call__(self, *line: str, who: str = BOB) -> Any:
        return self.run("--config", str(self.network.config), "staking", "show", who, *line)

    def answer(self, *line: str, who: str = BOB) -> Any:
        ended = self(*line, "--json", who=who)
        assert ended.code == 0, ended
        return json.loads(ended.out)


@pytest.fixture
def ask(scenarioctl: Run, network: FakeNetwork) -> Ask:
    return Ask(scenarioctl, network)


def bond(hub: FakeChain, who: bytes = WHO, *, unlocking: Any = (), payee: Any = "Staked") -> None:
    ledger = {"stash": who, "total": 10 * DOT, "active": 8 * DOT, "unlocking": list(unlocking)}
    hub.store("Staking", "Bonded", who, value=who)
    hub.store("Staking", "Ledger", who, value=ledger)
    hub.store("Staking", "Payee", who, value=payee)


def nominate(hub: FakeChain, *validators: bytes) -> None:
    nominations = {"targets": list(validators), "submitted_in": 3, "suppressed": False}
    hub.store("Staking", "Nominators", WHO, value=nominations)


def expose(
    hub: FakeChain,
    era: int,
    *pages: dict[bytes, int],
    own: int = 1000,
    claimed: Any = (),
    commission: int = 10**8,
) -> None:
    """Let the validator have stake behind it in an *era*, whose reward is 9 DOT, of which a third
    is the validator's."""
    total = own + sum(sum(page.values()) for page in pages)
    overview = {"total": total, "own": own, "nominator_count": 9, "page_count": len(pages)}
    hub.store("Staking", "ErasStakersOverview", era, VALIDATOR, value=overview)
    for number, page in enumerate(pages):
        others = [{"who": who, "value": value} for who, value in page.items()]
        exposure = {"page_total": sum(page.values()), "others": others}
        hub.store("Staking", "ErasStakersPaged", era, VALIDATOR, number, value=exposure)
    hub.store("Staking", "ErasValidatorReward", era, value=9 * DOT)
    points = {"total": 60, "individual": [(VALIDATOR, 20), (OTHER, 40)]}
    hub.store("Staking", "ErasRewardPoints", era, value=points)
    prefs = {"commission": commission, "blocked": False}
    hub.store("Staking", "ErasValidatorPrefs", era, VALIDATOR, value=prefs)
    hub.store("Staking", "ClaimedRewards", era, VALIDATOR, value=list(claimed))


def amount(raw: int, human: str) -> dict[str, str]:
    return {"value": str(raw), "asset": "DOT", "human": human}


def written(account: bytes) -> str:
    return format_account(account, 0)


def test_a_bond_tells_what_unlocks_and_when(ask: Ask, hub: FakeChain) -> None:
    bond(hub, unlocking=[{"value": DOT // 2, "era": 100}, {"value": 3 * DOT // 2, "era": 103}])
    nominate(hub, VALIDATOR, OTHER)

    answer = ask.answer()

    assert answer == {
        "chain": "assetHub",
        "account": written(WHO),
        "block": 100,
        "block_hash": answer["block_hash"],
        "asked": 1,
        "era": 100,
        "total": amount(10 * DOT, "10 DOT"),
        "active": amount(8 * DOT, "8 DOT"),
        "unlocking": [
            {
                "amount": amount(DOT // 2, "0.5 DOT"),
                "era": 100,
                "estimated": None,
                "withdrawable": True,
            },
            {
                "amount": amount(3 * DOT // 2, "1.5 DOT"),
                "era": 103,
                # Three eras of a day.
                "estimated": "2026-11-30T12:00:00.000000000Z",
                "withdrawable": False,
            },
        ],
        "payee": "Staked",
        "commission": None,
        "nominations": [written(VALIDATOR), written(OTHER)],
        "pool": None,
        "unclaimed": [],
        "unclaimed_total": amount(0, "0 DOT"),
        "locks": [],
        "votes": [],
    }


def test_an_account_without_a_bond_has_nothing_at_stake(ask: Ask, hub: FakeChain) -> None:
    answer = ask.answer()

    assert (answer["total"]["value"], answer["payee"], answer["pool"], answer["unclaimed"]) == (
        "0",
        None,
        None,
        [],
    )
    assert hub.asked == []


def test_a_controller_is_shown_what_it_controls(ask: Ask, hub: FakeChain) -> None:
    ledger = {"stash": OTHER, "total": DOT, "active": DOT, "unlocking": []}
    hub.store("Staking", "Ledger", WHO, value=ledger)
    hub.store("Staking", "Payee", OTHER, value={"Account": VALIDATOR})

    answer = ask.answer()

    assert (answer["account"], answer["payee"]) == (written(OTHER), written(VALIDATOR))


def test_an_old_stash_is_found_by_its_controller(ask: Ask, hub: FakeChain) -> None:
    hub.store("Staking", "Bonded", WHO, value=OTHER)
    hub.store(
        "Staking",
        "Ledger",
        OTHER,
        value={"stash": WHO, "total": DOT, "active": DOT, "unlocking": []},
    )

    assert ask.answer()["total"]["value"] == str(DOT)


# Rewards


def test_unclaimed_rewards_of_a_nominator_are_those_of_its_page(ask: Ask, hub: FakeChain) -> None:
    bond(hub)
    nominate(hub, VALIDATOR)
    expose(hub, 90, {OTHER: 500}, {WHO: 2500})
    expose(hub, 91, {OTHER: 500}, {WHO: 2500}, claimed=[1])
    expose(hub, 92, {OTHER: 500}, {WHO: 2500}, claimed=[0])
    expose(hub, 93, {OTHER: 3000})

    answer = ask.answer()

    # `calculate_staker_reward` of pallet-staking-async (paritytech/polkadot-sdk@0b38a7c66,
    # reward.rs), all rounded down: a third of 9 DOT is 29 999 999 970, in billionths; 2 999 999 997
    # are commission; of the rest, 26 999 999 973, a quarter is the validator's, 6 749 999 993.
    # Nominators share 20 249 999 980: 2500 of 3000 are 0.833333333 of it.
    expected = amount(16_874_999_976, "1.6874999976 DOT")
    page = {"validator": written(VALIDATOR), "page": 1, "amount": expected}
    assert answer["unclaimed"] == [
        # It can't be claimed once era 175 is planned, which may be as soon as era 174 begins, 74
        # days from now.
        {"era": 90, **page, "estimated_end": "2027-02-09T12:00:00.000000000Z"},
        {"era": 92, **page, "estimated_end": "2027-02-11T12:00:00.000000000Z"},
    ]
    assert answer["unclaimed_total"] == amount(33_749_999_952, "3.3749999952 DOT")


def test_a_validator_gets_its_own_part_and_the_commission_by_pages(
    ask: Ask, hub: FakeChain
) -> None:
    bond(hub, VALIDATOR)
    hub.store(
        "Staking", "Validators", VALIDATOR, value={"commission": 12_500_000, "blocked": False}
    )
    expose(hub, 90, {OTHER: 500}, {WHO: 2500})
    hub.store("Staking", "ErasValidatorIncentiveBudget", 90, value=5)

    ended = ask("--json", who=written(VALIDATOR))

    answer = json.loads(ended.out)
    # The commission and its own part are 9 749 999 990, of which the pages get 0.375 and 0.625.
    assert [(row["page"], row["amount"]["value"]) for row in answer["unclaimed"]] == [
        (0, "3656249996"),
        (1, "6093749993"),
    ]
    assert answer["commission"] == "1.25"
    assert ended.err == says("incentive", "90")


def test_a_runtime_without_pots_rounds_to_the_nearest(scenarioctl: Run, tmp_path: Path) -> None:
    """As `do_payout_stakers_by_page` did (paritytech/polkadot-sdk@00cee51ab): the validator's own
    part is on its first page."""
    with FakeNetwork(tmp_path, ("kusama", "assetHub_kusama")) as network:
        hub = network.chains["assetHub_kusama"]
        hub.store("Staking", "ActiveEra", value={"index": 100, "start": NOON})
        hub.store("Staking", "CurrentEra", value=101)
        nominate(hub, VALIDATOR)
        bond(hub)
        bond(hub, VALIDATOR)
        hub.store(
            "Staking", "Validators", VALIDATOR, value={"commission": 12_500_000, "blocked": False}
        )
        expose(hub, 90, {OTHER: 500}, {WHO: 2500})
        line = ("staking", "show", "--chain", "assetHub_kusama", "--field", "unclaimed")

        found = [
            json.loads(scenarioctl("--config", str(network.config), *line, who).out)
            for who in (BOB, written(VALIDATOR))
        ]

    # 2500 of 4000 of 26 999 999 973; a quarter of it, and 1500 of 4000 of the commission; then the
    # rest of the commission.
    assert [(row["page"], int(row["amount"]["value"])) for rows in found for row in rows] == [
        (1, 16_874_999_983),
        (0, 6_749_999_993 + 1_124_999_999),
        (1, 1_874_999_998),
    ]


def test_a_validator_without_commission_is_told_of_the_pages_of_its_nominators(
    ask: Ask, hub: FakeChain
) -> None:
    bond(hub, VALIDATOR)
    for era, claimed in ((90, ()), (91, (1,))):
        expose(hub, era, {OTHER: 500}, {WHO: 2500}, own=0, commission=0, claimed=claimed)

    found = json.loads(ask("--json", who=written(VALIDATOR)).out)["unclaimed"]

    # Nobody but the nominators gets anything of them, and they only if somebody asks for it.
    assert [(row["era"], row["page"], row["amount"]["value"]) for row in found] == [
        *((90, 0, "0"), (90, 1, "0"), (91, 0, "0")),
    ]


def test_rewards_are_read_only_where_some_are_open(ask: Ask, hub: FakeChain) -> None:
    bond(hub)
    nominate(hub, VALIDATOR)
    # Before the history, and in the active era, which isn't over.
    for era in (16, 100):
        expose(hub, era, {WHO: 2500})
    expose(hub, 17, {WHO: 2500})

    assert [row["era"] for row in ask.answer()["unclaimed"]] == [17]


def test_a_validator_without_points_earned_nothing(ask: Ask, hub: FakeChain) -> None:
    bond(hub)
    nominate(hub, VALIDATOR)
    expose(hub, 90, {WHO: 2500})
    hub.store("Staking", "ErasRewardPoints", 90, value={"total": 40, "individual": [(OTHER, 40)]})

    assert ask.answer()["unclaimed"] == []


def nearest(value: Fraction) -> int:
    """Round to the nearest, a half down."""
    return -(-(2 * value - 1) // 2) if value else 0


@given(
    from_pot=st.booleans(),
    reward=st.integers(0, 10**19),
    earned=st.integers(1, 10**6),
    others=st.integers(0, 10**6),
    commission=st.integers(0, 10**9),
    own=st.integers(1, 10**18),
    stakes=st.lists(st.integers(1, 10**18), min_size=1, max_size=5),
)
def test_rewards_are_rounded_like_perbill(
    from_pot: bool,
    reward: int,
    earned: int,
    others: int,
    commission: int,
    own: int,
    stakes: list[int],
) -> None:
    total = own + sum(stakes)
    names = [bytes([number] * 32) for number in range(10, 10 + len(stakes))]
    told = {
        "from_pot": from_pot,
        "reward": reward,
        "points": {"total": earned + others, "individual": [(VALIDATOR, earned)]},
        "commission": commission,
        "overview": {"total": total, "own": own, "page_count": 1},
        "exposure": {
            "page_total": sum(stakes),
            "others": [
                {"who": who, "value": value} for who, value in zip(names, stakes, strict=True)
            ],
        },
    }

    paid = [compute_reward(who, VALIDATOR, 0, **told) for who in (VALIDATOR, *names)]  # type: ignore[arg-type]

    def part(share: int, whole: int) -> Fraction:
        return Fraction(10**9 * share // whole, 10**9)

    rounded = floor if from_pot else nearest
    payout = rounded(part(earned, earned + others) * reward)
    cut = rounded(Fraction(commission, 10**9) * payout)
    left = payout - cut
    kept = rounded(part(own, total) * left)
    shared, among = (left - kept, total - own) if from_pot else (left, total)
    assert paid[0] == kept + cut
    assert paid[1:] == [rounded(part(each, among) * shared) for each in stakes]
    if from_pot:
        assert sum(paid) <= payout


# Pools


def join(hub: FakeChain) -> None:
    member = {
        "pool_id": 12,
        "points": 5 * DOT,
        "last_recorded_reward_counter": 0,
        "unbonding_eras": [(90, 100), (104, 300)],
    }
    hub.store("NominationPools", "PoolMembers", WHO, value=member)
    # Of each 100 points that unlock, 10 were slashed; those of era 90 have been merged into the
    # rest.
    unbonding = {
        "no_era": {"points": 1000, "balance": 900},
        "with_era": [(104, {"points": 600, "balance": 540})],
    }
    hub.store("NominationPools", "SubPoolsStorage", 12, value=unbonding)


def test_a_pool_tells_what_its_points_are_worth(ask: Ask, hub: FakeChain) -> None:
    join(hub)
    hub.api["NominationPoolsApi_points_to_balance"] = 4 * DOT
    hub.api["NominationPoolsApi_pending_rewards"] = DOT // 4

    assert ask.answer()["pool"] == {
        "id": 12,
        "points": str(5 * DOT),
        "amount": amount(4 * DOT, "4 DOT"),
        "pending": amount(DOT // 4, "0.25 DOT"),
        "unlocking": [
            {
                "amount": amount(90, "0.000000009 DOT"),
                "era": 90,
                "estimated": None,
                "withdrawable": True,
            },
            {
                "amount": amount(270, "0.000000027 DOT"),
                "era": 104,
                "estimated": "2026-12-01T12:00:00.000000000Z",
                "withdrawable": False,
            },
        ],
    }


def test_what_a_pool_does_not_tell_is_unknown(ask: Ask, hub: FakeChain) -> None:
    def refuse(_: bytes) -> Any:
        raise Refusal(-32000, "no such method")

    join(hub)
    hub.api |= dict.fromkeys(
        ("NominationPoolsApi_points_to_balance", "NominationPoolsApi_pending_rewards"), refuse
    )
    del hub.storage[
        next(
            key for key in hub.storage if key.endswith("0c000000") and "NominationPools" not in key
        )
    ]

    pool = ask.answer()["pool"]

    assert (pool["amount"], pool["pending"]) == (None, None)
    assert [row["amount"] for row in pool["unlocking"]] == [None, None]


# Locks and votes


def vote(side: int, conviction: int, balance: int) -> dict[str, Any]:
    return {"Standard": {"vote": side << 7 | conviction, "balance": balance}}


def casting(*votes: Any, prior: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    return {
        "Casting": {"votes": list(votes), "delegations": {"votes": 0, "capital": 0}, "prior": prior}
    }


def track(hub: FakeChain, *votings: Any, now: int = 1_000_000) -> None:
    """Let Bob have voted on as many tracks, at a block of the relay chain."""
    hub.store(
        "ConvictionVoting",
        "ClassLocksFor",
        WHO,
        value=[(number, 5) for number in range(len(votings))],
    )
    for number, voting in enumerate(votings):
        hub.store("ConvictionVoting", "VotingFor", WHO, number, value=voting)
    hub.store("ParachainSystem", "LastRelayChainBlockNumber", value=now)
    hub.store("Timestamp", "Now", value=NOON)


def decide(hub: FakeChain, poll: int, outcome: str, block: int) -> None:
    hub.store("Referenda", "ReferendumInfoFor", poll, value={outcome: (block, None, None)})


def test_locks_freezes_and_holds_have_their_names(ask: Ask, hub: FakeChain) -> None:
    locks = [
        {"id": b"pyconvot", "amount": 5, "reasons": "All"},
        {"id": b"vesting ", "amount": 6, "reasons": "All"},
        {"id": b"\xff\0\1\2\3\4\5\6", "amount": 7, "reasons": "All"},
    ]
    hub.store("Balances", "Locks", WHO, value=locks)
    hub.store(
        "Balances",
        "Freezes",
        WHO,
        value=[{"id": {"NominationPools": "PoolMinBalance"}, "amount": 8}],
    )
    hub.store("Balances", "Holds", WHO, value=[{"id": {"Staking": "Staking"}, "amount": 9}])

    found = [(row["kind"], row["id"], row["amount"]["value"]) for row in ask.answer()["locks"]]

    assert found == [
        ("lock", "pyconvot", "5"),
        ("lock", "vesting", "6"),
        ("lock", "0xff00010203040506", "7"),
        ("freeze", "NominationPools.PoolMinBalance", "8"),
        ("hold", "Staking.Staking", "9"),
    ]
    kept = next(line for line in ask().out.splitlines() if line.startswith("kept"))
    assert kept.endswith("0.0000000009 DOT by the hold of staking")


@pytest.mark.parametrize(
    ("side", "conviction", "outcome", "until", "estimated", "unlockable"),
    [
        # A period has 100 800 blocks of 6 seconds: a week.
        (1, 1, "Approved", 1_000_800, "2026-11-27T13:20:00.000000000Z", False),
        (0, 6, "Rejected", 900_000 + 32 * 100_800, "2027-07-02T13:20:00.000000000Z", False),
        (1, 0, "Approved", 900_000, None, True),
        # The side that lost is bound to nothing, nor is anybody by a referendum that was never
        # decided.
        (1, 6, "Rejected", None, None, True),
        (0, 6, "Approved", None, None, True),
        (1, 6, "TimedOut", None, None, True),
    ],
)
def test_a_vote_locks_who_won_as_long_as_their_conviction(
    ask: Ask,
    hub: FakeChain,
    side: int,
    conviction: int,
    outcome: str,
    until: int | None,
    estimated: str | None,
    unlockable: bool,
) -> None:
    track(hub, casting((7, vote(side, conviction, DOT))))
    decide(hub, 7, outcome, 900_000)

    (row,) = ask.answer()["votes"]

    assert row == {
        "track": 0,
        "amount": amount(DOT, "1 DOT"),
        "referendum": 7,
        "delegate": None,
        "until": until,
        "estimated": estimated,
        "unlockable": unlockable,
    }


def test_votes_and_delegations_are_told_in_words(ask: Ask, hub: FakeChain) -> None:
    delegating = {
        "balance": 2 * DOT,
        "target": OTHER,
        "conviction": "Locked3x",
        "delegations": {"votes": 0, "capital": 0},
        "prior": (1_000_600, DOT),
    }
    split = {"Split": {"aye": DOT, "nay": 2 * DOT}}
    track(
        hub,
        casting((7, vote(1, 1, DOT)), (8, split), prior=(900_000, 4 * DOT)),
        {"Delegating": delegating},
    )
    hub.store("Referenda", "ReferendumInfoFor", 7, value=ongoing())
    decide(hub, 8, "Approved", 900_000)

    lines = [line for line in ask().out.splitlines() if line.startswith("vote")]

    assert lines == [
        "vote 1     1 DOT on referendum 7, track 0: as long as the referendum goes on",
        "vote 2     3 DOT on referendum 8, track 0: can be unlocked",
        "vote 3     4 DOT of removed votes, track 0: can be unlocked",
        f"vote 4     2 DOT delegated to {written(OTHER)}, track 1: as long as it is delegated",
        (
            "vote 5     1 DOT of removed votes, track 1: until block 1000600, about "
            "2026-11-27T13:00:00Z"
        ),
    ]


def ongoing() -> Any:
    status = {
        "track": 0,
        "origin": {"system": "Root"},
        "proposal": {"Inline": b""},
        "enactment": {"After": 1},
        "submitted": 1,
        "submission_deposit": {"who": WHO, "amount": 1},
        "decision_deposit": None,
        "deciding": None,
        "tally": {"ayes": 0, "nays": 0, "support": 0},
        "in_queue": False,
        "alarm": None,
    }
    return {"Ongoing": status}


def test_without_the_block_of_the_relay_chain_the_end_is_unknown(ask: Ask, hub: FakeChain) -> None:
    track(hub, casting(prior=(900_000, DOT)), now=0)

    (row,) = ask.answer()["votes"]

    assert (row["until"], row["estimated"], row["unlockable"]) == (900_000, None, None)


# What can't be told


@pytest.mark.parametrize("start", [None, 2**64 - 1])
def test_dates_are_unknown_without_a_believable_start(
    ask: Ask, hub: FakeChain, start: int | None
) -> None:
    hub.store("Staking", "ActiveEra", value={"index": 100, "start": start})
    bond(hub, unlocking=[{"value": 5, "era": 103}])

    assert ask.answer()["unlocking"][0]["estimated"] is None


def test_the_relay_chain_says_that_staking_has_moved(ask: Ask, network: FakeNetwork) -> None:
    network.chains["polkadot"].store("StakingAhClient", "Mode", value="Active")

    ended = ask("--chain", "polkadot")

    assert (ended.code, ended.err) == (4, says("Polkadot", "Asset Hub"))


def test_a_relay_chain_that_still_stakes_is_read(ask: Ask, network: FakeNetwork) -> None:
    relay = network.chains["polkadot"]
    relay.store("Staking", "ActiveEra", value={"index": 100, "start": NOON})
    relay.store("Staking", "CurrentEra", value=101)

    assert ask.answer("--chain", "polkadot")["era"] == 100


def test_another_kind_of_staking_is_refused(ask: Ask) -> None:
    ended = ask("--chain", "hydraDx")

    assert (ended.code, ended.err) == (2, says("chain", "hydraDx"))


def test_older_staking_without_pages_is_refused(
    ask: Ask, hub: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = StorageReader.has
    monkeypatch.setattr(
        StorageReader,
        "has",
        lambda self, pallet, entry: (
            entry not in ("ErasStakersPaged", "ClaimedRewards") and has(self, pallet, entry)
        ),
    )

    ended = ask()

    assert (ended.code, ended.err) == (2, says("chain", "assetHub"))


def test_a_chain_without_an_era_is_refused(ask: Ask, network: FakeNetwork) -> None:
    ended = ask()

    assert (ended.code, ended.err) == (5, says("Polkadot Asset Hub", "era"))


def test_offline_nothing_is_known(ask: Ask) -> None:
    ended = ask("--offline")

    assert (ended.code, ended.err) == (5, says("offline"))


def test_a_person_reads_it_in_words(ask: Ask, hub: FakeChain) -> None:
    bond(hub, unlocking=[{"value": DOT, "era": 100}, {"value": DOT, "era": 103}])
    nominate(hub, VALIDATOR)
    expose(hub, 90, {WHO: 2500})
    join(hub)
    hub.api["NominationPoolsApi_points_to_balance"] = 4 * DOT
    hub.api["NominationPoolsApi_pending_rewards"] = DOT // 4

    ended = ask()

    assert ended.code == 0
    assert ended.out == (
        f"account         {written(WHO)}\n"
        "chain           assetHub, block 100, era 100\n"
        "bonded          10 DOT, of which 8 DOT earn rewards\n"
        "unlocking       1 DOT can be withdrawn; 1 DOT from era 103, about 2026-11-30T12:00:00Z\n"
        "rewards go to   the bond, which grows\n"
        f"nominates       {written(VALIDATOR)}\n"
        "pool            12, with 4 DOT; 0.25 DOT to claim\n"
        "pool unlocking  0.000000009 DOT can be withdrawn; 0.000000027 DOT from era 104, "
        "about 2026-12-01T12:00:00Z\n"
        "unclaimed       1.9285714286 DOT\n"
        f"90\t{written(VALIDATOR)}\t0\t1.9285714286 DOT\t2027-02-09T12:00:00Z\n"
    )
    assert ended.err == says("no longer nominates")
