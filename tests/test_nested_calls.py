"""Every transfer inside a call is told to the person who signs: its amount in whole tokens, its
asset and its receiver."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import scenarioctl.transactions.inner_calls as call_kinds_module
from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import BUNDLED, RuntimeTable, load_bundled
from scenarioctl.transactions.inner_calls import call_kinds
from scenarioctl.transactions.wording.calls import tell_call
from tests.conftest import BOB, BOB_HEX, DATA
from tests.generated_values import Generator
from tests.messages import says

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
VECTORS = [
    vector
    for vector in json.loads((DATA / "vectors" / "golden.json").read_text())["vectors"]
    if vector["kind"] == "nested"
]


def table_of(chain: Chain) -> RuntimeTable | None:
    return load_bundled(chain.name)


def say(chain: str, call: Call) -> str:
    return tell_call(call, REGISTRY.find(chain), ASSETS, table_of).sentence


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["id"]) for vector in VECTORS])
def test_the_transfers_in_a_call_of_polkadot_js_are_told(vector: dict[str, Any]) -> None:
    table = load_bundled(vector["chain"])
    assert table is not None
    call = table.decode_call(bytes.fromhex(vector["call_hex"][2:]))

    sentence = say(vector["chain"], call)

    told = [word for transfer in vector["transfers"] for word in transfer]
    assert sentence == says(*told, *vector["words"])


@pytest.mark.parametrize("chain", BUNDLED)
def test_no_call_of_a_runtime_is_told_without_its_transfers(chain: str) -> None:
    """Whatever holds a call, under whichever name, says the transfer in it, or that there is more
    inside."""
    table = load_bundled(chain)
    assert table is not None
    account: Any = bytes.fromhex(BOB_HEX[2:])
    dest: Any = account if chain == "hydraDx" else {"Id": account}
    pay = {
        "Balances": {
            "transfer_keep_alive": {"dest": dest, "value": 10 ** REGISTRY.find(chain).decimals}
        }
    }
    holders = [
        (pallet, method, field.name)
        for pallet in table.pallets
        for method in table.methods(pallet)
        for field in table.call_fields(pallet, method)
        if table.type_name(field.type_id) == "RuntimeCall"
    ]

    silent = []
    for pallet, method, name in holders:
        # The other arguments don't fit the words of this call.
        args = {field.name: None for field in table.call_fields(pallet, method)} | {name: pay}
        if f"transfers 1 {REGISTRY.find(chain).symbol}" not in say(
            chain, Call(pallet=pallet, method=method, args=args)
        ):
            silent.append(f"{pallet}.{method}")

    assert len(holders) >= 15
    assert silent == []


def test_a_call_that_is_only_named_says_that_its_arguments_are_not_shown() -> None:
    reap = Call(
        pallet="Staking", method="reap_stash", args={"stash": bytes(32), "num_slashing_spans": 0}
    )
    force = Call(pallet="Staking", method="force_no_eras", args={})

    assert [say("assetHub", reap), say("assetHub", force)] == [
        says("Staking.reap_stash", "Polkadot Asset Hub", "not understood", "not shown"),
        says("Staking.force_no_eras", "Polkadot Asset Hub", "not understood"),
    ]


def test_a_call_for_a_chain_without_a_runtime_is_said_to_be_unread() -> None:
    transact = {
        "Transact": {
            "origin_kind": "Native",
            "fallback_max_weight": None,
            "call": {"encoded": b"\0\0\0"},
        }
    }
    dest = {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}
    send = Call(
        pallet="PolkadotXcm",
        method="send",
        args={"dest": {"V5": dest}, "message": {"V5": [transact]}},
    )

    sentence = tell_call(send, REGISTRY.find("assetHub"), ASSETS, lambda _: None).sentence

    assert sentence == says(
        "to Hydration", "3 bytes", "not decoded", "the runtime of Hydration is not known"
    )


def test_an_address_that_is_no_account_is_told_too() -> None:
    sentences = [
        say(
            "polkadot",
            Call(
                pallet="Balances",
                method="transfer_keep_alive",
                args={"dest": dest, "value": 10**10},
            ),
        )
        for dest in (
            {"Raw": b"\1\2"},
            {"Address20": b"\x11" * 20},
            {"Address32": bytes.fromhex(BOB_HEX[2:])},
            {"Index": None},
        )
    ]

    assert sentences == [
        says("1 DOT", "0x0102", "Raw"),
        says("1 DOT", "0x" + "11" * 20, "Address20"),
        says("1 DOT", BOB),
        says("Balances.transfer_keep_alive", "not shown"),
    ]


def test_each_row_of_words_is_a_call_of_some_runtime() -> None:
    tables = [load_bundled(chain) for chain in BUNDLED]
    # Of older runtimes and of chains that are configured.
    elsewhere = {("Balances", "transfer")}

    unknown = [
        row for row in call_kinds() if not any(table and table.has_call(*row) for table in tables)
    ]

    assert set(unknown) == elsewhere


def test_no_call_has_two_rows_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"other": {"A|B.c": "does it"}, "money": {"B.c|d": "pays"}}
    (tmp_path / "calls.json").write_text(json.dumps(rows))
    monkeypatch.setattr(call_kinds_module, "__file__", str(tmp_path / "call_kinds.py"))

    with pytest.raises(ValueError, match="second row in money"):
        call_kinds.__wrapped__()


@pytest.mark.parametrize("chain", BUNDLED)
def test_the_words_of_a_row_fit_its_call(chain: str) -> None:
    table = load_bundled(chain)
    assert table is not None
    generator = Generator(table.types, Random(chain))
    home, misfits = REGISTRY.find(chain), []
    for row, kind in call_kinds().items():
        if kind.words and table.has_call(*row):
            calls = [call for _ in range(40) if (call := generator.call(table, *row))]
            named = f"what {'.'.join(row)} does is not known here"
            if all(named in tell_call(call, home, ASSETS, table_of).unknown for call in calls):
                misfits.append(row)

    assert misfits == []
