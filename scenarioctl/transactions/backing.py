"""Which chain backs an asset, and whether a message names that one: no runtime does that for us."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import absolute, write_location
from scenarioctl.transactions.arrival import INCOMING
from scenarioctl.transactions.findings import Findings, asset_at

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.dry_run import Hop


def check_backing(findings: Findings, hops: Sequence["Hop"], registry: "Registry", assets: "Assets") -> None:
    """Refuse what would go through over a chain that does not back the asset: no runtime does that for us."""
    judge = _Judge(findings, registry, assets)
    for hop in hops:
        message = hop.message
        if message is None or message.destination is None or message.first("Transact") is not None:
            continue
        for name, items in message.instructions:
            for item in items if name in INCOMING else ():
                judge.check(name, write_location(item["id"]), message.origin, message.destination)


class _Judge:
    def __init__(self, findings: Findings, registry: "Registry", assets: "Assets") -> None:
        self.findings = findings
        self.registry = registry
        self.assets = assets

    def check(self, name: str, place: str, origin: "Chain", destination: "Chain") -> None:
        hub = self.registry.sibling(destination, "asset_hub")
        if not place or hub is None:
            self.findings.open.append(
                f"{origin.name} sends an asset to {destination.name} of which it is not known here what chain backs it"
            )
            return
        identity = absolute(place, destination.para_id)
        backing = self._backing(identity, hub)
        label = self._label(identity, destination)
        ends = {para_name(origin), para_name(destination)}
        if name == "ReceiveTeleportedAsset":
            trusted = ends == {"", para_name(hub)} if identity == "" else backing in ends
            if not trusted:
                self.findings.refusals.append(
                    f"{label} would be teleported from {origin.name} to {destination.name}, and neither of them backs it"
                )
            return
        claimed = origin if name == "ReserveAssetDeposited" else destination
        if backing is None:
            self.findings.open.append(
                f"it is not known here what chain backs {label}, which leaves {origin.name}"
            )
        elif backing != para_name(claimed):
            keeper = self._named(backing, origin)
            self.findings.refusals.append(
                f"{label} would go from {origin.name} to {destination.name} with {claimed.name} as its reserve, but {keeper} backs it: no chain refuses that, and the backing would be in the wrong place"
            )

    def _backing(self, identity: str, hub: "Chain") -> str | None:
        """Return the chain that backs an asset, `Parachain(1000)`; None where that is not known."""
        if identity == "":
            # In November 2025 the reserve of the relay's asset moved to the Asset Hub.
            return para_name(hub)
        first = identity.partition("/")[0]
        return first if first.startswith("Parachain(") else None

    def _named(self, para: str, near: "Chain") -> str:
        for chain in self.registry.all():
            if chain.relay == near.relay and para_name(chain) == para:
                return chain.name
        return para

    def _label(self, identity: str, chain: "Chain") -> str:
        asset = asset_at(self.assets, chain, identity)
        return asset.symbol or asset.label if asset is not None else identity or "the relay's asset"


def para_name(chain: "Chain") -> str:
    return "" if chain.role == "relay" else f"Parachain({chain.para_id})"
