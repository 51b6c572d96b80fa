"""What a store promises about transactions that were sent."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.jobs import DraftedCall, SentFor, SentState, SentTransaction
from scenarioctl.stores import sent
from scenarioctl.stores.sent import SentFilter
from scenarioctl.stores.store import Store
from tests.messages import raises, says
from tests.runner import finish as run
from tests.test_store_jobs import NOW
from tests.test_stores import STORES, Clock, opened

SENT = SentTransaction(
    chain="polkadot",
    hash="0x" + "11" * 32,
    sent=NOW,
    signer="0x" + "22" * 32,
    nonce=2**32 - 1,
    at_block=1000,
    valid_until=1063,
    made_of=(SentFor(scenario="aJob", node="pay", draft=7, call="0x77"),),
    says="sends 1 DOT",
    name="Rent",
    searched=984,
)


def made_of(**more: Any) -> tuple[SentFor, ...]:
    return (replace(SENT.made_of[0], **more),)


OTHER = SentTransaction(chain="kusama", hash=SENT.hash, sent=NOW + 1, at_block=0, searched=0)


@pytest.mark.parametrize("kind", STORES)
class TestEveryStore:
    @pytest.fixture
    def store(self, kind: str, tmp_path: Path) -> Iterator[Store]:
        with opened(kind, tmp_path, Clock()) as store:
            yield store

    def test_a_transaction_is_read_as_it_was_stored(self, store: Store) -> None:
        assert [run(store.sent().add(each)) for each in (SENT, OTHER)] == [None, None]

        assert run(store.sent().get("polkadot", SENT.hash)) == SENT
        assert run(store.sent().get("kusama", SENT.hash)) == OTHER
        assert run(store.sent().get("assetHub", SENT.hash)) is None
        assert run(store.sent().get("polkadot", "0x00")) is None

    def test_it_outlives_the_store_that_wrote_it(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        run(store.sent().add(SENT))

        with opened(kind, tmp_path, Clock()) as again:
            assert run(again.sent().get("polkadot", SENT.hash)) == SENT

    def test_one_hash_is_stored_once_for_each_chain(self, store: Store) -> None:
        run(store.sent().add(SENT))

        former = run(store.sent().add(replace(SENT, sent=NOW + 9, made_of=())))

        assert former == run(store.sent().get("polkadot", SENT.hash)) == SENT

    def test_of_callers_at_once_one_stores_it(self, store: Store) -> None:
        async def race() -> list[SentTransaction | None]:
            return await asyncio.gather(
                *(store.sent().add(replace(SENT, sent=NOW + n)) for n in range(5))
            )

        found = run(race())

        assert found.count(None) == 1

    def test_what_is_known_of_it_changes(self, store: Store) -> None:
        run(store.sent().add(SENT))
        known = replace(
            SENT,
            state=SentState.IN_BLOCK,
            searched=1001,
            block="0x" + "bb" * 32,
            block_number=1002,
            effects='{"success":true}',
        )

        assert run(store.sent().change(known))

        assert run(store.sent().get("polkadot", SENT.hash)) == replace(known, revision=1)

    def test_a_change_of_what_another_has_changed_since_is_not_made(self, store: Store) -> None:
        run(store.sent().add(SENT))
        run(store.sent().change(replace(SENT, state=SentState.FINALIZED)))

        assert not run(store.sent().change(replace(SENT, state=SentState.SENT)))
        assert not run(store.sent().remove(SENT))
        assert not run(store.sent().change(OTHER))

        found = run(store.sent().get("polkadot", SENT.hash))
        assert found is not None
        assert found.state is SentState.FINALIZED

    def test_one_that_was_refused_is_removed(self, store: Store) -> None:
        run(store.sent().add(SENT))
        run(store.sent().add(OTHER))

        assert run(store.sent().remove(SENT))

        assert run(store.sent().get("polkadot", SENT.hash)) is None
        assert run(store.sent().get("kusama", SENT.hash)) == OTHER

    def test_they_are_listed_the_newest_first_in_pages(self, store: Store) -> None:
        sent = [replace(SENT, hash=f"0x{n:064x}", sent=NOW + n // 2) for n in range(5)]
        for each in sent:
            run(store.sent().add(each))

        first = run(store.sent().list(SentFilter(), limit=3, after=""))
        second = run(store.sent().list(SentFilter(), limit=3, after=first.next))

        assert [*first.items, *second.items] == sent[::-1]
        assert (first.total, second.total, second.next) == (5, 5, "")
        assert run(store.sent().list(SentFilter(chain="kusama"), limit=3, after="")).total == 0
        with raises(InvalidRequest, says("after", "x")):
            run(store.sent().list(SentFilter(), limit=3, after="x"))

    @pytest.mark.parametrize(
        ("wanted", "count"),
        [
            ({"signer": SENT.signer}, 1),
            ({"chain": "kusama"}, 1),
            ({"scenario": "aJob"}, 1),
            ({"scenario": "bJob"}, 0),
            ({"state": "uncertain"}, 2),
            ({"state": "uncertain", "chain": "polkadot"}, 1),
            ({"mentions": "0xab"}, 1),
            ({"since": NOW + 1}, 1),
            ({"until": NOW + 1}, 1),
            ({"since": NOW, "until": NOW + 2}, 2),
        ],
    )
    def test_only_those_that_are_wanted_are_listed(
        self, store: Store, wanted: dict[str, Any], count: int
    ) -> None:
        for each in (SENT, replace(OTHER, effects='{"call_hash": "0xab"}')):
            run(store.sent().add(each))

        page = run(store.sent().list(SentFilter(**wanted), limit=10, after=""))

        assert (len(page.items), page.total) == (count, count)

    def test_a_draft_has_the_transaction_that_was_sent_last(self, store: Store) -> None:
        later = replace(SENT, hash="0x" + "33" * 32, sent=NOW + 5)
        for each in (SENT, later, OTHER, replace(SENT, hash="0x44", made_of=made_of(draft=8))):
            run(store.sent().add(each))

        assert run(store.sent().of_drafts([7, 9])) == [(*SENT.made_of, later)]
        assert run(store.sent().of_drafts([])) == []
        found = run(store.sent().of_drafts(range(300)))
        assert {made.draft for made, _ in found} == {7, 8}

    def test_a_scenario_has_the_transaction_of_each_step_that_was_sent_last(
        self, store: Store
    ) -> None:
        later = replace(SENT, hash="0x" + "33" * 32, sent=NOW + 5, made_of=made_of(draft=8))
        whole = replace(
            SENT, hash="0x" + "44" * 32, sent=NOW + 1, made_of=made_of(node="", draft=0)
        )
        another = replace(SENT, hash="0x" + "55" * 32, made_of=made_of(scenario="bJob"))
        for each in (SENT, later, OTHER, whole, another):
            run(store.sent().add(each))

        found = run(store.sent().of_scenarios(["aJob", "cJob", ""]))

        assert {(made.node, each.hash) for made, each in found} == {
            ("pay", later.hash),
            ("", whole.hash),
        }
        assert run(store.sent().of_scenarios([])) == []
        found = run(store.sent().of_scenarios(["bJob", *map(str, range(300))]))
        assert [each for _, each in found] == [another]

    @pytest.mark.parametrize(
        "change",
        [
            {"state": SentState.EXPIRED},
            *(
                {"made_of": (replace(SENT.made_of[0], outcome=outcome),)}
                for outcome in ("failed", "skipped", "canceled")
            ),
        ],
    )
    def test_what_did_nothing_doesn_t_hide_what_may_have(
        self, store: Store, change: dict[str, Any]
    ) -> None:
        later = replace(SENT, hash="0x" + "33" * 32, sent=NOW + 5, **change)
        run(store.sent().add(later))
        alone = run(store.sent().of_drafts([7]))
        run(store.sent().add(SENT))

        assert alone == [(*later.made_of, later)]
        for found in (
            run(store.sent().of_drafts([7])),
            run(store.sent().of_scenarios(["aJob"])),
        ):
            assert [each for _, each in found] == [SENT]

    def test_what_it_is_made_of_changes_and_goes_with_it(self, store: Store) -> None:
        run(store.sent().add(SENT))
        several = (
            SentFor(scenario="bJob", node="a", certain=False),
            SentFor(scenario="bJob", node="b", part="0 2", outcome="done"),
        )

        assert run(store.sent().change(replace(SENT, made_of=several)))

        known = replace(SENT, made_of=several, revision=1)
        assert run(store.sent().get("polkadot", SENT.hash)) == known
        assert run(store.sent().of_scenarios(["aJob"])) == []
        page = run(store.sent().list(SentFilter(scenario="bJob"), limit=9, after=""))
        assert page.items == (known,)
        assert run(store.sent().remove(known))
        assert run(store.sent().of_scenarios(["bJob"])) == []

    def test_a_drafted_call_is_found_by_its_hash(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = DraftedCall(chain="polkadot", call="0x1", scenario="a", node="pay", drafted=1)
        mine = replace(first, signer="0x22", nonce=5, at_block=9, drafted=2)
        other = replace(first, call="0x2", scenario="b", part="1 2", drafted=3)
        run(store.sent().note_drafted([first, mine, other]))
        run(store.sent().note_drafted([replace(mine, nonce=6)]))

        found = run(store.sent().find_drafted("polkadot", ["0x1", "0x3"]))

        assert found == [replace(mine, nonce=6), first]
        assert run(store.sent().find_drafted("kusama", ["0x1"])) == []
        assert run(store.sent().drafted_of("b")) == [other]
        monkeypatch.setattr(sent, "MOST_DRAFTED", 1)
        run(store.sent().note_drafted([replace(other, drafted=4)]))
        assert run(store.sent().drafted_of("a")) == []

    def test_the_oldest_go(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sent, "MOST", 3)
        for number in range(5):
            run(store.sent().add(replace(SENT, hash=f"0x0{number}", sent=NOW + number)))

        kept = [
            run(store.sent().get("polkadot", f"0x0{number}")) is not None for number in range(5)
        ]
        assert kept == [False, False, True, True, True]

    def test_a_write_is_seen_by_those_who_follow(self, store: Store) -> None:
        before = run(store.change_token())

        run(store.sent().add(SENT))
        added = run(store.change_token())
        run(store.sent().change(replace(SENT, state=SentState.SENT)))

        assert len({before, added, run(store.change_token())}) == 3
