"""The node `webhook`: the run waits for an event that somebody posts."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.delay import parse_timeout
from scenarioctl.actions.fields import Fields
from scenarioctl.actions.pills import has_pill, settled
from scenarioctl.actions.words import word
from scenarioctl.errors import InvalidRequest, TimedOut, shorten
from scenarioctl.model.amounts import to_text
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.shapes import Canvas
    from scenarioctl.model.jobs import WebhookEvent

#: Seconds that a run waits where the form says nothing.
DEFAULT_TIMEOUT = Decimal(3600)

#: Seconds between two looks at the store, and how often all runs that wait may look in a second.
_PAUSE = 0.5
_LOOKS = 1000

#: How many runs of this process wait.
_waiting = 0

#: What fields of the form are called in a flow file.
KEYS = {"webhookName": "name", "uuid": "uuid", "timeout": "timeout"}


def summary(node: Node, registry: "Registry") -> str:
    return "webhook"


def describe(app: "Application", diagram: Diagram, node: Node) -> str:
    uuid = word(node.form.get("uuid"))
    if not uuid:
        return "a webhook that is not chosen yet"
    name = word(node.form.get("webhookName"))
    return f"{name}, waits for a POST to /webhook/{uuid}" if name else f"waits for a POST to /webhook/{uuid}"


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_webhook(node)
    read_timeout(node)


async def run(running: "Run", diagram: Diagram, node: Node) -> None:
    uuid, timeout = read_webhook(node), read_timeout(node)
    event = running.events.get(uuid)
    if event is None:
        event = await _await_event(running, uuid, timeout)
        running.events[uuid] = event
        running.used_events[uuid] = event.id
        running.say(f"Webhook {uuid} brought event {event.id}")
    else:
        # One event, one run: a second step for the same webhook looks at what the first one got.
        running.say(f"Webhook {uuid}: event {event.id} again")
    running.data.add_event(event.content, node=node.id)


async def _await_event(running: "Run", uuid: str, timeout: Decimal) -> "WebhookEvent":
    """Return the newest event that the job has not used, as soon as there is one; TimedOut after *timeout* seconds."""
    global _waiting
    store = running.app.store
    running.say(f"Waiting for a POST to /webhook/{uuid}, up to {to_text(timeout)} s")
    # First the version: an event that comes in between is seen the next time.
    version = await store.version()
    event = await store.newest_event(uuid, job=running.id)
    if event is not None:
        return event
    _waiting += 1
    try:
        async with running.waiting(f"webhook {uuid}"):
            left = float(timeout)
            while left > 0:
                # However many runs wait, the store is not asked more often than it can well answer.
                pause = min(left, max(_PAUSE, _waiting / _LOOKS))
                await running.app.sleep(pause)
                left -= pause
                newest = await store.version()
                if newest == version and left > 0:
                    continue
                version = newest
                event = await store.newest_event(uuid, job=running.id)
                if event is not None:
                    return event
    finally:
        _waiting -= 1
    raise TimedOut(f"nobody posted to /webhook/{uuid} within {to_text(timeout)} s")


def read_timeout(node: Node) -> Decimal:
    """Return for how many seconds a run waits for an event."""
    value = settled(node.form.get("timeout"), field="timeout")
    return DEFAULT_TIMEOUT if value is None or value == "" else parse_timeout(value, field="timeout")


def read_webhook(node: Node) -> str:
    """Return the UUID under which *node*'s events arrive."""
    if not node.form:
        raise InvalidRequest("the webhook has no form, expected a webhookName and a uuid")
    uuid = settled(node.form.get("uuid"), field="uuid")
    if uuid is None or uuid == "":
        raise InvalidRequest("uuid is missing, expected the one that the webhook is reached by")
    return parse_uuid(uuid, field="uuid")


def draw(
    canvas: "Canvas", app: "Application", values: Mapping[str, Any], *, place: str, start: str
) -> tuple[str, str]:
    fields = Fields(values, place)
    name = fields.filled("name")
    uuid = fields.text("uuid")
    uuid = parse_uuid(uuid, field=fields.name("uuid")) if uuid else canvas.new_uuid()
    form: dict[str, Any] = {"webhookName": name, "uuid": uuid}
    timeout = fields.get("timeout")
    if timeout is not None:
        form["timeout"] = timeout
        if not has_pill(timeout):
            form["timeout"] = to_text(parse_timeout(timeout, field=fields.name("timeout")))
    node = canvas.add("webhook", form, extra={"selectedWebhook": name, "uuid": uuid})
    return node, node


def parse_uuid(value: object, *, field: str) -> str:
    """Return *value*, 32 hex digits in the usual five groups, in lower case."""
    text = value.lower() if isinstance(value, str) else ""
    groups = text.split("-")
    if [len(group) for group in groups] != [8, 4, 4, 4, 12] or set(text) - set("0123456789abcdef-"):
        raise InvalidRequest(
            f"{field} {shorten(value)} is not a UUID, expected one like 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
        )
    return text
