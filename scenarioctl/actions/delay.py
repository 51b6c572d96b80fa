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
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry
    from scenarioctl.formats.shapes import Canvas

#: A day: what waits longer is a job with an interval.
LONGEST = 86_400
#: Seconds of a pause so short that nobody needs to be told of it meanwhile.
_SHORT = 5

#: What fields of the form are called in a flow file.
KEYS = {"seconds": "seconds"}


def summary(node: Node, registry: "Registry") -> str:
    return "delay"


def describe(app: "Application", diagram: Diagram, node: Node) -> str:
    seconds = word(node.form.get("seconds"))
    return f"waits {seconds} s" if seconds else "a delay without its length yet"


async def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_delay(node)


async def run(running: "Run", diagram: Diagram, node: Node) -> None:
    seconds = read_delay(node)
    running.say(f"Waiting {to_text(seconds)} s")
    async with running.waiting(f"delay {to_text(seconds)} s" if seconds > _SHORT else ""):
        await running.app.sleep(float(seconds))


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


def parse_timeout(value: object, *, field: str, longest: int = LONGEST) -> Decimal:
    """Return *value* in seconds, at most *longest*."""
    seconds = parse_number(value, field=field)
    if seconds > longest:
        raise InvalidRequest(f"{field} {shorten(value)} is too long, expected at most {longest} seconds")
    return seconds
