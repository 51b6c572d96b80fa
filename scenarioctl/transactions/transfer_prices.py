"""What the chains on the way of a transfer take for it now, and what pays that: the prices of its
plan.

What goes along, and what is set aside, may have to pay more when the message gets there: margins
say how much more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import place_of, read_location
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.simulation.arrival import (
    accepts_fees_in,
    query_delivery,
    quote_message,
)
from scenarioctl.transactions.simulation.fees import FeeCurrency, convert_fee
from scenarioctl.transactions.simulation.ledger import HopFee
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    existential_deposit,
    free_balance,
    is_sufficient,
    read_details,
    read_storage,
    read_table,
)
from scenarioctl.transactions.transfer.plan import Plan, arriving_message, make_plan, shape_location
from scenarioctl.transactions.transfer.request import Transfer, arriving_program
from scenarioctl.transactions.transfer.ways import Route, pays_with_itself

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: How many times what a destination takes for executing the message goes along, or is set aside.
TIMES = 2
#: In percent of a fee that is converted, what is kept beside it: its price changes with every
#: block.
MORE_IF_CONVERTED = 10

#: The deposit that Hydration takes, in percent of HDX's existential deposit: its
#: `InsufficientEDinHDX`, which its metadata doesn't have.
_DEPOSIT_PERCENT = 110


@contextmanager
def asking(what: str, *, advice: str = "") -> Iterator[None]:
    """Raise ChainUnreachable, with *advice*, if a chain doesn't tell *what* is asked for here."""
    try:
        yield
    except Inconclusive as problem:
        raise ChainUnreachable(
            f"{what} could not be asked for ({problem})", advice=advice
        ) from None


def more(value: int, percent: int) -> int:
    """Return *value* with so many percent added, rounded up."""
    return -(-value * (100 + percent) // 100)


@dataclass
class Pricing:
    """Asks the chains on the way of one transfer."""

    clients: "Clients"
    assets: "Assets"
    transfer: Transfer
    #: Of the source.
    table: "RuntimeTable"
    #: What is known of the destination's table without asking.
    known_destination: "RuntimeTable | None" = None
    #: Must hold what goes along; None: nobody was named.
    sender: bytes | None = None
    #: Why a plan that might have arrived could not be made, if there is one, and whether a chain
    #: failed to tell.
    untried: str = ""
    is_untold: bool = False

    async def price(self, route: Route) -> Plan:
        """Return the plan by *route*, with what pays on the way, and what that costs in its notes.

        InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked
        for.
        """
        transfer = self.transfer
        is_named = transfer.remote_fee_asset is not None
        if not (is_named or route.needs_last_hop_fee):
            try:
                return await self._pay_on_hub(await self.make_plan(route))
            except (Inconclusive, ChainUnreachable):
                # The plain form, and its warning; a check will say what could not be proven.
                return make_plan(transfer, route, self.table, self.known_destination)
        plan = await self.make_plan(route)
        return await (self._bring_named(plan) if is_named else self._set_aside(plan))

    async def price_ways(self, routes: Sequence[Route]) -> tuple[Plan, ...]:
        """Return the plans to try: with the asset that the transfer names to pay, else alone, then
        with the relay's asset beside it."""
        transfer, destination = self.transfer, self.transfer.destination
        table = self.known_destination
        # Where it can't be asked for, the check says so.
        with suppress(ChainRefused, ChainUnreachable):
            # Fees are quoted in the XCM version that this one knows.
            table = await self.clients(destination).table()
        plans = [make_plan(transfer, route, self.table, table) for route in routes]
        if routes[0].needs_last_hop_fee:
            aside = (await self._set_aside(plans[0])).last_hop_fee
            plans = [replace(plan, last_hop_fee=aside) for plan in plans]
        if transfer.remote_fee_asset is not None:
            paid = await self._bring_named(plans[0])
            return tuple(replace(plan, beside=paid.beside, notes=paid.notes) for plan in plans)
        held = self.assets.at(transfer.source, "1/Here")
        if held is None or not pays_with_itself(transfer):
            return tuple(plans)
        beside = f"with {held.display_name} beside it"
        try:
            paid = await self.bring(plans[0], held, self.assets.native(destination))
        except (Inconclusive, ChainUnreachable) as problem:
            self.untried = (
                f"{beside}: how much of it pays the fee on {destination.title} could not be asked "
                f"for ({problem})"
            )
            self.is_untold = True
        except InvalidRequest as problem:
            self.untried = f"{beside}: {problem}"
        else:
            plans += [replace(plan, beside=paid.beside, notes=paid.notes) for plan in plans]
        return tuple(plans)

    async def bring(
        self,
        plan: Plan,
        held: "Asset",
        arriving: "Asset",
        *,
        alone: str = "",
        why: str = "",
        deposit: int = 0,
    ) -> Plan:
        """Return *plan* with as much of *held*, which the destination has as *arriving*, as pays
        there beside the asset, and for a *deposit* of the receiver.

        InvalidRequest, which begins with *alone*, if the sender can't spend so much.
        """
        there = self.transfer.destination.title
        fee = await self.quote_beside(plan, held, arriving) + TIMES * deposit
        balance = fee if self.sender is None else await self.spendable(held)
        if balance < fee:
            raise InvalidRequest(
                f"{alone}{held.amount(fee)} beside it would pay on {there}, but the sender can "
                f"spend {held.amount(balance)} on {self.transfer.source.title}"
            )
        note = (
            f"{held.amount(fee)} goes along and pays the fee on {there}{why}; what is left of it "
            "is the receiver's"
        )
        return replace(plan, beside=(held, fee), fee_settled=True, notes=(note,))

    async def make_plan(self, route: Route) -> Plan:
        table = await self.clients(self.transfer.destination).table()
        return make_plan(self.transfer, route, self.table, table)

    async def _set_aside(self, plan: Plan) -> Plan:
        """Set the fee of the last hop aside, out of the amount."""
        transfer = self.transfer
        ends = f"{transfer.source.title} to {transfer.destination.title}"
        # A check, and the largest amount, are refused offline.
        advice = "`offline` sets half of the amount aside for it." if self.sender is None else ""
        with asking(f"what the last hop of {ends} costs", advice=advice):
            fee = TIMES * await self.execution_fee(plan)
        if transfer.amount <= fee:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"{transfer.asset.amount(transfer.amount)} is too little for "
                    f"{transfer.source.title} to {transfer.destination.title}, where "
                    f"{transfer.asset.amount(fee)} is set aside for the last hop's fee alone"
                ),
            )
        return replace(plan, last_hop_fee=fee)

    async def _bring_named(self, plan: Plan) -> Plan:
        """Bring the asset that the transfer names to pay; InvalidRequest if the destination takes
        no fees in it now."""
        transfer, destination = self.transfer, self.transfer.destination
        asset = transfer.remote_fee_asset
        arriving = None if asset is None else self.assets.counterpart(asset, destination)
        if asset is None or arriving is None:
            raise RuntimeError(
                f"the reserve gate let {transfer.asset.label} pass without what pays for it"
            )
        named = f"remote_fee_asset {asset.label}"
        client = self.clients(destination)
        sufficient, deposit = False, 0
        with asking(f"how much of {named} pays on {destination.title}"):
            if not await accepts_fees_in(client, plan.version, arriving.location):
                raise InvalidRequest(
                    field=named,
                    problem=(
                        f"can't go along: {destination.title} takes no fees in "
                        f"{arriving.display_name} now, so the whole transfer would be trapped "
                        "there"
                    ),
                )
            sent = self.assets.counterpart(transfer.asset, destination)
            if sent is not None:
                sufficient = await is_sufficient(client, sent)
                deposit = await receiver_deposit(
                    client, self.assets, asset=sent, pays=arriving, receiver=transfer.beneficiary
                )
            paid = await self.bring(plan, asset, arriving, alone=f"{named}: ", deposit=deposit)
        if deposit:
            told = (
                f"The receiver holds no {transfer.asset.display_name} on {destination.title} yet: "
                f"it takes a deposit of about {arriving.amount(deposit)} from them for that, in "
                "the asset in which they pay fees there. It comes out of what goes along if they "
                "have none of their own."
            )
            paid = replace(paid, notes=(*paid.notes, told))
        return replace(paid, sufficient=sufficient)

    async def _pay_on_hub(self, plan: Plan) -> Plan:
        """Send one asset where the Asset Hub takes its fee in it, else a little of the relay's
        asset beside it."""
        transfer, source, hub = self.transfer, self.transfer.source, self.transfer.destination
        if self.assets.counterpart(
            transfer.asset, hub
        ) is not None and await self.takes_fees_in_sent(plan):
            return replace(plan, fee_settled=True)
        native = self.assets.native(hub)
        what = transfer.asset.display_name
        alone = (
            f"{what} cannot be sent alone from {source.title} to {hub.title}: {hub.title} "
            "takes no fees in it now, so the whole transfer would be trapped there"
        )
        held = self.assets.at(source, native.location)
        if held is None:
            raise InvalidRequest(f"{alone}; {source.title} lists no {native.symbol} that could pay")
        if self.sender is None:
            raise InvalidRequest(
                alone,
                advice=(
                    f"In a check for its sender, or with `remote_fee_asset` {held.symbol}, a "
                    f"little {held.symbol} of the sender's goes along and pays the fee."
                ),
            )
        why = f", which takes none in {what}"
        return await self.bring(plan, held, native, alone=f"{alone}; ", why=why)

    async def takes_fees_in_sent(self, plan: Plan) -> bool:
        destination = self.transfer.destination
        return await accepts_fees_in(
            self.clients(destination), plan.version, plan.asset_on(destination)
        )

    async def quote_beside(self, plan: Plan, held: "Asset", arriving: "Asset") -> int:
        """Return how much of *held*, which the destination has as *arriving*, pays there for the
        message of *plan*."""
        # What is left of it is deposited with the rest, and has to be enough to live on there.
        least = await existential_deposit(self.clients(self.transfer.destination), arriving)
        return TIMES * await self.execution_fee(replace(plan, beside=(held, 1))) + least

    async def execution_fee(self, plan: Plan) -> int:
        """Return what the destination takes now for executing the message of *plan*."""
        origin, destination = plan.route.via or self.transfer.source, self.transfer.destination
        return await self.quote_arriving(plan, arriving_message(plan), origin, destination)

    async def quote_arriving(
        self, plan: Plan, message: dict[str, Any], origin: "Chain", destination: "Chain"
    ) -> int:
        """Return what *destination* takes now for executing *message*, a VersionedXcm that *origin*
        sends."""
        if origin.relay != destination.relay:
            ((version, program),) = message.items()
            message = {version: arriving_program(program, origin, plan.version)}
        return await quote_message(self.clients(destination), message)

    async def delivery_fees(
        self, origin: "Chain", message: dict[str, Any], destination: "Chain"
    ) -> list[HopFee]:
        """Return what *origin* takes now for delivering *message*, a VersionedXcm, to
        *destination*."""
        ((version, _),) = message.items()
        number = int(version[1:])
        place = shape_location(read_location(place_of(destination, origin)), number)
        return await query_delivery(self.clients(origin), {version: place}, message, number)

    async def spendable(self, asset: "Asset") -> int:
        """Return what the sender can spend of *asset* on the source."""
        if self.sender is None:
            raise RuntimeError("nobody was named who could spend anything")
        return await free_balance(self.clients(self.transfer.source), asset, self.sender)


async def receiver_deposit(
    client: "Client", assets: "Assets", *, asset: "Asset", pays: "Asset", receiver: bytes
) -> int:
    """Return how much of *pays* the chain takes of *receiver* before it credits *asset*, raw; 0 for
    most.

    Hydration takes it in the currency in which the receiver pays fees, and fails the deposit of
    *asset* if there is too little; a new account pays in the first asset that it gets.
    Inconclusive if the chain doesn't tell.
    """
    if asset.kind != "tokens" or not asset.id.isdigit():
        return 0
    # No chain but Hydration is known to take one.
    if "MultiTransactionPayment" not in (await read_table(client)).pallets:
        return 0
    row = await read_details(client, asset)
    if row is None:
        raise Inconclusive(f"{client.chain.title} has no asset {asset.label}")
    held = await read_storage(client, "Tokens", "Accounts", receiver, int(asset.id))
    if row["is_sufficient"] or held["free"] or held["reserved"]:
        return 0
    native = assets.native(client.chain)
    least = await existential_deposit(client, native) * _DEPOSIT_PERCENT // 100
    number = None if pays.kind == "native" else int(pays.id)
    return await convert_fee(client, FeeCurrency(asset=pays, number=number), least)
