"""Assets in the asset trap of a chain: which events tell of them, and whether they are still there.

pallet-xcm keeps a count for each hash, blake2b-256 of the origin and the assets, both in the version of XCM that the runtime
writes (polkadot-sdk, pallet_xcm: `DropAssets::drop_assets`, read 2026-11-23).  Its event names all three.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.simulation.trapped_assets import split_origin
from scenarioctl.transactions.submission.arrivals import read_blocks
from scenarioctl.transactions.xcm_programs import XCM_PALLETS

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event

#: Blocks whose events are fetched in one exchange.
_FETCHED = 16


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
    def is_claimable(self) -> bool:
        """Whether an account of the chain itself can claim them there."""
        place, account = split_origin(self.event.fields["origin"])
        return bool(self.count and self.proven and account is not None and place == "0/Here")


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
    for start in range(numbers.start, numbers.stop, _FETCHED):
        for number, events in await read_blocks(client, range(start, min(start + _FETCHED, numbers.stop))):
            found += [
                (number, event)
                for event in events
                if event.pallet in XCM_PALLETS
                and event.name == "AssetsTrapped"
                and (account is None or split_origin(event.fields["origin"])[1] == account)
            ]
    table = await client.table()
    counts = await client.storages(
        [(event.pallet, "AssetTraps", (event.fields["hash"],)) for _, event in found]
    )
    return [
        AssetTrap(number=number, event=event, count=count, proven=_is_proven(table, event))
        for (number, event), count in zip(found, counts, strict=True)
    ]


def _is_proven(table: "RuntimeTable", event: "Event") -> bool:
    fields = event.fields
    expected = trap_hash(table, event.pallet, fields["origin"], fields["assets"])
    return expected is not None and fields["hash"] == expected
