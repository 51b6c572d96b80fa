"""What failed inside a call that succeeded as a whole: found by the types of the events, of
whichever pallet they are."""

from typing import TYPE_CHECKING, Any

from scenarioctl.runtime.type_table import find_typed

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.events import Event
    from scenarioctl.transactions.simulation.trial import Trial

#: The last name of a type -> what a value of it says if nothing failed; None if such a value is a
#: failure in itself.
_OUTCOMES: dict[str, str | None] = {
    "Result": "Ok",
    "Outcome": "Complete",
    "ExitReason": "Succeed",
    "DispatchError": None,
    "ProcessMessageError": None,
}
#: How events are called that tell of a failure without a reason in their fields.
_NAMES = ("Failed", "Interrupted", "WithErrors", "Revert", "Reverted")
#: What the call provides for: its fallback runs; an order ends since the call stops it, of which
#: the event tells as an error.
_EXPECTED = frozenset(("Utility.IfElseFallbackCalled", "DCA.Terminated"))
_MISFITS = (LookupError, TypeError, ValueError, AttributeError)


async def check_inner_failures(trial: "Trial") -> None:
    """Refuse a call of which the events on its own chain tell that a part failed."""
    table = await trial.table()
    for event in trial.hops[0].events:
        if str(event) not in _EXPECTED and tells_failure(event, table):
            trial.findings.refusals.append(
                f"{trial.chain.title} accepts the call, but a part of it fails ({event})"
            )
            return


def tells_failure(event: "Event", table: "RuntimeTable") -> bool:
    """Tell whether *event* says that something failed: by its name, or by a result, outcome or
    error in its fields."""
    if event.name.endswith(_NAMES):
        return True
    types = table.types

    def is_outcome(type_id: int) -> bool:
        return types[type_id][0].rpartition("::")[2] in _OUTCOMES

    value = {event.pallet: event.name if event.fields is None else {event.name: event.fields}}
    try:
        found = list(find_typed(types, _event_type(table), value, is_outcome))
    except _MISFITS:
        # It is of another shape than its type: nothing is known of it.
        return True
    return any(_failed(types[type_id][0].rpartition("::")[2], value) for type_id, value in found)


def _failed(name: str, value: Any) -> bool:
    good = _OUTCOMES[name]
    return good is None or not (value == good or (isinstance(value, dict) and good in value))


def _event_type(table: "RuntimeTable") -> int:
    """Return the type of all events of a runtime, of which `System.Events` is a list with the place
    of each."""
    types = table.types
    record = types[types[table.storage_entry("System", "Events").value_type][3]]
    return int(next(type_id for name, type_id, _ in record[3] if name == "event"))
