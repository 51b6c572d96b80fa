"""Notifications: the requests that deliver them, signed as https://www.standardwebhooks.com
describes it, and whether they arrive."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from urllib.parse import quote

from scenarioctl.application import Application
from scenarioctl.errors import RequestFailed
from scenarioctl.model.jobs import SECOND
from scenarioctl.model.json_types import timestamp
from scenarioctl.model.notifications import new_id, read_secret
from scenarioctl.outgoing import WebRequest

#: The event of `doctor --notify`.
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


async def send_test(app: Application, target: str) -> str:
    """Send a notification of the event `test`; return why it was not delivered, empty if it was."""
    now = app.clock()
    message = NotificationText(id=new_id(), event=TEST, created=now, link=app.settings.public_url)
    request = build_request(message, url=target, secret=app.settings.notify_secret, now=now)
    try:
        await app.notifying.send(request, sleep=app.sleep)
    except RequestFailed as failed:
        return str(failed)
    return ""
