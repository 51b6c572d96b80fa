"""The step `condition`: what it compares, what it refuses, and what a run leaves out because of
it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.fields import units_of
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.running import Run
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.formulas import ConditionReader
from scenarioctl.model.jobs import StepOutcome
from tests.messages import Says, says
from tests.node import Node
from tests.pool import Chain, application, pool
from tests.runner import finish
from tests.test_formulas import ASSET, HOOK, send
from tests.test_running import UUID, Stage

NOW = "2026-12-01T08:30"
DOT = {"chain": "polkadot", "asset": "DOT"}


def judge(text: str, **more: Any) -> bool:
    unit = units_of(ASSET, "when", text)
    return ConditionReader(text, field="when", unit=unit, now=NOW, quote=5, **more).judge()


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("1 DOT < 20000000000raw", True),
        ("1 DOT >= 20000000000raw", False),
        ("10000000000raw = 1 DOT", True),
        ("0.3 * (1 DOT + 3 DOT) - 1 DOT > 0.1 DOT", True),
        ("min(1 DOT, 3 DOT) = 1 DOT", True),
        ("quote = 5raw", True),
        ("200 = 200 and 1 < 2", True),
        ("200 = 201 or 1 < 2", True),
        ("1 = 1 or 1 = 2 and 1 = 3", True),
        ("1 = 2 and 1 = 1 or 1 = 3", False),
        ("-2 > -3", True),
        ("(-2) < 0", True),
        ("2 - 3 = -1", True),
        ('"ok" = "ok"', True),
        ('"ok" != "no"', True),
        ('"a \\" or 1 = 1" = "a"', False),
        ("true = true", True),
        ("null != false", True),
        ("now >= 2026-12-01", True),
        ("now < 2026-12-01T08:30", False),
        ("time > 08:00 and time < 09:00", True),
        ("1.0 = 1", True),
    ],
)
def test_values_of_one_kind_are_compared(text: str, is_met: bool) -> None:
    assert judge(text) is is_met


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 DOT < 2 KSM", says("when", "KSM", "DOT")),
        ("1 DOT < 2", says("when", "an amount", "a number")),
        ('1 = "1"', says("when", "a number", "a text")),
        ('"a" < "b"', says("when", "texts", "=")),
        ("now > 08:30", says("when", "a date", "a time of day")),
        ("now > 2026-13-01", says("when", "time")),
        ("time > 25:00", says("when", "time")),
        ("1 DOT", says("when", "comparison")),
        ("1 < 2 < 3", says("when", "'<'")),
        ("1 < 2 and", says("when", "ends")),
        ("1 < 2 xor 1 = 1", says("when", "xor")),
        ("max > 1 DOT", says("when", "what the sender can send")),
        ("", says("when", "ends")),
        ("1 = " + "0" * 5000, says("when", "4000")),
        ("__import__('os') = 1", says("when", "__import__")),
    ],
)
def test_anything_else_is_refused_in_one_sentence(text: str, message: Says) -> None:
    with pytest.raises(InvalidRequest) as refused:
        judge(text)

    assert str(refused.value) == message


@given(st.text('0123456789.<>=!+-*/()"? andorquetimwDOTraw:', max_size=60))
def test_any_text_is_judged_or_refused(text: str) -> None:
    try:
        assert judge(text) in (True, False)
    except InvalidRequest as refused:
        assert "\n" not in str(refused)


@given(one=st.integers(0, 10**20), other=st.integers(0, 10**20))
def test_amounts_are_compared_to_the_last_unit(one: int, other: int) -> None:
    assert judge(f"{one}raw < {other}raw") is (one < other)
    assert judge(f"{one}raw / 3 = {other}raw / 3") is (one == other)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def condition(when: str, **keys: Any) -> dict[str, Any]:
    return {"type": "condition", "when": when, **keys}


def flow(stage: Stage, *steps: dict[str, Any]) -> Diagram:
    return read_diagram(draw_flow(stage.app, read_flow({"steps": list(steps)})).document)


@pytest.mark.parametrize(
    ("when", "data", "is_met"),
    [
        ("{{ free }}raw < 5 DOT", "49999999999", True),
        ("{{ free }}raw < 5 DOT", 50000000000, False),
        ("{{ free }} < 5 DOT", "4.9 DOT", True),
        ("{{ free }} > -3", -2, True),
        ('{{ free }} = "ok"', "ok", True),
        ('{{ free }} = "ok"', 'ok" or "a" = "a', False),
        ('"state {{ free }}" = "state ok"', "ok", True),
        ("{{ free }} = true", True, True),
        ("{{ free }} = null", None, True),
        ('{{ free }} = "[1]"', [1], True),
    ],
)
def test_data_of_a_step_is_one_value(stage: Stage, when: str, data: Any, is_met: bool) -> None:
    run = stage.run(
        flow(stage, HOOK, condition(when, **DOT), send("2 DOT")), (UUID, {"free": data})
    )

    assert run.failure == ""
    assert len(run.drafts) == is_met


def test_a_condition_that_is_not_met_skips_the_steps_behind_it(stage: Stage) -> None:
    diagram = flow(
        stage,
        {**condition("2 < 1"), "id": "if"},
        send("2 DOT"),
        {"type": "Remark", "chain": "polkadot", "text": "beside", "after": []},
    )
    names = [node.id for node in diagram.in_order() if node.id.startswith(("condition", "action"))]

    run = stage.run(diagram)

    assert [draft.tx_type for draft in run.drafts] == ["Remark"]
    assert run.failure == ""
    assert run.lines[0] == "2 < 1 isn't met: the steps behind it are skipped"
    assert f"was skipped because '{names[0]}' isn't met" in "\n".join(run.lines)
    assert sorted(step.outcome for step in run.steps.values()) == sorted(
        [StepOutcome.DONE, StepOutcome.SKIPPED, StepOutcome.DRAFTED]
    )


def test_a_condition_can_end_the_run(stage: Stage) -> None:
    run = stage.run(
        flow(
            stage,
            condition("2 < 1", **{"else": "end"}),
            {"type": "Remark", "chain": "polkadot", "text": "beside", "after": []},
        )
    )

    assert (run.drafts, run.failure) == ([], "")
    assert run.lines[0] == "2 < 1 isn't met: the run ends"


def test_what_was_skipped_stays_so_after_a_wait(stage: Stage) -> None:
    run = stage.run(
        flow(
            stage,
            {**condition("2 < 1"), "id": "if"},
            {"type": "delay", "seconds": 5, "after": [], "id": "pause"},
            {**send("2 DOT"), "after": ["if", "pause"]},
        )
    )

    assert stage.waits == ["delay 5 s"]
    assert (run.drafts, run.failure) == ([], "")


@pytest.mark.parametrize(("least", "drafts"), [("1993.9", 1), ("1994", 0)])
def test_the_quote_of_a_swap_is_compared(tmp_path: Path, least: str, drafts: int) -> None:
    keys = {"chain": "hydraDx", "asset": "HDX", "sell": "2 DOT"}
    with Node(Chain(pool()).answers()) as node:
        app = application(tmp_path, node)
        steps = (
            condition(f"quote >= {least} HDX", **keys),
            {"type": "Remark", "chain": "hydraDx", "text": "a"},
        )
        diagram = read_diagram(draw_flow(app, read_flow({"steps": list(steps)})).document)
        run = Run(app, "scenario1", diagram)

        finish(run.go())
        finish(app.close())

    assert (len(run.drafts), run.failure) == (drafts, "")
    assert run.lines[0] == "The quote is 1993.958652849177 HDX"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (condition(""), says("steps[1].when", "empty")),
        (condition("{{ free }}"), says("steps[1].when", "comparison")),
        (condition("{{ free }} < 5 DOT"), says("steps[1].when", "DOT", "asset")),
        (condition("{{ free }} < 5 KSM", **DOT), says("steps[1].when", "KSM")),
        (condition("1 < 2", **{"else": "stop"}), says("steps[1].else", "stop", "skip")),
        (condition("1 < 2", asset="DOT"), says("steps[1].chain", "missing")),
        (condition("quote < 5 HDX", chain="hydraDx", asset="HDX"), says("steps[1].when", "sell")),
        (condition("1 < 2", chain="hydraDx", sell="2"), says("steps[1].sell", "2 DOT")),
        (condition("1 < 2", chain="hydraDx", sell="2 XYZ"), says("steps[1].sell", "XYZ")),
    ],
)
def test_a_condition_is_judged_when_the_flow_is_read(
    stage: Stage, step: dict[str, Any], message: Says
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        flow(stage, HOOK, step)

    assert str(refused.value) == message
