"""What an account holds: of the native asset, and of every other asset that is known.

Nothing that a chain doesn't tell is taken for zero: it is a `Holding` without figures, with the
reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.assets import NATIVE_DEPOSIT, Asset
from scenarioctl.errors import ChainUnreachable, InvalidRequest, ScenarioctlError
from scenarioctl.runtime.storage_keys import StorageAddress, StorageKey, storage_key
from scenarioctl.transactions.transfer.plan import location_of_type

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class NativeBalance:
    """What an account holds of its chain's native asset, raw."""

    free: int
    reserved: int
    #: What locks and freezes keep in all.
    locked: int
    #: What they keep of the free balance; what is reserved counts towards them.
    frozen: int
    #: Whether something on chain needs the account to exist.
    needed: bool
    existential_deposit: int

    @classmethod
    def read(cls, row: Mapping[str, Any], existential_deposit: int) -> "NativeBalance":
        """Return the balance in *row*, an entry of System.Account."""
        data = row["data"]
        if "frozen" in data:
            locked = int(data["frozen"])
            frozen = max(locked - int(data["reserved"]), 0)
        else:
            # Before holds and freezes, a lock was on the free balance alone.
            locked = frozen = max(int(data.get("misc_frozen", 0)), int(data.get("fee_frozen", 0)))
        reserved = int(data["reserved"])
        # What is reserved or locked counts as a consumer, which an account that is older than that
        # gets with the next transfer.
        consumed = row["consumers"] > 0 or reserved > 0 or locked > 0
        return cls(
            free=int(data["free"]),
            reserved=reserved,
            locked=locked,
            frozen=frozen,
            needed=consumed and row["providers"] <= 1,
            existential_deposit=existential_deposit,
        )

    def spendable(self, *, keep_alive: bool) -> int:
        """Return what the account can spend, if it must stay alive or if it may be closed.

        What is frozen and the existential deposit overlap: only the larger of them stays.
        """
        stays = self.existential_deposit if keep_alive or self.needed else 0
        return max(self.free - max(self.frozen, stays), 0)

    def payable(self, *, keep_alive: bool) -> int:
        """Return what a fee can be taken from.

        A fee that may close the account is taken in an older way, in which nothing counts towards
        locks.
        """
        return self.spendable(keep_alive=True) if keep_alive else max(self.free - self.locked, 0)


#: An asset's kind -> the pallet that keeps its accounts.
_PALLETS = {"assets": "Assets", "foreign": "ForeignAssets", "tokens": "Tokens"}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What an account holds of one asset, in the smallest unit."""

    free: int
    #: This and the others are None if they are unknown.
    reserved: int | None = None
    #: As the chain stores it: what locks and freezes keep, of the free balance or of free and
    #: reserved together.
    frozen: int | None = None
    #: What can be sent if the account may be closed, and what if it must stay alive.
    transferable: int | None = None
    transferable_keep_alive: int | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Figures":
        """Return what a row of orml-tokens tells, which is not what can be sent."""
        return cls(free=int(row["free"]), reserved=int(row["reserved"]), frozen=int(row["frozen"]))

    @property
    def is_zero(self) -> bool:
        return not (self.free or self.reserved)


@dataclass(frozen=True, kw_only=True)
class AssetHolding:
    """An asset, and what the account holds of it."""

    asset: "Asset"
    #: None if it could not be read.
    figures: Figures | None
    #: Why it could not be read, or why it can't be sent; empty otherwise.
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What an account holds on one chain at one block."""

    block: int
    block_hash: str
    holdings: tuple[AssetHolding, ...]


async def read_holdings(
    client: "Client", assets: "Assets", account: bytes, *, only: "Asset | None" = None
) -> Holdings:
    """Return what *account* holds of each listed asset of the client's chain, all at its best
    block.

    With *only*, what it holds of that asset and of the native one.

    ChainUnreachable or ChainRefused if the chain, or its native asset, can't be read.
    """
    chain = client.chain
    table = await client.table()
    block_hash = await client.call("chain_getBlockHash")
    if not isinstance(block_hash, str):
        raise ChainUnreachable(f"{chain.title} gave no head")
    native = assets.native(chain)
    listed = assets.all(chain) if only is None else tuple(dict.fromkeys((native, only)))
    keys: dict[str, StorageKey] = {}
    reasons: dict[str, str] = {}
    for asset in listed:
        try:
            keys[asset.id] = storage_key(table, *account_entry(table, asset, account))
        except InvalidRequest as error:
            reasons[asset.id] = str(error)
    if native.id not in keys:
        raise ChainUnreachable(f"balances of {chain.title} can't be read: {reasons[native.id]}")
    number = storage_key(table, "System", "Number")
    block, *values = await client.storage_values(table, [number, *keys.values()], at=block_hash)
    rows = dict(zip(keys, values, strict=True))
    contracts = await _read_contracts(client, table, listed, account, block_hash)
    system = rows[native.id]
    held = [each for each in listed if each.kind in _PALLETS and not _is_empty(rows.get(each.id))]
    details = await _read_details(client, table, held, block_hash)
    found = []
    for asset in listed:
        if asset.kind == "native":
            found.append(AssetHolding(asset=asset, figures=_native(table, system)))
        elif asset.kind == "erc20":
            found.append(_contract_holding(asset, contracts))
        elif asset.id in reasons:
            found.append(AssetHolding(asset=asset, figures=None, reason=reasons[asset.id]))
        elif asset.kind == "tokens":
            found.append(_token_holding(asset, rows[asset.id], details.get(asset.id), system))
        else:
            found.append(_asset_holding(table, asset, rows[asset.id], details.get(asset.id)))
    if not isinstance(contracts, str):
        found += [
            _unlisted_holding(chain.name, number, row)
            for number, row in contracts.items()
            if assets.listed(chain, number) is None
        ]
    return Holdings(block=int(block), block_hash=block_hash, holdings=tuple(found))


def account_entry(table: "RuntimeTable", asset: "Asset", account: bytes) -> StorageAddress:
    """Return where the chain keeps what *account* holds of *asset*; InvalidRequest if a contract
    does."""
    if asset.kind == "native":
        return "System", "Account", (account,)
    if asset.kind == "tokens":
        return "Tokens", "Accounts", (account, int(asset.id))
    if asset.kind == "erc20":
        raise InvalidRequest("it is kept by a contract")
    return _PALLETS[asset.kind], "Account", (asset_key(table, asset), account)


def details_entry(table: "RuntimeTable", asset: "Asset") -> StorageAddress:
    """Return where the chain keeps the facts of *asset*, which isn't its native one."""
    if asset.kind in ("tokens", "erc20"):
        return "AssetRegistry", "Assets", (int(asset.id),)
    return _PALLETS[asset.kind], "Asset", (asset_key(table, asset),)


def deposit_of(details: Mapping[str, Any]) -> int:
    """Return the smallest balance that an account can hold, raw, as the *details* of an asset
    tell."""
    return int(
        details["existential_deposit" if "existential_deposit" in details else "min_balance"]
    )


def asset_key(table: "RuntimeTable", asset: "Asset") -> Any:
    """Return the key of an asset of the pallet Assets or ForeignAssets."""
    if asset.kind == "assets":
        return int(asset.id)
    return location_of_type(
        table, table.storage_entry("ForeignAssets", "Asset").key_types[0], asset.location
    )


def _is_empty(row: Any) -> bool:
    """Tell whether a row of Assets, ForeignAssets or Tokens holds nothing."""
    return row is None or not any(row.get(name) for name in ("balance", "free", "reserved"))


def _native(table: "RuntimeTable", row: Mapping[str, Any]) -> Figures:
    balance = NativeBalance.read(row, int(table.constant(*NATIVE_DEPOSIT)))
    return Figures(
        free=balance.free,
        reserved=balance.reserved,
        frozen=balance.locked,
        transferable=balance.spendable(keep_alive=False),
        transferable_keep_alive=balance.spendable(keep_alive=True),
    )


async def _read_details(
    client: "Client", table: "RuntimeTable", held: Sequence["Asset"], block_hash: str
) -> dict[str, Mapping[str, Any]]:
    """Return the details of the assets of *held* that the chain has, which decide how much of each
    can be sent."""
    entries = {asset.id: details_entry(table, asset) for asset in held}
    keys = {
        id: storage_key(table, *entry) for id, entry in entries.items() if entry[0] in table.pallets
    }
    rows = await client.storage_values(table, list(keys.values()), at=block_hash)
    return {id: row for id, row in zip(keys, rows, strict=True) if row is not None}


def _asset_holding(
    table: "RuntimeTable",
    asset: "Asset",
    row: Mapping[str, Any] | None,
    details: Mapping[str, Any] | None,
) -> AssetHolding:
    """Return what the pallet Assets lets an account send: `reducible_balance` of pallet-assets."""
    if row is None or _is_empty(row):
        return AssetHolding(asset=asset, figures=_NOTHING)
    if details is None:
        return AssetHolding(
            asset=asset, figures=None, reason="the chain has this account, but no such asset"
        )
    balance = int(row["balance"])
    keepers = [f"{_PALLETS[asset.kind]}{suffix}" for suffix in ("Freezer", "Holder")]
    for keeper in keepers:
        if keeper in table.pallets:
            reason = f"the pallet {keeper} can keep some of it, and is not read"
            return AssetHolding(asset=asset, figures=Figures(free=balance), reason=reason)
    stopped = ""
    # Before its status, an account had a flag.
    if row.get("status", "Liquid") != "Liquid" or row.get("is_frozen"):
        stopped = "the account is frozen in this asset"
    # Before its status, an asset had a flag.
    if details.get("status", "Live") != "Live" or details.get("is_frozen"):
        stopped = "the asset is frozen"
    return AssetHolding(
        asset=asset,
        figures=Figures(
            free=balance,
            reserved=0,
            frozen=balance if stopped else 0,
            transferable=0 if stopped else balance,
            transferable_keep_alive=0 if stopped else max(balance - deposit_of(details), 0),
        ),
        reason=stopped,
    )


_NOTHING = Figures(free=0, reserved=0, frozen=0, transferable=0, transferable_keep_alive=0)


def _token_holding(
    asset: "Asset",
    row: Mapping[str, Any],
    details: Mapping[str, Any] | None,
    system: Mapping[str, Any],
) -> AssetHolding:
    """Return what orml-tokens lets an account send: its `reducible_balance`."""
    if _is_empty(row):
        return AssetHolding(asset=asset, figures=_NOTHING)
    if details is None:
        # Only what is beyond doubt: without the deposit nobody knows what has to stay.
        return AssetHolding(
            asset=asset,
            figures=Figures.read(row),
            reason="the chain doesn't tell its existential deposit",
        )
    free, reserved, frozen = int(row["free"]), int(row["reserved"]), int(row["frozen"])
    liquid = max(free - frozen, 0)
    stays = max(deposit_of(details) - (free + reserved - liquid), 0)
    alive = max(liquid - stays, 0)
    # The tokens of an account that something on chain needs cannot be its last.
    needed = system["consumers"] > 0 and system["providers"] <= 1
    return AssetHolding(
        asset=asset,
        figures=Figures(
            free=free,
            reserved=reserved,
            frozen=frozen,
            transferable=alive if needed else liquid,
            transferable_keep_alive=alive,
        ),
    )


async def _read_contracts(
    client: "Client",
    table: "RuntimeTable",
    listed: Sequence["Asset"],
    account: bytes,
    block_hash: str,
) -> Mapping[int, Mapping[str, Any]] | str:
    """Return what contracts keep for *account*, by asset, or why that is not known."""
    if not any(asset.kind == "erc20" for asset in listed):
        return {}
    try:
        table.api_method("CurrenciesApi", "accounts")
    except InvalidRequest:
        return f"{table} has no CurrenciesApi.accounts, and only a contract knows"
    try:
        found = await client.runtime_call("CurrenciesApi", "accounts", account, at=block_hash)
        return {int(number): data for number, data in found}
    except ScenarioctlError as error:
        return f"CurrenciesApi.accounts failed: {error}"


def _contract_holding(
    asset: "Asset", contracts: Mapping[int, Mapping[str, Any]] | str
) -> AssetHolding:
    if isinstance(contracts, str):
        return AssetHolding(asset=asset, figures=None, reason=contracts)
    # The runtime leaves out what a contract keeps nothing of.
    row = contracts.get(int(asset.id))
    if row is None:
        return AssetHolding(asset=asset, figures=_NOTHING)
    return AssetHolding(
        asset=asset, figures=Figures.read(row), reason="a contract decides what can be sent"
    )


def _unlisted_holding(chain: str, number: int, row: Mapping[str, Any]) -> AssetHolding:
    """Return what the runtime told of an asset that isn't listed here."""
    return AssetHolding(
        asset=Asset(chain=chain, id=str(number), symbol="", decimals=None, kind="tokens"),
        figures=Figures.read(row),
        reason="the asset is not listed here",
    )
