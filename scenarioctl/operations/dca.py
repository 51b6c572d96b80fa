"""Orders that Hydration's DCA makes again and again: build them, list those of an account, and stop
one."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from scenarioctl.actions.drafting import draft_call, draft_swap
from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, InvalidRequest, NotFound
from scenarioctl.model.amounts import read_digits, read_number, values_of
from scenarioctl.model.calls import Call
from scenarioctl.model.json_types import AmountAnswer, Hex, Timestamp, timestamp
from scenarioctl.model.request_fields import Address, Count, Percent, Raw, Tokens, Value
from scenarioctl.operations.answered_calls import BuiltCall, answer_call
from scenarioctl.operations.built_transactions import (
    CheckableFields,
    check_form,
    check_sender,
    parse_sender,
)
from scenarioctl.operations.creation import confirm_doubts
from scenarioctl.operations.results import Result
from scenarioctl.operations.swap_quotes import SwapFields

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.swap.dca_orders import StoredOrder, StoredOrders

__all__ = ["create_order", "list_orders", "stop_order"]

_EXCHANGE = Annotated[str, Value("CHAIN", rare=True)]
_U32 = 2**32 - 1


@dataclass(frozen=True, kw_only=True)
class CreateOrder(SwapFields, CheckableFields):
    """Build the transaction that has Hydration sell the same amount again and again, until a total
    is sold (DCA).

    Each order must receive the minimum, and may be no further below the price of the block before
    than the slippage. A minimum more than 50 % below the quote has to be confirmed; offline, one
    below a millionth of the tokens sold.
    """

    #: Whole tokens that each order sells, like 1.5 or '1.5 DOT'.
    amount: Tokens
    #: Whole tokens sold in all, fees of the orders included. The chain reserves them.
    total: Tokens
    #: From one order to the next: a number of blocks, or a duration like 6h or 7d.
    every: Annotated[str | int, Value("BLOCKS|DURATION")]
    #: The least that each order must receive, in whole tokens, like 900.
    min_received: Tokens | None = None
    #: The same in the smallest unit (raw): 900000000000000 is 900 HDX.
    min_amount_out: Annotated[Raw | None, Value("RAW", rare=True)] = None
    #: How far below the price of the block before an order may trade, fees of pools included, in
    #: per cent. Default: the chain's, 1.5.
    slippage: Percent | None = None
    #: How far the size of an order may worsen its own price now, in per cent (default 5).
    max_impact: Annotated[Percent | None, Value("PERCENT", rare=True)] = None
    #: Confirm a minimum far below the quote. In JSON, `false` refuses one, and null only warns of
    #: it.
    yes: bool | None = None


async def create_order(app: Application, request: CreateOrder) -> Result[BuiltCall]:
    from scenarioctl.actions.fields import Fields
    from scenarioctl.actions.swap import (
        check_exchange,
        check_pair,
        read_max_impact,
        read_minimum,
        read_route,
        read_slippage,
    )
    from scenarioctl.transactions.swap.dca_orders import Plan
    from scenarioctl.transactions.swap.swap_limits import SwapLimits, warn_of_slippage

    check_form(request, by_sender=True)
    fields = Fields(values_of(request))
    chain = fields.chain(app, "chain")
    check_exchange(app, chain, "chain")
    owner = parse_sender(request.sender, chain, expected="the account whose tokens are sold")
    sender = check_sender(request.check, request.sender, chain)
    asset_in, asset_out = fields.asset(app, chain, "assetin"), fields.asset(app, chain, "assetout")
    check_pair(asset_in, asset_out, "assetout")
    minimum = read_minimum(fields, asset_out)
    if minimum is None:
        raise InvalidRequest(
            field="min_received",
            problem="is missing: orders without a minimum sell at any price that they meet",
            expected="the least that each order must receive, in whole tokens",
        )
    table = await app.runtime(chain)
    default = Decimal(table.constant("DCA", "MaxPriceDifferenceBetweenBlocks")) / 10_000
    slippage = read_slippage(request.slippage, "slippage", default=default)
    plan = Plan(
        owner=app.mover(owner),
        total=fields.amount("total", asset_in)[1],
        period=_read_period(request.every, chain, table),
        slippage=int(slippage * 10_000),
    )
    amount = fields.amount("amount", asset_in)[1]
    transaction = await draft_swap(
        app,
        chain=chain,
        asset_in=asset_in,
        asset_out=asset_out,
        amount=amount,
        bounds=SwapLimits(
            minimum=int(minimum),
            repeated=True,
            slippage=slippage,
            max_impact=read_max_impact(request.max_impact, "max_impact"),
        ),
        route=read_route(request.route, "route"),
        sender=sender,
        order=plan,
    )
    transaction = replace(
        transaction,
        notes=(*transaction.notes, *_say_plan(-(-plan.total // amount), plan.period, table)),
        warnings=(
            *confirm_doubts(transaction, yes=request.yes),
            *warn_of_slippage(slippage, asset_out.amount(int(minimum))),
        ),
    )
    return await answer_call(app, transaction, request, sender)


def _read_period(every: str | int, chain: "Chain", table: "RuntimeTable") -> int:
    """Return the blocks from one order to the next: the number itself, or as many as a duration
    has."""
    from scenarioctl.chains.availability import block_seconds
    from scenarioctl.schedules import read_duration

    text = str(every).strip()
    period = read_digits(text)
    if period is None:
        try:
            period = round(read_duration(text, field="every") / 10**9 / block_seconds(table))
        except InvalidRequest:
            raise InvalidRequest(
                field="every",
                value=every,
                problem="is neither a number of blocks nor a duration of up to 366 days",
                expected="one like 600, 6h or 7d",
            ) from None
    shortest = table.constant("DCA", "MinimalPeriod")
    if not shortest <= period <= _U32:
        word = "short" if period < shortest else "long"
        raise InvalidRequest(
            field="every",
            value=every,
            problem=f"is too {word} for {chain.title}",
            expected=f"a duration like 6h, or from {shortest} to {_U32} blocks",
        )
    return period


def _say_plan(orders: int, period: int, table: "RuntimeTable") -> tuple[str, ...]:
    from scenarioctl.chains.availability import block_seconds
    from scenarioctl.schedules import write_duration

    span = write_duration(int(period * block_seconds(table)) * 10**9)
    retries = table.constant("DCA", "MaxNumberOfRetriesOnError")
    return (
        f"At most {orders} orders, one about every {span}. Their fees come from the total too.",
        (
            f"An order that misses a limit is tried again {retries} times. Then the whole "
            "ends, and what is left of the total is free again. A rest smaller than one order "
            "is sold too if it brings the minimum, and else ends the same way."
        ),
    )


@dataclass(frozen=True, kw_only=True)
class ListOrders:
    """List the DCA orders of an account: what each sells, what was sold, what is left, and when the
    next one is due."""

    #: SS58 with any prefix, the public key in hex, or a name of the address book.
    address: Address
    #: The exchange parachain (default hydraDx).
    chain: _EXCHANGE = "hydraDx"


class OrderRow(TypedDict):
    id: int
    #: What it does, in one sentence.
    says: str
    #: Whether each order sells an exact amount, or buys one.
    kind: Literal["sell", "buy"]
    #: What each order sells, or buys.
    amount: AmountAnswer
    #: The least that each order receives, or the most that it pays.
    limit: AmountAnswer
    #: How far from the price of the block before each order may trade, in per cent.
    slippage: str
    #: Blocks from one order to the next.
    period: int
    #: What it sells in all; null if it goes on until it is stopped.
    total: AmountAnswer | None
    #: What has come from the total so far, with the fees of the orders; null if that is unknown, or
    #: without a total.
    spent: AmountAnswer | None
    #: What is still reserved for it; null if that is unknown.
    remaining: AmountAnswer | None
    #: How often the order that is due has failed so far.
    retries: int
    #: The block of the next order; null if that is unknown.
    next_block: int | None
    #: About when that is; null if it is unknown.
    estimated: "Timestamp | None"


class OrdersAnswer(TypedDict):
    chain: str
    account: str
    block: int
    block_hash: "Hex"
    #: How many endpoints told the same.
    asked: Literal[1, 2]
    orders: list[OrderRow]


async def list_orders(app: Application, request: ListOrders) -> Result[OrdersAnswer]:
    from scenarioctl.actions.swap import check_exchange
    from scenarioctl.chains.addresses import format_account
    from scenarioctl.chains.confirmation import confirm, say_alone
    from scenarioctl.transactions.swap.dca_orders import MOST_ORDERS, read_orders

    chain = app.registry.find(request.chain)
    check_exchange(app, chain, "chain")
    account = chain.account_format.parse(request.address.strip(), field="address")
    if app.settings.offline:
        raise ChainUnreachable("orders can't be read offline", advice=app.settings.online_advice)
    found = await confirm(app.pool, lambda clients: read_orders(clients(chain), account))
    state, table = found.agreed(), await app.runtime(chain)
    more = (f"The account has more orders: only {MOST_ORDERS} are listed.",) if state.cut else ()
    return Result(
        answer={
            "chain": chain.name,
            "account": format_account(account, chain.ss58_prefix),
            "block": state.block,
            "block_hash": state.block_hash,
            "asked": found.asked,
            "orders": [_describe(app, chain, table, state, each) for each in state.orders],
        },
        notes=(*more, *say_alone(found.alone)),
    )


def _describe(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    state: "StoredOrders",
    order: "StoredOrder",
) -> OrderRow:
    from scenarioctl.transactions.swap.swap_call import percent
    from scenarioctl.transactions.wording.calls import tell_call

    schedule = order.schedule
    ((kind, trade),) = schedule["order"].items()
    sold, bought = (_asset(app, chain, trade[f"asset_{side}"]) for side in ("in", "out"))
    is_sale, total = kind == "Sell", int(schedule["total_amount"])
    call = Call(
        pallet="DCA", method="schedule", args={"schedule": schedule, "start_execution_block": None}
    )
    slippage = schedule["slippage"]
    if slippage is None:
        slippage = table.constant("DCA", "MaxPriceDifferenceBetweenBlocks")
    left = order.remaining
    return {
        "id": order.id,
        "says": tell_call(
            call, chain, app.assets, lambda named: table if named == chain else None
        ).sentence,
        "kind": "sell" if is_sale else "buy",
        "amount": _amount(trade["amount_in"], sold)
        if is_sale
        else _amount(trade["amount_out"], bought),
        "limit": _amount(trade["min_amount_out"], bought)
        if is_sale
        else _amount(trade["max_amount_in"], sold),
        "slippage": percent(slippage),
        "period": int(schedule["period"]),
        "total": _amount(total, sold) if total else None,
        "spent": _amount(total - left, sold) if total and left is not None else None,
        "remaining": None if left is None else _amount(left, sold),
        "retries": order.retries,
        "next_block": order.next_block,
        "estimated": _estimate(state, order.next_block, table),
    }


def _asset(app: Application, chain: "Chain", number: int) -> "Asset":
    from scenarioctl.chains.assets import Asset

    known = app.assets.named(chain, number)
    return known or Asset(chain=chain.name, id=str(number), symbol="", decimals=None, kind="tokens")


def _amount(raw: int, asset: "Asset") -> AmountAnswer:
    from scenarioctl.model.checks import Amount

    return Amount(value=raw, asset=asset.display_name, decimals=asset.decimals).answer()


def _estimate(
    state: "StoredOrders", block: int | None, table: "RuntimeTable"
) -> "Timestamp | None":
    """Return about when *block* is made, if all blocks take as long as the runtime means them
    to."""
    from scenarioctl.chains.availability import block_seconds

    if block is None or state.time is None or block < state.block:
        return None
    milliseconds = state.time + int((block - state.block) * block_seconds(table) * 1000)
    try:
        return timestamp(milliseconds * 1_000_000)
    except (OverflowError, ValueError):
        # A year that no calendar has.
        return None


@dataclass(frozen=True, kw_only=True)
class StopOrder(CheckableFields):
    """Build the transaction that stops a DCA order; what is left of its total is free again."""

    #: Its number, as `dca list` shows it.
    order: Count
    #: The exchange parachain (default hydraDx).
    chain: _EXCHANGE = "hydraDx"


async def stop_order(app: Application, request: StopOrder) -> Result[BuiltCall]:
    from scenarioctl.actions.swap import check_exchange

    check_form(request, by_sender=True)
    chain = app.registry.find(request.chain)
    check_exchange(app, chain, "chain")
    number = read_number(request.order, field="order", kind="the number of an order", most=_U32)
    sender = check_sender(request.check, request.sender, chain)
    notes: tuple[str, ...] = ()
    asked: Literal[0, 1, 2] = 0
    if not app.settings.offline:
        notes, asked = await _find_order(app, chain, number, request)
    # The chain knows the block of its next order. One that is named here would be another one by
    # then, after a retry.
    params = {"schedule_id": number, "next_execution_block": None}
    transaction = await draft_call(
        app, chain=chain, pallet="DCA", method="terminate", params=params
    )
    transaction = replace(transaction, notes=(*notes, *transaction.notes), asked=asked)
    return await answer_call(app, transaction, request, sender)


async def _find_order(
    app: Application, chain: "Chain", number: int, request: StopOrder
) -> tuple[tuple[str, ...], Literal[1, 2]]:
    """Return what to say of the order; NotFound if there is none, InvalidRequest if the sender
    can't stop it."""
    from scenarioctl.chains.addresses import format_account
    from scenarioctl.chains.confirmation import confirm, say_alone
    from scenarioctl.transactions.swap.dca_orders import read_order

    found = await confirm(app.pool, lambda clients: read_order(clients(chain), number))
    order = found.agreed()
    if order is None:
        raise NotFound(
            f"{chain.title} has no DCA order {number}: it may have ended, and what was left is free"
        )
    owner = order.schedule["owner"]
    if request.sender and app.mover(parse_sender(request.sender, chain)) != owner:
        raise InvalidRequest(
            field="sender",
            value=request.sender,
            problem=f"can't stop DCA order {number}",
            expected=f"its owner, {format_account(owner, chain.ss58_prefix)}",
        )
    sold = _asset(app, chain, next(iter(order.schedule["order"].values()))["asset_in"])
    notes = []
    if order.remaining is not None:
        notes.append(f"{sold.amount(order.remaining)} are still reserved for it.")
    if order.next_block is not None:
        notes.append(
            f"Its next order is due in block {order.next_block}, if it isn't stopped before."
        )
    return (*notes, *say_alone(found.alone)), found.asked
