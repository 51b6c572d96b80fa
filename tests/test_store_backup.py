"""`store backup`: a complete copy of one moment while others write, or nothing; `store restore`:
the way back."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scenarioctl.files import replacing
from scenarioctl.model.jobs import Job
from scenarioctl.stores import StoredScenario, open_store
from tests.conftest import Run
from tests.messages import says
from tests.test_store_jobs import JOB


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


async def test_a_backup_has_what_is_only_in_the_log_of_an_open_store(
    scenarioctl: Run, path: Path
) -> None:
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


def test_a_backup_replaces_no_file_and_takes_over_no_log(scenarioctl: Run, path: Path) -> None:
    fill(path)
    copy, log = path.with_name("backup.db"), path.with_name("backup.db-wal")
    log.write_bytes(b"left")

    beside = scenarioctl("store", "backup", str(copy))
    itself = scenarioctl("store", "backup", str(path))

    assert (beside.code, beside.err) == (4, says("file", file=log))
    assert (itself.code, itself.err) == (4, says("file", file=path))
    assert not copy.exists()


def ids(scenarioctl: Run, store: Path) -> list[str]:
    listed = scenarioctl(
        "--store", str(store), "scenario", "list", "--sort", "id", "--field", "scenarios.*.id"
    )
    return listed.out.split()


def add(path: Path, id: str, *, job: Job | None = None) -> None:
    async def put() -> None:
        store = open_store(path)
        await store.put_scenario(scenario(id))
        if job is not None:
            await store.start_job(job)
        await store.close()

    asyncio.run(put())


def test_a_restore_takes_the_store_back(scenarioctl: Run, path: Path) -> None:
    fill(path)
    copy = path.with_name("backup.db")
    assert scenarioctl("store", "backup", str(copy)).code == 0
    add(path, "later")
    content = path.read_bytes()

    refused = scenarioctl("store", "restore", str(copy))
    assert (refused.code, refused.err) == (4, says("store", "already exists", path=path))
    assert path.read_bytes() == content

    path.rename(path.with_name("former.db"))
    done = scenarioctl("store", "restore", str(copy))
    assert (done.code, done.out, done.err) == (0, f"{path}\n", "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == sorted(
        ("backup.db", path.name, "former.db")
    )
    assert ids(scenarioctl, path) == ["abc"]


def test_a_restore_stops_the_jobs_that_ran(scenarioctl: Run, path: Path) -> None:
    add(path, JOB.id, job=JOB)
    copy, new = path.with_name("backup.db"), path.with_name("folder") / "new.db"
    assert scenarioctl("store", "backup", str(copy)).code == 0

    done = scenarioctl("--store", str(new), "store", "restore", str(copy))

    assert (done.code, done.err) == (0, says(JOB.id, "Stopped"))
    assert new.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in new.parent.iterdir()] == [new.name]
    states = scenarioctl("--store", str(new), "job", "list", "--field", "jobs.*.state")
    others = scenarioctl("--store", str(copy), "job", "list", "--field", "jobs.*.state")
    assert (states.out, others.out) == ("stopped\n", "running\n")


def test_a_file_that_is_no_good_backup_changes_nothing(
    scenarioctl: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    monkeypatch.chdir(path.parent)
    assert scenarioctl("store", "backup", "damaged.db").code == 0
    with Path("damaged.db").open("r+b") as copy:
        copy.seek(4096)
        copy.write(b"\xff" * 4096)
    Path("text.db").write_text("this is no store " * 99)
    with closing(sqlite3.connect("other.db")) as database:
        database.execute("CREATE TABLE other (id)")
    path.unlink()
    before = sorted(each.name for each in path.parent.iterdir())

    for file, code, words in (
        ("text.db", 2, ("text.db",)),
        ("other.db", 2, ("other.db", "another program")),
        ("none.db", 3, ("file", "none.db")),
        ("", 2, ("file",)),
        ("a" * 300, 2, ("file", "too long")),
        ("damaged.db", 2, ()),
    ):
        ended = scenarioctl("store", "restore", file)
        # SQLite's words differ from version to version.
        said = "'damaged.db' is damaged" in ended.err if not words else ended.err == says(*words)
        assert (ended.code, said) == (code, True)
        assert sorted(each.name for each in path.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("script", "named"),
    [
        (
            "CREATE TRIGGER more AFTER INSERT ON scenarios "
            "BEGIN UPDATE scenarios SET name = 'x' WHERE id = new.id; END",
            "CREATE TRIGGER more",
        ),
        ("CREATE VIEW seen AS SELECT * FROM jobs", "CREATE VIEW seen"),
        ("DROP TABLE addresses", "CREATE TABLE addresses"),
        (
            "DROP INDEX jobs_by_due; CREATE INDEX jobs_by_due ON jobs (due)",
            "CREATE INDEX jobs_by_due",
        ),
        (
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'blob BLOB', "
            "'blob TEXT') WHERE name = 'scenarios'",
            "CREATE TABLE scenarios",
        ),
    ],
)
def test_a_store_whose_schema_is_not_ours_to_the_letter_is_refused(
    scenarioctl: Run, path: Path, script: str, named: str
) -> None:
    fill(path)
    changed = path.with_name("changed.db")
    scenarioctl("store", "backup", str(changed))
    with closing(sqlite3.connect(changed)) as database:
        database.executescript(script)
    content = path.read_bytes()

    for line in (
        ("--store", str(path.with_name("new.db")), "store", "restore", str(changed)),
        ("--store", str(changed), "store", "check"),
        ("--store", str(changed), "scenario", "list"),
        ("--store", str(changed), "--offline", "doctor"),
    ):
        ended = scenarioctl(*line)

        assert (ended.code > 0, ended.out + ended.err) == (
            True,
            says("changed.db", named, "differs"),
        )
    assert path.read_bytes() == content
    assert not list(path.parent.glob(".scenarioctl*"))


def test_what_a_killed_restore_left_is_removed_at_the_next_start(
    scenarioctl: Run, path: Path
) -> None:
    fill(path)
    copy = path.with_name("copy.db")
    with replacing(path.with_name("other.db"), mode=0o600):
        for left in (".scenarioctl-0123456789ab.tmp", ".scenarioctl-0123456789ab.tmp-wal"):
            path.with_name(left).write_bytes(b"left")

        assert scenarioctl("scenario", "list").code == 0

        # That of a process which lives stays.
        assert len(list(path.parent.glob(".scenarioctl*"))) == 1
    assert scenarioctl("store", "backup", str(copy)).code == 0
    assert not list(path.parent.glob(".scenarioctl*"))


def test_a_store_on_a_server_is_restored_by_its_own_program(scenarioctl: Run, path: Path) -> None:
    fill(path)

    ended = scenarioctl(
        "--store", "postgresql://db.example.org/scenarioctl", "store", "restore", str(path)
    )

    assert (ended.code, ended.err) == (2, says("store", "pg_restore"))


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
