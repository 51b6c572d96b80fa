"""The units for systemd: that they are valid, say why, and fit what the program needs."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scenarioctl.server.systemd import (
    TEMPLATES,
    interpreter,
    program,
    service_unit,
    shut_folder,
    socket_unit,
    template_unit,
)
from tests.conftest import ROOT, Run
from tests.daemons import daemon
from tests.messages import says

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed here")


def analyze(*line: str) -> "subprocess.CompletedProcess[str]":
    assert ANALYZE is not None
    return subprocess.run([ANALYZE, *line], capture_output=True, text=True)


def test_the_program_prints_units_with_its_own_path(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the tests run may be anywhere.
    monkeypatch.setattr("scenarioctl.server.systemd.shut_folder", lambda *_: None)
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


def test_a_program_that_the_services_user_cannot_get_to_is_told_of(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        top = Path(name)
        top.chmod(0o755)
        (top / "shut").mkdir(mode=0o750)
        (top / "shut" / "python").touch()
        (top / "bin").mkdir()
        (top / "bin" / "scenarioctl").touch()
        (top / "bin" / "python").symlink_to(top / "shut" / "python")

        found = [
            shut_folder(str(top / "bin" / "scenarioctl")),
            shut_folder(str(top / "bin" / "scenarioctl"), str(top / "shut" / "python")),
            # Where a link leads to counts too.
            shut_folder(str(top / "bin" / "python")),
            shut_folder(str(top / "none" / "scenarioctl")),
        ]
        monkeypatch.setattr("sys.executable", str(top / "bin" / "python"))
        service = scenarioctl("daemon", "--print-unit")

    assert found == [None, top / "shut", top / "shut", top / "none"]
    assert service.out == service_unit(str(top / "bin" / "scenarioctl"))
    assert (service.err, service.code) == (
        says("program", folder=top),
        0,
    )


def settings_of(unit: str) -> set[str]:
    return {line for line in unit.splitlines() if "=" in line and not line.startswith("#")}


def test_all_services_are_run_alike() -> None:
    service = settings_of(service_unit("/usr/bin/scenarioctl"))
    own = {"Description", "ExecStart"}
    for role in TEMPLATES:
        template = settings_of(template_unit("/usr/bin/scenarioctl", role=role))

        assert {line.partition("=")[0] for line in service - template} == own
        assert {line.partition("=")[0] for line in template - service} == {
            *own,
            "LoadCredential",
            "Environment",
        }


def test_a_program_in_a_home_can_be_read_by_its_service() -> None:
    for path in ("/usr/bin/scenarioctl", "/opt/scenarioctl"):
        assert "ProtectHome=yes" in settings_of(service_unit(path))
    for unit in (
        service_unit("/home/me/bin/scenarioctl"),
        service_unit("/opt/scenarioctl", python="/root/.pyenv/python"),
        template_unit("/home/me/bin/scenarioctl", role="api"),
    ):
        assert "ProtectHome=read-only" in settings_of(unit)


@pytest.mark.parametrize(
    "unit",
    [
        service_unit("/usr/bin/scenarioctl"),
        socket_unit(),
        *(template_unit("/usr/bin/scenarioctl", role=role) for role in TEMPLATES),
    ],
    ids=["service", "socket", *TEMPLATES],
)
def test_a_comment_stands_above_every_setting_or_its_group(unit: str) -> None:
    """Say of each line why it is there; related lines may share a comment."""
    before = ""
    unexplained = []
    for line in unit.splitlines():
        group = line.startswith(
            ("#", "Environment", "Restart", "ProtectK", "ProtectC", "ProtectH", "Restrict")
        )
        if not line or line.startswith("["):
            before = ""
            continue
        if (
            not line.startswith("#")
            and not before
            and not line.startswith(("Description", "WantedBy"))
        ):
            unexplained.append(line)
        before = line if line.startswith("#") or group or before else ""

    assert unexplained == []


@needs_systemd
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    (tmp_path / "scenarioctl.service").write_text(service_unit(*program()))
    (tmp_path / "scenarioctl.socket").write_text(socket_unit())

    checked = analyze(
        "verify", str(tmp_path / "scenarioctl.service"), str(tmp_path / "scenarioctl.socket")
    )

    assert (checked.stdout, checked.stderr, checked.returncode) == ("", "", 0)


@needs_systemd
@pytest.mark.parametrize("role", TEMPLATES)
def test_systemd_finds_nothing_wrong_with_the_templates(tmp_path: Path, role: str) -> None:
    name = f"scenarioctl-{role}@.service"
    (tmp_path / name).write_text(template_unit(*program(), role=role))

    checked = analyze("verify", str(tmp_path / name.replace("@", "@8085")), str(tmp_path / name))

    assert (checked.stdout, checked.stderr, checked.returncode) == ("", "", 0)


def test_a_template_runs_a_daemon_of_its_role_on_the_port_that_is_its_instance(
    scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarioctl.server.systemd.shut_folder", lambda *_: None)
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
def test_systemd_finds_nothing_wrong_with_the_unit_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    unit = (
        text.partition("```ini\n")[2]
        .partition("```")[0]
        .replace("%h/.local/bin/scenarioctl", program()[0])
    )
    (tmp_path / "scenarioctl.service").write_text(unit)

    # The directory that a login makes.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    checked = analyze("--user", "verify", str(tmp_path / "scenarioctl.service"))

    assert (checked.stdout, checked.stderr, checked.returncode) == ("", "", 0)
    assert "ExecStart=" in unit


@needs_systemd
@pytest.mark.parametrize("path", ["/opt/my tools/scenarioctl", "/opt/100%/$x/scenarioctl"])
def test_a_path_that_systemd_would_read_otherwise_is_quoted(tmp_path: Path, path: str) -> None:
    (tmp_path / "scenarioctl.service").write_text(service_unit(path))

    checked = analyze("verify", str(tmp_path / "scenarioctl.service"))

    # It looks for the very path.
    assert f"Command {path} is not executable: No such file or directory" in checked.stderr


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


def test_the_service_has_no_power_over_its_settings() -> None:
    """ConfigurationDirectory= gave the folder to the service's user, who could have put another
    file in its place."""
    assert not re.search(
        r"^ConfigurationDirectory", service_unit("/usr/bin/scenarioctl"), re.MULTILINE
    )


def test_an_api_and_a_worker_with_units_of_their_own_share_user_and_folders() -> None:
    """A dynamic user goes by the unit's name, unless told: the second unit took the store from the
    first."""
    unit = service_unit("/usr/bin/scenarioctl").splitlines()

    assert {"DynamicUser=yes", "User=scenarioctl", "RuntimeDirectoryPreserve=yes"} <= set(unit)


def test_homes_are_out_of_sight_unless_the_program_lives_there() -> None:
    assert "\nProtectHome=yes\n" in service_unit("/opt/scenarioctl/bin/scenarioctl")
    assert "\nProtectHome=read-only\n" in service_unit("/home/ops/.local/bin/scenarioctl")
    assert "\nProtectHome=read-only\n" in service_unit(
        "/opt/scenarioctl/bin/scenarioctl", python="/root/.pyenv/versions/3.13.1/bin/python3.13"
    )


#: PR_SET_MDWE with PR_MDWE_REFUSE_EXEC_GAIN: what MemoryDenyWriteExecute=yes asks of the kernel,
#: since Linux 6.3.
DENYING = """
import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:
    sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "scenarioctl", *sys.argv[1:]])
"""


def test_the_daemon_needs_no_memory_that_is_both_written_and_executed(tmp_path: Path) -> None:
    able = subprocess.run(
        [sys.executable, "-c", DENYING, "--version"], capture_output=True, cwd=tmp_path
    ).returncode
    if able == 77:
        pytest.skip("this kernel cannot deny it")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.daemons.PROGRAM", (sys.executable, "-c", DENYING))
        with daemon(tmp_path / "home", "--offline") as running:
            created = running.ask(
                "/api/create/scenario",
                {
                    "source_chain": "polkadot",
                    "dest_chain": "assetHub",
                    "destination_address": "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
                    "amount": 1,
                    "assetid": 0,
                },
            )
            id = created[1]["result"]
            # Drawn by resvg; encoded, hashed and packed by libraries in C and Rust.
            answers = [
                running.ask(f"/api/info/preview?scenario_id={id}")[0],
                running.ask("/api/scenario/info/full", {"id": id})[0],
                running.ask(f"/api/template/getUrl/{id}")[0],
                running.ask("/metrics", headers={"Accept": "text/plain"}, as_json=False)[0],
            ]
            ended = running.end()

    assert (created[0], answers, ended) == (200, [200, 200, 200, 200], 0)
    assert "Traceback" not in running.log
