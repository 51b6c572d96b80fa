"""Bounds of a job: amounts of assets, like `10 DOT, 5 USDT`, which its drafts may not exceed."""

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import parse_typed, to_text, to_whole

#: Takes the bounds away.
NONE = "none"
_EXPECTED = "an amount and a symbol, like 10 DOT"
#: Assets in one bound, and decimals of its amounts: more than any asset has.
_MOST, _DECIMALS = 20, 36
#: A comma between two bounds, and not in an amount.
_BETWEEN = re.compile(r",\s+|(?<=[A-Za-z]),")


def read_bounds(value: object, *, field: str) -> str:
    """Return *value*, one amount or a list of them, as a job keeps it: `10 DOT, 5 USDT`; empty for
    none.

    InvalidRequest if one has no symbol, or two have the same.
    """
    listed: Iterable[Any] = value if isinstance(value, (list, tuple)) else (value,)
    found: dict[str, str] = {}
    for each in (
        part
        for item in listed
        for part in (_BETWEEN.split(item) if isinstance(item, str) else [item])
    ):
        if isinstance(each, str) and each.strip().lower() in (NONE, ""):
            continue
        typed = parse_typed(each, field=field, expected=_EXPECTED)
        if not typed.unit or typed.is_smallest or " " in typed.unit or "," in typed.unit:
            raise InvalidRequest(
                field=field, value=each, problem="names no asset", expected=_EXPECTED
            )
        exponent = typed.number.as_tuple().exponent
        if isinstance(exponent, int) and exponent < -_DECIMALS:
            raise InvalidRequest(
                field=field, value=each, problem="has more decimals than any asset"
            )
        if typed.unit.casefold() in found:
            raise InvalidRequest(
                field=field,
                value=each,
                problem=f"is the second bound for {typed.unit}",
                expected="one for each asset",
            )
        found[typed.unit.casefold()] = f"{to_text(typed.number)} {typed.unit}"
    if len(found) > _MOST:
        raise InvalidRequest(
            field=field, problem=f"has {len(found)} amounts", expected=f"at most {_MOST}"
        )
    return ", ".join(found.values())


def split_bounds(text: str) -> dict[str, Fraction]:
    """Return the amount of each symbol in what `read_bounds` returned, in whole tokens."""
    amounts = (each.split(" ") for each in text.split(", ") if each)
    return {symbol: Fraction(Decimal(digits)) for digits, symbol in amounts}


def write_amount(amount: Fraction) -> str:
    """Return so many whole tokens as digits; *amount* has no more decimals than an asset may
    have."""
    return to_whole(int(amount * 10**_DECIMALS), _DECIMALS)
