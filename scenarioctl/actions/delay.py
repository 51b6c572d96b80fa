"""The node `delay`: the run pauses."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.step_kind import StepKind, Wait
from scenarioctl.actions.story import Look, Story, one_line
from scenarioctl.actions.vocabulary import Part, Terms, parsing
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import EditorBox
from scenarioctl.model.amounts import parse_number, read_digits, to_text
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application

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


async def run(running: "Run", diagram: Diagram, node: Node) -> Wait | None:
    seconds = STEP.read(running.app, diagram, node)["seconds"]
    if running.wait is not None:
        return running.wait if running.wait.seconds else None
    running.say(f"Waiting {to_text(seconds)} s")
    return Wait(step=f"delay {to_text(seconds)} s", seconds=float(seconds))


def parse_seconds(value: object, *, field: str, longest: int = LONGEST) -> Decimal:
    """Return *value* in seconds, at most *longest*."""
    seconds = parse_number(value, field=field)
    if seconds > longest:
        raise InvalidRequest(
            field=field, value=value, problem="is too long", expected=f"at most {longest} seconds"
        )
    return seconds


def timeout_part(default: Decimal, longest: int = LONGEST) -> Part:
    """Return the field `timeout` of a step: so many seconds, *default* where nothing is said."""

    def parse(value: object, *, field: str) -> Decimal:
        return default if value is None else parse_seconds(value, field=field, longest=longest)

    write = parsing(parse, write=lambda seconds, _: to_text(seconds), open=True)
    return Part(kind=write, at="timeout")


def _write_seconds(seconds: Decimal, _: object) -> int | str:
    text = to_text(seconds)
    return int(text) if text.isdigit() else text


STEP: StepKind = StepKind(
    name="delay",
    box=BOX,
    look=Look(name="delay", color="slate", icon="M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16M12 8v4.5l3 2"),
    tell=tell,
    terms=Terms(
        {
            "seconds": Part(
                kind=parsing(parse_seconds, write=_write_seconds, open=True),
                at="seconds",
                expected="how long the run pauses",
                needed=True,
            )
        }
    ),
    formless="the delay has no form, expected its seconds",
    check=lambda app, diagram, node: STEP.read(app, diagram, node),
    run=run,
)
