"""The examples of `/openapi.json` work as copied, and an error about a wrong value in one names the
field as it was sent."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from scenarioctl.model.request_fields import field_aliases
from scenarioctl.operations import find_handler
from scenarioctl.server.endpoints import ENDPOINTS, EXAMPLES, Endpoint
from scenarioctl.server.openapi import describe
from scenarioctl.stores.asking import Operation
from tests.serving import Reply, Serving

DOCUMENT = json.loads(json.dumps(describe(ENDPOINTS)))
ID = "Xq3b9LmZt"
UUID = EXAMPLES["webhooks.list_events"]["uuid"]
REMARKS = [{"type": "Remark", "chain": "polkadot", "text": text} for text in ("hello", "bye")]
#: These need no field that is in a request.
NOT_OF_A_FIELD = {"chain_unreachable", "conflict"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        steps = [{"type": "webhook", "name": "hook", "uuid": UUID}]
        serving.post("/api/create/flow", {"flow": {"steps": steps}, "syntax": "json"})
        # Who signs in the examples is one of them.
        members = [EXAMPLES["multisigs.approve_operation"]["sender"], "0x" + "22" * 32]
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
    served.wait_for(lambda app: app.store.write(forget_deleted))
    share = served.share  # type: ignore[attr-defined]
    assert served.post("/saveUrl", {"url": share, "id": ID}).status == 200
    return served


def forget_deleted() -> Operation[None]:
    yield "DELETE FROM deleted_scenarios", {}


def examples() -> Iterator[Any]:
    """Give method, path and body of each example of the document."""
    for path, methods in DOCUMENT["paths"].items():
        for method, described in methods.items():
            filled, query = path, []
            for each in described.get("parameters", ()):
                name, example = each["name"], each.get("example", "")
                if each["in"] == "path":
                    filled = filled.replace(f"{{{name}}}", str(example))
                elif "example" in each:
                    query.append((name, example))
            if query:
                filled += "?" + urlencode(query, doseq=True)
            content = described.get("requestBody", {}).get("content", {})
            body = content.get("application/json", {}).get("example", {})
            yield pytest.param(method.upper(), filled, body, id=path)


@pytest.mark.parametrize(("method", "path", "body"), list(examples()))
def test_an_example_works_as_copied(stored: Serving, method: str, path: str, body: Any) -> None:
    if method == "POST":
        reply = stored.post(path, json.dumps(body).encode())
    else:
        # A stream doesn't end.
        reply = stored.send("HEAD" if "/events" in path else method, path)

    # Nothing is wrong with the request. Without a chain some can't be answered, and no event or run
    # has that number yet.
    assert reply.status in (200, 503) or (path, reply.status) in (
        ("/job/steps", 404),
        ("/job/pause", 409),
        ("/job/resume", 409),
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
    example = EXAMPLES.get(row.operation, {})
    described = DOCUMENT["paths"][row.path][row.method.lower()]
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    names = {each["name"] for each in described["parameters"]} | body.get("schema", {}).get(
        "properties", {}
    ).keys()
    if getattr(request_type, "whole_body", ""):
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
