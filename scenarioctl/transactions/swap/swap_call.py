"""Swaps on the exchange chain: Omnipool.sell for one hop in the Omnipool, else Router.sell over a route."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.model.calls import Call
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.swap.route import RouteHop, check_route

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


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
    """Refuse a hop that the Omnipool refuses whatever its state: it sells no hub asset, and has a smallest *amount*."""
    if hop.asset_out == table.constant("Omnipool", "HubAssetId"):
        raise InvalidRequest(
            field="asset_out",
            problem=f"{hop.asset_out} (LRNA) cannot be bought: the Omnipool does not sell its hub asset (NotAllowed)",
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
        raise InvalidRequest(f"{chain.name} has no exchange, expected a chain like hydraDx")
    for name, asset in (("asset_in", swap.asset_in), ("asset_out", swap.asset_out)):
        if asset.chain != chain.name or not asset.id.isdigit():
            raise InvalidRequest(
                field=name, problem=f"{asset.label} of {asset.chain} is not an asset of {chain.name}"
            )
    if swap.asset_in.id == swap.asset_out.id:
        raise InvalidRequest(
            field="asset_out", problem=f"{swap.asset_out.label} is the asset sold", expected="another one"
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


def _check_omnipool(swap: Swap, hops: tuple[RouteHop, ...], table: "RuntimeTable") -> tuple[str, ...]:
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
            "LRNA is the Omnipool's hub asset: selling it works only while the pool's HubAssetTradability allows it"
        )
    if swap.route is None:
        warnings.append(
            f"without a route, the swap goes straight through the Omnipool: if it does not hold both {swap.asset_in.label} and {swap.asset_out.label}, the swap fails and you still pay the fee"
        )
    return tuple(warnings)
