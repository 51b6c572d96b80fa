"""The assets of each chain: `assets.json` (made by `tools/curate_assets.py`), the native ones, and
those of config.toml.

An id is unique, a symbol is a convenience: anybody can register a "USDT".  A symbol means its
canonical asset; one that fits several and has none is an error that names them.  Wherever a symbol
is printed, `Asset.display_name` or `Asset.amount` prints it: a look-alike then reads `USDT (asset
23, not the canonical USDT 10)`.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.asset_rows import (
    U32_MAX,
    AssetRow,
    identities_of,
    read_asset,
    read_rows,
    shown,
    trust_backed,
)
from scenarioctl.chains.locations import absolute, across, read_location, write_location
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest, shorten, suggest
from scenarioctl.model.amounts import read_digits, to_whole

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: The mark of an asset whose symbol means no asset of its chain for sure.
UNVERIFIED = "symbol not verified"
#: Whole tokens that nobody has: a thousand times what exists of any native asset, and of any other
#: that is known here.
_MOST_NATIVE, _MOST = 10**15, 10**18
#: The constant that is the existential deposit of the native asset, raw.
NATIVE_DEPOSIT = ("Balances", "ExistentialDeposit")


class Asset(NamedTuple):
    """One asset as one chain holds it."""

    #: The literal of the chain.
    chain: str
    #: As it is printed and stored: `0`, `1984`, on an Asset Hub the native asset's symbol.
    id: str
    symbol: str
    #: None if unknown: then only raw amounts can be used.
    decimals: int | None
    kind: str
    name: str = ""
    #: The smallest balance an account can hold, raw; None if unknown.
    existential_deposit: int | None = None
    #: In XCM, as its chain sees it: `1/Here`; "" if it is not known.
    location: str = ""
    #: The literal of the chain that backs it; "" if that is not in the registry.
    reserve: str = ""
    #: Whether its chain takes fees in it for messages that arrive; None if unknown.
    pays_fees: bool | None = None
    #: Why its symbol means another asset: `not the native DOT`; "" for the canonical asset of its
    #: symbol.
    mark: str = ""

    @property
    def display_name(self) -> str:
        """The asset wherever its symbol is printed: `USDT`, or `USDT (asset 23, not the canonical
        USDT 10)`."""
        if not self.symbol:
            return f"asset {self.id}"
        return f"{self.symbol} (asset {self.id}, {self.mark})" if self.mark else self.symbol

    @property
    def own_symbol(self) -> str:
        """The symbol if it means this asset; empty for one that only looks like another."""
        return "" if self.mark else self.symbol

    @property
    def label(self) -> str:
        """The asset by its id, for lists to choose from: `10 (USDT, Tether USD of Asset Hub)`."""
        if self.kind == "native":
            return f"{self.symbol} (the native asset)"
        if not self.symbol:
            return self.id
        return f"{self.id} ({', '.join(filter(None, (self.symbol, self.name, self.mark)))})"

    def amount(self, raw: int) -> str:
        """Return *raw* smallest units as a person reads them: `1.5 USDT`."""
        if self.decimals is None:
            return f"{raw} smallest units of {self.label}"
        return f"{to_whole(raw, self.decimals)} {self.display_name}"

    def known_deposit(self, table: "RuntimeTable | None") -> int | None:
        """Return the smallest balance, raw, without asking the chain; of a native asset the one
        that the runtime names."""
        if self.kind == "native" and table is not None:
            with suppress(InvalidRequest):
                return int(table.constant(*NATIVE_DEPOSIT))
        return self.existential_deposit

    def can_exist(self, raw: int) -> bool:
        """Return whether there can be so many smallest units of it; False for what is mistyped."""
        most = _MOST_NATIVE if self.kind == "native" else _MOST
        return self.decimals is None or raw <= most * 10**self.decimals

    def whole_amount(self, raw: int) -> str:
        """Return `amount` in whole tokens; empty if they are unknown."""
        return "" if self.decimals is None else self.amount(raw)


class _Listing:
    """The assets of one chain by id, the native one first."""

    def __init__(self, chain: Chain, rows: dict[str, AssetRow]) -> None:
        self.chain = chain
        self.rows = rows
        #: Building 500 assets takes longer than reading their rows.
        self.built: dict[str, Asset] = {}

    def is_unique(self, row: AssetRow) -> bool:
        """Tell whether no other asset has the symbol of *row*."""
        symbol = row.symbol.casefold()
        return all(
            each.id == row.id or each.symbol.casefold() != symbol for each in self.rows.values()
        )

    @cached_property
    def canonical(self) -> Mapping[str, AssetRow]:
        """The canonical asset of each symbol in lower case that has one."""
        return {row.symbol.casefold(): row for row in self.rows.values() if row.is_canonical}

    @cached_property
    def claims(self) -> Counter[str]:
        """How many of the assets have a symbol in lower case."""
        return Counter(row.symbol.casefold() for row in self.rows.values())

    @cached_property
    def identities(self) -> Mapping[str, str]:
        """The ids of the assets by their identities in the network."""
        return {
            identity: row.id
            for row in self.rows.values()
            for identity in identities_of(self.chain, row.id, row.kind, row.location)
        }

    def mark(self, row: AssetRow) -> str:
        """Return what is said beside the symbol of an asset that its symbol doesn't mean."""
        meant = self.canonical.get(row.symbol.casefold())
        if not row.symbol or row == meant:
            return ""
        if meant is None:
            return UNVERIFIED
        if meant.kind == "native":
            return f"not the native {meant.symbol}"
        return f"not the canonical {meant.symbol} {meant.id}"


class Assets:
    """The assets of every chain of *registry*, read when first asked for."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._listings: dict[str, _Listing] = {}

    def find(
        self,
        chain: Chain,
        asset_id: object,
        *,
        symbol: object = "",
        field: str = "assetid",
        diagram: bool = False,
    ) -> Asset:
        """Return the asset of *chain* that *asset_id* names: an id, a symbol, a location seen from
        *chain*, or `native`.

        *symbol* is what a diagram writes beside the id; it may not contradict it.  With *diagram*,
        an Asset Hub's 1000 with the native symbol is the native asset, as the editor writes it.
        """
        text = self._read_id(asset_id, field, chain)
        beside = symbol.strip() if isinstance(symbol, str) else ""
        native = self.native(chain)
        if text.lower() in ("native", native.symbol.lower()):
            return native
        if "/" in text and text[0] in "012" and text not in self._rows(chain):
            return self._find_location(chain, text, field)
        number = read_digits(text)
        if number is None:
            return self._find_symbol(chain, text, field)
        if (
            diagram
            and chain.role == "asset_hub"
            and text == "1000"
            and beside.lower() == native.symbol.lower()
        ):
            return native
        asset = self._find_number(chain, str(number), asset_id, field)
        if beside and asset.symbol and beside.lower() != asset.symbol.lower():
            mark = f" ({asset.mark})" if asset.mark else ""
            raise InvalidRequest(
                field=field,
                value=asset_id,
                problem=f"of {chain.title} is {asset.symbol}{mark}, not {shorten(beside)}",
                expected="an id and a symbol that agree",
            )
        return asset

    def all(self, chain: Chain) -> tuple[Asset, ...]:
        """Return every listed asset of *chain*, the native one first."""
        return tuple(self._built(chain, number) for number in self._rows(chain))

    def native(self, chain: Chain) -> Asset:
        """Return the asset that pays *chain*'s fees."""
        return self._built(chain, next(iter(self._rows(chain))))

    def at(self, chain: Chain, location: str) -> Asset | None:
        """Return the asset that *chain* sees at *location*, or None if none is listed there."""
        for row in self._rows(chain).values():
            if location and location == row.location:
                return self._built(chain, row.id)
        return None

    def listed(self, chain: Chain, number: int) -> Asset | None:
        """Return the asset of *chain* with this id, or None if it lists none."""
        return self._built(chain, str(number)) if str(number) in self._rows(chain) else None

    def named(self, chain: Chain, name: Any) -> Asset | None:
        """Return the asset that a runtime of *chain* names, by a number or a Location; None if it
        lists none."""
        return (
            self.listed(chain, name)
            if isinstance(name, int)
            else self.at(chain, write_location(name))
        )

    def counterpart(self, asset: Asset, destination: Chain) -> Asset | None:
        """Return the same asset as *destination* holds it, or None if it is not known to hold
        it."""
        wanted = self._identities(asset)
        if not wanted:
            return None
        if destination.name == asset.chain:
            return asset
        wanted = self._seen_beyond(wanted, self.registry.find(asset.chain), destination)
        known = self._listing(destination).identities
        for identity in wanted:
            if identity in known:
                return self._built(destination, known[identity])
        if destination.role == "asset_hub":
            own = f"Parachain({destination.para_id})/PalletInstance(50)/GeneralIndex("
            for identity in wanted:
                if identity.startswith(own):
                    return self._unlisted(destination, identity[len(own) : -1])
        return None

    def answered_id(self, chain: Chain, asset: Asset) -> str:
        """Return *asset*'s id as answers print it: `0` for the native one, unless the chain lists
        another asset as 0."""
        return "0" if asset.kind == "native" and "0" not in self._rows(chain) else asset.id

    def same_asset(self, a: Asset, b: Asset) -> bool:
        """Tell whether the two are one asset, held on one chain or on two."""
        if a.chain == b.chain:
            return a.id == b.id
        here, there = self.registry.find(a.chain), self.registry.find(b.chain)
        return not set(self._seen_beyond(self._identities(a), here, there)).isdisjoint(
            self._identities(b)
        )

    def told_apart(self, asset: Asset) -> str:
        """Return which of several assets the symbol of *asset* means: `1984, Tether USD`; empty if
        it needs no words."""
        if asset.kind == "native" or not asset.own_symbol:
            return ""
        claims = self._listing(self.registry.find(asset.chain)).claims
        if claims[asset.symbol.casefold()] < 2:
            return ""
        # A location is long, and the name says where it leads.
        return ", ".join(
            filter(None, ("" if "/" in asset.id and asset.name else asset.id, asset.name))
        )

    def _seen_beyond(
        self, identities: tuple[str, ...], here: Chain, there: Chain
    ) -> tuple[str, ...]:
        """Return *identities* under the relay chain of *here* as that of *there* sees them; none if
        no bridge joins the two."""
        if here.relay == there.relay:
            return identities if here.relay else ()
        if not here.consensus or not there.consensus:
            return ()
        return tuple(across(identity, here.consensus, there.consensus) for identity in identities)

    def _read_id(self, asset_id: object, field: str, chain: Chain) -> str:
        if isinstance(asset_id, bool) or not isinstance(asset_id, (str, int)):
            raise InvalidRequest(
                field=field,
                value=asset_id,
                problem="is not an asset",
                expected=f"an id or a symbol of {chain.title}, like {self._examples(chain)}",
            )
        if isinstance(asset_id, int) and not 0 <= asset_id < 2**128:
            raise self._unknown(chain, asset_id, field)
        text = str(asset_id).strip()
        if not text:
            raise InvalidRequest(
                field=field,
                value=asset_id,
                problem="is empty",
                expected=f"an id or a symbol of {chain.title}, like {self._examples(chain)}",
            )
        return text

    def _find_number(self, chain: Chain, number: str, given: object, field: str) -> Asset:
        if number in self._rows(chain):
            return self._built(chain, number)
        if number == "0":
            # Clients that send numbers only can name the native asset no other way.
            return self.native(chain)
        if chain.role == "asset_hub" and len(number) <= 10 and int(number) <= U32_MAX:
            return self._unlisted(chain, number)
        raise self._unknown(chain, given, field)

    def _find_location(self, chain: Chain, text: str, field: str) -> Asset:
        place = write_location(read_location(text, field=field))
        identity = absolute(place, chain.para_id)
        known = self._listing(chain).identities
        if identity in known:
            return self._built(chain, known[identity])
        own = f"{absolute('0/PalletInstance(50)', chain.para_id)}/GeneralIndex("
        if chain.role == "asset_hub" and identity.startswith(own):
            return self._find_number(chain, identity[len(own) : -1], text, field)
        if chain.role == "parachain":
            raise InvalidRequest(
                field=field,
                value=text,
                limit=120,
                problem=(
                    f"is not listed for {chain.title}: set its id, decimals and location in "
                    f"[[chains.{chain.name}.assets]]"
                ),
            )
        raise self._unknown(chain, text, field)

    def _find_symbol(self, chain: Chain, text: str, field: str) -> Asset:
        listing, symbol = self._listing(chain), text.casefold()
        meant = listing.rows.get(text) or listing.canonical.get(symbol)
        if meant is not None:
            return self._built(chain, meant.id)
        fits = [
            self._built(chain, row.id)
            for row in listing.rows.values()
            if row.symbol.casefold() == symbol
        ]
        if not fits:
            raise self._unknown(chain, text, field)
        if len(fits) > 1:
            candidates = ", ".join(asset.label for asset in fits)
            raise InvalidRequest(
                field=field,
                value=text,
                limit=120,
                problem=(
                    f"fits more than one asset of {chain.title}, none of which it is known to "
                    f"mean: {candidates}"
                ),
                expected="an id or a location",
            )
        return fits[0]

    def _unknown(self, chain: Chain, given: object, field: str) -> InvalidRequest:
        # Only a canonical asset is suggested: a slip of the finger must not end at a look-alike.
        symbols = [row.symbol for row in self._listing(chain).canonical.values()]
        otherwise = f"expected an id or a symbol like {self._examples(chain)}"
        return InvalidRequest(
            field=field,
            value=given,
            problem=(
                f"is not an asset of {chain.title} that is known here, "
                f"{suggest(given, symbols, otherwise=otherwise, cutoff=0.7)}"
            ),
        )

    def _examples(self, chain: Chain) -> str:
        native = self.native(chain)
        hub = self.registry.asset_hub(chain)
        shown = [
            f"{asset.id} ({asset.symbol})"
            for asset in self.all(chain)
            if asset is not native
            and asset.name
            and not asset.mark
            and hub is not None
            and asset.reserve == hub.name
        ]
        return (
            f"{', '.join([native.id, *shown[:1]])} or {shown[1]}"
            if len(shown) > 1
            else native.symbol
        )

    def _unlisted(self, hub: Chain, number: str) -> Asset:
        return Asset(
            chain=hub.name,
            id=number,
            symbol="",
            decimals=None,
            kind="assets",
            location=trust_backed(number),
            reserve=hub.name,
        )

    def _identities(self, asset: Asset) -> tuple[str, ...]:
        return identities_of(self.registry.find(asset.chain), asset.id, asset.kind, asset.location)

    def _built(self, chain: Chain, number: str) -> Asset:
        listing = self._listing(chain)
        asset = listing.built.get(number)
        if asset is None:
            row = listing.rows[number]
            asset = listing.built[number] = Asset(
                chain=chain.name,
                **{name: value for name, value in row._asdict().items() if name != "is_canonical"},
                reserve=self.reserve_of(chain, row.location),
                mark=listing.mark(row),
            )
        return asset

    def _rows(self, chain: Chain) -> Mapping[str, AssetRow]:
        return self._listing(chain).rows

    def _listing(self, chain: Chain) -> _Listing:
        listing = self._listings.get(chain.name)
        if listing is None:
            native = self._plain_native(chain)
            rows = {native.id: native} | {row.id: row for row in read_rows(chain.name)}
            configured: dict[str, AssetRow] = {}
            for table in self.registry.asset_tables(chain):
                row = read_asset(chain, table, native, rows, configured)
                rows[row.id] = configured[row.id] = row
            listing = self._listings[chain.name] = _Listing(chain, rows)
            unique = [row for row in configured.values() if listing.is_unique(row)]
            rows.update((row.id, row._replace(is_canonical=True)) for row in unique)
            try:
                for number in configured:
                    self._check_elsewhere(chain, self._built(chain, number))
            except InvalidRequest:
                # Whoever asks next is told too.
                del self._listings[chain.name]
                raise
        return listing

    def _check_elsewhere(self, chain: Chain, asset: Asset) -> None:
        """Hold an asset of config.toml against the same one on the chains that back it."""
        hub = self.registry.asset_hub(chain)
        backing = [asset.reserve, "" if hub is None else hub.name]
        if "GlobalConsensus" in asset.location:
            backing += [
                each.name
                for each in self.registry.all()
                if each.role == "asset_hub" and f"({each.consensus})" in asset.location
            ]
        for name in dict.fromkeys(each for each in backing if each not in ("", chain.name)):
            other = self.counterpart(asset, self.registry.find(name))
            if other is not None and other.decimals not in (None, asset.decimals):
                raise InvalidRequest(
                    field=f"chains.{chain.name}.assets.decimals",
                    value=asset.decimals,
                    problem=(
                        f"of id {shown(asset.id)} contradicts {other.label} of {name}: "
                        f"that is the same asset and has {other.decimals}"
                    ),
                    expected="the same decimals, or another location",
                )

    def _plain_native(self, chain: Chain) -> AssetRow:
        relay, facts = self.registry.relay_of(chain), trust_of(chain)
        if facts is not None:
            location = facts.native
        else:
            location = "1/Here" if relay is not None and relay.symbol == chain.symbol else ""
        return AssetRow(
            "0" if chain.role in ("relay", "dex") else chain.symbol,
            chain.symbol,
            chain.decimals,
            kind="native",
            location=location,
            pays_fees=True,
            name=chain.title,
            is_canonical=True,
        )

    def reserve_of(self, chain: Chain, location: str) -> str:
        """Return the chain that backs what lives at *location* as *chain* sees it.

        The relay's own asset is backed by the Asset Hub: in November 2025 its reserve was moved
        there.
        """
        if not location:
            return ""
        hub = self.registry.asset_hub(chain)
        identity = absolute(location, chain.para_id)
        if not identity:
            return hub.name if hub is not None else chain.relay
        home = identity.partition("/")[0]
        if hub is not None and home == f"Parachain({hub.para_id})":
            return hub.name
        if not home.startswith("Parachain("):
            return ""
        issuer = self.registry.parachain(chain, int(home[len("Parachain(") : -1]))
        return issuer.name if issuer is not None else ""
