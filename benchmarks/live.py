"""`make bench-live`: what a connected command costs, beside the same through @polkadot/api on the
same node.

The environment names a relay chain and its Asset Hub: SCENARIOCTL_LIVE_RELAY,
SCENARIOCTL_LIVE_ASSET_HUB.
"""

import asyncio
import os
import resource
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.run import ACCOUNT, BOB, each, report, run, seconds
from scenarioctl.application import Application
from scenarioctl.chains.connection import NodeConnection
from scenarioctl.config import load_settings

RUNNER = asyncio.Runner()
HERE = Path(__file__).resolve().parent
ROUNDS = 25


def main() -> None:
    endpoint = os.environ.get("SCENARIOCTL_LIVE_RELAY")
    hub = os.environ.get("SCENARIOCTL_LIVE_ASSET_HUB")
    if not endpoint or not hub:
        sys.exit("SCENARIOCTL_LIVE_RELAY and SCENARIOCTL_LIVE_ASSET_HUB name no endpoints")
    with tempfile.TemporaryDirectory() as folder:
        config = configure(Path(folder), endpoint, hub)
        app = Application(load_settings({"config": str(config)}, {}))
        round_trip(app)
        warm(app)
        RUNNER.run(app.close())
        cold(Path(folder), config, endpoint)


def configure(folder: Path, relay: str, hub: str) -> Path:
    path = folder / "config.toml"
    path.write_text(
        f'store = "{folder}/s.db"\ncache = "{folder}/cache"\n'
        '[chains.liveRelay]\nrole = "relay"\nsymbol = "UNIT"\ndecimals = 12\nendpoints = '
        f'["{relay}"]\n'
        f'genesis = "{genesis_of(relay)}"\n'
        '[chains.liveHub]\nrole = "asset_hub"\nrelay = "liveRelay"\npara_id = '
        '1000\nsymbol = "UNIT"\ndecimals = 12\n'
        f'endpoints = ["{hub}"]\ngenesis = "{genesis_of(hub)}"\n'
    )
    return path


def genesis_of(endpoint: str) -> str:
    from scenarioctl.chains.registry import Chain

    chain = Chain(name="probe", title="", role="parachain", relay="", symbol="UNIT", decimals=12)
    connection = RUNNER.run(NodeConnection.open(chain, endpoint))
    try:
        return str(RUNNER.run(connection.call("chain_getBlockHash", 0)))
    finally:
        RUNNER.run(connection.close())


def round_trip(app: Application) -> None:
    client = app.client(app.registry.find("liveRelay"))
    RUNNER.run(client.table())
    taken = statistics.median(
        seconds(lambda: RUNNER.run(client.call("chain_getBlockHash", 0))) for _ in range(101)
    )
    print(f"{'one round trip to the node':<62} {taken * 1000:9.2f} ms", flush=True)


def warm(app: Application) -> None:
    """Time a transfer from its inputs to bytes in a process that is connected."""
    from scenarioctl.actions.drafting import draft_transfer
    from scenarioctl.transactions.transfer.request import Transfer

    source, destination = app.registry.find("liveRelay"), app.registry.find("liveHub")
    asset = app.assets.native(source)

    def build() -> object:
        return RUNNER.run(
            draft_transfer(
                app,
                Transfer(
                    source=source,
                    destination=destination,
                    asset=asset,
                    amount=12345678900,
                    beneficiary=ACCOUNT,
                ),
            )
        )

    print(
        f"{'warm: transfers built against the connected chain':<62} {1 / each(build):9.0f} /s",
        flush=True,
    )


def cold(folder: Path, config: Path, endpoint: str) -> None:
    program = str(Path(sys.executable).with_name("scenarioctl"))
    transfer = [
        "xcm", "asset-transfer", "--from", "liveRelay", "--to", "liveHub", "--assetid", "UNIT",
        "--amount", "12345678900", "--destinationaddress", BOB,
    ]  # fmt: skip
    live = [program, "--config", str(config), *transfer]
    offline = [program, "--config", str(config), "--offline", *transfer]
    environment = dict(os.environ)
    first = seconds(lambda: run(live, environment))
    ours, without = [], []
    used: dict[str, list[float]] = {"connected": [], "offline": []}
    for _ in range(ROUNDS):
        started = processor_time()
        ours.append(seconds(lambda: run(live, environment)))
        between = processor_time()
        without.append(seconds(lambda: run(offline, environment)))
        used["connected"].append(between - started)
        used["offline"].append(processor_time() - between)
    theirs = polkadot_js(folder, endpoint)
    report(
        "cold, connected, runtime in the cache",
        statistics.median(ours),
        statistics.median(without),
        "offline",
    )
    report("the same, the fastest of each", min(ours), min(without), "offline")
    report(
        "the same, time of the processor alone",
        min(used["connected"]),
        min(used["offline"]),
        "offline",
    )
    report(
        "cold, connected, runtime read from the node", first, statistics.median(without), "offline"
    )
    report("cold: @polkadot/api", theirs, statistics.median(ours), "ours")
    report("cold: @polkadot/api", theirs, first, "ours that reads the runtime too")


def processor_time() -> float:
    """Return the seconds of the processor that ended processes of ours have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def polkadot_js(folder: Path, endpoint: str) -> float:
    for name in ("package.json", "transfer.mjs"):
        shutil.copy(HERE / "polkadot_js" / name, folder)
    install = [
        "npm",
        "install",
        "--prefix",
        str(folder),
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]
    run(install, dict(os.environ))
    command = ["node", str(folder / "transfer.mjs"), endpoint]
    times = [seconds(lambda: run(command, dict(os.environ))) for _ in range(5)]
    return statistics.median(times)


if __name__ == "__main__":
    main()
