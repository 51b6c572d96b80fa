"""The bare extrinsic, apart from the rest: all that most transactions need, and quick to import."""

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.scale import encode_compact

BARE_V4 = 0x04
#: The most bytes of a transaction: no chain takes one that is longer than its blocks.
LARGEST = 5 * 1024 * 1024


def bare_extrinsic(call_data: bytes) -> bytes:
    """Return the unsigned version 4 extrinsic around *call_data*: `compact(length) ++ 0x04 ++ call`."""
    body = bytes((BARE_V4,)) + call_data
    check_length(len(body))
    return encode_compact(len(body)) + body


def check_length(length: int) -> None:
    """Refuse a transaction, or its call data, of so many bytes where no chain would take it."""
    if length > LARGEST:
        raise InvalidRequest(
            f"a transaction of {length} bytes is larger than any chain accepts, the limit is {LARGEST}"
        )
