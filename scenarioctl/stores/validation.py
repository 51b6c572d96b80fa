"""What every store refuses, in the same sentences."""

from scenarioctl.errors import Conflict, InvalidRequest, NotFound, StoreFailed
from scenarioctl.model.jobs import Job
from scenarioctl.stores import StoredScenario

#: The version of the tables of every store.
SCHEMA_VERSION = 1
#: What a list may be sorted by.
SORTS = ("created", "id", "summary")
#: The longest page.
LIMIT_MAX = 1000

_ID_CHARACTERS = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-!@#$*+?"
)
_SEARCH_MAX = 200
#: The largest integer that a column holds.
INTEGER_MAX = 2**63 - 1


def check_scenario(scenario: StoredScenario) -> None:
    """Refuse what no store can keep."""
    check_id(scenario.id)
    check_storable(scenario.summary, field="summary")
    check_storable(scenario.name, field="name")
    for chain in scenario.chains:
        if not check_storable(chain, field="chain"):
            raise InvalidRequest(
                field="chain", value="", problem="is empty", expected="a chain's name"
            )
    for uuid in scenario.webhooks:
        if not check_storable(uuid, field="webhook"):
            raise InvalidRequest(
                field="webhook", value="", problem="is empty", expected="a webhook's uuid"
            )
    for tag in scenario.tags:
        if not check_storable(tag, field="tag"):
            raise InvalidRequest(field="tag", value="", problem="is empty", expected="a word")
    check_moment(scenario.created, field="created")
    check_moment(scenario.updated, field="updated")


def check_job(job: Job) -> None:
    """Refuse what no store can keep."""
    check_id(job.id)
    for field, moment in (("due", job.due), ("planned", job.planned), ("changed", job.changed)):
        if moment is not None:
            check_moment(moment, field=field)


def check_moment(moment: int, *, field: str) -> None:
    """Refuse a time that no store can keep."""
    if not 0 <= moment <= INTEGER_MAX:
        raise InvalidRequest(
            field=field, value=moment, problem="is not a time in nanoseconds since 1970"
        )


def check_id(id: object, *, field: str = "id") -> str:
    """Return *id* if it can name a scenario: 1 to 64 of `A-Z a-z 0-9 _ -`, and `!@#$*+?` as
    Threadbag has them."""
    if not isinstance(id, str) or not is_id(id):
        raise InvalidRequest(
            field=field,
            value=id,
            problem="cannot name a scenario",
            expected="1 to 64 letters, digits, - or _",
        )
    return id


def is_id(text: str) -> bool:
    return 1 <= len(text) <= 64 and _ID_CHARACTERS.issuperset(text)


def check_listing(*, limit: object, after: object, search: object, sort: object) -> None:
    """Refuse what no store can list by."""
    check_limit(limit)
    if sort not in SORTS:
        raise InvalidRequest(field="sort", value=sort, problem="is unknown", known=SORTS)
    check_text(after, field="after")
    if len(check_text(search, field="search")) > _SEARCH_MAX:
        raise InvalidRequest(
            field="search",
            value=search,
            problem="is too long",
            expected=f"at most {_SEARCH_MAX} characters",
        )


def check_limit(limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LIMIT_MAX:
        raise InvalidRequest(
            field="limit", value=limit, problem="is out of range", expected=f"1 to {LIMIT_MAX}"
        )


def check_text(value: object, *, field: str) -> str:
    """Return *value* if it is text that can be written as UTF-8: JSON can spell text that
    cannot."""
    try:
        if isinstance(value, str) and value.encode() is not None:
            return value
    except UnicodeEncodeError:
        pass
    raise InvalidRequest(field=field, value=value, problem="is not valid text")


def check_storable(value: object, *, field: str) -> str:
    """Return *value* if it is text that every store can hold: PostgreSQL has no NUL characters."""
    text = check_text(value, field=field)
    if "\0" in text:
        raise InvalidRequest(
            field=field, value=text, problem="has a NUL character, which cannot be stored"
        )
    return text


def unknown(id: str) -> NotFound:
    return NotFound(field="scenario", value=id, limit=66, problem="is not in the store")


def taken(id: str) -> Conflict:
    return Conflict(
        f"id {id!r} is taken: a scenario in the store has it as its id or its name, or one had it "
        "that was deleted"
    )


def named_like_id(name: str) -> InvalidRequest:
    return InvalidRequest(
        field="name",
        value=name,
        problem="is the id of a scenario, or was",
        expected="another name",
    )


def changed_meanwhile(id: str) -> Conflict:
    return Conflict(
        f"scenario {id!r} was changed since you read it. Read it again, and repeat your "
        "change on the new version."
    )


def still_running(id: str) -> Conflict:
    return Conflict(
        f"scenario {id!r} cannot be deleted, its job is running: stop it first, with job stop {id}"
    )


def unnamed(uuid: str) -> NotFound:
    return NotFound(
        field="webhook", value=uuid, problem="is not named by any scenario in the store"
    )


def no_tables(store: str) -> StoreFailed:
    return StoreFailed(
        f"store {store} has no tables of scenarioctl, create them with: scenarioctl store init"
    )


def check_version(store: str, version: int) -> None:
    """Refuse tables of another version."""
    if version != SCHEMA_VERSION:
        raise StoreFailed(
            f"store {store} has tables of version {version}, and this scenarioctl uses version "
            f"{SCHEMA_VERSION}: name another store, or create one with: scenarioctl store init"
        )
