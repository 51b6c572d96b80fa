"""Formulas of amounts: exact, of one asset, and never run as code; in a run, data of a step is one
amount in them."""

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.fields import read_form_amount
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.running import Run
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.acting import Acting, ProxyLayer
from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.formulas import is_formula, needs_maximum
from tests.conftest import BOB
from tests.messages import Says, says
from tests.network import FakeNetwork
from tests.runner import finish
from tests.runtimes import ASSETS, REGISTRY
from tests.test_check import ALICE, ALICE_KEY, BOB_KEY, DOT, FEE, account
from tests.test_maximum import network  # noqa: F401
from tests.test_running import UUID, Stage

ASSET = ASSETS.find(REGISTRY.find("polkadot"), "DOT")
#: What can be sent, raw.
MOST = 40 * DOT


def amount(text: object, maximum: int | None = MOST) -> int:
    return read_form_amount(text, ASSET, "amount", maximum)[1]


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("1.5 DOT", 15 * 10**9),
        ("15000000000 raw", 15 * 10**9),
        ("max", MOST),
        ("MAX - 10 DOT", 30 * DOT),
        ("25 %", 10 * DOT),
        ("25 % - 1raw", 10 * DOT - 1),
        ("min(max, 5 DOT)", 5 * DOT),
        ("2 * 3 DOT + 1 DOT", 7 * DOT),
        ("1 DOT + 3 DOT * 2", 7 * DOT),
        ("(1 DOT + 3 DOT) * 2", 8 * DOT),
        ("10 DOT - 3 DOT - 2 DOT", 5 * DOT),
        ("10 DOT / 3", 33333333333),
        ("10raw / 3 * 3", 10),
        ("max / (1 + 1)", 20 * DOT),
        ("1 + 0.5", 15 * 10**9),
    ],
)
def test_a_formula_comes_to_an_exact_amount(text: str, raw: int) -> None:
    assert amount(text) == raw


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5 KSM", says("amount", "1.5 KSM", "KSM", "DOT")),
        ("max - 10", says("amount", "max - 10", "unit")),
        ("max * max", says("amount", "max * max", "two amounts")),
        ("10 / 2 DOT", says("amount", "10 / 2 DOT", "divides by an amount")),
        ("max / 0", says("amount", "max / 0", "zero")),
        ("101 %", says("amount", "101 %", "100 %")),
        ("max - 40 DOT", says("amount", "max - 40 DOT", "nothing")),
        ("max * 1e40", says("amount", "max * 1e40", "2^128 - 1")),
        ("max * 1e-99", says("amount", "max * 1e-99", "decimals")),
        ("max -", says("amount", "max -", "ends")),
        ("max 5", says("amount", "max 5", "'5'")),
        ("(max", says("amount", "(max", "')'")),
        ("1,500 DOT - 1 DOT", says("amount", "1,500 DOT - 1 DOT", "comma")),
        ("1000000000000001", says("amount", "1000000000000001", "than can exist")),
        ("max - fee", says("amount", "max - fee", "'fee'")),
        ("max - __import__('os')", says("amount", "max - __import__('os')")),
        ("(" * 30 + "max" + ")" * 30, says("amount", "brackets")),
        ("max - " + "0" * 200, says("amount", "200")),
    ],
)
def test_any_other_text_is_refused_in_one_sentence(text: str, message: Says) -> None:
    with pytest.raises(InvalidRequest) as refused:
        amount(text)

    assert str(refused.value) == message


def test_without_a_balance_max_and_shares_are_refused() -> None:
    for text in ("max", "25 %", "min(max, 1 DOT)"):
        assert needs_maximum(text)
        with pytest.raises(InvalidRequest) as refused:
            amount(text, None)
        assert str(refused.value) == says("amount", "what the sender can send")


def test_numbers_that_were_amounts_before_are_no_formulas() -> None:
    for text in (
        *("1.5", "1e3", "1e+3", "1.5e-3", " 2 ", "-5", "1.5 DOT", "15raw", "0x10", "", "abc"),
    ):
        assert not is_formula(text)


raws = st.integers(min_value=0, max_value=10**20)


@given(first=raws, second=raws, number=st.decimals(0, 1000, places=3), less=st.sampled_from("+-"))
def test_units_and_signs_are_exact(first: int, second: int, number: Decimal, less: str) -> None:
    """In whole tokens or in the smallest unit: the same fraction, rounded down once."""
    exact = first + (second if less == "+" else -second) * Fraction(number)
    tokens = to_whole(second, 10)
    for text in (
        f"{first}raw {less} {second}raw * {number}",
        f"{first}raw {less} {number} * {tokens} DOT",
    ):
        if 0 < exact // 1 <= U128_MAX:
            assert amount(text) == exact // 1
        else:
            with pytest.raises(InvalidRequest):
                amount(text)


@given(st.text("0123456789.,%+-*/()? maxinDOTKSraw", max_size=40))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    try:
        assert 0 < amount(text) <= U128_MAX
    except InvalidRequest as refused:
        assert str(refused).startswith("amount ")


# In a run.

HOOK = {"type": "webhook", "name": "payouts", "uuid": UUID}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def send(text: object, **keys: Any) -> dict[str, Any]:
    chain = {"source_chain": "polkadot", "dest_chain": "polkadot", "assetid": "DOT"}
    return {"type": "xTransfer", **chain, "destination_address": BOB, "amount": text, **keys}


def flow(stage: Stage, *steps: dict[str, Any]) -> Diagram:
    return read_diagram(draw_flow(stage.app, read_flow({"steps": list(steps)})).document)


@pytest.mark.parametrize(
    ("text", "data", "human"),
    [
        ("{{ free }}raw", "15000000000", "1.5 DOT"),
        ("{{ free }}raw", 15000000000, "1.5 DOT"),
        ("{{ free }}", "1.5 DOT", "1.5 DOT"),
        ("{{ free }}raw - 1 DOT", "25000000000", "1.5 DOT"),
        ("min({{ free }}, 2 DOT)", "5 DOT", "2 DOT"),
        ("2*{{ free }}", "0.75 DOT", "1.5 DOT"),
    ],
)
def test_data_of_a_step_is_an_amount_in_a_formula(
    stage: Stage, text: str, data: Any, human: str
) -> None:
    run = stage.run(flow(stage, HOOK, send(text)), (UUID, {"free": data}))

    assert [draft.human for draft in run.drafts] == [human]
    assert run.failure == ""


@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("{{ free }}", "1.5 KSM", says("source.amount", "1.5 KSM", "DOT")),
        ("{{ free }}", "max", says("source.amount", "'max'")),
        ("{{ free }}", "25 %", says("source.amount", "'25 %'")),
        ("{{ free }}", "1 DOT + 1 DOT", says("source.amount", "1 DOT + 1 DOT")),
        ("{{ free }} - 1 DOT", "5 DOT) * (2", says("source.amount", "one amount")),
        ("{{ free }} - 1 DOT", "5", says("source.amount", "5 - 1 DOT", "unit")),
        ("{{ free }} DOT - 1 DOT", "5 KSM", says("source.amount", "5 KSM DOT")),
        ("{{ free }} DOT - 1 DOT", None, says("source.amount", "one amount")),
    ],
)
def test_data_brings_one_amount_and_no_formula(
    stage: Stage, text: str, data: Any, message: Says
) -> None:
    run = stage.run(flow(stage, HOOK, send(text)), (UUID, {"free": data}))

    assert run.failure.removeprefix("Could not generate transaction: ") == message


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (send("max - 1 KSM", sender=ALICE), says("steps[1].amount", "max - 1 KSM", "KSM")),
        (send("{{ free }}raw - 1 KSM"), says("steps[1].amount", "KSM")),
        (send("{{ free }} +"), says("steps[1].amount", "ends")),
        (send("1{{ free }}"), says("steps[1].amount", "?")),
        (send("max", sender="nobody"), says("steps[1].sender", "nobody")),
    ],
)
def test_a_formula_is_judged_when_the_flow_is_read(
    stage: Stage, step: dict[str, Any], message: Says
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        flow(stage, HOOK, step)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "raw", "note"),
    [
        ("max", 4 * DOT - FEE, "amount max is 3.984 DOT, after 0.016 DOT for fees; 1 DOT stays"),
        ("50 %", 2 * DOT - FEE // 2, "50 % of 3.984 DOT is 1.992 DOT"),
    ],
)
def test_each_draft_asks_for_the_balance_anew(
    network: FakeNetwork,  # noqa: F811
    scenarioctl: Any,
    tmp_path: Path,
    text: str,
    raw: int,
    note: str,
) -> None:
    file = tmp_path / "flow.toml"
    lines = "\n".join(f'{key} = "{value}"' for key, value in send(text, sender=ALICE).items())
    file.write_text(f"[[steps]]\n{lines}\n")
    config = ("--config", str(network.config))
    scenario = scenarioctl(*config, "create", str(file)).out.strip()

    first = scenarioctl(*config, "scenario", "build", scenario, "--json")
    network.chains["polkadot"].store("System", "Account", ALICE_KEY, value=account(105 * DOT))
    second = scenarioctl(*config, "scenario", "build", scenario, "--json")

    assert note in first.err
    assert json.loads(first.out)["result"]["tx"].endswith(f"07{raw.to_bytes(5, 'little').hex()}")
    assert first.out != second.out or text == "min(max, 2 DOT)"


def test_a_swap_takes_a_formula_of_data(stage: Stage) -> None:
    step = {"type": "swap", "assetin": "DOT", "assetout": "HDX", "amount": "{{ free }}raw / 2"}

    run = stage.run(
        flow(stage, HOOK, {**step, "min_received": "900"}), (UUID, {"free": "30000000000"})
    )

    assert [draft.human for draft in run.drafts] == ["1.5 DOT"]
    assert "Note: amount 30000000000raw / 2 is 1.5 DOT" in run.lines


def test_a_swap_of_what_can_be_sent_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidRequest) as refused:
        flow(stage, {"type": "swap", "assetin": "DOT", "assetout": "HDX", "amount": "25 %"})

    assert str(refused.value) == says("steps[0].amount", "25 %", "transfer")


def test_a_share_of_who_acts_needs_no_sender(
    network: FakeNetwork,  # noqa: F811
    tmp_path: Path,
) -> None:
    chain = network.chains["polkadot"]
    chain.store("System", "Account", BOB_KEY, value=account(11 * DOT))
    row = {"delegate": ALICE_KEY, "proxy_type": "Any", "delay": 0}
    chain.store("Proxy", "Proxies", BOB_KEY, value=([row], 0))
    app = Application(load_settings({"config": str(network.config)}, {}))
    step = send("50 %", destination_address=ALICE)
    diagram = read_diagram(draw_flow(app, read_flow({"steps": [step]})).document)
    acting = Acting(name="treasury", layers=(ProxyLayer(real=BOB_KEY),))
    run = Run(app, "scenario1", diagram.acted_by(acting))

    finish(run.go())
    finish(app.close())

    assert (run.failure, [draft.human for draft in run.drafts]) == ("", ["5 DOT"])
