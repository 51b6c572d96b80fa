"""Pictures of scenarios."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    ParamSpec,
    TypedDict,
    TypeVar,
)

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_choice, read_number
from scenarioctl.model.diagram import Diagram, Problem, read_diagram
from scenarioctl.model.json_types import Base64
from scenarioctl.model.request_fields import Count, ScenarioName, Syntax, Value
from scenarioctl.operations.results import Result
from scenarioctl.operations.stored_diagrams import read_blob

if TYPE_CHECKING:
    from scenarioctl.actions.flow_files import DrawnFlow, Mistakes
    from scenarioctl.stores import StoredScenario

__all__ = ["preview_flow", "preview_scenario"]

T = TypeVar("T")
P = ParamSpec("P")

FORMATS = ("png", "svg")
#: Characters without a glyph that a warning lists.
_NAMED = 12


@dataclass(frozen=True, kw_only=True)
class PictureFields:
    """What a picture looks like."""

    #: `png` or `svg`.
    format: Annotated[str, Value("FORMAT", FORMATS)] = "png"
    #: `light` (default) or `dark`.
    theme: Annotated[str, Value("THEME", ("light", "dark"))] = "light"
    #: Width in pixels, 400 to 4096. Default: the width of the picture.
    width: Count = ""
    #: Leave out the chains that the card of a transfer or a swap names.
    compact: bool = False


@dataclass(frozen=True, kw_only=True)
class PreviewScenario(PictureFields):
    """Draw a scenario as a picture."""

    scenario_id: ScenarioName


class Preview(TypedDict):
    info: str
    #: The picture's file.
    img: "Base64"


class _Wanted(NamedTuple):
    format: str
    theme: str
    #: 0 for the width of the picture.
    width: int
    compact: bool


async def preview_scenario(app: Application, request: PreviewScenario) -> Result[Preview]:
    from scenarioctl.actions.problems import find_problems

    wanted = _read(request)
    stored = await app.store.get_scenario(request.scenario_id)
    whole, shown = await _aside(app, _open, stored)
    # On the event loop: drafting compiles encoders that all requests share.
    found = await find_problems(app.unconnected(), shown)
    img, warnings = await _aside(app, _draw, app, wanted, stored.summary, whole, shown, found)
    return Result(
        answer={"info": stored.summary, "img": b64encode(img).decode()}, warnings=warnings
    )


@dataclass(frozen=True, kw_only=True)
class PreviewFlow(PictureFields):
    """Draw a flow file that is not stored, and name the problems of its steps."""

    #: The file's text, or its content if it comes as JSON.
    flow: Any
    #: Syntax of the flow: `toml` or `json`.
    syntax: Syntax = "toml"


class FlowProblem(TypedDict):
    #: As `steps[0]`; empty if the problem is in the name, the tags, or the flow as a whole.
    step: str
    #: The key of the step, or `name` or `tags`; empty if the problem is in no single key.
    field: str
    problem: str
    #: The key that confirms this value once it is `true`.
    confirm: NotRequired[str]
    #: Nothing to fix: a run brings the data.
    waiting: NotRequired[Literal[True]]


class FlowPreview(Preview):
    #: The file's content as JSON, with large numbers and fractions as text.
    flow: dict[str, Any]
    #: The diagram that a scenario of this flow has; the ids of its nodes differ each time.
    diagram: dict[str, Any]
    #: All problems of all steps.
    problems: list[FlowProblem]


async def preview_flow(app: Application, request: PreviewFlow) -> Result[FlowPreview]:
    from scenarioctl.actions.flow_files import (
        Mistakes,
        as_json,
        draw_flow,
        parse_flow,
        read_flow,
    )
    from scenarioctl.actions.problems import find_problems
    from scenarioctl.actions.story import summarise
    from scenarioctl.render.picture import first_part

    wanted = _read(request)
    mistakes = Mistakes()

    def draw() -> "tuple[Any, DrawnFlow, Diagram, Diagram, str]":
        content = parse_flow(request.flow, syntax=request.syntax)
        drawn = draw_flow(app, read_flow(content, mistakes=mistakes), mistakes=mistakes)
        whole = read_diagram(drawn.document)
        return as_json(content), drawn, whole, first_part(whole), summarise(whole, app.registry)

    content, drawn, whole, shown, summary = await app.aside(draw)
    judged = await find_problems(app.unconnected(), shown)
    problems, found = _flow_problems(drawn, mistakes, judged)
    img, warnings = await _aside(app, _draw, app, wanted, summary, whole, shown, found)
    return Result(
        answer={
            "info": summary,
            "img": b64encode(img).decode(),
            "flow": content,
            "diagram": drawn.document,
            "problems": problems,
        },
        # No card shows these.
        warnings=(*warnings, *(each["problem"] for each in problems if not each["step"])),
    )


def _flow_problems(
    drawn: "DrawnFlow", mistakes: "Mistakes", judged: tuple[Problem, ...]
) -> tuple[list[FlowProblem], tuple[Problem, ...]]:
    """Return the problems of a flow in the order of its steps, and those that its picture shows.

    *judged* are the problems of the diagram. Those that only repeat a mistake of the file are left
    out.
    """
    nodes = {
        step.number: node
        for node, step in drawn.steps.items()
        if node.startswith(step.kind.box.type)
    }
    listed: list[tuple[int, FlowProblem]] = []
    pictured = []
    for mistake in mistakes.found:
        number = -1 if mistake.step is None else mistake.step
        place = "" if mistake.step is None else f"steps[{mistake.step}]"
        entry: FlowProblem = {"step": place, "field": mistake.field, "problem": mistake.sentence}
        if mistake.confirm:
            entry["confirm"] = mistake.confirm
        listed.append((number, entry))
        if number in nodes:
            pictured.append(Problem(node=nodes[number], error=InvalidRequest(mistake.sentence)))
    for problem in judged:
        step = drawn.steps[problem.node]
        field = drawn.field(problem.node, problem.error)
        if mistakes.has(step.number, field):
            continue
        pictured.append(replace(problem, error=drawn.written(problem.error)))
        # What only a chain can answer is no problem of a file.
        if problem.waiting or problem.is_mistake:
            reason = str(drawn.reason(problem.node, problem.error))
            entry = {"step": step.place, "field": field, "problem": reason}
            if problem.waiting:
                entry["waiting"] = True
            listed.append((step.number, entry))
    return [entry for _, entry in sorted(listed, key=lambda each: each[0])], tuple(pictured)


async def _aside(app: Application, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of *work*; a daemon runs it in a thread and serves other requests
    meanwhile."""
    return await app.aside(work, *args, **kwargs) if app.served else work(*args, **kwargs)


def _open(stored: "StoredScenario") -> tuple[Diagram, Diagram]:
    """Return the diagram, and the part of it that a picture shows."""
    from scenarioctl.render.picture import first_part

    whole = read_blob(stored.blob, stored.id)
    return whole, first_part(whole)


def _draw(
    app: Application,
    wanted: _Wanted,
    summary: str,
    whole: Diagram,
    shown: Diagram,
    problems: tuple[Problem, ...],
) -> tuple[bytes, tuple[str, ...]]:
    """Return the file of the picture, and warnings."""
    from scenarioctl.render.picture import read_picture, without_shown_chains

    picture = read_picture(app, shown, problems, summary=summary, total=len(whole.nodes))
    if wanted.compact:
        picture = without_shown_chains(picture, shown)
    warnings = []
    if picture.left_out:
        warnings.append(
            f"The scenario has {len(whole.nodes)} steps. The picture shows the first "
            f"{len(shown.nodes)}."
        )
    if wanted.format == "svg":
        from scenarioctl.render.svg import write_svg

        return write_svg(picture, theme=wanted.theme, width=wanted.width).encode(), tuple(warnings)
    from scenarioctl.render.layout import missing
    from scenarioctl.render.svg import write_png

    img = write_png(picture, theme=wanted.theme, width=wanted.width)
    lost = missing("".join(picture.texts()))
    if lost:
        more = "…" if len(lost) > _NAMED else ""
        warnings.append(
            f"The fonts of a PNG have no {' '.join(lost[:_NAMED])}{more} and show boxes "
            "instead. Use the `format` svg to keep them."
        )
    return img, tuple(warnings)


def _read(request: PreviewScenario | PreviewFlow) -> _Wanted:
    from scenarioctl.render.picture import THEMES

    return _Wanted(
        format=read_choice(request.format, field="format", choices=FORMATS),
        theme=read_choice(request.theme, field="theme", choices=THEMES),
        width=_read_width(request),
        compact=request.compact,
    )


def _read_width(request: PreviewScenario | PreviewFlow) -> int:
    from scenarioctl.render.picture import LEAST_WIDTH, MOST_WIDTH

    if request.width == "":
        return 0
    return read_number(
        request.width,
        field="width",
        kind="a width",
        expected=f"{LEAST_WIDTH} to {MOST_WIDTH} pixels",
        least=LEAST_WIDTH,
        most=MOST_WIDTH,
    )
