"""By which words a search finds what is stored: the store is told them before a search, and by a
daemon now and then."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError, StoreBusy, StoreFailed, StoreUnavailable
from scenarioctl.operations.scenario_titles import LARGE
from scenarioctl.operations.stored_diagrams import read_blob
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.search import words_of

#: Rows whose words are told at once.
AT_ONCE = 200


async def prepare_search(
    app: Application, complete: Callable[[Application], Awaitable[None]]
) -> tuple[str, ...]:
    """Have words told by *complete*; return a warning if the store can't take them."""
    try:
        await complete(app)
    except (StoreBusy, StoreFailed, StoreUnavailable) as error:
        return (
            (
                "The search may miss what is newest, since the store can't be written: "
                f"{error.statement}"
            ),
        )
    return ()


async def complete_words(app: Application) -> None:
    """Tell the store by which words a search finds the scenarios that were stored or changed since
    the last time."""
    if app.resources.telling_words is None:
        app.resources.telling_words = asyncio.Lock()
    async with app.resources.telling_words:
        last, count = 0, AT_ONCE
        # Those that others store meanwhile are for the next time.
        while count == AT_ONCE:
            found = await app.store.find_without_words(after=last, limit=AT_ONCE)
            told = await app.aside(_tell_words, app, found) if found else []
            if told:
                await app.store.add_words(told)
            last, count = max(found, default=last), len(found)


def _tell_words(
    app: Application, found: Mapping[int, StoredScenario | None]
) -> list[tuple[int, int, str]]:
    return [
        (number, scenario.updated, _words_of(app, scenario))
        for number, scenario in found.items()
        # A damaged one has none.
        if scenario is not None
    ]


def _words_of(app: Application, scenario: StoredScenario) -> str:
    from scenarioctl.actions.story import tell_all

    told = ""
    if len(scenario.blob) <= LARGE:
        with suppress(ScenarioctlError):
            told = tell_all(app, read_blob(scenario.blob, scenario.id))
    labels = (scenario.id, scenario.name, scenario.summary, *scenario.tags, *scenario.chains)
    return words_of(*labels, told)
