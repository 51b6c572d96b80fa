"""Which assets each chain accepts from which other chain, and what pays for execution there.

Transfers are built by these facts, read from the source of each runtime, and by nothing that a runtime merely lets
through: the relay chain still sends DOT to a parachain over the wrong reserve.

To add a chain, write its `TrustFacts` with their source and a row in `TRUST`; `tools/curate_routes.py` then writes its
routes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import chain_identity, place_of, seen_from
from scenarioctl.chains.registry import NETWORKS

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


#: The networks that Snowbridge joins.
_SNOWBRIDGE = ("Polkadot", "Ethereum:1")


class Sender(StrEnum):
    """The chain that an accepted asset comes from."""

    RELAY = "the relay chain"
    ASSET_HUB = "the Asset Hub"
    #: Runtimes tell system parachains by their para id, which is below 2000.
    SYSTEM = "a system parachain, of which the Asset Hub is one"
    #: The chain in whose location the asset is: `1/Parachain(2034)` for `1/Parachain(2034)/GeneralIndex(0)`.
    OWNER = "the chain that issued the asset"
    #: The Asset Hub of the other network, through the Bridge Hubs.
    BEYOND_BRIDGE = "the Asset Hub beyond the bridge"
    #: Through the Bridge Hub of Polkadot.
    ETHEREUM = "Ethereum"


class ExecutionFees(StrEnum):
    """What pays for the execution of a message."""

    NATIVE = "the native asset"
    #: The native asset, and assets with a pool against it: `Asset.pays_fees` says which had one.
    POOLED = "the native asset and assets with a pool"
    #: Any asset that the chain has a price for, which only the chain can say: `Asset.pays_fees` is false for those without.
    PRICED = "assets with a price"
    #: The chain that sends the message takes all of it, for delivery.
    PREPAID = "nothing, since the Asset Hub takes it beforehand"


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Assets that a chain accepts from one other chain."""

    #: Their location as the accepting chain sees it; a `*` at the end stands for anything.
    asset: str
    sender: Sender
    #: The storage item that decides for each asset.  Such a row opens no route without asking the chain.
    decided_by: str = ""


@dataclass(frozen=True, kw_only=True)
class ForeignReserve:
    """The reserve beyond a bridge of assets that an Asset Hub holds for its parachains."""

    #: Their location as the Asset Hub sees it; a `*` at the end stands for anything.
    asset: str
    #: The reserve that `ForeignAssets.Reserves` has for each of them, not teleportable.
    reserve: str


@dataclass(frozen=True, kw_only=True)
class TrustFacts:
    """What one runtime accepts from other chains."""

    #: Chains of one kind have the same routes: `relay`, `asset_hub`, `system`, `hydration`, `astar`, `mythos`, `bifrost`, `unique` or `ethereum`.
    kind: str
    #: Location of the native asset as the chain sees it.
    native: str
    #: Assets accepted from a chain as their reserve (IsReserve).
    reserves: tuple[Accepted, ...] = ()
    #: Assets accepted as a teleport (IsTeleporter).
    teleports: tuple[Accepted, ...] = ()
    #: Assets from beyond a bridge that the chain, an Asset Hub, backs for the parachains.
    foreign_reserves: tuple[ForeignReserve, ...] = ()
    #: Whether its users can send teleports (XcmTeleportFilter).
    sends_teleports: bool
    execution_fees: ExecutionFees
    #: Whether the runtime may accept more than is written here, so that what is missing is unknown and not refused.
    partial: bool = False
    #: Where the facts were read, and when.
    source: str
    read: str = "2026-11-23"


_POLKADOT = TrustFacts(
    kind="relay",
    native="0/Here",
    teleports=(Accepted(asset="0/Here", sender=Sender.SYSTEM),),
    sends_teleports=True,
    execution_fees=ExecutionFees.NATIVE,
    source="polkadot-fellows/runtimes@cb16c0820, relay/polkadot/src/xcm_config.rs",
)
#: Assets that two Asset Hubs accept from each other through the Bridge Hubs, by the network whose Asset Hub accepts them.
#: `ForeignAssets.Reserves` of each decides asset by asset; these are the rules that its entries were migrated from.
#: Asked too: TrustedQueryApi of asset-hub-kusama 2000002 says true to both rows of Kusama (read 2026-11-22).
_BRIDGED: Mapping[str, tuple[Accepted, ...]] = {
    "Polkadot": (
        Accepted(asset="2/GlobalConsensus(Kusama)", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Kusama)/*", sender=Sender.BEYOND_BRIDGE),
    ),
    "Kusama": (
        Accepted(asset="2/GlobalConsensus(Polkadot)", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Polkadot)/*", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Ethereum:1)", sender=Sender.BEYOND_BRIDGE),
        Accepted(asset="2/GlobalConsensus(Ethereum:1)/*", sender=Sender.BEYOND_BRIDGE),
    ),
}
#: Assets that the Asset Hub of Polkadot accepts from Ethereum.  `ForeignAssets.Reserves` decides here too, asset by asset.
_FROM_ETHEREUM = (
    Accepted(asset="2/GlobalConsensus(Ethereum:1)", sender=Sender.ETHEREUM),
    Accepted(asset="2/GlobalConsensus(Ethereum:1)/*", sender=Sender.ETHEREUM),
)
_ASSET_HUB = TrustFacts(
    kind="asset_hub",
    native="1/Here",
    teleports=(
        Accepted(asset="1/Here", sender=Sender.RELAY),
        Accepted(asset="1/Here", sender=Sender.SYSTEM),
        Accepted(asset="1/Parachain(*", sender=Sender.OWNER, decided_by="ForeignAssets.Reserves"),
    ),
    # The list that migrations.rs of the same commit wrote; the owner of an asset can change its entry since.
    foreign_reserves=(
        ForeignReserve(asset="2/GlobalConsensus(Ethereum:1)*", reserve="2/GlobalConsensus(Ethereum:1)"),
        ForeignReserve(
            asset="2/GlobalConsensus(Kusama)*", reserve="2/GlobalConsensus(Kusama)/Parachain(1000)"
        ),
    ),
    sends_teleports=True,
    execution_fees=ExecutionFees.POOLED,
    source="polkadot-fellows/runtimes@cb16c0820, system-parachains/asset-hubs/asset-hub-polkadot/src/xcm_config.rs",
)
_SYSTEM = TrustFacts(
    kind="system",
    native="1/Here",
    teleports=(
        Accepted(asset="1/Here", sender=Sender.RELAY),
        Accepted(asset="1/Here", sender=Sender.SYSTEM),
    ),
    sends_teleports=True,
    execution_fees=ExecutionFees.NATIVE,
    source="the chains below",
)
_HYDRATION = TrustFacts(
    kind="hydration",
    native="0/GeneralIndex(0)",
    reserves=(
        # The runtime takes it from the relay chain too, which has not been its reserve since November 2025.
        Accepted(asset="1/Here", sender=Sender.ASSET_HUB),
        Accepted(asset="2/*", sender=Sender.ASSET_HUB),
        Accepted(asset="1/Parachain(*", sender=Sender.OWNER),
    ),
    sends_teleports=False,
    execution_fees=ExecutionFees.PRICED,
    source="galacticcouncil/hydration-node@5e61c1fa3, runtime/hydradx/src/xcm.rs",
)


def _system(runtime: str) -> TrustFacts:
    return replace(
        _SYSTEM, source=f"polkadot-fellows/runtimes@cb16c0820, system-parachains/{runtime}/src/xcm_config.rs"
    )


#: The facts of the built-in chains whose facts are known.
TRUST: Mapping[str, TrustFacts] = {
    "polkadot": _POLKADOT,
    "assetHub": _ASSET_HUB,
    "hydraDx": _HYDRATION,
    "kusama": replace(
        _POLKADOT, source="polkadot-fellows/runtimes@cb16c0820, relay/kusama/src/xcm_config.rs"
    ),
    "assetHub_kusama": replace(
        _ASSET_HUB,
        foreign_reserves=(
            ForeignReserve(
                asset="2/GlobalConsensus(Polkadot)*", reserve="2/GlobalConsensus(Polkadot)/Parachain(1000)"
            ),
            ForeignReserve(
                asset="2/GlobalConsensus(Ethereum:1)*", reserve="2/GlobalConsensus(Polkadot)/Parachain(1000)"
            ),
        ),
        source="polkadot-fellows/runtimes@cb16c0820, system-parachains/asset-hubs/asset-hub-kusama/src/xcm_config.rs",
    ),
    "paseo": replace(_POLKADOT, source="paseo-network/runtimes@05455e9, relay/paseo/src/xcm_config.rs"),
    "assetHub_paseo": replace(
        _ASSET_HUB,
        foreign_reserves=(),
        source="paseo-network/runtimes@05455e9, system-parachains/asset-hub-paseo/src/xcm_config.rs",
    ),
    "people": replace(
        _system("people/people-polkadot"),
        # HOLLAR, which pays fees there too.
        reserves=(Accepted(asset="1/Parachain(2034)/GeneralIndex(222)", sender=Sender.OWNER),),
    ),
    "bridgeHub": _system("bridge-hubs/bridge-hub-polkadot"),
    "coretime": _system("coretime/coretime-polkadot"),
    "collectives": _system("collectives/collectives-polkadot"),
    "people_kusama": _system("people/people-kusama"),
    "bridgeHub_kusama": _system("bridge-hubs/bridge-hub-kusama"),
    "coretime_kusama": _system("coretime/coretime-kusama"),
    "encointer": _system("encointer"),
    "astar": TrustFacts(
        kind="astar",
        native="0/Here",
        reserves=(
            Accepted(asset="1/Here", sender=Sender.ASSET_HUB),
            Accepted(asset="1/Parachain(*", sender=Sender.OWNER),
        ),
        sends_teleports=False,
        execution_fees=ExecutionFees.PRICED,
        source="AstarNetwork/Astar@b664ce856, primitives/src/xcm/mod.rs",
    ),
    "bifrost": TrustFacts(
        kind="bifrost",
        native="0/GeneralKey(0x0001)",
        # Later runtimes take more, DOT from the Asset Hub and teleports of BNC among it: not read.
        reserves=(Accepted(asset="1/Parachain(*", sender=Sender.OWNER),),
        sends_teleports=False,
        execution_fees=ExecutionFees.PRICED,
        partial=True,
        source="bifrost-io/bifrost@2026c1494 (spec 14000, of October 2024), runtime/bifrost-polkadot/src/xcm_config.rs",
    ),
    "unique": TrustFacts(
        kind="unique",
        native="0/Here",
        # It took DOT from the relay chain, the wrong reserve now: whether it takes it from the Asset Hub was not read.
        reserves=(Accepted(asset="1/Parachain(*", sender=Sender.OWNER),),
        sends_teleports=False,
        execution_fees=ExecutionFees.PRICED,
        partial=True,
        source="UniqueNetwork/unique-chain@e3307f0af (spec 10180082, of June 2025), runtime/common/config/xcm.rs",
    ),
    # The Gateway mints an ERC-20 for each asset of Polkadot that was registered with it.
    "ethereum": TrustFacts(
        kind="ethereum",
        native="0/Here",
        reserves=(
            Accepted(asset="1/GlobalConsensus(Polkadot)", sender=Sender.BEYOND_BRIDGE),
            Accepted(asset="1/GlobalConsensus(Polkadot)/Parachain(1000)/*", sender=Sender.BEYOND_BRIDGE),
            # The Asset Hub of Polkadot keeps what Ethereum has of it (snowbridge_v2_outbound_from_kusama.rs beside the source).
            Accepted(asset="1/GlobalConsensus(Kusama)", sender=Sender.BEYOND_BRIDGE),
        ),
        sends_teleports=False,
        execution_fees=ExecutionFees.PREPAID,
        source="polkadot-fellows/runtimes@cb16c0820, integration-tests/emulated/tests/bridges/bridge-hub-polkadot/src/tests/snowbridge.rs",
    ),
    # It accepts more than it can hold: of what isn't its own asset, nothing is credited, and DOT is burnt.
    "mythos": TrustFacts(
        kind="mythos",
        native="0/Here",
        teleports=(Accepted(asset="0/Here", sender=Sender.ASSET_HUB),),
        sends_teleports=True,
        execution_fees=ExecutionFees.NATIVE,
        source="paritytech/project-mythical@e1da8f2, runtime/mainnet/src/xcm_config.rs",
    ),
}
#: What identifies the runtime of Hydration in config.toml: how it calls itself, or the id that it has under Polkadot.
HYDRATION_SPEC_NAME = "hydradx"
HYDRATION_PARA_ID = 2034
#: The roles of chains whose runtimes are asked what they accept, where no trust facts say all of it.
JUDGED_ROLES = ("parachain", "dex")
#: The facts that a chain of config.toml declares with its role.  A parachain, a chain of contracts, and an exchange that isn't
#: Hydration declare none.
_DECLARED: Mapping[str, TrustFacts] = {
    "relay": replace(_POLKADOT, source="the role in config.toml"),
    "asset_hub": replace(_ASSET_HUB, source="the role in config.toml"),
    "system": replace(_SYSTEM, source="the role in config.toml"),
    "dex": replace(_HYDRATION, source="the role in config.toml"),
}


def trust_of(chain: "Chain") -> TrustFacts | None:
    """Return the facts of *chain*; None if they aren't known."""
    if chain.role == "dex" and not is_hydration(chain):
        return None
    return TRUST.get(chain.name) or _DECLARED.get(chain.role)


def is_hydration(chain: "Chain") -> bool:
    """Tell whether the runtime of *chain* is Hydration's: by its name, or by its para id where that isn't another network's."""
    by_id = chain.para_id == HYDRATION_PARA_ID and chain.consensus in ("", "Polkadot")
    return by_id or chain.spec_name == HYDRATION_SPEC_NAME


def is_judged_by_runtime(chain: "Chain") -> bool:
    """Tell whether only the runtime of *chain* knows all that it accepts, so that a dry run may open its transfers.

    Its genesis has to be known: else a node of another chain could answer for it.
    """
    facts = trust_of(chain)
    return chain.role in JUDGED_ROLES and bool(chain.genesis) and (facts is None or facts.partial)


def accepts_reserve(receiver: "Chain", identity: str, sender: "Chain", registry: "Registry") -> bool:
    """Tell whether *receiver* accepts the asset from *sender* as its reserve.

    *identity* is the asset's location seen from the relay chain of *receiver* (`chains.locations.absolute`).
    """
    facts = trust_of(receiver)
    if facts is None:
        return False
    rows = facts.reserves
    if facts.kind == "asset_hub":
        rows += _BRIDGED.get(receiver.consensus, ())
        rows += _FROM_ETHEREUM if receiver.consensus == _SNOWBRIDGE[0] else ()
    return _accepts(rows, receiver, identity, sender, registry)


def accepts_teleport(receiver: "Chain", identity: str, sender: "Chain", registry: "Registry") -> bool:
    """Tell whether *sender* and *receiver* trust each other to burn and to mint the asset, and *sender* may send it."""
    sending, receiving = trust_of(sender), trust_of(receiver)
    return (
        sending is not None
        and receiving is not None
        and sending.sends_teleports
        and _accepts(receiving.teleports, receiver, identity, sender, registry)
        and _accepts(sending.teleports, sender, identity, receiver, registry)
    )


def teleport_decided_by(
    receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> "tuple[Chain, str] | None":
    """Return which of the two decides by which storage item whether *sender* may teleport the asset to *receiver*.

    None if no storage item decides it: they may, or they may not.
    """
    sending, receiving = trust_of(sender), trust_of(receiver)
    if sending is None or receiving is None or not sending.sends_teleports:
        return None
    deciding = None
    for chain, other, rows in (
        (receiver, sender, receiving.teleports),
        (sender, receiver, sending.teleports),
    ):
        items = [row.decided_by for row in rows if _fits(row, chain, identity, other, registry)]
        if not items:
            return None
        if all(items):
            deciding = (chain, items[0])
    return deciding


def foreign_reserve(hub: "Chain", identity: str) -> str:
    """Return the reserve beyond a bridge of an asset that *hub* backs for its parachains; "" if it backs no such asset."""
    facts = trust_of(hub)
    location = seen_from(identity, hub.para_id)
    for row in () if facts is None else facts.foreign_reserves:
        if matches(row.asset, location):
            return row.reserve
    return ""


def _accepts(
    rows: tuple[Accepted, ...], receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    return any(not row.decided_by and _fits(row, receiver, identity, sender, registry) for row in rows)


def _fits(row: Accepted, receiver: "Chain", identity: str, sender: "Chain", registry: "Registry") -> bool:
    """Tell whether *row* of *receiver* is about the asset from *sender*."""
    is_it = matches(row.asset, seen_from(identity, receiver.para_id))
    return is_it and _is_sender(row.sender, receiver, identity, sender, registry)


def is_beyond_bridge(chain: "Chain", other: "Chain", registry: "Registry") -> bool:
    """Tell whether a bridge joins the two: the Asset Hubs of two networks, or that of Polkadot and Ethereum."""
    networks = {chain.consensus, other.consensus}
    return networks in (set(NETWORKS), set(_SNOWBRIDGE)) and all(
        each.is_ethereum or each == registry.asset_hub(each) for each in (chain, other)
    )


def chain_beyond(registry: "Registry", origin: "Chain", place: str) -> "Chain | None":
    """Return the chain beyond a bridge that *origin* sees at *place*; None if that is no chain to which messages cross."""
    for chain in registry.all():
        if is_beyond_bridge(origin, chain, registry) and place == place_of(chain, origin):
            return chain
    return None


def matches(pattern: str, location: str) -> bool:
    """Tell whether *location* is *pattern*, whose `*` at the end stands for anything."""
    return location.startswith(pattern[:-1]) if pattern.endswith("*") else location == pattern


def _is_sender(
    wanted: Sender, receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    if wanted is Sender.RELAY:
        return sender == registry.relay_of(receiver)
    if wanted is Sender.ASSET_HUB:
        return sender == registry.asset_hub(receiver)
    if wanted is Sender.SYSTEM:
        # Of two Asset Hubs under one relay chain, messages go to the first.
        return sender == registry.asset_hub(receiver) or (
            sender.role == "system" and sender.relay == receiver.relay
        )
    if wanted in (Sender.BEYOND_BRIDGE, Sender.ETHEREUM):
        return (wanted is Sender.ETHEREUM) == sender.is_ethereum and is_beyond_bridge(
            sender, receiver, registry
        )
    if sender.relay != receiver.relay:
        return False
    # The relay chain is nobody's reserve: its own asset is backed by the Asset Hub.
    home = chain_identity(sender)
    return bool(home) and (identity == home or identity.startswith(f"{home}/"))
