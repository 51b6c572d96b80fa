"""What a store promises about jobs, what their runs leave behind, and webhook events."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import Conflict, InvalidRequest, NotFound
from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    SECOND,
    FinishedRun,
    Job,
    JobChange,
    JobState,
    Leg,
    LogLine,
    MempoolDraft,
    MempoolEntry,
    Overlap,
    Retention,
    RunWait,
    Schedule,
    SentFor,
    SentState,
    SentTransaction,
    StepOutcome,
    StepResult,
    WebhookEvent,
)
from scenarioctl.stores import JobPage
from scenarioctl.stores.sqlite.store import SqliteStore, SteadyClock
from scenarioctl.stores.store import Store
from tests.messages import says
from tests.runner import finish as run
from tests.test_stores import (
    FIRST,
    STORES,
    Clock,
    clock_of,
    message,
    opened,
    set_clock,
    traced,
)
from tests.test_stores import SECOND as OTHER

NOW = Clock().wall
HOUR = 3600 * SECOND
DAY = 24 * HOUR
WEBHOOK = "6f1c0d2e-0000-4000-8000-000000000001"
NO_LIMIT = Retention(log_lines=0, mempool_entries=0, runs=0, webhook_events=0, webhook_age=0)

JOB = Job(
    id=FIRST.id,
    state=JobState.RUNNING,
    schedule=Schedule(every=HOUR),
    changed=NOW,
    due=NOW,
    planned=NOW,
)
DRAFT = MempoolDraft(
    chain="polkadot",
    amount="10000000000",
    tx_type="xTransfer",
    date=NOW + 5,
    tx="0x0400",
    spec_version=2_000_000,
    expires=NOW + 24 * HOUR,
    node="1",
    human="1 DOT",
    beside="0.1 DOT",
    uuid="0b7e2f4c-5f0e-4d1a-9a52-6d1f5b7c8e90",
)


def claim(store: Store, owner: str = "me", *, now: int = NOW, **more: Any) -> list[Leg]:
    """Let *owner* begin the legs that are due *now*, as a worker does."""
    clock_of(store).wall = now
    return run(begin_due(store, owner, **more))


async def begin_due(store: Store, owner: str, *, limit: int = 100, lease: int = 10) -> list[Leg]:
    await store.renew_lease(owner, lease=lease)
    return await store.begin_due(limit, owner=owner)


def give_back(store: Store, owner: str) -> int:
    """Let others begin the legs of *owner*, as a worker does when it stops."""
    return run(store.free_legs([owner]))


async def stop_job(store: Store, id: str = FIRST.id, *, now: int = NOW) -> bool:
    """Stop a job as a request does, without a line in its log; return whether it was not
    stopped."""
    stopped = False

    def stop(job: Job) -> JobChange | None:
        nonlocal stopped
        stopped = job.state is not JobState.STOPPED
        if not stopped:
            return None
        end = replace(job, state=JobState.STOPPED, due=None, planned=None, changed=now, reason="")
        return JobChange(job=end, ends_run=True)

    await store.change_job(id, stop)
    return stopped


def note_change(job: Job) -> JobChange:
    return JobChange(job=job, lines=("scenario changed",), written=NOW)


def waiting(leg: Leg, **more: Any) -> FinishedRun:
    """Return what a leg leaves behind that ends with a wait for a webhook, of an hour at most."""
    wait = RunWait(
        step="webhook 6f1c…",
        number=2,
        webhook=WEBHOOK,
        until=NOW + HOUR,
        saved='{"what": "it has"}',
    )
    return ended(leg, **{"lines": (), "drafts": (), "ran": False, "wait": wait, **more})


def next_due(store: Store) -> int | None:
    return run(store.statistics()).next_due


def ended(claimed: Leg, **more: Any) -> FinishedRun:
    """Return what the leg leaves behind that ends its run, one line and one draft unless told
    otherwise."""
    job = claimed.job
    assert job.planned is not None
    answer = FinishedRun(
        job=job.id,
        epoch=job.epoch,
        owner=job.owner,
        planned=job.planned,
        started=NOW + 1,
        finished=NOW + 2,
        lines=("workload executed",),
        drafts=(DRAFT,),
        due=job.planned + HOUR,
        next_planned=job.planned + HOUR,
    )
    return replace(answer, **more)


def finish(store: Store, finished: FinishedRun, retention: Retention = NO_LIMIT) -> bool:
    return run(store.finish_run(finished, retention=retention))


def texts(store: Store, id: str | None = FIRST.id, **more: Any) -> list[str]:
    return [line.text for line in run(store.read_log(id, **more))]


def get_job(store: Store, id: str = FIRST.id) -> Job:
    job = run(store.get_job(id))
    assert job is not None
    return job


def fill_jobs(store: Store, count: int) -> None:
    """Start *count* jobs of which the last is due first."""
    started = [
        replace(JOB, id=f"job-{number:04}", due=NOW - number * SECOND) for number in range(count)
    ]
    run(store.put_scenarios(replace(FIRST, id=job.id) for job in started))

    async def start_all() -> None:
        # All at once, so that they share an fsync.
        await asyncio.gather(*map(store.start_job, started))

    run(start_all())


@pytest.mark.parametrize("kind", STORES)
class TestEveryStore:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def store(self, kind: str, tmp_path: Path, clock: Clock) -> Iterator[Store]:
        with opened(kind, tmp_path, clock) as store:
            run(store.put_scenarios([FIRST, OTHER]))
            yield store

    # -- starting and stopping

    def test_a_scenario_that_was_never_started_has_no_job(self, store: Store) -> None:
        assert run(store.get_job(FIRST.id)) is None
        assert next_due(store) is None
        assert claim(store) == []

    def test_a_started_job_is_kept_with_all_of_its_schedule(self, store: Store) -> None:
        schedule = Schedule(
            every=0,
            cron="*/5 * * * *",
            timezone="Europe/Zürich",
            jitter=1,
            overlap=Overlap.QUEUE,
            catchup=2,
            pause_after=3,
            timeout=4,
        )

        assert run(store.start_job(replace(JOB, schedule=schedule))) is True
        assert run(store.get_job(FIRST.id)) == replace(JOB, schedule=schedule, epoch=1)
        assert next_due(store) == NOW

    def test_a_job_needs_its_scenario(self, store: Store) -> None:
        sentence = "scenario 'x' is not in the store"

        assert message(NotFound, store.start_job(replace(JOB, id="x"))) == sentence
        assert message(NotFound, stop_job(store, "x", now=NOW)) == sentence
        assert message(NotFound, store.get_job("x")) == sentence
        assert message(NotFound, store.read_log("x")) == sentence
        assert message(NotFound, store.read_mempool("x")) == sentence

    def test_a_stopped_job_is_due_no_more(self, store: Store) -> None:
        run(store.start_job(JOB))

        assert run(stop_job(store, FIRST.id, now=NOW + 3)) is True
        assert run(store.get_job(FIRST.id)) == replace(
            JOB, state=JobState.STOPPED, due=None, planned=None, changed=NOW + 3, epoch=1
        )
        assert next_due(store) is None
        assert claim(store, now=NOW + HOUR) == []

    def test_stopping_what_does_not_run_changes_nothing(self, store: Store) -> None:
        assert run(stop_job(store, FIRST.id, now=NOW)) is False
        assert run(store.get_job(FIRST.id)) is None
        run(store.start_job(JOB))
        run(stop_job(store, FIRST.id, now=NOW))

        assert run(stop_job(store, FIRST.id, now=NOW + 1)) is False
        assert get_job(store).changed == NOW

    def test_jobs_are_listed_the_newest_first_and_by_state(self, store: Store) -> None:
        fill_jobs(store, 7)
        run(stop_job(store, "job-0003", now=NOW + 1))

        first = run(store.list_jobs(limit=4))
        # It comes to the front, and hides no other.
        run(stop_job(store, "job-0005", now=NOW + 2))
        rest = run(store.list_jobs(limit=4, after=first.next))
        order = (3, 6, 5, 4, 2, 1, 0)
        assert [job.id for job in (*first.items, *rest.items)] == [f"job-{n:04}" for n in order]
        assert (first.total, rest.next, rest.total) == (7, "", 7)
        run(store.start_job(replace(JOB, id="job-0005", changed=NOW)))
        assert message(InvalidRequest, store.list_jobs(after="job-0003")) == says(
            "after", "job-0003"
        )
        assert run(store.list_jobs(state=JobState.STOPPED)) == JobPage(
            items=(get_job(store, "job-0003"),), total=1
        )
        assert run(store.list_jobs(state=JobState.PAUSED)) == JobPage(items=(), total=0)
        assert message(InvalidRequest, store.list_jobs(limit=0)) == says("limit", "0")

    def test_drafts_that_could_be_signed_are_counted(self, store: Store) -> None:
        run(store.start_job(JOB))
        drafts = (
            DRAFT,
            DRAFT,
            replace(DRAFT, expires=NOW + 9),
            replace(DRAFT, tx=NO_TRANSACTION, spec_version=None, expires=None),
        )
        finish(store, ended(claim(store)[0], drafts=drafts))
        seq = run(store.read_mempool(FIRST.id))[0].seq

        assert run(store.count_drafts([FIRST.id, OTHER.id], now=NOW)) == {FIRST.id: 3}
        assert run(store.count_drafts([FIRST.id], now=NOW + 9)) == {FIRST.id: 2}
        run(store.flag_drafts({seq: "outdated"}, now=NOW, lines={}))
        assert run(store.count_drafts([FIRST.id], now=NOW + 9)) == {FIRST.id: 1}
        assert run(store.count_drafts([OTHER.id], now=NOW)) == {}
        assert run(store.count_drafts([], now=NOW)) == {}

    # -- claiming

    def test_a_due_job_is_claimed_with_its_scenario(self, store: Store) -> None:
        run(store.start_job(JOB))

        assert claim(store, now=NOW - 1) == []
        assert claim(store, now=NOW + 7) == [
            Leg(
                job=replace(JOB, owner="me", epoch=2, last_started=NOW + 7),
                blob=FIRST.blob,
                summary=FIRST.summary,
                now=NOW + 7,
            )
        ]
        assert run(store.get_job(FIRST.id)) == replace(
            JOB, owner="me", epoch=2, last_started=NOW + 7
        )

    def test_a_claim_is_interrupted_only_for_the_time_it_was_begun_for(self, store: Store) -> None:
        run(store.start_job(JOB))
        claim(store)
        give_back(store, "me")
        (again,) = claim(store)
        finish(store, ended(again))
        (following,) = claim(store, now=NOW + HOUR)

        assert (again.interrupted, following.interrupted) == (True, False)
        run(stop_job(store, FIRST.id, now=NOW))
        run(store.start_job(JOB))
        assert [one.interrupted for one in claim(store)] == [False]

    def test_each_attempt_at_a_run_knows_when_the_first_one_began(self, store: Store) -> None:
        run(store.start_job(JOB))
        first = claim(store)
        give_back(store, "me")
        again = claim(store, now=NOW + HOUR)

        assert [leg.job.last_started for leg in (*first, *again)] == [NOW, NOW]
        assert finish(store, ended(again[0]))
        (following,) = claim(store, now=NOW + 2 * HOUR)
        assert following.job.last_started == NOW + 2 * HOUR

    # -- what a run leaves behind

    def test_a_finished_run_leaves_lines_drafts_and_the_next_time(self, store: Store) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        failed = MempoolDraft(
            chain="assetHub", amount="0", tx_type="Remark", date=NOW + 6, tx=NO_TRANSACTION
        )
        lines = ("Starting worker", "workload executed", "Sleeping")

        assert finish(store, ended(claimed, lines=lines, drafts=(DRAFT, failed))) is True
        assert run(store.read_log(FIRST.id)) == [
            LogLine(seq=seq, job=FIRST.id, written=NOW + 2, text=text)
            for seq, text in enumerate(lines, 1)
        ]
        assert run(store.read_mempool(FIRST.id)) == [
            MempoolEntry(seq=1, job=FIRST.id, draft=DRAFT, occurrence=NOW),
            MempoolEntry(seq=2, job=FIRST.id, draft=failed, occurrence=NOW),
        ]
        assert run(store.uuids_of_drafts([1, 9])) == {1: DRAFT.uuid}
        assert run(store.get_job(FIRST.id)) == replace(
            JOB,
            epoch=2,
            due=NOW + HOUR,
            planned=NOW + HOUR,
            runs=1,
            last_started=NOW + 1,
            last_finished=NOW + 2,
        )
        assert next_due(store) == NOW + HOUR
        assert run(store.read_log(OTHER.id)) == []
        assert run(store.read_mempool(OTHER.id)) == []

    def test_a_job_that_is_started_anew_does_not_keep_the_run_of_before(self, store: Store) -> None:
        run(store.start_job(JOB))
        (before,) = claim(store)
        run(stop_job(store, FIRST.id, now=NOW))
        run(store.start_job(replace(JOB, due=NOW + 5)))
        (after,) = claim(store, now=NOW + 5)

        assert finish(store, ended(before, lines=("before",))) is False
        assert finish(store, ended(after, lines=("after",))) is True
        assert texts(store) == ["after"]
        assert (before.job.epoch, after.job.epoch) == (2, 5)

    def test_failures_in_a_row_pause_a_job(self, store: Store) -> None:
        run(store.start_job(replace(JOB, schedule=Schedule(every=HOUR, pause_after=2))))
        outcomes = []
        for number, failure in enumerate(("down", "", "down", "still down")):
            (claimed,) = claim(store, now=NOW + number * HOUR)
            finish(store, ended(claimed, failure=failure, finished=NOW + number * HOUR + 1))
            job = get_job(store)
            outcomes.append((job.state, job.failures, job.reason, job.due))

        assert outcomes == [
            (JobState.RUNNING, 1, "down", NOW + HOUR),
            (JobState.RUNNING, 0, "", NOW + 2 * HOUR),
            (JobState.RUNNING, 1, "down", NOW + 3 * HOUR),
            (JobState.PAUSED, 2, "still down", None),
        ]
        assert get_job(store).changed == NOW + 3 * HOUR + 1
        assert run(stop_job(store, FIRST.id, now=NOW)) is True
        assert (get_job(store).state, get_job(store).reason) == (JobState.STOPPED, "")
        assert run(store.start_job(JOB)) is True
        assert get_job(store).state is JobState.RUNNING

    def test_a_run_after_which_no_time_comes_pauses_the_job(self, store: Store) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        finish(store, ended(claimed, due=None, next_planned=None))

        job = get_job(store)
        assert (job.state, job.reason) == (JobState.PAUSED, says("schedule", "further"))

    def test_a_time_that_was_left_out_counts_as_no_run(self, store: Store) -> None:
        run(store.start_job(JOB))
        finish(store, ended(claim(store)[0], failure="down"))
        before = get_job(store)
        (claimed,) = claim(store, now=NOW + 2 * HOUR)
        left_out = ended(
            claimed, ran=False, lines=("missed",), drafts=(), due=NOW + 3 * HOUR, started=1
        )
        assert finish(store, left_out) is True

        job = get_job(store)
        assert texts(store) == ["workload executed", "missed"]
        assert (job.runs, job.failures, job.reason, job.due) == (1, 1, "down", NOW + 3 * HOUR)
        assert job.last_finished == before.last_finished

    def test_a_run_in_the_foreground_is_kept_and_no_schedule_knows_of_it(
        self, store: Store
    ) -> None:
        alone = FinishedRun(
            job=FIRST.id,
            epoch=None,
            planned=NOW,
            started=NOW,
            finished=NOW,
            lines=("x",),
            drafts=(DRAFT,),
        )

        assert finish(store, alone) is True
        assert run(store.get_job(FIRST.id)) is None
        run(store.start_job(JOB))
        assert finish(store, replace(alone, failure="down")) is True
        assert run(store.get_job(FIRST.id)) == replace(JOB, epoch=1)
        assert texts(store) == ["x", "x"]
        assert len(run(store.read_mempool(FIRST.id))) == 2
        assert finish(store, replace(alone, job="deleted")) is False

    def test_any_text_that_a_run_brings_is_kept(self, store: Store) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        odd = ("half \ud800 a pair", "nul \0 inside", "Ünï", "")
        finish(
            store,
            ended(claimed, lines=odd, drafts=(replace(DRAFT, tx="\udfff"),), failure="\ud800"),
        )

        assert texts(store) == ["half ? a pair", "nul ? inside", "Ünï", ""]
        assert [entry.draft.tx for entry in run(store.read_mempool(FIRST.id))] == ["?"]
        assert get_job(store).reason == "?"

    def test_the_logs_and_mempools_of_all_jobs_are_followed_in_the_order_written(
        self, store: Store
    ) -> None:
        for id in (FIRST.id, OTHER.id):
            run(store.start_job(replace(JOB, id=id)))
        first, other = sorted(claim(store), key=lambda one: one.job.id != FIRST.id)
        finish(store, ended(first, lines=("a",)))
        finish(store, ended(other, lines=("b", "c")))

        assert [(line.seq, line.job, line.text) for line in run(store.read_log(None))] == [
            (1, FIRST.id, "a"),
            (2, OTHER.id, "b"),
            (3, OTHER.id, "c"),
        ]
        assert texts(store, None, after=1, limit=1) == ["b"]
        assert [(entry.seq, entry.job) for entry in run(store.read_mempool(None, after=1))] == [
            (2, OTHER.id)
        ]

    # -- retention

    def test_a_job_keeps_its_newest_lines_and_drafts(self, store: Store) -> None:
        run(store.start_job(replace(JOB, id=OTHER.id)))
        finish(store, ended(claim(store)[0], lines=("of another job",), due=NOW + 99 * HOUR))
        run(store.start_job(JOB))
        few = Retention(log_lines=3, mempool_entries=2)
        for number in range(5):
            (claimed,) = claim(store, now=NOW + number * HOUR)
            lines = (f"run {number}", f"end {number}")
            assert finish(store, ended(claimed, lines=lines, due=NOW + (number + 1) * HOUR), few)

            last = [f"end {number - 1}", f"run {number}", f"end {number}"]
            assert texts(store) == (last if number else last[1:])
        assert [entry.seq for entry in run(store.read_mempool(FIRST.id))] == [5, 6]
        assert texts(store, OTHER.id) == ["of another job"]

    @pytest.mark.parametrize(("limit", "least", "most"), [(16, 16, 17), (0, 20, 20)])
    def test_a_job_keeps_its_newest_runs_and_a_few_more(
        self, store: Store, limit: int, least: int, most: int
    ) -> None:
        run(store.start_job(JOB))
        for number in range(20):
            (claimed,) = claim(store, now=NOW + number * HOUR)
            finish(store, ended(claimed, started=NOW + number), replace(NO_LIMIT, runs=limit))

        kept = [each.started - NOW for each in run(store.last_runs(FIRST.id, limit=100))]
        assert least <= len(kept) <= most
        assert kept == list(range(20))[::-1][: len(kept)]

    def test_runs_are_read_page_by_page_and_for_many_jobs(self, store: Store) -> None:
        for number in range(5):
            id = (FIRST, OTHER)[number % 2].id
            by_hand = FinishedRun(
                job=id,
                epoch=None,
                planned=NOW,
                started=NOW + number,
                finished=NOW,
                failure="x" * number,
            )
            finish(store, by_hand)

        newest = run(store.last_runs(FIRST.id, limit=2))
        older = run(store.last_runs(FIRST.id, limit=2, before=newest[-1].number))
        assert [(each.started - NOW, each.failure) for each in (*newest, *older)] == [
            (4, "xxxx"),
            (2, "xx"),
            (0, ""),
        ]
        numbers = [each.number for each in (*newest, *older)]
        assert numbers == sorted(numbers, reverse=True)
        assert run(store.count_runs([FIRST.id, OTHER.id, "nobody"])) == {
            FIRST.id: (3, newest[0]),
            OTHER.id: (2, run(store.last_runs(OTHER.id, limit=1))[0]),
        }
        assert run(store.runs_of_each([FIRST.id, OTHER.id, "nobody"], limit=1)) == {
            FIRST.id: newest[:1],
            OTHER.id: run(store.last_runs(OTHER.id, limit=1)),
        }

    @pytest.mark.parametrize(("count", "stored"), [(0, True), (300, True), (1000, False)])
    def test_what_became_of_the_steps_is_kept_unless_they_are_too_many(
        self, store: Store, count: int, stored: bool
    ) -> None:
        outcomes = list(StepOutcome)
        steps = {
            f'action_"ä"{number}': StepResult(outcome=outcomes[number % 4])
            for number in range(count)
        }
        finish(
            store,
            FinishedRun(
                job=FIRST.id, epoch=None, planned=NOW, started=NOW, finished=NOW, steps=steps
            ),
        )

        (kept,) = run(store.last_runs(FIRST.id, limit=1))
        assert run(store.steps_of_run(FIRST.id, kept.number)) == (steps if stored else {})
        assert run(store.steps_of_run(OTHER.id, kept.number)) == {}

    def test_a_draft_that_was_sent_waits_no_more_and_neither_do_older_ones_of_its_step(
        self, store: Store
    ) -> None:
        drafts = [replace(DRAFT, node=node) for node in ("1", "2", "1", "2", "1")]
        for draft in drafts:
            finish(
                store,
                FinishedRun(
                    job=FIRST.id,
                    epoch=None,
                    planned=NOW,
                    started=NOW,
                    finished=NOW,
                    drafts=(draft,),
                ),
            )

        def sent(hash: str, draft: int, job: str = FIRST.id) -> SentTransaction:
            return SentTransaction(
                chain="polkadot",
                hash=hash,
                sent=NOW,
                at_block=1,
                searched=1,
                made_of=(SentFor(scenario=job, draft=draft),),
            )

        # Of another job's draft, in a store that was restored to an earlier time.
        for each in (sent("0x01", 3), sent("0x02", 5, OTHER.id)):
            assert run(store.sent().add(each)) is None

        def waiting() -> list[tuple[int, int]]:
            found = run(store.waiting_drafts(now=NOW, soon=NOW, limit=9))
            return [(each.seq, each.count) for each in found.items]

        assert waiting() == [(5, 3)]
        run(store.sent().add(sent("0x03", 5)))
        assert waiting() == [(4, 2)]
        run(store.sent().add(sent("0x04", 4)))
        assert waiting() == []
        ((made, newest),) = run(store.sent().of_drafts([4]))
        run(store.sent().change(replace(newest, state=SentState.EXPIRED)))
        assert waiting() == [(4, 2)]
        failed = replace(made, outcome="failed")
        run(store.sent().add(replace(newest, hash="0x05", made_of=(failed,))))
        assert waiting() == [(4, 2)]

    def test_failing_jobs_are_found(self, store: Store) -> None:
        for id in (FIRST.id, OTHER.id):
            run(store.start_job(replace(JOB, id=id)))
        for claimed in claim(store):
            finish(store, ended(claimed, failure="down" if claimed.job.id == FIRST.id else ""))

        page = run(store.list_jobs(failing=True))
        assert ([job.id for job in page.items], page.total) == ([FIRST.id], 1)
        run(stop_job(store, FIRST.id, now=NOW))
        assert run(store.list_jobs(failing=True)) == JobPage(items=(), total=0)

    def test_a_seq_is_never_used_again(self, store: Store) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        finish(store, ended(claimed, lines=("a", "b")))
        run(store.prune(now=NOW + 3 * HOUR, retention=Retention(log_age=HOUR, mempool_age=HOUR)))
        assert texts(store) == []
        finish(store, ended(claim(store, now=NOW + HOUR)[0], lines=("c",)))

        assert [line.seq for line in run(store.read_log(FIRST.id))] == [3]
        assert [entry.seq for entry in run(store.read_mempool(FIRST.id))] == [2]

    def test_pruning_removes_what_is_too_old_and_no_more(self, store: Store) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
        run(store.start_job(JOB))
        for hour in range(3):
            (claimed,) = claim(store, now=NOW + hour * HOUR)
            moment = NOW + hour * HOUR
            finish(
                store,
                ended(
                    claimed,
                    finished=moment,
                    lines=(f"{hour}",),
                    drafts=(replace(DRAFT, date=moment),),
                ),
            )
            run(store.put_event(WEBHOOK, hour, now=moment, retention=NO_LIMIT))
        now = NOW + 2 * HOUR
        age = Retention(log_age=HOUR, mempool_age=2 * HOUR - 1, webhook_age=HOUR)

        assert run(store.prune(now=now, retention=NO_LIMIT)) == 0
        assert run(store.prune(now=now, retention=age)) == 3
        assert texts(store) == ["1", "2"]
        assert [entry.seq for entry in run(store.read_mempool(FIRST.id))] == [2, 3]
        assert [event.content for event in run(store.list_events(WEBHOOK))] == [1, 2]
        assert run(store.prune(now=now, retention=age)) == 0

    def test_pruning_keeps_to_counts_that_were_lowered_and_later_runs_count_right(
        self, store: Store
    ) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        finish(store, ended(claimed, lines=tuple(map(str, range(5000))), drafts=(DRAFT,) * 3))

        fewer = Retention(log_lines=10, mempool_entries=2)
        assert run(store.prune(now=NOW, retention=fewer)) == 4991
        assert texts(store) == [str(number) for number in range(4990, 5000)]
        finish(store, ended(claim(store, now=NOW + HOUR)[0], lines=("new",)), fewer)
        assert texts(store) == [*(str(number) for number in range(4991, 5000)), "new"]
        assert [entry.seq for entry in run(store.read_mempool(FIRST.id))] == [3, 4]

    # -- planning

    def test_a_clock_that_was_set_back_brings_far_times_near(self, store: Store) -> None:
        hourly, daily = Schedule(every=HOUR, jitter=5), Schedule(every=0, cron="0 0 * * *")
        far, soon = NOW + 100 * HOUR, NOW + HOUR
        midnight = NOW // DAY * DAY + DAY
        wanted = {
            "far": (hourly, (far, far), (soon, soon)),
            "with-jitter": (hourly, (soon + 5, soon), (soon + 5, soon)),
            "too-late": (hourly, (soon + 6, soon + 1), (soon, soon)),
            "cron": (daily, (far, far), (midnight, midnight)),
            "cron-next": (daily, (midnight, midnight), (midnight, midnight)),
            "stopped": (hourly, (far, far), (None, None)),
            "waits": (hourly, (far, NOW), (far, NOW)),
        }
        run(store.put_scenarios(replace(FIRST, id=id) for id in wanted))
        for id, (schedule, (due, planned), _) in wanted.items():
            now = NOW if id == "waits" else due
            run(store.start_job(replace(JOB, id=id, schedule=schedule, due=now, planned=planned)))
        run(stop_job(store, "stopped"))
        (leg,) = claim(store)
        until = RunWait(step="delay", number=1, until=far, saved="{}")
        assert finish(store, waiting(leg, wait=until))

        assert run(store.replan()) == 3
        jobs = {job.id: (job.due, job.planned) for job in run(store.list_jobs()).items}
        assert jobs == {id: times for id, (_, _, times) in wanted.items()}
        assert run(store.replan()) == 0

    # -- flags

    def test_drafts_of_an_older_runtime_are_found_and_flagged_once(self, store: Store) -> None:
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        query = replace(DRAFT, tx_type="ChainQuery", tx="{}", spec_version=None, expires=None)
        drafts = (
            DRAFT,
            query,
            replace(DRAFT, spec_version=3),
            DRAFT,
            replace(DRAFT, chain="assetHub"),
        )
        finish(store, ended(claimed, drafts=drafts))

        assert run(store.drafted_for()) == [
            ("assetHub", 2_000_000),
            ("polkadot", 3),
            ("polkadot", 2_000_000),
        ]
        assert [entry.seq for entry in run(store.read_drafts("polkadot", 2_000_000))] == [1, 4]
        assert [e.seq for e in run(store.read_drafts("polkadot", 2_000_000, after=1, limit=1))] == [
            4
        ]
        flags = {1: "the call is another", 4: "the call is gone", 99: "was pruned"}
        for _ in range(2):
            # Two daemons may have noticed.
            run(
                store.flag_drafts(
                    flags, now=NOW + 7, lines={FIRST.id: ["2 drafts"], "deleted": ["lost"]}
                )
            )
        assert [entry.flag for entry in run(store.read_mempool(FIRST.id))] == [
            "the call is another",
            "",
            "",
            "the call is gone",
            "",
        ]
        assert run(store.drafted_for()) == [("assetHub", 2_000_000), ("polkadot", 3)]
        assert run(store.read_drafts("polkadot", 2_000_000)) == []
        assert run(store.read_log(FIRST.id, after=1)) == [
            LogLine(seq=2, job=FIRST.id, written=NOW + 7, text="2 drafts")
        ]

    # -- webhooks

    def test_an_event_is_taken_only_for_a_webhook_that_a_scenario_names(self, store: Store) -> None:
        sentence = f"webhook '{WEBHOOK}' is not named by any scenario in the store"

        assert (
            message(NotFound, store.put_event(WEBHOOK, {}, now=NOW, retention=NO_LIMIT)) == sentence
        )
        assert message(NotFound, store.list_events(WEBHOOK)) == sentence
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
        assert run(store.list_events(WEBHOOK)) == []
        content = {"price": 1.5, "big": 2**70, "text": "Ünï\0", "list": [None, True]}
        event = WebhookEvent(id=1, uuid=WEBHOOK, received=NOW, content=content)
        assert run(store.put_event(WEBHOOK, content, now=NOW, retention=NO_LIMIT)) == event
        assert run(store.list_events(WEBHOOK)) == [event]
        for number in range(2, 6):
            run(store.put_event(WEBHOOK, number, now=NOW, retention=NO_LIMIT))
        read = [run(store.list_events(WEBHOOK, after=after, limit=2)) for after in (0, 3, 5, 2**70)]
        assert [[each.id for each in some] for some in read] == [[1, 2], [4, 5], [], []]
        for _ in range(2):
            run(store.put_event(WEBHOOK, "x" * 2**20, now=NOW, retention=NO_LIMIT))
        assert [each.id for each in run(store.list_events(WEBHOOK, after=4, limit=9))] == [5, 6]

    def test_a_job_uses_the_newest_event_once_and_two_jobs_use_the_same(self, store: Store) -> None:
        for scenario in (FIRST, OTHER):
            run(store.put_scenario(replace(scenario, webhooks=(WEBHOOK,)), replace=True))
            run(store.start_job(replace(JOB, id=scenario.id)))
        assert run(store.newest_event(WEBHOOK, job=FIRST.id)) is None
        for number in (1, 2):
            run(store.put_event(WEBHOOK, number, now=NOW, retention=NO_LIMIT))
        newest = WebhookEvent(id=2, uuid=WEBHOOK, received=NOW, content=2)
        claimed = {one.job.id: one for one in claim(store)}

        assert run(store.newest_event(WEBHOOK, job=FIRST.id)) == newest
        assert run(store.newest_event(WEBHOOK, job=FIRST.id, after=1)) == newest
        assert run(store.newest_event(WEBHOOK, job=FIRST.id, after=2)) is None
        finish(store, ended(claimed[FIRST.id], used_events={WEBHOOK: 2}))
        assert run(store.newest_event(WEBHOOK, job=FIRST.id)) is None
        assert run(store.newest_event(WEBHOOK, job=OTHER.id)) == newest
        run(store.put_event(WEBHOOK, 3, now=NOW, retention=NO_LIMIT))
        assert run(store.newest_event(WEBHOOK, job=FIRST.id)) == replace(newest, id=3, content=3)

    def test_an_event_stays_unused_where_the_run_that_used_it_is_not_kept(
        self, store: Store
    ) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
        run(store.put_event(WEBHOOK, 1, now=NOW, retention=NO_LIMIT))
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        give_back(store, "me")

        assert finish(store, ended(claimed, used_events={WEBHOOK: 1})) is False
        assert run(store.newest_event(WEBHOOK, job=FIRST.id)) is not None

    def test_the_events_of_a_key_are_one_as_long_as_it_is_stored(self, store: Store) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK, "other")), replace=True))

        def put(content: Any, uuid: str = WEBHOOK) -> Any:
            kept = Retention(webhook_events=1)
            return store.put_event(uuid, content, now=NOW, retention=kept, key="k")

        async def put_at_once() -> set[int]:
            return {each.id for each in await asyncio.gather(*(put([1]) for _ in range(5)))}

        (first,) = run(put_at_once())

        assert run(put([1], "other")).id > first
        assert message(InvalidRequest, put([True])) == says("idempotency_key", "'k'", event=first)
        run(store.put_event(WEBHOOK, 2, now=NOW, retention=Retention(webhook_events=1)))
        assert run(put([True])).content == [True]

    def test_a_webhook_keeps_its_newest_events(self, store: Store) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK, "other")), replace=True))
        run(store.put_event("other", "other", now=NOW, retention=NO_LIMIT))
        for number in range(5):
            run(store.put_event(WEBHOOK, number, now=NOW, retention=Retention(webhook_events=2)))

        assert [event.content for event in run(store.list_events(WEBHOOK))] == [3, 4]
        assert [event.content for event in run(store.list_events("other"))] == ["other"]

    def test_the_events_go_with_the_last_scenario_that_names_the_webhook(
        self, store: Store
    ) -> None:
        for scenario in (FIRST, OTHER):
            run(store.put_scenario(replace(scenario, webhooks=(WEBHOOK,)), replace=True))
        event = run(store.put_event(WEBHOOK, 1, now=NOW, retention=NO_LIMIT))
        run(store.delete_scenario(FIRST.id))
        assert run(store.list_events(WEBHOOK)) == [event]
        run(store.put_scenario(OTHER, replace=True))

        run(store.put_scenario(replace(FIRST, id="third", webhooks=(WEBHOOK,))))
        assert run(store.list_events(WEBHOOK)) == []
        assert run(store.newest_event(WEBHOOK, job="third")) is None

    # -- deleting

    def test_a_scenario_that_is_changed_keeps_its_job_whose_next_run_is_of_the_new_version(
        self, store: Store
    ) -> None:
        run(store.start_job(JOB))
        (first,) = claim(store)
        changed = replace(FIRST, blob=b"new", summary="new", updated=NOW)
        run(store.change_scenario(changed, revision=FIRST.revision, change=note_change))
        finish(store, ended(first, lines=("of the first",), due=NOW, next_planned=NOW))
        (second,) = claim(store)

        assert (first.blob, second.blob, second.summary) == (FIRST.blob, b"new", "new")
        assert texts(store) == ["scenario changed", "of the first"]
        assert get_job(store).runs == 1

    def test_a_change_that_is_refused_or_concerns_no_job_writes_no_line(self, store: Store) -> None:
        changed = replace(FIRST, blob=b"new")
        run(store.change_scenario(changed, revision=FIRST.revision, change=note_change))
        run(store.start_job(JOB))
        with pytest.raises(Conflict):
            run(store.change_scenario(FIRST, revision=FIRST.revision, change=note_change))
        run(store.change_scenario(FIRST, revision=changed.revision))

        assert texts(store) == []

    def test_a_scenario_whose_job_runs_cannot_be_deleted(self, store: Store) -> None:
        run(store.start_job(JOB))

        assert message(Conflict, store.delete_scenario(FIRST.id)) == says("scenario", "lnr8CfoQX")
        assert run(store.get_scenario(FIRST.id)) == FIRST

    def test_all_that_a_job_left_behind_goes_with_its_scenario(self, store: Store) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
        run(store.put_event(WEBHOOK, 1, now=NOW, retention=NO_LIMIT))
        run(store.start_job(JOB))
        (claimed,) = claim(store)
        finish(store, ended(claimed, used_events={WEBHOOK: 1}))
        (going_on,) = claim(store, now=NOW + HOUR)
        run(stop_job(store, FIRST.id, now=NOW))
        run(store.delete_scenario(FIRST.id))

        assert finish(store, ended(going_on)) is False
        assert run(store.read_log(None)) == []
        assert run(store.read_mempool(None)) == []
        assert run(store.list_jobs()).total == 0

    # -- following

    def test_the_change_token_tells_that_something_was_written(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        other = STORES[kind](tmp_path, Clock())
        seen = [(run(store.change_token()), run(other.change_token()))]
        for writer in (store, other, store, other, other):
            run(writer.put_scenario(FIRST, replace=True))
            seen.append((run(store.change_token()), run(other.change_token())))
        run(other.close())

        assert len({one for one, _ in seen}) == len({one for _, one in seen}) == len(seen)
        assert run(store.change_token()) == seen[-1][0]

    def test_who_reads_on_misses_nothing_that_others_write_at_the_same_time(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
        other = STORES[kind](tmp_path, Clock())
        written = [f"{name} {number}" for name in ("me", "you") for number in range(40)]

        async def write(writer: Store, name: str) -> None:
            for number in range(40):
                line = f"{name} {number}"
                # Some keep the next one waiting for longer.
                left = FinishedRun(
                    job=FIRST.id,
                    epoch=None,
                    planned=NOW,
                    started=NOW,
                    finished=NOW,
                    lines=(line,) * (1 + number % 7 * 20),
                    drafts=(replace(DRAFT, node=line),),
                )
                await writer.finish_run(left, retention=NO_LIMIT)
                await writer.put_event(WEBHOOK, line, now=NOW, retention=NO_LIMIT)

        async def follow() -> tuple[list[str], list[str], list[str]]:
            writing = asyncio.gather(write(store, "me"), write(other, "you"))
            lines: list[LogLine] = []
            drafts: list[MempoolEntry] = []
            events: list[WebhookEvent] = []
            over = False
            while not over:
                over = writing.done()
                lines += await store.read_log(FIRST.id, after=lines[-1].seq if lines else 0)
                drafts += await store.read_mempool(FIRST.id, after=drafts[-1].seq if drafts else 0)
                seen = events[-1].id if events else 0
                events += [event for event in await store.list_events(WEBHOOK) if event.id > seen]
                await asyncio.sleep(0)
            return (
                list(dict.fromkeys(line.text for line in lines)),
                [entry.draft.node for entry in drafts],
                [event.content for event in events],
            )

        followed = run(follow())
        run(other.close())

        for found in followed:
            assert sorted(found) == sorted(written)
            for name in ("me", "you"):
                assert [one for one in found if one.startswith(name)] == [
                    one for one in written if one.startswith(name)
                ]

    def test_the_end_of_the_cursors_never_falls(self, store: Store) -> None:
        ends = [run(store.find_end())]
        left = FinishedRun(
            job=OTHER.id,
            epoch=None,
            planned=NOW,
            started=NOW,
            finished=NOW,
            lines=("a", "b"),
            drafts=(DRAFT,),
        )
        run(store.finish_run(left, retention=NO_LIMIT))
        ends.append(run(store.find_end()))
        newest = (run(store.read_log(None))[-1].seq, run(store.read_mempool(None))[-1].seq)
        run(store.delete_scenario(OTHER.id))
        ends.append(run(store.find_end()))

        assert ends == [(0, 0), newest, newest]

    def test_the_statistics_are_those_of_the_lists(self, store: Store) -> None:
        before = run(store.statistics())
        run(store.start_job(JOB))
        run(store.start_job(replace(JOB, id=OTHER.id)))
        run(stop_job(store, OTHER.id, now=NOW))
        after = run(store.statistics())

        none = dict.fromkeys(JobState, 0)
        assert (before.scenarios, before.jobs, before.next_due) == (2, none, None)
        jobs = {**none, JobState.RUNNING: 1, JobState.STOPPED: 1}
        assert (after.scenarios, after.jobs, after.next_due) == (2, jobs, NOW)
        assert (after.workers, store.errors) == (0, 0)
        assert run(store.health()) == ""


class TestSqlite:
    """What holds for the embedded store alone."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def store(self, tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
        store = SqliteStore(tmp_path / "scenarios.db")
        set_clock(store, clock)
        run(store.put_scenarios([FIRST, OTHER]))
        yield store
        run(store.close())

    def test_nothing_walks_past_what_it_does_not_ask_for(
        self, store: SqliteStore, clock: Clock
    ) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
        run(store.start_job(JOB))
        with traced(store) as asked:
            run(store.get_job(FIRST.id))
            next_due(store)
            run(store.put_event(WEBHOOK, 1, now=NOW, retention=Retention()))
            run(store.newest_event(WEBHOOK, job=FIRST.id))
            run(store.list_events(WEBHOOK))
            (claimed,) = claim(store)
            run(store.put_event(WEBHOOK, 2, now=NOW, retention=Retention()))
            finish(store, waiting(claimed))
            run(store.put_event(WEBHOOK, 3, now=NOW, retention=Retention()))
            (claimed,) = claim(store)
            few = Retention(log_lines=1, mempool_entries=1, runs=1)
            finish(
                store,
                ended(claimed, lines=("a", "b"), drafts=(DRAFT, DRAFT), used_events={WEBHOOK: 1}),
                few,
            )
            claim(store, now=NOW + HOUR)
            clock.now = 100
            run(store.free_legs(run(store.lapsed_owners()) & run(store.leg_owners())))
            claim(store, "you", now=NOW + HOUR)
            run(store.next_ring())
            run(store.replan())
            run(store.free_legs(["you"]))
            run(store.read_log(FIRST.id, after=1))
            run(store.read_log(None, after=1))
            run(store.read_mempool(FIRST.id, after=1))
            run(store.read_mempool(None, after=1))
            run(store.drafted_for())
            run(store.read_drafts("polkadot", 2_000_000, after=1))
            run(store.flag_drafts({2: "x"}, now=NOW, lines={FIRST.id: ["x"]}))
            old = Retention(log_age=1, log_lines=0, mempool_age=1, mempool_entries=0, webhook_age=1)
            run(store.prune(now=NOW + HOUR, retention=old))
            run(stop_job(store, FIRST.id, now=NOW))
            page = run(store.list_jobs(state=JobState.STOPPED, limit=1))
            run(store.list_jobs(limit=1, after=page.next))
            run(store.count_drafts([FIRST.id, OTHER.id], now=NOW))
            run(store.put_scenario(FIRST, replace=True))
            run(store.statistics())
            run(store.delete_scenario(FIRST.id))

        plans = {
            statement: [row[3] for row in store._open().execute(f"EXPLAIN QUERY PLAN {statement}")]
            for statement in dict.fromkeys(asked)
            if statement.strip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"))
        }
        assert len(plans) > 30
        for statement, plan in plans.items():
            # As many leases as there are processes; a page of a list, in its order; how many jobs
            # there are, how many of them wait, and whose legs are in progress.
            harmless = (
                *(
                    "SCAN leases",
                    "SCAN l",
                    "CONSTANT ROW",
                    "json_each",
                    "SCAN one",
                    "SCAN page",
                    "SCAN locked",
                    "SCAN due_legs",
                    "SCAN legs",
                ),
                *(
                    "SCAN jobs USING COVERING INDEX jobs_by_state",
                    "SCAN job_counts",
                ),
                "SCAN jobs USING COVERING INDEX jobs_by_owner",
                *(
                    "SCAN j USING INDEX jobs_by_changed",
                    "SCAN j USING COVERING INDEX jobs_by_changed",
                ),
            )
            scans = [
                step
                for step in plan
                if "SCAN" in step and not any(f"{word} " in f"{step} " for word in harmless)
            ]
            assert not scans, (statement, plan)
            assert not [step for step in plan if "TEMP B-TREE" in step], (statement, plan)

    def test_a_wall_clock_that_is_set_back_makes_nothing_due_later(self) -> None:
        wall, passed = Clock(), Clock()
        clock = SteadyClock(lambda: wall.wall, passed)
        told = [clock()]
        for of_wall, of_time in ((-HOUR, 1), (0, 2), (5, 2), (HOUR, 3), (HOUR - 5, 10)):
            wall.wall, passed.now = NOW + of_wall, of_time
            told.append(clock())

        assert told == [NOW, NOW + 1, NOW + 2, NOW + 5, NOW + HOUR, NOW + HOUR + 7]
