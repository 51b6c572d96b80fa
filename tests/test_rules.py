"""The rules of docs/rules.md: each drafts what it promises, and nothing if its condition isn't
met."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.running import Run
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.model.diagram import read_diagram
from tests.conftest import ROOT
from tests.network import FakeNetwork
from tests.node import Node
from tests.pool import Chain, application, pool
from tests.runner import finish
from tests.test_check import ALICE_KEY, BOB_KEY, DOT, account
from tests.test_maximum import network  # noqa: F401

TEXT = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
SWEEP, TOP_UP, *OTHERS = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def changed(rule: str, lines: str) -> str:
    """Return *rule* with *lines* in place of those with the same keys."""
    new = {line.partition(" = ")[0]: line for line in lines.splitlines()}
    return "\n".join(new.get(line.partition(" = ")[0], line) for line in rule.splitlines())


RULES = {re.findall(r'name = "(.*)"', rule)[0]: rule for rule in (SWEEP, *OTHERS)}
# It reads and pays the account of Bob.
RULES["Top up"] = changed(SWEEP, TOP_UP).replace(
    re.findall(r'params = \["(.*)"\]', SWEEP)[0],
    re.findall(r'destination_address = "(.*)"', SWEEP)[0],
)


def run(app: Application, name: str, **changes: str) -> Run:
    rule = RULES[name]
    for old, new in changes.items():
        rule = rule.replace(old, new)
    running = Run(app, "scenario1", read_diagram(draw_flow(app, read_flow(rule)).document))
    assert finish(running.go()) is None
    return running


def drafts(running: Run) -> list[tuple[str, str]]:
    assert running.failure == ""
    return [
        (draft.chain, draft.human) for draft in running.drafts if draft.spec_version is not None
    ]


@pytest.fixture
def app(network: FakeNetwork) -> Iterator[Application]:  # noqa: F811
    made = Application(load_settings({"config": str(network.config)}, {}))
    yield made
    finish(made.close())


def hold(network: FakeNetwork, chain: str, key: bytes, free: int) -> None:  # noqa: F811
    network.chains[chain].store("System", "Account", key, value=account(free))


@pytest.mark.parametrize(
    ("free", "drafted"), [(60 * DOT, [("polkadot", "10 DOT")]), (55 * DOT, []), (3 * DOT, [])]
)
def test_what_is_above_a_threshold_is_swept(
    network: FakeNetwork,  # noqa: F811
    app: Application,
    free: int,
    drafted: list[Any],
) -> None:
    hold(network, "polkadot", ALICE_KEY, free)

    assert drafts(run(app, "Sweep")) == drafted


@pytest.mark.parametrize(("free", "drafted"), [(3 * DOT, [("polkadot", "5 DOT")]), (5 * DOT, [])])
def test_an_account_that_holds_too_little_is_topped_up(
    network: FakeNetwork,  # noqa: F811
    app: Application,
    free: int,
    drafted: list[Any],
) -> None:
    hold(network, "polkadot", BOB_KEY, free)

    assert drafts(run(app, "Top up")) == drafted


@pytest.mark.parametrize(
    ("relay", "hub", "drafted"),
    [
        (10 * DOT, 90 * DOT, [("assetHub", "20 DOT")]),
        (29 * DOT, 71 * DOT, []),
        (40 * DOT, 60 * DOT, []),
    ],
)
def test_two_chains_are_rebalanced(
    network: FakeNetwork,  # noqa: F811
    app: Application,
    relay: int,
    hub: int,
    drafted: list[Any],
) -> None:
    hold(network, "polkadot", ALICE_KEY, relay)
    hold(network, "assetHub", ALICE_KEY, hub)

    assert drafts(run(app, "Rebalance")) == drafted


@pytest.mark.parametrize(
    ("name", "changes", "drafted"),
    [
        ("Stop-loss", {}, [("hydraDx", "2 DOT")]),
        ("Stop-loss", {"2000 HDX": "1900 HDX"}, []),
        ("DCA", {}, [("hydraDx", "2 DOT")]),
        ("DCA", {"900 HDX": "2000 HDX"}, []),
    ],
)
def test_a_rule_sells_only_at_its_price(
    tmp_path: Path, name: str, changes: dict[str, str], drafted: list[Any]
) -> None:
    with Node(Chain(pool()).answers()) as node:
        app = application(tmp_path, node)

        running = run(app, name, **changes)
        finish(app.close())

    assert drafts(running) == drafted


def test_a_balance_that_is_not_read_drafts_nothing(network: FakeNetwork) -> None:  # noqa: F811
    network.cut("polkadot")
    app = Application(load_settings({"config": str(network.config)}, {}))

    running = run(app, "Sweep")
    finish(app.close())

    assert running.failure
    assert [draft for draft in running.drafts if draft.spec_version is not None] == []


def test_every_rule_is_tried() -> None:
    assert list(RULES) == ["Sweep", "Rebalance", "Stop-loss", "DCA", "Top up"]
