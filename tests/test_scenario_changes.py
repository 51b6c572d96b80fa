"""Scenarios that are renamed, tagged and edited; diagrams written as flow files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.flow_files import draw_flow, read_flow, write_flow
from scenarioctl.actions.redrawing import keep_nodes
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.operations.scenario_changes import (
    write_toml,
)
from tests.conftest import BOB, DATA, Ended, Run
from tests.drawing import make_app
from tests.messages import raises, says
from tests.runner import finish
from tests.test_output import Terminal

DIAGRAMS = DATA / "diagrams"
DOCUMENTED = re.findall(
    r"```toml\n(.*?)```", (Path(__file__).parent.parent / "docs" / "flow.md").read_text(), re.DOTALL
)
RENT = f"""\
name = "Rent"

[[steps]]
type = "xTransfer"
source_chain = "polkadot"
dest_chain = "assetHub"
destination_address = "{BOB}"
amount = "1.5"
assetid = "DOT"

[[steps]]
type = "Remark"
chain = "assetHub"
text = "paid"
"""
WAITING = """\
[[steps]]
id = "paid"
type = "webhook"
name = "payments"
uuid = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"

[[steps]]
type = "Remark"
chain = "polkadot"
text = "{{ paid.note }} and {{ step0 }}"
"""

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
#: Without a store.
ALONE = make_app(Path("/dev/null"))


@st.composite
def flows(draw: st.DrawFn) -> dict[str, Any]:
    """Return a flow whose steps follow and name any of those before."""
    steps: list[dict[str, Any]] = []
    providers: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        named = "".join(
            f"{{{{ {each}.a }}}}"
            for each in draw(st.lists(st.sampled_from(providers)) if providers else st.just([]))
        )
        step = dict(draw(st.sampled_from(STEPS)))
        if step["type"] == "Remark":
            step["text"] = draw(TEXTS.filter(bool)) + named
        if step["type"] == "http":
            step |= {"url": f"https://example.org/{named}", "body": draw(TEXTS)}
        if draw(st.booleans()):
            step["after"] = draw(
                st.lists(st.sampled_from([each["id"] for each in steps])) if steps else st.just([])
            )
        step["id"] = draw(st.sampled_from([f"s{number}", f"step{number}", f"http{number}"]))
        if step["type"] in ("http", "webhook", "chainQuery"):
            providers.append(step["id"])
        steps.append(step)
    return {"steps": steps}


STEPS: tuple[dict[str, Any], ...] = (
    {"type": "Remark", "chain": "polkadot"},
    {"type": "http", "headers": {"Accept": "{{ b }}"}, "method": "post"},
    {"type": "webhook", "name": "w", "timeout": 60},
    {"type": "delay", "seconds": "2.50"},
    {"type": "chainQuery", "chain": "polkadot", "pallet_name": "system", "method_name": "number"},
    {
        "type": "chainTx",
        "chain": "polkadot",
        "pallet_name": "System",
        "method_name": "remark",
        "params": {"remark": [1, "x"]},
    },
    {
        "type": "swap",
        "assetin": "DOT",
        "assetout": 0,
        "amount": 2,
        "min_amount_out": 5,
        "exact_minimum": True,
    },
    {
        "type": "swap",
        "assetin": "DOT",
        "assetout": "{{ b }}",
        "amount": "2e1",
        "slippage": "0.50",
        "route": "5>omnipool>0",
    },
    *(
        {
            "type": "xTransfer",
            "source_chain": source,
            "dest_chain": destination,
            "destination_address": BOB,
            "amount": "1.50",
            "assetid": asset,
        }
        for source, destination, asset in (
            ("polkadot", "assetHub", "DOT"),
            ("assetHub", "polkadot", "native"),
            ("assetHub", "hydraDx", 1984),
            ("hydraDx", "assetHub", 10),
            ("hydraDx", "hydraDx", 0),
            ("assetHub", "assetHub", "{{ b }}"),
        )
    ),
)
FLOWS = flows()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application]:
    made = make_app(tmp_path)
    yield made
    finish(made.close())


def drawn(app: Application, flow: Any) -> Diagram:
    return read_diagram(draw_flow(app, read_flow(flow)).document)


def form_of(diagram: Diagram, type: str) -> Any:
    return next(node.form for node in diagram.nodes if node.type == type)


class TestFlowsOfDiagrams:
    @pytest.mark.parametrize("text", [*DOCUMENTED, RENT, WAITING])
    def test_what_is_drawn_from_a_flow_is_written_as_one_that_draws_it_again(
        self, app: Application, text: str
    ) -> None:
        diagram = drawn(app, text)
        written = write_toml(write_flow(app, diagram))
        again = drawn(app, written)

        assert keep_nodes(again, diagram) == diagram.document
        assert write_toml(write_flow(app, again)) == written

    @given(flow=FLOWS)
    def test_no_flow_loses_anything(self, flow: dict[str, Any]) -> None:
        diagram = drawn(ALONE, flow)
        text = write_toml(write_flow(ALONE, diagram))

        assert keep_nodes(drawn(ALONE, text), diagram) == diagram.document

    @pytest.mark.parametrize("name", ["transfer", "swap", "swap_with_minimum"])
    def test_what_only_the_web_editor_reads_stays_where_nothing_else_changes(
        self, app: Application, name: str
    ) -> None:
        diagram = read_diagram(json.loads((DIAGRAMS / f"{name}.json").read_text()))

        assert keep_nodes(drawn(app, write_flow(app, diagram)), diagram) == diagram.document

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("calls_by_key", says("parts")),
            ("made_by_the_original_api", says("parts")),
            ("other_steps", says("telegram")),
            ("remark_without_text", says("text")),
            ("unfinished", says("action_g00003")),
            ("webhook_query", says("chainQuery_f00002", "placeholder")),
        ],
    )
    def test_what_a_flow_cannot_hold_is_not_written(
        self, app: Application, name: str, reason: Any
    ) -> None:
        diagram = read_diagram(json.loads((DIAGRAMS / f"{name}.json").read_text()))

        with raises(InvalidRequest, reason):
            write_flow(app, diagram)


class TestNodesThatStay:
    def test_an_added_step_leaves_the_others_their_ids(self, app: Application) -> None:
        former = drawn(app, RENT)
        added = RENT.replace("[[steps]]", '[[steps]]\ntype = "delay"\nseconds = 5\n\n[[steps]]', 1)
        document = keep_nodes(drawn(app, added), former)

        old, new = ([node["id"] for node in each["nodes"]] for each in (former.document, document))
        assert new[1:] == old
        assert new[0].startswith("delay_")
        assert [edge["source"] for edge in document["edges"]] == [new[0], *old[:-1]]

    def test_a_changed_step_keeps_its_id_and_all_their_places(self, app: Application) -> None:
        former = drawn(app, RENT)
        former.document["nodes"][1]["position"] = {"x": 7, "y": 7}
        document = keep_nodes(drawn(app, RENT.replace("1.5", "2.5")), former)

        assert [(node["id"], node["position"]) for node in document["nodes"]] == [
            (node["id"], node["position"]) for node in former.document["nodes"]
        ]
        assert document["nodes"][1]["formData"]["actionData"]["source"]["amount"] == "2.5"

    def test_a_placeholder_follows_its_step(self, app: Application) -> None:
        former = drawn(app, WAITING)
        again = read_diagram(keep_nodes(drawn(app, WAITING.replace("note", "text")), former))
        webhook = next(node.id for node in former.nodes if node.type == "webhook")

        text = form_of(again, "action")["actionData"]["source"]["target"]
        assert text == f"{{{{ {webhook}.text }}}} and {{{{ step0 }}}}"

    def test_keys_of_others_beside_the_nodes_stay(self, app: Application) -> None:
        former = drawn(app, RENT)
        former = read_diagram({**former.document, "viewport": {"zoom": 2}, "tags": ["a"]})
        document = keep_nodes(drawn(app, RENT.replace("Rent", "Lease")), former)

        assert (document["name"], document["viewport"]) == ("Lease", {"zoom": 2})
        assert "tags" not in document


def ok(ended: Ended) -> str:
    """Return stdout; stderr says what was understood."""
    assert ended.code == 0, ended.err
    return ended.out


@pytest.fixture
def rent(scenarioctl: Run, tmp_path: Path) -> str:
    (tmp_path / "rent.toml").write_text(RENT)
    return ok(scenarioctl("--offline", "create", "flow", str(tmp_path / "rent.toml"))).strip()


def shown(scenarioctl: Run, id: str) -> Any:
    return json.loads(ok(scenarioctl("scenario", "show", id, "--json")))


class TestLabels:
    def test_a_name_is_given_and_removed(self, scenarioctl: Run, rent: str) -> None:
        assert (
            ok(scenarioctl("scenario", "edit", rent, "--name", "  Office \n rent ")) == f"{rent}\n"
        )
        assert shown(scenarioctl, rent)["name"] == "Office rent"
        assert rent in ok(scenarioctl("scenario", "list", "--search", "office RENT"))
        assert (
            json.loads(ok(scenarioctl("scenario", "export", rent, "--as", "json")))["name"]
            == "Office rent"
        )
        ok(scenarioctl("scenario", "edit", rent, "--name", ""))
        assert "name" not in shown(scenarioctl, rent)

    def test_tags_are_added_removed_and_listed(self, scenarioctl: Run, rent: str) -> None:
        def tag(*tags: str) -> list[str]:
            given = (word for each in tags for word in ("--tag", each))
            assert ok(scenarioctl("scenario", "edit", rent, *given)) == f"{rent}\n"
            found: list[str] = shown(scenarioctl, rent)["tags"]
            return found

        assert tag("treasury", "draft", "treasury") == ["draft", "treasury"]
        assert tag("monthly", "-draft") == ["monthly", "treasury"]

        row = ok(scenarioctl("scenario", "list", "--tag", "monthly")).split("\t")
        assert (row[0], row[7]) == (rent, "monthly, treasury\n")
        assert ok(scenarioctl("scenario", "list", "--tag", "month")) == ""
        assert shown(scenarioctl, rent)["tags"] == ["monthly", "treasury"]
        flow = ok(scenarioctl("scenario", "export", "--as", "flow", rent))
        assert flow.startswith('name = "Rent"\ntags = [\n    "monthly",\n    "treasury",\n]\n')

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (("edit", "{id}", "--tag", "a b"), says("--tag", "'a b'")),
            (("edit", "{id}", "--tag", ""), says("--tag", "''")),
            (("edit", "{id}", "--tag", "-none"), says("--tag", "'-none'")),
            (("edit", "{id}", "--name", "a\ud800"), says("name")),
        ],
        ids=lambda value: value[0] if isinstance(value, tuple) else None,
    )
    def test_what_is_no_name_and_no_tag_is_refused(
        self, scenarioctl: Run, rent: str, line: tuple[str, ...], said: Any
    ) -> None:
        ended = scenarioctl("scenario", *(word.replace("{id}", rent) for word in line))

        assert (ended.out, ended.err, ended.code) == ("", said.printed, 2)


class TestReplacing:
    def edit(self, scenarioctl: Run, tmp_path: Path, id: str, text: str, *more: str) -> Ended:
        (tmp_path / "new").write_text(text)
        return scenarioctl(
            "--offline", "scenario", "edit", id, "--file", str(tmp_path / "new"), *more
        )

    def test_a_scenario_gets_new_steps_and_keeps_its_id(
        self, scenarioctl: Run, rent: str, tmp_path: Path
    ) -> None:
        before = shown(scenarioctl, rent)
        ended = self.edit(scenarioctl, tmp_path, rent, RENT.replace("1.5", "2.5"), "--json")
        after = shown(scenarioctl, rent)

        answer = json.loads(ok(ended))
        assert answer == {
            "id": rent,
            "revision": after["revision"],
            "changed": True,
            "summary": "polkadot > xTransfer > assetHub > Remark",
        }
        assert (after["created"], after["name"]) == (before["created"], "Rent")
        assert "2.5 DOT" in after["nodes"][1]["text"]
        assert [node["id"] for node in after["nodes"]] == [node["id"] for node in before["nodes"]]

    @pytest.mark.parametrize("form", ["toml", "json", "diagram", "share"])
    def test_a_new_version_comes_in_any_form(
        self, scenarioctl: Run, rent: str, tmp_path: Path, form: str
    ) -> None:
        (tmp_path / "o.toml").write_text('name = "Other"\n[[steps]]\ntype = "delay"\nseconds = 5\n')
        other = ok(scenarioctl("--offline", "create", "flow", str(tmp_path / "o.toml"))).strip()
        line = {
            "toml": ("export", other, "--as", "flow"),
            "json": ("export", other, "--as", "flow", "--syntax", "json"),
            "diagram": ("export", other, "--as", "json"),
            "share": ("export", other),
        }[form]
        text = ok(scenarioctl("scenario", *line))

        assert ok(self.edit(scenarioctl, tmp_path, rent, text)) == f"{rent}\n"
        assert ok(scenarioctl("scenario", "export", "--as", "flow", rent)) == ok(
            scenarioctl("scenario", "export", "--as", "flow", other)
        )
        assert ok(scenarioctl("scenario", "export", rent, "--as", "flow")) == ok(
            scenarioctl("scenario", "export", "--as", "flow", rent)
        )

    def test_a_diagram_with_problems_is_taken_and_says_so(
        self, scenarioctl: Run, rent: str, tmp_path: Path
    ) -> None:
        text = (DIAGRAMS / "unfinished.json").read_text()
        ended = self.edit(scenarioctl, tmp_path, rent, text)
        refused = scenarioctl("scenario", "export", "--as", "flow", rent)
        diagram = json.loads(
            ok(scenarioctl("scenario", "export", "--as", "flow", rent, "--or-diagram"))
        )

        assert (ended.code, ended.err.splitlines()[1]) == (0, says("problem", "scenario show"))
        assert (refused.code, refused.err) == (
            2,
            says("JSON", "action_g00003", id=rent).printed,
        )
        assert diagram == {**json.loads(text), "name": "Rent"}

    @pytest.mark.parametrize("form", ["flow", "json"])
    def test_name_and_tags_stay_unless_they_are_given(
        self, scenarioctl: Run, rent: str, tmp_path: Path, form: str
    ) -> None:
        def labels() -> tuple[str, list[str]]:
            found = shown(scenarioctl, rent)
            return found.get("name", ""), found.get("tags", [])

        ok(scenarioctl("scenario", "edit", rent, "--tag", "treasury"))
        steps = [{"type": "delay", "seconds": 60}]
        flow = json.dumps({"steps": steps})
        if form == "json":
            drawing = ok(scenarioctl("create", "flow", *self.written(tmp_path, flow))).strip()
            flow = ok(scenarioctl("scenario", "export", drawing, "--as", "json"))
        ok(self.edit(scenarioctl, tmp_path, rent, flow))
        kept = labels()
        ok(
            self.edit(
                scenarioctl, tmp_path, rent, json.dumps({"name": "Lease", **json.loads(flow)})
            )
        )
        renamed = labels()
        ok(
            self.edit(
                scenarioctl,
                tmp_path,
                rent,
                json.dumps({**json.loads(flow), "name": "", "tags": []}),
            )
        )

        assert kept == ("Rent", ["treasury"])
        assert renamed == ("Lease", ["treasury"])
        assert labels() == ("", [])

    def written(self, folder: Path, text: str) -> tuple[str, str, str]:
        (folder / "flow.json").write_text(text)
        return str(folder / "flow.json"), "--syntax", "json"

    def test_a_job_is_told_of_other_steps_and_not_of_another_name(
        self, scenarioctl: Run, rent: str, tmp_path: Path
    ) -> None:
        ok(scenarioctl("job", "start", rent, "--every", "1h"))
        ok(scenarioctl("scenario", "edit", rent, "--name", "Lease"))
        ok(scenarioctl("scenario", "edit", rent, "--tag", "a"))
        named = self.edit(scenarioctl, tmp_path, rent, RENT)
        log = ok(scenarioctl("job", "logs", rent))
        ended = self.edit(scenarioctl, tmp_path, rent, RENT.replace("1.5", "2"))

        assert (named.err.count("\n"), log) == (1, "")
        assert ended.err.splitlines() == [
            (
                f'Changed {rent}: 2 steps: 2 DOT, Polkadot → Asset Hub; remark "paid" on '
                "Polkadot Asset Hub"
            ),
            says("job", "next run"),
        ]
        assert (
            ok(scenarioctl("job", "logs", rent))
            == "Scenario changed: the next run uses the new version\n"
        )


# In an editor


@pytest.mark.processes
class TestEditing:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        (tmp_path / "rent.toml").write_text(RENT)
        (tmp_path / "kept").mkdir()
        return tmp_path

    @pytest.fixture
    def id(self, home: Path) -> str:
        return self.play(home, "--offline", "create", "flow", str(home / "rent.toml"))[0].split()[
            -1
        ]

    def play(
        self, home: Path, *line: str, editor: str = "", answers: str = "", **more: str
    ) -> tuple[str, int]:
        """Return what a terminal shows; *editor* is a script, with the file in $1."""
        (home / "editor").write_text(
            f'#!/bin/sh\ncp "$1" {home}/seen-$(ls {home} | grep -c seen)\n{editor}\n'
        )
        (home / "editor").chmod(0o700)
        environment: dict[str, Any] = {
            "EDITOR": str(home / "editor"),
            "TMPDIR": str(home / "kept"),
            **more,
        }
        terminal = Terminal(home, *line, **environment)
        terminal.type(answers)
        shown = terminal.read()
        return shown, terminal.end()

    def seen(self, home: Path, number: int) -> str:
        return (home / f"seen-{number}").read_text()

    def flow(self, home: Path, id: str) -> str:
        return self.play(home, "scenario", "export", "--as", "flow", id)[0]

    def test_what_is_saved_replaces_the_scenario(self, home: Path, id: str) -> None:
        shown, code = self.play(
            home, "--offline", "scenario", "edit", id, editor="sed -i s/1.5/2.5/ $1"
        )

        assert (shown.splitlines()[1:], code) == ([id], 0)
        assert shown.startswith(f"Changed {id}: 2 steps: 2.5 DOT, ")
        assert self.seen(home, 0) == RENT
        assert self.flow(home, id) == RENT.replace("1.5", "2.5")
        assert list((home / "kept").iterdir()) == []

    @pytest.mark.parametrize("editor", ["true", "echo >> $1", ": > $1"])
    def test_nothing_is_done_if_nothing_is_changed_or_all_is_removed(
        self, home: Path, id: str, editor: str
    ) -> None:
        shown, code = self.play(home, "scenario", "edit", id, editor=editor)

        assert (shown, code) == (f"Nothing changed.\n{id}\n", 0)
        assert self.flow(home, id) == RENT
        assert list((home / "kept").iterdir()) == []

    @pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
    def test_what_an_error_is_in_can_be_edited_again(
        self, home: Path, id: str, answer: str, code: int
    ) -> None:
        editor = "if grep -q 1.x $1; then sed -i s/1.x/3/ $1; else sed -i s/1.5/1.x/ $1; fi"
        shown = self.play(
            home, "--offline", "scenario", "edit", id, editor=editor, answers=f"{answer}\n"
        )

        assert "Error: " in shown[0]
        assert shown[1] == code
        assert self.flow(home, id) == (RENT if code else RENT.replace("1.5", "3"))

    @pytest.mark.parametrize("visual", ["/nonexistent/editor", "'open", "false"])
    def test_an_editor_that_does_not_work_is_said(self, home: Path, id: str, visual: str) -> None:
        shown, code = self.play(home, "scenario", "edit", id, VISUAL=visual)

        assert (shown.count("Error: "), code) == (1, 2)
        assert list((home / "kept").iterdir()) == []
