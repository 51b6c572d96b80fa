"""Assets in the asset trap of a chain: which events tell of them, and whether they are still there.

pallet-xcm keeps a count for each hash, blake2b-256 of the origin and the assets, both in the version of XCM that the runtime
writes (polkadot-sdk, pallet_xcm: `DropAssets::drop_assets`, read 2026-11-23).  Its event names all three.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import split_account
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.simulation.dry_run import try_call
from scenarioctl.transactions.submission.arrivals import read_blocks
from scenarioctl.transactions.transfer.claim_call import build_claim

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.runtime_api import Clients


@dataclass(frozen=True, kw_only=True)
class AssetTrap:
    """Assets that one event says were trapped, and what the state says now."""

    #: The block of the event.
    number: int
    #: The event itself: `hash`, `origin` and `assets` are its fields.
    event: "Event"
    #: How many times the same assets of the same origin are in the trap now; 0 if they were claimed.
    count: int
    #: Whether the hash follows from the origin and the assets, in the versions that the runtime reads now.
    proven: bool

    @property
    def hash(self) -> str:
        data: bytes = self.event.fields["hash"]
        return "0x" + data.hex()

    @property
    def claimant(self) -> bytes | None:
        """The account of the chain itself that may claim them there; None if they are gone, or no such account's.

        That the chain lets it claim them, only a dry run tells (`try_claims`): the trap hashes the network of its origin
        too, which a runtime may leave out or write for its signers, and metadata doesn't tell which.
        """
        place, account = split_account(self.event.fields["origin"])
        return account if self.count and self.proven and place == "0/Here" else None


def trap_hash(table: "RuntimeTable", pallet: str, origin: Any, assets: Any) -> bytes | None:
    """Return the hash under which the trap keeps *assets*, a VersionedAssets, of *origin*, a Location.

    None if *table* has no such versions.
    """
    types = {field.name: field.type_id for field in table.call_fields(pallet, "claim_assets")}
    newest = max(table.variants(types["beneficiary"]), key=lambda name: int(name[1:]))
    try:
        # The trap hashes a Location, without the byte of its version.
        location = table.encode(types["beneficiary"], {newest: origin})[1:]
        data = location + table.encode(types["assets"], assets)
    except InvalidRequest:
        return None
    return blake2b(data, digest_size=32).digest()


async def find_traps(client: "Client", numbers: range, account: bytes | None = None) -> list[AssetTrap]:
    """Return what was trapped in the blocks with *numbers*, in their order; with *account*, only what it can claim from anywhere."""
    found: list[tuple[int, Event]] = []
    async for number, events in read_blocks(client, numbers):
        found += [
            (number, event)
            for event in events
            if event.is_of_xcm("AssetsTrapped")
            and (account is None or split_account(event.fields["origin"])[1] == account)
        ]
    table = await client.table()
    counts = await client.storages(
        [(event.pallet, "AssetTraps", (event.fields["hash"],)) for _, event in found]
    )
    return [
        AssetTrap(number=number, event=event, count=count, proven=_is_proven(table, event))
        for (number, event), count in zip(found, counts, strict=True)
    ]


async def try_claims(
    clients: "Clients", registry: "Registry", chain: "Chain", traps: Sequence[AssetTrap], *, most: int
) -> dict[str, "DryRunResult"]:
    """Return what claims of the first *most* different *traps* by their claimants would do on *chain* now, by hash."""
    tried: dict[str, DryRunResult] = {}
    for trap in traps:
        if trap.claimant is not None and trap.hash not in tried and len(tried) < most:
            claim = build_claim(chain, trap.event.pallet, trap.event.fields["assets"], trap.claimant)
            tried[trap.hash] = await try_claim(clients, registry, chain, trap, claim)
    return tried


async def try_claim(
    clients: "Clients", registry: "Registry", chain: "Chain", trap: AssetTrap, claim: "Call"
) -> "DryRunResult":
    """Return what *claim* by the claimant of *trap* would do on *chain* now: a failure if it claims nothing, or others."""
    if trap.claimant is None:
        raise ValueError(f"no account claims {trap.hash}")
    result = await try_call(clients, registry, chain, claim, trap.claimant)
    claimed = any(
        event.pallet == trap.event.pallet
        and event.name == "AssetsClaimed"
        and event.fields["hash"] == trap.event.fields["hash"]
        for event in result.events
    )
    if result.failure or result.unknown:
        return result
    if any(event.pallet == trap.event.pallet and event.name == "AssetsTrapped" for event in result.events):
        return replace(result, failure=f"{chain.name} traps assets again")
    if claimed:
        return result
    # The same assets in the name of the same account, whose origin has its network once and once not.
    return replace(result, failure=f"{chain.name} takes them from another entry of the trap")


def _is_proven(table: "RuntimeTable", event: "Event") -> bool:
    fields = event.fields
    expected = trap_hash(table, event.pallet, fields["origin"], fields["assets"])
    return expected is not None and fields["hash"] == expected
