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
from scenarioctl.model.acting import derivative_account, multisig
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

#: Calls that are made by the same account as those inside them.
_SAME_ACCOUNT = frozenset(
    (
        *(f"Utility.{each}" for each in ("batch", "batch_all", "force_batch", "if_else")),
        *(f"Dispatcher.dispatch_{each}" for each in ("with_extra_gas", "evm_call")),
    )
)
#: Calls that name who makes those inside them.
_NAMED_ACCOUNT = {
    "Proxy.proxy": "real",
    "Proxy.proxy_announced": "real",
    "Recovery.as_recovered": "account",
    "Sudo.sudo_as": "who",
}

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
    #: The account that makes it; None if that isn't known, or is none.
    account: bytes | None = None
    #: Where it stands: `(2, 0)` is the first call inside the third one inside the transaction's
    #: own, which is at `()`.
    place: tuple[int, ...] = ()


def walk_calls(
    call: Call, table: "RuntimeTable", signer: bytes | None = None
) -> Iterator[InnerCall]:
    """Give *call* of *signer*, and every call inside it, the outer ones first."""
    yield from _walk(InnerCall(call=call, account=signer), table)


def _walk(found: InnerCall, table: "RuntimeTable") -> Iterator[InnerCall]:
    yield found
    outer = found.call
    if len(found.place) >= DEEPEST:
        return
    runs_inside = kind_of_call(outer).runs_inside
    account = account_inside(outer, found.account) if runs_inside else None
    inner = ((held, _call_in(held, table)) for held in held_values(outer, table))
    calls = ((held.field, each) for held, each in inner if each is not None)
    for place, (field, each) in enumerate(calls):
        runs = found.runs and runs_inside and field != "fallback"
        place_inside = (*found.place, place)
        yield from _walk(
            InnerCall(call=each, outer=outer, runs=runs, account=account, place=place_inside), table
        )


def account_inside(call: Call, account: bytes | None) -> bytes | None:
    """Return who makes the calls inside *call*, which *account* makes; None for nobody, and if that
    isn't known."""
    name, args = f"{call.pallet}.{call.method}", call.args
    try:
        if name.startswith("Multisig.") and account is not None:
            others = args["other_signatories"]
            return multisig([account, *others], args.get("threshold", 1)).account
        if name == "Utility.as_derivative" and account is not None:
            return derivative_account(account, args["index"])
        if name in _NAMED_ACCOUNT:
            given = args[_NAMED_ACCOUNT[name]]
            # A MultiAddress, or the account itself.
            return bytes(given["Id"] if isinstance(given, Mapping) else given)
        if name.startswith("Utility.dispatch_as"):
            return bytes(args["as_origin"]["system"]["Signed"])
    except (*_MISFITS, InvalidRequest):
        return None
    return account if name in _SAME_ACCOUNT else None


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
