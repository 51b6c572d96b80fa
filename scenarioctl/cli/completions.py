"""What a shell offers for a value that is being typed: ids, chains, assets and fields.

A shell waits for it, so nothing is asked over a network, and what can't be read offers nothing.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from scenarioctl.errors import ScenarioctlError

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Registry


#: Value and description.
Offer = tuple[str, str]

#: Parameters that name the chain of an asset, the one that counts most first.
_CHAIN_PARAMETERS = ("source_chain", "sourchain", "chain")


def offered(
    find: Callable[[click.Context, str], Iterable[Offer]],
) -> Callable[..., list[CompletionItem]]:
    """Return click's completion of a value to those offers of *find* that begin with it, in any
    case of letters."""

    def complete(
        context: click.Context, _: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            return [
                CompletionItem(value, help=_one_line(text))
                for value, text in find(context, incomplete)
                if value.lower().startswith(incomplete.lower())
            ]
        except ScenarioctlError:
            # A line that is wrong elsewhere, or settings that can't be read: the command says so
            # when it runs.
            return []

    return complete


def _one_line(text: str) -> str:
    """Return a description that every shell's completion can read."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:80]


def scenario_ids(context: click.Context, incomplete: str) -> Iterable[Offer]:
    return _ids(context, incomplete, jobs=False)


def job_ids(context: click.Context, incomplete: str) -> Iterable[Offer]:
    return _ids(context, incomplete, jobs=True)


def addresses(context: click.Context, _: str) -> list[Offer]:
    """Return the names of the address book."""
    path = _store_file(context)
    return _select(path, "SELECT name, address FROM addresses ORDER BY name") if path else []


def _store_file(context: click.Context) -> Path | None:
    """Return the file of the store; None if it would have to be asked over a network."""
    from scenarioctl.config import is_server

    settings = _settings_of(context)
    return None if settings.url or is_server(settings.store) else Path(settings.store)


def _ids(context: click.Context, incomplete: str, *, jobs: bool) -> list[Offer]:
    path = _store_file(context)
    if path is None:
        return []
    newest = [(NEWEST, "the scenario created last")] if incomplete[:1] == NEWEST[0] else []
    return [*newest, *find_ids(path, incomplete, jobs=jobs)]


def chains(context: click.Context, _: str) -> Iterator[Offer]:
    for each in _registry_of(context).all():
        yield each.name, f"{each.role}, {each.symbol}"


def relays(context: click.Context, _: str) -> Iterator[Offer]:
    for each in _registry_of(context).all():
        if each.role == "relay":
            yield each.name, each.symbol


def assets(context: click.Context, incomplete: str) -> list[Offer]:
    """Offer ids and symbols on the chain that is typed already; of look-alikes, only the ids."""
    from scenarioctl.chains.assets import Assets

    registry, name = _registry_of(context), _typed_chain(context)
    table = Assets(registry).all(registry.find(name)) if name else ()
    by_symbol = [
        (each.symbol, f"{each.id}, {each.name}" if each.name else each.id)
        for each in table
        if each.symbol and not each.mark
    ]
    ids = [(each.id, each.display_name) for each in table] if incomplete[:1].isdigit() else []
    return [*by_symbol, *ids]


def fields(context: click.Context, _: str) -> list[Offer]:
    """Offer the paths into the answer of the command that is typed."""
    return [(path, "") for path in getattr(context.command, "answer_paths", ())]


def _settings_of(context: click.Context) -> Any:
    from scenarioctl.config import load_settings

    flags: dict[str, Any] = {}
    step: click.Context | None = context
    while step is not None:
        # The option after the command wins over the one before it.
        flags = {
            **{name: value for name, value in step.params.items() if value is not None},
            **flags,
        }
        step = step.parent
    return load_settings({name: flags.get(name) for name in ("config", "store", "url")})


def _registry_of(context: click.Context) -> "Registry":
    from scenarioctl.chains.registry import Registry

    return Registry(_settings_of(context).chains)


def _typed_chain(context: click.Context) -> str:
    return next(
        (context.params[each] for each in _CHAIN_PARAMETERS if context.params.get(each)), ""
    )


#: As `stores/scenarios.py` has it.
NEWEST = "@last"
#: The most that a shell is told.
MOST = 100

_SCENARIOS = "SELECT {}, {} FROM scenarios s WHERE {} ORDER BY s.created DESC LIMIT ?"
_JOBS = """
    SELECT {}, j.state || ', ' || {} FROM jobs j JOIN scenarios s ON s.id = j.id
    WHERE {} ORDER BY j.changed DESC LIMIT ?
"""
_BY_ID = ("s.id", "coalesce(nullif(s.name, ''), s.summary)")
_BY_NAME = ("s.name", "s.id || ', ' || s.summary")
#: Follows on all letters.
_END = "\U0010ffff"


def find_ids(path: Path, beginning: str, *, jobs: bool = False) -> list[tuple[str, str]]:
    """Return ids of scenarios, or of *jobs*, with a description, the newest first, and names that
    begin so.

    None if the store can't be read now.

    The file is never created or waited for.  Not by way of the store, whose import alone
    takes as long as all the rest.
    """
    # Without a beginning, no condition: it would keep SQLite from reading in the order of the index
    # by date.
    query, bounds = (_JOBS if jobs else _SCENARIOS), (beginning, beginning + _END, MOST)
    if not beginning:
        return _select(path, query.format(*_BY_ID, "1"), MOST)
    by_id = query.format(*_BY_ID, "s.id >= ? AND s.id < ?")
    by_name = query.format(*_BY_NAME, "s.name <> '' AND s.name >= ? AND s.name < ?")
    return [*_select(path, by_id, *bounds), *_select(path, by_name, *bounds)]


def _select(path: Path, query: str, *values: Any) -> list[tuple[str, str]]:
    try:
        location = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(location, uri=True, timeout=0.01)) as database:
            return database.execute(query, values).fetchall()
    except (sqlite3.Error, ValueError):
        return []
