"""Accounts as people write them: SS58 of any prefix, or the public key in hex."""

from functools import lru_cache
from hashlib import blake2b

from scenarioctl.errors import InvalidRequest, shorten

_EXAMPLE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
_EXPECTED = f"expected an SS58 address like {_EXAMPLE} or a 0x public key of 32 bytes"
_CONTEXT = b"SS58PRE"


def parse_account(value: object, *, field: str) -> bytes:
    """Return the 32-byte AccountId32 that *value* names.

    Every network's prefix is accepted, since the same key works on all of them.
    """
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} {shorten(value)} is not an address, {_EXPECTED}")
    if value[:2] in ("0x", "0X"):
        return _parse_hex_account(value, field)
    account, _ = _decode_ss58(value, field)
    return account


def parse_contract_address(value: object, *, field: str, evm: bool) -> bytes:
    """Return the address of a contract: 32 bytes from SS58 or 0x hex, or, for an *evm*-addressed one, 20 bytes of 0x hex."""
    if not evm:
        return parse_account(value, field=field)
    if isinstance(value, str) and value[:2] in ("0x", "0X"):
        data = _parse_hex(value)
        if data is not None and len(data) == 20:
            return data
    raise InvalidRequest(
        f"{field} {shorten(value, 80)} is not the address of a pallet-revive contract, expected 0x and 40 hex digits"
    )


def format_account(account: bytes, prefix: int) -> str:
    """Return *account* as SS58 text with the network *prefix* (0 to 16383)."""
    from base58 import b58encode

    if not 0 <= prefix < 16384:
        raise ValueError(f"SS58 prefix {prefix} is not below 16384")
    if prefix < 64:
        head = bytes([prefix])
    else:
        head = bytes([((prefix & 0b1111_1100) >> 2) | 0b0100_0000, (prefix >> 8) | ((prefix & 0b11) << 6)])
    body = head + account
    return str(b58encode(body + _checksum(body)[:2]), "ascii")


def _parse_hex_account(value: str, field: str) -> bytes:
    data = _parse_hex(value)
    if data is None:
        raise InvalidRequest(f"{field} {shorten(value, 80)} is not hex, {_EXPECTED}")
    if len(data) == 20:
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} is an EVM address of 20 bytes, but an AccountId32 is needed: {_EXPECTED}"
        )
    if len(data) == 33:
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} is an ecdsa public key of 33 bytes, not an account: expected its SS58 address, or the blake2b-256 hash of the key"
        )
    if len(data) != 32:
        raise InvalidRequest(f"{field} {shorten(value, 80)} has {len(data)} bytes, {_EXPECTED}")
    return data


def _parse_hex(value: str) -> bytes | None:
    digits = value[2:]
    # bytes.fromhex would also take spaces between the digits.
    if len(digits) % 2 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return None
    return bytes.fromhex(digits)


# The same few accounts come again and again to a daemon, and base58 is slow.
@lru_cache(1024)
def _decode_ss58(value: str, field: str) -> tuple[bytes, int]:
    from base58 import b58decode

    # b58decode strips whitespace, and takes quadratic time for long text.
    if not value or len(value) > 128 or not value.isascii() or not value.isalnum():
        raise InvalidRequest(f"{field} {shorten(value, 80)} is not an address, {_EXPECTED}")
    try:
        data = b58decode(value)
    except ValueError:
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} is not an address, it holds characters that base58 has not (0, O, I, l): {_EXPECTED}"
        ) from None
    head = 1 if data and data[0] < 64 else 2
    if len(data) < head + 1 or data[0] > 127:
        raise InvalidRequest(f"{field} {shorten(value, 80)} is not an address, {_EXPECTED}")
    checksum = 2 if len(data) - head in (34, 35) else 1
    if _checksum(data[:-checksum])[:checksum] != data[-checksum:]:
        if not 30 <= len(data) <= 40:
            raise InvalidRequest(f"{field} {shorten(value, 80)} is not an address, {_EXPECTED}")
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} has a wrong checksum, it was mistyped or cut: copy the address again"
        )
    if head == 1:
        prefix = data[0]
    else:
        prefix = ((data[0] & 0b0011_1111) << 2) | (data[1] >> 6) | ((data[1] & 0b0011_1111) << 8)
    account = data[head:-checksum]
    if len(account) == 33:
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} is the SS58 form of an ecdsa public key of 33 bytes, not of an account: {_EXPECTED}"
        )
    if len(account) != 32:
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} holds {len(account)} bytes, but an account has 32: {_EXPECTED}"
        )
    return account, prefix


def _checksum(body: bytes) -> bytes:
    return blake2b(_CONTEXT + body, digest_size=64).digest()
