"""Quote a transfer before it is built: what arrives, every fee by kind and asset, the least and the
most, and about how long it takes."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.model.checks import Amount
from scenarioctl.model.json_types import AmountAnswer
from scenarioctl.model.request_fields import (
    Address,
    DestinationChain,
    Receiver,
    SentAsset,
    SourceChain,
    Tokens,
)
from scenarioctl.operations.built_transactions import parse_sender
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.transactions.connected_transfer import TransferBuilder
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.transfer.plan import Plan
    from scenarioctl.transactions.transfer.request import Transfer

__all__ = ["quote_transfer"]

#: Of an account that nobody named: 32 or 20 bytes like any other's.
_STAND_IN = bytes(range(7, 39))
#: What a check calls the parts of a transfer that are fees.
_FEES = ("transaction fee", "delivery", "execution", "receiver deposit")
#: Seconds until a block has a transaction, and for each message between two chains of one network,
#: as seen on Polkadot; over the bridge to the other network, which relayers decide.
_BLOCK, _HOP, _BRIDGE = 12, 24, 1800


@dataclass(frozen=True, kw_only=True)
class QuoteTransfer:
    """Quote a transfer: what arrives and what it costs now. Nothing is built or stored.

    With the account that will send it, the transfer is tried on every chain on its way. Without
    one, or if that account can't pay for it, the chains are asked for their prices alone.
    """

    #: Chain it leaves.
    source_chain: SourceChain
    #: Chain it reaches.
    dest_chain: DestinationChain
    #: Id, symbol or location of the asset on the source chain, like 1/Here.
    assetid: SentAsset
    #: Whole tokens, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit.
    amount: Tokens
    #: Account that will sign: SS58 or 0x public key.
    sender: Address = ""
    #: Receiver on the destination chain. Default: `sender`.
    destination_address: Receiver = ""


class QuotedFee(TypedDict):
    #: The chain that takes it.
    chain: str
    #: `transaction fee`, `delivery`, `execution` or `receiver deposit`.
    what: str
    #: Null if the chain doesn't tell.
    amount: AmountAnswer | None
    #: Whether it is a bound, of which the chain refunds a part.
    at_most: bool


class TransferQuote(TypedDict):
    send: AmountAnswer
    #: What the receiver gets; null if it isn't known.
    receive: AmountAnswer | None
    #: In the order of the way. Execution is taken out of the amount, or out of what goes along to
    #: pay it; all others beside it.
    fees: list[QuotedFee]
    #: The least amount that arrives at all; null if it isn't known.
    minimum: AmountAnswer | None
    #: The most that `sender` can send now; null without one, or if it isn't known.
    maximum: AmountAnswer | None
    #: About how long it takes, in seconds.
    seconds: int
    #: `dry run`: it was tried on every chain. `fee APIs`: the chains were only asked for their
    #: prices.
    basis: Literal["dry run", "fee APIs"]
    #: Why it was not tried, or what is not known; empty if it was tried.
    reasons: list[str]
    asked: Literal[1, 2]


async def quote_transfer(app: Application, request: QuoteTransfer) -> Result[TransferQuote]:
    from scenarioctl.transactions.transfer.routes import check_route

    transfer, sender = _read(app, request)
    if app.settings.offline:
        raise ChainUnreachable(
            "a transfer can't be quoted offline", advice=app.settings.online_advice
        )
    reasons: tuple[str, ...] = ()
    if sender is not None:
        tried, reasons = await _try(app, transfer, sender)
        if tried is not None:
            return await _from_check(app, transfer, sender, tried)
    check_route(transfer, app.assets)
    return await _from_prices(app, transfer, sender, reasons)


def _read(app: Application, request: QuoteTransfer) -> "tuple[Transfer, bytes | None]":
    from scenarioctl.actions.fields import read_tokens
    from scenarioctl.transactions.keyless_accounts import read_receiver
    from scenarioctl.transactions.transfer.request import Transfer
    from scenarioctl.transactions.transfer.route_rows import find_sent_asset

    source = app.registry.find(request.source_chain, field="source_chain")
    destination = app.registry.find(request.dest_chain, field="dest_chain")
    asset = find_sent_asset(app.assets, source, request.assetid, field="assetid")
    sender = parse_sender(request.sender, source) if request.sender else None
    length = destination.account_format.length
    if request.destination_address:
        beneficiary = read_receiver(
            request.destination_address, destination, field="destination_address", confirmed=True
        )
    elif sender is not None and len(sender) == length:
        beneficiary = sender
    elif sender is None:
        beneficiary = _STAND_IN[:length]
    else:
        raise InvalidRequest(
            field="destination_address",
            problem=f"is missing: the sender's account is none of {destination.title}",
            expected="the receiver",
        )
    transfer = Transfer(
        source=source,
        destination=destination,
        asset=asset,
        amount=read_tokens(request.amount, asset, "amount")[1],
        beneficiary=beneficiary,
        # What arrives is what is asked.
        accept_loss=True,
        sender=sender,
    )
    return transfer, sender


async def _try(
    app: Application, transfer: "Transfer", sender: bytes
) -> "tuple[UnsignedTransaction | None, tuple[str, ...]]":
    """Return the transfer that passed its check; None and why it didn't, which may be the sender's
    balance alone."""
    from scenarioctl.actions.drafting import draft_transfer, require_check

    try:
        transaction = await draft_transfer(app, transfer, sender=sender)
    except InvalidRequest as error:
        return None, (error.statement,)
    check = require_check(transaction)
    return (transaction, ()) if check.verdict == "ok" else (None, check.reasons)


async def _from_check(
    app: Application, transfer: "Transfer", sender: bytes, transaction: "UnsignedTransaction"
) -> Result[TransferQuote]:
    from scenarioctl.actions.drafting import require_check

    check = require_check(transaction)
    received = check.credited or check.computed
    if transfer.is_local:
        received = _amount(transfer.asset, transfer.amount)
    arrives = [step.amount for step in check.steps if step.what == "arrives"]
    if received is None and len(arrives) == 1:
        received = arrives[0]
    answer: TransferQuote = {
        "send": _amount(transfer.asset, transfer.amount).answer(),
        "receive": None if received is None else received.answer(),
        "fees": [
            {
                "chain": step.chain,
                "what": step.what,
                "amount": step.amount.answer(),
                "at_most": step.at_most,
            }
            for step in check.steps
            if step.what in _FEES
        ],
        "minimum": None
        if received is None
        else await _minimum(app, transfer, max(transfer.amount - received.value, 0)),
        "maximum": await _maximum(app, transfer, sender),
        "seconds": _seconds(app, transfer),
        "basis": "dry run",
        "reasons": [],
        "asked": check.asked,
    }
    return Result(answer=answer, notes=transaction.notes, warnings=transaction.warnings)


async def _from_prices(
    app: Application, transfer: "Transfer", sender: bytes | None, reasons: tuple[str, ...]
) -> Result[TransferQuote]:
    from scenarioctl.chains.confirmation import confirm, say_alone
    from scenarioctl.transactions.connected_transfer import TransferBuilder

    table = await app.runtime(transfer.source)
    known = None if transfer.is_local else app.known_runtime(transfer.destination)

    async def ask(clients: "Clients") -> "tuple[list[QuotedFee], int | None, tuple[str, ...]]":
        builder = TransferBuilder(
            clients=clients,
            assets=app.assets,
            transfer=transfer,
            table=table,
            known_destination=known,
        )
        return await _ask_prices(app, builder, sender)

    found = await confirm(app.pool, ask)
    fees, kept, unknown = found.agreed()
    answer: TransferQuote = {
        "send": _amount(transfer.asset, transfer.amount).answer(),
        "receive": None,
        "fees": fees,
        "minimum": None,
        "maximum": None,
        "seconds": _seconds(app, transfer),
        "basis": "fee APIs",
        "reasons": [*reasons, *unknown],
        "asked": found.asked,
    }
    if kept is not None:
        least = answer["minimum"] = await _minimum(app, transfer, kept)
        if least is None or transfer.amount >= int(least["value"]):
            answer["receive"] = _amount(transfer.asset, max(transfer.amount - kept, 0)).answer()
        else:
            amount = least["human"] or least["value"]
            answer["reasons"].append(
                f"less than {amount} doesn't pay the fees on {transfer.destination.title}, "
                "or keeps no new account there"
            )
    return Result(answer=answer, notes=say_alone(found.alone))


async def _ask_prices(
    app: Application, builder: "TransferBuilder", sender: bytes | None
) -> "tuple[list[QuotedFee], int | None, tuple[str, ...]]":
    """Return the fees, what is taken out of the amount (None if that isn't known), and what the
    chains didn't tell."""
    from scenarioctl.transactions.simulation.costs import dispatch_info
    from scenarioctl.transactions.simulation.runtime_api import Inconclusive
    from scenarioctl.transactions.transfer.build import draft_plan

    transfer, unknown = builder.transfer, []
    plan = None if transfer.is_local else await builder.plan()
    draft = await builder.build() if plan is None else draft_plan(plan, app.assets)
    source = transfer.source
    stand_in = sender or _STAND_IN[: source.account_format.length]
    fees: list[QuotedFee] = []
    try:
        info = await dispatch_info(builder.clients(source), draft.call, stand_in)
        fees.append(
            _fee(
                source,
                "transaction fee",
                _amount(app.assets.native(source), int(info["partial_fee"])),
            )
        )
    except Inconclusive as problem:
        fees.append(_fee(source, "transaction fee", None))
        unknown.append(str(problem))
    if plan is None:
        return fees, 0, tuple(unknown)
    if plan.route.via is not None:
        unknown.append(
            f"what the chains on the way to {transfer.destination.title} take is told by a "
            "dry run alone, which needs sender"
        )
        return [*fees, _fee(transfer.destination, "execution", None)], None, tuple(unknown)
    kept: int | None = None
    try:
        fees += await _delivery(app, builder, plan)
    except Inconclusive as problem:
        fees.append(_fee(source, "delivery", None))
        unknown.append(str(problem))
    pays = transfer.asset if plan.beside is None else plan.beside[0]
    try:
        taken = await builder.pricing().execution_fee(plan)
        fees.append(_fee(transfer.destination, "execution", _amount(pays, taken)))
        kept = taken if plan.beside is None else 0
    except Inconclusive as problem:
        fees.append(_fee(transfer.destination, "execution", None))
        unknown.append(str(problem))
    return fees, kept, tuple(unknown)


async def _delivery(app: Application, builder: "TransferBuilder", plan: "Plan") -> list[QuotedFee]:
    from scenarioctl.transactions.simulation.findings import asset_at
    from scenarioctl.transactions.transfer.xcm_calls import arriving_message

    source = builder.transfer.source
    asked = await builder.pricing().delivery_fees(
        source, arriving_message(plan), builder.transfer.destination
    )
    return [
        _fee(
            source,
            "delivery",
            _amount(
                asset_at(app.assets, source, each.identity) or app.assets.native(source),
                each.amount,
            ),
        )
        for each in asked
        if each.amount
    ]


async def _minimum(app: Application, transfer: "Transfer", kept: int) -> AmountAnswer | None:
    """Return the least amount that leaves the receiver something to keep, once *kept* is taken out
    of it."""
    from scenarioctl.transactions.simulation.runtime_api import (
        Inconclusive,
        existential_deposit,
        free_balance,
    )

    destination = transfer.destination
    arriving = (
        transfer.asset if transfer.is_local else app.assets.counterpart(transfer.asset, destination)
    )
    if arriving is None:
        return None
    client = app.client(destination)
    try:
        deposit = await existential_deposit(client, arriving)
        held = await free_balance(client, arriving, transfer.beneficiary)
    except (Inconclusive, ChainUnreachable):
        return None
    return _amount(transfer.asset, kept + (1 if held >= deposit else deposit)).answer()


async def _maximum(app: Application, transfer: "Transfer", sender: bytes) -> AmountAnswer | None:
    from scenarioctl.actions.drafting import maximum_of
    from scenarioctl.errors import ScenarioctlError

    try:
        found = await maximum_of(app, replace(transfer, allow_death=transfer.is_local), sender)
    except ScenarioctlError:
        return None
    return _amount(transfer.asset, found.amount).answer()


def _seconds(app: Application, transfer: "Transfer") -> int:
    """Return about how long the transfer takes: a block, and each message between chains."""
    from scenarioctl.transactions.transfer.routes import find_route

    source, destination = transfer.source, transfer.destination
    if transfer.is_local:
        return _BLOCK
    if source.consensus != destination.consensus:
        return _BRIDGE
    try:
        hops = 1 if find_route(transfer, app.assets, fee_settled=True).via is None else 2
    except InvalidRequest:
        # Only a check opened it.
        hops = 2
    return _BLOCK + hops * _HOP


def _fee(chain: "Chain", what: str, amount: Amount | None) -> QuotedFee:
    return {
        "chain": chain.name,
        "what": what,
        "amount": None if amount is None else amount.answer(),
        "at_most": False,
    }


def _amount(asset: "Asset", value: int) -> Amount:
    return Amount(value=value, asset=asset.display_name, decimals=asset.decimals)
