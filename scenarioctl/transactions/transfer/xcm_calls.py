"""The calls that send an asset to another chain, one form for each way, and the messages that they cause."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS, location_order, place_of, read_location
from scenarioctl.model.calls import Call
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.ways import Route, TransferType, location_on
from scenarioctl.transactions.transfer.xcm_versions import shape_location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Every message ends in one: the router sets it, and it weighs something.
_TOPIC = {"SetTopic": bytes(32)}
#: How a message begins, by the last transfer type on the way.
ARRIVES_BY: "Mapping[TransferType, str]" = {
    "Teleport": "ReceiveTeleportedAsset",
    "LocalReserve": "ReserveAssetDeposited",
    "DestinationReserve": "WithdrawAsset",
}


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
class TransferContext:
    """A transfer that passed the gate, with what its call is built from."""

    transfer: Transfer
    route: Route
    #: The runtime of the source.
    table: "RuntimeTable"
    #: Of XCM.
    version: int
    #: Set aside for the last hop of a route over another chain, raw.
    last_hop_fee: int = 0
    #: Sent beside the asset to pay on the destination; None if the asset pays itself.
    remote_fee: RemoteFee | None = None

    def location(self, text: str) -> Any:
        return shape_location(read_location(text), self.version)

    def versioned(self, value: Any) -> dict[str, Any]:
        return {f"V{self.version}": value}

    def asset(self, location: str, amount: int) -> dict[str, Any]:
        return {"id": self.asset_id(location), "fun": {"Fungible": amount}}

    def asset_id(self, location: str) -> Any:
        return {"Concrete": self.location(location)} if self.version == 3 else self.location(location)

    def asset_on(self, chain: "Chain") -> str:
        """Return the location of the asset as *chain* sees it."""
        return location_on(self.transfer, chain)

    def chain(self, chain: "Chain", viewer: "Chain") -> Any:
        """Return the location of *chain* as *viewer* sees it."""
        return self.location(place_of(chain, viewer))

    @property
    def beneficiary(self) -> Any:
        transfer = self.transfer
        account = transfer.destination.account_format.junction(transfer.beneficiary)
        return shape_location({"parents": 0, "interior": {"X1": [account]}}, self.version)

    @property
    def deposit(self) -> dict[str, Any]:
        # To Ethereum over the Asset Hub, what pays the fee stays there.
        arrives_too = self.remote_fee is not None and not self.route.goes_home_over_hub
        count = 2 if arrives_too else 1
        return {"DepositAsset": {"assets": _all_counted(count), "beneficiary": self.beneficiary}}


def build_call(context: TransferContext) -> Call:
    """Return the call for the way in the context."""
    route = context.route
    if route.via is None and route.first == "Teleport":
        return _teleport(context)
    if route.via is None:
        return build_candidate(context)
    if route.goes_home_over_hub:
        return _type_and_then(context, route.via, route.first, *_send_home(context, route.via))
    if route.needs_last_hop_fee:
        return _type_and_then(context, route.via, route.first, _send_onward(context, route.via))
    # The runtime writes both messages, and divides the fee between them.
    remote = {"RemoteReserve": context.versioned(context.chain(route.via, context.transfer.source))}
    return _type_and_then(context, context.transfer.destination, remote, context.deposit)


def build_candidate(context: TransferContext) -> Call:
    """Return the call that names the transfer type, and deposits the asset behind it."""
    if context.route.via is not None:
        return build_call(context)
    return _type_and_then(context, context.transfer.destination, context.route.first, context.deposit)


def last_hop_message(context: TransferContext) -> dict[str, Any]:
    """Return the message of the last hop, as a VersionedXcm to be weighed."""
    destination, onward = context.transfer.destination, context.route.onward
    location, amount = context.asset_on(destination), context.transfer.amount
    arrives_by = ARRIVES_BY[onward or context.route.first]
    incoming = {arrives_by: [context.asset(location, amount)]}
    return context.versioned([incoming, "ClearOrigin", *_pay_and_deposit(context, location, amount), _TOPIC])


def remote_fee_message(context: TransferContext) -> dict[str, Any]:
    """Return the message in which an asset arrives with the one beside it that pays, to be weighed."""
    fee = _required_fee(context)
    sent = [
        (fee.arriving, fee.amount),
        (context.asset_on(context.transfer.destination), context.transfer.amount),
    ]
    incoming = {ARRIVES_BY[fee.transfer_type]: [context.asset(*item) for item in in_order(sent)]}
    pay = _pay_and_deposit(context, fee.arriving, fee.amount)
    return context.versioned([incoming, "ClearOrigin", *pay, _TOPIC])


def bridge_message(context: TransferContext) -> dict[str, Any]:
    """Return the message that the source sends over the bridge, as a VersionedXcm."""
    destination, first = context.transfer.destination, context.route.first
    location, amount = context.asset_on(destination), context.transfer.amount
    sent = [context.asset(location, amount)]
    arrival: list[Any] = [{ARRIVES_BY[first]: sent}, "ClearOrigin"]
    if context.route.goes_home_over_hub:
        return context.versioned([*arrival, *_pay_and_deposit(context, location, 1), _TOPIC])
    beside = context.remote_fee
    if beside is None:
        return context.versioned([*arrival, *_pay_and_deposit(context, location, amount), _TOPIC])
    fee = context.asset(beside.arriving, beside.amount)
    buy, deposit = _pay_and_deposit(context, beside.arriving, beside.amount)
    if first == "LocalReserve":
        # The asset of a whole network comes before everything else beyond it.
        return context.versioned(
            [{"ReserveAssetDeposited": [fee, *sent]}, "ClearOrigin", buy, deposit, _TOPIC]
        )
    return context.versioned([{"ReserveAssetDeposited": [fee]}, buy, *arrival, deposit, _TOPIC])


def hub_message(context: TransferContext, via: "Chain") -> dict[str, Any]:
    """Return the message with which *via*, the Asset Hub, is asked to send the asset on to Ethereum, as a VersionedXcm."""
    pays = _required_fee(context)
    fee = context.asset(pays.location, pays.amount)
    incoming = {"WithdrawAsset": [fee, context.asset(context.asset_on(via), context.transfer.amount)]}
    buy = {"BuyExecution": {"fees": fee, "weight_limit": "Unlimited"}}
    return context.versioned([incoming, "ClearOrigin", buy, *_send_home(context, via), _TOPIC])


def _teleport(context: TransferContext) -> Call:
    transfer = context.transfer
    if context.remote_fee is not None:
        raise RuntimeError(f"{context.remote_fee.location} can't go along with a teleport by this call")
    method = "limited_teleport_assets"
    arguments = {
        "dest": context.versioned(context.chain(transfer.destination, transfer.source)),
        "beneficiary": context.versioned(context.beneficiary),
        "assets": context.versioned([context.asset(transfer.asset.location, transfer.amount)]),
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    return Call(pallet=xcm_pallet(context, method), method=method, args=arguments)


def _type_and_then(
    context: TransferContext,
    to: "Chain",
    transfer_type: "TransferType | Mapping[str, Any]",
    *on_arrival: "Mapping[str, Any]",
) -> Call:
    transfer = context.transfer
    method = "transfer_assets_using_type_and_then"
    sent = [(transfer.asset.location, transfer.amount)]
    fee_location, fee_type = transfer.asset.location, transfer_type
    fee = context.remote_fee
    if fee is not None:
        sent = in_order([*sent, (fee.location, fee.amount)])
        fee_location, fee_type = fee.location, fee.transfer_type
    arguments = {
        "dest": context.versioned(context.chain(to, transfer.source)),
        "assets": context.versioned([context.asset(*item) for item in sent]),
        "assets_transfer_type": transfer_type,
        "remote_fees_id": context.versioned(context.asset_id(fee_location)),
        "fees_transfer_type": fee_type,
        "custom_xcm_on_dest": context.versioned(list(on_arrival)),
        "weight_limit": "Unlimited",
    }
    return Call(pallet=xcm_pallet(context, method), method=method, args=arguments)


def _send_onward(context: TransferContext, via: "Chain") -> dict[str, Any]:
    """Return the instruction with which *via* sends everything on to the destination."""
    destination = context.transfer.destination
    name = "InitiateTeleport" if context.route.onward == "Teleport" else "DepositReserveAsset"
    program = _pay_and_deposit(context, context.asset_on(destination), context.last_hop_fee)
    return {name: {"assets": _all_counted(1), "dest": context.chain(destination, via), "xcm": program}}


def _send_home(context: TransferContext, via: "Chain") -> list[dict[str, Any]]:
    """Return the program with which *via* sends the asset home to Ethereum; whatever doesn't go there is the sender's."""
    destination, sender = context.transfer.destination, context.transfer.sender
    if sender is None:
        raise RuntimeError("a transfer over the Asset Hub to Ethereum has no sender")
    _required_fee(context)
    back = shape_location(
        {"parents": 0, "interior": {"X1": [via.account_format.junction(sender)]}}, context.version
    )
    token = {"id": context.asset_id(context.asset_on(via)), "fun": "Fungible"}
    home = {
        "assets": {"Wild": {"AllOf": token}},
        "reserve": context.chain(destination, via),
        "xcm": _pay_and_deposit(context, context.asset_on(destination), 1),
    }
    return [
        {"SetAppendix": [{"DepositAsset": {"assets": {"Wild": "All"}, "beneficiary": back}}]},
        {"InitiateReserveWithdraw": home},
    ]


def _pay_and_deposit(context: TransferContext, location: str, fee: int) -> list[dict[str, Any]]:
    buy = {"BuyExecution": {"fees": context.asset(location, fee), "weight_limit": "Unlimited"}}
    return [buy, context.deposit]


def _required_fee(context: TransferContext) -> RemoteFee:
    if context.remote_fee is None:
        raise RuntimeError(f"nothing goes along with {context.transfer.asset.label} to pay")
    return context.remote_fee


def _all_counted(count: int) -> dict[str, Any]:
    """Return the filter for everything that arrived, which is so many assets."""
    return {"Wild": {"AllCounted": count}}


def in_order(assets: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return assets in the order of their locations: XCM takes them in no other."""
    return sorted(assets, key=lambda item: location_order(item[0]))


def xcm_pallet(context: TransferContext, method: str) -> str:
    """Return the name of this runtime's pallet that has *method*."""
    table = context.table
    for pallet in XCM_PALLETS:
        if table.has_call(pallet, method):
            return pallet
    raise refusal(
        context.transfer, f"the runtime {table.spec_name} {table.spec_version} has no call {method}"
    )


def build_claim(chain: "Chain", pallet: str, assets: Any, beneficiary: bytes) -> Call:
    """Return the call of the XCM *pallet* of *chain* that claims *assets*, a VersionedAssets, for *beneficiary*.

    The trap keeps a hash of the assets in one version of XCM, so the call names them in that version.
    """
    version = next(iter(assets))
    account = {"parents": 0, "interior": {"X1": [chain.account_format.junction(beneficiary)]}}
    location = shape_location(account, int(version[1:]))
    return Call(
        pallet=pallet,
        method="claim_assets",
        args={"assets": assets, "beneficiary": {version: location}},
    )
