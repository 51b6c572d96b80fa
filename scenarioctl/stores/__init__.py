"""Where scenarios are kept.  To add a store, write a module and add a branch to `open_store`.

The methods are async so that a store may wait for a server; the embedded one answers at once, on the calling thread.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scenarioctl.errors import InvalidRequest, shorten

#: What a list may be sorted by.
SORTS = ("created", "id", "summary")
#: The longest page.
LIMIT_MAX = 1000

_ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SEARCH_MAX = 200


@dataclass(frozen=True, kw_only=True)
class StoredScenario:
    """A scenario as it lies in the store.  The store never looks into the blob."""

    id: str
    blob: bytes
    summary: str
    #: Each chain that appears in any node, as `template stats` counts it; read back sorted, each once.
    chains: tuple[str, ...]
    #: Nanoseconds since 1970, UTC.
    created: int
    updated: int


@dataclass(frozen=True, kw_only=True)
class ListedScenario:
    """What a list shows of a scenario."""

    id: str
    summary: str
    chains: tuple[str, ...]
    created: int
    updated: int
    #: Bytes of the blob.
    size: int


@dataclass(frozen=True, kw_only=True)
class ScenarioPage:
    """A part of a list."""

    items: tuple[ListedScenario, ...]
    #: How many scenarios match, on all pages.
    total: int
    #: Give it as `after` to get what follows; empty on the last page.
    next: str = ""


class Store(Protocol):
    """What every store can do; `tests/test_stores.py` says it in examples."""

    async def put_scenario(self, scenario: StoredScenario, *, replace: bool = False) -> None:
        """Keep *scenario*; once this returns, a crash does not lose it.

        Conflict if the id is taken, unless *replace*, which keeps the time of the first `created`.
        """

    async def put_scenarios(self, scenarios: Iterable[StoredScenario], *, replace: bool = False) -> int:
        """Keep all of *scenarios* or, when one is refused, none of them; return how many."""

    async def get_scenario(self, id: str) -> StoredScenario:
        """Return the scenario, or raise NotFound."""

    async def delete_scenario(self, id: str) -> None:
        """Forget the scenario, or raise NotFound."""

    async def list_scenarios(
        self,
        *,
        limit: int = 50,
        after: str = "",
        chain: str = "",
        search: str = "",
        sort: str = "created",
        descending: bool = False,
    ) -> ScenarioPage:
        """Return up to *limit* scenarios that follow the cursor *after*.

        *chain* keeps those it appears in, *search* those with this text in their id or summary, ASCII letters
        alike in both cases.  What is put meanwhile never makes a later page repeat or leave out what was there.
        """

    async def count_scenarios(self, chain: str = "") -> int:
        """Return in how many scenarios *chain* appears; without one, how many there are.  Reads one row."""

    async def close(self) -> None:
        """Let go of the store; nothing can be asked of it afterwards."""


def open_store(location: str | Path) -> Store:
    """Open the store at *location*, a file's path; it is created where there is none.

    InvalidRequest where it cannot be used, Conflict while another process locks it; both name *location*.
    """
    text = str(location)
    scheme, separator, _ = text.partition("://")
    if separator:
        # The rest of a URL may hold a password.
        raise InvalidRequest(
            f"store {shorten(scheme + '://…')} is of no known kind, expected the path of a file"
        )
    if not text or "\0" in text:
        raise InvalidRequest(f"store {shorten(text)} is not a path, expected one like scenarios.db")
    from scenarioctl.stores.sqlite import SqliteStore

    return SqliteStore(Path(text))


def check_id(id: object, *, field: str = "id") -> str:
    """Return *id* if it can name a scenario: 1 to 64 of `A-Z a-z 0-9 _ -`."""
    if not isinstance(id, str) or not 1 <= len(id) <= 64 or not _ID_CHARACTERS.issuperset(id):
        raise InvalidRequest(
            f"{field} {shorten(id)} cannot name a scenario, expected 1 to 64 letters, digits, - or _"
        )
    return id


def check_listing(*, limit: object, after: object, search: object, sort: object) -> None:
    """Refuse what no store can list by."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LIMIT_MAX:
        raise InvalidRequest(f"limit {shorten(limit)} is out of range, expected 1 to {LIMIT_MAX}")
    if sort not in SORTS:
        raise InvalidRequest(f"sort {shorten(sort)} is unknown, expected one of: {', '.join(SORTS)}")
    check_text(after, field="after")
    if len(check_text(search, field="search")) > _SEARCH_MAX:
        raise InvalidRequest(
            f"search {shorten(search)} is too long, expected at most {_SEARCH_MAX} characters"
        )


def check_text(value: object, *, field: str) -> str:
    """Return *value* if it is text that can be written as UTF-8: JSON can spell text that cannot."""
    try:
        if isinstance(value, str) and value.encode() is not None:
            return value
    except UnicodeEncodeError:
        pass
    raise InvalidRequest(f"{field} {shorten(value)} is not valid text")
