"""The weight of a transaction: whether a block takes so much, and what of its fee is refunded.

A transaction that is too heavy for a block is never included, and costs nothing.  A fee is quoted
for more weight than the call uses if it names a weight or may do less: the chain refunds the rest.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.inner_calls import walk_calls
from scenarioctl.transactions.simulation.fee_charge import convert_fee
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.simulation.runtime_api import (
    Encoded,
    Inconclusive,
    query_runtime_api,
    read_storage,
)

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.fee_charge import FeeCharge

#: The multiplier of fees has 18 decimals.
_ONE = 10**18
#: Reference time counts picoseconds.
_SECOND = 10**12


def explain_overweight(table: "RuntimeTable", chain: "Chain", info: Mapping[str, Any]) -> str:
    """Return why *chain* includes no transaction as heavy as *info* says; empty if it does."""
    try:
        limits = table.constant("System", "BlockWeights")["per_class"][str(info["class"]).lower()]
    except (InvalidRequest, KeyError):
        raise Inconclusive(
            f"the weight limit of a transaction on {chain.title} could not be read"
        ) from None
    limit, weight = limits["max_extrinsic"], info["weight"]
    if limit is None:
        return ""
    if weight["ref_time"] > limit["ref_time"]:
        return (
            f"the transaction is too heavy for a block of {chain.title}: it takes "
            f"{_seconds(weight)} of computing time, and the limit of a transaction is "
            f"{_seconds(limit)}. Split it"
        )
    if weight["proof_size"] > limit["proof_size"]:
        return (
            f"the transaction is too heavy for a block of {chain.title}: its proof takes "
            f"{weight['proof_size']} bytes, and the limit of a transaction is "
            f"{limit['proof_size']}. Split it"
        )
    return ""


def _seconds(weight: Mapping[str, int]) -> str:
    return f"{weight['ref_time'] / _SECOND:.3f} s"


async def explain_bound(
    client: "Client", call: "Call", fee: "FeeCharge", spent: Mapping[str, Any] | None
) -> str:
    """Return why *fee* is only a bound, and what is taken of it; empty if it is the fee itself.

    *spent* is the PostDispatchInfo of the dry run of *call*; None if that failed.
    """
    named = _names_weight(await client.table(), call)
    if spent is None and not named:
        return ""
    why = f"the fee on {client.chain.title} is at most {fee.label}"
    if named:
        why += ", for the weight or gas that the call names"
    try:
        native = await _fee_taken(client, call, fee.info, spent)
        taken = await convert_fee(client, fee.currency, native) if native else 0
    except Inconclusive:
        return f"{why}: the chain refunds what isn't used"
    if taken >= fee.amount:
        return ""
    return (
        f"{why}: about {amount_of(fee.currency.asset, taken)} of it is taken, and the rest is "
        "refunded"
    )


def _names_weight(table: "RuntimeTable", call: "Call") -> bool:
    """Tell whether *call*, or a call inside it, has an argument that is a weight or an amount of
    gas."""
    return any(
        field.name == "gas_limit" or table.types[field.type_id][0].endswith("::Weight")
        for inner in walk_calls(call, table)
        for field in table.call_fields(inner.call.pallet, inner.call.method)
    )


async def _fee_taken(
    client: "Client", call: "Call", info: Mapping[str, Any], spent: Mapping[str, Any] | None
) -> int:
    """Return what remains of the fee of *info*, raw, once the weight that *call* doesn't use is
    refunded.

    Inconclusive if the chain doesn't tell.
    Source: `compute_actual_fee` of pallet-transaction-payment of polkadot-sdk, read 2026-11-24.
    """
    if spent is None:
        raise Inconclusive("a dry run doesn't tell the weight that is used")
    if spent.get("pays_fee") == "No":
        return 0
    fee, used = int(info["partial_fee"]), spent.get("actual_weight")
    # Nothing is left of all that the transaction weighs, if no signed extension adds to it.
    if used is None or all(used[name] >= value for name, value in info["weight"].items()):
        return fee
    data = Encoded((await client.table()).encode_call(call))
    length = len(data).to_bytes(4, "little")
    # What a dry run uses is without the weight of the signed extensions, which the quote has.
    own = await query_runtime_api(
        client, "TransactionPaymentCallApi", "query_call_info", data, Encoded(length)
    )
    if own["weight"] == used:
        return fee
    left = {
        name: max(value - own["weight"][name] + used[name], 0)
        for name, value in info["weight"].items()
    }
    quoted, needed = [
        int(await query_runtime_api(client, "TransactionPaymentApi", "query_weight_to_fee", weight))
        for weight in (info["weight"], left)
    ]
    multiplier = int(await read_storage(client, "TransactionPayment", "NextFeeMultiplier"))
    return max(fee - multiplier * quoted // _ONE + multiplier * needed // _ONE, 0)
