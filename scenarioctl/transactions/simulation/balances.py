"""What an account holds of an asset, and the least it can hold, as the chain says now."""

from typing import TYPE_CHECKING, Any

from scenarioctl.transactions.account_balances import asset_key
from scenarioctl.transactions.native_balance import NativeBalance
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    query_runtime_api,
    read_constant,
    read_storage,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client

#: An asset's kind -> the pallet that keeps its accounts, on an Asset Hub.
_PALLETS = {"assets": "Assets", "foreign": "ForeignAssets"}


async def native_balance(client: "Client", account: bytes) -> NativeBalance:
    """Return what *account* holds of the native asset; Inconclusive if the chain does not tell."""
    row = await read_storage(client, "System", "Account", account)
    return NativeBalance.read(row, await _native_deposit(client))


async def free_balance(client: "Client", asset: "Asset", account: bytes) -> int:
    """Return what *account* can spend of *asset*, raw; Inconclusive where the chain does not tell."""
    if asset.kind == "native":
        return (await native_balance(client, account)).spendable(keep_alive=False)
    if asset.kind in _PALLETS:
        row = await read_storage(
            client, _PALLETS[asset.kind], "Account", asset_key(await client.table(), asset), account
        )
        return 0 if row is None or row.get("status", "Liquid") != "Liquid" else int(row["balance"])
    if not asset.id.isdigit():
        raise Inconclusive(f"the balance of {asset.label} on {client.chain.name} can't be read")
    if asset.kind == "tokens":
        row = await read_storage(client, "Tokens", "Accounts", account, int(asset.id))
        return max(int(row["free"]) - int(row["frozen"]), 0)
    # Held by a contract: only the runtime can look into it.
    return int(await query_runtime_api(client, "CurrenciesApi", "free_balance", int(asset.id), account))


async def existential_deposit(client: "Client", asset: "Asset") -> int:
    """Return the smallest balance of *asset* that an account can hold, raw; Inconclusive where the chain does not tell."""
    if asset.kind == "native":
        return await _native_deposit(client)
    if asset.kind in _PALLETS:
        row = await _details(client, asset)
    elif asset.id.isdigit():
        row = await read_storage(client, "AssetRegistry", "Assets", int(asset.id))
    else:
        raise Inconclusive(f"the existential deposit of {asset.label} on {client.chain.name} can't be read")
    if row is None:
        raise Inconclusive(f"{client.chain.name} has no asset {asset.label}")
    return int(row["min_balance" if asset.kind in _PALLETS else "existential_deposit"])


async def is_sufficient(client: "Client", asset: "Asset") -> bool:
    """Tell whether *asset* keeps an account on an Asset Hub alive by itself; Inconclusive where the chain does not tell."""
    row = await _details(client, asset) if asset.kind in _PALLETS else None
    return row is not None and bool(row["is_sufficient"])


async def _details(client: "Client", asset: "Asset") -> Any:
    key = asset_key(await client.table(), asset)
    return await read_storage(client, _PALLETS[asset.kind], "Asset", key)


async def _native_deposit(client: "Client") -> int:
    return int(await read_constant(client, "Balances", "ExistentialDeposit"))
