"""`make bench`: cold commands, metadata, encoding and the store, as medians and ratios.

Each figure stands beside a yardstick measured in the same run, since machines differ and ratios
less so.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.metadata_hash import has_digest, metadata_digest
from scenarioctl.runtime.table import RuntimeTable, load_bundled

ROOT = Path(__file__).resolve().parent.parent
METADATA = ROOT / "tests" / "data" / "metadata"
BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
ACCOUNT = bytes.fromhex("8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48")
#: Most that a whole process may take, in multiples of `python -c pass`.
GOALS = {"scenarioctl --help": 6, "--offline xcm asset-transfer": 10}
#: Most CPU that building a transfer offline may take, in multiples of what these imports take.
TRANSFERRED, IMPORTS, CPU_GOAL = "--offline xcm asset-transfer", "import asyncio, click", 1.3
#: Most that a TAB may take: 80 ms where `python -c pass` takes 12.9.
TAB_GOAL = 6.2
#: What is typed before it, and how many scenarios are stored.
TABS = (
    "cr",
    "info ",
    "info 0a",
    "create scenario --from as",
    "create scenario --from assetHub --asset US",
    "query polkadot Bal",
    "scenario full x --field ",
    "job start x --timezone Europe/B",
)
STORED = 100_000
TRANSFER = ["--from", "polkadot", "--to", "assetHub", "--assetid", "DOT", "--amount", "12345678900"]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    print("median of", rounds, "runs each, Python", sys.version.split()[0], flush=True)
    cold(rounds)
    tab(rounds)
    metadata(rounds)
    encoding()
    store()


def cold(rounds: int) -> None:
    """Time whole processes, from exec to exit, taken in turns so that a slow moment hits all of
    them."""
    program = str(Path(sys.executable).with_name("scenarioctl"))
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "SCENARIOCTL_STORE": f"{home}/s.db"}
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            IMPORTS: [sys.executable, "-c", "import asyncio, click"],
            "scenarioctl --help": [program, "--help"],
            "--offline xcm asset-transfer": [
                program, "--offline", "xcm", "asset-transfer", *TRANSFER, "--destinationaddress",
                    BOB,
            ],
            "--offline create swap": [
                program, "--offline", "create", "swap", "--assetin", "DOT", "--assetout", "HDX",
                "--amount", "2", "--min-amount-out", "900000000000000",
            ],
            "--offline tx payload --metadata-hash auto": [
                program, "--offline", "tx", "payload", "0x01001468656c6c6f", "--chain", "hydraDx",
                    "--sender", BOB,
                "--nonce", "0", "--metadata-hash", "auto",
            ],
        }  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in commands}
        used: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                before = cpu_of_children()
                times[name].append(seconds(partial(run, command, environment)))
                used[name].append(cpu_of_children() - before)
    yardstick = statistics.median(times["python -c pass"])
    for name, taken in times.items():
        report(f"cold: {name}", statistics.median(taken), yardstick, "python -c pass")
        if name in GOALS and statistics.median(taken) > GOALS[name] * yardstick:
            print(f"  missed its goal: {GOALS[name]} x", flush=True)
    transfer, imports = (statistics.median(used[name]) for name in (TRANSFERRED, IMPORTS))
    report(f"cold, CPU: {TRANSFERRED}", transfer, imports, IMPORTS)
    if transfer > CPU_GOAL * imports:
        print(f"  missed its goal: {CPU_GOAL} x", flush=True)
    full = seconds(lambda: run([sys.executable, "-m", "benchmarks.substrate"], dict(os.environ)))
    report(
        "cold: the same through SubstrateInterface",
        full,
        statistics.median(times["--offline xcm asset-transfer"]),
        "ours",
    )


def tab(rounds: int) -> None:
    """Time what a shell runs behind a TAB, beside 100 000 scenarios."""
    from benchmarks import store_latency
    from scenarioctl.stores import open_store

    program = str(Path(sys.executable).with_name("scenarioctl"))
    with tempfile.TemporaryDirectory() as home:
        store_latency.fill(open_store(Path(home) / "s.db"), 0, STORED)
        environment = {
            **os.environ,
            "HOME": home,
            "SCENARIOCTL_STORE": f"{home}/s.db",
            "_SCENARIOCTL_COMPLETE": "bash_complete",
        }
        commands = {"python -c pass": ([sys.executable, "-c", "pass"], environment)}
        for line in TABS:
            words = {"COMP_WORDS": f"scenarioctl {line}", "COMP_CWORD": str(line.count(" ") + 1)}
            commands[line] = ([program], {**environment, **words})
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(seconds(partial(run, *command)))
    yardstick = statistics.median(times["python -c pass"])
    for name, taken in times.items():
        report(f"TAB: {name}", statistics.median(taken), yardstick, "python -c pass")
        if statistics.median(taken) > TAB_GOAL * yardstick:
            print(f"  missed its goal: {TAB_GOAL} x", flush=True)


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{command} failed: {done.stderr}")


def metadata(rounds: int) -> None:
    """Time reading metadata into a table, beside Python's own reading of as much JSON."""
    import json

    for path in sorted(METADATA.glob("*.scale")):
        data = path.read_bytes()
        taken = statistics.median(seconds(partial(read_metadata, data)) for _ in range(rounds))
        text = json.dumps(list(data))
        yardstick = statistics.median(seconds(partial(json.loads, text)) for _ in range(rounds))
        report(
            f"read {path.name} ({len(data) // 1000} kB)",
            taken,
            yardstick,
            "json.loads of its bytes",
        )
        table = read_metadata(data)
        if has_digest(table):
            digest = statistics.median(
                seconds(partial(metadata_digest, table, ss58_prefix=0, decimals=12, symbol="HDX"))
                for _ in range(rounds)
            )
            report(f"digest of {path.name}", digest, taken, "reading it")


def encoding() -> None:
    """Time encoding calls with a warm table, beside Python's json.dumps of the same arguments."""
    import json

    table = load_bundled("polkadot")
    if table is None:
        sys.exit("the bundled table of polkadot is missing")
    simple = Call(
        pallet="Balances",
        method="transfer_keep_alive",
        args={"dest": {"Id": ACCOUNT}, "value": 12345678900},
    )
    here: object = "Here"
    location = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
    teleport = Call(
        pallet="XcmPallet",
        method="limited_teleport_assets",
        args={
            "dest": {"V5": location},
            "beneficiary": {
                "V5": {
                    "parents": 0,
                    "interior": {"X1": [{"AccountId32": {"network": None, "id": ACCOUNT}}]},
                }
            },
            "assets": {
                "V5": [{"id": {"parents": 0, "interior": here}, "fun": {"Fungible": 12345678900}}]
            },
            "fee_asset_item": 0,
            "weight_limit": "Unlimited",
        },
    )
    for name, call in (("simple call", simple), ("XCM transfer", teleport)):
        text = json.loads(json.dumps(call.args, default=bytes.hex))
        yardstick = each(lambda text=text: json.dumps(text))  # type: ignore[misc]
        rate(f"encode {name}", each(partial(table.encode_call, call)), yardstick)
        data = table.encode_call(call)
        rate(f"decode {name}", each(partial(table.decode_call, data)), yardstick)
    built(table)


def built(table: RuntimeTable) -> None:
    """Time a transfer from its inputs to the extrinsic's bytes: route, gate, XCM, encoding."""
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Registry
    from scenarioctl.transactions.extrinsic import bare_extrinsic
    from scenarioctl.transactions.transfer.build import build_transfer
    from scenarioctl.transactions.transfer.request import Transfer

    registry = Registry()
    assets = Assets(registry)
    source, destination = registry.find("polkadot"), registry.find("assetHub")
    transfer = Transfer(
        source=source,
        destination=destination,
        asset=assets.find(source, "DOT"),
        amount=12345678900,
        beneficiary=ACCOUNT,
    )
    there = load_bundled("assetHub")

    def build() -> bytes:
        draft = build_transfer(transfer, table, assets=assets, destination_table=there)
        return bare_extrinsic(table.encode_call(draft.call))

    rate("build and encode an XCM transfer", each(build), each(lambda: sum(range(1000))))


def store() -> None:
    """Time the store at growing sizes; put waits for the disk."""
    from benchmarks import store_latency

    store_latency.main()


def each(action: Callable[[], object]) -> float:
    """Return the seconds that one warm call of *action* takes, the best of five rounds."""
    action()
    count = 1000
    return min(seconds(lambda: [action() for _ in range(count)]) / count for _ in range(5))


def cpu_of_children() -> float:
    """Return the seconds of CPU that the processes which ended have used, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def report(name: str, taken: float, yardstick: float, of: str) -> None:
    print(f"{name:<62} {taken * 1000:9.2f} ms  {taken / yardstick:8.2f} x {of}", flush=True)


def rate(name: str, taken: float, yardstick: float) -> None:
    print(f"{name:<62} {1 / taken:9.0f} /s  {taken / yardstick:8.2f} x its yardstick", flush=True)


if __name__ == "__main__":
    main()
