"""Looking around without a node: assets, a chain, the items of a runtime, and what an address
tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import CHAINS, Registry
from scenarioctl.config import load_settings
from scenarioctl.operations.assets import AssetDetails, ShowAsset, show_asset
from scenarioctl.runtime.table import BUNDLED
from scenarioctl.runtime.table_cache import save_cached
from scenarioctl.transactions.runtime_items import find_items
from tests.conftest import DATA, Run
from tests.messages import says
from tests.network import table_of
from tests.runner import finish
from tests.test_cli import ok


def answer(scenarioctl: Run, *line: str) -> Any:
    return json.loads(ok(scenarioctl("--offline", *line, "--json")))


# Assets


def test_an_asset_is_listed_with_all_that_is_known_of_it(scenarioctl: Run) -> None:
    rows = answer(scenarioctl, "asset", "list", "hydration")["assets"]

    assert [row for row in rows if row["id"] == "10"] == [
        {
            "chain": "hydraDx",
            "id": "10",
            "symbol": "USDT",
            "name": "Tether USD of Asset Hub",
            "decimals": 6,
            "kind": "tokens",
            "location": "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
            "reserve": "assetHub",
            "existential_deposit": "10000",
            "pays_fees": None,
            "canonical": True,
            "mark": None,
        }
    ]
    marks = {row["id"]: row["mark"] for row in rows if row["symbol"].lower() == "usdt"}
    assert marks["10"] is None
    assert marks["23"] == "not the canonical USDT 10"


def test_of_canonical_assets_no_two_share_a_symbol(scenarioctl: Run) -> None:
    rows = answer(scenarioctl, "asset", "list", "--canonical")["assets"]
    named = [(row["chain"], row["symbol"].lower()) for row in rows]

    assert len(set(named)) == len(named)
    assert all(row["symbol"] and row["mark"] is None for row in rows)


def test_the_deposit_of_a_chain_of_ones_own_is_that_of_its_runtime(
    scenarioctl: Run, tmp_path: Path
) -> None:
    genesis = "0x" + "45" * 32
    save_cached(table_of("kusama"), genesis, tmp_path / "runtimes" / "rig")
    config = tmp_path / "c.toml"
    config.write_text(
        f'cache = "{tmp_path}"\n[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\n'
        f'genesis = "{genesis}"\n[chains.bare]\nrole = "parachain"\nsymbol = "B"\ndecimals = 1\n'
    )

    deposits = {
        name: answer(scenarioctl, "asset", "list", name, "--config", str(config))["assets"][0][
            "existential_deposit"]
        for name in ("rig", "bare")
    }  # fmt: skip

    assert deposits == {
        "rig": str(table_of("kusama").constant("Balances", "ExistentialDeposit")),
        "bare": None,
    }


def test_a_symbol_is_listed_first_where_it_means_the_asset(scenarioctl: Run) -> None:
    rows = [line.split("\t") for line in ok(scenarioctl("asset", "show", "USDT")).splitlines()]

    assert rows[0][:4] == ["1984", "assetHub", "USDt", "6"]
    assert rows[0][10].startswith("10 hydraDx, ")
    # Look-alikes come last, each with what it is not.
    are_marked = [row[9] != "-" for row in rows]
    assert are_marked == sorted(are_marked)
    assert "not the canonical USDt 1984" in [row[9] for row in rows]


def test_where_an_asset_can_be_sent_is_where_transfers_of_it_are_built() -> None:
    built = json.loads((DATA / "vectors" / "transfers.json").read_text())
    app = Application(load_settings({"offline": True}, {}))
    said: dict[str, set[str]] = {}
    for chain in CHAINS:
        for asset in app.assets.all(chain):
            (shown,) = details(app, chain.name, asset.id)
            for other in shown["sends_to"]:
                said.setdefault(f"{chain.name}>{other}", set()).add(asset.id)
    between = {
        ends: {
            id
            for id in ids
            if app.assets.counterpart(
                app.assets.find(app.registry.find(ends.partition(">")[0]), id),
                app.registry.find(ends.partition(">")[2]),
            )
        }
        for ends, ids in built.items()
        if ends.partition(">")[0] != ends.partition(">")[2]
    }

    # Over the bridge, only what goes home is built without asking the other side.
    for ends, home in (
        ("assetHub>assetHub_kusama", "2/GlobalConsensus(Kusama)"),
        ("assetHub_kusama>assetHub", "2/GlobalConsensus(Polkadot)"),
    ):
        assert between.pop(ends) == {home}
        assert len(said.pop(ends)) == 28
    # Its fee is paid with another asset beside it, which only a connected draft can add.
    for here, there, wud in (("hydraDx", "assetHub", "1000085"), ("assetHub", "hydraDx", "31337")):
        going, built_going = said.pop(f"{here}>{there}"), between.pop(f"{here}>{there}")
        source, destination = app.registry.find(here), app.registry.find(there)
        arriving = {
            id: app.assets.counterpart(app.assets.find(source, id), destination) for id in going
        }
        assert wud in going
        assert going - built_going == {
            id for id, each in arriving.items() if each and each.pays_fees is False
        }
        assert built_going <= going
    assert said == {ends: ids for ends, ids in between.items() if ids}


def details(app: Application, chain: str, id: str) -> list[AssetDetails]:
    return [
        row
        for row in finish(show_asset(app, ShowAsset(chain=chain, asset=id))).answer["assets"]
        if row["id"] == id
    ]


# A chain


def test_a_cached_table_is_shown_with_its_date_and_no_key_of_an_endpoint(
    scenarioctl: Run, tmp_path: Path
) -> None:
    genesis = "0x" + "45" * 32
    save_cached(table_of("kusama"), genesis, tmp_path / "runtimes" / "rig")
    config = tmp_path / "c.toml"
    config.write_text(
        f'cache = "{tmp_path}"\n[chains.rig]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\n'
        f'genesis = "{genesis}"\nendpoints = '
        '["wss://me:secret@rpc.example.org:99/key/secret?token=secret"]\n'
    )

    text = ok(scenarioctl("chain", "show", "rig", "--json", "--config", str(config)))

    shown = json.loads(text)
    assert shown["endpoints"] == ["wss://rpc.example.org:99"]
    assert "secret" not in text
    assert shown["runtime"]["source"] == "cached"
    assert shown["runtime"]["fetched"].startswith("20")
    assert (shown["routes_out"], shown["routes_in"]) == ([], [])


# Items of a runtime


def test_pallets_are_listed_with_what_they_have(scenarioctl: Run) -> None:
    shown = answer(scenarioctl, "chain", "pallets", "polkadot")
    table = table_of("polkadot")

    assert [row["name"] for row in shown["pallets"]] == list(table.pallets)
    assert [row["name"] for row in shown["apis"]] == list(table.apis)
    (balances,) = [row for row in shown["pallets"] if row["name"] == "Balances"]
    assert (balances["index"], balances["calls"][0], balances["constants"][0]) == (
        5,
        "transfer_allow_death",
        "ExistentialDeposit",
    )
    assert (shown["items"], shown["types"]) == ([], [])
    lines = ok(scenarioctl("--offline", "chain", "pallets", "polkadot")).splitlines()
    assert lines[0] == "System\t0\t11\t19\t6"


@pytest.mark.parametrize("name", BUNDLED)
def test_every_item_of_a_runtime_can_be_described(name: str) -> None:
    table = table_of(name)
    chain = Registry().find(name)
    for pallet in (*table.pallets, *table.apis):
        pallets, apis, items = find_items(table, chain, pallet, "")
        names = {
            *(each for found in pallets for each in table.methods(found)),
            *(each for found in pallets for each in table.storage_entries(found)),
            *(each for found in pallets for each in table.constants(found)),
            *(each for found in apis for each in table.api_methods(found)),
        }

        rows = [row for row, _ in items]
        assert {row["name"] for row in rows} == names
        assert all(row["type"] or row["kind"] == "call" for row in rows)
        assert all(each["type"] and each["expected"] for row in rows for each in row["parameters"])


# Addresses

TREASURY = b"modlpy/trsry".ljust(32, b"\0")


EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
EVM_BYTES = bytes.fromhex(EVM[2:])


@pytest.mark.parametrize(
    ("account", "kind", "id", "keyless", "keys", "said"),
    [
        (TREASURY, "pallet", "py/trsry", True, [], ("py/trsry",)),
        (b"para" + (2034).to_bytes(4, "little") + bytes(24), "parachain", "2034", True, [],
         ("2034", "its relay chain (Hydration)")),
        (b"sibl" + (9999).to_bytes(4, "little") + bytes(24), "parachain", "9999", True, [],
         ("9999", "other parachains")),
        (b"Parent".ljust(32, b"\0"), "relay", None, True, [], ("relay",)),
        (bytes(32), "constant", None, True, [], ("00",)),
        (EVM_BYTES + bytes(12), "padded", EVM.lower(), True, [], ("padded",)),
        (bytes(12) + EVM_BYTES, "padded", EVM.lower(), True, [], ("padded",)),
        (EVM_BYTES + b"\xee" * 12, "ethereum", EVM.lower(), False, ["ecdsa"], ("Asset Hub",)),
        (b"ETH\0" + EVM_BYTES + bytes(8), "ethereum", EVM.lower(), False, ["ecdsa"],
         ("Hydration",)),
        (b"yourWalletAddressToBeEnteredHere", "placeholder", None, True, [], ("yourWallet",)),
        # No point of either curve, like three of four multisigs.
        (b"\x02" * 31 + b"\x7f", "account", None, False, ["ecdsa"], ("multisig", "derived")),
    ],
)  # fmt: skip
def test_the_bytes_of_some_accounts_tell_what_they_are(
    scenarioctl: Run,
    account: bytes,
    kind: str,
    id: str | None,
    keyless: bool,
    keys: list[str],
    said: tuple[str, ...],
) -> None:
    shown = answer(scenarioctl, "address", format_account(account, 0))

    assert (shown["kind"], shown["id"], shown["keyless"], shown["possible_keys"]) == (
        kind,
        id,
        keyless,
        keys,
    )
    assert shown["description"] == says(*said)


# Over HTTP
