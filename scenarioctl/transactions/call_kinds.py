"""The calls whose effects are known: what each does, in words, and what a check has to know of it.

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
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarioctl.model.calls import Call

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
