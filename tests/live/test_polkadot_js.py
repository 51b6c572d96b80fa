"""Queries and channels, held against what polkadot.js reads on the same node; it is installed from
npm."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.live.conftest import Live
from tests.signing import dev_key

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("live_only")]

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "benchmarks" / "polkadot_js" / "package.json"
ALICE, BOB = dev_key("//Alice").ss58_address, dev_key("//Bob").ss58_address
Both = Callable[..., list[tuple[Any, Any]]]


@pytest.fixture(scope="module")
def polkadot_js() -> Path:
    """Return the folder in which it is installed, below the user's cache."""
    if not shutil.which("npm"):
        pytest.skip("needs npm, to install @polkadot/api")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "scenarioctl-polkadot-js"
    if not (folder / "node_modules" / "@polkadot" / "api").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE, folder)
        line = "npm install --ignore-scripts --no-audit --no-fund --loglevel=error --prefix"
        subprocess.run([*line.split(), str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture
def both(polkadot_js: Path, scenarioctl: Run, live_config: Path) -> Both:
    """Return for each question what this program answers, and what polkadot.js does."""

    def ask(live: Live, *questions: tuple[str, ...]) -> list[tuple[Any, Any]]:
        node = [
            "node",
            str(HERE / "ask.mjs"),
            str(polkadot_js),
            live.endpoint,
            json.dumps(questions),
        ]
        theirs = json.loads(subprocess.run(node, check=True, capture_output=True, text=True).stdout)
        ours = []
        for kind, *words in questions:
            more = ("--limit", "10000") if kind == "entries" else ()
            ended = scenarioctl("--config", str(live_config), "query", live.name, *words, *more)
            assert (ended.err, ended.code) == ("", 0)
            ours.append(in_camel_case(read(ended.out.removesuffix("\n"))))
        return list(zip(ours, theirs, strict=True))

    return ask


def read(text: str) -> Any:
    return json.loads(text) if text[:1] in ("{", "[") or text in ("null", "true", "false") else text


def in_camel_case(value: Any) -> Any:
    """Return *value* with the names of fields as polkadot.js spells them."""
    if isinstance(value, dict):
        return {
            re.sub("_(.)", lambda found: found[1].upper(), key): in_camel_case(inner)
            for key, inner in value.items()
        }
    return [in_camel_case(inner) for inner in value] if isinstance(value, list) else value


def test_values_and_constants_are_what_polkadot_js_reads(
    relay: Live, asset_hub: Live, dex: Live, both: Both
) -> None:
    for live in (relay, asset_hub, dex):
        pairs = both(
            live,
            ("query", "system", "account", ALICE),
            ("query", "system", "account", "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM"),
            ("query", "system", "number"),
            ("query", "system", "lastRuntimeUpgrade"),
            ("query", "balances", "totalIssuance"),
            ("query", "transactionPayment", "nextFeeMultiplier"),
            ("const", "balances", "existentialDeposit"),
            ("const", "system", "dbWeight"),
            ("const", "system", "blockWeights"),
            ("call", "accountNonceApi", "accountNonce", ALICE),
        )

        assert [ours for ours, _ in pairs] == [theirs for _, theirs in pairs]


def test_maps_are_what_polkadot_js_reads(asset_hub: Live, dex: Live, both: Both) -> None:
    (holders,) = both(asset_hub, ("entries", "assets", "account", "1984"))
    (tokens,) = both(dex, ("entries", "tokens", "accounts", ALICE))
    (single,) = both(asset_hub, ("query", "assets", "account", "1984", ALICE))

    for ours, theirs in (holders, tokens):
        values = {row["key"][1]: row["value"] for row in ours}
        assert values == {key[1].replace(",", ""): value for key, value in theirs}
        assert values
    assert single[0] == single[1]


@pytest.mark.parametrize("paraid", ["1000", "2034", "4000"])
def test_channels_are_what_polkadot_js_reads(
    relay: Live, both: Both, scenarioctl: Run, live_config: Path, paraid: str
) -> None:
    ways = ("ingress", "egress")
    indexes = both(
        relay, *(("query", "hrmp", f"hrmp{way.title()}ChannelsIndex", paraid) for way in ways)
    )
    theirs = [[int(number) for number in index] for _, index in indexes]

    line = ("--config", str(live_config), "--json", "hrmp", "openchannels", relay.name, paraid)
    ours = [
        json.loads(scenarioctl(*line, *direction).out)["open_hrmp_channels"]
        for direction in (("--direction", "ingress"), ("--direction", "egress"), ())
    ]

    assert ours == [*theirs, sorted({*theirs[0], *theirs[1]})]
