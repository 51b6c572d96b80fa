"""What a way in one signature over an Asset Hub and a bridge costs now, and whether it arrives,
tried on every chain that can tell.

The native asset of that Asset Hub pays there: out of the amount if it is what is sent, else
something of it goes along.  What doesn't go on becomes the sender's there.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, seen_from
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.account_balances import account_entry, asset_key, deposit_of
from scenarioctl.transactions.keyless_accounts import kind_of
from scenarioctl.transactions.simulation.arrival import incoming_assets
from scenarioctl.transactions.simulation.dry_run import XcmMessage, try_message, write_message
from scenarioctl.transactions.simulation.ledger import read_balance_changes
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    existential_deposit,
    free_balance,
    read_details,
    read_storage,
)
from scenarioctl.transactions.transfer.plan import Plan, make_plan
from scenarioctl.transactions.transfer.request import refusal
from scenarioctl.transactions.transfer.ways import Route, location_on
from scenarioctl.transactions.transfer.xcm_calls import arriving_message, hub_message
from scenarioctl.transactions.transfer_prices import MORE_OVER_HUB, TIMES, Pricing, asking, more

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


@dataclass
class OverHubPricing(Pricing):
    """Asks the chains on the way of one transfer over an Asset Hub and a bridge."""

    #: Of the asset, raw: what has to go on at least, and what the destination may take of it for
    #: executing the message.
    least_onward: int = 0
    most_taken: int = 0

    async def price(self, route: Route) -> Plan:
        """Return the plan by *route*, with what pays on the way, and what that costs in its notes;
        the sender must hold that.

        InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked
        for.
        """
        transfer, told_by_state = (
            self.transfer,
            route.row is not None and route.row.opens == "state",
        )
        if route.via is None and not told_by_state:
            return await super().price(route)
        over = f" over {route.via.title}" if route.via else ""
        with asking(
            f"whether {transfer.asset.display_name} can be sent from "
            f"{transfer.source.title}{over} to {transfer.destination.title} now, and what "
            "that costs,"
        ):
            if told_by_state:
                await self._check_listings()
            if route.via is not None:
                plan = await self.go_over_hub(route, route.via)
            else:
                plan = await super().price(route)
                table = await self.clients(transfer.destination).table()
                sent = write_message(
                    transfer.source, transfer.destination, arriving_message(plan), table
                )
                if plan.beside is None:
                    await self._last_fee(plan)
                await self.check_arrival(sent)
        # The receiver can hold it: a dry run credited it to them.
        return replace(plan, fee_settled=True, sufficient=True)

    async def go_over_hub(self, route: Route, hub: "Chain") -> Plan:
        """Pay on *hub*, the Asset Hub, for executing the message and for all of the way from
        there."""
        sender = self._check_sender(hub)
        transfer = self.transfer = replace(self.transfer, sender=sender)
        table = await self.clients(hub).table()
        if hub.relay == transfer.source.relay:
            await self.require_trust(route.onward, hub, transfer.destination)
        else:
            await self.require_trust(route.first, transfer.source, hub)
        plan = make_plan(transfer, route, self.table, table)
        pay = self._bring_fee if route.paid_beside else self._pay_out_of_amount
        plan = await pay(plan, hub, sender)
        await self._check_spendable(transfer.asset, transfer.amount, "is to be sent", sender)
        await self.check_arrival(await self._try_on_hub(plan, hub, table))
        return replace(plan, notes=(*plan.notes, *await self._say_first_delivery(plan, hub)))

    async def _say_first_delivery(self, plan: Plan, hub: "Chain") -> tuple[str, ...]:
        """Return what the source takes for delivery to *hub*; nothing if that is nothing."""
        source = self.transfer.source
        native = self.assets.native(source)
        fees = await self.delivery_fees(source, hub_message(plan, hub), hub)
        if any(seen_from(fee.identity, source.para_id) != native.location for fee in fees):
            raise Inconclusive(f"{source.title} names a fee in another asset than {native.symbol}")
        if not fees:
            return ()
        total = native.amount(sum(fee.amount for fee in fees))
        return (
            (
                f"{source.title} takes about {total} for delivery to {hub.title}, in addition "
                "to the amount."
            ),
        )

    async def onward_fee(self, hub: "Chain", message: dict[str, Any]) -> int:
        """Return what *hub* takes in its native asset for delivering a VersionedXcm to the
        destination; Inconclusive if it doesn't tell."""
        fees = await self.delivery_fees(hub, message, self.transfer.destination)
        native = self.assets.native(hub)
        if {seen_from(fee.identity, hub.para_id) for fee in fees} != {native.location}:
            raise Inconclusive(
                f"{hub.title} names a fee in another asset than {native.symbol}, or none"
            )
        return sum(fee.amount for fee in fees)

    async def check_arrival(self, onward: XcmMessage) -> None:
        """Refuse what the destination wouldn't credit to the receiver, less what it takes for
        executing the message."""
        transfer, destination = self.transfer, self.transfer.destination
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
        if tried.sent or not credit or credit < brought - self.most_taken:
            raise refusal(
                transfer,
                (
                    f"{destination.title} would credit {transfer.asset.amount(credit)} of "
                    f"{transfer.asset.amount(brought)} to the receiver"
                ),
            )

    async def _check_listings(self) -> None:
        """Refuse an asset that fewer than two registries list, unless the Asset Hubs at both ends
        of the bridge have it too."""
        for chain in (self.transfer.source, self.transfer.destination):
            hub = self.assets.registry.asset_hub(chain)
            held = None if hub is None else self.assets.counterpart(self.transfer.asset, hub)
            if hub is None or held is None:
                raise refusal(
                    self.transfer, f"the Asset Hub beside {chain.title} is not known to have it"
                )
            if held.kind == "foreign":
                await self.check_listing(hub, held)

    async def check_listing(self, hub: "Chain", asset: "Asset") -> None:
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

    async def _bring_fee(self, plan: Plan, hub: "Chain", sender: bytes) -> Plan:
        """Bring so much of the native asset of *hub* beside the amount, all of which goes on."""
        transfer, source, destination = (
            self.transfer,
            self.transfer.source,
            self.transfer.destination,
        )
        await self._check_way_back(hub, sender)
        native = self.assets.native(hub)
        delivery = await self.onward_fee(hub, arriving_message(plan))
        held = self.assets.counterpart(native, source)
        if held is None:
            raise refusal(
                transfer, f"{source.title} lists no {native.symbol} that could pay on {hub.title}"
            )
        tried = hub_message(replace(plan, beside=(held, max(delivery, 1))), hub)
        execution = await self.quote_arriving(plan, tried, source, hub)
        # What is left of it is the sender's on the Asset Hub, and has to be enough to live on
        # there.
        least = await existential_deposit(self.clients(hub), native)
        fee = more(delivery + execution, MORE_OVER_HUB) + least
        await self._check_spendable(held, fee, f"goes along to pay on {hub.title}", sender)
        self.least_onward = transfer.amount
        owner = format_account(sender, hub.ss58_prefix)
        notes: tuple[str, ...] = (
            (
                f"{held.amount(fee)} goes along with {transfer.asset.amount(transfer.amount)}: "
                f"{hub.title} takes about {held.amount(delivery)} of it for delivery to "
                f"{self.receiver} on {destination.title} and {held.amount(execution)} for "
                "executing the message. What is left, about "
                f"{held.amount(fee - delivery - execution)}, goes to {owner} on {hub.title}, "
                "the sender."
            ),
            (
                f"If delivery costs more than that when the message gets to {hub.title}, "
                f"nothing goes on to {destination.title}: "
                f"{transfer.asset.amount(transfer.amount)} and the rest of the "
                f"{held.display_name} go to {owner} on {hub.title} too."
            ),
        )
        taken = await self._last_fee(plan)
        notes += (
            (
                f"{destination.title} takes about {transfer.asset.amount(taken)} of the "
                "amount for executing the message."
            ),
        )
        return replace(plan, beside=(held, fee), notes=notes)

    async def _pay_out_of_amount(self, plan: Plan, hub: "Chain", sender: bytes) -> Plan:
        """Let what is sent, the native asset of *hub*, pay on all of the way."""
        transfer, destination = self.transfer, self.transfer.destination
        taken = await self._last_fee(plan)
        plan = replace(plan, last_hop_fee=self.most_taken)
        delivery = await self.onward_fee(hub, arriving_message(plan))
        execution = await self.quote_arriving(plan, hub_message(plan, hub), transfer.source, hub)
        arriving = self.assets.counterpart(transfer.asset, destination)
        if arriving is None:
            raise refusal(transfer, f"{destination.title} is not known to list it")
        kept = await existential_deposit(self.clients(destination), arriving)
        least = more(delivery + execution, MORE_OVER_HUB) + self.most_taken + kept
        if transfer.amount < least:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"{transfer.asset.amount(transfer.amount)} is too small: on the way over "
                    f"{hub.title}, fees and the existential deposit on {destination.title} "
                    f"take up to {transfer.asset.amount(least)}"
                ),
            )
        self.least_onward = transfer.amount - more(delivery + execution, MORE_OVER_HUB)
        owner = format_account(sender, hub.ss58_prefix)
        amount = transfer.asset.amount
        notes = (
            (
                f"{hub.title} takes about {amount(delivery)} of the amount for delivery to "
                f"{self.receiver} on {destination.title} and {amount(execution)} for executing "
                f"the message, and {destination.title} about {amount(taken)}."
            ),
            (
                f"If {hub.title} can't send it on when the message gets there, what is left "
                f"goes to {owner} on {hub.title}, the sender."
            ),
        )
        return replace(plan, notes=notes)

    async def _last_fee(self, plan: Plan) -> int:
        """Return what the destination takes of the asset for executing the message now."""
        fee = await self.execution_fee(plan)
        self.most_taken = TIMES * fee
        return fee

    @property
    def receiver(self) -> str:
        transfer = self.transfer
        return transfer.destination.account_format.format(
            transfer.beneficiary, transfer.destination.ss58_prefix
        )

    async def _check_spendable(self, asset: "Asset", leaves: int, what: str, sender: bytes) -> None:
        """Refuse a transfer whose sender can't spend what *leaves* of *asset*, raw."""
        found = await free_balance(self.clients(self.transfer.source), asset, sender)
        if found < leaves:
            raise InvalidRequest(
                f"{asset.amount(leaves)} {what}, but the sender can spend only "
                f"{asset.amount(found)} on {self.transfer.source.title}"
            )

    def _check_sender(self, hub: "Chain") -> bytes:
        """Return the account that signs; InvalidRequest if it isn't known, or if nobody has a key
        for it on *hub*."""
        transfer = self.transfer
        ends = f"on to {transfer.destination.title}"
        sender = transfer.sender if self.sender is None else self.sender
        if sender is None:
            raise refusal(
                transfer,
                f"the sender is not known, to whom {hub.title} gives what doesn't go {ends}",
                advice="; pass --sender (sender), the account that will sign",
            )
        kind = kind_of(sender)
        if kind.name != "account":
            raise refusal(
                transfer,
                (
                    f"the sender is {kind.words}, and has no key on {hub.title}, where what "
                    f"doesn't go {ends} is given back"
                ),
            )
        return sender

    async def _check_way_back(self, hub: "Chain", sender: bytes) -> None:
        """Refuse an asset that *hub* couldn't give the sender, if it can't send it on."""
        transfer = self.transfer
        client = self.clients(hub)
        held = self.assets.counterpart(transfer.asset, hub)
        details = None if held is None else await read_details(client, held)
        name = transfer.asset.display_name
        if held is None or details is None:
            raise refusal(transfer, f"{hub.title} doesn't have it, so it would be lost there")
        if details["status"] != "Live":
            raise refusal(transfer, f"{name} is frozen on {hub.title}")
        pallet, entry, keys = account_entry(await client.table(), held, sender)
        account = await read_storage(client, pallet, entry, *keys)
        if account is not None and account.get("status", "Liquid") == "Blocked":
            raise refusal(
                transfer,
                (
                    f"the sender's account is blocked for it on {hub.title}, where it couldn't "
                    "be given back"
                ),
            )
        least = deposit_of(details)
        if account is None and transfer.amount < least:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"{transfer.asset.amount(transfer.amount)} is too small: {hub.title} "
                    f"couldn't give less than {transfer.asset.amount(least)} back to the sender"
                ),
            )

    async def _try_on_hub(self, plan: Plan, hub: "Chain", table: "RuntimeTable") -> XcmMessage:
        """Return what *hub* sends on when the message of *plan* is tried there; refuse what it
        wouldn't send on whole."""
        transfer, destination = self.transfer, self.transfer.destination
        try:
            message = write_message(transfer.source, hub, hub_message(plan, hub), table)
        except InvalidRequest as error:
            raise Inconclusive(f"the message could not be tried on {hub.title}: {error}") from None
        tried = await try_message(self.clients, self.assets.registry, message)
        if tried.unknown:
            raise Inconclusive(tried.unknown)
        if tried.failure:
            raise refusal(transfer, tried.failure)
        sent = [each for each in tried.sent if each.destination == destination]
        identity = absolute(location_on(transfer, destination), destination.para_id)
        brought = incoming_assets(sent[0]) if sent else {}
        whole = (
            set(brought) == {identity} and self.least_onward <= brought[identity] <= transfer.amount
        )
        if len(tried.sent) != 1 or not whole:
            raise refusal(
                transfer, f"{hub.title} wouldn't send all of it on to {destination.title}"
            )
        return sent[0]
