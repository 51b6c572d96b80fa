"""What an account holds of an asset, and the least it can hold, as the chain says now."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.simulation.runtime_api import Inconclusive, query_runtime_api, read_storage
from scenarioctl.transactions.transfer.xcm_versions import location_of_type

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.client import Client

#: An asset's kind -> the pallet that keeps its accounts, on an Asset Hub.
_PALLETS = {"assets": "Assets", "foreign": "ForeignAssets"}


@dataclass(frozen=True, kw_only=True)
class NativeBalance:
    """What an account holds of its chain's native asset, raw, in the terms of pallet-balances."""

    free: int
    #: What locks and freezes keep in all.
    locked: int
    #: What they keep of the free balance; what is reserved counts towards them.
    frozen: int
    #: Whether something on chain needs the account to exist.
    needed: bool
    existential_deposit: int

    def spendable(self, *, keep_alive: bool) -> int:
        """Return what the account can spend, if it must stay alive or if it may be closed.

        What is frozen and the existential deposit overlap: only the larger of them stays.
        """
        stays = self.existential_deposit if keep_alive or self.needed else 0
        return max(self.free - max(self.frozen, stays), 0)

    def payable(self, *, keep_alive: bool) -> int:
        """Return what a fee can be taken from.

        A fee that may close the account is taken in an older way, in which nothing counts towards locks.
        """
        return self.spendable(keep_alive=True) if keep_alive else max(self.free - self.locked, 0)


async def native_balance(client: "Client", account: bytes) -> NativeBalance:
    """Return what *account* holds of the native asset; Inconclusive if the chain does not tell."""
    row = await read_storage(client, "System", "Account", account)
    data = row["data"]
    if "frozen" in data:
        locked = int(data["frozen"])
        frozen = max(locked - int(data["reserved"]), 0)
    else:
        # Before holds and freezes, a lock was on the free balance alone.
        locked = frozen = max(int(data.get("misc_frozen", 0)), int(data.get("fee_frozen", 0)))
    return NativeBalance(
        free=int(data["free"]),
        locked=locked,
        frozen=frozen,
        needed=row["consumers"] > 0 and row["providers"] <= 1,
        existential_deposit=await _native_deposit(client),
    )


async def free_balance(client: "Client", asset: "Asset", account: bytes) -> int:
    """Return what *account* can spend of *asset*, raw; Inconclusive where the chain does not tell."""
    if asset.kind == "native":
        return (await native_balance(client, account)).spendable(keep_alive=False)
    if asset.kind in _PALLETS:
        row = await read_storage(
            client, _PALLETS[asset.kind], "Account", await _asset_key(client, asset), account
        )
        return 0 if row is None or row.get("status", "Liquid") != "Liquid" else int(row["balance"])
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
        row = await read_storage(client, _PALLETS[asset.kind], "Asset", await _asset_key(client, asset))
        if row is None:
            raise Inconclusive(f"{client.chain.name} has no asset {asset.label}")
        return int(row["min_balance"])
    row = await read_storage(client, "AssetRegistry", "Assets", int(asset.id))
    if row is None:
        raise Inconclusive(f"{client.chain.name} has no asset {asset.label}")
    return int(row["existential_deposit"])


async def _native_deposit(client: "Client") -> int:
    try:
        return int((await client.table()).constant("Balances", "ExistentialDeposit"))
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise Inconclusive(
            f"the existential deposit on {client.chain.name} could not be read: {error}"
        ) from None


async def _asset_key(client: "Client", asset: "Asset") -> Any:
    if asset.kind == "assets":
        return int(asset.id)
    table = await client.table()
    entry = table.storage_entry("ForeignAssets", "Asset")
    return location_of_type(table, entry.key_types[0], asset.location)
