"""Real processes on one store: killed in the middle of their work, and many at once."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.store_latency import measure_sizes
from scenarioctl.stores import StoredScenario, open_store
from scenarioctl.stores.store import Store
from tests.runner import finish as run

pytestmark = [pytest.mark.processes, pytest.mark.one_python]

CHAINS = ("polkadot", "assetHub", "hydraDx", "kusama")

#: Puts scenarios for ever, replacing and deleting some; says what is done once it is done.
WRITER = """
import sys
from tests.runner import finish as run
from tests.test_store_durability import make_scenario
from scenarioctl.stores import open_store
print("opening", flush=True)
store = open_store(sys.argv[1])
number = int(sys.argv[2])
while True:
    run(store.put_scenario(make_scenario(number)))
    print("put", number, flush=True)
    if number % 5 == 4:
        run(store.delete_scenario(make_scenario(number).id))
        print("deleted", number, flush=True)
    if number % 5 == 3:
        run(store.put_scenario(make_scenario(number, version=1), replace=True))
        print("replaced", number, flush=True)
    number += 1
"""

#: One of several that begin at once, on a store that is not there yet.
NEIGHBOUR = """
import sys
from tests.runner import finish as run
from tests.test_store_durability import make_scenario
from scenarioctl.stores import open_store
path, me, others, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
store = open_store(path)
for step in range(count):
    number = me + step * others
    scenario = make_scenario(number)
    run(store.put_scenario(scenario))
    assert run(store.get_scenario(scenario.id)) == scenario
    page = run(store.list_scenarios(limit=20, descending=True))
    assert page.total >= step + 1
    for item in page.items:
        assert run(store.get_scenario(item.id)).summary == item.summary
    assert run(store.count_scenarios()) >= page.total
    if step % 10 == 9:
        run(store.close())
        store = open_store(path)
run(store.close())
print("done", flush=True)
"""


#: Twelve tasks on one loop: eight put scenarios, four run jobs; each says what is done once it is
#: done.
DAEMON = """
import asyncio, sys
from scenarioctl.model.jobs import FinishedRun, Job, JobState, MempoolDraft, Retention, Schedule
from scenarioctl.stores import StoredScenario, open_store

path, first = sys.argv[1], int(sys.argv[2])

async def put(store, numbers):
    for number in numbers:
        scenario = StoredScenario(
            id=f"scenario-{number}", blob=b"%d" % number * 50, summary="x",
                chains=("polkadot",), created=1, updated=1
        )
        await store.put_scenario(scenario)
        print("put", number, flush=True)

async def work(store, owner):
    await store.renew_lease(owner, lease=10**10)
    while True:
        for one in await store.begin_due(1, owner=owner):
            number = one.job.runs + 1
            draft = MempoolDraft(
                chain="polkadot", amount="1", tx_type="xTransfer", date=number,
                    tx=f"0x{number}", spec_version=1
            )
            kept = await store.finish_run(
                FinishedRun(
                    job=one.job.id, epoch=one.job.epoch, owner=owner, planned=number,
                    started=1, finished=1, due=number, next_planned=number + 1,
                    lines=(f"begin {number}", f"end {number}"), drafts=(draft,)
                ),
                retention=Retention(log_lines=0, mempool_entries=0),
            )
            assert kept
            print("ran", one.job.id, number, flush=True)

async def main():
    store = open_store(path)
    await store.free_legs(await store.leg_owners())
    for name in ("a", "b", "c", "d", "e"):
        if first == 0:
            await store.put_scenario(
                StoredScenario(id=name, blob=b"", summary="", chains=(), created=1, updated=1)
            )
            await store.start_job(
                Job(id=name, state=JobState.RUNNING, schedule=Schedule(), changed=1, due=1,
                    planned=1)
            )
    numbers = iter(range(first, first + 10**9))
    workers = [work(store, f"w{n}") for n in range(4)]
    await asyncio.gather(*(put(store, numbers) for _ in range(8)), *workers)

asyncio.run(main())
"""


def make_scenario(number: int, *, version: int = 0) -> StoredScenario:
    """Return the scenario of this *number*, from which all of it follows."""
    dice = random.Random(f"{number} {version}")
    chains = dice.sample(CHAINS, 2)
    return StoredScenario(
        id=f"scenario-{number}",
        # Some larger than a page, some much larger.
        blob=dice.randbytes(dice.choice((50, 1000, 9000, 60_000))),
        summary=" > ".join(chains),
        chains=tuple(sorted(chains)),
        created=number,
        updated=number + version,
    )


def count_by_reading(path: Path) -> dict[str, int]:
    """Return what the counts ought to be, and check that the file is sound."""
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    counts = dict(database.execute("SELECT chain, count(*) FROM scenario_chains GROUP BY chain"))
    counts[""] = database.execute("SELECT count(*) FROM scenarios").fetchone()[0]
    database.close()
    return counts


def write_until_killed(
    path: Path, first: int, seconds: float, *, since: str
) -> list[tuple[str, int]]:
    """Let a writer work, kill it *seconds* after it first said *since*, and return what it had done
    by then."""
    lines = listen_until_killed(WRITER, path, first, seconds, since={since})
    assert lines[0] == "opening"
    return [(word, int(number)) for word, number in (line.split() for line in lines[1:])]


def listen_until_killed(
    script: str, path: Path, first: int, seconds: float, *, since: set[str]
) -> list[str]:
    """Kill *script* so many *seconds* after it has said all words of *since*; return its lines."""
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(first)],
        # What a buffer had read ahead would be missing in what `communicate` returns.
        bufsize=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    beginning, heard = b"", set[str]()
    while not heard >= since:
        line = writer.stdout.readline()
        assert line, writer.communicate()
        beginning += line
        heard.add(line.decode().split()[0])
    time.sleep(seconds)
    writer.kill()
    rest, trouble = writer.communicate(timeout=30)
    assert writer.returncode == -signal.SIGKILL, trouble
    output = (beginning + rest).decode()
    # The last line counts only if it is whole.
    return output[: output.rfind("\n") + 1].splitlines()


def list_all(store: Store) -> set[str]:
    page = run(store.list_scenarios(limit=1000))
    ids = {item.id for item in page.items}
    while page.next:
        page = run(store.list_scenarios(limit=1000, after=page.next))
        ids |= {item.id for item in page.items}
    return ids


def kill_again_and_again(path: Path, rounds: int, seed: int) -> int:
    """Return how many acknowledged puts survived, having checked each."""
    dice = random.Random(seed)
    expected: dict[int, StoredScenario | None] = {}
    first = 0
    for _ in range(rounds):
        said = write_until_killed(path, first, dice.uniform(0, 0.3), since="put")
        for word, number in said:
            expected[number] = {
                "put": make_scenario(number),
                "replaced": make_scenario(number, version=1),
                "deleted": None,
            }[word]
        word, last = said[-1]
        first = last + 2
        possible = {number: [scenario] for number, scenario in expected.items()}
        # What was done and not said any more may be there or not: the next step on this one, or the
        # next one.
        if word == "put" and last % 5 == 3:
            possible[last].append(make_scenario(last, version=1))
        if word == "put" and last % 5 == 4:
            possible[last].append(None)
        possible[last + 1] = [None, make_scenario(last + 1)]

        store = open_store(path)
        held = list_all(store)
        for number, scenarios in possible.items():
            id = f"scenario-{number}"
            expected[number] = run(store.get_scenario(id)) if id in held else None
            assert expected[number] in scenarios
        assert held == {f"scenario-{number}" for number, scenario in expected.items() if scenario}
        counts = {chain: run(store.count_scenarios(chain)) for chain in ("", *CHAINS)}
        run(store.close())
        sound = count_by_reading(path)
        assert counts == {chain: sound.get(chain, 0) for chain in counts}
    return sum(scenario is not None for scenario in expected.values())


def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    survived = kill_again_and_again(tmp_path / "scenarios.db", rounds=5, seed=1)

    # At most two of the five rounds put one scenario alone, and delete it.
    assert survived >= 3


def test_a_process_killed_while_it_creates_the_store_leaves_one_that_works(tmp_path: Path) -> None:
    for number in range(8):
        path = tmp_path / str(number) / "scenarios.db"
        write_until_killed(path, 0, number * 0.0015, since="opening")
        store = open_store(path)
        run(store.put_scenario(make_scenario(1_000_000)))

        assert run(store.get_scenario("scenario-1000000")) == make_scenario(1_000_000)
        run(store.close())
        assert count_by_reading(path)[""] >= 1


def test_processes_that_begin_at_once_on_a_new_store_lose_nothing_and_see_no_lock(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new" / "scenarios.db"
    work_side_by_side(path, processes=4, count=20)

    store = open_store(path)
    assert run(store.count_scenarios()) == 80
    for number in range(80):
        assert run(store.get_scenario(f"scenario-{number}")) == make_scenario(number)
    counts = {chain: run(store.count_scenarios(chain)) for chain in ("", *CHAINS)}
    run(store.close())
    assert counts == count_by_reading(path)


def work_side_by_side(path: Path, *, processes: int, count: int) -> None:
    neighbours = [
        subprocess.Popen(
            [sys.executable, "-c", NEIGHBOUR, str(path), str(me), str(processes), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for me in range(processes)
    ]
    for neighbour in neighbours:
        assert neighbour.stdout is not None
        assert neighbour.stdout.readline() == "ready\n"
    answers = []
    for neighbour in neighbours:
        assert neighbour.stdin is not None
        neighbour.stdin.write("go\n")
        neighbour.stdin.flush()
    for neighbour in neighbours:
        answers.append((*neighbour.communicate(timeout=120), neighbour.returncode))

    assert answers == [("done\n", "", 0)] * processes


def kill_daemons(path: Path, rounds: int, seed: int) -> tuple[int, int]:
    """Return how many puts and how many runs were acknowledged, having checked that each is there,
    once."""
    dice = random.Random(seed)
    first, puts, ran = 0, set[int](), dict[str, int]()
    for _ in range(rounds):
        for line in listen_until_killed(
            DAEMON, path, first, dice.uniform(0, 0.4), since={"put", "ran"}
        ):
            match line.split():
                case ["put", number]:
                    puts.add(int(number))
                case ["ran", job, number]:
                    ran[job] = int(number)
        check_what_daemons_left(path, puts, ran)
        first = max(puts, default=0) + 100
    return len(puts), sum(ran.values())


def check_what_daemons_left(path: Path, puts: set[int], ran: dict[str, int]) -> None:
    store = open_store(path)
    held = list_all(store)
    assert {f"scenario-{number}" for number in puts} <= held
    for number in puts:
        assert run(store.get_scenario(f"scenario-{number}")).blob == b"%d" % number * 50
    for name in {"a", "b", "c", "d", "e"} & held:
        job = run(store.get_job(name))
        if job is None:
            # Killed between its scenario and its start.
            continue
        # A run may be kept that was not said any more; none twice, none halfway.
        assert ran.get(name, 0) <= job.runs <= ran.get(name, 0) + 1
        ran[name] = job.runs
        expected = [
            f"{word} {number}" for number in range(1, job.runs + 1) for word in ("begin", "end")
        ]
        assert [line.text for line in run(store.read_log(name))] == expected
        assert [entry.draft.tx for entry in run(store.read_mempool(name))] == [
            f"0x{number}" for number in range(1, job.runs + 1)
        ]
    run(store.close())
    count_by_reading(path)


def test_a_daemon_killed_amid_its_group_commits_loses_nothing_that_it_acknowledged(
    tmp_path: Path,
) -> None:
    puts, runs = kill_daemons(tmp_path / "scenarios.db", rounds=3, seed=3)

    assert puts >= 3
    assert runs >= 3


@pytest.mark.soak
def test_fifty_kills_of_a_daemon_lose_nothing(tmp_path: Path) -> None:
    puts, runs = kill_daemons(tmp_path / "scenarios.db", rounds=50, seed=4)

    assert puts >= 1000
    assert runs >= 500


@pytest.mark.soak
def test_fifty_kills_lose_nothing(tmp_path: Path) -> None:
    survived = kill_again_and_again(tmp_path / "scenarios.db", rounds=50, seed=2)

    assert survived >= 50


@pytest.mark.soak
def test_sixty_turns_of_each_of_four_processes_on_a_new_store_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "scenarios.db"
    work_side_by_side(path, processes=4, count=60)

    assert count_by_reading(path)[""] == 240


@pytest.mark.soak
def test_many_stores_are_each_created_by_many_processes_at_once(tmp_path: Path) -> None:
    for number in range(20):
        path = tmp_path / str(number) / "scenarios.db"
        work_side_by_side(path, processes=8, count=5)

        assert count_by_reading(path)[""] == 40


@pytest.mark.soak
def test_a_hundred_thousand_scenarios_answer_as_fast_as_a_thousand(tmp_path: Path) -> None:
    sizes = {
        size: {one.question: one for one in latencies}
        for size, latencies in measure_sizes(tmp_path)
    }

    small, large = sizes[1_000], sizes[100_000]
    for question in (
        "open, get, close",
        "get",
        "put",
        "replace",
        "delete",
        "stats of a chain",
        "list 50, newest",
    ):
        # Flat: a walk would take a hundred times as long; ten forgives a noisy machine.
        assert large[question].median <= 10 * small[question].median, question
    assert large["stats of a chain"].median <= 5
    assert large["open, get, close"].median <= 5
