"""Change stored scenarios: their name, their tags and their steps; write them as flow files to
edit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, TooLarge, name_of
from scenarioctl.formats.documents import parse_json, write_json
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.diagram import (
    ACTING,
    Diagram,
    label_document,
    read_diagram,
    read_tags,
)
from scenarioctl.model.jobs import SCENARIO_CHANGED, Job, JobChange, JobState, while_waiting
from scenarioctl.model.json_types import ScenarioId
from scenarioctl.model.request_fields import OwnScenarioName, Syntax, Value
from scenarioctl.operations.payout_records import refuse_edit
from scenarioctl.operations.results import Result, refuse_warnings
from scenarioctl.operations.stored_diagrams import (
    open_blob,
    open_flow,
    pack_diagram,
    read_label,
    understand,
)
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.validation import changed_meanwhile

__all__ = [
    "replace_scenario",
    "scenario_flow",
]

_SYNTAXES = ("toml", "json")
#: A share string or a link: one word, and no TOML.
_ONE_WORD = re.compile(r"""[^\s\[\]{}"']+""")

Document = Mapping[str, Any]


def _pack(app: Application, document: Document) -> tuple[StoredScenario, Diagram]:
    """Return *document* as it is stored, and the diagram that it says."""
    diagram = read_diagram(document, field="diagram")
    # The keys keep their order, so that an export is what was imported.
    return pack_diagram(app, write_json(document), diagram), diagram


@dataclass(frozen=True, kw_only=True)
class ScenarioFlow:
    """Write a scenario as a flow file, as `scenario edit` opens it."""

    id: OwnScenarioName
    #: Syntax of the file: `toml` (default) or `json`.
    syntax: Syntax = "toml"
    #: Write the diagram as JSON if a flow file cannot hold it.
    or_diagram: bool = False


class WrittenScenario(TypedDict):
    id: "ScenarioId"
    #: Of the version that is written here.
    revision: str
    form: Literal["flow", "diagram"]
    #: The file.
    text: str
    #: Why it is the diagram.
    reason: NotRequired[str]


async def scenario_flow(app: Application, request: ScenarioFlow) -> Result[WrittenScenario]:
    from scenarioctl.actions.flow_files import MAX_BYTES, write_flow

    read_choice(request.syntax, field="syntax", choices=_SYNTAXES)
    stored = await app.store.get_scenario(request.id)
    diagram = await open_blob(app, stored.blob, request.id)

    def write() -> str:
        flow = write_flow(app, diagram)
        text = _indented(flow) if request.syntax == "json" else write_toml(flow)
        if len(text.encode()) > MAX_BYTES:
            raise TooLarge(f"it would have more than {MAX_BYTES} bytes, the limit for a flow file")
        return text

    try:
        text = await app.aside(write)
    except (InvalidRequest, TooLarge) as error:
        if not request.or_diagram:
            raise InvalidRequest(
                f"scenario {request.id!r} cannot be written as a flow file: {error}. "
                "Export it as JSON."
            ) from None
        return Result(
            answer={
                "id": request.id,
                "revision": stored.revision,
                "form": "diagram",
                "text": await app.aside(_indented, diagram.document),
                "reason": str(error),
            }
        )
    return Result(
        answer={"id": request.id, "revision": stored.revision, "form": "flow", "text": text}
    )


def write_toml(flow: Document) -> str:
    """Return *flow* as TOML; InvalidRequest if it has a value that TOML doesn't."""
    import tomli_w

    # The library writes line breaks of Windows in a text of several lines as plain ones.
    in_lines = b"\\r\\n" not in write_json(flow)
    try:
        text = tomli_w.dumps(flow, multiline_strings=in_lines)
    except TypeError:
        raise InvalidRequest("it has an empty value, which TOML cannot express") from None
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else f"\\U{ord(letter):08X}"
        for letter in text
    )


def _indented(document: Document) -> str:
    import json

    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if text.isascii():
        return text
    # No letter is a command to a terminal or an editor.
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in text
    )


@dataclass(frozen=True, kw_only=True)
class ReplaceScenario:
    """Change the steps, the name or the tags of a scenario, which keeps its id, its job, the log
    and the drafts.

    It keeps its name and its tags too, unless the new version has a name or tags; empty ones remove
    them.
    """

    id: OwnScenarioName
    #: A flow file (TOML, or JSON as text or content), or a diagram (JSON, the editor's share
    #: string, or a link with one).
    content: Annotated[Any, Value("CONTENT", called=("flow", "diagram"))] = None
    #: Up to 200 characters, for lists, pictures and searches; empty removes the name.
    name: str | None = None
    #: Add this tag, a word; with - in front, remove it. May be repeated.
    tags: Annotated[tuple[str, ...], Value("TAG", option="--tag", repeats=True)] = ()
    #: Replace only this version, as `scenario show` names it. Default: the stored one, whichever it
    #: is.
    revision: str = ""
    #: Refuse to replace it if there is a warning.
    strict: bool = False


class ReplacedScenario(TypedDict):
    id: "ScenarioId"
    #: Of the version that is stored now.
    revision: str
    #: Whether anything is different.
    changed: bool
    summary: str


async def replace_scenario(app: Application, request: ReplaceScenario) -> Result[ReplacedScenario]:
    stored = await app.store.get_scenario(request.id)
    if request.revision not in ("", stored.revision):
        raise changed_meanwhile(request.id).blame("revision", request.revision)
    former = await open_blob(app, stored.blob, request.id)
    document: Document = former.document
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    if request.content is not None:
        content = await app.aside(_read_content, request.content)
        document, notes, warnings = await _judge(app, content, former)
        if request.strict:
            refuse_warnings(warnings)
    if request.name is not None or request.tags:
        document = _relabeled(document, request)
    elif request.content is None:
        raise InvalidRequest(field="content", problem="is missing", expected="it, a name or tags")
    if document == former.document:
        answer: ReplacedScenario = {
            "id": request.id,
            "revision": stored.revision,
            "changed": False,
            "summary": stored.summary,
        }
        return Result(answer=answer, notes=(*notes, "Nothing changed."), warnings=warnings)
    packed, new = await app.aside(_pack, app, document)
    scenario = replace(packed, id=request.id)
    await refuse_edit(app, request.id, former, new)
    notes = (f"Changed {request.id}: {await app.aside(understand, app, new)}", *notes)
    alike = await app.aside(_runs_alike, document, former)
    change = None if alike else partial(_end_wait, now=await app.store.now())
    await app.store.change_scenario(scenario, revision=stored.revision, change=change)
    job = None if alike else await app.store.get_job(request.id)
    if job is not None and job.state is JobState.RUNNING:
        notes = (*notes, "The job uses the new version from its next run.")
    answer = {
        "id": request.id,
        "revision": scenario.revision,
        "changed": True,
        "summary": scenario.summary,
    }
    return Result(answer=answer, notes=notes, warnings=warnings)


def _relabeled(document: Document, request: ReplaceScenario) -> Document:
    """Return *document* with the name and the tags that are asked for."""
    labeled = read_diagram(document, field="diagram")
    removed = {tag[1:] for tag in request.tags if tag.startswith("-")}
    for tag in removed - set(labeled.tags):
        raise InvalidRequest(
            field="tags", value=f"-{tag}", problem="is not a tag of this scenario to take away"
        )
    added = [tag for tag in request.tags if not tag.startswith("-")]
    return label_document(
        document,
        name=labeled.name if request.name is None else read_label(request.name),
        tags=sorted({*labeled.tags, *read_tags(added, field="tags")} - removed),
    )


def _read_content(content: object) -> dict[str, Any]:
    """Return a diagram or a flow as an object."""
    if isinstance(content, str):
        text = content.strip()
        if text.startswith("{"):
            # With the lines before it, so that the line of an error is the one in the file.
            content = parse_json(content, field="content")
        elif _ONE_WORD.fullmatch(text):
            from scenarioctl.formats.documents import read_import

            content = read_import(text, field="content")
        else:
            from scenarioctl.actions.flow_files import parse_flow

            content = parse_flow(content)
    if not isinstance(content, dict):
        raise InvalidRequest(
            field="content", problem=f"is {name_of(content)}", expected="a flow file or a diagram"
        )
    return content


async def _judge(
    app: Application, content: dict[str, Any], former: Diagram
) -> tuple[Document, tuple[str, ...], tuple[str, ...]]:
    """Return the new document, notes and warnings; the former document if it says the same."""
    labels: dict[str, Any] = {"name": former.name, "tags": list(former.tags)}
    # An editor that doesn't know of it must not change whose money moves.
    labels[ACTING if "nodes" in content else "as"] = former.document.get(ACTING)
    content |= {key: value for key, value in labels.items() if value and key not in content}
    if "nodes" in content:
        from scenarioctl.actions.problems import find_problems

        diagram = await app.aside(read_diagram, content, field="content")
        problems = await find_problems(app.unconnected(), diagram)
        count = sum(problem.is_mistake for problem in problems)
        # An editor saves unfinished work, and an import takes it.
        some = "1 problem" if count == 1 else f"{count} problems"
        return content, (f"The diagram has {some}: scenario show lists them.",) if count else (), ()
    from scenarioctl.actions.redrawing import is_alike, keep_nodes

    flow = await open_flow(app, content, syntax="toml")

    def redraw() -> Document:
        document = keep_nodes(flow.diagram, former)
        return former.document if is_alike(document, former.document) else document

    return await app.aside(redraw), flow.notes, flow.warnings


def _runs_alike(document: Document, former: Diagram) -> bool:
    """Return whether only labels and places changed."""
    from scenarioctl.actions.redrawing import is_alike

    return is_alike(label_document(document, name=former.name, tags=former.tags), former.document)


def _end_wait(job: Job, *, now: int) -> JobChange:
    """Return what becomes of a job whose scenario runs otherwise by now: a run that waits can't go
    on in it."""
    from scenarioctl.schedules import following_times

    if not job.waiting:
        return JobChange(job=job, lines=(SCENARIO_CHANGED,), written=now)
    times = following_times(job.schedule, job.planned, now)
    ended = f"Scenario changed{while_waiting(job)}: the run has ended"
    return JobChange(
        job=replace(job, due=times.due, planned=times.planned),
        lines=(ended,),
        written=now,
        ends_run=True,
    )
