"""What docs/daemon.md says of systemd, done as a new user does it; played by `run`, inside of a
machine of its own.

With nothing but Python's own library: the program under test has its environment in
/opt/scenarioctl.
"""

import http.client
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

UNITS = Path("/etc/systemd/system")
CONFIG = Path("/etc/scenarioctl/config.toml")
STORE = Path("/var/lib/private/scenarioctl")
HOOK = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
TRANSFER = {
    "source_chain": "polkadot",
    "dest_chain": "assetHub",
    "destination_address": "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    "amount": 1,
    "assetid": 0,
}
#: The token that requests carry, once there is one.
headers: dict[str, str] = {}


def main() -> None:
    install()
    starts()
    tokens_and_reload()
    job = runs_jobs()
    comes_back(job)
    webhook_and_web()
    stops_under_load(job)
    hands_over_sockets()
    separate_roles()
    logs_for_the_journal()
    print("all of it went well")


# -- what is played
# ------------------------------------------------------------------------------------------------


def install() -> None:
    do("python3", "-m", "venv", "/opt/scenarioctl")
    do(
        "/opt/scenarioctl/bin/pip",
        "install",
        "-q",
        "--no-index",
        "--find-links",
        "/opt/wheels",
        "scenarioctl",
    )
    do("ln", "-sf", "/opt/scenarioctl/bin/scenarioctl", "/usr/local/bin/")
    write_units("scenarioctl")


def starts() -> None:
    do("systemctl", "enable", "--now", "scenarioctl")
    # Type=notify: it serves once the command has returned.
    assert ask("/readyz") == (200, {"status": "ready"})
    assert ask("/version", port=8081)[1]["role"] == "all"
    status = do("systemctl", "status", "scenarioctl")
    assert "Serving on http://127.0.0.1:8080, http://127.0.0.1:8081; 0 runs go on" in status
    exposure = do("systemd-analyze", "security", "scenarioctl").splitlines()[-1]
    told(exposure, memory())
    # The service's user has no power over its settings, and no right at all.
    assert not CONFIG.parent.exists() or CONFIG.parent.stat().st_uid == 0
    state = Path(f"/proc/{process()}/status").read_text()
    assert re.search(r"^CapEff:\s0+$", state, re.M)
    assert re.search(r"^NoNewPrivs:\s1$", state, re.M)
    assert re.search(r"^Seccomp:\s2$", state, re.M)
    assert STORE.stat().st_mode & 0o777 == 0o700


def tokens_and_reload() -> None:
    before = process()
    made = do(
        "scenarioctl",
        "--config",
        str(CONFIG),
        "config",
        "token",
        "ops",
        "--scopes",
        "read,create,jobs",
    )
    CONFIG.chmod(0o644)
    do("systemctl", "reload", "scenarioctl")
    wait_until(lambda: ask("/job/list")[0] == 401)
    headers["Authorization"] = f"Bearer {made.splitlines()[0]}"
    assert ask("/job/list")[0] == 200
    good = CONFIG.read_text()
    CONFIG.write_text(f"rate = 'x'\n{good}")
    do("systemctl", "reload", "scenarioctl")
    wait_until(
        lambda: (
            "the settings of the last reload are refused"
            in do("systemctl", "status", "scenarioctl")
        )
    )
    CONFIG.write_text(f"private_targets = ['127.0.0.1']\n{good}")
    do("systemctl", "reload", "scenarioctl")
    wait_until(lambda: "refused" not in do("systemctl", "status", "-n0", "scenarioctl"))
    assert process() == before


def runs_jobs() -> str:
    job: str = ask("/api/create/scenario", TRANSFER)[1]["result"]
    assert ask("/job/start", {"id": job, "every": "1s"})[0] == 200
    wait_until(lambda: len(drafts(job)) >= 2)
    return job


def serves_again(before: int) -> bool:
    return process() not in (0, before) and ask("/healthz")[0] == 200


def comes_back(job: str) -> None:
    for number in (signal.SIGKILL, signal.SIGSTOP):
        before, kept, since = process(), drafts(job), time.monotonic()
        os.kill(before, number)
        wait_until(partial(serves_again, before))
        told(f"{number.name}: it serves again after {time.monotonic() - since:.1f} s")
        wait_until(lambda kept=kept: len(drafts(job)) > len(kept))  # type: ignore[misc]
        now = drafts(job)
        assert now[: len(kept)] == kept
        assert len({draft["Date"] for draft in now}) == len(now)


def webhook_and_web() -> None:
    seen: list[bytes] = []

    class Site(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 9999), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    flow = {
        "name": "hook",
        "steps": [
            {"id": "paid", "type": "webhook", "name": "w", "uuid": HOOK, "timeout": 30},
            {
                "type": "http",
                "url": "http://127.0.0.1:9999/?key=s3cret",
                "method": "POST",
                "body": {"a": "{{ paid.a }}"},
            },
        ],
    }
    Path("/opt/hook.json").write_text(json.dumps(flow))
    hook = do(
        *("env", f"SCENARIOCTL_TOKEN={headers['Authorization'].split()[1]}"),
        *("scenarioctl", "--url", "http://127.0.0.1:8080", "create", "flow", "/opt/hook.json"),
    ).strip()
    with beside(lambda: ask("/job/run", {"id": hook})) as ended:
        time.sleep(0.5)
        assert ask(f"/webhook/{HOOK}", {"a": "s3cret"})[0] == 200
    assert ended[0][0] == 200, ended
    assert seen == [b'{"a": "s3cret"}']
    server.shutdown()


def stops_under_load(job: str) -> None:
    with load() as answers:
        time.sleep(1)
        since = time.monotonic()
        do("systemctl", "stop", "scenarioctl")
        told(f"stopped under load after {time.monotonic() - since:.1f} s")
    assert set(answers) <= {"200", "ConnectionRefusedError"}, answers
    shown = do("systemctl", "show", "scenarioctl", "-p", "Result,ExecMainStatus")
    assert sorted(shown.split()) == ["ExecMainStatus=0", "Result=success"]
    do("systemctl", "start", "scenarioctl")
    kept = len(drafts(job))
    # Its lease was released: nobody has to wait for that to pass.
    since = time.monotonic()
    wait_until(lambda: len(drafts(job)) > kept)
    assert time.monotonic() - since < 5


def hands_over_sockets() -> None:
    do("systemctl", "stop", "scenarioctl")
    (UNITS / "scenarioctl.socket").write_text(do("scenarioctl", "daemon", "--print-socket-unit"))
    do("systemctl", "daemon-reload")
    do("systemctl", "enable", "--now", "scenarioctl.socket", "scenarioctl.service")
    with load() as answers:
        for _ in range(5):
            time.sleep(0.5)
            do("systemctl", "restart", "scenarioctl")
    told(f"5 restarts behind sockets of systemd: {answers}")
    assert set(answers) == {"200"}
    do("systemctl", "stop", "scenarioctl.service")
    # A request starts it.
    assert ask("/healthz")[0] == 200
    do("systemctl", "disable", "--now", "scenarioctl.socket", "scenarioctl.service")


def separate_roles() -> None:
    write_units(
        "scenarioctl",
        "--role",
        "api",
        "--listen",
        "127.0.0.1:8080",
        "--listen",
        "unix:/run/scenarioctl/api.sock",
    )
    write_units("scenarioctl-worker", "--role", "worker")
    do("systemctl", "start", "scenarioctl", "scenarioctl-worker")
    assert (ask("/readyz")[0], ask("/readyz", port=8081)[0]) == (200, 200)
    do("systemctl", "stop", "scenarioctl-worker")
    assert ask("/api/create/remark", {"chain": "polkadot", "text": "gm"})[0] == 200
    assert (
        do("curl", "-sS", "--unix-socket", "/run/scenarioctl/api.sock", "http://localhost/healthz")
        == '{"status":"ok"}'
    )
    do("systemctl", "stop", "scenarioctl")


def logs_for_the_journal() -> None:
    lines = [
        json.loads(line)
        for line in do("journalctl", "-u", "scenarioctl", "-o", "json", "--no-pager").splitlines()
    ]
    ours = [line for line in lines if line.get("_TRANSPORT") == "stdout"]
    told(dict(Counter(line["PRIORITY"] for line in ours)))
    # What was frozen may say so too, before its watchdog ends it.
    errors = [str(line["MESSAGE"]) for line in ours if line["PRIORITY"] == "3"]
    assert [
        each for each in errors if each.startswith("reload failed, settings unchanged: rate 'x'")
    ], errors
    leaked = [line for line in ours if re.search(f"sctl_|s3cret|{HOOK}", str(line["MESSAGE"]))]
    assert leaked == []


# -- by what means
# -------------------------------------------------------------------------------------------------


def do(*line: str) -> str:
    """Return what a command prints; it has to go well."""
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, (line, done.returncode, done.stdout, done.stderr)
    return done.stdout


def told(*what: object) -> None:
    print(*what, flush=True)


def write_units(name: str, *asked: str) -> None:
    unit = do("scenarioctl", "--offline", "daemon", *asked, "--print-unit")
    (UNITS / f"{name}.service").write_text(unit)
    do("systemctl", "daemon-reload")


def process() -> int:
    return int(do("systemctl", "show", "scenarioctl", "-p", "MainPID", "--value"))


def memory() -> str:
    return next(
        line
        for line in Path(f"/proc/{process()}/status").read_text().splitlines()
        if "VmRSS" in line
    )


def ask(path: str, body: object = None, *, port: int = 8080) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        kind = {} if body is None else {"Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, sent, kind | headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def drafts(job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask("/scenario/tx", {"id": job})[1]["mempool"]
    return found


def wait_until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 150
    while True:
        try:
            if holds():
                return
        except OSError:
            pass
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


@contextmanager
def beside(work: Callable[[], Any]) -> Iterator[list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    yield found
    thread.join()


@contextmanager
def load() -> Iterator[Counter[str]]:
    """Create remarks meanwhile, on a new connection each; count what came of it."""
    answers: Counter[str] = Counter()
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            try:
                answers[
                    str(ask("/api/create/remark", {"chain": "polkadot", "text": "load"})[0])
                ] += 1
            except (OSError, http.client.HTTPException) as error:
                answers[type(error).__name__] += 1
                time.sleep(0.02)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        ended.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
