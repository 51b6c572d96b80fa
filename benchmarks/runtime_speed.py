"""What reading metadata, loading a table, encoding and decoding cost.

Each function measures one thing and returns it; `benchmarks/run.py` prints them beside their
bounds.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable, load_bundled

ROOT = Path(__file__).resolve().parent.parent
HYDRATION = ROOT / "tests" / "data" / "metadata" / "hydration-428.v16.scale"

BENEFICIARY = bytes.fromhex("8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48")

#: A simple call: `Balances.transfer_keep_alive` on Polkadot.
SIMPLE = Call(
    pallet="Balances",
    method="transfer_keep_alive",
    args={"dest": {"Id": BENEFICIARY}, "value": 12345678900},
)

_HERE = {"parents": 1, "interior": "Here"}
_ACCOUNT = {
    "parents": 0,
    "interior": {"X1": [{"AccountId32": {"network": None, "id": BENEFICIARY}}]},
}
_ASSET = {"id": _HERE, "fun": {"Fungible": 10000000000}}

#: XCM transfers from Asset Hub: DOT to the relay chain, DOT to Hydration.
TELEPORT = Call(
    pallet="PolkadotXcm",
    method="limited_teleport_assets",
    args={
        "dest": {"V5": _HERE},
        "beneficiary": {"V5": _ACCOUNT},
        "assets": {"V5": [_ASSET]},
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    },
)
TYPE_AND_THEN = Call(
    pallet="PolkadotXcm",
    method="transfer_assets_using_type_and_then",
    args={
        "dest": {"V5": {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}},
        "assets": {"V5": [_ASSET]},
        "assets_transfer_type": "LocalReserve",
        "remote_fees_id": {"V5": _HERE},
        "fees_transfer_type": "LocalReserve",
        "custom_xcm_on_dest": {
            "V5": [
                {"DepositAsset": {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": _ACCOUNT}}
            ]
        },
        "weight_limit": "Unlimited",
    },
)


def milliseconds(work: Callable[[], object], rounds: int = 9) -> float:
    """Return the median time of *work*."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return median(times) * 1000


def read_hydration_metadata() -> float:
    """Return the milliseconds that reading Hydration's V16 metadata takes."""
    data = HYDRATION.read_bytes()
    return milliseconds(lambda: read_metadata(data))


def load_and_encode(literal: str = "assetHub") -> float:
    """Return the milliseconds from a bundled table's file to a first XCM transfer, modules imported
    before."""
    path = ROOT / "scenarioctl" / "runtime" / "bundled" / f"{literal}.json"
    return milliseconds(lambda: RuntimeTable.load(path.read_bytes()).encode_call(TYPE_AND_THEN))


def calls_per_second(chain: str, call: Call, *, decode: bool = False, rounds: int = 2000) -> float:
    """Return how many times a second *call* is encoded (or decoded) by a table in use, as a median
    of nine runs."""
    table = load_bundled(chain)
    if table is None:
        raise LookupError(chain)
    data = table.encode_call(call)

    def work() -> None:
        for _ in range(rounds):
            if decode:
                table.decode_call(data)
            else:
                table.encode_call(call)

    return rounds / milliseconds(work) * 1000


def simple_calls_per_second() -> float:
    """Return how many balance transfers a second are encoded."""
    return calls_per_second("polkadot", SIMPLE)


def xcm_transfers_per_second() -> dict[str, float]:
    """Return how many XCM transfers a second are encoded, by method."""
    return {call.method: calls_per_second("assetHub", call) for call in (TELEPORT, TYPE_AND_THEN)}


def cold_process(code: str, rounds: int = 15) -> float:
    """Return the milliseconds that a new interpreter takes for *code*; without any, what it takes
    to start."""
    # An installed program has its modules compiled; a first run sees to that here.
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }

    def run() -> None:
        subprocess.run([sys.executable, "-c", code or "pass"], check=True, env=environment)

    run()
    return milliseconds(run, rounds)


#: A process that loads a bundled table and encodes one XCM transfer; the arguments come as they
#: stand here.
COLD_XCM = f"""
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import load_bundled
table = load_bundled("assetHub")
method, args = {TYPE_AND_THEN.method!r}, {TYPE_AND_THEN.args!r}
table.encode_call(Call(pallet="PolkadotXcm", method=method, args=args))
"""


def main() -> None:
    """Print every measure."""
    print(f"read Hydration V16       {read_hydration_metadata():8.1f} ms")
    print(f"load Asset Hub, encode   {load_and_encode():8.2f} ms")
    print(f"simple calls             {simple_calls_per_second():8.0f} /s")
    for method, rate in xcm_transfers_per_second().items():
        print(f"{method:<36} {rate:8.0f} /s")
    print(
        "decode type-and-then     "
        f"{calls_per_second('assetHub', TYPE_AND_THEN, decode=True):8.0f} /s"
    )
    bare = cold_process("")
    print(f"bare python              {bare:8.1f} ms")
    print(f"cold, one XCM call       {cold_process(COLD_XCM) - bare:8.1f} ms more")


if __name__ == "__main__":
    main()
