"""Fields that several requests share."""

from scenarioctl.errors import InvalidRequest, shorten


def read_number(value: object, *, field: str, expected: str, least: int = 0, most: int = 10**18 - 1) -> int:
    """Return *value*, a whole number or its digits; InvalidRequest says that it is not *expected*."""
    number = int(value) if isinstance(value, str) and _is_digits(value) else value
    if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
        return number
    raise InvalidRequest(f"{field} {shorten(value)} is not {expected}")


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def read_page_size(value: int | str) -> int:
    """Return the largest number of rows of a page; the store refuses a number that is too large."""
    return read_number(value, field="limit", expected="a page size; expected 1 to 1000")
