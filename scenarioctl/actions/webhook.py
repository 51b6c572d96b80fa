"""The node `webhook`: the run waits for an event that is posted to the daemon."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.delay import parse_timeout, write_timeout
from scenarioctl.actions.fields import Fields
from scenarioctl.actions.placeholders import require_filled, require_value
from scenarioctl.actions.step_kind import FlowKeys, StepData, StepKind
from scenarioctl.actions.story import Look, Row, Story, one_line
from scenarioctl.errors import InvalidRequest, TimedOut
from scenarioctl.formats.diagram_builder import EditorBox
from scenarioctl.model.amounts import to_text
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run, Wait
    from scenarioctl.application import Application
    from scenarioctl.formats.diagram_builder import DiagramBuilder

#: Seconds that a run waits by default.
DEFAULT_TIMEOUT = Decimal(3600)

BOX = EditorBox(type="webhook", label="Webhook", image="./webhook.svg")

DATA = StepData(
    title="a webhook's event", label="event", editor_paths={("eventData", "content"): ()}
)


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    uuid, name = one_line(node.form.get("uuid")), one_line(node.form.get("webhookName"))
    said = f"waits for a POST to /webhook/{uuid}" if uuid else "no webhook chosen yet"
    inbox = uuid if len(uuid) < 13 else f"{uuid[:8]}…{uuid[-4:]}"
    return Story(
        kind="Webhook",
        sentence=f"{name}, {said}" if name and uuid else said,
        what=name,
        facts=(Row(label="Inbox", text=inbox),) if uuid else (),
        caption="waits for an event",
    )


def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_webhook(node)
    read_timeout(node)


async def run(running: "Run", diagram: Diagram, node: Node) -> "Wait | None":
    from scenarioctl.actions.running import Wait

    uuid, timeout = read_webhook(node), read_timeout(node)
    if (former := running.events.get(uuid)) is not None:
        # A run uses one event of a webhook: a second step for the same webhook gets it too.
        running.say(f"Webhook {uuid}: using event {former.id} again")
        running.data.add(DATA, former.content, node=node.id)
        return None
    if running.wait is None:
        running.say(f"Waiting for a POST to /webhook/{uuid}, up to {to_text(timeout)} s")
    event = await running.app.store.newest_event(uuid, job=running.id)
    if event is None:
        wait = running.wait or Wait(step=f"webhook {uuid}", seconds=float(timeout), webhook=uuid)
        if not wait.seconds:
            raise TimedOut(f"no event was posted to /webhook/{uuid} within {to_text(timeout)} s")
        return wait
    running.events[uuid] = event
    running.used_events[uuid] = event.id
    running.say(f"Webhook {uuid}: using event {event.id}")
    running.data.add(DATA, event.content, node=node.id)
    return None


def read_timeout(node: Node) -> Decimal:
    """Return how long a run waits for an event, in seconds."""
    value = require_filled(node.form.get("timeout"), field="timeout")
    return (
        DEFAULT_TIMEOUT if value is None or value == "" else parse_timeout(value, field="timeout")
    )


def read_webhook(node: Node) -> str:
    """Return the UUID of *node*'s webhook."""
    if not node.form:
        raise InvalidRequest("the webhook has no form, expected a webhookName and a uuid")
    uuid = require_value(node.form.get("uuid"), field="uuid", expected="that of the webhook")
    return parse_uuid(uuid, field="uuid")


def webhooks_of(diagram: Diagram) -> tuple[str, ...]:
    """Return the UUIDs of the webhooks that *diagram* waits for, each once; without those that a
    placeholder names."""
    found = {}
    for node in diagram.nodes:
        if node.type == BOX.type:
            try:
                found[read_webhook(node)] = True
            except InvalidRequest:
                continue
    return tuple(found)


def draw(
    builder: "DiagramBuilder", app: "Application", fields: Fields, start: str
) -> tuple[str, str]:
    name = fields.filled("name")
    uuid = fields.text("uuid")
    with fields.checking():
        uuid = parse_uuid(uuid, field=fields.name("uuid")) if uuid else builder.new_uuid()
    form: dict[str, Any] = {"webhookName": name, "uuid": uuid}
    timeout = fields.open("timeout", write_timeout)
    if timeout is not None:
        form["timeout"] = timeout
    node = builder.add(BOX, form, extra={"selectedWebhook": name, "uuid": uuid})
    return node, node


def parse_uuid(value: object, *, field: str) -> str:
    """Return *value*, 32 hex digits in the usual five groups, in lower case."""
    text = value.lower() if isinstance(value, str) else ""
    groups = text.split("-")
    if [len(group) for group in groups] != [8, 4, 4, 4, 12] or set(text) - set("0123456789abcdef-"):
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not a UUID",
            expected="one like 6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d",
        )
    return text


STEP = StepKind(
    name="webhook",
    box=BOX,
    look=Look(name="webhook", color="amber", icon="M13 3l-7 10h5l-1 8l8-11h-6z"),
    tell=tell,
    flow=FlowKeys(
        required=("name",),
        optional=("uuid", "timeout"),
        fields={"webhookName": "name", "uuid": "uuid", "timeout": "timeout"},
        draw=draw,
    ),
    check=check,
    run=run,
    data=DATA,
)
