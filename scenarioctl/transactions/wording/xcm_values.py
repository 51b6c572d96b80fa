"""Words for the values in XCM: assets, filters, accounts and places, seen from where a program runs."""

from collections.abc import Mapping
from typing import Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.chains.locations import interior, junctions_of, write_location
from scenarioctl.transactions.wording.phrases import NoPhrase, Phrases


def say_assets(phrases: Phrases, items: Any) -> str:
    """Return a list of assets as amounts."""
    return " and ".join(say_item(phrases, item) for item in items) if items else "no assets"


def say_item(phrases: Phrases, item: Any) -> str:
    """Return one asset as an amount."""
    ((kind, value),) = item["fun"].items()
    if kind != "Fungible":
        return f"a non-fungible item of {phrases.asset(item['id'])}"
    return phrases.amount(value, item["id"])


def say_filter(phrases: Phrases, value: Any) -> str:
    """Return which assets a filter lets through, or a list of them."""
    match value:
        case [*items] | {"Definite": [*items]}:
            return say_assets(phrases, items)
        case {"Wild": "All"}:
            return "everything that is left"
        case {"Wild": {"AllCounted": number}}:
            return f"everything that is left, of at most {number} asset{'s' * (number != 1)}"
        case {"Wild": {"AllOf": details} | {"AllOfCounted": details}}:
            return f"all that is left of {phrases.asset(details['id'])}"
    raise NoPhrase


def say_receiver(phrases: Phrases, location: Any, seen_from: Any = None) -> str:
    """Return the account that a location names, seen from here or from the place *seen_from*."""
    if seen_from is not None:
        return say_receiver(phrases.at(seen_from), location)
    *around, last = junctions_of(location) or [None]
    for form in ACCOUNT_FORMATS.values():
        if isinstance(last, Mapping) and set(last) == {form.junction_name}:
            there = phrases.at({**location, "interior": interior(around)})
            inner = last[form.junction_name]
            network = inner.get("network")
            beside = "" if network is None else f" (of the network {say_kind(network)})"
            where = f" on {there.here}" if around or location["parents"] else ""
            return f"{there.account(inner[form.junction_field])}{beside}{where}"
    return f"the account of {phrases.at(location).here}"


def say_kind(value: Any) -> str:
    """Return the name of a value's variant."""
    return value if isinstance(value, str) else "/".join(map(str, value))


def say_transfers(phrases: Phrases, items: Any, fees: Any) -> str:
    """Return what `InitiateTransfer` sends, and by which way."""
    said = []
    for item in [*items, *([fees] if fees is not None else [])]:
        ((kind, assets),) = item.items()
        role = " for fees" if item is fees else ""
        said.append(f"{say_filter(phrases, assets)}{role} ({kind})")
    return " and ".join(said) or "no assets"


def say_descent(phrases: Phrases, descendant: Any) -> str:  # noqa: ARG001 - parts are alike
    """Return in whose name a program within an origin runs."""
    if descendant is None:
        return "without an origin"
    place = write_location({"parents": 0, "interior": descendant})
    return f"as {place} within its origin" if place else "as an account within its origin"
