"""Three chains for tests: nodes on loopback that answer runtime APIs and storage with what a test
says, encoded by the bundled runtimes."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import tomli_w

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.model.calls import Call
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.runtime.table import RuntimeTable, load_bundled
from scenarioctl.transactions.blocks import read_event
from scenarioctl.transactions.inner_calls import read_call
from scenarioctl.transactions.simulation.ledger import read_balance_changes
from tests.blocks import block_hash, header_of
from tests.node import Node

#: The best block of each chain.
HEAD = block_hash(100)
CHAINS = ("polkadot", "assetHub", "hydraDx")
#: Where nobody listens.
CLOSED = "ws://127.0.0.1:1/"
ITEM_COMPLETED = {"Utility": "ItemCompleted"}
#: What the storage map `ForeignAssets.Asset` has for an asset.
FOREIGN_ASSET = {
    **dict.fromkeys(("owner", "issuer", "admin", "freezer"), bytes(32)),
    "supply": 10**24,
    "deposit": 0,
    "min_balance": 1,
    "is_sufficient": False,
    "accounts": 1,
    "sufficients": 0,
    "approvals": 0,
    "status": "Live",
}


def table_of(chain: str) -> RuntimeTable:
    table = load_bundled(chain)
    assert table is not None
    return table


def made_by_root(arguments: bytes) -> bool:
    """Tell whether a dry run's *arguments* begin with root as the origin, after the number of the
    system pallet."""
    return arguments[1] == 0


def call_tried(table: RuntimeTable, arguments: bytes) -> Call:
    """Return the call that a dry run's *arguments* try: root's batch ends in it, dispatched as the
    sender."""
    origin_type, call_type, _ = table.api_method("DryRunApi", "dry_run_call").inputs
    assert call_type.name == "call"
    _, start = table.decode_at(origin_type.type_id, arguments, 0)
    call, _ = table.decode_call_at(arguments, start)
    if not made_by_root(arguments):
        return call
    steps = call.args["calls"]
    return read_call(steps[-1 - _ends(steps)]["Utility"]["dispatch_as"]["call"])


def _dispatched(result: Any = None) -> Any:
    return {"Utility": {"DispatchedAs": {"result": result or {"Ok": None}}}}


def _ends(steps: list[Any]) -> int:
    """Return how many of root's *steps* come after the call, to have accounts show what is left."""
    freed = sum("force_unreserve" in step.get("Balances", {}) for step in steps)
    return 1 + 2 * freed if freed else 0


class FakeChain:
    """What one chain answers.

    `api` maps `DryRunApi_dry_run_call` to a value, or to a function of the argument bytes that
    gives one; bytes are sent as they are.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.table = table_of(name)
        self.api: dict[str, Any] = {}
        self.storage: dict[str, str] = {}
        #: What a call holds and locks of an account without an event.
        self.silent: dict[bytes, tuple[int, int]] = {}
        #: Whether accounts can't show what they have left.
        self.mute = False
        #: The names and argument bytes of the runtime calls that came.
        self.asked: list[tuple[str, bytes]] = []
        genesis = Registry().find(name).genesis
        self.node = Node(
            {
                "chain_getBlockHash": lambda *number: genesis if number == (0,) else HEAD,
                "chain_getHeader": header_of(HEAD),
                "state_getRuntimeVersion": {
                    "specName": self.table.spec_name,
                    "specVersion": self.table.spec_version,
                },
                "state_call": self._call,
                "state_getStorage": lambda key, *_: self.storage.get(key),
                "state_getKeysPaged": lambda prefix, count, start=None, at=None: sorted(
                    key for key in self.storage if key.startswith(prefix) and key > (start or "")
                )[:count],
                "state_queryStorageAt": lambda keys, at: [
                    {"block": at, "changes": [[key, self.storage.get(key)] for key in keys]}
                ],
            }
        )

    def store(self, pallet: str, entry: str, *keys: Any, value: Any) -> None:
        found = storage_key(self.table, pallet, entry, keys)
        self.storage[found.hex] = "0x" + self.table.encode(found.entry.value_type, value).hex()

    def _call(self, name: str, data: str, *_: Any) -> str:
        arguments = bytes.fromhex(data[2:])
        self.asked.append((name, arguments))
        value = self.api[name]
        if callable(value):
            value = value(arguments)
        if name == "DryRunApi_dry_run_call" and made_by_root(arguments):
            value = self._charged(value, arguments)
        if not isinstance(value, bytes):
            api, _underscore, method = name.partition("_")
            value = self.table.encode(self.table.api_method(api, method).output_type, value)
        return "0x" + value.hex()

    def _charged(self, value: Any, arguments: bytes) -> Any:
        """Return the effects of a call, made by root between what takes the fee and what shows
        what is left: between what root's batch tells."""
        if not isinstance(value, Mapping) or "Ok" not in value:
            return value
        origin_type = self.table.api_method("DryRunApi", "dry_run_call").inputs[0]
        _, start = self.table.decode_at(origin_type.type_id, arguments, 0)
        steps = self.table.decode_call_at(arguments, start)[0].args["calls"]
        effects, ends = value["Ok"], _ends(steps)
        before, result = len(steps) - 1 - ends, effects["execution_result"]
        done = {"Ok": None} if "Ok" in result else {"Err": result["Err"]["error"]}
        events = [*[ITEM_COMPLETED] * (before - 1), *[_dispatched(), ITEM_COMPLETED] * (before > 0)]
        events += [*effects["emitted_events"], _dispatched(done), ITEM_COMPLETED]
        events += [ITEM_COMPLETED] * (ends > 0)
        for step in steps[before + 2 :: 2]:
            who = step["Utility"]["dispatch_as"]["as_origin"]["system"]["Signed"]
            spendable, reserved = self._left(who, steps[0], effects["emitted_events"])
            given = {"from": who, "to": bytes(len(who)), "amount": spendable}
            freed = {"who": who, "amount": reserved}
            shown = [] if self.mute else [{"Balances": {"Transfer": given}}]
            events += [*shown, _dispatched(), ITEM_COMPLETED]
            events += [{"Balances": {"Unreserved": freed}}, ITEM_COMPLETED]
        events.append({"Utility": "BatchCompleted"})
        succeeded = {"Ok": {"actual_weight": None, "pays_fee": "Yes"}}
        return {"Ok": {**effects, "execution_result": succeeded, "emitted_events": events}}

    def _left(self, who: bytes, first: Any, events: Any) -> tuple[int, int]:
        """Return what *who* can spend after a call with these *events*, and has in reserve; the
        *first* step of root takes the fee."""
        registry = Registry()
        chain, assets = registry.find(self.name), Assets(registry)
        changes = [
            each
            for each in read_balance_changes([*map(read_event, events)], chain, assets)
            if (each.account, each.asset) == (who, assets.native(chain))
        ]
        key = storage_key(self.table, "System", "Account", [who])
        row = self.storage.get(key.hex)
        data = (
            self.table.decode(key.entry.value_type, bytes.fromhex(row[2:]))["data"] if row else {}
        )
        origin = first.get("Utility", {}).get("dispatch_as", {})
        fee = origin.get("call", {}).get("Balances", {}).get("burn", {}).get("value", 0)
        payer = origin.get("as_origin", {}).get("system", {}).get("Signed")
        held, locked = self.silent.get(who, (0, 0))
        value = 0
        for each in changes:
            value, held = each.value, held + each.held
            locked += each.locked - max(each.held, 0) if each.locked > 0 else each.locked
        free = data.get("free", 0) + value - held - fee * (payer == who)
        reserved = data.get("reserved", 0) + held
        frozen = max(data.get("frozen", 0) - reserved, 0)
        return max(free - frozen - locked, 0), reserved


class FakeNetwork:
    """polkadot, assetHub and hydraDx, or other built-in chains; `config` is a config.toml that
    points at them.

    All other chains are where nobody listens: a test that asks every chain goes no further than
    this machine.
    """

    def __init__(self, folder: Path, names: tuple[str, ...] = CHAINS) -> None:
        self.chains = {name: FakeChain(name) for name in names}
        self.config = folder / "config.toml"
        self._stack = ExitStack()

    def __enter__(self) -> "FakeNetwork":
        endpoints = {}
        for name, chain in self.chains.items():
            self._stack.enter_context(chain.node)
            # Whose word counts is the subject of test_confirmation.
            endpoints[name] = {"endpoints": [chain.node.url], "trusted": True}
        self.write(endpoints)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, chains: Mapping[str, Any]) -> None:
        others = {
            chain.name: {"endpoints": [CLOSED]} for chain in Registry().all() if chain.endpoints
        }
        document = {
            "store": str(self.config.with_name("scenarios.db")),
            "cache": str(self.config.with_name("cache")),
            "chains": others | dict(chains),
        }
        self.config.write_text(tomli_w.dumps(document))

    def cut(self, name: str) -> None:
        """Let *name* be where nobody listens."""
        self.write(
            {
                other: {
                    "endpoints": [CLOSED if other == name else chain.node.url],
                    "trusted": True,
                }
                for other, chain in self.chains.items()
            }
        )
