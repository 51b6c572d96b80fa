"""The yardsticks of the PostgreSQL benchmarks, each a process of its own: what the libraries do without scenarioctl.

`worker URL` runs tasks of procrastinate, which do nothing, until none is left, and prints when it began and
ended, and its CPU time.
`server URL` inserts a row for each POST, and prints its port.
"""

import asyncio
import logging
import secrets
import sys
import time

from procrastinate import App, PsycopgConnector
from procrastinate.types import JSONDict

from benchmarks.http import serve_bare

#: Tasks at once; procrastinate's own default is one.
CONCURRENCY = 20
#: Connections of the server's pool, as many as a daemon has.
POOL = 10
#: How Python starts one; procrastinate warns of tasks in a main module.
PROGRAM = "from benchmarks.postgres_bare import main; main()"
TABLE = "CREATE TABLE bare (id text PRIMARY KEY, body text NOT NULL)"


def make_app(url: str) -> App:
    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="nothing", queue="bare")
    async def nothing(id: str) -> None:
        """Do nothing."""

    return app


async def defer(url: str, count: int) -> None:
    """Create the tables of procrastinate, and defer *count* tasks."""
    app = make_app(url)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, count, 1000):
            tasks: list[JSONDict] = [
                {"id": f"job-{number}"} for number in range(first, min(first + 1000, count))
            ]
            await app.tasks["nothing"].batch_defer_async(*tasks)


async def work(url: str) -> None:
    app = make_app(url)
    async with app.open_async():
        print("ready", flush=True)
        # All workers begin together.
        sys.stdin.readline()
        begun, used = time.time(), time.process_time()
        await app.run_worker_async(
            wait=False, concurrency=CONCURRENCY, delete_jobs="always", install_signal_handlers=False
        )
        print(begun, time.time(), time.process_time() - used, flush=True)
        # The server's processes go with our connections, and their CPU times with them.
        sys.stdin.readline()


async def serve(url: str) -> None:
    from aiohttp import web
    from psycopg_pool import AsyncConnectionPool

    pool = AsyncConnectionPool(url, kwargs={"autocommit": True}, min_size=POOL, max_size=POOL, open=False)
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
        runner.run(work(url) if role == "worker" else serve(url))
