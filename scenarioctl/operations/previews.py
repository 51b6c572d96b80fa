"""Pictures of scenarios."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired, ParamSpec, TypedDict, TypeVar

from scenarioctl.application import Application
from scenarioctl.model.diagram import Diagram, Problem, read_diagram
from scenarioctl.model.json_types import Base64
from scenarioctl.model.request_values import read_choice, read_number
from scenarioctl.operations.results import Result
from scenarioctl.operations.stored_diagrams import read_blob

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from scenarioctl.actions.flow_files import DrawnFlow
    from scenarioctl.stores import StoredScenario

__all__ = ["preview_flow", "preview_scenario"]

T = TypeVar("T")
P = ParamSpec("P")

FORMATS = ("png", "svg", "text")
#: Characters without a glyph that a warning lists.
_NAMED = 12
#: Pictures that a daemon draws at the same time.
_DRAWING_THREADS = 2


@dataclass(frozen=True, kw_only=True)
class PreviewScenario:
    """Draw a scenario as a picture."""

    scenario_id: str
    #: `png`, `svg` or `text`.
    format: str = "png"
    #: `light` or `dark`.
    theme: str = "light"
    #: Pixels from 400 to 4096, or for text 40 to 1000 characters. Default: the width of the picture.
    width: int | str = ""


class Preview(TypedDict):
    info: str
    #: The picture's file.
    img: "Base64"


class _Wanted(NamedTuple):
    format: str
    theme: str
    #: 0 for the width of the picture.
    width: int


async def preview_scenario(app: Application, request: PreviewScenario) -> Result[Preview]:
    wanted = _read(request)
    stored = await app.store.get_scenario(request.scenario_id)
    whole, shown = await _in_thread(app, _open, stored)
    img, _, warnings = await _preview(app, wanted, stored.summary, whole, shown)
    return Result(answer={"info": stored.summary, "img": img}, warnings=warnings)


async def _preview(
    app: Application, wanted: _Wanted, summary: str, whole: Diagram, shown: Diagram
) -> tuple[str, tuple[Problem, ...], tuple[str, ...]]:
    """Return the file of the picture in base64, the problems that it shows, and warnings."""
    from scenarioctl.actions.problems import find_problems

    # On the event loop: drafting compiles encoders that all requests share.
    found = await find_problems(app.unconnected(), shown)
    img, warnings = await _in_thread(app, _draw, app, wanted, summary, whole, shown, found)
    return b64encode(img).decode(), found, warnings


@dataclass(frozen=True, kw_only=True)
class PreviewFlow:
    """Draw a flow file that is not stored, and name the problems of its steps."""

    #: The file's text, or its content if it comes as JSON.
    flow: Any
    #: `toml` or `json`.
    syntax: str = "toml"
    #: `png`, `svg` or `text`.
    format: str = "png"
    #: `light` or `dark`.
    theme: str = "light"
    #: Pixels from 400 to 4096, or for text 40 to 1000 characters. Default: the width of the picture.
    width: int | str = ""


class FlowProblem(TypedDict):
    #: As `steps[0]`.
    step: str
    problem: str
    #: Nothing to fix: a run brings the data.
    waiting: NotRequired[Literal[True]]


class FlowPreview(Preview):
    #: The diagram that a scenario of this flow has; the ids of its nodes differ each time.
    diagram: dict[str, Any]
    problems: list[FlowProblem]


async def preview_flow(app: Application, request: PreviewFlow) -> Result[FlowPreview]:
    from scenarioctl.actions.flow_files import draw_flow, read_flow
    from scenarioctl.actions.summaries import summarise
    from scenarioctl.render.picture import first_part

    wanted = _read(request)

    def draw() -> "tuple[DrawnFlow, Diagram, Diagram, str]":
        drawn = draw_flow(app, read_flow(request.flow, syntax=request.syntax))
        whole = read_diagram(drawn.document)
        return drawn, whole, first_part(whole), summarise(whole, app.registry)

    drawn, whole, shown, summary = await app.aside(draw)
    img, found, warnings = await _preview(app, wanted, summary, whole, shown)
    problems: list[FlowProblem] = []
    for problem in found:
        # What only a chain can answer is no problem of a file.
        if problem.waiting or problem.is_mistake:
            place = drawn.place(problem.node)
            problems.append({"step": place, "problem": drawn.reason(problem.node, problem.sentence)})
            if problem.waiting:
                problems[-1]["waiting"] = True
    return Result(
        answer={"info": summary, "img": img, "diagram": drawn.document, "problems": problems},
        warnings=warnings,
    )


async def _in_thread(app: Application, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of *work*; a daemon runs it in a thread and serves other requests meanwhile."""
    if not app.served:
        return work(*args, **kwargs)
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(_threads(), partial(work, *args, **kwargs))


@cache
def _threads() -> "ThreadPoolExecutor":
    """Return a pool of its own for drawing, so that pictures leave threads and cores to other requests."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_DRAWING_THREADS, thread_name_prefix="drawing")


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
    from scenarioctl.render.picture import read_picture

    picture = read_picture(app, shown, problems, summary=summary, total=len(whole.nodes))
    warnings = []
    if picture.left_out:
        warnings.append(
            f"The scenario has {len(whole.nodes)} steps. The picture shows the first {len(shown.nodes)}."
        )
    if wanted.format == "text":
        from scenarioctl.render.text import DEFAULT_COLUMNS, draw_text

        return (draw_text(picture, wanted.width or DEFAULT_COLUMNS) + "\n").encode(), tuple(warnings)
    if wanted.format == "svg":
        from scenarioctl.render.svg import write_svg

        return write_svg(picture, theme=wanted.theme, width=wanted.width).encode(), tuple(warnings)
    from scenarioctl.render.png import write_png
    from scenarioctl.render.text_metrics import missing

    img = write_png(picture, theme=wanted.theme, width=wanted.width, served=app.served)
    lost = missing("".join(picture.texts()))
    if lost:
        more = "…" if len(lost) > _NAMED else ""
        warnings.append(
            f"The fonts of a PNG have no {' '.join(lost[:_NAMED])}{more} and show boxes instead. Use --format svg to keep them."
        )
    return img, tuple(warnings)


def _read(request: PreviewScenario | PreviewFlow) -> _Wanted:
    from scenarioctl.render.picture import THEMES

    return _Wanted(
        format=read_choice(request.format, field="format", choices=FORMATS),
        theme=read_choice(request.theme, field="theme", choices=THEMES),
        width=_read_width(request),
    )


def _read_width(request: PreviewScenario | PreviewFlow) -> int:
    from scenarioctl.render.picture import LEAST_COLUMNS, LEAST_WIDTH, MOST_COLUMNS, MOST_WIDTH

    value = request.width
    if value == "":
        return 0
    least, most, unit = LEAST_WIDTH, MOST_WIDTH, "pixels"
    if request.format == "text":
        least, most, unit = LEAST_COLUMNS, MOST_COLUMNS, "characters"
    expected = f"a width for this format, expected {least} to {most} {unit}"
    return read_number(value, field="width", expected=expected, least=least, most=most)
