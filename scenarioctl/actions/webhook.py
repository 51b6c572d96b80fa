"""The node `webhook`: the run waits for an event that is posted to the daemon."""

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.delay import timeout_part
from scenarioctl.actions.placeholders import StepData
from scenarioctl.actions.step_kind import StepKind, Wait
from scenarioctl.actions.story import Look, Row, Story, one_line
from scenarioctl.actions.vocabulary import FILLED, Kind, Part, Reading, Terms
from scenarioctl.errors import InvalidRequest, TimedOut
from scenarioctl.formats.diagram_builder import DiagramBuilder, EditorBox
from scenarioctl.model.amounts import to_text
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application

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


async def run(running: "Run", diagram: Diagram, node: Node) -> Wait | None:
    step = STEP.read(running.app, diagram, node)
    uuid, timeout = step["uuid"], step["timeout"]
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


def webhooks_of(diagram: Diagram) -> tuple[str, ...]:
    """Return the UUIDs of the webhooks that *diagram* waits for, each once; without those that a
    placeholder names."""
    found = {}
    for node in diagram.nodes:
        if node.type == BOX.type:
            with suppress(InvalidRequest):
                found[parse_uuid(node.form.get("uuid"), field="uuid")] = True
    return tuple(found)


def _name(reading: Reading, value: Any, name: str, of: Any) -> Any:
    # Only the editor reads it.
    return value if reading.way == "form" else FILLED.read(reading, value, name, of)


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    uuid = step["uuid"] or builder.new_uuid()
    extra = {"selectedWebhook": step["name"], "uuid": uuid}
    node = builder.add(BOX, step.form() | {"uuid": uuid}, extra=extra)
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


STEP: StepKind = StepKind(
    name="webhook",
    box=BOX,
    look=Look(name="webhook", color="amber", icon="M13 3l-7 10h5l-1 8l8-11h-6z"),
    tell=tell,
    terms=Terms(
        {
            "name": Part(kind=replace(FILLED, read=_name), at="webhookName", needed=True),
            "uuid": Part(
                kind=Kind(
                    read=lambda _reading, value, name, _of: (
                        value if value in (None, "") else parse_uuid(value, field=name)
                    ),
                    write=lambda uuid, _: uuid,
                ),
                at="uuid",
                expected="that of the webhook",
            ),
            "timeout": timeout_part(DEFAULT_TIMEOUT),
        }
    ),
    draw=draw,
    formless="the webhook has no form, expected a webhookName and a uuid",
    check=lambda app, diagram, node: STEP.read(app, diagram, node),
    run=run,
    data=DATA,
)
