"""The currency that pays a fee: one that the account chose (Hydration) or the transaction (Asset Hub), and how much of it a fee takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.assets import Asset
from scenarioctl.chains.locations import read_location, write_location
from scenarioctl.transactions.inner_calls import walk_calls
from scenarioctl.transactions.keyless_accounts import is_evm_account
from scenarioctl.transactions.signing.fee_asset import asset_location
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    query_runtime_api,
    read_constant,
    read_storage,
    read_table,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable

_PALLET = "MultiTransactionPayment"
#: Calls of which the first inner call runs before all else.
_FIRST = (
    *(("Utility", method) for method in ("batch", "batch_all", "force_batch")),
    ("Dispatcher", "dispatch_with_extra_gas"),
)
#: A weight whose fee has digits enough to tell a price: a second of computing.
_SECOND = {"ref_time": 10**12, "proof_size": 0}
#: Prices are fixed-point numbers of 18 decimals.
_ONE = 10**18


@dataclass(frozen=True, kw_only=True)
class FeeCurrency:
    """What pays a sender's fees."""

    asset: Asset
    #: Number of the currency where the chain lets accounts choose one; None on every other chain.
    number: int | None = None
    #: Where the transaction names its fee asset: the locations of that asset and of the native one, between which a pool exchanges the fee.
    path: tuple[Any, ...] = ()


class FeeRefused(Inconclusive):
    """The chain takes no fee in the asset that was chosen."""


async def fee_currency(
    client: "Client", assets: "Assets", call: "Call", sender: bytes, fee_asset: Asset | None = None
) -> FeeCurrency:
    """Return what pays the fee of *call* by *sender*; Inconclusive if the chain does not tell.

    *fee_asset* is the asset that the transaction names; InvalidRequest if the chain's transactions name none.
    """
    native, table = assets.native(client.chain), await read_table(client)
    if fee_asset is not None and fee_asset.kind != "native":
        path = tuple(asset_location(table, client.chain, asset) for asset in (fee_asset, native))
        return FeeCurrency(asset=fee_asset, path=path)
    if _PALLET not in table.pallets:
        return FeeCurrency(asset=native)
    core = int(await read_constant(client, _PALLET, "NativeAssetId"))
    # A call that sets the currency is paid in it already.
    number = _currency_set_by(call, table)
    if number is None:
        number = await read_storage(client, _PALLET, "AccountCurrencyMap", sender)
    if number is None:
        number = int(await read_constant(client, _PALLET, "EvmAssetId")) if is_evm_account(sender) else core
    asset = native if number == core else assets.listed(client.chain, number)
    return FeeCurrency(asset=asset or await _unlisted(client, number), number=number)


async def convert_fee(client: "Client", currency: FeeCurrency, fee: int) -> int:
    """Return how much of *currency* a *fee* in the native asset takes, raw; Inconclusive if the chain does not tell.

    The price is that of the pool which exchanges it; of the chain's oracle; or else the one that the chain falls back
    on.  FeeRefused if there is no such pool, or too little in it.
    """
    if currency.path:
        return await _quote_in_pool(client, currency, fee)
    if currency.number is None or currency.asset.kind == "native":
        return fee
    chain, number = client.chain.name, currency.number
    fallback = await read_storage(client, _PALLET, "AcceptedCurrencies", number)
    if fallback is None:
        raise Inconclusive(
            f"the sender pays fees on {chain} in {currency.asset.label}, which {chain} exchanges in a pool first: how much that takes is unknown"
        )
    quoted = await _oracle_quote(client, number)
    if quoted is None:
        return max(int(fallback) * fee // _ONE, 1)
    amount, base = quoted
    return max(-(-fee * amount // base), 1)


async def _quote_in_pool(client: "Client", currency: FeeCurrency, fee: int) -> int:
    # As the runtime charges it: exactly the fee is bought, the pool's own fee included.
    answer = await query_runtime_api(
        client, "AssetConversionApi", "quote_price_tokens_for_exact_tokens", *currency.path, fee, True
    )
    if answer is None:
        raise FeeRefused(
            f"{client.chain.name} cannot take the fee in {currency.asset.label}: it has no pool with enough {client.chain.symbol} to exchange it; pay the fee in another asset"
        )
    return int(answer)


async def _oracle_quote(client: "Client", number: int) -> tuple[int, int] | None:
    """Return what one weight costs in a currency and in the native asset; None if the oracle has no price."""
    place = write_location(await read_storage(client, "AssetRegistry", "AssetLocations", number))
    if not place:
        return None
    native = int(await query_runtime_api(client, "TransactionPaymentApi", "query_weight_to_fee", _SECOND))
    asset = {"V5": read_location(place)}
    answer = await query_runtime_api(client, "XcmPaymentApi", "query_weight_to_asset_fee", _SECOND, asset)
    if not isinstance(answer, Mapping) or "Ok" not in answer or not native:
        return None
    return int(answer["Ok"]), native


def unlisted_currency(chain: "Chain", number: int, kind: str = "tokens") -> Asset:
    """Return a currency of *chain* that is not listed here, and so has neither symbol nor decimals."""
    return Asset(chain=chain.name, id=str(number), symbol="", decimals=None, kind=kind)


async def _unlisted(client: "Client", number: int) -> Asset:
    row = await read_storage(client, "AssetRegistry", "Assets", number)
    kind = "erc20" if row is not None and row["asset_type"] == "Erc20" else "tokens"
    return unlisted_currency(client.chain, number, kind)


def _currency_set_by(call: "Call", table: "RuntimeTable") -> int | None:
    """Return the currency that *call* sets, itself or as the first of a batch."""
    for found in islice(walk_calls(call, table), 2):
        outer = found.outer
        is_first = outer is None or (outer.pallet, outer.method) in _FIRST
        if is_first and (found.call.pallet, found.call.method) == (_PALLET, "set_currency"):
            return int(found.call.args["currency"])
    return None
