"""The bare extrinsic, apart from the rest: all that most transactions need, and quick to import."""

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.scale import encode_compact

BARE_V4 = 0x04
#: Bytes; the largest block that any chain takes is a hundredth of this.
LARGEST = 1 << 30


def bare_extrinsic(call_data: bytes) -> bytes:
    """Return the unsigned version 4 extrinsic around *call_data*: `compact(length) ++ 0x04 ++ call`."""
    body = bytes((BARE_V4,)) + call_data
    if len(body) >= LARGEST:
        raise InvalidRequest(f"a transaction of {len(body)} bytes is larger than any chain takes")
    return encode_compact(len(body)) + body
