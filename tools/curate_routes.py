"""Make scenarioctl/transactions/transfer/routes.json: the routes between the chains that are built
in.

    .venv/bin/python -m tools.curate_routes           # write the file
    .venv/bin/python -m tools.curate_routes --check   # compare; exit 1 if it differs

A row stands for one asset that both chains hold, and a way for it that the trust facts of both
runtimes allow (`chains/trust.py`).  Each of the packages in REGISTRIES counts as a source of the
row if it lists the asset at the same location on both chains.  A row without any is left out.  `npm
pack` downloads the packages into a temporary folder. None of their code is run or kept.

PROOF says how far each kind of route is proven.  A row opens `always` if its transfers were seen to
arrive, or those of an asset with the same reserve, or if they have the bytes of an independent
encoder; and if two registries agree.  For the relay chain's asset one is enough, since its location
can't be mistaken.  All others open by `check`, and between two Asset Hubs by `state`: those name an
asset from beyond by its place there.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scenarioctl.chains.assets import Asset, Assets
from scenarioctl.chains.locations import seen_from
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.chains.trust import TRUST, is_beyond_bridge, matches
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import FILE, identity_of, resolve
from tools import data_file
from tools.curate_assets import (
    CHAINS,
    NATIVE_ONLY,
    PARASPELL,
    PARITY,
    object_literal,
    own_para_id,
    read_native,
    read_paraspell,
    write_location,
)
from tools.npm_packages import unpack
from tools.snowbridge_assets import SNOWBRIDGE, read_snowbridge

#: When the packages and the trust facts were read last.
READ = "2026-11-23"
REGISTRIES = {
    "paraspell": f"npm {PARASPELL}",
    "parity": f"npm {PARITY}",
    "snowbridge": f"npm {SNOWBRIDGE}",
}
#: How far routes are proven, by the kinds of source and destination, and the location of the asset
#: as the Asset Hub sees it.  The first row that fits counts; a `*` at the end stands for anything.
PROOF = (
    ("relay", "asset_hub", "1/Here", "arrival"),
    ("asset_hub", "relay", "1/Here", "arrival"),
    ("relay", "hydration", "1/Here", "arrival"),
    ("hydration", "relay", "1/Here", "arrival"),
    ("relay", "system", "1/Here", "arrival"),
    ("system", "relay", "1/Here", "arrival"),
    ("asset_hub", "system", "1/Here", "arrival"),
    ("system", "asset_hub", "1/Here", "arrival"),
    ("system", "system", "1/Here", "arrival"),
    ("asset_hub", "hydration", "1/Here", "arrival"),
    ("hydration", "asset_hub", "1/Here", "arrival"),
    ("asset_hub", "hydration", "0/PalletInstance(50)/GeneralIndex(1984)", "arrival"),
    ("hydration", "asset_hub", "0/PalletInstance(50)/GeneralIndex(1984)", "arrival"),
    ("asset_hub", "hydration", "0/PalletInstance(50)/GeneralIndex(*", "alike"),
    ("hydration", "asset_hub", "0/PalletInstance(50)/GeneralIndex(*", "alike"),
    # Over the bridge.  Each half ran on asset-hub-kusama 2000002; no runtimes here join both sides.
    ("asset_hub", "asset_hub", "*", "bytes"),
    ("asset_hub", "hydration", "2/GlobalConsensus(Ethereum:1)", "arrival"),
    ("hydration", "asset_hub", "2/GlobalConsensus(Ethereum:1)", "arrival"),
    ("asset_hub", "hydration", "2/GlobalConsensus(*", "alike"),
    ("hydration", "asset_hub", "2/GlobalConsensus(*", "alike"),
)
#: Chains whose runtimes nobody ran here, though they have a kind that was proven with others.
NOT_RUN = ("encointer",)
Row = tuple[str, str, str, str, str, str, str]
#: Package -> chain -> locations that it lists there.
Listings = Mapping[str, Mapping[str, set[str]]]


def main() -> int:
    return data_file.run(FILE, curate, sources="npm packages")


def curate() -> str:
    """Return the whole text of routes.json."""
    with tempfile.TemporaryDirectory() as folder:
        listings = read_listings(Path(folder))
    registry = Registry()
    assets = Assets(registry)
    lines = [f'"sources":{json.dumps(REGISTRIES)}']
    for source in registry.all():
        rows = list(routes_of(source, assets, listings)) if source.name in TRUST else []
        if rows:
            lines.append(f"{json.dumps(source.name)}:{json.dumps(rows, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def routes_of(source: Chain, assets: Assets, listings: Listings) -> Iterator[Row]:
    """Give the rows of *source*, in the order of destinations and assets."""
    for destination in assets.registry.all():
        if destination.name not in TRUST or destination == source:
            continue
        crosses = destination.relay != source.relay
        if crosses and not is_beyond_bridge(source, destination, assets.registry):
            continue
        for asset in assets.all(source):
            arriving = assets.counterpart(asset, destination)
            transfer = Transfer(
                source=source,
                destination=destination,
                asset=asset,
                amount=1,
                beneficiary=bytes(destination.account_format.length),
            )
            route = None if arriving is None else resolve(transfer, assets.registry)
            if arriving is None or route is None:
                continue
            ends = [(source.name, asset.location), (destination.name, arriving.location)]
            sources = [
                name
                for name, listed in listings.items()
                if all(place in listed.get(chain, ()) for chain, place in ends)
            ]
            if not sources:
                continue
            proof = proof_of(transfer)
            needed = 1 if not crosses and identity_of(transfer) == "" else 2
            always = proof in ("arrival", "alike", "bytes") and len(sources) >= needed
            opens = "always" if always else "check"
            if crosses and not always:
                # No check proves what crosses a bridge, so none can open it.
                opens = "state"
            yield (
                destination.name,
                asset.location,
                route.way,
                opens,
                proof,
                " ".join(sources),
                READ,
            )


def closed_because(asset: Asset, source: Chain, destination: Chain, registry: Registry) -> str:
    """Return why the trust facts allow *asset* no way; "" if they allow one, or don't say all that
    the two chains accept."""
    beneficiary = bytes(destination.account_format.length)
    transfer = Transfer(
        source=source, destination=destination, asset=asset, amount=1, beneficiary=beneficiary
    )
    if resolve(transfer, registry) is not None:
        return ""
    partial = any(TRUST[chain.name].partial for chain in (source, destination))
    return (
        ""
        if partial
        else f"{destination.title} accepts it neither as a teleport nor from its reserve"
    )


def proof_of(transfer: Transfer) -> str:
    """Return how far transfers like this one are proven to arrive."""
    if transfer.source.name in NOT_RUN or transfer.destination.name in NOT_RUN:
        return "none"
    ends = tuple(TRUST[chain.name].kind for chain in (transfer.source, transfer.destination))
    # An Asset Hub is the parachain 1000 of every network.
    location = seen_from(identity_of(transfer), 1000)
    for source, destination, asset, proof in PROOF:
        if (source, destination) == ends and matches(asset, location):
            return proof
    return "none"


def read_listings(
    folder: Path,
    *,
    paraspell_package: str = PARASPELL,
    parity_package: str = PARITY,
    snowbridge_package: str = SNOWBRIDGE,
) -> Listings:
    """Return the locations that each package lists on each chain, as the chain sees them."""
    module = unpack(paraspell_package, "package/dist/index.mjs", folder)
    parity = json.loads(unpack(parity_package, "package/docs/registry.json", folder))
    return {
        "paraspell": {
            chain: {row[5] for row in read_paraspell(chain, object_literal(module, name))}
            for chain, (name, _, _) in CHAINS.items()
        }
        | {
            chain: {read_native(object_literal(module, name), para_id)[5]}
            for chain, (name, para_id) in NATIVE_ONLY.items()
        },
        "parity": {
            chain: set(parity_locations(chain, parity[relay].get(para_id, {})))
            for chain, (_, relay, para_id) in CHAINS.items()
        }
        | {
            chain.name: {TRUST[chain.name].native}
            for chain in Registry().all()
            if chain.name in NATIVE_ONLY
            and chain.name in TRUST
            and parity[chain.relay].get(str(chain.para_id), {}).get("tokens", [""])[0]
            == chain.symbol
        },
        "snowbridge": read_snowbridge(folder, snowbridge_package),
    }


def parity_locations(chain: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Give the locations that PARITY lists on *chain*, the native asset's first."""
    native = TRUST.get(chain)
    if native is not None:
        yield native.native
    for number in record.get("assetsInfo", ()):
        if number.isdigit():
            yield f"0/PalletInstance(50)/GeneralIndex({number})"
    for foreign in record.get("foreignAssetsInfo", {}).values():
        yield write_location(json.loads(foreign["multiLocation"]), own_para_id(chain))
    for asset in record.get("xcAssetsData", ()):
        yield write_location(json.loads(asset["xcmV1MultiLocation"])["v1"], own_para_id(chain))


if __name__ == "__main__":
    sys.exit(main())
