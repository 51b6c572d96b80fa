"""Drafts that were made for an older runtime: those that the chain's new one reads otherwise are
told apart."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainUnreachable
from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.table_cache import save_cached
from scenarioctl.transactions.extrinsic import bare_extrinsic, explain_incompatibility
from scenarioctl.worker.chores import judge_drafts
from tests.canned import answers
from tests.conftest import DATA
from tests.messages import says
from tests.node import Node
from tests.runtimes import BOB, bundled

POLKADOT = bundled("polkadot")
SPEC = POLKADOT.spec_version
REMARK = Call(pallet="System", method="remark_with_event", args={"remark": b"hello"})
TRANSFER = Call(
    pallet="Balances",
    method="transfer_keep_alive",
    args={"dest": {"Id": BOB}, "value": 12_345_678_900},
)
BATCH = Call(
    pallet="Utility",
    method="batch_all",
    args={"calls": [{"Balances": {"transfer_keep_alive": dict(TRANSFER.args)}}]},
)


def drafted(call: Call, table: RuntimeTable = POLKADOT) -> str:
    return "0x" + bare_extrinsic(table.encode_call(call)).hex()


Change = Callable[[RuntimeTable], None]


def changed(*changes: Change) -> RuntimeTable:
    """Return the bundled runtime of polkadot, upgraded to the next version with *changes*."""
    table = RuntimeTable.load(POLKADOT.dump())
    table._header["spec_version"] = SPEC + 1
    for change in changes:
        change(table)
    table._header["pallets"] = [list(row) for row in table._header["pallets"]]
    return RuntimeTable.load(
        RuntimeTable(table._header, table.types, table._pallets, table._apis).dump()
    )


def renumbered(pallet: str, index: int) -> Change:
    def change(table: RuntimeTable) -> None:
        rows = table._header["pallets"]
        (row,) = (row for row in rows if row[0] == pallet)
        row[1] = index
        # A call inside a call is written by the variants of RuntimeCall.
        for variant in table.types[table.call_type][3]:
            if variant[0] == pallet:
                variant[1] = index

    return change


def variants(table: RuntimeTable, pallet: str) -> list[Any]:
    (calls,) = (row[2] for row in table._header["pallets"] if row[0] == pallet)
    found: list[Any] = table.types[calls][3]
    return found


def without(pallet: str, method: str) -> Change:
    def change(table: RuntimeTable) -> None:
        rows = variants(table, pallet)
        rows[:] = [row for row in rows if row[0] != method]

    return change


def retyped(pallet: str, method: str, argument: str, like: tuple[str, str, str]) -> Change:
    """Let an argument be of the type that another one, (pallet, method, argument), has."""

    def change(table: RuntimeTable) -> None:
        (type_id,) = (
            field.type_id for field in table.call_fields(*like[:2]) if field.name == like[2]
        )
        (row,) = (row for row in variants(table, pallet) if row[0] == method)
        (field,) = (field for field in row[2] if field[0] == argument)
        field[1] = type_id

    return change


def judge(call: Call, *changes: Change) -> str:
    return explain_incompatibility(POLKADOT, changed(*changes), drafted(call), spec_version=SPEC)


@pytest.mark.parametrize("call", [REMARK, TRANSFER, BATCH])
def test_a_draft_whose_bytes_are_the_same_stays_good(call: Call) -> None:
    assert judge(call) == ""
    # What became of other calls is of no matter.
    assert judge(call, renumbered("Vesting", 210), without("System", "remark")) == ""


def test_a_pallet_that_moved_is_told_of() -> None:
    assert judge(REMARK, renumbered("System", 199)) == says(
        "2000000", "2000001", "System.remark_with_event"
    )


def test_a_call_that_is_gone_is_told_of() -> None:
    assert judge(REMARK, without("System", "remark_with_event")) == says(
        "2000000", "2000001", "System.remark_with_event"
    )


def test_an_argument_written_otherwise_is_told_of() -> None:
    # The number as it stands, where it was a compact.
    plain = retyped("Balances", "transfer_keep_alive", "value", ("Claims", "mint_claim", "value"))

    assert judge(TRANSFER, plain) == says("2000000", "2000001", "Balances.transfer_keep_alive")


def test_an_argument_of_another_type_is_told_of() -> None:
    bare_account = retyped("Balances", "transfer_keep_alive", "dest", ("Claims", "claim", "dest"))

    assert judge(TRANSFER, bare_account) == says(
        "2000000", "2000001", "Balances.transfer_keep_alive"
    )


def test_a_draft_whose_runtime_is_not_at_hand_cannot_be_judged() -> None:
    assert explain_incompatibility(None, changed(), drafted(REMARK), spec_version=SPEC) == says(
        "2000000", "2000001"
    )


@pytest.mark.parametrize(
    "tx", ["0x", "0x00", "0xzz", "Could not generate transaction", "0x1004ffffff"]
)
def test_what_its_own_runtime_cannot_read_is_told_of(tx: str) -> None:
    assert explain_incompatibility(POLKADOT, changed(), tx, spec_version=SPEC) == says(
        "polkadot", "2000000"
    )


# Against a node


def served(tmp_path: Path, node: Node) -> Application:
    config = tmp_path / "config.toml"
    config.write_text(
        f'[chains.polkadot]\nendpoints = ["{node.url}"]\n[chains.kusama]\nendpoints = '
        '["ws://127.0.0.1:1/"]\n'
    )
    app = Application(
        load_settings({"config": str(config), "cache": tmp_path, "store": tmp_path / "s.db"}, {}),
        served=True,
    )
    app.resources.store = NoStore()  # type: ignore[assignment]
    return app


class NoStore:
    """Nothing is stored here."""

    async def close(self) -> None:
        pass


def upgraded(table: RuntimeTable, tmp_path: Path) -> Node:
    """Return a node of polkadot that runs *table*, which is in the cache as if it had been
    fetched."""
    chain = Application(load_settings({}, {})).registry.find("polkadot")
    save_cached(table, chain.genesis, tmp_path / "runtimes" / "polkadot")
    version = {"specName": "polkadot", "specVersion": table.spec_version}
    return Node(answers("polkadot", state_getRuntimeVersion=version))


async def judged(app: Application, spec_version: int, *txs: str) -> list[str]:
    try:
        async with app.session() as session:
            return await judge_drafts(session, "polkadot", spec_version, txs)
    finally:
        await app.close()


def test_the_drafts_of_a_chain_are_judged_by_what_it_runs_now(tmp_path: Path) -> None:
    table = changed(renumbered("System", 199))

    with upgraded(table, tmp_path) as node:
        said = asyncio.run(
            judged(served(tmp_path, node), SPEC, *([drafted(TRANSFER)] * 60), drafted(REMARK))
        )

    assert said == [""] * 60 + [
        "it was drafted for polkadot 2000000, and polkadot 2000001 may not read "
        "System.remark_with_event in the same way: draft it again"
    ]


def test_drafts_of_a_runtime_of_the_cache_are_judged(tmp_path: Path) -> None:
    older = read_metadata((DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes())

    with upgraded(changed(), tmp_path) as node:
        app = served(tmp_path, node)
        save_cached(
            older, app.registry.find("polkadot").genesis, tmp_path / "runtimes" / "polkadot"
        )
        said = asyncio.run(judged(app, 1006000, drafted(REMARK, older), drafted(TRANSFER, older)))

    assert said == ["", ""]


def test_drafts_of_a_runtime_that_nobody_keeps_cannot_be_judged(tmp_path: Path) -> None:
    with upgraded(changed(), tmp_path) as node:
        said = asyncio.run(judged(served(tmp_path, node), 5, drafted(REMARK)))

    assert said == [says("5", "2000001")]


def test_an_endpoint_that_lags_behind_says_nothing_against_newer_drafts(tmp_path: Path) -> None:
    with Node(answers("polkadot")) as node:
        said = asyncio.run(judged(served(tmp_path, node), SPEC + 1, "0x00"))

    assert said == [""]


def test_drafts_of_a_chain_that_is_not_reached_are_not_judged(tmp_path: Path) -> None:
    with Node({}) as node, pytest.raises(ChainUnreachable):
        asyncio.run(judged(served(tmp_path, node), 5, drafted(REMARK)))
