"""Transfers of an asset of Ethereum from Hydration home, over the Asset Hub, in one signature and on connected chains.

DOT goes along and pays on the Asset Hub: for executing the message, and for all of the way to Ethereum by Snowbridge's first
protocol.  What is left of it, and everything if the Asset Hub can't send the asset on, becomes the sender's there.

The message is tried on the Asset Hub before anything is built, and what that sends on at the Bridge Hub: what the Bridge Hub
can't forward is lost there.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.account_balances import deposit_of
from scenarioctl.transactions.ethereum_transfer import not_asked, quote_delivery_to_ethereum, say_arrival
from scenarioctl.transactions.keyless_accounts import kind_of
from scenarioctl.transactions.simulation.arrival import incoming_assets
from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
from scenarioctl.transactions.simulation.dry_run import XcmMessage, refused_export, try_message, write_message
from scenarioctl.transactions.simulation.reserves import require_reserve
from scenarioctl.transactions.simulation.runtime_api import Encoded, Inconclusive, read_storage
from scenarioctl.transactions.simulation.xcm_fees import quote_message
from scenarioctl.transactions.transfer.bridges import check_ethereum_receiver
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import Plan, make_plan
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.ways import location_on
from scenarioctl.transactions.transfer.xcm_calls import arriving_message, hub_message
from scenarioctl.transactions.transfer.xcm_versions import location_of_type

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.drafts import Draft
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: Part of the fees that goes along beside them: they can rise until the message gets there.
_RESERVE = 10


async def build_ethereum_transfer_over_hub(
    clients: "Clients", assets: "Assets", transfer: Transfer, table: "RuntimeTable"
) -> "Draft":
    """Return the call of *transfer*, whose sender must hold the amount and what the way costs.

    InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked for.
    """
    route = find_route(transfer, assets, fee_settled=True)
    if route.via is None:
        raise RuntimeError("the transfer doesn't go over an Asset Hub")
    builder = _OverHubBuilder(clients, assets, transfer, table, route.via)
    try:
        return await builder.build()
    except Inconclusive as problem:
        raise not_asked(transfer, problem) from None


@dataclass
class _OverHubBuilder:
    clients: "Clients"
    assets: "Assets"
    transfer: Transfer
    table: "RuntimeTable"
    hub: "Chain"

    async def build(self) -> "Draft":
        transfer, hub = self.transfer, self.hub
        token = self.assets.counterpart(transfer.asset, transfer.destination)
        if token is None:
            raise refusal(transfer, "the contract of it on Ethereum is not known")
        check_ethereum_receiver(transfer, self.assets)
        sender = self._check_sender()
        hub_table = await self.clients(hub).table()
        await require_reserve(self.clients, transfer, trusting=hub, keeper=transfer.destination)
        await self._check_way_back(hub_table, sender)
        native = self.assets.native(hub)
        held = self.assets.at(transfer.source, native.location)
        if held is None:
            raise refusal(
                transfer, f"{transfer.source.name} lists no {native.symbol} that could pay on {hub.name}"
            )
        delivery, execution = await self._quote(hub_table)
        # What is left of it is the sender's on the Asset Hub, and has to be enough to live on there.
        deposit = await existential_deposit(self.clients(hub), native)
        fee = delivery + execution + -(-(delivery + execution) // _RESERVE) + deposit
        await self._check_balances(held, fee, sender)
        await self._try_on_hub(hub_table, fee)
        draft = build_transfer(
            transfer, self.table, assets=self.assets, destination_table=hub_table, beside=(held, fee)
        )
        said = self._say(held, fee, delivery, execution, sender)
        warnings = (*draft.warnings, *said, say_arrival(transfer, token))
        return replace(draft, warnings=warnings)

    def _check_sender(self) -> bytes:
        """Return the account that signs; InvalidRequest if it isn't known, or if nobody has a key for it on the Asset Hub."""
        sender, hub = self.transfer.sender, self.hub
        if sender is None:
            raise refusal(
                self.transfer,
                f"the sender is not known, to whom {hub.name} gives what doesn't go on to Ethereum",
                advice="; pass --sender (sender), the account that will sign",
            )
        kind = kind_of(sender)
        if kind.name != "account":
            raise refusal(
                self.transfer,
                f"the sender is {kind.words}, and has no key on {hub.name}, where what doesn't go on to Ethereum is given back",
            )
        return sender

    async def _check_way_back(self, hub_table: "RuntimeTable", sender: bytes) -> None:
        """Refuse an asset that the Asset Hub couldn't give the sender, if it can't send it on."""
        transfer, hub = self.transfer, self.hub
        client = self.clients(hub)
        key_type = hub_table.storage_entry("ForeignAssets", "Asset").key_types[0]
        key = location_of_type(hub_table, key_type, location_on(transfer, hub))
        details = await read_storage(client, "ForeignAssets", "Asset", key)
        name = transfer.asset.display_name
        if details is None:
            raise refusal(transfer, f"{hub.name} doesn't have it, so it would be lost there")
        if details["status"] != "Live":
            raise refusal(transfer, f"{name} is frozen on {hub.name}")
        account = await read_storage(client, "ForeignAssets", "Account", key, sender)
        if account is not None and account.get("status", "Liquid") == "Blocked":
            raise refusal(
                transfer,
                f"the sender's account is blocked for it on {hub.name}, where it couldn't be given back",
            )
        least = deposit_of(details)
        if account is None and transfer.amount < least:
            raise InvalidRequest(
                field="amount",
                problem=f"{transfer.asset.amount(transfer.amount)} is too small: {hub.name} couldn't give less than {transfer.asset.amount(least)} back to the sender",
            )

    async def _quote(self, hub_table: "RuntimeTable") -> tuple[int, int]:
        """Return what the Asset Hub takes for delivery to Ethereum, and for executing the message, in its native asset."""
        transfer, hub = self.transfer, self.hub
        home = arriving_message(self._plan(hub_table))
        delivery = await quote_delivery_to_ethereum(
            self.clients, self.assets, transfer, hub, home, protocol="V1"
        )
        execution = await quote_message(self.clients(hub), self._hub_message(hub_table, delivery))
        return delivery, execution

    def _hub_message(self, hub_table: "RuntimeTable", fee: int) -> dict[str, Any]:
        held = self.assets.at(self.transfer.source, self.assets.native(self.hub).location)
        if held is None:
            raise RuntimeError(f"{self.transfer.source.name} lists nothing that could pay on {self.hub.name}")
        return hub_message(replace(self._plan(hub_table), beside=(held, fee)), self.hub)

    def _plan(self, hub_table: "RuntimeTable") -> Plan:
        route = find_route(self.transfer, self.assets, fee_settled=True)
        return make_plan(self.transfer, route, self.table, hub_table)

    async def _check_balances(self, held: "Asset", fee: int, sender: bytes) -> None:
        transfer = self.transfer
        client = self.clients(transfer.source)
        for asset, leaves, what in (
            (held, fee, f"goes along to pay on {self.hub.name}"),
            (transfer.asset, transfer.amount, "is to be sent"),
        ):
            found = await free_balance(client, asset, sender)
            if found < leaves:
                raise InvalidRequest(
                    f"{asset.amount(leaves)} {what}, but the sender can spend only {asset.amount(found)} on {transfer.source.name}"
                )

    async def _try_on_hub(self, hub_table: "RuntimeTable", fee: int) -> None:
        """Refuse what the Asset Hub wouldn't send on whole, or the Bridge Hub wouldn't forward."""
        transfer, hub = self.transfer, self.hub
        try:
            message = write_message(transfer.source, hub, self._hub_message(hub_table, fee), hub_table)
        except InvalidRequest as error:
            raise Inconclusive(f"the message could not be tried on {hub.name}: {error}") from None
        tried = await try_message(self.clients, self.assets.registry, message)
        if tried.unknown:
            raise Inconclusive(tried.unknown)
        if tried.failure:
            raise refusal(transfer, tried.failure)
        sent = [each for each in tried.sent if each.destination == transfer.destination]
        if len(tried.sent) != 1 or not sent or not self._brings_all(sent[0]):
            raise refusal(transfer, f"{hub.name} wouldn't send all of it on to Ethereum")
        (onward,) = sent
        refused = await refused_export(
            self.clients, self.assets.registry, hub, Encoded(onward.request), onward.version
        )
        if refused:
            raise refusal(transfer, f"{refused}. It would be lost there")

    def _brings_all(self, message: XcmMessage) -> bool:
        transfer = self.transfer
        identity = absolute(location_on(transfer, transfer.destination), None)
        return incoming_assets(message) == {identity: transfer.amount}

    def _say(self, held: "Asset", fee: int, delivery: int, execution: int, sender: bytes) -> tuple[str, ...]:
        transfer, hub = self.transfer, self.hub
        ethereum = transfer.destination
        receiver = ethereum.account_format.format(transfer.beneficiary, 0)
        owner = format_account(sender, hub.ss58_prefix)
        left = fee - delivery - execution
        return (
            f"{held.amount(fee)} goes along with {transfer.asset.amount(transfer.amount)}: {hub.name} takes about {held.amount(delivery)} of it for delivery to {receiver} on Ethereum and {held.amount(execution)} for executing the message. What is left, about {held.amount(left)}, goes to {owner} on {hub.name}, the sender.",
            f"If the bridge costs more than that when the message gets to {hub.name}, nothing goes on to Ethereum: {transfer.asset.amount(transfer.amount)} and the rest of the {held.display_name} go to {owner} on {hub.name} too.",
        )
