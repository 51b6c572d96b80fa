"""A store copied into another one: everything goes along, with its numbers."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.config import without_password
from scenarioctl.errors import Conflict
from scenarioctl.model.jobs import FinishedRun, JobState, SentState, StepOutcome, StepResult
from scenarioctl.model.notifications import (
    NewNotification,
    NotificationEvent,
)
from scenarioctl.stores import create_store, open_store
from scenarioctl.stores.asking import find_all
from scenarioctl.stores.copying import TABLES, copy_store
from scenarioctl.stores.store import Store
from tests import postgres
from tests.conftest import Run
from tests.messages import says
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
    stop_job,
)
from tests.test_stores import FIRST, SECOND

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
        run(store.put_event(WEBHOOK, "unused", now=NOW + 1, retention=NO_LIMIT, key="k"))
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
                replace(SENT, chain="kusama", nonce=None, valid_until=None, made_of=())
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


def copy(source: str, target: str, *, stop: bool = False) -> tuple[list[str], dict[str, int]]:
    return run(copy_store(source, target, stop=stop, now=NOW + 99))


def refusal(source: str, target: str) -> str:
    with pytest.raises(Conflict) as caught:
        copy(source, target)
    return str(caught.value)


def test_everything_goes_along_with_its_numbers(both: tuple[str, str]) -> None:
    fork = "INSERT INTO forks (counter, last, first) VALUES ('mempool', 0, 2)"
    with_store(both[0], lambda store: run(store.write(partial(find_all, fork))))
    stopped, rows = copy(*both)

    assert (content(both[1]), stopped) == (content(both[0]), [])
    assert (rows["scenarios"], rows["jobs"], rows["forks"]) == (3, 1, 1)

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


def test_running_jobs_are_stopped_if_asked_for(both: tuple[str, str]) -> None:
    start = replace(JOB, id=FIRST.id, due=NOW + HOUR, planned=NOW + HOUR)
    with_store(both[0], lambda store: run(store.start_job(start)))

    assert refusal(*both) == says("stop_jobs", source=without_password(both[0]))
    assert copy(*both, stop=True)[0] == [FIRST.id]
    jobs = with_store(both[1], lambda store: run(store.list_jobs())).items
    assert {job.state for job in jobs} == {JobState.STOPPED}


def test_a_target_that_is_not_empty_and_a_worker_are_refused(both: tuple[str, str]) -> None:
    async def refuse() -> str:
        store = open_store(both[0])
        try:
            await store.renew_lease("me", lease=HOUR)
            with pytest.raises(Conflict) as caught:
                await copy_store(*both, stop=False, now=NOW)
            await store.free_legs(["me"])
            return str(caught.value)
        finally:
            await store.close()

    assert run(refuse()) == says("worker", "daemons", source=without_password(both[0]))
    copy(*both)
    assert refusal(*both) == says("empty", target=without_password(both[1]))


def test_the_command_says_what_it_copied(scenarioctl: Run, locations: dict[str, str]) -> None:
    occupy(locations["sqlite"])
    done = scenarioctl("store", "copy", locations["sqlite"], locations["postgres"])

    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()][:2] == [
        ["scenarios", "3"],
        ["jobs", "1"],
    ]


#: Tables and columns that a store makes of the others, or that only a running worker has.
OWN = {
    "scenario_counts",
    "job_counts",
    "leases",
    "served",
    "sqlite_sequence",
    "scenario_chains",
    "scenario_tags",
    "scenario_webhooks",
}


def test_every_column_of_a_store_is_copied(tmp_path: Path) -> None:
    run(create_store(str(tmp_path / "s.db")))

    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        tables = {
            name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        columns = {
            (table, row[1])
            for table in TABLES
            for row in file.execute(f"PRAGMA table_info({table})")
        }

    copied = {
        (table, name) for table, names in TABLES.items() for name in names.replace("|", "").split()
    }
    assert columns == copied
    assert tables - {*TABLES} == OWN
