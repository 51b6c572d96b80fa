"""The chains scenarioctl knows.  To add one for everybody, add a row to CHAINS; for yourself, a `[chains.NAME]` table to config.toml."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS, ACCOUNT_ID_32, AccountFormat
from scenarioctl.errors import InvalidRequest, NotFound, ScenarioctlError, fold, shorten, suggest
from scenarioctl.model.hexadecimal import from_hex

ROLES = ("relay", "asset_hub", "dex", "contracts", "parachain")


@dataclass(frozen=True, kw_only=True)
class Chain:
    """One chain: its identity, its endpoints and its native asset."""

    #: The literal: typed, stored and printed.
    name: str
    title: str
    role: str
    #: Literal of the relay chain; a relay names itself, a chain without one has "".
    relay: str
    para_id: int | None = None
    #: Hash of block 0; "" if unknown.
    genesis: str = ""
    ss58_prefix: int = 42
    account_format: AccountFormat = ACCOUNT_ID_32
    symbol: str
    decimals: int
    endpoints: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    testnet: bool = False


CHAINS = (
    Chain(
        name="polkadot",
        title="Polkadot",
        role="relay",
        relay="polkadot",
        genesis="0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3",
        ss58_prefix=0,
        symbol="DOT",
        decimals=10,
        endpoints=(
            "wss://polkadot-rpc.publicnode.com",
            "wss://polkadot-rpc.n.dwellir.com",
            "wss://polkadot.api.onfinality.io/public-ws",
            "wss://rpc-polkadot.luckyfriday.io",
        ),
    ),
    Chain(
        name="assetHub",
        title="Polkadot Asset Hub",
        role="asset_hub",
        relay="polkadot",
        para_id=1000,
        genesis="0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f",
        ss58_prefix=0,
        symbol="DOT",
        decimals=10,
        endpoints=(
            "wss://polkadot-asset-hub-rpc.polkadot.io",
            "wss://asset-hub-polkadot-rpc.n.dwellir.com",
            "wss://statemint.api.onfinality.io/public-ws",
            "wss://rpc-asset-hub-polkadot.luckyfriday.io",
        ),
        aliases=("asset-hub", "statemint", "assetHub_polkadot"),
    ),
    Chain(
        name="hydraDx",
        title="Hydration",
        role="dex",
        relay="polkadot",
        para_id=2034,
        genesis="0xafdc188f45c71dacbaa0b62e16a91f726c7b8699a9748cdf715459de6b7f366d",
        ss58_prefix=0,
        symbol="HDX",
        decimals=12,
        endpoints=(
            "wss://rpc.hydradx.cloud",
            "wss://hydration-rpc.n.dwellir.com",
            "wss://rpc.helikon.io/hydradx",
        ),
        aliases=("hydration",),
    ),
    Chain(
        name="kusama",
        title="Kusama",
        role="relay",
        relay="kusama",
        genesis="0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe",
        ss58_prefix=2,
        symbol="KSM",
        decimals=12,
        endpoints=(
            "wss://kusama-rpc.publicnode.com",
            "wss://kusama-rpc.n.dwellir.com",
            "wss://kusama.api.onfinality.io/public-ws",
            "wss://rpc-kusama.luckyfriday.io",
        ),
    ),
    Chain(
        name="assetHub_kusama",
        title="Kusama Asset Hub",
        role="asset_hub",
        relay="kusama",
        para_id=1000,
        genesis="0x48239ef607d7928874027a43a67689209727dfb3d3dc5e5b03a39bdc2eda771a",
        ss58_prefix=2,
        symbol="KSM",
        decimals=12,
        endpoints=(
            "wss://kusama-asset-hub-rpc.polkadot.io",
            "wss://asset-hub-kusama-rpc.n.dwellir.com",
            "wss://assethub-kusama.api.onfinality.io/public-ws",
            "wss://rpc-asset-hub-kusama.luckyfriday.io",
        ),
        aliases=("kusama_assethub", "statemine"),
    ),
    Chain(
        name="paseo",
        title="Paseo",
        role="relay",
        relay="paseo",
        # Since the network was started anew in 2026; the Paseo of 2024 was 0x77afd619….
        genesis="0x374057be67b355151f271ff70c3db98308c62c8adc48dc6724b6a009a1a014fd",
        ss58_prefix=42,
        symbol="PAS",
        decimals=10,
        endpoints=("wss://paseo-rpc.n.dwellir.com", "wss://paseo.rpc.amforc.com"),
        testnet=True,
    ),
    Chain(
        name="assetHub_paseo",
        title="Paseo Asset Hub",
        role="asset_hub",
        relay="paseo",
        para_id=1000,
        genesis="0xd6eec26135305a8ad257a20d003357284c8aa03d0bdb2b357ab0a22371e11ef2",
        ss58_prefix=42,
        symbol="PAS",
        decimals=10,
        endpoints=("wss://asset-hub-paseo-rpc.n.dwellir.com", "wss://sys.turboflakes.io/asset-hub-paseo"),
        aliases=("paseo_assethub",),
        testnet=True,
    ),
    Chain(
        name="pop",
        title="Pop Network Testnet",
        role="contracts",
        relay="paseo",
        para_id=4001,
        ss58_prefix=42,
        symbol="PAS",
        decimals=10,
        endpoints=("wss://rpc1.paseo.popnetwork.xyz",),
        testnet=True,
    ),
    Chain(
        name="passetHub",
        title="Passet Hub",
        role="contracts",
        relay="paseo",
        para_id=1111,
        genesis="0xfd974cf9eaf028f5e44b9fdd1949ab039c6cf9cc54449b0b60d71b042e79aeb6",
        ss58_prefix=42,
        symbol="PAS",
        decimals=10,
        endpoints=("wss://testnet-passet-hub.polkadot.io",),
        aliases=("passet-hub",),
        testnet=True,
    ),
)

#: The keys of a `[chains.NAME]` table, and the kind of each value.
_KEYS: Mapping[str, str] = {
    "title": "a text",
    "role": "a text",
    "relay": "a text",
    "para_id": "a whole number",
    "genesis": "a text",
    "ss58_prefix": "a whole number",
    "account_bytes": "a whole number",
    "symbol": "a text",
    "decimals": "a whole number",
    "endpoints": "a list of texts",
    "aliases": "a list of texts",
    "testnet": "true or false",
    "assets": "a list of tables",
}
#: The keys that may change a built-in chain: none that would make it another chain.
_OVERRIDES = ("endpoints", "assets")


class Registry:
    """The built-in chains and those of config.toml."""

    def __init__(self, extra: Mapping[str, Any] | None = None) -> None:
        """Read the `[chains.NAME]` tables *extra*; InvalidRequest names the key that cannot be used."""
        chains = {chain.name: chain for chain in CHAINS}
        self._asset_tables: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for name, table in (extra or {}).items():
            if not isinstance(table, Mapping):
                raise InvalidRequest(
                    f"chains.{name} {shorten(table)} is not a table, expected [chains.{name}] with role, symbol, …"
                )
            _check_keys(name, table)
            if name in chains:
                chains[name] = _override(chains[name], table)
            else:
                chains[name] = _read_chain(name, table)
            self._asset_tables[name] = tuple(table.get("assets", ()))
        self._chains = chains
        self._names = self._index()
        for chain in chains.values():
            self._check_relay(chain)

    def find(self, name: object, *, field: str = "chain") -> Chain:
        """Return the chain called *name*, or by an alias or its title, whatever the case, spaces, `_` and `-`."""
        return self._find(name, field, InvalidRequest)

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
        """Return the first parachain with this id under the relay chain of *chain* (which may be *chain* itself)."""
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
            raise error(f"{field} {shorten(name)} is not a chain, {self._suggest(name)}")
        return chain

    def _suggest(self, name: object) -> str:
        """Return the chain that *name* may mean, in a question, or all of them."""
        spellings = {
            spelling: chain.name
            for chain in self._chains.values()
            for spelling in (chain.name, *chain.aliases, chain.title)
        }
        return suggest(name, spellings, otherwise=f"expected one of: {', '.join(self._chains)}", cutoff=0.7)

    @cached_property
    def _folded(self) -> Mapping[str, Chain | None]:
        """Names and aliases, and titles that are none, without case and separators; None where one fits two chains."""
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
                        f"chains.{chain.name}: the name {shorten(name)} belongs to {other.name} already, expected another one"
                    )
        return names

    def _check_relay(self, chain: Chain) -> None:
        if not chain.relay:
            return
        relay = self._chains.get(chain.relay)
        if relay is None or relay.role != "relay":
            relays = ", ".join(other.name for other in self._chains.values() if other.role == "relay")
            raise InvalidRequest(
                f"chains.{chain.name}.relay {shorten(chain.relay)} is not a relay chain, expected one of: {relays}"
            )


def _check_keys(name: str, table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        kind = _KEYS.get(key)
        if kind is None:
            raise InvalidRequest(
                f"chains.{name} has the unknown key {shorten(key)}, expected one of: {', '.join(_KEYS)}"
            )
        if not _is_kind(value, kind):
            raise InvalidRequest(f"chains.{name}.{key} {shorten(value)} is not {kind}")
    for endpoint in table.get("endpoints", ()):
        if not endpoint.startswith(("ws://", "wss://")):
            raise InvalidRequest(
                f"chains.{name}.endpoints {shorten(endpoint)} is not an endpoint, expected one like wss://rpc.example.org"
            )


def _is_kind(value: object, kind: str) -> bool:
    if kind == "a text":
        return isinstance(value, str)
    if kind == "a whole number":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if kind == "true or false":
        return isinstance(value, bool)
    if not isinstance(value, (list, tuple)):
        return False
    item = str if kind == "a list of texts" else Mapping
    return all(isinstance(entry, item) for entry in value)


def _override(chain: Chain, table: Mapping[str, Any]) -> Chain:
    for key in table:
        if key not in _OVERRIDES:
            raise InvalidRequest(
                f"chains.{chain.name}.{key} cannot be changed, {chain.name} is built in: expected {' or '.join(_OVERRIDES)}, or a new name"
            )
    return replace(chain, endpoints=tuple(table["endpoints"])) if "endpoints" in table else chain


def _read_chain(name: str, table: Mapping[str, Any]) -> Chain:
    plain = name.replace("_", "").replace("-", "")
    if not (plain.isascii() and plain.isalnum()):
        raise InvalidRequest(
            f"chains.{shorten(name)} is not a name for a chain, expected letters, digits, - and _"
        )
    for key in ("role", "symbol", "decimals"):
        if key not in table:
            raise InvalidRequest(f"chains.{name}.{key} is missing, expected role, symbol and decimals")
    role = table["role"]
    if role not in ROLES:
        raise InvalidRequest(
            f"chains.{name}.role {shorten(role)} is not a role, expected one of: {', '.join(ROLES)}"
        )
    if not table["symbol"]:
        raise InvalidRequest(f"chains.{name}.symbol '' is empty, expected one like DOT")
    relay = table.get("relay", name if role == "relay" else "")
    if role == "relay" and relay != name:
        raise InvalidRequest(
            f"chains.{name}.relay {shorten(relay)} is another chain, but {name} is a relay: expected {name!r}, or none"
        )
    if role in ("asset_hub", "dex"):
        for key in ("relay", "para_id"):
            if key not in table:
                raise InvalidRequest(
                    f"chains.{name}.{key} is missing, transfers of a chain with role {role} cannot be addressed without it"
                )
    genesis = table.get("genesis", "").lower()
    if genesis and len(from_hex(genesis) or b"") != 32:
        raise InvalidRequest(
            f"chains.{name}.genesis {shorten(genesis, 80)} is not a block hash, expected 0x and 64 hex digits"
        )
    for key, limit in (("ss58_prefix", 16383), ("decimals", 38), ("para_id", 2**32 - 1)):
        if table.get(key, 0) > limit:
            raise InvalidRequest(
                f"chains.{name}.{key} {shorten(table[key])} is too large, expected at most {limit}"
            )
    account_bytes = table.get("account_bytes", 32)
    if account_bytes not in ACCOUNT_FORMATS:
        raise InvalidRequest(
            f"chains.{name}.account_bytes {account_bytes} is not the length of an account, expected one of: {', '.join(map(str, ACCOUNT_FORMATS))}"
        )
    return Chain(
        name=name,
        title=table.get("title", name),
        role=role,
        relay=relay,
        para_id=None if role == "relay" else table.get("para_id"),
        genesis=genesis,
        ss58_prefix=table.get("ss58_prefix", 42),
        account_format=ACCOUNT_FORMATS[account_bytes],
        symbol=table["symbol"],
        decimals=table["decimals"],
        endpoints=tuple(table.get("endpoints", ())),
        aliases=tuple(table.get("aliases", ())),
        testnet=table.get("testnet", True),
    )
