"""What a contract's metadata says about its messages."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.contracts.metadata import Message, describe_contract, ink_version
from scenarioctl.errors import InvalidRequest
from tests.conftest import DATA, SHARED

OWN = DATA / "contracts"
REAL = SHARED / "data" / "contracts"

#: What each real file comes to: version, and each message as `selector name(args)`, `!` where it changes the state.
FLIPPER = ["0x633aa551 flip()!", "0x2f865bd9 get()"]
ERC20 = [
    "0xdb6375a8 total_supply()",
    "0x0f755a56 balance_of(owner: AccountId)",
    "0x6a00165e allowance(owner: AccountId, spender: AccountId)",
    "0x84a15da1 transfer(to: AccountId, value: Balance)!",
    "0x681266a0 approve(spender: AccountId, value: Balance)!",
    "0x0b396f18 transfer_from(from: AccountId, to: AccountId, value: Balance)!",
]
EXPECTED = {
    "flipper-api-sample.json": (5, FLIPPER),
    "v3-flipper.bundle.json": (3, FLIPPER),
    "v4-flipper.json": (4, FLIPPER),
    "v5-flipper.json": (5, FLIPPER),
    "v3-erc20.bundle.json": (
        3,
        [
            "0x8244a1ad BaseErc20::total_supply()",
            "0x933ae3c8 BaseErc20::balance_of(owner: AccountId)",
            "0x74a27ac8 BaseErc20::allowance(owner: AccountId, spender: AccountId)",
            "0xfa9833a3 BaseErc20::transfer(to: AccountId, value: Balance)!",
            "0x922e291f BaseErc20::approve(spender: AccountId, value: Balance)!",
            "0x839f0263 BaseErc20::transfer_from(from: AccountId, to: AccountId, value: Balance)!",
        ],
    ),
    "v4-erc20.json": (4, ERC20),
    "v5-erc20.json": (5, ERC20),
    "v6-erc20.json": (6, [line.replace("AccountId", "H160").replace("Balance", "U256") for line in ERC20]),
}


def read(name: str) -> Any:
    return json.loads((OWN / name).read_text())


def outline(messages: tuple[Message, ...]) -> list[str]:
    return [
        f"{one.selector} {one.function_name}({', '.join(one.args)}){'!' * one.mutates}" for one in messages
    ]


def refusal(abi: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        describe_contract(abi)
    assert type(caught.value) is InvalidRequest
    return str(caught.value)


def test_the_real_files_say_what_they_say() -> None:
    found = {path.name for path in REAL.glob("*.json")}

    for name in found & set(EXPECTED):
        abi = json.loads((REAL / name).read_text())
        assert (ink_version(abi), outline(describe_contract(abi))) == EXPECTED[name], name
    # Nothing new lies there unnoticed.
    assert found <= {*EXPECTED, "v1-psp22.bundle.json"}


def test_a_real_file_of_version_1_is_refused_by_its_version() -> None:
    for path in REAL.glob("v1-*.json"):
        assert refusal(json.loads(path.read_text())) == (
            "abiJson version V1 cannot be read, expected ink! metadata version 3 (under V3), 4, 5 or 6"
        )


def test_a_message_is_told_whole() -> None:
    assert describe_contract(read("counter-v3.json")) == (
        Message(function_name="add", selector="0x00000010", mutates=True, args=("by: i32",)),
        Message(
            function_name="reward",
            selector="0x00000011",
            mutates=True,
            args=("value: Balance", "shares: Vec<(i32, Balance)>"),
        ),
    )


def test_types_are_printed_as_people_write_them() -> None:
    assert outline(describe_contract(read("treasury-v5.json"))) == [
        "0xa1b2c3d4 pay(to: AccountId, value: Balance, memo: Option<String>)!",
        "0x00000001 pay_many(shares: Vec<(u32, Balance)>)!",
        "0x00000002 vote(proposal: ProposalId, until: BlockNumber, weight: u32)!",
        "0x00000003 settle(outcome: Result<(), Error>, proof: [u8; 32], digest: Hash)!",
        "0x00000004 configure(limits: BTreeMap<AccountId, Balance>, admins: BTreeSet<AccountId>,"
        " guard: Option<AccountId>, pair: (AccountId, Hash), single: (u64,), nothing: ())!",
        "0x00000005 encode(packed: Compact<Balance>, flags: BitVec<u8, Lsb0>, data: Vec<u8>, who: AccountId,"
        " kind: Kind, letter: char, boxed: Vec<(u32, Balance)>, name: String, names: Vec<String>, tree: Tree,"
        " wrapped: Wrapped<Balance, _>)",
        "0x00000006 nested(deep: Option<Result<Vec<(Option<AccountId>, [u64; 2], Vec<u8>)>, Error>>)",
    ]


def test_a_trait_keeps_its_name_and_a_macro_s_type_names_are_dropped() -> None:
    assert outline(describe_contract(read("token-v4.json"))) == [
        "0xdb20f9f5 PSP22::transfer(to: AccountId, value: u128, data: Vec<u8>)!",
        "0x162df8c2 PSP22::total_supply()",
    ]


def test_version_6_speaks_of_ethereum_s_types() -> None:
    # H256 is this chain's Hash as well, but the contract calls it H256.
    assert outline(describe_contract(read("vault-v6.json"))) == [
        "0x00000020 deposit(owner: Address, value: U256)!",
        "0x00000021 sweep(owners: Vec<(H160, U256)>, ticket: H256, tickets: Vec<H256>)!",
    ]


def test_a_balance_that_is_also_called_u128_is_u128_within_other_types() -> None:
    abi = read("treasury-v5.json")
    abi["spec"]["messages"][2]["args"][2]["type"] = {"displayName": ["u128"], "type": 0}
    messages = describe_contract(abi)

    assert messages[0].args[1] == "value: Balance"
    assert messages[1].args == ("shares: Vec<(u32, u128)>",)
    assert messages[2].args[2] == "weight: u128"


def test_a_balance_that_is_the_timestamp_s_type_too_is_a_number_within_other_types() -> None:
    abi = read("treasury-v5.json")
    abi["spec"]["environment"]["timestamp"]["type"] = 0

    assert describe_contract(abi)[1].args == ("shares: Vec<(u32, u128)>",)


def test_a_written_name_does_not_hide_a_number_behind_another() -> None:
    abi = read("counter-v3.json")
    abi["V3"]["spec"]["messages"][0]["args"][0]["type"] = {"displayName": ["bool"], "type": 0}

    assert describe_contract(abi)[0].args == ("by: i32",)


@pytest.mark.parametrize(
    ("name", "version"), [("counter-v3", 3), ("token-v4", 4), ("treasury-v5", 5), ("vault-v6", 6)]
)
def test_the_version_is_read_from_where_it_stands(name: str, version: int) -> None:
    assert ink_version(read(f"{name}.json")) == version


EXPECTED_VERSIONS = "expected ink! metadata version 3 (under V3), 4, 5 or 6"


@pytest.mark.parametrize(
    ("abi", "sentence"),
    [
        (None, "abiJson is null, expected an object: a contract's metadata file"),
        ([], "abiJson is a list, expected an object: a contract's metadata file"),
        ("{}", "abiJson is '{}', expected an object: a contract's metadata file"),
        (True, "abiJson is true, expected an object: a contract's metadata file"),
        ({}, f"abiJson has no version, {EXPECTED_VERSIONS}"),
        ({"spec": {"messages": []}}, f"abiJson has no version, {EXPECTED_VERSIONS}"),
        ({"Vault": {}, "V": 1}, f"abiJson has no version, {EXPECTED_VERSIONS}"),
        ({"V1": {}}, f"abiJson version V1 cannot be read, {EXPECTED_VERSIONS}"),
        ({"V2": {}}, f"abiJson version V2 cannot be read, {EXPECTED_VERSIONS}"),
        (
            {"metadataVersion": "0.1.0"},
            f"abiJson metadataVersion '0.1.0' cannot be read, {EXPECTED_VERSIONS}",
        ),
        ({"version": 3}, f"abiJson version 3 cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": 7}, f"abiJson version 7 cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": "5.1"}, f"abiJson version '5.1' cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": True}, f"abiJson version true cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": 5.0}, f"abiJson version 5.0 cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": None}, f"abiJson version null cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": 10**5000}, f"abiJson version a huge number cannot be read, {EXPECTED_VERSIONS}"),
        ({"version": [[]]}, f"abiJson version a list cannot be read, {EXPECTED_VERSIONS}"),
        ({"V3": []}, "abiJson V3 is a list, expected an object"),
        ({"V3": {}}, "abiJson V3 has no spec, expected an object"),
        ({"V3": {"spec": {}}}, "abiJson V3 spec has no messages, expected a list"),
        ({"version": 5}, "abiJson has no spec, expected an object"),
        ({"version": 5, "spec": "x"}, "abiJson spec is 'x', expected an object"),
        ({"version": 5, "spec": {}}, "abiJson spec has no messages, expected a list"),
        ({"version": 5, "spec": {"messages": {}}}, "abiJson spec messages is an object, expected a list"),
        (
            {"version": 5, "spec": {"messages": []}},
            "abiJson spec messages is empty, expected at least one message",
        ),
        ({"version": 5, "spec": {"messages": [1]}}, "abiJson has no types, expected a list"),
        (
            {"version": 5, "spec": {"messages": [1]}, "types": [7]},
            "abiJson types entry 1 is 7, expected an object with id and type",
        ),
        (
            {"version": 5, "spec": {"messages": [1]}, "types": [{"type": {}}]},
            "abiJson types entry 1 has no id, expected a number",
        ),
        (
            {"version": 5, "spec": {"messages": [1]}, "types": [{"id": -1, "type": {}}]},
            "abiJson types entry 1 id is -1, expected a number from 0 to 4294967295",
        ),
        (
            {"version": 5, "spec": {"messages": [1]}, "types": [{"id": 0}]},
            "abiJson types entry 1 has no type, expected an object",
        ),
        (
            {"version": 5, "spec": {"messages": [1]}, "types": []},
            "abiJson spec message 1 is 1, expected an object",
        ),
    ],
)
def test_what_is_no_metadata_is_refused_by_what_is_missing(abi: object, sentence: str) -> None:
    assert refusal(abi) == sentence


def without(*path: str | int) -> Callable[[Any], None]:
    def change(abi: Any) -> None:
        for step in path[:-1]:
            abi = abi[step]
        del abi[path[-1]]

    return change


def having(value: object, *path: str | int) -> Callable[[Any], None]:
    def change(abi: Any) -> None:
        for step in path[:-1]:
            abi = abi[step]
        abi[path[-1]] = value

    return change


FIRST = ("V3", "spec", "messages", 0)
ARGUMENT = (*FIRST, "args", 0)
TYPE = ("V3", "types", 0, "type")
DEF = (*TYPE, "def")
BY = "abiJson V3 spec message 1 'add' argument 'by'"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without(*FIRST, "label"), "abiJson V3 spec message 1 has no label, expected text"),
        (having([], *FIRST, "label"), "abiJson V3 spec message 1 label is a list, expected text"),
        (having("", *FIRST, "label"), "abiJson V3 spec message 1 label '' is not a name"),
        (having("a\x1b[2J", *FIRST, "label"), "abiJson V3 spec message 1 label 'a\\x1b[2J' is not a name"),
        (without(*FIRST, "selector"), "abiJson V3 spec message 1 'add' has no selector, expected text"),
        (having(16, *FIRST, "selector"), "abiJson V3 spec message 1 'add' selector is 16, expected text"),
        *(
            (
                having(selector, *FIRST, "selector"),
                f"abiJson V3 spec message 1 'add' selector {selector!r} is not four bytes of hex, expected one like"
                " 0x633aa551",
            )
            for selector in (
                "",
                "0x",
                "633aa551",
                "0x633aa5",
                "0x633aa55100",
                "0x633aa55g",
                "0X633aa551",
                "0x 33aa551",
            )
        ),
        (
            without(*FIRST, "mutates"),
            "abiJson V3 spec message 1 'add' has no mutates, expected true or false",
        ),
        (
            having(1, *FIRST, "mutates"),
            "abiJson V3 spec message 1 'add' mutates is 1, expected true or false",
        ),
        (without(*FIRST, "args"), "abiJson V3 spec message 1 'add' has no args, expected a list"),
        (having({}, *FIRST, "args"), "abiJson V3 spec message 1 'add' args is an object, expected a list"),
        (having("by", *ARGUMENT), "abiJson V3 spec message 1 'add' argument 1 is 'by', expected an object"),
        (
            without(*ARGUMENT, "label"),
            "abiJson V3 spec message 1 'add' argument 1 has no label, expected text",
        ),
        (without(*ARGUMENT, "type"), f"{BY} has no type, expected an object"),
        (having(0, *ARGUMENT, "type"), f"{BY} type is 0, expected an object"),
        (without(*ARGUMENT, "type", "type"), f"{BY} type has no type, expected a number"),
        (
            having("0", *ARGUMENT, "type", "type"),
            f"{BY} type type is '0', expected a number from 0 to 4294967295",
        ),
        (
            having(True, *ARGUMENT, "type", "type"),
            f"{BY} type type is true, expected a number from 0 to 4294967295",
        ),
        (having(99, *ARGUMENT, "type", "type"), f"{BY} has the type id 99, which is not in abiJson types"),
        (without(*TYPE, "def"), "abiJson type 0 has no def, expected an object"),
        (having({}, *DEF), "abiJson type 0 def is empty, expected one like {'primitive': 'u32'}"),
        (having({"primitive": 5}, *DEF), "abiJson type 0 primitive is 5, expected a definition"),
        (having({"tuple": [0]}, *DEF), f"{BY} has a recursive type: type 0 holds itself"),
        (having({"sequence": {"type": 0}}, *DEF), f"{BY} has a recursive type: type 0 holds itself"),
        (having({"sequence": {"type": 9}}, *DEF), f"{BY} has the type id 9, which is not in abiJson types"),
        (having({"sequence": {}}, *DEF), "abiJson type 0 sequence has no type, expected a number"),
        (
            having({"tuple": ["x"]}, *DEF),
            "abiJson type 0 tuple is 'x', expected a number from 0 to 4294967295",
        ),
        (
            having({"array": {"len": -1, "type": 1}}, *DEF),
            "abiJson type 0 array len is -1, expected a number from 0 to 4294967295",
        ),
        (having({"array": {"type": 1}}, *DEF), "abiJson type 0 array has no len, expected a number"),
        (having({"map": {}}, *DEF), "abiJson type 0 map is not a definition that ink! metadata knows"),
        (
            having({"composite": {"fields": 1}}, *DEF),
            "abiJson type 0 composite is not a definition that ink! metadata knows",
        ),
        (having({"variant": {"variants": [{}]}}, *DEF), "abiJson type 0 variant has no name, expected text"),
        (having("Path", *TYPE, "path"), "abiJson type 0 path is 'Path', expected a list of names"),
        (having([1], *TYPE, "path"), "abiJson type 0 path is a list, expected a list of names"),
        (
            having({"path": ["A"], "params": {"a": 1}}, *TYPE),
            "abiJson type 0 params is an object, expected a list",
        ),
        (
            having({"path": ["A"], "params": [1]}, *TYPE),
            "abiJson type 0 params hold 1, expected an object with name and type",
        ),
        (
            having({"path": ["A"], "params": [{"name": "T", "type": 0}]}, *TYPE),
            f"{BY} has a recursive type: type 0 holds itself",
        ),
    ],
)
def test_a_damaged_file_is_refused_by_what_is_wrong(change: Callable[[Any], None], sentence: str) -> None:
    abi = read("counter-v3.json")
    change(abi)

    assert refusal(abi) == sentence


def test_types_that_go_too_deep_or_double_too_often_are_refused() -> None:
    abi = read("counter-v3.json")
    del abi["V3"]["spec"]["messages"][1]
    chain = [{"id": number, "type": {"def": {"sequence": {"type": number + 1}}}} for number in range(5000)]
    abi["V3"]["types"] = chain
    doubling = copy.deepcopy(abi)
    doubling["V3"]["types"] = [
        {"id": number, "type": {"def": {"tuple": [number + 1, number + 1]}}} for number in range(30)
    ] + [{"id": 30, "type": {"def": {"primitive": "u8"}}}]

    assert refusal(abi) == f"{BY} has types more than 32 deep inside one another"
    assert refusal(doubling) == f"{BY} has a type longer than 1000 characters"


def test_deep_nesting_outside_the_types_does_no_harm() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    abi = read("counter-v3.json")
    abi["V3"]["spec"]["events"] = deep

    try:
        assert len(describe_contract(abi)) == 2
        abi["V3"]["spec"]["messages"][0]["selector"] = deep
        assert refusal(abi) == "abiJson V3 spec message 1 'add' selector is a list, expected text"
    finally:
        # Python would free it one inside the other, on the stack.
        while deep:
            deep = deep.pop()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_is_changed_in_a_file_the_answer_is_messages_or_one_sentence(data: st.DataObject) -> None:
    abi = read(data.draw(st.sampled_from(["counter-v3.json", "treasury-v5.json", "vault-v6.json"])))
    part = abi
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(part[key], (dict, list)) or not part[key] or data.draw(st.integers(0, 9)) == 0:
            break
        part = part[key]
    part[key] = data.draw(json_values)
    try:
        messages = describe_contract(abi)
    except InvalidRequest as error:
        assert str(error).startswith("abiJson")
        assert "\n" not in str(error)
    else:
        assert all(isinstance(message, Message) for message in messages)
