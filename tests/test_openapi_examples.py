"""The examples of `/docs` work as copied, and an error about a wrong value in one names the field
as it was sent."""

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest

from scenarioctl.model.request_fields import field_aliases, field_rows
from scenarioctl.operations import find_handler
from scenarioctl.server.endpoints import ENDPOINTS, Endpoint
from scenarioctl.server.examples import EXAMPLES, Example
from scenarioctl.server.openapi import describe
from scenarioctl.server.reference import write_reference
from scenarioctl.server.schemas import request_schema
from tests.messages import says
from tests.serving import Reply, Serving

DOCUMENT = json.loads(json.dumps(describe(ENDPOINTS)))
COMMANDS = re.findall("<pre>(curl .*?)</pre>", write_reference(DOCUMENT))
ID = "Xq3b9LmZt"
UUID = EXAMPLES["webhooks.list_events"].request["uuid"]
REMARKS = [{"type": "Remark", "chain": "polkadot", "text": text} for text in ("hello", "bye")]
#: These need no field that is in a request.
NOT_OF_A_FIELD = {"chain_unreachable", "conflict"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        steps = [{"type": "webhook", "name": "hook", "uuid": UUID}]
        serving.post("/api/create/flow", {"flow": {"steps": steps}, "syntax": "json"})
        # Who signs in the examples is one of them.
        members = [EXAMPLES["multisigs.approve_operation"].request["sender"], "0x" + "22" * 32]
        serving.post(
            "/api/address/add", {"name": "council", "threshold": 2, "signatories": members}
        )
        drawn = serving.post(
            "/api/create/flow", {"flow": {"steps": REMARKS}, "syntax": "json"}
        ).json()
        share = serving.get(f"/getUrl/{drawn['result']}").json()["longUrl"]
        serving.share = share  # type: ignore[attr-defined]
        yield serving


@pytest.fixture
def stored(served: Serving) -> Serving:
    """Return the servers, whose store has the scenario of the examples as if it were new."""
    # One that another test named `? wrong` would be what a wrong id means.
    named = [
        row["id"] for row in served.get("/api/scenarios").json()["scenarios"] if row.get("name")
    ]
    served.post("/job/stop", {"id": ID})
    for id in (ID, *named):
        served.post("/api/scenario/delete", {"id": id})
    assert served.post("/saveUrl", {"url": served.share, "id": ID}).status == 200  # type: ignore[attr-defined]
    return served


def name_of(command: str) -> str:
    return unescape(command).split('"')[1].partition("?")[0]


@pytest.mark.parametrize("command", COMMANDS, ids=name_of)
def test_an_example_works_as_copied(stored: Serving, command: str) -> None:
    words = shlex.split(unescape(command))
    path = words[1].removeprefix("$URL")
    if path == "/api/notify/test":
        pytest.skip("it sends to the address in it")
    if "-d" in words:
        reply = stored.post(path, words[words.index("-d") + 1].encode())
    else:
        # A stream doesn't end.
        reply = stored.send("HEAD" if "/events" in path else "GET", path)

    assert len(words) == (6 if "-d" in words else 2)
    # Nothing is wrong with the request. Without a chain some can't be answered, and no event or run
    # has that number yet.
    assert reply.status in (200, 503) or (path, reply.status) in (
        ("/api/webhooks/replay", 404),
        ("/job/steps", 404),
        ("/job/pause", 409),
        ("/job/resume", 409),
        ("/job/reschedule", 409),
    )


def send(serving: Serving, row: Endpoint, fields: dict[str, Any]) -> Reply:
    path = row.path
    for name in row.in_path:
        path = path.replace(f"{{{name}}}", quote(str(fields.pop(name)), safe=""))
    body = json.dumps(fields)
    return serving.send(row.method, path, body, {"Content-Type": "application/json"})


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.operation)
def test_an_error_names_the_field_that_was_sent(stored: Serving, row: Endpoint) -> None:
    _, request_type = find_handler(row.operation)
    example = EXAMPLES.get(row.operation, Example({})).request
    described = DOCUMENT["paths"][row.path][row.method.lower()]
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    names = {each["name"] for each in described["parameters"]} | body.get("schema", {}).get(
        "properties", {}
    ).keys()
    if (
        getattr(request_type, "whole_body", "")
        or row.operation == "notifications.send_test_notification"
    ):
        names = set()
    wrong: list[Any] = ["? wrong", -7, {"wrong": 1}, ["wrong"]]
    others = []
    for name in sorted(names):
        for value in wrong[: 1 if name in row.in_path else None]:
            reply = send(stored, row, {**example, name: value})
            answer = reply.json()
            if reply.status == 200 or answer["code"] in NOT_OF_A_FIELD:
                continue
            blamed = re.split(r"[.\[]", answer.get("field", ""))[0]
            # Where two fields exclude each other, the sentence names both.
            other = field_aliases(request_type).get(name, name)
            both = re.search(rf"\b(and {other}|{other}\b.* (and|needs))\b", answer["error"])
            if blamed != name and not both:
                others.append((name, value, answer))

    assert others == []


LISTS = [row for row in ENDPOINTS if "limit" in find_handler(row.operation)[1].__dataclass_fields__]


@pytest.mark.parametrize("row", LISTS, ids=lambda row: row.operation)
def test_a_list_has_at_least_one_row(stored: Serving, row: Endpoint) -> None:
    example = EXAMPLES[row.operation].request
    refused = send(stored, row, {**example, "limit": 0})
    schema = request_schema(find_handler(row.operation)[1])

    assert (refused.status, refused.json()["field"]) == (422, "limit")
    assert send(stored, row, {**example, "limit": 1}).status in (200, 503)
    assert schema["properties"]["limit"]["minimum"] == 1


#: Endpoints of the original interface, whose names stay, and those that speak the web editor's
#: share format.
OF_THE_INTERFACE = {
    "scenarios.scenario_info",
    "scenarios.full_scenario_info",
    "scenarios.import_scenario",
    "scenarios.export_scenario",
    "jobs.start_job",
    "jobs.stop_job",
    "jobs.job_log",
    "jobs.job_mempool",
}


def names_an_id(row: Endpoint) -> bool:
    fields = field_rows(find_handler(row.operation)[1])
    return any(field["name"] == "id" and field["unit"] == "ID" for field in fields)


@pytest.mark.parametrize("row", [*filter(names_an_id, ENDPOINTS)], ids=lambda row: row.operation)
def test_the_id_of_a_scenario_has_one_name_in_our_own_endpoints(
    stored: Serving, row: Endpoint
) -> None:
    properties = request_schema(find_handler(row.operation)[1])["properties"]

    assert ("scenario" in properties) == (row.operation not in OF_THE_INTERFACE)
    if "scenario" not in properties:
        return
    example = {**EXAMPLES[row.operation].request}
    differing = send(stored, row, {**example, "id": "abcdefghi"})
    others = {name: value for name, value in example.items() if name != "scenario"}
    missing = send(stored, row, {**others})
    assert (differing.status, differing.json()["field"]) == (422, "scenario")
    assert differing.json()["error"] == says("Xq3b9LmZt", "abcdefghi")
    assert (missing.status, missing.json()["field"]) == (422, "scenario")
    for name in ("scenario", "id", "scenario_id", "scenarioid", "job"):
        answer = send(stored, row, {**others, name: "abcdefghi"}).json()
        assert (answer["code"], answer["field"], answer["value"]) == (
            "not_found",
            name,
            "abcdefghi",
        )
