"""The yardsticks of the PostgreSQL benchmarks, each a process of its own: what the libraries do
without scenarioctl.

`worker URL` runs tasks of procrastinate, which do nothing.  It defers as many as it has run, so
that the backlog stays as large as it is at the beginning.  For each line of its input it prints how
many it has run, and its CPU time. `taker URL` does the same with tasks that others defer, and keeps
their rows. `server URL` inserts a row for each POST, and prints its port.
"""

import asyncio
import logging
import secrets
import sys
import time

from procrastinate import App, PsycopgConnector
from procrastinate.types import JSONDict

from benchmarks.http import serve_bare

TASK = "nothing"
#: Tasks at once, as our workers have legs; procrastinate's own default is one.
CONCURRENCY = 64
#: Connections of the server's pool, as many as a daemon has.
POOL = 10
#: How Python starts one; procrastinate warns of tasks in a main module.
PROGRAM = "from benchmarks.postgres_bare import main; main()"
TABLE = "CREATE TABLE bare (id text PRIMARY KEY, body text NOT NULL)"


class Tasks:
    """Tasks that do nothing; with *replaced*, a worker defers anew as many as it has in progress
    whenever it has run so many."""

    def __init__(self, url: str, *, replaced: bool = False) -> None:
        self.app = App(connector=PsycopgConnector(conninfo=url))
        self.app.task(name=TASK, queue="bare")(self._run)
        self.replaced = replaced
        self.done = 0

    async def _run(self, id: str) -> None:  # noqa: ARG002 - as it was deferred
        self.done += 1
        if self.replaced and self.done % CONCURRENCY == 0:
            await self.defer(CONCURRENCY)

    async def defer(self, count: int) -> None:
        tasks: list[JSONDict] = [{"id": f"job-{number}"} for number in range(count)]
        await self.app.tasks[TASK].batch_defer_async(*tasks)


async def defer(url: str, count: int) -> None:
    """Create the tables of procrastinate, and defer *count* tasks."""
    tasks = Tasks(url)
    async with tasks.app.open_async():
        await tasks.app.schema_manager.apply_schema_async()
        if count:
            await tasks.defer(count)


async def defer_at(url: str, count: int, rate: float) -> None:
    """Defer *count* tasks one by one, so many a second."""
    tasks = Tasks(url)
    async with tasks.app.open_async():
        begun = time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, begun + number / rate - time.monotonic()))
            await tasks.defer(1)


async def work(url: str, *, replaced: bool) -> None:
    tasks = Tasks(url, replaced=replaced)
    async with tasks.app.open_async():
        print("ready", flush=True)
        # All workers begin together.
        await asyncio.to_thread(sys.stdin.readline)
        working = asyncio.create_task(
            tasks.app.run_worker_async(
                concurrency=CONCURRENCY,
                delete_jobs="always" if replaced else "never",
                install_signal_handlers=False,
            )
        )
        while await asyncio.to_thread(sys.stdin.readline):
            print(tasks.done, time.process_time(), flush=True)
        working.cancel()
        await asyncio.wait({working})


async def serve(url: str) -> None:
    from aiohttp import web
    from psycopg_pool import AsyncConnectionPool

    pool = AsyncConnectionPool(
        url, kwargs={"autocommit": True}, min_size=POOL, max_size=POOL, open=False
    )
    await pool.open()
    async with pool.connection() as connection:
        await connection.execute(TABLE)

    async def insert(request: web.Request) -> web.Response:
        body = await request.text()
        id = secrets.token_hex(8)
        async with pool.connection() as connection:
            await connection.execute("INSERT INTO bare (id, body) VALUES (%s, %s)", (id, body))
        return web.json_response({"result": id})

    app = web.Application()
    app.router.add_post("/insert", insert)
    await serve_bare(app)


def main() -> None:
    import uvloop

    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    role, url = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(url) if role == "server" else work(url, replaced=role == "worker"))
