"""Transfers from the Asset Hub of Polkadot to Ethereum, on connected chains.

They go by Snowbridge's first protocol, in which the Asset Hub takes one fee in DOT for all of the way: its runtime names that
fee, and nothing is taken from the amount.  By the second one, `relayed_ethereum_transfer.py` sends what brings Ether for a relayer.

What the Bridge Hub can't forward is lost there, so it is asked too before anything is built.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from scenarioctl.chains.locations import place_of, read_location, seen_from
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import U128_MAX
from scenarioctl.transactions.account_balances import asset_key
from scenarioctl.transactions.simulation.balances import free_balance
from scenarioctl.transactions.simulation.dry_run import refused_export
from scenarioctl.transactions.simulation.reserves import require_reserve
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, read_storage
from scenarioctl.transactions.simulation.xcm_fees import query_delivery
from scenarioctl.transactions.transfer.bridges import check_ethereum_receiver, export_request
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import make_plan
from scenarioctl.transactions.transfer.request import Transfer, refusal
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.xcm_calls import arriving_message
from scenarioctl.transactions.transfer.xcm_versions import shape_location

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.drafts import Draft
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: A fee from here on says that the bridge is closed: it is u128::MAX and more, which the runtime cuts off there.
_CLOSED = U128_MAX // 2
#: Said of each transfer, since there is a choice.
_PROTOCOL = "The message goes by Snowbridge's first protocol (V1). The second one (V2) needs Ether for a relayer, and its fee in DOT can be far lower: use xcm asset-transfer with --relayer-fee (relayer_fee)."


async def build_ethereum_transfer(
    clients: "Clients",
    assets: "Assets",
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    sender: bytes | None = None,
) -> "Draft":
    """Return the call, with what the way costs in its warnings; a *sender* must hold that.

    InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked for.
    """
    return await EthereumBuilder(clients, assets, transfer, table).build(sender)


async def quote_delivery_to_ethereum(
    clients: "Clients",
    assets: "Assets",
    transfer: Transfer,
    hub: "Chain",
    message: dict[str, Any],
    *,
    protocol: str,
) -> int:
    """Return what *hub* takes in its native asset for delivering a VersionedXcm by this *protocol*, `V1` or `V2`, to Ethereum.

    InvalidRequest if the bridge is closed, Inconclusive if *hub* doesn't tell.
    """
    ((version, _),) = message.items()
    number = int(version[1:])
    place = {version: shape_location(read_location(place_of(transfer.destination, hub)), number)}
    fees = await query_delivery(clients(hub), place, message, number)
    native = assets.native(hub)
    if {seen_from(fee.identity, hub.para_id) for fee in fees} != {native.location}:
        raise Inconclusive(f"{hub.name} names a fee in another asset than {native.symbol}, or none")
    total = sum(fee.amount for fee in fees)
    if total >= _CLOSED:
        raise refusal(
            transfer,
            f"the bridge is closed for now: the fee of Snowbridge {protocol} is set higher than any balance",
        )
    return total


def not_asked(transfer: Transfer, problem: Inconclusive) -> ChainUnreachable:
    """Return the error for a *transfer* to Ethereum of which a chain didn't tell what it has to."""
    return ChainUnreachable(
        f"whether {transfer.asset.display_name} can be sent from {transfer.source.name} to Ethereum now, and what that costs, could not be asked for ({problem})"
    )


def say_arrival(transfer: Transfer, token: "Asset") -> str:
    """Return what should arrive on Ethereum, as *token*."""
    what = "Ether"
    if token.kind != "native":
        contract = transfer.destination.account_format.format(bytes.fromhex(token.id[2:]), 0)
        what = f"the token {contract}"
    return f"All of the amount, {transfer.asset.amount(transfer.amount)}, should arrive on Ethereum as {what}. No chain here can tell whether it does."


@dataclass
class EthereumBuilder:
    """Builds one transfer, by the first protocol."""

    #: Of Snowbridge, as it is called.
    protocol: ClassVar[str] = "V1"

    clients: "Clients"
    assets: "Assets"
    transfer: Transfer
    table: "RuntimeTable"

    async def build(self, sender: bytes | None) -> "Draft":
        transfer = self.transfer
        route = find_route(transfer, self.assets, fee_settled=True)
        token = self.assets.counterpart(transfer.asset, transfer.destination)
        if token is None:
            raise refusal(transfer, "the contract of it on Ethereum is not known")
        check_ethereum_receiver(transfer, self.assets)
        try:
            if route.row is not None and route.row.opens == "state":
                await self._check_listing()
            await self._check_trust()
            return await self.build_form(token, sender)
        except Inconclusive as problem:
            raise not_asked(transfer, problem) from None

    async def build_form(self, token: "Asset", sender: bytes | None) -> "Draft":
        """Return the call in the form of the protocol; *token* is what arrives."""
        transfer = self.transfer
        draft = build_transfer(transfer, self.table, assets=self.assets, fee_accepted=True)
        message = arriving_message(
            make_plan(transfer, find_route(transfer, self.assets, fee_settled=True), self.table)
        )
        fee = await self.delivery_fee(message)
        await self.check_export(message)
        if sender is not None:
            await self._check_balance(fee, sender)
        said = f"{transfer.source.name} takes about {self.native.amount(fee)} for delivery of {transfer.asset.amount(transfer.amount)} to {self.receiver} on Ethereum, in addition to the amount and the transaction fee."
        return replace(draft, warnings=(*draft.warnings, said, _PROTOCOL, say_arrival(transfer, token)))

    @property
    def native(self) -> "Asset":
        """The asset in which the source takes its fees."""
        return self.assets.native(self.transfer.source)

    @property
    def receiver(self) -> str:
        transfer = self.transfer
        return transfer.destination.account_format.format(transfer.beneficiary, 0)

    async def _check_listing(self) -> None:
        """Refuse an asset that one registry lists on the source, unless its state has it too, under no other symbol or decimals."""
        source, asset = self.transfer.source, self.transfer.asset
        client = self.clients(source)
        key = asset_key(await client.table(), asset)
        found = await read_storage(client, "ForeignAssets", "Asset", key)
        if found is None or found["status"] != "Live":
            raise refusal(self.transfer, f"{source.name} doesn't have it now (ForeignAssets.Asset)")
        named = await read_storage(client, "ForeignAssets", "Metadata", key)
        told = (named["symbol"].decode(errors="replace"), named["decimals"])
        if told not in (("", 0), (asset.own_symbol, asset.decimals)):
            raise refusal(
                self.transfer,
                f"{source.name} knows it as {told[0] or 'an asset without a symbol'} with {told[1]} decimals, but it should be {asset.own_symbol} with {asset.decimals} (ForeignAssets.Metadata)",
            )

    async def _check_trust(self) -> None:
        """Refuse an asset of Ethereum that the Asset Hub takes from elsewhere now."""
        transfer = self.transfer
        source, destination = transfer.source, transfer.destination
        if find_route(transfer, self.assets, fee_settled=True).first != "DestinationReserve":
            return
        await require_reserve(self.clients, transfer, trusting=source, keeper=destination)

    async def delivery_fee(self, message: dict[str, Any]) -> int:
        """Return what the source takes for the whole way, in its native asset."""
        return await quote_delivery_to_ethereum(
            self.clients, self.assets, self.transfer, self.transfer.source, message, protocol=self.protocol
        )

    async def check_export(self, message: dict[str, Any]) -> None:
        """Refuse a *message* that the Bridge Hub would not send on."""
        transfer = self.transfer
        ((version, program),) = message.items()
        request = {version: export_request(program, transfer.source, transfer.destination)}
        refused = await refused_export(
            self.clients, self.assets.registry, transfer.source, request, int(version[1:])
        )
        if refused:
            raise refusal(transfer, f"{refused}. It would be lost there")

    async def _check_balance(self, fee: int, sender: bytes) -> None:
        transfer = self.transfer
        native = self.assets.native(transfer.source)
        leaves = fee + (transfer.amount if transfer.asset.id == native.id else 0)
        held = await free_balance(self.clients(transfer.source), native, sender)
        if held < leaves:
            raise InvalidRequest(
                f"{native.amount(leaves)} leaves the sender on {transfer.source.name}, of which {native.amount(fee)} is for delivery to Ethereum, but the sender can spend only {native.amount(held)}"
            )
