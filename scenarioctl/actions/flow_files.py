"""Flow files: several steps in TOML or JSON, read and drawn as a diagram.

`docs/flow.md` shows every step.  The keys of each step type are in its `StepKind.flow`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from scenarioctl.actions import all_steps, find_step, load_step, unknown_sentence
from scenarioctl.actions.placeholders import first_names, has_numbered, rename
from scenarioctl.actions.redrawing import NOTHING, is_alike, keep_nodes
from scenarioctl.actions.sides import action_data
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.vocabulary import Checking, Reading, find_side, find_value
from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, name_of, shorten, suggest
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.formats.documents import decode_text, parse_json
from scenarioctl.model.acting import read_acting
from scenarioctl.model.amounts import read_choice, whole_number
from scenarioctl.model.diagram import (
    ACTING,
    Diagram,
    Node,
    check_depth,
    find_cycle,
    label_document,
    read_diagram,
    read_name,
    read_tags,
    sort_by_edges,
)

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: The step in the path of a field, the path within the step, and its first key:
#: `steps[0].headers.Accept`.
_PLACE = re.compile(r"steps\[([0-9]+)\]\.?(([a-z_]*).*)")


@dataclass(frozen=True, kw_only=True)
class FlowMistake:
    """One thing that is wrong in a flow file."""

    #: Index of the step; None if the mistake is outside the steps.
    step: int | None
    #: The key in the step or in the flow; empty if the mistake is in none.
    field: str
    #: Without the step in front, and without advice about options of a command.
    sentence: str
    #: The key that, set to true, confirms the value; empty if nothing does.
    confirm: str = ""


class Mistakes:
    """All mistakes of a flow file, one for each field of a step."""

    def __init__(self) -> None:
        self.found: list[FlowMistake] = []

    def has(self, step: int, field: str = "") -> bool:
        """Return whether a mistake of *step* was found, in *field* if that is given."""
        return any(each.step == step and field in ("", each.field) for each in self.found)

    def add(
        self, error: InvalidRequest | BadJson, step: int | None = None, field: str = ""
    ) -> None:
        """Add the mistake that *error* names; *step* and *field* are told where its sentence names
        none."""
        sentence = error.statement
        if match := _PLACE.fullmatch(error.field):
            step, field = int(match[1]), field or match[3]
            sentence = (
                error.named(match[2])
                .statement.removeprefix(":")
                .strip()
                .replace(f"steps[{step}].", "")
            )
        confirm = str(error.details.get("confirm", ""))
        # The first mistake of a field is the one to fix; what depends on it is not known yet.
        if not any((each.step, each.field) == (step, field) for each in self.found):
            self.found.append(
                FlowMistake(step=step, field=field, sentence=sentence, confirm=confirm)
            )


def _checking(mistakes: Mistakes | None, step: int | None = None, field: str = "") -> Checking:
    """Check in here something of *step* and *field*, where the error's sentence does not name
    them."""
    return Checking(None if mistakes is None else partial(mistakes.add, step=step, field=field))


def write_flow(app: "Application", diagram: Diagram) -> dict[str, Any]:
    """Return the content of the flow file that draws *diagram*; InvalidRequest says why there is
    none.

    The file is drawn again and compared, so that nothing gets lost on the way.
    """
    flow = _write(app, diagram)
    drawn = read_diagram(draw_flow(app, read_flow(flow)).document)
    if not is_alike(keep_nodes(drawn, diagram), diagram.document):
        raise InvalidRequest("the diagram has parts that a flow file has no keys for")
    return flow


def _write(app: "Application", diagram: Diagram) -> dict[str, Any]:
    """Return a flow file with the steps of *diagram*, as far as it has keys for what is in their
    forms."""
    steps: dict[str, tuple[Node, StepKind]] = {}
    #: Node -> the steps right before it, through chains.
    before: dict[str, tuple[str, ...]] = {}
    for node in diagram.in_order():
        kind = find_step(node)
        if kind is None:
            raise InvalidRequest(f"{shorten(node.id)}: {unknown_sentence(node)}")
        if has_numbered(node.form):
            raise InvalidRequest(
                f"{shorten(node.id)} has a placeholder of the web editor, which names its "
                "step by a number"
            )
        sources = (
            (source,) if source in steps else before[source]
            for source in diagram.incoming.get(node.id, ())
        )
        before[node.id] = tuple(dict.fromkeys(each for some in sources for each in some))
        if not kind.is_shared:
            steps[node.id] = (node, kind)
    values = {name: _written_values(app, node, kind) for name, (node, kind) in steps.items()}
    after = _orders(before, list(steps))
    ids = _ids(values, after)
    entries = []
    for name, (_, kind) in steps.items():
        entry: dict[str, Any] = {"id": ids[name]} if name in ids else {}
        entry["type"] = kind.name
        if name in after:
            entry["after"] = [ids[source] for source in after[name]]
        entries.append(entry | rename(values[name], ids))
    labels = {"name": diagram.name, "tags": list(diagram.tags), "as": diagram.document.get(ACTING)}
    return {key: value for key, value in labels.items() if value} | {"steps": entries}


def _written_values(app: "Application", node: Node, kind: StepKind) -> dict[str, Any]:
    form = action_data(node) if kind.box is ACTION_BOX else kind.read_form(node.form)
    found = {}
    for key in kind.keys:
        part = kind.terms.parts[key]
        value = find_value(form, part)
        if value not in (None, "") and value != part.default:
            side = find_side(form, part.at.split(".")[:-1])
            found[key] = part.kind.back(app, value, side)
    return {key: value for key, value in found.items() if value not in NOTHING}


def _orders(before: Mapping[str, tuple[str, ...]], steps: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the steps before each step that doesn't just follow the one above it."""
    return {
        name: before[name]
        for number, name in enumerate(steps)
        if before[name] != tuple(steps[number - 1 : number])
    }


def _ids(values: Mapping[str, Any], after: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return an id for each step that others name: no word that a placeholder begins with."""
    named = first_names(dict(values))
    wanted = named | {source for sources in after.values() for source in sources}
    ids = {}
    for number, name in enumerate(values):
        if name in wanted:
            id = f"step{number}"
            while id in named:
                id += "_"
            ids[name] = id
    return ids


#: The largest flow file, in bytes.
MAX_BYTES = 1024 * 1024

_ALWAYS = ("type", "id", "after")
#: The keys of a flow.
_TOP = ("name", "tags", "as", "steps")
#: Whole numbers below this are exact in JavaScript.
_EXACT = 2**53


@dataclass(frozen=True, kw_only=True)
class FlowStep:
    """One step with known keys; its values are not checked yet."""

    kind: StepKind
    #: Its place in the file, from 0.
    number: int
    values: Mapping[str, Any]
    #: Indexes of the steps right before it.
    after: tuple[int, ...]
    #: The id by which other steps name it; empty if it has none.
    id: str = ""

    @property
    def place(self) -> str:
        """Its place for error messages: `steps[2]`."""
        return f"steps[{self.number}]"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A flow file's content."""

    name: str
    #: In the order of the file; `order` has their indexes in execution order.
    steps: tuple[FlowStep, ...]
    order: tuple[int, ...]
    tags: tuple[str, ...] = ()
    #: Who acts for another account in it: a name of the address book, or what `Acting.write` wrote;
    #: empty for nobody.
    acting: object = ""


@dataclass(frozen=True, kw_only=True)
class DrawnFlow:
    """The diagram of a flow, and the step behind each of its nodes."""

    document: dict[str, Any]
    steps: Mapping[str, FlowStep]

    def place(self, node: str) -> str:
        """Return the step that *node* was drawn for, as `steps[2]`."""
        return self.steps[node].place

    def reason(self, node: str, error: ScenarioctlError) -> ScenarioctlError:
        """Return *error* with the key of the file in place of a field of the form."""
        return self.written(in_keys(self.steps[node].kind, error))

    def field(self, node: str, error: ScenarioctlError) -> str:
        """Return the key of the file that *error* is about; empty if none."""
        return _key_of(self.steps[node].kind, error.field)[0]

    def explain(self, node: str, error: ScenarioctlError) -> ScenarioctlError:
        """Return *error* with its step and key in front: `steps[2].amount …`."""
        place, said = self.place(node), self.reason(node, error)
        return (
            said.named(f"{place}.{said.field}") if self.field(node, error) else said.within(place)
        )

    def written(self, error: ScenarioctlError) -> ScenarioctlError:
        """Return *error* with the ids of the file in place of those of nodes, which differ each
        time."""
        return error.reworded(self._in_ids)

    def _in_ids(self, words: str) -> str:
        for node, step in self.steps.items():
            if step.id and node in words:
                words = words.replace(node, step.id)
        return words


def read_flow(content: object, *, syntax: str = "toml", mistakes: Mistakes | None = None) -> Flow:
    """Return the flow in *content*: a file's text in *syntax* (`toml` or `json`), or its parsed
    content.

    BadJson if it does not parse; InvalidRequest names an unknown key or kind of step, an id given
    twice, an `after` that is no step, a circle.  *mistakes* may collect these, except a step whose
    kind is unknown.
    """
    content = parse_flow(content, syntax=syntax)
    if not isinstance(content, dict):
        raise InvalidRequest(
            field="flow",
            problem=f"is {name_of(content)}",
            expected="an object with name and steps",
        )
    check_depth(content, field="flow")
    for key in content:
        if key not in _TOP:
            raise InvalidRequest(
                field="flow", problem=f"has an unknown key {shorten(key)}, {suggest(key, _TOP)}"
            )
    name, tags = "", []
    with _checking(mistakes, field="name"):
        name = read_name(content.get("name", ""), field="flow.name")
    with _checking(mistakes, field="tags"):
        tags = read_tags(content.get("tags", []), field="flow.tags")
    entries = content.get("steps")
    if not isinstance(entries, list) or not entries:
        raise InvalidRequest(
            field="flow",
            problem="has no steps",
            expected="at least one: a [[steps]] table with its `type`",
        )
    acting = content.get("as", "")
    with _checking(mistakes, field="as"):
        if not isinstance(acting, str):
            read_acting(acting, field="flow.as")
    return replace(_read_steps(name, entries, mistakes), tags=tuple(tags), acting=acting)


def parse_flow(content: object, *, syntax: str = "toml") -> object:
    """Return what a file's text says; parsed content as it is.  BadJson if it does not parse."""
    return _parse(content, syntax) if isinstance(content, (str, bytes)) else content


def as_json(content: Any) -> Any:
    """Return parsed content as JSON that every reader takes without loss: large numbers and
    fractions as text."""
    if isinstance(content, dict):
        return {key: as_json(value) for key, value in content.items()}
    if isinstance(content, list):
        return [as_json(value) for value in content]
    if content is None or isinstance(content, (str, bool)):
        return content
    return content if isinstance(content, int) and abs(content) < _EXACT else str(content)


def _parse(text: str | bytes, syntax: str) -> object:
    if syntax == "json":
        return parse_json(text, field="flow", limit=MAX_BYTES)
    read_choice(syntax, field="syntax", choices=("toml", "json"))
    from tomllib import TOMLDecodeError

    from scenarioctl.model.toml import parse_toml

    text = decode_text(text, field="flow", limit=MAX_BYTES)
    try:
        return parse_toml(text.replace("\r\n", "\n"), field="flow", parse_float=_read_number)
    except TOMLDecodeError as error:
        raise BadJson(field="flow", problem=f"is not TOML: {error}") from None
    except (ValueError, ArithmeticError):
        raise BadJson(
            field="flow", problem="is not TOML: it contains a number that is too long"
        ) from None
    except RecursionError:
        raise InvalidRequest(field="flow", problem="nests too deep") from None


def _read_number(text: str) -> int | Decimal:
    """Return a number of TOML with a point or an exponent, exactly."""
    whole = whole_number(Decimal(text))
    # Written as text later, in which 1.500 could be 1500.
    shortest = text if "e" in text.lower() else text.rstrip("0")
    return Decimal(shortest) if whole is None else whole


def _read_steps(name: str, entries: list[Any], mistakes: Mistakes | None) -> Flow:
    numbers: dict[str, int] = {}
    kinds = []
    for number, entry in enumerate(entries):
        place = f"steps[{number}]"
        if not isinstance(entry, dict):
            raise InvalidRequest(
                field=place, problem=f"is {name_of(entry)}", expected="a step with its `type`"
            )
        kinds.append(_kind_of(entry, place))
        with _checking(mistakes):
            _read_id(entry, number, numbers)
    steps = []
    pairs = []
    for number, (entry, kind) in enumerate(zip(entries, kinds, strict=True)):
        place = f"steps[{number}]"
        after: tuple[int, ...] = ()
        with _checking(mistakes):
            after = _after(entry, number, numbers, place)
        pairs += [(source, number) for source in after]
        values = _values(entry, kind, place, mistakes)
        identifier = entry.get("id", "")
        known = identifier if numbers.get(str(identifier)) == number else ""
        steps.append(FlowStep(kind=kind, number=number, values=values, after=after, id=known))
    cycle = find_cycle(len(steps), pairs)
    if cycle:
        names = [steps[number].id or f"steps[{number}]" for number in [*cycle, cycle[0]]]
        with _checking(mistakes, cycle[0], "after"):
            raise InvalidRequest(
                f"the steps wait for each other in a cycle: {shorten(' > '.join(names), 200)}"
            )
        # Without the arrows of what cannot run, so that all steps are drawn.
        free = set(sort_by_edges(len(steps), pairs))
        steps = [
            step if number in free else replace(step, after=()) for number, step in enumerate(steps)
        ]
        pairs = [pair for pair in pairs if pair[1] in free]
    return Flow(name=name, steps=tuple(steps), order=tuple(sort_by_edges(len(steps), pairs)))


def _read_id(entry: dict[str, Any], number: int, numbers: dict[str, int]) -> None:
    """Add the id of the step *number* to *numbers*, if it has one."""
    identifier = entry.get("id", "")
    if not isinstance(identifier, str):
        raise InvalidRequest(
            field=f"steps[{number}].id", problem=f"is {name_of(identifier)}", expected="text"
        )
    if identifier and numbers.setdefault(identifier, number) != number:
        raise InvalidRequest(
            field=f"steps[{number}].id",
            value=identifier,
            problem=f"is already used by steps[{numbers[identifier]}]",
        )


def _kind_of(entry: dict[str, Any], place: str) -> StepKind:
    value = entry.get("type")
    known = {step.name.lower(): step for step in all_steps() if step.terms.parts}
    kind = known.get(value.lower()) if isinstance(value, str) else None
    if kind is None:
        given = "is missing" if value is None else f"{shorten(value)} is not a step type"
        names = [step.name for step in known.values()]
        raise InvalidRequest(field=f"{place}.type", problem=f"{given}, {suggest(value, names)}")
    return kind


def _after(
    entry: dict[str, Any], number: int, numbers: dict[str, int], place: str
) -> tuple[int, ...]:
    if "after" not in entry:
        return (number - 1,) if number else ()
    names = entry["after"]
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidRequest(
            field=f"{place}.after", problem=f"is {name_of(names)}", expected="a list of step ids"
        )
    for name in names:
        if name not in numbers:
            known = ", ".join(list(numbers)[:20]) or "none, no step has an id"
            raise InvalidRequest(
                field=f"{place}.after",
                value=name,
                problem="is not the id of a step",
                expected=f"one of: {known}",
            )
    return tuple(dict.fromkeys(numbers[name] for name in names))


def _values(
    entry: dict[str, Any], kind: StepKind, place: str, mistakes: Mistakes | None
) -> dict[str, Any]:
    values = {key: value for key, value in entry.items() if key not in _ALWAYS}
    for key in values:
        if key not in kind.terms.parts:
            known = (*_ALWAYS, *kind.keys)
            meant = suggest(key, known, otherwise=f"a {kind.name} step takes: {', '.join(known)}")
            with _checking(mistakes, field=key):
                raise InvalidRequest(
                    field=place, problem=f"has an unknown key {shorten(key)}, {meant}"
                )
    for key in kind.required:
        if values.get(key) is None:
            with _checking(mistakes):
                raise InvalidRequest(
                    field=f"{place}.{key}",
                    problem=f"is missing, a {kind.name} step needs: {', '.join(kind.required)}",
                )
    plain = {}
    for key, value in values.items():
        with _checking(mistakes):
            plain[key] = _plain(value, f"{place}.{key}")
    return plain


def _plain(value: Any, place: str) -> Any:
    """Return *value* as JSON, fractions as text."""
    if isinstance(value, dict):
        return {key: _plain(entry, f"{place}.{key}") for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, f"{place}[{number}]") for number, entry in enumerate(value)]
    if isinstance(value, (Decimal, float)):
        return str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    raise InvalidRequest(
        field=place, problem="is a date or a time", expected="text: write it in quotes"
    )


def draw_flow(
    app: "Application",
    flow: Flow,
    *,
    builder: DiagramBuilder | None = None,
    mistakes: Mistakes | None = None,
) -> DrawnFlow:
    """Return the diagram of a flow file; InvalidRequest names the invalid step and key.

    If *mistakes* collects them, an invalid step is drawn as far as it can be read.
    """
    builder = builder or DiagramBuilder()
    followers = [0] * len(flow.steps)
    for step in flow.steps:
        for number in step.after:
            followers[number] += 1
    last: dict[int, str] = {}
    #: Id of a step that provides data -> its node.
    names: dict[str, str] = {}
    steps: dict[str, FlowStep] = {}
    for number in flow.order:
        step = flow.steps[number]
        before = [last[source] for source in step.after]
        # Two steps share a box if one ends on the chain where the next one starts.
        start = before[0] if len(before) == 1 and followers[step.after[0]] == 1 else ""
        drawn = len(builder.drawn)
        first, last[number] = _draw_step(app, builder, step, names, start, mistakes)
        steps |= dict.fromkeys(builder.drawn[drawn:], step)
        if first != start:
            for source in before:
                builder.connect(source, first)
        if step.id and step.kind.data is not None:
            # The last box of a swap is the chain behind it.
            mark = f"{step.kind.box.type}_"
            names[step.id] = next(
                box for box in reversed(builder.drawn[drawn:]) if box.startswith(mark)
            )
    document = label_document(builder.document(), name=flow.name, tags=flow.tags)
    return DrawnFlow(
        document=document | ({ACTING: flow.acting} if flow.acting else {}), steps=steps
    )


def _draw_step(
    app: "Application",
    builder: DiagramBuilder,
    step: FlowStep,
    names: Mapping[str, str],
    start: str,
    mistakes: Mistakes | None,
) -> tuple[str, str]:
    """Draw the boxes of *step*, and return the ids of the first and the last one."""
    values = {
        name: rename(value, names) for name, value in step.values.items() if value is not None
    }
    with _checking(mistakes, step.number):
        collect = None if mistakes is None else mistakes.add
        read = Reading(app, step.kind.terms, values, place=step.place, collect=collect)
        return _draw(builder, step.kind, read, start)
    box = step.kind.box
    node = builder.add(box, {"action": step.kind.name} if box is ACTION_BOX else {})
    return node, node


def draw_single(
    app: "Application", name: str, /, *, builder: DiagramBuilder | None = None, **values: Any
) -> dict[str, Any]:
    """Return the diagram of one step of the type *name*, from those of *values* that are its keys
    in a flow file."""
    builder, kind = builder or DiagramBuilder(), load_step(name)
    _draw(builder, kind, Reading(app, kind.terms, values), "")
    return builder.document()


def _draw(builder: DiagramBuilder, kind: StepKind, step: Reading, start: str) -> tuple[str, str]:
    if kind.draw is not None:
        return kind.draw(builder, step, start)
    node = builder.add(kind.box, step.form())
    return node, node


def in_keys(kind: StepKind, error: ScenarioctlError) -> ScenarioctlError:
    """Return *error* with the key of a request or flow file in place of a field of the form."""
    key, rest = _key_of(kind, error.field)
    return error.named(key + rest) if key else error


def _key_of(kind: StepKind, field: str) -> tuple[str, str]:
    """Return the key that is a *field* of the form, or holds it, and the path behind it; two empty
    texts if none is."""
    for key, part in kind.terms.parts.items():
        for name in (part.at or key, key, *part.called):
            rest = field.removeprefix(name)
            if rest != field and rest[:1] in ("", ".", "["):
                return key, rest
    return "", ""
