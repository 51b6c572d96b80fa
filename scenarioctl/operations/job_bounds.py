"""The bounds of a job, kept by each draft: what its transaction moves of each asset, alone and with
those of 24 hours."""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.model.amounts import to_whole
from scenarioctl.model.bounds import read_bounds, split_bounds, write_amount
from scenarioctl.model.jobs import BOUNDS, SECOND, Schedule

if TYPE_CHECKING:
    from scenarioctl.actions.running import Guard
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction

#: A draft counts from the planned time of its run, up to so much before it was made: else one that
#: a job makes each day would now and then be made a moment less than a day after the one before.
_EARLIER = 60 * 60 * SECOND


def name_assets(
    app: Application, chains: tuple[str, ...], given: Mapping[str, object]
) -> dict[str, object]:
    """Return the *given* fields of a schedule, bounds with the symbols of assets as they are
    spelled on these chains.

    InvalidRequest if a symbol means no asset of them.
    """
    known = [app.registry.find(name) for name in chains]
    named = dict(given)
    for field in {*BOUNDS} & given.keys() if known else ():
        amounts = split_bounds(read_bounds(given[field], field=field))
        found = {symbol: [_means(app, chain, symbol) for chain in known] for symbol in amounts}
        for symbol, assets in found.items():
            if not any(assets):
                raise InvalidRequest(
                    field=field,
                    value=symbol,
                    problem=(
                        f"is no symbol of an asset of {' or '.join(each.title for each in known)}"
                    ),
                    expected=f"one like {app.assets.native(known[0]).symbol}",
                )
        named[field] = ", ".join(
            f"{write_amount(amount)} {next(filter(None, found[symbol])).symbol}"
            for symbol, amount in amounts.items()
        )
    return named


def _means(app: Application, chain: "Chain", symbol: str) -> "Asset | None":
    """Return the asset that *symbol* means on *chain*; None if it means none, or more than one."""
    try:
        asset = app.assets.find(chain, symbol)
    except InvalidRequest:
        return None
    return asset if asset.symbol.casefold() == symbol.casefold() else None


def guard_of(
    app: Application, job: str, schedule: Schedule, *, run: str, planned: int
) -> "Guard | None":
    """Return what refuses the drafts of a *run* beyond the bounds of its job; None if the job has
    no bounds."""
    from scenarioctl.schedules import describe_bounds

    each, day = split_bounds(schedule.max_amount), split_bounds(schedule.max_per_day)
    if not each and not day:
        return None
    daily = {symbol.casefold(): amount for symbol, amount in day.items()}

    async def guard(node: str, transaction: "UnsignedTransaction") -> None:
        chain = app.registry.find(transaction.chain)
        moved = await _read_moved(app, chain, transaction)
        totals: dict[str, Fraction] = {}
        for asset, raw in moved.items():
            symbol = next(
                (symbol for symbol in (*each, *day) if _means(app, chain, symbol) == asset), None
            )
            if symbol is None or asset.decimals is None:
                raise Conflict(_unnamed(app, asset, raw, chain, describe_bounds(schedule)))
            name = symbol.casefold()
            totals[name] = totals.get(name, Fraction(0)) + Fraction(to_whole(raw, asset.decimals))
        for symbol, limit in each.items():
            amount = totals.get(symbol.casefold(), Fraction(0))
            if amount > limit:
                raise Conflict(
                    f"it moves {write_amount(amount)} {symbol} on {chain.title}, more than "
                    f"the job's max_amount of {write_amount(limit)} {symbol}"
                )
        amounts = {name: amount for name, amount in totals.items() if name in daily}
        if not amounts:
            return
        # All runs count by one clock, also those by hand on machines whose own is wrong.
        now = await app.store.now()
        moment = min(now, max(planned, now - _EARLIER))
        spent = await app.store.spend(
            job, run=run, node=node, moment=moment, amounts=amounts, limits=daily
        )
        for symbol, limit in day.items():
            if (name := symbol.casefold()) in spent:
                left = max(Fraction(0), limit - spent[name])
                raise Conflict(
                    f"it moves {write_amount(totals[name])} {symbol} on {chain.title}, and "
                    f"of the job's max_per_day of {write_amount(limit)} {symbol} only "
                    f"{write_amount(left)} {symbol} are left: its drafts of 24 hours moved "
                    f"{write_amount(spent[name])} {symbol}"
                )

    return guard


async def _read_moved(
    app: Application, chain: "Chain", transaction: "UnsignedTransaction"
) -> "dict[Asset, int]":
    from scenarioctl.transactions.moved_amounts import UnknownAmount, moved_by

    table = await app.runtime(chain)
    try:
        return await app.aside(moved_by, transaction.call, chain, app.assets, table)
    except UnknownAmount as reason:
        raise Conflict(
            f"the job has bounds, and what this transaction moves is unknown: {reason}"
        ) from None


def _unnamed(app: Application, asset: "Asset", raw: int, chain: "Chain", bounds: str) -> str:
    moves = (
        f"it moves {asset.amount(raw)} on {chain.title}, and the job's bounds ({bounds}) don't "
        "name this asset"
    )
    if asset.decimals is None or _means(app, chain, asset.symbol) != asset:
        return f"{moves}; no bound can, as its symbol means another one or none"
    return (
        f"{moves}: expected also max_amount {to_whole(raw, asset.decimals)} {asset.symbol} or more"
    )
