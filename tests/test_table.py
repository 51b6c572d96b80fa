"""Runtime tables: bundled, cached and dumped; what they answer about calls, storage, constants and
types."""

import json
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import BUNDLED, RuntimeTable, load_bundled
from scenarioctl.runtime.table_cache import load_cached, save_cached
from tests.conftest import DATA
from tests.messages import Says, raises, says
from tools import bundle_runtimes
from tools.bundle_runtimes import FOLDER

GENESIS = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3"


@pytest.fixture(scope="module")
def polkadot() -> RuntimeTable:
    return _bundled("polkadot")


def _bundled(name: str) -> RuntimeTable:
    table = load_bundled(name)
    assert table is not None
    return table


# Bundled


def test_the_manifest_names_the_sources_that_the_test_data_has() -> None:
    manifest = json.loads((FOLDER / "manifest.json").read_bytes())
    index = json.loads((DATA / "metadata" / "index.json").read_bytes())

    hashes = {row["sha256"]: row for row in index.values()}

    assert list(manifest) == list(BUNDLED)
    for row in manifest.values():
        source = hashes[row["metadata_sha256"]]["source"]
        assert source.startswith(f"{row['package']} {row['version']}, {row['file']}")


@pytest.mark.parametrize(
    ("literal", "spec_name", "spec_version", "transaction_version", "metadata_version"),
    [
        ("polkadot", "polkadot", 2000000, 26, 15),
        ("assetHub", "statemint", 2003001, 15, 16),
        ("hydraDx", "hydradx", 428, 1, 16),
        ("kusama", "kusama", 1009002, 26, 15),
        ("assetHub_kusama", "statemine", 2002000, 15, 16),
        ("assetHub_paseo", "asset-hub-paseo", 2002002, 15, 16),
    ],
)
def test_a_bundled_table_is_found_by_chain_and_by_spec_name(
    literal: str, spec_name: str, spec_version: int, transaction_version: int, metadata_version: int
) -> None:
    table = _bundled(literal)

    assert load_bundled(spec_name) is table
    assert (
        table.spec_name,
        table.spec_version,
        table.transaction_version,
        table.metadata_version,
    ) == (spec_name, spec_version, transaction_version, metadata_version)


def test_an_unknown_chain_has_no_bundled_table() -> None:
    assert load_bundled("paseo") is None
    assert load_bundled("../bundled/polkadot") is None


# Files


@pytest.mark.parametrize(
    "name", ["polkadot-1002005.v14.scale", "kusama-1009002.v15.scale", "hydration-428.v16.scale"]
)
def test_a_table_comes_back_from_its_file_as_it_went(name: str) -> None:
    table = read_metadata((DATA / "metadata" / name).read_bytes())

    data = table.dump()
    again = RuntimeTable.load(data)

    assert again.dump() == data
    assert (str(again), again.pallets, again.extensions, again.apis) == (
        str(table),
        table.pallets,
        table.extensions,
        table.apis,
    )
    assert [again.types[place] for place in range(len(again.types))] == [
        table.types[place] for place in range(len(table.types))
    ]


def test_the_file_of_a_table_is_json_one_entry_to_a_line(polkadot: RuntimeTable) -> None:
    data = (FOLDER / "polkadot.json").read_bytes()
    document = json.loads(data)

    assert (document["format"], document["spec_version"], len(document["types"])) == (
        1,
        2000000,
        len(polkadot.types),
    )
    assert len(data.splitlines()) == 5 + sum(document["lines"])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: b"", says('damaged', 'checksum')),
        (lambda data: b"{}", says('damaged', 'checksum')),
        (lambda data: data[:-1], says('damaged', 'checksum')),
        (lambda data: data[: len(data) // 2], says('damaged', 'checksum')),
        (lambda data: data.replace(b"Balances", b"balances", 1), says('damaged', 'checksum')),
        (lambda data: _checked(data.replace(b'"format":1', b'"format":2')),
            says('runtime', 'format')),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(damage: Any, sentence: Says) -> None:
    data = damage((FOLDER / "polkadot.json").read_bytes())

    with raises(InvalidRequest, sentence):
        RuntimeTable.load(data)


def _checked(data: bytes) -> bytes:
    from zlib import crc32

    body = data[: data.rfind(b"\n", 0, -1) + 1]
    return body + b'],"checksum":"%08x"}\n' % crc32(body)


# Calls


def test_a_call_is_known_by_its_exact_names(polkadot: RuntimeTable) -> None:
    assert polkadot.has_call("Balances", "transfer_keep_alive")
    assert not polkadot.has_call("Balances", "transferKeepAlive")
    assert not polkadot.has_call("balances", "transfer_keep_alive")
    assert not polkadot.has_call("Nothing", "at_all")
    assert not polkadot.has_call("ParachainsOrigin", "any")


@pytest.mark.parametrize(
    ("pallet", "method", "args", "beginning"),
    [
        ("Balence", "transfer", {}, says('pallet', 'Balence', '2000000')),
        ("Timestamp", "get", {}, says('method', 'get', '2000000')),
        ("Timestamp", "set", {}, says('Timestamp.set', 'now')),
        ("Timestamp", "set", {"now": 1, "then": 2}, says('Timestamp.set', 'then')),
        ("Timestamp", "set", {"now": 2**64}, says('Timestamp.set', '18446744073709551616', 'u64')),
        ("Staking", "chill", {"a": 1}, says('Staking.chill', 'belongs')),
    ],
)  # fmt: skip
def test_a_call_that_the_runtime_does_not_take_is_refused(
    polkadot: RuntimeTable, pallet: str, method: str, args: Any, beginning: Says
) -> None:
    with raises(InvalidRequest, beginning):
        polkadot.encode_call(Call(pallet=pallet, method=method, args=args))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("", says('0x', 'begins')),
        ("05", says('0x05', 'begins')),
        ("fe00", says('0xfe00', '2000000', '254')),
        ("03ff", says('0x03ff', '2000000', '255')),
        ("030004ff", says('Timestamp.set', '1')),
        ("0300", says('Timestamp.set', '2')),
        ("03000100", says('Timestamp.set', '0x0100', '2')),
        ("0503050000", says('Balances.transfer_keep_alive', '0x05', 'MultiAddress<AccountId32')),
    ],
)  # fmt: skip
def test_bytes_that_are_no_call_are_refused(
    polkadot: RuntimeTable, data: str, sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        polkadot.decode_call(bytes.fromhex(data))


# The cache


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_table_is_kept_by_genesis_and_the_newest_is_found(tmp_path: Path) -> None:
    older = read_metadata((DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes())
    newer = _bundled("polkadot")
    directory = tmp_path / "not" / "there"

    assert load_cached(GENESIS, directory) is None
    paths = [save_cached(table, GENESIS, directory) for table in (newer, older)]
    found = load_cached(GENESIS.upper().replace("0X", "0x"), directory)

    assert [path.name for path in paths] == [
        f"{GENESIS[2:]}-{version}.confirmed.json" for version in (2000000, 1006000)
    ]
    assert found is not None
    assert found.dump() == newer.dump()
    assert load_cached("0x" + "00" * 32, directory) is None
    assert _names(directory) == sorted(path.name for path in paths)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not a table",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"Balances", b"Balancer"),
        lambda data: _checked(b'{"format":1,\n'),
        lambda data: _checked(b"[]\n[]\n"),
        lambda data: b"\xff\xfe" * 100,
    ],
)
def test_a_damaged_file_is_passed_over_for_the_next_newest(tmp_path: Path, damage: Any) -> None:
    older = read_metadata((DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes())
    path = save_cached(_bundled("polkadot"), GENESIS, tmp_path)

    path.write_bytes(damage(path.read_bytes()))
    assert load_cached(GENESIS, tmp_path) is None
    save_cached(older, GENESIS, tmp_path)

    found = load_cached(GENESIS, tmp_path)
    assert found is not None
    assert found.spec_version == 1006000


def test_files_that_are_no_tables_are_left_alone(tmp_path: Path) -> None:
    for name in (
        *("2000000.json", f"{GENESIS[2:]}.json", f"{GENESIS[2:]}-.json"),
        *(f"{GENESIS[2:]}-new.confirmed.json", f"{GENESIS[2:]}-9999998.json", ".x.tmp"),
    ):
        (tmp_path / name).write_text("{}")
    (tmp_path / f"{GENESIS[2:]}-9999999.confirmed.json").mkdir()

    assert load_cached(GENESIS, tmp_path) is None
    assert len(_names(tmp_path)) == 7


def test_a_table_under_another_version_number_is_not_believed(tmp_path: Path) -> None:
    path = save_cached(_bundled("polkadot"), GENESIS, tmp_path)

    path.rename(path.with_name(f"{GENESIS[2:]}-2000001.confirmed.json"))

    assert load_cached(GENESIS, tmp_path) is None


@pytest.mark.parametrize("genesis", ["", "0x", "0x1234", "../../etc/passwd", "0x" + "g" * 64])
def test_only_a_block_hash_names_a_file(tmp_path: Path, genesis: str) -> None:
    with pytest.raises(
        InvalidRequest, match="is not a block hash, expected 0x and 64 hexadecimal digits"
    ):
        save_cached(_bundled("polkadot"), genesis, tmp_path)
    with pytest.raises(
        InvalidRequest, match="is not a block hash, expected 0x and 64 hexadecimal digits"
    ):
        load_cached(genesis, tmp_path)
    assert _names(tmp_path) == []


def test_a_save_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _bundled("polkadot")
    path = save_cached(table, GENESIS, tmp_path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_cached(table, GENESIS, tmp_path)

    assert _names(tmp_path) == [path.name]
    assert path.read_bytes() == before


def _save_often(directory: Path) -> None:
    table = RuntimeTable.load((FOLDER / "polkadot.json").read_bytes())
    for _ in range(20):
        save_cached(table, GENESIS, directory)


@pytest.mark.processes
def test_a_reader_beside_two_writers_never_sees_half_a_table(tmp_path: Path) -> None:
    _save_often(tmp_path)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_save_often, args=(tmp_path,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    reads = 0
    while any(writer.is_alive() for writer in writers):
        assert load_cached(GENESIS, tmp_path) is not None
        reads += 1
    for writer in writers:
        writer.join()

    assert reads > 0
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(_names(tmp_path)) == 1


def test_the_tool_names_what_is_stale_and_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ["bundle_runtimes.py", "--from", str(DATA / "metadata")]
    monkeypatch.setattr(bundle_runtimes, "FOLDER", tmp_path)
    only = [each for each in bundle_runtimes.SOURCES if each.literal == "kusama"]
    monkeypatch.setattr(bundle_runtimes, "SOURCES", only)
    monkeypatch.setattr(sys, "argv", source)

    assert bundle_runtimes.main() == 0
    assert _names(tmp_path) == ["kusama.json", "manifest.json"]
    (tmp_path / "kusama.json").write_bytes(b"{}")
    (tmp_path / "other.json").write_bytes(b"{}")
    monkeypatch.setattr(sys, "argv", [*source, "--check"])
    assert bundle_runtimes.main() == 1
    assert (tmp_path / "kusama.json").read_bytes() == b"{}"
    assert capsys.readouterr().err == says("tools/bundle_runtimes.py", tmp_path=tmp_path)
