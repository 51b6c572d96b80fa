"""What can go wrong, by name.  Exit codes and HTTP statuses stand in one table:
`operations/results.py`.

Every message is one sentence that names the field, the value, and what would have worked.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from math import isfinite
from typing import Self


class _Unsaid(Enum):
    """What stands for a value that a sentence doesn't show."""

    UNSAID = 0


class ScenarioctlError(Exception):
    """Anything a user can mend or wait out.  All else is a bug.

    Where one field is at fault, its error says which, its value, what is wrong with it, and what
    would have worked. The sentence is made of these, and so is what a JSON answer has beside it.
    """

    code = "bug"

    def __init__(
        self,
        sentence: str = "",
        *,
        field: str = "",
        value: object = _Unsaid.UNSAID,
        limit: int = 60,
        shown: str = "",
        problem: str = "",
        expected: str = "",
        known: Sequence[str] | Mapping[str, str] | None = None,
        advice: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Say *sentence*, or what is wrong with *field*; behind it *advice*, a whole sentence.

        Other fields stand in backticks: each edge spells them as its users type them.

        *value* is shown in at most *limit* characters, or as *shown*. Of *known* names those are
        suggested that it may mean.
        """
        #: The field at fault as who asks calls it, or the path to it; empty if it isn't one field.
        self.field = field
        likely = "" if known is None else meant(value, known)
        if known is not None and not likely:
            expected = f"one of: {', '.join(known)}"
        #: What would have worked; empty if the sentence doesn't say.
        self.expected = likely or expected
        tail = (
            f", did you mean {likely}?" if likely else f", expected {expected}" if expected else ""
        )
        self._value = value
        if not isinstance(value, _Unsaid):
            shown = shown or shorten(value, limit)
            self._value = value if _is_plain(value, limit) else shown
            shown = f" {shown}"
        #: The sentence behind the name of the field.
        self._rest = (
            f"{shown}{problem if problem[:1] in ('', ':') else f' {problem}'}{tail}"
            if field
            else sentence
        )
        #: The end of the message: other fields and commands that help, which a page leaves out.
        self.advice = advice
        self._sent_as = ""
        #: The sentence for the log of a run: without the advice, since no command line is at hand
        #: there, and without the address of the store.
        self.statement = field + self._rest
        super().__init__(_joined(self.statement, advice))
        self._details = dict(details or {})

    @property
    def details(self) -> Mapping[str, object]:
        """What a JSON answer has beside sentence and code: the field at fault, or of a transaction
        that was sent, its hash."""
        said: dict[str, object] = {}
        # A name with a space is that of a thing, like a stored scenario.
        field = self._sent_as or ("" if " " in self.field else self.field)
        if field:
            said["field"] = field
            if not isinstance(self._value, _Unsaid):
                said["value"] = self._value
            if self.expected:
                said["expected"] = self.expected
        return said | self._details

    def add_details(self, **details: object) -> None:
        """Let a JSON answer say *details* too."""
        self._details |= details

    def blame(self, field: str, value: object = _Unsaid.UNSAID) -> Self:
        """Let a JSON answer name *field* as the one at fault, whatever the sentence calls what is
        in it; return this error.

        Its *value* is said too, if the error has none and it is short.
        """
        self._sent_as = field
        if isinstance(self._value, _Unsaid) and _is_plain(value, _SHORT):
            self._value = value
        return self

    def spelled(self, spell: Callable[[str], str]) -> Self:
        """Return this error with what it says of other fields spelled as *spell* does."""
        other = self._copy(self.field, spell(self._rest)).blame(self._sent_as)
        other.advice = spell(self.advice)
        other.args = (_joined(other.statement, other.advice),)
        return other

    def named(self, field: str) -> Self:
        """Return this error with its field under another name, or a path."""
        return self._copy(field, self._rest)

    def within(self, place: str) -> Self:
        """Return this error as one of *place*, which stands in front: `steps[2]: …`."""
        return self._copy(place, f": {self.statement}")

    def reworded(self, change: Callable[[str], str]) -> Self:
        """Return this error with the words behind its field changed."""
        return self._copy(self.field, change(self._rest)).blame(self._sent_as)

    def _copy(self, field: str, rest: str) -> Self:
        statement = field + rest
        other = type(self).__new__(type(self), _joined(statement, self.advice))
        other.__dict__.update(
            self.__dict__, field=field, _rest=rest, statement=statement, _sent_as=""
        )
        return other


def _joined(statement: str, advice: str) -> str:
    if not advice:
        return statement
    return f"{statement}{'' if statement.endswith(('.', '?')) else '.'} {advice}"


@contextmanager
def blaming(field: str) -> Iterator[None]:
    """Blame *field* for each error in the block, or in the function that this decorates."""
    try:
        yield
    except ScenarioctlError as error:
        error.blame(field)
        raise


class BadJson(ScenarioctlError):
    """The text is not JSON (or TOML, in a flow file)."""

    code = "bad_json"


class InvalidRequest(ScenarioctlError):
    """A field's value cannot be used."""

    code = "invalid_request"


class NotFound(ScenarioctlError):
    """There is no such scenario, job or chain."""

    code = "not_found"


class StaleCursor(ScenarioctlError):
    """A cursor names a row that the store had, and has lost in a failover or a restore."""

    code = "stale_cursor"


class Conflict(ScenarioctlError):
    """What is there already stands in the way."""

    code = "conflict"


class Warned(ScenarioctlError):
    """There is a warning, and who asks wants none (`strict`); nothing was created or sent."""

    code = "warned"


class StoreBusy(ScenarioctlError):
    """Another process holds the store for longer than anybody wants to wait."""

    code = "store_busy"


class StoreFailed(ScenarioctlError):
    """The store cannot be read or written: no room, no permission, damaged, or gone.  Nobody's
    request is to blame."""

    code = "store_failed"


class StoreUnavailable(ScenarioctlError):
    """The server that keeps the store can't be reached; `details["retry_after"]` has the seconds to
    wait."""

    code = "store_unavailable"


class TooLarge(ScenarioctlError):
    """More bytes than this program is willing to hold."""

    code = "too_large"


class Unauthorized(ScenarioctlError):
    """The daemon wants a token, and got none that it knows."""

    code = "unauthorized"


class Forbidden(ScenarioctlError):
    """The token, the host or the origin may not do this."""

    code = "forbidden"


class UnsupportedType(ScenarioctlError):
    """The body of a request is not of a type that is read."""

    code = "unsupported_type"


class RateLimited(ScenarioctlError):
    """Too many requests at once; `details["retry_after"]` has the seconds to wait."""

    code = "rate_limited"


class BadRequest(ScenarioctlError):
    """What came is not HTTP as the daemon reads it."""

    code = "bad_request"


class MethodNotAllowed(ScenarioctlError):
    """The path is there, but not for this method."""

    code = "method_not_allowed"


class TooSlow(ScenarioctlError):
    """The body of a request did not come in time."""

    code = "too_slow"


class TimedOut(ScenarioctlError):
    """A run did not come to its end in the time it was given."""

    code = "timed_out"


class NotReady(ScenarioctlError):
    """The daemon lives, but cannot work at this moment."""

    code = "not_ready"


class DaemonUnreachable(ScenarioctlError):
    """No daemon answers at `--url`."""

    code = "daemon_unreachable"


class RequestFailed(ScenarioctlError):
    """A web server of an http step was not reached, may not be reached, or did not answer as it
    should."""

    code = "request_failed"


class ChainRefused(ScenarioctlError):
    """The chain was reached and said no."""

    code = "chain_refused"


class ChainUnreachable(ScenarioctlError):
    """No endpoint answered, or `--offline` forbade asking."""

    code = "chain_unreachable"


def shorten(value: object, limit: int = 60) -> str:
    """Return *value* quoted for an error sentence, cut so that a 50 MB value does not flood a
    terminal."""
    if isinstance(value, (bytes, bytearray)):
        text = "0x" + bytes(value[:limit]).hex()
    elif isinstance(value, str):
        text = repr(value[: limit + 1])
    elif isinstance(value, int) and value.bit_length() > 1000:
        # Python refuses to write an int of more than 4300 digits.
        text = f"a number of about {value.bit_length() * 30103 // 100000} digits"
    elif isinstance(value, (list, tuple, dict)):
        # reprlib looks only as far as it prints, however large or deep the value.
        import reprlib

        text = reprlib.repr(value)
    elif value is None or isinstance(value, bool):
        # As JSON, in which most callers wrote it.
        text = "null" if value is None else str(value).lower()
    else:
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def name_of(value: object) -> str:
    """Return a short name for *value* by its JSON type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return shorten(value)


#: Characters of a value that a JSON answer repeats.
_SHORT = 60


def _is_plain(value: object, limit: int) -> bool:
    """Return whether a JSON answer has *value* as it is, and not as a sentence shows it."""
    if isinstance(value, str):
        return len(value) <= limit
    if isinstance(value, float):
        return isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) < 2**53)


#: How much alike two words are of which one is mistyped.
_SLIP = 0.85


def fold(name: str) -> str:
    """Return *name* without what people get wrong in it: case, spaces, `_` and `-`."""
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def closest(word: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the *count* names of *known* that are most like *word*; fewer if others are less like
    it than *cutoff*.

    Two letters that changed places and other obvious slips come first, then the names that begin
    with *word*, if it has four letters or more.
    """
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(fold(each), each)
    wanted = fold(word[:80])
    pairs = range(len(wanted) - 1)
    swapped = {
        wanted[:place] + wanted[place + 1] + wanted[place] + wanted[place + 2 :] for place in pairs
    }
    close = get_close_matches(wanted, folded, n=count, cutoff=cutoff)
    slips = get_close_matches(wanted, close, n=count, cutoff=_SLIP)
    begun = (
        sorted((each for each in folded if each.startswith(wanted)), key=len)
        if len(wanted) > 3
        else []
    )
    return [
        folded[each]
        for each in dict.fromkeys([*sorted(swapped & folded.keys()), *slips, *begun, *close])
    ][:count]


def suggest(
    word: object,
    known: Sequence[str] | Mapping[str, str],
    *,
    otherwise: str | None = None,
    count: int = 1,
    cutoff: float = 0.6,
) -> str:
    """Return a question for the names of *known* that *word* may mean; without one *otherwise*, or
    the whole list.

    A mapping has spellings, and what each is a spelling of, which is suggested.  All suggestions of
    the program are made here; they stand behind what is wrong, after a comma.
    """
    return question(meant(word, known, count=count, cutoff=cutoff), known, otherwise=otherwise)


#: As many names of a list are told.
_LISTED = 24


def question(likely: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """Return the question for what is *likely* meant; if that is empty, *otherwise*, or the whole
    list of what is *known*."""
    if likely:
        return f"did you mean {likely}?"
    names = [*known]
    listed = ", ".join([*names[:_LISTED], *["…"] * (len(names) > _LISTED)])
    return f"expected one of: {listed}" if otherwise is None else otherwise


def meant(
    word: object, known: Sequence[str] | Mapping[str, str], *, count: int = 1, cutoff: float = 0.6
) -> str:
    """Return the names of *known* that *word* may mean, joined by `or`; empty if there is none."""
    close = closest(word, known, count=count, cutoff=cutoff) if isinstance(word, str) else []
    if isinstance(known, Mapping):
        close = list(dict.fromkeys(known[each] for each in close))
    return either(close)


def either(names: Sequence[str]) -> str:
    """Return *names* joined by commas and `or`."""
    return f"{', '.join(names[:-1])}{' or ' if names[1:] else ''}{names[-1]}" if names else ""
