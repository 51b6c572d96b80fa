"""Show how the facts that are bundled differ from what the registries say now.  By hand, and once a
month.

    .venv/bin/python -m tools.refresh_registry

Pulls the newest versions of the npm packages that the facts come from, changes no file, and prints
a table.  Exit code 1, and a sentence each, if somebody has to act: a chain that two registries list
no more, a runtime table that its package has in a newer version, an endpoint on a host known to be
dead, a route or an asset whose sources no longer say what is bundled, a route that the trust facts
want to go another way, or a way that they close and a package lists anew. Then change the version
in the tool that wrote the facts, and run that: `CONTRIBUTING.md`, "Add something".
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.chains.trust import TRUST
from scenarioctl.runtime.metadata import read_metadata, unwrap_metadata
from scenarioctl.transactions.transfer.ways import FILE
from tools import bundle_runtimes, curate_assets, curate_routes
from tools.chain_registries import POLKADOT_JS, SUBWALLET, read_polkadot_js, read_subwallet, reading
from tools.freshness import (
    AssetFacts,
    Difference,
    RouteSources,
    compare_assets,
    compare_chains,
    compare_closures,
    compare_routes,
    compare_versions,
)
from tools.npm_packages import newest
from tools.snowbridge_assets import SNOWBRIDGE


def main() -> int:
    differences = list(find_differences())
    print(show(differences))
    failures = [each.failure for each in differences if each.failure]
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def find_differences() -> Iterator[Difference]:
    """Give all differences; SystemExit names a package that can't be read."""
    packages = {name: newest(name) for name in (POLKADOT_JS, SUBWALLET)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        registries = {
            "polkadot.js": read_polkadot_js(packages[POLKADOT_JS], folder),
            "SubWallet": read_subwallet(packages[SUBWALLET], folder),
        }
        yield from compare_chains(Registry().all(), registries)
        yield from compare_versions(
            {source.literal: source.spec_version for source in bundle_runtimes.SOURCES},
            newest_versions(),
        )
        paraspell, parity, snowbridge = (
            newest(package)
            for package in (curate_assets.PARASPELL, curate_assets.PARITY, SNOWBRIDGE)
        )
        with reading(paraspell, f"assets as {curate_assets.PARASPELL} has them"):
            yield from compare_assets(
                read_assets(curate_assets.TARGET.read_text(encoding="utf-8")),
                read_assets(curate_assets.curate(paraspell, parity, snowbridge)),
            )
            listings = curate_routes.read_listings(
                folder,
                paraspell_package=paraspell,
                parity_package=parity,
                snowbridge_package=snowbridge,
            )
        yield from compare_routes(
            read_routes(FILE.read_text(encoding="utf-8")), routes_listed(listings)
        )
        # What the versions list that the facts were written beside was looked into then.
        yield from compare_closures(
            ways_closed(curate_routes.read_listings(folder)), ways_closed(listings)
        )


def newest_versions() -> dict[str, int]:
    """Return the spec version of each chain's metadata in the newest version of its package."""
    found = {}
    with bundle_runtimes.packages() as read:
        for source in bundle_runtimes.SOURCES:
            package = newest(source.package)
            version = package.rpartition("@")[2]
            with reading(package, f"metadata of {source.literal} in {source.file}"):
                table = read_metadata(unwrap_metadata(read(replace(source, version=version))))
            found[source.literal] = table.spec_version
    return found


def read_assets(text: str) -> AssetFacts:
    """Return symbol, decimals and location of each asset in the text of assets.json."""
    return {
        (chain, row[0]): (
            row[1],
            row[2] if len(row) > 2 else None,
            row[5] if len(row) > 5 else None,
        )
        for chain, rows in json.loads(text).items()
        if chain != "read"
        for row in rows
    }


def read_routes(text: str) -> RouteSources:
    """Return sources and hops of each row in the text of routes.json."""
    return {
        (source, row[0], row[1]): (frozenset(row[5].split()), row[2])
        for source, rows in json.loads(text).items()
        if source != "sources"
        for row in rows
    }


def routes_listed(listings: curate_routes.Listings) -> RouteSources:
    """Return the rows that `tools/curate_routes.py` would write from *listings*, with their sources
    and hops."""
    registry = Registry()
    assets = Assets(registry)
    return {
        (source.name, row[0], row[1]): (frozenset(row[5].split()), row[2])
        for source in registry.all()
        if source.name in TRUST
        for row in curate_routes.routes_of(source, assets, listings)
    }


def ways_closed(listings: curate_routes.Listings) -> RouteSources:
    """Return what *listings* have on two chains though the trust facts of both close the way, with
    the packages and the reason."""
    registry = Registry()
    assets = Assets(registry)
    chains = [chain for chain in registry.all() if chain.name in TRUST]
    found = {}
    for source, destination in permutations(chains, 2):
        for asset in assets.all(source) if source.relay == destination.relay else ():
            arriving = assets.counterpart(asset, destination)
            ends = [(each.chain, each.location) for each in (asset, arriving) if each is not None]
            packages = frozenset(
                name
                for name, listed in listings.items()
                if len(ends) == 2 and all(place in listed.get(chain, ()) for chain, place in ends)
            )
            reason = (
                curate_routes.closed_because(asset, source, destination, registry)
                if packages
                else ""
            )
            if reason:
                found[source.name, destination.name, asset.location] = (packages, reason)
    return found


def show(differences: Iterable[Difference]) -> str:
    """Return the table that people read."""
    rows = [
        (each.kind, each.change or "-", each.of, each.bundled or "-", each.listed or "-")
        for each in differences
    ]
    if not rows:
        return "All facts are as the registries have them."
    rows.insert(0, ("fact", "change", "of", "bundled", "registries"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
