"""Signed extrinsics: read and write them, join them from a payload and a signature, rebuild the
payload, verify signatures.

No private key ever enters this program: signatures are verified with the account's public key, and
made elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.extrinsic import (
    IMMORTAL,
    SIGNED_V4,
    decode_extrinsic,
)
from scenarioctl.transactions.signing.payload import (
    HASHED_ABOVE,
    PayloadToSign,
    SigningOptions,
    bytes_to_sign,
    signing_payload,
)

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable


#: The scheme of chains whose accounts have 20 bytes: secp256k1 over keccak-256.
ETHEREUM = "ethereum"
#: Scheme -> its name in MultiSignature, "" for one that isn't there, and the bytes of a signature.
SCHEMES = {
    "sr25519": ("Sr25519", 64),
    "ed25519": ("Ed25519", 64),
    "ecdsa": ("Ecdsa", 65),
    ETHEREUM: ("", 65),
}
#: The byte before a signature that says of which scheme it is.
SCHEME_BYTES = {0: "ed25519", 1: "sr25519", 2: "ecdsa"}


@dataclass(frozen=True, kw_only=True)
class SignedExtrinsic:
    """A signed extrinsic, taken apart."""

    #: As the runtime has it, `{"Id": …}` for most.
    signer: Any
    #: None where the signer is named by an index or the like.
    account: bytes | None
    #: `sr25519`, `ed25519`, `ecdsa` or `ethereum`; "" for a kind of signature that is not known
    #: here.
    scheme: str
    signature: bytes
    call: "Call"
    call_data: bytes
    #: What the signed extensions put into the extrinsic.
    extra: bytes
    #: None where the runtime counts no transactions.
    nonce: int | None
    era: bytes
    #: CheckMetadataHash: 1 says that a metadata hash was signed.
    mode: int


def decode_signed_extrinsic(table: "RuntimeTable", data: bytes) -> SignedExtrinsic:
    """Return the signed extrinsic of version 4 that *data* is, all of it; InvalidRequest if it is
    not one."""
    extrinsic = decode_extrinsic(table, data)
    if extrinsic.signer is None:
        raise InvalidRequest(field="tx", problem="is not signed")
    scheme, signature = "", b""
    if isinstance(extrinsic.signature, dict) and len(extrinsic.signature) == 1:
        kind, value = next(iter(extrinsic.signature.items()))
        if kind.lower() in SCHEMES and isinstance(value, bytes):
            scheme, signature = kind.lower(), value
    elif (
        isinstance(extrinsic.signature, bytes) and len(extrinsic.signature) == SCHEMES[ETHEREUM][1]
    ):
        scheme, signature = ETHEREUM, extrinsic.signature
    nonce = extrinsic.extensions.get("CheckNonce")
    parts = extrinsic.extension_bytes
    return SignedExtrinsic(
        signer=extrinsic.signer,
        account=_account_of(extrinsic.signer),
        scheme=scheme,
        signature=signature,
        call=extrinsic.call,
        call_data=extrinsic.call_data,
        extra=extrinsic.extra,
        nonce=nonce if isinstance(nonce, int) else None,
        era=parts.get("CheckMortality", parts.get("CheckEra", IMMORTAL)),
        mode=int(extrinsic.extensions.get("CheckMetadataHash") == {"mode": "Enabled"}),
    )


def rebuild_payload(
    table: "RuntimeTable",
    signed: SignedExtrinsic,
    *,
    genesis_hash: bytes,
    block_hash: bytes,
    metadata_hash: bytes | None = None,
) -> bytes:
    """Return what the sender of *signed* should have signed, not hashed yet.

    The extrinsic's own bytes are taken as they stand; only what is signed beside them comes from
    the chain. InvalidRequest names a signed extension that is not known here.
    """
    beside = signing_payload(
        table,
        b"",
        SigningOptions(
            nonce=0,
            era=signed.era,
            genesis_hash=genesis_hash,
            block_hash=block_hash,
            mode=signed.mode,
            metadata_hash=metadata_hash,
        ),
    )
    return signed.call_data + signed.extra + beside.additional


def verify_signature(scheme: str, signature: bytes, message: bytes, account: bytes) -> bool:
    """Tell whether *signature* is the one of *account* under *message*, as a runtime's
    MultiSignature checks it."""
    if len(signature) != SCHEMES[scheme][1]:
        return False
    if SCHEMES[scheme][1] == 65 and signature[64] >= 27:
        # Ethereum counts the keys from 27.
        signature = signature[:64] + bytes((signature[64] - 27,))
    try:
        if scheme == "ecdsa":
            return account == _ecdsa_account(signature, message)
        from substrateinterface import Keypair, KeypairType

        kinds = {
            "sr25519": KeypairType.SR25519,
            "ed25519": KeypairType.ED25519,
            ETHEREUM: KeypairType.ECDSA,
        }
        key = Keypair(public_key=account, ss58_format=42, crypto_type=kinds[scheme])
        return bool(key.verify(_Message(message), signature))
    except ImportError:
        # That says nothing of the signature.
        raise
    # The libraries raise for bytes that are no point of the curve, each its own error.
    except Exception:
        return False


def explain_signature(signature: bytes, payload: bytes, account: bytes, scheme: str = "") -> str:
    """Return what the *signature* of *account* is, if it isn't one of *scheme* of the bytes to sign
    of *payload*; "" if that isn't found.

    Some wallets sign a message around the bytes, between <Bytes> and </Bytes> or with the prefix of
    EIP-191, and some don't hash what is long.
    """
    message = bytes_to_sign(payload)
    wrapped = [b"<Bytes>" + inner + b"</Bytes>" for inner in (payload, message)]
    texts = [
        text
        for inner in (payload, message)
        for text in (inner, b"0x" + inner.hex().encode(), inner.hex().encode(), keccak_256(inner))
    ]
    prefixed = [b"\x19Ethereum Signed Message:\n%d%b" % (len(text), text) for text in texts]
    for name, bare in possible_signatures(signature):
        if scheme and name != scheme and verify_signature(name, bare, message, account):
            return f"is {name}, not {scheme}: assemble it with scheme {name}, or without one"
        for signed, why in (
            (
                wrapped,
                "of a message (<Bytes>…</Bytes>), which no chain accepts: sign it as a transaction",
            ),
            (
                prefixed if name == ETHEREUM else [],
                "of an Ethereum message (EIP-191, personal_sign), which the chain does not "
                "accept: sign the field bytes_to_sign of tx payload without a prefix (secp256k1 "
                "over its keccak-256 hash)",
            ),
            (
                [payload] if payload != message else [],
                f"of all {len(payload)} bytes of the "
                f"payload, which no chain accepts above {HASHED_ABOVE} bytes: sign their "
                "blake2b-256 hash, the field bytes_to_sign of tx payload",
            ),
        ):
            if any(verify_signature(name, bare, each, account) for each in signed):
                return f"is {why}"
    return ""


def encode_signed_extrinsic(
    table: "RuntimeTable",
    call_data: bytes,
    extra: bytes,
    *,
    account: bytes,
    scheme: str,
    signature: bytes,
) -> bytes:
    """Return the signed extrinsic of version 4: `compact(length) ++ 0x84 ++ signer ++ signature ++
    extra ++ call`."""
    if 4 not in table.extrinsic_versions:
        raise InvalidRequest(
            f"{table} does not accept extrinsics of version 4, the only ones that can be assembled"
        )
    kind = SCHEMES[scheme][0]
    accepted = (
        takes_ethereum_signatures(table)
        if scheme == ETHEREUM
        else kind in table.types.variants(table.signature_type)
    )
    if not accepted:
        kind = kind or "Ethereum"
        raise InvalidRequest(
            field="scheme",
            value=scheme,
            problem=f"is not supported by {table}, which accepts no {kind} signatures",
        )
    addressed = table.types[table.address_type][2] == "variant"
    body = b"".join(
        (
            bytes((SIGNED_V4,)),
            table.encode(table.address_type, {"Id": account} if addressed else account),
            table.encode(table.signature_type, {kind: signature} if kind else signature),
            extra,
            call_data,
        )
    )
    return encode_compact(len(body)) + body


def takes_ethereum_signatures(table: "RuntimeTable") -> bool:
    """Tell whether the runtime knows one kind of signature only, of 65 bytes: that of accounts of
    20 bytes."""
    if table.types[table.signature_type][2] == "variant":
        return False
    try:
        return (
            len(table.encode(table.signature_type, bytes(SCHEMES[ETHEREUM][1])))
            == SCHEMES[ETHEREUM][1]
        )
    except InvalidRequest:
        return False


def possible_signatures(signature: bytes, scheme: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield what *signature* may be: its scheme, and its bytes without the scheme's byte; *scheme*
    is what was told.

    Wallets give signatures with and without that byte; which was meant, checking tells.
    """
    schemes = (scheme,) if scheme else tuple(SCHEMES)
    for name in schemes:
        if len(signature) == SCHEMES[name][1]:
            yield name, signature
        if len(signature) == SCHEMES[name][1] + 1 and SCHEME_BYTES.get(signature[0]) == name:
            yield name, signature[1:]


def _account_of(signer: Any) -> bytes | None:
    if isinstance(signer, dict) and set(signer) == {"Id"}:
        signer = signer["Id"]
    return signer if isinstance(signer, bytes) and len(signer) in (20, 32) else None


def keccak_256(data: bytes) -> bytes:
    from Crypto.Hash import keccak

    return keccak.new(digest_bits=256, data=data).digest()


class _Message(bytes):
    """A message that is verified as it stands: `Keypair.verify` would try it between <Bytes> and
    </Bytes> too."""

    def __radd__(self, before: bytes) -> bytes:
        raise ValueError("the signature is not that of the message")


def _ecdsa_account(signature: bytes, message: bytes) -> bytes:
    """Return the account of the key that made *signature*, the last byte of which says which of two
    keys it is.

    `Keypair` has ecdsa as Ethereum has it: over keccak-256, and of accounts of 20 bytes.
    """
    from ecdsa import SECP256k1, VerifyingKey

    digest = blake2b(message, digest_size=32).digest()
    keys = VerifyingKey.from_public_key_recovery_with_digest(
        signature[:64], digest, SECP256k1, hashfunc=None
    )
    return blake2b(keys[signature[64]].to_string("compressed"), digest_size=32).digest()


def assemble(
    table: "RuntimeTable",
    chain: "Chain",
    to_sign: PayloadToSign,
    signature: bytes,
    *,
    scheme: str = "",
) -> tuple[str, bytes]:
    """Return the scheme of *signature*, and the signed extrinsic; InvalidRequest if it is not the
    account's."""
    forms = tuple(possible_signatures(signature, scheme))
    if not forms:
        lengths = (
            f"{SCHEMES[scheme][1]} for {scheme}"
            if scheme
            else "64 for sr25519 and ed25519, 65 for ecdsa and ethereum"
        )
        raise InvalidRequest(
            field="signature",
            value=signature,
            problem=f"has {len(signature)} bytes",
            expected=f"{lengths}, with or without the byte in front that names the type",
        )
    message = bytes_to_sign(to_sign.payload)
    for name, bare in forms:
        if verify_signature(name, bare, message, to_sign.account):
            return name, encode_signed_extrinsic(
                table,
                to_sign.call_data,
                to_sign.extra,
                account=to_sign.account,
                scheme=name,
                signature=bare,
            )
    why = explain_signature(signature, to_sign.payload, to_sign.account, scheme)
    who = format_account(to_sign.account, chain.ss58_prefix)
    raise InvalidRequest(
        f"signature {why}"
        if why
        else f"signature {shorten(signature)} is not one of {who} for this payload on "
        f"{chain.title} with {table}: pass exactly what was signed (nonce, era, tip, …, or "
        "payload), and the account that signed it"
    )


# Payloads
