"""The events of webhooks: each is kept until a run uses it, or it expires."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypedDict
from weakref import WeakKeyDictionary

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, NotFound, RateLimited, TooLarge
from scenarioctl.formats.documents import write_json
from scenarioctl.model.jobs import SECOND, WebhookEvent
from scenarioctl.model.json_types import SHOWN, Column, Timestamp, timestamp
from scenarioctl.model.request_fields import Value
from scenarioctl.operations.results import Result, answer_in_portions
from scenarioctl.operations.runs import read_portions, retention_of
from scenarioctl.stores.rows import PORTION
from scenarioctl.token_buckets import TokenBuckets

if TYPE_CHECKING:
    from scenarioctl.stores.store import Store

__all__ = ["list_events", "post_event"]


#: Events in a portion that is read; fewer if they have more than 1 MiB.
EVENTS = 100
#: Characters of a key.
_KEY_MAX = 255


@dataclass(frozen=True, kw_only=True)
class PostEvent:
    """Post an event to the scenarios that wait for it at a webhook."""

    #: Over HTTP, the whole body is this field, and the others are in the path or in headers.
    whole_body: ClassVar[str] = "content"

    uuid: Annotated[str, Value("UUID", called=("webhook",))]
    #: Any JSON.
    content: Any
    #: Names the event, in 1 to 255 printable ASCII characters. While it is stored, another one with
    #: the same key and JSON gets its answer and isn't stored.
    idempotency_key: Annotated[str, Value("KEY", public="Idempotency-Key")] = ""

    @staticmethod
    async def admit(app: Application, parameters: Mapping[str, str]) -> None:
        """Refuse an unknown webhook or an exceeded rate before the body is read."""
        uuid = _check_uuid(parameters["uuid"])
        await app.store.check_webhook(uuid)
        _take_one(app.store, uuid, app.settings.webhook_rate, app.clock(), count=0)


class PostedEvent(TypedDict):
    success: Literal[True]
    #: The event's number.
    id: int


async def post_event(app: Application, request: PostEvent) -> Result[PostedEvent]:
    uuid = _check_uuid(request.uuid)
    size, limit = len(write_json(request.content)), app.settings.webhook_limit
    if size > limit:
        raise TooLarge(f"the event has {size} bytes of JSON, the limit is {limit}")
    key = request.idempotency_key
    if key and not (len(key) <= _KEY_MAX and key.isascii() and key.isprintable()):
        raise InvalidRequest(
            field="idempotency_key",
            value=key,
            problem="is not a key",
            expected=f"1 to {_KEY_MAX} printable ASCII characters",
        )
    _take_one(app.store, uuid, app.settings.webhook_rate, app.clock())
    event = await app.store.put_event(
        uuid, request.content, now=app.clock(), retention=retention_of(app.settings), key=key
    )
    return Result(answer={"success": True, "id": event.id})


@dataclass(frozen=True, kw_only=True)
class ListEvents:
    """List the stored events of a webhook, oldest first."""

    uuid: Annotated[str, Value("UUID", called=("webhook",))]


class ReceivedEvent(TypedDict):
    id: Annotated[int, Column("event")]
    received: Annotated[Timestamp, SHOWN]
    #: The JSON that was posted.
    content: Annotated[Any, SHOWN]


class EventList(TypedDict):
    events: Annotated[list[ReceivedEvent], SHOWN]


async def list_events(app: Application, request: ListEvents) -> Result[EventList]:
    uuid = _check_uuid(request.uuid)

    async def describe(events: Sequence[WebhookEvent]) -> EventList:
        return {"events": [_describe(event) for event in events]}

    read = partial(app.store.list_events, uuid)
    portions = read_portions(read, after=0, most=EVENTS, size_of=_any_size)
    return await answer_in_portions(portions, describe)


def _any_size(_: WebhookEvent) -> int:
    """Return what an event may have: once it is read, nobody knows how long its JSON was."""
    return PORTION


def _describe(event: WebhookEvent) -> ReceivedEvent:
    return {"id": event.id, "received": timestamp(event.received), "content": event.content}


def _check_uuid(value: str) -> str:
    """Return the UUID as stored scenarios spell it; NotFound if it is not a UUID."""
    from scenarioctl.actions.webhook import parse_uuid

    if not value:
        raise InvalidRequest(field="uuid", problem="is empty", expected="the UUID of a webhook")
    try:
        return parse_uuid(value, field="uuid")
    except InvalidRequest:
        raise NotFound(
            field="webhook", value=value, problem="is not in any stored scenario"
        ) from None


#: By store that is open in this process.
_buckets: "WeakKeyDictionary[Store, TokenBuckets]" = WeakKeyDictionary()


def _take_one(store: "Store", uuid: str, rate: int, now: int, *, count: int = 1) -> None:
    """Count an event against the rate of its webhook, which allows a burst of one second;
    RateLimited.

    With a *count* of 0, only check.
    """
    wait = _buckets.setdefault(store, TokenBuckets()).take(uuid, rate, now / SECOND, count=count)
    if wait:
        raise RateLimited(
            f"webhook {uuid} accepts {rate} events per second; try again later",
            details={"retry_after": max(1, round(wait))},
        )
