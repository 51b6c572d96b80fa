"""Contracts that are deployed on real runtimes are found where they live, in pallet-contracts and
in pallet-revive."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.model.calls import Call
from scenarioctl.transactions.blocks import Event
from tests.conftest import DATA, Run
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.setup import send
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
#: Modules that export `deploy` and `call`, which do nothing: of WebAssembly, importing its memory
#: as the pallet wants it,
WASM = (
    b"\0asm\x01\0\0\0"
    b"\x01\x04\x01\x60\0\0"
    b"\x02\x10\x01\x03env\x06memory\x02\x01\x01\x10"
    b"\x03\x03\x02\0\0"
    b"\x07\x11\x02\x04call\0\0\x06deploy\0\x01"
    b"\x0a\x07\x02\x02\0\x0b\x02\0\x0b"
)
#: and of PolkaVM: two exports at offset 0, and one instruction, which returns.
POLKAVM = (
    b"PVM\0\0" + (39).to_bytes(8, "little") + b"\x05\x0f\x02\0\x04call\0\x06deploy"
    b"\x06\x06\0\0\x02\x32\0\x01"
    b"\0"
)  # fmt: skip
LIMIT = {"ref_time": 10**11, "proof_size": 10**6}


def deploy(app: Application, live: Live, pallet: str, **arguments: Any) -> list[Event]:
    args = {"value": 0, "gas_limit": LIMIT, "data": b"", **arguments}
    call = Call(pallet=pallet, method="instantiate_with_code", args=args)
    return send(app, app.registry.find(live.name), call, ALICE)


def onchain(scenarioctl: Run, config: Path, live: Live, abi: str, address: str) -> Any:
    """Return what `contract info` says of the address."""
    line = (
        "--config",
        str(config),
        "--json",
        "contract",
        "info",
        "--abi",
        str(DATA / "contracts" / abi),
    )
    ended = scenarioctl(*line, address, "--chain", live.name)
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)["onchain"]


def test_a_contract_of_pallet_contracts_is_found_once_it_is_deployed(
    contracts: Live, scenarioctl: Run, live_config: Path, live_app: Application
) -> None:
    events = deploy(
        live_app, contracts, "Contracts", storage_deposit_limit=None, code=WASM, salt=fresh(8)
    )

    address = next(event.fields["contract"] for event in events if event.name == "Instantiated")

    def found(account: bytes) -> Any:
        return onchain(
            scenarioctl, live_config, contracts, "token-v4.json", format_account(account, 42)
        )

    assert (found(address), found(ALICE.public_key), found(fresh(32))) == (True, False, False)


def test_a_contract_of_pallet_revive_is_found_once_it_is_deployed(
    asset_hub: Live, scenarioctl: Run, live_config: Path, live_app: Application
) -> None:
    chain = live_app.registry.find(asset_hub.name)
    client = live_app.client(chain)
    own = finish(client.runtime_call("ReviveApi", "address", ALICE.public_key))
    if finish(client.storage("Revive", "OriginalAccount", own)) is None:
        send(live_app, chain, Call(pallet="Revive", method="map_account", args={}), ALICE)
    events = deploy(
        live_app, asset_hub, "Revive", storage_deposit_limit=10**13, code=POLKAVM, salt=fresh(32)
    )

    address = next(event.fields["contract"] for event in events if event.name == "Instantiated")

    def found(where: bytes) -> Any:
        return onchain(scenarioctl, live_config, asset_hub, "vault-v6.json", "0x" + where.hex())

    assert (found(address), found(own), found(fresh(20))) == (True, False, False)
