"""The ways of an asset from chain to chain, by what the runtimes on them accept: the trust facts,
or the runtimes themselves.

A way is no permission: the reserve gate (`routes.py`) decides which ways are taken.
"""

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal

from scenarioctl.chains.locations import absolute, across, seen_from
from scenarioctl.chains.trust import (
    ExecutionFees,
    accepts_reserve,
    accepts_teleport,
    foreign_reserve,
    is_judged_by_runtime,
    refused_because,
    teleport_decided_by,
    trust_of,
)
from scenarioctl.transactions.transfer.bridges import bridge_type, is_bridged
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.route_rows import AssetRoute

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry

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
        or not all(map(_can_answer, (source, destination, reserve)))
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


def _can_answer(chain: "Chain") -> bool:
    """Tell whether the facts say all that *chain* accepts, or its runtime may be asked."""
    facts = trust_of(chain)
    return is_judged_by_runtime(chain) or (facts is not None and not facts.partial)


def facts_known(transfer: Transfer) -> bool:
    return all(trust_of(chain) is not None for chain in (transfer.source, transfer.destination))
