"""What a transaction does, as plain data that a person can read and a program can parse.

Accounts are SS58 of the chain, integers wider than 32 bits decimal text, bytes 0x hex (a remark
that is text is text), amounts of known assets `{"value": "12345678900", "human": "1.23456789
DOT"}`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import XCM_PALLETS, write_location
from scenarioctl.model.amounts import to_whole
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import decode_era
from scenarioctl.transactions.inner_calls import Danger, kind_of_call, read_call
from scenarioctl.transactions.values import ValueWriter, write_account, write_plain

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.extrinsic import Extrinsic

#: (pallet, argument that is an amount) -> the argument that says of which asset, "" for the native
#: one.
_AMOUNTS: Mapping[tuple[str, str], str] = {
    ("Balances", "value"): "",
    ("Assets", "amount"): "id",
    ("ForeignAssets", "amount"): "id",
    ("Tokens", "amount"): "currency_id",
    ("Currencies", "amount"): "currency_id",
    ("Omnipool", "min_buy_amount"): "asset_out",
    ("Omnipool", "max_sell_amount"): "asset_in",
    ("Router", "amount_in"): "asset_in",
    ("Router", "min_amount_out"): "asset_out",
    ("Router", "amount_out"): "asset_out",
    ("Router", "max_amount_in"): "asset_in",
}
#: In these the amount's own asset depends on the method.
_TRADES = {("Omnipool", "sell"): "asset_in", ("Omnipool", "buy"): "asset_out"}


def describe_call(
    table: "RuntimeTable", chain: "Chain", call: Call, assets: "Assets | None" = None
) -> dict[str, Any]:
    """Return *call* as nested plain data: `{"pallet": …, "method": …, "args": {…}}`."""
    return _Describer(table, chain, assets).call(call)


def describe_signature(extrinsic: "Extrinsic", chain: "Chain", assets: "Assets") -> dict[str, Any]:
    """Return who signed *extrinsic*, with what, and what besides the call is signed."""
    signer = extrinsic.signer
    if isinstance(signer, Mapping) and set(signer) == {"Id"}:
        signer = signer["Id"]
    described: dict[str, Any] = {"signer": write_account(signer, chain)}
    signature = extrinsic.signature
    if isinstance(signature, Mapping) and len(signature) == 1:
        kind, signature = next(iter(signature.items()))
        described["kind"] = kind.lower()
    described["signature"] = write_plain(signature)
    return {**described, **describe_extensions(extrinsic.extensions, chain, assets)}


def describe_extensions(
    extensions: Mapping[str, Any], chain: "Chain", assets: "Assets"
) -> dict[str, Any]:
    """Return what is signed beside a call, as the values of the signed extensions say it."""
    described: dict[str, Any] = {}
    for identifier, value in extensions.items():
        if identifier in ("CheckMortality", "CheckEra"):
            described["era"] = _describe_era(value)
        elif identifier == "CheckNonce":
            described["nonce"] = value
        elif identifier in ("ChargeTransactionPayment", "ChargeAssetTxPayment"):
            tip = value["tip"] if isinstance(value, Mapping) else value
            described["tip"] = {
                "value": str(tip),
                "human": f"{to_whole(tip, chain.decimals)} {chain.symbol}",
            }
            if isinstance(value, Mapping) and value.get("asset_id") is not None:
                described["fee_asset"] = _describe_asset(value["asset_id"], chain, assets)
        elif identifier == "CheckMetadataHash":
            described["metadata_hash"] = value == {"mode": "Enabled"}
        else:
            described[identifier] = write_plain(value)
    return described


def say_payments(
    extensions: Mapping[str, Any], chain: "Chain", assets: "Assets"
) -> tuple[str, ...]:
    """Return what *extensions* have the signer pay beside the plain fee: a tip, or the fee in
    another asset."""
    told = describe_extensions(extensions, chain, assets)
    tip, asset = told.get("tip"), told.get("fee_asset")
    said = [f"a tip of {tip['human']}"] if tip and tip["value"] != "0" else []
    if asset:
        said.append(f"its fee paid in {asset.get('symbol', asset['location'])}")
    return tuple(said)


class _Describer(ValueWriter):
    """Walks a call along the runtime's types."""

    def __init__(self, table: "RuntimeTable", chain: "Chain", assets: "Assets | None") -> None:
        super().__init__(table, chain)
        self._assets = assets

    def call(self, call: Call) -> dict[str, Any]:
        pallet, method, args = call.pallet, call.method, call.args
        is_remark = kind_of_call(call).danger is Danger.REMARK
        described: dict[str, Any] = {}
        for field in self._table.call_fields(pallet, method):
            value = args[field.name]
            if is_remark and isinstance(value, bytes):
                described[field.name] = _text_or_hex(value)
                continue
            asset = self._asset_of(pallet, method, field.name, args)
            if asset is not None and isinstance(value, int):
                described[field.name] = _amount(value, asset)
            elif field.name == "assets" and pallet in XCM_PALLETS:
                described[field.name] = self._xcm_assets(field.type_id, value)
            else:
                described[field.name] = self.value(field.type_id, value)
        return {"pallet": pallet, "method": method, "args": described}

    def variant(self, name: str, variants: list[Any], value: Any) -> Any:
        if name == "RuntimeCall" and isinstance(value, Mapping):
            return self.call(read_call(value))
        described = super().variant(name, variants, value)
        if isinstance(value, Mapping) and isinstance(value.get("AccountId32"), Mapping):
            # A junction of XCM: to its type no account, to a reader nothing else.
            account = value["AccountId32"].get("id")
            if isinstance(account, bytes):
                described["AccountId32"]["id"] = write_account(account, self._chain)
        return described

    def _xcm_assets(self, type_id: int, value: Any) -> Any:
        """Return the assets of an XCM call with their amounts as people write them.

        Only these: inside a message, a location is seen from another chain, and would be taken for
        another asset.
        """
        described = self.value(type_id, value)
        if self._assets is None or not isinstance(value, Mapping) or len(value) != 1:
            return described
        items = next(iter(value.values()))
        shown = next(iter(described.values()))
        for item, plain in zip(items, shown, strict=True):
            fungible = item["fun"].get("Fungible") if isinstance(item["fun"], Mapping) else None
            asset = self._assets.at(self._chain, write_location(item["id"]))
            if asset is not None and isinstance(fungible, int):
                plain["fun"] = {"Fungible": _amount(fungible, asset)}
        return described

    def _asset_of(
        self, pallet: str, method: str, argument: str, args: Mapping[str, Any]
    ) -> "Asset | None":
        if self._assets is None:
            return None
        naming = _AMOUNTS.get((pallet, argument))
        if naming is None and argument == "amount":
            naming = _TRADES.get((pallet, method))
        if naming is None:
            return None
        if naming == "":
            return self._assets.native(self._chain)
        return self._assets.named(self._chain, args.get(naming))


def _describe_asset(identity: Any, chain: "Chain", assets: "Assets") -> dict[str, Any]:
    """Return an asset that a runtime names, by its id and symbol if it is listed."""
    place = "" if isinstance(identity, int) else write_location(identity)
    asset = assets.named(chain, identity)
    described = {} if asset is None else {"asset": asset.id, "symbol": asset.display_name}
    return {**described, "location": place or write_plain(identity)}


def _amount(value: int, asset: "Asset") -> Any:
    if asset.decimals is None:
        return str(value)
    return {"value": str(value), "human": asset.amount(value)}


def _text_or_hex(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return "0x" + data.hex()
    # What would look like hex, or steer a terminal, is shown as bytes.
    shown = text.replace("\n", "").replace("\t", "")
    return text if shown.isprintable() and not text.startswith("0x") else "0x" + data.hex()


def _describe_era(value: Any) -> Any:
    """Return an era as the metadata has it: `Immortal`, `{"Mortal69": 2}`."""
    if value == "Immortal":
        return "immortal"
    name, second = next(iter(value.items())) if isinstance(value, Mapping) else ("", None)
    first = name.removeprefix("Mortal")
    if not (first.isdigit() and isinstance(second, int)):
        return write_plain(value)
    mortal = decode_era(bytes((int(first), second)))
    return mortal and {"period": mortal[0], "phase": mortal[1]}
