"""`/openapi.json`: OpenAPI 3.1 of the tables of endpoints, pages, answers and outcomes, and of the requests' own fields."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from scenarioctl import __version__
from scenarioctl.operations.outcomes import OUTCOMES
from scenarioctl.server.answers import ANSWERS, PAGE_ANSWERS
from scenarioctl.server.decoding import ALIASES, Decoder, Shape, decoder_of
from scenarioctl.server.endpoints import PAGES, Endpoint, find_handler
from scenarioctl.server.streams import FollowJobs

_JSON = "application/json"
_JSON_TYPES = {
    "text": "string",
    "a number": "number",
    "a whole number": "integer",
    "true or false": "boolean",
    "a list": "array",
    "an object": "object",
}
#: Module of operations, or page -> what its endpoints are about.
_TAGS = {
    "scenarios": "Scenarios",
    "creation": "Scenarios",
    "previews": "Scenarios",
    "templates": "Scenarios",
    "transfers": "Transactions",
    "decoded_transactions": "Transactions",
    "transaction_checks": "Transactions",
    "signed_transactions": "Transactions",
    "broadcasts": "Transactions",
    "chains": "Chains",
    "swap_quotes": "Chains",
    "channels": "Chains",
    "queries": "Chains",
    "contracts": "Chains",
    "jobs": "Jobs",
    "webhooks": "Webhooks",
    "": "Daemon",
}
#: What can go wrong anywhere, before an operation is asked.
_ANYWHERE = ("bad_request", "unauthorized", "forbidden", "invalid_request", "rate_limited", "bug")
_WITH_BODY = ("bad_json", "too_slow", "too_large", "unsupported_type")
_OF_OPERATIONS = (
    "not_found",
    "conflict",
    "chain_refused",
    "chain_unreachable",
    "store_busy",
    "store_failed",
)
#: Operation or page -> what else it answers with.
_OF_SOME = {"run_job": ("timed_out", "request_failed"), "readiness": ("not_ready",), "events": ("not_found",)}


def describe(
    endpoints: Sequence[Endpoint], served: Set[str] = frozenset({"api", "worker", "both"})
) -> dict[str, Any]:
    """Return the OpenAPI document of a server that has the rows of *served*: of the port that is asked, not of another."""
    paths: dict[str, dict[str, Any]] = {}
    for row in (*endpoints, *PAGES):
        if row.server not in served:
            continue
        for number, path in enumerate((row.path, *row.also)):
            described = _page(row) if row.operation in PAGE_ANSWERS else _operation(row)
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
                "Every transaction is unsigned; no key is ever here. Bodies are JSON in UTF-8. A field that is null counts "
                "as left out. Every failed request answers `error`, one sentence, and `code`."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(_TAGS.values())],
        "paths": paths,
        "components": {
            "schemas": {"Error": _error_schema()},
            "responses": {str(status): _refusal(codes) for status, codes in _by_status(OUTCOMES).items()},
            "headers": {
                "X-Request-Id": {
                    "description": "The client's own where it sent one, for the log.",
                    "schema": {"type": "string"},
                },
                "Scenarioctl-Notes": _sentences("What is worth knowing"),
                "Scenarioctl-Warnings": _sentences("What should be heeded"),
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Wanted only where the daemon has tokens; each is good for some of: read, create, broadcast, jobs.",
                }
            },
        },
    }


def _operation(row: Endpoint) -> dict[str, Any]:
    _, request_type = find_handler(row)
    decoder = decoder_of(row, request_type)
    answered = ANSWERS[row.operation]
    module, _, name = row.operation.partition(".")
    notes = field_notes(request_type)
    parameters = [
        {
            "name": each,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
            "description": notes.get(each, ""),
            "example": answered.request.get(each, ""),
        }
        for each in decoder.in_path
    ]
    example = {key: value for key, value in answered.request.items() if key not in decoder.in_path}
    described: dict[str, Any] = {
        "operationId": name,
        "tags": [_TAGS[module]],
        "summary": _summary(request_type),
        "description": _scope(row.scope),
        "parameters": parameters,
    }
    codes = [*_ANYWHERE, *_OF_OPERATIONS, *_OF_SOME.get(name, ())]
    if row.method == "GET":
        parameters += [_query(shape, notes, example) for shape in decoder.given.values()]
        if decoder.given:
            described["description"] += " The fields may come in a JSON body too, as some clients send them."
    else:
        codes += _WITH_BODY
        described["requestBody"] = _body(decoder, notes, example)
    described["responses"] = {
        "200": {
            "description": "Done.",
            "headers": {
                "X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"},
                "Scenarioctl-Notes": {"$ref": "#/components/headers/Scenarioctl-Notes"},
                "Scenarioctl-Warnings": {"$ref": "#/components/headers/Scenarioctl-Warnings"},
            },
            "content": {_JSON: _content(answered.schema, answered.answer)},
        },
        **_refusals(codes, row.flag),
    }
    described["security"] = [{}, {"token": []}] if row.scope != "open" else [{}]
    return described


def _page(row: Endpoint) -> dict[str, Any]:
    schema, kind, summary = PAGE_ANSWERS[row.operation]
    described: dict[str, Any] = {
        "operationId": row.operation,
        "tags": ["Jobs" if row.operation == "events" else _TAGS[""]],
        "summary": summary,
        "description": _scope(row.scope),
        "responses": {
            "200": {
                "description": "Done.",
                "headers": {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}},
                "content": {kind: {"schema": schema}},
            },
            **_refusals([*_ANYWHERE, *_OF_SOME.get(row.operation, ())], ""),
        },
        "security": [{}, {"token": []}] if row.scope != "open" else [{}],
    }
    if row.operation == "events":
        decoder = Decoder(FollowJobs)
        notes = field_notes(FollowJobs)
        described["parameters"] = [
            *(_query(shape, notes, {}) for shape in decoder.given.values()),
            {
                "name": "Last-Event-ID",
                "in": "header",
                "schema": {"type": "string"},
                "description": "As browsers send it when they connect anew; goes before `after`.",
            },
        ]
    return described


def _body(decoder: Decoder, notes: Mapping[str, str], example: Mapping[str, Any]) -> dict[str, Any]:
    if decoder.whole_body:
        name = decoder.whole_body
        return {
            "required": True,
            "description": notes.get(name, ""),
            "content": {_JSON: {"schema": {}, "example": example.get(name)}},
        }
    content: dict[str, Any] = {"schema": body_schema(decoder, notes)}
    if example:
        content["example"] = dict(example)
    needed = any(shape.required for shape in decoder.given.values())
    return {"required": needed, "content": {_JSON: content}}


def body_schema(decoder: Decoder, notes: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of the bodies that *decoder* reads, as far as types go."""
    properties = {name: _field(shape, notes.get(name, "")) for name, shape in decoder.given.items()}
    required = [name for name, shape in decoder.given.items() if shape.required]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    for alias, name in ALIASES.items():
        if name in properties:
            properties[alias] = {**properties[name], "description": f"Another spelling of {name}."}
            if name in required:
                required.remove(name)
                schema["anyOf"] = [{"required": [name]}, {"required": [alias]}]
    if required:
        schema["required"] = required
    return schema


def _field(shape: Shape, note: str) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    names = [_JSON_TYPES[kind] for kind in shape.kinds]
    if "number" in names:
        names = [name for name in names if name != "integer"]
    if names:
        if not shape.required or shape.nullable:
            names.append("null")
        schema["type"] = names if len(names) > 1 else names[0]
    if note:
        schema["description"] = note
    if not shape.required and shape.default not in (None, "", ()):
        schema["default"] = shape.default
    return schema


def _query(shape: Shape, notes: Mapping[str, str], example: Mapping[str, Any]) -> dict[str, Any]:
    schema = _field(shape, "")
    kinds = schema.get("type", "string")
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    # All text is text in a query string.
    schema["type"] = "string" if "string" in kinds else kinds[0]
    if schema["type"] == "string" and "default" in schema:
        schema["default"] = str(schema["default"])
    described: dict[str, Any] = {
        "name": shape.name,
        "in": "query",
        # Or in the body: only both together can be missing.
        "required": shape.required,
        "schema": schema,
    }
    if notes.get(shape.name):
        described["description"] = notes[shape.name]
    if shape.name in example:
        value = example[shape.name]
        described["example"] = str(value) if schema["type"] == "string" else value
    return described


def _sentences(what: str) -> dict[str, Any]:
    return {
        "description": f"{what}: a list of sentences for people, percent-encoded JSON, at most 4 kB; left out where there is nothing.",
        "schema": {"type": "string"},
    }


def _content(schema: Any, example: Any) -> dict[str, Any]:
    return {"schema": schema} if example is None else {"schema": schema, "example": example}


def _scope(scope: str) -> str:
    if scope == "open":
        return "Asks for no token."
    return f"Where the daemon has tokens: one that is good for `{scope}`."


def _summary(request_type: type) -> str:
    first = (inspect.getdoc(request_type) or "").partition("\n")[0]
    return first.rstrip(".")


def _by_status(outcomes: Mapping[str, Any]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for code, outcome in outcomes.items():
        if code != "daemon_unreachable":
            found.setdefault(outcome.status, []).append(code)
    return dict(sorted(found.items()))


def _refusals(codes: Iterable[str], flag: str) -> dict[str, Any]:
    statuses = sorted({OUTCOMES[code].status for code in codes})
    if not flag:
        return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses}
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Error"}],
        "properties": {flag: {"type": "boolean", "const": False}},
        "required": [flag],
    }
    by_status = _by_status(OUTCOMES)
    return {
        str(status): {
            "description": ", ".join(f"`{code}`" for code in by_status[status]),
            "content": {_JSON: {"schema": schema}},
        }
        for status in statuses
    }


def _refusal(codes: Sequence[str]) -> dict[str, Any]:
    return {
        "description": ", ".join(f"`{code}`" for code in codes),
        "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _error_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "What every failed request answers; some say more in further fields.",
        "properties": {
            "error": {"type": "string", "description": "One sentence: field, value, what would work."},
            "code": {"type": "string", "enum": [code for code in OUTCOMES if code != "daemon_unreachable"]},
        },
        "required": ["error", "code"],
    }


@cache
def field_notes(request_type: type) -> Mapping[str, str]:
    """Return what the `#:` comments beside the fields of *request_type*, its own and inherited ones, say."""
    found: dict[str, str] = {}
    for each in reversed(request_type.__mro__):
        if not is_dataclass(each):
            continue
        comment: list[str] = []
        for line in inspect.getsource(each).splitlines():
            text = line.strip()
            if text.startswith("#:"):
                comment.append(text[2:].strip())
                continue
            named = re.match(r"([A-Za-z_][A-Za-z0-9_]*)\s*:", text)
            if named and comment:
                found[named[1]] = " ".join(comment)
            comment = []
    return found
