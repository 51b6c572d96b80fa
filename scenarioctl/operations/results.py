"""What handlers return, in portions if it is long, the size of a page of it, and what the code of
an error means to a shell and to an HTTP client: `OUTCOMES`, the one table of it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from scenarioctl.errors import Warned
from scenarioctl.model.amounts import read_number
from scenarioctl.model.request_fields import Value

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Result(Generic[T]):
    """The answer of an operation, and what to tell people beside it."""

    #: The JSON of `--json` and of HTTP.  `/openapi.json` has the schema of its type, a TypedDict.
    answer: T
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: The ids of scenarios that the request names otherwise.
    ids: Mapping[str, str] = field(default_factory=dict)
    #: Further portions of the answer, whose lists follow those in it, and whose other values
    #: replace them.
    rest: AsyncIterator[T] | None = None

    async def whole(self) -> "Result[T]":
        """Return the result with all portions in its answer."""
        if self.rest is None:
            return self
        answer: Any = self.answer
        async for portion in self.rest:
            answer = join(answer, portion)
        return replace(self, answer=answer, rest=None)


def join(answer: Any, portion: Any) -> Any:
    """Return *answer* with the values of a further *portion*."""
    return {
        name: [*answer[name], *value] if isinstance(value, list) else value
        for name, value in portion.items()
    }


async def next_portion(portions: AsyncIterator[Sequence[R]]) -> Sequence[R]:
    """Return the next of *portions*, an empty one if there are no more."""
    async for rows in portions:
        return rows
    return ()


async def answer_in_portions(
    portions: AsyncIterator[Sequence[R]],
    describe: Callable[[Sequence[R]], Awaitable[T]],
) -> Result[T]:
    """Return what *describe* says of the rows in *portions*, which are read one after the other."""
    first, second = await next_portion(portions), await next_portion(portions)
    answer = await describe(first)

    async def go_on() -> AsyncIterator[T]:
        yield await describe(second)
        async for rows in portions:
            yield await describe(rows)

    return Result(answer=answer, rest=go_on() if second else None)


def refuse_warnings(warnings: Iterable[str]) -> None:
    """Raise Warned if there is a warning: of a request that is `strict`, before it creates or sends
    anything."""
    found = [warning for warning in warnings if warning]
    if found:
        raise Warned(
            f"refused because of a warning: {'; '.join(each.rstrip('.') for each in found)}",
            advice="`strict` was asked for.",
            details={"warnings": found},
        )


class Done(TypedDict):
    success: Literal[True]
    #: What was done, in a few words.
    result: str


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class PageFields:
    """The page of a list."""

    #: At most this many (default 50, at most 1000).
    limit: Annotated[int | str, Value("N", least=1, most=1000)] = 50
    #: Continue after the page that returned this cursor.
    after: Annotated[str, Value("CURSOR")] = ""


def read_page_size(value: int | str) -> int:
    """Return the largest number of rows of a page; the store refuses a number that is too large."""
    return read_number(value, field="limit", kind="a page size", expected="1 to 1000")


class Outcome(NamedTuple):
    """A code's exit status and HTTP status."""

    exit: int
    status: int


#: Exit status of `job status` if the job's last run failed; the question itself was answered, over
#: HTTP with 200.
LAST_RUN_FAILED = 7

OUTCOMES = {
    "bug": Outcome(exit=1, status=500),
    "bad_json": Outcome(exit=2, status=400),
    "invalid_request": Outcome(exit=2, status=422),
    "too_large": Outcome(exit=2, status=413),
    "unauthorized": Outcome(exit=2, status=401),
    "forbidden": Outcome(exit=2, status=403),
    "unsupported_type": Outcome(exit=2, status=415),
    "bad_request": Outcome(exit=2, status=400),
    "method_not_allowed": Outcome(exit=2, status=405),
    "too_slow": Outcome(exit=2, status=408),
    "rate_limited": Outcome(exit=2, status=429),
    "not_found": Outcome(exit=3, status=404),
    "stale_cursor": Outcome(exit=3, status=410),
    "conflict": Outcome(exit=4, status=409),
    "store_busy": Outcome(exit=4, status=503),
    "store_failed": Outcome(exit=2, status=503),
    "store_unavailable": Outcome(exit=5, status=503),
    "chain_unreachable": Outcome(exit=5, status=503),
    "not_ready": Outcome(exit=5, status=503),
    "daemon_unreachable": Outcome(exit=5, status=503),
    "timed_out": Outcome(exit=5, status=504),
    "request_failed": Outcome(exit=5, status=502),
    "chain_refused": Outcome(exit=6, status=502),
    "warned": Outcome(exit=7, status=422),
}
