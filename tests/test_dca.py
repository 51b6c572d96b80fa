"""Orders that Hydration makes again and again: bytes beside those of polkadot.js, limits, and what
the chain has of them.

Real ones are executed in tests/live/test_dca.py; here a node on loopback answers with what the
bundled runtime encodes.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.running import Run as Running
from scenarioctl.chains.addresses import format_account
from scenarioctl.model.diagram import read_diagram
from scenarioctl.operations.dca import CreateOrder, create_order
from scenarioctl.transactions.swap.dca_orders import Plan, build_order
from scenarioctl.transactions.swap.swap_call import RouteHop, Swap
from tests.conftest import BOB, BOB_HEX, DATA, ROOT, Ended, Run
from tests.drawing import make_app
from tests.messages import says
from tests.network import FakeChain, FakeNetwork, table_of
from tests.node import Node
from tests.pool import Chain, application, pool, write_config
from tests.runner import finish
from tests.runtimes import ASSETS, REGISTRY

VECTORS = [
    pytest.param(vector, id=vector["id"])
    for vector in json.loads((DATA / "vectors" / "golden.json").read_text())["vectors"]
    if vector["kind"] == "dca"
]
WHO, OTHER = bytes.fromhex(BOB_HEX[2:]), bytes([8] * 32)
HYDRATION = REGISTRY.find("hydraDx")
DOT, HDX = 10**10, 10**12
#: 2026-11-27 at noon, in milliseconds.
NOON = 1_795_780_800_000
U128, U32 = 2**128 - 1, 2**32 - 1
Make = Callable[..., Ended]


@pytest.mark.parametrize("vector", VECTORS)
def test_a_call_is_the_one_of_polkadot_js(scenarioctl: Run, vector: dict[str, Any]) -> None:
    ended = scenarioctl("--offline", "dca", *vector["words"])

    assert (ended.code, ended.out) == (0, f"{vector['extrinsic_hex']}\n")


@given(
    total=st.integers(3, U128),
    each=st.integers(10**6, U128 // 2 - 1),
    least=st.integers(1, U128),
    period=st.integers(5, U32),
    slippage=st.integers(0, 10**6),
    pools=st.lists(
        st.sampled_from(("XYK", "LBP", "Aave", "HSM", "Omnipool")), min_size=1, max_size=9
    ),
)
def test_what_is_encoded_is_read_back(
    total: int, each: int, least: int, period: int, slippage: int, pools: list[str]
) -> None:
    table = table_of("hydraDx")
    assets = [5, *range(1000, 999 + len(pools)), 10]
    route = tuple(
        RouteHop(pool=pool, asset_in=assets[place], asset_out=assets[place + 1])
        for place, pool in enumerate(pools)
    )
    swap = Swap(
        chain=HYDRATION,
        asset_in=ASSETS.find(HYDRATION, "5"),
        asset_out=ASSETS.find(HYDRATION, "10"),
        amount=each,
        min_amount_out=least,
        route=route,
    )
    plan = Plan(owner=WHO, total=max(total, 2 * each + 1), period=period, slippage=slippage)

    call = build_order(swap, plan, table).call

    assert table.decode_call(table.encode_call(call)) == call


FOR_BOB = ("dca", "create", "--sender", BOB)
ORDER = ("dca", "create", "--sell", "DOT", "--buy", "HDX", "--sender", BOB)
SMALL = ("--amount", "2", "--every", "6h")
FULL = (*SMALL[:2], "--total", "20", *SMALL[2:])


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ((*ORDER, *FULL), 2, ("min-received", "missing")),
        ((*ORDER, *FULL, "--min-received", "0"), 2, ("min_received", "0")),
        ((*ORDER, *FULL, "--min-amount-out", "0"), 2, ("min_amount_out", "0")),
        (
            (*ORDER, *FULL, "--min-received", "1", "--min-amount-out", "1"),
            2,
            ("min_amount_out", "both"),
        ),
        ((*ORDER, *FULL, "--min-amount-out", "900"), 2, ("millionth", "--yes")),
        ((*ORDER, *FULL, "--min-received", "9", "--slippage", "100"), 2, ("slippage", "100")),
        ((*ORDER[:-2], *FULL, "--min-received", "9"), 2, ("sender", "missing")),
        ((*ORDER, *FULL[:-1], "4", "--min-received", "9"), 2, ("every", "4", "from 5")),
        ((*ORDER, *FULL[:-1], "20s", "--min-received", "9"), 2, ("every", "20s", "from 5")),
        ((*ORDER, *FULL[:-1], "daily", "--min-received", "9"), 2, ("every", "daily")),
        ((*ORDER, *FULL[:-1], "99999999999", "--min-received", "9"), 2, ("every", "99999999999")),
        (
            (*ORDER, *SMALL, "--total", "4", "--min-received", "9"),
            2,
            ("total", "4 DOT", "two orders"),
        ),
        ((*ORDER, *SMALL, "--total", "9 HDX", "--min-received", "9"), 2, ("total", "HDX")),
        (
            (*FOR_BOB, *FULL, "--sell", "HDX", "--buy", "DOT", "--min-received", "1"),
            2,
            ("total", "1000 HDX"),
        ),
        (
            (*FOR_BOB, *FULL, "--sell", "DOT", "--buy", "DOT", "--min-received", "9"),
            2,
            ("asset sold",),
        ),
        ((*ORDER, *FULL, "--chain", "polkadot", "--min-received", "9"), 2, ("chain", "exchange")),
        (
            (*FOR_BOB, *FULL, "--sell", "DOT", "--buy", "LRNA", "--min-received", "9"),
            2,
            ("LRNA", "cannot be bought"),
        ),
        (("dca", "stop", "x"), 2, ("order", "x")),
        (("dca", "stop", "4294967296"), 2, ("order", "4294967296")),
        (("dca", "list", BOB), 5, ("orders", "offline")),
    ],
)
def test_what_makes_no_order_is_refused(
    scenarioctl: Run, line: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    ended = scenarioctl("--offline", *line)

    assert (ended.code, ended.out, ended.err) == (code, "", says(*words))


# The guide

RULE = re.findall(
    r"```toml\n(.*?)```", (ROOT / "docs" / "recurring.md").read_text(encoding="utf-8"), re.DOTALL
)[0]


@pytest.mark.parametrize(("price", "drafts"), [("900 HDX", ["2 DOT"]), ("2000 HDX", [])])
def test_the_job_of_the_guide_sells_within_its_limit(
    tmp_path: Path, price: str, drafts: list[str]
) -> None:
    with Node(Chain(pool()).answers()) as node:
        app = application(tmp_path, node)
        rule = RULE.replace("900 HDX", price)
        running = Running(app, "scenario1", read_diagram(draw_flow(app, read_flow(rule)).document))

        failure = finish(running.go())

        assert (failure, running.failure) == (None, "")
        assert [each.human for each in running.drafts if each.spec_version is not None] == drafts
        finish(app.close())


# With a quote


@pytest.fixture
def make(scenarioctl: Run, tmp_path: Path) -> Iterator[Make]:
    """Create an order of 2 DOT for HDX, of which the pool gives 1993.958652849177."""
    with Node(Chain(pool()).answers()) as node:
        config = write_config(tmp_path, node)
        yield lambda *line: scenarioctl("--config", config, *ORDER, *FULL, *line)


def schedule_of(ended: Ended) -> Any:
    assert ended.code == 0, ended
    return table_of("hydraDx").decode_call(bytes.fromhex(ended.out.strip()[2:])).args["schedule"]


def test_each_order_has_the_minimum_and_the_route_of_the_quote(make: Make) -> None:
    ended = make("--min-received", "1900", "--output-format", "call")

    assert schedule_of(ended) == {
        "owner": WHO,
        "period": 3600,
        "total_amount": 20 * DOT,
        "max_retries": None,
        "stability_threshold": None,
        "slippage": 15_000,
        "order": {
            "Sell": {
                "asset_in": 5,
                "asset_out": 0,
                "amount_in": 2 * DOT,
                "min_amount_out": 1900 * HDX,
                "route": [{"pool": "Omnipool", "asset_in": 5, "asset_out": 0}],
            }
        },
    }
    assert ended.err == says(
        "1993.958652849177 HDX", "at least 1900 HDX", "10 orders", "6h", "3 times"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("--min-received", "2000"), ("2000 HDX", "1993.958652849177 HDX", "lower the minimum")),
        (("--min-received", "900"), ("900 HDX", "54.8636 %", "--yes")),
        (("--min-received", "1900", "--max-impact", "0.0001"), ("2 DOT", "--max-impact")),
    ],
    ids=["too high", "far below", "impact"],
)
def test_a_limit_that_the_quote_contradicts_is_refused(
    make: Make, line: tuple[str, ...], words: tuple[str, ...]
) -> None:
    ended = make(*line)

    assert (ended.code, ended.out, ended.err) == (2, "", says(*words).printed)


@pytest.mark.parametrize(("total", "orders"), [("6", 3), ("6.1", 4), ("7.9", 4)])
def test_a_rest_counts_as_an_order(scenarioctl: Run, total: str, orders: int) -> None:
    line = (
        "--sell",
        "DOT",
        "--buy",
        "HDX",
        "--amount",
        "2",
        "--every",
        "600",
        "--min-received",
        "900",
    )
    ended = scenarioctl("--offline", "dca", "create", *line, "--total", total, "--sender", BOB)

    assert ended.code == 0
    assert f"At most {orders} orders" in ended.err
    assert "A rest smaller than one order is sold too if it brings the minimum" in ended.err


def test_a_minimum_far_below_the_quote_can_be_confirmed(make: Make) -> None:
    ended = make("--min-received", "900", "--yes", "--slippage", "60", "--output-format", "call")

    schedule = schedule_of(ended)
    assert (schedule["order"]["Sell"]["min_amount_out"], schedule["slippage"]) == (
        900 * HDX,
        600_000,
    )
    assert ended.err == says("a slippage of 60 %", "900 HDX")


def test_a_client_of_the_interface_is_warned_of_a_low_minimum(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    request = CreateOrder(
        assetin="DOT",
        assetout="HDX",
        amount="2",
        total="20",
        every=600,
        min_amount_out="900",
        sender=BOB,
    )

    result = finish(create_order(app, request))

    assert [each for each in result.warnings if "millionth" in each] == [
        says("0.0000000009", "2 DOT")
    ]
    finish(app.close())


def test_the_order_is_of_the_account_that_is_acted_for(scenarioctl: Run, tmp_path: Path) -> None:
    line = ("--offline", "--store", str(tmp_path / "scenarios.db"))
    scenarioctl(
        *line, "address", "add", "vault", "--proxy-of", format_account(OTHER, 0), "--type", "Any"
    )

    acting = ("--as", "vault", "--min-received", "900", "--output-format", "call")
    ended = scenarioctl(*line, *ORDER, *FULL, *acting)

    call = table_of("hydraDx").decode_call(bytes.fromhex(ended.out.strip()[2:]))
    assert (call.pallet, call.args["real"]) == ("Proxy", OTHER)
    assert call.args["call"]["DCA"]["schedule"]["schedule"]["owner"] == OTHER


# What the chain has of it


@pytest.fixture
def dex(tmp_path: Path) -> Iterator[FakeNetwork]:
    with FakeNetwork(tmp_path) as network:
        yield network


@pytest.fixture
def ask(scenarioctl: Run, dex: FakeNetwork) -> Make:
    return lambda *line: scenarioctl("--config", str(dex.config), "dca", *line)


SELL = {
    "asset_in": 5,
    "asset_out": 0,
    "amount_in": 2 * DOT,
    "min_amount_out": 900 * HDX,
    "route": [],
}
BUY = {"asset_in": 5, "asset_out": 10, "amount_out": 10**6, "max_amount_in": DOT, "route": []}


def store(
    chain: FakeChain, number: int, order: Any, *, total: int = 20 * DOT, **values: Any
) -> None:
    """Let the chain have an order of Bob's, and *values* that it stores beside it."""
    schedule = {
        "owner": WHO,
        "period": 3600,
        "total_amount": total,
        "max_retries": None,
        "stability_threshold": None,
        "slippage": None,
        "order": order,
        **values.pop("schedule", {}),
    }
    chain.store("Timestamp", "Now", value=NOON)
    chain.store("DCA", "ScheduleOwnership", WHO, number, value=None)
    chain.store("DCA", "Schedules", number, value=schedule)
    for name, value in values.items():
        chain.store("DCA", name, number, value=value)


def test_orders_tell_what_was_sold_and_what_is_left(ask: Make, dex: FakeNetwork) -> None:
    chain = dex.chains["hydraDx"]
    beside = {"RemainingAmounts": 15 * DOT, "ScheduleExecutionBlock": 700, "RetriesOnError": 1}
    store(chain, 300, {"Sell": SELL}, schedule={"slippage": 5000}, **beside)
    store(chain, 7, {"Buy": BUY}, total=0, RemainingAmounts=2 * DOT)
    # Another account's.
    chain.store("DCA", "ScheduleOwnership", OTHER, 8, value=None)

    answer = json.loads(ask("list", BOB, "--json").out)

    assert answer == {
        "chain": "hydraDx",
        "account": BOB,
        "block": 100,
        "block_hash": answer["block_hash"],
        "asked": 1,
        "orders": [
            {
                "id": 7,
                "says": answer["orders"][0]["says"],
                "kind": "buy",
                "amount": {"value": "1000000", "asset": "USDT", "human": "1 USDT"},
                "limit": {"value": "10000000000", "asset": "DOT", "human": "1 DOT"},
                # The chain's.
                "slippage": "1.5",
                "period": 3600,
                "total": None,
                "spent": None,
                "remaining": {"value": "20000000000", "asset": "DOT", "human": "2 DOT"},
                "retries": 0,
                "next_block": None,
                "estimated": None,
            },
            {
                "id": 300,
                "says": answer["orders"][1]["says"],
                "kind": "sell",
                "amount": {"value": "20000000000", "asset": "DOT", "human": "2 DOT"},
                "limit": {"value": "900000000000000", "asset": "HDX", "human": "900 HDX"},
                "slippage": "0.5",
                "period": 3600,
                "total": {"value": "200000000000", "asset": "DOT", "human": "20 DOT"},
                "spent": {"value": "50000000000", "asset": "DOT", "human": "5 DOT"},
                "remaining": {"value": "150000000000", "asset": "DOT", "human": "15 DOT"},
                "retries": 1,
                "next_block": 700,
                # 600 blocks of 6 seconds.
                "estimated": "2026-11-27T13:00:00.000000000Z",
            },
        ],
    }
    assert [row["says"] for row in answer["orders"]] == [
        says("buys 1 USDT", "until it is stopped"),
        says("sells 2 DOT for at least 900 HDX", "0.5 %", "up to 20 DOT"),
    ]


def test_what_the_chain_doesnt_store_is_unknown(ask: Make, dex: FakeNetwork) -> None:
    store(dex.chains["hydraDx"], 300, {"Sell": {**SELL, "asset_in": 77}})

    (row,) = json.loads(ask("list", BOB, "--json").out)["orders"]
    shown = ask("list", BOB).out

    unknown = {name for name, value in row.items() if value is None}
    assert unknown == {"spent", "remaining", "next_block", "estimated"}
    assert (row["amount"]["human"], shown.count("unknown")) == (None, 3)


def test_an_account_without_orders_has_none(ask: Make, dex: FakeNetwork) -> None:
    ended = ask("list", BOB, "--field", "orders")

    assert (ended.code, json.loads(ended.out)) == (0, [])


def test_an_order_is_stopped_by_its_owner(ask: Make, dex: FakeNetwork) -> None:
    beside = {"RemainingAmounts": 15 * DOT, "ScheduleExecutionBlock": 700}
    store(dex.chains["hydraDx"], 300, {"Sell": SELL}, **beside)

    ended = ask("stop", "300", "--sender", BOB, "--output-format", "call")
    other = ask("stop", "300", "--sender", format_account(OTHER, 0))
    none = ask("stop", "301", "--sender", BOB)

    call = table_of("hydraDx").decode_call(bytes.fromhex(ended.out.strip()[2:]))
    assert call.args == {"schedule_id": 300, "next_execution_block": None}
    assert ended.err == says("15 DOT", "block 700", "stops the DCA order 300")
    assert (other.code, other.err) == (2, says("sender", BOB).printed)
    assert (none.code, none.err) == (3, says("no DCA order 301").printed)
