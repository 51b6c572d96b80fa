"""Stored scenarios: what an import keeps, finds and refuses, what a description says, and names."""

import json
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zlib import decompress

import pytest

from scenarioctl.actions.drafts import find_step_place
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.formats.documents import read_bagpipes_store, write_share
from scenarioctl.operations.scenarios import (
    ExportScenario,
    FirstTransaction,
    FullScenarioInfo,
    ImportScenario,
    export_scenario,
    full_scenario_info,
    import_scenario,
)
from tests.conftest import DATA, Run
from tests.messages import raises, says
from tests.runner import finish
from tests.serving import Serving
from tests.test_samples import OURS, REAL

#: Keys in an order that no sorting gives.
DIAGRAM = (
    '{"nodes":[{"type":"delay","id":"z","formData":{"seconds":1.50,"a":null}}],"edges":[],'
    '"b":{"z":1,"a":2}}'
)
REORDERED = (
    '{"edges":[],"nodes":[{"id":"z","type":"delay","formData":{"a":null,"seconds":1.5}}],'
    '"b":{"a":2,"z":1}}'
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application]:
    made = Application(
        Settings(
            config=tmp_path / "c", store=str(tmp_path / "s"), cache=tmp_path / "r", offline=True
        )
    )
    yield made
    finish(made.close())


def bring(app: Application, text: str, id: str = "") -> str:
    return finish(import_scenario(app, ImportScenario(url=text, id=id))).answer["shortUrl"]


def share(text: str) -> str:
    return write_share(json.loads(text))


class TestImport:
    def test_an_export_has_the_keys_in_the_order_of_the_import(self, app: Application) -> None:
        for text in (DIAGRAM, REORDERED):
            found = finish(export_scenario(app, ExportScenario(id=bring(app, text))))

            assert decompress(b64decode(found.answer["longUrl"])).decode() == text.replace(
                "1.50", "1.5"
            )

    @pytest.mark.parametrize("path", [*OURS, *REAL], ids=lambda path: path.stem)
    def test_a_sample_is_exported_to_the_letter(self, app: Application, path: Path) -> None:
        text = path.read_text(encoding="utf-8")

        found = finish(export_scenario(app, ExportScenario(id=bring(app, text))))

        exported = decompress(b64decode(found.answer["longUrl"])).decode()
        assert exported == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)

    def test_a_diagram_that_is_stored_is_found_again(self, app: Application) -> None:
        first = bring(app, DIAGRAM)

        again = finish(import_scenario(app, ImportScenario(url=share(DIAGRAM))))

        assert (again.answer["shortUrl"], again.notes) == (
            first,
            (says("already", id=first),),
        )
        # Spaces say nothing, the order of the keys is part of it.
        assert bring(app, DIAGRAM.replace(":", " : ")) == first
        assert bring(app, REORDERED) != first
        assert finish(app.store.count_scenarios()) == 2

    def test_a_diagram_that_was_created_here_is_found_too(self, app: Application) -> None:
        from scenarioctl.operations.creation import CreateRemark, create_remark

        id = finish(create_remark(app, CreateRemark(chain="polkadot", text="hello"))).answer[
            "result"
        ]
        exported = finish(export_scenario(app, ExportScenario(id=id))).answer["longUrl"]

        assert bring(app, exported) == id

    def test_one_that_was_deleted_is_not_found(self, app: Application) -> None:
        first = bring(app, DIAGRAM)
        finish(app.store.delete_scenario(first))

        assert bring(app, DIAGRAM) != first

    def test_an_import_with_an_id_has_that_id_or_is_refused(self, app: Application) -> None:
        assert bring(app, DIAGRAM, "-dD3W-kCp") == "-dD3W-kCp"
        # The same diagram in whatever order, and under another id too.
        assert bring(app, REORDERED, "-dD3W-kCp") == "-dD3W-kCp"
        assert bring(app, DIAGRAM, "other") == "other"

        with raises(Conflict, says("other", "another diagram")):
            bring(app, DIAGRAM.replace("1.50", "2"), "other")
        with pytest.raises(InvalidRequest, match="cannot name a scenario"):
            bring(app, DIAGRAM, "no.id")
        assert finish(app.store.count_scenarios()) == 2

    def test_pressed_twice_at_once_it_is_stored_once_and_runs_once(self, tmp_path: Path) -> None:
        with Serving(tmp_path) as serving:

            def press(_: int) -> Any:
                return serving.post("/saveUrl", {"url": share(DIAGRAM)}).json()

            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(press, range(16)))
            ids = {answer["shortUrl"] for answer in answers}
            (id,) = ids
            started = [serving.post("/job/start", {"id": id}).json()["result"] for _ in range(2)]
            jobs = serving.get("/job/list").json()

        assert answers[0] == {"success": True, "shortUrl": id}
        assert started == ["Job started", "Job already running"]
        assert [job["id"] for job in jobs["jobs"]] == [id]


class TestBagpipesStore:
    """The file of the original API: `{"urls": [{"shortUrl": …, "longUrl": …}]}`."""

    def entries(self, *pairs: tuple[Any, Any]) -> str:
        return json.dumps(
            {"urls": [{"shortUrl": id, "longUrl": text} for id, text in pairs]}, indent=2
        )

    def test_each_scenario_is_brought_in_with_its_id(
        self, tmp_path: Path, scenarioctl: Run, app: Application
    ) -> None:
        file = tmp_path / "urls2.json"
        file.write_text(
            self.entries(
                ("lnr8CfoQX", share(DIAGRAM).rstrip("=")), ("-dD3W-kCp", {"url": share(REORDERED)})
            )
        )

        ended = scenarioctl("--store", str(tmp_path / "s"), "scenario", "import", str(file))

        assert (ended.out, ended.code) == ("lnr8CfoQX\n-dD3W-kCp\n", 0)
        assert ended.err == (
            "1 of 2: lnr8CfoQX\nCreated lnr8CfoQX: delay 1.5 s\n2 of 2: -dD3W-kCp\nCreated "
            "-dD3W-kCp: delay 1.5 s\n"
        )
        found = finish(export_scenario(app, ExportScenario(id="-dD3W-kCp"))).answer["longUrl"]
        assert decompress(b64decode(found)).decode() == REORDERED
        again = scenarioctl("--store", str(tmp_path / "s"), "scenario", "import", str(file))
        assert (again.out, again.code) == (ended.out, 0)
        assert again.err.count("This diagram is already stored as ") == 2

    def test_what_is_wrong_with_one_keeps_no_other_one_out(
        self, tmp_path: Path, scenarioctl: Run
    ) -> None:
        file = tmp_path / "urls2.json"
        file.write_text(
            self.entries(
                ("a", share(DIAGRAM)),
                ("a", share('{"nodes": [], "edges": []}')),
                ("no.id", share(DIAGRAM)),
                ("b", None),
                (None, share(DIAGRAM)),
                ("c", "eJx"),
                ("d", share(DIAGRAM)),
            )
        )
        words = ("--store", str(tmp_path / "s"), "scenario", "import", str(file))

        ended = scenarioctl(*words)

        assert (ended.out, ended.code) == ("a\nd\n", 2)
        refused = [line for line in ended.err.splitlines() if line.startswith(("Refused", "Error"))]
        assert refused == [
            says("Refused: ", "'a'", "another diagram"),
            says("no.id", "scenario"),
            says("urls[3].longUrl", "missing"),
            says("urls[4].shortUrl", "missing"),
            says("eJx", "truncated"),
            says("5", "7"),
        ]
        as_json = scenarioctl("--json", *words)
        answer = json.loads(as_json.out)
        assert (answer["imported"], as_json.code) == (["a", "d"], 2)
        assert [each["code"] for each in answer["refused"]] == [
            "conflict",
            *["invalid_request"] * 4,
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "eJx",
            DIAGRAM,
            '{"urls": 1}',
            '{"urls": []',
            '{"urls": [], "nodes": [], "edges": []}',
        ],
    )
    def test_anything_else_is_no_such_file(self, text: str) -> None:
        assert read_bagpipes_store(text, limit=1000) is None


class TestFullInfo:
    def full(self, app: Application, path: str, **fields: Any) -> FirstTransaction:
        id = bring(app, (DATA / "diagrams" / path).read_text())
        return finish(full_scenario_info(app, FullScenarioInfo(id=id, **fields))).answer["result"]

    def test_the_summary_is_that_of_the_step_it_describes(self, app: Application) -> None:
        for path, summary in (
            ("remark_and_wrong_target.json", "assetHub > Remark > assetHub"),
            ("calls_by_key.json", "polkadot > ChainTx > polkadot"),
            ("swap_with_minimum.json", "hydraDx > swap > hydraDx"),
            ("transfer.json", "polkadot > xTransfer > assetHub"),
        ):
            assert self.full(app, path)["summary"] == summary

    def test_of_several_steps_every_transaction_is_listed_in_order(self, app: Application) -> None:
        result = self.full(app, "calls_by_key.json")

        assert [(each["node"], each["summary"]) for each in result["transactions"]] == [
            ("chainTx_j00001", "polkadot > ChainTx > polkadot"),
            ("chainTx_j00002", "assetHub > ChainTx > assetHub"),
        ]
        assert result["transactions"][0]["tx"] == result["tx"] == "0x240400001468656c6c6f"
        assert "040a0300" in result["transactions"][1]["tx"]

    def test_one_that_cannot_be_drafted_says_why_in_its_place(self, app: Application) -> None:
        transactions = self.full(app, "remark_and_wrong_target.json")["transactions"]

        assert [each.get("code", each.get("summary")) for each in transactions] == [
            "assetHub > Remark > assetHub",
            "invalid_request",
        ]
        assert transactions[1]["error"].startswith(
            "source asset 1984 and target asset 5 are not the same"
        )

    @pytest.mark.parametrize("step", [2, "2", "chainTx_j00002"])
    def test_one_step_is_drafted_alone(self, app: Application, step: int | str) -> None:
        everything = self.full(app, "calls_by_key.json")

        result = self.full(app, "calls_by_key.json", step=step)

        assert result["summary"] == "assetHub > ChainTx > assetHub"
        assert result["tx"] == everything["transactions"][1]["tx"] != everything["tx"]
        assert result.keys() == everything.keys() - {"transactions"}

    @pytest.mark.parametrize("step", [0, 3, "-1", "many", "chain_j00001", True])
    def test_a_step_that_does_not_exist_is_refused(self, app: Application, step: int | str) -> None:
        with raises(
            InvalidRequest,
            says("step", "2 transactions", "1 to 2", "chainTx_j00001", "chainTx_j00002"),
        ):
            self.full(app, "calls_by_key.json", step=step)

    def test_a_number_counts_the_transactions_even_if_a_node_has_it_as_its_id(self) -> None:
        assert [find_step_place(step, ["2", "1", "7"]) for step in ("1", "2", "7")] == [0, 1, 2]


class TestFullOnTheLine:
    def stored(self, scenarioctl: Run, name: str) -> str:
        return scenarioctl("scenario", "import", str(DATA / "diagrams" / name)).out.strip()

    def test_all_prints_one_transaction_to_a_line(self, scenarioctl: Run) -> None:
        id = self.stored(scenarioctl, "calls_by_key.json")
        answer = json.loads(scenarioctl("--offline", "scenario", "full", id, "--json").out)[
            "result"
        ]

        lines = scenarioctl("--offline", "scenario", "full", id, "--all")
        single = scenarioctl(
            "--offline", "scenario", "full", self.stored(scenarioctl, "transfer.json"), "--all"
        )
        second = scenarioctl("--offline", "scenario", "full", id, "--step", "2", "--field", "tx")

        assert lines.out.split() == [each["tx"] for each in answer["transactions"]]
        assert (len(single.out.split()), single.code) == (1, 0)
        assert second.out == lines.out.splitlines()[1] + "\n"
