"""The rows of `assets.json`, and the `[[chains.NAME.assets]]` tables of config.toml.

`assets.json` has one line for each chain, parsed when that chain is first asked for.  A table of
config.toml has to be readable, and to agree with what is built in: amounts would else be wrong by a
power of ten, or another asset would be sent than the one that is named.
"""

from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.locations import absolute, read_location, seen_from, write_location
from scenarioctl.chains.registry import check_keys
from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.files import read_line
from scenarioctl.model.amounts import U128_MAX, parse_raw, read_digits

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


FILE = Path(__file__).with_name("assets.json")
U32_MAX = 2**32 - 1
#: How each kind is held, and so moved: Balances, Assets, ForeignAssets, Tokens, Currencies.
KINDS = ("native", "assets", "foreign", "tokens", "erc20")
#: What the locations of an Asset Hub's own, trust-backed assets begin with.
_TRUST_BACKED = "0/PalletInstance(50)/GeneralIndex("
#: The keys of a `[[chains.NAME.assets]]` table, and the kind of each value.
_KEYS: Mapping[str, str] = {
    "id": "a whole number or a text",
    "symbol": "a text",
    "decimals": "a whole number",
    "name": "a text",
    "existential_deposit": "a whole number or a text",
    "kind": "a text",
    "location": "a text",
    "pays_fees": "true or false",
}
_NEEDED = tuple(_KEYS)[:3]


class AssetRow(NamedTuple):
    """An asset of a chain as its table has it, in the order of `assets.json`."""

    id: str
    symbol: str
    decimals: int | None = None
    existential_deposit: int | None = None
    kind: str = "assets"
    location: str = ""
    pays_fees: bool | None = None
    name: str = ""
    #: Whether its symbol means this asset.
    is_canonical: bool = False

    @property
    def label(self) -> str:
        return self.symbol if self.id == self.symbol else f"{self.symbol} {self.id}"


def trust_backed(number: str) -> str:
    """Return where an Asset Hub keeps its own asset with this id."""
    return f"{_TRUST_BACKED}{number})"


def read_rows(chain: str) -> Iterator[AssetRow]:
    """Give the rows of assets.json for *chain*, parsing its line only."""
    for row in read_line(FILE, chain) or ():
        cells: list[Any] = row + [None] * (9 - len(row))
        number, symbol, decimals, deposit, kind, place, pays_fees, name, is_canonical = cells
        location = place or trust_backed(number)
        more = (kind or "assets", location, pays_fees, name or "", bool(is_canonical))
        yield AssetRow(number, symbol, decimals, deposit, *more)


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


def read_asset(
    chain: "Chain",
    table: Mapping[str, Any],
    native: AssetRow,
    rows: Mapping[str, AssetRow],
    taken: Container[str],
) -> AssetRow:
    """Return the asset in a *table* of config.toml, whose id none that is *taken* has;
    InvalidRequest names the key that can't be used, or that contradicts *rows*, the other assets
    of *chain*."""
    where = f"chains.{chain.name}.assets"
    check_keys(where, table, _KEYS)
    if missing := [key for key in _NEEDED if key not in table]:
        raise InvalidRequest(
            field=f"{where}.{missing[0]}", problem="is missing", expected=", ".join(_NEEDED)
        )
    number = _read_id(chain, table["id"])
    if number in taken:
        raise InvalidRequest(
            field=f"{where}.id",
            problem=f"{shown(number)} is there twice",
            expected="one table for each id",
        )
    is_native = number == native.id
    default = "native" if is_native else {"asset_hub": "assets"}.get(chain.role, "tokens")
    kind = table.get("kind", default)
    deposit = table.get("existential_deposit")
    place = _place_of(chain, kind, number)
    row = AssetRow(
        number,
        table["symbol"],
        table["decimals"],
        None
        if deposit is None
        else parse_raw(deposit, field=f"{where}.existential_deposit", zero=True),
        kind,
        _read_place(chain, table["location"])
        if table.get("location")
        else (native.location if is_native else place),
        table.get("pays_fees", True if is_native else None),
        table.get("name", chain.title if is_native else ""),
    )
    for key, right, problem, expected in _rules(chain, row, place, is_native=is_native):
        if not right:
            raise InvalidRequest(
                field=f"{where}.{key}", value=table.get(key, row.id), limit=120, problem=problem,
                expected=expected,
            )  # fmt: skip
    for other in rows.values():
        _compare(chain, row, other, is_native=is_native)
    known = rows.get(number)
    return row._replace(is_canonical=known is not None and known[:2] == row[:2] and known[8])


def _read_id(chain: "Chain", given: object) -> str:
    """Return an id in its one form: digits without leading zeros, or a location as *chain* sees
    it."""
    number = str(given)
    if number.isascii() and number.isdigit():
        return number.lstrip("0") or "0"
    return _read_place(chain, number) if "/" in number and number[0] in "012" else number


def _read_place(chain: "Chain", text: str) -> str:
    """Return a location in its one form: what lives on *chain* itself is seen from there."""
    field = f"chains.{chain.name}.assets.location"
    place = write_location(read_location(text, field=field))
    if chain.para_id is None and chain.role != "relay":
        return place
    return seen_from(absolute(place, chain.para_id), chain.para_id)


def _place_of(chain: "Chain", kind: str, number: str) -> str:
    """Return the only location that an asset of this kind and id can have; "" if it can have
    several."""
    if kind == "native":
        facts = trust_of(chain)
        return "" if facts is None else facts.native
    if kind == "foreign" and "/" in number:
        return number
    return trust_backed(number) if kind == "assets" and chain.role == "asset_hub" else ""


def _rules(
    chain: "Chain", row: AssetRow, place: str, *, is_native: bool
) -> Iterator[tuple[str, bool, str, str]]:
    """Give for each rule the key that it is about, whether it is kept, what is wrong if not, and
    what is expected."""
    decimals = row.decimals or 0
    yield "decimals", 0 <= decimals <= 38, "is not from 0 to 38", ""
    yield (
        "decimals",
        not is_native or decimals == chain.decimals,
        f"contradicts chains.{chain.name}.decimals {chain.decimals}",
        "the same",
    )
    fits = row.kind in KINDS and (row.kind == "native") == is_native
    yield "kind", fits, f"does not fit {row.id}", f"one of: {', '.join(KINDS)}"
    # On the Asset Hub and the exchange ids have 32 bits; parachains choose.
    most = U128_MAX if chain.role == "parachain" else U32_MAX
    given = read_digits(row.id)
    is_number = given is not None and given <= most
    numbered = row.kind in ("assets", "tokens", "erc20")
    yield "id", is_number or not numbered, f"is not a number from 0 to {most}", ""
    another = f"of id {shown(row.id)} is that of another asset"
    yield "location", not place or row.location == place, another, place
    is_own = chain.role == "asset_hub" and row.location.startswith(_TRUST_BACKED)
    yield (
        "location",
        row.kind == "assets" or not is_own,
        another,
        (f"id {row.location[len(_TRUST_BACKED) : -1]} with kind assets, or another location"),
    )


def _compare(chain: "Chain", row: AssetRow, other: AssetRow, *, is_native: bool) -> None:
    """Refuse *row* if it is the *other* one with other decimals or another location, or a second
    one with its location."""
    here, there = (identities_of(chain, each.id, each.kind, each.location) for each in (row, other))
    differs = set(here).isdisjoint(there)
    if row.id != other.id:
        key, is_wrong, right = "location", not differs, f"id {other.id}, or another location"
    elif other.decimals not in (None, row.decimals):
        key, is_wrong, right = "decimals", True, str(other.decimals)
    else:
        is_wrong = differs and bool(here and there) and not is_native
        key, right = "location", other.location
    if is_wrong:
        raise InvalidRequest(
            field=f"chains.{chain.name}.assets.{key}",
            problem=f"{getattr(row, key)} of id {shown(row.id)} contradicts {other.label} of "
            f"{chain.title}",
            expected=right,
        )


def shown(number: str) -> str:
    return number if number.isdigit() else shorten(number, 120)
