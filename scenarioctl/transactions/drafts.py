"""What a builder returns: a call and warnings for its signer, and the bare extrinsic of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.scale import encode_compact

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A call that is ready to be encoded."""

    call: Call
    #: Sentences for the signer.
    warnings: tuple[str, ...] = ()
    #: Those of them that stay true once the call was tried.
    notes: tuple[str, ...] = ()
    #: Only a check could open its route, and didn't: nobody may get the bytes.
    unproven: bool = False
    #: What a transfer sends beside its amount, to pay on the way: an asset of the source, and the
    #: raw amount.
    beside: "tuple[Asset, int] | None" = None


BARE_V4 = 0x04
#: The most bytes of a transaction: no chain takes one that is longer than its blocks.
LARGEST = 5 * 1024 * 1024


def bare_extrinsic(call_data: bytes) -> bytes:
    """Return the unsigned version 4 extrinsic around *call_data*: `compact(length) ++ 0x04 ++
    call`."""
    body = bytes((BARE_V4,)) + call_data
    check_length(len(body))
    return encode_compact(len(body)) + body


def check_length(length: int) -> None:
    """Refuse a transaction, or its call data, of so many bytes where no chain would take it."""
    if length > LARGEST:
        raise InvalidRequest(
            f"a transaction of {length} bytes is larger than any chain accepts, the limit "
            f"is {LARGEST}"
        )
