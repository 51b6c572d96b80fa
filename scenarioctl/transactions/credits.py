"""Which accounts a dry run credits, as the events tell, and which a message means to credit."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import write_location
from scenarioctl.transactions.dry_run import Event, Message

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset

#: (pallet, event) -> the fields that name the asset ("" for the native one), who is credited, and how much.
#: Of a pallet's events the first kind that credits an account counts: another may report the same money again.
CREDITS: Mapping[tuple[str, str], tuple[str, str, str]] = {
    ("Balances", "Minted"): ("", "who", "amount"),
    ("Balances", "Deposit"): ("", "who", "amount"),
    ("Balances", "Transfer"): ("", "to", "amount"),
    ("Assets", "Issued"): ("asset_id", "owner", "amount"),
    ("Assets", "Deposited"): ("asset_id", "who", "amount"),
    ("Assets", "Transferred"): ("asset_id", "to", "amount"),
    ("ForeignAssets", "Issued"): ("asset_id", "owner", "amount"),
    ("ForeignAssets", "Deposited"): ("asset_id", "who", "amount"),
    ("ForeignAssets", "Transferred"): ("asset_id", "to", "amount"),
    ("Tokens", "Deposited"): ("currency_id", "who", "amount"),
    ("Tokens", "Transfer"): ("currency_id", "to", "amount"),
    ("Currencies", "Deposited"): ("currency_id", "who", "amount"),
    ("Currencies", "Transferred"): ("currency_id", "to", "amount"),
}
#: An asset's kind -> the pallet that reports its credits; Hydration's Currencies repeats what Tokens reports.
_REPORTING = {
    "native": "Balances",
    "assets": "Assets",
    "foreign": "ForeignAssets",
    "tokens": "Tokens",
    "erc20": "Currencies",
}


def find_credit(events: Sequence[Event], asset: "Asset", account: bytes) -> int:
    """Return how much of *asset* the events credit to *account*, raw; 0 where they do not."""
    for (pallet, name), names in CREDITS.items():
        if pallet == _REPORTING[asset.kind]:
            found = [
                event.fields[names[2]]
                for event in events
                if (event.pallet, event.name) == (pallet, name)
                and isinstance(event.fields, Mapping)
                and event.fields[names[1]] == account
                and _is_asset(event.fields[names[0]] if names[0] else "", asset)
            ]
            if found:
                return sum(found)
    return 0


def _is_asset(label: Any, asset: "Asset") -> bool:
    if asset.kind == "native":
        return isinstance(label, str) and not label
    if asset.kind == "foreign":
        return bool(write_location(label) == asset.place)
    return str(label) == asset.id


def deposit_accounts(message: Message) -> list[bytes]:
    """Return the accounts of 32 bytes that *message* deposits to on the chain that it goes to."""
    accounts: list[bytes] = []
    for name, fields in message.instructions:
        if name == "DepositAsset":
            location = fields["beneficiary"]
            inner = location["interior"].get("X1") if isinstance(location["interior"], Mapping) else None
            junction = inner[0] if isinstance(inner, list) else inner
            if isinstance(junction, Mapping) and "AccountId32" in junction and not location["parents"]:
                accounts.append(junction["AccountId32"]["id"])
    return accounts
