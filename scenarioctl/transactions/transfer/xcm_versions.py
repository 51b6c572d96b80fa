"""The versions of XCM that are known here, and what differs between them."""

from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS, read_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.request import Transfer, refusal

if TYPE_CHECKING:
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
            transfer, "the runtimes of both chains have none of the XCM versions 3, 4 and 5 in common"
        )
    wanted = transfer.xcm_version
    if wanted is None:
        return max(known)
    if wanted not in known:
        raise InvalidRequest(
            field="xcm_version",
            problem=f"{wanted} is not supported by both {transfer.source.name} and {transfer.destination.name}",
            expected=f"one of: {', '.join(map(str, sorted(known)))}",
        )
    return wanted


def known_xcm_versions(table: "RuntimeTable") -> frozenset[int]:
    """Return the versions of VersionedLocation, which `limited_teleport_assets` takes on every chain with XCM."""
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
    """Return the location that *text* writes, shaped for a Location type of the runtime: of V3, or a later one."""
    version = 3 if "::v3::" in table.types[type_id][0] else XCM_VERSIONS[0]
    return shape_location(read_location(text), version)
