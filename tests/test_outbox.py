"""What a store promises about notifications that are not delivered yet."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scenarioctl.model.jobs import NO_TRANSACTION, Schedule
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
    QueuedNotification,
)
from scenarioctl.stores.events import OutboxFigures
from scenarioctl.stores.store import Store
from tests.runner import finish as run
from tests.test_store_jobs import DRAFT, HOUR, JOB, NO_LIMIT, NOW, claim, ended, stop_job
from tests.test_store_jobs import finish as finish_run
from tests.test_stores import FIRST, STORES, Clock, opened
from tests.test_stores import SECOND as OTHER

URL = "https://hooks.example.org/secret"
LATER = NOW + HOUR
READY = NewNotification(
    id="msg_1",
    event=NotificationEvent.DRAFT_READY,
    job=FIRST.id,
    created=NOW + 2,
    url=URL,
)
FAILED = replace(READY, id="msg_2", event=NotificationEvent.RUN_FAILED, reason="no\0 route")
PAUSED = replace(READY, id="msg_3", event=NotificationEvent.JOB_PAUSED)
EXPIRING = replace(READY, id="msg_4", event=NotificationEvent.DRAFT_EXPIRING, created=LATER)
NOTHING = replace(DRAFT, tx=NO_TRANSACTION)
ANSWER = replace(DRAFT, tx="{}", spec_version=None)


@pytest.mark.parametrize("kind", STORES)
class TestEveryOutbox:
    @pytest.fixture
    def store(self, kind: str, tmp_path: Path) -> Iterator[Store]:
        with opened(kind, tmp_path, Clock()) as store:
            run(store.put_scenarios([FIRST, OTHER]))
            yield store

    def start(self, store: Store, **more: object) -> None:
        assert run(store.start_job(replace(JOB, **more)))  # type: ignore[arg-type]

    def keep(self, store: Store, *notifications: NewNotification, **more: object) -> None:
        """Finish a run with *notifications*."""
        (claimed,) = claim(store, now=LATER * 2)
        assert finish_run(store, ended(claimed, notifications=notifications, **more))

    def due(self, store: Store, now: int = NOW * 2, **more: int) -> list[QueuedNotification]:
        return run(store.outbox().claim(now=now, until=now + HOUR, limit=more.get("limit", 100)))

    def test_a_job_keeps_its_targets(self, store: Store) -> None:
        targets = (URL, "https://other.example.org/?a=1")
        self.start(store, notify=targets)
        (claimed,) = claim(store)

        assert claimed.job.notify == targets
        job = run(store.get_job(FIRST.id))
        assert job is not None
        assert job.notify == targets
        assert finish_run(store, ended(claimed))
        assert run(stop_job(store, FIRST.id, now=NOW))
        self.start(store)
        assert run(store.list_jobs()).items[0].notify == ()

    def test_what_a_run_leaves_is_claimed_with_the_numbers_of_its_transactions(
        self, store: Store
    ) -> None:
        self.start(store)
        self.keep(store)
        self.keep(store, READY, FAILED, drafts=(NOTHING, DRAFT, ANSWER, DRAFT))
        seqs = [entry.seq for entry in run(store.read_mempool(FIRST.id))]

        ready, failed = self.due(store)
        assert (ready.id, ready.event, ready.job, ready.url, ready.reason) == (
            *("msg_1", NotificationEvent.DRAFT_READY, FIRST.id, URL, ""),
        )
        assert ready.drafts == (seqs[2], seqs[4])
        assert (ready.created, ready.attempts) == (NOW + 2, 0)
        assert (failed.id, failed.reason, failed.drafts) == ("msg_2", "no? route", ())

    def test_runs_that_end_together_tell_each_of_its_own_drafts(self, store: Store) -> None:
        for id in (FIRST.id, OTHER.id):
            self.start(store, id=id)

        async def finish_all() -> None:
            ends = [
                ended(
                    one,
                    notifications=(replace(READY, id=one.job.id, job=one.job.id),),
                    drafts=(DRAFT, DRAFT),
                )
                for one in claimed
            ]
            assert all(
                await asyncio.gather(*(store.finish_run(each, retention=NO_LIMIT) for each in ends))
            )

        claimed = claim(store, now=LATER * 2)
        assert len(claimed) == 2
        run(finish_all())

        told = {each.id: each.drafts for each in self.due(store)}
        assert told == {
            id: tuple(entry.seq for entry in run(store.read_mempool(id)))
            for id in (FIRST.id, OTHER.id)
        }

    def test_a_run_that_is_not_kept_leaves_no_notifications(self, store: Store) -> None:
        self.start(store)
        (claimed,) = claim(store)

        assert not finish_run(
            store, ended(claimed, epoch=claimed.job.epoch + 1, notifications=(READY,))
        )
        assert finish_run(store, ended(claimed, notifications=(READY,)))
        assert not finish_run(store, ended(claimed, notifications=(READY,)))
        assert len(self.due(store)) == 1

    def test_a_pause_is_told_only_of_a_job_that_pauses(self, store: Store) -> None:
        self.start(store, schedule=Schedule(every=HOUR, pause_after=2))
        self.keep(store, FAILED, PAUSED, failure="no")
        assert [each.id for each in self.due(store)] == ["msg_2"]

        self.keep(store, replace(PAUSED, id="msg_6"), failure="no")
        assert [each.id for each in self.due(store)] == ["msg_6"]

        assert run(store.start_job(JOB))
        (claimed,) = claim(store)
        assert run(stop_job(store, FIRST.id, now=NOW))
        assert not finish_run(store, ended(claimed, due=None, notifications=(PAUSED,)))
        assert self.due(store) == []

    def test_newer_drafts_replace_what_was_to_be_said_of_older_ones(self, store: Store) -> None:
        self.start(store)
        self.keep(store, READY, EXPIRING)
        self.keep(store, replace(FAILED, id="msg_7"), drafts=(NOTHING,))
        assert [each.id for each in self.due(store, now=LATER)] == ["msg_1", "msg_7", "msg_4"]

        self.keep(store, replace(EXPIRING, id="msg_8"))
        self.keep(store, replace(EXPIRING, id="msg_9"))
        # Those before are not due yet, since they are claimed.
        assert [each.id for each in self.due(store, now=LATER)] == ["msg_9"]

    def test_a_claimed_notification_is_claimed_again_when_its_time_is_over(
        self, store: Store
    ) -> None:
        self.start(store)
        self.keep(store, READY)
        outbox = store.outbox()

        assert run(outbox.claim(now=NOW + 1, until=NOW + HOUR, limit=9)) == []
        (first,) = run(outbox.claim(now=NOW + 2, until=NOW + HOUR, limit=9))
        assert run(outbox.claim(now=NOW + HOUR - 1, until=NOW + 2 * HOUR, limit=9)) == []
        (second,) = run(outbox.claim(now=NOW + HOUR, until=NOW + 2 * HOUR, limit=9))
        assert (first.id, second.id) == ("msg_1", "msg_1")
        # The first one was too slow to say anything about it.
        run(outbox.retry(first, due=NOW, error="late"))
        assert run(outbox.claim(now=NOW + HOUR, until=NOW + 2 * HOUR, limit=9)) == []
        run(outbox.retry(second, due=NOW + 5, error="answered\0 500"))
        assert run(outbox.figures()) == OutboxFigures(retrying=1, error="answered? 500")
        (third,) = run(outbox.claim(now=NOW + 5, until=NOW + HOUR, limit=9))
        assert third.attempts == 1
        run(outbox.drop(third))
        run(outbox.drop(third))
        assert run(outbox.claim(now=NOW * 2, until=NOW * 2, limit=9)) == []

    def test_of_all_that_ask_at_once_one_gets_a_notification(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        self.start(store)
        self.keep(store, *(replace(READY, id=f"msg_{number}") for number in range(20)))
        others = [STORES[kind](tmp_path, Clock()) for _ in range(3)]

        async def ask(one: Store) -> list[str]:
            found: list[str] = []
            while some := await one.outbox().claim(now=NOW * 2, until=NOW * 3, limit=3):
                found += [each.id for each in some]
            return found

        async def ask_all() -> list[list[str]]:
            return await asyncio.gather(*map(ask, (store, *others)))

        found = [id for some in run(ask_all()) for id in some]
        for other in others:
            run(other.close())
        assert sorted(found) == sorted(f"msg_{number}" for number in range(20))

    def test_a_claim_leaves_out_urls_and_has_a_limit(self, store: Store) -> None:
        self.start(store)
        other = replace(READY, url="https://other.example.org", created=NOW)
        self.keep(store, READY, replace(other, id="b"), replace(other, id="c"))
        outbox = store.outbox()

        assert (
            run(outbox.claim(now=LATER, until=LATER + 1, limit=9, without=[URL, other.url])) == []
        )
        (found,) = run(outbox.claim(now=LATER, until=LATER + 1, limit=1))
        assert found.id == "b"
        (found,) = run(outbox.claim(now=LATER, until=LATER + 1, limit=9, without=[other.url]))
        assert found.id == "msg_1"

    def test_old_ones_and_the_oldest_of_many_are_removed(self, store: Store) -> None:
        self.start(store)
        self.keep(
            store,
            replace(READY, id="old", created=NOW),
            *(replace(READY, id=f"msg_{number}") for number in range(4)),
        )
        outbox = store.outbox()

        assert run(outbox.prune(before=NOW, most=5)) == {}
        assert run(outbox.prune(before=NOW + 1, most=5)) == {FIRST.id: 1}
        assert run(outbox.prune(before=NOW, most=3)) == {FIRST.id: 1}
        assert [each.id for each in self.due(store)] == ["msg_1", "msg_2", "msg_3"]

    def test_they_go_with_their_scenario(self, store: Store) -> None:
        self.start(store)
        self.keep(store, READY, EXPIRING)
        assert run(stop_job(store, FIRST.id, now=NOW))
        run(store.delete_scenario(FIRST.id))

        assert self.due(store) == []
