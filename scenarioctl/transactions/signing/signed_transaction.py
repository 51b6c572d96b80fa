"""Join a payload with a signature made elsewhere into a signed extrinsic."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import read_digits
from scenarioctl.transactions.extrinsic import looks_like_extrinsic
from scenarioctl.transactions.hex_fields import parse_hash, parse_hex
from scenarioctl.transactions.mortality import parse_era
from scenarioctl.transactions.signing.fee_asset import read_asset_id
from scenarioctl.transactions.signing.payload import (
    HASHED_ABOVE,
    SigningOptions,
    bytes_to_sign,
    signing_payload,
)
from scenarioctl.transactions.signing.signatures import (
    SCHEMES,
    encode_signed_extrinsic,
    possible_signatures,
    signed_instead,
    verify_signature,
)

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(frozen=True, kw_only=True)
class PayloadToSign:
    """A payload, and the parts of it that go into the extrinsic."""

    account: bytes
    call_data: bytes
    extra: bytes
    #: Not hashed.
    payload: bytes


def assemble(
    table: "RuntimeTable", chain: "Chain", to_sign: PayloadToSign, signature: bytes, *, scheme: str = ""
) -> tuple[str, bytes]:
    """Return the scheme of *signature*, and the signed extrinsic; InvalidRequest if it is not the account's."""
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
                table, to_sign.call_data, to_sign.extra, account=to_sign.account, scheme=name, signature=bare
            )
    raise InvalidRequest(_why_not(chain, table, to_sign, signature, forms, scheme))


def _why_not(
    chain: "Chain",
    table: "RuntimeTable",
    to_sign: PayloadToSign,
    signature: bytes,
    forms: tuple[tuple[str, bytes], ...],
    scheme: str,
) -> str:
    who = format_account(to_sign.account, chain.ss58_prefix)
    payload, message = to_sign.payload, bytes_to_sign(to_sign.payload)
    for name, bare in possible_signatures(signature):
        if scheme and name != scheme and verify_signature(name, bare, message, to_sign.account):
            return f"signature is {name}, not {scheme}: leave scheme out, or set it to {name}"
    for name, bare in forms:
        signed = signed_instead(name, bare, payload, to_sign.account)
        if signed == "message":
            return "signature is of a message (<Bytes>…</Bytes>), which no chain accepts: sign it as a transaction"
        if signed == "ethereum message":
            return (
                f"signature is of an Ethereum message (EIP-191, personal_sign), which {chain.name} does not accept: sign the field "
                "bytes_to_sign of tx payload without a prefix (secp256k1 over its keccak-256 hash), as wallets sign a transaction of "
                "a Polkadot chain"
            )
        if signed == "payload":
            return (
                f"signature is of all {len(payload)} bytes of the payload, which no chain accepts above {HASHED_ABOVE} bytes: "
                "sign their blake2b-256 hash, the field bytes_to_sign of tx payload"
            )
    return (
        f"signature {shorten(signature)} is not one of {who} for this payload on {chain.name} with {table}: "
        "pass exactly what was signed (nonce, era, tip, …, or payload), and the account that signed it"
    )


# Payloads


def read_payload(table: "RuntimeTable", chain: "Chain", data: bytes, account: bytes) -> PayloadToSign | None:
    """Return the whole signing payload that *data* is, None where it is something else.

    InvalidRequest for a payload of another runtime or chain.
    """
    if looks_like_extrinsic(data):
        return None
    try:
        _, end = table.decode_call_at(data, 0)
        if end == len(data):
            return None
        start = end
        for extension in table.extensions:
            _, start = table.decode_at(extension.type_id, data, start)
        extra = data[end:start]
        beside: dict[str, Any] = {}
        for extension in table.extensions:
            beside[extension.identifier], start = table.decode_at(extension.additional_type_id, data, start)
    except InvalidRequest:
        return None
    if start != len(data):
        return None
    _check_versions(table, chain, beside.get("CheckSpecVersion"), beside.get("CheckTxVersion"), "tx")
    _check_genesis(chain, beside.get("CheckGenesis"), "tx")
    return PayloadToSign(account=account, call_data=data[:end], extra=extra, payload=data)


def read_wallet_payload(
    table: "RuntimeTable", chain: "Chain", given: Mapping[str, Any], *, field: str = "payload"
) -> PayloadToSign:
    """Return what polkadot.js's SignerPayloadJSON, given in *field*, says is to be signed."""
    account = chain.account_format.parse(given.get("address"), field=f"{field}.address")
    version = given.get("version", 4)
    if version != 4:
        raise InvalidRequest(
            field=f"{field}.version", value=version, problem="is not supported", expected="4"
        )
    spec = _number(given, field, "specVersion")
    _check_versions(table, chain, spec, _number(given, field, "transactionVersion"), field)
    genesis = parse_hash(given.get("genesisHash"), field=f"{field}.genesisHash")
    _check_genesis(chain, genesis, field)
    names = [extension.identifier for extension in table.extensions]
    stated = given.get("signedExtensions", names)
    if stated != names:
        raise InvalidRequest(
            field=f"{field}.signedExtensions",
            value=stated,
            problem=f"does not match {table}, expected: {', '.join(names)}",
        )
    mode = _number(given, field, "mode", 0)
    metadata_hash = (
        parse_hash(given["metadataHash"], field=f"{field}.metadataHash")
        if given.get("metadataHash") is not None
        else None
    )
    call_data = parse_hex(given.get("method"), field=f"{field}.method")
    try:
        call = table.decode_call(call_data)
    except InvalidRequest as error:
        raise InvalidRequest(
            field=f"{field}.method", problem=f"is not a valid call of {chain.name}: {error}"
        ) from None
    options = SigningOptions(
        nonce=_number(given, field, "nonce"),
        tip=_number(given, field, "tip", 0),
        era=parse_era(given.get("era"), field=f"{field}.era"),
        genesis_hash=genesis,
        block_hash=parse_hash(given.get("blockHash"), field=f"{field}.blockHash"),
        asset_id=read_asset_id(table, chain, given.get("assetId"), field=f"{field}.assetId"),
        mode=mode,
        metadata_hash=metadata_hash,
    )
    # As the runtime writes it: some wallets pad what they give.
    written = signing_payload(table, table.encode_call(call), options)
    return PayloadToSign(
        account=account, call_data=written.call_data, extra=written.extra, payload=written.payload
    )


def _check_versions(
    table: "RuntimeTable", chain: "Chain", spec: object, transaction: object, what: str
) -> None:
    if spec is not None and spec != table.spec_version:
        raise InvalidRequest(
            f"{what} was made for runtime version {shorten(spec)}, but {chain.name} runs {table}: make a new payload and sign that"
        )
    if transaction is not None and transaction != table.transaction_version:
        raise InvalidRequest(
            f"{what} was made for transaction version {shorten(transaction)}, but {table} has {table.transaction_version}: make a new payload and sign that"
        )


def _check_genesis(chain: "Chain", genesis: object, what: str) -> None:
    if chain.genesis and isinstance(genesis, bytes) and "0x" + genesis.hex() != chain.genesis:
        raise InvalidRequest(
            f"{what} was made for another chain, with genesis hash 0x{genesis.hex()}, not for {chain.name}"
        )


def _number(given: Mapping[str, Any], field: str, name: str, otherwise: int | None = None) -> int:
    """Return a number that is one, its digits, or its 0x hex, as polkadot.js writes it."""
    value = given.get(name, otherwise)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = value if isinstance(value, str) and len(value) <= 80 and value.isascii() else ""
    if (number := read_digits(text)) is not None:
        return number
    if text[:2] == "0x" and text[2:].isalnum():
        try:
            return int(text[2:], 16)
        except ValueError:
            pass
    raise InvalidRequest(
        field=f"{field}.{name}", value=value, problem="is not a number", expected="digits or 0x hex"
    )
