"""Rows of SQL stores, read as what they mean, and written alike.  A row that somebody has damaged hides no other."""

from types import NoneType
from typing import Any

from scenarioctl.model.jobs import (
    NO_TRANSACTION,
    Job,
    JobState,
    KeptRun,
    MempoolDraft,
    MempoolEntry,
    Schedule,
)
from scenarioctl.model.notifications import read_stored_targets
from scenarioctl.stores.job_texts import DAMAGED, read_schedule, read_steps

#: The columns that `read_entry` takes.
ENTRY_COLUMNS = "seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node, human"
#: The columns that `read_run` takes.
RUN_COLUMNS = "seq, planned, started, finished, drafts, failure, steps"
#: How many columns `read_job` takes: id, state, the text of the schedule, and one for each of `_JOB_KINDS` but the first.
JOB_WIDTH = 15

_MOMENT = (int, NoneType)
#: The types of id, changed, due, planned, epoch, owner, step, runs, failures, last_started, last_finished, reason, notify.
_JOB_KINDS: tuple[tuple[type, ...], ...] = (
    *((str,), (int,), _MOMENT, _MOMENT, (int,), (str,), (str,)),
    *((int,), (int,), _MOMENT, _MOMENT, (str,), (str,)),
)


def read_job(row: tuple[Any, ...]) -> Job:
    """Return the job in the first columns of *row*; a paused one with the reason if the row is damaged."""
    id, state, schedule, *rest = row[:JOB_WIDTH]
    sound = all(type(value) in kinds for value, kinds in zip((id, *rest), _JOB_KINDS, strict=True))
    changed, due, planned, epoch, owner, step, runs, failures, started, finished, reason, notify = rest
    try:
        if sound:
            return Job(
                id=id,
                state=JobState(state),
                schedule=read_schedule(schedule),
                changed=changed,
                due=due,
                planned=planned,
                epoch=epoch,
                owner=owner,
                step=step,
                runs=runs,
                failures=failures,
                last_started=started,
                last_finished=finished,
                reason=reason,
                notify=read_stored_targets(notify),
            )
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return Job(
        id=str(id),
        state=JobState.PAUSED,
        schedule=Schedule(),
        changed=changed if isinstance(changed, int) else 0,
        epoch=epoch if isinstance(epoch, int) else 0,
        reason=DAMAGED,
    )


def read_entry(row: tuple[Any, ...]) -> MempoolEntry:
    """Return the draft in *row*; one without a transaction if the row is damaged."""
    seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node, human = row
    texts, times = (flag, chain, amount, tx_type, tx, node, human), (spec_version, expires)
    if {*map(type, texts)} != {str} or type(date) is not int or not {*map(type, times)} <= {int, NoneType}:
        draft = MempoolDraft(chain=str(chain), amount="0", tx_type=str(tx_type), date=0, tx=NO_TRANSACTION)
        return MempoolEntry(seq=seq, job=job, flag="this draft is damaged in the store", draft=draft)
    return MempoolEntry(
        seq=seq,
        job=job,
        flag=flag,
        draft=MempoolDraft(
            chain=chain,
            amount=amount,
            tx_type=tx_type,
            date=date,
            tx=tx,
            spec_version=spec_version,
            expires=expires,
            node=node,
            human=human,
        ),
    )


def read_run(row: tuple[Any, ...]) -> KeptRun:
    """Return the run in *row*."""
    number, planned, started, finished, drafts, failure, steps = row
    return KeptRun(
        number=number,
        planned=planned,
        started=started,
        finished=finished,
        drafts=drafts,
        failure=failure,
        steps=read_steps(steps),
    )
