"""The ways of an asset from chain to chain: the table of routes, and what the runtimes accept.

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

A way is no permission: the reserve gate (`routes.py`) decides which ways are taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import absolute, across, read_location, seen_from, write_location
from scenarioctl.chains.trust import (
    TRUST,
    ExecutionFees,
    accepts_reserve,
    accepts_teleport,
    foreign_reserve,
    is_judged_by_runtime,
    matches,
    refused_because,
    teleport_decided_by,
    trust_of,
)
from scenarioctl.files import read_line
from scenarioctl.transactions.transfer.request import (
    ENDS,
    Transfer,
    bridge_type,
    is_bridged,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry


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


#: How an asset goes from one chain to the next, by the names that XCM has for it.  With
#: LocalReserve the source is the reserve, and the asset moves into the destination's account there;
#: DestinationReserve is the reverse.
TransferType = Literal["Teleport", "LocalReserve", "DestinationReserve"]


@dataclass(frozen=True, kw_only=True)
class Route:
    """The way of one asset from its source to its destination."""

    #: From the source to the destination, or to *via*.
    first: TransferType
    #: The chain between, if there is one, and how the asset goes on from there.
    via: "Chain | None" = None
    onward: TransferType | None = None
    #: The row that allows it; None for a candidate.
    row: AssetRoute | None = None
    #: The row by kind whose fees were measured (`fees.json`); "" if there is none.
    fees_as: str = ""

    @property
    def way(self) -> str:
        """The way as rows write it."""
        return self.first if self.via is None else f"{self.first}, {self.via.name}, {self.onward}"

    @property
    def is_teleport(self) -> bool:
        """Whether a parachain's own asset is teleported from or to the Asset Hub."""
        return "Teleport" in (self.first, self.onward)

    @property
    def needs_last_hop_fee(self) -> bool:
        """Whether the fee of the last hop is set aside in the call, out of the amount.

        Where the asset only changes hands on its reserve, the runtime divides the fee itself.
        """
        divided = ("DestinationReserve", "LocalReserve")
        return self.via is not None and (self.first, self.onward) != divided


def pays_with_itself(transfer: Transfer) -> bool:
    """Tell whether the destination takes its fee in the asset that arrives, if it takes fees in
    that asset at all."""
    facts = trust_of(transfer.destination)
    if facts is None or facts.execution_fees is not ExecutionFees.POOLED:
        return False
    return location_on(transfer, transfer.destination) != facts.native


def identity_of(transfer: Transfer) -> str:
    """Return the location of the asset seen from the relay chain, `` for the relay chain's own
    asset."""
    return absolute(transfer.asset.location, transfer.source.para_id)


def location_on(transfer: Transfer, chain: "Chain") -> str:
    """Return the location of the asset as *chain* sees it, which may be beyond a bridge."""
    identity = across(identity_of(transfer), transfer.source.consensus, chain.consensus)
    return seen_from(identity, chain.para_id)


def came_over_bridge(transfer: Transfer) -> bool:
    """Tell whether the asset came to its network over a bridge."""
    return bool(transfer.asset.location) and identity_of(transfer).startswith("../")


def resolve(transfer: Transfer, registry: "Registry") -> Route | None:
    """Return the way that the facts allow, directly or over the asset's reserve."""
    source, destination = transfer.source, transfer.destination
    if transfer.asset.location and is_bridged(transfer):
        crossing = bridge_type(source, destination, identity_of(transfer), registry)
        return None if crossing is None else Route(first=crossing)
    reserve = reserve_of(transfer, registry)
    return None if reserve is None else _resolve_over(reserve, transfer, registry)


def _resolve_over(
    reserve: "Chain", transfer: Transfer, registry: "Registry", *, asking: bool = False
) -> Route | None:
    """Return the way over *reserve*, which backs the asset; with *asking*, one that runtimes may
    accept too."""
    source, destination = transfer.source, transfer.destination
    identity = identity_of(transfer)
    direct = _transfer_type(identity, reserve, source, destination, registry, asking=asking)
    if direct is not None:
        return Route(first=direct)
    if reserve in (source, destination):
        return None
    first = _transfer_type(identity, reserve, source, reserve, registry, asking=asking)
    onward = _transfer_type(identity, reserve, reserve, destination, registry, asking=asking)
    if first is None or onward is None:
        return None
    return Route(first=first, via=reserve, onward=onward)


def reserve_of(transfer: Transfer, registry: "Registry") -> "Chain | None":
    """Return the chain that backs the asset for the chains under its relay chain; None if that is
    not known."""
    if not transfer.asset.location:
        return None
    if transfer.asset.reserve:
        return registry.find(transfer.asset.reserve)
    # What came over a bridge is backed by what the Asset Hub holds beyond it.
    hub = registry.asset_hub(transfer.source)
    return hub if hub is not None and foreign_reserve(hub, identity_of(transfer)) else None


def _transfer_type(
    identity: str,
    reserve: "Chain",
    sender: "Chain",
    receiver: "Chain",
    registry: "Registry",
    *,
    asking: bool = False,
) -> TransferType | None:
    """Return how an asset goes from *sender* straight to *receiver*; None if it doesn't."""

    def accepts(chain: "Chain", keeper: "Chain") -> bool:
        return (asking and is_judged_by_runtime(chain)) or accepts_reserve(
            chain, identity, keeper, registry
        )

    def refuses(*, teleported: bool) -> bool:
        return refused_because(receiver, identity, sender, registry, teleported=teleported) != ""

    if accepts_teleport(receiver, identity, sender, registry) and not refuses(teleported=True):
        return "Teleport"
    if refuses(teleported=False):
        return None
    if reserve == sender and accepts(receiver, sender):
        return "LocalReserve"
    if reserve == receiver and accepts(sender, receiver):
        return "DestinationReserve"
    return None


def routes_asked_for(transfer: Transfer, hub: "Chain", registry: "Registry") -> tuple[Route, ...]:
    """Return the ways of which only runtimes know whether they accept them; none if the facts say
    all of it.

    They go over the chain that backs the asset, never over another one that a runtime accepts too.
    """
    source, destination = transfer.source, transfer.destination
    reserve = reserve_of(transfer, registry)
    if (
        reserve is None
        or is_bridged(transfer)
        # Not all that one accepts is said by the facts, and its runtime may not be asked.
        or not all(
            is_judged_by_runtime(chain) or (facts is not None and not facts.partial)
            for chain in (source, destination, reserve)
            for facts in [trust_of(chain)]
        )
    ):
        return ()
    identity = identity_of(transfer)
    if hub in (source, destination) and reserve != hub:
        stops = (
            (source, destination)
            if reserve in (source, destination)
            else (source, reserve, destination)
        )
        legs = [_forms_asked_for(identity, reserve, *ends, registry) for ends in pairwise(stops)]
        return tuple(
            Route(
                first=way[0], via=reserve if way[1:] else None, onward=way[-1] if way[1:] else None
            )
            for way in product(*legs)
        )
    route = _resolve_over(reserve, transfer, registry, asking=True)
    return () if route is None else (route,)


def _forms_asked_for(
    identity: str, reserve: "Chain", sender: "Chain", receiver: "Chain", registry: "Registry"
) -> tuple[TransferType, ...]:
    """Return the forms in which a parachain's own asset may go between it and another chain; the
    Asset Hub accepts only one of two."""
    if registry.asset_hub(sender) not in (sender, receiver):
        form = _transfer_type(identity, reserve, sender, receiver, registry, asking=True)
        return () if form is None else (form,)
    if refused_because(receiver, identity, sender, registry, teleported=False):
        return ()
    if is_judged_by_runtime(reserve):
        # Some burn and mint their own asset.
        return ("Teleport", "LocalReserve" if sender == reserve else "DestinationReserve")
    undecided = teleport_decided_by(receiver, identity, sender, registry)
    return () if undecided is None else ("Teleport",)


def facts_known(transfer: Transfer) -> bool:
    return all(trust_of(chain) is not None for chain in (transfer.source, transfer.destination))


def same_way(row: AssetRoute, route: Route) -> bool:
    """Tell whether the way that the facts allow is the one in the table."""
    if route.via is None:
        return row.way == route.first
    return row.way in (route.way, f"{route.first}, {kind_of_chain(route.via)}, {route.onward}")


def find_rows(transfer: Transfer, hub: "Chain") -> tuple[AssetRoute | None, AssetRoute | None]:
    """Return the row of the chains, if both are built in, and the one by their kinds; with a chain
    of config.toml, the latter twice."""
    source, destination, place = transfer.source, transfer.destination, transfer.asset.location
    at_hub = seen_from(identity_of(transfer), hub.para_id)
    by_kind = find_row_by_kind(kind_of_chain(source), kind_of_chain(destination), at_hub)
    if is_bridged(transfer) and source.role == "asset_hub":
        # An Asset Hub of config.toml in one of the networks has the rows of the one that is built
        # in.
        return find_row(ENDS[source.consensus], ENDS[destination.consensus], place), by_kind
    if source.name in TRUST and destination.name in TRUST:
        return find_row(source.name, destination.name, place), by_kind
    return by_kind, by_kind


def kind_of_chain(chain: "Chain") -> str:
    facts = trust_of(chain)
    return "" if facts is None else facts.kind
