"""Whether a transaction is light enough for a block: one that is not is never included, and costs nothing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.simulation.runtime_api import Inconclusive

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Reference time counts picoseconds.
_SECOND = 10**12


def explain_overweight(table: "RuntimeTable", chain: "Chain", info: Mapping[str, Any]) -> str:
    """Return why *chain* includes no transaction as heavy as *info* says; empty if it does."""
    try:
        limits = table.constant("System", "BlockWeights")["per_class"][str(info["class"]).lower()]
    except (InvalidRequest, KeyError):
        raise Inconclusive(f"the weight limit of a transaction on {chain.name} could not be read") from None
    limit, weight = limits["max_extrinsic"], info["weight"]
    if limit is None:
        return ""
    if weight["ref_time"] > limit["ref_time"]:
        return f"the transaction is too heavy for a block of {chain.name}: it takes {_seconds(weight)} of computing time, and the limit of a transaction is {_seconds(limit)}. Split it"
    if weight["proof_size"] > limit["proof_size"]:
        return f"the transaction is too heavy for a block of {chain.name}: its proof takes {weight['proof_size']} bytes, and the limit of a transaction is {limit['proof_size']}. Split it"
    return ""


def _seconds(weight: Mapping[str, int]) -> str:
    return f"{weight['ref_time'] / _SECOND:.3f} s"
