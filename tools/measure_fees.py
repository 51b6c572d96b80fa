"""Write `scenarioctl/transactions/transfer/fees.json`: what each route takes out of the amount on
its way.

It checks a transfer over each route for //Alice on three connected chains, which changes nothing
there:

    .venv/bin/python -m tools.measure_fees ws://127.0.0.1:9944 ws://127.0.0.1:9945
    ws://127.0.0.1:9946

Run it against Polkadot's own chains if you can reach them.  On the chains of another relay, DOT is
scaled by `_PUBLISHED`, the one figure of Polkadot that is published.
"""

import asyncio
import json
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from scenarioctl.application import Application
from scenarioctl.chains.connection import NodeConnection
from scenarioctl.chains.registry import Registry
from scenarioctl.config import load_settings
from scenarioctl.errors import ScenarioctlError
from scenarioctl.operations.views import (
    CheckedTransaction,
    CheckTransaction,
    check_transaction,
)

FILE = Path(__file__).parents[1] / "scenarioctl" / "transactions" / "transfer" / "fees.json"
ALICE = "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"
BOB = "0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"
#: What Polkadot's Asset Hub takes for receiving a teleport and sending it on, in DOT's smallest
#: unit: the example of `getTransferInfo` in the documentation of ParaSpell's SDK, 0.3 DOT from
#: Polkadot to a parachain.
_PUBLISHED = 30_980_000
#: Route -> what the chain between and the last chain take, raw.
Fees = dict[str, dict[str, int]]
#: What fees.json has.
Document = dict[str, Any]
_TRUST_BACKED = "0/PalletInstance(50)/GeneralIndex(*"
#: Route (`Route.fees_as`) -> source, destination, asset on the source, raw amount.
ROUTES = {
    "relay>asset_hub 1/Here": ("relay", "hub", "native", 10**12),
    "asset_hub>relay 1/Here": ("hub", "relay", "native", 10**12),
    "asset_hub>hydration 1/Here": ("hub", "dex", "native", 10**12),
    f"asset_hub>hydration {_TRUST_BACKED}": ("hub", "dex", "1984", 10**8),
    "hydration>asset_hub 1/Here": ("dex", "hub", "5", 10**12),
    f"hydration>asset_hub {_TRUST_BACKED}": ("dex", "hub", "10", 10**8),
    "hydration>relay 1/Here": ("dex", "relay", "5", 10**12),
    "relay>hydration 1/Here": ("relay", "dex", "native", 10**12),
}
#: Routes of system parachains -> the measured one whose fees they have: what came from a system
#: parachain cost the same.
SAME_AS = {
    "relay>system 1/Here": "relay>asset_hub 1/Here",
    "asset_hub>system 1/Here": "relay>asset_hub 1/Here",
    "system>asset_hub 1/Here": "relay>asset_hub 1/Here",
    "system>system 1/Here": "relay>asset_hub 1/Here",
    "system>relay 1/Here": "asset_hub>relay 1/Here",
}


async def main() -> None:
    app = await _application(sys.argv[1:4])
    known = json.loads(FILE.read_text())
    measured: Fees = {}
    for route, (source, destination, asset, amount) in ROUTES.items():
        request = CheckTransaction(
            sender=ALICE,
            sourchain=source,
            destchain=destination,
            assetid=asset,
            amount=str(amount),
            destinationaddress=BOB,
        )
        try:
            answer = (await check_transaction(app, request)).answer
        except ScenarioctlError as error:
            print(f"{route}: {error}", file=sys.stderr)
            continue
        taken = _taken(answer, source, destination)
        if taken:
            measured[route] = taken
        else:
            print(f"{route}: {answer['verdict']}: {answer['reasons']}", file=sys.stderr)
    await app.close()
    FILE.write_text(
        json.dumps(merge(known, app.registry.find("relay").symbol, measured, _today()), indent=1)
        + "\n"
    )
    # The figures may be of several runs: where they are from is said by hand.
    print("say in `source` where the figures are from", file=sys.stderr)


def _today() -> date:
    return datetime.now(UTC).date()


def merge(known: Document, symbol: str, measured: Fees, day: date) -> Document:
    """Return the document with what was *measured* on this day under the relay chain of *symbol*,
    over what was *known*."""
    rows = {**known["raw"].get(symbol, {}), **measured}
    rows |= {route: rows[same] for route, same in SAME_AS.items() if same in rows}
    raw = {**known["raw"], symbol: rows}
    if symbol != "DOT":
        raw["DOT"] = _scaled(rows, known["raw"]["DOT"])
    return {"source": known["source"], "read": day.isoformat(), "raw": raw}


def _taken(answer: CheckedTransaction, source: str, destination: str) -> dict[str, int]:
    """Return what the hub between takes and what the last chain does; nothing if the check did not
    compute it."""
    steps = [step for step in answer["steps"] if step["what"] in ("execution", "delivery")]
    last = sum(int(step["value"]) for step in steps if step["chain"] == destination)
    between = sum(
        int(step["value"]) for step in steps if step["chain"] not in (source, destination)
    )
    return {"between": between, "last": last} if last else {}


def _scaled(rows: Fees, known: Fees) -> Fees:
    """Return *rows* for DOT; a token of the Asset Hub's counts the same under every relay chain."""
    ratio = _PUBLISHED / rows["relay>asset_hub 1/Here"]["last"]
    scaled = {}
    for route, row in rows.items():
        scaled[route] = row
        if route.endswith(" 1/Here"):
            scaled[route] = {part: round(value * ratio) for part, value in row.items()}
        if route.endswith(">hydration 1/Here"):
            # The exchange's fee follows the price of the asset there, and no chain's fees.
            scaled[route]["last"] = known[route]["last"]
    return scaled


async def _application(urls: list[str]) -> Application:
    config: dict[str, dict[str, Any]] = {
        "relay": {"role": "relay"},
        "hub": {"role": "asset_hub", "relay": "relay", "para_id": 1000},
        "dex": {"role": "dex", "relay": "relay", "para_id": 2034, "symbol": "HDX", "decimals": 12},
    }
    place = "PalletInstance(50)/GeneralIndex(1984)"
    for chain, url in zip(config.values(), urls, strict=True):
        plain = {"role": "parachain", "symbol": "UNIT", "decimals": 12, "endpoints": [url]}
        probe = await NodeConnection.open(Registry({"probe": plain}).find("probe"), url)
        genesis, properties = await probe.call_many(
            [("chain_getBlockHash", (0,)), ("system_properties", ())]
        )
        await probe.close()
        symbol, decimals = properties["tokenSymbol"], properties["tokenDecimals"]
        chain.setdefault("symbol", symbol[0] if isinstance(symbol, list) else symbol)
        chain.setdefault("decimals", decimals[0] if isinstance(decimals, list) else decimals)
        chain |= {"genesis": genesis, "endpoints": [url], "ss58_prefix": 0}
    relay = config["relay"]
    config["hub"]["assets"] = [{"id": 1984, "symbol": "USDT", "decimals": 6}]
    config["dex"]["assets"] = [
        {"id": 5, "symbol": relay["symbol"], "decimals": relay["decimals"], "location": "1/Here"},
        {"id": 10, "symbol": "USDT", "decimals": 6, "location": f"1/Parachain(1000)/{place}"},
    ]
    folder = Path(tempfile.mkdtemp())
    settings = load_settings({"store": str(folder / "s.db"), "cache": str(folder / "c")}, {})
    return Application(replace(settings, chains=config))


if __name__ == "__main__":
    asyncio.run(main())
