"""What lists say of scenarios beside what the store keeps for lists: their titles, receivers and last runs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.json_types import Timestamp, timestamp
from scenarioctl.operations.job_descriptions import RunOutcome
from scenarioctl.operations.job_runs import duration_of, outcome_of
from scenarioctl.operations.stored_diagrams import read_blob
from scenarioctl.stores import StoredScenario

#: Bytes of a compressed diagram above which its summary is its title: reading all steps for one line takes too long.
_LARGE = 64 * 1024


class LastRun(TypedDict):
    started: "Timestamp"
    finished: "Timestamp"
    seconds: float
    outcome: RunOutcome


class Title(NamedTuple):
    #: `1.5 DOT · Polkadot → Asset Hub`.
    text: str
    #: As the scenario has it; empty if nobody receives something.
    receiver: str = ""
    name: str = ""


async def titles_of(app: Application, ids: Sequence[str]) -> dict[str, Title]:
    """Return the titles of those scenarios that are stored, and not damaged."""
    stored = await app.store.find_scenarios(ids)
    return await app.aside(_read_titles, app, stored)


def _read_titles(app: Application, stored: Mapping[str, StoredScenario]) -> dict[str, Title]:
    return {id: _title_of(app, scenario) for id, scenario in stored.items()}


def _title_of(app: Application, scenario: StoredScenario) -> Title:
    from scenarioctl.actions.headlines import headline_of

    title = Title(scenario.summary, name=scenario.name)
    if len(scenario.blob) > _LARGE:
        return title
    try:
        headline = headline_of(app, read_blob(scenario.blob, scenario.id))
    except ScenarioctlError:
        # A list shows a scenario that cannot be read, too.
        return title
    return Title(headline.title, headline.receiver, scenario.name)


async def last_runs_of(app: Application, ids: Sequence[str]) -> dict[str, LastRun]:
    """Return the last run of each of these scenarios that has run."""
    found = await app.store.runs_of_each(ids, limit=1)
    return {
        id: {
            "started": timestamp(run.started),
            "finished": timestamp(run.finished),
            "seconds": duration_of(run),
            "outcome": outcome_of(run),
        }
        for id, (run, *_) in found.items()
    }
