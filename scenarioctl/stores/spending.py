"""What the drafts of a job with a bound per day have moved lately, in one place: operations over a
store."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from scenarioctl.model.bounds import write_amount
from scenarioctl.model.jobs import SECOND
from scenarioctl.stores import statements
from scenarioctl.stores.operations import Operation, Row, Table, find, lock_key
from scenarioctl.stores.validation import unknown

DAY = 24 * 60 * 60 * SECOND


def spend(
    job: str,
    *,
    run: str,
    node: str,
    moment: int,
    amounts: Mapping[str, Fraction],
    limits: Mapping[str, Fraction],
) -> Operation[dict[str, Fraction]]:
    """Note that a draft of *node* moves *amounts* in a run, unless one with those of 24 hours
    before *moment* exceeds its limit.

    Return what the other drafts move of each asset that is exceeded; nothing is noted then.  A run
    that is tried again counts once, with the larger amount, and it counts also if its draft is
    lost.  NotFound if there is no such job.
    """
    # Runs of a job that go on at once wait for each other.
    yield statements.LOCK_SPENDING, {"key": lock_key(job.encode())}
    if (yield from find(statements.HAS_SCENARIO, id=job)) is None:
        raise unknown(job)
    own, others = dict(amounts), dict.fromkeys(amounts, Fraction(0))
    for asset, itself, text in (
        yield statements.SPENT, {"job": job, "since": moment - DAY, "run": run, "node": node}
    ):
        spent = Fraction(Decimal(text))
        if asset in amounts and itself:
            own[asset] = max(own[asset], spent)
        elif asset in amounts:
            others[asset] += spent
    exceeded = {
        asset: spent for asset, spent in others.items() if spent + own[asset] > limits[asset]
    }
    if exceeded:
        return exceeded
    yield statements.FORGET_SPENDING, {"job": job, "before": moment - 2 * DAY}
    rows: list[Row] = [(job, run, node, asset, moment, write_amount(own[asset])) for asset in own]
    yield statements.ADD_SPENDING, {"spent": Table(rows)}
    return {}
