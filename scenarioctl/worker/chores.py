"""What a worker does again and again beside its runs: how often, how many, and what must not end it
if it fails."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from scenarioctl.errors import ScenarioctlError
from scenarioctl.model.jobs import LEASE_SECONDS
from scenarioctl.retries import delay_after


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a worker does what, in seconds."""

    #: A claim lasts this long unless it is renewed; then other workers may take the jobs of a
    #: frozen one.
    lease: float = LEASE_SECONDS
    renew: float = 3.0
    #: How often a worker renews it that has no legs and shares them with nobody.
    seen: float = 60.0
    #: Jobs that other processes start are noticed within this time.
    poll: float = 0.5
    #: How often leases of dead workers are looked for.
    owners: float = 3.0
    #: A stop waits this long for runs in progress.
    grace: float = 10.0
    #: How often drafts are compared with the runtime of their chain.
    draft_checks: float = 30.0
    #: Notifications that are tried again, or that other workers left behind, are sent within this
    #: time.
    notifications: float = 5.0
    prune: float = 300.0
    #: When it is first looked at them, and pruned, after the start, for workers that never run for
    #: long.
    first_prune: float = 20.0
    #: The pause after an error of the store, doubled up to `patience`.
    retry: float = 0.2
    patience: float = 15.0


@dataclass(kw_only=True)
class Counts:
    """What a worker has done since it started, for `/metrics`."""

    executed: int = 0
    failed: int = 0
    #: Runs that were not kept, since their job had another owner by then.
    lost: int = 0
    left_out: int = 0
    #: Runs that were begun before, by a worker that did not end them.
    taken_over: int = 0
    bugs: int = 0
    flagged: int = 0
    notifications_delivered: int = 0
    #: Attempts that failed.
    notifications_failed: int = 0
    notifications_given_up: int = 0
    drafts: dict[str, int] = field(default_factory=dict)


log = logging.getLogger("scenarioctl.worker")


async def repeat(
    chore: Callable[[], Awaitable[None]],
    seconds: float,
    *,
    sleep: Callable[[float], Awaitable[None]],
    first: float | None = None,
) -> None:
    """Do *chore* every so many seconds, for the first time after *first*."""
    await sleep(seconds if first is None else first)
    while True:
        await guard(chore, "a chore of the worker failed")
        await sleep(seconds)


async def guard(action: Callable[[], Awaitable[None]], trouble: str) -> None:
    """Do what is tried again later if it fails; *trouble* says in the log what has failed then."""
    try:
        await action()
    except ScenarioctlError as error:
        log.error("%s: %s", trouble, error)  # noqa: TRY400 - nothing to trace, the sentence says it
    except Exception:
        log.exception(trouble)


@dataclass(kw_only=True)
class Attempts:
    """Attempts at the store: each that fails is logged as *trouble*, and delays the next one."""

    trouble: str
    pace: Pace
    level: int = logging.ERROR
    #: Failures in a row.
    failures: int = 0

    def failed(self, error: BaseException | str) -> float:
        """Return the seconds until the next attempt."""
        self.failures += 1
        delay = delay_after(self.failures, first=self.pace.retry, longest=self.pace.patience)
        log.log(self.level, "%s; retrying in %.1f s: %s", self.trouble, delay, error)
        return delay
