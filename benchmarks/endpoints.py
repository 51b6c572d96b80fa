"""What a second endpoint of each chain adds to the time of questions about money, with nodes that
are far away.

    .venv/bin/python -m benchmarks.endpoints [SECONDS]

The nodes are tests' own, on loopback. Each answers SECONDS (0.06) after it was asked.
"""

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomli_w
from aiohttp import WSMsgType, web

from scenarioctl.cli.main import main as scenarioctl
from tests.conftest import BOB
from tests.network import CHAINS, FakeNetwork
from tests.node import Node
from tests.pool import pool
from tests.test_check import ALICE, TRANSFER, fill

TO_BOB = ("--destinationaddress", BOB, "--sender", ALICE)
COMMANDS = {
    "`tx check` of a transfer between two chains": ("tx", "check", *TRANSFER, *TO_BOB),
    "`xcm asset-transfer --amount max`": ("xcm", "asset-transfer", *TRANSFER[:-1], "max", *TO_BOB),
    "`quote`": ("quote", "--assetin", "DOT", "--assetout", "HDX", "--amount", "2"),
    "`balance` of one chain": ("balance", ALICE, "polkadot"),
}


def delay(seconds: float) -> None:
    """Let every node answer so late, however many questions come together."""

    async def answer_later(socket: web.WebSocketResponse, text: str) -> None:
        await asyncio.sleep(seconds)
        await socket.send_str(text)

    async def talk(node: Node, _: web.Request, socket: web.WebSocketResponse) -> None:
        async with asyncio.TaskGroup() as answers:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    answer = json.dumps(node._answer(json.loads(message.data)))
                    answers.create_task(answer_later(socket, answer))

    Node.talk = talk  # type: ignore[method-assign, assignment]


def seconds_of(*words: str) -> float:
    sys.argv = ["scenarioctl", *words]
    out, began = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = 0
        try:
            scenarioctl()
        except SystemExit as ended:
            code = int(ended.code or 0)
    if code:
        raise RuntimeError(f"{' '.join(words)} ended with {code}")
    return time.monotonic() - began


def main() -> None:
    delay(float(sys.argv[1]) if len(sys.argv) > 1 else 0.06)
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        os.environ["HOME"] = home
        networks = []
        for number in range(2):
            folder = Path(home) / f"{number}"
            folder.mkdir()
            network = stack.enter_context(FakeNetwork(folder))
            fill(network)
            for chain in network.chains.values():
                chain.store("System", "Number", value=100)
            for place, value in pool().items():
                network.chains["hydraDx"].store(*place, value=value)
            networks.append(network)
        print("| command | one endpoint, s | two, s | ratio |\n|---|---|---|---|")
        for name, words in COMMANDS.items():
            one, two = (measure(Path(home), networks[:count], words) for count in (1, 2))
            print(f"| {name} | {one:.2f} | {two:.2f} | {two / one:.2f} |", flush=True)


def measure(home: Path, networks: list[FakeNetwork], words: tuple[str, ...]) -> float:
    """Return the shortest of three times, with an endpoint of each chain in each of *networks*."""
    config = home / "config.toml"
    chains: dict[str, Any] = {
        name: {"endpoints": [network.chains[name].node.url for network in networks]}
        for name in CHAINS
    }
    config.write_text(
        tomli_w.dumps({"cache": f"{home}/cache", "store": f"{home}/scenarios.db", "chains": chains})
    )
    return min(seconds_of("--config", str(config), *words) for _ in range(3))


if __name__ == "__main__":
    main()
