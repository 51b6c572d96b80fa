"""The calls that send an asset to another chain, one form for each way, and the messages that they
cause."""

from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS, location_order
from scenarioctl.model.calls import Call
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.plan import Plan, shape_location
from scenarioctl.transactions.transfer.request import refusal
from scenarioctl.transactions.transfer.ways import TransferType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scenarioctl.chains.registry import Chain

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
