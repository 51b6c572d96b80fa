"""The reference signer with a daemon and a real node: what it signs is included once, however it is
killed."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.conftest import ROOT
from tests.daemons import Daemon, daemon, free_port, wait_until
from tests.registry_chain import (
    ENDPOINT,
    GENESIS,
    NAME,
    ROC,
    funded_uri,
    needs_node,
    new_uri,
    read_account,
    write_config,
)
from tests.signing import dev_key

pytestmark = needs_node

EXAMPLE = ROOT / "examples" / "signer" / "signer.py"
PATIENCE = 120


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("daemon")
    with daemon(home, "--config", str(write_config(home))) as running:
        yield running


@dataclass(kw_only=True)
class Case:
    """A job that sends a token from a new account to another one, and a signer for it."""

    daemon: Daemon
    folder: Path
    job: str
    uri: str
    receiver: Any

    @property
    def journal(self) -> list[dict[str, Any]]:
        # Without a line that is still being written.
        whole, _, _ = (self.folder / "journal.jsonl").read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    @property
    def events(self) -> list[str]:
        return [entry["event"] for entry in self.journal]

    def policy(self, *, url: str = "", file: str = "policy.toml", max_fee: str = "0.1") -> Path:
        rule = {
            "chain": NAME,
            "kind": "transfer",
            "assets": ["native"],
            "decimals": 12,
            "max": "1",
            "max_per_day": "3",
            "receivers": [self.receiver.ss58_address],
        }
        chain = {
            "node": ENDPOINT,
            "genesis": GENESIS,
            "decimals": 12,
            "max_fee": max_fee,
            "max_fee_per_day": "0.1",
        }
        table = {
            "daemon": url or f"http://127.0.0.1:{self.daemon.port()}",
            "journal": "journal.jsonl",
            "jobs": [self.job],
            "max_transactions_per_day": 10,
            "chains": {NAME: chain},
            "allow": [rule],
        }
        path = self.folder / file
        path.write_text(tomli_w.dumps(table))
        return path

    def drafts(self) -> list[dict[str, Any]]:
        _, answer, _ = self.daemon.ask("/scenario/tx", {"id": self.job})
        rows: list[dict[str, Any]] = answer["mempool"]
        return rows

    def draft(self) -> None:
        status, answer, _ = self.daemon.ask("/job/run", {"id": self.job})
        assert status == 200, answer

    def start(
        self, *line: str, policy: str = "policy.toml", by: tuple[str, ...] = ()
    ) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [
                sys.executable,
                *(by or (str(EXAMPLE),)),
                line[0],
                str(self.folder / policy),
                *line[1:],
            ],
            env={"PATH": os.environ["PATH"], "SIGNER_KEY": self.uri},
            stderr=subprocess.PIPE,
            text=True,
        )

    def sign(
        self, *line: str, policy: str = "policy.toml", by: tuple[str, ...] = ()
    ) -> tuple[int, str]:
        process = self.start(*(line or ("run", "--once")), policy=policy, by=by)
        _, said = process.communicate(timeout=PATIENCE)
        return process.returncode, said

    def on_chain(self) -> tuple[int, int]:
        """Return how many transactions the sender has sent, and how many tokens the receiver
        has."""
        sent, _ = read_account(dev_key(self.uri).public_key)
        _, received = read_account(self.receiver.public_key)
        return sent, received // ROC


@pytest.fixture
def case(served: Daemon, tmp_path: Path) -> Case:
    return make_case(served, tmp_path)


def make_case(served: Daemon, folder: Path) -> Case:
    uri, receiver = funded_uri(), dev_key(new_uri("receiver"))
    status, answer, _ = served.ask(
        "/api/create/scenario",
        {
            "source_chain": NAME,
            "dest_chain": NAME,
            "assetid": "ROC",
            "amount": "1",
            "destination_address": receiver.ss58_address,
        },
    )
    assert status == 200, answer
    made = Case(daemon=served, folder=folder, job=answer["result"], uri=uri, receiver=receiver)
    made.policy()
    assert made.sign("init")[0] == 0
    return made


def test_a_draft_is_signed_and_included(case: Case) -> None:
    case.draft()

    code, said = case.sign()

    assert (code, case.on_chain()) == (0, (1, 1)), said
    assert case.events == ["start", "start", "intent", "signed", "outcome"]
    assert case.journal[-1]["status"] == "finalized"
    (row,) = case.drafts()
    assert row["sent"]["state"] in ("sent", "in-block", "finalized")


def test_a_fee_above_the_limit_is_not_paid(case: Case) -> None:
    case.policy(max_fee="0.000001")
    case.draft()

    code, said = case.sign()

    assert (code, case.on_chain(), case.events) == (0, (0, 0), ["start", "start", "refused"]), said
    assert "is more than max_fee (1000000)" in case.journal[-1]["why"]


def test_drafts_from_before_the_journal_are_not_signed(
    served: Daemon, case: Case, tmp_path: Path
) -> None:
    case.draft()
    (tmp_path / "journal.jsonl").unlink()
    case.sign("init")

    case.sign()

    assert case.on_chain() == (0, 0)


@contextmanager
def withholding(case: Case) -> Iterator[str]:
    """Serve what the daemon serves, but say that a transaction was sent, and keep it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = b'{"status": "broadcasted"}'
            if self.path != "/api/chain/Broadcast":
                url = f"http://127.0.0.1:{case.daemon.port()}{self.path}"
                request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                    answer = response.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_transaction_that_the_daemon_keeps_is_included(case: Case) -> None:
    case.draft()

    with withholding(case) as url:
        case.policy(url=url)
        code, said = case.sign()

    assert (code, case.on_chain()) == (0, (1, 1)), said
    assert case.events == ["start", "start", "intent", "signed", "outcome"]


@pytest.mark.parametrize("step", range(1, 8))
def test_it_signs_once_however_it_is_killed(case: Case, step: int) -> None:
    case.draft()

    killed, _ = case.sign("run", "--once", by=(str(ROOT / "tests" / "killed_signer.py"), str(step)))
    code, said = case.sign()

    assert (killed, code) == (-signal.SIGKILL, 0), said
    assert case.on_chain() == (1, 1), said
    assert case.events == ["start", "start", "intent", "signed", "outcome"]


def test_killed_after_its_own_node_has_the_transaction_it_pays_once(case: Case) -> None:
    case.draft()

    with withholding(case) as url:
        case.policy(url=url)
        # Drafts, intent, signature, signed, the daemon, the node.
        killed, _ = case.sign("run", "--once", by=(str(ROOT / "tests" / "killed_signer.py"), "6"))
        code, said = case.sign()

    assert (killed, code) == (-signal.SIGKILL, 0), said
    assert case.on_chain() == (1, 1), said
    assert case.events == ["start", "start", "intent", "signed", "outcome"]


def test_of_two_signers_with_one_journal_the_second_ends(case: Case) -> None:
    case.draft()
    first = case.start("run", "--once")
    wait_until(lambda: "intent" in case.events)
    # Or the second one, on a busy machine, could come when it has ended.
    first.send_signal(signal.SIGSTOP)
    code, said = case.sign()
    first.send_signal(signal.SIGCONT)
    _, all_said = first.communicate(timeout=PATIENCE)

    assert code == 1
    assert "another signer uses the journal" in said
    assert (first.returncode, case.on_chain()) == (0, (1, 1)), all_said


def test_it_goes_on_when_a_killed_daemon_is_back(tmp_path: Path) -> None:
    line = ("--config", str(write_config(tmp_path)))
    listen = ("--listen", f"127.0.0.1:{free_port()}", "--worker-listen", "127.0.0.1:0")
    with daemon(tmp_path / "home", *line, listen=listen) as first:
        case = make_case(first, tmp_path)
        signing = case.start("run")
        first.end(signal.SIGKILL)
    try:
        with daemon(tmp_path / "home", *line, listen=listen) as second:
            case.daemon = second
            case.draft()
            wait_until(lambda: "outcome" in case.events)
    finally:
        signing.kill()
        signing.communicate(timeout=PATIENCE)

    assert case.on_chain() == (1, 1)
