"""What an account holds: every kind of asset as its pallet counts it, in few requests, and what is
unknown said so."""

import json
from typing import Any

import pytest

from scenarioctl.chains.registry import CHAINS
from scenarioctl.runtime.table import RuntimeTable
from tests.conftest import BOB, BOB_HEX, Run
from tests.messages import says
from tests.network import HEAD, FakeNetwork

WHO = bytes.fromhex(BOB_HEX[2:])
DOT = 10**10
#: System parachains beside the Asset Hubs.
SYSTEM_CHAINS = tuple(chain.name for chain in CHAINS if chain.role == "system")


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    for chain in network.chains.values():
        chain.store("System", "Number", value=100)
    network.chains["hydraDx"].api["CurrenciesApi_accounts"] = []
    return network


class Ask:
    """Asks for Bob's balances."""

    def __init__(self, scenarioctl: Run, network: FakeNetwork) -> None:
        self.run, self.network = scenarioctl, network

    def rows(self, *line: str, code: int = 0) -> dict[tuple[str, str], Any]:
        """Return the rows by chain and asset, each with its raw figures."""
        return {
            (row["chain"], row["asset"]): (
                *(
                    None if row[name] is None else int(row[name]["value"])
                    for name in (
                        "free",
                        "reserved",
                        "frozen",
                        "transferable",
                        "transferable_keep_alive",
                    )
                ),
                row["reason"],
            )
            for row in self.answer(*line, code=code)["balances"]
        }

    def answer(self, *line: str, code: int = 0) -> Any:
        ended = self.run("--config", str(self.network.config), "balance", BOB, *line, "--json")
        assert ended.code == code, ended
        return json.loads(ended.out)


@pytest.fixture
def ask(scenarioctl: Run, network: FakeNetwork) -> Ask:
    return Ask(scenarioctl, network)


def account(
    free: int, reserved: int = 0, frozen: int = 0, consumers: int = 0, providers: int = 1
) -> dict[str, Any]:
    data = {"free": free, "reserved": reserved, "frozen": frozen, "flags": 1 << 127}
    return {
        "nonce": 3,
        "consumers": consumers,
        "providers": providers,
        "sufficients": 0,
        "data": data,
    }


# Native


@pytest.mark.parametrize(
    ("held", "transferable", "keep_alive"),
    [
        # free, reserved, frozen, consumers, providers
        ((5 * DOT, 0, 0, 0, 1), 5 * DOT, 4 * DOT),
        # What is reserved counts towards what is frozen.
        ((5 * DOT, 3 * DOT, 4 * DOT, 0, 1), 4 * DOT, 4 * DOT),
        ((5 * DOT, 3 * DOT, 2 * DOT, 1, 2), 5 * DOT, 4 * DOT),
        # An account that was not touched since reserves count as consumers: the transfer makes one
        # of them.
        ((5 * DOT, 3 * DOT, 2 * DOT, 0, 1), 4 * DOT, 4 * DOT),
        ((5 * DOT, 0, 4 * DOT, 0, 1), DOT, DOT),
        # The deposit and what is frozen overlap.
        ((5 * DOT, 0, DOT // 2, 1, 2), 5 * DOT - DOT // 2, 4 * DOT),
        # Something on chain needs the account.
        ((5 * DOT, DOT, 0, 1, 1), 4 * DOT, 4 * DOT),
        ((5 * DOT, DOT, 0, 1, 2), 5 * DOT, 4 * DOT),
        ((5 * DOT, 0, 9 * DOT, 1, 1), 0, 0),
        ((0, 0, 0, 0, 0), 0, 0),
        ((DOT // 2, 0, 0, 0, 1), DOT // 2, 0),
    ],
)
def test_what_can_be_sent_of_the_native_asset_is_what_the_runtime_lets_go(
    ask: Ask, held: tuple[int, int, int, int, int], transferable: int, keep_alive: int
) -> None:
    ask.network.chains["polkadot"].store("System", "Account", WHO, value=account(*held))

    rows = ask.rows("polkadot")

    assert rows == {("polkadot", "0"): (*held[:3], transferable, keep_alive, None)}


# Assets and foreign assets


def asset_account(balance: int, status: str = "Liquid") -> dict[str, Any]:
    return {"balance": balance, "status": status, "reason": "Sufficient", "extra": None}


def asset_details(deposit: int, status: str = "Live") -> dict[str, Any]:
    who = {name: bytes(32) for name in ("owner", "issuer", "admin", "freezer")}
    numbers = dict.fromkeys(("supply", "deposit", "accounts", "sufficients", "approvals"), 0)
    return {**who, **numbers, "min_balance": deposit, "is_sufficient": True, "status": status}


def test_what_another_pallet_may_freeze_is_unknown(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = ask.network.chains["assetHub"]
    hub.store("Assets", "Account", 1984, WHO, value=asset_account(100))
    hub.store("Assets", "Asset", 1984, value=asset_details(70))
    names = hub.table.pallets
    monkeypatch.setattr(RuntimeTable, "pallets", property(lambda _: (*names, "AssetsFreezer")))

    row = ask.rows("assetHub")["assetHub", "1984"]

    assert row == (100, None, None, None, None, says("AssetsFreezer"))


# Tokens and contracts


def tokens(free: int, reserved: int = 0, frozen: int = 0) -> dict[str, int]:
    return {"free": free, "reserved": reserved, "frozen": frozen}


def test_what_a_contract_keeps_is_asked_of_the_runtime(ask: Ask) -> None:
    dex = ask.network.chains["hydraDx"]
    dex.api["CurrenciesApi_accounts"] = [
        (0, tokens(7)),
        (1001, tokens(123)),
        (987654, tokens(5)),
        (987655, tokens(0)),
    ]

    rows = ask.rows("hydraDx")

    assert rows == {
        ("hydraDx", "0"): (0, 0, 0, 0, 0, None),
        ("hydraDx", "1001"): (123, 0, 0, None, None, says("a contract")),
        # What isn't listed here is money all the same.
        ("hydraDx", "987654"): (5, 0, 0, None, None, says("not listed")),
    }


# All of it


def test_every_chain_is_read_in_few_requests_at_one_block(ask: Ask) -> None:
    for chain in ask.network.chains.values():
        chain.store("System", "Account", WHO, value=account(3 * DOT))
    hub = ask.network.chains["assetHub"]
    hub.store("Assets", "Account", 1984, WHO, value=asset_account(1_500_000))
    hub.store("Assets", "Asset", 1984, value=asset_details(70))

    answer = ask.answer("polkadot", "asset hub", "assethub")

    assert answer["account"] == BOB_HEX
    assert answer["chains"] == [
        {"chain": name, "block": 100, "block_hash": HEAD, "asked": 1, "error": None}
        for name in ("polkadot", "assetHub")
    ]
    assert answer["balances"][2] == {
        "chain": "assetHub",
        "asset": "1984",
        "name": "USDt",
        "decimals": 6,
        "free": {"value": "1500000", "human": "1.5 USDt"},
        "reserved": {"value": "0", "human": "0 USDt"},
        "frozen": {"value": "0", "human": "0 USDt"},
        "transferable": {"value": "1500000", "human": "1.5 USDt"},
        "transferable_keep_alive": {"value": "1499930", "human": "1.49993 USDt"},
        "reason": None,
    }
    assert len(answer["balances"]) == 3
    asked = [
        each
        for each in hub.node.asked
        if each not in ("chain_getBlockHash", "state_getRuntimeVersion")
    ]
    assert asked == ["state_queryStorageAt"] * 2


def test_a_node_that_allows_only_plain_requests_is_asked_with_those(ask: Ask) -> None:
    relay = ask.network.chains["polkadot"]
    relay.store("System", "Account", WHO, value=account(3 * DOT))
    del relay.node.answers["state_queryStorageAt"]

    assert ask.rows("polkadot")["polkadot", "0"][0] == 3 * DOT


@pytest.mark.parametrize(
    "told", [[], None, [{"block": HEAD}], [{"block": HEAD, "changes": []}], "0x"]
)
def test_a_node_that_leaves_values_out_is_not_believed(ask: Ask, told: Any) -> None:
    ask.network.chains["polkadot"].node.answers["state_queryStorageAt"] = told

    answer = ask.answer("polkadot", code=5)

    assert answer["error"] == says(
        "storage values", "2", endpoint=ask.network.chains["polkadot"].node.url
    )


def test_a_chain_that_cannot_be_read_is_said_so_and_is_not_zero(ask: Ask, scenarioctl: Run) -> None:
    ask.network.chains["polkadot"].store("System", "Account", WHO, value=account(3 * DOT))
    ask.network.cut("assetHub")

    answer = ask.answer("polkadot", "assetHub", code=5)
    ended = scenarioctl("--config", str(ask.network.config), "balance", BOB, "polkadot", "assetHub")

    assert [row["chain"] for row in answer["balances"]] == ["polkadot"]
    relay, hub = answer["chains"]
    assert (relay["error"], hub["block"]) == (None, None)
    assert "127.0.0.1:1" in hub["error"]
    assert (ended.code, ended.err) == (5, says("assetHub"))
    assert ended.out == "polkadot\tDOT\t3 DOT\t0 DOT\t0 DOT\t3 DOT\t-\n"


def test_without_chains_all_but_the_built_in_test_networks_are_asked(
    scenarioctl: Run, network: FakeNetwork
) -> None:
    nowhere = {"endpoints": ["ws://127.0.0.1:1/"]}
    mine = {"role": "parachain", "symbol": "M", "decimals": 1, **nowhere}
    network.write(
        {
            **{name: {"endpoints": [chain.node.url]} for name, chain in network.chains.items()},
            **dict.fromkeys(("kusama", "assetHub_kusama", *SYSTEM_CHAINS), nowhere),
            "mine": mine,
            "evm": {**mine, "account_bytes": 20},
            "silent": {**mine, "endpoints": []},
        }
    )

    ended = scenarioctl("--config", str(network.config), "balance", BOB, "--json")

    assert ended.code == 5
    assert [row["chain"] for row in json.loads(ended.out)["chains"]] == [
        "polkadot",
        "assetHub",
        "hydraDx",
        "kusama",
        "assetHub_kusama",
        *SYSTEM_CHAINS,
        "mine",
    ]
