"""The plan of a transfer between two chains: its way, its version of XCM, and who pays on it with
what.

Its call is built from nothing else.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS, place_of, read_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.ways import Route, TransferType, location_on

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


#: The versions whose shapes are known here.
XCM_VERSIONS = (5, 4, 3)


def choose_xcm_version(
    transfer: Transfer, table: "RuntimeTable", destination_table: "RuntimeTable | None" = None
) -> int:
    """Return the version that *transfer* names, else the highest one that both runtimes know."""
    known = known_xcm_versions(table).intersection(XCM_VERSIONS)
    if destination_table is not None:
        known &= known_xcm_versions(destination_table)
    if not known:
        raise refusal(
            transfer,
            "the runtimes of both chains have none of the XCM versions 3, 4 and 5 in common",
        )
    wanted = transfer.xcm_version
    if wanted is None:
        return max(known)
    if wanted not in known:
        raise InvalidRequest(
            field="xcm_version",
            problem=(
                f"{wanted} is not supported by both {transfer.source.title} and "
                f"{transfer.destination.title}"
            ),
            expected=f"one of: {', '.join(map(str, sorted(known)))}",
        )
    return wanted


def known_xcm_versions(table: "RuntimeTable") -> frozenset[int]:
    """Return the versions of VersionedLocation, which `limited_teleport_assets` takes on every
    chain with XCM."""
    for pallet in XCM_PALLETS:
        if table.has_call(pallet, "limited_teleport_assets"):
            fields = table.call_fields(pallet, "limited_teleport_assets")
            dest = next(field for field in fields if field.name == "dest")
            names = table.variants(dest.type_id)
            return frozenset(int(name[1:]) for name in names if name[1:].isdigit())
    return frozenset()


def shape_location(location: dict[str, Any], version: int) -> dict[str, Any]:
    """Return *location* as *version* writes it: X1 is a list since V4."""
    inner = location["interior"]
    if version == 3 and isinstance(inner, dict) and "X1" in inner:
        return {"parents": location["parents"], "interior": {"X1": inner["X1"][0]}}
    return location


def location_of_type(table: "RuntimeTable", type_id: int, text: str) -> dict[str, Any]:
    """Return the location that *text* writes, shaped for a Location type of the runtime: of V3, or
    a later one."""
    version = 3 if "::v3::" in table.types[type_id][0] else XCM_VERSIONS[0]
    return shape_location(read_location(text), version)


@dataclass(frozen=True, kw_only=True)
class RemoteFee:
    """What goes along with the asset, and pays for execution on the destination."""

    #: Its location as the source sees it, and as the destination does.
    location: str
    arriving: str
    #: Raw.
    amount: int
    #: How it goes there.
    transfer_type: TransferType


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A transfer on a way that the reserve gate found, or on one that only a check may open."""

    transfer: Transfer
    route: Route
    #: The runtime of the source.
    table: "RuntimeTable"
    #: Of XCM.
    version: int
    #: The runtime that reads the message, if it is known.
    destination_table: "RuntimeTable | None" = None
    #: Set aside for the last hop of a route over another chain, raw; None if no chain was asked for
    #: it.
    last_hop_fee: int | None = None
    #: Sent beside the asset to pay on the way, an asset of the source and the raw amount; None if
    #: the asset itself pays.
    beside: "tuple[Asset, int] | None" = None
    #: Whether it is known that the destination takes its fee in what pays.
    fee_settled: bool = False
    #: Whether the asset is known to keep an account on the destination alive by itself.
    sufficient: bool = False
    #: What the way costs, one sentence each.
    notes: tuple[str, ...] = ()

    @property
    def remote_fee(self) -> RemoteFee | None:
        if self.beside is None:
            return None
        transfer, (asset, amount) = self.transfer, self.beside
        if transfer.remote_fee_asset is not None:
            transfer_type = self.route.first
        else:
            # The Asset Hub is the reserve of the relay chain's asset: for every parachain, and for
            # the Asset Hub beyond the bridge.
            transfer_type = "LocalReserve" if is_bridged(transfer) else "DestinationReserve"
        return RemoteFee(
            location=asset.location,
            arriving=self.other_on(transfer.destination, asset.location),
            amount=amount,
            transfer_type=transfer_type,
        )

    def location(self, text: str) -> Any:
        return shape_location(read_location(text), self.version)

    def versioned(self, value: Any) -> dict[str, Any]:
        return {f"V{self.version}": value}

    def asset(self, location: str, amount: int) -> dict[str, Any]:
        return {"id": self.asset_id(location), "fun": {"Fungible": amount}}

    def asset_id(self, location: str) -> Any:
        return (
            {"Concrete": self.location(location)} if self.version == 3 else self.location(location)
        )

    def asset_on(self, chain: "Chain") -> str:
        """Return the location of the asset as *chain* sees it."""
        return location_on(self.transfer, chain)

    def other_on(self, chain: "Chain", location: str) -> str:
        """Return what the source sees at *location* as *chain* sees it."""
        asset = replace(self.transfer.asset, location=location)
        return location_on(replace(self.transfer, asset=asset), chain)

    def chain(self, chain: "Chain", viewer: "Chain") -> Any:
        """Return the location of *chain* as *viewer* sees it."""
        return self.location(place_of(chain, viewer))

    def account(self, chain: "Chain", account: bytes) -> Any:
        """Return the location of *account* as its *chain* sees it."""
        interior = {"X1": [chain.account_format.junction(account)]}
        return shape_location({"parents": 0, "interior": interior}, self.version)

    @property
    def beneficiary(self) -> Any:
        return self.account(self.transfer.destination, self.transfer.beneficiary)


def make_plan(
    transfer: Transfer,
    route: Route,
    table: "RuntimeTable",
    destination_table: "RuntimeTable | None" = None,
) -> Plan:
    """Return the plan of *transfer* by *route*, in the highest version of XCM that both runtimes
    know; nothing in it is priced."""
    version = choose_xcm_version(transfer, table, destination_table)
    return Plan(
        transfer=transfer,
        route=route,
        table=table,
        version=version,
        destination_table=destination_table,
    )
