"""What the bridge between Polkadot and Kusama costs now, and what pays for it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import absolute
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.balances import asset_key
from scenarioctl.transactions.simulation.arrival import accepts_fees_in, incoming_assets
from scenarioctl.transactions.simulation.dry_run import try_message, write_message
from scenarioctl.transactions.simulation.ledger import read_balance_changes
from scenarioctl.transactions.simulation.reserves import require_reserve
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    existential_deposit,
    read_storage,
)
from scenarioctl.transactions.transfer.plan import Plan, arriving_message
from scenarioctl.transactions.transfer.request import below_least, refusal
from scenarioctl.transactions.transfer.ways import (
    Route,
    location_on,
    pays_with_itself,
)
from scenarioctl.transactions.transfer_prices import TIMES, Pricing, asking

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain


@dataclass
class BridgePricing(Pricing):
    """Asks both Asset Hubs for one transfer between them."""

    async def price(self, route: Route) -> Plan:
        """Return the plan by *route*, with what pays on the way, and what that costs in its notes.

        InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked
        for.
        """
        transfer = self.transfer
        with asking(
            f"what {transfer.asset.display_name} costs from {transfer.source.title} over the "
            f"bridge to {transfer.destination.title}"
        ):
            if route.row is None or route.row.opens != "state":
                return await self._cross_bridge(await self.make_plan(route))
            await self._check_listings()
            plan = await self._cross_bridge(await self.make_plan(route))
            await self._check_arrival(plan)
        # The receiver can hold it: a dry run credited it to them.
        return replace(plan, sufficient=True)

    async def _cross_bridge(self, plan: Plan) -> Plan:
        """Cross the bridge between Polkadot and Kusama.

        What the source takes for delivery comes from the sender's account, beside the amount; what
        the destination takes comes out of the amount.  Where it takes none in the asset, a little
        of the source's native asset goes along and pays.
        """
        transfer, source, destination = (
            self.transfer,
            self.transfer.source,
            self.transfer.destination,
        )
        # The one of the two that has to trust the other has to do so now.
        ends = (
            (source, destination) if plan.route.first == "LocalReserve" else (destination, source)
        )
        await require_reserve(self.clients, transfer, keeper=ends[0], trusting=ends[1])
        if pays_with_itself(transfer) and not await self.takes_fees_in_sent(plan):
            plan = await self._bring_native(plan)
        else:
            plan = await self._pay_beyond_bridge(plan)
        native = self.assets.native(source)
        fees = await self.delivery_fees(source, arriving_message(plan), destination)
        delivery = sum(fee.amount for fee in fees)
        said = (
            f"{source.title} takes about {native.amount(delivery)} for delivery over the "
            "bridge, in addition to the amount."
        )
        return replace(plan, fee_settled=True, notes=(*plan.notes, said))

    async def _pay_beyond_bridge(self, plan: Plan) -> Plan:
        """Pay out of the amount; InvalidRequest if too little of it arrives."""
        transfer, destination = self.transfer, self.transfer.destination
        fee = await self.execution_fee(plan)
        if transfer.amount <= fee:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"{transfer.asset.amount(transfer.amount)} is too small: "
                    f"{destination.title} takes about {transfer.asset.amount(fee)} of it for "
                    "executing the message"
                ),
            )
        said = (
            f"{destination.title} takes about {transfer.asset.amount(fee)} of the amount for "
            "executing the message."
        )
        arriving = self.assets.counterpart(transfer.asset, destination)
        if arriving is not None and not transfer.receiver_holds:
            deposit = await existential_deposit(self.clients(destination), arriving)
            if transfer.amount < fee + deposit:
                held = f"the existential deposit of {arriving.amount(deposit)}"
                if not transfer.accept_loss:
                    why = (
                        f"after a fee of about {transfer.asset.amount(fee)}, it is below "
                        f"{held} on {destination.title}, and what arrives would be lost"
                    )
                    raise below_least(transfer, fee + deposit, why)
                said += (
                    f" The rest is below {held}: an account that holds none yet can't receive it."
                )
        return replace(plan, notes=(said,))

    async def _bring_native(self, plan: Plan) -> Plan:
        """Bring a little of the source's native asset over the bridge, with an asset in which the
        destination takes no fees."""
        transfer, source, destination = (
            self.transfer,
            self.transfer.source,
            self.transfer.destination,
        )
        native = self.assets.native(source)
        arriving = self.assets.counterpart(native, destination)
        what = transfer.asset.display_name
        alone = (
            f"{what} cannot be sent alone from {source.title} to {destination.title}: "
            f"{destination.title} takes no fees in it now, so it would be trapped there"
        )
        if transfer.asset.id == native.id:
            raise InvalidRequest(alone)
        client = self.clients(destination)
        if arriving is None or not await accepts_fees_in(client, plan.version, arriving.location):
            raise InvalidRequest(f"{alone}. {native.symbol} beside it could not pay either")
        why = f", which takes none in {what}"
        return await self.bring(plan, native, arriving, alone=f"{alone}. ", why=why)

    async def _check_arrival(self, plan: Plan) -> None:
        """Refuse what the destination wouldn't credit to the receiver, less what it takes for
        executing the message."""
        transfer, destination = self.transfer, self.transfer.destination
        table = await self.clients(destination).table()
        onward = write_message(transfer.source, destination, arriving_message(plan), table)
        taken = 0 if plan.beside else TIMES * await self.execution_fee(plan)
        tried = await try_message(self.clients, self.assets.registry, onward)
        if tried.unknown:
            raise Inconclusive(tried.unknown)
        if tried.failure:
            raise refusal(transfer, f"{tried.failure}. It would be trapped there")
        arriving = self.assets.counterpart(transfer.asset, destination)
        credit = sum(
            change.value - change.kept
            for change in read_balance_changes(tried.events, destination, self.assets)
            if arriving is not None
            and (change.account, change.asset.id) == (transfer.beneficiary, arriving.id)
        )
        brought = incoming_assets(onward)[
            absolute(location_on(transfer, destination), destination.para_id)
        ]
        if tried.sent or not credit or credit < brought - taken:
            raise refusal(
                transfer,
                (
                    f"{destination.title} would credit {transfer.asset.amount(credit)} of "
                    f"{transfer.asset.amount(brought)} to the receiver"
                ),
            )

    async def _check_listings(self) -> None:
        """Refuse an asset that fewer than two registries list, unless both Asset Hubs have it."""
        for hub in (self.transfer.source, self.transfer.destination):
            held = self.assets.counterpart(self.transfer.asset, hub)
            if held is None:
                raise refusal(self.transfer, f"{hub.title} is not known to have it")
            if held.kind == "foreign":
                await self._check_listing(hub, held)

    async def _check_listing(self, hub: "Chain", asset: "Asset") -> None:
        """Refuse a foreign *asset* of *hub* unless its state has it, under no other symbol or
        decimals."""
        client = self.clients(hub)
        key = asset_key(await client.table(), asset)
        found = await read_storage(client, "ForeignAssets", "Asset", key)
        if found is None or found["status"] != "Live":
            raise refusal(self.transfer, f"{hub.title} doesn't have it now (ForeignAssets.Asset)")
        named = await read_storage(client, "ForeignAssets", "Metadata", key)
        symbol, decimals = named["symbol"].decode(errors="replace"), named["decimals"]
        # A look-alike of its chain's own has no symbol here; elsewhere the asset has it.
        arriving = self.assets.counterpart(self.transfer.asset, self.transfer.destination)
        listed = (asset, self.transfer.asset, *([arriving] if arriving else []))
        expected = next((each.own_symbol for each in listed if each.own_symbol), "")
        if (symbol.casefold(), decimals) not in (("", 0), (expected.casefold(), asset.decimals)):
            raise refusal(
                self.transfer,
                (
                    f"{hub.title} knows it as {symbol or 'an asset without a symbol'} with "
                    f"{decimals} decimals, but it should be {expected or 'without one'} with "
                    f"{asset.decimals} (ForeignAssets.Metadata)"
                ),
            )
