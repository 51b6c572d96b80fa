"""What the largest inputs of docs/security.md take of a daemon, and how long another client waits
meanwhile.

    .venv/bin/python -m benchmarks.costs [AT_ONCE [WORD]]

Each input is sent AT_ONCE times at the same time (8); with WORD only those whose name has it. Two
daemons run: one is sent the inputs, the other is idle. Both are asked for a scenario's summary all
the while, in turns, since a busy machine makes both wait. "The daemon's work" is the longest wait,
as far as the daemon used a processor meanwhile: the rest is the machine's. Memory is what the first
daemon grew by.
"""

import asyncio
import http.client
import json
import os
import sys
import tempfile
import threading
import time
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scenarioctl.model.calls import Call
from scenarioctl.model.jobs import FinishedRun, MempoolDraft, Retention
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.table import load_bundled
from scenarioctl.stores import open_store
from tests.daemons import PATIENCE, Daemon, daemon

#: Goals: seconds that another client waits more than beside an idle daemon while the daemon works,
#: and bytes.
WAIT, MEMORY = 0.25, 300 * 1024**2
MIB = 1024**2

WEBHOOK = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
_TICKS = os.sysconf("SC_CLK_TCK")

Attack = Callable[[Daemon], int]
FORM = {"action": "Remark", "actionData": {"source": {"chain": "polkadot", "target": "hello"}}}


def send(
    running: Daemon,
    path: str,
    body: bytes | object,
    *,
    headers: Mapping[str, str] | None = None,
    server: str = "scenario API",
    seconds: float = PATIENCE,
) -> tuple[int, Any]:
    """Return status and JSON of the answer to a POST of *body*: JSON as bytes, or what is written
    as such."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", running.port(server), timeout=seconds)
    try:
        try:
            connection.request(
                "POST", path, data, {"Content-Type": "application/json"} | dict(headers or {})
            )
        except (BrokenPipeError, ConnectionResetError):
            # Refused by its header; the answer is there already.
            pass
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def peak_memory(running: Daemon) -> int:
    """Return the most bytes that the daemon ever had in memory."""
    for line in Path(f"/proc/{running.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the daemon has gone")


def work_of(running: Daemon) -> float:
    """Return the seconds of processor time that all threads of the daemon have used."""
    fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def abi(types: list[Any], args: list[Any]) -> dict[str, Any]:
    message = {"label": "a", "selector": "0x00000000", "mutates": False, "args": args}
    return {
        "version": 5,
        "types": [{"id": number, "type": each} for number, each in enumerate(types)],
        "spec": {"messages": [message]},
    }


def keep_run(
    running: Daemon, id: str, *, lines: tuple[str, ...], drafts: tuple[MempoolDraft, ...]
) -> None:
    """Put the end of a run into the daemon's store, as another process does."""

    async def put() -> None:
        (path,) = running.home.rglob("*.db")
        store = open_store(path)
        ran = FinishedRun(
            job=id, epoch=None, planned=1, started=1, finished=1, lines=lines, drafts=drafts
        )
        assert await store.finish_run(ran, retention=Retention())
        await store.close()

    asyncio.run(put())


def keep_all(running: Daemon, size: int) -> str:
    """Give a job *size* thirtieths of the lines, drafts and events that are kept at most, and
    return its id."""
    flow = {
        "steps": [
            {"type": "webhook", "name": "hook", "uuid": WEBHOOK},
            {"type": "Remark", "chain": "polkadot", "text": "{{ a }}"},
        ]
    }
    status, created = send(running, "/api/create/flow", {"flow": flow, "syntax": "json"})
    assert status == 200, created
    id = created["result"]
    tx = "0x" + "ab" * (470 * size)
    draft = MempoolDraft(chain="polkadot", amount="0", tx_type="Remark", date=1, tx=tx)
    keep_run(running, id, lines=("é" * (24 * size),) * 10_000, drafts=(draft,) * 1_000)
    for _ in range(size):
        assert send(running, f"/webhook/{WEBHOOK}", b"[" + b"0," * 249_000 + b"0]")[0] == 200
    return str(id)


def share(document: object) -> str:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return b64encode(zlib.compress(text)).decode()


def post(path: str, body: object) -> Attack:
    data = json.dumps(body).encode()
    return lambda running: send(running, path, data, seconds=300)[0]


def stored(document: object, path: str, **fields: Any) -> Attack:
    """Return an attack on a diagram that is stored when it is first sent."""
    url = share(document)

    def attack(running: Daemon) -> int:
        id = send(running, "/saveUrl", {"url": url}, seconds=300)[1].get("shortUrl", "x")
        if "{}" in path:
            return running.ask(path.format(id))[0]
        return send(running, path, {"id": id, **fields}, seconds=300)[0]

    return attack


class Kept:
    """A request for all that is kept of a job or of a webhook, or one event more."""

    def __init__(self, path: str, event: bytes = b"") -> None:
        self._path = path
        self._event = event
        self._id = ""

    def prepare(self, running: Daemon) -> None:
        self._id = keep_all(running, 30)

    def __call__(self, running: Daemon) -> int:
        if self._event:
            return send(running, self._path.format(WEBHOOK), self._event, seconds=300)[0]
        if "{}" in self._path:
            return running.ask(self._path.format(WEBHOOK), as_json=False)[0]
        return running.ask(self._path, {"id": self._id}, server="job worker", as_json=False)[0]


def calls(count: int) -> str:
    table = load_bundled("polkadot")
    assert table is not None
    call = Call(
        pallet="Utility", method="batch", args={"calls": [{"System": {"remark": {"remark": b""}}}]}
    )
    one = table.encode_call(call)
    return "0x" + (one[:2] + encode_compact(count) + one[3:] * count).hex()


def attacks() -> dict[str, Attack]:
    nodes = [{"id": f"n{number}", "type": "action", "formData": FORM} for number in range(10_000)]
    chain = [{"source": f"n{number}", "target": f"n{number + 1}"} for number in range(9_999)]
    loops = {"nodes": nodes[:1], "edges": [{"source": "n0", "target": "n0"}] * 20_000}
    deep = b"[" * 90 + b"]" * 90
    lists = b'{"nodes":[],"edges":[],"x":[' + (deep + b",") * 2_700 + b"[]]}"
    blanks = b'{"url": "x"' + b" " * (32 * MIB - 12) + b"}"
    arguments = abi(
        [{"path": ["a" * 990], "def": {}}], [{"label": "b", "type": {"type": 0}}] * 4_000
    )
    preview = "/api/info/preview?scenario_id={}&format="
    return {
        "JSON of 250 000 values": post("/saveUrl", {"url": share(lists)}),
        "JSON of escapes, 16 MB": lambda running: send(
            running, "/saveUrl", b'{"url": "' + b"\\n" * 7_900_000 + b'"}', seconds=300
        )[0],
        "link of 24 MB of %41": post("/saveUrl", {"url": "x?diagramData=" + "%41" * 7_990_000}),
        "diagram of 10 000 nodes: show": stored(
            {"nodes": nodes, "edges": chain}, "/api/scenario/show"
        ),
        "20 000 edges of a node to itself: PNG": stored(loops, preview + "png&width=1200"),
        "1 000 cards: PNG": stored({"nodes": nodes[:990], "edges": chain[:989]}, preview + "png"),
        "1 000 cards: text": stored(
            {"nodes": nodes[:990], "edges": chain[:989]}, preview + "text&width=1000"
        ),
        "TOML of 1 MB, a number": post("/api/create/flow", {"flow": "x = " + "1" * 1_000_000}),
        "TOML of 9 999 steps": post(
            "/api/create/flow",
            {"flow": "[[steps]]\ntype='Remark'\nchain='polkadot'\ntext='hello'\n" * 9_999},
        ),
        "batch of 15 000 calls": post("/api/tx/decode", {"chain": "polkadot", "tx": calls(15_000)}),
        "transaction of 5 MB": post(
            "/api/tx/decode", {"chain": "polkadot", "tx": "0x" + "00" * (5 * MIB - 9)}
        ),
        "codes for Polkadot Vault": post("/web/vault", {"payload": "0x" + "00" * 20_000}),
        "body of 32 MiB of blanks": lambda running: send(running, "/saveUrl", blanks, seconds=300)[
            0
        ],
        "remark of 3 MiB": post(
            "/api/create/remark", {"chain": "polkadot", "text": "x" * (3 * MIB)}
        ),
        "contract of long arguments": post("/api/contracts/contract_info", {"abiJson": arguments}),
        "diagram of 250 000 values: export": stored(lists, "/getUrl/{}?as=json"),
        "event of 1 MiB": Kept("/webhook/{}", b"[" + b"0," * 249_000 + b" " * 500_000 + b"0]"),
        "all lines of a job, 14 MiB": Kept("/scenario/worker/logs"),
        "all drafts of a job, 28 MiB": Kept("/scenario/tx"),
        "all events of a webhook, 15 MiB": Kept("/api/webhooks/{}"),
    }


class Waits(threading.Thread):
    """Another client: asks both daemons in turns, and keeps the longest wait for each."""

    def __init__(self, daemons: tuple[Daemon, Daemon]) -> None:
        super().__init__(daemon=True)
        self._daemons = daemons
        self._ids = [
            send(each, "/api/create/remark", {"chain": "polkadot", "text": "x"})[1]["result"]
            for each in daemons
        ]
        self.longest = [0.0, 0.0]
        #: Of the first one, the longest wait as far as that daemon worked.
        self.worked = 0.0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            for number, each in enumerate(self._daemons):
                began, work = time.monotonic(), work_of(each)
                status, _ = send(each, "/api/scenario/info", {"id": self._ids[number]}, seconds=300)
                wait = time.monotonic() - began if status == 200 else float("inf")
                self.longest[number] = max(self.longest[number], wait)
                if not number:
                    self.worked = max(self.worked, min(wait, work_of(each) - work))


def measure(name: str, attack: Attack, at_once: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        daemon(Path(folder) / "pressed", "--offline") as pressed,
        daemon(Path(folder) / "idle", "--offline") as idle,
    ):
        if isinstance(attack, Kept):
            attack.prepare(pressed)
        waits = Waits((pressed, idle))
        before, worked = peak_memory(pressed), work_of(pressed)
        waits.start()
        with ThreadPoolExecutor(at_once) as pool:
            found = Counter(pool.map(lambda _: attack(pressed), range(at_once)))
        waits.over.set()
        waits.join()
        grown, more = peak_memory(pressed) - before, waits.longest[0] - waits.longest[1]
        answers = ", ".join(f"{count} x {status}" for status, count in sorted(found.items()))
        missed = " **" if min(more, waits.worked) > WAIT or grown > MEMORY else ""
        print(
            f"| {name} | {answers} | {work_of(pressed) - worked:.1f} | {grown // MIB} | "
            f"{waits.longest[0] * 1000:.0f} | {waits.longest[1] * 1000:.0f} | "
            f"{waits.worked * 1000:.0f} |{missed}",
            flush=True,
        )


def main() -> None:
    at_once = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    print(
        "| input | answers | CPU s | MiB more | other client ms | beside an idle daemon ms "
        "| the daemon's work ms |\n"
        "|---|---|---|---|---|---|---|"
    )
    for name, attack in attacks().items():
        if word in name:
            measure(name, attack, at_once)


if __name__ == "__main__":
    main()
