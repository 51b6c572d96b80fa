"""What a swap would bring in the next block: the Omnipool by its own arithmetic, other pools by the chain's dry run.

The fees of the Omnipool are recalculated when a trade runs, so a quote is for the block after the head it was read
at; for the first trade of that block it is exact.  All that is read is read at one block.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.model.amounts import to_text, to_whole
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.dispatch_errors import explain_dispatch_error
from scenarioctl.transactions.swap.dynamic_fees import (
    FeeParameters,
    TradedVolume,
    recalculate_asset_fee,
    recalculate_protocol_fee,
)
from scenarioctl.transactions.swap.omnipool_math import (
    MILLION,
    PoolSide,
    Sale,
    sell_hub_asset,
    sell_to_omnipool,
)
from scenarioctl.transactions.swap.swap_call import RouteHop, check_route, parse_route

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable

#: The account of the Omnipool: the modules' prefix and the pool's id.
POOL_ACCOUNT = b"modlomnipool".ljust(32, b"\0")
#: Whose balance a dry run makes up where no sender is known; nobody holds its key.
STAND_IN = b"scenarioctl quote".ljust(32, b"\0")
#: Native raw units that the stand-in gets for the deposits that new balances cost.
_STAND_IN_NATIVE = 10**16
#: So far, in parts of one, a dry run and what is expected of it may be apart.
TOLERANCE = Fraction(3, 1000)
_ORACLE = b"omnipool"
_SELL, _BUY = 1, 2
#: Where the price of other pools is read: at this part of the amount.
_SMALL_PART = 1000
_SIGNIFICANT = Context(prec=12)
_Entry = tuple[str, str, tuple[Any, ...]]
_GIVE_MINIMUM = "give the minimum with --min-amount-out and --exact-minimum"


class NotQuotable(InvalidRequest):
    """A way that can be quoted by its sender only; nothing speaks against the trade."""


@dataclass(frozen=True, kw_only=True)
class QuoteLeg:
    """A part of the way: one hop in the Omnipool, or hops in other pools, which the chain dry-ran together."""

    hops: tuple[RouteHop, ...]
    amount_in: int
    amount_out: int
    #: How far below the price before the trade its size takes it, fees aside; None where that is not known.
    impact: Fraction | None
    #: Parts per million of the asset received, and its raw amount; None where it is not the Omnipool's.
    asset_fee: int | None = None
    asset_fee_amount: int | None = None
    #: Parts per million of the hub asset on its way, and its raw amount.
    protocol_fee: int | None = None
    protocol_fee_amount: int | None = None
    #: Raw amount of the hub asset.
    slip_fee_amount: int | None = None


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What a sale would bring in the block after `block`."""

    asset_in: "Asset"
    asset_out: "Asset"
    amount_in: int
    amount_out: int
    legs: tuple[QuoteLeg, ...]
    #: Number and hash of the block that it was read at.
    block: int
    block_hash: str
    warnings: tuple[str, ...] = ()

    @property
    def route(self) -> tuple[RouteHop, ...]:
        return tuple(hop for leg in self.legs for hop in leg.hops)

    @property
    def impact(self) -> Fraction | None:
        """What the size of the trade costs, as a part of one; None where a leg's is not known."""
        kept = Fraction(1)
        for leg in self.legs:
            if leg.impact is None:
                return None
            kept *= 1 - leg.impact
        return 1 - kept

    @property
    def price(self) -> str | None:
        """Whole tokens received for one sold, fees and impact included, to 12 digits; None without decimals."""
        if self.asset_in.decimals is None or self.asset_out.decimals is None:
            return None
        ratio = Fraction(self.amount_out, self.amount_in) * Fraction(
            10**self.asset_in.decimals, 10**self.asset_out.decimals
        )
        return to_text(_SIGNIFICANT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))

    @property
    def omnipool(self) -> QuoteLeg | None:
        """The only leg, where it is one in the Omnipool: then its fees are those of the quote."""
        return self.legs[0] if len(self.legs) == 1 and self.legs[0].asset_fee is not None else None

    def check_impact(self, limit: Decimal) -> None:
        """Refuse a trade whose size takes its price more than *limit* per cent below the present one."""
        if self.impact is not None and self.impact * 100 > Fraction(limit):
            raise InvalidRequest(
                f"amount {worded(self.asset_in, self.amount_in)} is so large that it worsens its own price by "
                f"{percent(self.impact)} %, more than {to_text(limit)} %: sell less at once",
                advice=", or allow it with --max-impact (max_impact)",
            )

    def describe(self) -> str:
        """Return the quote in words."""
        facts = [] if self.price is None else [f"price {self.price}"]
        facts.append("impact unknown" if self.impact is None else f"impact {percent(self.impact)} %")
        way = ""
        if self.omnipool is None:
            way = f" over {say_route(self.route)}"
        else:
            facts.append(f"asset fee {percent(self.omnipool.asset_fee)} %")
            facts.append(f"protocol fee {percent(self.omnipool.protocol_fee)} %")
        return (
            f"{worded(self.asset_in, self.amount_in)} would bring {worded(self.asset_out, self.amount_out)}{way} "
            f"in the block after {self.block} ({', '.join(facts)})"
        )


async def fetch_quote(
    client: "Client",
    *,
    asset_in: "Asset",
    asset_out: "Asset",
    amount: int,
    route: Sequence[RouteHop] | None = None,
    sender: bytes | None = None,
) -> Quote:
    """Return what *amount* raw units of *asset_in* would bring on the exchange chain of *client*.

    Without a *route* it is the one that the chain itself has for the pair, else one hop in the Omnipool.  With a
    *sender* the quote is held against a dry run by that account.  InvalidRequest where the pool takes no such
    amount, ChainRefused where the chain lets nobody trade so now.
    """
    pair = int(asset_in.id), int(asset_out.id)
    if route:
        check_route(tuple(route), *pair)
    table = await client.table()
    at = await client.call("chain_getBlockHash")
    market = OmnipoolState(client, table, at, (asset_in, asset_out))
    hops = await market.open(pair, tuple(route or ()))
    legs = await market.walk(hops, amount, sender)
    quote = Quote(
        asset_in=asset_in,
        asset_out=asset_out,
        amount_in=amount,
        amount_out=legs[-1].amount_out,
        legs=tuple(legs),
        block=market.block,
        block_hash=at,
        warnings=_warnings(asset_out, tuple(legs)),
    )
    if sender is None:
        return quote
    expected = quote.amount_out
    if all(hop.pool == "Omnipool" for hop in hops):
        # A dry run has the fees of the block that it runs on, not of the next.
        present = OmnipoolState(client, table, at, (asset_in, asset_out), ahead=0)
        await present.open(pair, hops)
        expected = (await present.walk(hops, amount, sender))[-1].amount_out
    return await market.checked(quote, expected, sender)


@dataclass(frozen=True, kw_only=True)
class _PoolAsset:
    """One asset in the Omnipool, and its fees in the block of the quote, in parts per million."""

    side: PoolSide
    tradable: int
    asset_fee: int
    protocol_fee: int
    #: The part of the reserve, as numerator and denominator, that may come in or leave in one block.
    volume_limit: tuple[int, int] | None


class OmnipoolState:
    """The pools of one chain at one block, as the trades of one quote find and leave them."""

    def __init__(
        self,
        client: "Client",
        table: "RuntimeTable",
        at: str,
        assets: "Sequence[Asset]",
        *,
        ahead: int = 1,
    ) -> None:
        if "Omnipool" not in table.pallets or "Router" not in table.pallets:
            raise InvalidRequest(f"{client.chain.name} runs {table}, which has no Omnipool to quote from")
        self._client = client
        self._table = table
        self._at = at
        self._assets = {int(asset.id): asset for asset in assets}
        #: For how many blocks after the one read the fees are: 0 where they are to be those of a dry run.
        self._ahead = ahead
        self._hub: int = table.constant("Omnipool", "HubAssetId")
        self._native: int = table.constant("Omnipool", "HdxAssetId")
        self.block = 0
        self._max_slip_fee = 0
        self._hub_tradable = 0
        #: None where the Omnipool does not have the asset.
        self._subpools: dict[int, _PoolAsset | None] = {}

    async def open(self, pair: tuple[int, int], route: tuple[RouteHop, ...]) -> tuple[RouteHop, ...]:
        """Read what a trade of *pair* needs, and return its route: the one given, the chain's, or the Omnipool."""
        ordered = {"asset_in": min(pair), "asset_out": max(pair)}
        general: list[_Entry] = [
            ("System", "Number", ()),
            ("Omnipool", "SlipFee", ()),
            ("Omnipool", "HubAssetTradability", ()),
            ("Router", "Routes", (ordered,)),
        ]
        wanted = self._unread(_omnipool_assets(route) if route else pair)
        values = await self._values(
            [*general, *(entry for asset in wanted for entry in self._entries(asset))]
        )
        self.block, slip_fee, hub_state, stored = values[: len(general)]
        self._max_slip_fee = slip_fee["max_slip_fee"] if slip_fee else 0
        self._hub_tradable = _SELL if hub_state is None else _bits(hub_state)
        await self._keep(wanted, values[len(general) :])
        hops = route or self._own_route(pair, stored)
        others = self._unread(_omnipool_assets(hops))
        if others:
            # Only where the chain's route passes the Omnipool with other assets than the pair.
            await self._keep(
                others, await self._values([entry for asset in others for entry in self._entries(asset)])
            )
        return hops

    async def walk(self, hops: tuple[RouteHop, ...], amount: int, sender: bytes | None) -> list[QuoteLeg]:
        """Return the legs of *hops* for *amount*."""
        legs: list[QuoteLeg] = []
        for in_omnipool, group in groupby(hops, key=lambda hop: hop.pool == "Omnipool"):
            if in_omnipool:
                for hop in group:
                    legs.append(self.sell(hop, legs[-1].amount_out if legs else amount))
            else:
                legs = await self.sell_elsewhere(legs, tuple(group), amount, sender)
        return legs

    def sell(self, hop: RouteHop, amount: int) -> QuoteLeg:
        """Return what the Omnipool gives for *amount*, and leave the pool as that trade does."""
        if hop.asset_out == self._hub:
            raise InvalidRequest(
                f"asset_out {self._hub} (LRNA) cannot be bought: the Omnipool sells its hub asset to nobody (NotAllowed)"
            )
        smallest = self._table.constant("Omnipool", "MinimumTradingLimit")
        if amount < smallest:
            raise InvalidRequest(
                f"amount {amount} is below the Omnipool's smallest trade, expected at least {smallest} of the smallest unit"
            )
        bought = self._tradable(hop.asset_out, _BUY)
        if hop.asset_in == self._hub:
            sold = None
            if not self._hub_tradable & _SELL:
                raise ChainRefused(
                    f"{self._hub} (LRNA) cannot be sold in the Omnipool of {self._chain} now: its HubAssetTradability forbids it"
                )
            self._check_amount_in(hop.asset_in, amount, bought.side.hub_reserve, None)
            sale = sell_hub_asset(
                amount, bought=bought.side, asset_fee=bought.asset_fee, max_slip_fee=self._max_slip_fee
            )
        else:
            sold = self._tradable(hop.asset_in, _SELL)
            self._check_amount_in(hop.asset_in, amount, sold.side.reserve, sold.volume_limit)
            sale = sell_to_omnipool(
                amount,
                sold=sold.side,
                bought=bought.side,
                asset_fee=bought.asset_fee,
                protocol_fee=sold.protocol_fee,
                max_slip_fee=self._max_slip_fee,
            )
        self._check_amount_out(hop.asset_out, sale.amount_out, bought)
        impact = _impact(amount, sold.side if sold else None, bought.side, self._max_slip_fee)
        self._settle(hop, amount, sale)
        return QuoteLeg(
            hops=(hop,),
            amount_in=amount,
            amount_out=sale.amount_out,
            impact=impact,
            asset_fee=bought.asset_fee,
            asset_fee_amount=sale.asset_fee,
            protocol_fee=sold.protocol_fee if sold else 0,
            protocol_fee_amount=sale.protocol_fee,
            slip_fee_amount=sale.slip_fee,
        )

    async def sell_elsewhere(
        self, before: list[QuoteLeg], hops: tuple[RouteHop, ...], amount: int, sender: bytes | None
    ) -> list[QuoteLeg]:
        """Return the legs *before* and one more, which the chain's own dry run of *hops* tells.

        A contract's token can be given to nobody in a dry run: what begins with one is dry-run from the beginning of
        the way, or by the *sender*, who has it.
        """
        if await self._is_contract(hops[0].asset_in):
            hops, before = (*(hop for leg in before for hop in leg.hops), *hops), []
            if sender is None and await self._is_contract(hops[0].asset_in):
                raise NotQuotable(
                    f"{self._label(hops[0].asset_in)} is a contract's token, and its way over {say_route(hops)} can only "
                    "be dry-run by an account that holds it",
                    advice=f": {_GIVE_MINIMUM}",
                )
        else:
            sender = None
        given = before[-1].amount_out if before else amount
        received = await self._dry_run(hops, given, sender)
        if not received:
            raise InvalidRequest(
                f"amount is too small, {say_route(hops)} would give nothing for {self._worded(hops[0].asset_in, given)}"
            )
        impact = None
        if small := given // _SMALL_PART:
            # Without it the impact is unknown, and the quote good: some pools take no small amounts.
            with suppress(ChainRefused):
                few = await self._dry_run(hops, small, sender)
                impact = max(1 - Fraction(received * small, given * few), Fraction(0)) if few else None
        return [*before, QuoteLeg(hops=hops, amount_in=given, amount_out=received, impact=impact)]

    async def checked(self, quote: Quote, expected: int, sender: bytes) -> Quote:
        """Return *quote* if a dry run by *sender* gives what is *expected* of it, with a warning where there is none."""
        try:
            received = await self._dry_run(quote.route, quote.amount_in, sender)
        except ChainRefused as error:
            warning = f"the quote is not checked by a dry run of the sender: {error}"
            return replace(quote, warnings=(*quote.warnings, warning))
        difference = abs(Fraction(received, expected) - 1)
        if difference > TOLERANCE:
            raise ChainRefused(
                f"a dry run of the swap gives {worded(quote.asset_out, received)} where {worded(quote.asset_out, expected)} "
                f"were expected, {percent(difference)} % apart and more than {percent(TOLERANCE)} %: ask again",
                advice=f", or {_GIVE_MINIMUM}",
            )
        return quote

    @property
    def _chain(self) -> str:
        return self._client.chain.name

    def _label(self, asset: int) -> str:
        return self._assets[asset].label if asset in self._assets else str(asset)

    # Reading

    def _unread(self, assets: Iterable[int]) -> list[int]:
        return sorted(set(assets) - {self._hub} - set(self._subpools))

    def _entries(self, asset: int) -> list[_Entry]:
        """Return what has to be read of an asset: as many entries as `_keep` takes."""
        holds: _Entry = ("Tokens", "Accounts", (POOL_ACCOUNT, asset))
        if asset == self._native:
            holds = ("System", "Account", (POOL_ACCOUNT,))
        sides = (min(asset, self._hub), max(asset, self._hub))
        return [
            ("Omnipool", "Assets", (asset,)),
            holds,
            ("AssetRegistry", "Assets", (asset,)),
            ("DynamicFees", "AssetFeeConfiguration", (asset,)),
            ("DynamicFees", "AssetFee", (asset,)),
            ("EmaOracle", "Oracles", (_ORACLE, sides, "Short")),
            ("CircuitBreaker", "TradeVolumeLimitPerAsset", (asset,)),
            # Trades that a chain makes on its own at the end of a block may be left in these for the next.
            ("Omnipool", "SlipFeeHubReserveAtBlockStart", (asset,)),
            ("Omnipool", "SlipFeeDelta", (asset,)),
        ]

    async def _values(self, entries: Sequence[_Entry]) -> list[Any]:
        """Return the stored values, in one round trip; None also where this runtime has no such entry."""
        there = [
            pallet in self._table.pallets and entry in self._table.storage_entries(pallet)
            for pallet, entry, _ in entries
        ]
        wanted = [entry for entry, known in zip(entries, there, strict=True) if known]
        values = iter(await self._client.storages(wanted, at=self._at))
        return [next(values) if known else None for known in there]

    async def _keep(self, assets: Sequence[int], values: Sequence[Any]) -> None:
        size = len(values) // len(assets) if assets else 0
        for place, asset in enumerate(assets):
            state, account, registered, *fees, limit, at_start, moved = values[
                place * size : (place + 1) * size
            ]
            self._subpools[asset] = None
            if state is None:
                continue
            if _is_erc20(registered):
                # The balance of a contract's token is in its contract's storage.
                reserve = await self._client.runtime_call(
                    "CurrenciesApi", "free_balance", asset, POOL_ACCOUNT, at=self._at
                )
            else:
                reserve = account["data"]["free"] if asset == self._native else account["free"]
            if not reserve or not state["hub_reserve"]:
                raise ChainRefused(
                    f"the Omnipool of {self._chain} holds no {self._label(asset)}: it has no price"
                )
            asset_fee, protocol_fee = self._fees(asset, reserve, *fees)
            self._subpools[asset] = _PoolAsset(
                side=PoolSide(
                    reserve=reserve,
                    hub_reserve=state["hub_reserve"],
                    hub_at_start=at_start,
                    moved=_signed(moved) if moved else 0,
                ),
                tradable=_bits(state["tradable"]),
                asset_fee=asset_fee,
                protocol_fee=protocol_fee,
                volume_limit=tuple(limit) if limit else None,
            )

    def _fees(self, asset: int, reserve: int, configured: Any, stored: Any, oracle: Any) -> tuple[int, int]:
        """Return asset fee and protocol fee in the block that the market is for."""
        kind, rates = next(iter(configured.items())) if configured else ("", {})
        if kind == "Fixed":
            return rates["asset_fee"], rates["protocol_fee"]
        asset_parameters = FeeParameters(
            **(rates.get("asset_fee_params") or self._table.constant("DynamicFees", "AssetFeeParameters"))
        )
        protocol_parameters = FeeParameters(
            **(
                rates.get("protocol_fee_params")
                or self._table.constant("DynamicFees", "ProtocolFeeParameters")
            )
        )
        fees, since = (asset_parameters.min_fee, protocol_parameters.min_fee), 0
        if stored is not None:
            fees, since = (stored["asset_fee"], stored["protocol_fee"]), stored["timestamp"]
        if oracle is None:
            return fees
        entry, own = oracle[0], "a" if asset < self._hub else "b"
        volume = TradedVolume(
            amount_in=entry["volume"][f"{own}_in"],
            amount_out=entry["volume"][f"{own}_out"],
            liquidity=entry["liquidity"][own],
        )
        blocks = max(self.block + self._ahead - since, 0)
        return (
            recalculate_asset_fee(
                fees[0], volume=volume, reserve=reserve, blocks=blocks, parameters=asset_parameters
            ),
            recalculate_protocol_fee(
                fees[1], volume=volume, reserve=reserve, blocks=blocks, parameters=protocol_parameters
            ),
        )

    def _own_route(
        self, pair: tuple[int, int], stored: "Sequence[Mapping[str, Any]] | None"
    ) -> tuple[RouteHop, ...]:
        """Return the chain's route, which is stored for the pair in the order of its ids."""
        if stored:
            hops = parse_route(list(stored), field="the chain's route")
            hops = hops if pair[0] < pair[1] else tuple(_turned(hop) for hop in reversed(hops))
            check_route(hops, *pair)
            return hops
        for asset in pair:
            if asset != self._hub and self._subpools[asset] is None:
                raise InvalidRequest(
                    f"{self._label(asset)} is not in the Omnipool of {self._chain}, and its router has no route from "
                    f"{pair[0]} to {pair[1]}",
                    advice=": give one with --route",
                )
        return (RouteHop(pool="Omnipool", asset_in=pair[0], asset_out=pair[1]),)

    # The Omnipool

    def _tradable(self, asset: int, direction: int) -> _PoolAsset:
        subpool = self._subpools[asset]
        if subpool is None:
            raise InvalidRequest(
                f"{self._label(asset)} is not in the Omnipool of {self._chain}, expected a route without it there"
            )
        if not subpool.tradable & direction:
            raise ChainRefused(
                f"{self._label(asset)} cannot be {'sold' if direction == _SELL else 'bought'} in the Omnipool of "
                f"{self._chain} now: it is {'frozen' if not subpool.tradable else 'not tradable that way'} there"
            )
        return subpool

    def _check_amount_in(self, asset: int, amount: int, reserve: int, limit: tuple[int, int] | None) -> None:
        most = reserve // self._table.constant("Omnipool", "MaxInRatio")
        if limit is not None:
            most = min(most, reserve * limit[0] // limit[1])
        if amount > most:
            raise InvalidRequest(
                f"amount {self._worded(asset, amount)} is more than the Omnipool takes at once: at most {self._worded(asset, most)}"
            )

    def _check_amount_out(self, asset: int, amount: int, bought: _PoolAsset) -> None:
        if not amount:
            raise InvalidRequest(
                f"amount is too small, the Omnipool would give nothing of {self._label(asset)} for it"
            )
        reserve, limit = bought.side.reserve, bought.volume_limit
        most = reserve // self._table.constant("Omnipool", "MaxOutRatio")
        if limit is not None:
            most = min(most, reserve * limit[0] // limit[1])
        if amount > most:
            raise InvalidRequest(
                f"amount is too large, it would bring {self._worded(asset, amount)}, and the Omnipool gives at most "
                f"{self._worded(asset, most)} at once"
            )

    def _worded(self, asset: int, amount: int) -> str:
        return worded(self._assets[asset], amount) if asset in self._assets else f"{amount} of asset {asset}"

    def _settle(self, hop: RouteHop, amount: int, sale: Sale) -> None:
        """Move the pool's sides as the trade moves them, for a later hop of the same route."""
        if hop.asset_in != self._hub:
            self._move(hop.asset_in, amount, -sale.hub_in)
        self._move(hop.asset_out, -sale.amount_out, sale.hub_out)
        # The fees in the hub asset go to the native asset's side, and are no trade there.
        self._move(self._native, 0, sale.protocol_fee + sale.slip_fee, traded=False)

    def _move(self, asset: int, reserve: int, hub: int, *, traded: bool = True) -> None:
        subpool = self._subpools.get(asset)
        if subpool is None:
            return
        side = subpool.side
        self._subpools[asset] = replace(
            subpool,
            side=replace(
                side,
                reserve=side.reserve + reserve,
                hub_reserve=side.hub_reserve + hub,
                hub_at_start=side.hub_at_start or side.hub_reserve,
                moved=side.moved + (hub if traded else 0),
            ),
        )

    # Other pools

    async def _is_contract(self, asset: int) -> bool:
        return _is_erc20((await self._values([("AssetRegistry", "Assets", (asset,))]))[0])

    async def _dry_run(self, hops: tuple[RouteHop, ...], amount: int, sender: bytes | None) -> int:
        """Return what a dry run of the router brings at this block; ChainRefused says why it fails.

        By the *sender*, or by an account that the dry run itself, as root, gives the amount.
        """
        sold = hops[0].asset_in
        call: dict[str, Any] = {
            "Router": {
                "sell": {
                    "asset_in": sold,
                    "asset_out": hops[-1].asset_out,
                    "amount_in": amount,
                    "min_amount_out": 0,
                    "route": [hop.value for hop in hops],
                }
            }
        }
        origin: Any = {"system": {"Signed": sender}}
        if sender is None:
            balances = {self._native: _STAND_IN_NATIVE}
            balances[sold] = balances.get(sold, 0) + amount
            kept = await self._issuance(sold) if any(hop.pool_id == sold for hop in hops) else None
            origin, call = {"system": "Root"}, _funded(call, balances, kept)
        try:
            answer = await self._client.runtime_call(
                "DryRunApi", "dry_run_call", origin, call, 5, at=self._at
            )
        except (ChainRefused, InvalidRequest) as error:
            raise ChainRefused(
                f"{self._chain} cannot dry-run {say_route(hops)}: {error}", advice=f"; {_GIVE_MINIMUM}"
            ) from None
        received = _read_dry_run(self._table, answer)
        if isinstance(received, str):
            raise ChainRefused(f"{self._chain} refuses {say_route(hops)} in a dry run: {received}")
        return received

    async def _issuance(self, asset: int) -> tuple[str, str]:
        """Return key and value of how much of a token there is, as they are stored."""
        (issued,) = await self._values([("Tokens", "TotalIssuance", (asset,))])
        key = storage_key(self._table, "Tokens", "TotalIssuance", (asset,))
        return key.hex, "0x" + self._table.encode(key.entry.value_type, issued).hex()


def percent(part: Fraction | int | None) -> str:
    """Return a part of one, or an int of parts per million, in per cent with at most four digits behind the point."""
    ratio = Fraction(part, MILLION) if isinstance(part, int) else part or Fraction(0)
    return to_whole(round(ratio * MILLION), 4)


def worded(asset: "Asset", amount: int) -> str:
    """Return a raw amount as a person reads it."""
    return asset.amount(amount)


def say_route(hops: Sequence[RouteHop]) -> str:
    """Return *hops* as `--route` takes them."""
    return str(hops[0].asset_in) + "".join(str(hop)[len(str(hop.asset_in)) :] for hop in hops)


def _warnings(asset_out: "Asset", legs: tuple[QuoteLeg, ...]) -> tuple[str, ...]:
    found = []
    deposit = asset_out.existential_deposit
    if deposit is not None and legs[-1].amount_out < deposit:
        found.append(
            f"{worded(asset_out, legs[-1].amount_out)} is below the existential deposit of {worded(asset_out, deposit)}: "
            "an account that holds none yet cannot receive it"
        )
    hops = [hop.pool == "Omnipool" for leg in legs for hop in leg.hops]
    if any(one and other for one, other in pairwise(hops)):
        found.append(
            "the route passes the Omnipool twice in a row, where one trade would do and cost one fee"
        )
    if any(leg.asset_fee is None and "Omnipool" in {hop.pool for hop in leg.hops} for leg in legs):
        found.append(
            f"the quote is a dry run with the fees of the block before, and may be off by {percent(TOLERANCE)} %"
        )
    if any(leg.impact is None for leg in legs):
        found.append("how far the size of the trade worsens its price is not known, and not limited")
    return tuple(found)


def _omnipool_assets(hops: Sequence[RouteHop]) -> set[int]:
    return {asset for hop in hops if hop.pool == "Omnipool" for asset in (hop.asset_in, hop.asset_out)}


def _turned(hop: RouteHop) -> RouteHop:
    return replace(hop, asset_in=hop.asset_out, asset_out=hop.asset_in)


def _bits(tradability: Any) -> int:
    bits: int = tradability["bits"] if isinstance(tradability, Mapping) else tradability
    return bits


def _signed(balance: Mapping[str, int]) -> int:
    (sign, amount), *_ = balance.items()
    return amount if sign == "Positive" else -amount


def _is_erc20(registered: Any) -> bool:
    return bool(registered) and registered["asset_type"] == "Erc20"


def _impact(amount: int, sold: PoolSide | None, bought: PoolSide, max_slip_fee: int) -> Fraction:
    """Return how far a trade of *amount* stays below the price before it, the two fees aside, without rounding."""
    hub = Fraction(amount)
    spot = Fraction(amount * bought.reserve, bought.hub_reserve)
    if sold is not None:
        hub = Fraction(amount * sold.hub_reserve, sold.reserve + amount)
        spot *= Fraction(sold.hub_reserve, sold.reserve)
        hub -= _slip_part(sold, -hub, max_slip_fee) * hub
    hub -= _slip_part(bought, hub, max_slip_fee) * hub
    return 1 - bought.reserve * hub / (bought.hub_reserve + hub) / spot


def _slip_part(side: PoolSide, change: Fraction, maximum: int) -> Fraction:
    if not maximum:
        return Fraction(0)
    changed = side.moved + change
    after = (side.hub_at_start or side.hub_reserve) + changed
    return min(abs(changed) / after, Fraction(maximum, MILLION)) if after > 0 else Fraction(maximum, MILLION)


def _funded(
    call: Mapping[str, Any], balances: Mapping[int, int], kept: tuple[str, str] | None
) -> dict[str, Any]:
    """Return the batch in which root gives the stand-in *balances*, and the stand-in makes *call*.

    What is given is new, and a pool reckons what its share is worth by how many there are: the entry *kept* of that
    is put back.
    """
    gifts = [
        {"Currencies": {"update_balance": {"who": STAND_IN, "currency_id": asset, "amount": amount}}}
        for asset, amount in balances.items()
    ]
    if kept is not None:
        gifts.append({"System": {"set_storage": {"items": [kept]}}})
    acted = {"Utility": {"dispatch_as": {"as_origin": {"system": {"Signed": STAND_IN}}, "call": call}}}
    return {"Utility": {"batch_all": {"calls": [*gifts, acted]}}}


def _read_dry_run(table: "RuntimeTable", answer: Any) -> int | str:
    """Return what the router's trade brought, or what failed."""
    if "Err" in answer:
        return str(answer["Err"])
    effects = answer["Ok"]
    outcome = effects["execution_result"]
    if "Err" in outcome:
        return explain_dispatch_error(table, outcome["Err"]["error"])
    received: int | None = None
    for event in effects["emitted_events"]:
        pallet, what = next(iter(event.items()))
        name, fields = next(iter(what.items())) if isinstance(what, Mapping) else (what, {})
        if (pallet, name) == ("Utility", "DispatchedAs") and "Err" in fields["result"]:
            return explain_dispatch_error(table, fields["result"]["Err"])
        if (pallet, name) == ("Router", "Executed"):
            received = fields["amount_out"]
    return received if received is not None else "it tells of no trade"
