"""What a call holds: the calls, XCM programs and accounts in its arguments, found by their types in
the runtime's table.

Words and checks walk a call with this module alone, so nothing that a sentence tells of is missed
by a check, and vice versa.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.chains.locations import located_accounts
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.type_table import find_typed
from scenarioctl.transactions.call_kinds import kind_of_call

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: What stops a walk: a value of another shape than its type.
_MISFITS = (LookupError, TypeError, ValueError, AttributeError)
#: Deeper inside a call nothing is read: a runtime decodes no deeper either.
DEEPEST = 64

#: `Bounded` is a call that is stored with its bytes or by its hash.
HeldKind = Literal["RuntimeCall", "Bounded", "VersionedXcm"]
_KINDS: frozenset[str] = frozenset(("RuntimeCall", "Bounded", "VersionedXcm"))
#: Types of accounts, and of what holds them in locations; other bytes, like a hash, may be as long.
_ACCOUNTS = frozenset(("AccountId32", "AccountId20", "H160", "Junction"))

#: The address at which Hydration dispatches the encoded call that it is given.
DISPATCH_PRECOMPILE = bytes(18) + b"\x04\x01"


@dataclass(frozen=True, kw_only=True)
class HeldValue:
    """A call or program in the arguments of a call."""

    #: The argument.
    field: str
    kind: HeldKind
    value: Any


@dataclass(frozen=True, kw_only=True)
class InnerCall:
    """A call of a transaction, and what is around it."""

    call: Call
    #: The call that holds it; None for the transaction's own.
    outer: Call | None = None
    #: Whether a simulation of the transaction runs it; else it may run later, or if something
    #: fails.
    runs: bool = True


def walk_calls(call: Call, table: "RuntimeTable") -> Iterator[InnerCall]:
    """Give *call*, and every call inside it, the outer ones first."""
    yield from _walk(InnerCall(call=call), table, 0)


def _walk(found: InnerCall, table: "RuntimeTable", depth: int) -> Iterator[InnerCall]:
    yield found
    outer = found.call
    if depth >= DEEPEST:
        return
    for held in held_values(outer, table):
        inner = _call_in(held, table)
        if inner is None:
            continue
        runs = found.runs and kind_of_call(outer).runs_inside and held.field != "fallback"
        yield from _walk(InnerCall(call=inner, outer=outer, runs=runs), table, depth + 1)


def _call_in(held: HeldValue, table: "RuntimeTable") -> Call | None:
    if held.kind == "VersionedXcm":
        return None
    if held.kind == "RuntimeCall":
        return read_call(held.value)
    # Bytes that are not a call are never one.
    encoded = held.value.get("Inline") if isinstance(held.value, Mapping) else None
    return None if encoded is None else decoded_call(encoded, table)


def decoded_call(data: bytes, table: "RuntimeTable") -> Call | None:
    """Return the call that *data* encodes; None if it doesn't."""
    try:
        return table.decode_call(data)
    except InvalidRequest:
        return None


def read_call(value: Any) -> Call:
    """Return the call inside another one: `{"System": {"remark": {…}}}`."""
    ((pallet, inner),) = value.items()
    ((method, arguments),) = ({inner: {}} if isinstance(inner, str) else inner).items()
    return Call(pallet=pallet, method=method, args=arguments or {})


def local_programs(call: Call, table: "RuntimeTable") -> list[Mapping[str, Any]]:
    """Return each VersionedXcm that *call*, or a call inside it, has executed on its own chain by
    an account."""
    return [
        held.value
        for found in walk_calls(call, table)
        if found.call.method == "execute"
        for held in held_values(found.call, table)
        if held.kind == "VersionedXcm"
    ]


def held_values(call: Call, table: "RuntimeTable | None") -> Iterator[HeldValue]:
    """Give the calls and programs in the arguments of *call*; none if *table* doesn't know it."""
    if table is None or not table.has_call(call.pallet, call.method):
        return
    if (call.pallet, call.method) == ("EVM", "call") and call.args.get(
        "target"
    ) == DISPATCH_PRECOMPILE:
        yield HeldValue(field="input", kind="Bounded", value={"Inline": call.args["input"]})
    for field in table.call_fields(call.pallet, call.method):
        if field.name in call.args and _can_hold(table, field.type_id, set()):
            for each, value in _find(
                table,
                field.type_id,
                call.args[field.name],
                lambda each: _kind(table, each) is not None,
            ):
                if (kind := _kind(table, each)) is not None:
                    yield HeldValue(field=field.name, kind=kind, value=value)


def named_accounts(call: Call, table: "RuntimeTable") -> Iterator[bytes]:
    """Give every account that *call*, or a call or program inside it, names."""

    def is_account(type_id: int) -> bool:
        return table.types[type_id][0].rpartition("::")[2] in _ACCOUNTS

    for found in walk_calls(call, table):
        for field in table.call_fields(found.call.pallet, found.call.method):
            if field.name in found.call.args:
                for _, value in _find(
                    table, field.type_id, found.call.args[field.name], is_account
                ):
                    yield from [value] if isinstance(value, bytes) else located_accounts(value)


def _find(
    table: "RuntimeTable", type_id: int, value: Any, is_wanted: Callable[[int], bool]
) -> list[tuple[int, Any]]:
    """Return the types and values of what is wanted in a value; nothing if it is not of its
    type."""
    try:
        return list(find_typed(table.types, type_id, value, is_wanted))
    except _MISFITS:
        return []


def _kind(table: "RuntimeTable", type_id: int) -> HeldKind | None:
    path = table.types[type_id][0]
    name = path.rpartition("::")[2]
    if name not in _KINDS or (name == "Bounded" and "preimages" not in path):
        return None
    return name  # type: ignore[no-any-return]


def _can_hold(table: "RuntimeTable", type_id: int, seen: set[int]) -> bool:
    """Tell whether a value of the type can have a call or a program in it; most lists of numbers
    are not walked."""
    if type_id in seen:
        return False
    seen.add(type_id)
    if _kind(table, type_id) is not None:
        return True
    return any(_can_hold(table, each, seen) for each in table.types.parts(type_id))
