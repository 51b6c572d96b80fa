"""The node `delay`: the run pauses."""

# Every module of this package answers the same questions, whether it needs all that it is told or not.

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import Fields
from scenarioctl.actions.pills import has_pill, settled
from scenarioctl.actions.words import word
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import parse_number, to_text
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.shapes import Canvas

#: A day: what waits longer is a job with an interval.
LONGEST = 86_400


def summary(node: Node, registry: "Registry") -> str:
    return "delay"


def describe(node: Node, diagram: Diagram) -> str:
    seconds = word(node.form.get("seconds"))
    return f"waits {seconds} s" if seconds else "a delay without its length yet"


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_delay(node)


def read_delay(node: Node) -> Decimal:
    """Return for how many seconds the run pauses."""
    if not node.form:
        raise InvalidRequest("the delay has no form, expected its seconds")
    seconds = settled(node.form.get("seconds"), field="seconds")
    if seconds is None or seconds == "":
        raise InvalidRequest("seconds is missing, expected how long the run pauses")
    return parse_seconds(seconds, field="seconds")


def draw(
    canvas: "Canvas", app: "Application", values: Mapping[str, Any], *, place: str, start: str
) -> tuple[str, str]:
    fields = Fields(values, place)
    seconds = fields.get("seconds")
    if not has_pill(seconds):
        text = to_text(parse_seconds(seconds, field=fields.name("seconds")))
        seconds = int(text) if text.isdigit() else text
    node = canvas.add("delay", {"seconds": seconds})
    return node, node


def parse_seconds(value: object, *, field: str) -> Decimal:
    """Return *value* in seconds, at most a day."""
    seconds = parse_number(value, field=field)
    if seconds > LONGEST:
        raise InvalidRequest(f"{field} {shorten(value)} is longer than a day, expected at most {LONGEST}")
    return seconds
