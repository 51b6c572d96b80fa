"""What pays the fee of a transaction: the asset that it names, or the fee currency of the account that signs it.

Hydration's transactions name no asset.  Each account there has a fee currency, and a batch that begins with
`MultiTransactionPayment.set_currency` is paid in the one that it sets.
Source: runtime/hydradx/src/assets.rs (`TryCallCurrency`) of hydration-node at 5e61c1f, read 2026-11-23.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable
from scenarioctl.operations.signing_fields import find_fee_asset

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class PaidCall:
    """A call, and what pays its fee."""

    call: "Call"
    #: What pays; None if it is unknown.
    asset: "Asset | None"
    #: What the transaction itself names, on a chain where it does; None for the native asset.
    named: "Asset | None" = None
    warnings: tuple[str, ...] = ()


async def choose_fee_asset(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    call: "Call",
    *,
    fee_asset: object,
    sender: bytes,
) -> PaidCall:
    """Return what *sender* signs so that *fee_asset* pays the fee of *call*: the call itself, or a batch that sets the currency first.

    InvalidRequest if it cannot pay on *chain*; ChainUnreachable if the account's currency cannot be read.
    """
    from scenarioctl.transactions.signing.fee_asset import has_fee_currencies, set_currency_before

    if not has_fee_currencies(table):
        named = await find_fee_asset(app, chain, fee_asset)
        return PaidCall(call=call, asset=named or app.assets.native(chain), named=named)
    current, unknown = await _read_currency(app, chain, call, sender)
    if fee_asset in ("", None):
        return PaidCall(call=call, asset=current)
    asset = app.assets.find(chain, fee_asset, field="fee_asset")
    if unknown:
        raise ChainUnreachable(f"the fee currency of the sender is unknown: {unknown}")
    if current is not None and current.id == asset.id:
        return PaidCall(call=call, asset=asset)
    warning = f"this transaction sets the account's fee currency on {chain.name} to {asset.display_name}; it pays all its fees there in {asset.display_name} until it sets another"
    return PaidCall(call=set_currency_before(table, call, asset), asset=asset, warnings=(warning,))


async def _read_currency(
    app: Application, chain: "Chain", call: "Call", sender: bytes
) -> "tuple[Asset | None, str]":
    """Return the currency in which *sender* would pay for *call*, or why it is unknown; neither of them offline."""
    from scenarioctl.transactions.simulation.fee_charge import fee_currency
    from scenarioctl.transactions.simulation.runtime_api import Inconclusive

    if app.settings.offline:
        return None, ""
    try:
        return (await fee_currency(app.client(chain), app.assets, call, sender)).asset, ""
    except Inconclusive as problem:
        return None, str(problem)
