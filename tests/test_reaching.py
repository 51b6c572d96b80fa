"""Endpoints, `chain refresh` and `contract info` against nodes that answer, lag, lie, stall or
are not there."""

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains import pool
from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import TIMEOUTS
from scenarioctl.chains.pool import Pool
from scenarioctl.chains.probing import probe
from scenarioctl.chains.registry import Registry
from scenarioctl.contracts import is_contract
from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import load_cached
from scenarioctl.runtime.type_table import TypeTable
from tests.canned import BOB_KEY, GENESIS, answers, opaque
from tests.conftest import DATA, Run
from tests.messages import Says, raises, says
from tests.node import Node, Silent
from tests.runner import finish
from tests.runtimes import bundled

TOKEN, VAULT = DATA / "contracts" / "token-v4.json", DATA / "contracts" / "vault-v6.json"
NOWHERE = "ws://127.0.0.1:1/"


def configure(tmp_path: Path, **endpoints: list[str]) -> str:
    """Write a config.toml with these endpoints of built-in chains, and return its path."""
    lines = [f'cache = "{tmp_path / "cache"}"']
    for chain, urls in endpoints.items():
        lines += [f"[chains.{chain}]", f"endpoints = {json.dumps(urls)}"]
    path = tmp_path / "config.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def stalling() -> Iterator[str]:
    """Return an endpoint that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"ws://127.0.0.1:{server.getsockname()[1]}/"


def at(number: int, **changes: Any) -> dict[str, Any]:
    return answers("polkadot", chain_getHeader=lambda _at=None: {"number": hex(number)}, **changes)


# how an endpoint is judged


def test_an_endpoint_that_lags_or_syncs_is_not_healthy() -> None:
    with (
        Node(at(100)) as best,
        Node(at(71)) as near,
        Node(at(70)) as far,
        Node(at(100, system_health={"isSyncing": True})) as syncing,
    ):
        urls = [node.url for node in (best, near, far, syncing)]
        probes = finish(probe([Registry({"polkadot": {"endpoints": urls}}).find("polkadot")]))

    assert [each.reason for each in probes] == [
        "",
        "",
        says("30", "70", url=far.url),
        says("100", url=syncing.url),
    ]


# chain refresh


OLDER = DATA / "metadata" / "polkadot-1006000.v15.scale"


def test_a_table_is_fetched_into_the_cache_and_told_from_where(
    scenarioctl: Run, tmp_path: Path
) -> None:
    given = answers(
        "polkadot",
        state_getRuntimeVersion={"specName": "polkadot", "specVersion": 1006000},
        state_call=lambda _, version: (
            opaque(OLDER.read_bytes()) if version == "0x0f000000" else "0x00"
        ),
    )
    with Node(given) as node:
        config = configure(tmp_path, polkadot=[NOWHERE, node.url])
        ended = scenarioctl("--config", config, "chain", "refresh", "polkadot", "POLKADOT")
        as_json = scenarioctl("--config", config, "--json", "chain", "refresh", "polkadot")

    folder = tmp_path / "cache" / "runtimes" / "polkadot"
    file = folder / f"{GENESIS['polkadot'][2:]}-1006000.confirmed.json"
    kept = load_cached(GENESIS["polkadot"], folder)
    assert kept is not None
    assert kept.spec_version == 1006000
    assert (ended.out, ended.err, ended.code) == (
        f"polkadot\tpolkadot 1006000\t{node.url}\tyou\t2000000, newer\t{file}\n",
        "",
        0,
    )
    assert json.loads(as_json.out) == {
        "chains": [
            {
                "name": "polkadot",
                "endpoint": node.url,
                "spec_name": "polkadot",
                "spec_version": 1006000,
                "metadata_version": 15,
                "bundled_spec_version": 2000000,
                "confirmed_by": "user",
                "path": str(file),
            }
        ]
    }
    # Offline the bundled one would be taken, which is newer; with this node, the one that it runs.


# contract info


def pool_of(node: Node, table: RuntimeTable, tmp_path: Path) -> Pool:
    own = {"role": "contracts", "symbol": "UNIT", "decimals": 12, "endpoints": [node.url]}
    chain = Registry({"contracts": own}).find("contracts")
    return Pool(chain, known=table, cache=tmp_path)


def lives(tmp_path: Path, table: RuntimeTable, address: bytes, storage: dict[str, str]) -> bool:
    version = {"specName": table.spec_name, "specVersion": table.spec_version}
    with Node(answers("polkadot", storage, state_getRuntimeVersion=version)) as node:
        pool = pool_of(node, table, tmp_path)
        try:
            return finish(is_contract(Client(pool), address))
        finally:
            finish(pool.close())


def contracts_table() -> RuntimeTable:
    """Return the table of a runtime with pallet-contracts, as far as it matters: `ContractInfoOf`
    of an account."""
    header: dict[str, Any] = {
        "spec_name": "pop",
        "spec_version": 100,
        "transaction_version": 1,
        "metadata_version": 15,
        "extrinsic": {
            "versions": [4],
            "extensions": [],
            "address": None,
            "signature": None,
            "call": None,
        },
        "pallets": [["Contracts", 40, None]],
    }
    account = ["sp_core::crypto::AccountId32", [], "composite", [[None, 1, None]]]
    types = TypeTable(
        [account, ["", [], "array", [32, 2]], ["", [], "primitive", "u8"], ["", [], "sequence", 2]]
    )
    entry = ["ContractInfoOf", "Optional", ["Twox64Concat"], 0, 3, "00"]
    pallet = {
        "name": "Contracts",
        "storage": ["Contracts", [entry]],
        "constants": [],
        "event": None,
        "error": None,
    }
    return RuntimeTable(header, types, [pallet], [])


@pytest.mark.parametrize(
    ("table", "address", "sentence"),
    [
        (bundled("assetHub"), BOB_KEY, says("chain", "20")),
        (contracts_table(), bytes(20), says("chain", "pallet-contracts")),
        (bundled("polkadot"), bytes(20), says("chain", "2000000")),
    ],
)
def test_a_chain_that_cannot_hold_the_contract_is_refused(
    tmp_path: Path, table: RuntimeTable, address: bytes, sentence: Says
) -> None:
    with raises(InvalidRequest, sentence):
        lives(tmp_path, table, address, {})


@pytest.mark.parametrize(
    "speaks", [False, True], ids=["before the handshake", "after the handshake"]
)
def test_a_command_is_held_up_for_a_moment_by_an_endpoint_that_stalls(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stalling: str, speaks: bool
) -> None:
    monkeypatch.setattr(pool, "TIMEOUTS", replace(TIMEOUTS, opening=60.0))

    def quiet(*_: Any) -> None:
        raise Silent

    with (
        Node(answers("polkadot", chain_getBlockHash=quiet)) as silent,
        Node(answers("polkadot")) as node,
    ):
        config = configure(tmp_path, polkadot=[silent.url if speaks else stalling, node.url])
        started = time.monotonic()
        ended = scenarioctl("--config", config, "query", "polkadot", "System", "Number")
        passed = time.monotonic() - started

    assert (ended.out, ended.err, ended.code) == ("0\n", "", 0)
    assert "state_getStorage" in node.asked
    assert bool(silent.asked) == speaks
    # By itself this takes less than a second, and on a busy machine less than an endpoint has to
    # open.
    assert TIMEOUTS.stagger <= passed < 30
