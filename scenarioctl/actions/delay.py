"""The node `delay`: the run pauses."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import Fields
from scenarioctl.actions.placeholders import require_value
from scenarioctl.actions.step_kind import FlowKeys, StepKind
from scenarioctl.actions.story import Look, Story, one_line
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import EditorBox
from scenarioctl.model.amounts import parse_number, read_digits, to_text
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run, Wait
    from scenarioctl.application import Application
    from scenarioctl.formats.diagram_builder import DiagramBuilder

#: A day in seconds; use a job with an interval for longer pauses.
LONGEST = 86_400

BOX = EditorBox(type="delay", label="Delay")


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    seconds = node.form.get("seconds")
    typed = one_line(seconds)
    said = f"waits {typed} s" if typed else "no length yet"
    return Story(kind="Delay", sentence=said, what=_duration(seconds) or typed)


def _duration(seconds: Any) -> str:
    if (number := read_digits(seconds)) is not None:
        seconds = number
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= LONGEST:
        return f"{one_line(seconds)} s" if isinstance(seconds, (int, float)) else ""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def check(app: "Application", diagram: Diagram, node: Node) -> None:
    read_delay(node)


async def run(running: "Run", diagram: Diagram, node: Node) -> "Wait | None":
    from scenarioctl.actions.running import Wait

    seconds = read_delay(node)
    if running.wait is not None:
        return running.wait if running.wait.seconds else None
    running.say(f"Waiting {to_text(seconds)} s")
    return Wait(step=f"delay {to_text(seconds)} s", seconds=float(seconds))


def read_delay(node: Node) -> Decimal:
    """Return the length of the pause in seconds."""
    if not node.form:
        raise InvalidRequest("the delay has no form, expected its seconds")
    seconds = require_value(
        node.form.get("seconds"), field="seconds", expected="how long the run pauses"
    )
    return parse_seconds(seconds, field="seconds")


def draw(
    builder: "DiagramBuilder", app: "Application", fields: Fields, start: str
) -> tuple[str, str]:
    node = builder.add(BOX, {"seconds": fields.open("seconds", _write_seconds)})
    return node, node


def _write_seconds(value: object, field: str) -> int | str:
    text = to_text(parse_seconds(value, field=field))
    return int(text) if text.isdigit() else text


def parse_seconds(value: object, *, field: str) -> Decimal:
    """Return *value* in seconds, at most a day."""
    seconds = parse_number(value, field=field)
    if seconds > LONGEST:
        raise InvalidRequest(
            field=field, value=value, problem="is longer than a day", expected=f"at most {LONGEST}"
        )
    return seconds


def parse_timeout(value: object, *, field: str, longest: int = LONGEST) -> Decimal:
    """Return *value* in seconds, at most *longest*."""
    seconds = parse_number(value, field=field)
    if seconds > longest:
        raise InvalidRequest(
            field=field, value=value, problem="is too long", expected=f"at most {longest} seconds"
        )
    return seconds


def write_timeout(value: object, field: str, longest: int = LONGEST) -> str:
    return to_text(parse_timeout(value, field=field, longest=longest))


STEP = StepKind(
    name="delay",
    box=BOX,
    look=Look(name="delay", color="slate", icon="M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16M12 8v4.5l3 2"),
    tell=tell,
    flow=FlowKeys(required=("seconds",), fields={"seconds": "seconds"}, draw=draw),
    check=check,
    run=run,
)
