"""What needs a person, and how the daemon, its chains and its jobs are: what the page's home
shows."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from scenarioctl import __version__
from scenarioctl.application import Application
from scenarioctl.chains.probing import judge_head, read_block_time
from scenarioctl.errors import NotFound, ScenarioctlError
from scenarioctl.model.jobs import SECOND, Job, JobState, KeptRun
from scenarioctl.model.json_types import SHOWN, Column, Digits, ScenarioId, Timestamp, timestamp
from scenarioctl.operations.chains import shown_endpoint
from scenarioctl.operations.job_runs import (
    JobRow,
    RunOutcome,
    describe_jobs,
    duration_of,
    outcome_of,
)
from scenarioctl.operations.results import Result
from scenarioctl.operations.scenarios import ListScenarios, ScenarioRow, list_scenarios
from scenarioctl.operations.stored_diagrams import Title, titles_of
from scenarioctl.operations.stores import WorkerRow, describe_workers
from scenarioctl.runtime.storage_keys import TIMESTAMP_NOW
from scenarioctl.stores.runs import WaitingDraft

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain

__all__ = ["show_status"]

#: Rows of each list, and recent runs of a job.
ROWS = 20
RUNS = 30
#: Newest scenarios.
_RECENT = 10
#: A draft that has less time left is expiring.
_SOON = 600 * SECOND
#: Chains that are asked at most.
_CHAINS = 20
#: Seconds for all answers of a chain; a pool may have to open a connection first.
_PATIENCE = 8.0


class ChainState(TypedDict):
    name: Annotated[str, Column("chain")]
    title: str
    #: `unknown` until it has been asked.
    state: Annotated[Literal["connected", "unreachable", "offline", "unknown"], SHOWN]
    #: Number of the best block.
    block: Annotated[int | None, Column("best block")]
    #: The block's own time; null if the chain doesn't say.
    block_time: Annotated[Timestamp | None, Column("its time")]
    #: Seconds since that time, by this machine's clock; null if it isn't known.
    age: Annotated[float | None, Column(form="seconds")]
    #: How long a block of the chain takes, in seconds; null until it has been asked.
    block_seconds: float | None
    #: Whether the best block is as new as it should be: `late` if it is older than five blocks, and
    #: than a minute.
    head: Annotated[Literal["fresh", "late", "unknown"], SHOWN]
    #: Scheme and host of the endpoint that answers; empty if none does.
    endpoint: str
    #: Why it is unreachable; else empty.
    reason: Annotated[str, SHOWN]


class _Titled(TypedDict):
    id: Annotated[ScenarioId, Column("scenario")]
    #: As its author calls it; empty if it has no name.
    name: Annotated[str, SHOWN]
    #: `1.5 DOT · Polkadot → Asset Hub`.
    title: Annotated[str, Column("what")]


class _MaybeHuman(TypedDict, total=False):
    #: The amount in whole tokens; left out if it is not known.
    human: Annotated[str, Column("amount")]


class DraftToSign(_Titled, _MaybeHuman):
    #: Its number in the mempool.
    draft: Annotated[int, SHOWN]
    #: How many drafts of the job wait: one waits until it, or a newer one of the same step, is
    #: sent.
    drafts: int
    chain: Annotated[str, SHOWN]
    txType: str
    #: In the smallest unit; `0` if no asset moves.
    amount: "Digits"
    date: "Timestamp"
    expires: Annotated[Timestamp, SHOWN]
    #: Whether it expires within 10 minutes.
    expiring: bool


class JobInNeed(_Titled):
    #: Why it is paused, or why its last run failed.
    reason: Annotated[str, SHOWN]
    #: Failed runs in a row.
    failures: Annotated[int, SHOWN]
    #: When it was paused, or when its last run ended.
    since: Annotated[Timestamp | None, SHOWN]


class Needs(TypedDict):
    """What needs a person. Each list has up to 20 rows."""

    #: Jobs in these lists, all pages counted: one that is failing and has a draft counts twice.
    count: Annotated[int, Column("needs you")]
    #: The newest draft of each job that waits for a signature: those first that expire first.
    sign: Annotated[list[DraftToSign], Column("to sign")]
    #: How many jobs have such a draft.
    sign_total: int
    #: How many of these drafts expire within 10 minutes.
    expiring: int
    paused: Annotated[list[JobInNeed], SHOWN]
    paused_total: int
    #: Running jobs whose last run failed.
    failing: Annotated[list[JobInNeed], SHOWN]
    failing_total: int


class RunBar(TypedDict):
    number: int
    started: "Timestamp"
    seconds: float
    outcome: RunOutcome


class JobStanding(_Titled):
    state: Annotated[Literal["running", "stopped", "paused"], SHOWN]
    #: In words.
    schedule: Annotated[str | None, SHOWN]
    next: Annotated[Timestamp | None, Column("next run")]
    #: Whether a run is in progress.
    executing: bool
    #: The step that is executing.
    step: str
    #: Failed runs in a row.
    failures: int
    #: Drafts that could be signed now.
    drafts: Annotated[int, SHOWN]
    reason: str
    #: Up to 30, the newest first.
    runs: list[RunBar]


class StoreStatus(TypedDict):
    """What the store tells."""

    version: Annotated[str, SHOWN]
    offline: bool
    #: Whether any worker runs the jobs.
    worker: Annotated[bool, SHOWN]
    #: The workers of all machines, also those that were silent for less than an hour.
    workers: Annotated[list[WorkerRow], SHOWN]
    scenarios: Annotated[int, SHOWN]
    #: The 10 newest scenarios.
    recent: list[ScenarioRow]
    needs: Annotated[Needs, Column(form="part")]
    #: Up to 20: the running ones first, then those that are paused, then the stopped ones.
    jobs: Annotated[list[JobStanding], Column("jobs")]
    jobs_total: Annotated[int, Column("jobs")]


class Status(StoreStatus):
    #: Those that stored scenarios use, or that were asked since the daemon started.
    chains: Annotated[list[ChainState], SHOWN]


@dataclass(frozen=True, kw_only=True)
class ShowStatus:
    """Show what needs you, and how the chains, the worker and the jobs are."""


async def show_status(
    app: Application,
    request: ShowStatus,  # noqa: ARG001 - as every handler
) -> Result[Status]:
    standing, chains = await asyncio.gather(read_store_status(app), read_chains(app))
    return Result(answer={**standing, "chains": chains})


async def read_store_status(app: Application) -> StoreStatus:
    """Return all but the chains: some short reads of the store, however many jobs it has."""
    store, now = app.existing_store, app.clock()
    waiting = await store.waiting_drafts(now=now, soon=now + _SOON, limit=ROWS)
    paused = await store.list_jobs(limit=ROWS, state=JobState.PAUSED)
    failing = await store.list_jobs(limit=ROWS, failing=True)
    running = await store.list_jobs(limit=ROWS, state=JobState.RUNNING)
    stopped = await store.list_jobs(limit=ROWS, state=JobState.STOPPED)
    shown = (*running.items, *paused.items, *stopped.items)[:ROWS]
    ids = [job.id for job in shown]
    described = await describe_jobs(app, shown)
    runs = await store.runs_of_each(ids, limit=RUNS)
    named = {*ids, *(draft.job for draft in waiting.items)}
    named |= {job.id for job in (*paused.items, *failing.items)}
    titles = await titles_of(app, sorted(named))
    sign = [await _to_sign(app, draft, titles, now) for draft in waiting.items]
    recent = await list_scenarios(app, ListScenarios(limit=_RECENT))
    return {
        "version": __version__,
        "offline": app.settings.offline,
        "worker": await store.has_worker(),
        "workers": await describe_workers(app),
        "scenarios": recent.answer["total"],
        "recent": recent.answer["scenarios"],
        "needs": {
            "count": waiting.total + paused.total + failing.total,
            "sign": [row for row in sign if row is not None],
            "sign_total": waiting.total,
            "expiring": waiting.expiring,
            "paused": [_in_need(job, titles, since=job.changed) for job in paused.items],
            "paused_total": paused.total,
            "failing": [_in_need(job, titles, since=job.last_finished) for job in failing.items],
            "failing_total": failing.total,
        },
        "jobs": [_standing(row, titles, runs.get(row["id"], ())) for row in described],
        "jobs_total": running.total + paused.total + stopped.total,
    }


def _titled(id: str, titles: dict[str, Title]) -> _Titled:
    title = titles.get(id, Title(id))
    return {"id": id, "name": title.name, "title": title.text}


async def _to_sign(
    app: Application, waiting: WaitingDraft, titles: dict[str, Title], now: int
) -> DraftToSign | None:
    from scenarioctl.operations.sources import find_draft

    try:
        draft = (await find_draft(app, waiting.job, waiting.seq)).draft
    except NotFound:
        # It is gone since it was found, or its scenario is.
        return None
    human: _MaybeHuman = {"human": draft.human} if draft.human else {}
    return {
        **_titled(waiting.job, titles),
        **human,
        "draft": waiting.seq,
        "drafts": waiting.count,
        "chain": draft.chain,
        "txType": draft.tx_type,
        "amount": draft.amount,
        "date": timestamp(draft.date),
        "expires": timestamp(waiting.expires),
        "expiring": waiting.expires <= now + _SOON,
    }


def _in_need(job: Job, titles: dict[str, Title], *, since: int | None) -> JobInNeed:
    return {
        **_titled(job.id, titles),
        "reason": job.reason,
        "failures": job.failures,
        "since": timestamp(since) if since is not None else None,
    }


def _standing(row: JobRow, titles: dict[str, Title], runs: Sequence[KeptRun]) -> JobStanding:
    return {
        **_titled(row["id"], titles),
        "state": row["state"],
        "schedule": row["schedule"],
        "next": row["next"],
        "executing": row["executing"],
        "step": row["step"],
        "failures": row["failures"],
        "drafts": row["drafts"],
        "reason": row["reason"],
        "runs": [
            {
                "number": run.number,
                "started": timestamp(run.started),
                "seconds": duration_of(run),
                "outcome": outcome_of(run),
            }
            for run in runs
        ],
    }


async def read_chains(app: Application) -> list[ChainState]:
    """Ask each chain that matters here for its best block, all at once."""
    return list(
        await asyncio.gather(*(ask_chain(app, chain) for chain in await chains_of_status(app)))
    )


async def chains_of_status(app: Application) -> list["Chain"]:
    """Return the chains that have endpoints, and that were asked already or that a stored scenario
    uses."""
    asked = app.chains_up()
    connectable = [chain for chain in app.registry.all() if chain.endpoints]
    found = [
        chain
        for chain in connectable
        if chain.name in asked or await app.store.count_scenarios(chain.name)
    ]
    return found[:_CHAINS]


async def ask_chain(app: Application, chain: "Chain") -> ChainState:
    """Return the best block of *chain*, or why it can't be asked."""
    if app.settings.offline:
        return describe_chain(chain, "offline")
    client = app.client(chain)
    try:
        async with asyncio.timeout(_PATIENCE):
            header, moment = await client.call_many(
                [("chain_getHeader", ()), ("state_getStorage", (TIMESTAMP_NOW,))]
            )
        block, made = client.read_number(header), read_block_time(moment)
        age = None if made is None else round((app.clock() - made) / SECOND, 1)
        return {
            **describe_chain(chain, "connected", client=client),
            "block": block,
            "block_time": None if made is None else timestamp(made),
            "age": age,
            "head": judge_head(age, client.pool.block_seconds),
            "endpoint": shown_endpoint(client.endpoint),
        }
    except TimeoutError:
        reason = f"{chain.title} did not answer in {_PATIENCE:g} seconds"
    except ScenarioctlError as error:
        reason = str(error)
    return describe_chain(chain, "unreachable", reason=reason, client=client)


def describe_chain(
    chain: "Chain",
    state: Literal["connected", "unreachable", "offline", "unknown"],
    *,
    reason: str = "",
    client: "Client | None" = None,
) -> ChainState:
    """Return a row without a best block; *client* is that of a chain that was asked."""
    return {
        "name": chain.name,
        "title": chain.title,
        "state": state,
        "block": None,
        "block_time": None,
        "age": None,
        "block_seconds": client.pool.block_seconds if client is not None else None,
        "head": "unknown",
        "endpoint": "",
        "reason": reason,
    }
