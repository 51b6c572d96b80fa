"""A scenario that was sent isn't forgotten: whoever shows it, or is about to sign it again, says
so."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ended, Run
from tests.messages import says
from tests.node import Node
from tests.serving import Serving
from tests.test_broadcast import ALICE, GOOD, HASH, events, failed, sent, signed
from tests.test_cli import on_a_terminal, without_colours
from tests.test_transaction_status import FakeChain

Command = Callable[..., Ended]


@pytest.fixture
def chain() -> FakeChain:
    return FakeChain()


@pytest.fixture
def node(chain: FakeChain) -> Iterator[Node]:
    with Node(chain.answers(author_submitExtrinsic=lambda tx: HASH)) as node:
        yield node


@pytest.fixture
def command(scenarioctl: Run, node: Node, tmp_path: Path) -> Command:
    (tmp_path / "config.toml").write_text(
        f'store = "{tmp_path}/scenarios.db"\n[chains.polkadot]\nendpoints = ["{node.url}"]\n'
    )
    return lambda *line, **how: scenarioctl("--config", str(tmp_path / "config.toml"), *line, **how)


@pytest.fixture
def scenario(command: Command) -> str:
    line = ("create", "remark", "--chain", "polkadot", "--text", "hello", "--plain")
    return command(*line).out.strip()


@pytest.fixture
def two(command: Command, tmp_path: Path) -> str:
    """Return a scenario with two transactions."""
    steps = [{"type": "Remark", "chain": "polkadot", "text": text} for text in ("first", "second")]
    (tmp_path / "flow.json").write_text(json.dumps({"steps": steps}))
    return command("create", "flow", str(tmp_path / "flow.json")).out.strip()


def payload(command: Command, *line: str) -> Ended:
    return command("tx", "payload", *line, "--sender", ALICE, "--field", "chain", "--quiet")


def marks(command: Command, scenario: str) -> list[dict[str, Any]]:
    return list(json.loads(command("scenario", "show", scenario, "--json").out)["sent"])


def nodes(command: Command, scenario: str) -> list[str]:
    """Return the nodes that draft a transaction."""
    found = json.loads(command("scenario", "show", scenario, "--json").out)["nodes"]
    return [each["id"] for each in found if each["type"] == "action"]


def shown(tmp_path: Path, scenario: str) -> str:
    """Return what a terminal shows of a scenario."""
    drawn, _, _ = on_a_terminal(
        tmp_path, "--config", str(tmp_path / "config.toml"), "scenario", "show", scenario
    )
    return re.sub(r"\s+", " ", without_colours(drawn))


def test_a_scenario_that_was_sent_says_so(
    command: Command, scenario: str, chain: FakeChain, tmp_path: Path
) -> None:
    command("broadcast", "polkadot", GOOD, "--scenario", scenario)
    chain.include(1001, finalized=True)
    command("tx", "status", "polkadot", HASH)

    (mark,) = marks(command, scenario)
    (row,) = json.loads(command("scenario", "list", "--json").out)["scenarios"]
    assert row["sent"] == mark
    assert mark == {
        "hash": HASH,
        "state": "finalized",
        "block_number": 1001,
        "success": True,
        "chain": "polkadot",
        "date": mark["date"],
        "node": nodes(command, scenario)[0],
        "outcome": "in block 1001, finalized",
        "changed_since": False,
    }
    assert f"{mark['node']} in block 1001, finalized no" in shown(tmp_path, scenario)


def test_who_signs_a_scenario_again_is_warned(
    command: Command, scenario: str, chain: FakeChain
) -> None:
    assert "sent" not in payload(command, scenario).err
    command("broadcast", "polkadot", GOOD, "--scenario", scenario)
    date = marks(command, scenario)[0]["date"]

    again = command("tx", "payload", scenario, "--sender", ALICE, "--field", "chain")
    (warning,) = [line for line in again.err.splitlines() if "sent on" in line]
    assert warning == says(
        "you pay again", hash=HASH, date=f"{date[:10]} {date[11:16]}", scenario=scenario
    )
    assert command("tx", "payload", scenario, "--sender", ALICE, "--strict").code == 7


@pytest.mark.parametrize("state", ["failed", "expired"])
def test_what_paid_nothing_is_no_warning(
    command: Command, scenario: str, chain: FakeChain, tmp_path: Path, state: str
) -> None:
    command("broadcast", "polkadot", GOOD, "--scenario", scenario)
    if state == "failed":
        chain.events = events(
            (
                0,
                {
                    "System": {
                        "ExtrinsicSuccess": {
                            "dispatch_info": failed("Other")["System"]["ExtrinsicFailed"][
                                "dispatch_info"
                            ]
                        }
                    }
                },
            ),
            (1, failed("Other")),
        )
        chain.include(1001, finalized=True)
        command("tx", "status", "polkadot", HASH)
    else:
        with closing(sqlite3.connect(tmp_path / "scenarios.db")) as database, database:
            database.execute("UPDATE sent_transactions SET state = 'expired'")

    assert (
        marks(command, scenario)[0]["outcome"]
        == {"failed": "in block 1001, where it failed", "expired": "expired, in no block"}[state]
    )
    assert "sent on" not in command("tx", "payload", scenario, "--sender", ALICE).err


def test_each_step_has_its_own(command: Command, two: str) -> None:
    _, second = nodes(command, two)
    built = command("scenario", "build", two, "--step", "2").out.strip()
    command("broadcast", "polkadot", signed_draft(built))

    assert [mark["node"] for mark in marks(command, two)] == [second]
    assert "sent on" not in command("tx", "payload", two, "--sender", ALICE).err
    assert "sent on" in command("tx", "payload", two, "--step", "2", "--sender", ALICE).err
    assert "sent on" in command("tx", "payload", two, "--step", second, "--sender", ALICE).err
    assert "sent on" in command("scenario", "build", "--batch", two).err


def test_all_transactions_in_one_are_those_of_every_step(command: Command, two: str) -> None:
    built = command("scenario", "build", two, "--batch").out.strip()
    command("broadcast", "polkadot", signed_draft(built))

    assert [mark["node"] for mark in marks(command, two)] == [""]
    for step in ("1", "2"):
        assert "sent on" in command("tx", "payload", two, "--step", step, "--sender", ALICE).err


def test_a_draft_of_a_job_is_its_scenarios(command: Command, scenario: str) -> None:
    command("job", "run", scenario)
    draft = json.loads(command("job", "mempool", scenario, "--json").out)["mempool"][0]
    command("broadcast", "polkadot", signed_draft(draft["tx"]))

    (drafted,) = json.loads(command("job", "drafts", scenario, "--json").out)["mempool"]
    assert drafted["sent"]["state"] == "sent"
    assert [mark["node"] for mark in marks(command, scenario)] == nodes(command, scenario)
    assert "sent on" in payload_of_draft(command, scenario, draft["seq"])


def signed_draft(tx: str) -> str:
    from scenarioctl.runtime.table import load_bundled
    from scenarioctl.transactions.extrinsic import decode_extrinsic

    table = load_bundled("polkadot")
    assert table is not None
    return signed(decode_extrinsic(table, bytes.fromhex(tx[2:])).call)


def payload_of_draft(command: Command, scenario: str, seq: int) -> str:
    return command("tx", "payload", "--job", scenario, "--draft", str(seq), "--sender", ALICE).err


def test_a_change_since_then_is_said(command: Command, scenario: str, tmp_path: Path) -> None:
    command("broadcast", "polkadot", GOOD, "--scenario", scenario)
    command("scenario", "edit", scenario, "--name", "other")

    assert marks(command, scenario)[0]["changed_since"] is True
    assert "in no block when last looked at yes" in shown(tmp_path, scenario)


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"scenario": "nowhere99"}, 404, ("nowhere99",)),
        ({"step": "2"}, 422, ("step", "2", "scenario")),
        ({"scenario": "", "step": "9"}, 422, ("step", "9")),
    ],
)
def test_what_names_no_transaction_is_refused_and_nothing_is_sent(
    node: Node, tmp_path: Path, fields: dict[str, str], status: int, words: tuple[str, ...]
) -> None:
    with Serving(tmp_path, offline=False, chains={"polkadot": {"endpoints": [node.url]}}) as served:
        if fields.get("scenario") == "":
            created = served.post(
                "/api/create/remark", {"chain": "polkadot", "text": "hello"}
            ).json()
            fields = {**fields, "scenario": created["result"]}
        reply = served.post("/api/chain/Broadcast", {"chain": "polkadot", "tx": GOOD, **fields})

        named = [word for word in words if word != fields.get("scenario")]
        assert (reply.status, sent(node)) == (status, 0)
        assert all(word in reply.json()["error"] for word in named)
