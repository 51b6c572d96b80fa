"""Which assets each chain accepts from which other chain, and what pays for execution there.

Transfers are built by these facts, read from the source of each runtime, and by nothing that a runtime merely lets
through: the relay chain still sends DOT to a parachain over the wrong reserve.

To add a chain, write its `TrustFacts` with their source and a row in `TRUST`.  Its routes are rows in
`transactions/transfer/routes.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import chain_identity, seen_from

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


class Sender(StrEnum):
    """The chain that an accepted asset comes from."""

    RELAY = "the relay chain"
    ASSET_HUB = "the Asset Hub"
    #: The chain in whose location the asset is: `1/Parachain(2034)` for `1/Parachain(2034)/GeneralIndex(0)`.
    OWNER = "the chain that issued the asset"


class ExecutionFees(StrEnum):
    """What pays for the execution of a message."""

    NATIVE = "the native asset"
    #: The native asset, and assets with a pool against it: `Asset.pays_fees` says which had one.
    POOLED = "the native asset and assets with a pool"
    #: Any asset that the chain has a price for, which only the chain can say.
    PRICED = "assets with a price"


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Assets that a chain accepts from one other chain."""

    #: Their location as the accepting chain sees it; a `*` at the end stands for anything.
    asset: str
    sender: Sender
    #: The storage item that decides for each asset.  Such a row opens no route without asking the chain.
    decided_by: str = ""


@dataclass(frozen=True, kw_only=True)
class TrustFacts:
    """What one runtime accepts from other chains."""

    #: Chains of one kind have the same routes: `relay`, `asset_hub` or `hydration`.
    kind: str
    #: Location of the native asset as the chain sees it.
    native: str
    #: Assets accepted from a chain as their reserve (IsReserve).
    reserves: tuple[Accepted, ...] = ()
    #: Assets accepted as a teleport (IsTeleporter).
    teleports: tuple[Accepted, ...] = ()
    #: Whether its users can send teleports (XcmTeleportFilter).
    sends_teleports: bool
    execution_fees: ExecutionFees
    #: Where the facts were read.
    source: str


_POLKADOT = TrustFacts(
    kind="relay",
    native="0/Here",
    teleports=(Accepted(asset="0/Here", sender=Sender.ASSET_HUB),),
    sends_teleports=True,
    execution_fees=ExecutionFees.NATIVE,
    source="polkadot-fellows/runtimes@cb16c0820, relay/polkadot/src/xcm_config.rs",
)
_ASSET_HUB = TrustFacts(
    kind="asset_hub",
    native="1/Here",
    teleports=(
        Accepted(asset="1/Here", sender=Sender.RELAY),
        Accepted(asset="1/Parachain(*", sender=Sender.OWNER, decided_by="ForeignAssets.Reserves"),
    ),
    sends_teleports=True,
    execution_fees=ExecutionFees.POOLED,
    source="polkadot-fellows/runtimes@cb16c0820, system-parachains/asset-hubs/asset-hub-polkadot/src/xcm_config.rs",
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

#: The facts of each chain that is built in.
TRUST: Mapping[str, TrustFacts] = {
    "polkadot": _POLKADOT,
    "assetHub": _ASSET_HUB,
    "hydraDx": _HYDRATION,
    "kusama": replace(
        _POLKADOT, source="polkadot-fellows/runtimes@cb16c0820, relay/kusama/src/xcm_config.rs"
    ),
    "assetHub_kusama": replace(
        _ASSET_HUB,
        source="polkadot-fellows/runtimes@cb16c0820, system-parachains/asset-hubs/asset-hub-kusama/src/xcm_config.rs",
    ),
    "paseo": replace(
        _POLKADOT, source="not read: paseo-network/runtimes follows the configuration of Polkadot"
    ),
    "assetHub_paseo": replace(
        _ASSET_HUB, source="not read: paseo-network/runtimes follows the configuration of Polkadot"
    ),
}
#: The facts that a chain of config.toml declares with its role.  A parachain and a chain of contracts declare none.
_DECLARED: Mapping[str, TrustFacts] = {
    "relay": replace(_POLKADOT, source="the role in config.toml"),
    "asset_hub": replace(_ASSET_HUB, source="the role in config.toml"),
    "dex": replace(_HYDRATION, source="the role in config.toml"),
}


def trust_of(chain: "Chain") -> TrustFacts | None:
    """Return the facts of *chain*; None if they aren't known."""
    return TRUST.get(chain.name) or _DECLARED.get(chain.role)


def accepts_reserve(receiver: "Chain", identity: str, sender: "Chain", registry: "Registry") -> bool:
    """Tell whether *receiver* accepts the asset from *sender* as its reserve.

    *identity* is the asset's location seen from the relay chain (`chains.locations.absolute`).
    """
    facts = trust_of(receiver)
    return facts is not None and _accepts(facts.reserves, receiver, identity, sender, registry)


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


def _accepts(
    rows: tuple[Accepted, ...], receiver: "Chain", identity: str, sender: "Chain", registry: "Registry"
) -> bool:
    location = seen_from(identity, receiver.para_id)
    for row in rows:
        if row.decided_by or not matches(row.asset, location):
            continue
        if _is_sender(row.sender, receiver, identity, sender, registry):
            return True
    return False


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
    # The relay chain is nobody's reserve: its own asset is backed by the Asset Hub.
    home = chain_identity(sender)
    return bool(home) and (identity == home or identity.startswith(f"{home}/"))
