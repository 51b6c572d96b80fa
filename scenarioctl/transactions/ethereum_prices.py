"""What the way to Ethereum costs now: from the Asset Hub of Polkadot, and from Hydration over it in one signature.

By Snowbridge's first protocol (V1) the Asset Hub takes one fee in DOT for all of the way: its runtime names that fee, and nothing
is taken from the amount.  From Hydration, DOT goes along and pays on the Asset Hub; what is left of it, and everything if the
Asset Hub can't send the asset on, becomes the sender's there.

By the second protocol (V2) fees are told in parts: what the Asset Hub takes for execution and for delivery, in DOT, and what a
relayer gets on Ethereum, in Ether.  That part depends on the price of gas, which no chain here knows, so the sender decides on
it.  A message that brings too little isn't lost: it waits, and anybody can add to its fee or relay it.  Read on 2026-11-23 in
polkadot-fellows/runtimes cb16c0820 and Snowfork/snowbridge 7f9f3f078.

What the Bridge Hub can't forward is lost there, so it is asked too before anything is built.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import absolute, seen_from
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.runtime.storage_keys import twox
from scenarioctl.transactions.account_balances import asset_key, deposit_of
from scenarioctl.transactions.keyless_accounts import kind_of
from scenarioctl.transactions.simulation.arrival import incoming_assets
from scenarioctl.transactions.simulation.dry_run import refused_export, try_message, write_message
from scenarioctl.transactions.simulation.reserves import require_reserve
from scenarioctl.transactions.simulation.runtime_api import (
    Encoded,
    Inconclusive,
    existential_deposit,
    free_balance,
    read_storage,
)
from scenarioctl.transactions.simulation.xcm_fees import query_weight, quote_message, weight_fee
from scenarioctl.transactions.transfer.bridges import check_ethereum_receiver, export_request
from scenarioctl.transactions.transfer.plan import Plan, known_xcm_versions, location_of_type, make_plan
from scenarioctl.transactions.transfer.request import refusal
from scenarioctl.transactions.transfer.ways import Route, location_on
from scenarioctl.transactions.transfer.xcm_calls import (
    RELAYED_XCM_VERSION,
    arriving_message,
    hub_message,
    relayed_message,
    relayed_program,
)
from scenarioctl.transactions.transfer_prices import (
    MORE_FOR_PROGRAM,
    MORE_OVER_HUB,
    MORE_WEIGHT,
    Pricing,
    asking,
    more,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: A fee from here on says that the bridge is closed: it is u128::MAX and more, which the runtime cuts off there.
_CLOSED = U128_MAX // 2
#: Said of each transfer by the first protocol, since there is a choice.
_PROTOCOL = "The message goes by Snowbridge's first protocol (V1). The second one (V2) needs Ether for a relayer, and its fee in DOT can be far lower: use xcm asset-transfer with --relayer-fee (relayer_fee)."
#: Where an Asset Hub keeps the part of the delivery fee of the second protocol that is the bridge's own: a u128.
_BASE_FEE_KEY = "0x" + twox(b":BridgeHubEthereumBaseFeeV2:", 2).hex()
#: What relaying one transfer takes, by Snowbridge's SDK and registry (npm @snowbridge/registry 1.1.12): the update of its light
#: client, verification, dispatch, and the token that takes the most.
GAS = 1_000_000 + 120_000 + 80_000 + 150_000


@dataclass
class EthereumPricing(Pricing):
    """Asks the chains on the way of one transfer to Ethereum."""

    async def price(self, route: Route) -> Plan:
        """Return the plan by *route*, with what pays on the way, and what that costs in its notes; the sender must hold that.

        InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked for.
        """
        transfer = self.transfer
        self._check_protocol(route)
        token = self.assets.counterpart(transfer.asset, transfer.destination)
        if token is None:
            raise refusal(transfer, "the contract of it on Ethereum is not known")
        check_ethereum_receiver(transfer, self.assets)
        with asking(
            f"whether {transfer.asset.display_name} can be sent from {transfer.source.title} to Ethereum now, and what that costs,"
        ):
            if route.via is not None:
                plan = await self._go_over_hub(route, route.via)
            else:
                if route.row is not None and route.row.opens == "state":
                    await self._check_listing()
                if route.first == "DestinationReserve":
                    await self._require_reserve(transfer.source)
                plan = make_plan(transfer, route, self.table)
                by_first = transfer.relayer_fee is None
                plan = await (self._pay_at_once(plan) if by_first else self._pay_relayer(plan))
        return replace(plan, fee_settled=True, notes=(*plan.notes, self._say_arrival(token)))

    def _check_protocol(self, route: Route) -> None:
        """Refuse a fee for a relayer where the second protocol can't be used."""
        transfer = self.transfer
        if transfer.relayer_fee is None:
            return
        if route.goes_home_over_hub:
            raise refusal(
                transfer,
                f"relayer_fee is only for transfers from Polkadot Asset Hub. Leave it out, or send {transfer.asset.display_name} there first",
            )
        if transfer.xcm_version not in (None, RELAYED_XCM_VERSION):
            raise InvalidRequest(
                field="xcm_version",
                problem=f"{transfer.xcm_version} cannot be combined with relayer_fee: Snowbridge V2 needs XCM {RELAYED_XCM_VERSION}",
                expected=f"{RELAYED_XCM_VERSION} or none",
            )
        if RELAYED_XCM_VERSION not in known_xcm_versions(self.table):
            raise refusal(
                transfer, f"Snowbridge V2 needs XCM {RELAYED_XCM_VERSION}, which {self.table} doesn't know"
            )

    async def _pay_at_once(self, plan: Plan) -> Plan:
        """Pay all of the way on the Asset Hub, by the first protocol."""
        transfer, source = self.transfer, self.transfer.source
        native = self.assets.native(source)
        message = arriving_message(plan)
        fee = await self._delivery_fee(source, message, "V1")
        await self._check_export(message)
        if self.sender is not None:
            await self._check_leaves(self.sender, native, fee, "is for delivery to Ethereum")
        said = f"{source.title} takes about {native.amount(fee)} for delivery of {transfer.asset.amount(transfer.amount)} to {self._receiver} on Ethereum, in addition to the amount and the transaction fee."
        return replace(plan, notes=(said, _PROTOCOL))

    async def _pay_relayer(self, plan: Plan) -> Plan:
        """Pay on the Asset Hub with a program of the sender's own, which brings Ether for a relayer, by the second protocol."""
        transfer, source = self.transfer, self.transfer.source
        relayer_fee, sender = transfer.relayer_fee, transfer.sender
        if relayer_fee is None or sender is None:
            raise ValueError("a transfer by Snowbridge's second protocol has a relayer fee of its sender")
        client, native = self.clients(source), self.assets.native(source)
        # Governance can stop the export of messages.
        mode = await read_storage(client, "SnowbridgeSystemFrontend", "ExportOperatingMode")
        if mode != "Normal":
            raise refusal(
                transfer,
                f"the bridge is closed for now: SnowbridgeSystemFrontend.ExportOperatingMode of {source.title} is {mode}",
            )
        message = relayed_message(plan)
        weight = await query_weight(client, plan.versioned(relayed_program(plan, 1)))
        delivery = await self._delivery_fee(source, message, "V2")
        execution = await weight_fee(client, weight, plan.versioned(plan.asset_id(native.location)))
        # What comes back has to be enough to be deposited.
        least = await existential_deposit(client, native)
        limit = more(execution + delivery, MORE_FOR_PROGRAM) + least
        bridge = await self._base_fee()
        await self._check_export(message)
        ether = self.assets.counterpart(self.assets.native(transfer.destination), source)
        if ether is None:
            raise refusal(transfer, f"{source.title} is not known to hold Ether")
        await self._check_leaves(sender, native, limit, "is for fees there")
        await self._check_leaves(sender, ether, relayer_fee, "is for the relayer")
        part = "" if bridge is None else f" ({native.amount(bridge)} of it for the bridge)"
        # In thousandths, which tell enough.
        gwei = to_whole(relayer_fee // GAS // 10**6, 3)
        notes = (
            f"The message goes by Snowbridge's second protocol (V2). {source.title} takes about {native.amount(execution)} for execution and {native.amount(delivery)} for delivery of {transfer.asset.amount(transfer.amount)} to {self._receiver} on Ethereum{part}, in addition to the amount and the transaction fee. The program may spend up to {native.amount(limit)}; what it leaves comes back to the sender.",
            f"{ether.amount(relayer_fee)} goes along in addition to the amount, and all of it is the relayer's. It pays for {GAS} gas at up to {gwei} gwei. Compare that with the price of gas on Ethereum: no chain here knows it.",
            f"If the relayer gets too little, the transfer waits on the Bridge Hub and can't be taken back. Anyone can add to the fee with SnowbridgeSystemFrontend.add_tip on {source.title}.",
        )
        heavier = {each: more(value, MORE_WEIGHT) for each, value in weight.items()}
        return replace(plan, beside=(ether, relayer_fee), limits=(limit, heavier), notes=notes)

    async def _go_over_hub(self, route: Route, hub: "Chain") -> Plan:
        """Bring DOT from Hydration that pays on *hub*, the Asset Hub, for executing the message and for all of the way from there."""
        sender = self._check_sender(hub)
        transfer = self.transfer = replace(self.transfer, sender=sender)
        table = await self.clients(hub).table()
        await self._require_reserve(hub)
        await self._check_way_back(hub, table, sender)
        plan = make_plan(transfer, route, self.table, table)
        native = self.assets.native(hub)
        delivery = await self._delivery_fee(hub, arriving_message(plan), "V1")
        held = self.assets.at(transfer.source, native.location)
        if held is None:
            raise refusal(
                transfer, f"{transfer.source.title} lists no {native.symbol} that could pay on {hub.title}"
            )
        tried = hub_message(replace(plan, beside=(held, delivery)), hub)
        execution = await quote_message(self.clients(hub), tried)
        # What is left of it is the sender's on the Asset Hub, and has to be enough to live on there.
        least = await existential_deposit(self.clients(hub), native)
        fee = more(delivery + execution, MORE_OVER_HUB) + least
        for asset, leaves, what in (
            (held, fee, f"goes along to pay on {hub.title}"),
            (transfer.asset, transfer.amount, "is to be sent"),
        ):
            found = await free_balance(self.clients(transfer.source), asset, sender)
            if found < leaves:
                raise InvalidRequest(
                    f"{asset.amount(leaves)} {what}, but the sender can spend only {asset.amount(found)} on {transfer.source.title}"
                )
        plan = replace(plan, beside=(held, fee))
        await self._try_on_hub(plan, hub, table)
        owner = format_account(sender, hub.ss58_prefix)
        notes = (
            f"{held.amount(fee)} goes along with {transfer.asset.amount(transfer.amount)}: {hub.title} takes about {held.amount(delivery)} of it for delivery to {self._receiver} on Ethereum and {held.amount(execution)} for executing the message. What is left, about {held.amount(fee - delivery - execution)}, goes to {owner} on {hub.title}, the sender.",
            f"If the bridge costs more than that when the message gets to {hub.title}, nothing goes on to Ethereum: {transfer.asset.amount(transfer.amount)} and the rest of the {held.display_name} go to {owner} on {hub.title} too.",
        )
        return replace(plan, notes=notes)

    @property
    def _receiver(self) -> str:
        transfer = self.transfer
        return transfer.destination.account_format.format(transfer.beneficiary, 0)

    def _say_arrival(self, token: "Asset") -> str:
        """Return what should arrive on Ethereum, as *token*."""
        transfer, what = self.transfer, "Ether"
        if token.kind != "native":
            contract = transfer.destination.account_format.format(bytes.fromhex(token.id[2:]), 0)
            what = f"the token {contract}"
        return f"All of the amount, {transfer.asset.amount(transfer.amount)}, should arrive on Ethereum as {what}. No chain here can tell whether it does."

    async def _delivery_fee(self, hub: "Chain", message: dict[str, Any], protocol: str) -> int:
        """Return what *hub* takes in its native asset for delivering a VersionedXcm by this *protocol*, `V1` or `V2`, to Ethereum.

        InvalidRequest if the bridge is closed, Inconclusive if *hub* doesn't tell.
        """
        fees = await self.delivery_fees(hub, message, self.transfer.destination)
        native = self.assets.native(hub)
        if {seen_from(fee.identity, hub.para_id) for fee in fees} != {native.location}:
            raise Inconclusive(f"{hub.title} names a fee in another asset than {native.symbol}, or none")
        total = sum(fee.amount for fee in fees)
        if total >= _CLOSED:
            raise refusal(
                self.transfer,
                f"the bridge is closed for now: the fee of Snowbridge {protocol} is set higher than any balance",
            )
        return total

    async def _base_fee(self) -> int | None:
        """Return the part of the delivery fee that is the bridge's own; None if the source doesn't tell."""
        source = self.transfer.source
        try:
            told = await self.clients(source).call("state_getStorage", _BASE_FEE_KEY)
            return None if told is None else int.from_bytes(bytes.fromhex(told[2:]), "little")
        except (ChainUnreachable, ChainRefused, TypeError, ValueError) as problem:
            raise Inconclusive(
                f"the base fee of the bridge on {source.title} could not be read: {problem}"
            ) from None

    async def _check_leaves(self, sender: bytes, asset: "Asset", fee: int, what: str) -> None:
        """Refuse a transfer whose *sender* can't spend the *fee*, which *what* says, beside an amount of the same asset."""
        transfer, source = self.transfer, self.transfer.source
        leaves = fee + (transfer.amount if transfer.asset.id == asset.id else 0)
        held = await free_balance(self.clients(source), asset, sender)
        if held < leaves:
            raise InvalidRequest(
                f"{asset.amount(leaves)} leaves the sender on {source.title}, of which {asset.amount(fee)} {what}, but the sender can spend only {asset.amount(held)}"
            )

    async def _require_reserve(self, hub: "Chain") -> None:
        """Refuse an asset of Ethereum that *hub* takes from elsewhere now."""
        await require_reserve(self.clients, self.transfer, trusting=hub, keeper=self.transfer.destination)

    async def _check_listing(self) -> None:
        """Refuse an asset that one registry lists on the source, unless its state has it too, under no other symbol or decimals."""
        source, asset = self.transfer.source, self.transfer.asset
        client = self.clients(source)
        key = asset_key(await client.table(), asset)
        found = await read_storage(client, "ForeignAssets", "Asset", key)
        if found is None or found["status"] != "Live":
            raise refusal(self.transfer, f"{source.title} doesn't have it now (ForeignAssets.Asset)")
        named = await read_storage(client, "ForeignAssets", "Metadata", key)
        told = (named["symbol"].decode(errors="replace"), named["decimals"])
        if told not in (("", 0), (asset.own_symbol, asset.decimals)):
            raise refusal(
                self.transfer,
                f"{source.title} knows it as {told[0] or 'an asset without a symbol'} with {told[1]} decimals, but it should be {asset.own_symbol} with {asset.decimals} (ForeignAssets.Metadata)",
            )

    async def _check_export(self, message: dict[str, Any]) -> None:
        """Refuse a *message* of the source that the Bridge Hub would not send on."""
        transfer = self.transfer
        ((version, program),) = message.items()
        request = {version: export_request(program, transfer.source, transfer.destination)}
        await self._check_request(transfer.source, request, int(version[1:]))

    async def _check_request(self, hub: "Chain", request: Any, version: int) -> None:
        """Refuse a *request* of *hub* that the Bridge Hub would not follow."""
        refused = await refused_export(self.clients, self.assets.registry, hub, request, version)
        if refused:
            raise refusal(self.transfer, f"{refused}. It would be lost there")

    def _check_sender(self, hub: "Chain") -> bytes:
        """Return the account that signs; InvalidRequest if it isn't known, or if nobody has a key for it on *hub*."""
        sender = self.transfer.sender if self.sender is None else self.sender
        if sender is None:
            raise refusal(
                self.transfer,
                f"the sender is not known, to whom {hub.title} gives what doesn't go on to Ethereum",
                advice="; pass --sender (sender), the account that will sign",
            )
        kind = kind_of(sender)
        if kind.name != "account":
            raise refusal(
                self.transfer,
                f"the sender is {kind.words}, and has no key on {hub.title}, where what doesn't go on to Ethereum is given back",
            )
        return sender

    async def _check_way_back(self, hub: "Chain", table: "RuntimeTable", sender: bytes) -> None:
        """Refuse an asset that *hub* couldn't give the sender, if it can't send it on."""
        transfer = self.transfer
        client = self.clients(hub)
        key_type = table.storage_entry("ForeignAssets", "Asset").key_types[0]
        key = location_of_type(table, key_type, location_on(transfer, hub))
        details = await read_storage(client, "ForeignAssets", "Asset", key)
        name = transfer.asset.display_name
        if details is None:
            raise refusal(transfer, f"{hub.title} doesn't have it, so it would be lost there")
        if details["status"] != "Live":
            raise refusal(transfer, f"{name} is frozen on {hub.title}")
        account = await read_storage(client, "ForeignAssets", "Account", key, sender)
        if account is not None and account.get("status", "Liquid") == "Blocked":
            raise refusal(
                transfer,
                f"the sender's account is blocked for it on {hub.title}, where it couldn't be given back",
            )
        least = deposit_of(details)
        if account is None and transfer.amount < least:
            raise InvalidRequest(
                field="amount",
                problem=f"{transfer.asset.amount(transfer.amount)} is too small: {hub.title} couldn't give less than {transfer.asset.amount(least)} back to the sender",
            )

    async def _try_on_hub(self, plan: Plan, hub: "Chain", table: "RuntimeTable") -> None:
        """Try the message on *hub*; refuse what it wouldn't send on whole, or the Bridge Hub wouldn't forward."""
        transfer = self.transfer
        try:
            message = write_message(transfer.source, hub, hub_message(plan, hub), table)
        except InvalidRequest as error:
            raise Inconclusive(f"the message could not be tried on {hub.title}: {error}") from None
        tried = await try_message(self.clients, self.assets.registry, message)
        if tried.unknown:
            raise Inconclusive(tried.unknown)
        if tried.failure:
            raise refusal(transfer, tried.failure)
        sent = [each for each in tried.sent if each.destination == transfer.destination]
        whole = {absolute(location_on(transfer, transfer.destination), None): transfer.amount}
        if len(tried.sent) != 1 or not sent or incoming_assets(sent[0]) != whole:
            raise refusal(transfer, f"{hub.title} wouldn't send all of it on to Ethereum")
        (onward,) = sent
        await self._check_request(hub, Encoded(onward.request), onward.version)
