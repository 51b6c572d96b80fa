"""Runs that end at the same time, and are written in one transaction."""

import asyncio

import pytest

from scenarioctl.errors import StoreUnavailable
from scenarioctl.model.jobs import FinishedRun
from scenarioctl.stores.batches import BatchWriter


def ended(job: str, epoch: int = 1) -> FinishedRun:
    return FinishedRun(job=job, epoch=epoch, planned=0, started=0, finished=0)


class Table:
    """What was written, transaction by transaction."""

    def __init__(self, *, delay: float = 0.0) -> None:
        self.written: list[list[str]] = []
        self.trouble: dict[str, Exception] = {}
        self.writer = BatchWriter(self._write, key=lambda run: run.job, delay=delay)

    async def _write(self, runs: list[FinishedRun]) -> list[bool]:
        await asyncio.sleep(0.01)
        for run in runs:
            if run.job in self.trouble:
                raise self.trouble[run.job]
        self.written.append([run.job for run in runs])
        return [run.epoch == 1 for run in runs]

    async def store(self, *runs: FinishedRun) -> list[bool | BaseException]:
        asked = [asyncio.ensure_future(self.writer.store(run)) for run in runs[:1]]
        # The first is being written.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asked += [asyncio.ensure_future(self.writer.store(run)) for run in runs[1:]]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        await self.writer.close()
        return answers


async def test_runs_that_end_while_others_are_written_are_written_together() -> None:
    table = Table()
    answers = await table.store(ended("a"), ended("d"), ended("b"), ended("c", epoch=2))

    assert answers == [True, True, True, False]
    assert table.written == [["a"], ["b", "c", "d"]]


async def test_the_first_run_that_ends_waits_a_moment_for_others() -> None:
    table = Table(delay=0.001)
    assert await table.store(ended("a"), ended("c"), ended("b")) == [True, True, True]
    assert table.written == [["a", "b", "c"]]


async def test_two_runs_of_a_job_are_written_one_after_the_other() -> None:
    table = Table()
    assert await table.store(ended("a"), ended("b"), ended("b", epoch=2)) == [True, True, False]
    assert table.written == [["a"], ["b"], ["b"]]


async def test_a_run_that_cannot_be_written_does_not_hold_the_others_up() -> None:
    table = Table()
    table.trouble["b"] = TypeError("impossible")
    first, bad, last = await table.store(ended("a"), ended("b"), ended("c"))

    assert (first, last) == (True, True)
    assert isinstance(bad, TypeError)
    assert table.written == [["a"], ["c"]]


async def test_a_server_that_is_away_is_not_asked_for_each_run() -> None:
    table = Table()
    table.trouble["b"] = StoreUnavailable("away")
    answers = await table.store(ended("a"), ended("b"), ended("c"))

    assert answers[0] is True
    assert [type(answer) for answer in answers[1:]] == [StoreUnavailable, StoreUnavailable]
    assert table.written == [["a"]]


async def test_a_run_for_which_nobody_waits_any_more_is_not_written() -> None:
    table = Table()
    first = asyncio.ensure_future(table.writer.store(ended("a")))
    await asyncio.sleep(0)
    canceled = asyncio.ensure_future(table.writer.store(ended("b")))
    await asyncio.sleep(0)
    canceled.cancel()
    await first
    await table.writer.close()

    assert table.written == [["a"]]
    with pytest.raises(asyncio.CancelledError):
        await canceled
