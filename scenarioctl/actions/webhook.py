"""The node `webhook`: the run waits for an event that somebody posts."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import Fields
from scenarioctl.actions.pills import settled
from scenarioctl.actions.words import word
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.shapes import Canvas


def summary(node: Node, registry: "Registry") -> str:
    return "webhook"


def describe(node: Node, diagram: Diagram) -> str:
    uuid = word(node.form.get("uuid"))
    if not uuid:
        return "a webhook that is not chosen yet"
    name = word(node.form.get("webhookName"))
    return f"{name}, waits for a POST to /webhook/{uuid}" if name else f"waits for a POST to /webhook/{uuid}"


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_webhook(node)


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
    node = canvas.add(
        "webhook", {"webhookName": name, "uuid": uuid}, extra={"selectedWebhook": name, "uuid": uuid}
    )
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
