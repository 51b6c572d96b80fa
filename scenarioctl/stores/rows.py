"""Rows of SQL stores, read as what they mean, and written alike.  A row that somebody has damaged hides no other."""

import json
from types import NoneType
from typing import Any

from scenarioctl.model.jobs import (
    Job,
    JobState,
    Schedule,
)
from scenarioctl.model.notifications import read_stored_targets
from scenarioctl.stores.job_texts import DAMAGED, read_schedule

#: How many columns `read_job` takes: id, state, the text of the schedule, and one for each of `_JOB_KINDS` but the first.
JOB_WIDTH = 16

_MOMENT = (int, NoneType)
#: The types of id, changed, due, planned, epoch, owner, step, runs, failures, last_started, last_finished, reason, notify, waiting.
_JOB_KINDS: tuple[tuple[type, ...], ...] = (
    *((str,), (int,), _MOMENT, _MOMENT, (int,), (str,), (str,)),
    *((int,), (int,), _MOMENT, _MOMENT, (str,), (str,), (int,)),
)


def read_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts, which a database has as an array or as JSON; ValueError if it is damaged."""
    try:
        texts = json.loads(value) if isinstance(value, str) else value
    except RecursionError:
        raise ValueError from None
    if not isinstance(texts, list) or not {*map(type, texts)} <= {str}:
        raise ValueError
    return tuple(texts)


def read_job(row: tuple[Any, ...]) -> Job:
    """Return the job in the first columns of *row*; a paused one with the reason if the row is damaged."""
    id, state, schedule, *rest = row[:JOB_WIDTH]
    sound = all(type(value) in kinds for value, kinds in zip((id, *rest), _JOB_KINDS, strict=True))
    changed, due, planned, epoch, owner, step, runs, failures, started, finished, reason, notify, waiting = (
        rest
    )
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
                waiting=waiting,
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
