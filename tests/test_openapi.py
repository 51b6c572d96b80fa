"""`/openapi.json` says what the servers do."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from scenarioctl.operations import find_handler
from scenarioctl.operations.results import OUTCOMES
from scenarioctl.server.access import SCOPES
from scenarioctl.server.decoding import Decoder, request_schema
from scenarioctl.server.endpoints import ENDPOINTS, EXAMPLES, PAGES, Endpoint
from scenarioctl.server.openapi import describe
from tests.serving import Serving

DOCUMENT = json.loads(json.dumps(describe(ENDPOINTS)))
WORKER = json.loads(json.dumps(describe(ENDPOINTS, {"worker", "both"})))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        yield serving


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, described in methods.items():
            yield method, path, described


def test_it_is_what_the_servers_give(served: Serving) -> None:
    replies = [served.get("/openapi.json", port=port) for port in (served.api, served.worker)]

    assert [reply.json() for reply in replies] == [DOCUMENT, WORKER]


def test_it_is_valid_openapi_3_1() -> None:
    from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

    OPENAPI_31_VALIDATOR.validate(DOCUMENT)


def test_every_schema_in_it_is_valid_json_schema() -> None:
    def schemas(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            if "schema" in value:
                yield value["schema"]
            for each in value.values():
                yield from schemas(each)
        elif isinstance(value, list):
            for each in value:
                yield from schemas(each)

    found = list(schemas(DOCUMENT))

    assert len(found) > 100
    for schema in found:
        jsonschema_rs.meta.validate(schema)


def test_every_path_of_the_tables_is_in_it_and_no_other() -> None:
    tables = {
        (row.method.lower(), path) for row in (*ENDPOINTS, *PAGES) for path in (row.path, *row.also)
    }

    assert {(method, path) for method, path, _ in operations()} == tables


def test_every_code_stands_beside_its_status() -> None:
    said = {
        (int(status), code)
        for status, response in DOCUMENT["components"]["responses"].items()
        for code in re.findall("`([a-z_]+)`", response["description"])
    }

    # That one is of clients: no daemon says that there is none.
    assert said == {
        (outcome.status, code) for code, outcome in OUTCOMES.items() if code != "daemon_unreachable"
    }


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.operation)
def test_an_endpoint_is_described_with_fields_answer_and_example(row: Endpoint) -> None:
    described = DOCUMENT["paths"][row.path][row.method.lower()]
    _, request_type = find_handler(row.operation)
    decoder = Decoder(request_type, in_path=row.in_path)

    assert described["summary"]
    assert row.scope in (*SCOPES, "open")
    named = {each["name"] for each in described["parameters"]}
    if row.method == "GET":
        assert named == {*decoder.in_path, *decoder.given}
    else:
        assert named == {*decoder.in_path, *(decoder.given if decoder.whole_body else ())}
    shown = EXAMPLES.get(row.operation, {})
    example = {key: value for key, value in shown.items() if key not in decoder.in_path}
    if decoder.whole_body:
        decoder.decode(example[decoder.whole_body], dict.fromkeys(decoder.in_path, "x"))
    else:
        jsonschema_rs.validate(request_schema(request_type, decoder.in_path), example)
        decoder.decode(example, dict.fromkeys(decoder.in_path, "x"))
    # As tools copy it: an example that is cut short is none.
    assert "…" not in json.dumps(example, ensure_ascii=False)


def test_answers_may_get_more_fields_and_requests_may_not() -> None:
    answers = [
        each for name, each in DOCUMENT["components"]["schemas"].items() if "properties" in each
    ]
    requests = [
        each["requestBody"]["content"]["application/json"]["schema"]
        for _, _, each in operations()
        if "application/json" in each.get("requestBody", {}).get("content", {})
    ]

    assert len(answers) > 20
    assert all("additionalProperties" not in each for each in answers)
    closed = [each for each in requests if "properties" in each]
    assert len(closed) > 20
    assert all(each["additionalProperties"] is False for each in closed)
