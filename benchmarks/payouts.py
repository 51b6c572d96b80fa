"""`python -m benchmarks.payouts`: a payout of 10 000 lines, created and drafted, in time and
memory.

The yardstick reads the same file and its addresses with the packages alone that the program uses
for that.
"""

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scenarioctl.chains.addresses import format_account

LINES = 10_000
#: Seconds and megabytes that a command may take.
GOALS = 10, 200
YARDSTICK = """
import csv, sys
from base58 import b58decode
from hashlib import blake2b
for row in csv.DictReader(open(sys.argv[1])):
    data = b58decode(row["account"])
    assert blake2b(b"SS58PRE" + data[:-2], digest_size=64).digest()[:2] == data[-2:]
"""


def make_table(count: int) -> str:
    """Return a table of payments to *count* accounts."""
    accounts = (hashlib.sha256(str(number).encode()).digest() for number in range(count))
    lines = (
        f"{format_account(account, 0)},{number % 90 + 1}.25,Salary {number}"
        for number, account in enumerate(accounts)
    )
    return "\n".join(("account,amount,memo", *lines)) + "\n"


def make_flow(table: str) -> str:
    """Return a flow file that pays all lines of *table* in one transaction."""
    header, *lines = table.splitlines()
    text = "\n".join((f"{header},asset", *(f"{line},DOT" for line in lines)))
    return f'[[steps]]\ntype = "payout"\nchain = "polkadot"\nlines = """\n{text}\n"""\n'


def run(line: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
    """Return seconds, megabytes and stdout of a process."""
    began = time.perf_counter()
    process = subprocess.Popen(
        line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, line
    return time.perf_counter() - began, usage.ru_maxrss / 1024, out


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    program = [str(Path(sys.executable).with_name("scenarioctl")), "--offline"]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "SCENARIOCTL_STORE": f"{home}/s.db"}
        table, flow = Path(home, "pay.csv"), Path(home, "flow.toml")
        table.write_text(make_table(LINES))
        flow.write_text(make_flow(table.read_text()))
        payout = [
            *program,
            "create",
            "payout",
            str(table),
            "--chain",
            "polkadot",
            "--asset",
            "DOT",
            "--memos",
        ]
        scenario = run(payout, environment)[2].strip()
        whole = run([*program, "create", str(flow)], environment)[2].strip()
        commands = {
            "the yardstick": [sys.executable, "-c", YARDSTICK, str(table)],
            "create payout FILE.csv --memos": payout,
            "scenario build ID --all, of 50 transactions": [
                *program,
                "scenario",
                "build",
                scenario,
                "--all",
            ],
            "scenario build ID, all lines in one transaction": [
                *program,
                "scenario",
                "build",
                whole,
            ],
            "job run ID, of 50 transactions": [*program, "job", "run", scenario],
            "scenario show ID --payments --csv": [
                *program,
                "scenario",
                "show",
                scenario,
                "--payments",
                "--csv",
            ],
        }
        taken = {
            name: [run(line, environment)[:2] for _ in range(rounds)]
            for name, line in commands.items()
        }
    unit = statistics.median(seconds for seconds, _ in taken["the yardstick"])
    for name, rows in taken.items():
        seconds, memory = (statistics.median(each) for each in zip(*rows, strict=True))
        met = "met" if seconds <= GOALS[0] and memory <= GOALS[1] else "MISSED"
        print(f"{name:50} {seconds:6.2f} s {seconds / unit:5.1f} × {memory:5.0f} MB  {met}")


if __name__ == "__main__":
    main()
