"""What goes wrong with the file of a store: each is said in a sentence, and nothing is half
written."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest, StoreFailed
from scenarioctl.stores.store import Store
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
    stop_job,
    texts,
)
from tests.test_stores import FIRST, SECOND, connections_of, message, opened

pytestmark = pytest.mark.processes


def writer_of(store: Store) -> sqlite3.Connection:
    """Return the connection that *store* writes with."""
    return connections_of(store)[1]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened("sqlite", tmp_path) as store:
        run(store.put_scenarios([FIRST, SECOND]))
        yield store


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
    puts = [store.put_scenario(one) for one in scenarios]
    answers = await asyncio.gather(*puts, return_exceptions=True)
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


def test_a_value_that_sqlite_cannot_hold_is_said(store: Store, tmp_path: Path) -> None:
    writer_of(store).setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)

    assert message(
        InvalidRequest, store.put_scenario(replace(FIRST, id="big", blob=bytes(200_000)))
    ) == says("store", tmp_path=tmp_path)
