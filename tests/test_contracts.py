"""What a contract's metadata says about its messages."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.contracts import ContractMessage, describe_contract, ink_version
from scenarioctl.errors import InvalidRequest
from tests.conftest import DATA, SHARED, examples
from tests.messages import Says, says

OWN = DATA / "contracts"
REAL = SHARED / "data" / "contracts"

#: What each real file comes to: version, and each message as `selector name(args)`, `!` where it
#: changes the state.
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
    "v6-erc20.json": (
        6,
        [line.replace("AccountId", "H160").replace("Balance", "U256") for line in ERC20],
    ),
}


def read(name: str) -> Any:
    return json.loads((OWN / name).read_text())


def outline(messages: tuple[ContractMessage, ...]) -> list[str]:
    return [
        f"{one.selector} {one.function_name}({', '.join(one.args)}){'!' * one.mutates}"
        for one in messages
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
    files = list(REAL.glob("v1-*.json"))
    if not files:
        pytest.skip("the real metadata files are not beside this checkout")
    for path in files:
        assert refusal(json.loads(path.read_text())) == says("abiJson", "V1")


def test_types_are_printed_as_people_write_them() -> None:
    assert outline(describe_contract(read("treasury-v5.json"))) == [
        "0xa1b2c3d4 pay(to: AccountId, value: Balance, memo: Option<String>)!",
        "0x00000001 pay_many(shares: Vec<(u32, u128)>)!",
        "0x00000002 vote(proposal: ProposalId, until: BlockNumber, weight: u32)!",
        "0x00000003 settle(outcome: Result<(), Error>, proof: [u8; 32], digest: Hash)!",
        "0x00000004 configure(limits: BTreeMap<AccountId, u128>, admins: BTreeSet<AccountId>,"
        " guard: Option<AccountId>, pair: (AccountId, Hash), single: (u64,), nothing: ())!",
        "0x00000005 encode(packed: Compact<u128>, flags: BitVec<u8, Lsb0>, data: "
        "Vec<u8>, who: AccountId,"
        " kind: Kind, letter: char, boxed: Vec<(u32, u128)>, name: String, names: "
        "Vec<String>, tree: Tree,"
        " wrapped: Wrapped<u128, _>)",
        (
            "0x00000006 nested(deep: Option<Result<Vec<(Option<AccountId>, [u64; 2], "
            "Vec<u8>)>, Error>>)"
        ),
    ]


def test_version_6_speaks_of_ethereum_s_types() -> None:
    # H256 is this chain's Hash as well, but the contract calls it H256.
    assert outline(describe_contract(read("vault-v6.json"))) == [
        "0x00000020 deposit(owner: Address, value: U256)!",
        "0x00000021 sweep(owners: Vec<(H160, U256)>, ticket: H256, tickets: Vec<H256>)!",
    ]


@pytest.mark.parametrize(
    ("name", "version"), [("counter-v3", 3), ("token-v4", 4), ("treasury-v5", 5), ("vault-v6", 6)]
)
def test_the_version_is_read_from_where_it_stands(name: str, version: int) -> None:
    assert ink_version(read(f"{name}.json")) == version


@pytest.mark.parametrize(
    ("abi", "sentence"),
    [
        (None, says("abiJson", "null")),
        ([], says("abiJson", "list")),
        ("{}", says("abiJson", "{}")),
        ({}, says("abiJson")),
        ({"spec": {"messages": []}}, says("abiJson")),
        ({"V1": {}}, says("abiJson", "V1")),
        ({"metadataVersion": "0.1.0"}, says("abiJson", "metadataVersion", "0.1.0")),
        ({"version": 7}, says("abiJson", "7")),
        ({"version": "5.1"}, says("abiJson", "5.1")),
        ({"version": 5.0}, says("abiJson", "5.0")),
        ({"version": 10**5000}, says("abiJson")),
        ({"V3": []}, says("abiJson", "V3")),
        ({"version": 5}, says("abiJson", "spec")),
        ({"version": 5, "spec": "x"}, says("abiJson", "x")),
        ({"version": 5, "spec": {"messages": []}}, says("abiJson", "messages")),
        ({"version": 5, "spec": {"messages": [1]}}, says("abiJson", "messages[0]")),
    ],
)
def test_what_is_no_metadata_is_refused_by_what_is_missing(abi: object, sentence: Says) -> None:
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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without(*FIRST, "label"), says("abiJson", "V3", "messages[0]", "label")),
        (having("a\x1b[2J", *FIRST, "label"), says("abiJson", "V3", "a\\x1b[2J")),
        (without(*FIRST, "selector"), says("abiJson", "V3", "messages[0]", "selector")),
        *(
            (
                having(selector, *FIRST, "selector"),
                f"abiJson V3 spec message 1 'add' selector {selector!r} is not four bytes "
                "of hex, expected one like"
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
        (without(*FIRST, "mutates"), says("abiJson", "V3", "messages[0]", "mutates")),
        (without(*FIRST, "args"), says("abiJson", "V3", "messages[0]", "args")),
        (having("by", *ARGUMENT), says("abiJson", "V3", "messages[0].args[0]")),
        (without(*ARGUMENT, "label"), says("abiJson", "V3", "messages[0].args[0]")),
        (having(-1, "V3", "types", 0, "id"), says("abiJson", "types[0].id")),
        (without(*ARGUMENT, "type"), says("type")),
        (having("0", *ARGUMENT, "type", "type"), says("0")),
        (having(99, *ARGUMENT, "type", "type"), says("99", "abiJson")),
        (without(*TYPE, "def"), says("abiJson", "0")),
        (having({"primitive": 5}, *DEF), says("abiJson", "types[0]", "primitive")),
        (having({"tuple": [0]}, *DEF), says("0")),
        (having({"tuple": ["x"]}, *DEF), says("abiJson", "0", "x")),
        (having({"array": {"len": -1, "type": 1}}, *DEF), says("abiJson", "types[0]", "array.len")),
        (having({"composite": {"fields": 1}}, *DEF), says("abiJson", "0")),
        (having({"variant": {"variants": [{}]}}, *DEF), says("abiJson", "0")),
        (having("Path", *TYPE, "path"), says("abiJson", "types[0]", "path")),
        (having({"path": ["A"], "params": [{"name": "T", "type": 0}]}, *TYPE), says("0")),
    ],
)
def test_a_damaged_file_is_refused_by_what_is_wrong(
    change: Callable[[Any], None], sentence: Says
) -> None:
    abi = read("counter-v3.json")
    change(abi)

    assert refusal(abi) == sentence


def test_types_that_go_too_deep_or_double_too_often_are_refused() -> None:
    abi = read("counter-v3.json")
    del abi["V3"]["spec"]["messages"][1]
    chain = [
        {"id": number, "type": {"def": {"sequence": {"type": number + 1}}}}
        for number in range(5000)
    ]
    abi["V3"]["types"] = chain
    doubling = copy.deepcopy(abi)
    doubling["V3"]["types"] = [
        {"id": number, "type": {"def": {"tuple": [number + 1, number + 1]}}} for number in range(30)
    ] + [{"id": 30, "type": {"def": {"primitive": "u8"}}}]

    assert refusal(abi) == says("32")
    assert refusal(doubling) == says("1000")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_whatever_is_changed_in_a_file_the_answer_is_messages_or_one_sentence(
    data: st.DataObject,
) -> None:
    abi = read(data.draw(st.sampled_from(["counter-v3.json", "treasury-v5.json", "vault-v6.json"])))
    part = abi
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = data.draw(st.sampled_from(keys))
        if (
            not isinstance(part[key], (dict, list))
            or not part[key]
            or data.draw(st.integers(0, 9)) == 0
        ):
            break
        part = part[key]
    part[key] = data.draw(json_values)
    try:
        messages = describe_contract(abi)
    except InvalidRequest as error:
        assert str(error).startswith("abiJson")
        assert "\n" not in str(error)
    else:
        assert all(isinstance(message, ContractMessage) for message in messages)
