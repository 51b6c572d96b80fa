"""What another set of rows changes, and whether that is stricter than before or has to be agreed to
by a person.

Whatever isn't known to be stricter has to be agreed to.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from scenarioctl.chains.fact_rows import Rows
from scenarioctl.chains.trust import PLACE, Accepted, ForeignReserve, read_all


@dataclass(frozen=True, kw_only=True)
class FactChange:
    """One row, or one field of a row, that is another one."""

    #: As in `FILES`.
    kind: str
    #: Which chain, asset or route, in words.
    of: str
    #: The field; "" for the whole row.
    field: str = ""
    #: In words; "" for what isn't there.
    before: str
    after: str
    #: Whether a person has to agree.
    opens: bool

    def __str__(self) -> str:
        subject = f"{self.of}: {self.field}" if self.field else self.of
        if not self.before:
            return f"{subject} added{f' ({self.after})' if self.field else ''}"
        if not self.after:
            return f"{subject} removed{f' ({self.before})' if self.field else ''}"
        return f"{subject} {self.before} → {self.after}"


def compare_rows(before: Rows, after: Rows) -> list[FactChange]:
    """Return all that differs, except who said so and when; first what has to be agreed to."""
    names = {
        name: row["title"]
        for rows in (before, after)
        for name, row in rows["chains"].items()
        if name != "read"
    }
    changes = [
        change
        for kind, compare in _COMPARISONS.items()
        for change in compare(names, before[kind], after[kind])
    ]
    return sorted(changes, key=lambda change: not change.opens)


Table = Mapping[str, Any]


def _compare_chains(names: Table, before: Table, after: Table) -> Iterator[FactChange]:
    for name, old, new in _pairs(before, after):
        yield from _compare_fields(
            "chains", names[name], old, new, ignored=("note",), is_stricter=_is_stricter_chain
        )


def _is_stricter_chain(field: str, old: Any, new: Any) -> bool:
    if field == "endpoints":
        return set(new or ()) <= set(old or ())
    return field == "explorer" and not new


def _compare_closed(_: Table, before: Table, after: Table) -> Iterator[FactChange]:
    for _name, old, new in _pairs(before, after):
        of = f"closed chain {(new or old)['title']}"
        if old is None:
            # What to use instead is advice that people follow.
            opens = bool(new.get("instead"))
            yield FactChange(kind="closed", of=of, before="", after="closed", opens=opens)
        else:
            # One that is taken back opens what it closed.
            yield from _compare_fields(
                "closed", of, old, new, ignored=("source", "read"), removal_opens=True
            )


_CELLS = ("id", "symbol", "decimals", "minimum", "kind", "location", "fees", "name", "canonical")


def _compare_assets(names: Table, before: Table, after: Table) -> Iterator[FactChange]:
    for chain, old, new in _pairs(before, after):
        by_id = [{row[0]: row for row in rows or ()} for rows in (old, new)]
        left = {row[1].lower() for row in by_id[1].values()}
        for id, was, now in _pairs(*by_id):
            of = f"asset {id} of {names.get(chain, chain)}"
            # Its symbol would mean another asset then.
            takes_symbol = was is not None and was[1].lower() in left
            cells = [
                None if row is None else dict(zip(_CELLS, row, strict=False)) for row in (was, now)
            ]
            yield from _compare_fields("assets", of, *cells, removal_opens=takes_symbol)


def _compare_routes(names: Table, before: Table, after: Table) -> Iterator[FactChange]:
    for source, old, new in _pairs(before, after):
        if source == "sources":
            continue
        # Without the proof, who said so and when.
        by_end = [{(row[0], row[1]): tuple(row[2:4]) for row in rows or ()} for rows in (old, new)]
        for (end, asset), was, now in _pairs(*by_end):
            closes = now is None or (was is not None and now[0] == was[0] and was[1] == "always")
            yield FactChange(
                kind="routes",
                of=f"route of {asset} from {names.get(source, source)} to {names.get(end, end)}",
                before=_words(was),
                after=_words(now),
                opens=not closes,
            )


def _compare_trust(names: Table, before: Table, after: Table) -> Iterator[FactChange]:
    for name, old, new in _pairs(*map(_trust_rows, (before, after))):
        of = f"what {names.get(name, name)} accepts"
        yield from _compare_fields(
            "trust",
            of,
            old,
            new,
            ignored=("source", "read"),
            # What it refuses would be open then.
            removal_opens=bool(old and old["refused"]),
            is_stricter=lambda field, was, now: (
                field in ("reserves", "teleports", "sends_teleports", "partial")
                and set(now or ()) <= set(was or ())
            ),
        )


def _trust_rows(rows: Table) -> dict[str, dict[str, Any]]:
    """Return *rows* with what they take from others, and each switch as a list, which is empty if
    it is off."""
    # A copy: rows are filled in as they are read.
    own = {name: dict(row) for name, row in rows.items()}
    return {
        name: {
            # Whose facts they are, of a chain that isn't built in.
            **{key: own[name][key] for key in PLACE if key in own[name]},
            **{each.name: _switch(getattr(facts, each.name)) for each in fields(facts)},
        }
        for name, facts in read_all(own).items()
    }


def _switch(value: Any) -> Any:
    return ["yes"] if value is True else [] if value is False else value


def _compare_runtimes(names: Table, before: Table, after: Table) -> Iterator[FactChange]:
    for name, old, new in _pairs(before, after):
        was, now = (None if row is None else row["spec_version"] for row in (old, new))
        if was != now:
            yield FactChange(
                kind="runtimes",
                of=f"known runtime of {names.get(name, name)}",
                before=_words(was),
                after=_words(now),
                opens=now is None or (was is not None and now < was),
            )


_COMPARISONS: Mapping[str, Callable[[Table, Table, Table], Iterator[FactChange]]] = {
    "chains": _compare_chains,
    "closed": _compare_closed,
    "assets": _compare_assets,
    "routes": _compare_routes,
    "trust": _compare_trust,
    "runtimes": _compare_runtimes,
}


def _pairs(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Give key, old and new value of what differs, in the old order; None for what isn't there."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old != new and key != "read":
            yield key, old, new


def _compare_fields(
    kind: str,
    of: str,
    old: Table | None,
    new: Table | None,
    *,
    ignored: tuple[str, ...] = (),
    removal_opens: bool = False,
    is_stricter: Callable[[str, Any, Any], bool] = lambda _field, _old, _new: False,
) -> Iterator[FactChange]:
    """Give the fields that differ, or a row that came, which has to be agreed to, or that went."""
    if old is None or new is None:
        was, now = ("listed" if row is not None else "" for row in (old, new))
        yield FactChange(
            kind=kind, of=of, before=was, after=now, opens=new is not None or removal_opens
        )
        return
    for field, was, now in _pairs(old, new):
        if field not in ignored and (was or now):
            before, after = was, now
            if isinstance(was or now, (list, tuple)) and {*(was or ())} != {*(now or ())}:
                before = [each for each in was or () if each not in (now or ())]
                after = [each for each in now or () if each not in (was or ())]
            yield FactChange(
                kind=kind,
                of=of,
                field=field,
                before=_words(before),
                after=_words(after),
                opens=not is_stricter(field, was, now),
            )


def _words(value: Any) -> str:
    match value:
        case None:
            return ""
        case Accepted(asset=asset, sender=sender, decided_by=decided_by):
            return f"{asset} from {sender}" + (f" where {decided_by} says so" if decided_by else "")
        case ForeignReserve(asset=asset, reserve=reserve):
            return f"{asset} with the reserve {reserve}"
        case list() | tuple():
            return ", ".join(map(_words, value))
    return str(value)
