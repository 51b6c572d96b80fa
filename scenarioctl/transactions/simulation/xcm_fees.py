"""What chains charge for XCM messages: for executing one, and for delivering it to the next
chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, write_location
from scenarioctl.transactions.simulation.dry_run import XcmMessage
from scenarioctl.transactions.simulation.runtime_api import Encoded, query_runtime_api_result
from scenarioctl.transactions.xcm_instructions import read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain


@dataclass(frozen=True, kw_only=True)
class HopFee:
    """What one hop takes."""

    chain: "Chain"
    #: `execution` or `delivery`.
    what: str
    #: The asset, as the network knows it: seen from the relay chain.
    identity: str
    amount: int


async def query_weight(client: "Client", message: Any) -> Any:
    """Return what the chain weighs a VersionedXcm at, given as it is or as its bytes."""
    data = Encoded(message) if isinstance(message, bytes) else message
    return await query_runtime_api_result(client, "XcmPaymentApi", "query_xcm_weight", data)


async def execution_fees(client: "Client", message: XcmMessage, weight: Any) -> list[HopFee]:
    """Return what the destination takes for the *weight* of *message*; nothing where that is not
    bought."""
    asset, _ = _payment(message.program)
    return await _price(client, message.version, asset, weight)


async def program_fees(client: "Client", versioned: Mapping[str, Any]) -> list[HopFee]:
    """Return what a chain takes for executing a VersionedXcm of one of its accounts.

    Such a program is paid for by the weight of the call: it buys only what it limits itself.
    """
    ((version, program),) = versioned.items()
    asset, weight = _payment(program)
    if asset is not None and weight is None:
        weight = await query_weight(client, versioned)
    return await _price(client, int(version[1:]), None if weight == "Unlimited" else asset, weight)


def _payment(program: Sequence[Any]) -> tuple[Any, Any]:
    """Return in what *program* pays for its weight, None if it doesn't, and the weight that it
    buys, None for its own."""
    instructions = dict(read_instruction(item) for item in reversed(program))
    if "BuyExecution" in instructions:
        bought = instructions["BuyExecution"]
        limit = bought["weight_limit"]
        return bought["fees"]["id"], limit["Limited"] if isinstance(limit, Mapping) else limit
    return (
        (instructions["PayFees"]["asset"]["id"], None)
        if "PayFees" in instructions
        else (None, None)
    )


async def _price(client: "Client", version: int, asset: Any, weight: Any) -> list[HopFee]:
    if asset is None:
        return []
    amount = await weight_fee(client, weight, {f"V{version}": asset})
    return [_fee(client.chain, "execution", asset, amount)]


async def delivery_fees(client: "Client", message: XcmMessage) -> list[HopFee]:
    """Return what the origin of *message* takes for delivering it."""
    data = Encoded(message.exported or message.data)
    return await query_delivery(client, message.location, data, message.version)


async def query_delivery(
    client: "Client", destination: Mapping[str, Any], message: Any, version: int
) -> list[HopFee]:
    """Return what the chain takes for delivering a VersionedXcm to a VersionedLocation; *version*
    is that of XCM."""
    # Newer runtimes want to know in which asset.
    here = {"parents": 0 if client.chain.role == "relay" else 1, "interior": "Here"}
    asset = {f"V{version}": {"Concrete": here} if version == 3 else here}
    answer = await query_runtime_api_result(
        client, "XcmPaymentApi", "query_delivery_fees", destination, message, newer=(asset,)
    )
    items = next(iter(answer.values()))
    return [
        _fee(client.chain, "delivery", item["id"], int(item["fun"]["Fungible"])) for item in items
    ]


def _fee(chain: "Chain", what: str, asset: Any, amount: int) -> HopFee:
    identity = absolute(write_location(asset), chain.para_id)
    return HopFee(chain=chain, what=what, identity=identity, amount=amount)


async def weight_fee(client: "Client", weight: Any, asset: Mapping[str, Any]) -> int:
    """Return what the chain asks for *weight* in a VersionedAssetId."""
    return int(
        await query_runtime_api_result(
            client, "XcmPaymentApi", "query_weight_to_asset_fee", weight, asset
        )
    )


async def accepts_fees_in(client: "Client", version: int, place: str) -> bool:
    """Tell whether the chain takes fees in the asset at *place*."""
    accepted = await query_runtime_api_result(
        client, "XcmPaymentApi", "query_acceptable_payment_assets", version
    )
    return any(write_location(next(iter(asset.values()))) == place for asset in accepted)


async def quote_message(client: "Client", message: Mapping[str, Any]) -> int:
    """Return what the chain would take now for executing a VersionedXcm, in the asset that it buys
    execution with."""
    version, instructions = next(iter(message.items()))
    bought = next(item["BuyExecution"] for item in instructions if "BuyExecution" in item)
    weight = await query_weight(client, message)
    return await weight_fee(client, weight, {version: bought["fees"]["id"]})
