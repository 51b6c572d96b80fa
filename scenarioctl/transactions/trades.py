"""The calls that trade one asset for another: what they trade, and what limits the price.  Their
rows are in `calls.json`."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.model.calls import Call
from scenarioctl.transactions.inner_calls import kind_of_call, walk_calls

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.blocks import Event

#: Least amounts that protect nothing, and a most amount that protects nothing.
ANY_LEAST, ANY_MOST = (0, 1), U128_MAX


#: Calls that trade later, or let others trade, at a price that is set in them, and those that take
#: the price of a stored order.
ORDERS = frozenset((("DCA", "schedule"), ("OTC", "place_order")))
FILLS = frozenset((("OTC", "fill_order"), ("OTC", "partial_fill_order")))
#: Pallets whose own events don't tell both amounts: those of Broadcast do.
_BROADCAST = ("XYK", "LBP", "HSM")


@dataclass(frozen=True, kw_only=True)
class Trade:
    """A call that trades one asset for another."""

    call: Call
    #: As the runtime names them.
    asset_in: Any
    asset_out: Any
    #: Raw amount that is sold, or bought if it `buys`; None for all that the account holds.
    amount: int | None
    #: The least to get; the most to pay if it `buys`.
    limit: int
    buys: bool = False
    route: Sequence[Any] = ()

    @property
    def unprotected(self) -> bool:
        return self.limit == ANY_MOST if self.buys else self.limit in ANY_LEAST

    @property
    def variable(self) -> Any:
        """The asset whose amount follows the price."""
        return self.asset_in if self.buys else self.asset_out


def read_trade(call: Call) -> Trade | None:
    """Return the trade that *call* makes by itself; None if it makes none."""
    fields, args = kind_of_call(call).trade, call.args
    if fields is None:
        return None
    path = args["path"] if "path" in args else (args["asset_in"], args["asset_out"])
    if len(path) < 2:
        return None
    return Trade(
        call=call,
        asset_in=path[0],
        asset_out=path[-1],
        amount=args[fields.amount] if fields.amount else None,
        limit=args[fields.limit],
        buys=fields.buys,
        route=args.get("route", ()),
    )


def read_order(call: Call, stored: Mapping[str, Any] | None) -> Trade | None:
    """Return what *call*, one of ORDERS or FILLS, trades; *stored* is the order that it fills, None
    if that isn't known."""
    args = call.args
    if call.pallet == "DCA":
        ((kind, order),) = args["schedule"]["order"].items()
        trade = read_trade(Call(pallet="Router", method=kind.lower(), args=order))
        return None if trade is None else replace(trade, call=call)
    # Who makes an order gives its asset out, and who fills it gives its asset in.
    given, got = ("out", "in") if stored is None else ("in", "out")
    order = args if (call.pallet, call.method) in ORDERS else stored
    if order is None:
        return None
    amount, least = order[f"amount_{given}"], order[f"amount_{got}"]
    if stored is not None and "amount_in" in args:
        amount, least = args["amount_in"], least * args["amount_in"] // amount
    return Trade(
        call=call,
        asset_in=order[f"asset_{given}"],
        asset_out=order[f"asset_{got}"],
        amount=amount,
        limit=least,
    )


#: A slippage of a DCA order, in parts per million: below it, the fees of pools alone stop a trade.
_LEAST_SLIPPAGE = 5_000


def warn_of_slippage(call: Call) -> tuple[str, ...]:
    """Return the warning of a DCA order whose slippage lets hardly a trade through; none of any
    other call."""
    if (call.pallet, call.method) != ("DCA", "schedule"):
        return ()
    slippage = call.args["schedule"]["slippage"]
    if slippage is None or slippage >= _LEAST_SLIPPAGE:
        return ()
    return (
        f"a slippage of {to_whole(slippage, 4)} % is less than the fees of pools can take: the DCA "
        "order may never trade",
    )


def warn_of_order(call: Call) -> tuple[str, ...]:
    """Return the warnings of a DCA order that nothing limits, or that hardly trades; none of any
    other call."""
    if (call.pallet, call.method) != ("DCA", "schedule"):
        return ()
    order = read_order(call, None)
    if order is None or not order.unprotected:
        return warn_of_slippage(call)
    limit = "max_amount_in" if order.buys else "min_amount_out"
    return (f"a DCA order without {limit} trades at any price", *warn_of_slippage(call))


def accepts_nothing(want: Sequence[Any]) -> bool:
    """Tell whether the assets that a program wants to get at least, as XCM has them, protect
    nothing."""
    return all(item["fun"].get("Fungible") in ANY_LEAST for item in want)


def without_limits(call: Call, table: "RuntimeTable") -> Call:
    """Return *call* with all its trades, those of inner calls too, at any price."""
    copy = deepcopy(call)
    for found in walk_calls(copy, table):
        fields = kind_of_call(found.call).trade
        if fields is not None:
            # The arguments of an inner call are a part of those of the call that holds it.
            arguments = cast("dict[str, Any]", found.call.args)
            arguments[fields.limit] = ANY_MOST if fields.buys else max(ANY_LEAST)
    return copy


def traded_amounts(trades: Sequence[Trade], events: Sequence["Event"]) -> Iterator[int | None]:
    """Give what each of *trades* got by *events*, or paid if it buys; None if they don't show
    it."""
    left = list(events)
    for trade in trades:
        exact, follows = (1, 0) if trade.buys else (0, 1)
        for place, event in enumerate(left):
            if event.pallet != (
                "Broadcast" if trade.call.pallet in _BROADCAST else trade.call.pallet
            ):
                continue
            assets, amounts = (
                _read(event.fields) if isinstance(event.fields, Mapping) else (None, ())
            )
            if (
                amounts
                and trade.amount in (None, amounts[exact])
                and assets in (None, (trade.asset_in, trade.asset_out))
            ):
                left = left[place + 1 :]
                yield amounts[follows]
                break
        else:
            yield None


def _read(fields: Mapping[str, Any]) -> tuple[tuple[Any, Any] | None, tuple[int, int] | tuple[()]]:
    """Return which assets went in and came out by an event of a trade, and how much; nothing of
    another event."""
    if "amount_in" in fields and "amount_out" in fields:
        assets = (fields["asset_in"], fields["asset_out"]) if "asset_in" in fields else None
        return assets, (fields["amount_in"], fields["amount_out"])
    if len(fields.get("inputs", ())) != 1 or len(fields.get("outputs", ())) != 1:
        return None, ()
    sold, bought = fields["inputs"][0], fields["outputs"][0]
    # What a pool takes of the asset sold is paid beside it, by a purchase and by a sale.
    beside = sum(fee["amount"] for fee in fields["fees"] if fee["asset"] == sold["asset"])
    return (sold["asset"], bought["asset"]), (sold["amount"] + beside, bought["amount"])
