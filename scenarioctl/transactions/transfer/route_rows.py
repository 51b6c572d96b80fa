"""The table of routes: which asset may go from which chain to which other one, and in which form;
and assets that it doesn't list.

`routes.json` has the routes between the chains that are built in, one line per source chain, so
that a reader parses only the line it needs.  Each row is [destination, asset, way, opens, proof,
sources, date]:

    asset    its location as the source sees it
    way      the transfer type of each hop, with the chains between: `Teleport, assetHub,
    LocalReserve` opens    `always`, or `check`: only by a dry run of every hop; over a bridge also
    `state`: only if the states of the Asset Hubs have the asset proof    the strongest that there
    is: see PROOFS sources  who says that both chains hold the asset at this location: see the line
    "sources" of the file date     when the row's sources were read

`tools/curate_routes.py` writes it.  Chains of config.toml have rows by their kind, in ROWS_BY_KIND:
their names are not known here, but their roles say which runtimes they have.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import absolute, read_location, seen_from, write_location
from scenarioctl.chains.trust import matches
from scenarioctl.files import read_line

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain


FILE = Path(__file__).with_name("routes.json")
#: What shows that transfers on a route arrive.
PROOFS = {
    "arrival": "Tokens arrived on real runtimes (`tests/live`).",
    "alike": (
        "Tokens of an asset with the same reserve arrived on the same two runtimes (`tests/live`)."
    ),
    "dry run": "A dry run of every hop on real runtimes ended in the receiver's credit.",
    "bytes": "The call has the bytes that an independent encoder makes (`tests/data/vectors`).",
    "none": "Nothing yet: only the trust facts of both runtimes.",
}


@dataclass(frozen=True, kw_only=True)
class AssetRoute:
    """One route of one asset."""

    #: Literals of chains in `routes.json`, kinds (`TrustFacts.kind`) in ROWS_BY_KIND.
    source: str
    destination: str
    #: In `routes.json` as the source sees it, in ROWS_BY_KIND as the Asset Hub does; there a `*` at
    #: the end stands for anything.
    asset: str
    way: str
    opens: str = "always"
    proof: str
    sources: tuple[str, ...] = ()
    #: When the sources were read; "" for a row by kind.
    read: str = ""

    @property
    def name(self) -> str:
        return f"{self.source}>{self.destination} {self.asset}"


_RELAY_ASSET = "1/Here"
_ASSET_HUB_ASSETS = "0/PalletInstance(50)/GeneralIndex(*"
_BRIDGED = "2/GlobalConsensus(*"

#: The routes between chains of config.toml, and between one of them and one that is built in.
ROWS_BY_KIND = tuple(
    AssetRoute(source=source, destination=destination, asset=asset, way=way, proof="arrival")
    for source, destination, asset, way in (
        ("relay", "asset_hub", _RELAY_ASSET, "Teleport"),
        ("asset_hub", "relay", _RELAY_ASSET, "Teleport"),
        ("asset_hub", "hydration", _RELAY_ASSET, "LocalReserve"),
        ("asset_hub", "hydration", _ASSET_HUB_ASSETS, "LocalReserve"),
        ("hydration", "asset_hub", _RELAY_ASSET, "DestinationReserve"),
        ("hydration", "asset_hub", _ASSET_HUB_ASSETS, "DestinationReserve"),
        ("asset_hub", "hydration", _BRIDGED, "LocalReserve"),
        ("hydration", "asset_hub", _BRIDGED, "DestinationReserve"),
        ("relay", "hydration", _RELAY_ASSET, "Teleport, asset_hub, LocalReserve"),
        ("hydration", "relay", _RELAY_ASSET, "DestinationReserve, asset_hub, Teleport"),
        ("relay", "system", _RELAY_ASSET, "Teleport"),
        ("system", "relay", _RELAY_ASSET, "Teleport"),
        ("asset_hub", "system", _RELAY_ASSET, "Teleport"),
        ("system", "asset_hub", _RELAY_ASSET, "Teleport"),
        ("system", "system", _RELAY_ASSET, "Teleport"),
    )
)


def find_row(source: str, destination: str, asset: str) -> AssetRoute | None:
    """Return the row between two built-in chains for the *asset* at this location on the source;
    None if there is none."""
    return routes_from(source).get((destination, asset))


def find_row_by_kind(source: str, destination: str, asset: str) -> AssetRoute | None:
    """Return the row between chains of two kinds for the *asset* at this location on the Asset
    Hub."""
    for row in ROWS_BY_KIND:
        if (row.source, row.destination) == (source, destination) and matches(row.asset, asset):
            return row
    return None


@cache
def routes_from(source: str) -> Mapping[tuple[str, str], AssetRoute]:
    """Return the rows of one source chain by destination and asset, parsing its line only."""
    return {
        (destination, asset): AssetRoute(
            source=source,
            destination=destination,
            asset=asset,
            way=way,
            opens=opens,
            proof=proof,
            sources=tuple(sources.split()),
            read=read,
        )
        for destination, asset, way, opens, proof, sources, read in read_line(FILE, source) or ()
    }


def sources() -> Mapping[str, str]:
    """Return the full name of each source that rows name."""
    named: Mapping[str, str] = read_line(FILE, "sources")
    return named


#: The kind of an asset of which only the location is known.  Its balances can't be read: a dry run
#: alone moves it.
UNLISTED = "unlisted"


def find_sent_asset(assets: "Assets", chain: "Chain", asset_id: object, *, field: str) -> Asset:
    """Return the asset of *chain* that *asset_id* names, as `Assets.find` does; on a parachain, any
    location names one.

    Only a check opens transfers of an asset that is not listed.
    """
    text = asset_id.strip() if isinstance(asset_id, str) else ""
    if (
        chain.role != "parachain"
        or chain.para_id is None
        or "/" not in text
        or text[0] not in "012"
    ):
        return assets.find(chain, asset_id, field=field)
    identity = absolute(write_location(read_location(text, field=field)), chain.para_id)
    listed = (
        absolute(asset.location, chain.para_id) for asset in assets.all(chain) if asset.location
    )
    if identity in listed:
        return assets.find(chain, asset_id, field=field)
    location = seen_from(identity, chain.para_id)
    return Asset(
        chain=chain.name,
        id=location,
        symbol="",
        decimals=None,
        kind=UNLISTED,
        location=location,
        reserve=assets.reserve_of(chain, location),
    )
