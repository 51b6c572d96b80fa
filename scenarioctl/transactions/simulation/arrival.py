"""What chains charge for XCM messages, and what arrives, computed.

Exact to the last unit, with the weights and prices of this moment; a dry run says the same by
another way.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, across, seen_from, write_location
from scenarioctl.transactions.simulation.dry_run import XcmMessage
from scenarioctl.transactions.simulation.ledger import HopFee
from scenarioctl.transactions.simulation.runtime_api import (
    Clients,
    Encoded,
    Inconclusive,
    query_runtime_api,
    query_runtime_api_result,
)
from scenarioctl.transactions.transfer.plan import location_of_type
from scenarioctl.transactions.xcm_instructions import brought_items, kind_of, read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.simulation.ledger import HopLedger


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


#: What an Asset Hub asks for a fee in another asset than its own.
_POOLS, _QUOTE = "AssetConversionApi", "quote_price_tokens_for_exact_tokens"
#: The part of a fee by which the price of a pool may have changed since it was asked for.
_PRICE_CHANGE = 100


@dataclass(frozen=True, kw_only=True)
class ComputedArrival:
    """What the hops leave."""

    fees: tuple[HopFee, ...]
    #: identity -> what arrives on the last chain.
    assets: Mapping[str, int]


async def compute_arrival(clients: Clients, ledgers: "Sequence[HopLedger]") -> ComputedArrival:
    """Return what is left of the first message's assets where the last one ends.

    Inconclusive where a chain does not tell a weight or a price, or a message does more than to
    pay, send on and deposit all.
    """
    fees: list[HopFee] = []
    holding: dict[str, int] = {}
    if any(len(ledger.hop.sent) > 1 for ledger in ledgers):
        raise Inconclusive(
            "a chain sends more than one message, and arrivals over several paths are not added up"
        )
    received = [(each, each.hop.message) for each in ledgers if each.hop.message is not None]
    for number, (ledger, message) in enumerate(received):
        if message.destination is None:
            raise Inconclusive(f"{message.place} is not a chain of the registry")
        following = next(iter(ledger.hop.sent), None)
        program = message.instructions[message.put_before :]
        other = next((name for name, _ in program if not kind_of(name).computed), "")
        if other:
            raise Inconclusive(f"a message contains {other}, and what it leaves cannot be computed")
        here, there = message.origin.consensus, message.destination.consensus
        if not number:
            holding = incoming_assets(message)
        elif here != there:
            holding = {
                across(identity, here, there): amount for identity, amount in holding.items()
            }
        if ledger.fees_problem:
            raise Inconclusive(ledger.fees_problem)
        taken: list[HopFee] = []
        for fee in ledger.fees:
            pays = fee.what == "execution" or holding.get(fee.identity) or len(holding) != 1
            if pays or following is None or message.destination.role != "asset_hub":
                taken.append(fee)
            else:
                client = clients(message.destination)
                taken.append(await _exchanged(client, fee, holding, taken, following))
        for fee in taken:
            holding[fee.identity] = max(holding.get(fee.identity, 0) - fee.amount, 0)
        fees += taken
    return ComputedArrival(fees=tuple(fees), assets=holding)


def carried_amount(
    messages: Sequence[XcmMessage], asset: "Asset", destination: "Chain"
) -> int | None:
    """Return how much of *asset*, which *destination* lists, leaves in *messages*; None if there is
    none, or one goes nowhere known."""
    identity = absolute(asset.location, destination.para_id)
    found = 0
    for message in messages:
        there = message.destination
        if there is None:
            return None
        found += incoming_assets(message)[across(identity, destination.consensus, there.consensus)]
    return found if messages else None


async def _exchanged(
    client: "Client",
    fee: HopFee,
    holding: Mapping[str, int],
    taken: Sequence[HopFee],
    following: XcmMessage,
) -> HopFee:
    """Return the delivery *fee* of an Asset Hub in the one asset of *holding*, which it exchanges
    in a pool for it.

    What was *taken* before moved the price: what is missing in the message *following* is the fee,
    if the pool's price confirms it.
    """
    ((identity, held),) = holding.items()
    chain = client.chain
    place, native = seen_from(identity, chain.para_id), seen_from(fee.identity, chain.para_id)
    table = await client.table()
    if _POOLS not in table.apis:
        raise Inconclusive(f"{chain.title} doesn't tell what it takes of {place} for delivery")
    types = [field.type_id for field in table.api_method(_POOLS, _QUOTE).inputs[:2]]
    path = [
        location_of_type(table, kind, text)
        for kind, text in zip(types, (place, native), strict=True)
    ]
    quoted = await query_runtime_api(client, _POOLS, _QUOTE, *path, fee.amount, True)
    if quoted is None:
        raise Inconclusive(f"{chain.title} has no pool that exchanges {place} for its delivery fee")
    paid = sum(each.amount for each in taken if each.identity == identity)
    missing = held - paid - incoming_assets(following)[identity]
    is_confirmed = abs(missing - int(quoted)) * _PRICE_CHANGE <= int(quoted)
    return replace(fee, identity=identity, amount=missing if is_confirmed else int(quoted))


def incoming_assets(message: XcmMessage, only: str = "") -> "Counter[str]":
    """Return what a message says that it brings by identity, raw; of what comes in several
    instructions, the sum.  With *only*, by those of this name."""
    sums: Counter[str] = Counter()
    if message.destination is not None:
        found = [each for each in message.instructions if each[0].startswith(only)]
        for identity, amount in fungible_items(brought_items(found), message.destination.para_id):
            sums[identity] += amount
    return sums


def fungible_items(items: Iterable[Any], para_id: int | None) -> list[tuple[str, int]]:
    """Return the fungible ones among assets of XCM, seen from the chain with *para_id*: (identity,
    raw amount)."""
    found = []
    for item in items:
        place = write_location(item["id"])
        amount = item["fun"].get("Fungible") if isinstance(item["fun"], Mapping) else None
        if place and isinstance(amount, int):
            found.append((absolute(place, para_id), amount))
    return found
