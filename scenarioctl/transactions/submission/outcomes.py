"""What became of a transaction's call and of each call inside it: the innermost result, as the
events of its block tell.

A call that returned without an error has put the event that says so behind those of the calls
inside it, and one that failed has left none.  So the events are read from the last to the first,
and every nested call finds its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.model.calls import Call, call_key
from scenarioctl.transactions.blocks import Event, explain_dispatch_error, tells_failure
from scenarioctl.transactions.inner_calls import account_inside, kind_of_call, walk_calls

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


#: Why a call is unknown: one that another one keeps, and others.
_UNTOLD = "the events of its block don't tell"
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
        own = Outcome(
            hash=call_key(table.encode_call(each.call)), account=each.account, place=each.place
        )
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
    ends = {each.name: each for each in events if each.pallet == "System"}
    if "ExtrinsicFailed" in ends:
        reader.fail((), ends["ExtrinsicFailed"].fields["dispatch_error"])
    elif "ExtrinsicSuccess" in ends:
        # What it doesn't come to, since something is missing, stays unknown.
        with suppress(LookupError, TypeError, ValueError):
            reader.ran(())
            if any(str(each) in _MARKS for each in reader.events):
                # A call that isn't known to hold one made others.
                reader.settle((), "unknown", _UNTOLD)
                reader.note((), "done")
    return list(reader.rows.values())


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


def _name(call: Call) -> str:
    return f"{call.pallet}.{call.method}"


#: What a call that returned without an error left about the call inside it.
_LEFT: Mapping[str, tuple[str, ...]] = {
    "Utility.dispatch_as": ("Utility.DispatchedAs",),
    "Utility.dispatch_as_fallible": ("Utility.DispatchedAs",),
    "Utility.if_else": ("Utility.IfElseMainSuccess", "Utility.IfElseFallbackCalled"),
    "Proxy.proxy": ("Proxy.ProxyExecuted",),
    "Proxy.proxy_announced": ("Proxy.ProxyExecuted",),
    "Multisig.as_multi": (
        "Multisig.NewMultisig",
        "Multisig.MultisigApproval",
        "Multisig.MultisigExecuted",
    ),
    "Multisig.approve_as_multi": ("Multisig.NewMultisig", "Multisig.MultisigApproval"),
    "Multisig.cancel_as_multi": ("Multisig.MultisigCancelled",),
}
_BATCHES = ("Utility.batch", "Utility.batch_all", "Utility.force_batch")
_ITEM_DONE, _ITEM_FAILED = "Utility.ItemCompleted", "Utility.ItemFailed"
_BATCH_ENDS = tuple(
    f"Utility.Batch{each}" for each in ("Completed", "CompletedWithErrors", "Interrupted")
)
#: Events that tell what became of a call inside another one.
_MARKS = frozenset((_ITEM_DONE, _ITEM_FAILED, *_BATCH_ENDS, *chain.from_iterable(_LEFT.values())))
#: Calls that fail if the one inside them does.
_ALIKE = (
    *("Utility.as_derivative", "Utility.with_weight", "Recovery.as_recovered"),
    "Multisig.as_multi_threshold_1",
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
        self.rows = {row.place: replace(row, why=_UNTOLD) for row, _ in found}
        self.events = list(events)
        self._calls = {row.place: call for row, call in found}
        self._inside: dict[Place, list[Place]] = defaultdict(list)
        for place in self.rows:
            self._inside[place[:-1]] += [place] if place else []

    def settle(self, place: Place, state: OutcomeState, why: str = "") -> None:
        """Note the same of a call and of all inside it."""
        self.note(place, state, why)
        for inner in self._inside[place]:
            self.settle(inner, state, why)

    def fail(self, place: Place, error: Any) -> None:
        self.settle(place, "failed", explain_dispatch_error(self._table, error))

    def note(self, place: Place, state: OutcomeState, why: str = "") -> None:
        self.rows[place] = replace(self.rows[place], state=state, why=why)

    def ran(self, place: Place) -> None:
        """Read what a call left that returned without an error; LookupError if that isn't there."""
        self.note(place, "done")
        call, inside = self._calls[place], self._inside[place]
        name = "" if call is None else _name(call)
        if name in _BATCHES:
            self._read_batch(inside)
        elif name in _ALIKE:
            (inner,) = inside
            # Of a multisig's, not all runtimes tell.
            told = next((each for each in reversed(self.events) if str(each) in _MARKS), None)
            if told is not None and self._is_of(told, inner):
                self._next(str(told))
            self.ran(inner)
        elif call is not None and name in _LEFT:
            self._read_left(call, inside, self._next(*_LEFT[name]))
        else:
            self._read_own(place, call)

    def _next(self, *names: str) -> Event:
        """Return the last of the events that tell of an inner call, and take it; it must be one of
        *names*."""
        while str(self.events[-1]) not in _MARKS:
            self.events.pop()
        if str(self.events[-1]) not in names:
            raise LookupError
        return self.events.pop()

    def _read_own(self, place: Place, call: Call | None) -> None:
        """Read the events of a call that isn't known to run others."""
        kind = None if call is None else kind_of_call(call)
        is_later = kind is not None and bool(kind.words) and not kind.runs_inside
        hides = call is not None and call.method == "execute" and "Transact" in repr(call.args)
        if hides or (self._inside[place] and not is_later):
            self.note(place, "unknown", "what it made run is not told")
            raise LookupError
        for inner in self._inside[place]:
            self.settle(inner, "unknown", LATER)
        while self.events and str(self.events[-1]) not in _MARKS:
            event = self.events.pop()
            if event.pallet not in _QUIET and tells_failure(event, self._table):
                self.note(place, "unknown", f"{event}: a part of it failed")

    def _read_batch(self, items: Sequence[Place]) -> None:
        end = self._next(*_BATCH_ENDS)
        if end.name == "BatchInterrupted":
            index = end.fields["index"]
            for item in items[index + 1 :]:
                self.settle(item, "skipped", "a call before it in its batch failed")
            self.fail(items[index], end.fields["error"])
            items = items[:index]
        for item in items if end.name != "BatchCompletedWithErrors" else ():
            self.note(item, "done")
        for item in reversed(items):
            mark = self._next(_ITEM_DONE, _ITEM_FAILED)
            if str(mark) == _ITEM_FAILED:
                self.fail(item, mark.fields["error"])
            else:
                self.ran(item)

    def _read_left(self, call: Call, inside: Sequence[Place], event: Event) -> None:
        """Read what became of the calls inside *call*, of which *event* tells."""
        fields, inner = event.fields or {}, inside[0]
        if call.pallet == "Multisig" and not self._is_of(event, inner):
            raise LookupError
        if event.name == "IfElseMainSuccess":
            self.settle(inside[1], "skipped", "the call that it stands in for succeeded")
        elif event.name == "IfElseFallbackCalled":
            error = explain_dispatch_error(self._table, fields["main_error"])
            self.settle(inner, "skipped", f"it failed, so its fallback ran: {error}")
            inner = inside[1]
        elif event.name == "MultisigCancelled":
            return self.settle(inner, "canceled")
        elif event.name in ("NewMultisig", "MultisigApproval"):
            count = "1" if event.name == "NewMultisig" else "at least 2"
            return self.settle(inner, "pending", f"{count} of {call.args['threshold']} approved")
        result = fields.get("result")
        if isinstance(result, Mapping) and "Err" in result:
            return self.fail(inner, result["Err"])
        return self.ran(inner)

    def _is_of(self, event: Event, place: Place) -> bool:
        """Tell whether an *event* of a multisig is of the call at *place*."""
        if event.pallet != "Multisig":
            return False
        row = self.rows[place]
        given = event.fields["multisig"], f"0x{bytes(event.fields['call_hash']).hex()}"
        return given == (row.account, row.hash)
