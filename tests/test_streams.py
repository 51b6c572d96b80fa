"""`/job/events`: what jobs log and draft arrives as it happens, once, and from where a client left
off."""

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import Conflict
from scenarioctl.model.jobs import FinishedRun, Retention
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.server import streams
from scenarioctl.server.access import new_token
from scenarioctl.server.streams import read_position
from tests.daemons import PATIENCE, wait_until
from tests.messages import Says, says
from tests.serving import Serving


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.setattr(streams, "_PAUSE", 0.02)
    with Serving(tmp_path) as serving:
        yield serving


@pytest.fixture
def stored(served: Serving) -> str:
    return str(
        served.post("/api/create/remark", {"chain": "polkadot", "text": "hello"}).json()["result"]
    )


def run(served: Serving, scenario: str) -> None:
    assert served.post("/job/run", {"id": scenario}).status == 200


async def keep_lines(app: Application, lines: tuple[str, ...]) -> None:
    """Keep a run of a new scenario whose log has these lines."""
    made = await create_remark(app, CreateRemark(chain="polkadot", text="x"))
    ended = FinishedRun(
        job=made.answer["result"], epoch=None, planned=0, started=0, finished=0, lines=lines
    )
    await app.store.finish_run(ended, retention=Retention())


class Stream:
    """A client that reads events one by one."""

    def __init__(
        self,
        served: Serving,
        path: str,
        *,
        port: int = 0,
        seen: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", port or served.worker, timeout=PATIENCE
        )
        more = {"Last-Event-ID": seen} if seen else {}
        self._connection.request("GET", path, headers={**(headers or {}), **more})
        self.response = self._connection.getresponse()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self._connection.close()

    def block(self) -> dict[str, str]:
        """Return the fields of what comes next; a comment's name is empty."""
        found: dict[str, str] = {}
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if not line:
                return found
            name, _, value = line.partition(":")
            found[name] = value.removeprefix(" ")

    def event(self) -> tuple[str, str, Any]:
        """Return kind, id and data of the next event."""
        while "data" not in (found := self.block()):
            pass
        return found["event"], found["id"], json.loads(found["data"])

    def until(self, text: str) -> list[tuple[str, str, Any]]:
        """Return the events up to the line *text*."""
        found = [self.event()]
        while found[-1][2].get("text") != text:
            found.append(self.event())
        return found


def test_what_was_there_comes_first_and_then_what_happens(served: Serving, stored: str) -> None:
    run(served, stored)
    with Stream(served, f"/job/events?id={stored}") as stream:
        headers = dict(stream.response.getheaders())
        first = stream.block()
        before = stream.until("workload executed")
        drafted = stream.event()
        run(served, stored)
        after = stream.until("workload executed")

    assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert first == {"retry": "2000"}
    assert {kind for kind, _, _ in before} == {"log"}
    assert before[-1][2].keys() == {"id", "date", "text"}
    assert drafted[0] == "mempool"
    assert drafted[2].pop("Date") < drafted[2].pop("expires")
    assert UUID(drafted[2].pop("uuid")).version == 4
    assert drafted[2].pop("node").startswith("action_")
    assert drafted[2] == {
        "id": stored,
        "seq": 1,
        "chain": "polkadot",
        "amount": "0",
        "txType": "Remark",
        "tx": "0x240400071468656c6c6f",
        "spec_version": 2000000,
        "state": "current",
    }
    assert after[-1][2]["text"] == "workload executed"


@pytest.mark.parametrize("how", ["after", "Last-Event-ID"])
def test_a_client_goes_on_where_it_left_off(served: Serving, stored: str, how: str) -> None:
    run(served, stored)
    with Stream(served, f"/job/events?id={stored}") as stream:
        stream.until("workload executed")
        _, last, _ = stream.event()
    run(served, stored)

    if how == "after":
        again = Stream(served, f"/job/events?id={stored}&after={last}")
    else:
        again = Stream(served, f"/job/events?id={stored}&after=0.0", seen=last)
    with again:
        lines = again.until("workload executed")
        kind, name, _ = again.event()

    told, drafted = read_position(last)
    assert read_position(lines[0][1]) == (told + 1, drafted)
    assert [each for each in lines if each[2]["text"] == "workload executed"] == [lines[-1]]
    assert (kind, read_position(name)[1]) == ("mempool", drafted + 1)


def test_a_stream_can_begin_with_the_newest_lines(served: Serving, stored: str) -> None:
    for _ in range(3):
        run(served, stored)
    with Stream(served, f"/job/events?id={stored}") as stream:
        everything = [each for _ in range(3) for each in stream.until("workload executed")]
    with Stream(served, f"/job/events?id={stored}&tail=1") as stream:
        newest = stream.until("workload executed")
    with Stream(served, f"/job/events?id={stored}&tail=1&after={everything[0][1]}") as stream:
        resumed = stream.until("workload executed")

    logged = [each for each in everything if each[0] == "log"]
    assert [(read_position(each[1])[0], each[2]) for each in newest if each[0] == "log"] == [
        (read_position(logged[-1][1])[0], logged[-1][2])
    ]
    assert resumed[0] == everything[1]


def test_without_an_id_all_jobs_are_followed(served: Serving, stored: str) -> None:
    other = served.post("/api/create/remark", {"chain": "polkadot", "text": "other"}).json()[
        "result"
    ]
    with Stream(served, "/job/events") as stream:
        run(served, stored)
        first = stream.until("workload executed")
        run(served, other)
        second = [each for each in stream.until("workload executed") if each[0] == "log"]

    assert {event[2]["id"] for event in first} == {stored}
    assert {event[2]["id"] for event in second} == {other}


@pytest.mark.parametrize(
    ("query", "status", "error"),
    [
        ("?id=nope", 404, says("scenario", "nope")),
        ("?after=x", 422, says("x", "event")),
        ("?after=-1.2", 422, says("-1.2", "event")),
        ("?jobs=x", 422, says("field", "jobs")),
    ],
)
def test_what_cannot_be_followed_is_said_before_the_stream_begins(
    served: Serving, query: str, status: int, error: Says
) -> None:
    reply = served.get(f"/job/events{query}", port=served.worker)

    assert (reply.status, reply.json()["error"]) == (status, error)


@pytest.mark.parametrize("after", ["{line}.99", "99.0"])
def test_a_client_that_has_read_more_than_was_restored_hears_of_it(
    served: Serving, stored: str, after: str
) -> None:
    """After a restore to an earlier time, it would hear of nothing until new events have passed its
    cursor."""
    served.post("/job/run", {"id": stored}, port=served.worker)
    line, _ = served.wait_for(lambda app: app.store.find_end())
    after = after.format(line=line)
    replies = [
        served.get(f"/job/events?after={after}", port=served.worker),
        served.post("/scenario/worker/logs", {"id": stored, "after": 99}, port=served.worker),
        served.post("/scenario/tx", {"id": stored, "after": 99}, port=served.worker),
        served.post("/job/runs", {"id": stored, "after": 99}, port=served.worker),
    ]

    assert [reply.status for reply in replies] == [410, 410, 410, 410]
    for reply, given in zip(replies, (after, 99, 99, 99), strict=True):
        assert reply.json()["code"] == "stale_cursor"
        assert reply.json()["error"] == says("lost", "beginning", "uuid", after=given)
    at_end = served.post("/scenario/worker/logs", {"id": stored, "after": line}, port=served.worker)
    assert (at_end.status, at_end.json()["result"]) == (200, [])


def test_a_silent_stream_says_that_it_lives(
    served: Serving, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_HEARTBEAT", 0.05)
    with Stream(served, f"/job/events?id={stored}") as stream:
        blocks = [stream.block() for _ in range(3)]

    assert blocks == [{"retry": "2000"}, {"": "alive"}, {"": "alive"}]


def test_streams_are_bounded_and_leave_nothing_behind(
    served: Serving, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "STREAMS", 2)
    monkeypatch.setattr(streams, "_HEARTBEAT", 0.05)
    path = f"/job/events?id={stored}"
    with Stream(served, path), Stream(served, path):
        refused = served.get(path, port=served.worker)
        open_ = served.servers.context.metrics.streams
    wait_until(lambda: not served.servers.context.metrics.streams)

    assert (refused.status, refused.headers["retry-after"], refused.json()["code"]) == (
        429,
        "5",
        "rate_limited",
    )
    assert refused.json()["error"] == says("2", "streams")
    assert open_ == 2


def test_a_stop_ends_streams_cleanly(served: Serving, stored: str) -> None:
    with Stream(served, f"/job/events?id={stored}") as stream:
        stream.block()
        started = time.monotonic()
        served.stop()

        assert stream.response.read() == b""
    # Not the 5 that requests have.
    assert time.monotonic() - started < 4.5


def test_a_token_that_is_taken_away_hears_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(streams, "_PAUSE", 0.02)
    made = [new_token() for _ in range(2)]
    tokens = {
        f"t{number}": {"sha256": digest, "scopes": ["read"]}
        for number, (_, digest) in enumerate(made)
    }

    async def write(app: Application) -> None:
        await keep_lines(app, ("secret",))

    with Serving(tmp_path, tokens=tokens) as serving:
        given = [{"Authorization": f"Bearer {token}"} for token, _ in made]
        with (
            Stream(serving, "/job/events", headers=given[0]) as gone,
            Stream(serving, "/job/events", headers=given[1]) as kept,
        ):
            blocks = [gone.block(), kept.block()]
            serving.access.change(replace(serving.settings, tokens={"t1": tokens["t1"]}))
            serving.wait_for(write)
            heard = kept.event()[2]["text"]
            with pytest.raises(http.client.IncompleteRead, match="0 bytes"):
                gone.response.read()

    assert blocks == [{"retry": "2000"}] * 2
    assert heard == "secret"
    assert "a response was broken off: this daemon does not know the token" in caplog.text


def test_a_store_that_fails_for_a_moment_ends_no_stream(
    served: Serving, stored: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, failures = served.app.store.change_token, iter(range(3))

    async def fail() -> str:
        if next(failures, None) is not None:
            raise Conflict("the store is locked")
        return await real()

    monkeypatch.setattr(served.app.store, "change_token", fail)
    with Stream(served, f"/job/events?id={stored}") as stream:
        stream.block()
        run(served, stored)

        assert stream.until("workload executed")
    assert (
        caplog.text.count("event streams cannot read changes of the store: the store is locked")
        == 1
    )
