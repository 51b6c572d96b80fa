"""What a swap brings: a quote, and the legs that it consists of."""

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import to_text, to_whole
from scenarioctl.transactions.swap.omnipool_math import MILLION
from scenarioctl.transactions.swap.swap_call import RouteHop, format_route

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset

#: Significant digits of a price.
_PRICE_DIGITS = Context(prec=12)


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
        """Whole tokens received for one sold, fees and impact included, to 12 digits; None without decimals."""
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
        """Refuse a trade whose size takes its price more than *limit* per cent below the present one."""
        if self.impact is not None and self.impact * 100 > Fraction(limit):
            raise InvalidRequest(
                field="amount",
                problem=f"{self.asset_in.amount(self.amount_in)} is so large that it moves the price by {percent(self.impact)} %, more than {to_text(limit)} %: sell less in one trade",
                advice=", or allow it with --max-impact (max_impact)",
            )

    def describe(self) -> str:
        """Return the quote in words."""
        facts = [] if self.price is None else [f"price {self.price}"]
        facts.append("impact unknown" if self.impact is None else f"impact {percent(self.impact)} %")
        way = ""
        if self.omnipool is None:
            way = f" over {format_route(self.route)}"
        else:
            facts.append(f"asset fee {percent(self.omnipool.asset_fee)} %")
            facts.append(f"protocol fee {percent(self.omnipool.protocol_fee)} %")
        return (
            f"{self.asset_in.amount(self.amount_in)} would buy {self.asset_out.amount(self.amount_out)}{way} "
            f"in the block after {self.block} ({', '.join(facts)})"
        )


def percent(part: Fraction | int | None) -> str:
    """Return a part of one, or an int of parts per million, in per cent with at most four digits behind the point."""
    ratio = Fraction(part, MILLION) if isinstance(part, int) else part or Fraction(0)
    return to_whole(round(ratio * MILLION), 4)
