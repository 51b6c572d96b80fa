"""Addresses: every prefix, and what is wrong with a wrong one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.chains.addresses import (
    ACCOUNT_ID_32,
    ACCOUNT_KEY_20,
    format_account,
    parse_account,
)
from scenarioctl.errors import InvalidRequest
from tests.messages import Says, says
from tests.runtimes import BOB, BOB_ADDRESS

EXPECTED = (
    "expected an SS58 address like 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 or a "
    "0x public key of 32 bytes"
)
#: Bob as other programs write him, by prefix.
KNOWN = {
    0: BOB_ADDRESS,
    2: "FoQJpPyadYccjavVdTWxpxU7rUEaYhfLCPwXgkfD6Zat9QP",
    42: "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty",
    63: "7Lpe5LRa2Ntx9KGDk77xzoBPYTCAvj7QqaBx4Nz2TFqL3sLw",
}


@pytest.mark.parametrize(("prefix", "address"), KNOWN.items())
def test_the_same_account_under_every_networks_prefix(prefix: int, address: str) -> None:
    assert parse_account(address, field="to") == BOB
    assert format_account(BOB, prefix) == address


@given(
    account=st.binary(min_size=32, max_size=32), prefix=st.integers(min_value=0, max_value=16383)
)
def test_what_is_printed_is_read_back(account: bytes, prefix: int) -> None:
    assert parse_account(format_account(account, prefix), field="to") == account


@pytest.mark.parametrize("prefix", [64, 255, 256, 2254, 16383])
def test_two_byte_prefixes_are_those_of_scalecodec(prefix: int) -> None:
    from scalecodec.utils.ss58 import ss58_decode, ss58_encode

    address = format_account(BOB, prefix)

    assert address == ss58_encode(BOB.hex(), prefix)
    assert ss58_decode(address) == BOB.hex()


def test_a_public_key_in_hex_is_an_account() -> None:
    assert parse_account("0x" + BOB.hex(), field="to") == BOB
    assert parse_account("0X" + BOB.hex().upper(), field="to") == BOB


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (BOB_ADDRESS[:-1] + "4", says("to", bob_address=BOB_ADDRESS[:-1])),
        (BOB_ADDRESS[:-1], says("to", bob_address=BOB_ADDRESS[:-1])),
        ("0x" + "1a" * 20, says("to", "1a" * 20, "EVM", "20", "AccountId32")),
        ("0x02" + "11" * 32, says("to", "11" * 32, "33")),
        ("0x1234", f"to '0x1234' has 2 bytes, {EXPECTED}"),
        ("0x", f"to '0x' has 0 bytes, {EXPECTED}"),
        ("0x123", says("to", "0x123")),
        ("0x" + "zz" * 32, says("to", "zz" * 32)),
        ("0x" + "1 " * 32, says("to", "1 " * 32)),
        ("", says("to")),
        ("Bob", says("to", "Bob")),
        (
            "Alice",
            f"to 'Alice' is not an address, {EXPECTED}".replace(
                "an address, ", "an address: none has the characters 0, O, I and l, "
            ),
        ),
        (
            BOB_ADDRESS.replace("1", "l"),
            says("to", "0", "characters", l=BOB_ADDRESS.replace("1", "l")),
        ),
        (f" {BOB_ADDRESS}", says("to", BOB_ADDRESS)),
        ("١٢٣", says("to", "١٢٣")),
        ("1" * 1000, says("to", "1" * 78)),
        (None, says("to")),
        (42, says("to", "42")),
        (b"\x11" * 32, says("to", "11" * 28)),
        ("F7Hs", says("to", "F7Hs", "1", "32")),
    ],
)
def test_a_wrong_address_is_told_what_is_wrong_with_it(value: object, sentence: Says) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_account(value, field="to")

    assert str(refused.value) == sentence


#: The examples of EIP-55.
CHECKSUMMED = (
    *("0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77"),
    *("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"),
    *("0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"),
)


@pytest.mark.parametrize("address", CHECKSUMMED)
def test_an_account_of_20_bytes_is_shown_with_its_checksum(address: str) -> None:
    account = bytes.fromhex(address[2:])

    assert ACCOUNT_KEY_20.format(account, 42) == address
    for written in (
        address,
        address.lower(),
        "0x" + address[2:].upper(),
        "0X" + address[2:].lower(),
    ):
        assert ACCOUNT_KEY_20.parse(written, field="to") == account


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(BOB_ADDRESS, id="SS58"),
        pytest.param("0x" + BOB.hex(), id="32 bytes"),
        pytest.param("0x" + "1a" * 19, id="19 bytes"),
        pytest.param("1a" * 20, id="no 0x"),
        pytest.param("0x" + "1g" * 20, id="no hex"),
        pytest.param("0x" + "1a" * 19 + " 1a", id="a blank"),
        pytest.param("", id="empty"),
        pytest.param(None, id="nothing"),
        pytest.param(7, id="a number"),
        pytest.param(b"\x11" * 20, id="bytes"),
    ],
)
def test_what_has_not_20_bytes_is_no_account_of_20_bytes(value: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ACCOUNT_KEY_20.parse(value, field="to")

    assert str(refused.value) == says("to", "20 bytes")


def test_an_account_is_a_junction_of_its_format() -> None:
    assert ACCOUNT_ID_32.junction(BOB) == {"AccountId32": {"network": None, "id": BOB}}
    assert ACCOUNT_KEY_20.junction(BOB[:20]) == {"AccountKey20": {"network": None, "key": BOB[:20]}}
    assert ACCOUNT_ID_32.format(BOB, 0) == format_account(BOB, 0)
