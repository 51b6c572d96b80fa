"""What the way to Ethereum costs now: from the Asset Hub of Polkadot, and from Hydration over it in
one signature.

By Snowbridge's first protocol (V1) the Asset Hub takes one fee in DOT for all of the way: its
runtime names that fee, and nothing is taken from the amount.  From Hydration, DOT goes along and
pays on the Asset Hub; what is left of it, and everything if the Asset Hub can't send the asset on,
becomes the sender's there.

By the second protocol (V2) fees are told in parts: what the Asset Hub takes for execution and for
delivery, in DOT, and what a relayer gets on Ethereum, in Ether.  That part depends on the price of
gas, which no chain here knows, so the sender decides on it.  A message that brings too little isn't
lost: it waits, and anybody can add to its fee or relay it.  Read on 2026-11-23 in
polkadot-fellows/runtimes cb16c0820 and Snowfork/snowbridge 7f9f3f078.

What the Bridge Hub can't forward is lost there, so it is asked too before anything is built.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.runtime.storage_keys import twox
from scenarioctl.transactions.over_hub_prices import OverHubPricing
from scenarioctl.transactions.simulation.dry_run import XcmMessage, refused_export
from scenarioctl.transactions.simulation.runtime_api import (
    Encoded,
    Inconclusive,
    existential_deposit,
    free_balance,
    read_storage,
)
from scenarioctl.transactions.simulation.xcm_fees import query_weight, weight_fee
from scenarioctl.transactions.transfer.bridges import check_ethereum_receiver, export_request
from scenarioctl.transactions.transfer.plan import Plan, known_xcm_versions, make_plan
from scenarioctl.transactions.transfer.request import refusal
from scenarioctl.transactions.transfer.ways import Route
from scenarioctl.transactions.transfer.xcm_calls import (
    RELAYED_XCM_VERSION,
    arriving_message,
    relayed_message,
    relayed_program,
)
from scenarioctl.transactions.transfer_prices import (
    MORE_FOR_PROGRAM,
    MORE_WEIGHT,
    asking,
    more,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain

#: A fee from here on says that the bridge is closed: it is u128::MAX and more, which the runtime
#: cuts off there.
_CLOSED = U128_MAX // 2
#: Said of each transfer by the first protocol, since there is a choice.
_PROTOCOL = (
    "The message goes by Snowbridge's first protocol (V1). The second one (V2) needs Ether "
    "for a relayer, and its fee in DOT can be far lower: use tx transfer with "
    "--relayer-fee (relayer_fee)."
)
#: Where an Asset Hub keeps the part of the delivery fee of the second protocol that is the bridge's
#: own: a u128.
_BASE_FEE_KEY = "0x" + twox(b":BridgeHubEthereumBaseFeeV2:", 2).hex()
#: What relaying one transfer takes, by Snowbridge's SDK and registry (npm @snowbridge/registry
#: 1.1.12): the update of its light client, verification, dispatch, and the token that takes the
#: most.
GAS = 1_000_000 + 120_000 + 80_000 + 150_000


@dataclass
class EthereumPricing(OverHubPricing):
    """Asks the chains on the way of one transfer to Ethereum."""

    async def price(self, route: Route) -> Plan:
        """Return the plan by *route*, with what pays on the way, and what that costs in its notes;
        the sender must hold that.

        InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked
        for.
        """
        transfer = self.transfer
        self._check_protocol(route)
        token = self.assets.counterpart(transfer.asset, transfer.destination)
        if token is None:
            raise refusal(transfer, "the contract of it on Ethereum is not known")
        check_ethereum_receiver(transfer, self.assets)
        with asking(
            f"whether {transfer.asset.display_name} can be sent from "
            f"{transfer.source.title} to Ethereum now, and what that costs,"
        ):
            if route.via is not None:
                plan = await self.go_over_hub(route, route.via)
            else:
                if route.row is not None and route.row.opens == "state":
                    await self.check_listing(transfer.source, transfer.asset)
                if route.first == "DestinationReserve":
                    await self.require_trust(route.first, transfer.source, transfer.destination)
                plan = make_plan(transfer, route, self.table)
                by_first = transfer.relayer_fee is None
                plan = await (self._pay_at_once(plan) if by_first else self._pay_relayer(plan))
        return replace(plan, fee_settled=True, notes=(*plan.notes, self._say_arrival(token)))

    def _check_protocol(self, route: Route) -> None:
        """Refuse a fee for a relayer where the second protocol can't be used."""
        transfer = self.transfer
        if transfer.relayer_fee is None:
            return
        if route.paid_beside:
            raise refusal(
                transfer,
                (
                    "relayer_fee is only for transfers from Polkadot Asset Hub. Leave it out, "
                    f"or send {transfer.asset.display_name} there first"
                ),
            )
        if transfer.xcm_version not in (None, RELAYED_XCM_VERSION):
            raise InvalidRequest(
                field="xcm_version",
                problem=(
                    f"{transfer.xcm_version} cannot be combined with relayer_fee: Snowbridge "
                    f"V2 needs XCM {RELAYED_XCM_VERSION}"
                ),
                expected=f"{RELAYED_XCM_VERSION} or none",
            )
        if RELAYED_XCM_VERSION not in known_xcm_versions(self.table):
            raise refusal(
                transfer,
                f"Snowbridge V2 needs XCM {RELAYED_XCM_VERSION}, which {self.table} doesn't know",
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
        said = (
            f"{source.title} takes about {native.amount(fee)} for delivery of "
            f"{transfer.asset.amount(transfer.amount)} to {self.receiver} on Ethereum, in "
            "addition to the amount and the transaction fee."
        )
        return replace(plan, notes=(said, _PROTOCOL))

    async def _pay_relayer(self, plan: Plan) -> Plan:
        """Pay on the Asset Hub with a program of the sender's own, which brings Ether for a
        relayer, by the second protocol."""
        transfer, source = self.transfer, self.transfer.source
        relayer_fee, sender = transfer.relayer_fee, transfer.sender
        if relayer_fee is None or sender is None:
            raise ValueError(
                "a transfer by Snowbridge's second protocol has a relayer fee of its sender"
            )
        client, native = self.clients(source), self.assets.native(source)
        # Governance can stop the export of messages.
        mode = await read_storage(client, "SnowbridgeSystemFrontend", "ExportOperatingMode")
        if mode != "Normal":
            raise refusal(
                transfer,
                (
                    "the bridge is closed for now: "
                    f"SnowbridgeSystemFrontend.ExportOperatingMode of {source.title} is {mode}"
                ),
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
            (
                f"The message goes by Snowbridge's second protocol (V2). {source.title} takes "
                f"about {native.amount(execution)} for execution and {native.amount(delivery)} "
                f"for delivery of {transfer.asset.amount(transfer.amount)} to {self.receiver} "
                f"on Ethereum{part}, in addition to the amount and the transaction fee. The "
                f"program may spend up to {native.amount(limit)}; what it leaves comes back to "
                "the sender."
            ),
            (
                f"{ether.amount(relayer_fee)} goes along in addition to the amount, and all of "
                f"it is the relayer's. It pays for {GAS} gas at up to {gwei} gwei. Compare "
                "that with the price of gas on Ethereum: no chain here knows it."
            ),
            (
                "If the relayer gets too little, the transfer waits on the Bridge Hub and "
                "can't be taken back. Anyone can add to the fee with "
                f"SnowbridgeSystemFrontend.add_tip on {source.title}."
            ),
        )
        heavier = {each: more(value, MORE_WEIGHT) for each, value in weight.items()}
        return replace(plan, beside=(ether, relayer_fee), limits=(limit, heavier), notes=notes)

    def _say_arrival(self, token: "Asset") -> str:
        """Return what should arrive on Ethereum, as *token*."""
        transfer, what = self.transfer, "Ether"
        if token.kind != "native":
            contract = transfer.destination.account_format.format(bytes.fromhex(token.id[2:]), 0)
            what = f"the token {contract}"
        return (
            f"All of the amount, {transfer.asset.amount(transfer.amount)}, should arrive on "
            f"Ethereum as {what}. No chain here can tell whether it does."
        )

    async def onward_fee(self, hub: "Chain", message: dict[str, Any]) -> int:
        return await self._delivery_fee(hub, message, "V1")

    async def check_arrival(self, onward: XcmMessage) -> None:
        """Refuse what the Bridge Hub wouldn't send on: no chain here can tell what becomes of it on
        Ethereum."""
        await self._check_request(onward.origin, Encoded(onward.request), onward.version)

    async def _delivery_fee(self, hub: "Chain", message: dict[str, Any], protocol: str) -> int:
        """Return what *hub* takes in its native asset for delivering a VersionedXcm by this
        *protocol*, `V1` or `V2`, to Ethereum.

        InvalidRequest if the bridge is closed, Inconclusive if *hub* doesn't tell.
        """
        total = await super().onward_fee(hub, message)
        if total >= _CLOSED:
            raise refusal(
                self.transfer,
                (
                    f"the bridge is closed for now: the fee of Snowbridge {protocol} is set "
                    "higher than any balance"
                ),
            )
        return total

    async def _base_fee(self) -> int | None:
        """Return the part of the delivery fee that is the bridge's own; None if the source doesn't
        tell."""
        source = self.transfer.source
        try:
            told = await self.clients(source).call("state_getStorage", _BASE_FEE_KEY)
            return None if told is None else int.from_bytes(bytes.fromhex(told[2:]), "little")
        except (ChainUnreachable, ChainRefused, TypeError, ValueError) as problem:
            raise Inconclusive(
                f"the base fee of the bridge on {source.title} could not be read: {problem}"
            ) from None

    async def _check_leaves(self, sender: bytes, asset: "Asset", fee: int, what: str) -> None:
        """Refuse a transfer whose *sender* can't spend the *fee*, which *what* says, beside an
        amount of the same asset."""
        transfer, source = self.transfer, self.transfer.source
        leaves = fee + (transfer.amount if transfer.asset.id == asset.id else 0)
        held = await free_balance(self.clients(source), asset, sender)
        if held < leaves:
            raise InvalidRequest(
                f"{asset.amount(leaves)} leaves the sender on {source.title}, of which "
                f"{asset.amount(fee)} {what}, but the sender can spend only "
                f"{asset.amount(held)}"
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
