"""Values of a request: all of them by name, whole numbers, and choices."""

from collections.abc import Callable, Collection
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, shorten, suggest

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
    """Return the number that *text* writes in at most *longest* ASCII digits; None for everything else.

    The only way from text to a number here: Python's `int` reads other scripts, `_` and signs, and raises above 4300 digits.
    """
    if isinstance(text, str) and len(text) <= longest and text.isascii() and text.isdigit():
        return int(text)
    return None


def read_number(value: object, *, field: str, expected: str, least: int = 0, most: int = 10**18 - 1) -> int:
    """Return *value*, a whole number or its digits; InvalidRequest says that it is not *expected*."""
    number = read_digits(value) if isinstance(value, str) else value
    if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
        return number
    raise InvalidRequest(f"{field} {shorten(value)} is not {expected}")


def read_choice(
    value: object, *, field: str, choices: Collection[str], fold: Callable[[str], str] = str
) -> str:
    """Return *value* once *fold* has changed its case, which must be one of *choices*."""
    if isinstance(value, str) and (choice := fold(value)) in choices:
        return choice
    raise InvalidRequest(f"{field} {shorten(value)} is unknown, {suggest(value, list(choices))}")
