"""Build a transaction that isn't stored: any call, a batch, a transfer, all steps of a scenario."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from scenarioctl.actions.drafting import (
    draft_batch,
    draft_call,
    draft_transfer,
    maximum_of,
)
from scenarioctl.actions.fields import (
    is_maximum,
    note_raw,
    note_tokens,
)
from scenarioctl.actions.transfer_fields import (
    TRANSFER,
    LossFields,
    TransferFields,
    TransferStep,
    complete,
)
from scenarioctl.actions.vocabulary import Reading
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import RAW, read_choice, to_whole, values_of
from scenarioctl.model.calls import BATCHES
from scenarioctl.model.json_types import Hex
from scenarioctl.model.request_fields import (
    AssetName,
    ChainName,
    DestChain,
    OwnScenarioName,
    Raw,
    Receiver,
    SentAsset,
    SourceChain,
    Value,
)
from scenarioctl.operations.built_transactions import (
    WHOSE_BALANCE,
    BuiltCall,
    BuiltFields,
    RuntimeUsed,
    answer_call,
    find_fee_asset,
    hex_of,
    parse_sender,
    read_aside,
    runtime_used,
)
from scenarioctl.operations.results import Result
from scenarioctl.transactions.extrinsic import parse_hex

if TYPE_CHECKING:
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.operations.views import CheckTransaction

__all__ = ["asset_transfer", "batch_calls", "batch_scenario", "build_call", "transfer_tokens"]


@dataclass(frozen=True, kw_only=True)
class BuildCall(BuiltFields):
    """Build the unsigned transaction of any call of a chain."""

    chain: ChainName
    #: In any case, with or without `_` and `-`.
    pallet: Annotated[str, Value("PALLET")]
    method: Annotated[str, Value("METHOD")]
    #: Its arguments as text or JSON, in their order or by name; a call inside it as 0x hex of its
    #: call data or of a bare extrinsic.
    args: Annotated[Any, Value("ARG")] = ()


async def build_call(app: Application, request: BuildCall) -> Result[BuiltCall]:
    chain = app.registry.find(request.chain)
    if not isinstance(request.args, (list, tuple, dict)):
        raise InvalidRequest(
            field="args",
            value=request.args,
            problem="is not a list of arguments, nor an object with their names",
        )
    try:
        transaction = await draft_call(
            app, chain=chain, pallet=request.pallet, method=request.method, params=request.args
        )
    except InvalidRequest as error:
        raise (error if error.field in ("pallet", "method") else error.blame("args")) from None
    return await answer_call(app, transaction)


@dataclass(frozen=True, kw_only=True)
class BatchCalls(BuiltFields):
    """Build the unsigned transaction that runs several calls in one batch."""

    chain: ChainName
    #: Each as 0x hex of call data or of an unsigned extrinsic.
    calls: Annotated[tuple[str, ...], Value("HEX")]
    #: `batch-all` (default: all or nothing), `batch` (ends at the first call that fails) or
    #: `force-batch` (goes on after it).
    kind: Annotated[str, Value("KIND", tuple(BATCHES))] = "batch-all"


async def batch_calls(app: Application, request: BatchCalls) -> Result[BuiltCall]:
    from scenarioctl.operations.views import read_unsigned

    chain = app.registry.find(request.chain)
    kind = read_choice(request.kind, field="kind", choices=tuple(BATCHES))
    if not request.calls:
        raise InvalidRequest(
            field="calls", problem="is empty", expected="0x hex of at least one call"
        )
    given = [parse_hex(call, field=f"calls[{place}]") for place, call in enumerate(request.calls)]
    table = await app.runtime(chain)
    calls = []
    for place, data in enumerate(given):
        call, _ = await read_aside(
            app, data, read_unsigned, table, chain, data, field=f"calls[{place}]"
        )
        calls.append(call)
    transaction = await draft_batch(app, chain=chain, kind=kind, calls=calls)
    return await answer_call(app, transaction)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class _BuiltTransfer(TransferFields, LossFields, BuiltFields):
    #: Of an amount `max`: pay the fee in this asset, its id, symbol or location.
    fee_asset: Annotated[AssetName, Value("ASSET", rare=True)] = ""


@dataclass(frozen=True, kw_only=True)
class AssetTransfer(_BuiltTransfer):
    """Build the unsigned transaction that sends an asset to another chain."""

    #: Chain it leaves.
    sourchain: SourceChain
    #: Chain it reaches.
    destchain: DestChain
    #: Id, symbol or location of the asset on the source chain, like 1/Here.
    assetid: SentAsset
    #: Amount in the smallest unit (raw): 10000000000 is 1 DOT. `max` is all that `sender` can send
    #: now.
    amount: Raw
    #: Receiver on the destination chain: a name of the address book, SS58 of any prefix, or 0x
    #: public key; on Mythos 0x and 40 hex digits.
    destinationaddress: Receiver


class TransferTransaction(RuntimeUsed):
    txdata: "Hex"


async def asset_transfer(app: Application, request: AssetTransfer) -> Result[TransferTransaction]:
    transaction = await draft_requested(app, request)
    return Result(
        answer={
            "txdata": hex_of(transaction),
            **runtime_used(transaction, offline=transaction.offline),
        },
        notes=transaction.notes,
        warnings=transaction.warnings,
    )


@dataclass(frozen=True, kw_only=True)
class TransferTokens(TransferStep, _BuiltTransfer):
    """Build the unsigned transaction of a transfer, without storing a scenario."""


async def transfer_tokens(app: Application, request: TransferTokens) -> Result[BuiltCall]:
    return await answer_call(app, await draft_requested(app, request, names={}, in_tokens=True))


#: What the interface calls the fields of a transfer.
_ORIGINAL_NAMES = {
    "source_chain": "sourchain",
    "dest_chain": "destchain",
    "destination_address": "destinationaddress",
}


async def draft_requested(
    app: Application,
    request: "AssetTransfer | CheckTransaction | TransferTokens",
    *,
    sender: bytes | None = None,
    names: Mapping[str, str] = _ORIGINAL_NAMES,
    in_tokens: bool = False,
) -> "UnsignedTransaction":
    """Return the transaction of the transfer in *request*; with a *sender* it is checked.

    A number without a unit is in the smallest unit, or *in_tokens*.
    """
    values, is_max = values_of(request), is_maximum(request.amount)
    if is_max:
        # Any amount will do until the largest is known.
        values |= {"amount": "1raw", "allow_death": None}
    step = Reading(app, TRANSFER, values, "built", names=names, is_raw=not in_tokens)
    source, asset = step["source_chain"], step["assetid"]
    transfer = replace(
        complete(step),
        allow_death=bool(request.allow_death),
        sender=parse_sender(request.sender, source) if request.sender else None,
    )
    fee_asset = await find_fee_asset(app, source, request.fee_asset)
    found: tuple[str, ...] = ()
    asked: Literal[0, 1, 2] = 0
    if is_max:
        maximum = await maximum_of(
            app, transfer, parse_sender(request.sender, source, expected=WHOSE_BALANCE), fee_asset
        )
        transfer, found, asked = (
            replace(transfer, amount=maximum.amount),
            maximum.notes,
            maximum.asked,
        )
    transaction = await draft_transfer(app, transfer, sender=sender, fee_asset=fee_asset)
    # An id needs no other words.
    which = "" if str(request.assetid).strip() == asset.id else app.assets.told_apart(asset)
    counted = (
        note_tokens("amount", request.amount, transfer.amount, asset, which)
        if in_tokens
        else note_raw("amount", transfer.amount, asset, which)
    )
    notes = tuple(dict.fromkeys((*counted, *found, *transaction.notes, *step.notes)))
    sent = ""
    if is_max:
        sent = (
            f"{transfer.amount}{RAW}"
            if asset.decimals is None
            else to_whole(transfer.amount, asset.decimals)
        )
    return replace(transaction, notes=notes, asked=asked, maximum=sent)


@dataclass(frozen=True, kw_only=True)
class BatchScenario(BuiltFields):
    """Draft all transactions of a scenario as one, with one signature.

    They have to be on one chain, with no step between them that only a run can do. The batch does
    all of them or nothing (Utility.batch_all).
    """

    id: OwnScenarioName
    #: Confirm a receiver without a private key, like the account of a pallet, for this answer only.
    yes: bool = False


class BatchedScenario(BuiltCall):
    #: How many transactions are in it.
    count: int


async def batch_scenario(app: Application, request: BatchScenario) -> Result[BatchedScenario]:
    from scenarioctl.actions.batching import draft_together
    from scenarioctl.operations.sent_matches import drafted_call, note_drafted
    from scenarioctl.operations.sent_records import warn_of_scenario
    from scenarioctl.operations.stored_diagrams import open_scenario

    diagram = await open_scenario(app, request.id, yes=request.yes)
    transaction, drafted = await draft_together(app, diagram)
    await note_drafted(app, [drafted_call(app, request.id, "", transaction)])
    result = await answer_call(app, transaction)
    return Result(
        answer={**result.answer, "count": len(drafted)},
        notes=result.notes,
        warnings=(*result.warnings, *await warn_of_scenario(app, request.id)),
    )
