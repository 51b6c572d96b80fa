"""Transfers within one chain."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.native_balance import known_deposit
from scenarioctl.transactions.transfer.request import Transfer, below_least
from scenarioctl.transactions.transfer.route_rows import UNLISTED
from scenarioctl.transactions.transfer.xcm_versions import location_of_type

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: An asset's kind -> the call that moves it without killing the sender's account, and the names of its arguments:
#: (pallet, method, id, receiver, amount).
_CALLS: Mapping[str, tuple[str, str, str, str, str]] = {
    "native": ("Balances", "transfer_keep_alive", "", "dest", "value"),
    "assets": ("Assets", "transfer_keep_alive", "id", "target", "amount"),
    "foreign": ("ForeignAssets", "transfer_keep_alive", "id", "target", "amount"),
    "tokens": ("Tokens", "transfer_keep_alive", "currency_id", "dest", "amount"),
    # Balances that a contract keeps: no pallet of theirs has a keep-alive form.
    "erc20": ("Currencies", "transfer", "currency_id", "dest", "amount"),
}
#: An asset's kind -> the method that may kill the sender's account.
_CLOSING = {"native": "transfer_allow_death"}


def build_local_transfer(transfer: Transfer, table: "RuntimeTable") -> Draft:
    """Return the call that moves an asset within its chain, on the runtime *table*."""
    asset, chain = transfer.asset, transfer.source
    if asset.kind == UNLISTED:
        raise InvalidRequest(
            field="assetid",
            problem=f"{asset.id} is not listed for {asset.chain}, so no call within {asset.chain} can name it. Set it in [[chains.{asset.chain}.assets]]",
        )
    pallet, method, id_name, receiver_name, amount_name = _CALLS[asset.kind]
    if transfer.allow_death:
        method = _CLOSING.get(asset.kind, "transfer")
    if not table.has_call(pallet, method):
        raise InvalidRequest(
            f"{asset.display_name} cannot be sent within {chain.name}: the runtime {table.spec_name} {table.spec_version} has no {pallet}.{method}"
        )
    arguments: dict[str, Any] = {
        receiver_name: account_argument(table, pallet, method, receiver_name, transfer.beneficiary),
        amount_name: transfer.amount,
    }
    if asset.kind == "foreign":
        id_type = _argument_type(table, pallet, method, id_name)
        arguments[id_name] = location_of_type(table, id_type, asset.location)
    elif id_name:
        arguments[id_name] = int(asset.id)
    return Draft(call=Call(pallet=pallet, method=method, args=arguments), warnings=_warnings(transfer, table))


def account_argument(table: "RuntimeTable", pallet: str, method: str, name: str, account: bytes) -> Any:
    """Return *account* as the call wants it: a MultiAddress, or (on Hydration) the bare account."""
    variants = table.variants(_argument_type(table, pallet, method, name))
    return {"Id": account} if "Id" in variants else account


def _argument_type(table: "RuntimeTable", pallet: str, method: str, name: str) -> int:
    for field in table.call_fields(pallet, method):
        if field.name == name:
            return field.type_id
    raise InvalidRequest(
        f"{pallet}.{method} of {table.spec_name} {table.spec_version} has no argument {name}"
    )


def _warnings(transfer: Transfer, table: "RuntimeTable") -> tuple[str, ...]:
    asset, chain = transfer.asset, transfer.source
    warnings = [f"{chain.title} may be closing: {chain.doubt}."] if chain.doubt else []
    if asset.kind == "erc20":
        warnings.append(
            f"Currencies.transfer sends {asset.display_name}, and can close the sender's account. Keep some {chain.symbol} for fees."
        )
    deposit = known_deposit(asset, table)
    if deposit is not None and transfer.amount < deposit and not transfer.receiver_holds:
        # A contract may hold any amount.
        if not transfer.accept_loss and asset.kind != "erc20":
            why = f"an account on {chain.name} that holds less than the existential deposit of {asset.amount(deposit)} can't receive it"
            raise below_least(transfer, deposit, why)
        warnings.append(
            f"The amount is below the existential deposit of {asset.amount(deposit)} on {chain.name}. An account that holds none yet can't receive it."
        )
    return tuple(warnings)
