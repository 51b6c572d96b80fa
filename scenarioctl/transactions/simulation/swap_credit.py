"""Trades of a call: what they bring in the next block, and whether their limits protect the one who signs.

A dry run trades with the fees of the block that it runs on.  A sale by one trade in the Omnipool is quoted for the next
block, to the last unit; of other trades the check says what they bring now, and at least.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import write_location
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.checks import Holding
from scenarioctl.transactions.simulation.findings import Findings
from scenarioctl.transactions.swap.quote import percent
from scenarioctl.transactions.swap.route import RouteHop, parse_route
from scenarioctl.transactions.swap.route_quote import TOLERANCE, fetch_quote
from scenarioctl.transactions.swap.swap_limits import FAR_BELOW, percent_below
from scenarioctl.transactions.wording.calls import say_call
from scenarioctl.transactions.wording.transfers import ANY_LEAST, ANY_MOST

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.inner_calls import InnerCall
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.swap.quote import Quote

#: (pallet, method) -> the field of the amount that is traded exactly ("" for all of it), and that of the limit.
_SALES = {
    ("Omnipool", "sell"): ("amount", "min_buy_amount"),
    ("Router", "sell"): ("amount_in", "min_amount_out"),
    ("Router", "sell_all"): ("", "min_amount_out"),
    ("Stableswap", "sell"): ("amount_in", "min_buy_amount"),
    ("XYK", "sell"): ("amount", "max_limit"),
    ("LBP", "sell"): ("amount", "max_limit"),
    ("HSM", "sell"): ("amount_in", "slippage_limit"),
    ("AssetConversion", "swap_exact_tokens_for_tokens"): ("amount_in", "amount_out_min"),
}
_PURCHASES = {
    ("Omnipool", "buy"): ("amount", "max_sell_amount"),
    ("Router", "buy"): ("amount_out", "max_amount_in"),
    ("Stableswap", "buy"): ("amount_out", "max_sell_amount"),
    ("XYK", "buy"): ("amount", "max_limit"),
    ("LBP", "buy"): ("amount", "max_limit"),
    ("HSM", "buy"): ("amount_out", "slippage_limit"),
    ("AssetConversion", "swap_tokens_for_exact_tokens"): ("amount_out", "amount_in_max"),
}
_CONFIRM = "pass --yes (yes) if you mean it"


@dataclass(frozen=True, kw_only=True)
class Trade:
    """A call that trades one asset for another."""

    call: "Call"
    #: As the runtime names them.
    asset_in: Any
    asset_out: Any
    #: Raw amount that is sold, or bought if `buys`; None for all that the account holds.
    amount: int | None
    #: The least to get; the most to pay if `buys`.
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

    def is_far_off(self, now: int) -> bool:
        """Tell whether the limit leaves most of the money, at the price that trades *now* at its other side."""
        kept = Fraction(100 - FAR_BELOW, 100)
        return now < self.limit * kept if self.buys else self.limit < now * kept

    def is_near(self, now: int) -> bool:
        """Tell whether the fees of another block may already break the limit."""
        return self.limit < now * (1 + TOLERANCE) if self.buys else self.limit > now * (1 - TOLERANCE)


def read_trade(call: "Call") -> Trade | None:
    """Return the trade that *call* makes by itself; None if it makes none."""
    key = (call.pallet, call.method)
    fields = _SALES.get(key) or _PURCHASES.get(key)
    if fields is None:
        return None
    amount, limit = fields
    args = call.args
    path = args["path"] if "path" in args else (args["asset_in"], args["asset_out"])
    if len(path) < 2:
        return None
    return Trade(
        call=call,
        asset_in=path[0],
        asset_out=path[-1],
        amount=args[amount] if amount else None,
        limit=args[limit],
        buys=key in _PURCHASES,
        route=args.get("route", ()),
    )


@dataclass(kw_only=True)
class SwapCheck:
    """The trades of one call by one account."""

    findings: Findings
    clients: "Clients"
    assets: "Assets"
    #: The dry run of the call.
    hop: "DryRunResult"
    #: Every call of the transaction.
    calls: "Sequence[InnerCall]"
    sender: bytes
    #: What accounts get by the dry run; what the sender gets by a trade that is quoted is corrected.
    credits: list[Holding]
    #: The sender wants a trade also if its limit protects nothing.
    confirmed: bool = False

    async def run(self) -> None:
        if self.hop.failure:
            return
        calls = [found.call for found in self.calls]
        trades = [trade for call in calls if (trade := read_trade(call)) is not None]
        table = await self.clients(self.hop.chain).table() if len(calls) > 0 else None
        for trade, now in zip(trades, _find_amounts(trades, self.hop.events), strict=True):
            await self._check(trade, now, table)
        for call in calls:
            if (call.pallet, call.method) == ("DCA", "schedule"):
                await self._check_schedule(call, table)

    def _is_alone(self, trade: Trade) -> bool:
        return trade.call is self.calls[0].call

    async def _check(self, trade: Trade, now: int | None, table: "RuntimeTable | None") -> None:
        quote = await self._quote(trade) if self._is_alone(trade) and not trade.buys else None
        exact = quote.amount_out if quote is not None and quote.omnipool is not None else None
        self._doubt(trade, now if exact is None else exact, table)
        if now is None:
            if self._is_alone(trade):
                self.findings.unknowns.append(
                    f"{self._say(trade.call, table)}: the dry run doesn't show the trade, so its limit can't be compared with the price"
                )
            return
        asset = self._asset(trade.variable)
        chain, verb = self.hop.chain, "pays" if trade.buys else "buys"
        if not trade.unprotected:
            most = "at most" if trade.buys else "at least"
            self.findings.add_step(chain, f"{verb} {most}", asset, trade.limit)
        if exact is None:
            self.findings.add_step(chain, f"{verb} about", asset, now)
            if trade.is_near(now) and any(event.pallet == "Omnipool" for event in self.hop.events):
                self.findings.unknowns.append(
                    f"{self._say(trade.call, table)}, and it {verb} {asset.amount(now)} now: with the fees of the next block it may fail, and you still pay the fee"
                )
            return
        self.findings.add_step(chain, verb, asset, exact)
        self._correct(asset, exact - now)
        if exact < trade.limit:
            self.findings.refusals.append(
                f"the swap buys {asset.amount(exact)} in the next block, less than its minimum of {asset.amount(trade.limit)}: it would fail, and you would still pay the fee"
            )

    async def _check_schedule(self, call: "Call", table: "RuntimeTable | None") -> None:
        """Judge a DCA order: each of its trades has the limit of the order, and may have one near the price before it."""
        schedule = call.args["schedule"]
        ((kind, order),) = schedule["order"].items()
        buys = kind == "Buy"
        trade = Trade(
            call=call,
            asset_in=order["asset_in"],
            asset_out=order["asset_out"],
            amount=order["amount_out" if buys else "amount_in"],
            limit=order["max_amount_in" if buys else "min_amount_out"],
            buys=buys,
            route=order["route"],
        )
        slippage = schedule["slippage"]
        if slippage is not None and slippage <= FAR_BELOW * 10_000:
            if trade.unprotected:
                self.findings.warnings.append(
                    f"{self._say(call, table)}: its slippage limits each trade to {percent(slippage)} % below the price of the block before, whatever that price is"
                )
            return
        quote = None if buys or trade.unprotected else await self._quote(trade)
        if not trade.unprotected and quote is None:
            self.findings.unknowns.append(
                f"{self._say(call, table)}: the price of its trades isn't known now, so their limit can't be judged; a slippage of the order would limit them"
            )
        self._doubt(trade, None if quote is None else quote.amount_out, table)

    def _doubt(self, trade: Trade, now: int | None, table: "RuntimeTable | None") -> None:
        """Refuse a limit that protects nothing, or most of the money not; once confirmed, warn of it."""
        if not (trade.unprotected or (now and trade.is_far_off(now))):
            return
        said = self._say(trade.call, table)
        if now:
            price = f"{self._asset(trade.variable).amount(now)} that it would {'pay' if trade.buys else 'buy'} now"
            if trade.unprotected:
                said += f", instead of the {price}"
            elif trade.buys:
                said += f", {Fraction(trade.limit, now).__floor__()} times the {price}"
            else:
                said += f", {percent_below(trade.limit, now)} % below the {price}"
        if self.confirmed:
            self.findings.warnings.append(said)
        else:
            self.findings.refusals.append(f"{said}; {_CONFIRM}")

    async def _quote(self, trade: Trade) -> "Quote | None":
        """Return what a sale brings in the next block; None if that isn't known."""
        if trade.amount is None or trade.call.pallet not in ("Omnipool", "Router", "DCA"):
            return None
        hops: tuple[RouteHop, ...] | None = None
        if trade.call.pallet == "Omnipool":
            hops = (RouteHop(pool="Omnipool", asset_in=trade.asset_in, asset_out=trade.asset_out),)
        try:
            return await fetch_quote(
                self.clients(self.hop.chain),
                asset_in=self._asset(trade.asset_in),
                asset_out=self._asset(trade.asset_out),
                amount=trade.amount,
                route=hops or (parse_route(list(trade.route), field="route") if trade.route else None),
            )
        except (ChainRefused, ChainUnreachable, InvalidRequest):
            return None

    def _correct(self, asset: Asset, difference: int) -> None:
        """Let the sender get *difference* more than the dry run gave."""
        sender = format_account(self.sender, self.hop.chain.ss58_prefix)
        for place, holding in enumerate(self.credits):
            if (holding.chain, holding.account) != (self.hop.chain.name, sender):
                continue
            if holding.amount.asset == asset.display_name:
                amount = replace(holding.amount, value=holding.amount.value + difference)
                self.credits[place] = replace(holding, amount=amount)

    def _asset(self, identity: Any) -> Asset:
        found = self.assets.named(self.hop.chain, identity)
        if found is not None:
            return found
        number = str(identity) if isinstance(identity, int) else write_location(identity)
        return Asset(chain=self.hop.chain.name, id=number, symbol="", decimals=None, kind="tokens")

    def _say(self, call: "Call", table: "RuntimeTable | None") -> str:
        chain = self.hop.chain
        return say_call(call, chain, self.assets, lambda named: table if named == chain else None)


def _find_amounts(trades: Sequence[Trade], events: Sequence["Event"]) -> Iterator[int | None]:
    """Give what each of *trades* brings by the dry run, or pays if it buys; None if it isn't seen."""
    left = list(events)
    for trade in trades:
        found = next((event for event in left if _is_of(event, trade)), None)
        if found is None:
            yield None
            continue
        left = left[left.index(found) + 1 :]
        amounts = _amounts(found)
        yield amounts[0 if trade.buys else 1]


def _is_of(event: "Event", trade: Trade) -> bool:
    pallet = trade.call.pallet
    if event.pallet != pallet and not (pallet in ("XYK", "LBP", "HSM") and event.pallet == "Broadcast"):
        return False
    fields = event.fields
    amounts = _amounts(event)
    if not isinstance(fields, Mapping) or not amounts:
        return False
    assets = _assets(fields)
    return trade.amount in (None, amounts[1 if trade.buys else 0]) and assets in (
        None,
        (trade.asset_in, trade.asset_out),
    )


def _amounts(event: "Event") -> tuple[int, int] | tuple[()]:
    """Return what went in and what came out by an event of a trade; nothing of another event."""
    fields = event.fields
    if not isinstance(fields, Mapping):
        return ()
    if "amount_in" in fields and "amount_out" in fields:
        return fields["amount_in"], fields["amount_out"]
    if len(fields.get("inputs", ())) == len(fields.get("outputs", ())) == 1:
        return fields["inputs"][0]["amount"], fields["outputs"][0]["amount"]
    return ()


def _assets(fields: Mapping[str, Any]) -> tuple[Any, Any] | None:
    if "asset_in" in fields:
        return fields["asset_in"], fields["asset_out"]
    if "inputs" in fields:
        return fields["inputs"][0]["asset"], fields["outputs"][0]["asset"]
    return None
