"""Flow files: several steps in TOML or JSON, as a person writes them.

`docs/flow.md` shows every step.  To add a kind of step, add its row to `STEPS` and its module to `actions/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scenarioctl.errors import BadJson, InvalidRequest, shorten
from scenarioctl.formats.documents import decode_text, parse_json
from scenarioctl.model.diagram import MAX_NAME, check_depth, find_cycle, name_of, sort_by_edges

#: The largest flow file, in bytes.
MAX_BYTES = 1024 * 1024

#: Each kind of step with the keys that it must have and those that it may have.
STEPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "xTransfer": (
        ("source_chain", "dest_chain", "destination_address", "amount", "assetid"),
        ("yes", "xcm_version"),
    ),
    "swap": (
        ("assetin", "assetout", "amount"),
        ("chain", "min_amount_out", "exact_minimum", "slippage", "max_impact", "route"),
    ),
    "Remark": (("chain", "text"), ("plain",)),
    "chainQuery": (("chain", "pallet_name", "method_name"), ("params", "block")),
    "chainTx": (("chain", "pallet_name", "method_name"), ("params",)),
    "http": (("url",), ("method", "headers", "body", "content_type", "timeout", "retries")),
    "webhook": (("name",), ("uuid", "timeout")),
    "delay": (("seconds",), ()),
}

_KINDS = {kind.lower(): kind for kind in STEPS}
_ALWAYS = ("type", "id", "after")


@dataclass(frozen=True, kw_only=True)
class FlowStep:
    """One step, its keys checked, its values not yet."""

    kind: str
    #: Where it stands, for error sentences: `steps[2]`.
    place: str
    fields: Mapping[str, Any]
    #: Numbers of the steps that come right before, counted from 0.
    after: tuple[int, ...]
    #: What other steps call it; empty where they do not.
    id: str = ""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A flow file's content."""

    name: str
    #: As written; `order` says how they run.
    steps: tuple[FlowStep, ...]
    order: tuple[int, ...]


def read_flow(content: object, *, syntax: str = "toml") -> Flow:
    """Return the flow in *content*: a file's text in *syntax* (`toml` or `json`), or its parsed content.

    BadJson if it does not parse; InvalidRequest names an unknown key or kind of step, an id given twice,
    an `after` that is no step, a circle.
    """
    if isinstance(content, (str, bytes)):
        content = _parse(content, syntax)
    if not isinstance(content, dict):
        raise InvalidRequest(f"flow is {name_of(content)}, expected an object with `name` and `steps`")
    check_depth(content, field="flow")
    for key in content:
        if key not in ("name", "steps"):
            raise InvalidRequest(f"flow has an unknown key {shorten(key)}, expected: name, steps")
    name = content.get("name", "")
    if not isinstance(name, str):
        raise InvalidRequest(f"flow.name is {name_of(name)}, expected text")
    if len(name) > MAX_NAME:
        raise InvalidRequest(
            f"flow.name is {len(name)} characters long, expected at most {MAX_NAME} characters"
        )
    entries = content.get("steps")
    if not isinstance(entries, list) or not entries:
        raise InvalidRequest("flow has no steps, expected at least one: a [[steps]] table with its `type`")
    return _read_steps(name, entries)


def _parse(text: str | bytes, syntax: str) -> object:
    if syntax == "json":
        return parse_json(text, field="flow", limit=MAX_BYTES)
    if syntax != "toml":
        raise InvalidRequest(f"syntax {shorten(syntax)} is unknown, expected toml or json")
    from tomllib import TOMLDecodeError

    from scenarioctl.model.toml import parse_toml

    text = decode_text(text, field="flow", limit=MAX_BYTES)
    try:
        return parse_toml(text.replace("\r\n", "\n"), field="flow", parse_float=Decimal)
    except TOMLDecodeError as error:
        raise BadJson(f"flow is not TOML: {error}") from None
    except (ValueError, ArithmeticError):
        raise BadJson("flow is not TOML: it holds a number that is too long") from None
    except RecursionError:
        raise InvalidRequest("flow nests too deep") from None


def _read_steps(name: str, entries: list[Any]) -> Flow:
    numbers: dict[str, int] = {}
    kinds = []
    for number, entry in enumerate(entries):
        place = f"steps[{number}]"
        if not isinstance(entry, dict):
            raise InvalidRequest(f"{place} is {name_of(entry)}, expected a step with its `type`")
        kinds.append(_kind_of(entry, place))
        identifier = entry.get("id", "")
        if not isinstance(identifier, str):
            raise InvalidRequest(f"{place}.id is {name_of(identifier)}, expected text")
        if identifier and numbers.setdefault(identifier, number) != number:
            raise InvalidRequest(
                f"{place}.id {shorten(identifier)} is taken by steps[{numbers[identifier]}], every id is used once"
            )
    steps = []
    pairs = []
    for number, (entry, kind) in enumerate(zip(entries, kinds, strict=True)):
        place = f"steps[{number}]"
        after = _after(entry, number, numbers, place)
        pairs += [(source, number) for source in after]
        fields = _fields(entry, kind, place)
        steps.append(FlowStep(kind=kind, place=place, fields=fields, after=after, id=entry.get("id", "")))
    cycle = find_cycle(len(steps), pairs)
    if cycle:
        names = [entries[number].get("id") or f"steps[{number}]" for number in [*cycle, cycle[0]]]
        raise InvalidRequest(f"the steps wait for each other in a circle: {shorten(' > '.join(names), 200)}")
    return Flow(name=name, steps=tuple(steps), order=tuple(sort_by_edges(len(steps), pairs)))


def _kind_of(entry: dict[str, Any], place: str) -> str:
    value = entry.get("type")
    kind = _KINDS.get(value.lower()) if isinstance(value, str) else None
    if kind is None:
        given = "is missing" if value is None else f"{shorten(value)} is not a kind of step"
        raise InvalidRequest(f"{place}.type {given}, expected one of: {', '.join(STEPS)}")
    return kind


def _after(entry: dict[str, Any], number: int, numbers: dict[str, int], place: str) -> tuple[int, ...]:
    if "after" not in entry:
        return (number - 1,) if number else ()
    names = entry["after"]
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidRequest(f"{place}.after is {name_of(names)}, expected a list of step ids")
    for name in names:
        if name not in numbers:
            known = ", ".join(list(numbers)[:20]) or "none, no step has an id"
            raise InvalidRequest(f"{place}.after {shorten(name)} is not the id of a step, there is: {known}")
    return tuple(dict.fromkeys(numbers[name] for name in names))


def _fields(entry: dict[str, Any], kind: str, place: str) -> dict[str, Any]:
    required, optional = STEPS[kind]
    fields = {key: value for key, value in entry.items() if key not in _ALWAYS}
    for key in fields:
        if key not in required and key not in optional:
            known = ", ".join((*_ALWAYS, *required, *optional))
            raise InvalidRequest(f"{place} has an unknown key {shorten(key)}, a {kind} step takes: {known}")
    for key in required:
        if fields.get(key) is None:
            raise InvalidRequest(f"{place}.{key} is missing, a {kind} step needs: {', '.join(required)}")
    return {key: _plain(value, f"{place}.{key}") for key, value in fields.items()}


def _plain(value: Any, place: str) -> Any:
    """Return *value* as JSON can hold it, fractions as the text they were written in."""
    if isinstance(value, dict):
        return {key: _plain(entry, f"{place}.{key}") for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, f"{place}[{number}]") for number, entry in enumerate(value)]
    if isinstance(value, (Decimal, float)):
        return str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    raise InvalidRequest(f"{place} is a date or a time, expected text: write it in quotes")
