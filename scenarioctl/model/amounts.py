"""Amounts: text at the edge, Decimal while scaling, int on chain, never float.  Whole numbers,
choices and hex of a request too."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.errors import InvalidRequest, shorten

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


#: More digits than the largest integer of any chain (a u256) has.
MOST_DIGITS = 80


def values_of(request: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of *request* by name.

    `vars` would lack the defaults of a request that msgspec made: it leaves them to the class.
    """
    return {each.name: getattr(request, each.name) for each in fields(request)}


def read_digits(text: object, *, longest: int = MOST_DIGITS) -> int | None:
    """Return the number that *text* writes in at most *longest* ASCII digits; None for everything
    else.

    The only way from text to a number here: Python's `int` reads other scripts, `_` and signs, and
    raises above 4300 digits.
    """
    if isinstance(text, str) and len(text) <= longest and text.isascii() and text.isdigit():
        return int(text)
    return None


def whole_number(number: Decimal) -> int | None:
    """Return *number* as an int; None if it has a fraction or more than MOST_DIGITS digits."""
    # Not by a ratio: that of 1e-999999 has a million digits.
    is_short = number.is_finite() and number.adjusted() < MOST_DIGITS
    if is_short and number == number.to_integral_value():
        return int(number)
    return None


def read_json_number(text: str) -> int | float:
    """Return a JSON number with a point or an exponent, exactly: `1.5e23` is an int.

    ValueError if it has a fraction of which a double would lose digits.
    """
    value = float(text)
    if not value.is_integer() or abs(value) >= 10.0**MOST_DIGITS:
        # A double keeps 15 digits; beyond that, compare its shortest text.
        if isinf(value):
            raise ValueError(f"contains {shorten(text)}, which is too large; write it as text")
        if (len(text) < 16 and "e" not in text.lower()) or Decimal(text) == Decimal(repr(value)):
            return value
    elif not value:
        if not text.upper().partition("E")[0].strip("-0."):
            return 0
    elif (whole := whole_number(Decimal(text))) is not None:
        return whole
    raise ValueError(
        f"contains {shorten(text)}, which has more digits than a JSON number can hold; "
        "write it as text"
    )


def read_number(
    value: object,
    *,
    field: str,
    kind: str,
    expected: str = "",
    least: int = 0,
    most: int = 10**18 - 1,
) -> int:
    """Return *value*, a whole number or its digits; InvalidRequest says that it is not of this
    *kind*."""
    number = read_digits(value) if isinstance(value, str) else value
    if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
        return number
    raise InvalidRequest(field=field, value=value, problem=f"is not {kind}", expected=expected)


def read_choice(
    value: object, *, field: str, choices: Collection[str], fold: Callable[[str], str] = str
) -> str:
    """Return *value* once *fold* has changed its case, which must be one of *choices*."""
    if isinstance(value, str) and (choice := fold(value)) in choices:
        return choice
    raise InvalidRequest(field=field, value=value, problem="is unknown", known=list(choices))


#: The largest balance on a chain.
U128_MAX = 2**128 - 1

#: Far more than a u128 with all its decimals.
_LENGTH_MAX = 200

_EXPECTED = "digits with an optional point, like 1.5"
_EXPECTED_RAW = "a whole number of smallest units, like 15000000000"

_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
#: What people of many countries read as thousands, with a zero that a fraction doesn't need: 1.000.
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{2}0", re.ASCII)

#: Digits as people type them, and a unit.
_TYPED = re.compile(
    r"(?!0[xX])([0-9.,_]+(?:[eE][+-]?[0-9]{1,4})?)\s*((?:[kKM]\s+)?(?![eE][+-]?[0-9])[^\W\d_]\S*)?"
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", re.ASCII)
#: Thousands with a space between them: also one that no line breaks at, or a narrow one, as
#: pictures and pages print them.
_SPACED = re.compile(r"[1-9][0-9]{0,2}(?:[ \u00a0\u2009\u202f][0-9]{3})+(?![0-9_])", re.ASCII)
#: The unit of an amount in the smallest unit.
RAW = "raw"
#: What others call that unit.
_SMALLEST = (RAW, "planck", "plancks")
#: A prefix of a symbol -> its power of ten.  There are tokens called GDOT and GETH, and `1m` may be
#: a million.
_PREFIXES = {"n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "k": 3, "K": 3, "M": 6}


class TypedAmount(NamedTuple):
    """An amount as a person typed it."""

    number: Decimal
    #: As typed; empty if there is none.
    unit: str = ""

    @property
    def is_raw(self) -> bool:
        return self.unit.lower() == RAW

    @property
    def is_smallest(self) -> bool:
        """Whether it is in the smallest unit, by any of its names."""
        return self.unit.lower() in _SMALLEST

    @property
    def is_bare(self) -> bool:
        """Whether it is a whole number alone, which is in the smallest unit where that is
        expected."""
        return not self.unit and "." not in f"{self.number:f}"

    def in_smallest_unit(self, symbol: str, decimals: int | None) -> int | None:
        """Return the amount, raw, of the asset of that *symbol* (empty: none); None if it isn't
        sure, or no such amount exists."""
        exponent = 0 if self.is_smallest else self._exponent(symbol, decimals)
        if exponent is None or self.number.adjusted() < -_LENGTH_MAX:
            return None
        raw = Fraction(self.number) * Fraction(10) ** exponent
        return int(raw) if raw.denominator == 1 and raw <= U128_MAX else None

    def _exponent(self, symbol: str, decimals: int | None) -> int | None:
        """Return how many zeros one of the unit has in the smallest unit; None for a unit that may
        mean anything."""
        if decimals is None:
            return None
        unit = self.unit
        if not unit or (symbol and unit.casefold() == symbol.casefold()):
            return decimals
        prefix, prefixed = unit[0], unit[1:].strip()
        # Only thousands and millions are also written without a symbol: 1k, 2M.
        is_known = prefixed == symbol if prefixed else prefix in "kKM"
        return decimals + _PREFIXES[prefix] if prefix in _PREFIXES and is_known else None


def parse_typed(
    value: object,
    *,
    field: str,
    expected: str = _EXPECTED,
    spell: Callable[[TypedAmount], Sequence[str]] | None = None,
) -> TypedAmount:
    """Return *value*, which may have a unit, marks between digits, or a comma, if that can be read
    in only one way.

    For what can be read in several ways, *spell* writes each as the field takes it; empty if it
    can't.
    """
    if not isinstance(value, str) or len(value) > _LENGTH_MAX:
        return TypedAmount(parse_number(value, field=field, expected=expected))
    text = value.strip()
    if spaced := _SPACED.match(text):
        text = "".join(spaced[0].split()) + text[spaced.end() :]
    match = _TYPED.fullmatch(text)
    if match is None:
        return TypedAmount(parse_number(value, field=field, expected=expected))
    unit = match[2] or ""
    readings = _readings(match[1], is_whole=unit.lower() in _SMALLEST)
    if len(readings) > 1:
        spelled = [spell(TypedAmount(Decimal(each), unit)) for each in readings] if spell else []
        if not spelled or not all(spelled):
            raise InvalidRequest(
                field=field,
                value=value,
                problem="has a mark that can separate thousands or decimals",
                expected=f"{expected}",
            )
        raise several_meanings(field, value, [each for ways in spelled for each in ways])
    digits = readings[0] if _NUMBER.fullmatch(readings[0]) else value
    return TypedAmount(parse_number(digits, field=field, expected=expected), unit)


def several_meanings(field: str, value: object, spelled: Iterable[str]) -> InvalidRequest:
    """Return the error for *value*, which can mean each of *spelled*."""
    return InvalidRequest(
        field=field,
        value=value,
        problem=f"can mean {' or '.join(spelled)}: write the one that you mean",
    )


def refuse_unsure(digits: object, *, field: str) -> None:
    """Raise InvalidRequest for *digits* whose point can separate thousands or decimals: 1.000."""
    if isinstance(digits, str) and _THOUSANDS.fullmatch(digits):
        raise several_meanings(field, digits, [to_text(Decimal(digits)), digits.replace(".", "")])


def _readings(digits: str, *, is_whole: bool) -> tuple[str, ...]:
    """Return *digits* without the marks between them, in each way to read them; with the marks if
    they mean nothing.

    With *is_whole* they have no fraction.
    """
    plain = re.sub(r"(?<=[0-9])_(?=[0-9])", "", digits)
    if _GROUPED.fullmatch(plain) and (plain.count(",") > 1 or "." in plain):
        return (plain.replace(",", ""),)
    if _THOUSANDS.fullmatch(plain):
        return (plain, plain.replace(".", ""))
    whole, _, fraction = plain.partition(",")
    # With an exponent, a comma can be either mark: 1,500e3.
    if plain.count(",") != 1 or not whole or not fraction.isdigit() or "." in whole:
        return (plain,)
    if _GROUPED.fullmatch(plain) and not whole.startswith("0"):
        return (whole + fraction,) if is_whole else (whole + fraction, f"{whole}.{fraction}")
    return (f"{whole}.{fraction}",)


def parse_number(
    value: object, *, field: str, zero: bool = False, expected: str = _EXPECTED
) -> Decimal:
    """Return *value*, a JSON number or numeric text, exactly as written.

    Booleans, NaN, infinities, negatives, digits of other scripts and (unless *zero*) zero are
    refused;
    *expected* is what the sentence then asks for.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise InvalidRequest(field=field, value=value, problem="is not a number", expected=expected)
    text = _as_text(value)
    if len(text) > _LENGTH_MAX:
        raise InvalidRequest(
            field=field,
            value=text,
            problem="is too long",
            expected=f"at most {_LENGTH_MAX} characters",
        )
    if not _NUMBER.fullmatch(text):
        shown = _show(value, text)
        if text.startswith("-") and _NUMBER.fullmatch(text[1:]):
            least = "zero or more" if zero else "a number above zero"
            raise InvalidRequest(
                field=field, value=value, shown=shown, problem="is negative", expected=least
            )
        raise InvalidRequest(
            field=field, value=value, shown=shown, problem="is not a number", expected=expected
        )
    number = Decimal(text)
    if number.adjusted() > 60 and number:
        raise InvalidRequest(
            field=field,
            value=value,
            shown=_show(value, text),
            problem="is more than any chain can hold (2^128 - 1 smallest units)",
        )
    if not number and not zero:
        raise InvalidRequest(
            field=field,
            value=value,
            shown=_show(value, text),
            problem="is zero",
            expected="a number above zero",
        )
    return number


def parse_raw(value: object, *, field: str, zero: bool = False) -> int:
    """Return *value* as a whole number of smallest units, at most 2^128 - 1."""
    if type(value) is int and 0 < value <= U128_MAX:
        return value
    number = parse_number(value, field=field, zero=zero, expected=_EXPECTED_RAW)
    raw = _integral(number)
    if raw is None:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="has a fraction, but is counted in the smallest unit",
            expected="a whole number",
        )
    refuse_unsure(value, field=field)
    return _within_u128(raw, value, field)


def to_raw(
    amount: Decimal, decimals: int, *, field: str = "amount", symbol: str = "the asset"
) -> int:
    """Return *amount* whole tokens in the smallest unit.

    Never goes through float: 0.1 DOT has to be 1000000000, not one less.  Nor through Decimal's own
    arithmetic, which rounds to 28 digits where a u128 has 39.
    """
    raw = _integral(amount, scale=10**decimals)
    if raw is None:
        # 1e-9999 is short, its text is not.
        text = to_text(amount) if amount.adjusted() > -_LENGTH_MAX else str(amount)
        raise InvalidRequest(
            field=field, problem=f"{text} has too many decimals, {symbol} has {decimals}"
        )
    return raw if raw <= U128_MAX else _within_u128(raw, to_text(amount), field)


def to_whole(raw: int, decimals: int) -> str:
    """Return *raw* smallest units as whole tokens: 15000000000 with 10 decimals is `1.5`."""
    if not decimals:
        return str(raw)
    digits = str(raw).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")


def to_text(amount: Decimal) -> str:
    """Return *amount* without an exponent and without trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _as_text(value: str | int | float | Decimal) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and value.bit_length() > 512:
        # str() of a huge int is slow, and refused by Python above 4300 digits.
        return "1e400" if value > 0 else "-1e400"
    return str(value)


def _show(value: str | int | float | Decimal, text: str) -> str:
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, int) and value.bit_length() > 512:
        return f"about {'-' * (value < 0)}1e{int(value.bit_length() * 0.30103)}"
    return text if len(text) <= 60 else text[:59] + "…"


def _integral(number: Decimal, scale: int = 1) -> int | None:
    numerator, denominator = number.as_integer_ratio()
    whole, rest = divmod(numerator * scale, denominator)
    return None if rest else whole


def _within_u128(raw: int, value: object, field: str) -> int:
    if raw > U128_MAX:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is more than any chain can hold (2^128 - 1 smallest units)",
        )
    return raw


def from_hex(value: object) -> bytes | None:
    """Return the bytes that *value* writes as `0x` and an even number of hex digits; None for
    anything else."""
    if not isinstance(value, str) or value[:2] not in ("0x", "0X"):
        return None
    try:
        data = bytes.fromhex(value[2:])
    except ValueError:
        return None
    # bytes.fromhex skips white space.
    return data if len(data) * 2 == len(value) - 2 else None
