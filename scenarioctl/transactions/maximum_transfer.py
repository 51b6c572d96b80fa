"""The largest amount that a transfer can send: what its sender can spend, less what the chain takes
for the transfer."""

from dataclasses import dataclass, replace
from typing import Literal

from scenarioctl.chains.confirmation import say_alone
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.account_balances import Figures, read_holdings
from scenarioctl.transactions.connected_transfer import TransferBuilder
from scenarioctl.transactions.simulation.costs import dispatch_info
from scenarioctl.transactions.simulation.dry_run import DryRunResult, try_call
from scenarioctl.transactions.simulation.fee_charge import convert_fee, fee_currency
from scenarioctl.transactions.simulation.findings import asset_at
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.simulation.xcm_fees import delivery_fees
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.route_rows import UNLISTED
from scenarioctl.transactions.transfer_prices import MORE_IF_CONVERTED, more

#: A larger amount may be a byte longer, and cost more: so often the costs are asked for again.
_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class Maximum:
    """The largest amount, and how it was found."""

    #: In the smallest unit.
    amount: int
    note: str
    #: How many endpoints gave it, and of which chains only one told.
    asked: Literal[1, 2] = 1
    alone: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self.note, *say_alone(self.alone)


async def find_maximum(
    builder: TransferBuilder, sender: bytes, *, pays_fee: bool = True
) -> Maximum:
    """Return the most of its asset that the transfer of *builder* can send for *sender*; its own
    amount doesn't count.

    Unless the sender *pays_fee*, somebody else signs for them, as a proxy or a signatory, and pays
    the fee. What stays is decided by `transfer.allow_death`.  InvalidRequest if nothing can be
    sent, ChainRefused if the chain refuses the transfer itself, ChainUnreachable if it doesn't tell
    what that takes.
    """
    transfer = builder.transfer
    asset, source = transfer.asset, transfer.source
    if asset.kind == UNLISTED:
        raise InvalidRequest(
            field="amount",
            problem=(
                f"max of {asset.display_name} is unknown: {source.title} is not known to list "
                "it. Pass an amount"
            ),
        )
    figures, stopped = await _read_figures(builder, sender)
    budget = figures.transferable if transfer.allow_death else figures.transferable_keep_alive
    if not budget:
        held = f"the sender holds no {asset.display_name} on {source.title}"
        if figures.free:
            held = (
                f"all of the sender's {asset.amount(figures.free)} on {source.title} has to "
                "stay there"
            )
        advice = (
            "; with --allow-death (allow_death), the account need not stay alive"
            if figures.transferable
            else ""
        )
        raise InvalidRequest(
            field="amount", problem=f"max is nothing: {stopped or held}", advice=advice
        )
    amount = _first_tried(transfer, budget)
    for _ in range(_ROUNDS):
        tried = amount
        costs = await _costs(
            replace(builder, transfer=replace(transfer, amount=amount)), sender, pays_fee=pays_fee
        )
        amount = budget - costs
        if amount <= 0:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"max is nothing: the sender can send {asset.amount(budget)} on "
                    f"{source.title}, and the fees are {asset.amount(costs)}"
                ),
            )
        if amount == tried:
            break
    amount = min(amount, tried)
    note = _describe(transfer, figures, amount, budget - amount)
    return Maximum(amount=amount, note=note if pays_fee else f"{note}; the signer pays the fee")


def _first_tried(transfer: Transfer, budget: int) -> int:
    """Return an amount that tells the costs: between chains, what delivery takes has to be left of
    *budget*."""
    if transfer.is_local:
        return budget
    return max(budget // 2, 1)


async def _read_figures(builder: TransferBuilder, sender: bytes) -> tuple[Figures, str]:
    """Return what *sender* holds of the asset, and why none of it can be sent if the asset or the
    account is frozen."""
    asset = builder.transfer.asset
    client = builder.clients(builder.transfer.source)
    found = await read_holdings(client, builder.assets, sender, only=asset)
    holding = next(each for each in found.holdings if each.asset.id == asset.id)
    figures = holding.figures
    if figures is None or figures.transferable is None or figures.transferable_keep_alive is None:
        raise ChainUnreachable(
            f"amount max of {asset.display_name} on {client.chain.title} is unknown: "
            f"{holding.reason}"
        )
    return figures, holding.reason


async def _costs(builder: TransferBuilder, sender: bytes, *, pays_fee: bool) -> int:
    """Return what the chain takes of the asset for the transfer beside its amount: the fee, if the
    sender *pays_fee*, and delivery."""
    transfer, assets, fee_asset = builder.transfer, builder.assets, builder.fee_asset
    client = builder.clients(transfer.source)
    # The largest amount is looked for; whether it is enough is judged when it is found.
    call = (await replace(builder, transfer=replace(transfer, accept_loss=True)).build(sender)).call
    try:
        costs = 0
        currency = await fee_currency(client, assets, call, sender, fee_asset) if pays_fee else None
        if currency is not None and currency.asset.id == transfer.asset.id:
            info = await dispatch_info(client, call, sender, fee_asset)
            costs = await convert_fee(client, currency, int(info["partial_fee"]))
            if currency.asset.kind != "native":
                costs = more(costs, MORE_IF_CONVERTED)
        if not transfer.is_local:
            hop = await try_call(builder.clients, assets.registry, transfer.source, call, sender)
            _require_success(hop)
            native = assets.native(transfer.source)
            for message in hop.sent:
                for fee in await delivery_fees(client, message):
                    asset = asset_at(assets, transfer.source, fee.identity) or native
                    costs += fee.amount if asset.id == transfer.asset.id else 0
    except Inconclusive as problem:
        raise ChainUnreachable(
            f"amount max can't be computed: {problem}", advice="; pass an amount"
        ) from None
    return costs


def _require_success(hop: DryRunResult) -> None:
    if hop.failure:
        raise ChainRefused(hop.failure)
    if hop.unknown:
        raise Inconclusive(hop.unknown)


def _describe(transfer: Transfer, figures: Figures, amount: int, costs: int) -> str:
    asset = transfer.asset
    # A fee that is converted may take less than what is kept for it.
    is_estimate = bool(costs) and asset.kind != "native"
    said = f"amount max is {asset.amount(amount)}"
    if costs:
        fees = asset.amount(costs)
        said += f", with {fees} kept for fees" if is_estimate else f", after {fees} for fees"
    stays = figures.free - amount - costs
    if stays:
        return f"{said}; {'at least ' if is_estimate else ''}{asset.amount(stays)} stays"
    if transfer.allow_death and not is_estimate:
        return (
            f"{said}; the sender's account "
            f"{'' if asset.kind == 'native' else 'of this asset '}is closed by it"
        )
    return said
