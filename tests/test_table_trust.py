"""A node that lies about its runtime is believed only while it is asked: what one endpoint told is
not used without it."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scenarioctl.chains import client
from scenarioctl.chains.client import Client
from scenarioctl.chains.pool import Pool
from scenarioctl.errors import ChainUnreachable
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import (
    MOST_UNCONFIRMED,
    endpoint_digest,
    load_cached,
    load_unconfirmed,
    newest_unconfirmed,
    save_cached,
)
from tests.canned import GENESIS, answers, opaque, polkadot_at
from tests.conftest import BOB, DATA, Run
from tests.messages import raises, says
from tests.node import Node, Silent
from tests.runner import finish
from tests.runtimes import bundled

METADATA = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
#: Of a runtime that outranks the bundled one.
NEWER = METADATA.replace((1006000).to_bytes(4, "little"), (3000000).to_bytes(4, "little"))
#: The same version, in which other pallets have the names.
SWAPPED = NEWER.replace(b"\x20Balances", b"\x20balances").replace(b"\x20Treasury", b"\x20Balances")
TRANSFER = (
    "xcm", "asset-transfer", "--from", "polkadot", "--to", "polkadot", "--assetid", "DOT",
    "--amount", "12345678900", "--destinationaddress", BOB,
)  # fmt: skip


def runs(metadata: bytes, **more: Any) -> Node:
    told = {
        "state_getRuntimeVersion": {"specName": "polkadot", "specVersion": 3000000},
        "state_call": lambda _, version, *__: (
            opaque(metadata) if version == "0x0f000000" else "0x00"
        ),
    }
    return Node(answers("polkadot", **{**told, **more}))


def fetch(tmp_path: Path, *endpoints: str) -> RuntimeTable:
    pool = Pool(polkadot_at(*endpoints), known=bundled("polkadot"), cache=tmp_path)
    try:
        return finish(Client(pool).table())
    finally:
        finish(pool.close())


def configure(folder: Path, *endpoints: str, **chains: Any) -> str:
    path = folder / "config.toml"
    table = {
        "cache": str(folder / "cache"),
        "chains": {"polkadot": {"endpoints": list(endpoints)}, **chains},
    }
    path.write_text(tomli_w.dumps(table))
    return str(path)


def test_a_runtime_that_one_node_claims_is_not_built_with_offline(
    scenarioctl: Run, tmp_path: Path
) -> None:
    with runs(SWAPPED) as liar:
        config = configure(tmp_path, liar.url)
        connected = scenarioctl("--config", config, "query", "polkadot", "System", "Number")
    offline = scenarioctl("--config", config, "--json", "--offline", *TRANSFER)
    decoded = scenarioctl("--config", config, "--offline", "tx", "decode", json.loads(offline.out)[
        "txdata"], "--chain", "polkadot")  # fmt: skip
    listed = scenarioctl("--config", config, "--json", "chain", "list", "--role", "relay")

    warning = (
        "This uses polkadot 2000000, but an endpoint of Polkadot reported version 3000000, "
        "which is not "
        "confirmed. Run `scenarioctl chain refresh polkadot` to fetch and confirm it."
    )
    assert (connected.out, connected.code) == ("0\n", 0)
    assert json.loads(offline.out)["spec_version"] == 2000000
    assert json.loads(offline.out)["txdata"][6:10] == "0503"
    assert (json.loads(offline.said), decoded.err) == (
        {"warning": warning},
        f"Warning: {warning}\n",
    )
    (row,) = [row for row in json.loads(listed.out)["chains"] if row["name"] == "polkadot"]
    assert (row["spec_version"], row["source"]) == (2000000, "bundled")


def test_two_endpoints_that_agree_confirm_a_runtime(scenarioctl: Run, tmp_path: Path) -> None:
    with runs(NEWER) as one, runs(NEWER) as two:
        config = configure(tmp_path, one.url, two.url)
        connected = scenarioctl("--config", config, "--json", *TRANSFER)
    offline = scenarioctl("--config", config, "--json", "--offline", *TRANSFER)
    listed = scenarioctl("--config", config, "--json", "chain", "list", "--role", "relay")

    assert (connected.code, connected.said) == (0, "")
    assert (json.loads(offline.out)["spec_version"], offline.said) == (3000000, "")
    (row,) = [row for row in json.loads(listed.out)["chains"] if row["name"] == "polkadot"]
    assert (row["spec_version"], row["source"]) == (3000000, "cached")


def test_two_endpoints_that_contradict_each_other_are_not_built_with(tmp_path: Path) -> None:
    with (
        runs(NEWER) as one,
        runs(SWAPPED) as two,
        raises(
            ChainUnreachable,
            says("3000000", "chains.polkadot.endpoints", url=one.url, second_url=two.url),
        ),
    ):
        fetch(tmp_path, one.url, two.url)
    assert load_cached(GENESIS["polkadot"], tmp_path, endpoint=one.url) is None


@pytest.mark.parametrize(
    "other", ["none that answers", "one of another runtime", "one without metadata"]
)
def test_where_the_second_endpoint_says_nothing_of_it_it_is_said(
    scenarioctl: Run, tmp_path: Path, other: str
) -> None:
    second = Node(answers("polkadot")) if other == "one of another runtime" else runs(NEWER)
    if other == "one without metadata":
        del second.answers["state_call"]
    with runs(NEWER) as one, second as two:
        config = configure(
            tmp_path, one.url, "ws://127.0.0.1:1/" if other == "none that answers" else two.url
        )
        ended = scenarioctl("--config", config, "--json", *TRANSFER)

    answer = json.loads(ended.out)
    assert answer["spec_version"] == 3000000
    assert answer["warnings"] == [says("3000000", "confirmed")]


def test_what_one_endpoint_told_is_not_used_with_another(tmp_path: Path) -> None:
    with runs(SWAPPED) as liar:
        lie = fetch(tmp_path, liar.url)
    with runs(NEWER) as node:
        first, again = fetch(tmp_path, node.url), fetch(tmp_path, node.url)

    assert lie.dump() != first.dump()
    assert first.dump() == again.dump() == read_metadata(NEWER).dump()
    # Of its own endpoint it is not fetched twice.
    assert node.asked.count("state_call") == 2


def test_a_table_that_is_not_confirmed_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "UNCONFIRMED", 0.0)
    late = {"specName": "polkadot", "specVersion": 2000000}
    with runs(NEWER) as one, runs(NEWER, state_getRuntimeVersion=lambda *_: dict(late)) as two:
        pool = Pool(polkadot_at(one.url, two.url), known=bundled("polkadot"), cache=tmp_path)
        asking = Client(pool)
        before = finish(asking.table()).told_by
        late["specVersion"] = 3000000
        after = finish(asking.table()).told_by
        finish(pool.close())

    assert (before, after) == (endpoint_digest(one.url), "")


def test_a_chain_without_a_bundled_table_takes_what_there_is_and_says_so(
    scenarioctl: Run, tmp_path: Path
) -> None:
    mine = {"role": "relay", "symbol": "DOT", "decimals": 10, "genesis": GENESIS["polkadot"]}
    with runs(NEWER) as one:
        config = configure(tmp_path, mine=mine | {"endpoints": [one.url]})
        fetched = scenarioctl("--config", config, "query", "mine", "System", "Number")
        unsure = scenarioctl(
            "--config", config, "--offline", "tx", "decode", "0x000000", "--chain", "mine"
        )
        listed = scenarioctl("--config", config, "--json", "chain", "list", "--role", "relay")
        refreshed = scenarioctl("--config", config, "--json", "chain", "refresh", "mine")
    sure = scenarioctl(
        "--config", config, "--offline", "tx", "decode", "0x000000", "--chain", "mine"
    )

    assert (fetched.out, fetched.code) == ("0\n", 0)
    assert unsure.err == says("3000000", "scenarioctl")
    assert [row["source"] for row in json.loads(listed.out)["chains"] if row["name"] == "mine"] == [
        "unconfirmed"
    ]
    assert json.loads(refreshed.out)["chains"][0]["confirmed_by"] == "user"
    assert (sure.out, sure.err, sure.code) == (unsure.out, "", 0)


def test_a_node_does_not_fill_the_disk_with_runtimes(tmp_path: Path) -> None:
    table = read_metadata(METADATA)
    genesis = GENESIS["polkadot"]
    for version in range(3 * MOST_UNCONFIRMED):
        table.spec_version, table.told_by = version, endpoint_digest("ws://liar.example")
        save_cached(table, genesis, tmp_path)

    assert len(list(tmp_path.iterdir())) == MOST_UNCONFIRMED
    assert newest_unconfirmed(genesis, tmp_path) == 3 * MOST_UNCONFIRMED - 1


def test_a_confirmed_table_takes_the_place_of_those_that_were_told(tmp_path: Path) -> None:
    table = read_metadata(METADATA)
    genesis = GENESIS["polkadot"]
    for told_by in (endpoint_digest("ws://one.example"), endpoint_digest("ws://two.example"), ""):
        table.told_by = told_by
        path = save_cached(table, genesis, tmp_path)

    assert list(tmp_path.iterdir()) == [path]
    assert load_unconfirmed(genesis, tmp_path) is None


def test_a_daemon_that_stops_does_not_wait_for_a_second_endpoint(tmp_path: Path) -> None:
    def silent(*_: Any) -> None:
        raise Silent

    async def go(*endpoints: str) -> float:
        pool = Pool(polkadot_at(*endpoints), known=bundled("polkadot"), cache=tmp_path)
        asking = asyncio.create_task(Client(pool).table())
        async with asyncio.timeout(60):
            while "state_call" not in second.asked:
                await asyncio.sleep(0.01)
        started = time.monotonic()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await pool.close()
        return time.monotonic() - started

    with runs(NEWER) as first, runs(NEWER, state_call=silent) as second:
        assert asyncio.run(go(first.url, second.url)) < 8
