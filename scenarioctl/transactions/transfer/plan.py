"""The plan of a transfer between two chains, and the XCM calls that carry it out.

Its call is built from nothing else.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.locations import XCM_PALLETS, location_order, place_of, read_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.transfer.request import Transfer, is_bridged, refusal
from scenarioctl.transactions.transfer.ways import Route, TransferType, location_on

if TYPE_CHECKING:
    from collections.abc import Mapping

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
            names = table.types.variants(dest.type_id)
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


class RemoteFee(NamedTuple):
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
        asset = self.transfer.asset._replace(location=location)
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


#: Every message ends in one: the router sets it, and it weighs something.
_TOPIC = {"SetTopic": bytes(32)}
#: How a message begins, by the last transfer type on the way.
ARRIVES_BY: "Mapping[TransferType, str]" = {
    "Teleport": "ReceiveTeleportedAsset",
    "LocalReserve": "ReserveAssetDeposited",
    "DestinationReserve": "WithdrawAsset",
}
#: How the chain between sends an asset on, and how that instruction names the destination.
_ONWARD: "Mapping[TransferType, tuple[str, str]]" = {
    "Teleport": ("InitiateTeleport", "dest"),
    "LocalReserve": ("DepositReserveAsset", "dest"),
    "DestinationReserve": ("InitiateReserveWithdraw", "reserve"),
}


def build_call(plan: Plan) -> Call:
    """Return the call for the way of *plan*."""
    route = plan.route
    if route.via is None and route.first == "Teleport":
        return _teleport(plan)
    if route.via is None:
        return build_candidate(plan)
    if route.needs_last_hop_fee:
        return _type_and_then(plan, route.via, route.first, _send_onward(plan, route.via))
    # The runtime writes both messages, and divides the fee between them.
    remote = {"RemoteReserve": plan.versioned(plan.chain(route.via, plan.transfer.source))}
    return _type_and_then(plan, plan.transfer.destination, remote, _deposit(plan))


def build_candidate(plan: Plan) -> Call:
    """Return the call that names the transfer type, and deposits the asset behind it."""
    if plan.route.via is not None:
        return build_call(plan)
    return _type_and_then(plan, plan.transfer.destination, plan.route.first, _deposit(plan))


def arriving_message(plan: Plan) -> dict[str, Any]:
    """Return the message in which the asset arrives on the destination, and what goes along with
    it, as a VersionedXcm.

    It is weighed, and it is what the source sends over a bridge.
    """
    transfer, route = plan.transfer, plan.route
    location = plan.asset_on(transfer.destination)
    beside = plan.remote_fee
    arrives_by = ARRIVES_BY[route.onward or route.first]
    sent = (arrives_by, location, transfer.amount)
    if beside is None:
        begin = _begin(plan, sent, ("", location, transfer.amount))
    else:
        fee_arrives_by = ARRIVES_BY[beside.transfer_type]
        if not is_bridged(transfer):
            sent = (fee_arrives_by, location, transfer.amount)
        begin = _begin(plan, sent, (fee_arrives_by, beside.arriving, beside.amount))
    return plan.versioned([*begin, _deposit(plan), _TOPIC])


#: How an asset comes ("" for one that is there already), its location, and how much.
_Item = tuple[str, str, int]


def _begin(plan: Plan, sent: _Item, pays: _Item) -> list[Any]:
    """Return how a message begins that brings *sent*, and *pays* for its execution out of that or
    with something beside it."""
    arrives_by, fee_arrives_by = sent[0], pays[0]
    buy = {"BuyExecution": {"fees": plan.asset(*pays[1:]), "weight_limit": "Unlimited"}}
    if fee_arrives_by in ("", arrives_by):
        items = [sent[1:], pays[1:]] if fee_arrives_by else [sent[1:]]
        return [{arrives_by: [plan.asset(*item) for item in in_order(items)]}, "ClearOrigin", buy]
    fee, incoming = {fee_arrives_by: [plan.asset(*pays[1:])]}, {arrives_by: [plan.asset(*sent[1:])]}
    return [fee, buy, incoming, "ClearOrigin"]


def _teleport(plan: Plan) -> Call:
    transfer = plan.transfer
    if plan.remote_fee is not None:
        raise RuntimeError(
            f"{plan.remote_fee.location} can't go along with a teleport by this call"
        )
    method = "limited_teleport_assets"
    arguments = {
        "dest": plan.versioned(plan.chain(transfer.destination, transfer.source)),
        "beneficiary": plan.versioned(plan.beneficiary),
        "assets": plan.versioned([plan.asset(transfer.asset.location, transfer.amount)]),
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    return Call(pallet=xcm_pallet(plan, method), method=method, args=arguments)


def _type_and_then(
    plan: Plan,
    to: "Chain",
    transfer_type: "TransferType | Mapping[str, Any]",
    *on_arrival: "Mapping[str, Any]",
) -> Call:
    transfer = plan.transfer
    method = "transfer_assets_using_type_and_then"
    sent = [(transfer.asset.location, transfer.amount)]
    fee_location, fee_type = transfer.asset.location, transfer_type
    fee = plan.remote_fee
    if fee is not None:
        sent = in_order([*sent, (fee.location, fee.amount)])
        fee_location, fee_type = fee.location, fee.transfer_type
    arguments = {
        "dest": plan.versioned(plan.chain(to, transfer.source)),
        "assets": plan.versioned([plan.asset(*item) for item in sent]),
        "assets_transfer_type": transfer_type,
        "remote_fees_id": plan.versioned(plan.asset_id(fee_location)),
        "fees_transfer_type": fee_type,
        "custom_xcm_on_dest": plan.versioned(list(on_arrival)),
        "weight_limit": "Unlimited",
    }
    return Call(pallet=xcm_pallet(plan, method), method=method, args=arguments)


def _send_onward(plan: Plan, via: "Chain") -> dict[str, Any]:
    """Return the instruction with which *via* sends everything on to the destination."""
    destination = plan.transfer.destination
    name, to = _ONWARD[plan.route.onward or plan.route.first]
    if plan.last_hop_fee is None:
        raise RuntimeError(f"nothing is set aside for the last hop of {plan.transfer.asset.label}")
    fees = {
        "fees": plan.asset(plan.asset_on(destination), plan.last_hop_fee),
        "weight_limit": "Unlimited",
    }
    program = [{"BuyExecution": fees}, _deposit(plan)]
    return {name: {"assets": _all_counted(1), to: plan.chain(destination, via), "xcm": program}}


def _deposit(plan: Plan) -> dict[str, Any]:
    count = 1 if plan.beside is None else 2
    return {"DepositAsset": {"assets": _all_counted(count), "beneficiary": plan.beneficiary}}


def _all_counted(count: int) -> dict[str, Any]:
    """Return the filter for everything that arrived, which is so many assets."""
    return {"Wild": {"AllCounted": count}}


def in_order(assets: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return assets in the order of their locations: XCM takes them in no other."""
    return sorted(assets, key=lambda item: location_order(item[0]))


def xcm_pallet(plan: Plan, method: str) -> str:
    """Return the name of this runtime's pallet that has *method*."""
    table = plan.table
    for pallet in XCM_PALLETS:
        if table.has_call(pallet, method):
            return pallet
    raise refusal(
        plan.transfer, f"the runtime {table.spec_name} {table.spec_version} has no call {method}"
    )


def build_claim(chain: "Chain", pallet: str, assets: Any, beneficiary: bytes) -> Call:
    """Return the call of the XCM *pallet* of *chain* that claims *assets*, a VersionedAssets, for
    *beneficiary*.

    The trap keeps a hash of the assets in one version of XCM, so the call names them in that
    version.
    """
    version = next(iter(assets))
    account = {"parents": 0, "interior": {"X1": [chain.account_format.junction(beneficiary)]}}
    location = shape_location(account, int(version[1:]))
    return Call(
        pallet=pallet,
        method="claim_assets",
        args={"assets": assets, "beneficiary": {version: location}},
    )
