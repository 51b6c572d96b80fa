"""What a node tells of its chain: the table to write for it into config.toml."""

from collections.abc import Sequence
from typing import Any

from scenarioctl.chains.client import Client
from scenarioctl.chains.registry import LOWEST_PUBLIC_PARA_ID
from scenarioctl.errors import ChainRefused
from scenarioctl.runtime.table import RuntimeTable

#: What the runtimes of Asset Hubs call themselves; newer ones begin with `asset-hub-`.
_ASSET_HUBS = ("statemint", "statemine", "westmint")


async def describe_chain(client: Client, endpoints: Sequence[str]) -> dict[str, Any]:
    """Return the keys of a `[chains.NAME]` table for the chain of *client*; what its node doesn't
    tell is absent."""
    runtime = await client.table()
    properties = await _ask(client, "system_properties")
    properties = properties if isinstance(properties, dict) else {}
    para_id = None
    if "ParachainInfo" in runtime.pallets:
        para_id = await client.storage("ParachainInfo", "ParachainId")
    told = {
        "title": await _ask(client, "system_chain"),
        "role": _role_of(runtime, para_id),
        "para_id": para_id,
        "genesis": await client.call("chain_getBlockHash", 0),
        "spec_name": runtime.spec_name,
        "ss58_prefix": runtime.constant("System", "SS58Prefix"),
        "account_bytes": 20 if properties.get("isEthereum") is True else None,
        "symbol": _first(properties.get("tokenSymbol")),
        "decimals": _first(properties.get("tokenDecimals")),
        "endpoints": list(endpoints),
    }
    return {key: value for key, value in told.items() if value is not None}


def _role_of(runtime: RuntimeTable, para_id: int | None) -> str:
    if "Paras" in runtime.pallets:
        return "relay"
    if runtime.spec_name in _ASSET_HUBS or runtime.spec_name.startswith("asset-hub-"):
        return "asset_hub"
    return "system" if para_id is not None and para_id < LOWEST_PUBLIC_PARA_ID else "parachain"


async def _ask(client: Client, method: str) -> Any:
    """Return what the node answers; None if it doesn't let the public ask."""
    try:
        return await client.call(method)
    except ChainRefused:
        return None


def _first(value: Any) -> Any:
    """Return the native asset's value: a chain with several assets names it first."""
    return (value[0] if value else None) if isinstance(value, list) else value
