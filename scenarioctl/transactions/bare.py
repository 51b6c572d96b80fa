"""The bare extrinsic, apart from the rest: all that most transactions need, and quick to import."""

from scenarioctl.errors import InvalidRequest

BARE_V4 = 0x04


def bare_extrinsic(call_data: bytes) -> bytes:
    """Return the unsigned version 4 extrinsic around *call_data*: `compact(length) ++ 0x04 ++ call`."""
    body = bytes((BARE_V4,)) + call_data
    return encode_compact(len(body)) + body


def encode_compact(number: int) -> bytes:
    """Return *number* (below 2^30) as SCALE's compact integer."""
    if number < 1 << 6:
        return bytes((number << 2,))
    if number < 1 << 14:
        return (number << 2 | 1).to_bytes(2, "little")
    if number < 1 << 30:
        return (number << 2 | 2).to_bytes(4, "little")
    raise InvalidRequest(f"a transaction of {number} bytes is larger than any chain takes")
