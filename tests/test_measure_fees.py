"""The tool that measures what routes cost writes fees.json in the form that the program reads."""

import json
from datetime import date
from typing import Any

import pytest

from scenarioctl.transactions.transfer.build import expected_fees
from scenarioctl.transactions.transfer.ways import ROWS_BY_KIND
from tools.measure_fees import FILE, ROUTES, SAME_AS, merge

DAY = date(2027, 3, 1)


@pytest.fixture
def known() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(FILE.read_text())
    return document


@pytest.mark.parametrize("symbol", ["KSM", "DOT"])
def test_the_tool_writes_the_keys_that_the_file_has(known: dict[str, Any], symbol: str) -> None:
    measured = {route: {"between": 0, "last": 7} for route in ROUTES}

    written = merge(known, symbol, measured, DAY)

    assert list(written) == list(known)
    assert {symbol: set(rows) for symbol, rows in written["raw"].items()} == {
        symbol: set(rows) for symbol, rows in known["raw"].items()
    }
    assert written["read"] == "2027-03-01"
    assert all(written["raw"][symbol][route] == row for route, row in measured.items())


def test_every_route_that_is_measured_or_the_same_is_one_of_the_program() -> None:
    routes = {row.name for row in ROWS_BY_KIND}

    assert routes.issuperset(ROUTES)
    assert routes.issuperset(SAME_AS)
    assert set(ROUTES).issuperset(SAME_AS.values())
    assert all(expected_fees("DOT", route) for route in (*ROUTES, *SAME_AS))


def test_what_was_measured_of_kusama_is_scaled_for_polkadot(known: dict[str, Any]) -> None:
    rows = known["raw"]["KSM"]

    written = merge(known, "KSM", {route: rows[route] for route in ROUTES}, DAY)

    assert written["raw"] == known["raw"]


def test_a_route_that_was_not_measured_keeps_its_fees(known: dict[str, Any]) -> None:
    written = merge(known, "DOT", {"relay>asset_hub 1/Here": {"between": 0, "last": 7}}, DAY)

    before, after = known["raw"]["DOT"], written["raw"]["DOT"]
    changed = {route for route in before if before[route] != after[route]}
    assert changed == {"relay>asset_hub 1/Here"} | {
        route for route, same in SAME_AS.items() if same == "relay>asset_hub 1/Here"
    }
