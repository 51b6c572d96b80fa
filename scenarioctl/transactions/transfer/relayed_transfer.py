"""The XCM programs of Snowbridge's second protocol, which bring Ether for a relayer.

A program of the sender's own runs on the Asset Hub: it pays there in the native asset, and sends the rest to Ethereum.  The
forms are those of Snowbridge's own SDK (Snowfork/snowbridge 7f9f3f078, web/packages/api/src/xcmbuilders/toEthereum), and of
the converter of its Bridge Hub, which reads no other.
"""

from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import interior, junctions_of, place_of, read_location, write_location
from scenarioctl.model.calls import Call
from scenarioctl.transactions.transfer.xcm_calls import ARRIVES_BY, in_order, xcm_pallet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scenarioctl.transactions.transfer.xcm_calls import TransferContext

#: XCM has had the instructions since then.
XCM_VERSION = 5
#: The asset that pays on the Asset Hub.
_NATIVE = "1/Here"
#: The native asset, Ether, and what is sent.
_EVERYTHING = {"Wild": {"AllCounted": 3}}
#: How `InitiateTransfer` names a way for assets.
_FILTERS = {"LocalReserve": "ReserveDeposit", "DestinationReserve": "ReserveWithdraw"}


def relayed_call(context: "TransferContext", fees: int, max_weight: "Mapping[str, int]") -> Call:
    """Return the call of the program that spends up to *fees* on the source, in its native asset."""
    arguments = {
        "message": {f"V{XCM_VERSION}": relayed_program(context, fees)},
        "max_weight": dict(max_weight),
    }
    return Call(pallet=xcm_pallet(context, "execute"), method="execute", args=arguments)


def relayed_program(context: "TransferContext", fees: int) -> list[Any]:
    """Return what the sender's account executes on the source, and gets back what it leaves of *fees*."""
    transfer = context.transfer
    relayer_fee, account = _relayed(context)
    ether = write_location(context.chain(transfer.destination, transfer.source))
    withdrawn = {_NATIVE: fees, ether: relayer_fee}
    withdrawn[transfer.asset.location] = withdrawn.get(transfer.asset.location, 0) + transfer.amount
    ordered = in_order(list(withdrawn.items()))
    sender = {"parents": 0, "interior": {"X1": [transfer.source.account_format.junction(account)]}}
    way = _FILTERS[context.route.first]
    return [
        {"WithdrawAsset": [context.asset(*item) for item in ordered]},
        {"PayFees": {"asset": context.asset(_NATIVE, fees)}},
        {"SetAppendix": ["RefundSurplus", {"DepositAsset": {"assets": _EVERYTHING, "beneficiary": sender}}]},
        {
            "InitiateTransfer": {
                "destination": context.location(ether),
                "remote_fees": {"ReserveWithdraw": {"Definite": [context.asset(ether, relayer_fee)]}},
                "preserve_origin": True,
                "assets": [{way: {"Definite": [context.asset(transfer.asset.location, transfer.amount)]}}],
                "remote_xcm": [_deposit(context)],
            }
        },
    ]


def relayed_message(context: "TransferContext") -> dict[str, Any]:
    """Return the message that the program makes the source send to Ethereum, as a VersionedXcm."""
    transfer = context.transfer
    relayer_fee, account = _relayed(context)
    fee = context.asset("0/Here", relayer_fee)
    sent = context.asset(context.asset_on(transfer.destination), transfer.amount)
    owner = {"AccountId32": {"network": transfer.source.consensus, "id": account}}
    source = read_location(place_of(transfer.source, transfer.destination))
    sender = {"parents": source["parents"], "interior": interior([*junctions_of(source), owner])}
    return context.versioned(
        [
            {"WithdrawAsset": [fee]},
            {"PayFees": {"asset": fee}},
            {ARRIVES_BY[context.route.first]: [sent]},
            {"AliasOrigin": sender},
            _deposit(context),
            {"SetTopic": bytes(32)},
        ]
    )


def _deposit(context: "TransferContext") -> dict[str, Any]:
    return {"DepositAsset": {"assets": _EVERYTHING, "beneficiary": context.beneficiary}}


def _relayed(context: "TransferContext") -> tuple[int, bytes]:
    """Return the Ether for the relayer, in wei, and the sender's account."""
    fee, sender = context.transfer.relayer_fee, context.transfer.sender
    if fee is None or sender is None:
        raise ValueError(
            "only a transfer with a relayer fee and its sender goes by Snowbridge's second protocol"
        )
    return fee, sender
