"""The `[[chains.NAME.assets]]` tables of config.toml: whether they can be read, and agree with what is built in."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.asset_rows import decimals_of, identities_of, kind_of, location_of
from scenarioctl.errors import InvalidRequest, shorten

if TYPE_CHECKING:
    from scenarioctl.chains.chain import Chain

_KEYS: Mapping[str, tuple[type, ...]] = {
    "id": (int, str),
    "symbol": (str,),
    "name": (str,),
    "decimals": (int,),
    "existential_deposit": (int, str),
    "kind": (str,),
    "location": (str,),
    "pays_fees": (bool,),
}
_WORDS: Mapping[tuple[type, ...], str] = {
    (int, str): "a whole number",
    (str,): "a text",
    (int,): "a whole number",
    (bool,): "true or false",
}


def check_keys(where: str, table: Mapping[str, Any]) -> None:
    """Refuse unknown keys, values of another kind, and a table without id, symbol or decimals."""
    for key, value in table.items():
        kinds = _KEYS.get(key)
        if kinds is None:
            raise InvalidRequest(
                f"{where} has the unknown key {shorten(key)}, expected one of: {', '.join(_KEYS)}"
            )
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InvalidRequest(f"{where}.{key} {shorten(value)} is not {_WORDS[kinds]}")
    for key in ("id", "symbol", "decimals"):
        if key not in table:
            raise InvalidRequest(f"{where}.{key} is missing, expected id, symbol and decimals")


def with_identities(chain: "Chain", rows: Iterable[list[Any]]) -> list[tuple[list[Any], tuple[str, ...]]]:
    """Return the *rows* of assets.json for *chain*, each with its identities."""
    return [(row, identities_of(chain, row[0], kind_of(row), location_of(row))) for row in rows]


def check_agreement(
    chain: "Chain",
    table: Mapping[str, Any],
    location: str,
    built_in: Iterable[tuple[list[Any], tuple[str, ...]]],
) -> None:
    """Refuse an asset with other decimals or another *location* than it has in the rows *built_in*, or with the location of another asset.

    Amounts would be wrong by a power of ten, or another asset would be sent than the one that is named.
    """
    where = f"chains.{chain.name}.assets"
    number, decimals = str(table["id"]), table["decimals"]
    named = set(identities_of(chain, number, "", location))
    for row, identities in built_in:
        if row[0] == number:
            known, listed = decimals_of(row), location_of(row)
            if known not in (None, decimals):
                raise InvalidRequest(
                    f"{where}.decimals {decimals} is wrong: {_name_of(row)} of {chain.name} has {known} in the built-in table, expected {known}"
                )
            if location and identities and named.isdisjoint(identities):
                raise InvalidRequest(
                    f"{where}.location {location} is wrong: {_name_of(row)} of {chain.name} has {listed} in the built-in table, expected {listed}"
                )
        elif not named.isdisjoint(identities):
            raise InvalidRequest(
                f"{where}.location {location} of id {shorten(table['id'])} is that of {_name_of(row)} in the built-in table of {chain.name}, expected id {row[0]}, or another location"
            )


def _name_of(row: list[Any]) -> str:
    return str(row[1]) if row[0] == row[1] else f"{row[1]} {row[0]}"
