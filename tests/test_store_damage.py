"""The files of a store are damaged under a daemon, with commands that write beside it: what is
acknowledged is kept.

Counted is each write that was acknowledged (HTTP 200, or a command's own answer), by when it was
asked for.

- *After* the damage was done: none may be lost.  Either it is found by its id once everything has
  ended and the store is opened again, or it was refused.
- *Before* that, the damage itself may destroy what was acknowledged: it is the user who removes the
  only file that has a write.  `DAMAGES` says for each damage whether it does.  Where it doesn't,
  none may be lost after an orderly stop. Those that the damage destroyed are counted apart.
"""

import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from scenarioctl.errors import ScenarioctlError
from scenarioctl.stores import open_store
from scenarioctl.stores.sqlite.database_file import MIGRATIONS, FilesChanged
from scenarioctl.stores.sqlite.store import SqliteStore
from scenarioctl.stores.store import Store
from tests.daemons import PROGRAM, Daemon, daemon, wait_until
from tests.messages import raises, says
from tests.runner import finish as run
from tests.test_stores import FIRST

pytestmark = pytest.mark.processes

#: Bytes of the index before what it says of frames.
INDEX_HEADER = 136

#: Opens the store, writes and closes it, as one command after another does; says when it asks, and
#: the id once it is there.
COMMANDS = """
import sys, time
from dataclasses import replace
from tests.runner import finish as run
from tests.test_stores import FIRST
from scenarioctl.errors import ScenarioctlError
from scenarioctl.stores import open_store
path, name = sys.argv[1:]
number = 0
while True:
    number += 1
    asked = time.time()
    try:
        store = open_store(path, create=False)
        try:
            run(store.put_scenario(replace(FIRST, id=f"{name}{number}", blob=bytes(number % 7 * 900 + 1))))
        finally:
            run(store.close())
        print(asked, f"{name}{number}", flush=True)
    except ScenarioctlError as error:
        print(asked, "-", error, flush=True)
"""


@dataclass
class Files:
    """The files of a store, and copies of them that are older."""

    store: Path
    older: Path

    @property
    def log(self) -> Path:
        return self.store.with_name(f"{self.store.name}-wal")

    @property
    def index(self) -> Path:
        return self.store.with_name(f"{self.store.name}-shm")

    def copy(self) -> None:
        self.older.mkdir()
        for file in (self.store, self.log, self.index):
            shutil.copy(file, self.older)

    def replace(self, file: Path) -> None:
        """Put the older copy in the place of *file*."""
        (self.older / file.name).replace(file)

    def overwrite(self, file: Path) -> None:
        """Write the older copy into *file*."""
        shutil.copyfile(self.older / file.name, file)

    def migrate(self) -> None:
        """Do what a newer program does."""
        with closing(sqlite3.connect(self.store, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("CREATE TABLE IF NOT EXISTS of_the_next_version (a)")
            database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
            database.execute("COMMIT")

    def remove(self, *files: Path) -> None:
        for file in files:
            file.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What a user does to the files."""

    do: Callable[[Files], object]
    #: Whether it destroys what was acknowledged before.
    destroys: bool = True


DAMAGES = {
    "file removed": Damage(do=lambda files: files.remove(files.store)),
    "file replaced by an older copy": Damage(do=lambda files: files.replace(files.store)),
    "file truncated": Damage(
        do=lambda files: os.truncate(files.store, files.store.stat().st_size // 2)
    ),
    "file emptied": Damage(do=lambda files: os.truncate(files.store, 0)),
    "older copy written into the file": Damage(do=lambda files: files.overwrite(files.store)),
    "file migrated": Damage(do=Files.migrate, destroys=False),
    "log removed": Damage(do=lambda files: files.remove(files.log), destroys=False),
    "log replaced by an older copy": Damage(
        do=lambda files: files.replace(files.log), destroys=False
    ),
    "log truncated": Damage(do=lambda files: os.truncate(files.log, 5000)),
    "log emptied": Damage(do=lambda files: os.truncate(files.log, 0)),
    "older copy written into the log": Damage(do=lambda files: files.overwrite(files.log)),
    "index removed": Damage(do=lambda files: files.remove(files.index), destroys=False),
    "index replaced by an older copy": Damage(
        do=lambda files: files.replace(files.index), destroys=False
    ),
    "index emptied": Damage(do=lambda files: os.truncate(files.index, 0), destroys=False),
    "older copy written into the index": Damage(do=lambda files: files.overwrite(files.index)),
    "log and index removed": Damage(
        do=lambda files: files.remove(files.log, files.index), destroys=False
    ),
    "all removed": Damage(do=lambda files: files.remove(*files.store.parent.glob("scenarios.db*"))),
}


COLUMNS = ("rounds", "before", "lost_before", "after", "lost_after", "refused")


@dataclass
class Tally:
    """What was acknowledged, and what of it is lost."""

    before: int = 0
    after: int = 0
    refused: int = 0
    lost_before: int = 0
    lost_after: list[str] = field(default_factory=list)


class Clients:
    """Writers: a daemon's, and commands beside it."""

    def __init__(self, one: Daemon, store: Path, commands: int) -> None:
        self._one = one
        #: When each was asked for, and its id; an empty one was refused.
        self._answers: list[tuple[float, str]] = []
        self._end = threading.Event()
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", COMMANDS, str(store), f"command-{number}-"],
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(commands)
        ]
        self._threads = [threading.Thread(target=self._ask)]
        self._threads += [
            threading.Thread(target=self._listen, args=(each,)) for each in self._processes
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> list[tuple[float, str]]:
        self._end.set()
        ended = [process.poll() for process in self._processes]
        for process in self._processes:
            process.kill()
        for thread in self._threads:
            thread.join(30)
        for process in self._processes:
            process.communicate(timeout=30)
        # They write until they are killed, whatever they are told; who has mapped a file that is
        # cut gets SIGBUS.
        assert {*ended} <= {None, -signal.SIGBUS}
        return self._answers

    def count(self) -> int:
        return len(self._answers)

    def _ask(self) -> None:
        number = 0
        while not self._end.is_set():
            number += 1
            asked = time.time()
            text = f"{number} {'x' * (number % 5 * 700)}"
            try:
                status, answer, _ = self._one.ask(
                    "/api/create/remark", {"chain": "polkadot", "text": text}
                )
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                # The daemon has ended.
                return
            self._answers.append((asked, answer["result"] if status == 200 else ""))

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                asked, id, *_ = line.split()
                self._answers.append((float(asked), "" if id == "-" else id))


def damage_once(home: Path, damage: Damage, dice: random.Random, *, kill: bool = False) -> Tally:
    """Let everybody write, do the damage, stop the daemon (or *kill* it), and count what the next
    process finds."""
    files = Files(home / "scenarios.db", home / "older")
    variables = {"SCENARIOCTL_STORE": str(files.store), "SCENARIOCTL_OFFLINE": "1"}
    seeds = seed(files.store, dice)
    with daemon(home, variables=variables) as one:
        clients = Clients(one, files.store, commands=2)
        try:
            wait_until(lambda: clients.count() > 20)
            if dice.random() < 0.5:
                # So that the file has some of it, and not the log alone.
                with closing(sqlite3.connect(files.store)) as database:
                    database.execute("PRAGMA wal_checkpoint(PASSIVE)")
            files.copy()
            seen = clients.count()
            wait_until(lambda: clients.count() > seen + dice.randrange(10, 60))
            damage.do(files)
            damaged = time.time()
            seen = clients.count()
            wait_until(lambda: clients.count() > seen + 20 or one.process.poll() is not None)
            one.end(signal.SIGKILL if kill else signal.SIGTERM)
        finally:
            answers = clients.end()
        print(one.log)
    return count(files.store, [*seeds, *answers], damaged)


def seed(path: Path, dice: random.Random) -> list[tuple[float, str]]:
    """Let the file have scenarios before the daemon starts."""
    path.parent.mkdir()
    ids = [f"seed-{number}" for number in range(dice.randrange(400))]
    store = open_store(path)
    run(
        store.put_scenarios(
            [replace(FIRST, id=id, blob=dice.randbytes(dice.randrange(6000))) for id in ids]
        )
    )
    run(store.close())
    return [(0, id) for id in ids]


def count(store: Path, answers: list[tuple[float, str]], damaged: float) -> Tally:
    tally = Tally()
    with reading(store) as is_there:
        for asked, id in answers:
            if not id:
                tally.refused += asked >= damaged
            elif asked < damaged:
                tally.before += 1
                tally.lost_before += not is_there(id)
            else:
                tally.after += 1
                if not is_there(id):
                    tally.lost_after.append(id)
    return tally


@contextmanager
def reading(path: Path) -> Iterator[Callable[[str], bool]]:
    """Open the store as the next process does."""
    with suppress_newer(path):
        try:
            store = open_store(path, create=False)
        except ScenarioctlError as error:
            print(error)
            yield lambda _: False
            return

        def is_there(id: str) -> bool:
            try:
                run(store.get_scenario(id))
            except ScenarioctlError:
                return False
            return True

        yield is_there
        run(store.close())


@contextmanager
def suppress_newer(path: Path) -> Iterator[None]:
    """Let this program read what the damage has made one of the next version."""
    if path.exists():
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            try:
                (version,) = database.execute("PRAGMA user_version").fetchone()
                if version == len(MIGRATIONS) + 1:
                    database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            except sqlite3.Error as error:
                print(error)
    yield


def check(tally: Tally, damage: Damage, *, kill: bool = False) -> None:
    assert tally.lost_after == []
    # Who kills the daemon before it has seen that its log is gone destroys what only the log had.
    assert damage.destroys or kill or tally.lost_before == 0


@pytest.mark.one_python
@pytest.mark.parametrize("name", [*DAMAGES][::2])
def test_damage_loses_no_write_that_is_acknowledged_after_it(tmp_path: Path, name: str) -> None:
    tally = damage_once(tmp_path / "home", DAMAGES[name], random.Random(name))

    assert tally.before >= 20
    check(tally, DAMAGES[name])


def command(store: Path, text: str) -> "subprocess.CompletedProcess[str]":
    """Write as a user's command does."""
    environment = os.environ | {"SCENARIOCTL_STORE": str(store), "SCENARIOCTL_OFFLINE": "1"}
    line = [*PROGRAM, "create", "remark", "--chain", "polkadot", "--text", text]
    return subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "is_seen", [True, False], ids=["seen by the daemon", "not seen before it stops"]
)
@pytest.mark.parametrize("ends", [("-wal",), ("-wal", "-shm"), ("-shm",)], ids=" and ".join)
def test_an_orderly_stop_destroys_nothing_and_no_command_writes_to_other_files(
    tmp_path: Path, ends: tuple[str, ...], is_seen: bool
) -> None:
    store = tmp_path / "home" / "scenarios.db"
    variables = {"SCENARIOCTL_STORE": str(store), "SCENARIOCTL_OFFLINE": "1"}
    with daemon(tmp_path / "home", variables=variables) as one:
        kept = [
            one.ask("/api/create/remark", {"chain": "polkadot", "text": f"{number}"})[1]["result"]
            for number in range(5)
        ]
        kept.append(command(store, "before").stdout.strip())
        for end in ends:
            store.with_name(store.name + end).unlink()
        if is_seen:
            assert one.ask("/readyz")[0] == 503
        refused = command(store, "after")
        assert one.end() == 0
    later = command(store, "later")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == says("in use", "restart the daemon", store=store).within("Error: {}\n")
    assert later.returncode == 0, later.stderr
    with closing(sqlite3.connect(store)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        there = {id for (id,) in database.execute("SELECT id FROM scenarios")}
    assert there == {*kept, later.stdout.strip()}


def put(store: Store, ids: Iterable[str]) -> None:
    for id in ids:
        run(store.put_scenario(replace(FIRST, id=id, blob=bytes(2000))))


@pytest.mark.parametrize("header", ["older", "kept by a write in progress"])
def test_by_an_older_index_nobody_writes(tmp_path: Path, header: str) -> None:
    path = tmp_path / "scenarios.db"
    index = path.with_name("scenarios.db-shm")
    store = open_store(path)
    put(store, (f"first-{number}" for number in range(20)))
    older = index.read_bytes()
    put(store, (f"second-{number}" for number in range(20)))
    ends = 0 if header == "older" else INDEX_HEADER
    with index.open("r+b") as file:
        file.seek(ends)
        file.write(older[ends:])
    # It has seen nothing of what was before.
    other = open_store(path)

    for each in (other, store):
        with raises(ScenarioctlError, says("overwritten", path=path)):
            put(each, ["third"])
        run(each.close())

    copy = tmp_path / "copy"
    copy.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", copy)
    with closing(sqlite3.connect(copy / path.name)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM scenarios").fetchall() == [(40,)]


def test_a_process_that_was_killed_between_log_and_index_keeps_nobody_from_writing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "scenarios.db"
    index = path.with_name("scenarios.db-shm")
    # It reads, and so keeps the index from being made anew.
    reader = open_store(path)
    put(reader, (f"first-{number}" for number in range(20)))
    before = index.read_bytes()[: 2 * INDEX_HEADER]
    with closing(sqlite3.connect(path)) as killed:
        # What an earlier one has left further behind is no transaction any more.
        for texts in ("a" * 20_000, "b"):
            killed.execute("UPDATE scenarios SET summary = ?", (texts,))
            killed.commit()
            with index.open("r+b") as file:
                file.write(before)
        other = open_store(path)

        put(other, ["second"])

        assert run(other.count_scenarios()) == 21
        assert killed.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    run(other.close())
    run(reader.close())


def test_a_long_log_that_begins_anew_is_written_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More frames than the first part of the index has, by two processes in turns.
    monkeypatch.setattr("scenarioctl.stores.sqlite.file_guard.LOG_BYTES", 20 * 1024**2)
    path = tmp_path / "scenarios.db"
    one, other = open_store(path), open_store(path)
    blobs = [replace(FIRST, id=f"long-{number}", blob=os.urandom(900_000)) for number in range(60)]
    log = path.with_name("scenarios.db-wal")

    sizes = []
    for store, blob in zip((one, other) * 30, blobs, strict=True):
        run(store.put_scenario(blob))
        sizes.append(log.stat().st_size)

    assert max(sizes) > 5000 * 4096
    # It began anew twice, once by each of them.
    assert [before > after for before, after in pairwise(sizes)].count(True) == 2
    for store in (one, other):
        put(store, [f"after-{id(store)}"])
        run(store.close())


def test_a_store_that_is_moved_amid_a_write_can_be_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the log was seen to be missing, so that the store took no more writes until a
    restart."""
    path, away = tmp_path / "scenarios.db", tmp_path / "away"
    away.mkdir()
    store = open_store(path)
    assert isinstance(store, SqliteStore)
    put(store, ["before"])
    guard = store._guard
    assert guard is not None
    check = guard.check
    left = [path.with_name(path.name + end) for end in ("", "-shm", "-wal")]

    def check_then_move() -> None:
        check()
        while left:
            file = left.pop(0)
            file.rename(away / file.name)

    monkeypatch.setattr(guard, "check", check_then_move)
    with raises(FilesChanged, says("moved", path=path)):
        put(store, ["amid"])
    for end in ("-wal", "-shm", ""):
        (away / (path.name + end)).rename(path.with_name(path.name + end))
    put(store, ["after"])
    run(store.close())


def test_a_daemon_whose_store_becomes_newer_stops_writing(tmp_path: Path) -> None:
    store = tmp_path / "home" / "scenarios.db"
    variables = {"SCENARIOCTL_STORE": str(store), "SCENARIOCTL_OFFLINE": "1"}
    with daemon(tmp_path / "home", variables=variables) as one:
        remark = {"chain": "polkadot", "text": "gm"}
        assert one.ask("/api/create/remark", remark)[0] == 200
        Files(store, tmp_path).migrate()
        before = one.ask("/readyz")
        status, answer, _ = one.ask("/api/create/remark", remark)
        after = one.ask("/readyz")

    sentence = says("newer scenarioctl", "restart", store=store)
    assert (status, answer["code"], answer["error"]) == (503, "store_failed", sentence)
    # Whether the daemon wrote meanwhile, and failed, makes no difference.
    for status, answer, _ in (before, after):
        assert (status, answer["error"]) == (
            503,
            sentence.within("the store accepts no writes: {}"),
        )


@pytest.mark.soak
def test_two_hundred_damages_lose_no_write_that_is_acknowledged_after_them(tmp_path: Path) -> None:
    dice = random.Random(27)
    totals: dict[str, Counter[str]] = {name: Counter() for name in DAMAGES}
    try:
        for number in range(200):
            name = [*DAMAGES][number % len(DAMAGES)]
            kill = dice.randrange(4) == 0
            tally = damage_once(tmp_path / f"{number}", DAMAGES[name], dice, kill=kill)
            totals[name].update(rounds=1, **{**vars(tally), "lost_after": len(tally.lost_after)})
            check(tally, DAMAGES[name], kill=kill)
            shutil.rmtree(tmp_path / f"{number}")
    finally:
        totals["all"] = sum(totals.values(), Counter())
        print(f"\n| damage | {' | '.join(COLUMNS)} |")
        for name, total in totals.items():
            print(f"| {name} | {' | '.join(str(total[key]) for key in COLUMNS)} |")
