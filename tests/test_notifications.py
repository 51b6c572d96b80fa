"""Notifications: where they are sent, what they say, and that each arrives whatever happens to
worker and receiver."""

import asyncio
import base64
import json
import logging
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.jobs import SECOND
from scenarioctl.model.json_types import timestamp
from scenarioctl.model.notifications import (
    NotificationEvent,
    describe_target,
    read_targets,
)
from scenarioctl.operations import notifications
from scenarioctl.operations.creation import CreateFlow, CreateRemark, create_flow, create_remark
from scenarioctl.operations.jobs import (
    JobStatus,
    StartJob,
    StopJob,
    job_status,
    start_job,
    stop_job,
)
from scenarioctl.operations.notifications import (
    NotificationText,
    build_request,
    send_test,
)
from scenarioctl.worker import notifier
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.worker import Worker
from tests.conftest import ROOT
from tests.daemons import PATIENCE, free_port, is_open, wait_until
from tests.messages import says
from tests.receivers import SECRET, is_signed, receiving

HOUR = 3600 * SECOND
HOOK = "https://hooks.example.org/T0/secret"
OTHER_SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()
#: A flow whose only step fails at every run: nobody listens there.
BROKEN = """
[[steps]]
type = "http"
url = "http://127.0.0.1:1/"
"""


def guide(language: str) -> str:
    """Return the first example of docs/notifications.md in a language."""
    text = (ROOT / "docs" / "notifications.md").read_text()
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return found[0]


class TestTargets:
    @pytest.mark.parametrize(
        ("given", "read"),
        [
            (HOOK, (HOOK,)),
            (f"{HOOK}, {HOOK} ,{HOOK}2", (HOOK, HOOK + "2")),
            ([HOOK], (HOOK,)),
            ("none", ()),
            (["none"], ()),
            ("", ()),
            ([], ()),
        ],
    )
    def test_texts_and_lists(self, given: object, read: object) -> None:
        assert read_targets(given) == read

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ("hooks.example.org/secret", ("hooks.example.org", "https://")),
            ("https://me:secret@/secret", ("https://",)),
            ("https://hooks.example.org/a secret", ("hooks.example.org",)),
            ("https://hooks.example.org/" + "secret" * 400, ("2426", 2000)),
            ([{"url": "https://x.org/secret"}], ("web address",)),
            ([f"https://x.org/{number}" for number in range(11)], (11, 10)),
            (5, ("list",)),
            ("https://hooks.example.org:0?key=secret", ("https://hooks.example.org:0",)),
            ("hooks.example.org?key=secret", ("hooks.example.org",)),
            ("hooks.example.org/secret?to=https://x.org", ("hooks.example.org",)),
            ("me:secret@hooks.example.org", ("hooks.example.org",)),
        ],
    )
    def test_refusals_quote_no_secret(self, given: object, words: tuple[object, ...]) -> None:
        with pytest.raises(InvalidRequest) as refused:
            read_targets(given)

        assert str(refused.value) == says("notify", *words)
        assert "secret" not in str(refused.value)

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("https://hooks.example.org/T0/secret", "https://hooks.example.org/…"),
            ("https://me:secret@hooks.example.org:8443", "https://hooks.example.org:8443"),
            ("https://[::1]:80/?secret", "https://[::1]:80/…"),
        ],
    )
    def test_what_is_shown_of_one(self, url: str, shown: str) -> None:
        assert describe_target(url) == shown


MESSAGE = NotificationText(
    id="msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
    event=NotificationEvent.DRAFT_READY,
    created=1_674_087_231 * SECOND,
    job="3kf9Qz7aB",
    name="Löhne",
    summary="polkadot > Remark",
    drafts=(12, 13),
    uuids=("0b7e2f4c-5f0e-4d1a-9a52-6d1f5b7c8e90", None),
    link="https://scenarios.example.org/#/create/?diagramData=3kf9Qz7aB",
)


class TestRequest:
    def test_its_object_is_that_of_the_guide(self) -> None:
        request = build_request(MESSAGE, url=HOOK, secret="", now=999)
        content = json.loads(request.body)

        assert (request.method, request.url, request.retries) == ("POST", HOOK, 0)
        assert request.content_type == "application/json"
        assert "webhook-signature" not in dict(request.headers)
        assert content == {
            "type": "draft_ready",
            "timestamp": "2023-01-19T00:13:51.000000000Z",
            "data": {
                "job": "3kf9Qz7aB",
                "name": "Löhne",
                "summary": "polkadot > Remark",
                "drafts": [12, 13],
                "uuids": ["0b7e2f4c-5f0e-4d1a-9a52-6d1f5b7c8e90", None],
                "expires": None,
                "reason": None,
                "url": "https://scenarios.example.org/#/create/?diagramData=3kf9Qz7aB",
            },
        }
        shown = json.loads(guide("json"))
        assert (shown.keys(), shown["data"].keys()) == (content.keys(), content["data"].keys())

    def test_the_signature_is_that_of_the_standard(self) -> None:
        now = time.time_ns()
        request = build_request(MESSAGE, url=HOOK, secret=SECRET, now=now)
        headers, body = dict(request.headers), request.body.encode()

        assert headers["webhook-id"] == MESSAGE.id
        assert headers["webhook-timestamp"] == str(now // SECOND)
        assert is_signed(headers, body)
        assert not is_signed(headers, body + b" ")


# Delivered by a worker


class Clock:
    """The time, which a test may set forward."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return time.time_ns() + self.ahead


def application(tmp_path: Path, clock: Clock | None = None, **settings: Any) -> Application:
    given = {
        "offline": True,
        "store": tmp_path / "s.db",
        "cache": tmp_path,
        "private_targets": ["127.0.0.1"],
        "notify_secret": SECRET,
        "public_url": "https://sc.example.org/",
        **settings,
    }
    return Application(load_settings(given, {}), clock=clock or Clock(), served=True)


PACE = Pace(poll=0.02, notifications=0.05, grace=1.0)


@asynccontextmanager
async def working(app: Application) -> AsyncIterator[Worker]:
    worker, stop = Worker(app, pace=PACE), asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        await task


async def remark(app: Application, text: str = "hello") -> str:
    return (await create_remark(app, CreateRemark(chain="polkadot", text=text))).answer["result"]


async def started(app: Application, *targets: object, id: str = "", **schedule: Any) -> str:
    id = id or await remark(app)
    await start_job(app, StartJob(id=id, notify=list(targets), **schedule))
    return id


async def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def waiting(app: Application) -> tuple[int, int]:
    figures = await app.store.outbox().figures()
    return figures.queued, figures.retrying


class TestEvents:
    async def test_a_draft_that_is_ready_is_told_to_the_targets_of_all_jobs_and_of_this(
        self, tmp_path: Path
    ) -> None:
        async with receiving() as receiver:
            app = application(tmp_path, notify=[receiver.url("/all"), receiver.url("/own")])
            async with app, working(app) as worker:
                id = await started(app, receiver.url("/own"))
                got = {each.path: each for each in await receiver.has(2)}
                await until(lambda: worker.counts.notifications_delivered == 2)
                (entry,) = await app.store.read_mempool(id)
                assert await waiting(app) == (0, 0)

        assert {*got} == {"/all", "/own"}
        assert len({each.id for each in receiver.received}) == 2
        assert all(is_signed(each.headers, each.body) for each in got.values())
        content = got["/own"].json()
        assert (content["type"], content["data"]["job"], content["data"]["drafts"]) == (
            *("draft_ready", id),
            [entry.seq],
        )
        assert content["data"]["url"] == f"https://sc.example.org/#/create/?diagramData={id}"
        # Nobody gets the transaction.
        assert not any(entry.draft.tx.encode() in each.body for each in got.values())

    async def test_a_run_that_fails_and_a_job_that_pauses(self, tmp_path: Path) -> None:
        app = application(tmp_path)
        async with app, receiving() as receiver, working(app):
            made = await create_flow(app, CreateFlow(flow=BROKEN))
            await started(app, receiver.url(), id=made.answer["result"], every="1s", pause_after=2)
            await receiver.has(3)
        kinds = sorted(each.json()["type"] for each in receiver.received)
        assert kinds == ["job_paused", "run_failed", "run_failed"]
        for each in receiver.received:
            assert "could not be reached" in each.json()["data"]["reason"]

    async def test_the_newest_draft_that_expires_soon(self, tmp_path: Path) -> None:
        clock = Clock()
        app = application(tmp_path, clock)
        async with app, receiving() as receiver, working(app) as worker:
            id = await started(app, receiver.url(), every="100h")
            other = await started(app, receiver.url(), id=await remark(app, "2"), every="100h")
            await until(lambda: worker.counts.notifications_delivered == 2)
            # A newer draft of the other one, by a run that nobody is told of.
            await stop_job(app, StopJob(id=other))
            await started(app, "none", id=other, every="100h")
            await until(lambda: worker.counts.executed == 3)
            assert len(receiver.received) == 2
            clock.ahead = 22 * HOUR + 60 * SECOND
            *_, got = await receiver.has(3)
            await until(lambda: worker.counts.notifications_delivered == 3)
            await asyncio.sleep(0.2)
            (entry,) = await app.store.read_mempool(id)

        assert len(receiver.received) == 3
        data = got.json()["data"]
        assert (got.json()["type"], data["job"], data["drafts"]) == (
            "draft_expiring",
            id,
            [entry.seq],
        )
        assert data["uuids"] == [entry.draft.uuid]
        assert data["expires"] == timestamp(entry.draft.expires or 0)


@pytest.fixture
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "FIRST_PAUSE", SECOND // 20)
    monkeypatch.setattr(notifier, "LONGEST_PAUSE", SECOND // 5)


@pytest.mark.usefixtures("_fast")
class TestDelivery:
    async def test_a_receiver_that_is_down_gets_the_same_notification_when_it_is_up(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        app = application(tmp_path)
        async with app, receiving(status=503) as receiver, working(app) as worker:
            with caplog.at_level(logging.WARNING):
                await started(app, receiver.url("/secret"))
                await receiver.has(3)
            assert (await waiting(app))[1] == 1
            receiver.status = 204
            await until(lambda: worker.counts.notifications_delivered == 1)
            assert await waiting(app) == (0, 0)
            count = len(receiver.received)
            await asyncio.sleep(0.3)

        assert len(receiver.received) == count
        assert len({each.id for each in receiver.received}) == 1
        assert all(is_signed(each.headers, each.body) for each in receiver.received)
        # Said once, without the path.
        told = [record for record in caplog.records if "notification" in record.getMessage()]
        assert [each.levelname for each in told if each.levelno >= logging.WARNING] == ["WARNING"]
        assert "answered 503" in told[0].getMessage()
        assert all("secret" not in each.getMessage() for each in told)

    def test_one_that_is_not_delivered_for_a_day_is_given_up(self, tmp_path: Path) -> None:
        async def story() -> list[str]:
            clock = Clock()
            app = application(tmp_path, clock)
            async with app, receiving(status=500) as receiver, working(app) as worker:
                made = await create_flow(app, CreateFlow(flow=BROKEN))
                id = made.answer["result"]
                await started(app, receiver.url("/secret"), id=id, every="99h")
                await receiver.has(2)
                clock.ahead = 24 * HOUR
                await until(lambda: worker.counts.notifications_given_up == 1)
                assert await waiting(app) == (0, 0)
                return [line.text for line in await app.store.read_log(id)]

        line = asyncio.run(story())[-1]
        port, attempts = (
            line.split("127.0.0.1:")[1].split("/")[0],
            line.split(" after ")[1].split(" ")[0],
        )
        assert line == says("given up", "run_failed", port=port, attempts=f"{attempts} attempts")
        assert "secret" not in line

    async def test_a_receiver_that_hangs_holds_neither_runs_nor_other_receivers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # None of those that hang is given up meanwhile.
        monkeypatch.setattr(notifications, "TIMEOUT", 300.0)
        app = application(tmp_path)
        async with (
            app,
            receiving(delay=300.0) as slow,
            receiving() as quick,
            working(app) as worker,
        ):
            for number in range(notifier.AT_ONCE + 2):
                id = await remark(app, f"hello {number}")
                await started(app, slow.url(), quick.url(), id=id, every="1s")
            await quick.has(notifier.AT_ONCE + 2)
            await until(lambda: worker.counts.executed >= 2 * notifier.AT_ONCE)

        assert worker.counts.notifications_failed == 0
        assert len(slow.received) == notifier.AT_ONCE_TO_URL

    async def test_a_private_address_is_refused_until_it_is_allowed(self, tmp_path: Path) -> None:
        app = application(tmp_path, private_targets=[])
        async with app, receiving() as receiver, working(app) as worker:
            await started(app, receiver.url())
            await until(lambda: worker.counts.notifications_failed >= 1)
            error = (await app.store.outbox().figures()).error
            assert error == says("private", "private_targets", port=receiver.port)
            assert not receiver.received
            app.renew(replace(app.settings, private_targets=("127.0.0.1",)))
            await receiver.has(1)


class TestJobs:
    async def test_the_targets_of_a_job(self, tmp_path: Path) -> None:
        async def shown(app: Application, id: str) -> list[str]:
            return (await job_status(app, JobStatus(id=id))).answer["notify"]

        app = application(tmp_path)
        async with app:
            id = await remark(app)
            assert await shown(app, id) == []
            await started(app, "http://x.org/secret", HOOK, id=id, every="99h")
            assert await shown(app, id) == ["http://x.org/…", "https://hooks.example.org/…"]
            # A change of the schedule leaves them, and so does the next start.
            await start_job(app, StartJob(id=id, every="98h"))
            assert await shown(app, id) == ["http://x.org/…", "https://hooks.example.org/…"]
            changed = await start_job(app, StartJob(id=id, notify=HOOK))
            assert changed.answer["result"] == says("4d2h")
            assert await shown(app, id) == ["https://hooks.example.org/…"]
            assert (await app.store.read_log(id))[-1].text == says("otifications")
            await stop_job(app, StopJob(id=id))
            await start_job(app, StartJob(id=id))
            assert await shown(app, id) == ["https://hooks.example.org/…"]
            await stop_job(app, StopJob(id=id))
            await start_job(app, StartJob(id=id, notify="none"))
            assert await shown(app, id) == []


class TestSettings:
    def read(self, tmp_path: Path, text: str, **environment: str) -> Any:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return load_settings({"config": str(path)}, environment)

    def test_the_file_of_the_guide(self, tmp_path: Path) -> None:
        settings = self.read(tmp_path, guide("toml"))

        assert settings.notify == ("https://hooks.example.org/jobs",)
        assert settings.notify_secret.startswith("whsec_")
        assert settings.notify_secret not in repr(settings)
        assert "hooks.example.org" not in repr(settings)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('notify = ["ftp://x.org/secret"]', ("notify", "config.toml", "ftp://x.org")),
            ('notify_secret = "secret"', ("notify_secret", "whsec_", "24", "64")),
            (f'notify_secret = "{SECRET.removeprefix("whsec_")}"', ("notify_secret",)),
            ('public_url = "sc.example.org"', ("public_url", "sc.example.org", "https://")),
        ],
    )
    def test_refusals(self, tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
        with pytest.raises(InvalidRequest) as refused:
            self.read(tmp_path, text)

        assert str(refused.value) == says(*words)
        assert "secret" not in str(refused.value).replace("notify_secret", "").replace(
            "signing secret", ""
        )


async def test_a_test_is_signed_and_what_fails_is_named(tmp_path: Path) -> None:
    app = application(tmp_path)
    async with receiving() as receiver, receiving(status=404) as other, app:
        assert await send_test(app, receiver.url("/1")) == ""
        assert await send_test(app, other.url("/secret")) == says("404", port=other.port)
    assert all(is_signed(each.headers, each.body) for each in receiver.received)


def test_the_receiver_of_the_examples_verifies_and_passes_on_to_a_chat(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"

    async def story() -> tuple[str, Any, list[str], str]:
        async with receiving() as chat:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, str(ROOT / "examples/notifications/receiver.py"), str(port)),
                cwd=tmp_path,
                env=os.environ | {"NOTIFY_SECRET": SECRET, "CHAT_URL": chat.url()},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await asyncio.to_thread(wait_until, lambda: is_open(port))
                app = application(tmp_path)
                async with app, working(app) as worker:
                    id = await started(app, url, every="99h")
                    await until(lambda: worker.counts.notifications_delivered == 1)
                refused = []
                for secret in ("", OTHER_SECRET):
                    async with application(tmp_path, notify_secret=secret) as app:
                        refused.append((await send_test(app, url)).rpartition(" ")[2])
            finally:
                process.kill()
                out, _ = await process.communicate()
            (posted,) = chat.received
            return id, posted.json(), refused, out.decode()

    id, posted, refused, out = asyncio.run(story())

    page = f"https://sc.example.org/#/create/?diagramData={id}"
    assert posted == {"text": f"Ready to sign: polkadot &gt; Remark\n{page}"}
    assert out == f"draft_ready {id}\n"
    assert refused == ["401", "401"]
