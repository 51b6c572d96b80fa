"""Jobs: a scenario that is run again and again, what a run leaves behind, the events that webhooks
bring, and transactions that were sent.

Times are nanoseconds since 1970, UTC, unless a name says otherwise; durations are nanoseconds too.

The owner of a lease is a worker: `HOST:BOOT:PID NAMESPACE:PID:START:RANDOM`.  Every lease runs out
by itself.  A worker that finds the process of another one gone frees its leases at once, but it can
only know that of processes of its own host, boot and PID namespace.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from scenarioctl.model.amounts import from_hex

if TYPE_CHECKING:
    from scenarioctl.model.notifications import NewNotification


SECOND = 1_000_000_000
#: Seconds for which a worker may be silent before others take over its runs.
LEASE_SECONDS = 10.0
#: The `tx` of a draft that failed, and the beginning of its log line.
NO_TRANSACTION = "Could not generate transaction"
#: The beginning of the last line but one of a run that failed.
RUN_FAILED = "run failed"
#: The last line of the steps of a run; the line before it says whether something failed.
EXECUTED = "workload executed"
#: What the log says once when the scenario is changed.
SCENARIO_CHANGED = "Scenario changed: the next run uses the new version"
#: The last line of a run of a job that waits for the next one; and the beginning of it if the job
#: does not.
SLEEPING = "Sleeping"
PAUSED = "Paused: "


class JobState(StrEnum):
    """The state of a job."""

    #: Runs when it is due.
    RUNNING = "running"
    STOPPED = "stopped"
    #: Doesn't run until it is resumed: somebody asked for that, or too many runs in a row failed.
    PAUSED = "paused"


class Overlap(StrEnum):
    """What to do with a planned time that comes while the previous run is in progress."""

    SKIP = "skip"
    #: One waits and runs as soon as the previous run has ended; others are skipped.
    QUEUE = "queue"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When a job runs, and what to do if that fails."""

    #: Between two planned times; 0 with `cron`.
    every: int = 12 * 60 * 60 * SECOND
    #: Five fields, `*/5 * * * *`; empty with `every`.
    cron: str = ""
    #: IANA name, in which `cron` is meant.
    timezone: str = "UTC"
    #: The longest random delay of a run.
    jitter: int = 0
    overlap: Overlap = Overlap.SKIP
    #: After downtime, runs that are later than this are skipped.
    catchup: int = 60 * SECOND
    #: The job pauses after this number of failed runs in a row; 0: never.
    pause_after: int = 0
    #: A run that takes longer has failed; 0: no limit.
    timeout: int = 0
    #: All steps are drafted as one transaction.
    batch: bool = False

    def pauses(self, failures: int) -> bool:
        """Return whether the last of so many failed runs in a row pauses the job.  One that is
        resumed has as many more."""
        return self.pause_after > 0 and failures > 0 and failures % self.pause_after == 0


@dataclass(frozen=True, kw_only=True)
class Job:
    """The repeated execution of one scenario, which gives it its id."""

    id: str
    state: JobState
    schedule: Schedule
    #: When it was last started, stopped, paused or resumed.
    changed: int
    #: When its next leg begins; None if it is not running.
    due: int | None = None
    #: The planned time that `due` was made of: without jitter.  A paused job keeps the one that it
    #: had.
    planned: int | None = None
    #: Counts legs and starts: the store keeps nothing of a leg of an earlier epoch.
    epoch: int = 0
    #: The worker that runs it now; empty if there is none.
    owner: str = ""
    #: What the run waits for: `webhook 6f1c…`; empty for nothing.
    step: str = ""
    #: The number of the step that waits, counted from 1; 0 for none.
    waiting: int = 0
    #: Finished runs since the last start.
    runs: int = 0
    #: Failed runs in a row.
    failures: int = 0
    last_started: int | None = None
    last_finished: int | None = None
    #: Why it is paused, or why the last run failed; else empty.
    reason: str = ""
    #: Where its notifications are sent, beside the targets of the setting `notify`.
    notify: tuple[str, ...] = ()

    @property
    def in_progress(self) -> bool:
        """Return whether a run has begun, and not ended."""
        return bool(self.owner or self.waiting)


@dataclass(frozen=True, kw_only=True)
class JobChange:
    """What a request changes in a job, between two runs or during one."""

    #: The job as it is to be: state, schedule, notify, due, planned, changed and reason are stored.
    job: Job
    #: For its log, and when they are written.
    lines: tuple[str, ...] = ()
    written: int = 0
    #: Its run in progress is over: one that waits has no further leg, and nothing of a leg in
    #: progress is kept.
    ends_run: bool = False


def stopping(job: Job, *, now: int) -> JobChange:
    """Return the change that stops *job*, *now*."""
    stopped = replace(job, state=JobState.STOPPED, due=None, planned=None, changed=now, reason="")
    return JobChange(
        job=stopped, lines=(f"Job stopped{while_waiting(job)}",), written=now, ends_run=True
    )


def while_waiting(job: Job) -> str:
    """Return what a line of the log adds that says of *job* how it was changed, if its run waits
    for something."""
    if not job.waiting:
        return ""
    return (
        f" while step {job.waiting} waited for "
        f"{'a webhook' if job.step.startswith('webhook') else 'a delay'}"
    )


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A part of a run, from its start or from a wait to the next wait or its end, that a worker has
    begun."""

    #: As it is since then.
    job: Job
    #: The scenario, as the store has it.
    blob: bytes
    summary: str
    #: The store's clock when it was begun.
    now: int
    #: What `RunWait.saved` was; empty for the first leg of a run.
    saved: str = ""
    #: It was begun before, and did not end.
    interrupted: bool = False
    #: It begins a run for a time that had one: the clock was set back.
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class RunWait:
    """What a run waits for between two legs, and what the next one goes on with."""

    #: As `Job.step` and `Job.waiting`.
    step: str
    number: int
    #: UUID of the webhook whose event ends the wait; empty if none does.
    webhook: str = ""
    #: When it ends at the latest, by the store's clock.
    until: int
    #: A text that only the worker reads.
    saved: str


@dataclass(frozen=True, kw_only=True)
class MempoolDraft:
    """A transaction that a run drafted, or the answer of a chain."""

    chain: str
    #: In the smallest unit; `0` if no asset moves.
    amount: str
    #: `StepKind.tx_type`, like `xTransfer` or `ChainQuery`.
    tx_type: str
    date: int
    #: Hex, JSON text, or NO_TRANSACTION.
    tx: str
    #: The runtime it was drafted for; None if there is no transaction.
    spec_version: int | None = None
    #: When clients should draft again; None if there is no transaction.
    expires: int | None = None
    #: Id of the diagram's node.
    node: str = ""
    #: What `amount` is in whole tokens, like `1.5 DOT`; empty if no asset moves, or if nobody noted
    #: it.
    human: str = ""
    #: What it sends beside that to pay on the way, like `0.1 DOT`; empty for nothing.
    beside: str = ""
    #: Names it for ever, also if a failover loses it.
    uuid: str = ""
    #: As `DraftedCall.call`; empty if there is no transaction.
    call: str = ""

    @property
    def is_transaction(self) -> bool:
        """Return whether there is a transaction to sign, and not an error or the answer of a
        chain."""
        return self.spec_version is not None and self.tx != NO_TRANSACTION


@dataclass(frozen=True, kw_only=True)
class MempoolEntry:
    """A stored draft."""

    #: A cursor: grows with every entry of the store, in the order in which they become visible.
    seq: int
    job: str
    draft: MempoolDraft
    #: Why it must not be signed any more; empty if it may be.
    flag: str = ""
    #: The planned time of its run; None for `job run`, or if nobody noted it.
    occurrence: int | None = None


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """One line of a job's log."""

    #: A cursor: grows with every line of the store, in the order in which they become visible.
    seq: int
    job: str
    written: int
    text: str


class StepOutcome(StrEnum):
    """What a run did with a step."""

    DONE = "done"
    DRAFTED = "drafted"
    FAILED = "failed"
    #: An earlier step failed, or nobody knows its type.
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a run keeps of a step that it came to."""

    outcome: StepOutcome
    #: From its beginning to its end, with what it waited for; None if nobody noted it.
    seconds: float | None = None
    #: What it did, with its data filled in, and what came of it: JSON, or a line of the log.
    input: str = ""
    output: str = ""
    #: Characters of the whole output, of which `output` may be the first ones.
    length: int = 0


#: Id of a node -> what became of it; no more than this many characters are stored, as JSON.
StepResults: TypeAlias = Mapping[str, StepResult]
STEPS_MAX = 16_384
#: Characters of the longest input or output that is stored.
STEP_TEXT_MAX = 1000


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """A stored run, without its lines, drafts and steps."""

    #: Grows with every run of the store, whichever job it is of.
    number: int
    planned: int
    started: int
    finished: int
    #: The number of its drafts.
    drafts: int
    #: Why it failed; empty if it succeeded.
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

    @property
    def seq(self) -> int:
        return self.id


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """What a run, or one leg of it, leaves behind; stored whole or not at all."""

    job: str
    #: The epoch of its leg; None for `job run`, which has no schedule.
    epoch: int | None
    owner: str = ""
    planned: int
    started: int
    finished: int
    lines: tuple[str, ...] = ()
    drafts: tuple[MempoolDraft, ...] = ()
    #: Webhook uuid -> id of the newest event that was used.
    used_events: "dict[str, int]" = field(default_factory=dict)
    #: Why it failed; empty if it succeeded.
    failure: str = ""
    steps: "StepResults" = field(default_factory=dict)
    #: When the job runs next, and the planned time without jitter; None pauses the job.
    due: int | None = None
    next_planned: int | None = None
    #: The schedule that these times follow: if the job has another one by now, the store plans by
    #: that.
    schedule: Schedule | None = None
    #: False for a planned time that was skipped, and while the run waits: it doesn't count as a
    #: run.
    ran: bool = True
    #: What the run waits for; None: it has ended.
    wait: RunWait | None = None
    #: How many lines and drafts its earlier legs have left.
    former_lines: int = 0
    former_drafts: int = 0
    #: What is reported of it; that the job pauses, only if it does.
    notifications: "tuple[NewNotification, ...]" = ()


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How much of the past is kept; 0 means no limit."""

    log_lines: int = 10_000
    log_age: int = 0
    mempool_entries: int = 1_000
    mempool_age: int = 0
    runs: int = 1_000
    webhook_events: int = 100
    webhook_age: int = 7 * 24 * 60 * 60 * SECOND


#: Seconds by which the clocks of a worker, a machine and the store may differ.
CLOCK_SKEW = 0.25
#: What a system without /proc does not tell.
_UNKNOWN = "-"


@dataclass(frozen=True, kw_only=True)
class KnownWorker:
    """What the store has of a worker."""

    owner: str
    #: Empty if it is too old to tell.
    version: str
    #: By how many nanoseconds its clock is ahead of the store's, at least; None if it has not told.
    clock_offset: int | None
    #: When it last renewed its lease, by the store's clock, and whether the lease has run out
    #: since.
    seen: int
    is_silent: bool
    #: How many legs it has in progress, and the jobs of some of them.
    running: int
    jobs: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """Return the name of its machine."""
        return self.owner.partition(":")[0]

    @property
    def process(self) -> int | None:
        """Return the number of its process there; None if its name doesn't tell."""
        parts = self.owner.split(":")
        return (
            int(parts[3]) if len(parts) == 6 and parts[3].isascii() and parts[3].isdigit() else None
        )


@dataclass(frozen=True, kw_only=True)
class RenewedLease:
    """What the store tells an owner that renews its lease."""

    #: The jobs whose legs are its own, and the epoch of each.
    jobs: dict[str, int]
    #: The store's clock.
    now: int


def new_owner() -> str:
    """Return the name of this process as the owner of leases, another one at each call."""
    pid = os.getpid()
    return f"{_host()}:{_boot()}:{_namespace()}:{pid}:{_start(pid)}:{secrets.token_hex(8)}"


def is_gone(owner: str) -> bool:
    """Return whether *owner* has certainly ended; False if that can't be known from here."""
    parts = owner.split(":")
    if len(parts) != 6 or not (parts[3].isascii() and parts[3].isdigit()):
        return False
    host, boot, namespace, pid, start, _ = parts
    if (host, boot, namespace) != (_host(), _boot(), _namespace()):
        # Its process number means nothing here.
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    now = _start(int(pid))
    return _UNKNOWN not in (start, now) and start != now


def _host() -> str:
    return os.uname().nodename.replace(":", "-")


def _boot() -> str:
    try:
        return (
            Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or _UNKNOWN
        )
    except OSError:
        return _UNKNOWN


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return _UNKNOWN


def _start(pid: int) -> str:
    """Return when the process began, in ticks since the boot: its number may be another's by
    now."""
    try:
        # The name, in parentheses, may hold anything.
        fields = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
        # A zombie has ended: only nobody has asked yet how.
        return _UNKNOWN if len(fields) < 20 else "0" if fields[0] == "Z" else fields[19]
    except OSError:
        return _UNKNOWN


class SentState(StrEnum):
    """How far a transaction has come."""

    #: It was written down, and then the program stopped or lost the node: it may have been sent.
    UNCERTAIN = "uncertain"
    #: A node took it into its pool.
    SENT = "sent"
    #: In a block that is not final yet.
    IN_BLOCK = "in-block"
    FINALIZED = "finalized"
    #: Its validity has passed, and no final block has it: no block can include it any more.
    EXPIRED = "expired"


@dataclass(frozen=True, kw_only=True)
class StepCall:
    """What a step of a scenario drafts, or all of its steps in one, as a call."""

    scenario: str
    #: Empty for all steps in one.
    node: str = ""
    #: The draft of its job; 0 for none.
    draft: int = 0
    #: Its blake2b-256, 0x hex, and behind a slash the account that makes it, in 0x hex, if its
    #: signer acts for another one.
    call: str = ""
    #: The lines of a payout that it pays, by their places, with spaces between; empty for all.
    part: str = ""


@dataclass(frozen=True, kw_only=True)
class DraftedCall(StepCall):
    """A call that was handed out to be signed."""

    chain: str
    #: 0x hex of the account that it was made for; empty if anybody may sign it.
    signer: str = ""
    #: Nanoseconds since 1970, UTC.
    drafted: int = 0
    #: No transaction of the signer below this nonce has it, nor has a block up to this one; None if
    #: that isn't known.
    nonce: int | None = None
    at_block: int | None = None


#: Outcomes of a call that has done nothing, and won't; `replaced`: its transaction never will be in
#: a block.
UNDONE = ("failed", "skipped", "canceled", "replaced")


@dataclass(frozen=True, kw_only=True)
class SentFor(StepCall):
    """What a transaction that was sent is made of."""

    #: False if something else has the same call, and it may be made of that.
    certain: bool = True
    #: What became of its call; empty before a block has it.
    outcome: str = ""

    def pays(self, scenario: str, node: str) -> bool:
        """Tell whether it does what *node* of *scenario* does, alone or with all others."""
        return self.scenario == scenario and self.node in (node, "")

    @property
    def job(self) -> str:
        """Return the job that drafted it; empty if none did."""
        return self.scenario if self.draft else ""


@dataclass(frozen=True, kw_only=True)
class SentTransaction:
    """What the store keeps of a transaction that was sent.  Its bytes are not kept."""

    chain: str
    #: blake2b-256 of its bytes, 0x hex.
    hash: str
    #: Nanoseconds since 1970, UTC.
    sent: int
    #: 0x hex of the account that signed it; empty if the runtime names it otherwise.
    signer: str = ""
    nonce: int | None = None
    #: Number of the best block when it was sent.
    at_block: int
    #: The last block that may include it; None if it is immortal.
    valid_until: int | None = None
    made_of: tuple[SentFor, ...] = ()
    state: SentState = SentState.UNCERTAIN
    #: No block up to this one has it, and none of them can change any more.
    searched: int
    #: The block that has it; empty and None if none has.
    block: str = ""
    block_number: int | None = None
    #: What it did there, as the text of a JSON object; empty if that is not known.
    effects: str = ""
    #: What it does, in a sentence, and the name of its scenario, as both were when it was sent;
    #: empty if they aren't known.
    says: str = ""
    name: str = ""
    #: How often what is known has changed.
    revision: int = 0

    @property
    def origin(self) -> SentFor:
        """Return what it is made of, the first if that is several; of no scenario if nobody knows
        it."""
        return next((each for each in self.made_of if each.certain), SentFor(scenario=""))

    def stands(self, made: SentFor) -> bool:
        """Tell whether it has done what *made*, one of `made_of`, says, or may still do it."""
        return self.state is not SentState.EXPIRED and made.outcome not in UNDONE

    @property
    def account(self) -> bytes | None:
        """Return the account that signed it; None if the runtime names it otherwise."""
        return from_hex(self.signer) or None
