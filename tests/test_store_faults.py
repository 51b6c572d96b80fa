"""What goes wrong with the file of a store: each is said in a sentence, and nothing is half
written."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import InvalidRequest, StoreBusy, StoreFailed
from scenarioctl.model.jobs import NO_TRANSACTION, JobState, LogLine
from scenarioctl.operations.scenarios import ListScenarios, list_scenarios
from scenarioctl.stores import ScenarioPage, open_store
from scenarioctl.stores.sqlite import database_file
from scenarioctl.stores.store import Store
from scenarioctl.stores.validation import SORTS
from tests.messages import says
from tests.runner import finish as run
from tests.test_store_jobs import (
    DRAFT,
    HOUR,
    JOB,
    NO_LIMIT,
    NOW,
    WEBHOOK,
    claim,
    ended,
    finish,
    get_job,
    next_due,
    stop_job,
    texts,
    waiting,
)
from tests.test_stores import FIRST, SECOND, clock_of, connections_of, damage, message, opened

pytestmark = pytest.mark.processes

DAMAGED = "its row in the store is damaged, start the job again"


def writer_of(store: Store) -> sqlite3.Connection:
    """Return the connection that *store* writes with."""
    return connections_of(store)[1]


def alter(folder: Path, statement: str) -> None:
    """Do by hand to the file what no program of ours does."""
    with closing(sqlite3.connect(folder / "scenarios.db", isolation_level=None)) as database:
        assert database.execute(statement).rowcount > 0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened("sqlite", tmp_path) as store:
        run(store.put_scenarios([FIRST, SECOND]))
        yield store


@pytest.mark.parametrize("column", ["name", "tbl_name"])
def test_a_schema_whose_names_are_damaged_is_said(tmp_path: Path, column: str) -> None:
    path = tmp_path / "scenarios.db"
    run(open_store(path).close())
    with closing(sqlite3.connect(path)) as database:
        (version,) = database.execute("PRAGMA schema_version").fetchone()
        database.execute("PRAGMA writable_schema = 1")
        database.execute(
            f"UPDATE sqlite_master SET {column} = CAST(x'ff6a' AS TEXT) WHERE name = 'jobs'"
        )
        database.execute(f"PRAGMA schema_version = {version + 1}")
        database.commit()

    with pytest.raises(StoreFailed, match=r"is damaged .*: restore it from a backup"):
        open_store(path)


#: Everything that a store can be asked to write.
WRITES: dict[str, Callable[[Store], Coroutine[Any, Any, object]]] = {
    "put a scenario": lambda store: store.put_scenario(replace(FIRST, id="new")),
    "replace a scenario": lambda store: store.put_scenario(
        replace(FIRST, blob=b"new"), replace=True
    ),
    "delete a scenario": lambda store: store.delete_scenario(SECOND.id),
    "start a job": lambda store: store.start_job(replace(JOB, id=SECOND.id)),
    "stop a job": lambda store: stop_job(store, FIRST.id, now=NOW),
    "finish a run": lambda store: store.finish_run(
        ended(claim_made[0], lines=("a",) * 100, used_events={WEBHOOK: 1}), retention=NO_LIMIT
    ),
    "wait": lambda store: store.finish_run(waiting(claim_made[0]), retention=NO_LIMIT),
    "renew a lease": lambda store: store.renew_lease("me", lease=9),
    "free legs": lambda store: store.free_legs(["me"]),
    "add lines": lambda store: store.add_lines(FIRST.id, epoch=3, lines=("x",), now=NOW),
    "flag a draft": lambda store: store.flag_drafts({1: "x"}, now=NOW, lines={}),
    "put an event": lambda store: store.put_event(WEBHOOK, {}, now=NOW, retention=NO_LIMIT),
}
claim_made: list[Any] = []


def set_the_scene(store: Store) -> None:
    """Let there be a job that is being run, a draft of an earlier run, and a webhook."""
    run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
    run(store.start_job(JOB))
    finish(store, ended(claim(store)[0]))
    run(store.start_job(replace(JOB, id=SECOND.id)))
    run(stop_job(store, SECOND.id, now=NOW))
    claim_made[:] = claim(store, now=NOW + HOUR)


def everything(folder: Path) -> dict[str, list[Any]]:
    """Return all rows of all tables."""
    with closing(sqlite3.connect(folder / "scenarios.db")) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


@pytest.mark.parametrize("write", WRITES)
def test_a_read_only_store_refuses_every_write(store: Store, write: str, tmp_path: Path) -> None:
    set_the_scene(store)
    before = everything(tmp_path)
    # The tests may run as root, whom no file mode stops.
    writer_of(store).execute("PRAGMA query_only = ON")

    assert message(StoreFailed, WRITES[write](store)) == says("store", tmp_path=tmp_path)
    assert everything(tmp_path) == before
    writer_of(store).execute("PRAGMA query_only = OFF")
    run(WRITES[write](store))
    assert everything(tmp_path) != before


@pytest.mark.parametrize("write", WRITES)
def test_a_locked_store_refuses_every_write_after_a_while(
    write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "BUSY_SECONDS", 0.01)
    with (
        opened("sqlite", tmp_path) as store,
        closing(sqlite3.connect(tmp_path / "scenarios.db")) as other,
    ):
        run(store.put_scenarios([FIRST, SECOND]))
        set_the_scene(store)
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")

        assert message(StoreBusy, WRITES[write](store)) == says("store", "0.01", tmp_path=tmp_path)
        other.execute("ROLLBACK")
        run(WRITES[write](store))


def test_a_run_that_finds_the_disk_full_leaves_nothing_and_is_kept_once_there_is_room(
    store: Store, tmp_path: Path
) -> None:
    set_the_scene(store)
    (claimed,) = claim_made
    before = everything(tmp_path)
    writer = writer_of(store)
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    long = ended(
        claimed, lines=("x" * 1000,) * 50, drafts=(replace(DRAFT, tx="0x" + "00" * 50_000),)
    )

    # At each page that the run may need: wherever the disk ends, all of the run or nothing is kept.
    for room in range(0, 24, 3):
        writer.execute(f"PRAGMA max_page_count = {pages + room}")
        assert message(StoreFailed, store.finish_run(long, retention=NO_LIMIT)) == says(
            "store", tmp_path=tmp_path
        )
        assert everything(tmp_path) == before
    writer.execute(f"PRAGMA max_page_count = {pages + 1000}")
    assert finish(store, long) is True
    assert len(texts(store)) == 51


FILE_LIMIT = """
import asyncio, resource, sys
from dataclasses import replace
from tests.test_stores import FIRST
from tests.messages import says
from scenarioctl.errors import StoreFailed
from scenarioctl.stores import open_store

async def main():
    store = open_store(sys.argv[1], )
    await store.put_scenario(FIRST)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    scenarios = [replace(FIRST, id=f"s{n}", blob=bytes(40_000)) for n in range(20)]
    answers = await asyncio.gather(*(store.put_scenario(one) for one in scenarios), return_exceptions=True)
    refused = {one.id for one, answer in zip(scenarios, answers) if answer is not None}
    print(len(refused) > 0, {(type(one).__name__, str(one)) for one in answers if one is not None})
    kept = {item.id for item in (await store.list_scenarios()).items}
    print(kept == {FIRST.id} | {one.id for one in scenarios} - refused)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await asyncio.gather(*(store.put_scenario(one) for one in scenarios if one.id in refused))
    print(await store.count_scenarios())
    await store.close()

asyncio.run(main())
"""


def test_a_file_that_may_not_grow_fails_those_whose_commit_it_stops_and_no_others(
    tmp_path: Path,
) -> None:
    path = tmp_path / "scenarios.db"
    answer = subprocess.run(
        [sys.executable, "-c", FILE_LIMIT, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    sentence = f"store '{path}' cannot be read or written (disk I/O error), nothing was changed"
    assert answer.stdout == f'True {{("StoreFailed", "{sentence}")}}\nTrue\n21\n'.replace(
        '("StoreFailed"', "('StoreFailed'"
    ), answer.stderr


@dataclass(frozen=True, kw_only=True)
class Damage:
    """Something in a row that no program of ours writes there."""

    name: str
    statement: str


JOB_DAMAGES = [
    Damage(name="no JSON", statement="UPDATE jobs SET schedule = 'hourly'"),
    Damage(name="a list", statement="UPDATE jobs SET schedule = '[]'"),
    Damage(
        name="deep", statement="UPDATE jobs SET schedule = replace(hex(zeroblob(50000)), '0', '[')"
    ),
    Damage(name="a number", statement="UPDATE jobs SET schedule = 5"),
    Damage(name="bytes", statement="UPDATE jobs SET schedule = x'ff'"),
    Damage(name="no UTF-8", statement="UPDATE jobs SET schedule = CAST(x'7b22ff227d' AS TEXT)"),
    Damage(
        name="an interval in words", statement="""UPDATE jobs SET schedule = '{"every": "1h"}'"""
    ),
    Damage(name="a broken interval", statement="""UPDATE jobs SET schedule = '{"every": 1.5}'"""),
    Damage(
        name="an unknown policy", statement="""UPDATE jobs SET schedule = '{"overlap": "maybe"}'"""
    ),
    Damage(name="an unknown field", statement="""UPDATE jobs SET schedule = '{"evry": 1}'"""),
    Damage(name="planned in words", statement="UPDATE jobs SET planned = 'tomorrow'"),
    Damage(name="counts in words", statement="UPDATE jobs SET runs = 'many'"),
    Damage(name="a reason in bytes", statement="UPDATE jobs SET reason = x'00ff'"),
]


@pytest.mark.parametrize("wrong", JOB_DAMAGES, ids=lambda wrong: wrong.name)
def test_a_damaged_job_is_paused_and_stops_no_other(
    store: Store, tmp_path: Path, wrong: Damage
) -> None:
    run(store.start_job(JOB))
    alter(tmp_path, wrong.statement)
    run(store.start_job(replace(JOB, id=SECOND.id, due=NOW + 1)))

    job = get_job(store)
    assert (job.state, job.reason, job.due) == (JobState.PAUSED, DAMAGED, None)
    assert {job.id for job in run(store.list_jobs()).items} == {SECOND.id, FIRST.id}
    clock_of(store).wall = NOW - 100 * HOUR
    assert run(store.replan()) == 1
    assert [one.job.id for one in claim(store, now=NOW + 1)] == [SECOND.id]
    # Not found due again and again.
    assert next_due(store) is None
    assert claim(store, now=NOW + 1) == []
    assert (get_job(store).state, get_job(store).reason) == (JobState.PAUSED, DAMAGED)

    assert run(store.start_job(JOB)) is True
    assert get_job(store).state is JobState.RUNNING


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE jobs SET state = 'walking'",
        "UPDATE jobs SET due = 'tomorrow'",
        "UPDATE jobs SET due = x'00'",
    ],
)
def test_a_job_that_is_never_due_for_damage_says_so(
    store: Store, tmp_path: Path, statement: str
) -> None:
    run(store.start_job(JOB))
    alter(tmp_path, statement)

    assert (get_job(store).state, get_job(store).reason) == (JobState.PAUSED, DAMAGED)
    assert next_due(store) is None
    assert claim(store, now=NOW + 99 * HOUR) == []
    assert run(store.start_job(JOB)) is True
    assert len(claim(store)) == 1


def test_a_job_that_is_damaged_while_it_runs_keeps_its_run(store: Store, tmp_path: Path) -> None:
    run(store.start_job(JOB))
    (claimed,) = claim(store)
    alter(tmp_path, "UPDATE jobs SET schedule = 'hourly'")

    assert finish(store, ended(claimed, failure="down")) is True
    assert texts(store) == ["workload executed"]
    assert claim(store, now=NOW + HOUR) == []
    assert get_job(store).reason == DAMAGED


@pytest.mark.parametrize("column", ["blob = 'text'", "summary = x'00'", "created = 'then'"])
def test_a_damaged_scenario_is_said_and_can_be_deleted(
    store: Store, tmp_path: Path, column: str
) -> None:
    run(store.start_job(JOB))
    alter(tmp_path, f"UPDATE scenarios SET {column} WHERE id = '{FIRST.id}'")
    sentence = "scenario 'lnr8CfoQX' is damaged in the store, delete it and create it again"

    assert message(StoreFailed, store.get_scenario(FIRST.id)) == sentence
    if "blob" not in column:
        # The others are listed all the same, and this one is named.
        assert run(store.list_scenarios()) == ScenarioPage(
            items=(listed(store, SECOND.id),), total=2, damaged=(FIRST.id,)
        )
    assert run(store.get_scenario(SECOND.id)) == SECOND
    run(stop_job(store, FIRST.id, now=NOW))
    run(store.delete_scenario(FIRST.id))
    assert run(store.list_scenarios()) == ScenarioPage(items=(listed(store, SECOND.id),), total=1)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize(
    "column",
    [
        "summary = x'00ff'",
        "summary = 'then'",
        "created = 'then'",
        "created = 1.5",
        "created = x'ff'",
        "size = ''",
    ],
)
def test_a_list_goes_on_behind_a_damaged_scenario(
    store: Store, tmp_path: Path, column: str, sort: str, descending: bool
) -> None:
    for number in range(4):
        run(
            store.put_scenario(
                replace(
                    FIRST, id=f"more{number}", created=FIRST.created + number, summary=f"{number}"
                )
            )
        )
    alter(tmp_path, f"UPDATE scenarios SET {column} WHERE id IN ('{FIRST.id}', 'more2')")
    whole = run(store.list_scenarios(sort=sort, descending=descending))

    pages = [run(store.list_scenarios(sort=sort, descending=descending, limit=1))]
    while pages[-1].next:
        pages.append(
            run(
                store.list_scenarios(
                    sort=sort, descending=descending, limit=1, after=pages[-1].next
                )
            )
        )

    assert len(pages) == 6
    assert tuple(item for page in pages for item in page.items) == whole.items
    assert tuple(id for page in pages for id in page.damaged) == whole.damaged
    assert len(whole.items) + len(whole.damaged) == 6


def test_a_list_says_which_scenario_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    app = Application(
        Settings(config=folder / "c", store=str(tmp_path / "scenarios.db"), cache=folder / "r")
    )
    run(app.store.put_scenarios([FIRST, SECOND]))
    alter(tmp_path, f"UPDATE scenarios SET summary = x'00' WHERE id = '{FIRST.id}'")

    page = run(list_scenarios(app, ListScenarios()))

    run(app.close())
    assert page.warnings == (says("lnr8CfoQX", "damaged"),)
    assert [row["id"] for row in page.answer["scenarios"]] == [SECOND.id]


def test_a_damaged_run_hides_no_other(store: Store, tmp_path: Path) -> None:
    run(store.start_job(JOB))
    for _ in range(2):
        (claimed,) = claim(store, now=NOW + 2 * HOUR)
        finish(store, ended(claimed, due=NOW + 1, next_planned=NOW + 1))
    whole = run(store.last_runs(FIRST.id, limit=5))
    alter(tmp_path, "UPDATE runs SET failure = x'00' WHERE seq = 1")

    assert len(whole) == 2
    assert run(store.last_runs(FIRST.id, limit=5)) == whole[:1]


def listed(store: Store, id: str) -> Any:
    return next(item for item in run(store.list_scenarios()).items if item.id == id)


def test_a_job_whose_scenario_is_damaged_pauses(store: Store, tmp_path: Path) -> None:
    run(store.start_job(JOB))
    alter(tmp_path, f"UPDATE scenarios SET blob = 'text' WHERE id = '{FIRST.id}'")

    assert claim(store) == []
    job = get_job(store)
    assert (job.state, job.reason) == (
        JobState.PAUSED,
        says("scenario", "damaged"),
    )
    assert next_due(store) is None


def test_a_damaged_line_or_draft_hides_no_other(store: Store, tmp_path: Path) -> None:
    run(store.start_job(JOB))
    (claimed,) = claim(store)
    finish(store, ended(claimed, lines=("one", "two", "three"), drafts=(DRAFT, DRAFT, DRAFT)))
    alter(tmp_path, "UPDATE log_lines SET text = x'ff' WHERE seq = 1")
    alter(tmp_path, "UPDATE log_lines SET text = CAST(x'74ff' AS TEXT) WHERE seq = 2")
    alter(tmp_path, "UPDATE mempool SET date = 'then' WHERE seq = 1")
    alter(tmp_path, "UPDATE mempool SET spec_version = 'new' WHERE seq = 2")

    assert run(store.read_log(FIRST.id)) == [
        LogLine(seq=1, job=FIRST.id, written=0, text="This line is damaged in the store"),
        LogLine(seq=2, job=FIRST.id, written=NOW + 2, text="t\ufffd"),
        LogLine(seq=3, job=FIRST.id, written=NOW + 2, text="three"),
    ]
    entries = run(store.read_mempool(FIRST.id))
    assert [(entry.seq, entry.draft.tx, entry.flag) for entry in entries] == [
        (1, NO_TRANSACTION, says("draft", "damaged")),
        (2, NO_TRANSACTION, says("draft", "damaged")),
        (3, DRAFT.tx, ""),
    ]
    assert run(store.drafted_for()) == [("polkadot", 2_000_000)]
    assert [entry.seq for entry in run(store.read_drafts("polkadot", 2_000_000))] == [3]


def test_a_damaged_event_is_said_until_a_newer_one_comes(store: Store, tmp_path: Path) -> None:
    run(store.put_scenario(replace(FIRST, webhooks=(WEBHOOK,)), replace=True))
    run(store.put_event(WEBHOOK, 1, now=NOW, retention=NO_LIMIT))
    alter(tmp_path, "UPDATE webhook_events SET content = '{'")
    sentence = f"event 1 of webhook '{WEBHOOK}' is damaged in the store, send it again"

    assert message(StoreFailed, store.newest_event(WEBHOOK, job=FIRST.id)) == sentence
    assert message(StoreFailed, store.get_event(1)) == sentence
    run(store.put_event(WEBHOOK, 2, now=NOW, retention=NO_LIMIT))
    newest = run(store.newest_event(WEBHOOK, job=FIRST.id))
    assert newest is not None
    assert newest.content == 2


def test_a_damaged_page_is_said_and_what_lies_elsewhere_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scenarios.db"
    with closing(sqlite3.connect(path)) as database:
        store = open_store(path)
        run(store.put_scenarios([FIRST, SECOND]))
        run(store.start_job(JOB))
        finish(store, ended(claim(store)[0]))
        run(store.close())
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'log_lines'"
        ).fetchone()
    damage(path, (root - 1) * 4096, root * 4096)
    sentence = (
        f"store '{path}' is damaged (database disk image is malformed): restore it from a backup"
    )

    with opened("sqlite", tmp_path) as store:
        assert message(StoreFailed, store.read_log(FIRST.id)) == sentence
        (claimed,) = claim(store, now=NOW + HOUR)
        assert (
            message(StoreFailed, store.finish_run(ended(claimed), retention=NO_LIMIT)) == sentence
        )
        assert get_job(store).runs == len(run(store.read_mempool(FIRST.id))) == 1
        assert run(store.get_scenario(SECOND.id)) == SECOND


def test_a_value_that_sqlite_cannot_hold_is_said(store: Store, tmp_path: Path) -> None:
    writer_of(store).setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)

    assert message(
        InvalidRequest, store.put_scenario(replace(FIRST, id="big", blob=bytes(200_000)))
    ) == says("store", tmp_path=tmp_path)
