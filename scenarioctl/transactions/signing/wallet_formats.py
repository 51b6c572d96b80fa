"""What is to be signed, in the forms that wallets take: polkadot.js's SignerPayloadJSON, Polkadot
Vault's QR codes.

Vault's form, from novasamatech/parity-signer, docs/src/development/UOS.md: 0x53, the kind of key,
02 for a transaction (mortal or not), the public key, the call behind its compact length, the
extensions as they are signed, the genesis hash.  Its frames, from polkadot-js/ui,
packages/react-qr/src/util.ts: 00, how many, which one from 0 (both u16, big-endian), and 1024
bytes; one that fits in a single frame has the same head.
"""

from typing import TYPE_CHECKING, Any

from scenarioctl.errors import InvalidRequest, TooLarge
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.signing.fee_asset import write_asset_id

if TYPE_CHECKING:
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.payload import SigningOptions, SigningPayload

FRAME_SIZE = 1024
#: More frames than these nobody holds a camera to.
MAX_FRAMES = 64

#: Kind of key -> its number; an ecdsa key has 33 bytes, which its account does not tell.
KEYS = {"ed25519": 0, "sr25519": 1}
_SUBSTRATE, _TRANSACTION = 0x53, 0x02


def signer_payload(
    table: "RuntimeTable", payload: "SigningPayload", options: "SigningOptions", *, address: str
) -> dict[str, Any]:
    """Return what `signer.signPayload` of polkadot.js and its wallets takes, numbers as wide as the
    runtime's."""
    return {
        "address": address,
        "assetId": write_asset_id(table, options.asset_id),
        "blockHash": "0x" + options.block_hash.hex(),
        "blockNumber": f"0x{options.block_number:08x}",
        "era": "0x" + options.era.hex(),
        "genesisHash": "0x" + options.genesis_hash.hex(),
        "metadataHash": None
        if options.metadata_hash is None
        else "0x" + options.metadata_hash.hex(),
        "method": "0x" + payload.call_data.hex(),
        "mode": options.mode,
        "nonce": f"0x{options.nonce:08x}",
        "signedExtensions": [part.identifier for part in payload.extensions],
        "specVersion": f"0x{table.spec_version:08x}",
        "tip": f"0x{options.tip:032x}",
        "transactionVersion": f"0x{table.transaction_version:08x}",
        "version": 4,
        "withSignedTransaction": True,
    }


def check_key(kind: object) -> None:
    """Refuse a kind of key that Vault cannot be told of."""
    if not isinstance(kind, str) or kind not in KEYS:
        raise InvalidRequest(field="crypto", value=kind, problem="is unknown", known=list(KEYS))


def vault_payload(
    payload: "SigningPayload", *, account: bytes, crypto: str, genesis_hash: bytes
) -> bytes:
    """Return the bytes that Polkadot Vault shows, signs and answers with a signature's QR code."""
    check_key(crypto)
    return b"".join(
        (
            bytes((_SUBSTRATE, KEYS[crypto], _TRANSACTION)),
            account,
            encode_compact(len(payload.call_data)),
            payload.payload,
            genesis_hash,
        )
    )


def vault_frames(data: bytes) -> tuple[bytes, ...]:
    """Return the contents of the QR codes that bring *data* to Vault, to be shown in any order."""
    count = -(-len(data) // FRAME_SIZE)
    if count > MAX_FRAMES:
        raise TooLarge(
            field="tx",
            problem=(
                f"is too large for QR codes: {len(data)} bytes need {count} codes, the limit "
                f"is {MAX_FRAMES}"
            ),
        )
    return tuple(
        b"\0"
        + count.to_bytes(2, "big")
        + index.to_bytes(2, "big")
        + data[index * FRAME_SIZE : (index + 1) * FRAME_SIZE]
        for index in range(count)
    )
