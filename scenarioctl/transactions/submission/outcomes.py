"""What became of a transaction's call and of each call inside it: the innermost result, as the
events of its block tell.

A call that returned without an error has put the event that says so behind those of the calls
inside it, and one that failed has left none.  So the events are read from the last to the first,
and every nested call finds its own.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_kinds import kind_of_call
from scenarioctl.transactions.events import Event, explain_dispatch_error
from scenarioctl.transactions.inner_calls import account_inside, walk_calls
from scenarioctl.transactions.simulation.inner_failures import tells_failure

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

Place = tuple[int, ...]


#: `done`: it ran without an error. `failed`: it ran, and did nothing. `skipped`: it did not run,
#: and won't: a call before it failed, or another branch ran. `pending`: a multisig collects
#: approvals for it. `canceled`: it doesn't any more. `unknown`: the events don't tell, or it may
#: run later.
OutcomeState = Literal["done", "failed", "skipped", "pending", "canceled", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A call of a transaction: the transaction's own, or one inside it."""

    #: blake2b-256 of the call's bytes, 0x hex.
    hash: str
    #: The account that makes it; None if that isn't known, or is none.
    account: bytes | None
    #: As `InnerCall.place`.
    place: Place = ()
    state: OutcomeState = "unknown"
    #: Why it is so, in words; may be empty.
    why: str = ""

    def write(self) -> list[Any]:
        """Return it as JSON: hash, account, place, state and why."""
        account = "" if self.account is None else f"0x{self.account.hex()}"
        return [self.hash, account, list(self.place), self.state, self.why]

    @classmethod
    def read(cls, written: Sequence[Any]) -> "Outcome":
        hash, account, place, state, why = written
        return cls(
            hash=hash,
            account=bytes.fromhex(account[2:]) or None,
            place=tuple(place),
            state=state,
            why=why,
        )


#: Why a call is unknown that another one keeps.
LATER = "it runs later, if it does"
#: Calls whose argument is the hash of the call that is approved, or canceled.
_BY_HASH = ("Multisig.approve_as_multi", "Multisig.cancel_as_multi")


def walk_hashes(
    table: "RuntimeTable", call: Call | bytes, signer: bytes | None
) -> list[tuple[Outcome, Call | None]]:
    """Return *call* of *signer*, and every call inside it, the outer ones first, as calls of which
    nothing is known yet.

    Of a call that a multisig approves by its hash there is no more than that: None.
    InvalidRequest if *call* is bytes and encodes none.
    """
    if isinstance(call, bytes):
        call = table.decode_call(call)
    found: list[tuple[Outcome, Call | None]] = []
    for each in walk_calls(call, table, signer):
        own = Outcome(hash=_hash(table, each.call), account=each.account, place=each.place)
        found.append((own, each.call))
        if _name(each.call) in _BY_HASH:
            account = account_inside(each.call, each.account)
            hash = f"0x{bytes(each.call.args['call_hash']).hex()}"
            found.append((Outcome(hash=hash, account=account, place=(*each.place, 0)), None))
    return found


def read_outcomes(
    table: "RuntimeTable", call: Call | bytes, signer: bytes | None, events: Sequence[Event]
) -> list[Outcome]:
    """Return what became of *call* of *signer*, and of every call inside it, the outer ones first;
    *events* are those of its transaction, in their order."""
    reader = _Reader(table, walk_hashes(table, call, signer), events)
    reader.read()
    return reader.outcomes()


def end_pending(
    told: Sequence[Outcome], waiting: Outcome, ending: Iterable[Outcome]
) -> list[Outcome]:
    """Return *told* with what became of *waiting*, one of them, and of the calls inside it, as
    *ending* says: the calls of the transaction that ran or canceled it."""
    rows, depth = list(ending), len(waiting.place)
    of_call = [
        each for each in rows if (each.hash, each.account) == (waiting.hash, waiting.account)
    ]
    own = (
        of_call[-1] if of_call else replace(waiting, state="unknown", why="it is not open any more")
    )
    inside = {
        each.place[len(own.place) :]: each
        for each in rows
        if each.place[: len(own.place)] == own.place
    }
    return [
        replace(each, state=found.state, why=found.why)
        if each.place[:depth] == waiting.place
        else each
        for each in told
        for found in [inside.get(each.place[depth:], own)]
    ]


def _hash(table: "RuntimeTable", call: Call) -> str:
    return f"0x{blake2b(table.encode_call(call), digest_size=32).hexdigest()}"


def _name(call: Call) -> str:
    return f"{call.pallet}.{call.method}"


class _Untold(LookupError):
    """The events don't have what a call leaves: nothing before is told either."""


_ITEM_DONE, _ITEM_FAILED = "Utility.ItemCompleted", "Utility.ItemFailed"
_DONE, _ERRORS = "Utility.BatchCompleted", "Utility.BatchCompletedWithErrors"
_INTERRUPTED = "Utility.BatchInterrupted"
_MAIN, _FALLBACK = "Utility.IfElseMainSuccess", "Utility.IfElseFallbackCalled"
_PROXIED, _DISPATCHED = "Proxy.ProxyExecuted", "Utility.DispatchedAs"
_OPENED, _APPROVED = "Multisig.NewMultisig", "Multisig.MultisigApproval"
_EXECUTED, _CANCELED = "Multisig.MultisigExecuted", "Multisig.MultisigCancelled"
#: Events that tell what became of a call inside another one.
_MARKS = frozenset(
    (
        *(_ITEM_DONE, _ITEM_FAILED, _DONE, _ERRORS, _INTERRUPTED, _MAIN, _FALLBACK),
        *(_PROXIED, _DISPATCHED, _OPENED, _APPROVED, _EXECUTED, _CANCELED),
    )
)
#: Pallets whose events tell of no failure.
_QUIET = ("System", "Balances", "Assets", "ForeignAssets", "Tokens", "TransactionPayment")


class _Reader:
    """Reads the events of one transaction, the last one first."""

    def __init__(
        self,
        table: "RuntimeTable",
        found: Sequence[tuple[Outcome, Call | None]],
        events: Sequence[Event],
    ) -> None:
        self._table = table
        self._rows = {row.place: row for row, _ in found}
        self._calls = {row.place: call for row, call in found}
        self._inside: dict[Place, list[Place]] = defaultdict(list)
        for place in self._rows:
            if place:
                self._inside[place[:-1]].append(place)
        self._events = list(events)
        self._states: dict[Place, tuple[OutcomeState, str]] = {}
        #: What a call of that name, which returned without an error, left.
        self._readers: dict[str, Callable[[Place], None]] = {
            **dict.fromkeys(("Utility.batch", "Utility.force_batch"), self._batch),
            "Utility.batch_all": self._batch,
            "Utility.if_else": self._if_else,
            **dict.fromkeys(("Utility.as_derivative", "Recovery.as_recovered"), self._same),
            "Utility.with_weight": self._same,
            **dict.fromkeys(
                ("Utility.dispatch_as", "Utility.dispatch_as_fallible"), self._dispatched
            ),
            **dict.fromkeys(("Proxy.proxy", "Proxy.proxy_announced"), self._proxied),
            **dict.fromkeys(("Multisig.as_multi", *_BY_HASH), self._approved),
            "Multisig.as_multi_threshold_1": self._approved_alone,
        }

    def outcomes(self) -> list[Outcome]:
        untold: tuple[OutcomeState, str] = "unknown", "the events of its block don't tell"
        return [
            Outcome(hash=row.hash, account=row.account, place=place, state=states[0], why=states[1])
            for place, row in self._rows.items()
            for states in [self._states.get(place, untold)]
        ]

    def read(self) -> None:
        ends = {each.name: each for each in self._events if each.pallet == "System"}
        if "ExtrinsicFailed" in ends:
            why = explain_dispatch_error(
                self._table, ends["ExtrinsicFailed"].fields["dispatch_error"]
            )
            self._settle((), "failed", why)
        elif "ExtrinsicSuccess" in ends:
            try:
                self._ran(())
            except (LookupError, TypeError, ValueError):
                return
            if any(str(each) in _MARKS for each in self._events):
                # A call that isn't known to hold one made others.
                self._states = {(): ("done", "")}

    def _ran(self, place: Place) -> None:
        """Read what a call left that returned without an error."""
        self._states[place] = "done", ""
        call = self._calls[place]
        if call is None:
            raise _Untold
        if _name(call) in self._readers:
            self._readers[_name(call)](place)
            return
        kind = kind_of_call(call)
        is_later = bool(kind.words) and not kind.runs_inside
        if (self._inside[place] and not is_later) or (
            call.method == "execute" and "Transact" in repr(call.args)
        ):
            self._states[place] = "unknown", "what it made run is not told"
            raise _Untold
        for inner in self._inside[place]:
            self._settle(inner, "unknown", LATER)
        while self._events and str(self._events[-1]) not in _MARKS:
            event = self._events.pop()
            if event.pallet not in _QUIET and tells_failure(event, self._table):
                self._states[place] = "unknown", f"{event}: a part of it failed"

    def _next(self, *names: str) -> Event:
        """Return the last of the events that tell of an inner call, and take it; it must be one of
        *names*."""
        while self._events:
            event = self._events.pop()
            if str(event) in names:
                return event
            if str(event) in _MARKS:
                break
        raise _Untold

    def _settle(self, place: Place, state: OutcomeState, why: str) -> None:
        """Note the same of a call and of all inside it."""
        self._states[place] = state, why
        for inner in self._inside[place]:
            self._settle(inner, state, why)

    def _fail(self, place: Place, error: Any) -> None:
        self._settle(place, "failed", explain_dispatch_error(self._table, error))

    def _by_result(self, place: Place, event: Event) -> None:
        """Note of the call inside the one at *place* what a Result says."""
        inner = self._inner(place)
        result = event.fields["result"]
        if isinstance(result, Mapping) and "Err" in result:
            self._fail(inner, result["Err"])
        else:
            self._ran(inner)

    def _inner(self, place: Place) -> Place:
        (inner,) = self._inside[place]
        return inner

    def _same(self, place: Place) -> None:
        self._ran(self._inner(place))

    def _batch(self, place: Place) -> None:
        items = self._inside[place]
        end = self._next(_DONE, _ERRORS, _INTERRUPTED)
        if str(end) == _INTERRUPTED:
            index = end.fields["index"]
            for item in items[index + 1 :]:
                self._settle(item, "skipped", "a call before it in its batch failed")
            self._fail(items[index], end.fields["error"])
            items = items[:index]
        if str(end) != _ERRORS:
            self._states.update(dict.fromkeys(items, ("done", "")))
        for item in reversed(items):
            mark = self._next(_ITEM_DONE, _ITEM_FAILED)
            if str(mark) == _ITEM_FAILED:
                self._fail(item, mark.fields["error"])
            else:
                self._ran(item)

    def _if_else(self, place: Place) -> None:
        main, fallback = self._inside[place]
        event = self._next(_MAIN, _FALLBACK)
        if str(event) == _MAIN:
            self._settle(fallback, "skipped", "the call that it stands in for succeeded")
            self._ran(main)
        else:
            error = explain_dispatch_error(self._table, event.fields["main_error"])
            self._settle(main, "skipped", f"it failed, so its fallback ran: {error}")
            self._ran(fallback)

    def _dispatched(self, place: Place) -> None:
        self._by_result(place, self._next(_DISPATCHED))

    def _proxied(self, place: Place) -> None:
        self._by_result(place, self._next(_PROXIED))

    def _approved(self, place: Place) -> None:
        event = self._next(_OPENED, _APPROVED, _EXECUTED, _CANCELED)
        inner = self._inner(place)
        if not self._is_of(event, inner):
            raise _Untold
        if str(event) == _EXECUTED:
            self._by_result(place, event)
        elif str(event) == _CANCELED:
            self._settle(inner, "canceled", "")
        else:
            call = self._calls[place]
            threshold = "" if call is None else call.args["threshold"]
            count = "1" if str(event) == _OPENED else "at least 2"
            self._settle(inner, "pending", f"{count} of {threshold} approved")

    def _approved_alone(self, place: Place) -> None:
        inner = self._inner(place)
        # Not all runtimes tell of it.
        told = next((each for each in reversed(self._events) if str(each) in _MARKS), None)
        if told is not None and str(told) == _EXECUTED and self._is_of(told, inner):
            self._next(_EXECUTED)
        self._ran(inner)

    def _is_of(self, event: Event, place: Place) -> bool:
        """Tell whether an *event* of a multisig is of the call at *place*."""
        row = self._rows[place]
        given = event.fields["multisig"], f"0x{bytes(event.fields['call_hash']).hex()}"
        return given == (row.account, row.hash)
