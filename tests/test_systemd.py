"""The units for systemd: that they are valid, say why, and fit what the program needs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scenarioctl.server.process import (
    interpreter,
    program,
    service_unit,
    socket_unit,
    template_unit,
)
from tests.conftest import Run
from tests.messages import says

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed here")


def analyze(*line: str) -> "subprocess.CompletedProcess[str]":
    assert ANALYZE is not None
    return subprocess.run([ANALYZE, *line], capture_output=True, text=True)


def test_the_program_prints_units_with_its_own_path(
    scenarioctl: Run,
) -> None:
    service = scenarioctl("daemon", "--print-unit")
    sockets = scenarioctl("daemon", "--print-socket-unit")
    both = scenarioctl("daemon", "--print-unit", "--print-socket-unit")

    assert (service.out, service.err, service.code) == (
        service_unit(*program(), python=interpreter()),
        "",
        0,
    )
    assert re.search(
        rf"^ExecStart={re.escape(' '.join(program()))} daemon$", service.out, re.MULTILINE
    )
    assert (sockets.out, sockets.err, sockets.code) == (socket_unit(), "", 0)
    assert (both.out, both.code) == ("", 2)


def test_the_unit_runs_the_daemon_that_was_asked_for(scenarioctl: Run) -> None:
    asked = (
        "--role",
        "api",
        "--listen",
        "127.0.0.1:9000",
        "--listen",
        "unix:/run/$x/100%.sock",
        "--force",
    )
    service = scenarioctl("--offline", "daemon", *asked, "--print-unit")
    sockets = scenarioctl("daemon", "--listen", "127.0.0.1:9000", "--print-socket-unit")
    store = scenarioctl("daemon", "--print-unit", "--store", "/srv/s.db")

    assert re.findall(r"^ExecStart=.* daemon (.*)$", service.out, re.MULTILINE) == [
        "--role api --listen 127.0.0.1:9000 --listen unix:/run/$$x/100%%.sock --force --offline"
    ]
    assert (sockets.out, sockets.err, sockets.code) == (
        "",
        says("--listen", "--print-socket-unit", "ListenStream=").printed,
        2,
    )
    assert (store.out, store.err, store.code) == (
        "",
        says("--store", "service").printed,
        2,
    )


@needs_systemd
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    (tmp_path / "scenarioctl.service").write_text(service_unit(*program()))
    (tmp_path / "scenarioctl.socket").write_text(socket_unit())

    checked = analyze(
        "verify", str(tmp_path / "scenarioctl.service"), str(tmp_path / "scenarioctl.socket")
    )

    assert (checked.stdout, checked.stderr, checked.returncode) == ("", "", 0)


def test_a_template_runs_a_daemon_of_its_role_on_the_port_that_is_its_instance(
    scenarioctl: Run,
) -> None:
    worker = scenarioctl("daemon", "--role", "worker", "--print-template-unit")
    refused = [
        scenarioctl("daemon", "--print-template-unit"),
        scenarioctl(
            "daemon", "--role", "api", "--listen", "127.0.0.1:9000", "--print-template-unit"
        ),
    ]

    assert (worker.out, worker.err) == (
        template_unit(*program(), role="worker", python=interpreter()),
        "",
    )
    assert " daemon --role worker --worker-listen 127.0.0.1:%i\n" in worker.out
    lines = worker.out.splitlines()
    assert {
        "LoadCredential=pgpass:/etc/scenarioctl/pgpass",
        "Environment=PGPASSFILE=%d/pgpass",
    } <= set(lines)
    assert {"DynamicUser=yes", "User=scenarioctl"} <= set(lines)
    assert [(each.out, each.code, each.err) for each in refused] == [
        ("", 2, says("--print-template-unit", "api, worker").printed),
        ("", 2, says("--listen", "ExecStart=").printed),
    ]


@needs_systemd
def test_the_service_is_exposed_to_little(tmp_path: Path) -> None:
    (tmp_path / "scenarioctl.service").write_text(service_unit(*program()))

    checked = analyze("security", "--offline=true", str(tmp_path / "scenarioctl.service"))

    found = re.search(
        r"Overall exposure level for scenarioctl\.service: ([0-9.]+) ", checked.stdout
    )
    if found is None:
        pytest.skip(f"this systemd-analyze reviews no files: {checked.stderr.strip()}")
    assert float(found[1]) <= 1.5
