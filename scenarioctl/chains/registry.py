"""The chains scenarioctl knows: those of `chains/chains.json`, and those that a user adds as
`[chains.NAME]` in config.toml.

To add one for everybody, add a row to `chains.json`.

Endpoints are from npm @polkadot/apps-config 0.171.1, and some from @paraspell/sdk-core 11.14.8 or
@subwallet/chain-list 0.2.89.  Genesis hashes are from npm @subwallet/chain-list 0.2.89, or follow
from the chain specs in npm @polkadot-api/known-chains 0.12.1; where both have a chain they agree.
`read` in `chains.json` is the day on which all were read.  No list has those of JAMTON and Xode, of
which config.toml may set `genesis`.

SS58 prefixes are `System.SS58Prefix` of the runtimes, whatever registries say: Hydration, Bifrost,
Bifrost Kusama and Pendulum changed to Polkadot's, and registries still list their old ones (63, 6,
6, 56).  For Bifrost Kusama, of which no new runtime was read: bifrost-io/bifrost, pull request
1537, and novasamatech/nova-utils@aedfd3971 (prefix 0, formerly 6).  Addresses are read with any
prefix.

Explorers are Subscan's, by the names that it gives to the chains; none for chains that may be
closing, or are for tests.

A row has the fields of `Chain` but for its name; `account_bytes` is the length of its accounts if
that isn't 32, and `note` is for readers.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from scenarioctl.chains.addresses import ACCOUNT_FORMATS, ACCOUNT_ID_32, AccountFormat
from scenarioctl.errors import InvalidRequest, NotFound, ScenarioctlError, fold, shorten, suggest
from scenarioctl.files import read_document
from scenarioctl.model.amounts import from_hex

#: What is said of Ethereum, to which a bridge leads.
_ETHEREUM = "is not a chain here: use app.snowbridge.network for transfers to and from Ethereum"


class Chain(NamedTuple):
    """One chain: its identity, its endpoints and its native asset."""

    #: The literal: typed, stored and printed.
    name: str
    title: str
    role: str
    #: Literal of the relay chain; a relay names itself, a chain without one has "".
    relay: str
    #: Of the native asset.
    symbol: str
    decimals: int
    para_id: int | None = None
    #: Hash of block 0; "" if unknown.
    genesis: str = ""
    #: What its runtime calls itself; "" if that wasn't read, or its table is bundled.
    spec_name: str = ""
    ss58_prefix: int = 42
    account_format: AccountFormat = ACCOUNT_ID_32
    endpoints: tuple[str, ...] = ()
    #: The page that shows a transaction, with `{hash}` in place of its hash; empty if there is
    #: none.
    explorer: str = ""
    #: Whether its endpoints are the user's own nodes, whose answers need no second endpoint.
    trusted: bool = False
    aliases: tuple[str, ...] = ()
    testnet: bool = False
    #: Why the chain may be closing, as a sentence; empty if nothing says so.
    doubt: str = ""
    #: The network of its relay chain by its name in XCM's `GlobalConsensus`; "" if no bridge is
    #: known to lead there. Written in the row of the relay chain, which hands it to the chains
    #: under it.
    consensus: str = ""

    def explorer_link(self, hash: str) -> str | None:
        """Return the page that shows the transaction *hash*, 0x hex; None if the chain has no
        explorer."""
        return self.explorer.replace("{hash}", hash) or None


#: The networks that bridges join, by their names in XCM's `GlobalConsensus`.
NETWORKS = ("Polkadot", "Kusama")


def _read(name: str, row: dict[str, Any]) -> Chain:
    """Return the chain of a row, of which it takes what `Chain` has no field for."""
    length = row.pop("account_bytes", ACCOUNT_ID_32.length)
    row.pop("note", None)
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    chain = Chain(name=name, account_format=ACCOUNT_FORMATS[length], **(row | lists))
    return chain._replace(genesis=chain.genesis.lower())


_ROWS = read_document(Path(__file__).with_name("chains.json"))
CHAINS = tuple(_read(name, row) for name, row in _ROWS.items() if name != "read")


class ClosedChain(NamedTuple):
    """A chain that no longer runs."""

    title: str
    #: Where its end was read, and when.
    source: str
    read: str
    #: Month and year of its last transactions; "" if no source names them.
    closed: str = ""
    #: What to use instead.
    instead: str = "choose another chain"
    #: Literal of its relay chain, and its para id, where other chains still list its assets.
    place: tuple[str, int] | None = None

    def __str__(self) -> str:
        return f"{self.title}, which {f'closed in {self.closed}' if self.closed else 'has closed'}"


@cache
def closed_chains() -> Mapping[str, ClosedChain]:
    """Return the chains that have closed, each with the source of that, by their literal without
    case, spaces, `_` and `-`."""
    return {
        name: ClosedChain(**{**row, "place": tuple(row["place"]) if "place" in row else None})
        for name, row in read_document(Path(__file__).with_name("closed.json")).items()
    }


def closed_parachain(relay: str, para_id: int) -> ClosedChain | None:
    """Return the closed chain that had this para id under the relay chain *relay*; None if none is
    known."""
    return next(
        (chain for chain in closed_chains().values() if chain.place == (relay, para_id)), None
    )


def find_closed(name: object) -> ClosedChain | None:
    """Return the closed chain called *name*, or by its title; None if there is none."""
    if not isinstance(name, str) or len(name) > 40:
        return None
    wanted = fold(name)
    titled = (chain for chain in closed_chains().values() if fold(chain.title) == wanted)
    return closed_chains().get(wanted) or next(titled, None)


__all__ = ["CHAINS", "ROLES", "Chain", "Registry"]

ROLES = ("relay", "asset_hub", "system", "dex", "contracts", "parachain")


#: The keys of a `[chains.NAME]` table, and the kind of each value.
KEYS: Mapping[str, str] = {
    "title": "a text",
    "role": "a text",
    "relay": "a text",
    "para_id": "a whole number",
    "genesis": "a text",
    "spec_name": "a text",
    "ss58_prefix": "a whole number",
    "account_bytes": "a whole number",
    "symbol": "a text",
    "decimals": "a whole number",
    "endpoints": "a list of texts",
    "explorer": "a text",
    "trusted": "true or false",
    "aliases": "a list of texts",
    "testnet": "true or false",
    "consensus": "a text",
    "assets": "a list of tables",
}
#: The keys that a new chain needs, and those that some roles need too: transfers cannot be
#: addressed without them.
_NEEDED = ("role", "symbol", "decimals")
_ADDRESS = dict.fromkeys(("asset_hub", "system", "dex"), ("relay", "para_id"))
#: What would work instead of an unknown name; all names would be too long for a sentence.
_EXPECTED = "one like polkadot, assetHub or hydraDx"
_LIST = "`chain list` shows them all."
#: The keys that may change a built-in chain: none that would make it another chain.
_OVERRIDES = ("endpoints", "explorer", "trusted", "assets")
#: Runtimes accept teleports only from and to system parachains, whose ids are below.
LOWEST_PUBLIC_PARA_ID = 2000


class Registry:
    """The built-in chains, and those of config.toml."""

    def __init__(self, extra: Mapping[str, Any] | None = None) -> None:
        """Read the `[chains.NAME]` tables *extra*; InvalidRequest names the key that cannot be
        used."""
        chains = {chain.name: chain for chain in CHAINS}
        self._asset_tables: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for name, table in (extra or {}).items():
            if not isinstance(table, Mapping):
                raise InvalidRequest(
                    field=f"chains.{name}",
                    value=table,
                    problem="is not a table",
                    expected=f"[chains.{name}] with role, symbol, …",
                )
            check_keys(f"chains.{name}", table, KEYS)
            _check_links(name, table)
            if name in chains:
                chains[name] = _override(chains[name], table)
            else:
                chains[name] = _read_chain(name, table)
            self._asset_tables[name] = tuple(table.get("assets", ()))
        self._chains = chains
        self._check_para_ids([chain for name, chain in chains.items() if name in (extra or {})])
        for chain in chains.values():
            self._check_relay(chain)
        for name, chain in chains.items():
            relay = chains.get(chain.relay)
            if relay is not None and chain.consensus != relay.consensus:
                chains[name] = chain._replace(consensus=relay.consensus)
        self._names = self._index()

    def find(self, name: object, *, field: str = "chain") -> Chain:
        """Return the chain called *name*, or by an alias or its title, whatever the case, spaces,
        `_` and `-`."""
        return self._find(name, field, InvalidRequest)

    def literal(self, name: object, *, error: type[ScenarioctlError] = InvalidRequest) -> str:
        """Return how what is stored calls the chain *name*, also one that has closed."""
        try:
            return self._find(name, "chain", error).name
        except error:
            for literal, closed in closed_chains().items():
                if closed is find_closed(name):
                    return literal
            raise

    def title_of(self, name: str) -> str:
        """Return what people call the chain *name*; the name itself if there is no such chain any
        more."""
        chain = self.known(name)
        return chain.title if chain else name

    def known(self, name: str) -> Chain | None:
        """Return the chain that something stored calls *name*; None if there is no such chain any
        more."""
        return self._names.get(name.lower())

    def find_in_path(self, name: object, *, field: str = "chain") -> Chain:
        """Return the chain called *name*; unknown, it is NotFound, since a path names a thing."""
        return self._find(name, field, NotFound)

    def all(self) -> tuple[Chain, ...]:
        return tuple(self._chains.values())

    def relay_of(self, chain: Chain) -> Chain | None:
        return self._chains.get(chain.relay)

    def asset_hub(self, chain: Chain) -> Chain | None:
        """Return the first Asset Hub under the same relay chain (which may be *chain* itself)."""
        for other in self._chains.values():
            if other.role == "asset_hub" and other.relay == chain.relay and chain.relay:
                return other
        return None

    def parachain(self, chain: Chain, para_id: int) -> Chain | None:
        """Return the first parachain with this id under the relay chain of *chain* (which may be
        *chain* itself)."""
        if chain.para_id == para_id:
            return chain
        for other in self._chains.values():
            if other.para_id == para_id and other.relay == chain.relay and chain.relay:
                return other
        return None

    def asset_tables(self, chain: Chain) -> tuple[Mapping[str, Any], ...]:
        """Return the `[[chains.NAME.assets]]` tables of *chain*, as written."""
        return self._asset_tables.get(chain.name, ())

    def _find(self, name: object, field: str, error: type[ScenarioctlError]) -> Chain:
        chain = None
        if isinstance(name, str) and name.isascii():
            chain = self._names.get(name.lower()) or self._folded.get(fold(name))
        if chain is None:
            closed = find_closed(name)
            if closed is not None:
                raise error(field=field, value=name, problem=f"is {closed}: {closed.instead}")
            if isinstance(name, str) and fold(name) == "ethereum":
                raise error(field=field, value=name, problem=_ETHEREUM)
            if question := self._suggest(name):
                raise error(field=field, value=name, problem=f"is not a chain, {question}")
            raise error(
                field=field, value=name, problem="is not a chain", expected=_EXPECTED, advice=_LIST
            )
        return chain

    def _suggest(self, name: object) -> str:
        """Return the chain that *name* may mean, in a question; empty if it means none."""
        spellings = {
            spelling: chain.name
            for chain in self._chains.values()
            for spelling in (chain.name, *chain.aliases, chain.title)
        }
        return suggest(name, spellings, otherwise="", cutoff=0.7)

    @cached_property
    def _folded(self) -> Mapping[str, Chain | None]:
        """Names and aliases, and titles that are none, without case and separators; None where one
        fits two chains."""
        names: dict[str, Chain | None] = {}
        titles: dict[str, Chain | None] = {}
        for chain in self._chains.values():
            for name in {fold(each) for each in (chain.name, *chain.aliases)}:
                names[name] = None if name in names else chain
            title = fold(chain.title)
            titles[title] = None if title in titles else chain
        return {**titles, **names}

    def _index(self) -> dict[str, Chain]:
        names: dict[str, Chain] = {}
        for chain in self._chains.values():
            for name in (chain.name, *chain.aliases):
                other = names.setdefault(name.lower(), chain)
                if other is not chain:
                    raise InvalidRequest(
                        field=f"chains.{chain.name}",
                        problem=f": the name {shorten(name)} belongs to {other.title} already",
                        expected="another one",
                    )
        return names

    def _check_para_ids(self, declared: Iterable[Chain]) -> None:
        """Refuse two names in config.toml for one parachain: messages to both would go to the same
        one."""
        names: dict[tuple[str, int], str] = {}
        for chain in declared:
            if chain.para_id is not None and chain.relay:
                other = names.setdefault((chain.relay, chain.para_id), chain.name)
                if other != chain.name:
                    raise InvalidRequest(
                        field=f"chains.{chain.name}.para_id",
                        value=chain.para_id,
                        problem=f"is that of chains.{other} too, under {chain.relay}",
                        expected=(
                            f"one name: remove [chains.{other}] or [chains.{chain.name}], and "
                            "make the other name one of its aliases"
                        ),
                    )

    def _check_relay(self, chain: Chain) -> None:
        relay = self._chains.get(chain.relay)
        if chain.relay and (relay is None or relay.role != "relay"):
            relays = ", ".join(
                other.name for other in self._chains.values() if other.role == "relay"
            )
            raise InvalidRequest(
                field=f"chains.{chain.name}.relay",
                value=chain.relay,
                problem="is not a relay chain",
                expected=f"one of: {relays}",
            )


def check_keys(where: str, table: Mapping[str, Any], keys: Mapping[str, str]) -> None:
    """Refuse keys of a table of config.toml that aren't among *keys*, and values of another
    kind."""
    for key, value in table.items():
        kind = keys.get(key)
        if kind is None:
            raise InvalidRequest(
                field=where,
                problem=f"has the unknown key {shorten(key)}",
                expected=f"one of: {', '.join(keys)}",
            )
        if not _is_kind(value, kind):
            raise InvalidRequest(field=f"{where}.{key}", value=value, problem=f"is not {kind}")


def _check_links(name: str, table: Mapping[str, Any]) -> None:
    for endpoint in table.get("endpoints", ()):
        if not endpoint.startswith(("ws://", "wss://")):
            raise InvalidRequest(
                field=f"chains.{name}.endpoints",
                # It may hold a password.
                value="…" if "@" in endpoint else endpoint,
                problem="is not an endpoint",
                expected="one like wss://rpc.example.org",
            )
    explorer = table.get("explorer", "")
    if explorer and not _is_template(explorer):
        raise InvalidRequest(
            field=f"chains.{name}.explorer",
            value=explorer,
            problem="is not a link to an explorer",
            expected=(
                "one like https://explorer.example.org/extrinsic/{hash}, or an empty text for none"
            ),
        )


def _is_template(text: str) -> bool:
    """Return whether *text* is an https link whose path or query has one `{hash}`, and no other
    braces."""
    return (
        re.fullmatch(r"https://[A-Za-z0-9.-]+(:\d{1,5})?/[!-z|~]*\{hash\}[!-z|~]*", text)
        is not None
    )


_TYPES: Mapping[str, tuple[type, ...]] = {
    "a text": (str,),
    "a whole number": (int,),
    "a whole number or a text": (int, str),
    "true or false": (bool,),
    "a list of texts": (str,),
    "a list of tables": (Mapping,),
}


def _is_kind(value: object, kind: str) -> bool:
    if kind.startswith("a list"):
        return isinstance(value, (list, tuple)) and all(
            isinstance(entry, _TYPES[kind]) for entry in value
        )
    return isinstance(value, _TYPES[kind]) and (
        isinstance(value, bool) == (kind == "true or false")
        and not (isinstance(value, int) and value < 0)
    )


def _override(chain: Chain, table: Mapping[str, Any]) -> Chain:
    built_in = {
        **chain._asdict(),
        "aliases": list(chain.aliases),
        "account_bytes": chain.account_format.length,
    }
    for key, value in table.items():
        # What agrees may stay: the chain may have been declared before it was built in.
        is_unread = key == "genesis" and not chain.genesis
        if key not in _OVERRIDES and value != built_in.get(key) and not is_unread:
            raise InvalidRequest(
                field=f"chains.{chain.name}.{key}",
                problem=f"cannot be changed, {chain.title} is built in",
                expected=f"{', '.join(_OVERRIDES)}, or a new name",
            )
    trusted = table.get("trusted", False)
    if trusted and not table.get("endpoints"):
        raise InvalidRequest(
            field=f"chains.{chain.name}.trusted",
            problem="is only for nodes of your own",
            expected=f"their endpoints in chains.{chain.name}.endpoints",
        )
    _check_values(chain.name, {key: table[key] for key in ("genesis",) if key in table})
    endpoints = tuple(table["endpoints"]) if "endpoints" in table else chain.endpoints
    return chain._replace(
        genesis=table.get("genesis", chain.genesis).lower(),
        endpoints=endpoints,
        trusted=trusted,
        explorer=table.get("explorer", chain.explorer),
    )


def _check_values(name: str, table: Mapping[str, Any]) -> None:
    """Refuse values that no chain can have."""
    plain = name.replace("_", "").replace("-", "")
    if not (plain.isascii() and plain.isalnum()):
        raise InvalidRequest(
            field=f"chains.{shorten(name)}",
            problem="is not a name for a chain",
            expected="letters, digits, - and _",
        )
    role, consensus = table.get("role"), table.get("consensus", "")
    length, para_id = table.get("account_bytes", ACCOUNT_ID_32.length), table.get("para_id", 0)
    # Accounts of 20 bytes are not written with a prefix, and their chains have any number.
    prefixes = 16383 if length == ACCOUNT_ID_32.length else 2**16 - 1
    rules = (
        ("role", role in (None, *ROLES), "is not a role", f"one of: {', '.join(ROLES)}"),
        ("symbol", table.get("symbol", "UNIT") != "", "is empty", "one like DOT"),
        (
            "relay",
            role != "relay" or table.get("relay", name) == name,
            f"is another chain, but {name} is a relay",
            f"{name!r}, or none",
        ),
        (
            "consensus",
            not consensus or role in ("relay", None),
            "belongs in the table of its relay chain",
            f"none in a table with role {role}",
        ),
        (
            "consensus",
            consensus in ("", *NETWORKS),
            "is not the network of a relay chain that a bridge leads to",
            f"one of: {', '.join(NETWORKS)}",
        ),
        # Teleports to it would burn DOT: no such chain mints what it gets.
        (
            "para_id",
            role not in ("asset_hub", "system") or para_id < LOWEST_PUBLIC_PARA_ID,
            "is not that of a system chain",
            f'one below {LOWEST_PUBLIC_PARA_ID}, or role = "parachain"',
        ),
        (
            "genesis",
            not table.get("genesis") or len(from_hex(table["genesis"]) or b"") == 32,
            "is not a block hash",
            "0x and 64 hex digits",
        ),
        (
            "account_bytes",
            length in ACCOUNT_FORMATS,
            "is not the length of an account",
            f"one of: {', '.join(map(str, ACCOUNT_FORMATS))}",
        ),
        *(
            (key, table.get(key, 0) <= limit, "is too large", f"at most {limit}")
            for key, limit in (("ss58_prefix", prefixes), ("decimals", 38), ("para_id", 2**32 - 1))
        ),
    )
    for key, right, problem, expected in rules:
        if not right:
            raise InvalidRequest(
                field=f"chains.{name}.{key}",
                value=table[key],
                limit=80,
                problem=problem,
                expected=expected,
            )


def _read_chain(name: str, table: Mapping[str, Any]) -> Chain:
    """Return the chain of a table of config.toml; InvalidRequest if it lacks something."""
    _check_values(name, table)
    needed = (*_NEEDED, *_ADDRESS.get(str(table.get("role")), ()))
    if missing := [key for key in needed if key not in table]:
        raise InvalidRequest(
            field=f"chains.{name}",
            problem=f"lacks {', '.join(missing)}",
            expected=(
                f"a whole table: scenarioctl config set chains.{name} "
                '\'{role = "relay", symbol = "UNIT", decimals = 12}\''
            ),
        )
    is_relay = table["role"] == "relay"
    row = {"title": name, "relay": name if is_relay else "", "testnet": True, **table}
    row.pop("assets", None)
    return _read(name, row | {"para_id": None} if is_relay else row)
