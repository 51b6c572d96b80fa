"""docs/security.md says the limits that the program has."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from scenarioctl import contracts as contract
from scenarioctl.actions import flow_files
from scenarioctl.chains import connection, websocket
from scenarioctl.chains.connection import TIMEOUTS
from scenarioctl.config import Settings
from scenarioctl.formats import documents
from scenarioctl.model import diagram, toml
from scenarioctl.model.jobs import SECOND
from scenarioctl.model.notifications import MAX_TARGETS, MAX_URL
from scenarioctl.operations import notifications, runs, webhooks
from scenarioctl.operations.jobs import MEMPOOL_PAGE
from scenarioctl.outgoing import client as outgoing
from scenarioctl.render import picture, svg
from scenarioctl.runtime import metadata, scale, type_table
from scenarioctl.server import bodies, pages, servers, streams
from scenarioctl.stores.rows import LONGEST_LINE, PORTION
from scenarioctl.transactions import call_builder, extrinsic
from scenarioctl.worker import notifier
from tests.conftest import ROOT

DEFAULTS = Settings(config=Path(), store="", cache=Path())
#: Row -> column -> the constants that its cell names.
LIMITS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "JSON of any kind": {
        "bytes": (documents.MAX_BYTES,),
        "values": (documents.MAX_VALUES, documents.MAX_ESCAPES),
        "depth": (diagram.MAX_DEPTH,),
    },
    "diagram, also unpacked from a share string": {
        "bytes": (documents.MAX_BYTES,),
        "values": (
            diagram.MAX_NODES,
            diagram.MAX_EDGES,
            documents.MAX_VALUES,
            diagram.MAX_CHAIN_VALUES,
        ),
        "depth": (diagram.MAX_DEPTH,),
    },
    "flow file in TOML": {
        "bytes": (flow_files.MAX_BYTES,),
        "values": (toml.MAX_VALUES, toml.MAX_WORD),
        "depth": (toml.MAX_KEY_PARTS,),
    },
    "transaction, call data, or signing payload": {
        "bytes": (extrinsic.LARGEST,),
        "values": (scale.MAX_CALL_VALUES,),
        "depth": (scale.MAX_DEPTH,),
    },
    "text of a remark": {"bytes": (call_builder.MAX_BYTES,)},
    "body of a request": {
        "bytes": (DEFAULTS.body_limit, bodies.LARGE),
        "values": (documents.MAX_VALUES, documents.MAX_ESCAPES),
        "depth": (diagram.MAX_DEPTH,),
        "time": (DEFAULTS.request_seconds,),
    },
    "bodies above 64 KiB, all on their way together": {"bytes": (bodies.LARGE_AT_ONCE,)},
    "event of a webhook": {
        "bytes": (DEFAULTS.webhook_limit,),
        "values": (documents.MAX_VALUES,),
        "depth": (diagram.MAX_DEPTH,),
        "time": (DEFAULTS.request_seconds,),
    },
    "payload for `/web/vault`": {
        "bytes": (pages.PAYLOAD_LIMIT,),
        "time": (DEFAULTS.request_seconds,),
    },
    "costly work: pictures, large bodies, diagrams and transactions": {
        "values": (bodies.AT_ONCE,),
        "time": (bodies.WAITING_SECONDS,),
    },
    "picture": {
        "values": (picture.MOST_CARDS, picture.MOST_EDGES, svg.MOST_PIXELS, svg.MOST_DRAWN),
    },
    "header of a request": {
        "bytes": (servers.LINE_MAX,),
        "values": (servers.HEADERS_MAX,),
        "time": (DEFAULTS.request_seconds,),
    },
    "type of a contract's argument": {
        "bytes": (contract.LENGTH_MAX,),
        "depth": (contract.DEPTH_MAX,),
    },
    "arguments of a contract's messages, all together": {"bytes": (contract.DESCRIPTION_MAX,)},
    "lines of a job's log that are kept": {
        "bytes": (LONGEST_LINE,),
        "values": (DEFAULTS.log_lines,),
    },
    "drafts of a job that are kept": {
        "values": (DEFAULTS.mempool_entries,),
    },
    "events of a webhook that are kept": {
        "values": (DEFAULTS.webhook_events,),
    },
    "drafts in one portion of an event stream": {
        "bytes": (PORTION,),
        "values": (streams.PORTION,),
    },
    "drafts in one page of `/scenario/tx`": {"bytes": (PORTION,), "values": (MEMPOOL_PAGE,)},
    "portion of a long list that is read and sent at a time": {
        "bytes": (PORTION,),
        "values": (runs.LINES, MEMPOOL_PAGE, webhooks.EVENTS),
    },
    "one exchange with a node": {
        "bytes": (connection.LARGEST,),
        "values": (connection.MOST_VALUES, connection.MOST_NOTICES),
        "time": (TIMEOUTS.answering, TIMEOUTS.prompt),
    },
    "opening a connection to a node": {
        "bytes": (websocket.HEADER_BYTES,),
        "values": (websocket.HEADERS,),
        "time": (TIMEOUTS.opening,),
    },
    "waiting notifications of a subscription": {
        "bytes": (connection.NOTICE_BYTES,),
        "values": (connection.MOST_NOTICES,),
        "time": (TIMEOUTS.answering,),
    },
    "metadata of a runtime": {"bytes": (metadata.MAX_BYTES,)},
    "SCALE bytes that are decoded": {"values": (scale.MAX_VALUES,), "depth": (scale.MAX_DEPTH,)},
    "the name of a type": {"values": (type_table.NAME_PARTS,)},
    "body of an answer to an http step": {"bytes": (outgoing.MAX_BODY,)},
    "notifications of a job that wait": {
        "bytes": (MAX_URL,),
        "values": (notifier.MOST_OF_JOB, MAX_TARGETS),
        "time": (notifier.GIVE_UP_AFTER / SECOND, notifications.TIMEOUT),
    },
    "a run of a job without a `timeout`": {"time": (DEFAULTS.run_seconds,)},
}


def read_table() -> dict[str, dict[str, str]]:
    text = (ROOT / "docs" / "security.md").read_text().partition("\n## Limits\n")[2]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


def written(value: float, column: str) -> str:
    """Return *value* as the table writes it: `16 MiB`, `10 000`, `0.25 s`."""
    if column == "time":
        return f"{value:g} s"
    number, unit = int(value), ""
    if column == "bytes":
        for size, name in ((1024**2, " MiB"), (1024, " KiB")):
            if number % size == 0:
                number, unit = number // size, name
                break
    return f"{number:,}".replace(",", " ") + unit


def test_every_row_is_held_to_the_program() -> None:
    assert set(read_table()) == set(LIMITS)


@pytest.mark.parametrize("row", LIMITS)
def test_a_row_says_what_the_program_does(row: str) -> None:
    cells = read_table()[row]

    for column, values in LIMITS[row].items():
        for value in values:
            assert written(value, column) in cells[column], (row, column)
    for column in ("bytes", "values", "depth", "time"):
        assert cells[column], f"{row} says nothing on {column}"
        assert column in LIMITS[row] or not any(letter.isdigit() for letter in cells[column]), (
            row,
            column,
        )
