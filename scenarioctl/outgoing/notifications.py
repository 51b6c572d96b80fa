"""The requests that deliver notifications, signed as https://www.standardwebhooks.com describes
it."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from scenarioctl.model.jobs import SECOND
from scenarioctl.model.json_types import timestamp
from scenarioctl.model.notifications import (
    NotificationEvent,
    NotificationFormat,
    OperationKey,
    read_secret,
)
from scenarioctl.outgoing import WebRequest

#: The event of `notify test`.
TEST = "test"
#: Seconds that a receiver has to answer.
TIMEOUT = 10.0
#: The most drafts that a text names.
_NAMED_DRAFTS = 5
#: The most characters of a name or a reason in a text.
_LONGEST = 300


@dataclass(frozen=True, kw_only=True)
class NotificationText:
    """What a notification says."""

    id: str
    #: A NotificationEvent, or TEST.
    event: str
    #: When it happened.
    created: int
    #: The job; empty for a test, and for an operation.
    job: str = ""
    #: What its author calls the scenario; empty if it has no name. Of an operation, the name of the
    #: multisig.
    name: str = ""
    #: The summary of the scenario, like `polkadot > Remark`. Of an operation, who has approved it.
    summary: str = ""
    #: The numbers of drafts in the mempool.
    drafts: tuple[int, ...] = ()
    #: The UUID of each; None if it is not kept any more.
    uuids: tuple[str | None, ...] = ()
    #: When the first of them expires; None for other events.
    expires: int | None = None
    #: Why it happened; of an operation, what it does.
    reason: str = ""
    operation: OperationKey | None = None
    #: The page of the scenario or the multisig; empty if there is none.
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class _Style:
    """How an event is worded, and how ntfy shows it."""

    one: str
    #: With several drafts.
    many: str = ""
    #: 1 to 5; 3 is ntfy's default.
    priority: int = 3
    #: The emoji of ntfy.
    tag: str


_STYLES: Mapping[str, _Style] = {
    NotificationEvent.DRAFT_READY: _Style(
        one="Draft ready to sign", many="{} drafts ready to sign", tag="memo"
    ),
    NotificationEvent.RUN_FAILED: _Style(one="Run failed", priority=4, tag="x"),
    NotificationEvent.JOB_PAUSED: _Style(one="Job paused", priority=4, tag="double_vertical_bar"),
    NotificationEvent.DRAFT_EXPIRING: _Style(
        one="Draft expires soon", many="{} drafts expire soon", priority=4, tag="hourglass"
    ),
    NotificationEvent.DRAFT_OUTDATED: _Style(
        one="Don't sign this draft any more",
        many="Don't sign these {} drafts any more",
        priority=4,
        tag="warning",
    ),
    NotificationEvent.APPROVAL_MISSING: _Style(one="Your approval is missing", tag="ballot_box"),
    TEST: _Style(one="Test notification", tag="bell"),
}


def page_of(public_url: str, job: str = "", *, multisig: str = "") -> str:
    """Return the address of a scenario's page, or a multisig's; empty if nobody has set where
    people reach the daemon."""
    if not public_url or not (job or multisig):
        return ""
    page = (
        f"multisig/{quote(multisig, safe='')}" if multisig else f"create/?diagramData={quote(job)}"
    )
    return f"{public_url.rstrip('/')}/#/{page}"


def build_request(
    message: NotificationText, *, url: str, format: str, secret: str, now: int
) -> WebRequest:
    """Return the request that delivers *message*; it is signed if there is a *secret*."""
    headers: list[tuple[str, str]] = []
    if format == NotificationFormat.NTFY:
        style = _STYLES[message.event]
        headers = [
            ("Title", _header(_title(message))),
            ("Priority", str(style.priority)),
            ("Tags", style.tag),
            *([("Click", message.link)] if message.link else []),
        ]
        body, content_type = _ntfy_text(message), "text/plain; charset=utf-8"
    else:
        content = (
            {"text": _slack_text(message)}
            if format == NotificationFormat.SLACK
            else _content(message)
        )
        body, content_type = json.dumps(content), "application/json"
    return WebRequest(
        method="POST",
        url=url,
        headers=(*headers, *_signature(message.id, body, secret=secret, now=now)),
        body=body,
        content_type=content_type,
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
    key = message.operation
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
            "operation": None if key is None else {"chain": key.chain, "call_hash": key.call_hash},
            "url": message.link or None,
        },
    }


def _headline(message: NotificationText) -> str:
    style = _STYLES[message.event]
    count = len(message.drafts)
    return style.many.format(count) if style.many and count > 1 else style.one


def _title(message: NotificationText) -> str:
    subject = _plain(message.name or message.summary or message.job)
    return f"{_headline(message)}: {subject}" if subject else _headline(message)


def _facts(message: NotificationText) -> list[str]:
    """Return the job, the drafts and the times of a message, in a few words each."""
    facts = [f"job {message.job}"] if message.job else []
    if message.drafts:
        named = ", ".join(str(seq) for seq in message.drafts[:_NAMED_DRAFTS])
        more = len(message.drafts) - _NAMED_DRAFTS
        facts.append(
            f"draft{'s' * (len(message.drafts) > 1)} "
            f"{named}{f' and {more} more' if more > 0 else ''}"
        )
    if message.expires is not None:
        facts.append(f"valid until {_time(message.expires)}")
    return [*facts, _time(message.created)]


def _ntfy_text(message: NotificationText) -> str:
    lines = [
        _plain(message.summary) if message.name else "",
        ", ".join(_facts(message)),
        _plain(message.reason),
    ]
    return "\n".join(line for line in lines if line)


def _slack_text(message: NotificationText) -> str:
    # As code, a name that somebody chose neither mentions anybody nor makes a link.
    subject = " ".join(_code(each) for each in (message.name, message.summary) if each)
    lines = [
        f"{_headline(message)}{': ' if subject else ''}{subject}",
        ", ".join(_facts(message)),
        _code(message.reason) if message.reason else "",
        _escape(message.link),
    ]
    return "\n".join(line for line in lines if line)


def _code(text: str) -> str:
    return f"`{_escape(_plain(text)).replace('`', chr(39))}`"


def _escape(text: str) -> str:
    """Return *text* without the characters that Slack reads as commands."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Return *text* on one line, cut if it is long."""
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _header(text: str) -> str:
    """Return *text* as the value of a header: by RFC 2047 unless it is ASCII."""
    return text if text.isascii() else f"=?UTF-8?B?{base64.b64encode(text.encode()).decode()}?="


def _time(moment: int) -> str:
    """Return *moment* to the second: `2026-11-22 09:30:00 UTC`."""
    return f"{timestamp(moment)[:19].replace('T', ' ')} UTC"
