"""The tables of the PostgreSQL store, and what takes those of an older version to them:
`schema.sql`.

procrastinate has migrations for before and for after an upgrade of all workers; the latter have
`_post_` in their names.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from pathlib import Path

from scenarioctl.stores.postgres.errors import Explainer
from scenarioctl.stores.statements import read_sections, split_statements

#: Holds our tables and those of the engine; every connection has it as its search path.
SCHEMA = "scenarioctl"


@dataclass(frozen=True, kw_only=True)
class Migration:
    """What takes the tables from one version to the next: statements, or one index."""

    #: The oldest version of the program's tables that still works with the tables as they are then.
    compatible: int
    #: Run in one transaction.
    statements: tuple[str, ...] = ()
    #: The name of an index that is built while others write, and what follows the name: `ON
    #: scenarios (size)`.
    index: tuple[str, str] | None = None
    is_unique: bool = False

    @property
    def creates(self) -> str:
        return "CREATE UNIQUE INDEX" if self.is_unique else "CREATE INDEX"

    @property
    def for_empty_tables(self) -> tuple[str, ...]:
        """Return what does the same in a transaction, while nobody else uses the tables."""
        return (
            self.statements if self.index is None else (f"{self.creates} {' '.join(self.index)}",)
        )


_INDEX = re.compile(r"CREATE( UNIQUE)? INDEX (\w+) (ON .*)")


def _migration(title: str, text: str) -> Migration:
    compatible, statements = int(title.rpartition("compatible ")[2]), split_statements(text)
    index = _INDEX.fullmatch(statements[0]) if len(statements) == 1 else None
    if index is None:
        return Migration(compatible=compatible, statements=statements)
    return Migration(compatible=compatible, index=(index[2], index[3]), is_unique=bool(index[1]))


#: Each entry takes the tables from the version of its position to the next.
MIGRATIONS = tuple(
    starmap(_migration, read_sections(Path(__file__).with_name("schema.sql")).items())
)
VERSION = len(MIGRATIONS)


def needed_version(migrations: Sequence[Migration]) -> int:
    """Return the oldest version of the tables that a program with *migrations* works with.

    It doesn't need the last entries to be applied if they only remove what older versions needed.
    """
    for version in range(len(migrations), 1, -1):
        if migrations[version - 1].compatible == migrations[version - 2].compatible:
            return version
    return 1


NEEDED = needed_version(MIGRATIONS)


def engine_migrations() -> list[Path]:
    """Return all migrations of the installed version, oldest first."""
    from procrastinate.schema import SchemaManager

    return sorted(
        Path(SchemaManager.get_migrations_path()).glob("*.sql"), key=lambda path: path.stem
    )


def removes(migration: str) -> bool:
    """Return whether *migration* removes what older versions need, and is for after the upgrade of
    all workers."""
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
    """Raise StoreFailed if the installed version doesn't work with tables of these newest
    migrations, as `meta` has them."""
    installed = installed_engine()
    if engine < installed.needed:
        raise explainer.older_engine(engine, installed.needed)
    if removed > installed.newest:
        raise explainer.newer_engine(removed, installed.newest)
