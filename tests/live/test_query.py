"""Queries, channels and contracts on real runtimes, held against substrate-interface's answers on
the same node."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from substrateinterface import SubstrateInterface

from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused
from tests.canned import prefix, two_x64_concat
from tests.conftest import DATA, Ended, Run
from tests.live.conftest import Live
from tests.messages import says
from tests.refusals import refused
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE = dev_key("//Alice")
ROLES = ("relay", "asset_hub", "dex", "contracts")
Ask = Callable[..., str]


@pytest.fixture(scope="module", params=ROLES)
def chain(request: pytest.FixtureRequest) -> Live:
    found: Live = request.getfixturevalue(request.param)
    return found


Other = Callable[[Live], SubstrateInterface]


@pytest.fixture(scope="module")
def other() -> Iterator[Other]:
    """Return another client of the same node; one for all tests, for it takes seconds to read the
    metadata."""
    clients: dict[str, SubstrateInterface] = {}

    def connect(live: Live) -> SubstrateInterface:
        if live.name not in clients:
            # It would look at each of millions of bytes in Python.
            clients[live.name] = SubstrateInterface(
                url=live.endpoint, ws_options={"skip_utf8_validation": True}
            )
        return clients[live.name]

    yield connect
    for client in clients.values():
        client.close()


@pytest.fixture
def ask(scenarioctl: Run, live_config: Path) -> Ask:
    """Return what a command answers; a warning or an error fails the test."""

    def run(*line: str) -> str:
        ended = scenarioctl("--config", str(live_config), *line)
        assert (ended.err, ended.code) == ("", 0)
        return ended.out.removesuffix("\n")

    return run


def as_text(value: Any) -> Any:
    """Return *value* of substrate-interface with every integer as text, and tuples as lists."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if value == ():
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return {key: as_text(inner) for key, inner in value.items()}
    return [as_text(inner) for inner in value]


def read(text: str) -> Any:
    """Return what a query answered: text that is no JSON, and a number, as they are."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, int) and not isinstance(value, bool) else value


#: What all four chains have.
PLAIN = (
    ("System", "Number"),
    ("System", "ParentHash"),
    ("System", "LastRuntimeUpgrade"),
    ("Timestamp", "Now"),
    ("Balances", "TotalIssuance"),
    ("TransactionPayment", "NextFeeMultiplier"),
    ("TransactionPayment", "StorageVersion"),
)
CONSTANTS = (
    ("Balances", "ExistentialDeposit"),
    ("System", "BlockHashCount"),
    ("System", "DbWeight"),
    ("System", "SS58Prefix"),
    ("Timestamp", "MinimumPeriod"),
)


@pytest.mark.acceptance
def test_values_and_constants_are_what_another_client_reads(
    chain: Live, ask: Ask, other: Other
) -> None:
    theirs = other(chain)
    for pallet, entry in PLAIN:
        assert read(ask("query", chain.name, pallet, entry)) == as_text(
            theirs.query(pallet, entry).value
        )
    for pallet, name in CONSTANTS:
        assert read(ask("query", chain.name, pallet, name)) == as_text(
            theirs.get_constant(pallet, name).value
        )


@pytest.mark.acceptance
def test_an_account_is_what_another_client_reads_at_every_block(
    chain: Live, ask: Ask, other: Other
) -> None:
    theirs = other(chain)
    newest = theirs.get_block_number(None)
    for number in range(max(1, newest - 3), newest + 1):
        block = theirs.get_block_hash(number)
        expected = as_text(
            theirs.query("System", "Account", [ALICE.ss58_address], block_hash=block).value
        )
        line = ("query", chain.name, "System", "Account", ALICE.ss58_address, "--block")

        assert read(ask(*line, block)) == expected
        assert read(ask(*line, str(number))) == expected


@pytest.mark.acceptance
def test_the_entries_of_a_map_are_those_another_client_finds(
    chain: Live, ask: Ask, other: Other
) -> None:
    theirs = other(chain)
    accounts = {
        key.value: as_text(value.value) for key, value in theirs.query_map("System", "Account")
    }
    blocks = {str(key.value): value.value for key, value in theirs.query_map("System", "BlockHash")}

    found = read(ask("query", chain.name, "System", "Account", "--limit", "10000"))
    assert {row["key"]: row["value"] for row in found} == accounts
    found = read(ask("query", chain.name, "System", "BlockHash", "--limit", "10000"))
    assert {row["key"]: row["value"] for row in found} == blocks


@pytest.mark.acceptance
def test_a_double_map_is_read_whole_by_its_first_part_and_by_both(
    asset_hub: Live, dex: Live, ask: Ask, other: Other
) -> None:
    theirs = other(asset_hub)
    held = {
        key.value: as_text(value.value)
        for key, value in theirs.query_map("Assets", "Account", [1984])
    }
    theirs = other(dex)
    tokens = {
        str(key.value): as_text(value.value)
        for key, value in theirs.query_map("Tokens", "Accounts", [ALICE.ss58_address])
    }
    partial = read(ask("query", asset_hub.name, "Assets", "Account", "1984", "--limit", "10000"))
    of_alice = read(ask("query", dex.name, "Tokens", "Accounts", ALICE.ss58_address))

    assert held
    assert tokens
    assert {row["key"][1]: row["value"] for row in partial} == held
    assert {row["key"][1]: row["value"] for row in of_alice} == tokens
    for asset, value in tokens.items():
        assert (
            read(ask("query", dex.name, "tokens", "accounts", ALICE.ss58_address, asset)) == value
        )


@pytest.mark.one_python
def test_runtime_apis_answer_as_the_node_does(chain: Live, ask: Ask, other: Other) -> None:
    theirs = other(chain)
    version = theirs.rpc_request("state_getRuntimeVersion", [])["result"]
    nonce = theirs.rpc_request("system_accountNextIndex", [ALICE.ss58_address])["result"]
    ours = read(ask("query", chain.name, "Core", "version"))

    assert ours["spec_name"] == version["specName"]
    assert ours["spec_version"] == str(version["specVersion"])
    assert ours["apis"] == as_text(version["apis"])
    assert ask("query", chain.name, "account_nonce_api", "accountNonce", ALICE.ss58_address) == str(
        nonce
    )


@pytest.mark.one_python
def test_channels_are_those_the_relay_chain_keeps(relay: Live, ask: Ask, other: Other) -> None:
    theirs = other(relay)
    for paraid in (1000, 2034):
        ingress, egress = (
            theirs.query("Hrmp", f"Hrmp{way}ChannelsIndex", [paraid]).value
            for way in ("Ingress", "Egress")
        )
        line = ("--json", "hrmp", "openchannels", relay.name, str(paraid))

        for way, expected in (
            ("ingress", ingress),
            ("egress", egress),
            ("both", {*ingress, *egress}),
        ):
            assert json.loads(ask(*line, "--direction", way)) == {
                "open_hrmp_channels": sorted(expected),
                "sourcechain": paraid,
            }


def info(scenarioctl: Run, live_config: Path, abi: str, address: str, chain: Live) -> Ended:
    file = str(DATA / "contracts" / abi)
    return scenarioctl(
        "--config",
        str(live_config),
        "--json",
        "contract",
        "info",
        "--abi",
        file,
        address,
        "--chain",
        chain.name,
    )


def test_a_contract_is_found_where_one_lives(
    contracts: Live, scenarioctl: Run, live_config: Path, live_app: Application
) -> None:
    client = live_app.client(live_app.registry.find(contracts.name))
    nobody, somebody = dev_key("//Nobody"), dev_key("//A contract")
    table = finish(client.table())
    entry = table.storage_entry("Contracts", "ContractInfoOf")
    contract = {
        "trie_id": b"\x01", "code_hash": bytes(32), "storage_bytes": 0, "storage_items": 0,
            "storage_byte_deposit": 0,
        "storage_item_deposit": 0, "storage_base_deposit": 0, "delegate_dependencies": [],
    }  # fmt: skip
    key = prefix("Contracts", "ContractInfoOf") + two_x64_concat(somebody.public_key)
    try:
        value = "0x" + table.encode(entry.value_type, contract).hex()
        finish(client.submit("dev_setStorage", [[key, value]]))
    except ChainRefused:
        pytest.skip("the node lets no storage be set")

    found = info(scenarioctl, live_config, "token-v4.json", somebody.ss58_address, contracts)
    missing = info(scenarioctl, live_config, "token-v4.json", nobody.ss58_address, contracts)

    assert (found.err, json.loads(found.out)["onchain"]) == ("", True)
    assert (missing.err, json.loads(missing.out)["onchain"]) == ("", False)


def test_a_contract_is_looked_for_by_20_bytes_in_pallet_revive(
    asset_hub: Live, contracts: Live, scenarioctl: Run, live_config: Path
) -> None:
    address = "0x" + "12" * 20

    absent = info(scenarioctl, live_config, "vault-v6.json", address, asset_hub)
    wrong = info(scenarioctl, live_config, "vault-v6.json", address, contracts)

    assert (absent.err, json.loads(absent.out)["onchain"]) == ("", False)
    assert refused(json.loads(wrong.out)) == {
        "sucess": False,
        "error": says("chain", contracts.name),
        "code": "invalid_request",
    }
