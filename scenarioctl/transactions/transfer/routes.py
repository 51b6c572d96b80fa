"""The reserve gate: which way a transfer takes from chain to chain, and whether it may.

A transfer over the wrong reserve is accepted by the runtimes, and the tokens or their backing are gone.  So a transfer is
built only if all of these hold (`find_route`):

1. The trust facts of both runtimes (`chains/trust.py`) allow a way from the source to the destination, directly or over
   the asset's reserve (`resolve`).
2. The table of routes (`route_rows.py`) has a row for this source, destination and asset, and it names the same way.
3. The destination is known to hold the asset.
4. The row opens `always`, not only by a check.
5. What goes along to pay on the destination has such a route of its own, and goes the same way (`_check_remote_fee`).

To add a route, add its facts and its proof to `tools/curate_routes.py`, and run it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from scenarioctl.chains.locations import absolute, across, seen_from
from scenarioctl.chains.trust import (
    HYDRATION_PARA_ID,
    HYDRATION_SPEC_NAME,
    TRUST,
    ExecutionFees,
    accepts_reserve,
    accepts_teleport,
    foreign_reserve,
    is_beyond_bridge,
    teleport_decided_by,
    trust_of,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.bridges import (
    ENDS,
    bridge_type,
    check_bridge,
    is_bridged,
    send_first,
)
from scenarioctl.transactions.transfer.ethereum_receivers import check_ethereum_receiver
from scenarioctl.transactions.transfer.request import Transfer, check_request, only_connected, refusal
from scenarioctl.transactions.transfer.route_rows import RouteRow, find_row, find_row_by_kind

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain, Registry


#: How an asset goes from one chain to the next, by the names that XCM has for it.  With LocalReserve the source is the
#: reserve, and the asset moves into the destination's account there; DestinationReserve is the reverse.
TransferType = Literal["Teleport", "LocalReserve", "DestinationReserve"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Forms in which a native asset might go between its own chain and another one, none known to arrive."""

    source: str
    destination: str
    types: tuple[TransferType, ...]


@dataclass(frozen=True, kw_only=True)
class Route:
    """The way of one asset from its source to its destination."""

    #: From the source to the destination, or to *via*.
    first: TransferType
    #: The chain between, if there is one, and how the asset goes on from there.
    via: "Chain | None" = None
    onward: TransferType | None = None
    #: The row that allows it; None for a candidate.
    row: RouteRow | None = None
    #: The row by kind whose fees were measured (`fees.json`); "" if there is none.
    fees_as: str = ""

    @property
    def way(self) -> str:
        """The way as rows write it."""
        return self.first if self.via is None else f"{self.first}, {self.via.name}, {self.onward}"

    @property
    def needs_last_hop_fee(self) -> bool:
        """Whether the fee of the last hop is set aside in the call, out of the amount.

        Where the asset only changes hands on its reserve, the runtime divides the fee itself.
        """
        if self.via is None or self.goes_home_over_hub:
            return False
        return (self.first, self.onward) != ("DestinationReserve", "LocalReserve")

    @property
    def goes_home_over_hub(self) -> bool:
        """Whether the Asset Hub on the way only stands for the reserve, which is Ethereum: its fee goes along in DOT."""
        return self.via is not None and self.onward == "DestinationReserve"


#: The roles of chains whose runtimes are asked what they accept, where no trust facts are written.
_JUDGED_ROLES = ("parachain", "dex")
#: What a refusal adds where a check may open the route.
_BY_CHECK = "; with --check and --sender, a dry run of every hop may prove it"
#: Ways that a check may open: a dry run of every hop that ends in the beneficiary's credit.
CANDIDATES = (
    Candidate(source="hydration", destination="asset_hub", types=("Teleport", "LocalReserve")),
    Candidate(source="asset_hub", destination="hydration", types=("Teleport", "DestinationReserve")),
)


def check_route(transfer: Transfer, assets: "Assets") -> None:
    """Refuse a transfer that no runtime could make safely, before a runtime is asked for."""
    check_request(transfer)
    if not transfer.is_local:
        find_route(transfer, assets, fee_settled=True)
    if transfer.destination.is_ethereum:
        check_ethereum_receiver(transfer, assets)


def find_route(transfer: Transfer, assets: "Assets", *, fee_settled: bool) -> Route:
    """Return the way of *transfer* between two chains; InvalidRequest says why there is none.

    With *fee_settled* it is known what pays the fee on the destination.
    """
    registry = assets.registry
    hub = check_chains(transfer, registry)
    route = resolve(transfer, registry)
    if route is None:
        asks = transfer.remote_fee_asset is None and teleport_to_ask(transfer, registry) is not None
        raise refusal(transfer, _explain(transfer, registry), advice=_BY_CHECK if asks else "")
    _check_remote_fee(transfer, route, assets)
    by_kind = _find_row_by_kind(transfer, hub)
    route = replace(route, row=_find_row(transfer, by_kind), fees_as="" if by_kind is None else by_kind.name)
    arriving = assets.counterpart(transfer.asset, transfer.destination)
    _check_row(transfer, route, arriving)
    if not fee_settled and transfer.destination.is_ethereum:
        reason = f"only a connection to {(route.via or transfer.source).name} tells what it takes for delivery to Ethereum"
        if route.via is not None:
            # What doesn't go on becomes the sender's, whom no scenario names.
            raise refusal(transfer, reason, advice="; use xcm asset-transfer without --offline")
        raise only_connected(transfer, reason, advice="; use xcm asset-transfer without --offline")
    if fee_settled:
        return route
    if is_bridged(transfer) and pays_with_itself(transfer):
        raise only_connected(
            transfer,
            f"only a connection to {transfer.destination.name} tells what it takes for executing the message in {transfer.asset.display_name}",
        )
    if arriving is not None and arriving.pays_fees is False:
        raise refusal(
            transfer,
            f"{transfer.destination.name} accepts no fees in {arriving.label}, so the whole transfer would be trapped there",
            advice=advise_remote_fee(transfer, assets),
        )
    return route


def _check_remote_fee(transfer: Transfer, route: Route, assets: "Assets") -> None:
    """Refuse an asset that goes along to pay, unless it has a route of its own and goes the same way as what it pays for."""
    fee_asset, destination = transfer.remote_fee_asset, transfer.destination
    if fee_asset is None:
        return
    named = f"remote_fee_asset {fee_asset.label}"
    alone = replace(transfer, asset=fee_asset, remote_fee_asset=None)
    try:
        fee_route = find_route(alone, assets, fee_settled=False)
    except InvalidRequest as error:
        raise InvalidRequest(f"{named} can't go along: {error.statement}") from None
    if assets.counterpart(fee_asset, destination) is None:
        raise InvalidRequest(f"{named} can't go along: {destination.name} is not known to list it")
    if route.via is not None or fee_route.way != route.way:
        raise InvalidRequest(
            f"{named} can't go along with {transfer.asset.display_name}: from {transfer.source.name} to {destination.name} it goes by {fee_route.way}, and {transfer.asset.display_name} by {route.way}, expected one hop of the same type"
        )


def _may_go_along(transfer: Transfer, assets: "Assets") -> bool:
    """Tell whether what goes along to pay has its route, which no check opens; nothing goes along with most."""
    if transfer.remote_fee_asset is None:
        return True
    route = resolve(transfer, assets.registry)
    if route is None:
        return False
    try:
        _check_remote_fee(transfer, route, assets)
    except InvalidRequest:
        return False
    return True


def advise_remote_fee(transfer: Transfer, assets: "Assets") -> str:
    """Return the option by which the relay chain's asset goes along and pays; nothing if it can't."""
    native = assets.at(transfer.source, "1/Here")
    if native is None or native.id == transfer.asset.id:
        return ""
    try:
        find_route(replace(transfer, remote_fee_asset=native), assets, fee_settled=True)
    except InvalidRequest:
        return ""
    return f"; with --remote-fee-asset {native.symbol} (remote_fee_asset) a little {native.symbol} goes along and pays the fee there"


def check_chains(transfer: Transfer, registry: "Registry") -> "Chain":
    """Return the Asset Hub of two chains between which some assets go; InvalidRequest if none do."""
    source, destination = transfer.source, transfer.destination
    pays = transfer.remote_fee_asset
    for chain in (source, destination):
        if trust_of(chain) is None:
            raise refusal(
                transfer,
                _say_unknown_facts(chain),
                advice=_say_untold(transfer, chain, registry) if pays is None else "",
            )
    if is_bridged(transfer):
        check_bridge(transfer, registry)
        if pays is not None:
            raise InvalidRequest(
                f"remote_fee_asset {pays.label} is not for transfers over a bridge, where the chains tell what pays: leave it out"
            )
    hub = registry.asset_hub(source)
    if hub is None:
        raise refusal(transfer, f"the registry has no Asset Hub of {source.relay}")
    for chain in (source, destination):
        # Two of them under one relay chain: the messages would go to the first.
        if chain.role == "asset_hub" and chain != registry.asset_hub(chain):
            raise refusal(transfer, f"the Asset Hub of {chain.relay} is {hub.name}, not {chain.name}")
    return hub


def can_send(asset: "Asset", destination: "Chain", assets: "Assets") -> bool:
    """Tell whether *destination* holds *asset* too, and it can be sent there from its own chain, another one."""
    source = assets.registry.find(asset.chain)
    if destination == source or assets.counterpart(asset, destination) is None:
        return False
    beneficiary = bytes(destination.account_format.length)
    transfer = Transfer(
        source=source, destination=destination, asset=asset, amount=1, beneficiary=beneficiary
    )
    try:
        find_route(transfer, assets, fee_settled=True)
    except InvalidRequest:
        return False
    return True


def candidate_routes(transfer: Transfer, assets: "Assets") -> tuple[Route, ...]:
    """Return the ways in which a refused transfer might arrive after all; none for most."""
    source, destination = transfer.source, transfer.destination
    hub = assets.registry.asset_hub(source)
    if hub is None or is_bridged(transfer):
        # No dry run proves what crosses a bridge.
        return ()
    if not _may_go_along(transfer, assets):
        return ()
    if any(trust_of(chain) is None for chain in (source, destination)):
        return _routes_over_reserve(transfer, hub, assets.registry)
    route = resolve(transfer, assets.registry)
    if route is not None:
        return (route,) if _opens_by_check(transfer, route, hub) else ()
    if teleport_to_ask(transfer, assets.registry) is not None:
        return (Route(first="Teleport"),)
    if hub not in (source, destination):
        return ()
    for candidate in CANDIDATES:
        if (candidate.source, candidate.destination) == (_kind(source), _kind(destination)):
            held = assets.counterpart(transfer.asset, destination if source == hub else source)
            if held is not None and held.kind == "native":
                return tuple(Route(first=first) for first in candidate.types)
    return ()


def _routes_over_reserve(transfer: Transfer, hub: "Chain", registry: "Registry") -> tuple[Route, ...]:
    """Return the ways between the Asset Hub and a parachain without trust facts: what it accepts, only its runtime tells.

    They go over the chain that backs the asset, never over another one that the runtime accepts too.
    """
    source, destination = transfer.source, transfer.destination
    parachain = destination if source == hub else source
    if hub not in (source, destination) or not is_judged_by_runtime(parachain):
        return ()
    reserve = _reserve_of(transfer, registry)
    if reserve == hub:
        return (Route(first="LocalReserve" if source == hub else "DestinationReserve"),)
    if reserve == parachain:
        # Some burn and mint their own asset; the Asset Hub accepts one of the two only.
        by_reserve = Route(first="LocalReserve" if source == parachain else "DestinationReserve")
        return (Route(first="Teleport"), by_reserve)
    return ()


def teleport_to_ask(transfer: Transfer, registry: "Registry") -> "tuple[Chain, str] | None":
    """Return the chain that decides whether the asset may be teleported, and its storage item; None if the facts decide."""
    if not transfer.asset.location:
        return None
    return teleport_decided_by(transfer.destination, identity_of(transfer), transfer.source, registry)


def is_judged_by_runtime(chain: "Chain") -> bool:
    """Tell whether a dry run may open transfers of *chain*, of which no trust facts are written.

    Its genesis has to be known: else a node of another chain could answer for it.
    """
    return trust_of(chain) is None and chain.role in _JUDGED_ROLES and bool(chain.genesis)


def _say_unknown_facts(chain: "Chain") -> str:
    reason = f"the assets that {chain.name} accepts from other chains are not known"
    if chain.role == "dex":
        return f'{reason} (role = "dex" tells them of Hydration only: para_id {HYDRATION_PARA_ID} under Polkadot, or spec_name = "{HYDRATION_SPEC_NAME}")'
    return reason


def _say_untold(transfer: Transfer, chain: "Chain", registry: "Registry") -> str:
    """Return what opens a transfer of a chain without trust facts; nothing if nothing does."""
    hub = registry.asset_hub(transfer.source)
    if chain.role not in _JUDGED_ROLES or hub is None or hub not in (transfer.source, transfer.destination):
        return ""
    if not chain.genesis:
        return f"; set genesis in [chains.{chain.name}], so that a check can ask its runtime"
    if not transfer.asset.location:
        return (
            f"; set location in [[chains.{transfer.source.name}.assets]], so that a check can ask its runtime"
        )
    if not _routes_over_reserve(transfer, hub, registry):
        return ""
    return _BY_CHECK


def pays_with_itself(transfer: Transfer) -> bool:
    """Tell whether the destination takes its fee in the asset that arrives, if it takes fees in that asset at all."""
    facts = trust_of(transfer.destination)
    if facts is None or facts.execution_fees is not ExecutionFees.POOLED:
        return False
    return location_on(transfer, transfer.destination) != facts.native


def identity_of(transfer: Transfer) -> str:
    """Return the location of the asset seen from the relay chain, `` for the relay chain's own asset."""
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
        return Route(first=crossing) if crossing is not None else _resolve_over_hub(transfer, registry)
    reserve = _reserve_of(transfer, registry)
    if reserve is None:
        return None
    identity = identity_of(transfer)
    direct = _transfer_type(identity, reserve, source, destination, registry)
    if direct is not None:
        return Route(first=direct)
    if reserve in (source, destination):
        return None
    first = _transfer_type(identity, reserve, source, reserve, registry)
    onward = _transfer_type(identity, reserve, reserve, destination, registry)
    if first is None or onward is None:
        return None
    return Route(first=first, via=reserve, onward=onward)


def _resolve_over_hub(transfer: Transfer, registry: "Registry") -> Route | None:
    """Return the way of an asset of Ethereum home, over the Asset Hub of a parachain; None if the facts allow none."""
    source, destination = transfer.source, transfer.destination
    hub = registry.asset_hub(source)
    if not destination.is_ethereum or hub is None or hub == source:
        return None
    identity = identity_of(transfer)
    first = _transfer_type(identity, hub, source, hub, registry)
    onward = bridge_type(hub, destination, identity, registry)
    if first != "DestinationReserve" or onward != "DestinationReserve":
        return None
    return Route(first=first, via=hub, onward=onward)


def _reserve_of(transfer: Transfer, registry: "Registry") -> "Chain | None":
    """Return the chain that backs the asset for the chains under its relay chain; None if that is not known."""
    if not transfer.asset.location:
        return None
    if transfer.asset.reserve:
        return registry.find(transfer.asset.reserve)
    # What came over a bridge is backed by what the Asset Hub holds beyond it.
    hub = registry.asset_hub(transfer.source)
    return hub if hub is not None and foreign_reserve(hub, identity_of(transfer)) else None


def _transfer_type(
    identity: str, reserve: "Chain", sender: "Chain", receiver: "Chain", registry: "Registry"
) -> TransferType | None:
    """Return how an asset goes from *sender* straight to *receiver*; None if it doesn't."""
    if accepts_teleport(receiver, identity, sender, registry):
        return "Teleport"
    if reserve == sender and accepts_reserve(receiver, identity, sender, registry):
        return "LocalReserve"
    if reserve == receiver and accepts_reserve(sender, identity, receiver, registry):
        return "DestinationReserve"
    return None


def _check_row(transfer: Transfer, route: Route, arriving: "Asset | None") -> None:
    """Refuse a way that the table of routes does not have, or that only a check opens."""
    row = route.row
    if row is not None and not _same_way(row, route):
        raise refusal(transfer, f"its route is {row.way}, but what the runtimes accept is {route.way}")
    if row is not None and row.opens in ("always", "state"):
        # What a state decides is asked where the call is built.
        return
    if is_bridged(transfer):
        raise refusal(transfer, "it is not one of the assets that two sources say cross the bridge")
    if arriving is None:
        reason = f"{transfer.destination.name} is not known to list it, so it would be trapped there"
    elif row is not None and row.proof != "none":
        reason = f"only {' and '.join(row.sources)} lists it on both chains, and two sources have to agree"
    else:
        reason = "no such transfer has been proven to arrive"
    # No form is tried of a way whose call needs a quote (`_opens_by_check`).
    raise refusal(transfer, reason, advice="" if route.needs_last_hop_fee else _BY_CHECK)


def _opens_by_check(transfer: Transfer, route: Route, hub: "Chain") -> bool:
    """Tell whether a dry run may open a way that the facts allow: no row contradicts it, and its call needs no quote."""
    row = _find_row(transfer, _find_row_by_kind(transfer, hub))
    allowed = row is None or (row.opens == "check" and _same_way(row, route))
    return allowed and not route.needs_last_hop_fee


def _same_way(row: RouteRow, route: Route) -> bool:
    """Tell whether the way that the facts allow is the one in the table."""
    if route.via is None:
        return row.way == route.first
    return row.way in (route.way, f"{route.first}, {_kind(route.via)}, {route.onward}")


def _find_row(transfer: Transfer, by_kind: RouteRow | None) -> RouteRow | None:
    """Return the row of the chains, if both are built in; with a chain of config.toml, the one *by_kind*."""
    if is_bridged(transfer) and transfer.source.role == "asset_hub":
        # An Asset Hub of config.toml in one of the networks has the rows of the one that is built in.
        ends = (ENDS[transfer.source.consensus], ENDS[transfer.destination.consensus])
        return find_row(*ends, transfer.asset.location)
    source, destination = transfer.source.name, transfer.destination.name
    if source in TRUST and destination in TRUST:
        return find_row(source, destination, transfer.asset.location)
    return by_kind


def _find_row_by_kind(transfer: Transfer, hub: "Chain") -> RouteRow | None:
    location = seen_from(identity_of(transfer), hub.para_id)
    return find_row_by_kind(_kind(transfer.source), _kind(transfer.destination), location)


def _kind(chain: "Chain") -> str:
    facts = trust_of(chain)
    return "" if facts is None else facts.kind


def _explain(transfer: Transfer, registry: "Registry") -> str:
    """Return why the facts allow no way."""
    source, destination, asset = transfer.source, transfer.destination, transfer.asset
    if not asset.location:
        return f"its location is not known. Set `location` in [[chains.{source.name}.assets]]"
    if is_bridged(transfer):
        if destination.is_ethereum and not is_beyond_bridge(source, destination, registry):
            return (
                f"only assets of Ethereum go from {source.name} to Ethereum{send_first(transfer, registry)}"
            )
        if destination.is_ethereum:
            return f"{source.name} and Ethereum have no reserve for it that the other one accepts"
        return "neither of the two Asset Hubs accepts the other as its reserve"
    sending, receiving = trust_of(source), trust_of(destination)
    holds_only_its_own = (
        receiving is not None
        and receiving.execution_fees is ExecutionFees.NATIVE
        and not receiving.reserves
        and seen_from(identity_of(transfer), destination.para_id) != receiving.native
    )
    if holds_only_its_own:
        return f"{destination.name} holds only {destination.symbol}"
    undecided = teleport_to_ask(transfer, registry)
    if undecided is not None:
        chain, item = undecided
        return f"it goes there only by teleport, and {chain.name} allows that only if its {item} has an entry for {asset.display_name} with teleportable = true, which is not known here"
    reserve = _reserve_of(transfer, registry)
    if reserve is None:
        issuer = identity_of(transfer).partition("/")[0]
        if issuer.startswith("Parachain("):
            return f"its reserve, the parachain {issuer[len('Parachain(') : -1]}, is not in the registry"
        return "its reserve is not known, and over a wrong one it would be lost"
    if reserve == source:
        teleport = (
            ""
            if sending is None or sending.sends_teleports
            else f", and {source.name} allows no teleport of it"
        )
        return f"{destination.name} does not accept {source.name} as its reserve, so it would be lost on arrival (UntrustedReserveLocation){teleport}"
    if reserve == destination:
        return f"its reserve is {destination.name}, and {source.name} does not accept it from there"
    return f"its reserve is {reserve.name}, and no route over {reserve.name} is known"
