"""What an account holds of an asset, and the least it can hold, as the chain says now."""

from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import read_location
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.dry_run import Unproven, ask
from scenarioctl.transactions.transfer import shape_location

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client

#: An asset's kind -> the pallet that keeps its accounts, on an Asset Hub.
_PALLETS = {"assets": "Assets", "foreign": "ForeignAssets"}


async def free_balance(client: "Client", asset: "Asset", account: bytes) -> int:
    """Return what *account* can spend of *asset*, raw; Unproven where the chain does not tell."""
    if asset.kind == "native":
        data = (await _read(client, "System", "Account", account))["data"]
        frozen = data.get("frozen", max(data.get("misc_frozen", 0), data.get("fee_frozen", 0)))
        # What is reserved counts towards what is frozen.
        return max(int(data["free"]) - max(int(frozen) - int(data["reserved"]), 0), 0)
    if asset.kind in _PALLETS:
        row = await _read(client, _PALLETS[asset.kind], "Account", await _asset_key(client, asset), account)
        return 0 if row is None or row.get("status", "Liquid") != "Liquid" else int(row["balance"])
    if asset.kind == "tokens":
        row = await _read(client, "Tokens", "Accounts", account, int(asset.id))
        return max(int(row["free"]) - int(row["frozen"]), 0)
    # Held by a contract: only the runtime can look into it.
    return int(await ask(client, "CurrenciesApi", "free_balance", int(asset.id), account))


async def existential_deposit(client: "Client", asset: "Asset") -> int:
    """Return the smallest balance of *asset* that an account can hold, raw; Unproven where the chain does not tell."""
    if asset.kind == "native":
        try:
            return int((await client.table()).constant("Balances", "ExistentialDeposit"))
        except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
            raise Unproven(f"{client.chain.name} did not tell its existential deposit: {error}") from None
    if asset.kind in _PALLETS:
        row = await _read(client, _PALLETS[asset.kind], "Asset", await _asset_key(client, asset))
        if row is None:
            raise Unproven(f"{client.chain.name} has no asset {asset.label}")
        return int(row["min_balance"])
    row = await _read(client, "AssetRegistry", "Assets", int(asset.id))
    if row is None:
        raise Unproven(f"{client.chain.name} has no asset {asset.label}")
    return int(row["existential_deposit"])


async def pays_fees_in(client: "Client", account: bytes) -> int | None:
    """Return the currency in which *account* chose to pay its fees, where the chain lets it choose; None: the native one."""
    try:
        (await client.table()).storage_entry("MultiTransactionPayment", "AccountCurrencyMap")
    except InvalidRequest:
        return None
    currency = await _read(client, "MultiTransactionPayment", "AccountCurrencyMap", account)
    return None if currency in (None, 0) else int(currency)


async def _read(client: "Client", pallet: str, entry: str, *keys: Any) -> Any:
    try:
        return await client.storage(pallet, entry, *keys)
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise Unproven(f"{client.chain.name} did not tell {pallet}.{entry}: {error}") from None


async def _asset_key(client: "Client", asset: "Asset") -> Any:
    if asset.kind == "assets":
        return int(asset.id)
    table = await client.table()
    entry = table.storage_entry("ForeignAssets", "Asset")
    version = 3 if "::v3::" in table.types[entry.key_types[0]][0] else 5
    return shape_location(read_location(asset.place), version)
