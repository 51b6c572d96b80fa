"""`chain refresh --from FILE`: a table from a file of metadata, if the file is of the runtime that
its user names."""

import json
from pathlib import Path

import pytest

from scenarioctl.chains.registry import Registry
from scenarioctl.runtime.metadata import FILE_LIMIT
from scenarioctl.runtime.table_cache import load_cached
from tests.conftest import DATA, Run
from tests.messages import says
from tests.test_reaching import configure

METADATA = DATA / "metadata"
POLKADOT = METADATA / "polkadot-1006000.v15.scale"
HUB = METADATA / "asset-hub-paseo-2002002.v16.scale"


def refresh(scenarioctl: Run, tmp_path: Path, *line: str) -> tuple[str, str, int]:
    ended = scenarioctl("--config", configure(tmp_path), "--offline", "chain", "refresh", *line)
    return ended.out, ended.err, ended.code


@pytest.mark.parametrize("hexadecimal", [False, True], ids=["bytes", "hex"])
def test_a_file_becomes_the_table_of_its_chain(
    scenarioctl: Run, tmp_path: Path, hexadecimal: bool
) -> None:
    data = POLKADOT.read_bytes()
    file = tmp_path / "paseo.scale"
    file.write_bytes(b"0x" + data.hex().encode() + b"\n" if hexadecimal else data)

    out, err, code = refresh(
        scenarioctl,
        tmp_path,
        "paseo",
        "--from",
        str(file),
        "--runtime",
        "polkadot 1006000",
        "--json",
    )

    assert (err, code) == ("", 0)
    (row,) = json.loads(out)["chains"]
    paseo = Registry({}).find("paseo")
    kept = load_cached(paseo.genesis, tmp_path / "cache" / "runtimes" / "paseo")
    assert kept is not None
    assert (kept.spec_name, kept.spec_version, kept.told_by) == ("polkadot", 1006000, "")
    assert row == {
        "name": "paseo",
        "endpoint": str(file),
        "spec_name": "polkadot",
        "spec_version": 1006000,
        "metadata_version": 15,
        "bundled_spec_version": None,
        "confirmed_by": "user",
        "path": row["path"],
    }
    built = scenarioctl(
        "--config",
        configure(tmp_path),
        "--offline",
        "create",
        "remark",
        "--chain",
        "paseo",
        "--text",
        "hi",
    )
    assert built.code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("paseo", "--from", str(POLKADOT)), ("runtime", "polkadot 1006000")),
        (
            ("paseo", "--from", str(POLKADOT), "--runtime", "polkadot 2000000"),
            ("polkadot 2000000", "polkadot 1006000"),
        ),
        (
            ("people", "--from", str(HUB), "--runtime", "asset-hub-paseo 2002002"),
            ("people-polkadot",),
        ),
        (("assetHub", "--from", str(HUB), "--runtime", "asset-hub-paseo 2002002"), ("statemint",)),
        (("paseo", "polkadot", "--from", str(POLKADOT)), ("from", "one CHAIN")),
        (("paseo", "--runtime", "polkadot 1006000"), ("--from",)),
        (
            ("paseo", "--from", str(METADATA / "index.json"), "--runtime", "polkadot 1"),
            ("metadata",),
        ),
    ],
)
def test_a_file_that_is_not_of_the_runtime_is_refused(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...], said: tuple[str, ...]
) -> None:
    out, err, code = refresh(scenarioctl, tmp_path, *line)

    assert (out, err, code) == ("", says(*said).printed, 2)
    assert not (tmp_path / "cache" / "runtimes").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (POLKADOT.read_bytes()[:-1], "truncated"),
        (b"0x6d65746g", "hex"),
        (b"meta" + bytes(FILE_LIMIT), "larger"),
    ],
    ids=["cut short", "not hex", "too large"],
)
def test_a_file_that_is_no_metadata_is_refused(
    scenarioctl: Run, tmp_path: Path, data: bytes, said: str
) -> None:
    file = tmp_path / "metadata"
    file.write_bytes(data)

    out, err, code = refresh(
        scenarioctl, tmp_path, "paseo", "--from", str(file), "--runtime", "polkadot 1006000"
    )

    assert (out, err.replace(str(tmp_path), "…"), code) == ("", says(said).printed, 2)
