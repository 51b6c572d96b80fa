"""The HTTP servers over real sockets: what is refused and how, headers, methods, both servers,
clients that misbehave."""

import asyncio
import json
import logging
import re
import socket
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import Conflict
from scenarioctl.server.endpoints import ENDPOINTS
from tests import refusals
from tests.conftest import BOB, DATA
from tests.daemons import PATIENCE, wait_until
from tests.messages import says
from tests.serving import Reply, Serving

JSON = "application/json"
TRANSFER = {
    "sourchain": "assetHub",
    "destchain": "hydraDx",
    "assetid": "1984",
    "amount": 1000000,
    "destinationaddress": BOB,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(
        tmp_path_factory.mktemp("served"), body_limit=200_000, webhook_limit=1000
    ) as serving:
        yield serving


@pytest.fixture(scope="module")
def stored(served: Serving) -> str:
    return str(
        served.post("/api/create/remark", {"chain": "polkadot", "text": "hello"}).json()["result"]
    )


def refused(reply: Reply) -> tuple[int, str, str]:
    """Return status, code and sentence of a refusal, which has no more fields than it needs."""
    answer = reply.json()
    assert reply.headers["content-type"] == JSON
    assert list(refusals.refused(answer)) == ["error", "code"]
    return reply.status, answer["code"], answer["error"]


# What is wrong with a body, in the order in which it is looked at


def body(text: str | bytes, **headers: str) -> tuple[bytes, dict[str, str]]:
    return text.encode() if isinstance(text, str) else text, {"Content-Type": JSON, **headers}


#: What no line of data holds: bytes that aren't text, and what is large.
BEYOND_DATA: dict[str, tuple[tuple[bytes, dict[str, str]], int, str, Any]] = {
    "bad UTF-8": (body(b'{"sourchain": "\xff"}'), 400, "bad_json", says("body", "UTF-8")),
    "UTF-16": (body('{"a": 1}'.encode("utf-16")), 400, "bad_json", says("body", "UTF-8")),
    "deep": (
        body('{"amount":' + "[" * 50_000 + "]" * 50_000 + "}"),
        422,
        "invalid_request",
        says("body", "100"),
    ),
    "more digits than Python reads": (
        body(json.dumps({**TRANSFER, "amount": "0" * 5000 + "1"}).encode()),
        422,
        "invalid_request",
        says("amount", "000"),
    ),
    "too large": (body(b" " * 200_001), 413, "too_large", says("body", "200001", "200000")),
    "compressed": (
        body(b"\x1f\x8b", Content_Encoding="gzip"),
        415,
        "unsupported_type",
        says("body", "gzip"),
    ),
}
BAD_REQUESTS = tomllib.loads((DATA / "bad_requests.toml").read_text())["request"]


@pytest.mark.parametrize("row", BAD_REQUESTS, ids=lambda row: row["name"])
def test_a_bad_request_is_refused_in_one_sentence(served: Serving, row: dict[str, Any]) -> None:
    if "path" in row:
        reply = served.get(row["path"])
    else:
        kind = row.get("type", JSON)
        content = json.dumps({**TRANSFER, **row["transfer"]}) if "transfer" in row else row["body"]
        headers = {"Content-Type": kind} if kind else {}
        reply = served.send("POST", "/api/xcm/asset-transfer", content, headers)

    assert refused(reply) == (row["status"], row["code"], says(*row["says"]))


@pytest.mark.parametrize(("sent", "status", "code", "error"), BEYOND_DATA.values(), ids=BEYOND_DATA)
def test_a_bad_body_is_refused_in_one_sentence(
    served: Serving, sent: tuple[bytes, dict[str, str]], status: int, code: str, error: Any
) -> None:
    reply = served.send("POST", "/api/xcm/asset-transfer", *sent)

    assert refused(reply) == (status, code, error)


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON", 'application/json;charset="UTF8"']
)
def test_json_may_say_its_character_set(served: Serving, stored: str, kind: str) -> None:
    reply = served.send(
        "POST", "/api/scenario/info", json.dumps({"id": stored}), {"Content-Type": kind}
    )

    assert reply.json() == {"result": "polkadot > Remark"}


# Query strings


def test_a_post_reads_no_query_string(served: Serving, stored: str) -> None:
    reply = served.post(f"/api/scenario/info?id={stored}", {"id": stored})

    assert refused(reply) == (
        422,
        "invalid_request",
        says("query", stored=stored),
    )


def test_body_and_query_string_of_a_get_may_not_contradict(served: Serving, stored: str) -> None:
    path = f"/api/info/preview?scenario_id={stored}"
    headers = {"Content-Type": JSON}

    same = served.send("GET", path, json.dumps({"scenario_id": stored}), headers)
    other = served.send("GET", path, json.dumps({"scenario_id": "other"}), headers)

    assert same.status == 200
    assert refused(other) == (
        422,
        "invalid_request",
        says("scenario_id", "other", stored=stored),
    )


# Paths and methods


def test_the_short_path_of_the_channels_swallows_no_other(served: Serving) -> None:
    unknown = served.post("/api/openchannels", {"paraid": 2034})
    known = served.post("/polkadot/openchannels", {"paraid": 2034})

    assert refused(unknown)[:2] == (404, "not_found")
    assert refused(known)[:2] == (503, "chain_unreachable")


def test_a_path_of_the_other_server_says_who_has_it(tmp_path: Path) -> None:
    with Serving(tmp_path, role="worker") as serving:
        asked = serving.post("/api/scenario/delete", {"id": "x"})

    assert (asked.status, asked.json()) == (
        404,
        {
            "success": False,
            "error": says("scenario", "API"),
            "code": "not_found",
        },
    )


def test_each_role_serves_its_rows(tmp_path: Path) -> None:
    found: dict[str, dict[str, set[str]]] = {}
    for role in ("all", "api", "worker"):
        with Serving(tmp_path, role=role) as serving:
            found[role] = {
                name: {
                    row.server
                    for row in ENDPOINTS
                    # GET is wrong for most; what counts is that the path is known.
                    if serving.send(
                        "PUT", row.path.replace("{", "").replace("}", ""), port=port
                    ).status
                    == 405
                }
                for name, port in (("api", serving.api), ("worker", serving.worker))
                if port
            }

    assert found == {
        "all": {"api": {"api", "worker", "both"}, "worker": {"worker", "both"}},
        "api": {"api": {"api", "worker", "both"}},
        "worker": {"worker": {"worker", "both"}},
    }


def test_a_wrong_method_is_told_the_right_one(served: Serving) -> None:
    replies = {
        method: served.send(method, "/api/scenario/info")
        for method in ("GET", "PUT", "DELETE", "HEAD")
    }

    assert {
        method: (reply.status, reply.headers["allow"]) for method, reply in replies.items()
    } == dict.fromkeys(replies, (405, "POST, OPTIONS"))
    assert refused(replies["GET"]) == (
        405,
        "method_not_allowed",
        says("GET", "POST"),
    )
    assert replies["HEAD"].body == b""


@pytest.mark.parametrize(
    ("method", "path", "flag"),
    [
        ("GET", "/api/create/swap", "success"),
        ("POST", "/api/create/swap/", "success"),
        ("POST", "/api/contracts/contract-info", "sucess"),
        ("GET", "/api/template/getUrl/", "success"),
        ("POST", "/job/started", "success"),
        ("POST", "/api/scenario/shown", ""),
    ],
)
def test_a_refused_path_has_the_flag_of_the_one_that_was_meant(
    served: Serving, method: str, path: str, flag: str
) -> None:
    reply = served.send(method, path)

    assert reply.status in (404, 405)
    assert {**reply.json(), "error": "", "code": ""} == {
        "error": "",
        "code": "",
        **({flag: False} if flag else {}),
    }


def test_head_answers_as_get_without_the_body(served: Serving) -> None:
    get, head = served.get("/healthz"), served.send("HEAD", "/healthz")

    assert (head.status, head.body) == (200, b"")
    assert {**head.headers, "x-request-id": "", "date": ""} == {
        **get.headers,
        "x-request-id": "",
        "date": "",
    }


# Headers


#: Answers: of handlers, refusals before a handler, pages and files. Method, path, body, headers and
#: status.
ANSWERS: dict[str, tuple[str, str, Any, dict[str, str], int]] = {
    "JSON": ("GET", "/api/scenarios", None, {}, 200),
    "an error": ("POST", "/api/scenario/info", b'{"id": "nope"}', {"Content-Type": JSON}, 404),
    "an error of the body": ("POST", "/api/scenario/info", b"{", {"Content-Type": JSON}, 400),
    "an unknown path": ("GET", "/nope", None, {}, 404),
    "a path that isn't text": ("GET", "/%ff", None, {}, 400),
    "another method": ("DELETE", "/api/scenarios", None, {}, 405),
    "methods": ("OPTIONS", "/api/scenarios", None, {}, 204),
    "a foreign page": ("GET", "/api/scenarios", None, {"Origin": "https://evil.example"}, 403),
    "HEAD": ("HEAD", "/healthz", None, {}, 200),
    "a page of metrics": ("GET", "/metrics", None, {}, 200),
    "the page": ("GET", "/", None, {}, 200),
    "a file": ("GET", "/web/main.js", None, {}, 200),
    "a picture": ("GET", f"/web/identicon/{BOB}.svg", None, {}, 200),
    "a code": ("POST", "/web/vault", b'{"payload": "0x01"}', {"Content-Type": JSON}, 200),
    "a stream": ("HEAD", "/job/events", None, {}, 200),
    "a request that is not HTTP": ("GET", "/", None, {"Content-Length": "-1"}, 400),
}


@pytest.mark.parametrize("given", ANSWERS.values(), ids=ANSWERS)
def test_every_answer_says_what_a_browser_may_do_with_it(
    served: Serving, given: tuple[str, str, Any, dict[str, str], int]
) -> None:
    method, path, sent, headers, status = given
    reply = served.send(method, path, sent, headers)

    assert reply.status == status
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith("base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    assert reply.headers["cross-origin-opener-policy"] == "same-origin"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["server"] == "scenarioctl"
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", reply.headers["date"])
    if not path.startswith("/web/") and path != "/":
        assert reply.headers["cache-control"] == "no-store"


def test_a_request_id_is_taken_over_where_it_is_sane(served: Serving) -> None:
    given = served.get("/healthz", X_Request_Id="trace-1.2_3").headers["x-request-id"]
    made = [
        served.get("/healthz", X_Request_Id=strange).headers["x-request-id"]
        for strange in ("", "a b", "x" * 65, "ä", 'a"b')
    ]

    assert given == "trace-1.2_3"
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", each) for each in made)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    ("spelled", "plain"), [("1.5e23", "150000000000000000000000"), ("1000000.0", "1000000")]
)
def test_a_number_is_exact_whatever_its_spelling(served: Serving, spelled: str, plain: str) -> None:
    def build(number: str) -> list[Any]:
        call = {"chain": "polkadot", "pallet": "Balances", "method": "transferKeepAlive"}
        sent = [
            ("/api/xcm/asset-transfer", {**TRANSFER, "amount": "N"}),
            ("/api/tx/call", {**call, "args": [BOB, "N"]}),
            ("/api/tx/call", {**call, "args": {"dest": BOB, "value": "N"}}),
        ]
        bodies = [(path, json.dumps(body).replace('"N"', number)) for path, body in sent]
        return [
            served.send("POST", path, body, {"Content-Type": JSON}).json() for path, body in bodies
        ]

    built = build(spelled)

    assert built == build(plain)
    assert not any("error" in each for each in built)


def test_a_null_is_left_out_and_a_chain_has_several_names(served: Serving) -> None:
    plain = served.post("/api/xcm/asset-transfer", TRANSFER).json()

    for more in (
        {"destchain": None, "deschain": "hydraDx"},
        {"deschain": None},
        {"deschain": "HYDRADX"},
        {"deschain": "hydration"},
    ):
        assert served.post("/api/xcm/asset-transfer", {**TRANSFER, **more}).json() == plain
    assert served.get("/api/scenarios?chain=assetHub&chain=ASSETHUB").status == 200


def test_a_chain_that_has_closed_is_counted(served: Serving) -> None:
    assert served.get("/api/template/stats/Moonbeam").json() == {"Amount": 0}
    node = {"id": "c", "type": "chain", "formData": {"chain": "MoonBeam"}}
    served.post("/saveUrl", {"url": json.dumps({"nodes": [node], "edges": []})})

    assert served.get("/api/template/stats/moon-beam").json() == {"Amount": 1}
    assert len(served.get("/api/scenarios?chain=moonbeam").json()["scenarios"]) == 1
    assert served.get("/api/template/stats/moon").status == 404


def test_warnings_travel_in_a_header(served: Serving) -> None:
    reply = served.post("/api/xcm/asset-transfer", TRANSFER)

    assert json.loads(unquote(reply.headers["scenarioctl-warnings"])) == [
        says("Polkadot Asset Hub", "delivery", "0.1 DOT", "FeesNotMet")
    ]
    assert json.loads(unquote(reply.headers["scenarioctl-notes"])) == [says("USDt", "1")]


# Errors of operations


@pytest.mark.parametrize(
    "bug", [RuntimeError, ValueError, RecursionError, TimeoutError, KeyError, MemoryError]
)
def test_a_bug_is_500_with_a_request_id_and_its_traceback_in_the_log_only(
    served: Serving,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    bug: type[Exception],
) -> None:
    async def break_down(*_: object) -> None:
        raise bug("secret detail")

    monkeypatch.setattr(served.app.store, "get_scenario", break_down)
    with caplog.at_level(logging.ERROR):
        reply = served.post("/api/scenario/info", {"id": "x"}, X_Request_Id="mine-1")

    assert (reply.status, reply.json()) == (
        500,
        {
            "error": says("scenarioctl", "mine-1"),
            "code": "bug",
        },
    )
    (record,) = [each for each in caplog.records if each.__dict__.get("request_id") == "mine-1"]
    assert record.getMessage() == says("answering", "POST")
    assert record.__dict__["request_id"] == "mine-1"
    assert record.exc_info is not None


# Tokens, limits, origins: their rules have tests of their own, here is that they are asked


def test_too_many_requests_are_told_when_to_come_back(tmp_path: Path) -> None:
    with Serving(tmp_path, rate=2, clock=lambda: 100.0) as serving:
        replies = [serving.get("/healthz") for _ in range(3)]

    last = replies[-1]
    assert [reply.status for reply in replies[:2]] == [200, 200]
    assert last.status == 429
    assert last.headers["retry-after"] == "1"
    assert last.json()["code"] == "rate_limited"


# Clients that misbehave, byte by byte


def converse(port: int, *parts: bytes, pause: float = 0.0, until: bytes = b"") -> bytes:
    """Send *parts*, and return what comes until the server closes or *until* has come."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except ConnectionError:
                # It has answered, and reads no more.
                break
            if pause:
                time.sleep(pause)
        received = b""
        while not until or until not in received:
            try:
                data = connection.recv(65536)
            except ConnectionResetError:
                break
            if not data:
                break
            received += data
    return received


def head(
    path: str = "/api/scenario/info", *lines: str, method: str = "POST", version: str = "1.1"
) -> bytes:
    return "\r\n".join(
        [f"{method} {path} HTTP/{version}", "Host: 127.0.0.1", *lines, "", ""]
    ).encode()


def status_and_code(received: bytes) -> tuple[int, str]:
    first, _, content = received.partition(b"\r\n\r\n")
    return int(first.split()[1]), str(json.loads(content)["code"])


def chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_a_large_length_is_refused_before_its_body_comes(served: Serving) -> None:
    lines = ("Content-Length: 200001", f"Content-Type: {JSON}", "Expect: 100-continue")

    received = converse(served.api, head("/api/scenario/info", *lines), until=b'"}')

    assert status_and_code(received) == (413, "too_large")
    assert b"100 Continue" not in received


def test_what_may_run_for_hours_takes_no_large_body(served: Serving) -> None:
    reply = served.post("/job/run", b'{"id": "abc"' + b" " * 70_000 + b"}", port=served.worker)

    assert (reply.status, reply.json()["error"]) == (413, says("body", "70013", "65536"))


def test_a_read_is_given_up_when_its_client_goes(
    served: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def wait(_: str) -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    monkeypatch.setattr(served.app.store, "get_scenario", wait)
    with socket.create_connection(("127.0.0.1", served.api), timeout=PATIENCE) as connection:
        content = b'{"id": "x"}'
        connection.sendall(
            head("/api/scenario/info", f"Content-Type: {JSON}", f"Content-Length: {len(content)}")
            + content
        )
        assert begun.wait(PATIENCE)

    assert ended.wait(PATIENCE)


# How the daemon is


def test_it_says_that_it_lives_is_ready_and_which_version_it_is(served: Serving) -> None:
    import platform

    from scenarioctl import __version__

    assert served.get("/healthz").json() == {
        "status": "ok",
        "store": "file",
        "store_from": "default",
    }
    assert served.get("/readyz").json() == {"status": "ready"}
    assert served.get("/version").json() == {
        "name": "scenarioctl",
        "version": __version__,
        "python": platform.python_version(),
        "role": "all",
        "offline": True,
    }


def test_it_is_not_ready_while_it_stops_or_its_store_or_worker_do_not_answer(
    tmp_path: Path,
) -> None:
    class Stuck:
        @property
        def last_beat(self) -> float:
            return time.monotonic() - 60.2

    async def fail() -> int:
        raise Conflict("the store is locked")

    with Serving(tmp_path) as serving:
        context: Any = serving.servers.context
        context.worker = Stuck()
        stuck = serving.get("/readyz")
        context.worker = None
        serving.app.store.count_scenarios = fail  # type: ignore[assignment,method-assign]
        locked = serving.get("/readyz")
        context.is_stopping = True
        stopping = serving.get("/readyz")
        lives = serving.get("/healthz")

    assert refused(stuck) == (503, "not_ready", says("worker", "60 seconds"))
    assert refused(locked) == (503, "not_ready", says("store", "answer"))
    assert refused(stopping) == (503, "not_ready", says("daemon", "stopping"))
    assert lives.status == 200


def test_metrics_count_by_endpoint_and_no_client_can_add_a_label(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        made = serving.post("/api/create/remark", {"chain": "polkadot", "text": "x"}).json()[
            "result"
        ]
        serving.post("/job/start", {"id": made, "every": "1h"})
        for number in range(5):
            serving.get(f"/nope/{number}")
            serving.get(f"/api/template/stats/chain{number}")
        converse(serving.api, b"GARBAGE\r\n\r\n")
        reply = serving.get("/metrics")

    text = reply.body.decode()
    assert reply.headers["content-type"].startswith("text/plain; version=")
    lines = [line for line in text.splitlines() if line.startswith("scenarioctl_requests_total")]
    assert sorted(lines) == [
        'scenarioctl_requests_total{endpoint="/api/create/remark",server="api",status="200"} 1.0',
        (
            'scenarioctl_requests_total{endpoint="/api/template/stats/{chain}",server="api",'
            'status="404"} 5.0'
        ),
        'scenarioctl_requests_total{endpoint="/job/start",server="api",status="200"} 1.0',
        'scenarioctl_requests_total{endpoint="none",server="api",status="404"} 5.0',
    ]
    for line in (
        "scenarioctl_store_up 1.0",
        "scenarioctl_scenarios 1.0",
        'scenarioctl_jobs{state="running"} 1.0',
        'scenarioctl_request_seconds_bucket{endpoint="/job/start",le="+Inf",server="api"} 1.0',
    ):
        assert line in text.splitlines()


def test_each_request_is_logged_without_its_secrets(
    served: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="scenarioctl.http"):
        served.post(
            "/webhook/6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d",
            {},
            X_Request_Id="logged",
            Authorization="Bearer sctl_secret",
        )

    # Of a client that left in an earlier test, another one may come late.
    (record,) = [each for each in caplog.records if each.__dict__.get("request_id") == "logged"]
    assert record.getMessage() == "POST /webhook/{uuid} 404"
    assert (record.__dict__["request_id"], record.__dict__["status"]) == ("logged", 404)
    assert "sctl_secret" not in str(record.__dict__)
    assert "6f1c1c5e" not in str(record.__dict__)


# -- clients that leave
# --------------------------------------------------------------------------------------------


def creating(served: Serving) -> socket.socket:
    """Return a connection on which a remark has been sent to be created."""
    body = b'{"chain": "polkadot", "text": "gm"}'
    head = (
        "POST /api/create/remark HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        f"application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", served.api))
    connection.sendall(head.encode() + body)
    return connection


def test_a_write_that_has_begun_is_done_though_its_client_leaves(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def arrange(app: Application) -> None:
        put = app.store.put_scenario

        async def slow(*given: Any, **more: Any) -> None:
            begun.set()
            await asyncio.to_thread(go_on.wait, PATIENCE)
            await put(*given, **more)

        app.store.__dict__["put_scenario"] = slow

    with Serving(tmp_path, arrange=arrange) as served:
        with creating(served):
            assert begun.wait(PATIENCE)
        wait_until(lambda: served.limits.open == 0)
        go_on.set()
        wait_until(lambda: not served.servers.context.writes)
        count = served.wait_for(lambda app: app.store.count_scenarios())

    assert count == 1
