"""Receivers that nobody holds the key of are refused unless the caller confirms them, wherever a
transfer comes from."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Registry
from scenarioctl.runtime.table import BUNDLED
from scenarioctl.transactions.keyless_accounts import (
    accounts_of_address,
    describe_keyless,
    mapping_pallet,
)
from tests.conftest import BOB, Run
from tests.messages import Says, says
from tests.runtimes import REGISTRY as RIG
from tests.runtimes import bundled

TREASURY = "0x" + b"modlpy/trsry".ljust(32, b"\0").hex()
REGISTRY = Registry()
CONFIRM = "Confirm it with"
ROUTE = ("--from", "polkadot", "--to", "assetHub", "--asset", "DOT")
STEP = {
    "type": "xTransfer",
    "source_chain": "polkadot",
    "dest_chain": "assetHub",
    "amount": "2",
    "assetid": "DOT",
    "destination_address": TREASURY,
}


def refusal(field: str, confirm: str = CONFIRM) -> Any:
    return Says([field, TREASURY, "py/trsry", confirm])


#: What 20 bytes of an Ethereum address stand for.
ADDRESS = bytes.fromhex("93e6a91734d50ba4e55ce9f45e0a01593e506a41")
EVERYWHERE = frozenset(
    ("polkadot", "kusama", "paseo", "people", "bridgeHub", "astar", "bifrost", "acala", "hydraDx")
) | {"assetHub", "assetHub_kusama", "assetHub_paseo"}
NOWHERE: frozenset[str] = frozenset()


def hashes(name: str) -> list[bytes]:
    return [
        blake2b(b"%s %d" % (name.encode(), each), digest_size=32).digest() for each in range(20)
    ]


def padded(*texts: bytes) -> list[bytes]:
    return [text.ljust(32, b"\0") for text in texts]


def numbered(place: bytes) -> list[bytes]:
    return padded(*(place + each.to_bytes(4, "little") for each in (1000, 1002, 2000, 2004, 2034)))


ADDRESSES = [each[:20] for each in hashes("address")]
#: Receivers of 32 bytes by their kind, the chains of `EVERYWHERE` on which their key is held, and
#: what is said of them elsewhere.  Of runtimes: `EVMAccounts` makes `ETH\\0` accounts on Hydration
#: and hashes on Bifrost; `EvmAccounts` makes `evm:` accounts on Acala; `Revive` is on Asset Hubs.
RECEIVERS: dict[str, tuple[list[bytes], frozenset[str], str]] = {
    "keys": (hashes("key"), EVERYWHERE, ""),
    "multisigs": (hashes("multisig"), EVERYWHERE, ""),
    "derived": (hashes("derived"), EVERYWHERE, ""),
    "almost": ([b"para" + each[4:] for each in hashes("key")], EVERYWHERE, ""),
    "pallets": (
        padded(*(b"modl" + each for each in (b"py/trsry", b"py/nopls\x07", b"omnipool", b"a/b"))),
        NOWHERE,
        "the account of the pallet",
    ),
    "parachains": (numbered(b"para") + numbered(b"sibl"), NOWHERE, "the sovereign account of"),
    "relay": (padded(b"Parent"), NOWHERE, "the sovereign account of the relay chain"),
    "constants": ([bytes([each] * 32) for each in (0, 1, 0x11, 0xEE, 0xFF)], NOWHERE, "32 bytes"),
    "padded": (
        [each + bytes(12) for each in ADDRESSES] + [bytes(12) + each for each in ADDRESSES],
        NOWHERE,
        "padded with zeros",
    ),
    "Hydration's": (
        [b"ETH\0" + each + bytes(8) for each in (*ADDRESSES, ADDRESS)],
        frozenset(("hydraDx",)),
        "an Ethereum address on Hydration",
    ),
    "Acala's": (
        [b"evm:" + each + bytes(8) for each in ADDRESSES],
        frozenset(("acala",)),
        "an Ethereum address on Acala",
    ),
    "revive's": (
        [each + b"\xee" * 12 for each in (*ADDRESSES, ADDRESS)],
        frozenset(("assetHub", "assetHub_kusama", "assetHub_paseo")),
        "with pallet-revive",
    ),
    # An Ethereum address that is none, under the marks of both.
    "burnt": (
        [b"ETH\0" + bytes(28), bytes(18) + b"\xde\xad" + b"\xee" * 12],
        NOWHERE,
        "the account of an Ethereum address on",
    ),
    "texts": (
        padded(b"yourWalletAddressToBeEnteredHere", b"a text of some length", b"x"),
        NOWHERE,
        "a placeholder: the bytes spell",
    ),
    "counts": (
        [bytes(range(32)), bytes(range(1, 33)), bytes(range(32, 0, -1)), bytes(range(0, 256, 8))],
        NOWHERE,
        "a placeholder: the bytes count",
    ),
    "patterns": (
        [bytes.fromhex(each * 32)[:32] for each in ("12ab", "deadbeef", "0123456789abcdef")]
        + [bytes.fromhex("1234567890" * 7)[:32]],
        NOWHERE,
        "a placeholder: the bytes repeat",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", RECEIVERS)
@pytest.mark.parametrize("name", sorted(EVERYWHERE))
def test_whether_a_receiver_has_a_key_depends_on_the_chain(kind: str, name: str) -> None:
    accounts, keyed, words = RECEIVERS[kind]

    said = [describe_keyless(account, REGISTRY.find(name)) for account in accounts]

    assert [words in each if each else name in keyed for each in said] == [True] * len(said)
    assert {bool(each) for each in said} == {name not in keyed}


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (ADDRESS, ""),
        (bytes(17) + b"\x01\xde\xad", ""),
        # A precompile, and where tokens are burnt.
        (bytes(19) + b"\x01", "zeros"),
        (bytes(18) + b"\xde\xad", "zeros"),
        (b"yourEthereumAddress!", "spell"),
        (bytes.fromhex("1234567890" * 4), "repeat"),
        (b"sibl\xe8\x03".ljust(20, b"\0"), "sovereign"),
    ],
)
def test_an_account_of_20_bytes_can_be_nobodys_too(account: bytes, said: str) -> None:
    found = describe_keyless(account, REGISTRY.find("mythos"))

    assert (bool(found), said in found) == (bool(said), True)


@pytest.mark.parametrize("name", BUNDLED)
def test_the_facts_name_the_pallet_that_the_runtime_has(name: str) -> None:
    chain = REGISTRY.find(name)

    assert mapping_pallet(chain) == mapping_pallet(chain, bundled(name))


def test_the_runtime_decides_where_no_facts_are_known() -> None:
    contracts, account = RIG.find("rigcontracts"), ADDRESS + b"\xee" * 12

    assert describe_keyless(account, contracts)
    assert not describe_keyless(account, contracts, bundled("assetHub"))
    # Bifrost has a pallet of this name that makes other accounts.
    assert mapping_pallet(REGISTRY.find("bifrost"), bundled("hydraDx")) == ""
    # A runtime from before the pallet.
    assert describe_keyless(account, REGISTRY.find("assetHub"), bundled("polkadot"))


HYDRATION, REVIVE = (format_account(each, 0) for each in accounts_of_address(ADDRESS)[::2])


@pytest.mark.parametrize("to", ["assetHub", "polkadot", "kusama", "hydraDx"])
@pytest.mark.parametrize("account", [HYDRATION, REVIVE])
def test_a_transfer_to_an_account_whose_key_is_elsewhere_is_refused(
    scenarioctl: Run, to: str, account: str
) -> None:
    route = ("--from", to, "--to", to, "--asset", "native", "--amount", "5")
    line = ("--offline", "tx", "transfer", *route, "--to-address", account)
    held = (to, account) in (("hydraDx", HYDRATION), ("assetHub", REVIVE))

    first, confirmed = scenarioctl(*line), scenarioctl(*line, "--yes")

    assert (first.code, confirmed.code) == (0 if held else 2, 0)
    assert held or first.err == says(account, "nobody", CONFIRM).printed


def test_a_payout_and_the_address_book_tell_of_it(scenarioctl: Run, tmp_path: Path) -> None:
    lines = tmp_path / "lines.csv"
    lines.write_text(f"account,amount\n{HYDRATION},100\n")
    payout = scenarioctl("create", "payout", str(lines), "--chain", "assetHub", "--asset", "USDT")
    created = scenarioctl(
        "create", "scenario", *ROUTE, "--amount", "5", "--to-address", HYDRATION, "--yes"
    )
    named = scenarioctl("address", "add", "Eve", HYDRATION)

    assert (payout.code, payout.err) == (2, says("line 2", HYDRATION, "nobody").printed)
    assert "valid address" not in created.err
    assert "Ethereum address on Hydration" in created.err
    assert "On other chains nobody is known to hold its key." in named.err


@pytest.mark.parametrize(
    ("to", "account"), [("hydraDx", HYDRATION), ("assetHub", REVIVE), ("polkadot", "")]
)
def test_an_ethereum_address_is_told_the_account_of_its_key(
    scenarioctl: Run, to: str, account: str
) -> None:
    route = ("--from", to, "--to", to, "--asset", "native", "--amount", "5")

    refused = scenarioctl(
        "--offline", "tx", "transfer", *route, "--to-address", "0x" + ADDRESS.hex()
    )

    assert (refused.code, account in refused.err) == (2, True)
    assert ("the account that its key has" in refused.err) is bool(account)


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (b"yourWalletAddressToBeEnteredHere", "the bytes spell 'yourWalletAddressToBeEnteredHere'"),
        (b"ETH\0" + ADDRESS + bytes(8), "the account of an Ethereum address on Hydration"),
    ],
)
def test_the_words_of_a_call_tell_of_it(scenarioctl: Run, account: bytes, said: str) -> None:
    call = "0x0a0300" + account.hex() + "04"
    decoded = scenarioctl(
        "--offline", "tx", "decode", call, "--chain", "assetHub", "--field", "says"
    )

    assert said in decoded.out


@pytest.mark.parametrize(
    "line",
    [
        ("create", "scenario", *ROUTE, "--amount", "2", "--destination-address"),
        ("xcm", "asset-transfer", *ROUTE, "--amount", "20000000000raw", "--destinationaddress"),
        (
            "tx",
            "check",
            "--sender",
            BOB,
            *ROUTE,
            "--amount",
            "20000000000raw",
            "--destinationaddress",
        ),
    ],
    ids=["create", "xcm", "check"],
)
def test_a_command_refuses_it_until_it_is_confirmed(
    scenarioctl: Run, line: tuple[str, ...]
) -> None:
    refused = scenarioctl("--offline", *line, TREASURY)
    confirmed = scenarioctl("--offline", *line, TREASURY, "--yes")

    assert (refused.code, refused.out, refused.err) == (2, "", refusal("--to-address").printed)
    # A check asks the chains, which is as far as it comes offline.
    assert (confirmed.code, "nobody" in confirmed.err) == (5 if line[0] == "tx" else 0, False)


def test_a_scenario_keeps_the_confirmation_of_its_receiver_for_its_job(
    scenarioctl: Run, tmp_path: Path
) -> None:
    scenario = scenarioctl(
        "create", "scenario", *ROUTE, "--amount", "2", "--destination-address", TREASURY, "--yes"
    ).out.strip()
    run = scenarioctl("--offline", "job", "run", scenario, "--json")
    shared = json.loads(scenarioctl("scenario", "export", scenario, "--as", "json").out)
    data = next(node for node in shared["nodes"] if node["type"] == "action")["formData"][
        "actionData"
    ]
    data["target"]["address"] = "0x" + "00" * 32
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(shared))
    other = scenarioctl("scenario", "import", str(edited)).out.strip()
    drafted = scenarioctl("--offline", "scenario", "full", other)

    assert run.code == 0
    assert data["confirmedReceiver"] == TREASURY
    # Another receiver than the one that was confirmed.
    assert drafted.code == 2
    assert "target.address '0x0000" in drafted.err


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (STEP, refusal("steps[0].destination_address")),
        (
            {**STEP, "destination_address": "{{ address }}", "yes": True},
            says("steps[0].yes", "steps[0].destination_address"),
        ),
        ({**STEP, "yes": 1}, says("steps[0].yes", "1")),
    ],
    ids=["not confirmed", "a placeholder", "no truth value"],
)
def test_a_flow_confirms_by_a_key(
    scenarioctl: Run, tmp_path: Path, step: dict[str, Any], sentence: Any
) -> None:
    flow = tmp_path / "flow.json"
    flow.write_text(json.dumps({"steps": [step]}))
    refused = scenarioctl("create", "flow", str(flow))
    flow.write_text(json.dumps({"steps": [{**STEP, "yes": True}]}))
    confirmed = scenarioctl("create", "flow", str(flow))

    assert (refused.code, refused.err) == (2, sentence.printed)
    assert confirmed.code == 0
