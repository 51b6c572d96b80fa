"""schemathesis against our own OpenAPI: whatever it makes up, no answer is a bug, and none is
undescribed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.server.endpoints import ENDPOINTS
from scenarioctl.server.openapi import describe
from tests.conftest import BOB, DATA
from tests.serving import Serving

pytestmark = pytest.mark.acceptance

#: 502 to 504 are answers as good as others: the chains are not there.  What is of the right type
#: may still be refused.
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "502", "503", "504"]

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "404", "409", "413", "422", "429", "502", "503", "504"]
"""
UUID = "6f1c1c5e-3c4b-4b0e-9b7a-2d1f0a9e8c7d"
CHAINS = ["polkadot", "assetHub", "hydraDx", "kusama", "paseo"]
_CHAIN_FIELDS = (
    "chain",
    "source_chain",
    "dest_chain",
    "sourchain",
    "destchain",
    "deschain",
    "relay",
)
_ACCOUNT_FIELDS = ("destination_address", "destinationaddress", "sender", "address")
#: Values that get further than made up ones, by field.
GOOD: dict[str, list[Any]] = {
    **dict.fromkeys(_CHAIN_FIELDS, CHAINS),
    **{name: [BOB, "0x" + "12" * 32] for name in _ACCOUNT_FIELDS},
    **{name: [0, "DOT", 5, 10, "1984", 1984] for name in ("assetid", "assetin", "assetout")},
    "amount": [1, "1.5", 10**12],
    "min_amount_out": ["4000000"],
    "tx": ["0x240400071468656c6c6f", "0x00071468656c6c6f"],
    "uuid": [UUID],
    "nonce": [0, "7"],
    "era": ["immortal", 64, "0x00"],
    "every": ["1h", 90, "1h30m"],
    "cron": ["*/5 * * * *"],
    "timezone": ["Europe/Berlin"],
    "overlap": ["skip", "queue"],
    "limit": [1, "5"],
    "pallet_name": ["System", "Balances"],
    "method_name": ["Account", "ExistentialDeposit"],
    "block": [5, "0x" + "ab" * 32],
    "format": ["png", "svg", "text"],
    "syntax": ["json", "toml"],
}


def with_good_values(value: Any, good: dict[str, list[Any]]) -> Any:
    """Return a description in which fields also offer values that get further."""
    if isinstance(value, list):
        return [with_good_values(each, good) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: with_good_values(each, good) for name, each in value.items()}
    for name, schema in changed.get("properties", {}).items():
        if name in good and isinstance(schema, dict) and "const" not in schema:
            changed["properties"][name] = {"anyOf": [{"enum": good[name]}, schema]}
    if changed.get("in") in ("query", "path") and changed.get("name") in good:
        texts = [str(each) for each in good[changed["name"]]]
        changed["schema"] = {"anyOf": [{"enum": texts}, changed["schema"]]}
    return changed


def let_loose(folder: Path, *amount: str, phases: str) -> None:
    """Let schemathesis press both servers' endpoints by an *amount* of its options; it may find
    nothing."""
    with Serving(folder, log_lines=100, mempool_entries=100) as serving:
        stored = [
            serving.post(path, fields).json()
            for path, fields in (
                ("/api/create/remark", {"chain": "polkadot", "text": "hello"}),
                ("/saveUrl", {"url": (DATA / "diagrams" / "transfer.json").read_text()}),
                ("/saveUrl", {"url": (DATA / "diagrams" / "webhook_query.json").read_text()}),
            )
        ]
        ids = [str(each.get("result") or each["shortUrl"]) for each in stored]
        # A run of that one waits for its webhook.
        good = {**GOOD, **dict.fromkeys(("id", "scenario"), ids[:2]), "scenario_id": ids}
        description = describe(ENDPOINTS)
        # A stream does not end; it has tests of its own.
        del description["paths"]["/job/events"]
        paths = {
            path: with_good_values(methods, good) for path, methods in description["paths"].items()
        }
        (folder / "openapi.json").write_text(json.dumps({**description, "paths": paths}))
        (folder / "schemathesis.toml").write_text(CONFIG)
        ended = subprocess.run(
            [
                *(
                    str(Path(sys.executable).with_name("schemathesis")),
                    "--config-file",
                    "schemathesis.toml",
                ),
                *(
                    "run",
                    "openapi.json",
                    "--url",
                    f"http://127.0.0.1:{serving.api}",
                    "--checks",
                    "all",
                ),
                # One worker: with more, Python 3.11 loses count while it reads source (CPython
                # issue 106905).
                *(*amount, "--request-timeout", "90", "--workers", "1"),
                *("--phases", phases, "--no-color", "--warnings", "off"),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        alive = serving.get("/healthz").status

    assert (ended.returncode, alive) == (0, 200), ended.stdout[-6000:] + ended.stderr[-2000:]


def test_it_finds_nothing_with_the_same_requests_each_time(tmp_path: Path) -> None:
    let_loose(
        tmp_path, "--generation-deterministic", "--max-examples", "10", phases="coverage,fuzzing"
    )


@pytest.mark.soak
def test_it_finds_nothing_in_ten_minutes(tmp_path: Path) -> None:
    let_loose(tmp_path, "--max-time", "600", phases="examples,coverage,fuzzing,stateful")
