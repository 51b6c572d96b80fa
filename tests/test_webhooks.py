"""The inbox of webhook steps: what is taken, for whom, how fast; and that a run gets it."""

from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import NotFound, RateLimited, TooLarge
from scenarioctl.model.jobs import SECOND
from scenarioctl.operations.webhooks import (
    ListEvents,
    PostedEvent,
    PostEvent,
    list_events,
    post_event,
)
from tests.messages import raises, says
from tests.test_jobs import NOON, diagram, node

UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
OTHER = "00000000-0000-4000-8000-000000000000"
WEBHOOK = node("w", "webhook", webhookName="orders", uuid=UUID)


class Inbox:
    """An application with a scenario that waits at UUID, and a clock that the test moves."""

    def __init__(self, tmp_path: Path, **settings: Any) -> None:
        self.now = NOON
        variables = {f"SCENARIOCTL_{name.upper()}": str(value) for name, value in settings.items()}
        self.app = Application(
            load_settings(
                {"offline": True, "store": tmp_path / "s.db", "cache": tmp_path}, variables
            ),
            clock=lambda: self.now,
        )

    async def __aenter__(self) -> "Inbox":
        self.id = await diagram(self.app, WEBHOOK)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.app.close()

    async def post(self, content: Any = None, uuid: str = UUID) -> PostedEvent:
        return (await post_event(self.app, PostEvent(uuid=uuid, content=content))).answer


async def test_an_event_is_kept_and_numbered(tmp_path: Path) -> None:
    async with Inbox(tmp_path) as inbox:
        first = await inbox.post({"amount": 5})
        second = await inbox.post([1, "two"], uuid=UUID.upper())

        assert (first, second) == ({"success": True, "id": 1}, {"success": True, "id": 2})
        assert (await list_events(inbox.app, ListEvents(uuid=UUID))).answer == {
            "events": [
                {"id": 1, "received": "2026-11-21T12:00:00.000000000Z", "content": {"amount": 5}},
                {"id": 2, "received": "2026-11-21T12:00:00.000000000Z", "content": [1, "two"]},
            ]
        }


@pytest.mark.parametrize("uuid", [OTHER, "../../etc/passwd", "6f1c"])
async def test_a_webhook_that_no_scenario_names_is_not_found(tmp_path: Path, uuid: str) -> None:
    async with Inbox(tmp_path) as inbox:
        with pytest.raises(NotFound):
            await inbox.post({}, uuid=uuid)
        with pytest.raises(NotFound):
            await list_events(inbox.app, ListEvents(uuid=uuid))


async def test_an_event_that_is_too_large_is_refused(tmp_path: Path) -> None:
    async with Inbox(tmp_path, webhook_limit=20) as inbox:
        await inbox.post("x" * 18)
        with raises(TooLarge, says("event", "21", "JSON", "20")):
            await inbox.post("x" * 19)


async def test_a_flood_is_refused_webhook_by_webhook(tmp_path: Path) -> None:
    async with Inbox(tmp_path, webhook_rate=2) as inbox:
        await diagram(inbox.app, node("w", "webhook", webhookName="other", uuid=OTHER))
        await inbox.post(1)
        await inbox.post(2)
        with pytest.raises(RateLimited) as refused:
            await inbox.post(3)

        assert str(refused.value) == says(UUID, "2 events per second")
        assert refused.value.details == {"retry_after": 1}
        await inbox.post(4, uuid=OTHER)
        inbox.now += SECOND // 2
        await inbox.post(5)
        with pytest.raises(RateLimited):
            await inbox.post(6)
        # A clock that is set back locks nobody out.
        inbox.now -= 3600 * SECOND
        with pytest.raises(RateLimited):
            await inbox.post(7)
        inbox.now += SECOND // 2
        await inbox.post(8)


async def test_a_flood_of_names_is_not_remembered_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scenarioctl import token_buckets
    from scenarioctl.operations import webhooks

    monkeypatch.setattr(token_buckets, "TRACKED", 10)

    async with Inbox(tmp_path) as inbox:
        for number in range(100):
            with pytest.raises(NotFound):
                await inbox.post({}, uuid=f"00000000-0000-4000-8000-{number:012d}")

        assert len(webhooks._buckets[inbox.app.store]) <= 10
