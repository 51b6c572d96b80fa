"""Reading a chain: names, keys, hashers, defaults, old blocks, all against a node with canned
storage.

Keys are hashed by `substrateinterface` and values encoded by hand, not by the code under test.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.storage_keys import read_key, storage_key
from tests.canned import (
    ALICE_KEY,
    BOB_KEY,
    FIVE,
    HEAD,
    account_info,
    answers,
    blake2_128_concat,
    prefix,
    two_x64_concat,
    u32,
    u128,
)
from tests.conftest import BOB, DATA, Ended, Run
from tests.messages import says
from tests.node import Node, Refusal
from tests.runtimes import bundled

Ask = Callable[..., Ended]


@pytest.fixture
def ask(scenarioctl: Run, tmp_path: Path) -> Ask:
    """Run the program with one chain's only endpoint at *node*."""

    def run(node: Node, chain: str, *line: str) -> Ended:
        path = tmp_path / "config.toml"
        path.write_text(
            f'cache = "{tmp_path / "cache"}"\n[chains.{chain}]\nendpoints = ["{node.url}"]\n',
            encoding="utf-8",
        )
        return scenarioctl("--config", str(path), *line)

    return run


def answer(ended: Ended) -> str:
    assert (ended.err, ended.code) == ("", 0)
    return ended.out.removesuffix("\n")


def query(ask: Ask, chain: str, storage: Mapping[str, str], *line: str, **changes: Any) -> str:
    """Return what `query chain …` prints, of a node that holds *storage*."""
    with Node(answers(chain, storage, **changes)) as node:
        return answer(ask(node, chain, "query", chain, *line))


# Storage keys


def test_the_key_of_an_account_is_the_known_one() -> None:
    key = storage_key(bundled("polkadot"), "System", "Account", [ALICE_KEY])

    # As every Substrate explorer shows it.
    assert key.hex == (
        "0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9"
        "de1e86a9a8c739864cf3cc5ec2bea59fd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a"
        "5684e7a56da27d"
    )


KEYS: list[tuple[str, str, str, list[Any], str | None]] = [
    ("polkadot", "System", "Number", [], ""),
    ("polkadot", "Mmr", "Nodes", [7], (7).to_bytes(8, "little").hex()),
    ("polkadot", "System", "BlockHash", [7], two_x64_concat(u32(7))),
    ("assetHub", "Assets", "Metadata", [1984], blake2_128_concat(u32(1984))),
    (
        "assetHub",
        "Assets",
        "Account",
        [1984, BOB_KEY],
        blake2_128_concat(u32(1984)) + blake2_128_concat(BOB_KEY),
    ),
    (
        "polkadot",
        "Staking",
        "ErasStakersPaged",
        [3, BOB_KEY, 1],
        two_x64_concat(u32(3)) + two_x64_concat(BOB_KEY) + two_x64_concat(u32(1)),
    ),
    ("polkadot", "CoretimeAssignmentProvider", "CoreDescriptors", [2], None),
]


@pytest.mark.parametrize(
    ("chain", "pallet", "entry", "parts", "rest"), KEYS, ids=[f"{row[1]}.{row[2]}" for row in KEYS]
)
def test_keys_are_hashed_as_another_implementation_does_and_read_back(
    chain: str, pallet: str, entry: str, parts: list[Any], rest: str | None
) -> None:
    if rest is None:
        import xxhash

        # Twox256: four seeds, and the key itself is not in it.
        rest = b"".join(
            xxhash.xxh64(u32(parts[0]), seed=seed).intdigest().to_bytes(8, "little")
            for seed in range(4)
        ).hex()
        kept: list[Any] = [None]
    else:
        kept = parts
    key = storage_key(bundled(chain), pallet, entry, parts)

    assert key.hex == prefix(pallet, entry) + rest
    assert read_key(bundled(chain), key.entry, key.hex) == kept


# Values


def asked_as_json(ask: Ask, chain: str, storage: dict[str, str], *words: str) -> Any:
    with Node(answers(chain, storage)) as node:
        return json.loads(answer(ask(node, chain, "query", chain, *words, "--json")))


def test_amounts_are_told_in_whole_tokens_where_their_asset_is_known(ask: Ask) -> None:
    account = {
        prefix("System", "Account") + blake2_128_concat(BOB_KEY): account_info(15_000_000_000)
    }
    issued = {prefix("Balances", "TotalIssuance"): "0x" + u128(2 * 10**10).hex()}
    held = {account_key(BOB_KEY): HELD, account_key(BOB_KEY, 4242): HELD}

    assert asked_as_json(ask, "polkadot", account, "system", "account", BOB)["human"] == (
        "free 1.5 DOT, reserved 0 DOT, frozen 0 DOT"
    )
    assert asked_as_json(ask, "polkadot", issued, "Balances", "Total_Issuance")["human"] == "2 DOT"
    usdt = asked_as_json(ask, "assetHub", held, "Assets", "Account", "1984", BOB)
    assert usdt == {
        "result": HELD_TEXT,
        "value": json.loads(HELD_TEXT),
        "asked": 1,
        "human": "balance 0.000007 USDt",
    }
    # Nobody knows the decimals of that one, and a list of accounts has no single amount.
    unknown = asked_as_json(ask, "assetHub", held, "Assets", "Account", "4242", BOB)
    assert unknown == {"result": HELD_TEXT, "value": json.loads(HELD_TEXT), "asked": 1}
    assert "human" not in asked_as_json(ask, "assetHub", held, "Assets", "Account", "1984")


def test_a_value_takes_one_round_trip_besides_opening(ask: Ask) -> None:
    with Node(answers("polkadot", {prefix("System", "Number"): "0x14000000"})) as node:
        answer(ask(node, "polkadot", "query", "polkadot", "System", "Number"))

    assert node.asked == ["chain_getBlockHash", "state_getRuntimeVersion", "state_getStorage"]


def test_what_is_absent_is_null_where_optional_and_the_default_elsewhere(ask: Ask) -> None:
    assert query(ask, "assetHub", {}, "Assets", "Asset", "5") == "null"
    assert query(ask, "assetHub", {}, "Assets", "Metadata", "5") == (
        '{"deposit":"0","name":"0x","symbol":"0x","decimals":"0","is_frozen":false}'
    )
    assert query(ask, "polkadot", {}, "System", "Number") == "0"


def test_a_composite_key_is_taken_as_json_and_a_name_of_its_length_as_bytes(ask: Ask) -> None:
    oracle = (
        prefix("EmaOracle", "AuthorizedAccounts")
        + two_x64_concat(b"omnipool")
        + two_x64_concat(u32(1) + u32(5))
        + two_x64_concat(BOB_KEY)
    )

    line = ("EmaOracle", "AuthorizedAccounts", "omnipool", "[1, 5]", BOB)
    # A member of a set: it is there, without content.
    assert query(ask, "hydraDx", {oracle: "0x"}, *line) == "[]"
    assert query(ask, "hydraDx", {}, *line) == "null"


# Maps


def account_key(account: bytes, asset: int = 1984) -> str:
    return prefix("Assets", "Account") + blake2_128_concat(u32(asset)) + blake2_128_concat(account)


#: `AssetAccount`: balance, status Liquid, reason Sufficient, extra.
HELD = "0x" + u128(7).hex() + "0001"
HELD_TEXT = '{"balance":"7","status":"Liquid","reason":"Sufficient","extra":null}'


def test_a_key_of_which_only_the_hash_is_kept_is_shown_as_that_hash(ask: Ask) -> None:
    key = storage_key(bundled("polkadot"), "CoretimeAssignmentProvider", "CoreDescriptors", [2])
    opaque = key.hex[66:]

    text = query(
        ask, "polkadot", {key.hex: "0x0000"}, "CoretimeAssignmentProvider", "CoreDescriptors"
    )

    assert json.loads(text)[0]["key"] == "0x" + opaque
    assert len(opaque) == 64


def test_more_entries_than_wanted_are_cut_and_said(ask: Ask) -> None:
    storage = {
        prefix("System", "BlockHash") + two_x64_concat(u32(number)): HEAD for number in range(750)
    }
    with Node(answers("polkadot", storage)) as node:
        two = ask(node, "polkadot", "query", "polkadot", "System", "BlockHash", "--limit", "2")
        default = ask(node, "polkadot", "query", "polkadot", "System", "BlockHash")
        exact = ask(node, "polkadot", "query", "polkadot", "System", "BlockHash", "--limit", "750")

    assert len(json.loads(two.out)) == 2
    assert two.err == says("System.BlockHash", "2", "--limit", "10000")
    assert len(json.loads(default.out)) == 100
    assert len(json.loads(answer(exact))) == 750


def test_all_entries_are_of_one_block(ask: Ask) -> None:
    asked: list[str] = []
    storage = {prefix("System", "BlockHash") + two_x64_concat(u32(1)): HEAD}

    def remember(key: str, at: str) -> str | None:
        asked.append(at)
        return storage.get(key)

    query(ask, "polkadot", storage, "System", "BlockHash", state_getStorage=remember)

    assert asked == [HEAD]


def test_a_node_that_gives_the_same_keys_again_is_not_asked_for_ever(ask: Ask) -> None:
    storage = {
        prefix("System", "BlockHash") + two_x64_concat(u32(number)): HEAD for number in range(600)
    }
    first = sorted(storage)[:500]

    with Node(answers("polkadot", storage, state_getKeysPaged=lambda *_: first)) as node:
        ended = ask(node, "polkadot", "query", "polkadot", "System", "BlockHash", "--limit", "1000")

    assert ended.code == 5
    assert ended.err.startswith("Error: Polkadot returned no keys of a map: ['0x")


# Constants and runtime APIs


def test_a_constant_is_read_offline_from_the_runtime_at_hand(scenarioctl: Run) -> None:
    ended = scenarioctl("--offline", "query", "polkadot", "Balances", "ExistentialDeposit")

    assert (ended.out, ended.code) == ("10000000000\n", 0)
    assert ended.err == says("constant", "2000000")


# Blocks


def test_a_block_is_named_by_its_hash_or_its_number(ask: Ask) -> None:
    def at_block(key: str, at: str | None = None) -> str:
        assert key == prefix("System", "Number")
        return {FIVE: "0x05000000", None: "0x14000000"}[at]

    for block in (FIVE, FIVE.upper().replace("X", "x"), "5"):
        line = ("System", "Number", "--block", block)
        assert query(ask, "polkadot", {}, *line, state_getStorage=at_block) == "5"


def test_a_block_whose_state_is_thrown_away_is_explained(ask: Ask) -> None:
    def version(at: str | None = None) -> dict[str, Any]:
        if at == FIVE:
            raise Refusal(4003, f"Client error: UnknownBlock: State already discarded for {FIVE}")
        return {"specName": "polkadot", "specVersion": bundled("polkadot").spec_version}

    with Node(answers("polkadot", state_getRuntimeVersion=version)) as node:
        ended = ask(node, "polkadot", "query", "polkadot", "System", "Number", "--block", "5")

    assert (ended.err, ended.code) == (
        says(FIVE, "chains.polkadot.endpoints", '["wss://…"]', url=node.url).printed,
        6,
    )


def test_an_old_block_is_read_with_the_runtime_it_had_which_is_fetched_once(ask: Ask) -> None:
    old = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
    asked: list[tuple[str, ...]] = []

    def version(at: str | None = None) -> dict[str, Any]:
        number = 1006000 if at == FIVE else bundled("polkadot").spec_version
        return {"specName": "polkadot", "specVersion": number}

    def call(*given: str) -> str:
        asked.append(given)
        return (
            "0x01" + (encode_compact(len(old)) + old).hex() if given[1] == "0x0f000000" else "0x00"
        )

    node_answers = answers("polkadot", state_getRuntimeVersion=version, state_call=call)
    with Node(node_answers) as node:
        # A pallet that Polkadot has no more.
        line = ("query", "polkadot", "Democracy", "EnactmentPeriod")
        then = ask(node, "polkadot", "query", "polkadot", "Nis", "x", "--block", "5")
        specs = [
            ask(
                *(node, "polkadot", "query", "polkadot", "System", "Version", "--block", "5"),
                *("--field", "result"),
            )
            for _ in range(2)
        ]
        now = ask(node, "polkadot", *line)

    assert "of polkadot 1006000" in then.err
    assert [json.loads(answer(each))["spec_version"] for each in specs] == ["1006000", "1006000"]
    assert "of polkadot 2000000" in now.err
    # The first of these runs has put it in the cache.
    assert asked == [
        ("Metadata_metadata_at_version", "0x10000000", FIVE),
        ("Metadata_metadata_at_version", "0x0f000000", FIVE),
    ]


# Channels


def channels(
    ingress: list[int], egress: list[int], lifecycle: str | None = "0x02"
) -> dict[str, str]:
    """Return the storage of a relay chain on which 2034 has these channels."""
    rest = two_x64_concat(u32(2034))

    def listed(numbers: list[int]) -> str:
        return (
            "0x"
            + (encode_compact(len(numbers)) + b"".join(u32(number) for number in numbers)).hex()
        )

    storage = {
        prefix("Hrmp", "HrmpIngressChannelsIndex") + rest: listed(ingress),
        prefix("Hrmp", "HrmpEgressChannelsIndex") + rest: listed(egress),
    }
    return (
        storage
        if lifecycle is None
        else {**storage, prefix("Paras", "ParaLifecycles") + rest: lifecycle}
    )


# Scenarios


# Bad input

RUNTIME = "polkadot 2000000"


def test_an_answer_that_is_no_bytes_is_the_nodes_fault(ask: Ask) -> None:
    for given, shown in (
        (7, "bytes: 7"),
        ("hello", "bytes: 'hello'"),
        ("0x1400000000", f"a u32 of {RUNTIME}: 1 bytes too many after u32"),
        ("0xzz", "bytes: '0xzz'"),
    ):
        with Node(answers("polkadot", state_getStorage=given)) as node:
            ended = ask(node, "polkadot", "query", "polkadot", "System", "Number")

        assert (ended.err, ended.code) == (says("Polkadot", shown).printed, 5)
