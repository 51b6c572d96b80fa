"""Which chain backs an asset, and whether a program names that one: no runtime does that for us."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import absolute, across, write_location
from scenarioctl.chains.trust import foreign_reserve, is_beyond_bridge
from scenarioctl.transactions.simulation.findings import Findings, asset_at
from scenarioctl.transactions.transfer.bridges import bridge_type
from scenarioctl.transactions.xcm_instructions import kind_of
from scenarioctl.transactions.xcm_programs import find_chain, onward_assets, para_name

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.trial import Trial
    from scenarioctl.transactions.xcm_programs import Instruction


def check_reserves(trial: "Trial") -> None:
    """Refuse what would go through over a chain that does not back the asset, whatever else a program holds."""
    judge = _ReserveCheck(trial.findings, trial.assets)
    for instruction in trial.instructions:
        judge.check_incoming(instruction)
        judge.check_outgoing(instruction)


@dataclass
class _ReserveCheck:
    findings: Findings
    assets: "Assets"

    def check_incoming(self, instruction: "Instruction") -> None:
        origin, chain = instruction.origin, instruction.chain
        # That a message goes to no chain of the registry is told where it is followed.
        if not kind_of(instruction.name).brings or origin is None or chain is None:
            return
        # An account that withdraws its own assets says nothing of who backs them.
        if instruction.name == "WithdrawAsset" and not instruction.as_chain:
            return
        for item in instruction.fields:
            place = write_location(item["id"])
            identity = absolute(place, chain.para_id) if place else None
            self._check(instruction.name, identity, origin, chain)

    def check_outgoing(self, instruction: "Instruction") -> None:
        chain = instruction.chain
        if chain is None:
            return
        for onward in onward_assets(self.assets.registry, instruction):
            if onward.assets is None:
                # What a wild filter sends on stands in the message that it sends; of what did not run there is none.
                if instruction.on_error:
                    self.findings.unknowns.append(
                        f"an error handler on {chain.name} sends assets to another chain, and no dry run reaches it"
                    )
                continue
            for item in onward.assets:
                place = write_location(item["id"])
                identity = absolute(place, chain.para_id) if place else None
                there = onward.destination
                if (
                    identity is not None
                    and there is not None
                    and is_beyond_bridge(chain, there, self.assets.registry)
                ):
                    identity = across(identity, chain.consensus, there.consensus)
                self._check(onward.arrives_as, identity, chain, there)

    def _check(self, name: str, identity: str | None, origin: "Chain", destination: "Chain | None") -> None:
        """Judge assets that come from *origin* to *destination* by the instruction *name*.

        *identity* is seen from the relay chain of *destination*.
        """
        if destination is not None and destination.is_ethereum and identity is not None:
            self._check_bridged(name, identity, origin, destination)
            return
        hub = None if destination is None else self.assets.registry.asset_hub(destination)
        if destination is None or hub is None or identity is None:
            where = "a destination that is not in the registry" if destination is None else destination.name
            self.findings.unknowns.append(
                f"{origin.name} sends an asset to {where}, and it is unknown which chain backs that asset"
            )
            return
        backing = self._backing(identity, hub)
        label = self._label(identity, destination)
        if origin.relay != destination.relay:
            self._check_bridged(name, identity, origin, destination)
            return
        ends = {para_name(origin), para_name(destination)}
        if name == "ReceiveTeleportedAsset":
            if identity == "":
                trusted = all(self._takes_teleports(each, hub) for each in (origin, destination))
            else:
                # What came over a bridge is never teleported among the chains that it came to.
                trusted = backing in ends and not identity.startswith("../")
            if not trusted:
                self.findings.refusals.append(
                    f"{label} would be teleported from {origin.name} to {destination.name}, but neither of them backs it"
                )
            return
        claimed = origin if name == "ReserveAssetDeposited" else destination
        if backing is None:
            self.findings.unknowns.append(
                f"{label} leaves {origin.name}, but it is unknown which chain backs it"
            )
        elif backing != para_name(claimed):
            keeper = find_chain(self.assets.registry, origin, backing)
            self.findings.refusals.append(
                f"{label} would go from {origin.name} to {destination.name} with {claimed.name} as its reserve, but {keeper.name if keeper is not None else backing} backs it: no chain refuses this, and the backing would end up in the wrong place"
            )

    def _takes_teleports(self, chain: "Chain", hub: "Chain") -> bool:
        """Tell whether *chain* takes the relay's asset as a teleport: the relay chain and its system parachains do."""
        return chain.relay == hub.relay and (chain == hub or chain.role in ("relay", "system"))

    def _check_bridged(self, name: str, identity: str, origin: "Chain", destination: "Chain") -> None:
        """Judge what crosses a bridge; *identity* is seen from the relay chain of *destination*."""
        label = self._label(identity, destination)
        at_home = across(identity, destination.consensus, origin.consensus)
        crossing = bridge_type(origin, destination, at_home, self.assets.registry)
        if crossing is None:
            self.findings.unknowns.append(
                f"{label} leaves {origin.name} over a bridge, but it is unknown which chain backs it"
            )
            return
        is_backed_by_origin = crossing == "LocalReserve"
        if name == "ReceiveTeleportedAsset" or is_backed_by_origin != (name == "ReserveAssetDeposited"):
            keeper = origin if is_backed_by_origin else destination
            self.findings.refusals.append(
                f"{label} would go over a bridge from {origin.name} to {destination.name} in a form ({name}) that is wrong for an asset that {keeper.name} backs: it would be lost"
            )

    def _backing(self, identity: str, hub: "Chain") -> str | None:
        """Return the chain that backs an asset, `Parachain(1000)`; None where that is not known."""
        if identity == "":
            # In November 2025 the reserve of the relay's asset moved to the Asset Hub.
            return para_name(hub)
        if foreign_reserve(hub, identity):
            return para_name(hub)
        first = identity.partition("/")[0]
        return first if first.startswith("Parachain(") else None

    def _label(self, identity: str, chain: "Chain") -> str:
        asset = asset_at(self.assets, chain, identity)
        return asset.display_name if asset is not None else identity or "the relay chain's asset"
