"""An empty id names nothing: every command and every endpoint that takes an id refuses it."""

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import random_scenario_id
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint
from tests.conftest import Run
from tests.messages import says
from tests.serving import Serving
from tests.test_parity import commands, operations, request_of

#: Fields that name a scenario, an event or a webhook.
IDS = frozenset({"id", "scenario_id", "uuid", "event"})
#: What else the requests of these operations need.
ALSO: dict[str, dict[str, Any]] = {
    "webhooks.post_event": {"content": {}},
    "scenario_changes.rename_scenario": {"name": "x"},
    "scenario_changes.replace_scenario": {"content": {}},
}


@pytest.mark.parametrize("start", ["0x", "0X"])
def test_the_id_of_a_scenario_never_looks_like_hex(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(f"{start}1234567" + "a0x234567")
    monkeypatch.setattr("secrets.choice", lambda _: next(drawn))

    assert random_scenario_id() == "a0x234567"


def id_of(operation: str) -> str:
    """Return the name of the operation's field that holds an id; empty if it has none."""
    needed = [
        each.name for each in fields(request_of(operations()[operation])) if each.default is MISSING
    ]
    return next((name for name in needed if name in IDS), "")


def with_id() -> list[str]:
    return sorted(
        words
        for words, command in commands().items()
        if any(parameter.name in IDS for parameter in command.params)
    )


def in_body() -> list[Endpoint]:
    return [
        row for row in ENDPOINTS if (name := id_of(row.operation)) and f"{{{name}}}" not in row.path
    ]


@pytest.mark.parametrize("words", with_id())
def test_a_command_refuses_an_empty_id(words: str, scenarioctl: Run, tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    scenarioctl(
        "--store", store, "--offline", "create", "remark", "--chain", "polkadot", "--text", "gm"
    )
    (tmp_path / "event.json").write_text("{}")
    more = {
        "webhook post": [str(tmp_path / "event.json")],
        "scenario rename": ["x"],
        "job reschedule": ["--every", "1h"],
    }.get(words, [])

    ended = scenarioctl("--store", store, "--offline", *words.split(), "", *more)

    assert (ended.out, ended.code) == ("", 2)
    assert "''" in ended.err or " is empty" in ended.err


def test_an_endpoint_refuses_an_empty_id(tmp_path: Path) -> None:
    with Serving(tmp_path) as served:
        served.post("/api/create/remark", {"chain": "polkadot", "text": "gm"})
        rows = in_body()
        answers = {
            row.path: served.post(
                row.path, {id_of(row.operation): "", **ALSO.get(row.operation, {})}
            )
            if row.method == "POST"
            else served.get(f"{row.path}?{id_of(row.operation)}=")
            for row in rows
        }
        stream = served.get("/job/events?id=")

    assert len(rows) > 10
    assert {path: reply.status for path, reply in answers.items()} == dict.fromkeys(answers, 422)
    assert (stream.status, stream.json()["error"]) == (
        422,
        says("id", "scenario"),
    )
