"""Build the transaction of any one call of a chain, or of several in a batch."""

from dataclasses import dataclass
from typing import Annotated, Any

from scenarioctl.actions.drafting import draft_batch, draft_call
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.request_fields import ChainName, Value
from scenarioctl.operations.built_transactions import (
    BuiltCall,
    BuiltFields,
    answer_call,
    read_aside,
)
from scenarioctl.operations.decoded_transactions import read_unsigned
from scenarioctl.operations.results import Result
from scenarioctl.transactions.call_builder import BATCHES
from scenarioctl.transactions.extrinsic import parse_hex

__all__ = ["batch_calls", "build_call"]


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
    calls: tuple[str, ...]
    #: `batch-all` (default: all or nothing), `batch` (ends at the first call that fails) or
    #: `force-batch` (goes on after it).
    kind: Annotated[str, Value("KIND", tuple(BATCHES))] = "batch-all"


async def batch_calls(app: Application, request: BatchCalls) -> Result[BuiltCall]:
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
