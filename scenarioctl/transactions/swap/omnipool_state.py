"""The Omnipool of one chain at one block: its reserves and fees, and what a trade in it brings.

Its fees are recalculated when a trade runs, from the trades of the blocks before: see
`omnipool_math.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.runtime.storage_keys import StorageAddress
from scenarioctl.transactions.swap.omnipool_math import (
    MILLION,
    FeeParameters,
    PoolSide,
    Sale,
    recalculate_fee,
    sell_to_omnipool,
)
from scenarioctl.transactions.swap.swap_call import (
    QuoteLeg,
    RouteHop,
    check_omnipool_trade,
    check_route,
    parse_route,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable


async def read_entries(
    client: "Client", table: "RuntimeTable", entries: Sequence["StorageAddress"], *, at: str
) -> list[Any]:
    """Return the values stored at the block *at*, in one round trip; None also if the runtime has
    no such entry."""
    there = [
        pallet in table.pallets and entry in table.storage_entries(pallet)
        for pallet, entry, _ in entries
    ]
    wanted = [entry for entry, known in zip(entries, there, strict=True) if known]
    values = iter(await client.storages(wanted, at=at))
    return [next(values) if known else None for known in there]


def is_erc20(registered: Any) -> bool:
    """Tell whether an entry of the asset registry is a contract's token."""
    return bool(registered) and registered["asset_type"] == "Erc20"


#: The account of the Omnipool: the modules' prefix and the pool's id.
POOL_ACCOUNT = b"modlomnipool".ljust(32, b"\0")
_ORACLE = b"omnipool"
#: Bits of an asset's tradability.
_SELL, _BUY = 1, 2


@dataclass(frozen=True, kw_only=True)
class _PoolAsset:
    """One asset in the Omnipool, and its fees in the next block, in parts per million."""

    side: PoolSide
    tradable: int
    asset_fee: int
    protocol_fee: int
    #: Both in the block that was read, which a dry run takes.
    fees_read: tuple[int, int]
    #: The part of the reserve, as numerator and denominator, that may come in or leave in one
    #: block.
    volume_limit: tuple[int, int] | None


class OmnipoolState:
    """The Omnipool, as the trades of one quote find and leave it."""

    def __init__(
        self, client: "Client", table: "RuntimeTable", at: str, assets: "Sequence[Asset]"
    ) -> None:
        if "Omnipool" not in table.pallets or "Router" not in table.pallets:
            raise InvalidRequest(f"{client.chain.title} runs {table}, which has no Omnipool")
        self._client = client
        self._table = table
        self._at = at
        self._assets = {int(asset.id): asset for asset in assets}
        self._hub: int = table.constant("Omnipool", "HubAssetId")
        self._native: int = table.constant("Omnipool", "HdxAssetId")
        self.block = 0
        self._max_slip_fee = 0
        self._hub_tradable = 0
        #: None where the Omnipool does not have the asset.
        self._pool_assets: dict[int, _PoolAsset | None] = {}

    async def open(
        self, pair: tuple[int, int], route: tuple[RouteHop, ...]
    ) -> tuple[RouteHop, ...]:
        """Read what a trade of *pair* needs, and return its route: the one given, the chain's, or
        the Omnipool."""
        ordered = {"asset_in": min(pair), "asset_out": max(pair)}
        general: list[StorageAddress] = [
            ("System", "Number", ()),
            ("Omnipool", "SlipFee", ()),
            ("Omnipool", "HubAssetTradability", ()),
            ("Router", "Routes", (ordered,)),
        ]
        wanted = self._unread(_omnipool_assets(route) if route else pair)
        values = await self._read([*general, *self._entries(wanted)])
        self.block, slip_fee, hub_state, stored = values[: len(general)]
        self._max_slip_fee = slip_fee["max_slip_fee"] if slip_fee else 0
        self._hub_tradable = _SELL if hub_state is None else _bits(hub_state)
        await self._keep(wanted, values[len(general) :])
        hops = route or self._default_route(pair, stored)
        others = self._unread(_omnipool_assets(hops))
        if others:
            # Only if the chain's route passes the Omnipool with other assets than the pair.
            await self._keep(others, await self._read(self._entries(others)))
        return hops

    def sell(self, hop: RouteHop, amount: int) -> QuoteLeg:
        """Return what the Omnipool gives for *amount*, and leave the pool as that trade does."""
        check_omnipool_trade(self._table, hop, amount)
        bought = self._tradable(hop.asset_out, _BUY)
        sold = None if hop.asset_in == self._hub else self._tradable(hop.asset_in, _SELL)
        if sold is None and not self._hub_tradable & _SELL:
            raise ChainRefused(
                f"{self._hub} (LRNA) cannot be sold in the Omnipool of {self._chain} now: "
                "HubAssetTradability forbids it"
            )
        side = None if sold is None else sold.side
        held, limit = (
            (bought.side.hub_reserve, None)
            if sold is None
            else (
                sold.side.reserve,
                sold.volume_limit,
            )
        )
        self._check_amount_in(hop.asset_in, amount, held, limit)
        protocol_fee = sold.protocol_fee if sold else 0
        sale, fair = (
            sell_to_omnipool(
                amount,
                sold=side,
                bought=bought.side,
                asset_fee=fees[0],
                protocol_fee=fees[1],
                max_slip_fee=self._max_slip_fee,
            )
            for fees in ((bought.asset_fee, protocol_fee), (0, 0))
        )
        self._check_amount_out(hop.asset_out, sale.amount_out, bought)
        # How far it stays below the price before it, the two fees aside.
        spot = Fraction(amount * bought.side.reserve, bought.side.hub_reserve)
        spot *= Fraction(side.hub_reserve, side.reserve) if side else 1
        impact = max(1 - fair.amount_out / spot, Fraction(0))
        self._apply(hop, amount, sale)
        return QuoteLeg(
            hops=(hop,),
            amount_in=amount,
            amount_out=sale.amount_out,
            impact=impact,
            asset_fee=bought.asset_fee,
            protocol_fee=protocol_fee,
        )

    def fee_change(self, hops: Iterable[RouteHop]) -> Fraction:
        """Return the part by which the fees of the next block change what *hops* bring by those of
        the block read."""
        now = after = Fraction(1)
        for hop in hops:
            if hop.pool != "Omnipool":
                continue
            for asset, side in ((hop.asset_out, 0), (hop.asset_in, 1)):
                if asset != self._hub and (found := self._pool_assets[asset]) is not None:
                    now *= MILLION - found.fees_read[side]
                    after *= MILLION - (found.asset_fee, found.protocol_fee)[side]
        return abs(after / now - 1)

    def label(self, asset: int) -> str:
        return self._assets[asset].label if asset in self._assets else str(asset)

    def amount(self, asset: int, amount: int) -> str:
        """Return a raw amount as a person reads it."""
        return (
            self._assets[asset].amount(amount)
            if asset in self._assets
            else f"{amount} of asset {asset}"
        )

    @property
    def _chain(self) -> str:
        return self._client.chain.title

    # Reading

    def _unread(self, assets: Iterable[int]) -> list[int]:
        return sorted(set(assets) - {self._hub} - set(self._pool_assets))

    async def _read(self, entries: Sequence[StorageAddress]) -> list[Any]:
        return await read_entries(self._client, self._table, entries, at=self._at)

    def _entries(self, assets: Iterable[int]) -> list[StorageAddress]:
        return [entry for asset in assets for entry in self._entries_of(asset)]

    def _entries_of(self, asset: int) -> list[StorageAddress]:
        """Return what has to be read of an asset: as many entries as `_keep` takes."""
        holds: StorageAddress = ("Tokens", "Accounts", (POOL_ACCOUNT, asset))
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
            # Trades that a chain makes on its own at the end of a block may be left in these for
            # the next.
            ("Omnipool", "SlipFeeHubReserveAtBlockStart", (asset,)),
            ("Omnipool", "SlipFeeDelta", (asset,)),
        ]

    async def _keep(self, assets: Sequence[int], values: Sequence[Any]) -> None:
        size = len(values) // len(assets) if assets else 0
        for place, asset in enumerate(assets):
            state, account, registered, *fees, limit, at_start, moved = values[
                place * size : (place + 1) * size
            ]
            self._pool_assets[asset] = None
            if state is None:
                continue
            if is_erc20(registered):
                # The balance of a contract's token is in its contract's storage.
                reserve = await self._client.runtime_call(
                    "CurrenciesApi", "free_balance", asset, POOL_ACCOUNT, at=self._at
                )
            else:
                reserve = account["data"]["free"] if asset == self._native else account["free"]
            if not reserve or not state["hub_reserve"]:
                raise ChainRefused(
                    f"the Omnipool of {self._chain} holds no {self.label(asset)}, so it "
                    "has no price"
                )
            asset_fee, protocol_fee = self._fees(asset, reserve, *fees, ahead=1)
            self._pool_assets[asset] = _PoolAsset(
                side=PoolSide(
                    reserve=reserve,
                    hub_reserve=state["hub_reserve"],
                    hub_at_start=at_start,
                    moved=moved.get("Positive", 0) - moved.get("Negative", 0) if moved else 0,
                ),
                tradable=_bits(state["tradable"]),
                asset_fee=asset_fee,
                protocol_fee=protocol_fee,
                fees_read=self._fees(asset, reserve, *fees, ahead=0),
                volume_limit=tuple(limit) if limit else None,
            )

    def _fees(
        self, asset: int, reserve: int, configured: Any, stored: Any, oracle: Any, *, ahead: int
    ) -> tuple[int, int]:
        """Return asset fee and protocol fee so many blocks after the one that is read."""
        kind, rates = next(iter(configured.items())) if configured else ("", {})
        if kind == "Fixed":
            return rates["asset_fee"], rates["protocol_fee"]
        parameters = [
            FeeParameters(
                **(
                    rates.get(f"{name.lower()}_fee_params")
                    or self._table.constant("DynamicFees", f"{name}FeeParameters")
                )
            )
            for name in ("Asset", "Protocol")
        ]
        fees, since = [each.min_fee for each in parameters], 0
        if stored is not None:
            fees, since = [stored["asset_fee"], stored["protocol_fee"]], stored["timestamp"]
        if oracle is not None:
            entry, own = oracle[0], "a" if asset < self._hub else "b"
            left = entry["volume"][f"{own}_out"] - entry["volume"][f"{own}_in"]
            fees = [
                recalculate_fee(
                    fee,
                    traded,
                    liquidity=entry["liquidity"][own],
                    reserve=reserve,
                    blocks=max(self.block + ahead - since, 0),
                    parameters=bounds,
                )
                for fee, traded, bounds in zip(fees, (left, -left), parameters, strict=True)
            ]
        return fees[0], fees[1]

    def _default_route(
        self, pair: tuple[int, int], stored: "Sequence[Mapping[str, Any]] | None"
    ) -> tuple[RouteHop, ...]:
        """Return the chain's route, which is stored for the pair in the order of its ids."""
        if stored:
            hops = parse_route(list(stored), field="the chain's route")
            if pair[0] > pair[1]:
                hops = tuple(
                    replace(hop, asset_in=hop.asset_out, asset_out=hop.asset_in)
                    for hop in reversed(hops)
                )
            check_route(hops, *pair)
            return hops
        for asset in pair:
            if asset != self._hub and self._pool_assets[asset] is None:
                raise InvalidRequest(
                    f"{self.label(asset)} is not in the Omnipool of {self._chain}, and its "
                    "router has no route from "
                    f"{pair[0]} to {pair[1]}",
                    advice="Give one with `route`.",
                )
        return (RouteHop(pool="Omnipool", asset_in=pair[0], asset_out=pair[1]),)

    # Limits

    def _tradable(self, asset: int, direction: int) -> _PoolAsset:
        pool_asset = self._pool_assets[asset]
        if pool_asset is None:
            raise InvalidRequest(
                f"{self.label(asset)} is not in the Omnipool of {self._chain}, expected a "
                "route that does not trade it there"
            )
        if not pool_asset.tradable & direction:
            verb = "sold" if direction == _SELL else "bought"
            frozen = not pool_asset.tradable
            reason = "its trading is frozen" if frozen else "only the other direction is tradable"
            raise ChainRefused(
                f"{self.label(asset)} cannot be {verb} in the Omnipool of "
                f"{self._chain} now: {reason}"
            )
        return pool_asset

    def _most(self, ratio: str, reserve: int, limit: tuple[int, int] | None) -> int:
        """Return how much of a *reserve* may come in or leave in one trade."""
        most: int = reserve // self._table.constant("Omnipool", ratio)
        return most if limit is None else min(most, reserve * limit[0] // limit[1])

    def _check_amount_in(
        self, asset: int, amount: int, reserve: int, limit: tuple[int, int] | None
    ) -> None:
        most = self._most("MaxInRatio", reserve, limit)
        if amount > most:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"{self.amount(asset, amount)} is more than the Omnipool accepts in one "
                    f"trade: at most {self.amount(asset, most)}"
                ),
            )

    def _check_amount_out(self, asset: int, amount: int, bought: _PoolAsset) -> None:
        if not amount:
            raise InvalidRequest(
                field="amount",
                problem=f"is too small: the Omnipool would give no {self.label(asset)} for it",
            )
        most = self._most("MaxOutRatio", bought.side.reserve, bought.volume_limit)
        if amount > most:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"is too large: it would buy {self.amount(asset, amount)}, and the "
                    f"Omnipool gives at most {self.amount(asset, most)} in one trade"
                ),
            )

    def _apply(self, hop: RouteHop, amount: int, sale: Sale) -> None:
        """Move the pool's sides as the trade moves them, for a later hop of the same route."""
        if hop.asset_in != self._hub:
            self._move(hop.asset_in, amount, -sale.hub_in)
        self._move(hop.asset_out, -sale.amount_out, sale.hub_out)
        # The fees in the hub asset go to the native asset's side, and are no trade there.
        self._move(self._native, 0, sale.protocol_fee + sale.slip_fee, traded=False)

    def _move(self, asset: int, reserve: int, hub: int, *, traded: bool = True) -> None:
        pool_asset = self._pool_assets.get(asset)
        if pool_asset is None:
            return
        side = pool_asset.side
        self._pool_assets[asset] = replace(
            pool_asset,
            side=replace(
                side,
                reserve=side.reserve + reserve,
                hub_reserve=side.hub_reserve + hub,
                hub_at_start=side.hub_at_start or side.hub_reserve,
                moved=side.moved + (hub if traded else 0),
            ),
        )


def _omnipool_assets(hops: Sequence[RouteHop]) -> set[int]:
    return {
        asset for hop in hops if hop.pool == "Omnipool" for asset in (hop.asset_in, hop.asset_out)
    }


def _bits(tradability: Any) -> int:
    bits: int = tradability["bits"] if isinstance(tradability, Mapping) else tradability
    return bits
