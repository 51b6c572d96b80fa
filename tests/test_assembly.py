"""A payload and its signature become what is broadcast, and only where the signature fits."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Registry
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import encode_era
from scenarioctl.transactions.signing.payload import SigningOptions, signer_payload, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.conftest import Ended, Run
from tests.messages import says
from tests.refusals import refused
from tests.runtimes import bundled, unhex
from tests.signing import dev_key, ecdsa_signature, ed25519_key, sign

TABLE = bundled("polkadot")
GENESIS = unhex(Registry().find("polkadot").genesis)
ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
REMARK = Call(pallet="System", method="remark", args={"remark": b"hello"})
LONG = Call(pallet="System", method="remark", args={"remark": b"x" * 300})
CALL = "0x00001468656c6c6f"
BLOCK = "0x" + "22" * 32


def options(**changes: Any) -> SigningOptions:
    given: dict[str, Any] = {"nonce": 5, "genesis_hash": GENESIS, "block_hash": GENESIS} | changes
    return SigningOptions(**given)


MORTAL = options(
    nonce=7,
    tip=9,
    era=encode_era(64, 100),
    block_hash=unhex(BLOCK),
    mode=1,
    metadata_hash=b"\3" * 32,
)


def signature(
    call: Call = REMARK, given: SigningOptions | None = None, message: bytes | None = None
) -> str:
    payload = signing_payload(TABLE, TABLE.encode_call(call), given or options())
    made: bytes = dev_key().sign(payload.bytes_to_sign if message is None else message)
    return "0x" + made.hex()


def wallet_payload(
    call: Call = REMARK, given: SigningOptions | None = None, **changes: Any
) -> dict[str, Any]:
    given = given or options()
    payload = signing_payload(TABLE, TABLE.encode_call(call), given)
    return signer_payload(TABLE, payload, given, address=ALICE) | changes


def assemble(scenarioctl: Run, *line: str, **how: Any) -> Ended:
    return scenarioctl("--offline", "--json", "tx", "assemble", *line, **how)


@pytest.mark.parametrize("call", [REMARK, LONG], ids=["short", "hashed"])
@pytest.mark.parametrize("given", [options(), MORTAL], ids=["immortal", "mortal"])
@pytest.mark.parametrize("form", ["wallet payload", "answer of tx payload"])
def test_every_form_of_what_was_signed_gives_the_same_transaction(
    scenarioctl: Run, tmp_path: Path, call: Call, given: SigningOptions, form: str
) -> None:
    payload = signing_payload(TABLE, TABLE.encode_call(call), given)
    made = "0x" + dev_key().sign(payload.bytes_to_sign).hex()
    expected = sign(TABLE, call, given)
    file = tmp_path / "payload.json"
    wallets = signer_payload(TABLE, payload, given, address=ALICE)
    file.write_text(
        json.dumps(wallets if form == "wallet payload" else {"signer_payload": wallets})
    )

    ended = assemble(scenarioctl, "--payload", str(file), "--signature", made)

    assert (ended.code, ended.err) == (0, "")
    answer = json.loads(ended.out)
    # sr25519 signs with chance: the bytes beside the signature are what can be compared.
    assert without_signature(unhex(answer["tx"])) == without_signature(expected)
    assert answer == {
        "chain": "polkadot",
        "tx": answer["tx"],
        "hash": "0x" + blake2b(unhex(answer["tx"]), digest_size=32).hexdigest(),
        "scheme": "sr25519",
        "spec_version": 2000000,
        "offline": True,
    }
    assert made[2:] in answer["tx"]


def without_signature(data: bytes) -> bytes:
    start = (1, 2, 4)[data[0] & 3] + 1 + 33 + 1
    return data[:start] + data[start + 64 :]


@pytest.mark.parametrize("scheme", ["sr25519", "ed25519", "ecdsa"])
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("prefixed", [False, True])
def test_a_signature_of_every_kind_of_key_is_taken_in_every_form(
    scenarioctl: Run, tmp_path: Path, scheme: str, told: bool, prefixed: bool
) -> None:
    data = TABLE.encode_call(REMARK)
    payload = signing_payload(TABLE, data, options())
    account, made = {
        "sr25519": (dev_key().public_key, dev_key().sign(payload.payload)),
        "ed25519": (ed25519_key().public_key, ed25519_key().sign(payload.payload)),
        "ecdsa": ecdsa_signature(payload.payload),
    }[scheme]
    byte = {"ed25519": b"\0", "sr25519": b"\1", "ecdsa": b"\2"}[scheme] if prefixed else b""

    file = tmp_path / "payload.json"
    file.write_text(json.dumps(wallet_payload(address=format_account(account, 0))))
    line = ("--payload", str(file), "--signature", "0x" + (byte + made).hex())
    ended = assemble(scenarioctl, *line, *(("--scheme", scheme) if told else ()))

    answer = json.loads(ended.out)
    assert answer["scheme"] == scheme
    assert unhex(answer["tx"]) == encode_signed_extrinsic(
        TABLE, data, payload.extra, account=account, scheme=scheme, signature=made
    )


def test_the_transaction_alone_goes_to_stdout(scenarioctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(wallet_payload()))

    ended = scenarioctl(
        "--offline", "tx", "assemble", "--payload", "-", "--signature", signature(), stdin=file
    )

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        "0xbd018400d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d01"
    )


def test_a_payload_of_tx_payload_is_taken_as_it_is_printed(
    scenarioctl: Run, tmp_path: Path
) -> None:
    made = scenarioctl(
        *("--offline", "--json", "tx", "payload", CALL, "--chain", "polkadot", "--sender", ALICE),
        *("--nonce", "5"),
    )
    file = tmp_path / "payload.json"
    file.write_text(made.out)

    ended = assemble(scenarioctl, "--payload", str(file), "--signature", signature())

    assert json.loads(ended.out)["chain"] == "polkadot"


def case(name: str, line: tuple[str, ...], error: str, payload: object = None) -> Any:
    return pytest.param(line, payload, error, id=name)


SIGNATURE = signature()
LONG_PAYLOAD = signing_payload(TABLE, TABLE.encode_call(LONG), options()).payload


def short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def not_his(made: str, who: str = ALICE) -> str:
    return (
        f"signature {short(made)} is not one of {who} for this payload on Polkadot with "
        "polkadot 2000000: pass exactly "
        "what was signed (nonce, era, tip, …, or payload), and the account that signed it"
    )


CASES = [
    case("no signature", (), says('signature', 'missing'), wallet_payload()),
    case("a short signature", ("--signature", "0x1234"), says('signature', '0x1234'),
        wallet_payload()),
    case("a signature of another scheme's length", ("--signature", "0x" + "11" * 64,
        "--scheme", "ecdsa"), says('signature', short('0x' + '11' * 64), '64'), wallet_payload()),
    case("a wrong scheme", ("--signature", SIGNATURE, "--scheme", "ed25519"), says(
        'signature', 'ed25519', 'sr25519'), wallet_payload()),
    case("another tip", ("--signature", SIGNATURE), not_his(SIGNATURE), wallet_payload(
        tip="0x00000000000000000000000000000001")),
    case("a payload of another chain", ("--signature", SIGNATURE), says('genesis', '05' * 32),
        wallet_payload(genesisHash="0x" + "05" * 32)),
    case("a signed message", ("--signature", signature(message=b"<Bytes>" + signing_payload(
        TABLE, unhex(CALL), options()).payload + b"</Bytes>")), says('signature', 'transaction'),
        wallet_payload()),
    case("a long payload not hashed", ("--signature", signature(LONG, message=LONG_PAYLOAD)),
        says('signature', 'blake2b-256', 'bytes_to_sign', long_payload=len(LONG_PAYLOAD)),
        wallet_payload(LONG)),
    case("a payload that is a list", ("--signature", SIGNATURE), says('payload', '1'), [1]),
    case("another transaction version", ("--signature", SIGNATURE), says('payload', '7', '2000000',
        '26'), wallet_payload(transactionVersion=7)),
    case("another extrinsic version", ("--signature", SIGNATURE), says('payload.version', '5'),
        wallet_payload(version=5)),
    case("a fee in another asset", ("--signature", SIGNATURE), says('payload.assetId', '0x01',
        'DOT'), wallet_payload(assetId="0x01")),
    case("a method that is none", ("--signature", SIGNATURE), says('payload.method', 'null'),
        wallet_payload(method=None)),
    case("a method of no pallet", ("--signature", SIGNATURE), says('payload.method', '0xfe00',
        '2000000', '254'), wallet_payload(method="0xfe00")),
    case("other extensions", ("--signature", SIGNATURE), says('payload.signedExtensions',
        'CheckNonce', '2000000', extensions=', '.join(
        each.identifier for each in TABLE.extensions)), wallet_payload(signedExtensions=[
        "CheckNonce"])),
    case("a changed payload", ("--signature", SIGNATURE), not_his(SIGNATURE), wallet_payload(
        nonce="0x00000006")),
]  # fmt: skip


@pytest.mark.parametrize(("line", "payload", "error"), CASES)
def test_what_does_not_fit_is_refused(
    scenarioctl: Run, tmp_path: Path, line: tuple[str, ...], payload: object, error: str
) -> None:
    if payload is not None:
        file = tmp_path / "payload.json"
        file.write_text(json.dumps(payload))
        line = (*line, "--payload", str(file))

    ended = assemble(scenarioctl, *line)

    assert refused(json.loads(ended.out)) == {"error": error, "code": "invalid_request"}
    assert ended.code == 2
