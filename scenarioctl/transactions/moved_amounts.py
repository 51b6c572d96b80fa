"""How much of each asset a call moves at most, by its arguments and those of the calls inside it.

What no row of `calls.json` says exactly is unknown: a bound lets nothing through that might move
more.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.transactions.call_kinds import Danger, kind_of_call
from scenarioctl.transactions.inner_calls import held_values, walk_calls
from scenarioctl.transactions.trades import read_trade
from scenarioctl.transactions.wording.phrases import MISFITS
from scenarioctl.transactions.wording.sentences import find_value, given_to
from scenarioctl.transactions.xcm_instructions import walk_program

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable

#: Parts of a text that tell of a call or program which isn't read here, or of which only the hash
#: is known.
_OPAQUE = re.compile(r"\{(?:call|calls|encoded|program|hash|contract|created|deposit)\b")
#: Pallets whose calls move value by code that nobody reads here.
_CODE = ("EVM", "Ethereum")
#: Instructions that bring nothing to the holding of a program: they spend, give and send on what
#: others brought.
_PASSES_ON = frozenset(
    (
        *(
            "BuyExecution",
            "PayFees",
            "RefundSurplus",
            "ClearOrigin",
            "SetTopic",
            "SetAppendix",
            "SetErrorHandler",
        ),
        *(
            "DepositAsset",
            "DepositReserveAsset",
            "InitiateReserveWithdraw",
            "InitiateTeleport",
            "InitiateTransfer",
        ),
    )
)


class UnknownAmount(Exception):
    """Why it can't be told how much a call moves."""


def moved_by(
    call: "Call", chain: "Chain", assets: "Assets", table: "RuntimeTable"
) -> "dict[Asset, int]":
    """Return the most that *call* moves of each asset, in its smallest unit, without fees and
    deposits.

    UnknownAmount if it gives a right, or if it isn't known what it moves.
    """
    found = list(walk_calls(call, table))
    holders = {id(each.outer) for each in found}
    moved: Counter[Asset] = Counter()
    for each in found:
        name = f"{each.call.pallet}.{each.call.method}"
        try:
            amounts = _Amounts(each.call, chain, assets, table, holds=id(each.call) in holders)
            for asset, raw in amounts.read(name):
                if asset is None or type(raw) is not int:
                    raise UnknownAmount(f"{name} names an asset or an amount that isn't known here")
                moved[asset] += raw
        except MISFITS:
            raise UnknownAmount(f"how much {name} moves isn't known") from None
    return {asset: raw for asset, raw in moved.items() if raw}


class _Amounts:
    """The amounts of one call, without those of the calls inside it."""

    def __init__(
        self, call: "Call", chain: "Chain", assets: "Assets", table: "RuntimeTable", *, holds: bool
    ) -> None:
        self._call, self._args = call, call.args
        self._chain, self._assets, self._table = chain, assets, table
        #: Whether a call inside it was found.
        self._holds = holds

    def read(self, name: str) -> "Iterator[tuple[Asset | None, Any]]":
        kind = kind_of_call(self._call)
        if kind.right and given_to(kind.right, self._args) is not None:
            raise UnknownAmount(f"{name} gives somebody a right, which no bound limits")
        if kind.trade is not None:
            trade = read_trade(self._call)
            sold = None if trade is None else trade.limit if trade.buys else trade.amount
            if trade is None or sold is None or (trade.buys and trade.unprotected):
                raise UnknownAmount(f"how much {name} sells isn't known before it runs")
            yield self._named(trade.asset_in), sold
        elif kind.moves is not None:
            for part in kind.moves:
                yield from self._read_part(part)
            self._check_programs(name)
        elif kind.runs_inside:
            is_read = self._holds or self._args.get("calls") == []
            if self._call.pallet in _CODE or not is_read:
                raise UnknownAmount(f"what {name} runs can't be read")
        elif kind.danger <= Danger.UNKNOWN or any(map(_OPAQUE.search, kind.words)):
            raise UnknownAmount(f"how much {name} moves isn't known")

    def _named(self, identity: Any) -> "Asset | None":
        return self._assets.named(self._chain, identity)

    def _read_part(self, part: str) -> "Iterator[tuple[Asset | None, Any]]":
        """Give the amounts of a part of a text, as `sentences.py` has them."""
        how, _, fields = part.partition(":")
        values = [find_value(self._args, field) for field in fields.split(",")]
        match how:
            case "native":
                yield self._assets.native(self._chain), values[0]
            case "amount":
                yield self._named(values[1]), values[0]
            case "currencies":
                yield from ((self._named(identity), raw) for identity, raw in values[0])
            case "item":
                yield self._item(values[0])
            case "assets":
                yield from map(self._item, values[0])
            case "program":
                yield from map(self._item, self._withdrawn(values[0]))
            case _:
                raise LookupError(how)

    def _item(self, item: Mapping[str, Any]) -> "tuple[Asset | None, Any]":
        return self._named(find_value(item, "id")), item["fun"]["Fungible"]

    def _withdrawn(self, program: Any) -> Iterator[Any]:
        """Give the assets that *program*, which the account executes here, takes from it."""
        for each in walk_program(
            program, self._assets.registry, chain=self._chain, origin=None, as_chain=False
        ):
            if each.name == "WithdrawAsset" and not each.sent_on:
                yield from each.fields
            elif each.name not in _PASSES_ON:
                raise UnknownAmount(f"how much the instruction {each.name} moves isn't known")

    def _check_programs(self, name: str) -> None:
        """Refuse a program for another chain that does more than pass on what arrives."""
        if self._call.method == "execute":
            return
        for held in held_values(self._call, self._table):
            program = find_value({"value": held.value}, "value")
            for each in walk_program(
                program, self._assets.registry, chain=None, origin=self._chain
            ):
                if each.name not in _PASSES_ON:
                    raise UnknownAmount(
                        f"what {name} runs on another chain isn't known: {each.name}"
                    )
