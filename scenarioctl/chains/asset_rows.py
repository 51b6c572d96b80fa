"""The rows of `assets.json`, and the `[[chains.NAME.assets]]` tables of config.toml.

`assets.json` has one line for each chain, parsed when that chain is first asked for.  A table of
config.toml has to be readable, and to agree with what is built in.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, read_location, seen_from, write_location
from scenarioctl.chains.registry import check_keys
from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.files import read_line
from scenarioctl.model.amounts import U128_MAX, read_digits

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


FILE = Path(__file__).with_name("assets.json")
#: Where an Asset Hub keeps its own, trust-backed assets.
TRUST_BACKED = "0/PalletInstance(50)/GeneralIndex({})"


def kind_of(row: list[Any]) -> str:
    return str(row[4]) if len(row) > 4 and row[4] else "assets"


def decimals_of(row: list[Any]) -> int | None:
    """Return the decimals of an asset; None if they are unknown."""
    return row[2] if len(row) > 2 else None


def location_of(row: list[Any]) -> str:
    return str(row[5]) if len(row) > 5 and row[5] else TRUST_BACKED.format(row[0])


def read_rows(chain: str) -> Iterator[list[Any]]:
    """Give the rows of assets.json for *chain*, parsing its line only."""
    yield from read_line(FILE, chain) or ()


def identities_of(chain: "Chain", number: str, kind: str, location: str) -> tuple[str, ...]:
    """Return the names under which the network knows an asset of *chain*, seen from the relay
    chain."""
    if not location or (chain.role != "relay" and chain.para_id is None):
        return ()
    name = absolute(location, chain.para_id)
    if kind == "erc20" and chain.role == "dex":
        # Abroad, what a contract of the exchange holds goes by its number there.
        return (name, f"Parachain({chain.para_id})/GeneralIndex({number})")
    return (name,)


U32_MAX = 2**32 - 1
#: What the locations of an Asset Hub's own assets begin with.
_TRUST_BACKED = TRUST_BACKED.partition("{")[0]
#: The keys of a `[[chains.NAME.assets]]` table, and the kind of each value.
_KEYS: Mapping[str, str] = {
    "id": "a whole number or a text",
    "symbol": "a text",
    "name": "a text",
    "decimals": "a whole number",
    "existential_deposit": "a whole number or a text",
    "kind": "a text",
    "location": "a text",
    "pays_fees": "true or false",
}


def with_identities(
    chain: "Chain", rows: Iterable[list[Any]]
) -> list[tuple[list[Any], tuple[str, ...]]]:
    """Return the *rows* of assets.json for *chain*, each with its identities."""
    return [(row, identities_of(chain, row[0], kind_of(row), location_of(row))) for row in rows]


def read_ids(chain: "Chain", tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the id of each table in its one form: digits without leading zeros, or a location as
    *chain* sees it.

    Refuse unknown keys, values of another kind, and a table without id, symbol or decimals.
    """
    where, numbers = f"chains.{chain.name}.assets", []
    for table in tables:
        check_keys(where, table, _KEYS)
        if missing := {"id", "symbol", "decimals"} - table.keys():
            raise InvalidRequest(
                field=f"{where}.{min(missing)}",
                problem="is missing",
                expected="id, symbol and decimals",
            )
        number = str(table["id"])
        if number.isascii() and number.isdigit():
            number = number.lstrip("0") or "0"
        elif "/" in number and number[0] in "012":
            location = read_location(number, field=f"{where}.id")
            number = seen_from_within(chain, write_location(location))
        if number in numbers:
            raise InvalidRequest(
                field=f"{where}.id",
                problem=f"{shown(number)} is there twice",
                expected="one table for each id",
            )
        numbers.append(number)
    return numbers


def check_number(chain: "Chain", table: Mapping[str, Any], number: str) -> None:
    """Refuse an id that no asset of a pallet with numbered assets has."""
    # On the Asset Hub and the exchange ids have 32 bits; parachains choose.
    most = U128_MAX if chain.role == "parachain" else U32_MAX
    given = read_digits(number)
    if given is None or given > most:
        raise InvalidRequest(
            field=f"chains.{chain.name}.assets.id",
            value=table["id"],
            problem=f"is not a number from 0 to {most}",
        )


def read_place(
    chain: "Chain", table: Mapping[str, Any], number: str, native: str, kind: str
) -> str:
    """Return the location in *table*; without one *native*, or what follows from the id and the
    kind, or ""."""
    where = f"chains.{chain.name}.assets.location"
    text = table.get("location", native)
    if not text and kind == "assets" and chain.role != "parachain":
        text = TRUST_BACKED.format(number)
    if not text and kind == "foreign" and "/" in number:
        text = number
    return write_location(read_location(text, field=where)) if text else ""


def seen_from_within(chain: "Chain", location: str) -> str:
    """Return *location* in its one form: what lives on *chain* itself is seen from there."""
    if not location or (chain.para_id is None and chain.role != "relay"):
        return location
    return seen_from(absolute(location, chain.para_id), chain.para_id)


def check_place(chain: "Chain", number: str, kind: str, location: str) -> None:
    """Refuse a *location* that no asset of this id and kind has: another asset would be sent than
    the one that is named."""
    if not location:
        return
    where, expected = f"chains.{chain.name}.assets", ""
    facts = trust_of(chain)
    place = seen_from_within(chain, location)
    if kind == "native" and facts is not None:
        expected = facts.native
    elif kind == "foreign" and "/" in number:
        expected = number
    elif kind == "assets" and chain.role == "asset_hub":
        expected = TRUST_BACKED.format(number)
    if expected and place != expected:
        raise InvalidRequest(
            field=f"{where}.location",
            problem=f"{location} of id {shown(number)} is that of another asset",
            expected=expected,
        )
    if kind != "assets" and chain.role == "asset_hub" and place.startswith(_TRUST_BACKED):
        raise InvalidRequest(
            field=f"{where}.location",
            problem=f"{location} of id {shown(number)} is that of another asset",
            expected=f"id {place[len(_TRUST_BACKED) : -1]} with kind assets, or another location",
        )


def check_agreement(
    chain: "Chain",
    number: str,
    decimals: int,
    location: str,
    known: Iterable[tuple[list[Any], tuple[str, ...]]],
) -> None:
    """Refuse an asset with other decimals or another *location* than it has in the *known* rows, or
    with the location of another asset.

    Amounts would be wrong by a power of ten, or another asset would be sent than the one that is
    named.
    """
    where = f"chains.{chain.name}.assets"
    named = set(identities_of(chain, number, "", location))
    for row, identities in known:
        differs = named.isdisjoint(identities)
        if row[0] == number and decimals_of(row) not in (None, decimals):
            raise InvalidRequest(
                field=f"{where}.decimals",
                value=decimals,
                problem=f"is wrong: {_name_of(row)} of {chain.title} has {decimals_of(row)}",
                expected=str(decimals_of(row)),
            )
        if row[0] == number and location and identities and differs:
            raise InvalidRequest(
                field=f"{where}.location",
                problem=f"{location} is wrong: {_name_of(row)} of {chain.title} has "
                f"{location_of(row)}",
                expected=location_of(row),
            )
        if row[0] != number and not differs:
            raise InvalidRequest(
                field=f"{where}.location",
                problem=f"{location} of id {shown(number)} is that of {_name_of(row)} of "
                f"{chain.title}",
                expected=f"id {row[0]}, or another location",
            )


def shown(number: str) -> str:
    return number if number.isdigit() else shorten(number, 120)


def _name_of(row: list[Any]) -> str:
    return str(row[1]) if row[0] == row[1] else f"{row[1]} {row[0]}"
