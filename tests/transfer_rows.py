"""Every transfer between the built-in chains: which are built, and a digest of their calls.

    .venv/bin/python -m tests.transfer_rows

writes `tests/data/vectors/transfers.json` anew.  Its first rows were made by the builder that chose
routes by the roles of chains, before it chose them by reserves.  A row that changes sends
somebody's tokens in another way: change none without new proof.
"""

import json
from hashlib import sha256
from pathlib import Path

from scenarioctl.chains.assets import Asset, Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.request import Transfer

PATH = Path(__file__).parent / "data" / "vectors" / "transfers.json"
#: By relay chain, runtimes for chains that have none in the bundle: what is encoded there has the
#: same form.
_STAND_INS = {"polkadot": "assetHub", "kusama": "assetHub_kusama", "paseo": "polkadot"}
_RECEIVER = bytes(range(32))

#: `assetHub>hydraDx` -> asset id -> digest.
Rows = dict[str, dict[str, str]]


def transfer_rows() -> Rows:
    """Return the digest of each transfer that is built; one that is missing is refused."""
    registry = Registry()
    assets = Assets(registry)
    rows: Rows = {}
    for source in registry.all():
        held = list(assets.all(source))
        if source.role == "asset_hub":
            held.append(assets.find(source, 4294967294))
        for destination in registry.all():
            for asset in held:
                digest = _digest(source, destination, asset, assets)
                if digest:
                    rows.setdefault(f"{source.name}>{destination.name}", {})[asset.id] = digest
    return rows


def _digest(source: Chain, destination: Chain, asset: Asset, assets: Assets) -> str:
    digest = sha256()
    versions = (None,) if source is destination else (None, 3, 4, 5)
    try:
        for version in versions:
            for fee in (None, 10**9):
                transfer = Transfer(
                    source=source,
                    destination=destination,
                    asset=asset,
                    amount=12 * 10**20 + 7,
                    beneficiary=_RECEIVER[: destination.account_format.length],
                    xcm_version=version,
                )
                draft = build_transfer(
                    transfer,
                    _table(source),
                    assets=assets,
                    destination_table=_table(destination),
                    last_hop_fee=fee,
                )
                digest.update(_table(source).encode_call(draft.call))
    except InvalidRequest:
        return ""
    return digest.hexdigest()[:12]


def _table(chain: Chain) -> RuntimeTable:
    table = load_bundled(chain.name) or load_bundled(_STAND_INS[chain.relay])
    assert table is not None
    return table


if __name__ == "__main__":
    PATH.write_text(json.dumps(transfer_rows(), indent=1) + "\n")
