"""Jobs: a scenario that is run again and again, what a run leaves behind, and the events that webhooks bring.

Times are nanoseconds since 1970, UTC, unless a name says otherwise; durations are nanoseconds too.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SECOND = 1_000_000_000
#: What the mempool says of a transaction that could not be drafted, and the log line begins with.
NO_TRANSACTION = "Could not generate transaction"
#: What the line before the last of a run's log begins with, if something failed.
RUN_FAILED = "run failed"


class JobState(StrEnum):
    """Where a job stands."""

    #: Runs when it is due.
    RUNNING = "running"
    STOPPED = "stopped"
    #: Stopped by itself, after so many failures in a row.
    PAUSED = "paused"


class Overlap(StrEnum):
    """What becomes of a time that comes while the run before it still goes on."""

    SKIP = "skip"
    #: One waits, and runs as soon as the one before it has ended; others are skipped.
    QUEUE = "queue"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When a job runs, and what is done when that goes wrong."""

    #: Between two planned times; 0 with `cron`.
    every: int = 12 * 60 * 60 * SECOND
    #: Five fields, `*/5 * * * *`; empty with `every`.
    cron: str = ""
    #: IANA name, in which `cron` is meant.
    timezone: str = "UTC"
    #: Each run begins up to so much later, at random.
    jitter: int = 0
    overlap: Overlap = Overlap.SKIP
    #: A run that is late by more than this, after a downtime, is left out; the next planned time holds.
    catchup: int = 60 * SECOND
    #: The job pauses after so many failed runs in a row; 0: never.
    pause_after: int = 0
    #: A run that takes longer has failed; 0: no limit.
    timeout: int = 0


@dataclass(frozen=True, kw_only=True)
class Job:
    """The repeated execution of one scenario, by whose id it goes."""

    id: str
    state: JobState
    schedule: Schedule
    #: When it was last started, stopped or paused.
    changed: int
    #: When it runs next; None where it does not.
    due: int | None = None
    #: The planned time that `due` was made of: without jitter.
    planned: int | None = None
    #: Counts claims and starts: work that was claimed under another epoch is not kept any more.
    epoch: int = 0
    #: Who runs it at this moment; empty for nobody.
    owner: str = ""
    #: What the run waits for: `webhook 6f1c…`; empty for nothing.
    step: str = ""
    #: Finished runs since the last start.
    runs: int = 0
    #: Failed runs in a row.
    failures: int = 0
    last_started: int | None = None
    last_finished: int | None = None
    #: Why it is paused, or why the last run failed; empty unless it did.
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Who asks for due jobs, and for how long they are theirs."""

    owner: str
    #: Wall clock: what is due by then.
    now: int
    #: How long the claim holds without being renewed; the store's own clock counts it.
    lease: int
    limit: int = 100


@dataclass(frozen=True, kw_only=True)
class ClaimedJob:
    """A due job that is now its owner's."""

    job: Job
    #: The scenario, as the store has it.
    blob: bytes
    summary: str
    #: Was claimed for this due time before, by a worker that never came to its end: it is late through no fault of its own.
    interrupted: bool = False
    #: And had lines in the log by then.
    logged: bool = False


@dataclass(frozen=True, kw_only=True)
class MempoolDraft:
    """A transaction that a run drafted, or what a chain answered."""

    chain: str
    #: Raw, `0` where no asset moves.
    amount: str
    #: `xTransfer`, `swap`, `Remark`, `ChainQuery` or `ChainTx`.
    tx_type: str
    date: int
    #: Hex, JSON text, or NO_TRANSACTION.
    tx: str
    #: The runtime it was drafted for; None where there is no transaction.
    spec_version: int | None = None
    #: From then on a client should draft anew; None where there is no transaction.
    expires: int | None = None
    #: Id of the diagram's node.
    node: str = ""


@dataclass(frozen=True, kw_only=True)
class MempoolEntry:
    """A draft as the store keeps it."""

    #: A cursor: grows with every entry of the store, in the order in which they become visible.
    seq: int
    job: str
    draft: MempoolDraft
    #: Why it must not be signed any more: the chain's runtime has changed; empty while it may be.
    flag: str = ""


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """One line of a job's log."""

    #: A cursor: grows with every line of the store, in the order in which they become visible.
    seq: int
    job: str
    written: int
    text: str


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """What is remembered of a run beside its lines and its drafts."""

    planned: int
    started: int
    finished: int
    #: How many of them it left.
    drafts: int
    #: Why it failed; empty if it did not.
    failure: str


@dataclass(frozen=True, kw_only=True)
class WebhookEvent:
    """What somebody posted to a webhook."""

    #: A cursor: grows with every event of the store, in the order in which they become visible.
    id: int
    uuid: str
    received: int
    #: Its JSON content.
    content: Any


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """All that a run leaves behind but for the lines that it logged before a wait: kept whole or not at all."""

    job: str
    #: The epoch under which it was claimed; None for a run in the foreground, which no schedule knows.
    epoch: int | None
    owner: str = ""
    planned: int
    started: int
    finished: int
    lines: tuple[str, ...] = ()
    drafts: tuple[MempoolDraft, ...] = ()
    #: Webhook uuid -> id of the newest event that was used.
    used_events: "dict[str, int]" = field(default_factory=dict)
    #: Why it failed; empty if it did not.
    failure: str = ""
    #: When the job runs next, and the planned time that is made of; None: not again (paused).
    due: int | None = None
    next_planned: int | None = None
    #: False for a time that was left out: its lines and the next time are kept, but it counts as no run.
    ran: bool = True


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How much of a job's past is kept; 0 means without limit."""

    log_lines: int = 10_000
    log_age: int = 0
    #: Bytes of the lines of a job's log.
    log_bytes: int = 16 * 1024 * 1024
    mempool_entries: int = 1_000
    mempool_age: int = 0
    #: Bytes of a job's drafts; the newest is kept however long.
    mempool_bytes: int = 32 * 1024 * 1024
    runs: int = 1_000
    webhook_events: int = 100
    webhook_age: int = 7 * 24 * 60 * 60 * SECOND
    #: Characters of the JSON of a webhook's events.
    webhook_bytes: int = 16 * 1024 * 1024
