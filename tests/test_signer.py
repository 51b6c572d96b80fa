"""The reference signer in `examples/signer`: its policy, what it signs, and its journal."""

import ast
import lzma
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.extrinsic import bare_extrinsic, encode_era
from scenarioctl.transactions.signing.payload import SigningOptions, bytes_to_sign, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.conftest import DATA, ROOT
from tests.messages import raises
from tests.signer_desk import (
    BOBS,
    DOT,
    GENESIS,
    RUNTIME,
    TABLE,
    TABLE_OF_POLICY,
    Desk,
    chain,
    draft,
    fee_of,
    policy,
    refusal,
    remark,
    rule,
    signer,
    transfer,
    written,
)
from tests.signing import dev_key


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
    return Call(
        pallet="XcmPallet", method="transfer_assets_using_type_and_then", args={**args, **changes}
    )


def read(call: Call) -> Any:
    data = TABLE.encode_call(call)
    return policy.read_move("polkadot", RUNTIME.decode(data), data)


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


def metadata_of(name: str) -> bytes:
    (path, *_) = sorted((DATA / "metadata" / "live").glob(f"{name}-*.v14.*.scale.xz"))
    return lzma.decompress(path.read_bytes())


@pytest.mark.parametrize(
    "name",
    [
        "kusama",
        *(
            pytest.param(name, marks=pytest.mark.acceptance)
            for name in ("statemine", "hydradx", "pop")
        ),
    ],
)
def test_it_builds_and_signs_the_bytes_that_the_program_builds(name: str) -> None:
    metadata = metadata_of(name)
    table, block_hash = read_metadata(metadata), "0x" + "bb" * 32
    runtime = chain.Runtime(table.spec_version, table.transaction_version, "0x" + metadata.hex())
    account, signature = b"\xaa" * 32, b"\xcc" * 64
    for size in (5, 300):
        call = table.encode_call(remark(size))
        expected = signing_payload(
            table,
            call,
            SigningOptions(
                nonce=300,
                era=encode_era(64, 1000),
                block_hash=bytes.fromhex(block_hash[2:]),
                genesis_hash=bytes.fromhex(GENESIS[2:]),
            ),
        )

        extra, additional = chain.signed_fields(
            runtime.extensions(),
            nonce=300,
            block=1000,
            block_hash=block_hash,
            genesis=GENESIS,
            runtime=runtime,
        )

        assert call + extra + additional == expected.payload
        assert chain.bytes_to_sign(call, extra, additional) == bytes_to_sign(expected.payload)
        assert chain.assemble(
            runtime.address(account), signature, extra, call
        ) == encode_signed_extrinsic(
            table, call, expected.extra, account=account, scheme="sr25519", signature=signature
        )


@pytest.mark.parametrize("place", [(True, False), (False, True)])
def test_an_extension_that_it_does_not_know_is_refused(place: tuple[bool, bool]) -> None:
    why = refusal(
        lambda: chain.signed_fields(
            [("Novel", *place)], nonce=0, block=0, block_hash="0x", genesis="0x", runtime=RUNTIME
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
    "two assets": (
        teleport(assets={"V4": [asset(), asset()]}),
        "has a shape that this signer doesn't know",
    ),
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
    "a longer program": (
        by_type([{"ClearOrigin": None}, {"DepositAsset": DEPOSIT}]),
        "has a shape",
    ),
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
ALLOWED = policy.Move(
    chain="polkadot", kind="transfer", asset="native", amount=5 * DOT, receiver=BOBS
)
ABROAD: dict[str, Any] = {"to": "0/Parachain(1000)", "by": "Teleport"}


def spent(of_native: int = 0, elsewhere: int = 0) -> policy.Spent:
    return lambda chain, asset: {
        ("polkadot", "native"): of_native,
        ("polkadot", "0/Here"): elsewhere,
    }[chain, asset]


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


@pytest.mark.parametrize(
    "day", [spent(3 * DOT + 1), spent(DOT, 2 * DOT + 1)], ids=["one name", "both names"]
)
def test_a_rule_refuses_more_than_its_sum_of_a_day(day: policy.Spent) -> None:
    assert RULE.refusal(ALLOWED, day).endswith(f"are more than max_per_day ({8 * DOT})")


def test_the_policy_of_the_example_is_read() -> None:
    read = policy.load_policy(ROOT / "examples" / "signer" / "policy.toml")

    assert [rule.kind for rule in read.rules] == ["transfer", "xcm", "remark"]


def of_chain(**changes: Any) -> dict[str, Any]:
    changed = {**TABLE_OF_POLICY["chains"]["polkadot"], **changes}
    return {
        "chains": {
            "polkadot": {name: value for name, value in changed.items() if value is not None}
        }
    }


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
        (rule(max=0.1), '0.1 is not text: write "0.1"'),
        (rule(max="0.00000000001"), "0.00000000001 is not an amount with 10 decimals"),
        (rule(max="-1"), "-1 is not an amount with 10 decimals"),
        (rule(max="inf"), "inf is not an amount with 10 decimals"),
        (
            rule(kind="swap"),
            "rule 1: kind 'swap' is unknown, expected one of: transfer, xcm, remark",
        ),
        (rule(chain="kusama"), "rule 1: there is no [chains.kusama]"),
        (rule(receivers=["14E5"]), "Invalid checksum"),
        (of_chain(genesis=None), "genesis is missing"),
        (of_chain(max_fee=None), "max_fee is missing"),
        (of_chain(max_fee_per_day=None), "max_fee_per_day is missing"),
        (of_chain(max_fee=1), '1 is not text: write "1"'),
        (of_chain(metadata_hash=False), "chains.polkadot has unknown keys: metadata_hash"),
    ],
)
def test_a_policy_with_a_mistake_is_refused(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    path = written(tmp_path, **changes)

    with raises(SystemExit, f"{path}: {why}"):
        policy.load_policy(path)


# Its journal, and what it makes of it


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.signer.journal.close()


def test_a_draft_is_written_down_then_signed_then_sent(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]

    desk.look()

    assert desk.events() == ["intent", "signed", "finalized"]
    assert (desk.ledger.paid, len(desk.daemon.sent)) == (DOT, 1)


def test_what_it_costs_is_in_the_journal_before_it_is_signed(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]

    desk.look()

    intent, signed, _ = desk.lines()
    assert {
        name: intent[name]
        for name in ("chain", "asset", "amount", "fee", "receiver", "nonce", "call_hash")
    } == {
        "chain": "polkadot",
        "asset": "native",
        "amount": str(DOT),
        "fee": str(fee_of(len(signed["tx"]) // 2 - 1)),
        "receiver": BOBS,
        "nonce": 0,
        "call_hash": "0x" + blake2b(TABLE.encode_call(transfer()), digest_size=32).hexdigest(),
    }


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
def test_a_draft_that_the_policy_does_not_allow_is_never_signed(
    desk: Desk, row: Any, why: str
) -> None:
    desk.daemon.drafts = [row]

    desk.look()

    assert desk.events() == ["refused"]
    assert why in desk.lines()[0]["why"]
    assert (desk.ledger.calls, desk.daemon.sent) == ([], [])


def test_an_occurrence_that_a_failover_repeats_is_signed_once(desk: Desk) -> None:
    first = {"node": "pay", "occurrence": "2026-11-26T09:00:00.000Z"}
    small = transfer(DOT // 10)
    desk.daemon.drafts = [
        draft(1, small, **first),
        draft(2, small, **first),
        draft(3, small, **{**first, "occurrence": "2026-11-26T10:00:00.000Z"}),
    ]

    desk.look()

    assert [desk.events(number)[-1] for number in (1, 2, 3)] == [
        "finalized",
        "refused",
        "finalized",
    ]
    assert (
        desk.lines(2)[0]["why"]
        == "draft 1 of the same step and planned time was to be signed before"
    )


def test_the_sum_and_the_count_of_a_day_are_held_across_a_restart(desk: Desk) -> None:
    remarks = rule(chain="polkadot")["allow"] + [{"chain": "polkadot", "kind": "remark"}]
    desk.policy = policy.load_policy(written(desk.folder, allow=remarks))
    desk.restart()
    desk.daemon.drafts = [draft(1), draft(2), draft(3, remark()), draft(4, remark())]

    desk.signer.look()
    desk.restart()
    desk.signer.look()

    assert [desk.events(number)[-1] for number in (1, 2, 3, 4)] == [
        "finalized",
        "refused",
        "finalized",
        "refused",
    ]
    assert "are more than max_per_day" in desk.lines(2)[0]["why"]
    assert "max_transactions_per_day (2) is reached" in desk.lines(4)[0]["why"]


def test_a_day_later_the_sums_begin_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.daemon.drafts = [draft(1)]
    desk.look()
    later = time.time() + signer.DAY + 1
    monkeypatch.setattr(time, "time", lambda: later)
    desk.daemon.drafts = [draft(1), draft(2)]

    desk.look()

    assert desk.events(2)[-1] == "finalized"
    assert desk.signer.journal.fees("polkadot") == int(desk.lines(2)[0]["fee"])


def test_a_clock_that_is_set_back_does_not_free_the_sum(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.daemon.drafts = [draft(1)]
    desk.look()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    desk.daemon.drafts = [draft(1), draft(2)]

    desk.restart()
    desk.look()

    assert desk.events(2) == ["refused"]


# Crashes


@pytest.mark.parametrize("step", ["intent", "signed", "sign"])
def test_after_a_crash_the_same_is_signed_and_sent_once(
    desk: Desk, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.daemon.drafts = [draft(1)]
    write = desk.signer.journal.write

    def crash(*_: Any, **entry: Any) -> None:
        if entry.get("event", step) == step != "intent":
            raise KeyboardInterrupt
        write(**entry)
        if entry["event"] == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(desk.signer.journal, "write", crash)
        if step == "sign":
            patched.setattr(type(dev_key()), "sign", crash)
        with pytest.raises(KeyboardInterrupt):
            desk.signer.look()
    left = desk.events()
    # The chain goes on, and so does the block that a new plan would take.
    desk.ledger.grow(30)

    desk.restart()
    counted = desk.signer.journal.spent("polkadot", "native")
    desk.daemon.drafts.append(draft(2))
    desk.look()

    assert (left, counted) == (["intent"], DOT)
    assert desk.events() == ["intent", "signed", "finalized"]
    assert desk.lines()[0]["block"] == 100
    assert (desk.ledger.paid, desk.events(2)) == (DOT, ["refused"])


def test_an_answer_that_is_lost_after_sending_pays_once(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]

    def include_and_fail(tx: str, **_: Any) -> None:
        desk.ledger.include(tx)
        raise chain.Unreachable("the answer was lost")

    desk.daemon.broadcast = include_and_fail

    desk.look(1)
    desk.restart()
    desk.look()

    assert (desk.ledger.paid, desk.events()) == (DOT, ["intent", "signed", "finalized"])


def test_without_the_daemon_its_own_node_gets_the_transaction(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]
    desk.daemon.fails["/api/chain/Broadcast"] = chain.Unreachable("gone")

    desk.look()

    assert (desk.ledger.paid, len(desk.node.submitted)) == (DOT, 1)
    assert desk.events() == ["intent", "signed", "finalized"]


def test_a_line_that_a_crash_cut_is_as_if_never_written(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1)]
    whole = desk.policy.journal.read_bytes()
    desk.policy.journal.write_bytes(whole + b'{"event": "intent", "seq": 1')

    desk.restart()
    desk.look()

    assert desk.policy.journal.read_bytes().startswith(whole + b'{"event": "intent"')
    assert desk.events() == ["intent", "signed", "finalized"]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "{}",
        '{"event": "refused", "seq": 1}',
        '{"event": "outcome", "seq": 9, "time": 0}',
    ],
)
def test_a_damaged_journal_is_told_in_a_sentence(desk: Desk, line: str) -> None:
    with desk.policy.journal.open("a") as file:
        file.write(line + "\n")

    with pytest.raises(SystemExit) as ended:
        desk.restart()

    assert str(ended.value).startswith(f"the journal {desk.policy.journal} is damaged: ")


def test_a_journal_that_cannot_be_written_ends_it_before_a_signature(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    desk.daemon.drafts = [draft(1)]

    with raises(
        SystemExit, f"the journal {desk.policy.journal} can't be written: No space left on device"
    ):
        desk.signer.look()
    assert (desk.ledger.calls, desk.daemon.sent) == ([], [])


def test_only_one_signer_uses_a_journal(desk: Desk) -> None:
    with raises(SystemExit, f"another signer uses the journal {desk.policy.journal}"):
        signer.Journal(desk.policy.journal)


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


def test_without_a_journal_nothing_is_signed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        signer.Journal(tmp_path / "none")

    assert str(ended.value).startswith("there is no journal ")


def test_drafts_from_before_and_those_of_a_new_job_are_not_signed(desk: Desk) -> None:
    desk.daemon.drafts = [draft(1, job="new"), draft(2, job="new")]
    desk.policy = policy.load_policy(written(desk.folder, jobs=["abc", "new"]))
    desk.restart()

    desk.look(1)
    desk.daemon.drafts += [draft(3), draft(4, job="new")]
    desk.look()

    assert sorted(desk.signer.journal.drafts) == [3, 4]


def test_a_store_that_was_restored_stops_the_signer(desk: Desk) -> None:
    desk.daemon.fails["/scenario/tx"] = chain.Refused("after 7 is beyond the newest draft")

    with raises(SystemExit, "job abc: after 7 is beyond the newest draft"):
        desk.signer.look()


def test_each_line_is_on_the_disk_before_the_next_step(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    assert steps == ["/scenario/tx", "fsync", "sign", "fsync", "/api/chain/Broadcast", "fsync"]
