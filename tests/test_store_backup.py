"""`store backup`: a complete copy of one moment while others write, or nothing."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scenarioctl.stores import StoredScenario, open_store
from scenarioctl.stores.sqlite.database_file import MIGRATIONS
from tests.conftest import Run
from tests.messages import says


def scenario(id: str) -> StoredScenario:
    return StoredScenario(id=id, blob=b"blob", summary="s", chains=(), created=1, updated=1)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCENARIOCTL_STORE", str(tmp_path / "scenarios.db"))
    return tmp_path / "scenarios.db"


def fill(path: Path) -> None:
    async def put() -> None:
        store = open_store(path)
        await store.put_scenario(scenario("abc"))
        await store.close()

    asyncio.run(put())


async def test_a_backup_has_what_is_only_in_the_log_of_an_open_store(scenarioctl: Run, path: Path) -> None:
    copy = path.with_name("backup.db")
    store = open_store(path)
    await store.put_scenario(scenario("abc"))
    assert path.with_name("scenarios.db-wal").stat().st_size

    done = scenarioctl("store", "backup", str(copy))
    await store.put_scenario(scenario("later"))

    assert (done.code, done.out) == (0, f"{copy}\n")
    assert done.err == says("Verified")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in path.parent.glob("*backup*")) == ["backup.db"]
    assert not list(path.parent.glob(".*"))
    copied = open_store(copy, create=False)
    assert (await copied.get_scenario("abc")).blob == b"blob"
    assert (await copied.count_scenarios(), await store.count_scenarios()) == (1, 2)
    await copied.close()
    await store.close()


def test_a_writer_in_the_middle_of_a_transaction_keeps_no_backup_waiting(
    scenarioctl: Run, path: Path
) -> None:
    fill(path)
    copy = path.with_name("backup.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM scenarios")
        done = scenarioctl("--json", "store", "backup", str(copy))

    assert json.loads(done.out) == {"store": str(path), "file": str(copy), "bytes": copy.stat().st_size}
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT count(*) FROM scenarios").fetchone() == (1,)


def test_a_backup_replaces_no_file_and_takes_over_no_log(scenarioctl: Run, path: Path) -> None:
    fill(path)
    copy, log = path.with_name("backup.db"), path.with_name("backup.db-wal")
    log.write_bytes(b"left")

    beside = scenarioctl("store", "backup", str(copy))
    itself = scenarioctl("store", "backup", str(path))

    assert (beside.code, beside.err) == (4, says("file", file=log))
    assert (itself.code, itself.err) == (4, says("file", file=path))
    assert not copy.exists()


def test_a_backup_that_cannot_be_written_names_its_file(scenarioctl: Run, path: Path) -> None:
    fill(path)
    copy = path.with_name("none") / "backup.db"

    ended = scenarioctl("store", "backup", str(copy))

    assert (ended.code, ended.err) == (2, says("file", file=copy))


def test_a_damaged_store_leaves_no_backup(scenarioctl: Run, path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'scenarios'").fetchone()
        (page,) = database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\xff" * page)

    ended = scenarioctl("store", "backup", str(path.with_name("backup.db")))

    assert ended.code == 2
    assert "is damaged" in ended.err
    assert sorted(each.name for each in path.parent.iterdir() if "scenarios.db" not in each.name) == []


def test_a_backup_migrates_nothing(scenarioctl: Run, path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
    copy = path.with_name("backup.db")

    assert scenarioctl("store", "backup", str(copy)).code == 0
    for each in (path, copy):
        with closing(sqlite3.connect(each)) as database:
            assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) - 1,)


def test_a_backup_stands_in_for_its_store(scenarioctl: Run, path: Path) -> None:
    fill(path)
    copy = path.with_name("backup.db")
    assert scenarioctl("store", "backup", str(copy)).code == 0
    path.unlink()
    shutil.copyfile(copy, path)

    assert scenarioctl("scenario", "list", "--field", "scenarios.*.id").out == "abc\n"


@pytest.mark.parametrize(
    ("store", "file", "code", "words"),
    [
        ("none.db", "backup.db", 3, ("store", "none.db")),
        ("postgresql://db.example.org/scenarioctl", "backup.db", 2, ("store", "pg_dump")),
        ("scenarios.db", "", 2, ("file",)),
        ("scenarios.db", "postgresql://db.example.org/x", 2, ("file",)),
    ],
)
def test_what_cannot_be_backed_up_says_what_can(
    scenarioctl: Run,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    store: str,
    file: str,
    code: int,
    words: tuple[str, ...],
) -> None:
    fill(path)
    monkeypatch.chdir(path.parent)

    ended = scenarioctl("--store", store, "store", "backup", file)

    assert (ended.code, ended.err) == (code, says(*words))
