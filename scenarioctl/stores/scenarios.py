"""The scenarios of a store: operations."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from scenarioctl.model.jobs import Job, JobChange
from scenarioctl.stores import ListedScenario, ScenarioPage, StoredScenario, jobs, statements
from scenarioctl.stores.asking import Operation, Row, find, find_all, lock_key
from scenarioctl.stores.rows import Value, read_texts, write_cursor
from scenarioctl.stores.validation import (
    changed_meanwhile,
    is_id,
    named_like_id,
    still_running,
    taken,
    unknown,
)

#: Means the scenario that was created last.
NEWEST = "@last"
#: The shortest beginning of an id that names a scenario.
_LEAST = 4
#: Follows on all characters of ids.
_END = "\x7f"
#: Scenarios that one statement inserts.
_AT_ONCE = 50


def add(scenarios: Sequence[StoredScenario]) -> Operation[list[bool]]:
    """Insert new scenarios by one statement; say of each whether it is in, which it is not if its
    id is taken.

    InvalidRequest for a name that is an id.
    """
    yield from _check_names(scenarios)
    values = {
        f"{name}_{place}": value
        for place, scenario in enumerate(scenarios)
        for name, value in _values(scenario).items()
    }
    added = {id for (id,) in (yield statements.add_scenarios(len(scenarios)), values)}
    answers = []
    for scenario in scenarios:
        answers.append(scenario.id in added)
        # Of two with the same id, the first is in.
        added.discard(scenario.id)
    return answers


def add_all(scenarios: Sequence[StoredScenario]) -> Operation[int]:
    for first in range(0, len(scenarios), _AT_ONCE):
        some = scenarios[first : first + _AT_ONCE]
        for scenario, added in zip(some, (yield from add(some)), strict=True):
            if not added:
                raise taken(scenario.id)
    return len(scenarios)


def put_all(scenarios: Sequence[StoredScenario]) -> Operation[int]:
    """Store each in place of the one with its id, if there is one."""
    for scenario in scenarios:
        if not (yield from add([scenario]))[0] and not (yield from _replace(scenario)):
            raise taken(scenario.id)
    return len(scenarios)


def change(
    scenario: StoredScenario, *, revision: str, job: Callable[[Job], JobChange | None] | None
) -> Operation[None]:
    if not (yield from _replace(scenario, revision=revision)):
        raise unknown(scenario.id)
    if job is not None:
        yield from jobs.change(scenario.id, job)


def _check_names(scenarios: Sequence[StoredScenario]) -> Operation[None]:
    ids = {each.id for each in scenarios}
    for name in sorted({each.name for each in scenarios} - {""}):
        if name in ids or (yield statements.IDS_LIKE_NAME, {"name": name}):
            raise named_like_id(name)


def _replace(scenario: StoredScenario, *, revision: str = "") -> Operation[bool]:
    """Store *scenario* in place of the one with its id, if it has that *revision*; False if there
    is none."""
    former = yield from find(statements.WEBHOOKS_OF_SCENARIO, id=scenario.id)
    if former is None:
        return False
    yield from _lock_webhooks(read_texts(former[0]))
    locked = yield from find(statements.LOCK_SCENARIO, id=scenario.id)
    if locked is None:
        return False
    if revision and (yield from get(scenario.id)).revision != revision:
        raise changed_meanwhile(scenario.id)
    yield from _check_names([scenario])
    yield statements.CHANGE_SCENARIO, _values(scenario)
    yield from _forget_events(read_texts(locked[0]))
    return True


def keep(scenario: StoredScenario) -> Operation[str]:
    if scenario.digest:
        # One at a time looks for a scenario with this digest, and stores one.
        yield statements.LOCK_DIGEST, {"key": lock_key(scenario.digest)}
        found = yield from find(statements.SCENARIO_WITH_DIGEST, digest=scenario.digest)
        if found is not None:
            return str(found[0])
    yield from add_all([scenario])
    return scenario.id


def get(id: str) -> Operation[StoredScenario]:
    row = yield from find(statements.FIND_SCENARIO, id=id)
    if row is None:
        raise unknown(id)
    return _read(row)


def find_named(text: str, *, limit: int) -> Operation[list[tuple[str, str]]]:
    """Return id and name of the scenario with the id *text*; without one, those that *text* means
    otherwise, at most *limit*.

    That is the one that was created last for `@last`, those with that name, else those whose id
    begins so.
    """
    rows = yield statements.NAME_OF_SCENARIO, {"id": text}
    if not rows and text == NEWEST:
        rows = yield statements.NEWEST_SCENARIO, {}
    if not rows:
        rows = yield statements.SCENARIOS_WITH_NAME, {"name": text, "limit": limit}
    if not rows and len(text) >= _LEAST and is_id(text):
        bounds = {"first": text, "last": text + _END}
        rows = yield statements.SCENARIOS_BEGINNING, {**bounds, "limit": limit}
    return [(id, str(name)) for id, name in rows]


def find_some(ids: Collection[str]) -> Operation[dict[str, StoredScenario]]:
    """Return those of the scenarios that are stored."""
    # No text of a store has a NUL character.
    rows = yield from find_all(statements.FIND_SCENARIOS, ids=[id for id in ids if "\0" not in id])
    return {row[0]: _read(row) for row in rows}


def delete(id: str) -> Operation[None]:
    former = yield from find(statements.WEBHOOKS_OF_SCENARIO, id=id)
    if former is None:
        raise unknown(id)
    webhooks = read_texts(former[0])
    yield from _lock_webhooks(webhooks)
    if (yield from find(statements.LOCK_SCENARIO_TO_DELETE, id=id)) is None:
        raise unknown(id)
    job = yield from find(statements.LOCK_JOB_OF_SCENARIO, id=id)
    if job is not None and job[0] == "running":
        raise still_running(id)
    for statement in statements.DELETE_SCENARIO:
        yield statement, {"id": id}
    yield from _forget_events(webhooks)


def count(chain: str) -> Operation[int]:
    ((amount,),) = yield statements.COUNT_SCENARIOS, {"chain": chain}
    return int(amount)


def list_page(
    *,
    limit: int,
    after: Sequence[Value],
    chain: str,
    tag: str,
    search: str,
    sort: str,
    descending: bool,
) -> Operation[ScenarioPage]:
    """Return the scenarios behind the one with the sort key *after*; () is before all."""
    values: dict[str, Any] = {
        "limit": limit + 1,
        "chain": chain,
        "tag": tag,
        "search": search,
        **{f"after_{place}": part for place, part in enumerate(after)},
    }
    question = statements.list_scenarios(
        chain=bool(chain),
        tag=bool(tag),
        search=bool(search),
        after=bool(after),
        sort=sort,
        descending=descending,
    )
    rows = yield question, values
    total = rows[0][0]
    found = [row[1:] for row in rows if row[-1] is not None]
    following = ""
    if len(found) > limit:
        id, summary, *_, created, _, _, seq = found[limit - 1]
        keys = {"created": (created, seq), "id": (id,), "summary": (summary, seq)}
        following = write_cursor(sort, *keys[sort], descending=descending)
    items = tuple(_read_listed(row) for row in found[:limit])
    return ScenarioPage(items=items, total=total, next=following)


def _lock_webhooks(uuids: Iterable[str]) -> Operation[None]:
    """Hold off new events of the webhooks."""
    # Sorted, so that two transactions don't wait for each other.
    for key in sorted({lock_key(uuid.encode()) for uuid in uuids}):
        yield statements.LOCK_WEBHOOK, {"key": key}


def _forget_events(webhooks: Iterable[str]) -> Operation[None]:
    """Delete the events of those *webhooks* that no scenario names any more: nobody could list
    them."""
    for uuid in webhooks:
        yield statements.FORGET_EVENTS, {"uuid": uuid}


def _values(scenario: StoredScenario) -> dict[str, Any]:
    return {
        "id": scenario.id,
        "summary": scenario.summary,
        "name": scenario.name,
        "chains": sorted(set(scenario.chains)),
        "webhooks": sorted(set(scenario.webhooks)),
        "tags": sorted(set(scenario.tags)),
        "created": scenario.created,
        "updated": scenario.updated,
        "size": len(scenario.blob),
        "digest": scenario.digest or None,
        "blob": scenario.blob,
    }


def _read(row: Row) -> StoredScenario:
    id, blob, summary, name, chains, webhooks, tags, created, updated = row
    return StoredScenario(
        id=id,
        blob=blob,
        summary=summary,
        name=name,
        chains=read_texts(chains),
        webhooks=read_texts(webhooks),
        tags=read_texts(tags),
        created=created,
        updated=updated,
    )


def _read_listed(row: Row) -> ListedScenario:
    id, summary, name, chains, tags, created, updated, size, _ = row
    return ListedScenario(
        id=id,
        summary=summary,
        name=name,
        chains=read_texts(chains),
        tags=read_texts(tags),
        created=created,
        updated=updated,
        size=size,
    )
