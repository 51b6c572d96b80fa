"""`chain add`: a node tells what its chain is, which is written to config.toml; or nothing is."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.runtime.storage_keys import storage_key
from tests.blocks import block_hash
from tests.canned import answers, opaque, u32
from tests.conftest import DATA, Run
from tests.messages import says
from tests.network import table_of
from tests.node import Node, Refusal

GENESIS = block_hash(77)
OTHER = block_hash(78)
RUNTIMES = {
    "polkadot": ("polkadot", 1006000, "polkadot-1006000.v15.scale"),
    "assetHub": ("statemint", 1006000, "asset-hub-polkadot-1006000.v15.scale"),
}


def node_of(chain: str, genesis: str = GENESIS, **changes: Any) -> Node:
    """Return a node of a chain that nobody knows, with the runtime of *chain*."""
    spec_name, version, file = RUNTIMES[chain]
    metadata = opaque((DATA / "metadata" / file).read_bytes())
    para_id = storage_key(table_of("assetHub"), "ParachainInfo", "ParachainId", ()).hex
    told = answers(
        chain,
        {para_id: "0x" + u32(1000).hex()},
        state_getRuntimeVersion=lambda _at=None: {"specName": spec_name, "specVersion": version},
        state_call=lambda _, asked: metadata if asked == "0x0f000000" else "0x00",
        system_chain="Rig Net",
        system_properties={
            "tokenSymbol": ["UNIT", "OTHER"],
            "tokenDecimals": [12, 6],
            "ss58Format": 42,
        },
    )
    known = told["chain_getBlockHash"]
    told["chain_getBlockHash"] = lambda number=None: genesis if number == 0 else known(number)
    return Node({**told, **changes})


@pytest.fixture
def line(tmp_path: Path) -> tuple[str, ...]:
    config = tmp_path / "config.toml"
    config.write_text(f'# mine\ncache = "{tmp_path / "cache"}"\n')
    return ("--config", str(config), "chain", "add")


def test_a_relay_chain_is_added_with_all_that_its_node_tells(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...]
) -> None:
    config = tmp_path / "config.toml"
    with node_of("polkadot") as node:
        done = scenarioctl(*line, "rig", "--url", node.url)

    assert (done.code, done.err) == (0, "")
    assert (
        tomllib.loads(config.read_text())["chains"]
        == tomllib.loads(done.out)["chains"]
        == {
            "rig": {
                "endpoints": [node.url],
                "title": "Rig Net",
                "role": "relay",
                "genesis": GENESIS,
                "spec_name": "polkadot",
                "ss58_prefix": 0,
                "symbol": "UNIT",
                "decimals": 12,
            }
        }
    )
    assert config.read_text().startswith("# mine\n")
    shown = json.loads(scenarioctl("--config", str(config), "chain", "show", "rig", "--json").out)
    assert (shown["relay"], shown["decimals"], shown["genesis"]) == ("rig", 12, GENESIS)


def test_an_asset_hub_is_complete_once_its_relay_chain_is_named(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...]
) -> None:
    with node_of("assetHub") as node:
        without = scenarioctl(*line, "hub", "--url", node.url)
    with node_of("assetHub", OTHER) as node:
        under = scenarioctl(*line, "hub2", "--url", node.url, "--relay", "kusama", "--json")

    assert (without.code, without.err) == (0, says("Chain hub", "lacks relay"))
    assert under.code == 0
    table = json.loads(under.out)["table"]
    assert (table["role"], table["relay"], table["para_id"]) == ("asset_hub", "kusama", 1000)
    assert set(tomllib.loads((tmp_path / "config.toml").read_text())["chains"]) == {"hub", "hub2"}


def test_what_a_node_does_not_tell_is_missing(scenarioctl: Run, line: tuple[str, ...]) -> None:
    def refuse(*_: Any) -> Any:
        raise Refusal(-32601, "Method not found")

    with node_of("polkadot", system_properties=refuse, system_chain=refuse) as node:
        done = scenarioctl(*line, "rig", "--url", node.url)

    assert (done.code, done.err) == (0, says("Chain rig", "lacks symbol, decimals"))


def test_what_cannot_be_added_leaves_config_toml_as_it_was(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(config.read_text() + "[chains.half]\nrole = 'relay'\n")
    before = config.read_text()
    known = answers("polkadot")["chain_getBlockHash"](0)
    bad = {"tokenSymbol": "UNIT", "tokenDecimals": 99}
    with (
        node_of("polkadot") as node,
        node_of("polkadot", known) as twin,
        node_of("polkadot", OTHER) as other,
        node_of("polkadot", system_properties=bad) as wrong,
    ):
        for words, code, said in (
            (("Polkadot", "--url", node.url), 4, ("name", "Polkadot")),
            (("half", "--url", node.url), 4, ("name", "half")),
            (("a b", "--url", node.url), 2, ("a b",)),
            (("rig", "--url", "http://a"), 2, ("endpoints", "http://a")),
            (("rig", "--url", node.url, "--relay", "moon"), 2, ("relay", "moon")),
            (("rig", "--url", node.url, "--relay", "kusama"), 2, ("relay", "kusama")),
            (("rig", "--url", wrong.url), 2, ("decimals", "99")),
            (("rig", "--url", node.url, "--url", other.url), 5, ("serves another chain",)),
            (("rig", "--url", twin.url), 4, ("polkadot",)),
            (("rig", "--url", node.url, "--offline"), 5, ("rig", "offline")),
        ):
            ended = scenarioctl(*line, *words)
            values = {
                key: each.url
                for key, each in (("twin", twin), ("other", other))
                if each.url in ended.err
            }
            assert (ended.code, ended.err.splitlines()[-1]) == (code, says(*said, **values)), words
            assert config.read_text() == before
