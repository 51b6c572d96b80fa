"""Real processes on one store: killed in the middle of their work, and many at once."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
