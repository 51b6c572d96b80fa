"""What a swap would bring in the next block: the Omnipool by its own arithmetic, other pools by the
chain's dry run.

The fees of the Omnipool are recalculated when a trade runs, so a quote is for the block after the
head it was read at; for the first trade of that block it is exact.  All that is read is read at one
block.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.runtime.storage_keys import StorageAddress, storage_key
from scenarioctl.transactions.blocks import explain_dispatch_error, read_event
from scenarioctl.transactions.swap.omnipool_state import OmnipoolState, is_erc20, read_entries
from scenarioctl.transactions.swap.swap_call import (
    Quote,
    QuoteLeg,
    RouteHop,
    check_route,
    format_route,
    percent,
    router_sell,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable


#: The account that trades if no sender is known: the dry run gives it the amount, and nobody holds
#: its key.
STAND_IN = b"scenarioctl quote".ljust(32, b"\0")
#: Native raw units that the stand-in gets for the deposits that new balances cost.
_STAND_IN_NATIVE = 10**16
#: What to do if a quote needs a dry run that fails.
GIVE_MINIMUM = "Set the minimum with `min_received` and `exact_minimum`."


class RouterDryRun:
    """The router of one chain at one block."""

    def __init__(self, client: "Client", table: "RuntimeTable", at: str) -> None:
        self._client = client
        self._table = table
        self._at = at
        self._native: int = table.constant("Omnipool", "HdxAssetId")

    async def is_contract(self, asset: int) -> bool:
        """Tell whether *asset* is a contract's token, which a dry run can give to nobody."""
        return is_erc20((await self._read([("AssetRegistry", "Assets", (asset,))]))[0])

    async def _read(self, entries: Sequence[StorageAddress]) -> list[Any]:
        return await read_entries(self._client, self._table, entries, at=self._at)

    async def sell(self, hops: tuple[RouteHop, ...], amount: int, sender: bytes | None) -> int:
        """Return what a dry run of the router brings at this block; ChainRefused says why it fails.

        By the *sender*, or by an account that the dry run itself, as root, gives the amount.
        """
        sold = hops[0].asset_in
        trade = router_sell(hops, amount=amount, min_amount_out=0)
        call: dict[str, Any] = {trade.pallet: {trade.method: trade.args}}
        origin: Any = {"system": {"Signed": sender}}
        if sender is None:
            balances = {self._native: _STAND_IN_NATIVE}
            balances[sold] = balances.get(sold, 0) + amount
            issuance = (
                await self._issuance(sold) if any(hop.pool_id == sold for hop in hops) else None
            )
            origin, call = {"system": "Root"}, _funded(call, balances, issuance)
        try:
            answer = await self._client.runtime_call(
                "DryRunApi", "dry_run_call", origin, call, 5, at=self._at
            )
        except (ChainRefused, InvalidRequest) as error:
            raise ChainRefused(
                f"{self._client.chain.title} cannot dry-run {format_route(hops)}: {error}",
                advice=GIVE_MINIMUM,
            ) from None
        received = _read_dry_run(self._table, answer)
        if isinstance(received, str):
            raise ChainRefused(
                f"{self._client.chain.title} refuses {format_route(hops)} in a dry run: {received}"
            )
        return received

    async def _issuance(self, asset: int) -> tuple[str, str]:
        """Return key and value of how much of a token there is, as they are stored."""
        (issued,) = await self._read([("Tokens", "TotalIssuance", (asset,))])
        key = storage_key(self._table, "Tokens", "TotalIssuance", (asset,))
        return key.hex, "0x" + self._table.encode(key.entry.value_type, issued).hex()


def _funded(
    call: Mapping[str, Any], balances: Mapping[int, int], issuance: tuple[str, str] | None
) -> dict[str, Any]:
    """Return the batch in which root gives the stand-in *balances*, and the stand-in makes *call*.

    The balances are minted. A pool computes what its share is worth from the issuance, so the
    stored *issuance* of a share is put back.
    """
    gifts = [
        {
            "Currencies": {
                "update_balance": {"who": STAND_IN, "currency_id": asset, "amount": amount}
            }
        }
        for asset, amount in balances.items()
    ]
    if issuance is not None:
        gifts.append({"System": {"set_storage": {"items": [issuance]}}})
    acted = {
        "Utility": {"dispatch_as": {"as_origin": {"system": {"Signed": STAND_IN}}, "call": call}}
    }
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
    for event in map(read_event, effects["emitted_events"]):
        if str(event) == "Utility.DispatchedAs" and "Err" in event.fields["result"]:
            return explain_dispatch_error(table, event.fields["result"]["Err"])
        if str(event) == "Router.Executed":
            received = event.fields["amount_out"]
    return received if received is not None else "it reports no trade"


#: A dry run and what is expected of it may differ by this part, beside what the fees of the
#: Omnipool change.
TOLERANCE = Fraction(3, 1000)
#: The price of other pools before the trade is read at this part of the amount.
_SMALL_PART = 1000


class NotQuotable(InvalidRequest):
    """A route that can be quoted by its sender only; nothing speaks against the trade."""


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

    Without a *route* it is the one that the chain itself has for the pair, else one hop in the
    Omnipool.  With a
    *sender* the quote is held against a dry run by that account.  InvalidRequest where the pool
    takes no such amount, ChainRefused where the chain lets nobody trade so now.
    """
    pair = int(asset_in.id), int(asset_out.id)
    if route:
        check_route(tuple(route), *pair)
    table = await client.table()
    at = await client.call("chain_getBlockHash")
    omnipool = OmnipoolState(client, table, at, (asset_in, asset_out))
    router = RouterDryRun(client, table, at)
    hops = await omnipool.open(pair, tuple(route or ()))
    room = TOLERANCE + omnipool.fee_change(hops)
    legs = await _quote_legs(omnipool, router, hops, amount, sender)
    quote = Quote(
        asset_in=asset_in,
        asset_out=asset_out,
        amount_in=amount,
        amount_out=legs[-1].amount_out,
        legs=tuple(legs),
        block=omnipool.block,
        block_hash=at,
        warnings=_warnings(asset_out, tuple(legs), room),
    )
    return quote if sender is None else await _compare_with_dry_run(router, quote, room, sender)


async def fetch_room(
    client: "Client", asset_in: "Asset", asset_out: "Asset", route: tuple[RouteHop, ...]
) -> Fraction:
    """Return by which part the next block may change what a dry run trades over *route*, or the
    chain's.

    InvalidRequest or ChainRefused where there is no such way.
    """
    at = await client.call("chain_getBlockHash")
    omnipool = OmnipoolState(client, await client.table(), at, (asset_in, asset_out))
    hops = await omnipool.open((int(asset_in.id), int(asset_out.id)), route)
    return TOLERANCE + omnipool.fee_change(hops)


async def _quote_legs(
    omnipool: OmnipoolState,
    router: RouterDryRun,
    hops: tuple[RouteHop, ...],
    amount: int,
    sender: bytes | None,
) -> list[QuoteLeg]:
    """Return the legs of *hops* for *amount*."""
    legs: list[QuoteLeg] = []
    for in_omnipool, group in groupby(hops, key=lambda hop: hop.pool == "Omnipool"):
        if in_omnipool:
            for hop in group:
                legs.append(omnipool.sell(hop, legs[-1].amount_out if legs else amount))
        else:
            legs = await _quote_other_pools(omnipool, router, legs, tuple(group), amount, sender)
    return legs


async def _quote_other_pools(
    omnipool: OmnipoolState,
    router: RouterDryRun,
    before: list[QuoteLeg],
    hops: tuple[RouteHop, ...],
    amount: int,
    sender: bytes | None,
) -> list[QuoteLeg]:
    """Return the legs *before* and one more: what the chain's own dry run of *hops* brings.

    A dry run can give a contract's token to nobody.  Hops that begin with one are dry-run from the
    beginning of the route, or by the *sender*, who has it.
    """
    if await router.is_contract(hops[0].asset_in):
        hops, before = (*(hop for leg in before for hop in leg.hops), *hops), []
        if sender is None and await router.is_contract(hops[0].asset_in):
            raise NotQuotable(
                f"{omnipool.label(hops[0].asset_in)} is a contract's token, so the route "
                f"{format_route(hops)} can be quoted only "
                "for an account that holds it (sender)",
                advice=GIVE_MINIMUM,
            )
    else:
        sender = None
    given = before[-1].amount_out if before else amount
    received = await router.sell(hops, given, sender)
    if not received:
        raise InvalidRequest(
            field="amount",
            problem=(
                f"is too small: {format_route(hops)} would give nothing for "
                f"{omnipool.amount(hops[0].asset_in, given)}"
            ),
        )
    impact = None
    if small := given // _SMALL_PART:
        # If this fails, the impact is unknown and the quote is good: some pools take no small
        # amounts.
        with suppress(ChainRefused):
            few = await router.sell(hops, small, sender)
            impact = max(1 - Fraction(received * small, given * few), Fraction(0)) if few else None
    return [*before, QuoteLeg(hops=hops, amount_in=given, amount_out=received, impact=impact)]


async def _compare_with_dry_run(
    router: RouterDryRun, quote: Quote, room: Fraction, sender: bytes
) -> Quote:
    """Return *quote* if a dry run by *sender* is off by *room* at most; with a warning if there is
    no dry run.

    A dry run has the fees of the block that it runs on, not of the next.
    """
    try:
        received = await router.sell(quote.route, quote.amount_in, sender)
    except ChainRefused as error:
        warning = f"the quote was not checked with a dry run by the sender: {error}"
        return replace(quote, warnings=(*quote.warnings, warning))
    difference = abs(Fraction(received, quote.amount_out) - 1)
    if difference > room:
        asset = quote.asset_out
        raise ChainRefused(
            f"a dry run of the swap gives {asset.amount(received)}, but "
            f"{asset.amount(quote.amount_out)} "
            f"was expected, a difference of {percent(difference)} %, more than "
            f"{percent(room)} %: try again",
            advice=f"Or {GIVE_MINIMUM[0].lower()}{GIVE_MINIMUM[1:]}",
        )
    return quote


def _warnings(asset_out: "Asset", legs: tuple[QuoteLeg, ...], room: Fraction) -> tuple[str, ...]:
    found = []
    deposit = asset_out.existential_deposit
    if deposit is not None and legs[-1].amount_out < deposit:
        found.append(
            f"{asset_out.amount(legs[-1].amount_out)} is below the existential deposit of "
            f"{asset_out.amount(deposit)}: "
            "an account that holds none yet cannot receive it"
        )
    hops = [hop.pool == "Omnipool" for leg in legs for hop in leg.hops]
    if any(one and other for one, other in pairwise(hops)):
        found.append(
            "the route goes through the Omnipool twice in a row: one trade would do, and "
            "cost one fee"
        )
    if any(leg.asset_fee is None and "Omnipool" in {hop.pool for hop in leg.hops} for leg in legs):
        found.append(
            "the quote is from a dry run with the fees of the block before, and can be "
            f"off by {percent(room)} %"
        )
    if any(leg.impact is None for leg in legs):
        found.append("the price impact of the trade is unknown, so it is not limited")
    return tuple(found)
