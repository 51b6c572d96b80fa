"""Draft all transactions of a scenario as one, with one signature."""

from dataclasses import dataclass

from scenarioctl.application import Application
from scenarioctl.model.request_fields import OwnScenarioName
from scenarioctl.operations.built_transactions import (
    BuiltCall,
    CheckableFields,
    answer_call,
    check_form,
    check_sender,
    refuse_checked_fee_asset,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.sent_matches import drafted_call, note_drafted
from scenarioctl.operations.sent_records import warn_of_scenario
from scenarioctl.operations.stored_diagrams import open_scenario

__all__ = ["batch_scenario"]


@dataclass(frozen=True, kw_only=True)
class BatchScenario(CheckableFields):
    """Draft all transactions of a scenario as one, with one signature.

    They have to be on one chain, with no step between them that only a run can do. The batch does
    all of them or nothing (Utility.batch_all). `check` simulates the batch as a whole, to where
    each transfer arrives.
    """

    id: OwnScenarioName
    #: Confirm a receiver without a private key, like the account of a pallet, for this answer only.
    yes: bool = False


class BatchedScenario(BuiltCall):
    #: How many transactions are in it.
    count: int


async def batch_scenario(app: Application, request: BatchScenario) -> Result[BatchedScenario]:
    from scenarioctl.actions.batching import draft_together

    check_form(request, by_sender=True)
    sender = check_sender(request.check, request.sender)
    refuse_checked_fee_asset(request)
    diagram = await open_scenario(app, request.id, yes=request.yes)
    check_form(request, by_sender=diagram.acting is not None)
    transaction, drafted = await draft_together(app, diagram, sender=sender)
    await note_drafted(app, [drafted_call(app, request.id, "", transaction)])
    # It is checked already, each step alone too.
    result = await answer_call(app, transaction, request, None)
    return Result(
        answer={**result.answer, "count": len(drafted)},
        notes=result.notes,
        warnings=(*result.warnings, *await warn_of_scenario(app, request.id)),
    )
