"""Answers of operations that build a call: its bytes, and what they do."""

from typing import TYPE_CHECKING

from scenarioctl.actions.drafting import check_draft
from scenarioctl.application import Application
from scenarioctl.model.json_types import Hex, Meaning
from scenarioctl.operations.built_transactions import (
    CheckableFields,
    Checked,
    RuntimeUsed,
    WrittenTransaction,
    find_fee_asset,
    passed_check,
    read_aside,
    runtime_used,
    write_transaction,
)
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.model.calls import UnsignedTransaction


class BuiltCall(RuntimeUsed, Checked, Meaning):
    chain: str
    #: In the form of `output_format`.
    tx: "Hex"


async def explain_written(
    app: Application, transaction: "UnsignedTransaction", written: WrittenTransaction
) -> Meaning:
    """Return what *transaction* does, with what a payload signs beside it."""
    # Who wants bytes alone needs none of what reads them.
    from scenarioctl.operations.decoded_transactions import explain_transaction
    from scenarioctl.transactions.extrinsic import Extrinsic

    chain = app.registry.find(transaction.chain)
    table = await app.runtime(chain)
    signed = Extrinsic(version=4, call=transaction.call, extensions=written.extensions)
    return await read_aside(
        app, transaction.call_data, explain_transaction, app, chain, table, signed
    )


async def answer_call(
    app: Application,
    transaction: "UnsignedTransaction",
    request: CheckableFields,
    sender: bytes | None,
) -> Result[BuiltCall]:
    """Return the answer with *transaction*, in the form that *request* wants; with a *sender*, once
    it passes a check for them."""
    chain = app.registry.find(transaction.chain)
    if sender is not None:
        fee_asset = await find_fee_asset(app, chain, request.fee_asset)
        transaction = await check_draft(app, transaction, sender, fee_asset)
    check = passed_check(transaction)
    written = await write_transaction(app, transaction, request)
    return Result(
        answer={
            "chain": chain.name,
            "tx": written.tx,
            **await explain_written(app, transaction, written),
            **runtime_used(transaction, offline=transaction.offline),
            **check,
        },
        notes=(*transaction.notes, *written.notes),
        warnings=(*transaction.warnings, *written.warnings),
    )
