"""One run of a scenario: its timeout, the end of its log, and how long runs are kept."""

from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import InvalidRequest, ScenarioctlError, TimedOut
from scenarioctl.model.jobs import EXECUTED, RUN_FAILED, SECOND, Retention

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run, Wait

#: Seconds between two looks for an event.
_PAUSE = 0.5
_DAY = 24 * 60 * 60 * SECOND


async def carry_out(run: "Run", *, timeout: int, waited: float = 0.0) -> "Wait | None":
    """Take one leg of *run*, which has *waited* so many seconds; return what it waits for then,
    None at its end.

    TimedOut if all of it takes longer than *timeout* nanoseconds.  With a *timeout* of 0, the
    setting `run_seconds` applies.  It does not count waits and delays, since the scenario says how
    long those take.
    """
    import asyncio

    from scenarioctl.schedules import write_duration

    seconds = timeout / SECOND or run.app.settings.run_seconds or float("inf")
    if timeout:
        run.spent += waited
    clock = asyncio.get_running_loop().time
    began = clock()
    left = seconds - run.spent
    try:
        async with asyncio.timeout(left if left < float("inf") else None) as limit:
            # With nothing left, no step may begin.
            await asyncio.sleep(0)
            wait = await run.go(waited=waited)
    except TimeoutError:
        if not limit.expired():
            raise
        sentence = (
            f"the run took longer than its timeout of {write_duration(timeout)}"
            if timeout
            else (
                f"the run took longer than {seconds:g} s (run_seconds). Give the job a longer "
                "timeout if it needs one."
            )
        )
        raise TimedOut(sentence) from None
    finally:
        run.spent += clock() - began
    if wait is None or not timeout:
        return wait
    return replace(wait, seconds=min(wait.seconds, max(0.0, seconds - run.spent)))


async def wait_for(app: Application, wait: "Wait", *, job: str) -> float:
    """Wait in this process, for an event that *job* has not used or as long as it may take; return
    how many seconds."""
    passed = 0.0
    token = ""
    while passed < wait.seconds:
        if wait.webhook and token != (token := await app.store.change_token()):
            event = await app.store.newest_event(wait.webhook, job=job)
            if event is not None:
                return passed
        pause = min(wait.seconds - passed, _PAUSE) if wait.webhook else wait.seconds
        await app.sleep(pause)
        passed += pause
    return wait.seconds


def closing_lines(run: "Run | None", failure: str) -> list[str]:
    """Return the last lines of a run's log, and give up what it didn't come to; *failure* is empty
    if the run succeeded."""
    if not failure:
        return [EXECUTED]
    if run is None:
        return [f"{RUN_FAILED}: {failure}", EXECUTED]
    return [*run.give_up(failure), run.failure_line(failure), EXECUTED]


def failure_of(run: "Run") -> ScenarioctlError:
    """Return the error of the last step that failed."""
    error = getattr(run, "error", None)
    # A copy, because the details belong to this run: other users of a connection may share the
    # original.
    return (
        type(error)(run.failure)
        if isinstance(error, ScenarioctlError)
        else InvalidRequest(run.failure)
    )


def retention_of(settings: Settings) -> Retention:
    """Return how much of the logs, drafts and events the settings keep."""
    return Retention(
        log_lines=settings.log_lines,
        log_age=settings.log_days * _DAY,
        mempool_entries=settings.mempool_entries,
        mempool_age=settings.mempool_days * _DAY,
        webhook_events=settings.webhook_events,
        webhook_age=settings.webhook_days * _DAY,
    )
