"""A store copied into another one: everything goes along, with its numbers; an interrupted copy
goes on."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scenarioctl.config import without_password
from scenarioctl.errors import Conflict, InvalidRequest, NotFound, StoreBusy, StoreFailed
from scenarioctl.model.jobs import FinishedRun, JobState, SentState, StepOutcome, StepResult
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
)
from scenarioctl.stores import copying as copying_module
from scenarioctl.stores import create_store, open_store
from scenarioctl.stores.copying import CopiedTable, StoreCopy
from scenarioctl.stores.operations import find_all
from scenarioctl.stores.postgres import store as postgres_store
from scenarioctl.stores.sqlite import database_file
from scenarioctl.stores.store import Store
from scenarioctl.stores.validation import SCHEMA_VERSION
from tests import postgres
from tests.conftest import Run
from tests.messages import raises, says
from tests.postgres import RUNTIME, shared_server
from tests.runner import finish as run
from tests.test_address_book import ENTRY
from tests.test_sent import SENT
from tests.test_store_jobs import (
    DRAFT,
    HOUR,
    JOB,
    NO_LIMIT,
    NOW,
    WEBHOOK,
    claim,
    ended,
    give_back,
    stop_job,
    waiting,
)
from tests.test_stores import FIRST, SECOND, fill, message

THIRD = replace(
    FIRST,
    id="third",
    name="DOT for Ada – «täglich»",
    tags=("ä", "daily"),
    webhooks=(WEBHOOK,),
    digest=b"0123456789abcdef",
    created=SECOND.created + 1,
)
TOLD = NewNotification(
    id="msg_1",
    event=NotificationEvent.DRAFT_READY,
    job=THIRD.id,
    created=NOW,
    url="https://hooks.example.org/secret",
)
EVENT = {"amount": "1.5", "nested": [None, 10**30, "ü"]}


@pytest.fixture(scope="module")
def database() -> str:
    """Return the owner's address of a database that these tests share."""
    url = shared_server().create_database("copied")
    run(create_store(url, grant=RUNTIME))
    return url


@pytest.fixture
def locations(database: str, tmp_path: Path) -> dict[str, str]:
    """Return the locations of an empty file and an empty database."""
    postgres.empty_tables(database)
    path = str(tmp_path / "scenarios.db")
    run(create_store(path))
    return {"sqlite": path, "postgres": database}


@pytest.fixture(
    params=[("sqlite", "postgres"), ("postgres", "sqlite")], ids=lambda names: " to ".join(names)
)
def both(request: pytest.FixtureRequest, locations: dict[str, str]) -> tuple[str, str]:
    """Return the locations of a source with content and of an empty target."""
    source, target = (locations[name] for name in request.param)
    occupy(source)
    return source, target


def with_store(location: str, work: Callable[[Store], Any]) -> Any:
    store = open_store(location)
    try:
        return work(store)
    finally:
        run(store.close())


def occupy(location: str) -> None:
    """Store something of everything, and delete the newest rows."""

    def put(store: Store) -> None:
        run(store.put_scenarios([FIRST, SECOND, THIRD, replace(FIRST, id="gone")]))
        event = run(store.put_event(WEBHOOK, EVENT, now=NOW, retention=NO_LIMIT))
        run(store.put_event(WEBHOOK, "unused", now=NOW + 1, retention=NO_LIMIT))
        for id in (THIRD.id, "gone"):
            run(store.start_job(replace(JOB, id=id, notify=(TOLD.url,))))
            (claimed,) = claim(store)
            used = {WEBHOOK: event.id} if id == THIRD.id else {}
            run(
                store.finish_run(
                    ended(
                        claimed,
                        used_events=used,
                        drafts=(DRAFT, DRAFT),
                        notifications=(replace(TOLD, job=id),),
                    ),
                    retention=NO_LIMIT,
                )
            )
            run(stop_job(store, id, now=NOW + 9))
        run(store.finish_run(failed(), retention=NO_LIMIT))
        run(store.flag_drafts({1: "outdated"}, now=NOW, lines={THIRD.id: ["a draft is outdated"]}))
        run(store.finish_run(replace(failed(), job="gone"), retention=NO_LIMIT))
        run(store.delete_scenario("gone"))
        run(store.addresses().put(ENTRY))
        run(store.sent().add(SENT))
        run(
            store.sent().add(
                replace(SENT, chain="kusama", nonce=None, valid_until=None, job="", draft=None)
            )
        )
        run(
            store.sent().change(
                replace(SENT, state=SentState.IN_BLOCK, block="0x01", block_number=7)
            )
        )

    with_store(location, put)


def failed() -> FinishedRun:
    return FinishedRun(
        job=SECOND.id,
        epoch=None,
        planned=NOW,
        started=NOW,
        finished=NOW + 1,
        lines=("run failed",),
        failure="no",
        steps={
            "a": StepResult(
                outcome=StepOutcome.DONE, seconds=0.5, input="GET /", output="{}", length=2
            ),
            "b": StepResult(outcome=StepOutcome.FAILED),
        },
    )


def content(location: str) -> dict[str, Any]:
    """Return all that the store's questions tell."""

    def ask(store: Store) -> dict[str, Any]:
        ids = (FIRST.id, SECOND.id, THIRD.id)
        return {
            "scenarios": [run(store.get_scenario(id)) for id in ids],
            "pages": [
                run(store.list_scenarios(limit=2, sort=sort, chain=chain))
                for sort in ("created", "id", "summary")
                for chain in ("", "polkadot")
            ],
            "counts": [
                run(store.count_scenarios(chain)) for chain in ("", "polkadot", "hydraDx", "kusama")
            ],
            "jobs": run(store.list_jobs()),
            "log": run(store.read_log(None)),
            "mempool": run(store.read_mempool(None)),
            "runs": [run(store.last_runs(id, limit=9)) for id in ids],
            "events": run(store.list_events(WEBHOOK)),
            "unused": run(store.newest_event(WEBHOOK, job=THIRD.id)),
            "addresses": run(store.addresses().list()),
            "sent": [run(store.sent().get(chain, SENT.hash)) for chain in ("polkadot", "kusama")],
            "notifications": run(store.outbox().claim(now=NOW * 2, until=NOW, limit=9)),
        }

    found: dict[str, Any] = with_store(location, ask)
    return found


def perform(
    source: str,
    target: str,
    *,
    stop: bool = False,
    progress: copying_module.Progress = lambda done, total: None,
) -> tuple[list[str], list[CopiedTable]]:
    async def copy() -> tuple[list[str], list[CopiedTable]]:
        async with StoreCopy.open(source, target) as copy:
            return await copy.stop_jobs(stop=stop, now=NOW + 99), await copy.perform(progress)

    return run(copy())


def refusal(error: type[Exception], source: str, target: str) -> str:
    with pytest.raises(error) as caught:
        perform(source, target)
    return str(caught.value)


class TestCopies:
    def test_everything_goes_along(self, both: tuple[str, str]) -> None:
        told: list[tuple[int, int]] = []
        _, tables = perform(*both, progress=lambda done, total: told.append((done, total)))

        assert content(both[1]) == content(both[0])
        assert {each.name: each.rows for each in tables} == {
            "scenarios": 3,
            "jobs": 1,
            "runs": 2,
            "log_lines": 3,
            "mempool": 2,
            "tallies": 2,
            "webhook_events": 2,
            "webhook_marks": 1,
            "notifications": 1,
            "sent_transactions": 2,
            "addresses": 1,
            "forks": 0,
        }
        assert (told[0], told[-1]) == ((0, 40), (40, 40))

    def test_later_rows_get_higher_numbers(self, both: tuple[str, str]) -> None:
        perform(*both)

        def write_more(store: Store) -> tuple[int, int, int]:
            run(store.finish_run(replace(failed(), drafts=(DRAFT,)), retention=NO_LIMIT))
            event = run(store.put_event(WEBHOOK, 1, now=NOW, retention=NO_LIMIT))
            return (
                run(store.read_log(None))[-1].seq,
                run(store.read_mempool(None))[-1].seq,
                event.id,
            )

        # As in the source, where the rows of a deleted scenario had higher ones.
        assert with_store(both[1], write_more) == with_store(both[0], write_more)
        assert (
            with_store(both[1], lambda store: run(store.keep_scenario(replace(THIRD, id="twin"))))
            == THIRD.id
        )
        with_store(both[1], lambda store: run(store.put_scenario(replace(FIRST, id="new"))))

    def test_what_a_failover_has_lost_is_lost_in_the_copy(self, both: tuple[str, str]) -> None:
        fork = "INSERT INTO forks (counter, last, first) VALUES ('mempool', 0, 2)"
        with_store(both[0], lambda store: run(store.write(partial(find_all, fork))))
        perform(*both)

        assert with_store(
            both[1], lambda store: [run(store.is_lost("mempool", at)) for at in (0, 1, 2)]
        ) == [
            False,
            True,
            False,
        ]

    def test_there_and_back(self, both: tuple[str, str], tmp_path: Path) -> None:
        third = str(tmp_path / "third.db")
        run(create_store(third))
        _, there = perform(*both)
        _, back = perform(both[1], third)

        assert there == back
        assert content(third) == content(both[0])

    def test_a_copy_goes_on_after_an_interruption(
        self, both: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(copying_module, "ROWS", 1)

        def interrupt(done: int, total: int) -> None:
            if done == 8:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            perform(*both, progress=interrupt)
        told: list[int] = []
        _, tables = perform(*both, progress=lambda done, total: told.append(done))
        _, again = perform(*both)

        # It begins with what is there already.
        assert (told[0], told[-1]) == (0, 40)
        assert sum(each.copied for each in tables) == 12
        assert content(both[1]) == content(both[0])
        assert sum(each.copied for each in again) == 0

    @pytest.mark.parametrize("size", [1, 10_000])
    def test_long_rows_are_copied_in_portions(
        self, both: tuple[str, str], monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        monkeypatch.setattr(copying_module, "BYTES", size)
        with_store(both[0], lambda store: fill(store, 20))
        perform(*both)

        assert content(both[1]) == content(both[0])

    def test_running_jobs_are_stopped_if_asked_for(self, both: tuple[str, str]) -> None:
        def start(store: Store) -> None:
            for id in (FIRST.id, THIRD.id):
                run(store.start_job(replace(JOB, id=id, due=NOW + HOUR, planned=NOW + HOUR)))

        with_store(both[0], start)
        assert refusal(Conflict, *both) == says(
            "2 jobs", "--stop-jobs", source=without_password(both[0])
        )
        assert with_store(both[1], lambda store: run(store.count_scenarios())) == 0
        stopped, _ = perform(*both, stop=True)

        assert stopped == sorted([FIRST.id, THIRD.id])
        jobs = with_store(both[1], lambda store: run(store.list_jobs())).items
        assert {(job.id, job.state, job.due) for job in jobs} == {
            (id, JobState.STOPPED, None) for id in stopped
        }
        assert content(both[1]) == content(both[0])

    def test_what_nobody_runs_any_more_is_not_run_there(self, both: tuple[str, str]) -> None:
        def claimed(store: Store) -> None:
            run(store.start_job(replace(JOB, id=FIRST.id)))
            assert claim(store)

        with_store(both[0], claimed)
        perform(*both, stop=True)

        (job, _) = with_store(both[1], lambda store: run(store.list_jobs())).items
        assert (job.owner, job.step, job.epoch) == ("", "", 3)
        assert with_store(both[1], lambda store: run(store.start_job(replace(JOB, id=FIRST.id))))
        with_store(both[1], lambda store: claim(store))


class TestRefusals:
    def test_a_target_with_other_content(self, both: tuple[str, str]) -> None:
        with_store(both[1], lambda store: run(store.put_scenario(SECOND)))

        words = says(
            "scenarios", "empty", source=without_password(both[0]), target=without_password(both[1])
        )
        assert refusal(Conflict, *both) == words
        assert with_store(both[1], lambda store: run(store.count_scenarios())) == 1

    def test_a_target_that_was_used_after_the_copy(self, both: tuple[str, str]) -> None:
        perform(*both)
        with_store(both[1], lambda store: run(store.finish_run(failed(), retention=NO_LIMIT)))

        words = says(
            "runs", "empty", source=without_password(both[0]), target=without_password(both[1])
        )
        assert refusal(Conflict, *both) == words

    def test_nobody_writes_to_the_source_meanwhile(self, both: tuple[str, str]) -> None:
        refused: list[Exception] = []

        def change(done: int, total: int) -> None:
            statement = "UPDATE log_lines SET text = 'other' WHERE seq = 1"
            with pytest.raises(
                (sqlite3.OperationalError, psycopg.errors.LockNotAvailable)
            ) as caught:
                change_rows(both[0], statement)
            refused.append(caught.value)

        perform(*both, progress=change)
        assert refused
        assert content(both[1]) == content(both[0])
        # The server may still be ending the copy's transaction.
        change_rows(both[0], "UPDATE log_lines SET text = 'other' WHERE seq = 1", patience=30)

    def test_somebody_who_writes_to_the_source_for_long(
        self, both: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres_store, "_FREEZE_SECONDS", 0.1)
        monkeypatch.setattr(database_file, "BUSY_SECONDS", 0.1)
        with writing(both[0]):
            assert refusal(StoreBusy, *both) == says("locked", source=without_password(both[0]))
        perform(*both)

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE log_lines SET text = 'other' WHERE seq = 1",
            "DELETE FROM log_lines WHERE seq = 1",
        ],
    )
    def test_a_target_that_changes_meanwhile(self, both: tuple[str, str], change: str) -> None:
        def interfere(done: int, total: int) -> None:
            if done == 16:
                change_rows(both[1], change)

        with pytest.raises(Conflict) as refused:
            perform(*both, progress=interfere)
        words = says(
            "log_lines",
            "was changed",
            source=without_password(both[0]),
            target=without_password(both[1]),
        )
        assert str(refused.value) == words

    def test_a_target_that_loses_a_scenario_meanwhile(self, both: tuple[str, str]) -> None:
        def interfere(done: int, total: int) -> None:
            if done == 3:
                change_rows(both[1], "DELETE FROM scenarios")

        with raises(Conflict, says("jobs", "stop all other users")):
            perform(*both, progress=interfere)

    def test_a_job_that_is_started_meanwhile(self, both: tuple[str, str]) -> None:
        async def copy() -> None:
            async with StoreCopy.open(*both) as copy:
                await copy.stop_jobs(stop=True, now=NOW)
                # By a daemon that only serves requests.
                other = open_store(both[0])
                await other.start_job(replace(JOB, id=FIRST.id, due=NOW + HOUR))
                await other.close()
                await copy.perform(lambda done, total: None)

        words = says("1 job", "--stop-jobs", source=without_password(both[0]))
        assert message(Conflict, copy()) == words
        assert with_store(both[1], lambda store: run(store.count_scenarios())) == 0

    def test_a_run_that_waits_ends_with_a_line_that_says_where(self, both: tuple[str, str]) -> None:
        def wait(store: Store) -> None:
            run(store.start_job(JOB))
            (leg,) = claim(store)
            run(store.finish_run(waiting(leg), retention=NO_LIMIT))
            give_back(store, "me")

        with_store(both[0], wait)
        stopped, _ = perform(*both, stop=True)

        assert stopped == [JOB.id]
        lines = with_store(both[1], lambda store: run(store.read_log(JOB.id)))
        assert lines[-1].text == "Job stopped while step 2 waited for a webhook"

    @pytest.mark.parametrize("which", [0, 1], ids=["source", "target"])
    def test_a_worker_of_either_store(self, both: tuple[str, str], which: int) -> None:
        store = open_store(both[which])
        run(store.renew_lease("me", lease=HOUR))

        words = says("worker", "stop the daemons", store=without_password(both[which]))
        assert refusal(Conflict, *both) == words
        give_back(store, "me")
        run(store.close())
        perform(*both)

    def test_the_same_file(
        self, locations: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = Path(locations["sqlite"])
        (tmp_path / "link.db").symlink_to(path)
        os.link(path, tmp_path / "hard.db")
        monkeypatch.chdir(tmp_path)

        for other in (
            str(path),
            "scenarios.db",
            "./link.db",
            "hard.db",
            f"{tmp_path}/../{tmp_path.name}/link.db",
        ):
            assert refusal(InvalidRequest, str(path), other) == says(
                "the same", source=str(path), target=other
            )

    def test_the_same_database(self, locations: dict[str, str]) -> None:
        server = shared_server()
        url = locations["postgres"]

        for other in (url, server.url("copied", user=RUNTIME), server.tcp_url("copied")):
            words = says("the same", source=without_password(url), target=without_password(other))
            assert refusal(InvalidRequest, url, other) == words

    def test_a_target_without_tables(self, locations: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "empty.db").touch()
        absent = tmp_path / "absent.db"
        for target in (str(absent), str(tmp_path / "empty.db"), shared_server().url("postgres")):
            refused = refusal(StoreFailed, locations["sqlite"], target)
            assert refused == says("store init", store=without_password(target))
        assert not absent.exists()

    def test_a_source_that_is_not_there(self, locations: dict[str, str], tmp_path: Path) -> None:
        absent = str(tmp_path / "absent.db")

        assert refusal(NotFound, absent, locations["postgres"]) == says(
            "does not exist", store=absent
        )
        assert refusal(StoreFailed, shared_server().url("postgres"), locations["sqlite"]) == says(
            "no tables"
        )

    def test_tables_of_another_version(self, locations: dict[str, str], tmp_path: Path) -> None:
        file, url = locations["sqlite"], locations["postgres"]
        change_rows(file, "PRAGMA user_version = 99")
        assert refusal(StoreFailed, file, url) == says("version 99", store=file)
        change_rows(file, f"PRAGMA user_version = {SCHEMA_VERSION}")
        try:
            change_rows(url, "UPDATE meta SET version = 99")
            assert refusal(StoreFailed, url, file) == says(
                "version 99", store=without_password(url)
            )
        finally:
            change_rows(url, f"UPDATE meta SET version = {SCHEMA_VERSION}")

    def test_a_role_that_may_not_set_numbers(self, locations: dict[str, str]) -> None:
        occupy(locations["sqlite"])
        url = shared_server().url("copied", user=RUNTIME)

        assert refusal(StoreFailed, locations["sqlite"], url) == says(
            "permission denied", store=without_password(url)
        )
        assert with_store(url, lambda store: run(store.count_scenarios())) == 0

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            ("UPDATE scenarios SET blob = 'text' WHERE id = 'third'", ("blob", "'third'")),
            ("UPDATE jobs SET schedule = '{' WHERE id = 'third'", ("schedule", "'third'")),
            ("UPDATE log_lines SET text = 'a' || char(0) WHERE job = 'third'", ("text", "'third'")),
            ("UPDATE webhook_events SET received = 'never'", ("received", "webhook_events")),
        ],
        ids=["blob", "schedule", "line", "event"],
    )
    def test_a_damaged_row(
        self, locations: dict[str, str], damage: str, words: tuple[str, ...]
    ) -> None:
        file = locations["sqlite"]
        occupy(file)
        change_rows(file, damage)

        assert refusal(StoreFailed, file, locations["postgres"]) == says(*words, store=file)

    def test_an_unknown_kind_of_store(self, locations: dict[str, str]) -> None:
        refused = message(
            InvalidRequest,
            StoreCopy.open("mysql://me:secret@host/db", locations["sqlite"]).__aenter__(),
        )

        assert refused == says("mysql://…", "unsupported")


def change_rows(location: str, statement: str, *, patience: float = 0.02) -> None:
    """Execute *statement*, which may wait for a lock for *patience* seconds."""
    if location.startswith("postgresql:"):
        settings = f"SET search_path = scenarioctl; SET lock_timeout = {patience * 1000:.0f}"
        shared_server().execute(f"{settings}; {statement}", database="copied")
        return
    with closing(sqlite3.connect(location, isolation_level=None, timeout=patience)) as connection:
        connection.execute(statement)


@contextmanager
def writing(location: str) -> Iterator[None]:
    """Be in the middle of a transaction that writes."""
    if location.startswith("postgresql:"):
        with psycopg.connect(location) as server:
            server.execute("UPDATE scenarioctl.log_lines SET text = text")
            yield
        return
    with closing(sqlite3.connect(location, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        yield


class TestCommand:
    @pytest.fixture
    def source(self, locations: dict[str, str]) -> str:
        occupy(locations["sqlite"])
        start = replace(JOB, id=FIRST.id, due=NOW + HOUR)
        with_store(locations["sqlite"], lambda store: run(store.start_job(start)))
        return locations["sqlite"]

    def test_it_says_what_it_copied(
        self, scenarioctl: Run, source: str, locations: dict[str, str]
    ) -> None:
        refused = scenarioctl("store", "copy", source, locations["postgres"])
        done = scenarioctl("store", "copy", source, locations["postgres"], "--stop-jobs")
        again = scenarioctl("--json", "store", "copy", source, locations["postgres"])

        assert refused.code == 4
        assert done.code == 0
        assert done.err == says("23 rows").within(f"Stopped job {FIRST.id}.\n{{}}\n")
        assert [line.split()[:3] for line in done.out.splitlines()][:2] == [
            ["scenarios", "3", "3"],
            ["jobs", "2", "2"],
        ]
        answer = json.loads(again.out)
        assert (answer["source"], answer["stopped"]) == (source, [])
        assert {each["copied"] for each in answer["tables"]} == {0}

    def test_a_terminal_shows_how_far_it_is(
        self, scenarioctl: Run, source: str, locations: dict[str, str]
    ) -> None:
        shown = played(["store", "copy", source, locations["postgres"], "--stop-jobs"])

        assert "46/46" in shown
        assert "Verified" in shown

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_an_interrupted_copy_goes_on(
        self, scenarioctl: Run, source: str, locations: dict[str, str], how: signal.Signals
    ) -> None:
        command = ["store", "copy", source, locations["postgres"], "--stop-jobs"]
        with psycopg.connect(locations["postgres"]) as other:
            other.execute("LOCK TABLE scenarioctl.mempool IN EXCLUSIVE MODE")
            process = subprocess.Popen(
                [sys.executable, "-m", "scenarioctl", *command], stderr=subprocess.PIPE, text=True
            )
            wait_until_blocked(other)
            process.send_signal(how)
            _, told = process.communicate(timeout=30)
        again = scenarioctl(*command)

        if how is signal.SIGINT:
            assert process.returncode == 130
            assert told.splitlines()[-1] == says("same command again").within("Warning: {}")
        copied = [line.split()[2] for line in again.out.splitlines()]
        assert copied == ["0", "0", "0", "0", "2", "3", "2", "1", "1", "2", "1", "0"]

    def test_a_target_without_room(
        self,
        scenarioctl: Run,
        source: str,
        locations: dict[str, str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with_store(source, lambda store: fill(store, 3000))
        target = str(tmp_path / "small.db")
        run(create_store(target))
        open_file = database_file.DatabaseFile.open

        def open_small(file: database_file.DatabaseFile) -> sqlite3.Connection:
            opened = open_file(file)
            if file.path == Path(target):
                opened.execute("PRAGMA max_page_count = 60")
            return opened

        with monkeypatch.context() as patched:
            patched.setattr(database_file.DatabaseFile, "open", open_small)
            refused = scenarioctl("store", "copy", source, target, "--stop-jobs")
        again = scenarioctl("store", "copy", source, target)

        assert refused.code == 2
        assert refused.err.splitlines()[1:] == [
            says("same command again").within("Warning: {}"),
            says("disk space", target=target).within("Error: {}"),
        ]
        assert again.code == 0


def played(arguments: list[str]) -> str:
    """Return what a command prints on a terminal."""
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scenarioctl", *arguments], stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    printed = b""
    # Linux ends the terminal with an error when the last process has closed it.
    with suppress(OSError):
        while some := os.read(reader, 65536):
            printed += some
    os.close(reader)
    assert process.wait(30) == 0
    return printed.decode()


def wait_until_blocked(connection: "psycopg.Connection[Any]") -> None:
    deadline = time.monotonic() + 30
    question = (
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
        "'scenarioctl.mempool'::regclass"
    )
    while connection.execute(question).fetchone() == (0,):
        assert time.monotonic() < deadline
        time.sleep(0.02)


#: Tables and columns that a store makes of the others, or that only a running worker has.
OWN = {
    "scenario_counts",
    "leases",
    "sqlite_sequence",
    "scenario_chains",
    "scenario_tags",
    "scenario_webhooks",
}
MADE_ANEW = {("jobs", "noted")}


def test_every_column_of_a_store_is_copied(tmp_path: Path) -> None:
    run(create_store(str(tmp_path / "s.db")))

    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        tables = {
            name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        columns = {
            (table.name, row[1])
            for table in copying_module.TABLES
            for row in file.execute(f"PRAGMA table_info({table.name})")
        }

    copied = {
        (each.name, name) for each in copying_module.TABLES for name in (*each.columns, *each.fixed)
    }
    assert columns - copied == MADE_ANEW
    assert tables - {each.name for each in copying_module.TABLES} == OWN
