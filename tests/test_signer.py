"""The reference signer in `examples/signer`: its policy, what it signs, and its journal."""

import ast
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.bare_extrinsic import bare_extrinsic
from scenarioctl.transactions.mortality import encode_era
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.wallet_formats import signer_payload
from tests.conftest import BOB, BOB_HEX, DATA, ROOT
from tests.runtimes import bundled
from tests.signing import dev_key

sys.path.insert(0, str(ROOT / "examples" / "signer"))

import chain
import policy
import signer

METADATA = (DATA / "metadata" / "polkadot-1002005.v14.scale").read_bytes()
TABLE = read_metadata(METADATA)
RUNTIME = chain.Runtime(1002005, 26, "0x" + METADATA.hex())
GENESIS = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3"
BOBS = BOB_HEX.removeprefix("0x")
DOT = 10**10


def transfer(amount: int = DOT, dest: Any = None, method: str = "transfer_keep_alive") -> Call:
    return Call(
        pallet="Balances",
        method=method,
        args={"dest": dest or {"Id": bytes.fromhex(BOBS)}, "value": amount},
    )


def location(parents: int, *junctions: Any) -> Any:
    interior = {f"X{len(junctions)}": list(junctions)} if junctions else "Here"
    return {"parents": parents, "interior": interior}


ACCOUNT = {"AccountId32": {"network": None, "id": bytes.fromhex(BOBS)}}
HUB = location(0, {"Parachain": 1000})
DEPOSIT = {"assets": {"Wild": {"AllCounted": 1}}, "beneficiary": location(0, ACCOUNT)}


def asset(amount: int = DOT) -> Any:
    return {"id": location(0), "fun": {"Fungible": amount}}


def teleport(**changes: Any) -> Call:
    args = {
        "dest": {"V4": HUB},
        "beneficiary": {"V4": location(0, ACCOUNT)},
        "assets": {"V4": [asset()]},
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    return Call(pallet="XcmPallet", method="limited_teleport_assets", args={**args, **changes})


def by_type(program: Any = None, **changes: Any) -> Call:
    args = {
        "dest": {"V4": HUB},
        "assets": {"V4": [asset()]},
        "assets_transfer_type": "Teleport",
        "remote_fees_id": {"V4": location(0)},
        "fees_transfer_type": "Teleport",
        "custom_xcm_on_dest": {"V4": program or [{"DepositAsset": DEPOSIT}]},
        "weight_limit": "Unlimited",
    }
    return Call(pallet="XcmPallet", method="transfer_assets_using_type_and_then", args={**args, **changes})


def read(call: Call) -> Any:
    data = TABLE.encode_call(call)
    return policy.read_move("polkadot", RUNTIME.decode(data), data)


def refusal(do: Callable[[], Any]) -> str:
    with pytest.raises(chain.Refused) as refused:
        do()
    return str(refused.value)


def test_no_example_imports_the_program() -> None:
    found = set()
    for path in (ROOT / "examples").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])

    assert found - set(sys.stdlib_module_names) == {
        *("chain", "policy"),
        *("scalecodec", "substrateinterface", "websocket"),
    }


# What is signed


@given(st.integers(0, 2**128 - 1))
def test_its_numbers_are_those_of_the_codec(number: int) -> None:
    assert chain.compact(number) == encode_compact(number)


@given(st.integers(0, 2**32))
def test_its_era_is_that_of_the_program(block: int) -> None:
    assert chain.era_from(block) == encode_era(64, block)


@pytest.mark.parametrize("name", ["polkadot", "assetHub", "hydraDx"])
@pytest.mark.parametrize("digest", ["", "0x" + "5a" * 32])
def test_it_builds_the_payload_that_the_program_builds(name: str, digest: str) -> None:
    table = bundled(name)
    call = table.encode_call(Call(pallet="System", method="remark", args={"remark": b"hello"}))
    block_hash = "0x" + "bb" * 32
    options = SigningOptions(
        nonce=300,
        era=encode_era(64, 1000),
        block_hash=bytes.fromhex(block_hash[2:]),
        genesis_hash=bytes.fromhex(GENESIS[2:]),
        mode=1 if digest else 0,
        metadata_hash=bytes.fromhex(digest[2:]) if digest else None,
    )
    expected = signing_payload(table, call, options)
    parts = expected.describe()
    extensions = [
        (extension, extension in parts["extra"], extension in parts["additional"])
        for extension in signer_payload(table, expected, options, address=BOB)["signedExtensions"]
    ]

    made = chain.payload(
        call, extensions, nonce=300, block=1000, block_hash=block_hash, genesis=GENESIS,
        spec=table.spec_version, transaction=table.transaction_version, digest=digest,
    )  # fmt: skip

    assert made == expected.payload


def test_it_reads_the_extensions_of_a_runtime() -> None:
    assert RUNTIME.extensions() == [
        ("CheckNonZeroSender", False, False),
        ("CheckSpecVersion", False, True),
        ("CheckTxVersion", False, True),
        ("CheckGenesis", False, True),
        ("CheckMortality", True, True),
        ("CheckNonce", True, False),
        ("CheckWeight", False, False),
        ("ChargeTransactionPayment", True, False),
        ("PrevalidateAttests", False, False),
        ("CheckMetadataHash", True, True),
    ]


@pytest.mark.parametrize("place", [(True, False), (False, True)])
def test_an_extension_that_it_does_not_know_is_refused(place: tuple[bool, bool]) -> None:
    why = refusal(
        lambda: chain.payload(
            b"",
            [("Novel", *place)],
            nonce=0,
            block=0,
            block_hash="0x",
            genesis="0x",
            spec=0,
            transaction=0,
            digest="",
        )
    )

    assert why == "this signer doesn't know the transaction extension Novel"


@pytest.mark.parametrize(
    "draft",
    [
        "0x",
        "0x04",
        "0x0804",
        "0x0c840000",
        "0x0c05000",
        "Could not generate transaction",
        "0x10040000" + "00" * 2,
    ],
)
def test_what_is_not_an_unsigned_extrinsic_is_refused(draft: str) -> None:
    assert refusal(lambda: chain.call_of(draft)).startswith("the draft is not ")


def test_bytes_behind_a_call_are_refused() -> None:
    data = TABLE.encode_call(transfer())

    assert chain.call_of("0x" + bare_extrinsic(data).hex()) == data
    assert "Current offset: 41 / length: 42" in refusal(lambda: RUNTIME.decode(data + b"\0"))


# What a call does


def test_a_transfer_is_read() -> None:
    assert read(transfer()) == policy.Move(
        chain="polkadot", kind="transfer", asset="native", amount=DOT, receiver=BOBS
    )


@pytest.mark.parametrize("call", [teleport(), by_type()], ids=["teleport", "by type"])
def test_a_transfer_to_another_chain_is_read(call: Call) -> None:
    assert read(call) == policy.Move(
        chain="polkadot", kind="xcm", asset="0/Here", amount=DOT, receiver=BOBS,
        to="0/Parachain(1000)", by="Teleport",
    )  # fmt: skip


def test_a_remark_is_read() -> None:
    assert read(Call(pallet="System", method="remark", args={"remark": b""})).kind == "remark"


UNKNOWN: dict[str, tuple[Call, str]] = {
    "a batch": (
        Call(pallet="Utility", method="batch_all", args={"calls": []}),
        "it is a call of Utility.batch_all, which this signer doesn't know",
    ),
    "everything": (
        Call(
            pallet="Balances",
            method="transfer_all",
            args={"dest": {"Id": bytes.fromhex(BOBS)}, "keep_alive": False},
        ),
        "it is a call of Balances.transfer_all, which this signer doesn't know",
    ),
    "another kind of address": (transfer(dest={"Address32": bytes.fromhex(BOBS)}), "has a shape"),
    "two assets": (teleport(assets={"V4": [asset(), asset()]}), "has a shape that this signer doesn't know"),
    "a weight limit": (
        teleport(weight_limit={"Limited": {"ref_time": 1, "proof_size": 1}}),
        "weight_limit is not Unlimited",
    ),
    "another fee asset": (teleport(fee_asset_item=1), "fee_asset_item is not 0"),
    "a receiver beyond": (
        teleport(beneficiary={"V4": location(1, ACCOUNT)}),
        "the receiver is not an account on the other chain",
    ),
    "a receiver that is a chain": (teleport(beneficiary={"V4": HUB}), "has a shape"),
    "a longer program": (by_type([{"ClearOrigin": None}, {"DepositAsset": DEPOSIT}]), "has a shape"),
    "another program": (by_type(["ClearOrigin"]), "does more than deposit"),
    "a part of the asset": (
        by_type([{"DepositAsset": {**DEPOSIT, "assets": {"Definite": [asset(1)]}}}]),
        "doesn't deposit all of the asset",
    ),
    "another transfer type for the fee": (
        by_type(fees_transfer_type="LocalReserve"),
        "doesn't know the transfer type",
    ),
    "a remote reserve": (
        by_type(
            assets_transfer_type={"RemoteReserve": {"V4": HUB}},
            fees_transfer_type={"RemoteReserve": {"V4": HUB}},
        ),
        "doesn't know the transfer type",
    ),
    "a fee in another asset": (by_type(remote_fees_id={"V4": HUB}), "paid in another asset"),
    "an older XCM": (
        teleport(dest={"V2": {"parents": 0, "interior": {"X1": {"Parachain": 1000}}}}),
        "XCM V2 is not known",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_call_that_it_does_not_understand_is_refused(name: str) -> None:
    call, why = UNKNOWN[name]

    assert why in refusal(lambda: read(call))


def test_a_transfer_in_other_bytes_than_its_own_is_refused() -> None:
    data = TABLE.encode_call(transfer())

    why = refusal(lambda: policy.read_move("polkadot", RUNTIME.decode(data), data + b"\0"))

    assert why == "the receiver is not an account by its public key"


# The policy

RULE = policy.Rule(
    name="rule 1", chain="polkadot", kind="transfer", assets=("native", "0/Here"), most=5 * DOT,
    most_per_day=8 * DOT, receivers=(BOBS,),
)  # fmt: skip
ALLOWED = policy.Move(chain="polkadot", kind="transfer", asset="native", amount=5 * DOT, receiver=BOBS)
ABROAD: dict[str, Any] = {"to": "0/Parachain(1000)", "by": "Teleport"}


def spent(of_native: int = 0, elsewhere: int = 0) -> policy.Spent:
    return lambda chain, asset: {("polkadot", "native"): of_native, ("polkadot", "0/Here"): elsewhere}[
        chain, asset
    ]


def test_a_rule_allows_what_it_names() -> None:
    assert RULE.refusal(ALLOWED, spent(3 * DOT)) == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"chain": "kusama"}, "it is for polkadot"),
        ({"kind": "xcm"}, "it allows transfer, not xcm"),
        ({"kind": "remark"}, "it allows transfer, not remark"),
        ({"asset": "Assets(1984)"}, "it doesn't allow the asset Assets(1984)"),
        ({"receiver": "00" * 32}, f"0x{'00' * 32} is not one of its receivers"),
        ({"to": "0/Parachain(1000)"}, "it allows no other chain, not 0/Parachain(1000)"),
        ({"amount": 5 * DOT + 1}, f"{5 * DOT + 1} is more than max ({5 * DOT})"),
    ],
)
def test_a_rule_refuses_what_it_does_not_name(changes: dict[str, Any], why: str) -> None:
    assert RULE.refusal(replace(ALLOWED, **changes), spent()) == why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"to": "0/Parachain(1002)"}, "it allows 0/Parachain(1000), not 0/Parachain(1002)"),
        ({"to": ""}, "it allows 0/Parachain(1000), not the same chain"),
        ({"by": "LocalReserve"}, "it allows Teleport, not LocalReserve"),
    ],
)
def test_a_rule_for_another_chain_refuses_other_ways(changes: dict[str, Any], why: str) -> None:
    rule, move = replace(RULE, kind="xcm", **ABROAD), replace(ALLOWED, kind="xcm", **ABROAD)

    assert rule.refusal(move, spent()) == ""
    assert rule.refusal(replace(move, **changes), spent()) == why


@pytest.mark.parametrize("day", [spent(3 * DOT + 1), spent(DOT, 2 * DOT + 1)], ids=["one name", "both names"])
def test_a_rule_refuses_more_than_its_sum_of_a_day(day: policy.Spent) -> None:
    assert RULE.refusal(ALLOWED, day).endswith(f"are more than max_per_day ({8 * DOT})")


TABLE_OF_POLICY: dict[str, Any] = {
    "daemon": "http://127.0.0.1:1",
    "journal": "journal.jsonl",
    "jobs": ["abc"],
    "max_transactions_per_day": 2,
    "chains": {"polkadot": {"node": "ws://127.0.0.1:1", "genesis": GENESIS}},
    "allow": [
        {
            "chain": "polkadot", "kind": "transfer", "assets": ["native"], "decimals": 10, "max": "1",
            "max_per_day": "1.5", "receivers": [BOB],
        }
    ],
}  # fmt: skip


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "policy.toml"
    path.write_text(tomli_w.dumps({**TABLE_OF_POLICY, **changes}))
    return path


def test_a_policy_is_read(tmp_path: Path) -> None:
    read = policy.load_policy(written(tmp_path))

    assert read.chains["polkadot"].metadata_hash
    assert (read.rules[0].most, read.rules[0].most_per_day) == (DOT, 3 * DOT // 2)
    assert read.rules[0].receivers == (BOBS,)


def test_the_policy_of_the_example_is_read() -> None:
    read = policy.load_policy(ROOT / "examples" / "signer" / "policy.toml")

    assert [rule.kind for rule in read.rules] == ["transfer", "xcm", "remark"]


def rule(**changes: Any) -> dict[str, Any]:
    changed = {**TABLE_OF_POLICY["allow"][0], **changes}
    return {"allow": [{name: value for name, value in changed.items() if value is not None}]}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"max_transaction_per_day": 3}, "the policy has unknown keys: max_transaction_per_day"),
        (rule(maximum="1"), "rule 1 has unknown keys: maximum"),
        (rule(to="1/Here"), "rule 1 has unknown keys: to"),
        (rule(kind="xcm"), "to is missing"),
        (rule(max=None), "max is missing"),
        (rule(max_per_day=None), "max_per_day is missing"),
        (rule(receivers=None), "receivers is missing"),
        (rule(max=0.1), '0.1 is not text: write max = "0.1"'),
        (rule(max="0.00000000001"), "0.00000000001 is not an amount with 10 decimals"),
        (rule(max="-1"), "-1 is not an amount with 10 decimals"),
        (rule(max="inf"), "inf is not an amount with 10 decimals"),
        (rule(kind="swap"), "rule 1: kind 'swap' is unknown, expected one of: transfer, xcm, remark"),
        (rule(chain="kusama"), "rule 1: there is no [chains.kusama]"),
        (rule(receivers=["14E5"]), "Invalid checksum"),
        ({"chains": {"polkadot": {"node": "ws://127.0.0.1:1"}}}, "genesis is missing"),
    ],
)
def test_a_policy_with_a_mistake_is_refused(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    path = written(tmp_path, **changes)

    with pytest.raises(SystemExit) as ended:
        policy.load_policy(path)

    assert str(ended.value) == f"{path}: {why}"


# Its journal, and what it makes of it


class Chain(chain.Node):
    """A node at block 100: `nonce` of its finalized block, and the block that has the transaction."""

    nonce_now, number, has = 0, 100, ""

    def __init__(self) -> None:
        pass

    def nonce(self, account: bytes, block: str | None = None) -> int:
        return self.nonce_now

    def best(self) -> int:
        return self.number

    def finalized(self) -> int:
        return self.number

    def block_hash(self, number: int) -> str:
        return f"0x{number:064x}"

    def runtime(self) -> chain.Runtime:
        return RUNTIME

    def find(self, tx: str, *, first: int, last: int) -> str:
        return self.has


class Jobs(signer.Daemon):
    """A daemon with drafts. A name in `fails` is a path that answers with that error instead."""

    def __init__(self, *drafts: dict[str, Any]) -> None:
        self.drafts, self.fails = list(drafts), dict[str, Exception]()
        self.sent: list[str] = []
        self.assembled: list[str] = []
        self.change: Callable[[str], str] = lambda made: made

    def ask(self, path: str, **fields: Any) -> Any:
        if path in self.fails:
            raise self.fails[path]
        if path == "/scenario/tx":
            return {"mempool": [row for row in self.drafts if row["seq"] > fields["after"]]}
        if path == "/api/tx/payload":
            (row,) = [row for row in self.drafts if row["seq"] == fields["draft"]]
            made = signing_payload(
                TABLE,
                chain.call_of(row["tx"]),
                SigningOptions(
                    nonce=fields["nonce"],
                    era=encode_era(64, fields["block"]),
                    block_hash=bytes.fromhex(f"{fields['block']:064x}"),
                    genesis_hash=bytes.fromhex(GENESIS[2:]),
                    mode=1,
                    metadata_hash=b"\x5a" * 32,
                ),
            )
            return {
                "payload": self.change("0x" + made.payload.hex()),
                "signer_payload": {"metadataHash": "0x" + "5a" * 32},
            }
        if path == "/api/tx/assemble":
            self.assembled.append(fields["signature"])
            return {"tx": "0xf00d" + fields["signature"][2:]}
        self.sent.append(fields["tx"])
        return {"block": "0xb10c"}


def draft(number: int, call: Call | None = None, **changes: Any) -> dict[str, Any]:
    tx = "0x" + bare_extrinsic(TABLE.encode_call(call or transfer())).hex()
    return {
        "seq": number,
        "chain": "polkadot",
        "spec_version": 1002005,
        "state": "current",
        "tx": tx,
        **changes,
    }


class Desk:
    """A signer with a journal in a folder, at a canned node and daemon."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.node, self.daemon = folder, Chain(), Jobs()
        self.policy = policy.load_policy(written(folder))
        signer.create_journal(self.policy.journal, dev_key())
        self.open()
        self.signer.look()

    def open(self) -> None:
        """Start the signer, as after a crash."""
        journal = signer.Journal(self.policy.journal)
        self.signer = signer.Signer(self.policy, journal, self.daemon, dev_key())
        self.signer.nodes = {"polkadot": self.node}

    def restart(self) -> None:
        self.signer.journal.close()
        self.open()

    def events(self, number: int = 1) -> list[str]:
        lines = [json.loads(line) for line in self.policy.journal.read_text().splitlines()]
        return [line.get("status", line["event"]) for line in lines if line.get("draft") == f"abc/{number}"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.signer.journal.close()


def test_a_draft_is_written_down_then_signed_then_sent(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]

    desk.signer.look()
    desk.signer.look()

    assert desk.events() == ["intent", "signed", "in block"]
    assert (len(desk.daemon.assembled), len(desk.daemon.sent)) == (1, 1)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (draft(1, chain="kusama"), "kusama is not a chain of the policy"),
        (draft(1, state="outdated"), "it is outdated"),
        (draft(1, state="expired"), "it is expired"),
        (draft(1, transfer(DOT + 1)), "is more than max"),
        (draft(1, transfer(dest={"Id": bytes(32)})), "is not one of its receivers"),
        (draft(1, teleport()), "it allows transfer, not xcm"),
        (draft(1, tx="0x00"), "is not an unsigned extrinsic"),
        (
            {"seq": 1, "chain": "polkadot", "tx": "Could not generate transaction"},
            "it is not a transaction: Could not generate transaction",
        ),
    ],
)
def test_a_draft_that_the_policy_does_not_allow_is_never_signed(desk: Desk, row: Any, why: str) -> None:
    desk.daemon.drafts = [row]

    desk.signer.look()

    assert desk.events() == ["refused"]
    assert why in desk.signer.journal.drafts["abc/1"]["why"]
    assert desk.daemon.assembled == []


def test_the_sum_and_the_count_of_a_day_are_held_across_a_restart(desk: Desk) -> None:
    remarks = rule(chain="polkadot")["allow"] + [{"chain": "polkadot", "kind": "remark"}]
    desk.policy = policy.load_policy(written(desk.folder, allow=remarks))
    desk.restart()
    remark = Call(pallet="System", method="remark", args={"remark": b""})
    desk.daemon.drafts = [draft(1), draft(2), draft(3, remark), draft(4, remark)]

    desk.signer.look()
    desk.restart()
    desk.signer.look()

    assert [desk.events(number)[-1] for number in (1, 2, 3, 4)] == [
        "in block",
        "refused",
        "in block",
        "refused",
    ]
    assert "are more than max_per_day" in desk.signer.journal.drafts["abc/2"]["why"]
    assert "max_transactions_per_day (2) is reached" in desk.signer.journal.drafts["abc/4"]["why"]


def test_a_day_later_the_sum_begins_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.daemon.drafts = [draft(1)]
    desk.signer.look()
    later = time.time() + signer.DAY + 1
    monkeypatch.setattr(time, "time", lambda: later)
    desk.daemon.drafts = [draft(1), draft(2)]

    desk.signer.look()

    assert desk.events(2)[-1] == "in block"


def test_a_clock_that_is_set_back_does_not_free_the_sum(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.daemon.drafts = [draft(1)]
    desk.signer.look()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    desk.daemon.drafts = [draft(1), draft(2)]

    desk.signer.look()

    assert desk.events(2) == ["refused"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda made: made.replace("5a" * 32, "5b" * 32), id="another metadata hash"),
        pytest.param(lambda made: made[:-2] + "00", id="the last byte"),
        pytest.param(lambda made: made.replace(BOBS, "00" * 32), id="another receiver"),
        pytest.param(lambda made: made + "00", id="one byte more"),
    ],
)
def test_a_payload_that_is_not_its_own_is_refused(desk: Desk, change: Callable[[str], str]) -> None:
    desk.daemon.drafts, desk.daemon.change = [draft(1)], change

    desk.signer.look()

    assert desk.events() == ["refused"]
    assert desk.daemon.assembled == []


@pytest.mark.parametrize("path", ["/api/tx/assemble", "/api/chain/Broadcast"])
def test_after_a_failure_the_same_is_signed_and_sent(desk: Desk, path: str) -> None:
    desk.daemon.drafts = [draft(1)]
    desk.daemon.fails[path] = chain.Unreachable("gone")
    with pytest.raises(chain.Unreachable):
        desk.signer.look()
    payload = desk.signer.journal.drafts["abc/1"]["payload"]
    # The chain goes on, and so does the nonce that a new plan would take.
    desk.node.number, desk.daemon.fails = 160, {}

    desk.restart()
    desk.signer.look()

    assert desk.events() == ["intent", "signed", "in block"]
    assert desk.signer.journal.drafts["abc/1"]["payload"] == payload
    assert len(desk.daemon.sent) == len(desk.daemon.assembled) == 1


def lost(desk: Desk) -> None:
    """Leave a transaction of which nobody knows whether it was sent."""
    desk.daemon.drafts = [draft(1), draft(2)]
    desk.daemon.fails["/api/chain/Broadcast"] = chain.Unreachable("the answer was lost")
    with pytest.raises(chain.Unreachable):
        desk.signer.look()
    desk.restart()


def test_a_transaction_that_a_block_has_is_not_sent_again(desk: Desk) -> None:
    lost(desk)
    desk.node.has, desk.node.nonce_now = "0xb10c", 1

    with pytest.raises(chain.Unreachable):
        # It is the second draft that can't be sent.
        desk.policy.rules[0].__dict__["most_per_day"] = 9 * DOT
        desk.signer.look()

    assert desk.events() == ["intent", "signed", "in block"]
    assert desk.signer.journal.drafts["abc/2"]["nonce"] == 1


def test_a_transaction_whose_nonce_another_one_has_is_given_up(desk: Desk) -> None:
    lost(desk)
    desk.node.nonce_now, desk.daemon.fails = 1, {}

    desk.signer.look()

    assert desk.events() == ["intent", "signed", "replaced"]
    # It moved nothing, so that the sum of the day has room for the second one.
    assert desk.events(2)[-1] == "in block"
    assert len(desk.daemon.sent) == 1


def test_a_transaction_is_given_up_only_once_no_block_can_have_it(desk: Desk) -> None:
    lost(desk)
    desk.daemon.fails["/api/chain/Broadcast"] = chain.Refused("expired")
    desk.node.number = 164

    desk.signer.look()
    waiting = desk.events(), desk.events(2)
    desk.node.number, desk.daemon.fails = 165, {}
    desk.signer.look()

    assert waiting == (["intent", "signed"], [])
    assert desk.events() == ["intent", "signed", "expired"]
    assert desk.events(2)[-1] == "in block"


def test_a_line_that_a_crash_cut_is_as_if_never_written(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]
    whole = desk.policy.journal.read_bytes()
    desk.policy.journal.write_bytes(whole + b'{"event": "intent", "draft": "abc/1"')

    desk.restart()
    desk.signer.look()

    assert desk.policy.journal.read_bytes().startswith(whole + b'{"event": "intent"')
    assert desk.events() == ["intent", "signed", "in block"]


def test_only_one_signer_uses_a_journal(desk: Desk) -> None:
    with pytest.raises(SystemExit) as ended:
        signer.Journal(desk.policy.journal)

    assert str(ended.value) == f"another signer uses the journal {desk.policy.journal}"


def test_only_one_signer_uses_a_key_file_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("//Alice\n")
    path.chmod(0o640)
    with pytest.raises(SystemExit) as open_to_others:
        signer.read_key(str(path))
    path.chmod(0o600)
    key, file = signer.read_key(str(path))
    with pytest.raises(SystemExit) as used:
        signer.read_key(str(path))

    assert str(open_to_others.value) == f"others can read {path}: run chmod 600 {path}"
    assert str(used.value) == f"another signer uses the key {path}"
    assert key.public_key == dev_key().public_key
    assert file is not None
    file.close()


def test_a_journal_is_made_once_and_kept(desk: Desk) -> None:
    with pytest.raises(SystemExit) as ended:
        signer.create_journal(desk.policy.journal, dev_key())

    assert str(ended.value).startswith(f"the journal {desk.policy.journal} exists")


def test_without_a_journal_nothing_is_signed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        signer.Journal(tmp_path / "none")

    assert str(ended.value).startswith("there is no journal ")


def test_a_journal_of_another_account_is_refused(desk: Desk) -> None:
    with pytest.raises(SystemExit) as ended:
        signer.Signer(desk.policy, desk.signer.journal, desk.daemon, dev_key("//Bob"))

    assert str(ended.value).startswith("the journal is of ")


def test_drafts_from_before_and_those_of_a_new_job_are_not_signed(desk: Desk) -> None:
    desk.daemon.drafts = [draft(number) for number in (1, 2, 3)]
    desk.policy = policy.load_policy(written(desk.folder, jobs=["abc", "new"]))
    desk.restart()
    del desk.signer.journal.start["cursors"]["abc"]

    desk.signer.look()
    desk.daemon.drafts.append(draft(4))
    desk.signer.look()

    assert sorted(desk.signer.journal.drafts) == ["abc/4", "new/4"]


def test_a_store_that_was_restored_stops_the_signer(desk: Desk) -> None:
    desk.daemon.fails["/scenario/tx"] = chain.Refused("after 7 is beyond the newest draft")

    with pytest.raises(SystemExit) as ended:
        desk.signer.look()

    assert str(ended.value) == "job abc: after 7 is beyond the newest draft"


def test_each_line_is_on_the_disk_before_the_next_step(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, ask, sign = os.fsync, desk.daemon.ask, type(dev_key()).sign

    def noted(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            steps.append(name or given[0])
            return do(*given, **named)

        return run

    monkeypatch.setattr(os, "fsync", noted("fsync", fsync))
    monkeypatch.setattr(desk.daemon, "ask", noted("", ask))
    monkeypatch.setattr(type(dev_key()), "sign", noted("sign", sign))
    desk.daemon.drafts = [draft(1)]

    desk.signer.look()

    assert steps == [
        *("/scenario/tx", "/api/tx/payload", "fsync"),
        *("sign", "/api/tx/assemble", "fsync"),
        *("/api/chain/Broadcast", "fsync"),
    ]
