"""Draft all transactions of a scenario as one, with one signature."""

from dataclasses import dataclass

from scenarioctl.application import Application
from scenarioctl.model.request_fields import OwnScenarioName
from scenarioctl.operations.built_transactions import BuiltCall, BuiltFields, answer_call
from scenarioctl.operations.results import Result
from scenarioctl.operations.sent_matches import drafted_call, note_drafted
from scenarioctl.operations.sent_records import warn_of_scenario
from scenarioctl.operations.stored_diagrams import open_scenario

__all__ = ["batch_scenario"]


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

    diagram = await open_scenario(app, request.id, yes=request.yes)
    transaction, drafted = await draft_together(app, diagram)
    await note_drafted(app, [drafted_call(app, request.id, "", transaction)])
    result = await answer_call(app, transaction)
    return Result(
        answer={**result.answer, "count": len(drafted)},
        notes=result.notes,
        warnings=(*result.warnings, *await warn_of_scenario(app, request.id)),
    )
