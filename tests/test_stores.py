"""What a store promises.  A new store gets a row in `STORES` and has to pass `TestEveryStore` as it
stands."""

import os
import sqlite3
from asyncio import gather
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    ScenarioctlError,
    StoreBusy,
    StoreFailed,
)
from scenarioctl.stores import ListedScenario, ScenarioPage, StoredScenario, open_store
from scenarioctl.stores.asking import POSTGRES, Dialect
from scenarioctl.stores.sqlite import database_file
from scenarioctl.stores.sqlite.store import SqliteStore
from scenarioctl.stores.store import Store
from scenarioctl.stores.validation import SCHEMA_VERSION, check_id
from tests.messages import Says, says
from tests.runner import finish as run

NOW = 1_763_666_958_123_456_789


@dataclass
class Clock:
    """The clocks of a store; they stand still until a test moves them."""

    #: Of its leases.
    now: int = 0
    #: In nanoseconds since 1970, by which jobs are due.  A test may set it back.
    wall: int = NOW

    def __call__(self) -> int:
        return self.now


_CLOCKS: "WeakKeyDictionary[Store, Clock]" = WeakKeyDictionary()


class _ClockedDialect(Dialect):
    """The SQL of a server whose clocks are those of a test."""

    def __post_init__(self) -> None:
        """Keep nothing: a statement is another one when the clocks have moved."""


def set_clock(store: Store, clock: Clock) -> Store:
    """Let *store* go by *clock*."""
    _CLOCKS[store] = clock
    if isinstance(store, SqliteStore):
        store._clock = clock
        store._wall = lambda: clock.wall
        return store
    from scenarioctl.stores.postgres.store import PostgresStore

    assert isinstance(store, PostgresStore)
    told = {"now": lambda: f"{clock.wall}::bigint", "lease_now": lambda: f"{clock.now}::bigint"}
    store.dialect = _ClockedDialect({**POSTGRES.words, **told}, POSTGRES.value)
    return store


def clock_of(store: Store) -> Clock:
    """Return the clock of *store*, which stands still from now on."""
    if store not in _CLOCKS:
        set_clock(store, Clock())
    return _CLOCKS[store]


def _open_sqlite(folder: Path, clock: Clock) -> Store:
    return set_clock(SqliteStore(folder / "scenarios.db"), clock)


def _open_postgres(folder: Path, clock: Clock) -> Store:
    from tests import postgres

    return set_clock(postgres.open_store(folder), clock)


#: Each opens the store in a folder, which is there already or not, with this clock.
STORES: dict[str, Callable[[Path, Clock], Store]] = {
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
}


FIRST = StoredScenario(
    id="lnr8CfoQX",
    blob=b"\x04\x22\x4d\x18 any bytes \x00\xff",
    summary="assetHub > xTransfer > polkadot",
    chains=("assetHub", "polkadot"),
    created=NOW,
    updated=NOW,
)
SECOND = replace(
    FIRST, id="hLhmE6m0j", summary="hydraDx > swap", chains=("hydraDx",), created=FIRST.created + 1
)


@contextmanager
def opened(kind: str, folder: Path, clock: Clock | None = None) -> Iterator[Store]:
    store = STORES[kind](folder, clock or Clock())
    yield store
    run(store.close())


def fill(store: Store, count: int) -> list[StoredScenario]:
    """Put *count* scenarios of which every second is on hydraDx too, two at each moment."""
    scenarios = [
        StoredScenario(
            id=f"id-{number * 7919 % count:05}",
            blob=bytes([number % 256]) * 20,
            summary=f"polkadot > xTransfer > {('hydraDx', 'assetHub')[number % 2]}",
            chains=("polkadot", "hydraDx") if number % 2 == 0 else ("polkadot",),
            created=1000 + number // 2,
            updated=1000,
        )
        for number in range(count)
    ]
    run(store.put_scenarios(scenarios))
    return scenarios


def all_pages(store: Store, **question: Any) -> list[str]:
    ids: list[str] = []
    after = ""
    while True:
        page = run(store.list_scenarios(after=after, **question))
        ids += [item.id for item in page.items]
        if not page.next:
            return ids
        after = page.next


def message(error: type[ScenarioctlError], work: Coroutine[Any, Any, object]) -> str:
    with pytest.raises(error) as caught:
        run(work)
    assert type(caught.value) is error
    return str(caught.value)


def connections_of(store: Store) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Return the connections with which *store* reads and writes."""
    assert isinstance(store, SqliteStore)
    found: list[sqlite3.Connection] = []
    run(store._write(found.append))
    assert store._database is not None
    return store._database, found[0]


@contextmanager
def traced(store: Store) -> Iterator[list[str]]:
    """Note the statements that *store* executes."""
    assert isinstance(store, SqliteStore)
    asked: list[str] = []
    databases = (*connections_of(store), *store._of_threads)
    for database in databases:
        database.set_trace_callback(asked.append)
    yield asked
    for database in databases:
        database.set_trace_callback(None)


def damage(path: Path, first: int, end: int) -> None:
    content = bytearray(path.read_bytes())
    content[first:end] = b"\xa5" * (end - first)
    path.write_bytes(content)


@pytest.mark.parametrize("kind", STORES)
class TestEveryStore:
    def test_some_scenarios_are_found(self, store: Store) -> None:
        run(store.put_scenarios([FIRST, SECOND]))

        assert run(store.find_scenarios([SECOND.id, "nobody"])) == {SECOND.id: SECOND}
        assert run(store.find_scenarios([])) == {}

    def test_a_scenario_whose_digest_is_kept_is_not_kept_again(self, store: Store) -> None:
        first = replace(FIRST, digest=b"a" * 16, webhooks=("6f1c",))
        run(store.put_scenarios([first, replace(SECOND, digest=b"b" * 16)]))

        assert run(store.keep_scenario(replace(SECOND, id="third", digest=b"a" * 16))) == FIRST.id
        assert (
            run(store.keep_scenario(replace(SECOND, id="third", digest=b"c" * 16, name="Third")))
            == "third"
        )
        assert run(store.keep_scenario(replace(FIRST, id="fourth", digest=b"c" * 16))) == "third"
        assert run(store.get_scenario("third")) == replace(SECOND, id="third", name="Third")
        with pytest.raises(Conflict):
            run(store.keep_scenario(replace(SECOND, digest=b"d" * 16)))
        assert run(store.count_scenarios()) == 3

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("3kf9Qz7aB", [("3kf9Qz7aB", "Monthly rent")]),
            ("Monthly rent", [("3kf9Qz7aB", "Monthly rent")]),
            ("3kf9Q", [("3kf9Qz7aB", "Monthly rent")]),
            ("3kf9", [("3kf9Qz7aB", "Monthly rent"), ("3kf9Xa81k", "Other")]),
            ("hLhmE6m0j", [("hLhmE6m0j", "")]),
            ("@last", [("3kf9Xa81k", "Other")]),
            # Longer than an entry of an index may be.
            ("🦀" * 1000, [("long", "🦀" * 1000)]),
            ("🦀" * 600, []),
            ("zzzz", [("zzzz?", "")]),
            *(
                (text, [])
                for text in (
                    "",
                    "3kf",
                    "9Qz7",
                    "Monthly",
                    "3KF9Q",
                    "%",
                    "\0",
                    "\udfff",
                    "3kf9%",
                    "x" * 70,
                )
            ),
        ],
    )
    def test_a_scenario_is_named_by_id_name_or_beginning(
        self, store: Store, text: str, found: list[tuple[str, str]]
    ) -> None:
        named = (
            ("3kf9Qz7aB", "Monthly rent"),
            ("hLhmE6m0j", ""),
            ("long", "🦀" * 1000),
            ("zzzz?", ""),
            ("3kf9Xa81k", "Other"),
        )
        run(
            store.put_scenarios(
                replace(FIRST, id=id, name=name, created=NOW + number)
                for number, (id, name) in enumerate(named)
            )
        )

        assert run(store.find_named(text, limit=6)) == found

    def test_an_id_is_that_of_one_scenario_for_good_and_no_name(self, store: Store) -> None:
        named = replace(FIRST, name="rent")
        run(store.put_scenarios([named, SECOND]))

        for _ in ("stored", "deleted"):
            for refused in (
                replace(FIRST, id="third", name=SECOND.id),
                replace(FIRST, name=SECOND.id),
            ):
                with pytest.raises(InvalidRequest) as caught:
                    run(store.put_scenario(refused, replace=refused.id == FIRST.id))
                assert str(caught.value) == says("name", SECOND.id, "id")
            if run(store.count_scenarios()) == 2:
                run(store.delete_scenario(SECOND.id))
        for taken in (SECOND.id, "rent"):
            with pytest.raises(Conflict) as conflict:
                run(store.put_scenario(replace(SECOND, id=taken)))
            assert str(conflict.value) == says(taken, "taken")
        with pytest.raises(InvalidRequest):
            run(store.put_scenarios([replace(SECOND, id="a"), replace(SECOND, id="b", name="a")]))
        run(store.put_scenario(replace(SECOND, id=f"{SECOND.id}x")))
        assert run(store.find_named(SECOND.id, limit=2)) == []
        assert run(store.get_scenario(FIRST.id)) == named

    def test_a_digest_goes_with_its_scenario_and_changes_with_it(self, store: Store) -> None:
        run(store.put_scenario(replace(FIRST, digest=b"a" * 16)))
        run(store.put_scenario(replace(FIRST, digest=b"b" * 16), replace=True))

        assert run(store.keep_scenario(replace(SECOND, digest=b"a" * 16))) == SECOND.id
        run(store.delete_scenario(SECOND.id))
        assert run(store.keep_scenario(replace(SECOND, id="again", digest=b"a" * 16))) == "again"

    def test_a_name_is_listed_searched_replaced_and_forgotten(self, store: Store) -> None:
        run(store.put_scenarios([replace(FIRST, name="Pay the rent"), SECOND]))

        def names(**fields: Any) -> list[tuple[str, str]]:
            return [(row.id, row.name) for row in run(store.list_scenarios(**fields)).items]

        assert names() == [(FIRST.id, "Pay the rent"), (SECOND.id, "")]
        assert names(search="THE RENT") == [(FIRST.id, "Pay the rent")]
        assert names(search="the rent", chain="polkadot", sort="summary") == [
            (FIRST.id, "Pay the rent")
        ]
        assert run(store.list_scenarios(search="the rent")).total == 1
        assert run(store.get_scenario(FIRST.id)).name == "Pay the rent"
        run(store.put_scenario(replace(FIRST, name="Paid"), replace=True))
        assert names(search="paid") == [(FIRST.id, "Paid")]
        assert names(search="the rent") == []
        run(store.put_scenario(FIRST, replace=True))
        run(store.delete_scenario(SECOND.id))
        assert names() == [(FIRST.id, "")]

    def test_tags_are_listed_selected_replaced_and_forgotten(self, store: Store) -> None:
        run(
            store.put_scenarios(
                [replace(FIRST, tags=("rent", "dao", "rent")), replace(SECOND, tags=("dao",))]
            )
        )

        def tagged(**fields: Any) -> list[tuple[str, tuple[str, ...]]]:
            page = run(store.list_scenarios(**fields))
            assert page.total == len(page.items)
            return [(row.id, row.tags) for row in page.items]

        assert run(store.get_scenario(FIRST.id)).tags == ("dao", "rent")
        assert tagged(tag="rent") == [(FIRST.id, ("dao", "rent"))]
        assert tagged(tag="dao", sort="id") == [(SECOND.id, ("dao",)), (FIRST.id, ("dao", "rent"))]
        assert tagged(tag="dao", chain="hydraDx") == [(SECOND.id, ("dao",))]
        assert tagged(tag="dao", search="xtransfer") == [(FIRST.id, ("dao", "rent"))]
        assert tagged(tag="da") == tagged(tag="Dao") == tagged(tag="d%") == tagged(tag="\0") == []
        run(store.put_scenario(replace(FIRST, tags=("paid",)), replace=True))
        assert tagged(tag="rent") == []
        run(store.delete_scenario(SECOND.id))
        run(store.put_scenario(replace(SECOND, id="third")))
        assert tagged() == [(FIRST.id, ("paid",)), ("third", ())]

    def test_a_scenario_is_changed_in_place(self, store: Store) -> None:
        run(store.put_scenario(FIRST))
        changed = replace(
            FIRST, blob=b"new", name="New", tags=("a",), chains=("hydraDx",), created=5, updated=9
        )
        run(store.change_scenario(changed, revision=FIRST.revision))

        assert changed.revision != FIRST.revision
        assert run(store.get_scenario(FIRST.id)) == replace(changed, created=FIRST.created)
        assert run(store.get_scenario(FIRST.id)).revision == changed.revision
        assert run(store.count_scenarios("polkadot")) == 0

    def test_a_change_of_another_version_than_the_stored_one_is_refused(self, store: Store) -> None:
        run(store.put_scenario(FIRST))
        theirs, mine = replace(FIRST, blob=b"theirs"), replace(FIRST, blob=b"mine")
        run(store.change_scenario(theirs, revision=FIRST.revision))

        assert message(Conflict, store.change_scenario(mine, revision=FIRST.revision)) == says(
            "lnr8CfoQX", "changed"
        )
        assert run(store.get_scenario(FIRST.id)) == theirs
        assert message(NotFound, store.change_scenario(SECOND, revision=SECOND.revision)) == says(
            "hLhmE6m0j"
        )
        assert run(store.count_scenarios()) == 1

    def test_of_two_changes_at_once_one_is_refused(self, store: Store) -> None:
        run(store.put_scenario(FIRST))

        async def both() -> list[type]:
            changes = [
                store.change_scenario(replace(FIRST, blob=blob), revision=FIRST.revision)
                for blob in (b"one", b"two")
            ]
            return [type(each) for each in await gather(*changes, return_exceptions=True)]

        assert sorted(run(both()), key=str) == sorted([type(None), Conflict], key=str)

    @pytest.fixture
    def store(self, kind: str, tmp_path: Path) -> Iterator[Store]:
        with opened(kind, tmp_path) as store:
            yield store

    def test_what_is_put_is_there_for_the_next_who_opens_the_store(
        self, store: Store, kind: str, tmp_path: Path
    ) -> None:
        run(store.put_scenario(FIRST))
        other = STORES[kind](tmp_path, Clock())

        assert run(other.get_scenario(FIRST.id)) == FIRST
        run(other.close())

    def test_the_webhooks_that_a_scenario_waits_for_are_kept_with_it(self, store: Store) -> None:
        run(store.put_scenario(replace(FIRST, webhooks=("b", "a", "b"))))

        assert run(store.get_scenario(FIRST.id)) == replace(FIRST, webhooks=("a", "b"))
        run(store.put_scenario(replace(FIRST, webhooks=("c",)), replace=True))
        assert run(store.get_scenario(FIRST.id)) == replace(FIRST, webhooks=("c",))
        run(store.put_scenario(FIRST, replace=True))
        assert run(store.get_scenario(FIRST.id)) == FIRST

    def test_an_unknown_id_is_not_found(self, store: Store) -> None:
        assert message(NotFound, store.get_scenario("x")) == says("scenario", "x")
        assert message(NotFound, store.delete_scenario("x")) == says("scenario", "x")

    def test_an_id_is_taken_once(self, store: Store) -> None:
        run(store.put_scenario(FIRST))

        assert message(Conflict, store.put_scenario(replace(SECOND, id=FIRST.id))) == says(
            "scenario", "lnr8CfoQX"
        )
        assert run(store.get_scenario(FIRST.id)) == FIRST

    def test_scenarios_that_come_at_the_same_time_are_each_put_or_refused(
        self, store: Store
    ) -> None:
        run(store.put_scenario(FIRST))

        async def put_all() -> list[bool]:
            ids = ["a", FIRST.id, "b", "c", "b", "d"]
            tasks = [store.put_scenario(replace(SECOND, id=id)) for id in ids]
            return [
                isinstance(each, Conflict) for each in await gather(*tasks, return_exceptions=True)
            ]

        assert run(put_all()) == [False, True, False, False, True, False]
        assert run(store.get_scenario(FIRST.id)) == FIRST
        assert run(store.count_scenarios("hydraDx")) == 4

    def test_replacing_keeps_the_time_of_creation_only(self, store: Store) -> None:
        run(store.put_scenario(FIRST))
        changed = replace(
            FIRST,
            blob=b"new",
            summary="new",
            chains=("hydraDx",),
            created=5,
            updated=FIRST.updated + 9,
        )
        run(store.put_scenario(changed, replace=True))

        assert run(store.get_scenario(FIRST.id)) == replace(changed, created=FIRST.created)
        assert run(store.list_scenarios()).items == (
            ListedScenario(
                id=FIRST.id,
                summary="new",
                chains=("hydraDx",),
                created=FIRST.created,
                updated=FIRST.updated + 9,
                size=3,
            ),
        )

    def test_a_deleted_scenario_is_gone(self, store: Store) -> None:
        run(store.put_scenarios([FIRST, SECOND]))
        run(store.delete_scenario(FIRST.id))

        assert message(NotFound, store.get_scenario(FIRST.id)) == says("scenario", "lnr8CfoQX")
        assert [item.id for item in run(store.list_scenarios()).items] == [SECOND.id]

    def test_of_many_all_are_put_or_none(self, store: Store) -> None:
        run(store.put_scenario(SECOND))

        assert message(Conflict, store.put_scenarios([FIRST, SECOND])) == says(
            "scenario", "hLhmE6m0j"
        )
        assert [item.id for item in run(store.list_scenarios()).items] == [SECOND.id]
        assert run(store.count_scenarios("assetHub")) == 0
        assert run(store.put_scenarios([FIRST, replace(SECOND, id="third")])) == 2
        assert run(store.count_scenarios()) == 3

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"id": ""}, says("id", "scenario")),
            ({"id": "a/b"}, says("id", "a/b")),
            ({"id": "１"}, says("id", "１")),
            ({"id": "a\n"}, says("id", "a\\n")),
            ({"id": "a\0"}, says("id", "a\\x00")),
            ({"summary": "\ud800"}, says("summary", "\\ud800")),
            ({"summary": "a\0b"}, says("summary", "a\\x00b", "NUL")),
            ({"name": "a\0b"}, says("name", "a\\x00b", "NUL")),
            ({"chains": ("a\0b",)}, says("chain", "a\\x00b", "NUL")),
            ({"webhooks": ("a\0b",)}, says("webhook", "a\\x00b", "NUL")),
            ({"chains": ("\udfff",)}, says("chain", "\\udfff")),
            ({"chains": ("",)}, says("chain", "empty")),
            ({"webhooks": ("\ud800",)}, says("webhook", "\\ud800")),
            ({"webhooks": ("",)}, says("webhook", "empty")),
            ({"created": -1}, says("-1", "1970")),
            ({"updated": 2**63}, says("9223372036854775808", "1970")),
        ],
    )
    def test_what_cannot_be_kept_is_refused(
        self, store: Store, change: dict[str, Any], sentence: Says
    ) -> None:
        assert message(InvalidRequest, store.put_scenario(replace(FIRST, **change))) == sentence
        assert run(store.count_scenarios()) == 0

    def test_an_impossible_id_is_refused_wherever_it_is_given(self, store: Store) -> None:
        sentence = (
            f"id '{'x' * 58}… cannot name a scenario, expected 1 to 64 letters, digits, - or _"
        )

        assert message(InvalidRequest, store.get_scenario("x" * 65)) == sentence
        assert message(InvalidRequest, store.delete_scenario("x" * 65)) == sentence
        assert check_id("x" * 64) == "x" * 64

    @settings(max_examples=40, deadline=None)
    @given(
        steps=st.lists(
            st.tuples(
                st.sampled_from(["put", "replace", "delete", "refused"]),
                st.sampled_from("abcd"),
                st.lists(
                    st.sampled_from(["polkadot", "assetHub", "hydraDx", "Ünïcode ' chain"]),
                    max_size=4,
                ),
            ),
            max_size=25,
        )
    )
    def test_counts_never_drift(
        self, kind: str, tmp_path_factory: pytest.TempPathFactory, steps: Any
    ) -> None:
        with opened(kind, tmp_path_factory.mktemp("drift")) as store:
            held: dict[str, set[str]] = {}
            for step, id, chains in steps:
                scenario = replace(FIRST, id=id, chains=tuple(chains))
                try:
                    if step == "delete":
                        run(store.delete_scenario(id))
                        del held[id]
                    elif step == "refused":
                        run(
                            store.put_scenarios([scenario, replace(scenario, id="/")], replace=True)
                        )
                    else:
                        run(store.put_scenario(scenario, replace=step == "replace"))
                        held[id] = set(chains)
                except (Conflict, NotFound, InvalidRequest):
                    pass

            for chain in ("polkadot", "assetHub", "hydraDx", "Ünïcode ' chain"):
                expected = sorted(id for id, chains in held.items() if chain in chains)
                assert run(store.count_scenarios(chain)) == len(expected)
                assert run(store.list_scenarios(chain=chain, sort="id")).total == len(expected)
                assert all_pages(store, chain=chain, sort="id") == expected
            assert run(store.count_scenarios()) == len(held)

    def test_a_list_tells_all_but_the_blob(self, store: Store) -> None:
        run(store.put_scenarios([FIRST, SECOND]))

        assert run(store.list_scenarios(limit=2)) == ScenarioPage(
            items=(
                ListedScenario(
                    id="lnr8CfoQX",
                    summary="assetHub > xTransfer > polkadot",
                    chains=("assetHub", "polkadot"),
                    created=FIRST.created,
                    updated=FIRST.updated,
                    size=len(FIRST.blob),
                ),
                ListedScenario(
                    id="hLhmE6m0j",
                    summary="hydraDx > swap",
                    chains=("hydraDx",),
                    created=SECOND.created,
                    updated=SECOND.updated,
                    size=len(SECOND.blob),
                ),
            ),
            total=2,
            next="",
        )

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("chain", ["", "hydraDx"])
    @pytest.mark.parametrize("search", ["", "HYDRA"])
    @pytest.mark.parametrize("sort", ["created", "id", "summary"])
    def test_pages_give_each_scenario_once_and_in_order(
        self, store: Store, sort: str, search: str, chain: str, descending: bool
    ) -> None:
        scenarios = fill(store, 41)
        places = {scenario.id: place for place, scenario in enumerate(scenarios)}
        expected = [
            scenario.id
            for scenario in sorted(
                scenarios, key=lambda one: (getattr(one, sort), places[one.id]), reverse=descending
            )
            if (not chain or chain in scenario.chains)
            and search.lower() in scenario.summary.lower()
        ]
        question: dict[str, Any] = {
            "sort": sort,
            "search": search,
            "chain": chain,
            "descending": descending,
        }

        for limit in (1, 7, len(expected), 1000):
            assert all_pages(store, limit=limit, **question) == expected
        assert run(store.list_scenarios(limit=3, **question)).total == len(expected)

    @pytest.mark.parametrize("sort", ["created", "id", "summary"])
    @pytest.mark.parametrize("chain", ["", "hydraDx"])
    def test_what_is_put_or_deleted_meanwhile_does_not_move_the_pages(
        self, store: Store, sort: str, chain: str
    ) -> None:
        scenarios = fill(store, 20)
        expected = all_pages(store, sort=sort, chain=chain)
        first = run(store.list_scenarios(limit=4, sort=sort, chain=chain))
        # One before everything, and the very row that the cursor names.
        run(store.put_scenario(replace(scenarios[0], id="--", summary="", created=0)))
        run(store.delete_scenario(first.items[-1].id))

        rest = run(store.list_scenarios(after=first.next, sort=sort, chain=chain)).items
        assert [item.id for item in (*first.items, *rest)] == expected

    def test_a_search_takes_every_sign_as_it_is(self, store: Store) -> None:
        odd = replace(SECOND, id="100_percent", summary="50% 'off' \\ \"_\" ")
        run(store.put_scenarios([FIRST, SECOND, odd]))

        def found(search: str) -> list[str]:
            return all_pages(store, search=search, sort="id")

        assert found("XTRANSFER") == ["lnr8CfoQX"]
        assert found("e6M") == ["hLhmE6m0j"]
        assert (
            found("%")
            == found("\\")
            == found("'off'")
            == found('"_"')
            == found("100_P")
            == ["100_percent"]
        )
        assert found("0_0") == found("xT%r") == found(".*") == found("\0") == []

    @pytest.mark.parametrize(
        ("question", "sentence"),
        [
            ({"limit": 0}, says("limit", "0")),
            ({"limit": 1001}, says("limit", "1001")),
            ({"limit": True}, says("limit", "range")),
            ({"limit": "5"}, says("limit", "5")),
            ({"sort": "blob"}, says("sort", "blob")),
            ({"sort": "id; --"}, says("sort", "id; --")),
            ({"search": "x" * 201}, says("search", "x" * 58)),
            ({"search": "\ud800"}, says("search", "\\ud800")),
            ({"chain": "\ud800"}, says("chain", "\\ud800")),
            ({"after": 7}, says("7", "valid")),
        ],
    )
    def test_what_cannot_be_listed_by_is_refused(
        self, store: Store, question: Any, sentence: Says
    ) -> None:
        assert message(InvalidRequest, store.list_scenarios(**question)) == sentence

    @pytest.mark.parametrize(
        "cursor",
        [
            "x",
            "é",
            "!!!!",
            "bnVsbA",
            "W10",
            "WyJpZCJd",
            "WyJpZCIsZmFsc2UsMV0",
            "WyJibG9iIixmYWxzZSwiYSJd",
            "WyJpZCIsMCwiYSJd",
            "WyJpZCIsZmFsc2UsIlx1ZDgwMCJd",
            "W1tdLGZhbHNlLCJhIl0",
        ],
    )
    def test_a_cursor_that_no_page_gave_is_refused(self, store: Store, cursor: str) -> None:
        assert message(InvalidRequest, store.list_scenarios(after=cursor, sort="id")) == says(
            cursor, "cursor"
        )

    def test_a_cursor_is_good_for_one_order_only(self, store: Store) -> None:
        fill(store, 3)
        cursor = run(store.list_scenarios(limit=1)).next

        assert message(InvalidRequest, store.list_scenarios(after=cursor, descending=True)) == says(
            cursor, "ascending"
        )


class TestSqlite:
    """What holds for the embedded store alone."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "scenarios.db"

    @pytest.fixture
    def store(self, path: Path) -> Iterator[SqliteStore]:
        store = SqliteStore(path)
        yield store
        run(store.close())

    def test_only_the_owner_may_read_what_is_created(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "deep" / "scenarios.db"
        former = os.umask(0)
        try:
            store = open_store(path)
            run(store.put_scenario(FIRST))
            modes = {
                entry.name: entry.stat().st_mode & 0o777 for entry in (tmp_path / "new").rglob("*")
            }
        finally:
            os.umask(former)
        run(store.close())

        assert modes == {
            "deep": 0o700,
            "scenarios.db": 0o600,
            "scenarios.db-wal": 0o600,
            "scenarios.db-shm": 0o600,
        }
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700

    def test_the_mode_of_what_is_there_is_left_alone(self, path: Path) -> None:
        path.parent.chmod(0o755)
        path.touch(0o644)
        path.chmod(0o640)
        run(open_store(path).close())

        assert path.parent.stat().st_mode & 0o777 == 0o755
        assert path.stat().st_mode & 0o777 == 0o640

    def test_a_commit_reaches_the_disk_and_references_hold(self, store: SqliteStore) -> None:
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "user_version")
        reader, writer = (
            [database.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
            for database in connections_of(store)
        )

        full = 2
        assert writer == ["wal", full, 1, 10_000, SCHEMA_VERSION]
        # Nothing that waits for another process happens on the event loop.
        assert reader == ["wal", full, 1, 0, SCHEMA_VERSION]

    def test_no_question_reads_the_whole_table(self, store: SqliteStore, path: Path) -> None:
        fill(store, 500)
        with traced(store) as asked:
            for sort in ("created", "id", "summary"):
                for descending in (False, True):
                    for chain in ("", "hydraDx"):
                        page = run(
                            store.list_scenarios(
                                limit=5, sort=sort, descending=descending, chain=chain
                            )
                        )
                        run(
                            store.list_scenarios(
                                limit=5,
                                sort=sort,
                                descending=descending,
                                chain=chain,
                                after=page.next,
                            )
                        )
            run(store.get_scenario("id-00007"))
            run(store.count_scenarios("hydraDx"))
            run(store.put_scenario(FIRST))
            run(store.put_scenario(FIRST, replace=True))
            run(store.delete_scenario(FIRST.id))

        plans = {
            statement: self.plan(store, statement)
            for statement in dict.fromkeys(asked)
            if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))
        }
        assert len(plans) > 25
        for statement, plan in plans.items():
            # The index that gives the order is walked from its end until the page is full.
            # What is scanned without one is the page itself.
            scans = [step for step in plan if step.startswith("SCAN") and "INDEX" not in step]
            assert {step.split()[1] for step in scans} <= {"one", "page", "CONSTANT"}, statement
            # One chain's scenarios come in the order of their creation, and are sorted else.
            is_sorted = "scenario_chains c" in statement and "c.created" not in statement
            assert is_sorted or not [step for step in plan if "TEMP B-TREE" in step], statement

    @pytest.mark.parametrize("sort", ["id", "summary"])
    def test_the_few_scenarios_of_a_chain_are_sorted_and_nobody_walks_past_the_others(
        self, store: SqliteStore, sort: str
    ) -> None:
        fill(store, 500)
        few = [replace(FIRST, id=f"few-{number}", chains=("moonbeam",)) for number in (3, 1, 2)]
        run(store.put_scenarios(few))
        with traced(store) as asked:
            page = run(store.list_scenarios(limit=2, sort=sort, chain="moonbeam"))
            page = run(store.list_scenarios(limit=2, sort=sort, chain="moonbeam", after=page.next))

        assert [item.id for item in page.items] == [{"id": "few-3", "summary": "few-2"}[sort]]
        plans = [
            [
                step
                for step in self.plan(store, statement)
                if " c " in step or " s " in step or "TEMP" in step
            ]
            for statement in asked
            if "ORDER BY" in statement
        ]
        assert plans == [
            [
                "SEARCH c USING PRIMARY KEY (chain=?)",
                "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
                "USE TEMP B-TREE FOR ORDER BY",
            ]
        ] * len(plans)

    def test_what_names_a_scenario_is_sought_in_an_index(self, store: SqliteStore) -> None:
        with traced(store) as asked:
            for text in ("Monthly rent", "lnr8", "@last"):
                run(store.find_named(text, limit=6))

        plans = {
            statement: self.plan(store, statement)
            for statement in asked
            if "name FROM" in statement
        }
        assert len(plans) >= 4
        for statement, (step, *more) in plans.items():
            newest = "ORDER BY created DESC" in statement
            assert step.startswith("SCAN" if newest else "SEARCH"), step
            assert not more or "name = " in statement or "deleted_scenarios" in statement
            assert not any("SCAN" in each and "CONSTANT" not in each for each in more), more

    @staticmethod
    def plan(store: SqliteStore, statement: str) -> list[str]:
        return [row[3] for row in store._open().execute(f"EXPLAIN QUERY PLAN {statement}")]

    def test_a_file_that_is_no_database_is_left_as_it_is(self, path: Path) -> None:
        path.write_text("my shopping list\n" * 100)

        with pytest.raises(StoreFailed) as caught:
            open_store(path)
        assert str(caught.value) == says("store", path=path)
        assert path.read_text() == "my shopping list\n" * 100
        assert [entry.name for entry in path.parent.iterdir()] == ["scenarios.db"]

    @pytest.mark.parametrize(
        "script",
        [
            "CREATE TABLE bookmarks (url)",
            "PRAGMA user_version = 3",
            "PRAGMA application_id = 252006674",
        ],
    )
    def test_a_database_of_another_program_is_left_as_it_is(self, path: Path, script: str) -> None:
        database = sqlite3.connect(path)
        database.execute(script)
        database.commit()
        database.close()
        before = path.read_bytes()

        with pytest.raises(InvalidRequest) as caught:
            open_store(path)
        assert str(caught.value) == says("store", path=path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
    def test_a_store_of_another_version_is_refused(self, path: Path, version: int) -> None:
        run(open_store(path).close())
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA user_version = {version}")

        with pytest.raises(StoreFailed) as caught:
            open_store(path)
        assert str(caught.value) == says(f"version {version}", "version 1", path=path)

    def test_a_store_that_is_locked_while_it_is_created_is_a_conflict(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database_file, "BUSY_SECONDS", 0.05)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(StoreBusy) as caught:
            open_store(path)
        assert str(caught.value) == says("store", "0.05", path=path)
        other.close()

    def test_a_read_only_store_is_said(self, store: SqliteStore, path: Path) -> None:
        # The tests may run as root, whom no file mode stops.
        connections_of(store)[1].execute("PRAGMA query_only = ON")

        assert message(StoreFailed, store.put_scenario(FIRST)) == says("store", path=path)

    def test_a_damaged_store_is_said(self, path: Path) -> None:
        store = SqliteStore(path)
        fill(store, 200)
        (root,) = (
            store._open()
            .execute(
                "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_scenarios_1'"
            )
            .fetchone()
        )
        run(store.close())
        damage(path, (root - 1) * 4096, root * 4096)
        store = SqliteStore(path)

        assert message(StoreFailed, store.get_scenario("id-00007")) == says("store", path=path)
        run(store.close())

    def test_a_folder_is_not_a_store(self, tmp_path: Path) -> None:
        with pytest.raises(StoreFailed) as caught:
            open_store(tmp_path)
        assert str(caught.value) == says("store", tmp_path=tmp_path)

    def test_a_folder_that_cannot_be_made_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(StoreFailed) as caught:
            open_store(tmp_path / "file" / "scenarios.db")
        assert str(caught.value) == says("store", tmp_path=tmp_path)

    @pytest.mark.parametrize(
        ("location", "sentence"),
        [
            ("", says("store", "path")),
            ("a\0b", says("store", "a\\x00b")),
            ("mysql://me:secret@host/db", says("store", "mysql://…", "URL")),
        ],
    )
    def test_what_is_not_a_path_is_refused_without_telling_a_password(
        self, location: str, sentence: Says
    ) -> None:
        with pytest.raises(InvalidRequest) as caught:
            open_store(location)
        assert str(caught.value) == sentence
