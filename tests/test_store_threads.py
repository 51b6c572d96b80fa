"""Threads of the SQLite store: the event loop goes on, and writes that come together share one
fsync."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import Conflict, NotFound, StoreBusy
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.sqlite import database_file
from scenarioctl.stores.sqlite.store import SqliteStore
from tests.test_stores import FIRST, SECOND


def numbered(number: int, *, size: int = 100) -> StoredScenario:
    return replace(FIRST, id=f"scenario-{number}", blob=bytes(size))


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path)
    try:
        yield store
    finally:
        await store.close()


def count_rows(path: Path) -> int:
    """Return how many scenarios another program finds."""
    with closing(sqlite3.connect(path)) as database:
        (count,) = database.execute("SELECT count(*) FROM scenarios").fetchone()
        return int(count)


class Held:
    """Keeps the writer from its work until it is let go."""

    def __init__(self, store: SqliteStore) -> None:
        self.let_go = threading.Event()
        self.begun = threading.Event()
        self.task = asyncio.ensure_future(store._write(self._hold))

    def _hold(self, database: sqlite3.Connection) -> None:
        self.begun.set()
        assert self.let_go.wait(10)

    async def __aenter__(self) -> "Held":
        await asyncio.to_thread(self.begun.wait, 10)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.let_go.set()
        await self.task


async def turn_beside(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Let the loop come round some times, and fail if one of *tasks* ends meanwhile."""
    for _ in range(10):
        await asyncio.sleep(0.001)
        assert not any(task.done() for task in tasks)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "scenarios.db"


async def test_writes_that_come_together_share_one_transaction(path: Path) -> None:
    async with opened(path) as store:
        await store.put_scenario(FIRST)
        asked: list[str] = []
        (writer,) = store._of_threads
        writer.set_trace_callback(asked.append)
        async with Held(store):
            puts = [asyncio.ensure_future(store.put_scenario(numbered(n))) for n in range(50)]
            await asyncio.sleep(0)
        await asyncio.gather(*puts)
        writer.set_trace_callback(None)

        assert count_rows(path) == 51
        # That of what held them up, and theirs.
        assert [word for word in asked if word in ("BEGIN IMMEDIATE", "COMMIT")] == [
            "BEGIN IMMEDIATE",
            "COMMIT",
        ] * 2


async def test_an_answer_comes_once_the_write_is_on_the_disk(path: Path) -> None:
    async with opened(path) as store:

        async def put(number: int) -> None:
            await store.put_scenario(numbered(number))
            with closing(sqlite3.connect(path)) as other:
                found = other.execute(
                    "SELECT count(*) FROM scenarios WHERE id = ?", (f"scenario-{number}",)
                )
                assert found.fetchone() == (1,)

        await asyncio.gather(*(put(number) for number in range(30)))


async def test_one_that_is_refused_does_not_take_the_others_along(path: Path) -> None:
    async with opened(path) as store:
        await store.put_scenario(FIRST)
        async with Held(store):
            work: list[Awaitable[Any]] = [
                store.put_scenario(numbered(1)),
                store.put_scenario(FIRST),
                store.put_scenarios([numbered(2), replace(SECOND, id=FIRST.id)]),
                store.delete_scenario("unknown"),
                store.put_scenario(numbered(3)),
                store._write(lambda database: database.execute("SELECT 1 / 0").fetchone()[0] + 1),
            ]
            tasks = [asyncio.ensure_future(one) for one in work]
            await asyncio.sleep(0)
        answers = await asyncio.gather(*tasks, return_exceptions=True)

        assert [type(answer) for answer in answers] == [
            type(None),
            Conflict,
            Conflict,
            NotFound,
            type(None),
            TypeError,
        ]
        assert {item.id for item in (await store.list_scenarios()).items} == {
            FIRST.id,
            "scenario-1",
            "scenario-3",
        }


async def test_writes_are_refused_while_another_process_locks_the_store_for_long(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "BUSY_SECONDS", 0.2)

    async with opened(path) as store:
        await store.put_scenario(SECOND)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            puts = [asyncio.ensure_future(store.put_scenario(numbered(n))) for n in range(3)]
            answers = await asyncio.gather(*puts, return_exceptions=True)
            other.execute("ROLLBACK")

        assert {str(answer) for answer in answers} == {
            f"store '{path}' has been locked by another process for 0.2 seconds; try again later"
        }
        assert {type(answer) for answer in answers} == {StoreBusy}
        await store.put_scenario(FIRST)


async def test_what_takes_long_to_read_does_not_stop_the_loop(path: Path) -> None:
    async with opened(path) as store:
        let_go = threading.Event()
        reads = [
            asyncio.ensure_future(store._read(lambda database: let_go.wait(10), long=True))
            for _ in range(2)
        ]
        await turn_beside(reads)
        let_go.set()

        assert await asyncio.gather(*reads) == [True, True]
        main = threading.get_ident()
        assert await store._read(lambda database: threading.get_ident()) == main
        assert await store._read(lambda database: threading.get_ident(), long=True) != main


async def test_a_read_that_would_have_to_wait_goes_to_a_thread(path: Path) -> None:
    async with opened(path) as store:
        threads: list[int] = []

        def read(database: sqlite3.Connection) -> str:
            threads.append(threading.get_ident())
            if len(threads) == 1:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
                raise error
            return "read"

        assert await store._read(read) == "read"
        assert threads[0] == threading.get_ident() != threads[1]


async def test_a_write_whose_caller_has_gone_before_its_turn_is_not_done(path: Path) -> None:
    async with opened(path) as store:
        async with Held(store):
            gone = asyncio.ensure_future(store.put_scenario(FIRST))
            stays = asyncio.ensure_future(store.put_scenario(SECOND))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.sleep(0)
        await stays

        assert [item.id for item in (await store.list_scenarios()).items] == [SECOND.id]


def test_closing_lets_what_is_under_way_end(path: Path) -> None:
    async def story() -> None:
        store = SqliteStore(path)
        puts = [asyncio.ensure_future(store.put_scenario(numbered(n))) for n in range(600)]
        await asyncio.sleep(0)
        await store.close()
        await asyncio.gather(*puts)
        await store.close()

        with pytest.raises(RuntimeError, match="the store is closed"):
            await store.put_scenario(FIRST)

    asyncio.run(story())
    assert count_rows(path) == 600
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("store-")]


def test_a_store_outlives_a_loop(path: Path) -> None:
    store = SqliteStore(path)
    asyncio.run(store.put_scenario(FIRST))
    asyncio.run(store.put_scenario(SECOND))

    assert asyncio.run(store.get_scenario(FIRST.id)) == FIRST
    asyncio.run(store.close())
