"""The node of npm packages (`tools/registry_node/run`) as a chain on which tests move tokens."""

import json
import os
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import websocket

from tests.signing import dev_key

ENDPOINT = os.environ.get("SCENARIOCTL_REGISTRY_NODE", "")
NAME = "rococoHub"
#: Chopsticks says so of every chain that starts from a raw genesis.
GENESIS = "0x" + "45" * 32
#: One token, raw.
ROC = 10**12
#: What config.toml says of the chain, without its genesis hash.
TABLE: dict[str, Any] = {
    "role": "asset_hub",
    "relay": "kusama",
    "para_id": 1000,
    "symbol": "ROC",
    "decimals": 12,
    "ss58_prefix": 42,
    "endpoints": [ENDPOINT],
}
needs_node = pytest.mark.skipif(
    not ENDPOINT, reason="SCENARIOCTL_REGISTRY_NODE names no endpoint, see tools/registry_node/run"
)
_numbers = count()


def write_config(folder: Path) -> Path:
    config = folder / "config.toml"
    chains = {NAME: {**TABLE, "genesis": GENESIS}}
    config.write_text(tomli_w.dumps({"cache": str(folder / "cache"), "chains": chains}))
    return config


def ask(method: str, *params: Any) -> Any:
    """Return what the node answers."""
    socket = websocket.create_connection(ENDPOINT, timeout=60)
    try:
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        answer = json.loads(socket.recv())
    finally:
        socket.close()
    assert "error" not in answer, answer
    return answer["result"]


def fund(*addresses: str, amount: int = 1000 * ROC) -> None:
    """Give accounts, which have sent nothing yet, this many tokens."""
    # As text: JavaScript reads no larger number exactly.
    state = {"nonce": 0, "providers": 1, "data": {"free": str(amount)}}
    ask("dev_setStorage", {"System": {"Account": [[[address], state] for address in addresses]}})


def read_account(account: bytes) -> tuple[int, int]:
    """Return how many transactions an account has sent, and its free tokens, raw."""
    prefix = "0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9"
    value = ask(
        "state_getStorage", prefix + blake2b(account, digest_size=16).hexdigest() + account.hex()
    )
    data = bytes.fromhex((value or "0x" + "00" * 32)[2:])
    # AccountInfo: four u32 (the nonce is the first), then the free balance, a u128.
    return int.from_bytes(data[:4], "little"), int.from_bytes(data[16:32], "little")


def new_uri(kind: str = "test") -> str:
    """Return the URI of a key that no other test has."""
    return f"//{kind}//{os.getpid()}//{next(_numbers)}"


def funded_uri(amount: int = 1000 * ROC) -> str:
    """Return the URI of a new key whose account has tokens."""
    uri = new_uri()
    fund(dev_key(uri).ss58_address, amount=amount)
    return uri
