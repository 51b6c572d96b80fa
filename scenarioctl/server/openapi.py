"""`/openapi.json`: OpenAPI 3.1, made from the table of endpoints, the types of requests and
answers, and the outcomes."""

import inspect
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from scenarioctl import __version__
from scenarioctl.model.request_fields import field_aliases, field_notes
from scenarioctl.operations import answer_type, find_handler
from scenarioctl.operations.results import OUTCOMES
from scenarioctl.server.decoding import Schema, answer_schemas, kinds_of, request_schema
from scenarioctl.server.endpoints import EXAMPLES, PAGES, Endpoint, Page
from scenarioctl.server.streams import TOPICS

_JSON = "application/json"
#: Module of operations -> tag of its endpoints; empty for pages.
_TAGS = {
    "scenarios": "Scenarios",
    "creation": "Scenarios",
    "payouts": "Scenarios",
    "scenario_changes": "Scenarios",
    "previews": "Scenarios",
    "builds": "Transactions",
    "views": "Transactions",
    "payload": "Transactions",
    "signed_transactions": "Transactions",
    "broadcasts": "Transactions",
    "transaction_status": "Transactions",
    "transaction_history": "Transactions",
    "chains": "Chains",
    "assets": "Chains",
    "asset_traps": "Chains",
    "balances": "Chains",
    "addresses": "Chains",
    "multisigs": "Transactions",
    "swap_quotes": "Chains",
    "queries": "Chains",
    "jobs": "Jobs",
    "job_runs": "Jobs",
    "job_changes": "Jobs",
    "webhooks": "Webhooks",
    "notifications": "Notifications",
    "stores": "Daemon",
    "status": "Daemon",
    "": "Daemon",
}
#: Event stream -> its tag.
_STREAMS = {"events": "Jobs", "transaction_events": "Transactions"}
#: Errors of every path, before the handler runs.
_COMMON_ERRORS = (
    "bad_request",
    "unauthorized",
    "forbidden",
    "invalid_request",
    "rate_limited",
    "bug",
)
_BODY_ERRORS = ("bad_json", "too_slow", "too_large", "unsupported_type")
_OPERATION_ERRORS = (
    "not_found",
    "conflict",
    "chain_refused",
    "chain_unreachable",
    "store_busy",
    "store_failed",
    "store_unavailable",
    "not_ready",
)
#: Operation or page -> its other errors.
_OTHER_ERRORS = {
    "run_job": ("timed_out", "request_failed"),
    "readiness": ("not_ready",),
    "events": ("not_found",),
    "transaction_events": ("not_found", "chain_refused", "chain_unreachable"),
    **dict.fromkeys(
        ("create_scenario", "create_swap", "create_remark", "create_flow", "broadcast"), ("warned",)
    ),
}


def describe(
    endpoints: Sequence[Endpoint], served: Set[str] = frozenset({"api", "worker", "both"})
) -> dict[str, Any]:
    """Return the OpenAPI document of a server that has the rows of *served*."""
    rows = [row for row in (*endpoints, *PAGES) if row.server in served]
    types = [row.answer if isinstance(row, Page) else answer_type(row.operation) for row in rows]
    answers, schemas = answer_schemas(types, "components/schemas")
    paths: dict[str, dict[str, Any]] = {}
    for row, answer in zip(rows, answers, strict=True):
        for number, path in enumerate((row.path, *row.also)):
            described = _page(row, answer) if isinstance(row, Page) else _operation(row, answer)
            if number:
                described = {**described, "operationId": f"{described['operationId']}_{number + 1}"}
            paths.setdefault(path, {})[row.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "scenarioctl",
            "version": __version__,
            "summary": "Scenarios, unsigned transactions and jobs",
            "description": (
                "Transactions are unsigned, and the daemon holds no keys. Bodies are JSON "
                "in UTF-8. A null field counts as "
                "left out. A failed request returns `error`, a sentence, and `code`."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(_TAGS.values())],
        "paths": paths,
        "components": {
            "schemas": {"Error": _error_schema(), **dict(sorted(schemas.items()))},
            "responses": {
                str(status): _refusal(status, {"$ref": "#/components/schemas/Error"})
                for status in _BY_STATUS
            },
            "headers": {
                "X-Request-Id": {
                    "description": (
                        "The id of the request in the log; the client's own if it sent one."
                    ),
                    "schema": {"type": "string"},
                },
                "Scenarioctl-Ids": {
                    "description": (
                        "The ids of scenarios that the request names otherwise, as a "
                        "percent-encoded JSON object."
                    ),
                    "schema": {"type": "string"},
                },
                "Scenarioctl-Notes": _sentences("Notes"),
                "Scenarioctl-Warnings": _sentences("Warnings"),
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": (
                        "Required if the daemon has tokens. Each token has some of the scopes "
                        "read, create, broadcast, jobs."
                    ),
                }
            },
        },
    }


def _operation(row: Endpoint, answer: Schema) -> dict[str, Any]:
    _, request_type = find_handler(row.operation)
    example = EXAMPLES.get(row.operation, {})
    module, _, name = row.operation.partition(".")
    parameters = [
        {
            "name": each,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
            "description": field_notes(request_type).get(each, ""),
            "example": example.get(each, ""),
        }
        for each in row.in_path
    ]
    given = {key: value for key, value in example.items() if key not in row.in_path}
    described: dict[str, Any] = {
        "operationId": name,
        "tags": [_TAGS[module]],
        "summary": _summary(request_type),
        "description": _scope(row.scope),
        "parameters": parameters,
    }
    codes = [*_COMMON_ERRORS, *_OPERATION_ERRORS, *_OTHER_ERRORS.get(name, ())]
    if row.method == "GET":
        query = _parameters(request_type, row.in_path, given)
        parameters += query
        if query:
            described["description"] += " The fields may also be sent in a JSON body."
    else:
        if hasattr(request_type, "whole_body"):
            beside = (*row.in_path, request_type.whole_body)
            parameters += _parameters(request_type, beside, given, place="header")
        codes += _BODY_ERRORS
        described["requestBody"] = _body(request_type, row.in_path, given)
    headers = ("X-Request-Id", "Scenarioctl-Ids", "Scenarioctl-Notes", "Scenarioctl-Warnings")
    described["responses"] = {
        "200": _success(_JSON, {"schema": answer}, headers),
        **_refusals(codes, row.flag),
    }
    described["security"] = _security(row)
    return described


def _page(row: Page, answer: Schema) -> dict[str, Any]:
    codes = [*_COMMON_ERRORS, *_OTHER_ERRORS.get(row.operation, ())]
    described: dict[str, Any] = {
        "operationId": row.operation,
        "tags": [_STREAMS.get(row.operation, _TAGS[""])],
        "summary": row.summary,
        "description": _scope(row.scope),
        "responses": {
            "200": _success(row.content_type, {"schema": answer}, ("X-Request-Id",)),
            **_refusals(codes, ""),
        },
        "security": _security(row),
    }
    if row.operation in TOPICS:
        asked, _ = TOPICS[row.operation]
        described["parameters"] = _parameters(asked, (), EXAMPLES.get(row.operation, {}))
    if row.operation == "events":
        last_event = {
            "name": "Last-Event-ID",
            "in": "header",
            "schema": {"type": "string"},
            "description": "As browsers send it when they reconnect; overrides `after`.",
        }
        described["parameters"].append(last_event)
    return described


def _success(content_type: str, content: dict[str, Any], headers: Sequence[str]) -> dict[str, Any]:
    return {
        "description": "Done.",
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
        "content": {content_type: content},
    }


def _security(row: Endpoint) -> list[dict[str, list[str]]]:
    return [{}] if row.scope == "open" else [{}, {"token": []}]


def _body(request_type: type, in_path: Sequence[str], example: Mapping[str, Any]) -> dict[str, Any]:
    whole_body = getattr(request_type, "whole_body", "")
    if whole_body:
        note = field_notes(request_type).get(whole_body, "")
        anything: Schema = {"schema": {}, "example": example.get(whole_body)}
        return {"required": True, "description": note, "content": {_JSON: anything}}
    schema = request_schema(request_type, leave_out=in_path)
    needed = "required" in schema
    _add_aliases(schema, field_aliases(request_type))
    content = {"schema": schema, "example": dict(example)} if example else {"schema": schema}
    return {"required": needed, "content": {_JSON: content}}


def _add_aliases(schema: Schema, aliases: Mapping[str, str]) -> None:
    """Add the other names of fields; of a field that is required, one of its names is, and null
    counts as left out."""
    properties, required = schema["properties"], schema.get("required", [])
    for name in {each: None for each in aliases.values() if each in properties}:
        others = [alias for alias, each in aliases.items() if each == name]
        properties |= {
            other: {**properties[name], "description": f"Another spelling of {name}."}
            for other in others
        }
        if name in required:
            required.remove(name)
            either, kinds = (name, *others), kinds_of(properties[name])
            for each in either:
                properties[each] = {**properties[each], "type": [*kinds, "null"]}
            schema["anyOf"] = [
                {"required": [each], "properties": {each: {"type": kinds}}} for each in either
            ]


def _parameters(
    request_type: type,
    in_path: Sequence[str],
    example: Mapping[str, Any],
    *,
    place: str = "query",
) -> list[dict[str, Any]]:
    schema = request_schema(request_type, leave_out=in_path)
    required = schema.get("required", ())
    found = []
    for name, each in schema["properties"].items():
        kinds = [kind for kind in kinds_of(each) if kind != "null"]
        # All text is text in a query string.
        kind = "string" if "string" in kinds else kinds[0]
        text: Schema = {"type": kind}
        if "enum" in each:
            text["enum"] = [value for value in each["enum"] if value is not None]
        text |= {
            bound: each[bound]
            for bound in ("minimum", "maximum")
            if bound in each and kind != "string"
        }
        if "default" in each:
            text["default"] = str(each["default"]) if kind == "string" else each["default"]
        parameter = {"name": name, "in": place, "required": name in required, "schema": text}
        if "description" in each:
            parameter["description"] = each["description"]
        if name in example:
            parameter["example"] = str(example[name]) if kind == "string" else example[name]
        found.append(parameter)
    return sorted(found, key=lambda parameter: not parameter["required"])


def _sentences(what: str) -> dict[str, Any]:
    return {
        "description": (
            f"{what} for people: a list of sentences, as percent-encoded JSON, at most 4 kB. "
            "Left out if there are none."
        ),
        "schema": {"type": "string"},
    }


def _scope(scope: str) -> str:
    if scope == "open":
        return "Requires no token."
    return f"If the daemon has tokens, requires one with the scope `{scope}`."


def _summary(request_type: type) -> str:
    first = (inspect.getdoc(request_type) or "").partition("\n\n")[0]
    return " ".join(first.split()).rstrip(".")


#: Status -> its codes.
_BY_STATUS: dict[int, list[str]] = {}
for _code, _outcome in sorted(OUTCOMES.items(), key=lambda item: item[1].status):
    if _code != "daemon_unreachable":
        _BY_STATUS.setdefault(_outcome.status, []).append(_code)


def _refusals(codes: Iterable[str], flag: str) -> dict[str, Any]:
    statuses = sorted({OUTCOMES[code].status for code in codes})
    if not flag:
        return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses}
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Error"}],
        "properties": {flag: {"type": "boolean", "const": False}},
        "required": [flag],
    }
    return {str(status): _refusal(status, schema) for status in statuses}


def _refusal(status: int, schema: Schema) -> dict[str, Any]:
    described = ", ".join(f"`{code}`" for code in _BY_STATUS[status])
    return {"description": described, "content": {_JSON: {"schema": schema}}}


def _error_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "The answer of every failed request. Some have more fields.",
        "properties": {
            "error": {
                "type": "string",
                "description": "One sentence: the field, its value, and what to do.",
            },
            "code": {
                "type": "string",
                "enum": [code for code in OUTCOMES if code != "daemon_unreachable"],
            },
            "field": {"type": "string", "description": "The field at fault, or the path to it."},
            "value": {"description": "Its value, a long one cut as in the sentence."},
            "expected": {"type": "string", "description": "What would have worked."},
            "advice": {
                "type": "string",
                "description": "The end of `error`: other fields, or commands, that help.",
            },
        },
        "required": ["error", "code"],
    }
