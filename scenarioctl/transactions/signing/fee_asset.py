"""The asset that pays a transaction's fee: named by the transaction (`ChargeAssetTxPayment`), or
set for the account.

An Asset Hub exchanges it for its native asset in a pool, when the transaction is included.
Source: pallet-asset-conversion-tx-payment of polkadot-sdk, read 2026-11-23.
"""

from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.call_builder import nest, refuse_nested
from scenarioctl.transactions.extrinsic import parse_hex
from scenarioctl.transactions.transfer.plan import location_of_type

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

EXTENSION = "ChargeAssetTxPayment"
_SET_CURRENCY = ("MultiTransactionPayment", "set_currency")


def names_fee_assets(table: "RuntimeTable") -> bool:
    """Tell whether a transaction of this runtime can name the asset that pays its fee, by a
    location."""
    option = _option_type(table)
    return option is not None and table.types[_inner_type(table, option)][0].endswith("Location")


def fee_asset_id(table: "RuntimeTable", chain: "Chain", asset: "Asset") -> Any:
    """Return *asset* as a transaction of *chain* names it: a Location; None for the native asset.

    InvalidRequest if no transaction of the runtime can name it.
    """
    return None if asset.kind == "native" else asset_location(table, chain, asset)


def asset_location(table: "RuntimeTable", chain: "Chain", asset: "Asset") -> dict[str, Any]:
    """Return the Location of *asset*, native or not, in the version of XCM in which transactions of
    *chain* name fee assets."""
    option = _option_type(table)
    if has_fee_currencies(table):
        raise InvalidRequest(
            field="fee_asset",
            problem=(
                f"{asset.label} is set for the account on {chain.title}, not named by a "
                f"transaction: make the transaction without fee_asset, then pass both to tx "
                "check and tx payload, which set it in a batch"
            ),
        )
    if option is None or not names_fee_assets(table):
        raise InvalidRequest(
            field="fee_asset",
            problem=(
                f"{asset.label} cannot be chosen on {chain.title}, whose transactions do not "
                "name a fee asset: omit it"
            ),
        )
    if not asset.location:
        raise InvalidRequest(
            field="fee_asset",
            problem=(
                f"{asset.label} has no known location on {chain.title}, by which a transaction "
                "names it"
            ),
            expected="another asset",
        )
    return location_of_type(table, _inner_type(table, option), asset.location)


def has_fee_currencies(table: "RuntimeTable") -> bool:
    """Tell whether each account of this runtime has a currency in which it pays fees."""
    return table.has_call(*_SET_CURRENCY)


def set_currency_before(table: "RuntimeTable", call: Call, asset: "Asset") -> Call:
    """Return the batch that sets the signer's fee currency and then makes *call*: its fee is paid
    in *asset* already. InvalidRequest if no batch can hold *call*."""
    pallet, method = _SET_CURRENCY
    number = table.constant(pallet, "NativeAssetId") if asset.kind == "native" else int(asset.id)
    try:
        refuse_nested(call, table, filtered=True)
    except InvalidRequest:
        raise InvalidRequest(
            field="fee_asset",
            value=asset.id,
            problem="can't be set in one transaction with a Utility.batch_all",
            expected=f"{pallet}.{method} {number} signed and sent before it",
        ) from None
    calls = [{pallet: {method: {"currency": number}}}, nest(call)]
    return Call(pallet="Utility", method="batch_all", args={"calls": calls})


def write_asset_id(table: "RuntimeTable", asset_id: Any) -> str | None:
    """Return the `assetId` of polkadot.js's SignerPayloadJSON: the encoded Option; None for the
    native asset."""
    option = _option_type(table)
    return (
        None if asset_id is None or option is None else "0x" + table.encode(option, asset_id).hex()
    )


def read_asset_id(table: "RuntimeTable", chain: "Chain", given: object, *, field: str) -> Any:
    """Return the asset that `assetId` of a SignerPayloadJSON names; None for the native one."""
    if given is None:
        return None
    option = _option_type(table)
    if option is None:
        raise InvalidRequest(
            field=field,
            value=given,
            problem="is not supported",
            expected=f"null: fees are paid in {chain.symbol}",
        )
    data = parse_hex(given, field=field)
    try:
        return table.decode(option, data)
    except InvalidRequest as error:
        raise InvalidRequest(
            field=field,
            value=given,
            problem=f"is not an {table.type_name(option)} of {table}: {error}",
        ) from None


def _option_type(table: "RuntimeTable") -> int | None:
    """Return the type of `asset_id` in the signed extension; None if the runtime has none."""
    for extension in table.extensions:
        if extension.identifier == EXTENSION:
            _, _, kind, fields = table.types[extension.type_id]
            if kind == "composite":
                return next((int(field[1]) for field in fields if field[0] == "asset_id"), None)
    return None


def _inner_type(table: "RuntimeTable", option: int) -> int:
    """Return the type in an Option."""
    some = next(variant for variant in table.types[option][3] if variant[0] == "Some")
    return int(some[2][0][1])
