"""Hex in the fields of requests: transactions, payloads, signatures and hashes."""

from scenarioctl.errors import InvalidRequest, TooLarge
from scenarioctl.model.amounts import from_hex
from scenarioctl.transactions.drafts import LARGEST


def parse_hex(value: object, *, field: str) -> bytes:
    """Return the bytes of 0x hex text; TooLarge for more than a transaction may have."""
    text = value.strip() if isinstance(value, str) else ""
    size = len(text) // 2 - 1
    if text[:2] in ("0x", "0X") and size > LARGEST:
        raise TooLarge(
            field=field,
            problem=(
                f"has {size} bytes, the limit is {LARGEST}: no chain accepts a longer transaction"
            ),
        )
    data = from_hex(text)
    if not data:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not hex",
            expected="0x and an even number of hex digits",
        )
    return data


def parse_hash(value: object, *, field: str) -> bytes:
    """Return the 32 bytes of a 0x hash."""
    try:
        data = parse_hex(value, field=field)
    except InvalidRequest:
        data = b""
    if len(data) != 32:
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="is not a hash",
            expected="0x and 64 hex digits",
        )
    return data
