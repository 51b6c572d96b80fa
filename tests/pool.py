"""An Omnipool for tests: storage of our own making, encoded with the bundled runtime, answered by
`tests/node.py`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scenarioctl.application import Application
from scenarioctl.chains.registry import Registry
from scenarioctl.config import Settings
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.transactions.swap.omnipool_state import POOL_ACCOUNT
from tests.node import Node

BLOCK = 1000
HEAD = "0x" + "ab" * 32
HDX, LRNA, DOT, USDT, SHARE, CONTRACT = 0, 1, 5, 10, 102, 222
State = dict[tuple[Any, ...], Any]


def table() -> RuntimeTable:
    loaded = load_bundled("hydraDx")
    assert loaded is not None
    return loaded


def subpool(asset: int, *, reserve: int, hub: int, tradable: int = 15) -> State:
    """Return an asset of the Omnipool: what the pool holds of it, and of the hub asset against
    it."""
    state: State = {
        ("Omnipool", "Assets", asset): {
            "hub_reserve": hub,
            "shares": reserve,
            "protocol_shares": 0,
            "cap": 10**18,
            "tradable": {"bits": tradable},
        },
        ("AssetRegistry", "Assets", asset): registered("Token"),
    }
    empty = {"reserved": 0, "frozen": 0}
    if asset == HDX:
        state["System", "Account", POOL_ACCOUNT] = {
            "nonce": 0,
            "consumers": 0,
            "providers": 1,
            "sufficients": 0,
            "data": {"free": reserve, "flags": 0, **empty},
        }
    else:
        state["Tokens", "Accounts", POOL_ACCOUNT, asset] = {"free": reserve, **empty}
    return state


def registered(kind: str) -> dict[str, Any]:
    return {
        "name": None,
        "asset_type": kind,
        "existential_deposit": 1,
        "symbol": None,
        "decimals": None,
        "xcm_rate_limit": None,
        "is_sufficient": True,
    }


def oracle(asset: int, *, amount_in: int, amount_out: int, liquidity: int) -> State:
    """Return what the oracle keeps of an asset's last trades; those of the hub asset are of no
    matter."""
    own, other = ("a", "b") if asset < LRNA else ("b", "a")
    entry = {
        "price": {"n": 1, "d": 1},
        "volume": {
            f"{own}_in": amount_in,
            f"{own}_out": amount_out,
            f"{other}_in": 7,
            f"{other}_out": 8,
        },
        "liquidity": {own: liquidity, other: 9},
        "shares_issuance": None,
        "updated_at": BLOCK - 3,
    }
    pair = (min(asset, LRNA), max(asset, LRNA))
    return {("EmaOracle", "Oracles", b"omnipool", pair, "Short"): (entry, 1)}


def fees(asset: int, asset_fee: int, protocol_fee: int, block: int) -> State:
    entry = {"asset_fee": asset_fee, "protocol_fee": protocol_fee, "timestamp": block}
    return {("DynamicFees", "AssetFee", asset): entry}


def pool(*changes: State) -> State:
    """Return 100 million HDX at 0.02, a million DOT at 20 and 5 million USDT at 0.5 of the hub
    asset, and *changes*."""
    state = {
        **subpool(HDX, reserve=100_000_000 * 10**12, hub=2_000_000 * 10**12),
        **subpool(DOT, reserve=1_000_000 * 10**10, hub=20_000_000 * 10**12),
        **subpool(USDT, reserve=5_000_000 * 10**6, hub=2_500_000 * 10**12),
    }
    for change in changes:
        state |= change
    return state


class Chain:
    """Answers of a node of hydraDx that has this *state*; dry runs give what *dry_run* makes of
    their call."""

    def __init__(self, state: State, *, dry_run: Callable[[Any, Any], Any] | None = None) -> None:
        self.table = table()
        self.dry_run = dry_run
        self.genesis = Registry({}).find("hydraDx").genesis
        #: Hash of the block -> key -> value.
        self.storage = {
            self._key(*place): self._value(place, value) for place, value in state.items()
        }
        self.storage[self._key("System", "Number")] = "0x" + BLOCK.to_bytes(4, "little").hex()
        #: Contract token -> the pool's balance.
        self.contract_balances: dict[int, int] = {}
        #: Blocks asked.
        self.blocks: set[str] = set()

    def answers(self) -> dict[str, Any]:
        return {
            "chain_getBlockHash": lambda *number: self.genesis if number else HEAD,
            "state_getRuntimeVersion": {
                "specName": "hydradx",
                "specVersion": self.table.spec_version,
            },
            "state_getStorage": self._storage,
            "state_call": self._call,
        }

    def _storage(self, key: str, block: str) -> str | None:
        self.blocks.add(block)
        return self.storage.get(key)

    def _call(self, name: str, data: str, block: str) -> str:
        self.blocks.add(block)
        api, _, method = name.partition("_")
        described = self.table.api_method(api, method)
        arguments, start = [], 0
        for field in described.inputs:
            value, start = self.table.decode_at(field.type_id, bytes.fromhex(data[2:]), start)
            arguments.append(value)
        if name == "CurrenciesApi_free_balance":
            answer: Any = self.contract_balances[arguments[0]]
        else:
            assert self.dry_run is not None, name
            answer = self.dry_run(arguments[0], arguments[1])
        return "0x" + self.table.encode(described.output_type, answer).hex()

    def _key(self, pallet: str, entry: str, *keys: Any) -> str:
        if entry == "Routes":
            keys = ({"asset_in": keys[0], "asset_out": keys[1]},)
        return storage_key(self.table, pallet, entry, keys).hex

    def _value(self, place: tuple[Any, ...], value: Any) -> str:
        entry = self.table.storage_entry(place[0], place[1])
        return "0x" + self.table.encode(entry.value_type, value).hex()


def dry_run_answer(*events: Mapping[str, Any], error: Any = None) -> dict[str, Any]:
    """Return the effects of a dry run that emits *events*, or that ends in *error*."""
    post = {"actual_weight": None, "pays_fee": "Yes"}
    result = {"Ok": post} if error is None else {"Err": {"post_info": post, "error": error}}
    return {
        "Ok": {
            "execution_result": result,
            "emitted_events": list(events),
            "local_xcm": None,
            "forwarded_xcms": [],
        }
    }


def executed(
    amount_in: int, amount_out: int, *, asset_in: int = SHARE, asset_out: int = USDT
) -> dict[str, Any]:
    """Return the router's event of a trade."""
    trade = {
        "asset_in": asset_in,
        "asset_out": asset_out,
        "amount_in": amount_in,
        "amount_out": amount_out,
    }
    return {"Router": {"Executed": {**trade, "event_id": 1}}}


def application(path: Path, node: Node, **settings: Any) -> Application:
    """Return an application whose hydraDx is *node*."""
    chains = {"hydraDx": {"endpoints": [node.url], "trusted": True}}
    return Application(
        Settings(
            config=path / "c", store=str(path / "s"), cache=path / "r", chains=chains, **settings
        )
    )


def write_config(path: Path, node: Node) -> str:
    """Write a config.toml whose hydraDx is *node*, and return its path."""
    config = path / "config.toml"
    config.write_text(
        f'store = "{path / "s.db"}"\ncache = "{path / "r"}"\n[chains.hydraDx]\nendpoints = '
        f'["{node.url}"]\ntrusted = true\n'
    )
    return str(config)
