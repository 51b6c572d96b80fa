"""What handlers return, and the size of a page of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypedDict, TypeVar

from scenarioctl.errors import Warned
from scenarioctl.model.request_values import read_number

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Result(Generic[T]):
    """The answer of an operation, and what to tell people beside it."""

    #: The JSON of `--json` and of HTTP.  `/openapi.json` has the schema of its type, a TypedDict.
    answer: T
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: Whether a daemon encodes the answer in a thread, because it may be megabytes.
    large: bool = False


def refuse_warnings(warnings: Iterable[str]) -> None:
    """Raise Warned if there is a warning: of a request that is `strict`, before it creates or sends anything."""
    found = [warning for warning in warnings if warning]
    if found:
        raise Warned(
            f"refused because of a warning: {'; '.join(each.rstrip('.') for each in found)}",
            advice="; --strict was asked for",
            details={"warnings": found},
        )


class Done(TypedDict):
    success: Literal[True]
    #: What was done, in a few words.
    result: str


def read_page_size(value: int | str) -> int:
    """Return the largest number of rows of a page; the store refuses a number that is too large."""
    return read_number(value, field="limit", expected="a page size, expected 1 to 1000")
