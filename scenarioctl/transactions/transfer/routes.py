"""The reserve gate: which way a transfer takes from chain to chain, and whether it may.

The way follows from the source, the destination and the reserve of the asset, over the facts in `chains/trust.py`.  It is
built only if it is in `PROVEN`.  A transfer over the wrong reserve is accepted by the runtimes, and the tokens or
their backing are gone.

To add a route, add its proof and a row to `PROVEN`; one without proof goes to `CANDIDATES`, which only a check opens.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scenarioctl.chains.locations import absolute, seen_from
from scenarioctl.chains.trust import ExecutionFees, accepts_reserve, accepts_teleport, matches, trust_of
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.request import Transfer, check_request, refusal

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain, Registry


#: How an asset goes from one chain to the next, by the names that XCM has for it.  With LocalReserve the source is the
#: reserve, and the asset moves into the destination's account there; DestinationReserve is the reverse.
TransferType = Literal["Teleport", "LocalReserve", "DestinationReserve"]


@dataclass(frozen=True, kw_only=True)
class ProvenRoute:
    """A route whose transfers were seen to arrive."""

    #: Kinds of chains, as in `TrustFacts.kind`.
    source: str
    destination: str
    #: Location of the asset as the Asset Hub sees it; a `*` at the end stands for anything.
    asset: str
    proof: str

    @property
    def name(self) -> str:
        return f"{self.source}>{self.destination} {self.asset}"


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
    #: The row of PROVEN that allows it; None for a candidate.
    proven: ProvenRoute | None = None

    @property
    def needs_last_hop_fee(self) -> bool:
        """Whether the fee of the last hop is set aside in the call, out of the amount.

        Where the asset only changes hands on its reserve, the runtime divides the fee itself.
        """
        return self.via is not None and (self.first, self.onward) != ("DestinationReserve", "LocalReserve")


_RELAY_ASSET = "1/Here"
_ASSET_HUB_ASSETS = "0/PalletInstance(50)/GeneralIndex(*"
_VECTORS = "bytes of polkadot.js and polkadot-api (tests/data/vectors)"
_ARRIVAL = f"{_VECTORS}, arrival on real runtimes (tests/live/test_check.py)"

#: The routes that may be built.
PROVEN = (
    ProvenRoute(source="relay", destination="asset_hub", asset=_RELAY_ASSET, proof=_ARRIVAL),
    ProvenRoute(source="asset_hub", destination="relay", asset=_RELAY_ASSET, proof=_ARRIVAL),
    ProvenRoute(source="asset_hub", destination="hydration", asset=_RELAY_ASSET, proof=_ARRIVAL),
    ProvenRoute(source="asset_hub", destination="hydration", asset=_ASSET_HUB_ASSETS, proof=_ARRIVAL),
    ProvenRoute(source="hydration", destination="asset_hub", asset=_RELAY_ASSET, proof=_ARRIVAL),
    ProvenRoute(source="hydration", destination="asset_hub", asset=_ASSET_HUB_ASSETS, proof=_ARRIVAL),
    ProvenRoute(source="relay", destination="hydration", asset=_RELAY_ASSET, proof=_ARRIVAL),
    ProvenRoute(source="hydration", destination="relay", asset=_RELAY_ASSET, proof=_ARRIVAL),
)
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


def find_route(transfer: Transfer, assets: "Assets", *, fee_settled: bool) -> Route:
    """Return the way of *transfer* between two chains; InvalidRequest says why there is none.

    With *fee_settled* it is known what pays the fee on the destination.
    """
    registry = assets.registry
    hub = check_chains(transfer, registry)
    route = _resolve(transfer, registry)
    if route is None:
        raise refusal(transfer, _explain(transfer, registry))
    proven = _find_proven(transfer, hub)
    if proven is None:
        raise refusal(transfer, "no such transfer has been proven to arrive")
    if not fee_settled and pays_with_itself(transfer):
        arriving = assets.counterpart(transfer.asset, transfer.destination)
        if arriving is not None and arriving.pays_fees is False:
            raise refusal(
                transfer,
                f"{transfer.destination.name} accepts no fees in {arriving.label}, so the whole transfer would be trapped there",
            )
    return Route(first=route.first, via=route.via, onward=route.onward, proven=proven)


def check_chains(transfer: Transfer, registry: "Registry") -> "Chain":
    """Return the Asset Hub of two chains between which some assets go; InvalidRequest if none do."""
    source, destination = transfer.source, transfer.destination
    for chain in (source, destination):
        if trust_of(chain) is None:
            raise refusal(transfer, f"the assets that {chain.name} accepts from other chains are not known")
    if source.relay != destination.relay:
        raise refusal(
            transfer,
            f"the relay chain of {source.name} is {source.relay} and that of {destination.name} is {destination.relay}, and scenarioctl uses no bridge",
        )
    hub = registry.asset_hub(source)
    if hub is None:
        raise refusal(transfer, f"the registry has no Asset Hub of {source.relay}")
    for chain in (source, destination):
        # Two of them under one relay chain: the messages would go to the first.
        if chain.role == "asset_hub" and chain.name != hub.name:
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


def candidate_types(transfer: Transfer, assets: "Assets") -> tuple[TransferType, ...]:
    """Return the forms in which a refused transfer might arrive after all; none for most."""
    source, destination = transfer.source, transfer.destination
    hub = assets.registry.asset_hub(source)
    if hub is None or hub not in (source, destination):
        return ()
    for candidate in CANDIDATES:
        if (candidate.source, candidate.destination) == (_kind(source), _kind(destination)):
            held = assets.counterpart(transfer.asset, destination if source == hub else source)
            return candidate.types if held is not None and held.kind == "native" else ()
    return ()


def pays_with_itself(transfer: Transfer) -> bool:
    """Tell whether the destination takes its fee in the asset that arrives, if it takes fees in that asset at all."""
    facts = trust_of(transfer.destination)
    if facts is None or facts.execution_fees is not ExecutionFees.POOLED:
        return False
    return seen_from(identity_of(transfer), transfer.destination.para_id) != facts.native


def identity_of(transfer: Transfer) -> str:
    """Return the location of the asset seen from the relay chain, `` for the relay chain's own asset."""
    return absolute(transfer.asset.location, transfer.source.para_id)


def _resolve(transfer: Transfer, registry: "Registry") -> Route | None:
    """Return the way that the facts allow, directly or over the asset's reserve."""
    source, destination = transfer.source, transfer.destination
    if not transfer.asset.location or not transfer.asset.reserve:
        return None
    identity = identity_of(transfer)
    reserve = registry.find(transfer.asset.reserve)
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


def _find_proven(transfer: Transfer, hub: "Chain") -> ProvenRoute | None:
    ends = (_kind(transfer.source), _kind(transfer.destination))
    location = seen_from(identity_of(transfer), hub.para_id)
    for row in PROVEN:
        if (row.source, row.destination) == ends and matches(row.asset, location):
            return row
    return None


def _kind(chain: "Chain") -> str:
    facts = trust_of(chain)
    return "" if facts is None else facts.kind


def _explain(transfer: Transfer, registry: "Registry") -> str:
    """Return why the facts allow no way."""
    source, destination, asset = transfer.source, transfer.destination, transfer.asset
    if not asset.location:
        return f"its location is not known. Set `location` in [[chains.{source.name}.assets]]"
    sending, receiving = trust_of(source), trust_of(destination)
    if receiving is not None and receiving.execution_fees is ExecutionFees.NATIVE and not receiving.reserves:
        return f"{destination.name} holds only {destination.symbol}"
    if not asset.reserve:
        issuer = identity_of(transfer).partition("/")[0]
        if issuer.startswith("Parachain("):
            return f"its reserve, the parachain {issuer[len('Parachain(') : -1]}, is not in the registry"
        return "its reserve is not known, and over a wrong one it would be lost"
    reserve = registry.find(asset.reserve)
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
