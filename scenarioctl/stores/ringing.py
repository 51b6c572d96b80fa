"""For which legs a transaction has a bell rung: those that are due soon.  A chore rings for the others in time."""

from collections.abc import Iterable

from scenarioctl.model.jobs import SECOND
from scenarioctl.stores.operations import Operation, Ring, Row

#: Nanoseconds before its due time at which a leg is rung for.
SOON = 60 * SECOND


def rung_at(due: int | None, moment: int) -> int:
    """Return when a leg was rung for that is planned at *moment*; 0 if that is still to be done."""
    return moment if due is not None and due <= moment + SOON else 0


def ring(legs: Iterable[Row], moment: int) -> Operation[None]:
    """Ring for those of *legs* (job, number, due time) that are due soon."""
    soon = [(id, leg, due) for id, leg, due in legs if rung_at(due, moment)]
    if soon:
        yield Ring(soon)
