"""A search of scenarios: it finds what their list shows, and what they became."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.errors import StoreFailed
from scenarioctl.model.named_addresses import NamedAddress
from scenarioctl.operations.creation import CreateFlow, create_flow
from scenarioctl.operations.scenario_changes import RenameScenario, rename_scenario
from scenarioctl.operations.scenarios import ListScenarios, list_scenarios
from scenarioctl.operations.search_words import complete_words
from scenarioctl.stores.search import wanted_by, words_of
from tests.drawing import make_app
from tests.messages import says
from tests.runner import finish
from tests.runtimes import BOB, BOB_ADDRESS
from tests.test_addresses import KNOWN
from tests.test_stores import FIRST, NOW, STORES, Clock, opened

ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"


def transfer(source: str, destination: str, asset: str, amount: str, to: str) -> dict[str, Any]:
    ends = {"source_chain": source, "dest_chain": destination, "destination_address": to}
    return {"type": "xTransfer", **ends, "assetid": asset, "amount": amount}


FLOWS: dict[str, dict[str, Any]] = {
    "wages": {
        "name": "Löhne 2026-11",
        "tags": ["payroll"],
        "steps": [transfer("polkadot", "assetHub", "DOT", "12345.50", BOB_ADDRESS)],
    },
    "dollars": {"steps": [transfer("assetHub", "hydraDx", "USDT", "5", ALICE)]},
    "remark": {"steps": [{"type": "Remark", "chain": "polkadot",
        "text": "Hello, Treasury: (see 1.5 of #42)"}]},
    "several": {
        "steps": [
            transfer("polkadot", "assetHub", "DOT", "1.5", ALICE),
            *({"type": "Remark", "chain": "polkadot", "text": f"note{number}"} for number in range(
                60)),
        ]
    },
}  # fmt: skip


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Application]:
    with opened(request.param, tmp_path, Clock()) as store:
        made = make_app(tmp_path)
        # No part of a random one is a word that is searched for.
        made.new_id = map("id-{}".format, count()).__next__
        made.resources.store = store
        yield made


def create(app: Application) -> dict[str, str]:
    """Create the flows, and return their names by the ids of their scenarios."""
    return {
        finish(create_flow(app, CreateFlow(flow=flow, syntax="json"))).answer["result"]: name
        for name, flow in FLOWS.items()
    }


def search(app: Application, text: str, **fields: Any) -> list[str]:
    found = finish(
        list_scenarios(app, ListScenarios(search=text, sort="created", descending=False, **fields))
    )
    assert found.answer["total"] == len(found.answer["scenarios"])
    return [row["id"] for row in found.answer["scenarios"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("löhne", ["wages"], id="a name"),
        pytest.param("LÖHNE 11", ["wages"], id="words of a name in either case"),
        pytest.param("payroll", ["wages"], id="a tag"),
        pytest.param("usdt", ["dollars"], id="a symbol"),
        pytest.param("tether", ["dollars"], id="which asset a symbol means"),
        pytest.param("12\u202f345.5 DOT", ["wages"], id="an amount as it is shown"),
        pytest.param("12,345.50", ["wages"], id="an amount as others write it"),
        pytest.param("1.5", ["remark", "several"], id="a number"),
        pytest.param("5 USDT", ["dollars"], id="a whole number"),
        pytest.param("345.5", [], id="a part of a number"),
        pytest.param(
            "asset hub polkadot", ["wages", "dollars", "several"], id="chains by their titles"
        ),
        pytest.param("assethub hydradx", ["dollars"], id="chains by their keys"),
        pytest.param("hydration", ["dollars"], id="a chain whose key is another word"),
        pytest.param(BOB_ADDRESS, ["wages"], id="a receiver"),
        pytest.param(f"{KNOWN[42]} dot", ["wages"], id="a receiver with another prefix"),
        pytest.param(f"0X{BOB.hex().upper()}", ["wages"], id="a receiver's public key"),
        pytest.param("14e5nq", ["wages"], id="the beginning of an address"),
        pytest.param("14E5nq…NcKVf3", ["wages"], id="an address without its middle"),
        pytest.param("hello treasury", ["remark"], id="a remark without its signs"),
        pytest.param("42", ["remark"], id="a number behind a sign"),
        pytest.param("note48", ["several"], id="one of many steps"),
        pytest.param("61 steps", ["several"], id="how many steps there are"),
        pytest.param("remark", ["remark", "several"], id="what is done"),
        pytest.param("treasury usdt", [], id="words of two scenarios"),
        pytest.param("100%", [], id="what is nowhere"),
    ],
)
def test_a_search_finds_what_the_list_shows(app: Application, text: str, found: list[str]) -> None:
    created = create(app)

    assert [created[id] for id in search(app, text)] == found


def test_it_goes_with_other_filters_and_in_pages(app: Application) -> None:
    created = create(app)

    assert [created[id] for id in search(app, "1.5", chain="assetHub")] == ["several"]
    assert [created[id] for id in search(app, "dot", tag="payroll")] == ["wages"]
    first = finish(list_scenarios(app, ListScenarios(search="polkadot", limit=2)))
    rest = finish(
        list_scenarios(
            app, ListScenarios(search="polkadot", limit=2, after=first.answer["next"] or "")
        )
    )
    rows = [*first.answer["scenarios"], *rest.answer["scenarios"]]
    assert [created[row["id"]] for row in rows] == ["several", "remark", "dollars", "wages"]
    assert (first.answer["total"], rest.answer["next"]) == (4, None)


def test_a_receiver_is_found_by_its_name_in_the_address_book(app: Application) -> None:
    created = create(app)
    entry = NamedAddress(
        name="Landlord Ann", account="0x" + BOB.hex(), address=KNOWN[2], created=NOW
    )
    finish(app.store.addresses().put(entry))

    assert [created[id] for id in search(app, "ann landlord dot")] == ["wages"]
    assert search(app, "landlord usdt") == []
    finish(app.store.addresses().remove("Landlord Ann"))
    assert search(app, "landlord") == []


def test_what_changed_is_found_by_what_it_is_now(app: Application) -> None:
    id, *_ = create(app)
    assert search(app, "löhne") == [id]

    finish(rename_scenario(app, RenameScenario(id=id, name="Salaries")))

    assert search(app, "löhne") == []
    assert search(app, "salaries dot") == [id]


def test_more_scenarios_than_are_told_at_once_are_found(app: Application) -> None:
    some = [replace(FIRST, id=f"one-{number}", summary="s") for number in range(400)]
    finish(app.store.put_scenarios([*some, replace(FIRST, id="last", name="needle")]))

    assert search(app, "needle") == ["last"]
    assert finish(app.store.find_without_words(after=0, limit=1)) == {}


def test_a_store_that_cannot_be_written_is_searched_as_far_as_it_goes(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(app)
    finish(complete_words(app))
    finish(app.store.put_scenario(replace(FIRST, name="needle")))

    async def refuse(_told: object) -> None:
        raise StoreFailed("the disk is full")

    monkeypatch.setattr(app.store, "add_words", refuse)
    found = finish(list_scenarios(app, ListScenarios(search="needle")))
    assert (found.answer["total"], found.warnings) == (0, (says("newest", "the disk is full"),))
    assert len(search(app, "polkadot")) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "  "),
        ("Pay 1,000.50 DOT, 007 and 1.2.3", " pay 1000.5 dot 007 and 1.2.3 "),
        ("Q3/2026 run-12 v1_2 a1b", " q3/2026 2026 run-12 12 v1_2 2 a1b "),
        ('"...", e.g. straße', ' "...", e.g strasse '),
    ],
)
def test_words_are_kept_once_and_in_lower_case(text: str, words: str) -> None:
    assert words_of(text, text) == words


def test_each_word_is_wanted_once() -> None:
    assert wanted_by("  DOT dot 5.00 5 5,00 ") == ("dot", " 5 ", "5,00")
