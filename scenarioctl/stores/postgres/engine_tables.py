"""The tables of the dispatch engine, procrastinate: its migrations, and whether the installed version works with the tables.

procrastinate has migrations for before and for after an upgrade of all workers; the latter have `_post_` in their names.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scenarioctl.stores.postgres.errors import Explainer


def engine_migrations() -> list[Path]:
    """Return all migrations of the installed version, oldest first."""
    from procrastinate.schema import SchemaManager

    return sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"), key=lambda path: path.stem)


def removes(migration: str) -> bool:
    """Return whether *migration* removes what older versions need, and is for after the upgrade of all workers."""
    return "_post_" in migration


@dataclass(frozen=True, kw_only=True)
class Installed:
    """What the installed version says of its tables, as names of migrations."""

    newest: str
    #: The newest one that it can't do without.
    needed: str
    #: The newest one that removes something.
    removed: str


@cache
def installed_engine() -> Installed:
    names = [path.stem for path in engine_migrations()]
    return Installed(
        newest=names[-1],
        needed=max(name for name in names if not removes(name)),
        removed=max(name for name in names if removes(name)),
    )


def check_engine(engine: str, removed: str, explainer: Explainer) -> None:
    """Raise StoreFailed if the installed version doesn't work with tables of these newest migrations, as `meta` has them."""
    installed = installed_engine()
    if engine < installed.needed:
        raise explainer.older_engine(engine, installed.needed)
    if removed > installed.newest:
        raise explainer.newer_engine(removed, installed.newest)
