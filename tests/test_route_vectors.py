"""Transfers that two independent SDKs build: each is byte-equal here, equal in meaning, or refused
for a reviewed reason.

Calls from chains whose runtimes come from npm are in tests/data/vectors/routes.json, with their
sources; the others are beside the checkout, as is the metadata to read them with, and are skipped
without it.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from scenarioctl.chains.locations import junctions_of, write_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import build_candidate, make_plan
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.routes import candidate_routes, check_route
from scenarioctl.transactions.transfer.ways import find_sent_asset
from tests.conftest import DATA, SHARED
from tests.runtimes import ASSETS, REGISTRY

COMMITTED = json.loads((DATA / "vectors" / "routes.json").read_text())
BESIDE = SHARED / "vectors" / "routes.json"
DOCUMENT = json.loads(BESIDE.read_text()) if BESIDE.exists() else COMMITTED
#: Every vector whose transfer is refused, and words of the reason.  What is not in it has to be
#: built.
REFUSED: dict[str, str] = json.loads((DATA / "vectors" / "refused_routes.json").read_text())
#: What an SDK builds and no safe builder may.
FORBIDDEN = ("wrong_reserve", "dead_reserve", "filtered")
#: Vectors of the same meaning whose calls have another form.
EQUAL_IN_MEANING = {
    # transfer_assets, in which the runtime chooses the reserve: here the reserve is named.
    "assethub-assethub_kusama-ksm",
    # transfer_assets_using_type_and_then with Teleport: here limited_teleport_assets.
    "ps:RelayToPara > should create transfer tx - DOT from Polkadot to BridgeHubPolkadot 1",
    "ps:RelayToPara > should create transfer tx - DOT from Polkadot to CoretimePolkadot 1",
    "ps:RelayToPara > should create transfer tx - KSM from Kusama to BridgeHubKusama 1",
    "ps:RelayToPara > should create transfer tx - KSM from Kusama to CoretimeKusama 1",
    "ps:RelayToPara > should create transfer tx - KSM from Kusama to PeopleKusama 1",
    # limited_teleport_assets: here transfer_assets_using_type_and_then with Teleport.
    "assethub-mythos-myth",
    # limited_reserve_transfer_assets, in which the runtime chooses the reserve.
    "assethub-hydration-wud",
    "hydration-assethub-wud",
    "hydration-astar-astr",
    "hydration-bifrost-vastr",
    "hydration-bifrost-vdot",
    "hydration-energywebx-ewt",
    "hydration-neuroweb-neuro",
    "hydration-pendulum-pen",
    "hydration-unique-unq",
    "bifrost-hydration-vdot",
    "unique-hydration-unq",
    # The same, over the reserve between two parachains.
    "astar-hydration-bnc",
    "astar-hydration-usdc",
    "astar-hydration-usdt",
    "astar-hydration-vastr",
    "bifrost-hydration-astr",
    "hydration-astar-bnc",
    "hydration-astar-vdot",
    "hydration-bifrost-astr",
    "hydration-bifrost-usdt",
    # transfer_assets_using_type_and_then with Teleport, as above.
    (
        "ps:Transfer scenarios for origin AssetHubKusama > ParaToPara > should create transfer "
        "tx from AssetHubKusama to Encointer - (KSM) 1"
    ),
    (
        "ps:Transfer scenarios for origin BifrostPolkadot > ParaToPara > should create "
        "transfer tx from BifrostPolkadot to AssetHubPolkadot - (BNC) 1"
    ),
}
#: In each refusal of a transfer that a check may open: one of the calls that it tries has the form
#: of the vector.
BY_CHECK = "a check for its sender, by a dry run of every hop, may prove it"
_FORMS = {
    "Teleport": "teleport",
    "LocalReserve": "local_reserve",
    "DestinationReserve": "destination_reserve",
}


def table_of(vector: Mapping[str, Any]) -> RuntimeTable:
    """Return the runtime of the vector's source, bundled or beside the checkout."""
    bundled = load_bundled(vector["source"])
    if bundled is not None:
        return bundled
    runtime = DOCUMENT["metadata"].get(vector["source"], "")
    found = beside().get(runtime)
    if found is None:
        pytest.skip(f"needs the metadata of {runtime or vector['source']} beside the checkout")
    return read(found)


@cache
def beside() -> dict[str, str]:
    """Return the files of metadata beside the checkout by runtime."""
    folder = SHARED / "data" / "metadata"
    wanted = set(DOCUMENT["metadata"].values())
    files = {}
    for path in sorted(folder.glob("*.scale")) if folder.exists() else ():
        if any(path.name.split(".")[0].endswith(f"-{runtime.split()[1]}") for runtime in wanted):
            table = read(str(path))
            files[f"{table.spec_name} {table.spec_version}"] = str(path)
    return files


@cache
def read(path: str) -> RuntimeTable:
    from pathlib import Path

    return read_metadata(Path(path).read_bytes())


def transfer_of(vector: Mapping[str, Any]) -> Transfer:
    """Return the vector's inputs as a transfer; InvalidRequest if a chain or the asset is not
    listed."""
    source, destination = REGISTRY.find(vector["source"]), REGISTRY.find(vector["destination"])
    asset = find_sent_asset(ASSETS, source, vector["asset_location"], field="assetid")
    # Over a bridge the chains tell what pays, and no transfer names it.
    named = "fee_asset_amount" in vector and source.relay == destination.relay
    pays = ASSETS.at(source, vector["fee_asset_location"]) if named else None
    return Transfer(
        accept_loss=True,
        source=source,
        destination=destination,
        asset=asset,
        amount=int(vector["amount"]),
        beneficiary=bytes.fromhex(vector["beneficiary"][2:]),
        xcm_version=vector["xcm_version"] if source != destination else None,
        remote_fee_asset=pays,
        allow_death="allow_death" in vector["method"],
    )


def meaning(call: Call, form: str) -> dict[str, Any]:
    """Return what a call does, whichever method: asset, amount, next chain, receiver, form, fee
    asset and how much of it goes along.

    *form* is that of calls in which the runtime chooses it.
    """
    arguments = call.args
    sent = {
        write_location(each["id"].get("Concrete", each["id"])): each["fun"]["Fungible"]
        for each in _inner(arguments["assets"])
    }
    places = list(sent)
    if call.method == "transfer_assets_using_type_and_then":
        form = _form_of(arguments["assets_transfer_type"])
        assert arguments["fees_transfer_type"] == arguments["assets_transfer_type"]
        fees = _inner(arguments["remote_fees_id"])
        fee = write_location(fees.get("Concrete", fees))
        (deposit,) = _inner(arguments["custom_xcm_on_dest"])
        receiver = deposit["DepositAsset"]["beneficiary"]
    else:
        form = "teleport" if call.method == "limited_teleport_assets" else form
        fee, receiver = places[arguments["fee_asset_item"]], _inner(arguments["beneficiary"])
    assert arguments["weight_limit"] == "Unlimited"
    (account,) = junctions_of(receiver)
    place = next((each for each in places if each != fee), fee)
    assert set(sent) == {place, fee}
    return {
        "asset": place,
        "amount": sent[place],
        "to": write_location(_inner(arguments["dest"])),
        "receiver": account,
        "form": form,
        "fee asset": fee,
        "fee amount": sent[fee],
    }


def _form_of(transfer_type: Any) -> str:
    if isinstance(transfer_type, str):
        return _FORMS[transfer_type]
    return f"remote_reserve({write_location(_inner(transfer_type['RemoteReserve']))})"


def _inner(versioned: Mapping[str, Any]) -> Any:
    return next(iter(versioned.values()))


@pytest.mark.parametrize("vector", DOCUMENT["routes"], ids=lambda vector: vector["key"])
def test_a_transfer_is_as_an_sdk_builds_it_or_refused_for_a_reviewed_reason(
    vector: dict[str, Any],
) -> None:
    if vector["key"] in REFUSED:
        with pytest.raises(InvalidRequest) as refused:
            wanted = transfer_of(vector)
            check_route(wanted, ASSETS)
            # What pays no fees on arrival is refused once nothing else pays.
            build_transfer(replace(wanted, remote_fee_asset=None), table_of(vector), assets=ASSETS)

        assert REFUSED[vector["key"]] in str(refused.value)
        if BY_CHECK in str(refused.value):
            compare_tried(vector)
        return
    assert not any(vector.get(mark) for mark in FORBIDDEN)
    wanted = transfer_of(vector)
    check_route(wanted, ASSETS)
    table = table_of(vector)

    pays = wanted.remote_fee_asset
    beside = None if pays is None else (pays, int(vector["fee_asset_amount"]))
    compare(build_transfer(wanted, table, assets=ASSETS, beside=beside).call, vector, table)


def compare_tried(vector: Mapping[str, Any]) -> None:
    """Hold the calls that a check tries against the vector's: one of them is the same; none if the
    vector is forbidden."""
    table = table_of(vector)
    wanted = transfer_of(vector)
    plans = [make_plan(wanted, route, table) for route in candidate_routes(wanted, ASSETS)]
    tried = [build_candidate(replace(plan, last_hop_fee=wanted.amount // 2)) for plan in plans]
    assert tried
    if any(vector.get(mark) for mark in FORBIDDEN):
        encoded = ["0x" + table.encode_call(call).hex() for call in tried]
        assert vector["call"] not in encoded
        assert {call.args["assets_transfer_type"] for call in tried} == {"Teleport"}
        assert [
            name
            for call in tried
            for (item,) in call.args["custom_xcm_on_dest"].values()
            for name in item
        ] == ["DepositReserveAsset"]
        return
    forms = [_FORMS.get(str(call.args.get("assets_transfer_type"))) for call in tried]
    alike = tried if len(tried) == 1 else [tried[forms.index(vector["transfer_type"])]]
    compare(alike[0], vector, table)


def compare(call: Call, vector: Mapping[str, Any], table: RuntimeTable) -> None:
    """Hold a call against the vector's: the same bytes, or the same meaning if the vector is listed
    for that."""
    if "0x" + table.encode_call(call).hex() == vector["call"]:
        assert vector["key"] not in EQUAL_IN_MEANING
        return
    assert vector["key"] in EQUAL_IN_MEANING
    theirs = table.decode_call(bytes.fromhex(vector["call"][2:]))
    assert meaning(call, "") == meaning(theirs, vector["transfer_type"])
    assert meaning(call, "")["form"] == vector["transfer_type"]


def test_what_is_beside_the_checkout_has_the_vectors_that_are_committed() -> None:
    if DOCUMENT is COMMITTED:
        pytest.skip("needs the vectors beside the checkout")
    by_key = {vector["key"]: vector for vector in DOCUMENT["routes"]}

    assert set(REFUSED) | EQUAL_IN_MEANING <= set(by_key)
    for vector in COMMITTED["routes"]:
        assert {name: by_key[vector["key"]][name] for name in vector} == vector
