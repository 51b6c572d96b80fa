"""Amounts are exact or refused."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.actions.fields import read_raw, read_tokens
from scenarioctl.chains.assets import Asset
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import (
    U128_MAX,
    parse_number,
    parse_raw,
    parse_typed,
    to_raw,
    to_text,
    to_whole,
)
from tests.conftest import BOB, Ended, Run
from tests.messages import Says, says
from tests.runtimes import ASSETS, REGISTRY

balances = st.integers(min_value=0, max_value=U128_MAX)
decimals = st.integers(min_value=0, max_value=24)


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidRequest) as caught:
        act()
    assert type(caught.value) is InvalidRequest
    return str(caught.value)


@given(raw=balances, places=decimals)
def test_whole_tokens_and_back_are_the_same_amount(raw: int, places: int) -> None:
    text = to_whole(raw, places)

    assert to_raw(parse_number(text, field="amount", zero=True), places) == raw
    assert Fraction(text) == Fraction(raw, 10**places)


@given(raw=balances)
def test_a_raw_amount_is_the_same_as_number_and_as_text(raw: int) -> None:
    for written in (raw, str(raw), f"{raw}.0", f"000{raw}", Decimal(raw)):
        assert parse_raw(written, field="amount", zero=True) == raw


@given(number=st.floats(min_value=1e-18, max_value=1e20))
def test_a_json_number_means_the_digits_that_were_written(number: float) -> None:
    assert parse_number(number, field="amount") == Decimal(json.dumps(number))


@given(number=st.decimals(min_value=0, max_value=U128_MAX, places=6))
def test_a_number_s_text_is_that_number_without_exponent(number: Decimal) -> None:
    text = to_text(number)

    assert Decimal(text) == number
    assert set(text) <= set("0123456789.")


@pytest.mark.parametrize(
    ("written", "places", "raw"),
    [
        ("0.1", 10, 1_000_000_000),
        (0.1, 10, 1_000_000_000),
        (".5", 1, 5),
        ("1e3", 6, 1_000_000_000),
        ("1E-6", 6, 1),
        (1e-7, 12, 100_000),
        ("0.000000000000000001", 18, 1),
        ("1.10", 1, 11),
        ("340282366920938463463.374607431768211455", 18, U128_MAX),
        ("340282366920938463463374607431768211455", 0, U128_MAX),
    ],
)
def test_whole_tokens_are_scaled_exactly(written: object, places: int, raw: int) -> None:
    assert to_raw(parse_number(written, field="amount"), places) == raw


# As people type them


@given(
    number=st.decimals(min_value="0.001", max_value=10**12, places=4),
    unit=st.sampled_from(["", "DOT", " DOT", "raw", "  i1DOT"]),
    grouped=st.booleans(),
)
def test_marks_between_digits_and_a_unit_change_no_number(
    number: Decimal, unit: str, grouped: bool
) -> None:
    plain = f"{number:f}{unit}"
    marked = f"{number:,f}{unit}"
    marked = marked if grouped else marked.replace(",", "_")

    assert parse_typed(plain, field="amount") == (number, unit.strip())
    assert parse_typed(marked, field="amount") == (number, unit.strip())


@given(whole=st.integers(0, 10**9), fraction=st.text("0123456789", min_size=1, max_size=9))
def test_a_comma_is_a_point_or_is_refused_with_both_readings(whole: int, fraction: str) -> None:
    text = f"{whole},{fraction}"
    number = Decimal(f"{whole}.{fraction}")

    try:
        typed = parse_typed(text, field="amount", spell=lambda typed: (to_text(typed.number),))
    except InvalidRequest as error:
        if number:
            assert (len(fraction), 0 < whole < 1000) == (3, True)
            assert f" can mean {whole}{fraction} or {to_text(number)}: " in str(error)
    else:
        assert typed == (number, "")


@given(text=st.text("0123456789.,_eE xX-rawDOT", max_size=14))
def test_what_is_typed_is_an_amount_or_refused_in_one_sentence(text: str) -> None:
    try:
        typed = parse_typed(text, field="amount")
    except InvalidRequest as error:
        assert str(error).startswith("amount ")
    else:
        assert typed.number > 0
        assert not typed.unit[:1].isdigit()


@pytest.mark.parametrize(
    ("written", "number", "unit"),
    [
        ("1,5", "1.5", ""),
        ("0,500", "0.5", ""),
        ("1_000.25", "1000.25", ""),
        ("1,000.5", "1000.5", ""),
        ("1,000,000", "1000000", ""),
        ("12\u202f000\u00a0000,5", "12000000.5", ""),
        ("15 000 000 000raw", "15000000000", "raw"),
        ("1 000,500", "1000.5", ""),
        (" 1.5 DOT ", "1.5", "DOT"),
        ("1e3 HDX", "1000", "HDX"),
        (1.5, "1.5", ""),
    ],
)
def test_an_amount_is_read_as_it_is_typed(written: object, number: str, unit: str) -> None:
    assert parse_typed(written, field="amount") == (Decimal(number), unit)


@pytest.mark.parametrize(
    "text",
    [
        *("1.000.000", "1.000,5", "1 0000", "1 000,000,000", "1_", "_1", "1,", ",5", "12,34,567"),
        *("1,500e3", "DOT 1.5"),
    ],
)
def test_what_can_be_read_in_several_ways_or_none_is_refused(text: str) -> None:
    assert refusal(lambda: parse_typed(text, field="amount")).startswith(
        f"amount '{text}' is not a number" if text != "1," else "amount"
    )


def run_offline(scenarioctl: Run, amount: str, *more: str, asset: str = "DOT") -> Ended:
    return scenarioctl(
        *(
            *("--offline", "create", "scenario", "--from", "assetHub", "--to", "assetHub"),
            *("--asset", asset),
        ),
        *("--amount", amount, "--destination-address", BOB, *more),
    )


@pytest.mark.parametrize(
    "amount", ["1,5", "1.5 DOT", "1.5dot", "15_000_000_000raw", "15 000 000 000 raw"]
)
def test_a_scenario_keeps_whole_tokens_however_they_are_typed(
    scenarioctl: Run, amount: str
) -> None:
    ended = run_offline(scenarioctl, amount)
    plain = run_offline(scenarioctl, "1.5")

    exported = [
        json.loads(scenarioctl("--json", "scenario", "build", each.out.strip(), "--offline").out)[
            "result"
        ]
        for each in (ended, plain)
    ]
    assert exported[0] == exported[1]
    assert exported[0]["amount"] == "1.5"


TYPED = tuple(
    ASSETS.find(REGISTRY.find(chain), asset)
    for chain, asset in (
        ("polkadot", "DOT"),
        ("assetHub", 1984),
        ("hydraDx", 0),
        ("assetHub", 50000534),
    )
)
#: A unit as people write it ({} is the symbol) -> a power of ten, of one token.
OF_A_TOKEN = {
    "": 0, "{}": 0, " {}": 0, "k": 3, "K": 3, " M": 6, "k {}": 3, "k{}": 3, "M{}": 6, " M {}": 6,
    "m{}": -3, " m{}": -3, "u{}": -6, "µ{}": -6, "n{}": -9,
}  # fmt: skip
SMALLEST = ("raw", " raw", "planck", " Planck", " plancks")
#: Units that may mean anything, or another asset.
UNSURE = ("m", " m", "G{}", " million", "bn", "BTC", " x{}", "cent", "p", "M m{}")


def readings(digits: str) -> set[Fraction]:
    """Return the numbers that *digits* with a comma can mean."""
    plain = re.sub("[_ \u202f]", "", digits)
    whole = Fraction(re.sub("[.,]", "", plain))
    decimal = (
        {Fraction(plain.replace(",", "."))} if plain.count(",") == 1 and "." not in plain else set()
    )
    return {Fraction(plain.replace(",", "")), whole, *decimal}


@pytest.mark.parametrize("read", [read_tokens, read_raw])
@given(
    whole=st.integers(1, 10**13) | st.integers(1, 9).map(lambda thousands: 1000 * thousands),
    fraction=st.just("") | st.text("0123456789", max_size=12),
    mark=st.sampled_from(["", "_", ",", " ", "\u202f"]),
    unit=st.sampled_from([*OF_A_TOKEN, *SMALLEST, *UNSURE]),
    asset=st.sampled_from(TYPED),
)
def test_what_is_suggested_is_the_same_amount(
    read: Callable[..., Any], whole: int, fraction: str, mark: str, unit: str, asset: Asset
) -> None:
    digits = f"{whole:,}".replace(",", mark) + (f".{fraction}" if fraction else "")
    value = digits + unit.format(asset.symbol)
    token = 10 ** (asset.decimals or 0)
    one = {Fraction(1)} if unit in SMALLEST else {token * Fraction(10) ** OF_A_TOKEN.get(unit, 0)}
    if read is read_raw and unit in OF_A_TOKEN and len(unit.strip()) < 2:
        one.add(Fraction(10) ** OF_A_TOKEN[unit])

    try:
        read(value, asset, "amount")
        return
    except InvalidRequest as error:
        sentence = (
            str(error)
            .replace(repr(value), "")
            .replace(asset.display_name, "")
            .replace(asset.symbol, "")
        )
    suggested = re.search(
        r"(?:can mean|write|smallest unit:|without them:) ([0-9].*?)(?:, which|: write|$)", sentence
    )

    if suggested is None:
        # Other numbers are examples, or say what a chain or an asset can hold.
        assert re.search("like 1|whole number|decimals|any chain|is zero", sentence)
        assert not re.search("(write|expected) [0-9]", sentence)
        return
    assert unit not in UNSURE
    for each in suggested[1].split(" or "):
        again = read(each.partition(" for ")[0].strip(), asset, "amount")
        assert (again if read is read_raw else again[1]) in {
            number * unit_raw for number in readings(digits) for unit_raw in one
        }


def test_the_symbol_of_a_look_alike_is_no_unit(scenarioctl: Run) -> None:
    ended = run_offline(scenarioctl, "1.5 DOT", asset="50000534")

    assert (ended.out, ended.code) == ("", 2)
    assert ended.err == says("amount", "1.5 DOT", "50000534").printed


def test_a_raw_amount_is_said_in_whole_tokens(scenarioctl: Run) -> None:
    line = (
        *("--offline", "xcm", "asset-transfer", "--from", "polkadot", "--to", "assetHub"),
        *("--assetid", "DOT"),
    )
    plain = scenarioctl(*line, "--amount", "15000000000", "--destinationaddress", BOB)
    for typed in ("15_000_000_000raw", "15 000 000 000", "15,000,000,000"):
        marked = scenarioctl(*line, "--amount", typed, "--destinationaddress", BOB)
        assert (marked.out, marked.err) == (plain.out, plain.err)
    quiet = scenarioctl(*line, "--amount", "15000000000", "--destinationaddress", BOB, "-q")

    assert plain.err == "amount 15000000000 = 1.5 DOT\n"
    assert plain.out == quiet.out
    assert quiet.err == ""


def test_a_minimum_is_given_in_either_unit(scenarioctl: Run) -> None:
    line = (
        *("--offline", "create", "swap", "--assetin", "DOT", "--assetout", "HDX"),
        *("--amount", "2 DOT", "--field", "swap_tx"),
    )
    raw = scenarioctl(*line, "--min-amount-out", "900000000000000")
    both = scenarioctl(*line, "--min-amount-out", "900000000000000", "--min-received", "900")

    for typed in ("900", "900 HDX", "900,0", "900000000000000raw"):
        assert scenarioctl(*line, "--min-received", typed).out == raw.out
    assert both.err == says("min_amount_out", "min_received").printed


@pytest.mark.parametrize(
    ("number", "text"),
    [("1E+3", "1000"), ("1.500", "1.5"), ("100", "100"), ("0E+9999", "0"), ("1E-7", "0.0000001")],
)
def test_a_number_is_written_without_exponent_and_needless_zeros(number: str, text: str) -> None:
    assert to_text(Decimal(number)) == text


NOT_DIGITS = "is not a number, expected digits with an optional point, like 1.5"
TOO_MUCH = "is more than any chain can hold (2^128 - 1 smallest units)"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        *(
            (text, f"amount {text!r} {NOT_DIGITS}")
            for text in (
                *("", " 1", "1\n", "1_000", "1,5", "+1", "--1", "1.", "1.2.3", "1e", "1e00001"),
                *("0x10", "1/2", "½", "१.५", "\u22121", "NaN", "Infinity", "one", "1 DOT", "1\0"),
            )
        ),
        (float("nan"), f"amount nan {NOT_DIGITS}"),
        (float("inf"), f"amount inf {NOT_DIGITS}"),
        (Decimal("NaN"), f"amount NaN {NOT_DIGITS}"),
        (True, f"amount true {NOT_DIGITS}"),
        (None, f"amount null {NOT_DIGITS}"),
        ([1], f"amount [1] {NOT_DIGITS}"),
        (b"1", f"amount 0x31 {NOT_DIGITS}"),
        (-1.5, says("amount", "-1.5")),
        ("-1", says("amount", "-1")),
        ("-0", says("amount", "-0")),
        ("-1e400", says("amount", "-1e400")),
        (0.0, says("amount", "0.0")),
        ("0.000", says("amount", "0.000")),
        ("0e9999", says("amount", "0e9999")),
        ("1e400", f"amount '1e400' {TOO_MUCH}"),
        (1e300, f"amount 1e+300 {TOO_MUCH}"),
        (10**100, f"amount 1{'0' * 58}… {TOO_MUCH}"),
        ("9" * 201, says("amount", "9" * 58)),
    ],
)
def test_what_is_not_an_amount_is_refused(value: object, sentence: Says) -> None:
    assert refusal(lambda: parse_number(value, field="amount")) == sentence


def test_what_is_huge_is_refused_without_being_printed() -> None:
    assert [
        refusal(lambda value=value: parse_number(value, field="amount"))  # type: ignore[misc]
        for value in (10**5000, -(10**5000), "1" * 50_000_000)
    ] == [f"amount about 1e5000 {TOO_MUCH}", says("amount", "-1e5000"), says("amount", "1" * 58)]


def test_zero_is_a_number_where_it_makes_sense_and_less_is_not() -> None:
    assert parse_number("0.0", field="slippage", zero=True) == 0
    assert refusal(lambda: parse_number("-0.5", field="slippage", zero=True)) == says(
        "slippage", "-0.5"
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("1.5", says("amount", "1.5")),
        (0.5, says("amount", "0.5")),
        ("1e-9999", says("amount", "1e-9999")),
        # With a point between thousands, as many countries write them.
        ("15.000", says("amount", "15.000", "15 or 15000")),
        (U128_MAX + 1, f"amount {U128_MAX + 1} {TOO_MUCH}"),
        (str(U128_MAX + 1), f"amount '{U128_MAX + 1}' {TOO_MUCH}"),
        ("1e60", f"amount '1e60' {TOO_MUCH}"),
        ("0", says("amount", "0")),
        (True, says("amount", "number")),
    ],
)
def test_what_is_not_a_raw_amount_is_refused(value: object, sentence: Says) -> None:
    assert refusal(lambda: parse_raw(value, field="amount")) == sentence


@pytest.mark.parametrize(
    ("amount", "places", "sentence"),
    [
        ("0.00000000001", 10, says("amount", "0.00000000001", "DOT", "10")),
        ("1.5", 0, says("amount", "1.5", "DOT", "0")),
        ("1e-9999", 10, says("amount", "1E-9999", "DOT", "10")),
        (
            "340282366920938463463.374607431768211456",
            18,
            f"amount '340282366920938463463.374607431768211456' {TOO_MUCH}",
        ),
        ("1e30", 10, f"amount '1000000000000000000000000000000' {TOO_MUCH}"),
    ],
)
def test_what_the_asset_cannot_hold_is_refused(amount: str, places: int, sentence: Says) -> None:
    number = parse_number(amount, field="amount")

    assert refusal(lambda: to_raw(number, places, symbol="DOT")) == sentence


# Mistyped numbers
