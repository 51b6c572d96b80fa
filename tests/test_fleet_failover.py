"""A fleet whose server is lost, and goes on at a standby that was behind: nothing happens twice,
and what is lost is known."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.daemons import wait_until
from tests.fleet import Member, stop
from tests.fleet_load import Load, check, killable_server, wait_for_daemons, wait_until_all_ran
from tests.postgres import RUNTIME, Server, start_standby
from tests.test_failover import cut_off

#: With one daemon the same is quick, see test_failover.
pytestmark = [pytest.mark.acceptance, pytest.mark.soak]


JOBS, EVERY = 300, "8s"
#: How often each job has drafted before the standby is cut off, and before the server is lost, on
#: average.
BEFORE, BEHIND = 3, 3


def drafts_of(server: Server) -> dict[str, tuple[Any, ...]]:
    """Return the drafts that clients can have read, by their UUID: number, job, step and planned
    time."""
    with psycopg.connect(server.url("fleet"), options="-c search_path=scenarioctl") as connection:
        rows = connection.execute(
            "SELECT uuid::text, seq, job, node, occurrence FROM mempool"
        ).fetchall()
    return {uuid: tuple(more) for uuid, *more in rows}


def test_a_fleet_goes_on_at_a_standby_that_was_behind(tmp_path: Path) -> None:
    with killable_server() as (primary, _):
        standby = start_standby(primary)
        url = (
            f"postgresql://{RUNTIME}@/fleet?host={primary.folder},{standby.folder}"
            f"&port={primary.port},{standby.port}"
        )
        members = [
            Member(tmp_path / f"{role}-{number}", role, url)
            for role, count in (("worker", 3), ("api", 1))
            for number in range(count)
        ]
        try:
            wait_for_daemons(members)
            load = Load(members[-1:])
            load.start(JOBS, EVERY)
            wait_until(lambda: len(drafts_of(standby)) >= BEFORE * JOBS)
            cut_off(standby)
            held = drafts_of(standby)
            wait_until(lambda: len(drafts_of(primary)) >= len(held) + BEHIND * JOBS)
            primary.stop()
            primary.start()
            read = drafts_of(primary)
            primary.stop()
            standby.promote()
            wait_until_all_ran(standby.url("fleet"), load, longest=120)
            assert stop(members) == [0] * len(members)

            found = check(standby.url("fleet"), load, EVERY)
            now = drafts_of(standby)
            lost = {each[1:] for uuid, each in read.items() if uuid not in held}
            again = {each[1:] for uuid, each in now.items() if uuid not in held}
            print(
                f"\nfailover: {found.runs} runs, {found.left_out} left out, {len(lost)} "
                "drafts lost, of which"
                f" {len(lost & again)} for the same time again"
            )
            # What the standby had is as it was; of what it lost, no number and no UUID is another
            # draft's.
            assert held.items() <= now.items()
            assert {uuid for uuid in read if uuid in now} == set(held)
            assert {each[0] for each in read.values()} & {
                now[uuid][0] for uuid in now if uuid not in held
            } == set()
            for member in members:
                assert "Traceback" not in member.log
                assert "bug" not in member.log
        finally:
            for member in members:
                member.close()
            standby.remove()
