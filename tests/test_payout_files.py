"""A payout that reads its file anew for each draft, and which files it may read."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.conftest import BOB, Run
from tests.messages import Says, says
from tests.test_check import ALICE, DOT
from tests.test_payouts import calls_of, somebody, table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "payroll"
    folder.mkdir()
    return folder


@pytest.fixture
def run(scenarioctl: Run, tmp_path: Path, folder: Path) -> Any:
    settings = {"store": str(tmp_path / "s.db"), "offline": True, "payout_folders": [str(folder)]}
    (tmp_path / "config.toml").write_text(tomli_w.dumps(settings))
    return lambda *line: json.loads(
        scenarioctl("--config", str(tmp_path / "config.toml"), "--json", *line).out
    )


def create(run: Any, file: Path, path: object) -> Any:
    line = ("create", "payout", str(file), "--chain", "polkadot", "--asset", "DOT")
    return run(*line, "--reread", str(path))


def paid(run: Any, scenario: str) -> list[int]:
    (draft,) = run("job", "run", scenario)["mempool"]
    return [each["Balances"]["transfer_keep_alive"]["value"] for each in calls_of(draft["tx"])]


def test_each_run_pays_what_the_file_has_then(run: Any, folder: Path) -> None:
    run("address", "add", "Bob", BOB)
    file = folder / "pay.csv"
    file.write_text(table(["Bob", "1"], [ALICE, "2"]))
    scenario = create(run, file, file)["result"]

    first = paid(run, scenario)
    file.write_text(table(["Bob", "1.5"]))
    second = paid(run, scenario)
    shown = run("scenario", "show", scenario)

    assert (first, second) == ([DOT, 2 * DOT], [15 * DOT // 10])
    assert shown["nodes"][0]["text"] == says("2 payments", file=str(file))


def test_a_run_names_what_is_wrong_in_the_file_then(run: Any, folder: Path) -> None:
    file = folder / "pay.csv"
    file.write_text(table([BOB, "1"]))
    scenario = create(run, file, file)["result"]
    file.write_text(table([BOB, "x"], ["polkadot"]))

    answer = run("job", "run", scenario)

    assert answer["error"] == says("line 2", "line 3")


def test_an_account_that_the_file_then_pays_twice_is_told(run: Any, folder: Path) -> None:
    file = folder / "pay.csv"
    file.write_text(table([BOB, "1"]))
    scenario = create(run, file, file)["result"]
    file.write_text(table([BOB, "1"], [BOB, "2"]))

    lines = run("job", "run", scenario)["result"]

    assert [line for line in lines if "line 3" in line] == [says("line 2")]


def test_a_file_that_became_too_long_for_one_transaction_is_told(run: Any, folder: Path) -> None:
    file = folder / "pay.csv"
    file.write_text(table([BOB, "1"]))
    scenario = create(run, file, file)["result"]
    file.write_text(
        table(*(["0x" + f"{number:06x}" * 10 + "beef", "1"] for number in range(1, 402)))
    )

    lines = run("job", "run", scenario)["result"]

    assert [line for line in lines if "401" in line and "calls" in line] == [
        says("401", file=str(file))
    ]


def test_who_creates_it_is_told_that_the_file_has_other_lines(
    scenarioctl: Run, tmp_path: Path, run: Any, folder: Path
) -> None:
    given, file = tmp_path / "may.csv", folder / "pay.csv"
    given.write_text(table([BOB, "1"], [ALICE, "2"]))
    file.write_text(table([BOB, "7"], [BOB, "1"]))
    line = (
        "create",
        "payout",
        str(given),
        "--chain",
        "polkadot",
        "--asset",
        "DOT",
        "--reread",
        str(file),
    )

    warned = scenarioctl("--config", str(tmp_path / "config.toml"), *line).err.splitlines()[1:]
    file.write_text(table([ALICE, "2"], [BOB, "1"]))
    again = scenarioctl("--config", str(tmp_path / "config.toml"), *line).err.splitlines()[1:]

    assert warned == [says("line 3", "line 2"), says("8 DOT", file=str(file))]
    assert again == []


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("../outside.csv", says("payout_folders")),
        ("link.csv", says("payout_folders")),
        ("gone.csv", says("gone.csv")),
        (".", says("not a file")),
        ("latin.csv", says("UTF-8")),
        ("hub.csv", says("line 3", "Polkadot")),
        ("wrong.csv", says("line 2", "amount")),
    ],
)
def test_a_file_that_no_run_may_or_can_read_is_refused(
    run: Any, tmp_path: Path, folder: Path, name: str, error: Says
) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text(table([BOB, "1"]))
    (folder / "link.csv").symlink_to(outside)
    (folder / "latin.csv").write_bytes(b"account,amount\n\xe9,1\n")
    (folder / "hub.csv").write_text(
        table([BOB, "1", "polkadot"], [ALICE, "1", "assetHub"], header="account,amount,chain")
    )
    (folder / "wrong.csv").write_text(table([BOB, "x"]))

    answer = create(run, outside, folder / name)

    assert answer["error"].replace(str(tmp_path), "{folder}") == error


def test_a_path_has_to_be_whole(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pay.csv").write_text(table([BOB, "1"]))
    monkeypatch.chdir(folder)

    assert create(run, folder / "pay.csv", "pay.csv")["error"].replace(
        str(folder), "{folder}"
    ) == says("pay.csv")


def test_without_folders_no_run_reads_a_file(scenarioctl: Run, folder: Path) -> None:
    file = folder / "pay.csv"
    file.write_text(table([BOB, "1"]))

    def offline(*line: str) -> Any:
        return json.loads(scenarioctl("--offline", "--json", *line).out)

    assert create(offline, file, file)["error"] == says("payout_folders", file=str(file))


def test_what_needs_several_transactions_is_not_read_anew(run: Any, folder: Path) -> None:
    file = folder / "pay.csv"
    file.write_text(table(*[[somebody(number), "1"] for number in range(401)]))

    assert create(run, file, file)["error"] == says("one transaction", "2", file=str(file))


def test_a_flow_file_keeps_the_path(
    scenarioctl: Run, run: Any, tmp_path: Path, folder: Path
) -> None:
    file = folder / "pay.csv"
    file.write_text(table([BOB, "1"]))
    scenario = create(run, file, file)["result"]

    config = ("--config", str(tmp_path / "config.toml"))
    flow = scenarioctl(*config, "scenario", "export", "--as", "flow", scenario).out
    (tmp_path / "flow.toml").write_text(flow)
    edited = run("scenario", "edit", scenario, "--file", str(tmp_path / "flow.toml"))

    assert f'reread = "{file}"\nasset = "DOT"\n' in flow
    assert edited["changed"] is False


def test_a_report_says_that_the_lines_may_be_others_by_now(
    scenarioctl: Run, run: Any, tmp_path: Path, folder: Path
) -> None:
    file = folder / "pay.csv"
    file.write_text(table([BOB, "1"]))
    scenario = create(run, file, file)["result"]

    ended = scenarioctl("--config", str(tmp_path / "config.toml"), "scenario", "payments", scenario)

    assert ended.err.strip() == says("anew")
