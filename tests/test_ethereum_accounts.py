"""Accounts of 20 bytes: as senders and receivers, and with the signatures of their chains."""

from collections.abc import Callable

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import located_accounts
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.signing.payload import PayloadToSign, SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import (
    ETHEREUM,
    assemble,
    decode_signed_extrinsic,
    keccak_256,
    takes_ethereum_signatures,
    verify_signature,
)
from scenarioctl.transactions.simulation.conservation import list_holdings
from scenarioctl.transactions.simulation.dry_run import DryRunResult
from scenarioctl.transactions.simulation.trial import read_ledger
from tests.check_rules import trial
from tests.messages import raises, says
from tests.runner import finish
from tests.runtimes import bundled
from tests.signing import ALITH, ALITH_KEY, ethereum_signature

MESSAGE = b"what is signed"
REMARK = Call(pallet="System", method="remark", args={"remark": b"hello"})
MYTHOS = Registry().find("mythos")


def table_with_ethereum_accounts() -> RuntimeTable:
    """Return Polkadot's table with accounts of 20 bytes and their signatures, which is how Mythos
    differs in signing."""
    table = bundled("polkadot")
    byte = next(
        each for each in range(len(table.types)) if table.types[each][2:] == ["primitive", "u8"]
    )

    def array(length: int) -> int:
        return next(
            each
            for each in range(len(table.types))
            if table.types[each][2:] == ["array", [length, byte]]
        )

    extrinsic = {**table._header["extrinsic"], "address": array(20), "signature": array(65)}
    return RuntimeTable(
        {**table._header, "extrinsic": extrinsic}, table.types, table._pallets, table._apis
    )


def test_keccak_is_that_of_ethereum() -> None:
    # The hash of nothing, as in Ethereum's empty code hash.
    assert (
        keccak_256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    )


def test_a_signature_is_that_of_the_account_that_made_it() -> None:
    signature = ethereum_signature(ALITH_KEY, MESSAGE)
    with_27 = signature[:64] + bytes([signature[64] + 27])

    assert verify_signature(ETHEREUM, signature, MESSAGE, ALITH)
    assert verify_signature(ETHEREUM, with_27, MESSAGE, ALITH)
    assert not verify_signature(ETHEREUM, signature, MESSAGE + b"!", ALITH)
    assert not verify_signature(ETHEREUM, signature, MESSAGE, bytes(20))
    assert not verify_signature(ETHEREUM, signature[:64], MESSAGE, ALITH)
    assert not verify_signature(ETHEREUM, signature[:64] + b"\x02", MESSAGE, ALITH)
    assert not verify_signature("ecdsa", signature, MESSAGE, ALITH)


def test_only_a_runtime_without_other_kinds_takes_such_signatures() -> None:
    assert takes_ethereum_signatures(table_with_ethereum_accounts())
    assert not takes_ethereum_signatures(bundled("polkadot"))
    assert not takes_ethereum_signatures(bundled("hydraDx"))


def to_sign(table: RuntimeTable) -> PayloadToSign:
    data = table.encode_call(REMARK)
    payload = signing_payload(
        table, data, SigningOptions(nonce=1, genesis_hash=bytes(32), block_hash=bytes(32))
    )
    return PayloadToSign(
        account=ALITH, call_data=data, extra=payload.extra, payload=payload.payload
    )


def test_a_transaction_of_such_an_account_is_assembled_and_read_again() -> None:
    table = table_with_ethereum_accounts()
    wanted = to_sign(table)
    signature = ethereum_signature(ALITH_KEY, wanted.payload)

    scheme, tx = assemble(table, MYTHOS, wanted, signature)

    assert scheme == ETHEREUM
    body = b"\x84" + ALITH + signature + wanted.extra + wanted.call_data
    assert tx == bytes(((len(body) << 2 | 1) & 0xFF, (len(body) << 2 | 1) >> 8)) + body
    read = decode_signed_extrinsic(table, tx)
    assert (read.account, read.scheme, read.signature, read.call_data) == (
        ALITH,
        ETHEREUM,
        signature,
        wanted.call_data,
    )


def test_a_signature_of_another_kind_is_refused() -> None:
    table = table_with_ethereum_accounts()

    with raises(InvalidRequest, says("0xf24FF3a9CF04c71Dbc94D0b566f7A27B94566cac", "Mythos")):
        assemble(table, MYTHOS, to_sign(table), ethereum_signature(ALITH_KEY, b"something else"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda payload: payload, id="the bytes"),
        pytest.param(lambda payload: b"0x" + payload.hex().encode(), id="their hex"),
        pytest.param(keccak_256, id="their hash"),
    ],
)
def test_a_signature_of_an_ethereum_message_is_named(text: Callable[[bytes], bytes]) -> None:
    table = table_with_ethereum_accounts()
    wanted = to_sign(table)
    said = text(wanted.payload)
    prefix = b"\x19Ethereum Signed Message:\n" + str(len(said)).encode()

    with raises(InvalidRequest, says("EIP-191", "bytes_to_sign")):
        assemble(table, MYTHOS, wanted, ethereum_signature(ALITH_KEY, prefix + said))


def test_an_account_of_20_bytes_is_written_with_its_checksum() -> None:
    assert format_account(ALITH, 0) == "0xf24FF3a9CF04c71Dbc94D0b566f7A27B94566cac"


EVM = "0xf24FF3a9CF04c71Dbc94D0b566f7A27B94566cac"


def test_what_delivery_costs_an_account_of_20_bytes_is_not_what_it_sends() -> None:
    amount, delivery = 10**18, 55
    here = {"parents": 0, "interior": "Here"}
    paid = {
        "paying": {"parents": 0, "interior": {"X1": [MYTHOS.account_format.junction(ALITH)]}},
        "fees": [{"id": here, "fun": {"Fungible": delivery}}],
    }
    events = (
        Event(pallet="Balances", name="Burned", fields={"who": ALITH, "amount": amount}),
        Event(pallet="Balances", name="Burned", fields={"who": ALITH, "amount": delivery}),
        Event(pallet="PolkadotXcm", name="FeesPaid", fields=paid),
    )

    tried = trial("mythos", sender=ALITH)
    tried.ledgers = [finish(read_ledger(tried, DryRunResult(chain=MYTHOS, events=events)))]
    list_holdings(tried)

    found = tried.findings
    assert [(step.what, step.amount.value) for step in found.steps] == [("leaves", amount)]
    assert [(leaving.account, leaving.amount.value) for leaving in found.leaves] == [(EVM, amount)]


def test_a_check_has_no_sender_of_another_kind() -> None:
    with raises(InvalidRequest, says("sender", "Mythos", "20")):
        trial("mythos", sender=bytes(range(32)))


@pytest.mark.parametrize(
    "junction",
    [
        {"AccountKey20": {"network": None, "key": ALITH}},
        {"AccountId32": {"network": None, "id": bytes(range(32))}},
    ],
)
def test_a_program_names_accounts_of_either_length(junction: dict[str, dict[str, bytes]]) -> None:
    """Other bytes of their lengths are no accounts."""
    program = [
        {"DepositAsset": {"beneficiary": {"parents": 0, "interior": {"X1": [junction]}}}},
        {"SetTopic": bytes(32)},
    ]

    assert [*located_accounts(program)] == [
        ALITH if "AccountKey20" in junction else bytes(range(32))
    ]
