"""Signatures that real runtimes take: with the metadata hash, in a mortal era, made from what the
chain tells."""

from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.client import Client
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused
from scenarioctl.model.calls import Call
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.payload import (
    SigningPayloads,
    TransactionPayload,
    compute_metadata_hash,
    transaction_payload,
)
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.metadata_hash import metadata_digest
from scenarioctl.transactions.signing.payload import vault_frames
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.live.conftest import Live
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

#: Known digests of runtimes, by their name and version.
KNOWN = {
    ("kusama", 2000002): "0xfa48d2534eabed35667ea9b3c2a31c0183c91f3feb5aca9face2a8a1be4cc0fa",
    ("statemine", 2000002): "0xbd4a34b47d949ba543135199dd78a6111c93918b4f10b01b4bc678c20a8b946d",
    ("hydradx", 416): "0x376f7b1d9d33d776567aa0009871b5f503cfcee34e0ec0f7f113051cf5bdf211",
}
#: //Alice signs elsewhere.
SIGNER = "//Bob"


@pytest.fixture(scope="module", params=["relay", "asset_hub", "dex"])
def live(request: pytest.FixtureRequest) -> Live:
    found: Live = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def chain(live: Live, live_app: Application) -> Chain:
    return live_app.registry.find(live.name)


@pytest.fixture
def client(chain: Chain, live_app: Application) -> Client:
    return live_app.client(chain)


def payload_of(app: Application, chain: Chain, text: bytes, **fields: Any) -> SigningPayloads:
    call = Call(pallet="System", method="remark_with_event", args={"remark": text})
    data = finish(app.runtime(chain)).encode_call(call)
    sender = "0x" + dev_key(SIGNER).public_key.hex()
    request = TransactionPayload(tx="0x" + data.hex(), chain=chain.name, sender=sender, **fields)
    return finish(transaction_payload(app, request)).answer


def signed(app: Application, chain: Chain, payload: SigningPayloads) -> str:
    key = dev_key(SIGNER)
    return (
        "0x"
        + encode_signed_extrinsic(
            finish(app.runtime(chain)),
            bytes.fromhex(payload["parts"]["call"][2:]),
            b"".join(bytes.fromhex(extra[2:]) for extra in payload["parts"]["extra"].values()),
            account=key.public_key,
            scheme="sr25519",
            signature=key.sign(bytes.fromhex(payload["bytes_to_sign"][2:])),
        ).hex()
    )


def test_the_digest_of_the_connected_runtime_is_the_known_one(
    live_app: Application, chain: Chain, client: Client
) -> None:
    table = finish(client.table())

    digest = "0x" + finish(compute_metadata_hash(live_app, chain)).hex()

    print(f"{table}: {digest}")
    assert KNOWN.get((table.spec_name, table.spec_version), digest) == digest


def test_every_version_of_the_metadata_tells_the_same_digest(chain: Chain, client: Client) -> None:
    digests = set()
    for version in (15, 16):
        answer = finish(
            client.call("state_call", "Metadata_metadata_at_version", f"0x{version:02x}000000")
        )
        if answer != "0x00":
            table = read_metadata(bytes.fromhex(answer[2:]))
            prefix = table.constant("System", "SS58Prefix")
            digests.add(
                metadata_digest(
                    table, ss58_prefix=prefix, decimals=chain.decimals, symbol=chain.symbol
                )
            )

    assert len(digests) == 1


def test_an_extrinsic_signed_with_the_metadata_hash_in_a_mortal_era_is_included(
    live_app: Application, chain: Chain, client: Client
) -> None:
    payload = payload_of(live_app, chain, b"scenarioctl: with the metadata hash")

    sent = finish(
        broadcast(
            live_app,
            Broadcast(chain=chain.name, tx=signed(live_app, chain, payload), wait="in-block"),
        )
    )

    signer = payload["signer_payload"]
    assert (signer["mode"], len(signer["era"])) == (1, 6)
    print(f"{chain.name}: {sent.answer}")
    assert sent.answer["success"]
    account = dev_key(SIGNER).public_key
    assert (
        finish(client.storage("System", "Account", account))["nonce"]
        == int(signer["nonce"], 16) + 1
    )
    assert len(vault_frames(bytes.fromhex(payload["vault_payload"][2:]))) == 1


@pytest.mark.parametrize("fields", [{"era": "immortal"}, {"era": "8192"}, {"metadata_hash": "off"}])
def test_other_signatures_are_included_too(
    live_app: Application, chain: Chain, fields: dict[str, str]
) -> None:
    payload = payload_of(live_app, chain, b"scenarioctl: in another way", **fields)

    sent = finish(
        broadcast(
            live_app,
            Broadcast(chain=chain.name, tx=signed(live_app, chain, payload), wait="in-block"),
        )
    )

    assert sent.answer["success"]


def refusal(client: Client, data: str) -> str:
    """Return what the chain says of a signature: `badProof` on the rig, and in words elsewhere."""
    with pytest.raises(ChainRefused) as refused:
        finish(client.submit("author_submitExtrinsic", data))
    return str(refused.value).replace("bad signature", "badProof")


def test_a_wrong_digest_is_a_bad_proof(live_app: Application, chain: Chain, client: Client) -> None:
    payload = payload_of(
        live_app, chain, b"scenarioctl: never included", metadata_hash="0x" + "11" * 32
    )

    said = refusal(client, signed(live_app, chain, payload))

    print(f"{chain.name}: {said}")
    assert "badProof" in said


def test_a_digest_that_is_signed_under_mode_0_is_a_bad_proof(
    live_app: Application, chain: Chain, client: Client
) -> None:
    without, with_digest = (
        signed(
            live_app,
            chain,
            payload_of(live_app, chain, b"scenarioctl: never included", metadata_hash=said),
        )
        for said in ("off", "auto")
    )

    said = refusal(client, with_signature_of(without, with_digest))

    assert "badProof" in said


def with_signature_of(data: str, other: str) -> str:
    """Return an extrinsic with the 64 bytes of the sr25519 signature of another by the same
    sender."""
    key = dev_key(SIGNER).public_key.hex() + "01"
    at, there = data.index(key) + len(key), other.index(key) + len(key)
    return data[:at] + other[there : there + 128] + data[at + 128 :]
