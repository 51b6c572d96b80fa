"""Routes of swaps, as people write them and as the router takes them; what they bring; and the
calls of swaps on the exchange chain.

One hop in the Omnipool is Omnipool.sell, everything else Router.sell over a route.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import U128_MAX, read_number, to_text, to_whole
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.swap.omnipool_math import MILLION

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


#: As people may type them -> as the runtime has them.
_POOLS = {
    "omnipool": "Omnipool",
    "xyk": "XYK",
    "lbp": "LBP",
    "stableswap": "Stableswap",
    "aave": "Aave",
    "hsm": "HSM",
}
#: The router takes no longer route.
MAX_HOPS = 9
_U32 = 2**32 - 1
_EXPECTED = (
    'hops like [{"pool": "Omnipool", "asset_in": 5, "asset_out": 102}, {"pool": '
    '{"Stableswap": 102}, '
    '"asset_in": 102, "asset_out": 10}] or 5>omnipool>102>stableswap:102>10'
)


@dataclass(frozen=True, kw_only=True)
class RouteHop:
    """One trade of a route."""

    #: `Omnipool`, `XYK`, `LBP`, `Aave`, `HSM` or `Stableswap`.
    pool: str
    #: The share asset of a stableswap pool, which is its id; None for the others.
    pool_id: int | None = None
    asset_in: int
    asset_out: int

    def __str__(self) -> str:
        pool = self.pool.lower() if self.pool_id is None else f"{self.pool.lower()}:{self.pool_id}"
        return f"{self.asset_in}>{pool}>{self.asset_out}"

    @property
    def value(self) -> dict[str, Any]:
        """The hop as the runtime takes it."""
        pool = self.pool if self.pool_id is None else {self.pool: self.pool_id}
        return {"pool": pool, "asset_in": self.asset_in, "asset_out": self.asset_out}


def parse_route(value: object, *, field: str) -> tuple[RouteHop, ...]:
    """Return the hops that *value* lists: a JSON list of hops, or text like
    `5>omnipool>102>stableswap:102>10`."""
    if isinstance(value, str):
        hops = _parse_text(value, field)
    elif isinstance(value, (list, tuple)):
        hops = tuple(
            _parse_hop(item, f"{field}[{place}]")
            for place, item in enumerate(value[: MAX_HOPS + 1])
        )
    else:
        raise InvalidRequest(field=field, value=value, problem="is not a route", expected=_EXPECTED)
    if not hops:
        raise InvalidRequest(field=field, problem="is empty", expected=_EXPECTED)
    if len(hops) > MAX_HOPS:
        raise InvalidRequest(
            field=field,
            problem=f"has more than {MAX_HOPS} hops, the router accepts no longer route",
        )
    for place, (hop, after) in enumerate(pairwise(hops)):
        if hop.asset_out != after.asset_in:
            raise InvalidRequest(
                field=f"{field}[{place + 1}]",
                problem=f"sells {after.asset_in}, but the hop before it buys {hop.asset_out}",
                expected="each hop to sell what the one before it buys",
            )
    return hops


def _parse_text(text: str, field: str) -> tuple[RouteHop, ...]:
    if len(text) > 1000:
        raise InvalidRequest(field=field, value=text, problem="is not a route", expected=_EXPECTED)
    parts = [part.strip() for part in text.split(">")]
    if len(parts) < 3 or len(parts) % 2 == 0:
        raise InvalidRequest(field=field, value=text, problem="is not a route", expected=_EXPECTED)
    return tuple(
        _hop(parts[place + 1], parts[place], parts[place + 2], f"{field}[{place // 2}]")
        for place in range(0, len(parts) - 2, 2)
    )


def _parse_hop(item: object, field: str) -> RouteHop:
    if not isinstance(item, dict) or set(item) != {"pool", "asset_in", "asset_out"}:
        raise InvalidRequest(
            field=field,
            value=item,
            problem="is not a hop with pool, asset_in and asset_out",
            expected=_EXPECTED,
        )
    return _hop(item["pool"], item["asset_in"], item["asset_out"], field)


def _hop(pool: object, asset_in: object, asset_out: object, field: str) -> RouteHop:
    name, pool_id = _parse_pool(pool, f"{field}.pool")
    hop = RouteHop(
        pool=name,
        pool_id=pool_id,
        asset_in=_parse_id(asset_in, f"{field}.asset_in"),
        asset_out=_parse_id(asset_out, f"{field}.asset_out"),
    )
    if hop.asset_in == hop.asset_out:
        raise InvalidRequest(
            field=field, problem=f"sells {hop.asset_in} for itself", expected="two different assets"
        )
    return hop


def _parse_pool(value: object, field: str) -> tuple[str, int | None]:
    name: object = value
    number: object = None
    if isinstance(value, dict) and len(value) == 1:
        name, number = next(iter(value.items()))
    elif isinstance(value, str):
        for opening, closing in (("(", ")"), (":", "")):
            head, found, tail = value.partition(opening)
            if found and tail.endswith(closing):
                name, number = head, tail[: len(tail) - len(closing)]
                break
    known = _POOLS.get(name.strip().lower()) if isinstance(name, str) else None
    if known is None:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not a pool",
            expected="one of: Omnipool, XYK, LBP, Aave, HSM, Stableswap(102)",
        )
    if known != "Stableswap":
        if number is not None:
            raise InvalidRequest(
                field=field, value=value, problem="has an id", expected=f"{known!r} alone"
            )
        return known, None
    if number is None:
        raise InvalidRequest(
            field=field, value=value, problem="has no pool id", expected="one like Stableswap(102)"
        )
    return known, _parse_id(number, field)


def _parse_id(value: object, field: str) -> int:
    return read_number(
        value, field=field, kind="an asset id", expected="a number like 5", most=_U32
    )


def check_route(hops: tuple[RouteHop, ...], asset_in: int, asset_out: int) -> None:
    """Refuse hops that do not lead from *asset_in* to *asset_out*."""
    if hops[0].asset_in != asset_in:
        raise InvalidRequest(
            field="route",
            problem=f"begins with {hops[0].asset_in}",
            expected=f"{asset_in}, the asset sold",
        )
    if hops[-1].asset_out != asset_out:
        raise InvalidRequest(
            field="route",
            problem=f"ends with {hops[-1].asset_out}",
            expected=f"{asset_out}, the asset received",
        )


def format_route(hops: Sequence[RouteHop]) -> str:
    """Return *hops* as text, in the form that `parse_route` reads."""
    return str(hops[0].asset_in) + "".join(str(hop)[len(str(hop.asset_in)) :] for hop in hops)


@dataclass(frozen=True, kw_only=True)
class Swap:
    """What is asked for; amounts in the smallest units."""

    chain: "Chain"
    asset_in: "Asset"
    asset_out: "Asset"
    amount: int
    #: Of the asset out.  Never 0: that would accept any price.
    min_amount_out: int
    #: None: one hop in the Omnipool.
    route: tuple[RouteHop, ...] | None = None


def build_swap(swap: Swap, table: "RuntimeTable") -> Draft:
    """Return the call that sells `amount` for at least `min_amount_out`."""
    asset_in, asset_out = _check_swap(swap)
    hops = swap.route or (RouteHop(pool="Omnipool", asset_in=asset_in, asset_out=asset_out),)
    check_route(hops, asset_in, asset_out)
    warnings = _check_omnipool(swap, hops, table)
    if len(hops) == 1 and hops[0].pool == "Omnipool":
        arguments = {
            "asset_in": asset_in,
            "asset_out": asset_out,
            "amount": swap.amount,
            "min_buy_amount": swap.min_amount_out,
        }
        return Draft(call=Call(pallet="Omnipool", method="sell", args=arguments), warnings=warnings)
    call = router_sell(hops, amount=swap.amount, min_amount_out=swap.min_amount_out)
    return Draft(call=call, warnings=warnings)


def router_sell(hops: tuple[RouteHop, ...], *, amount: int, min_amount_out: int) -> Call:
    """Return the call that trades *amount* along *hops*."""
    arguments = {
        "asset_in": hops[0].asset_in,
        "asset_out": hops[-1].asset_out,
        "amount_in": amount,
        "min_amount_out": min_amount_out,
        "route": [hop.value for hop in hops],
    }
    return Call(pallet="Router", method="sell", args=arguments)


def check_omnipool_trade(table: "RuntimeTable", hop: RouteHop, amount: int | None = None) -> None:
    """Refuse a hop that the Omnipool refuses whatever its state: it sells no hub asset, and has a
    smallest *amount*."""
    if hop.asset_out == table.constant("Omnipool", "HubAssetId"):
        raise InvalidRequest(
            field="asset_out",
            problem=(
                f"{hop.asset_out} (LRNA) cannot be bought: the Omnipool does not sell its hub "
                "asset (NotAllowed)"
            ),
        )
    smallest = table.constant("Omnipool", "MinimumTradingLimit")
    if amount is not None and amount < smallest:
        raise InvalidRequest(
            field="amount",
            value=amount,
            problem="is below the Omnipool's minimum trade",
            expected=f"at least {smallest} of the smallest unit",
        )


def _check_swap(swap: Swap) -> tuple[int, int]:
    chain = swap.chain
    if chain.role != "dex":
        raise InvalidRequest(f"{chain.title} has no exchange, expected a chain like hydraDx")
    for name, asset in (("asset_in", swap.asset_in), ("asset_out", swap.asset_out)):
        if asset.chain != chain.name or not asset.id.isdigit():
            raise InvalidRequest(
                field=name, problem=f"{asset.label} is not an asset of {chain.title}"
            )
    if swap.asset_in.id == swap.asset_out.id:
        raise InvalidRequest(
            field="asset_out",
            problem=f"{swap.asset_out.label} is the asset sold",
            expected="another one",
        )
    if not 0 < swap.amount <= U128_MAX:
        raise InvalidRequest(
            field="amount",
            value=swap.amount,
            problem="cannot be sold",
            expected="from 1 to 2^128 - 1 smallest units",
        )
    if swap.min_amount_out == 0:
        raise InvalidRequest(
            field="min_amount_out",
            problem="0 would accept any price",
            expected="at least 1 of the smallest unit",
        )
    if not 0 < swap.min_amount_out <= U128_MAX:
        raise InvalidRequest(
            field="min_amount_out",
            value=swap.min_amount_out,
            problem="cannot be received",
            expected="from 1 to 2^128 - 1 smallest units",
        )
    return int(swap.asset_in.id), int(swap.asset_out.id)


def _check_omnipool(
    swap: Swap, hops: tuple[RouteHop, ...], table: "RuntimeTable"
) -> tuple[str, ...]:
    """Refuse what the Omnipool is sure to refuse, and return what it may refuse."""
    traded = [hop for hop in hops if hop.pool == "Omnipool"]
    if not traded:
        return ()
    for hop in traded:
        check_omnipool_trade(table, hop)
    if hops[0].pool == "Omnipool":
        check_omnipool_trade(table, hops[0], swap.amount)
    warnings = []
    if any(hop.asset_in == table.constant("Omnipool", "HubAssetId") for hop in traded):
        warnings.append(
            "LRNA is the Omnipool's hub asset: selling it works only while the pool's "
            "HubAssetTradability allows it"
        )
    if swap.route is None:
        warnings.append(
            "without a route, the swap goes straight through the Omnipool: if it does not "
            f"hold both {swap.asset_in.label} and {swap.asset_out.label}, the swap fails "
            "and you still pay the fee"
        )
    return tuple(warnings)


#: Significant digits of a price.
_PRICE_DIGITS = Context(prec=12)


@dataclass(frozen=True, kw_only=True)
class QuoteLeg:
    """A part of the way: one hop in the Omnipool, or hops in other pools, which the chain dry-ran
    together."""

    hops: tuple[RouteHop, ...]
    amount_in: int
    amount_out: int
    #: How far below the price before the trade its size takes it, fees aside; None where that is
    #: not known.
    impact: Fraction | None
    #: Parts per million of the asset received; None where it is not the Omnipool's.
    asset_fee: int | None = None
    #: Parts per million of the hub asset on its way.
    protocol_fee: int | None = None


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What a sale would buy in the block after `block`."""

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
        """Whole tokens received for one sold, fees and impact included, to 12 digits; None without
        decimals."""
        if self.asset_in.decimals is None or self.asset_out.decimals is None:
            return None
        ratio = Fraction(self.amount_out, self.amount_in) * Fraction(
            10**self.asset_in.decimals, 10**self.asset_out.decimals
        )
        return to_text(_PRICE_DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))

    @property
    def omnipool(self) -> QuoteLeg | None:
        """The only leg, where it is one in the Omnipool: then its fees are those of the quote."""
        return self.legs[0] if len(self.legs) == 1 and self.legs[0].asset_fee is not None else None

    def check_impact(self, limit: Decimal) -> None:
        """Refuse a trade whose size takes its price more than *limit* per cent below the present
        one."""
        if self.impact is not None and self.impact * 100 > Fraction(limit):
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"{self.asset_in.amount(self.amount_in)} is so large that it moves the "
                    f"price by {percent(self.impact)} %, more than {to_text(limit)} %: sell "
                    "less in one trade"
                ),
                advice="Or allow it with `max_impact`.",
            )

    def describe(self) -> str:
        """Return the quote in words."""
        facts = [] if self.price is None else [f"price {self.price}"]
        facts.append(
            "impact unknown" if self.impact is None else f"impact {percent(self.impact)} %"
        )
        way = ""
        if self.omnipool is None:
            way = f" over {format_route(self.route)}"
        else:
            facts.append(f"asset fee {percent(self.omnipool.asset_fee)} %")
            facts.append(f"protocol fee {percent(self.omnipool.protocol_fee)} %")
        return (
            f"{self.asset_in.amount(self.amount_in)} would buy "
            f"{self.asset_out.amount(self.amount_out)}{way} "
            f"in the block after {self.block} ({', '.join(facts)})"
        )


def percent(part: Fraction | int | None) -> str:
    """Return a part of one, or an int of parts per million, in per cent with at most four digits
    behind the point."""
    ratio = Fraction(part, MILLION) if isinstance(part, int) else part or Fraction(0)
    return to_whole(round(ratio * MILLION), 4)
