"""The reference signer with a daemon and a real node: what it signs is included once, however it is
killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.mark.parametrize("step", range(1, 8))
def test_it_signs_once_however_it_is_killed(case: Case, step: int) -> None:
    case.draft()

    killed, _ = case.sign("run", "--once", by=(str(ROOT / "tests" / "killed_signer.py"), str(step)))
    code, said = case.sign()

    assert (killed, code) == (-signal.SIGKILL, 0), said
    assert case.on_chain() == (1, 1), said
    assert case.events == ["start", "start", "intent", "signed", "outcome"]


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
