"""Orders of Hydration's DCA: the chain itself sells the same amount again and again, from a total
that it reserves.

Read from galacticcouncil/hydration-node@5e61c1fa, pallets/dca/src/lib.rs.  Each order has the least
that it must bring, and may not bring less than the price of the block before, less the slippage.
What comes from the total besides is the order's fee. The last order sells the rest
(`min(remaining_amount, amount_in)`), for the same minimum.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.storage_reader import StorageReader
from scenarioctl.transactions.swap.swap_call import RouteHop, Swap, build_swap, router_sell

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable

#: Orders of one account that are read.
MOST_ORDERS = 500


@dataclass(frozen=True, kw_only=True)
class Plan:
    """When an order is repeated, and up to which total."""

    owner: bytes
    #: Raw amount of the asset sold, fees of the orders included.
    total: int
    #: Blocks from one order to the next.
    period: int
    #: Below the price of the block before, in parts per million.
    slippage: int


@dataclass(frozen=True, kw_only=True)
class StoredOrder:
    """An order as the chain has it; what isn't stored is None."""

    id: int
    #: As the runtime has it.
    schedule: Mapping[str, Any]
    #: Raw amount of the asset sold that is still reserved for it.
    remaining: int | None
    #: The block of its next trade.
    next_block: int | None
    #: Failures since its last trade.
    retries: int


@dataclass(frozen=True, kw_only=True)
class StoredOrders:
    """The orders of an account at a block."""

    block: int
    block_hash: str
    #: In milliseconds since 1970; None if the chain doesn't tell.
    time: int | None
    orders: tuple[StoredOrder, ...]
    #: Whether there are more.
    cut: bool = False


def build_order(swap: Swap, plan: Plan, table: "RuntimeTable") -> Draft:
    """Return the call that has the chain make the sale of *swap* by *plan*; InvalidRequest for what
    it would refuse."""
    sale = build_swap(swap, table)
    _check_plan(swap, plan, table)
    hops = swap.route or (
        RouteHop(pool="Omnipool", asset_in=int(swap.asset_in.id), asset_out=int(swap.asset_out.id)),
    )
    order = router_sell(hops, amount=swap.amount, min_amount_out=swap.min_amount_out)
    schedule = {
        "owner": plan.owner,
        "period": plan.period,
        "total_amount": plan.total,
        "max_retries": None,
        "stability_threshold": None,
        "slippage": plan.slippage,
        "order": {"Sell": order.args},
    }
    arguments = {"schedule": schedule, "start_execution_block": None}
    return Draft(call=Call(pallet="DCA", method="schedule", args=arguments), warnings=sale.warnings)


def _check_plan(swap: Swap, plan: Plan, table: "RuntimeTable") -> None:
    sold = swap.asset_in
    if plan.total <= 2 * swap.amount:
        raise InvalidRequest(
            field="total",
            problem=(
                f"{sold.amount(plan.total)} doesn't cover two orders of "
                f"{sold.amount(swap.amount)} and their fees"
            ),
            expected=f"more than {sold.amount(2 * swap.amount)}",
        )
    smallest = table.constant("DCA", "MinBudgetInNativeCurrency")
    if sold.id == str(table.constant("DCA", "NativeAssetId")) and plan.total < smallest:
        raise InvalidRequest(
            field="total",
            problem=f"{sold.amount(plan.total)} is below the smallest total of {swap.chain.title}",
            expected=f"at least {sold.amount(smallest)}",
        )


async def read_orders(client: "Client", account: bytes) -> StoredOrders:
    """Return the orders of *account* at the best block; ChainUnreachable or ChainRefused if the
    chain can't be read."""
    from scenarioctl.runtime.storage_keys import read_key, storage_key
    from scenarioctl.transactions.runtime_query import read_entries

    table = await client.table()
    number, at = await client.head()
    key = storage_key(table, "DCA", "ScheduleOwnership", (account,), partial=True)
    owned, cut = await read_entries(client, table, key, at, MOST_ORDERS)
    reader = StorageReader(client, table, at)
    found = await _read(reader, sorted(read_key(table, key.entry, each)[1] for each, _ in owned))
    (time,) = await reader.read(("Timestamp", "Now", ()))
    return StoredOrders(block=number, block_hash=at, time=int(time) or None, orders=found, cut=cut)


async def read_order(client: "Client", id: int) -> StoredOrder | None:
    """Return an order at the best block; None if there is none of that number."""
    reader = StorageReader(client, await client.table(), (await client.head())[1])
    return next(iter(await _read(reader, [id])), None)


async def _read(reader: StorageReader, ids: list[int]) -> tuple[StoredOrder, ...]:
    names = ("Schedules", "RemainingAmounts", "ScheduleExecutionBlock", "RetriesOnError")
    values = await reader.read(*(("DCA", name, (id,)) for id in ids for name in names))
    rows = zip(ids, *(values[place :: len(names)] for place in range(len(names))), strict=True)
    return tuple(
        StoredOrder(
            id=id,
            schedule=schedule,
            remaining=remaining,
            next_block=block,
            retries=int(retries or 0),
        )
        for id, schedule, remaining, block, retries in rows
        if schedule is not None
    )
