"""Flow files of requests: read, drawn and judged before they are stored."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.model.diagram import Diagram, read_diagram

if TYPE_CHECKING:
    from scenarioctl.actions.flow_files import DrawnFlow

#: Characters of a flow file that is read on the event loop; a longer one is read aside.
_AT_ONCE = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class OpenedFlow:
    """A flow file that can be stored."""

    drawn: "DrawnFlow"
    diagram: Diagram
    #: Of the transactions that can be drafted now: what they always have, whoever runs them.
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


#: Said of a transfer that was created by a check.
ONLY_CHECKED = "only a check opens this transfer: pass --check and --sender (check, sender) whenever you draft it, since no job can"


async def open_flow(app: Application, content: object, *, syntax: str, checked: bool = False) -> OpenedFlow:
    """Return the flow in *content*, a file's text or its parsed content; InvalidRequest names the invalid step and key.

    A flow whose transactions are *checked* next may have transfers that only a check opens.
    """
    from scenarioctl.actions.flow_files import draw_flow, read_flow
    from scenarioctl.actions.problems import judge

    def draw() -> "tuple[DrawnFlow, Diagram]":
        drawn = draw_flow(app, read_flow(content, syntax=syntax))
        return drawn, read_diagram(drawn.document)

    is_small = isinstance(content, str) and len(content) <= _AT_ONCE
    drawn, diagram = draw() if is_small else await app.aside(draw)
    problems, drafted = await judge(app.unconnected(), diagram)
    opening = [problem for problem in problems if checked and problem.opens_by_check]
    for problem in problems:
        # What a webhook will fill, or a chain has to be asked for, is judged when it runs.
        if problem.is_mistake and problem not in opening:
            raise drawn.explain(problem.node, problem.error)
    return OpenedFlow(
        drawn=drawn,
        diagram=diagram,
        # Each run drafts anew, with notes and warnings of its own.
        notes=(
            *(f"{drawn.place(node)}: {note}" for node, made in drafted for note in made.notes),
            *(f"{drawn.place(problem.node)}: {ONLY_CHECKED}" for problem in opening),
        ),
        warnings=tuple(f"{drawn.place(node)}: {said}" for node, made in drafted for said in made.warnings),
    )
