"""Balances on real runtimes: as another client reads them, and what can be sent as a dry run of the
transfer lets go."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from substrateinterface import SubstrateInterface

from scenarioctl.application import Application
from scenarioctl.chains.registry import Chain
from scenarioctl.operations.balances import ReadBalances, read_balances
from scenarioctl.runtime.storage_keys import storage_key
from tests.conftest import Run
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
UNIT = 10**12
USDT = 1984


@pytest.fixture(params=("relay", "asset_hub", "dex", "omnipool"))
def chain(request: pytest.FixtureRequest) -> Live:
    found: Live = request.getfixturevalue(request.param)
    return found


@pytest.mark.acceptance
def test_an_account_holds_what_another_client_reads(
    chain: Live, scenarioctl: Run, live_config: Path
) -> None:
    ended = scenarioctl(
        "--config", str(live_config), "balance", ALICE.ss58_address, chain.name, "--json", "--zero"
    )
    theirs = SubstrateInterface(url=chain.endpoint)
    try:
        expected = {}
        for row in (rows := json.loads(ended.out)["balances"]):
            if row["asset"].isdigit() and row["asset"] != "0":
                pallet = "Tokens" if chain.name in ("liveDex", "liveOmnipool") else "Assets"
                keys: list[Any] = [int(row["asset"]), ALICE.ss58_address]
                if pallet == "Tokens":
                    held = theirs.query(pallet, "Accounts", keys[::-1]).value
                    expected[row["asset"]] = (held["free"], held["reserved"], held["frozen"])
                else:
                    held = theirs.query(pallet, "Account", keys).value
                    expected[row["asset"]] = (0 if held is None else held["balance"], 0, 0)
            else:
                held = theirs.query("System", "Account", [ALICE.ss58_address]).value["data"]
                expected[row["asset"]] = (held["free"], held["reserved"], held["frozen"])
    finally:
        theirs.close()

    assert (ended.err, ended.code) == ("", 0)
    assert {row["asset"]: figures(row) for row in rows} == expected
    assert any(any(each) for each in expected.values())


def figures(row: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(row[name]["value"]) for name in ("free", "reserved", "frozen"))


class Holder:
    """A fresh account on a chain whose storage the test writes, and what it can send there."""

    def __init__(self, app: Application, name: str) -> None:
        self.app = app
        self.chain: Chain = app.registry.find(name)
        self.client = app.client(self.chain)
        self.table = finish(self.client.table())
        self.account = fresh(32)

    def write(self, pallet: str, entry: str, *keys: Any, value: Any) -> None:
        key = storage_key(self.table, pallet, entry, keys)
        data = "0x" + self.table.encode(key.entry.value_type, value).hex()
        finish(self.client.submit("dev_setStorage", [[key.hex, data]]))

    def sendable(self, asset: str) -> tuple[int, int]:
        """Return what the account can send, if it may be closed and if not."""
        request = ReadBalances(
            address="0x" + self.account.hex(), chains=(self.chain.name,), zero=True
        )
        rows = finish(read_balances(self.app, request)).answer["balances"]
        (row,) = [row for row in rows if row["asset"] == asset]
        assert row["transferable"] is not None
        assert row["transferable_keep_alive"] is not None
        return int(row["transferable"]["value"]), int(row["transferable_keep_alive"]["value"])

    def goes(self, pallet: str, method: str, **arguments: Any) -> bool:
        """Tell whether the runtime makes the transfer, without its fee."""
        found = finish(
            self.client.runtime_call(
                "DryRunApi",
                "dry_run_call",
                {"system": {"Signed": self.account}},
                {pallet: {method: arguments}},
                5,
            )
        )
        return "Ok" in found["Ok"]["execution_result"]


def check(goes: Any, sendable: int) -> None:
    """Hold the largest amount that can be sent against the runtime: it goes, and one more does
    not."""
    if sendable:
        assert goes(sendable)
    assert not goes(sendable + 1)


@pytest.mark.parametrize("reserved", [0, UNIT, 3 * UNIT])
@pytest.mark.parametrize("frozen", [0, UNIT // 2, 2 * UNIT, 4 * UNIT, 9 * UNIT])
@pytest.mark.parametrize(("consumers", "providers"), [(0, 1), (1, 1), (1, 2)])
def test_the_native_asset_goes_as_far_as_said(
    relay: Live, live_app: Application, reserved: int, frozen: int, consumers: int, providers: int
) -> None:
    holder = Holder(live_app, relay.name)
    data = {"free": 5 * UNIT, "reserved": reserved, "frozen": frozen, "flags": 1 << 127}
    counts = {"nonce": 0, "consumers": consumers, "providers": providers, "sufficients": 0}
    holder.write("System", "Account", holder.account, value={**counts, "data": data})

    closing, alive = holder.sendable("0")

    to = {"dest": {"Id": ALICE.public_key}}
    check(lambda value: holder.goes("Balances", "transfer_allow_death", **to, value=value), closing)
    check(lambda value: holder.goes("Balances", "transfer_keep_alive", **to, value=value), alive)


@pytest.mark.parametrize("status", ["Liquid", "Frozen", "Blocked"])
def test_an_asset_goes_as_far_as_said(asset_hub: Live, live_app: Application, status: str) -> None:
    holder = Holder(live_app, asset_hub.name)
    held = {"balance": 5 * 10**6, "status": status, "reason": "Sufficient", "extra": None}
    holder.write("Assets", "Account", USDT, holder.account, value=held)

    closing, alive = holder.sendable(str(USDT))

    assert (closing > 0) == (status == "Liquid")
    to = {"id": USDT, "target": {"Id": ALICE.public_key}}
    check(lambda amount: holder.goes("Assets", "transfer", **to, amount=amount), closing)
    check(lambda amount: holder.goes("Assets", "transfer_keep_alive", **to, amount=amount), alive)


@pytest.mark.parametrize("reserved", [0, 5000, 10**6])
@pytest.mark.parametrize("frozen", [0, 2000, 10**6, 9 * 10**6])
@pytest.mark.parametrize("consumers", [0, 1])
def test_a_token_goes_as_far_as_said(
    dex: Live, live_app: Application, reserved: int, frozen: int, consumers: int
) -> None:
    holder = Holder(live_app, dex.name)
    data = {"free": 5 * UNIT, "reserved": 0, "frozen": 0, "flags": 1 << 127}
    counts = {"nonce": 0, "consumers": consumers, "providers": 1, "sufficients": 0}
    holder.write("System", "Account", holder.account, value={**counts, "data": data})
    held = {"free": 5 * 10**6, "reserved": reserved, "frozen": frozen}
    holder.write("Tokens", "Accounts", holder.account, 10, value=held)

    closing, alive = holder.sendable("10")

    to = {"dest": ALICE.public_key, "currency_id": 10}
    check(lambda amount: holder.goes("Tokens", "transfer", **to, amount=amount), closing)
    check(lambda amount: holder.goes("Tokens", "transfer_keep_alive", **to, amount=amount), alive)


def test_the_runtime_counts_every_asset_of_hydration_as_we_do(
    omnipool: Live, live_app: Application
) -> None:
    chain = live_app.registry.find(omnipool.name)
    found = finish(
        live_app.client(chain).runtime_call("CurrenciesApi", "accounts", ALICE.public_key)
    )
    request = ReadBalances(address=ALICE.ss58_address, chains=(omnipool.name,))
    rows = finish(read_balances(live_app, request)).answer["balances"]

    theirs = {
        str(number): tuple(row[name] for name in ("free", "reserved", "frozen"))
        for number, row in found
    }
    ours = {row["asset"]: figures(row) for row in rows}
    assert ours == {asset: theirs[asset] for asset in ours}
    assert len(ours) > 1
