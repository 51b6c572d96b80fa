"""Dev keys, and transactions signed with them: the program itself holds no key."""

from functools import cache
from hashlib import blake2b
from typing import Any

from scenarioctl.model.calls import Call
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.signing.payload import SigningOptions, SigningPayload, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic


@cache
def dev_key(uri: str = "//Alice") -> Any:
    """Return the sr25519 key pair of a dev account."""
    from substrateinterface import Keypair

    return Keypair.create_from_uri(uri)


@cache
def ed25519_key(seed: bytes = b"\x11" * 32) -> Any:
    from substrateinterface import Keypair, KeypairType

    return Keypair.create_from_seed("0x" + seed.hex(), crypto_type=KeypairType.ED25519)


def ecdsa_signature(message: bytes, seed: bytes = b"\x07" * 32) -> tuple[bytes, bytes]:
    """Return the account of an ecdsa key, and its signature under *message* as Substrate makes
    it."""
    from eth_keys.datatypes import PrivateKey

    key = PrivateKey(seed)
    account = blake2b(key.public_key.to_compressed_bytes(), digest_size=32).digest()
    return account, key.sign_msg_hash(blake2b(message, digest_size=32).digest()).to_bytes()


def sign(
    table: RuntimeTable,
    call: Call,
    options: SigningOptions,
    *,
    uri: str = "//Alice",
    scheme: str = "sr25519",
    message: bytes | None = None,
) -> bytes:
    """Return *call* signed by a dev account; a test of bad signatures says what is signed in place
    of the payload."""
    data = table.encode_call(call)
    payload: SigningPayload = signing_payload(table, data, options)
    key = dev_key(uri)
    return encode_signed_extrinsic(
        table,
        data,
        payload.extra,
        account=key.public_key,
        scheme=scheme,
        signature=key.sign(payload.bytes_to_sign if message is None else message),
    )


#: A development account of chains with accounts of 20 bytes, and its key, which is public.
ALITH = bytes.fromhex("f24ff3a9cf04c71dbc94d0b566f7a27b94566cac")
ALITH_KEY = bytes.fromhex("5fb92d6e98884f76de468fa3f6278f8807c48bebc13595d45af5bdc4da702133")


def ethereum_signature(key: bytes, message: bytes) -> bytes:
    """Return the signature of 65 bytes that the account of a secp256k1 *key* makes of *message*."""
    from eth_keys.datatypes import PrivateKey
    from eth_utils.crypto import keccak

    signature: bytes = PrivateKey(key).sign_msg_hash(keccak(message)).to_bytes()
    return signature
