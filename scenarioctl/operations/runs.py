"""One run of a scenario: its timeout, the end of its log, and how long runs are kept."""

from typing import TYPE_CHECKING

from scenarioctl.config import Settings
from scenarioctl.errors import InvalidRequest, ScenarioctlError, TimedOut
from scenarioctl.model.jobs import EXECUTED, RUN_FAILED, SECOND, Retention

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run

_DAY = 24 * 60 * 60 * SECOND


async def carry_out(run: "Run", *, timeout: int) -> None:
    """Run to the end of the diagram; TimedOut after *timeout* nanoseconds.

    With a *timeout* of 0, the setting `run_seconds` applies. It does not count the time that the run waits for webhooks
    and delays, since the scenario says how long those take.
    """
    import asyncio

    from scenarioctl.schedules import write_duration

    usual = run.app.settings.run_seconds
    try:
        async with asyncio.timeout(timeout / SECOND or usual or None) as limit:
            if not timeout:
                run.limit = limit
            await run.go()
    except TimeoutError:
        if not limit.expired():
            raise
        sentence = (
            f"the run took longer than its timeout of {write_duration(timeout)}"
            if timeout
            else f"the run took longer than {usual} s (run_seconds). Give the job a longer timeout if it needs one."
        )
        raise TimedOut(sentence) from None


def closing_lines(run: "Run | None", failure: str) -> list[str]:
    """Return the last lines of a run's log; *failure* is empty if the run succeeded."""
    if not failure:
        return [EXECUTED]
    return [run.failure_line(failure) if run is not None else f"{RUN_FAILED}: {failure}", EXECUTED]


def failure_of(run: "Run") -> ScenarioctlError:
    """Return the error of the last step that failed."""
    error = getattr(run, "error", None)
    # A copy, because the details belong to this run: other users of a connection may share the original.
    return type(error)(run.failure) if isinstance(error, ScenarioctlError) else InvalidRequest(run.failure)


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
