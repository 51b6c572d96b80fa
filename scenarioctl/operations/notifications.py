"""Notifications: the requests that deliver them, signed as https://www.standardwebhooks.com
describes it, and whether they arrive."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict
from urllib.parse import quote

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, RequestFailed
from scenarioctl.model.jobs import SECOND
from scenarioctl.model.json_types import timestamp
from scenarioctl.model.notifications import describe_target, new_id, read_secret, read_targets
from scenarioctl.model.request_fields import Value
from scenarioctl.operations.results import Result
from scenarioctl.outgoing import WebRequest

__all__ = ["send_test_notification"]

#: The event of `notify test`.
TEST = "test"
#: Seconds that a receiver has to answer.
TIMEOUT = 10.0


@dataclass(frozen=True, kw_only=True)
class NotificationText:
    """What a notification says."""

    id: str
    #: A NotificationEvent, or TEST.
    event: str
    #: When it happened.
    created: int
    #: The job; empty for a test.
    job: str = ""
    #: What its author calls the scenario; empty if it has no name.
    name: str = ""
    #: The summary of the scenario, like `polkadot > Remark`.
    summary: str = ""
    #: The numbers of drafts in the mempool.
    drafts: tuple[int, ...] = ()
    #: The UUID of each; None if it is not kept any more.
    uuids: tuple[str | None, ...] = ()
    #: When the first of them expires; None for other events.
    expires: int | None = None
    #: Why it happened.
    reason: str = ""
    #: The page of the scenario; empty if there is none.
    link: str = ""


def page_of(public_url: str, job: str) -> str:
    """Return the address of a scenario's page; empty if nobody has set where people reach the
    daemon."""
    return f"{public_url.rstrip('/')}/#/create/?diagramData={quote(job)}" if public_url else ""


def build_request(message: NotificationText, *, url: str, secret: str, now: int) -> WebRequest:
    """Return the request that delivers *message*; it is signed if there is a *secret*."""
    body = json.dumps(_content(message))
    return WebRequest(
        method="POST",
        url=url,
        headers=tuple(_signature(message.id, body, secret=secret, now=now)),
        body=body,
        content_type="application/json",
        timeout=TIMEOUT,
        retries=0,
    )


def _signature(id: str, body: str, *, secret: str, now: int) -> list[tuple[str, str]]:
    seconds = str(now // SECOND)
    headers = [("webhook-id", id), ("webhook-timestamp", seconds)]
    if secret:
        digest = hmac.new(
            read_secret(secret), f"{id}.{seconds}.{body}".encode(), hashlib.sha256
        ).digest()
        headers.append(("webhook-signature", f"v1,{base64.b64encode(digest).decode()}"))
    return headers


def _content(message: NotificationText) -> dict[str, object]:
    return {
        "type": message.event,
        "timestamp": timestamp(message.created),
        "data": {
            "job": message.job or None,
            "name": message.name or None,
            "summary": message.summary or None,
            "drafts": list(message.drafts),
            "uuids": list(message.uuids),
            "expires": None if message.expires is None else timestamp(message.expires),
            "reason": message.reason or None,
            "url": message.link or None,
        },
    }


@dataclass(frozen=True, kw_only=True)
class SendTestNotification:
    """Send a notification now, to see whether it arrives."""

    #: Where to. Default: all targets of the setting `notify`.
    target: Annotated[str, Value("URL")] = ""


class Delivery(TypedDict):
    #: Without what may be secret in its URL.
    target: str
    milliseconds: int
    #: Why it was not delivered; empty if it was.
    error: str


class Deliveries(TypedDict):
    success: Literal[True]
    #: `webhook-id` of all of them.
    id: str
    deliveries: list[Delivery]


async def send_test_notification(
    app: Application, request: SendTestNotification
) -> Result[Deliveries]:
    """Send a notification of the event `test`; if one is not delivered, its error has `deliveries`
    too."""
    targets = (
        read_targets(request.target, field="target") if request.target else app.settings.notify
    )
    if not targets:
        raise InvalidRequest(
            field="notify",
            problem="is not set in config.toml",
            expected="a target to send the test to",
        )
    id = new_id()
    deliveries = await asyncio.gather(*(_deliver(app, each, id) for each in targets))
    failed = [each for each in deliveries if each["error"]]
    if failed:
        reasons = "; ".join(f"{each['target']}: {each['error']}" for each in failed)
        raise RequestFailed(
            f"{len(failed)} of {len(deliveries)} notifications not delivered: {reasons}",
            details={"deliveries": deliveries},
        )
    notes = () if app.settings.notify_secret else ("Not signed: notify_secret is not set.",)
    return Result(answer={"success": True, "id": id, "deliveries": list(deliveries)}, notes=notes)


async def _deliver(app: Application, target: str, id: str) -> Delivery:
    now = app.clock()
    request = build_request(
        NotificationText(id=id, event=TEST, created=now, link=app.settings.public_url),
        url=target,
        secret=app.settings.notify_secret,
        now=now,
    )
    started = time.monotonic()
    error = ""
    try:
        await app.notifying.send(request, sleep=app.sleep)
    except RequestFailed as failed:
        error = str(failed)
    return {
        "target": describe_target(target),
        "milliseconds": round((time.monotonic() - started) * 1000),
        "error": error,
    }
