"""The assets of each chain: `assets.json` (made by `tools/curate_assets.py`), the native ones, and
those of config.toml.

An id is unique, a symbol is a convenience: anybody can register a "USDT".  A symbol means its
canonical asset; one that fits several and has none is an error that names them.  Wherever a symbol
is printed, `Asset.display_name` or `Asset.amount` prints it: a look-alike then reads `USDT (asset
23, not the canonical USDT 10)`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.asset_rows import (
    TRUST_BACKED,
    U32_MAX,
    check_agreement,
    check_number,
    check_place,
    identities_of,
    kind_of,
    location_of,
    read_ids,
    read_place,
    read_rows,
    seen_from_within,
    shown,
    with_identities,
)
from scenarioctl.chains.locations import absolute, across, read_location, write_location
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.chains.trust import trust_of
from scenarioctl.errors import InvalidRequest, shorten, suggest
from scenarioctl.model.amounts import parse_raw, read_digits, to_whole

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable

#: How each kind is held, and so moved: Balances, Assets, ForeignAssets, Tokens, Currencies.
KINDS = ("native", "assets", "foreign", "tokens", "erc20")
#: The mark of an asset whose symbol means no asset of its chain for sure.
UNVERIFIED = "symbol not verified"
#: Whole tokens that nobody has: a thousand times what exists of any native asset, and of any other
#: that is known here.
_MOST_NATIVE, _MOST = 10**15, 10**18
#: The constant that is the existential deposit of the native asset, raw.
NATIVE_DEPOSIT = ("Balances", "ExistentialDeposit")


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One asset as one chain holds it."""

    #: The literal of the chain.
    chain: str
    #: As it is printed and stored: `0`, `1984`, on an Asset Hub the native asset's symbol.
    id: str
    symbol: str
    name: str = ""
    #: None if unknown: then only raw amounts can be used.
    decimals: int | None
    #: The smallest balance an account can hold, raw; None if unknown.
    existential_deposit: int | None = None
    kind: str
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


class Assets:
    """The assets of every chain of *registry*, read when first asked for."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        #: Chain -> id -> the asset, or its row until it is asked for: building 500 assets takes
        #: longer than reading them.
        self._tables: dict[str, dict[str, Asset | list[Any]]] = {}
        #: Chain -> symbol in lower case -> id of the canonical asset of that symbol, if it has one.
        self._canonical: dict[str, dict[str, str]] = {}
        #: Chain -> symbol in lower case -> how many of its assets have it.
        self._claims: dict[str, Counter[str]] = {}
        #: Chain -> identity of an asset in the network -> its id on that chain.
        self._by_identity: dict[str, dict[str, str]] = {}

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
        if "/" in text and text[0] in "012" and text not in self._table(chain):
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
        return tuple(self._built(chain, number) for number in tuple(self._table(chain)))

    def native(self, chain: Chain) -> Asset:
        """Return the asset that pays *chain*'s fees."""
        return self._built(chain, next(iter(self._table(chain))))

    def at(self, chain: Chain, location: str) -> Asset | None:
        """Return the asset that *chain* sees at *location*, or None if none is listed there."""
        for number, row in self._table(chain).items():
            if location and location == (
                row.location if isinstance(row, Asset) else location_of(row)
            ):
                return self._built(chain, number)
        return None

    def listed(self, chain: Chain, number: int) -> Asset | None:
        """Return the asset of *chain* with this id, or None if it lists none."""
        return self._built(chain, str(number)) if str(number) in self._table(chain) else None

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
        known = self._identities_on(destination)
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
        return "0" if asset.kind == "native" and "0" not in self._table(chain) else asset.id

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
        if asset.chain not in self._claims:
            rows = self._table(self.registry.find(asset.chain)).values()
            self._claims[asset.chain] = Counter(_symbol_of(row).casefold() for row in rows)
        if self._claims[asset.chain][asset.symbol.casefold()] < 2:
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

    def _mark(self, chain: Chain, number: str, symbol: str) -> str:
        """Return what is said beside the symbol of an asset that its symbol doesn't mean."""
        if not symbol:
            return ""
        meant = self._canonical[chain.name].get(symbol.casefold())
        if meant == number:
            return ""
        if meant is None:
            return UNVERIFIED
        other = self._table(chain)[meant]
        if isinstance(other, Asset) and other.kind == "native":
            return f"not the native {other.symbol}"
        return f"not the canonical {_symbol_of(other)} {meant}"

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
        if number in self._table(chain):
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
        known = self._identities_on(chain)
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
        table = self._table(chain)
        if text in table:
            return self._built(chain, text)
        meant = self._canonical[chain.name].get(text.casefold())
        if meant is not None:
            return self._built(chain, meant)
        fits = [
            self._built(chain, number)
            for number, row in table.items()
            if _symbol_of(row).casefold() == text.casefold()
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
        symbols = [
            _symbol_of(self._table(chain)[number])
            for number in self._canonical[chain.name].values()
        ]
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
            location=TRUST_BACKED.format(number),
            reserve=hub.name,
        )

    def _identities(self, asset: Asset) -> tuple[str, ...]:
        return identities_of(self.registry.find(asset.chain), asset.id, asset.kind, asset.location)

    def _identities_on(self, chain: Chain) -> Mapping[str, str]:
        """Return the ids of the assets that *chain* lists by their identities."""
        known = self._by_identity.get(chain.name)
        if known is None:
            known = self._by_identity[chain.name] = {}
            for number, row in self._table(chain).items():
                location, kind = (
                    (row.location, row.kind)
                    if isinstance(row, Asset)
                    else (location_of(row), kind_of(row))
                )
                for identity in identities_of(chain, number, kind, location):
                    known[identity] = number
        return known

    def _built(self, chain: Chain, number: str) -> Asset:
        table = self._table(chain)
        asset = table[number]
        if not isinstance(asset, Asset):
            asset = table[number] = self._from_row(chain, asset)
        return asset

    def _table(self, chain: Chain) -> dict[str, Asset | list[Any]]:
        """Return *chain*'s assets by id, the native one first."""
        table = self._tables.get(chain.name)
        if table is None:
            native = self._plain_native(chain)
            table = {native.id: native}
            rows = list(read_rows(chain.name))
            table.update((row[0], row) for row in rows)
            canonical = {
                _symbol_of(row).casefold(): number
                for number, row in table.items()
                if _is_canonical(row)
            }
            written = self.registry.asset_tables(chain)
            known = with_identities(chain, rows) if written else []
            ids = read_ids(chain, written)
            if not rows and native.id not in ids:
                known.append((_row_of(native), self._identities(native)))
            configured = []
            for number, one in zip(ids, written, strict=True):
                configured.append(asset := self._from_config(chain, number, one, native, known))
                known.append((_row_of(asset), self._identities(asset)))
            table.update((asset.id, asset) for asset in configured)
            self._tables[chain.name] = table
            self._canonical[chain.name] = _with_configured(canonical, table, configured)
            for asset in configured:
                table[asset.id] = replace(asset, mark=self._mark(chain, asset.id, asset.symbol))
            try:
                self._check_elsewhere(chain, configured)
            except InvalidRequest:
                # Whoever asks next is told too.
                del self._tables[chain.name]
                raise
        return table

    def _check_elsewhere(self, chain: Chain, configured: Sequence[Asset]) -> None:
        """Hold each asset of config.toml against the same one on the chains that back it."""
        hub = self.registry.asset_hub(chain)
        abroad = [each for each in self.registry.all() if each.role == "asset_hub"]
        for asset in configured:
            backing = [asset.reserve, "" if hub is None else hub.name]
            if "GlobalConsensus" in asset.location:
                backing += [each.name for each in abroad if f"({each.consensus})" in asset.location]
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

    def _plain_native(self, chain: Chain) -> Asset:
        relay = self.registry.relay_of(chain)
        facts = trust_of(chain)
        if facts is not None:
            location = facts.native
        else:
            location = "1/Here" if relay is not None and relay.symbol == chain.symbol else ""
        return Asset(
            chain=chain.name,
            id="0" if chain.role in ("relay", "dex") else chain.symbol,
            symbol=chain.symbol,
            name=chain.title,
            decimals=chain.decimals,
            kind="native",
            location=location,
            reserve=self.reserve_of(chain, location),
            pays_fees=True,
        )

    def _from_row(self, chain: Chain, row: list[Any]) -> Asset:
        number, symbol, decimals, deposit, _, _, pays, name = (row + [None] * (8 - len(row)))[:8]
        location = location_of(row)
        return Asset(
            chain=chain.name,
            id=number,
            symbol=symbol,
            name=name or "",
            decimals=decimals,
            existential_deposit=deposit,
            kind=kind_of(row),
            location=location,
            reserve=self.reserve_of(chain, location),
            pays_fees=pays,
            mark=self._mark(chain, number, symbol),
        )

    def _from_config(
        self,
        chain: Chain,
        identity: str,
        table: Mapping[str, Any],
        native: Asset,
        known: Sequence[tuple[list[Any], tuple[str, ...]]],
    ) -> Asset:
        where = f"chains.{chain.name}.assets"
        is_native = identity == native.id
        decimals = table["decimals"]
        if not 0 <= decimals <= 38:
            raise InvalidRequest(
                field=f"{where}.decimals", value=decimals, problem="is not from 0 to 38"
            )
        if is_native and decimals != chain.decimals:
            raise InvalidRequest(
                field=f"{where}.decimals",
                value=decimals,
                problem=f"contradicts chains.{chain.name}.decimals {chain.decimals}",
                expected="the same",
            )
        default = "native" if is_native else {"asset_hub": "assets"}.get(chain.role, "tokens")
        kind = table.get("kind", default)
        if kind not in KINDS or (kind == "native") != is_native:
            raise InvalidRequest(
                field=f"{where}.kind",
                value=kind,
                problem=f"does not fit {identity}",
                expected=f"one of: {', '.join(KINDS)}",
            )
        if kind in ("assets", "tokens", "erc20"):
            check_number(chain, table, identity)
        location = read_place(chain, table, identity, native.location if is_native else "", kind)
        check_agreement(chain, identity, decimals, location, known)
        check_place(chain, identity, kind, location)
        deposit = table.get("existential_deposit")
        return Asset(
            chain=chain.name,
            id=identity,
            symbol=table["symbol"],
            name=table.get("name", chain.title if is_native else ""),
            decimals=decimals,
            existential_deposit=None
            if deposit is None
            else parse_raw(deposit, field=f"{where}.existential_deposit", zero=True),
            kind=kind,
            location=seen_from_within(chain, location),
            reserve=self.reserve_of(chain, location),
            pays_fees=table.get("pays_fees", True if is_native else None),
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


def _row_of(asset: Asset) -> list[Any]:
    return [asset.id, asset.symbol, asset.decimals, None, asset.kind, asset.location]


def _symbol_of(row: Asset | list[Any]) -> str:
    return row.symbol if isinstance(row, Asset) else str(row[1])


def _is_canonical(row: Asset | list[Any]) -> bool:
    return row.kind == "native" if isinstance(row, Asset) else len(row) > 8 and row[8] is True


def _with_configured(
    canonical: dict[str, str], table: Mapping[str, Asset | list[Any]], configured: Sequence[Asset]
) -> dict[str, str]:
    """Return *canonical* as config.toml leaves it: an asset of config.toml is canonical if no other
    has its symbol."""
    renamed = {asset.id: asset.symbol.casefold() for asset in configured}
    meant = {
        symbol: number
        for symbol, number in canonical.items()
        if renamed.get(number, symbol) == symbol
    }
    for asset in configured:
        symbol = asset.symbol.casefold()
        if symbol not in meant and not any(
            _symbol_of(row).casefold() == symbol
            for number, row in table.items()
            if number != asset.id
        ):
            meant[symbol] = asset.id
    return meant
