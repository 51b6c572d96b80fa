"""Transfers over the bridge between Polkadot and Kusama, on connected chains.

The chain that has to trust the other one is asked whether it does, and every fee is asked for.  What the source takes for
delivery comes from the sender's account, beside the amount; what the destination takes comes out of the amount.  Where it
takes none in the asset, a little of the source's native asset goes along and pays.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import place_of, read_location
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
from scenarioctl.transactions.simulation.reserves import require_reserve
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.simulation.xcm_fees import accepts_fees_in, query_delivery, quote_message
from scenarioctl.transactions.transfer.bridges import arriving_program
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import make_plan
from scenarioctl.transactions.transfer.request import Transfer, below_least
from scenarioctl.transactions.transfer.routes import find_route
from scenarioctl.transactions.transfer.ways import location_on, pays_with_itself
from scenarioctl.transactions.transfer.xcm_calls import arriving_message
from scenarioctl.transactions.transfer.xcm_versions import choose_xcm_version, shape_location

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.drafts import Draft
    from scenarioctl.transactions.simulation.runtime_api import Clients


async def build_bridge_transfer(
    clients: "Clients",
    assets: "Assets",
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    sender: bytes | None = None,
) -> "Draft":
    """Return the call; a *sender* must hold what goes along to pay the fee.

    InvalidRequest says why the transfer isn't made, ChainUnreachable what could not be asked for.
    """
    builder = _BridgeBuilder(clients, assets, transfer, table)
    try:
        return await builder.build(sender)
    except Inconclusive as problem:
        raise ChainUnreachable(
            f"what {transfer.asset.display_name} costs from {transfer.source.name} over the bridge to {transfer.destination.name} could not be asked for ({problem})"
        ) from None


@dataclass
class _BridgeBuilder:
    clients: "Clients"
    assets: "Assets"
    transfer: Transfer
    table: "RuntimeTable"

    async def build(self, sender: bytes | None) -> "Draft":
        transfer, destination = self.transfer, self.transfer.destination
        table = await self.clients(destination).table()
        version = choose_xcm_version(transfer, self.table, table)
        await self._check_trust()
        place = location_on(transfer, destination)
        if pays_with_itself(transfer) and not await accepts_fees_in(
            self.clients(destination), version, place
        ):
            return await self._build_with_fee(table, version, sender)
        message = self._message(table)
        fee = await self._execution_fee(message)
        if transfer.amount <= fee:
            raise InvalidRequest(
                field="amount",
                problem=f"{transfer.asset.amount(transfer.amount)} is too small: {destination.name} takes about {transfer.asset.amount(fee)} of it for executing the message",
            )
        said = f"{destination.name} takes about {transfer.asset.amount(fee)} of the amount for executing the message."
        arriving = self.assets.counterpart(transfer.asset, destination)
        if arriving is not None and not transfer.receiver_holds:
            deposit = await existential_deposit(self.clients(destination), arriving)
            if transfer.amount < fee + deposit:
                held = f"the existential deposit of {arriving.amount(deposit)}"
                if not transfer.accept_loss:
                    why = f"after a fee of about {transfer.asset.amount(fee)}, it is below {held} on {destination.name}, and what arrives would be lost"
                    raise below_least(transfer, fee + deposit, why)
                said += f" The rest is below {held}: an account that holds none yet can't receive it."
        draft = build_transfer(
            transfer, self.table, assets=self.assets, destination_table=table, fee_accepted=True
        )
        return await self._with_fees(draft, message, said)

    async def _build_with_fee(self, table: "RuntimeTable", version: int, sender: bytes | None) -> "Draft":
        """Send a little of the source's native asset beside an asset in which the destination takes no fees."""
        transfer, destination = self.transfer, self.transfer.destination
        native = self.assets.native(transfer.source)
        arriving = self.assets.counterpart(native, destination)
        what = transfer.asset.display_name
        alone = f"{what} cannot be sent alone from {transfer.source.name} to {destination.name}: {destination.name} takes no fees in it now, so it would be trapped there"
        if transfer.asset.id == native.id:
            raise InvalidRequest(alone)
        if arriving is None or not await accepts_fees_in(
            self.clients(destination), version, arriving.location
        ):
            raise InvalidRequest(f"{alone}. {native.symbol} beside it could not pay either")
        # What is left of it is the receiver's, and has to be enough to live on there.
        deposit = await existential_deposit(self.clients(destination), arriving)
        fee = 2 * await self._execution_fee(self._message(table, native_fee=1)) + deposit
        if sender is not None:
            held = await free_balance(self.clients(transfer.source), native, sender)
            if held < fee:
                raise InvalidRequest(
                    f"{alone}. {native.amount(fee)} beside it would pay, but the sender can spend only {native.amount(held)} on {transfer.source.name}"
                )
        draft = build_transfer(
            transfer, self.table, assets=self.assets, destination_table=table, beside=(native, fee)
        )
        said = f"{native.amount(fee)} goes along and pays the fee on {destination.name}, which takes none in {what}. What is left of it is the receiver's."
        message = self._message(table, native_fee=fee)
        return await self._with_fees(draft, message, said)

    async def _check_trust(self) -> None:
        """Refuse an asset whose reserve is another chain now: the chain that holds it for the other one is asked."""
        transfer = self.transfer
        source, destination = transfer.source, transfer.destination
        route = find_route(transfer, self.assets, fee_settled=True)
        keeper, trusting = (source, destination) if route.first == "LocalReserve" else (destination, source)
        await require_reserve(self.clients, transfer, trusting=trusting, keeper=keeper)

    def _message(self, table: "RuntimeTable", native_fee: int = 0) -> dict[str, Any]:
        route = find_route(self.transfer, self.assets, fee_settled=True)
        beside = (self.assets.native(self.transfer.source), native_fee) if native_fee else None
        return arriving_message(replace(make_plan(self.transfer, route, self.table, table), beside=beside))

    async def _execution_fee(self, message: dict[str, Any]) -> int:
        ((version, program),) = message.items()
        arriving = arriving_program(program, self.transfer.source, int(version[1:]))
        return await quote_message(self.clients(self.transfer.destination), {version: arriving})

    async def _with_fees(self, draft: "Draft", message: dict[str, Any], said: str) -> "Draft":
        """Return *draft* with what the way costs, and how long it takes, in its warnings."""
        source, destination = self.transfer.source, self.transfer.destination
        ((version, _),) = message.items()
        place = {version: shape_location(read_location(place_of(destination, source)), int(version[1:]))}
        fees = await query_delivery(self.clients(source), place, message, int(version[1:]))
        native = self.assets.native(source)
        delivery = f"{source.name} takes about {native.amount(sum(fee.amount for fee in fees))} for delivery over the bridge, in addition to the amount."
        return replace(draft, warnings=(*draft.warnings, said, delivery))
