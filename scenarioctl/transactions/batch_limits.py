"""How many calls one transaction takes: by the length, the number and the weight that its chain
allows a transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: The part of a block's limit that a transaction may fill: a fuller one waits for an empty block.
_SHARE = 0.75
#: Calls of a transaction whose weight no chain tells. Six hundred transfers of an asset fill a
#: block of an Asset Hub.
UNWEIGHED = 400
#: What a signature, and what is signed beside the call, adds to its length.
_SIGNED = 300


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    """The limits of a transaction."""

    #: In bytes.
    length: int
    calls: int
    #: Of reference time and of proof size; none where the runtime doesn't say.
    weight: Mapping[str, int]

    def share(self, *, length: int, calls: int, weight: Mapping[str, Any] | None) -> float:
        """Return which part of the limits a transaction takes: one above 1 is too large. Without a
        *weight*, its calls are counted."""
        parts = [(length + _SIGNED) / self.length, calls / self.calls]
        if weight is None:
            return max(*parts, calls / UNWEIGHED)
        return max(*parts, *(int(weight[name]) / most for name, most in self.weight.items()))


def read_limits(table: "RuntimeTable") -> BatchLimits:
    """Return the limits of a transaction on the runtime *table*, whose calls are of the class
    `normal`."""
    weights, lengths = (
        table.constant("System", "BlockWeights"),
        table.constant("System", "BlockLength"),
    )
    weight = weights["per_class"]["normal"]["max_extrinsic"] or {}
    try:
        most = int(table.constant("Utility", "batched_calls_limit"))
    except InvalidRequest:
        most = UNWEIGHED
    return BatchLimits(
        length=int(lengths["max"]["normal"] * _SHARE),
        calls=most,
        weight={name: max(int(value * _SHARE), 1) for name, value in weight.items()},
    )
