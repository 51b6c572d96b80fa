"""Records the live tests anew, each module on chains that were just started.

The environment names the command that starts them, see CONTRIBUTING.md.  Pass the names of modules
to record only those:

    SCENARIOCTL_RIG="path/to/rig" python -m tests.live.record test_check test_costs
"""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from tests.live.conftest import CONVERSATIONS
from tests.live.recorded_metadata import FOLDER

#: Module -> the chains that it needs; XCM where none are named.
CHAINS = {
    "test_balances": ("xcm", "omnipool"),
    "test_between_parachains": ("parachains",),
    "test_beyond_bridge": ("system", "beyond"),
    "test_bridges": ("system",),
    "test_contracts": ("xcm", "pop"),
    "test_crafted_swaps": ("omnipool",),
    "test_crafted_system": ("system",),
    "test_costs": ("xcm", "omnipool"),
    "test_mythos": ("mythos",),
    "test_parachains": ("parachains",),
    "test_pool_trades": ("xcm", "omnipool"),
    "test_pools": ("omnipool",),
    "test_query": ("xcm", "pop"),
    "test_quotes": ("omnipool",),
    "test_swap_checks": ("omnipool",),
    "test_swap_then_send": ("omnipool",),
    "test_system_chains": ("system",),
    "test_terms": ("omnipool",),
}
#: They need live chains.
NOT_REPLAYED = ("test_examples", "test_page", "test_polkadot_js", "test_served", "test_upgrade")
ROOT = Path(__file__).resolve().parents[2]


def main(names: list[str]) -> int:
    """Record the named modules, or all, and return 1 if one of them failed."""
    rig = os.environ.get("SCENARIOCTL_RIG")
    if not rig:
        sys.exit(
            "SCENARIOCTL_RIG is not set. Set it to the command that starts the chains, see "
            "CONTRIBUTING.md"
        )
    paths = sorted(ROOT.glob("tests/live/test_*.py"))
    modules = names or [path.stem for path in paths if path.stem not in NOT_REPLAYED]
    failed = [module for module in modules if not _record(module, shlex.split(rig))]
    _remove_unused_metadata()
    if failed:
        print("not recorded: " + ", ".join(failed))
    return 1 if failed else 0


def _record(module: str, rig: list[str]) -> bool:
    began = time.monotonic()
    named = subprocess.run(
        [*rig, *CHAINS.get(module, ("xcm",))], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    endpoints = dict(line.split("=", 1) for line in named.split())
    started = time.monotonic()
    path = CONVERSATIONS / f"{module}.json"
    before = path.stat().st_mtime_ns if path.exists() else 0
    try:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-o",
                "faulthandler_timeout=0",
                "-m",
                "live",
                "--tb=short",
                f"tests/live/{module}.py",
            ],
            cwd=ROOT,
            env={**os.environ, **endpoints, "SCENARIOCTL_RECORD": "1"},
        )
    finally:
        subprocess.run([*rig, "stop"], check=True)
    recorded = path.exists() and path.stat().st_mtime_ns != before
    size = path.stat().st_size // 1000 if path.exists() else 0
    print(
        f"{module}: {'recorded' if recorded else 'NOT recorded'}, {size} kB, chains in"
        f" {started - began:.0f} s, tests in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return recorded


def _remove_unused_metadata() -> None:
    used = {
        name
        for path in CONVERSATIONS.glob("*.json")
        for names in json.loads(path.read_text()).get("metadata", {}).values()
        for name in names
    }
    for path in FOLDER.glob("*.xz"):
        if path.name not in used:
            path.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
