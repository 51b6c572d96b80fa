"""Notifications: what a daemon reports about its jobs, and where it sends that.

Times are nanoseconds since 1970, UTC.
"""

import base64
import binascii
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from scenarioctl.errors import InvalidRequest

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
_EXPECTED = (
    "one like https://hooks.example.org/jobs (for a chat service, see docs/notifications.md)"
)


class NotificationEvent(StrEnum):
    """What a notification reports."""

    #: A run drafted transactions, which wait for a signature.
    DRAFT_READY = "draft_ready"
    RUN_FAILED = "run_failed"
    #: The job paused by itself.
    JOB_PAUSED = "job_paused"
    #: The newest drafts of a job expire soon.
    DRAFT_EXPIRING = "draft_expiring"


@dataclass(frozen=True, kw_only=True)
class NewNotification:
    """A notification of one event to one target, before it is stored."""

    #: Unguessable, and the same for every attempt.
    id: str
    event: NotificationEvent
    job: str
    #: When it happened, and from when on it is sent.
    created: int
    url: str
    #: Why a run failed or a job paused.
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class QueuedNotification(NewNotification):
    """A notification in the outbox of the store."""

    seq: int
    #: The numbers of the drafts of its run, of an event that is of drafts.
    drafts: tuple[int, ...] = ()
    #: When it may be claimed again.
    due: int
    #: Attempts that failed.
    attempts: int = 0


def new_id() -> str:
    """Return an unguessable id of a notification."""
    return f"msg_{secrets.token_hex(16)}"


def describe_target(url: str) -> str:
    """Return a target without what may be secret in its URL: `https://hooks.example.org/…`."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "…"
    name = f"[{host}]" if ":" in host else host
    rest = "/…" if parts.path.strip("/") or parts.query else ""
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{rest}"


def read_targets(value: object, *, field: str = "notify") -> tuple[str, ...]:
    """Return the URLs in *value*: a text, with commas between several, or a list of texts.

    `none` and an empty list are no targets.  InvalidRequest names the *field*, and no URL that may
    hold a secret.
    """
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest(field=field, problem="is not a list of URLs", expected=_EXPECTED)
    found = [_read_url(each, field) for each in value if each != NONE]
    if len(found) > MAX_TARGETS:
        raise InvalidRequest(
            field=field, problem=f"has {len(found)} targets", expected=f"at most {MAX_TARGETS}"
        )
    return tuple(dict.fromkeys(found))


def _read_url(value: object, field: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    try:
        parts = urlsplit(text)
        # Reading the port judges it.
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound or not text.isprintable() or " " in text:
        # Path and query may be secrets, also of a URL without its scheme.
        scheme, _, rest = text.partition("://")
        has_scheme = bool(rest) and _SCHEME.fullmatch(scheme) is not None
        host = re.split(r"[/?#\\]", (rest if has_scheme else text).rpartition("@")[2])[0]
        shown = f"{scheme}://{host}" if has_scheme else host
        raise InvalidRequest(
            field=field, value=shown, problem="is not a web address", expected=_EXPECTED
        )
    if len(text) > MAX_URL:
        raise InvalidRequest(
            field=field,
            problem=f"has a URL of {len(text)} characters",
            expected=f"at most {MAX_URL}",
        )
    return text


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
