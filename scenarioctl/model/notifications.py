"""Notifications: what a daemon reports about its jobs, and where it sends that.

Times are nanoseconds since 1970, UTC.
"""

import base64
import binascii
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scenarioctl.errors import InvalidRequest, shorten, suggest

#: The most targets of a job, and of the setting `notify`.
MAX_TARGETS = 10
#: Characters of the URL of a target.
MAX_URL = 2000
#: Before the base64 of a secret.
SECRET_PREFIX = "whsec_"  # noqa: S105 - not a secret
#: Bytes of a secret.
SECRET_BYTES = (24, 64)
#: What `notify` says for no targets.
NONE = "none"

_SCHEME = re.compile(r"[A-Za-z0-9+.-]+")
_EXPECTED = "one like https://hooks.example.org/jobs, slack+https://… or ntfy+https://…"


class NotificationEvent(StrEnum):
    """What a notification reports."""

    #: A run drafted transactions, which wait for a signature.
    DRAFT_READY = "draft_ready"
    RUN_FAILED = "run_failed"
    #: The job paused by itself.
    JOB_PAUSED = "job_paused"
    #: The newest drafts of a job expire soon.
    DRAFT_EXPIRING = "draft_expiring"
    #: A runtime upgrade has outdated drafts.
    DRAFT_OUTDATED = "draft_outdated"
    #: An operation of a multisig waits for the approval of an account of one's own.
    APPROVAL_MISSING = "approval_missing"


class NotificationFormat(StrEnum):
    """The body of a notification."""

    #: An object, as docs/notifications.md describes it.
    JSON = "json"
    #: `{"text": …}`, which Mattermost takes too.
    SLACK = "slack"
    #: Plain text, and headers of ntfy.
    NTFY = "ntfy"


#: What may stand before the `+` of a target.
_FORMATS = {
    **{each.value: each for each in NotificationFormat},
    "mattermost": NotificationFormat.SLACK,
}


@dataclass(frozen=True, kw_only=True)
class NotificationTarget:
    """Where notifications are sent."""

    #: Often holds a secret: anybody who knows it can post there.
    url: str
    format: NotificationFormat = NotificationFormat.JSON
    #: The events that are sent there; empty for all.
    events: tuple[NotificationEvent, ...] = ()

    def wants(self, event: NotificationEvent) -> bool:
        """Return whether *event* is sent there."""
        return not self.events or event in self.events


class OperationKey(NamedTuple):
    """Which open operation of a multisig is meant: one call may be opened again and again."""

    chain: str
    #: The multisig, and the hash of the call, as 0x hex.
    account: str
    call_hash: str
    #: The block and the extrinsic that opened it, as the chain names them.
    height: int
    extrinsic: int


@dataclass(frozen=True, kw_only=True)
class NewNotification:
    """A notification of one event to one target, before it is stored."""

    #: Unguessable, and the same for every attempt.
    id: str
    event: NotificationEvent
    #: Empty if it is of an operation.
    job: str
    #: When it happened, and from when on it is sent.
    created: int
    url: str
    format: NotificationFormat
    #: Why a run failed or a job paused, or what is wrong with drafts.
    reason: str = ""
    #: The numbers of its drafts; the store fills in those of a run.
    drafts: tuple[int, ...] = ()
    #: The operation that waits for an approval.
    operation: OperationKey | None = None

    @property
    def has_run_drafts(self) -> bool:
        """Return whether it names the drafts of the run that it is stored with."""
        return self.event in (NotificationEvent.DRAFT_READY, NotificationEvent.DRAFT_EXPIRING)


@dataclass(frozen=True, kw_only=True)
class QueuedNotification(NewNotification):
    """A notification in the outbox of the store."""

    seq: int
    #: When it may be claimed again.
    due: int
    #: Attempts that failed.
    attempts: int = 0


def new_id() -> str:
    """Return an unguessable id of a notification."""
    return f"msg_{secrets.token_hex(16)}"


def describe_target(url: str, format: str = NotificationFormat.JSON) -> str:
    """Return a target without what may be secret in its URL: `slack+https://hooks.slack.com/…`."""
    prefix = "" if format == NotificationFormat.JSON else f"{format}+"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{prefix}…"
    name = f"[{host}]" if ":" in host else host
    rest = "/…" if parts.path.strip("/") or parts.query else ""
    return f"{prefix}{parts.scheme}://{name}{f':{port}' if port else ''}{rest}"


def read_targets(value: object, *, field: str = "notify") -> tuple[NotificationTarget, ...]:
    """Return the targets in *value*: a text, with commas between several, or a list of texts and
    tables.

    `none` and an empty list are no targets.  InvalidRequest names the *field*, and no URL that may
    hold a secret.
    """
    if isinstance(value, str):
        value = _parts_of(value, field)
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest(field=field, problem="is not a list of URLs", expected=_EXPECTED)
    texts = [each for each in value if each != NONE]
    if len(texts) > MAX_TARGETS:
        raise InvalidRequest(
            field=field, problem=f"has {len(texts)} targets", expected=f"at most {MAX_TARGETS}"
        )
    found = [_read_target(each, field) for each in texts]
    return tuple(dict.fromkeys(found))


def _parts_of(text: str, field: str) -> Sequence[Any]:
    if text.lstrip()[:1] != "[":
        is_table = text.lstrip()[:1] == "{"
        return [text] if is_table else [part.strip() for part in text.split(",") if part.strip()]
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list):
        raise InvalidRequest(field=field, problem="is not a list of URLs", expected=_EXPECTED)
    return parts


def _read_target(value: object, field: str) -> NotificationTarget:
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InvalidRequest(
                field=field, problem="has a table that is not JSON", expected=_TABLE
            ) from None
    table: Mapping[str, Any] = value if isinstance(value, Mapping) else {"url": value}
    for key in table:
        if key not in ("url", "format", "events"):
            raise InvalidRequest(
                field=field,
                problem=(
                    f"has the unknown key {shorten(key)}, "
                    f"{suggest(key, ('url', 'format', 'events'))}"
                ),
            )
    url, prefix = _read_url(table.get("url"), field)
    given = table.get("format", prefix or NotificationFormat.JSON.value)
    if not isinstance(given, str) or given not in _FORMATS:
        raise InvalidRequest(
            field=field,
            problem=f"has the unknown format {shorten(given)}, {suggest(given, list(_FORMATS))}",
        )
    if prefix and _FORMATS[given] != _FORMATS[prefix]:
        raise InvalidRequest(
            field=field,
            problem=f"has the format {shorten(given)} and a URL that begins with {prefix}+",
            expected="one of them",
        )
    return NotificationTarget(
        url=url, format=_FORMATS[given], events=_read_events(table.get("events", ()), field)
    )


_TABLE = 'one like {"url": "https://…", "format": "slack", "events": ["run_failed"]}'


def _read_url(value: object, field: str) -> tuple[str, str]:
    """Return the URL in *value*, and the format before its `+`, which may be empty."""
    text = value.strip() if isinstance(value, str) else ""
    head, _, rest = text.partition("://")
    if not rest or not _SCHEME.fullmatch(head):
        # It has no scheme, and whatever the path has there may be a secret.
        head, rest = "", text
    prefix, plus, scheme = head.rpartition("+")
    if plus and prefix not in _FORMATS:
        raise InvalidRequest(
            field=field,
            problem=f"has the unknown format {shorten(prefix)}, {suggest(prefix, list(_FORMATS))}",
        )
    url = f"{scheme.lower()}://{rest}"
    try:
        parts = urlsplit(url)
        # Reading the port judges it.
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound or not url.isprintable() or " " in url:
        # Path and query may be secrets, also of a URL without its scheme.
        host = re.split(r"[/?#\\]", rest.rpartition("@")[2])[0]
        shown = f"{head}://{host}" if head else host
        raise InvalidRequest(
            field=field, value=shown, problem="is not a web address", expected=_EXPECTED
        )
    if len(url) > MAX_URL:
        raise InvalidRequest(
            field=field,
            problem=f"has a URL of {len(url)} characters",
            expected=f"at most {MAX_URL}",
        )
    return url, prefix


def _read_events(value: object, field: str) -> tuple[NotificationEvent, ...]:
    known = [each.value for each in NotificationEvent]
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest(
            field=field,
            problem=f"has events {shorten(value)}",
            expected=f"a list of: {', '.join(known)}",
        )
    for each in value:
        if each not in known:
            raise InvalidRequest(
                field=field,
                problem=f"has the unknown event {shorten(each)}, {suggest(each, known)}",
            )
    return tuple(event for event in NotificationEvent if event in value)


def write_targets(targets: Sequence[NotificationTarget]) -> str:
    """Return *targets* as they are stored; empty for none."""
    return (
        json.dumps(
            [
                {"url": each.url, "format": each.format, "events": list(each.events)}
                for each in targets
            ]
        )
        if targets
        else ""
    )


@lru_cache(maxsize=1024)
def read_stored_targets(text: str) -> tuple[NotificationTarget, ...]:
    """Return what `write_targets` has written; ValueError, TypeError, KeyError or RecursionError if
    it has not."""
    if not text:
        return ()
    return tuple(
        NotificationTarget(
            url=str(each["url"]),
            format=NotificationFormat(each["format"]),
            events=tuple(NotificationEvent(event) for event in each["events"]),
        )
        for each in json.loads(text)
    )


def read_secret(text: str) -> bytes:
    """Return the key in *text*: `whsec_` and the base64 of 24 to 64 bytes; InvalidRequest doesn't
    quote it."""
    least, most = SECRET_BYTES
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(SECRET_PREFIX) or not least <= len(key) <= most:
        raise InvalidRequest(
            field="notify_secret",
            problem="is not a signing secret",
            expected=(
                f"{SECRET_PREFIX} and the base64 of {least} to {most} bytes. Make one with: "
                "echo whsec_$(openssl rand -base64 32)"
            ),
        )
    return key
