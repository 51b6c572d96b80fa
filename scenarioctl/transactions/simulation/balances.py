"""What an account holds of an asset, and the least it can hold, as the chain says now."""

from typing import TYPE_CHECKING, Any

from scenarioctl.transactions.account_balances import account_entry, deposit_of, details_entry
from scenarioctl.transactions.native_balance import NATIVE_DEPOSIT, NativeBalance
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    query_runtime_api,
    read_constant,
    read_storage,
    read_table,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client

#: Kinds of assets that have accounts of their own, on an Asset Hub.
_OF_HUBS = ("assets", "foreign")


async def native_balance(client: "Client", account: bytes) -> NativeBalance:
    """Return what *account* holds of the native asset; Inconclusive if the chain does not tell."""
    row = await read_storage(client, "System", "Account", account)
    return NativeBalance.read(row, await _native_deposit(client))


async def free_balance(client: "Client", asset: "Asset", account: bytes) -> int:
    """Return what *account* can spend of *asset*, raw; Inconclusive where the chain does not tell."""
    if asset.kind == "native":
        return (await native_balance(client, account)).spendable(keep_alive=False)
    if asset.kind not in _OF_HUBS and not asset.id.isdigit():
        raise Inconclusive(f"the balance of {asset.label} on {client.chain.name} can't be read")
    if asset.kind == "erc20":
        # Held by a contract: only the runtime can look into it.
        return int(await query_runtime_api(client, "CurrenciesApi", "free_balance", int(asset.id), account))
    pallet, entry, keys = account_entry(await read_table(client), asset, account)
    row = await read_storage(client, pallet, entry, *keys)
    if asset.kind == "tokens":
        return max(int(row["free"]) - int(row["frozen"]), 0)
    return 0 if row is None or row.get("status", "Liquid") != "Liquid" else int(row["balance"])


async def existential_deposit(client: "Client", asset: "Asset") -> int:
    """Return the smallest balance of *asset* that an account can hold, raw; Inconclusive where the chain does not tell."""
    if asset.kind == "native":
        return await _native_deposit(client)
    if asset.kind not in _OF_HUBS and not asset.id.isdigit():
        raise Inconclusive(f"the existential deposit of {asset.label} on {client.chain.name} can't be read")
    row = await read_details(client, asset)
    if row is None:
        raise Inconclusive(f"{client.chain.name} has no asset {asset.label}")
    return deposit_of(row)


async def is_sufficient(client: "Client", asset: "Asset") -> bool:
    """Tell whether *asset* keeps an account on an Asset Hub alive by itself; Inconclusive where the chain does not tell."""
    row = await read_details(client, asset) if asset.kind in _OF_HUBS else None
    return row is not None and bool(row["is_sufficient"])


async def read_details(client: "Client", asset: "Asset") -> Any:
    """Return the row of *asset*, which isn't native; None if the chain has no such asset, Inconclusive if it doesn't tell."""
    pallet, entry, keys = details_entry(await read_table(client), asset)
    return await read_storage(client, pallet, entry, *keys)


async def _native_deposit(client: "Client") -> int:
    return int(await read_constant(client, *NATIVE_DEPOSIT))
