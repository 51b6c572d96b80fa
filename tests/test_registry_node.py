"""A real node, made of registry packages alone, answers RPC, metadata and storage:
`tools/registry_node/run`."""

import re
from pathlib import Path

from scenarioctl.chains.client import Client
from scenarioctl.chains.pool import Pool
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.errors import ChainUnreachable
from tests.conftest import BOB_HEX, Run
from tests.map_entries import read_entries
from tests.messages import raises, says
from tests.registry_chain import ENDPOINT, NAME, TABLE, needs_node
from tests.runner import BlockingConnection, finish

pytestmark = needs_node


def rococo(**changes: object) -> Chain:
    return Registry({NAME: {**TABLE, **changes}}).find(NAME)


def genesis() -> str:
    connection = BlockingConnection(ENDPOINT)
    try:
        answer = connection.call("chain_getBlockHash", 0)
    finally:
        connection.close()
    assert isinstance(answer, str)
    return answer


def test_its_metadata_becomes_a_table_and_is_kept(tmp_path: Path) -> None:
    pool = Pool(rococo(genesis=genesis()), known=None, cache=tmp_path)

    table = finish(Client(pool).table())
    finish(pool.close())

    assert (table.spec_name, table.spec_version, table.metadata_version) == ("statemine", 900, 14)
    # As what this one endpoint tells: nobody confirmed it.
    [kept] = tmp_path.iterdir()
    assert re.fullmatch(rf"{genesis()[2:]}-900\.[0-9a-f]+\.json", kept.name)


def test_its_storage_is_read_by_name(tmp_path: Path) -> None:
    pool = Pool(rococo(), known=None, cache=tmp_path)
    client = Client(pool)

    para_id = finish(client.storage("ParachainInfo", "ParachainId"))
    version = finish(client.storage("System", "LastRuntimeUpgrade"))
    nobody = finish(client.storage("System", "Account", bytes(32)))
    entries = finish(read_entries(client, "System", "Account", limit=2))
    finish(pool.close())

    assert para_id == 1000
    assert version is None or version["spec_version"] == 900
    assert nobody["nonce"] == 0
    assert len(entries) <= 2


def test_a_transfer_is_built_with_its_runtime(scenarioctl: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'cache = "{tmp_path}"\n[chains.rococoHub]\nrole = "asset_hub"\nrelay = '
        '"kusama"\npara_id = 1000\n'
        f'symbol = "ROC"\ndecimals = 12\nss58_prefix = 42\nendpoints = ["{ENDPOINT}"]\n'
    )
    built = scenarioctl(
        "--config", str(config), "xcm", "asset-transfer", "--from", "rococoHub", "--to",
            "rococoHub",
        "--assetid", "ROC", "--amount", "1000000000000", "--destinationaddress", BOB_HEX,
    )  # fmt: skip
    decoded = scenarioctl(
        "--config", str(config), "tx", "decode", built.out.strip(), "--chain", "rococoHub", "--json"
    )

    assert built.code == 0
    assert '"method": "transfer_keep_alive"' in decoded.out
    assert '"human": "1 ROC"' in decoded.out


def test_its_genesis_is_held_against_the_configuration() -> None:
    with raises(ChainUnreachable, says(ENDPOINT, genesis(), "00" * 32)):
        BlockingConnection(ENDPOINT, genesis="0x" + "00" * 32)
