"""Answers of a chain in whole tokens, for the few items that hold amounts of an asset that is known.

To add an item, add it to `_NATIVE` if it holds the chain's native asset, or to `_BY_ID` if one of its keys is an asset.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import fold
from scenarioctl.model.request_values import read_digits

if TYPE_CHECKING:
    from scenarioctl.actions.chain_query import Query
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset

#: Pallet and item, as `fold` writes them, of the native asset -> how many keys they have.
_NATIVE = {
    ("system", "account"): 1,
    ("balances", "account"): 1,
    ("balances", "totalissuance"): 0,
    ("balances", "inactiveissuance"): 0,
    ("balances", "existentialdeposit"): 0,
}
#: The same -> how many keys they have, and which of them is the asset.
_BY_ID = {
    ("assets", "account"): (2, 0),
    ("assets", "asset"): (1, 0),
    ("tokens", "accounts"): (2, 1),
    ("tokens", "totalissuance"): (1, 0),
}
#: Fields that hold amounts; others, like a nonce, don't.
_AMOUNTS = ("free", "reserved", "frozen", "balance", "supply")


def whole_tokens(app: "Application", query: "Query", text: str) -> str:
    """Return the amounts in the answer *text* as people read them: `free 1.5 DOT, reserved 0 DOT`; empty if none is known."""
    asset = _asset_of(app, query)
    if asset is None or asset.decimals is None:
        return ""
    if (raw := read_digits(text)) is not None:
        return asset.amount(raw)
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return ", ".join(f"{name} {asset.amount(raw)}" for name, raw in _amounts_in(answer))


def _asset_of(app: "Application", query: "Query") -> "Asset | None":
    item = (fold(query.pallet_name), fold(query.method_name))
    if _NATIVE.get(item) == len(query.params):
        return app.assets.native(query.chain)
    count, place = _BY_ID.get(item, (-1, 0))
    if count != len(query.params):
        return None
    number = read_digits(str(query.params[place]).replace(",", ""))
    return None if number is None else app.assets.listed(query.chain, number)


def _amounts_in(answer: Any) -> Iterator[tuple[str, int]]:
    if not isinstance(answer, dict):
        return
    held = answer.get("data", answer)
    for name in _AMOUNTS:
        raw = read_digits(held.get(name)) if isinstance(held, dict) else None
        if raw is not None:
            yield name, raw
