"""A standby that lacks commits of its primary is promoted: what it numbers, and what clients hear
who have read more."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from scenarioctl.stores import create_store
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.stores.postgres.store import PostgresStore
from tests import postgres
from tests.daemons import wait_until
from tests.messages import says
from tests.postgres import OWNER, RUNTIME, Server, shared_server, start_server, start_standby
from tests.runner import finish as run
from tests.serving import Serving
from tests.test_store_jobs import DRAFT, JOB, NO_LIMIT, NOW, begin_due, ended
from tests.test_stores import FIRST

pytestmark = pytest.mark.processes


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    store = postgres.open_store(tmp_path)
    yield store
    run(store.close())


def change_timeline(former: int) -> None:
    """Let the server's timeline be another one than the one that the tables know."""
    url = shared_server().url("shared", user=OWNER)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE scenarioctl.meta SET timeline = %s", (former,))


def first_number() -> int:
    """Return the number from which drafts go on since the last promotion."""
    newest = "SELECT max(first) FROM scenarioctl.forks WHERE counter = 'mempool'"
    return int(shared_server().execute(newest, database="shared")[0][0])


def draft_once(store: PostgresStore) -> int:
    """Run the job, and return the number of its draft."""
    (leg,) = run(begin_due(store, "me", lease=2 * NOW))
    drafts = (replace(DRAFT, uuid=str(uuid4())),)
    left = ended(leg, drafts=drafts, due=leg.job.planned, next_planned=(leg.job.planned or 0) + 1)
    assert run(store.finish_run(left, retention=NO_LIMIT))
    return run(store.read_mempool(None))[-1].seq


def test_a_timeline_begins_numbers_above_all_of_the_former_ones(store: PostgresStore) -> None:
    run(store.put_scenario(FIRST))
    run(store.start_job(JOB))
    first = [draft_once(store), draft_once(store)]
    (timeline,) = shared_server().execute(
        "SELECT timeline FROM scenarioctl.meta", database="shared"
    )[0]
    change_timeline(timeline - 1)
    second = [draft_once(store), draft_once(store)]
    base = first_number()
    # As after pg_upgrade, which begins at the first timeline again; the clock is behind.
    change_timeline(timeline + 6)
    third = draft_once(store)

    assert abs(base - time.time_ns() // 1000) < 600_000_000
    assert (first, second, third) == ([1, 2], [base + 1, base + 2], base + 2 + 1_000_000_000 + 1)
    assert [line.seq for line in run(store.read_log(None))] == [*first, *second, third]
    assert [each.number for each in run(store.last_runs(FIRST.id, limit=9))] == [
        third,
        *second[::-1],
        2,
        1,
    ]
    lost = [3, base - 1, base + 3, third - 2, third + 1, 1 << 52]
    kept = [0, 1, 2, base, *second, third - 1, third]
    for counter in ("log_lines", "mempool", "runs"):
        assert [number for number in (*lost, *kept) if run(store.is_lost(counter, number))] == lost


def test_a_transaction_that_fails_leaves_the_fork_to_the_next(store: PostgresStore) -> None:
    run(store.put_scenario(FIRST))
    run(store.start_job(JOB))
    draft_once(store)
    (timeline,) = shared_server().execute(
        "SELECT timeline FROM scenarioctl.meta", database="shared"
    )[0]
    change_timeline(timeline - 1)
    with psycopg.connect(shared_server().url("shared", user=RUNTIME)) as connection:
        connection.execute("SET search_path = scenarioctl")
        connection.execute("INSERT INTO log_lines (job, written, text) VALUES ('x', 1, 'lost')")
        connection.rollback()

    drafted, base = draft_once(store), first_number()
    assert drafted > base
    assert [run(store.is_lost("mempool", number)) for number in (1, 2, base - 1)] == [
        False,
        True,
        True,
    ]


def test_two_standbys_that_are_promoted_from_one_state_give_out_other_numbers(
    store: PostgresStore,
) -> None:
    run(store.put_scenario(FIRST))
    run(store.start_job(JOB))
    (timeline,) = shared_server().execute(
        "SELECT timeline FROM scenarioctl.meta", database="shared"
    )[0]
    given = []
    with psycopg.connect(
        shared_server().url("shared", user=OWNER), options="-c search_path=scenarioctl"
    ) as connection:
        for _ in range(2):
            connection.execute("UPDATE meta SET timeline = %s", (timeline - 1,))
            connection.execute("SELECT setval('mempool_seq_seq', 3), setval('runs_seq_seq', 3)")
            connection.execute("SELECT setval('log_lines_seq_seq', 3)")
            connection.execute("SELECT setval('scenarios_seq_seq', 3)")
            connection.execute("SELECT setval('webhook_events_id_seq', 3)")
            connection.execute("SELECT setval('notifications_seq_seq', 3), follow_timeline()")
            ((first,),) = connection.execute("SELECT last_value FROM mempool_seq_seq").fetchall()
            given.append(first)
            connection.rollback()
            time.sleep(0.1)

    assert given[1] - given[0] >= 100_000


def test_an_empty_store_has_lost_nothing(store: PostgresStore) -> None:
    (timeline,) = shared_server().execute(
        "SELECT timeline FROM scenarioctl.meta", database="shared"
    )[0]
    change_timeline(timeline - 1)
    run(store.put_scenario(FIRST))

    assert shared_server().execute("SELECT * FROM scenarioctl.forks", database="shared") == []


def count_drafts(server: Server) -> int:
    ((count,),) = server.execute("SELECT count(*) FROM scenarioctl.mempool", database="failover")
    return int(count)


def cut_off(standby: Server) -> None:
    """Let a standby receive nothing any more, and have all that it has received."""
    standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
    standby.execute("SELECT pg_reload_conf()")
    wait_until(lambda: standby.execute("SELECT count(*) FROM pg_stat_wal_receiver") == [(0,)])
    # There is nothing left to replay: it looks for more from time to time.
    state = "SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup'"
    wait_until(lambda: standby.execute(state) == [("RecoveryRetrieveRetryInterval",)])


def test_a_standby_that_was_behind_is_promoted(tmp_path: Path) -> None:
    primary = start_server()
    run(create_store(primary.create_database("failover"), grant=RUNTIME))
    standby = start_standby(primary)
    hosts = f"host={primary.folder},{standby.folder}&port={primary.port},{standby.port}"
    location = f"postgresql://{RUNTIME}@/failover?{hosts}"
    store = PostgresStore(ServerSettings(url=location))
    run(store.put_scenario(FIRST))
    run(store.start_job(JOB))
    kept = [draft_once(store), draft_once(store)]
    wait_until(lambda: count_drafts(standby) == len(kept))
    cut_off(standby)
    lost = [draft_once(store), draft_once(store)]
    before = {entry.seq: entry for entry in run(store.read_mempool(None))}

    with Serving(tmp_path, role="api", store=location) as served:

        def read(path: str, after: object) -> tuple[int, Any]:
            reply = served.post(path, {"id": FIRST.id, "after": after}, port=served.api)
            return reply.status, reply.json()

        assert read("/scenario/tx", lost[-1])[0] == 200
        primary.stop()
        standby.promote()
        run(store.close())
        store = PostgresStore(ServerSettings(url=location))
        again = [draft_once(store) for _ in lost]
        after = {entry.seq: entry for entry in run(store.read_mempool(None))}
        wait_until(lambda: read("/scenario/tx", 0)[0] == 200)

        base = again[0] - 1
        assert abs(base - time.time_ns() // 1000) < 600_000_000
        assert (kept, lost, again) == ([1, 2], [3, 4], [base + 1, base + 2])
        assert [after[seq] for seq in kept] == [before[seq] for seq in kept]
        assert {after[seq].draft.uuid for seq in again}.isdisjoint(
            entry.draft.uuid for entry in before.values()
        )
        assert [after[seq].occurrence for seq in again] == [before[seq].occurrence for seq in lost]
        for path in ("/scenario/tx", "/scenario/worker/logs", "/job/runs"):
            status, refused = read(path, lost[-1])
            assert (status, refused["code"]) == (410, "stale_cursor")
            assert refused["error"] == says("lost", "uuid", after=4)
            assert read(path, base + 1000)[0] == 410
        status, page = read("/scenario/tx", kept[-1])
        assert (status, [row["seq"] for row in page["mempool"]]) == (200, again)
        assert served.get(f"/job/events?after={kept[-1]}.{lost[-1]}", port=served.api).status == 410
    run(store.close())
    standby.stop()
