"""Accounts as people write them: SS58 of any prefix or the public key in hex, and 20 bytes of hex
on other chains.

To add a format of accounts, subclass `AccountFormat` and add a row to `ACCOUNT_FORMATS`.
"""

from collections.abc import Mapping
from hashlib import blake2b
from string import hexdigits
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import from_hex

EXAMPLE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
_EXPECTED = f"an SS58 address like {EXAMPLE} or a 0x public key of 32 bytes"
_CONTEXT = b"SS58PRE"
#: The prefix of no network in particular.
GENERIC = 42


class AccountFormat:
    """How accounts of a chain are read, shown, and written in XCM."""

    #: In bytes.
    length: int
    #: The junction of XCM that holds one, and the junction's field for it.
    junction_name: str
    junction_field: str

    def parse(self, value: object, *, field: str) -> bytes:
        """Return the account that *value* names; InvalidRequest if it names none of this format."""
        raise NotImplementedError

    def format(self, account: bytes, prefix: int) -> str:
        """Return *account* as text; *prefix* is the chain's SS58 prefix, if the format has one."""
        raise NotImplementedError

    def check(self, account: bytes, *, chain: str, field: str) -> None:
        """Refuse an *account* that is of another kind than those of *chain*."""
        if len(account) != self.length:
            raise InvalidRequest(
                field=field,
                problem=f"has {len(account)} bytes, but the accounts of {chain} have {self.length}",
                expected=f"an account of {chain}",
            )

    def has_checksum(self, text: str) -> bool:
        """Tell whether *text*, which names an account, has a checksum that a slip would break."""
        raise NotImplementedError

    def junction(self, account: bytes) -> dict[str, Any]:
        """Return *account* as a junction of XCM, of any network."""
        return {self.junction_name: {"network": None, self.junction_field: account}}


class _AccountId32(AccountFormat):
    length, junction_name, junction_field = 32, "AccountId32", "id"

    def parse(self, value: object, *, field: str) -> bytes:
        return parse_account(value, field=field)

    def format(self, account: bytes, prefix: int) -> str:
        return format_account(account, prefix)

    def has_checksum(self, text: str) -> bool:
        return text[:2] not in ("0x", "0X")


class _AccountKey20(AccountFormat):
    length, junction_name, junction_field = 20, "AccountKey20", "key"

    def parse(self, value: object, *, field: str) -> bytes:
        return parse_ethereum_account(value, field=field)

    def format(self, account: bytes, prefix: int) -> str:  # noqa: ARG002, it has none
        return format_ethereum_account(account)

    def has_checksum(self, text: str) -> bool:
        return text[2:] not in (text[2:].lower(), text[2:].upper())


ACCOUNT_ID_32 = _AccountId32()
ACCOUNT_KEY_20 = _AccountKey20()
#: By their length in bytes, as `account_bytes` in config.toml says it.
ACCOUNT_FORMATS: Mapping[int, AccountFormat] = {
    account_format.length: account_format for account_format in (ACCOUNT_ID_32, ACCOUNT_KEY_20)
}


def format_of(text: str) -> AccountFormat:
    """Return the format in which *text* can be an account: that of 20 bytes if it is as long in
    hex."""
    is_short = len(text) == 42 and text[:2] in ("0x", "0X")
    return ACCOUNT_KEY_20 if is_short else ACCOUNT_ID_32


def parse_account(value: object, *, field: str) -> bytes:
    """Return the 32-byte AccountId32 that *value* names.

    Every network's prefix is accepted, since the same key works on all of them.
    """
    if not isinstance(value, str):
        raise InvalidRequest(
            field=field, value=value, problem="is not an address", expected=_EXPECTED
        )
    if value[:2] in ("0x", "0X"):
        return _parse_hex_account(value, field)
    account, _ = decode_ss58(value, field)
    return account


def parse_any_account(value: str, *, field: str) -> tuple[bytes, int | None]:
    """Return the account of 32 or 20 bytes that *value* names, on whichever chain, and its SS58
    prefix; None for 0x hex."""
    given = value.strip()
    if given[:2] in ("0x", "0X"):
        return format_of(given).parse(given, field=field), None
    return decode_ss58(given, field)


def parse_ethereum_account(value: object, *, field: str) -> bytes:
    """Return the 20-byte account that *value* names: 0x and 40 hex digits.

    Digits in both cases are a checksum (EIP-55), which has to be right.
    """
    data = from_hex(value)
    if not isinstance(value, str) or data is None or len(data) != 20:
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="is not an account of 20 bytes",
            expected="0x and 40 hex digits",
        )
    digits = value[2:]
    if digits not in (digits.lower(), digits.upper(), format_ethereum_account(data)[2:]):
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="has a wrong checksum, so it was mistyped or truncated: copy the address again",
        )
    return data


def format_ethereum_account(account: bytes) -> str:
    """Return a 20-byte account as 0x text whose upper-case digits are its checksum (EIP-55)."""
    from Crypto.Hash import keccak

    digits = account.hex()
    checksum = keccak.new(digest_bits=256, data=digits.encode()).hexdigest()
    return "0x" + "".join(
        digit.upper() if int(mark, 16) > 7 else digit
        for digit, mark in zip(digits, checksum, strict=False)
    )


def format_account(account: bytes, prefix: int) -> str:
    """Return *account* as SS58 text with the network *prefix* (0 to 16383); one of 20 bytes as 0x
    text with its checksum."""
    if len(account) == ACCOUNT_KEY_20.length:
        return format_ethereum_account(account)
    from base58 import b58encode

    if not 0 <= prefix < 16384:
        raise ValueError(f"SS58 prefix {prefix} is not below 16384")
    if prefix < 64:
        head = bytes([prefix])
    else:
        head = bytes(
            [((prefix & 0b1111_1100) >> 2) | 0b0100_0000, (prefix >> 8) | ((prefix & 0b11) << 6)]
        )
    body = head + account
    return str(b58encode(body + _checksum(body)[:2]), "ascii")


def _parse_hex_account(value: str, field: str) -> bytes:
    data = from_hex(value)
    if data is None:
        raise InvalidRequest(
            field=field, value=value, limit=80, problem="is not hex", expected=_EXPECTED
        )
    if len(data) != 32:
        problem, expected = {
            20: ("is an EVM address of 20 bytes, but an AccountId32 is needed", _EXPECTED),
            33: (
                "is an ecdsa public key of 33 bytes, not an account",
                "its SS58 address, or the blake2b-256 hash of the key",
            ),
        }.get(len(data), (f"has {len(data)} bytes", _EXPECTED))
        raise InvalidRequest(field=field, value=value, limit=80, problem=problem, expected=expected)
    return data


def decode_ss58(value: str, field: str) -> tuple[bytes, int]:
    """Return the account in an SS58 address of any network, and the network's prefix."""
    from base58 import b58decode_int

    if len(value) == 64 and not value.strip(hexdigits):
        raise InvalidRequest(
            field=field, value=value, limit=80, problem="is hex: write 0x in front of it"
        )
    # b58decode_int strips whitespace, and takes quadratic time for long text.
    if not value or len(value) > 128 or not value.isascii() or not value.isalnum():
        raise InvalidRequest(
            field=field, value=value, limit=80, problem="is not an address", expected=_EXPECTED
        )
    try:
        number = b58decode_int(value)
    except ValueError:
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="is not an address: none has the characters 0, O, I and l",
            expected=_EXPECTED,
        ) from None
    zeros = len(value) - len(value.lstrip("1"))
    data = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    head = 1 if data and data[0] < 64 else 2
    if len(data) < head + 1 or data[0] > 127:
        raise InvalidRequest(
            field=field, value=value, limit=80, problem="is not an address", expected=_EXPECTED
        )
    checksum = 2 if len(data) - head in (34, 35) else 1
    if _checksum(data[:-checksum])[:checksum] != data[-checksum:]:
        is_meant = 30 <= len(data) <= 40
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="has a wrong checksum, so it was mistyped or truncated: copy the address again"
            if is_meant
            else "is not an address",
            expected="" if is_meant else _EXPECTED,
        )
    if head == 1:
        prefix = data[0]
    else:
        prefix = ((data[0] & 0b0011_1111) << 2) | (data[1] >> 6) | ((data[1] & 0b0011_1111) << 8)
    account = data[head:-checksum]
    if len(account) != 32:
        raise InvalidRequest(
            field=field,
            value=value,
            limit=80,
            problem="is the SS58 form of an ecdsa public key of 33 bytes, not of an account"
            if len(account) == 33
            else f"holds {len(account)} bytes, but an account has 32",
            expected=_EXPECTED,
        )
    return account, prefix


def _checksum(body: bytes) -> bytes:
    return blake2b(_CONTEXT + body, digest_size=64).digest()
