"""The calls whose effects are known, and what a call holds: calls, XCM programs and accounts.

To add one, add a row to `calls.json`, which words and checks both read.  A row is exact: what it
doesn't say, the call doesn't do.  A call without a row is named, with what its arguments hold, and
no check says ok.  Its section says what it is:

- `rights`: who may do what from now on, for how much and until when.  The fields in parts of
  GIVEN_TO name whom the right is given to; a row without any gives it to everybody, or to nobody
  who is known.  The call may have another row beside it.
- `payments`: a plain transfer to one account: how its amount is written, and the field of the
  receiver.
- `trades`: which field is traded exactly, none for all that the account holds, and which one limits
  the price.
- `money`, `other`: what moves value, and what doesn't.  Of several texts the first that fits the
  call is told.
- `at_once`: what runs the calls inside it at once, of `if_else` the first; all other calls keep
  theirs for later.
- `remarks`: what does nothing, whoever calls it.

`wording/sentences.py` says what the parts of a text are.

Words and checks walk a call with this module alone, so nothing that a sentence tells of is missed
by a check, and vice versa.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.chains.locations import XCM_PALLETS, located_accounts
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.acting import derivative_account, multisig
from scenarioctl.model.calls import Call
from scenarioctl.runtime.type_table import find_typed

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable


#: Parts of a text that say to whom a right is given.
GIVEN_TO = ("account", "accounts", "payee", "set", "subs")


class Danger(IntEnum):
    """What a call does to the signer, the worst first: in this order calls are told."""

    RIGHT = 0
    MONEY = 1
    UNKNOWN = 2
    OTHER = 3
    REMARK = 4


@dataclass(frozen=True, kw_only=True)
class TradeFields:
    """The arguments of one kind of trade."""

    #: The amount that is traded exactly; empty for all that the account holds.
    amount: str
    #: The least to get; the most to pay if it buys.
    limit: str
    buys: bool = False


@dataclass(frozen=True, kw_only=True)
class CallKind:
    """What one kind of call does."""

    #: In words: the first that fits the call.  Without any it is named.
    words: tuple[str, ...] = ()
    danger: Danger = Danger.UNKNOWN
    #: The right that it gives, in words; empty if it gives none.
    right: str = ""
    #: How the amount of a plain transfer is written, and the field of its receiver.
    payment: tuple[str, str] | None = None
    trade: TradeFields | None = None
    #: The calls inside it run at once.
    runs_inside: bool = False


_DANGERS = {
    "payments": Danger.MONEY,
    "trades": Danger.MONEY,
    "money": Danger.MONEY,
    "at_once": Danger.OTHER,
    "other": Danger.OTHER,
    "remarks": Danger.REMARK,
}
_UNKNOWN = CallKind()


def kind_of_call(call: "Call") -> CallKind:
    """Return the row of a call; one of which nothing is known if it has none."""
    return call_kinds().get((call.pallet, call.method), _UNKNOWN)


#: Pallets that keep balances, and the currency of fees: an event tells each of their moves.
_LEDGERS = (
    *("System", "Balances", "Assets", "ForeignAssets", "PoolAssets", "Tokens", "Currencies"),
    "MultiTransactionPayment",
)


def may_hold(call: "Call") -> bool:
    """Tell whether *call*, without those inside it, may reserve, hold or lock what its maker has
    without an event that tells it.

    Transfers, trades and remarks don't, nor do the pallets that keep balances, and what only runs
    other calls.
    """
    kind = kind_of_call(call)
    sends = kind.danger is Danger.MONEY and call.pallet in (*XCM_PALLETS, "XTokens")
    runs_only = kind.runs_inside and call.pallet != "Multisig"
    harmless = kind.payment or kind.trade or kind.danger is Danger.REMARK or call.pallet in _LEDGERS
    return not (sends or runs_only or harmless)


@cache
def call_kinds() -> Mapping[tuple[str, str], CallKind]:
    """Return the kind of each call that has a row, by pallet and method."""
    kinds: dict[tuple[str, str], CallKind] = {}
    for section, rows in json.loads(Path(__file__).with_name("calls.json").read_text()).items():
        for names, row in rows.items():
            for key in _expand(names):
                former = kinds.get(key, _UNKNOWN)
                if former.words:
                    raise ValueError(f"{names} has a second row in {section} of calls.json")
                kinds[key] = replace(former, **_read_row(section, key[0], row))
    return kinds


def _expand(names: str) -> Iterator[tuple[str, str]]:
    """Give pallet and method of the calls that *names* names: `XYK|LBP.sell|buy` are four."""
    pallets, _, methods = names.partition(".")
    yield from product(pallets.split("|"), methods.split("|"))


def _read_row(section: str, pallet: str, row: Any) -> dict[str, Any]:
    """Return the fields that a row sets."""
    if section == "rights":
        return {"right": row}
    found: dict[str, Any] = {"danger": _DANGERS[section], "runs_inside": section == "at_once"}
    if section == "payments":
        amount, receiver = row
        words = f"transfers {{{amount}}} to {{account:{receiver}}} on {{here}}"
        return {**found, "payment": (amount, receiver), "words": (words,)}
    if section == "trades":
        buys = "buys" in row
        fields = TradeFields(
            amount=row["buys" if buys else "sells"],
            limit=row["most" if buys else "least"],
            buys=buys,
        )
        return {**found, "trade": fields, "words": (_trade_words(fields, pallet),)}
    return {**found, "words": (row,) if isinstance(row, str) else tuple(row)}


def _trade_words(fields: TradeFields, pallet: str) -> str:
    has_path = pallet == "AssetConversion"
    sold, bought = ("path.0", "path.-1") if has_path else ("asset_in", "asset_out")
    verb, limit, traded, other = (
        ("buys", "most", bought, sold) if fields.buys else ("sells", "least", sold, bought)
    )
    amount = (
        f"{{amount:{fields.amount},{traded}}}"
        if fields.amount
        else f"all {{asset:{traded}}} of the signer"
    )
    end = ", received by {account:send_to}" if has_path else ""
    if pallet == "Router":
        end = ", <route+through {pools:route}|over the route that the chain chooses>"
    return f"{verb} {amount} {{{limit}:{fields.limit},{other}}} on {{here}}{end}"


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
