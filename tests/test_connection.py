"""A node is asked for its runtime, and believed only where it serves the chain that is meant."""

from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.client import Client
from scenarioctl.chains.connection import connect
from scenarioctl.chains.pool import Pool
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainUnreachable
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.runtime.table_cache import load_cached
from tests.canned import opaque, polkadot_at
from tests.conftest import DATA
from tests.messages import raises, says
from tests.node import Node
from tests.runner import finish

POLKADOT_GENESIS = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3"
OLDER = DATA / "metadata" / "polkadot-1006000.v15.scale"


def fetch_runtime(chain: Chain, known: RuntimeTable | None, cache: Path) -> RuntimeTable:
    pool = Pool(chain, known=known, cache=cache)
    try:
        return finish(Client(pool).table())
    finally:
        finish(pool.close())


def answers(**changes: Any) -> dict[str, Any]:
    older = opaque(OLDER.read_bytes())
    return {
        "chain_getBlockHash": POLKADOT_GENESIS,
        "state_getRuntimeVersion": {"specName": "polkadot", "specVersion": 1006000},
        "state_call": lambda _, version: older if version == "0x0f000000" else "0x00",
        **changes,
    }


def test_the_bundled_table_is_used_where_the_node_runs_that_version(tmp_path: Path) -> None:
    bundled = load_bundled("polkadot")
    assert bundled is not None
    version = {"specName": "polkadot", "specVersion": bundled.spec_version}

    with Node(answers(state_getRuntimeVersion=version)) as node:
        table = fetch_runtime(polkadot_at(node.url), bundled, tmp_path)

    assert table is bundled
    assert node.asked == ["chain_getBlockHash", "state_getRuntimeVersion"]


def test_a_table_of_another_runtime_with_the_same_version_number_is_not_used(
    tmp_path: Path,
) -> None:
    kusama = load_bundled("kusama")
    assert kusama is not None
    version = {"specName": "polkadot", "specVersion": kusama.spec_version}

    with Node(answers(state_getRuntimeVersion=version)) as node, pytest.raises(ChainUnreachable):
        fetch_runtime(polkadot_at(node.url), kusama, tmp_path)

    # It asked for the metadata, instead of building with Kusama's.
    assert "state_call" in node.asked


def test_another_version_is_read_from_the_node_and_kept(tmp_path: Path) -> None:
    with Node(answers()) as node:
        table = fetch_runtime(polkadot_at(node.url), load_bundled("polkadot"), tmp_path)

    kept = load_cached(POLKADOT_GENESIS, tmp_path, endpoint=node.url)
    assert table.spec_version == 1006000
    assert kept is not None
    assert kept.spec_version == 1006000


def test_a_client_believes_the_version_for_a_moment(tmp_path: Path) -> None:
    bundled = load_bundled("polkadot")
    assert bundled is not None
    version = {"specName": "polkadot", "specVersion": bundled.spec_version}

    with Node(answers(state_getRuntimeVersion=version)) as node:
        pool = Pool(polkadot_at(node.url), known=bundled, cache=tmp_path)
        client = Client(pool)
        pool.believed = 60
        for _ in range(3):
            finish(client.table())
        finish(pool.close())

    assert node.asked.count("state_getRuntimeVersion") == 1


def test_a_node_of_before_metadata_versions_is_read_too(tmp_path: Path) -> None:
    v14 = DATA / "metadata" / "polkadot-1002005.v14.scale"
    given = answers(
        state_getRuntimeVersion={"specName": "polkadot", "specVersion": 1002005},
        state_getMetadata="0x" + v14.read_bytes().hex(),
    )
    del given["state_call"]

    with Node(given) as node:
        table = fetch_runtime(polkadot_at(node.url), None, tmp_path)

    assert (table.spec_version, table.metadata_version) == (1002005, 14)


def test_a_node_of_another_chain_is_refused() -> None:
    kusama = "0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe"

    with (
        Node(answers(chain_getBlockHash=kusama)) as node,
        raises(ChainUnreachable, says(kusama, POLKADOT_GENESIS, url=node.url)),
    ):
        finish(connect(polkadot_at(node.url)))


def test_the_next_endpoint_is_tried_where_one_fails() -> None:
    with Node(answers(chain_getBlockHash="0x00")) as liar, Node(answers()) as node:
        connection = finish(connect(polkadot_at("ws://127.0.0.1:1/", liar.url, node.url)))
        finish(connection.close())

    assert connection.endpoint == node.url


def test_a_node_that_contradicts_itself_is_not_built_with(tmp_path: Path) -> None:
    with (
        Node(answers(state_getRuntimeVersion={"specName": "polkadot", "specVersion": 5})) as node,
        raises(ChainUnreachable, says("5", "1006000")),
    ):
        fetch_runtime(polkadot_at(node.url), None, tmp_path)
    assert load_cached(POLKADOT_GENESIS, tmp_path, endpoint=node.url) is None


def test_a_node_without_answers_ends_as_unreachable() -> None:
    with (
        Node({"chain_getBlockHash": POLKADOT_GENESIS}) as node,
        raises(ChainUnreachable, says("state_getRuntimeVersion", "-32601", url=node.url)),
    ):
        finish(connect(polkadot_at(node.url)))
