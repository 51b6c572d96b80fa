"""Two versions of the daemon side by side on one PostgreSQL, over a migration and under load:
nothing is lost."""

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.daemons import free_port
from tests.fleet import PATIENCE, PROGRAM, Member, Migrations, environment, stop
from tests.fleet_load import Load, check, killable_server, wait_for_daemons, wait_until_all_ran
from tests.messages import says
from tests.test_store_migrations import LAST, NEXT, OURS, TODAY

#: What a newer version adds to tables that daemons write all the time, and what it removes: the
#: daemons of the version before must not write any more by then.
NEWER: Migrations = (
    (
        (
            "ALTER TABLE jobs ADD COLUMN note text NOT NULL DEFAULT ''",
            "ALTER TABLE log_lines ADD COLUMN level smallint",
        ),
        1,
    ),
    (("DROP INDEX jobs_by_state",), TODAY + 1),
)
LEASE = 2.0
EVERY = "3s"


@dataclass(frozen=True, kw_only=True)
class Size:
    #: Of each version.
    workers: int
    jobs: int
    #: Seconds of each stage.
    stage: float


def run_program(
    folder: Path, store: str, *words: str, migrations: Migrations = ()
) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command of the version that has *migrations*."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=environment(folder, store, migrations=migrations),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def start(
    folder: Path, store: str, roles: Sequence[str], *, migrations: Migrations = ()
) -> list[Member]:
    folder.mkdir()
    return [
        Member(folder / f"{role}-{number}", role, store, lease=LEASE, migrations=migrations)
        for number, role in enumerate(roles)
    ]


def upgrade(folder: Path, size: Size) -> list[str]:
    """Upgrade daemons under load; return what a new daemon, `store migrate` and an old daemon said
    on the way."""
    daemon = ("daemon", "--role", "worker", "--worker-listen", f"127.0.0.1:{free_port()}")
    roles = ["api", *["worker"] * size.workers]
    with killable_server() as (server, url):
        owner = server.url("fleet")
        members = old = start(folder / "old", url, roles)
        try:
            wait_for_daemons(old)
            load = Load([old[0]], patience=PATIENCE)
            load.begin(size.jobs, EVERY)

            # A newer daemon waits for the migration.
            early = run_program(folder, url, *daemon, migrations=NEWER)
            assert early[:2] == (2, "")

            time.sleep(size.stage)
            migrated = run_program(folder, owner, "store", "migrate", migrations=NEWER)
            assert migrated[:2] == (0, f"{NEXT}\n")

            # An older daemon can still be started.
            late = start(folder / "late", url, ["worker"])
            members = [*members, *late]
            new = start(folder / "new", url, roles, migrations=NEWER)
            members = [*members, *new]
            wait_for_daemons(members)
            load.client.add(new[0].port)
            time.sleep(size.stage)
            load.client.leave(old[0].port)
            assert set(stop([*old, *late])) == {0}

            time.sleep(size.stage)
            contracted = run_program(
                folder, owner, "store", "migrate", "--contract", migrations=NEWER
            )
            assert contracted == (0, f"{LAST}\n", "")
            refused = run_program(folder, url, *daemon)
            assert refused[:2] == (2, "")

            time.sleep(size.stage)
            load.end()
            settled = wait_until_all_ran(owner, load, longest=60)
            assert set(stop(new)) == {0}
            found = check(owner, load, EVERY)
            print(
                f"\nupgrade: {found}, {len(load.once)} created and started, settled in "
                f"{settled:.1f} s"
            )
            for member in members:
                assert "Traceback" not in member.log
            # Nobody saw anything of it.
            assert (load.client.refused, load.client.unreached) == (0, 0)
            return [early[2], migrated[2], refused[2]]
        finally:
            for member in members:
                member.close()


@pytest.mark.acceptance
def test_daemons_of_two_versions_run_side_by_side_over_a_migration(tmp_path: Path) -> None:
    said = upgrade(tmp_path, Size(workers=1, jobs=10, stage=0.5))

    assert said == [
        says("store migrate", ours=OURS, newer=NEXT).within("Error: {}\n"),
        says("--contract", last=LAST).within("{}\n"),
        says("newer", "upgrade", ours=OURS, newer=LAST).within("Error: {}\n"),
    ]


@pytest.mark.soak
def test_an_upgrade_under_three_hundred_jobs(tmp_path: Path) -> None:
    upgrade(tmp_path, Size(workers=2, jobs=300, stage=20))
