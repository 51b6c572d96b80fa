"""Transfers to Ethereum by Snowbridge's second protocol, which bring Ether for a relayer.

Its fees are told in parts: what the Asset Hub takes for execution and for delivery, in DOT, and what a relayer gets on
Ethereum.  That part depends on the price of gas, which no chain here knows, so the sender decides on it.  A message that brings
too little isn't lost: it waits, and anybody can add to its fee or relay it.  Read on 2026-11-23 in polkadot-fellows/runtimes
cb16c0820 and Snowfork/snowbridge 7f9f3f078.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import to_whole
from scenarioctl.runtime.storage_keys import twox
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.ethereum_transfer import EthereumBuilder, say_arrival
from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_storage
from scenarioctl.transactions.simulation.xcm_fees import query_weight, weight_fee
from scenarioctl.transactions.transfer.build import draft_plan
from scenarioctl.transactions.transfer.plan import Plan, make_plan
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.xcm_calls import RELAYED_XCM_VERSION, relayed_message, relayed_program
from scenarioctl.transactions.transfer.xcm_versions import known_xcm_versions

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: Where an Asset Hub keeps the part of the delivery fee that is the bridge's own: a u128.
_BASE_FEE_KEY = "0x" + twox(b":BridgeHubEthereumBaseFeeV2:", 2).hex()
#: What relaying one transfer takes, by Snowbridge's SDK and registry (npm @snowbridge/registry 1.1.12): the update of its light
#: client, verification, dispatch, and the token that takes the most.
GAS = 1_000_000 + 120_000 + 80_000 + 150_000
#: Added to fees, as Snowbridge's SDK does: they may rise until the transaction is included, and what is left comes back.
_PERCENT_MORE = 33
#: Added to the weight, which a new runtime can count higher.
_WEIGHT_PERCENT_MORE = 25


class _Fees(NamedTuple):
    """What the source takes, raw, in its native asset."""

    execution: int
    delivery: int
    #: The part of `delivery` that is the bridge's own; None if the source doesn't tell.
    bridge: int | None
    #: What the program may spend; the rest comes back.
    limit: int


async def build_relayed_transfer(
    clients: "Clients", assets: "Assets", transfer: Transfer, table: "RuntimeTable"
) -> Draft:
    """Return the call, with what each part of the way costs in its warnings; the sender must hold that.

    InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked for.
    """
    if transfer.xcm_version not in (None, RELAYED_XCM_VERSION):
        raise InvalidRequest(
            field="xcm_version",
            problem=f"{transfer.xcm_version} cannot be combined with relayer_fee: Snowbridge V2 needs XCM {RELAYED_XCM_VERSION}",
            expected=f"{RELAYED_XCM_VERSION} or none",
        )
    if RELAYED_XCM_VERSION not in known_xcm_versions(table):
        raise refusal(transfer, f"Snowbridge V2 needs XCM {RELAYED_XCM_VERSION}, which {table} doesn't know")
    return await _RelayedBuilder(clients, assets, transfer, table).build(transfer.sender)


class _RelayedBuilder(EthereumBuilder):
    protocol = "V2"

    async def build_form(self, token: "Asset", sender: bytes | None) -> Draft:
        transfer = self.transfer
        relayer_fee = transfer.relayer_fee
        if relayer_fee is None or sender is None:
            raise ValueError("a transfer by Snowbridge's second protocol has a relayer fee of its sender")
        await self._check_mode()
        route = find_route(transfer, self.assets, fee_settled=True)
        plan = replace(make_plan(transfer, route, self.table), fee_settled=True)
        message = relayed_message(plan)
        client = self.clients(transfer.source)
        weight = await query_weight(client, {f"V{RELAYED_XCM_VERSION}": relayed_program(plan, 1)})
        fees = await self._fees(plan, message, weight)
        await self.check_export(message)
        await self._check_balances(sender, relayer_fee, fees)
        heavier = {part: _more(value, _WEIGHT_PERCENT_MORE) for part, value in weight.items()}
        notes = (*self._say(relayer_fee, fees), say_arrival(transfer, token))
        plan = replace(plan, beside=(self.ether, relayer_fee), limits=(fees.limit, heavier), notes=notes)
        return draft_plan(plan, self.assets)

    @property
    def ether(self) -> "Asset":
        transfer = self.transfer
        found = self.assets.counterpart(self.assets.native(transfer.destination), transfer.source)
        if found is None:
            raise refusal(transfer, f"{transfer.source.name} is not known to hold Ether")
        return found

    async def _check_mode(self) -> None:
        """Refuse a transfer while governance has stopped the export of messages."""
        client = self.clients(self.transfer.source)
        mode = await read_storage(client, "SnowbridgeSystemFrontend", "ExportOperatingMode")
        if mode != "Normal":
            raise refusal(
                self.transfer,
                f"the bridge is closed for now: SnowbridgeSystemFrontend.ExportOperatingMode of {self.transfer.source.name} is {mode}",
            )

    async def _fees(self, plan: Plan, message: dict[str, Any], weight: Any) -> _Fees:
        client = self.clients(self.transfer.source)
        delivery = await self.delivery_fee(message)
        price = plan.versioned(plan.asset_id(self.native.location))
        execution = await weight_fee(client, weight, price)
        # What comes back has to be enough to be deposited.
        least = await existential_deposit(client, self.native)
        return _Fees(
            execution=execution,
            delivery=delivery,
            bridge=await self._base_fee(),
            limit=_more(execution + delivery, _PERCENT_MORE) + least,
        )

    async def _base_fee(self) -> int | None:
        source = self.transfer.source
        try:
            told = await self.clients(source).call("state_getStorage", _BASE_FEE_KEY)
            return None if told is None else int.from_bytes(bytes.fromhex(told[2:]), "little")
        except (ChainUnreachable, ChainRefused, TypeError, ValueError) as problem:
            raise Inconclusive(
                f"the base fee of the bridge on {source.name} could not be read: {problem}"
            ) from None

    async def _check_balances(self, sender: bytes, relayer_fee: int, fees: _Fees) -> None:
        transfer = self.transfer
        source, ether = transfer.source, self.ether
        for asset, fee, what in (
            (self.native, fees.limit, "is for fees there"),
            (ether, relayer_fee, "is for the relayer"),
        ):
            leaves = fee + (transfer.amount if transfer.asset.id == asset.id else 0)
            held = await free_balance(self.clients(source), asset, sender)
            if held < leaves:
                raise InvalidRequest(
                    f"{asset.amount(leaves)} leaves the sender on {source.name}, of which {asset.amount(fee)} {what}, but the sender can spend only {asset.amount(held)}"
                )

    def _say(self, relayer_fee: int, fees: _Fees) -> tuple[str, ...]:
        transfer = self.transfer
        source, native = transfer.source, self.native
        part = "" if fees.bridge is None else f" ({native.amount(fees.bridge)} of it for the bridge)"
        # In thousandths, which tell enough.
        gwei = to_whole(relayer_fee // GAS // 10**6, 3)
        return (
            f"The message goes by Snowbridge's second protocol (V2). {source.name} takes about {native.amount(fees.execution)} for execution and {native.amount(fees.delivery)} for delivery of {transfer.asset.amount(transfer.amount)} to {self.receiver} on Ethereum{part}, in addition to the amount and the transaction fee. The program may spend up to {native.amount(fees.limit)}; what it leaves comes back to the sender.",
            f"{self.ether.amount(relayer_fee)} goes along in addition to the amount, and all of it is the relayer's. It pays for {GAS} gas at up to {gwei} gwei. Compare that with the price of gas on Ethereum: no chain here knows it.",
            f"If the relayer gets too little, the transfer waits on the Bridge Hub and can't be taken back. Anyone can add to the fee with SnowbridgeSystemFrontend.add_tip on {source.name}.",
        )


def _more(value: int, percent: int) -> int:
    """Return *value* with so many percent added, rounded up."""
    return -(-value * (100 + percent) // 100)
