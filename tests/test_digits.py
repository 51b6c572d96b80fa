"""A text of more digits than Python turns into a number is refused in one sentence, in every field
that takes a number."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import pytest

from scenarioctl.operations import find_handler
from scenarioctl.server.decoding import decoder_of
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint
from scenarioctl.server.examples import EXAMPLES, Example
from tests.conftest import BOB, Run
from tests.serving import Serving
from tests.test_parity import commands

#: Python's `int` raises above 4300 digits, zeros in front included.
LONG = "0" * 5000 + "1"
_PAYLOAD = {"output_format": "payload", "sender": BOB}
#: Field -> fields beside it without which it isn't read.
BESIDE: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("nonce", "era", "block", "tip"), _PAYLOAD),
    "fee_asset": {**_PAYLOAD, "nonce": 0},
}
#: Fields that are read once a chain has been asked, which these tests can't; others read them in
#: the same way.
ASKED_FIRST = {
    *(
        (operation, name)
        for operation in (
            "asset_traps.claim_assets",
            "multisigs.approve_operation",
            "multisigs.cancel_operation",
            "multisigs.execute_operation",
        )
        for name in ("nonce", "era", "block", "tip", "fee_asset")
    ),
    *(("transaction_checks.check_transaction", name) for name in ("fee_asset", "xcm_version")),
}


def numeric_fields(row: Endpoint) -> Iterator[str]:
    """Yield the fields of *row* that take a number."""
    shapes = decoder_of(row, find_handler(row.operation)[1]).shapes
    yield from (
        name for name, shape in shapes.items() if {"a whole number", "a number"} & set(shape.kinds)
    )


NUMERIC = [
    (row, name)
    for row in ENDPOINTS
    for name in numeric_fields(row)
    if (row.operation, name) not in ASKED_FIRST
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, str]]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        steps = [
            {"type": "Remark", "chain": "polkadot", "text": text} for text in ("hello", "again")
        ]
        id = serving.post("/api/create/flow", {"flow": {"steps": steps}, "syntax": "json"}).json()[
            "result"
        ]
        # Far from due.
        serving.post("/job/start", {"id": id, "cron": "0 0 29 2 *"})
        yield serving, id


def test_there_are_numeric_fields_to_walk() -> None:
    assert len(NUMERIC) > 40


@pytest.mark.parametrize(
    "text",
    [LONG, "-" + LONG, LONG.replace("0", "7"), LONG + ".5"],
    ids=["zeros", "negative", "sevens", "fraction"],
)
@pytest.mark.parametrize(
    ("row", "name"), NUMERIC, ids=lambda each: each if isinstance(each, str) else each.path
)
def test_every_numeric_field_of_every_endpoint(
    served: tuple[Serving, str], row: Endpoint, name: str, text: str
) -> None:
    serving, stored = served
    body: dict[str, Any] = {
        **EXAMPLES.get(row.operation, Example({})).request,
        **BESIDE.get(name, {}),
        name: text,
    }
    body |= {
        field: stored
        for field in ("id", "scenario_id", "scenario")
        if field in body and field != name
    }
    taken = decoder_of(row, find_handler(row.operation)[1]).shapes
    body = {field: value for field, value in body.items() if field in taken}
    path = row.path
    for each in row.in_path:
        path = path.replace(f"{{{each}}}", quote(str(body.pop(each)), safe=""))
    port = serving.worker if row.server == "worker" else serving.api

    reply = serving.send(
        row.method, path, json.dumps(body), {"Content-Type": "application/json"}, port=port
    )

    assert (reply.status, reply.json()["code"]) == (422, "invalid_request"), reply.body
    assert re.search(rf"\b{name}\b", reply.json()["error"]), reply.body
    assert len(reply.json()["error"]) < 400


def lines() -> Iterator[tuple[str, str]]:
    """Yield each command and its parameters that take a number."""
    rows = {row.operation: row for row in ENDPOINTS}
    for words, command in commands().items():
        row = rows.get(getattr(command, "operation", ""))
        taken = set(numeric_fields(row)) if row is not None else set()
        for parameter in command.params:
            name = str(parameter.name)
            if name in taken and row is not None and (row.operation, name) not in ASKED_FIRST:
                yield words, name


def write_line(command: click.Command, fields: dict[str, Any]) -> list[str]:
    """Return the arguments of *command* that give *fields*; those that it doesn't take are left
    out."""
    options, arguments = [], []
    for parameter in command.params:
        value = fields.get(
            str(parameter.name), fields.get("id") if parameter.name == "scenario_id" else None
        )
        if value is None:
            continue
        values = [str(each) for each in value] if isinstance(value, list) else [str(value)]
        if isinstance(parameter, click.Argument):
            arguments += values
        else:
            options += [part for each in values for part in (parameter.opts[0], each)]
    return [*options, "--", *arguments]


@pytest.mark.parametrize(("words", "name"), list(lines()))
def test_every_numeric_parameter_of_every_command(
    scenarioctl: Run, tmp_path: Path, words: str, name: str
) -> None:
    command = commands()[words]
    flow = tmp_path / "flow.toml"
    flow.write_text('[[steps]]\ntype = "Remark"\nchain = "polkadot"\ntext = "hello"\n' * 2)
    stored = scenarioctl("create", "--file", str(flow)).out.strip()
    scenarioctl("job", "start", stored, "--cron", "0 0 29 2 *")
    fields = {
        **EXAMPLES.get(getattr(command, "operation", ""), Example({})).request,
        **BESIDE.get(name, {}),
    }
    fields |= {field: stored for field in ("id", "scenario_id", "scenario") if field in fields}
    fields |= {"file": str(flow), "flow": str(flow), name: LONG}

    ended = scenarioctl("--offline", *words.split(), *write_line(command, fields))

    assert (ended.code, ended.out) == (2, ""), ended.err
    assert "Traceback" not in ended.err
    assert len(ended.err) < 600
