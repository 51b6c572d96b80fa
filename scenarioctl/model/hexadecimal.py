"""Bytes as 0x hex text."""


def from_hex(value: object) -> bytes | None:
    """Return the bytes that *value* writes as `0x` and an even number of hex digits; None for anything else."""
    if not isinstance(value, str) or value[:2] not in ("0x", "0X"):
        return None
    try:
        data = bytes.fromhex(value[2:])
    except ValueError:
        return None
    # bytes.fromhex skips white space.
    return data if len(data) * 2 == len(value) - 2 else None
