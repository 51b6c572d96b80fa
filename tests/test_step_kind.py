"""A step type is one module and one row of `STEPS`: the rest of the program learns of it from its
record."""

import json
from pathlib import Path

import pytest

from scenarioctl.actions import STEPS, all_steps, load_step
from scenarioctl.render.svg import COLORS
from tests.conftest import ROOT, Run

FLOW = """
[[steps]]
type = "Note"
words = "hello"

[[steps]]
type = "delay"
seconds = 1
"""


@pytest.fixture(autouse=True)
def _note_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STEPS, "note", "tests.note_step")


@pytest.fixture
def scenario(scenarioctl: Run, tmp_path: Path) -> str:
    file = tmp_path / "flow.toml"
    file.write_text(FLOW)
    created = scenarioctl("--offline", "create", "flow", str(file))
    assert created.code == 0, created.err
    return created.out.strip()


def test_a_flow_file_has_the_new_step_and_its_keys(scenarioctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "flow.toml"
    for text, said in (
        ('type = "note"', "steps[0].words is missing, a note step needs: words"),
        ('type = "note"\nwords = ""', "steps[0].words is empty, expected text"),
        ('type = "note"\nvolume = 5', "a note step takes: type, id, after, words, loud"),
        ('type = "words"', "http, webhook, delay, note"),
    ):
        file.write_text(f"[[steps]]\n{text}\n")

        refused = scenarioctl("--offline", "create", "flow", str(file))

        assert refused.code == 2
        assert said in refused.err


def test_the_new_step_is_summarized_and_described(scenarioctl: Run, scenario: str) -> None:
    shown = json.loads(scenarioctl("--json", "scenario", "show", scenario).out)

    assert shown["summary"] == "note > delay"
    assert [node["text"] for node in shown["nodes"]] == ["notes hello", "waits 1 s"]
    assert shown["problems"] == []


def test_the_new_step_is_drafted(scenarioctl: Run, scenario: str) -> None:
    full = scenarioctl("--offline", "scenario", "full", scenario)

    assert full.code == 0, full.err
    assert "68656c6c6f" in full.out


def test_the_new_step_has_a_card_and_an_icon(
    scenarioctl: Run, scenario: str, tmp_path: Path
) -> None:
    svg = tmp_path / "preview.svg"
    drawn = scenarioctl("--offline", "scenario", "preview", scenario, "--output", str(svg))

    assert drawn.code == 0, drawn.err
    picture = svg.read_text()
    assert 'class="node note ok"' in picture
    assert "hello" in picture
    assert 'd="M5 5h14v10"' in picture
    assert f'stroke="{COLORS["rose"]["light"][0]}"' in picture
    assert ">noted<" in picture


def test_the_new_step_runs(scenarioctl: Run, scenario: str) -> None:
    done = scenarioctl("--offline", "--json", "job", "run", scenario)

    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert [entry["txType"] for entry in answer["mempool"]] == ["Note"]
    assert any(
        line.startswith("Drafted polkadot > Note > polkadot for polkadot ")
        for line in answer["result"]
    )


@pytest.mark.parametrize("name", STEPS)
def test_every_record_is_complete_and_documented(name: str) -> None:
    step = load_step(name)

    assert step.name == name
    assert (step.draft is None) != (step.check is None)
    assert step.look.color in COLORS
    assert (not step.terms.parts) == step.is_shared
    text = (ROOT / "docs" / "flow.md").read_text()
    assert name in text.partition("|---|")[2].partition("\n\n")[0]


def test_looks_and_flow_types_are_told_apart() -> None:
    steps = all_steps()

    assert (
        len({step.look.name for step in steps})
        == len({step.name.lower() for step in steps})
        == len(steps)
    )
