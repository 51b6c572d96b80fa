"""Assemble a signed transaction from a payload and a signature made elsewhere, and compare one with
what was to be signed.

`tx assemble` and `broadcast --expect` make the same comparison.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.json_types import Hex
from scenarioctl.model.request_fields import ChainName, PayloadJson, TransactionHex, Value
from scenarioctl.operations.built_transactions import RuntimeUsed, read_aside, runtime_used
from scenarioctl.operations.results import Result
from scenarioctl.transactions.extrinsic import parse_hex

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.payload import PayloadToSign

__all__ = ["assemble_transaction"]


def find_payload(
    app: Application, given: object, *, field: str, chain: str = ""
) -> "tuple[Chain, Mapping[str, Any]]":
    """Return the chain that the payload in *field* is for, and the SignerPayloadJSON that it has.

    *given* is that itself or the answer of `tx payload`, which names its chain; *chain* is what the
    request names.
    """
    payload, name = given, chain
    if isinstance(payload, Mapping) and isinstance(payload.get("signer_payload"), Mapping):
        name = name or str(payload.get("chain", ""))
        payload = payload["signer_payload"]
    if not isinstance(payload, Mapping):
        raise InvalidRequest(
            field=field,
            value=given,
            problem="is not an object",
            expected="the answer of tx payload, or SignerPayloadJSON",
        )
    return _chain_of(app, name, payload.get("genesisHash"), field), payload


def _chain_of(app: Application, name: str, genesis: object, field: str) -> "Chain":
    if name:
        return app.registry.find(name)
    found = [
        chain
        for chain in app.registry.all()
        if chain.genesis and chain.genesis == str(genesis).lower()
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidRequest(
            field="chain",
            problem=(
                f"is missing, and the genesis hash of {field} belongs to several chains: "
                f"{', '.join(chain.name for chain in found)}"
            ),
        )
    raise InvalidRequest(
        field=field,
        problem=f"names no known chain (genesis hash {shorten(genesis, 80)}): pass chain beside it",
    )


async def read_expected(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    payload: Mapping[str, Any],
    *,
    field: str,
) -> "PayloadToSign":
    """Return what *payload*, a SignerPayloadJSON, says is to be signed on *chain*."""
    from scenarioctl.transactions.signing.payload import read_wallet_payload

    method = payload.get("method")
    return await read_aside(
        app,
        method if isinstance(method, str) else "",
        read_wallet_payload,
        table,
        chain,
        payload,
        field=field,
    )


def require_expected(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    data: bytes,
    expected: "PayloadToSign",
    *,
    field: str,
) -> str:
    """Return the kind of signature of *data*, a signed extrinsic given in *field*, if it is
    *expected* with its account's signature.

    InvalidRequest says in words what differs; `differences` in its details has each part.
    """
    from scenarioctl.operations.views import say_transaction
    from scenarioctl.transactions.signing.signatures import assemble, decode_signed_extrinsic
    from scenarioctl.transactions.signing.signing_context import find_differences

    try:
        signed = decode_signed_extrinsic(table, data)
    except InvalidRequest as error:
        raise InvalidRequest(
            field=field,
            value=data,
            problem=f"is not a signed extrinsic of {chain.title} ({table}): {error}",
        ) from None

    found = find_differences(
        table,
        chain,
        app.assets,
        signed,
        expected,
        lambda call: say_transaction(app, chain, table, call),
    )
    if found:
        raise InvalidRequest(
            field=field,
            problem=f"doesn't match the payload: {'; '.join(each.sentence for each in found)}",
            details={"differences": [vars(each) for each in found]},
        )
    # What is signed beside the extrinsic, like the genesis hash, only the signature tells.
    try:
        scheme, made = assemble(table, chain, expected, signed.signature, scheme=signed.scheme)
    except InvalidRequest as error:
        raise InvalidRequest(field=field, problem=f"doesn't match the payload: {error}") from None
    if made != data:
        raise InvalidRequest(
            field=field,
            value=data,
            problem=(
                "doesn't match the payload: its payload and its signature make another transaction"
            ),
        )
    return scheme


@dataclass(frozen=True, kw_only=True)
class AssembleTransaction:
    """Join a payload and its signature into the signed transaction.

    A signature that does not match is refused, and so is a whole signed transaction of anything
    else: another call, signer, nonce, era, tip, fee asset or metadata hash.
    """

    #: What was to be signed: the answer of `tx payload`, or polkadot.js's SignerPayloadJSON.
    payload: PayloadJson
    #: Chain it is signed for. Not needed if `payload` names it.
    chain: ChainName = ""
    #: The signature, made by any wallet: 64 bytes (sr25519, ed25519) or 65 (ecdsa, ethereum), with
    #: or without the byte that says which.
    signature: Annotated[str, Value("0xHEX")] = ""
    #: In place of `signature`: the whole transaction, as some wallets return it. It is refused
    #: unless it is what was to be signed.
    signed_transaction: TransactionHex = ""
    #: `sr25519`, `ed25519`, `ecdsa` or `ethereum` (accounts of 20 bytes). Default: the one that
    #: matches.
    scheme: Annotated[str, Value("KIND", ("sr25519", "ed25519", "ecdsa", "ethereum"))] = ""


class SignedTransaction(RuntimeUsed):
    chain: str
    #: The signed extrinsic.
    tx: "Hex"
    hash: "Hex"
    #: `sr25519`, `ed25519`, `ecdsa` or `ethereum`.
    scheme: str


async def assemble_transaction(
    app: Application, request: AssembleTransaction
) -> Result[SignedTransaction]:
    """Return the signed extrinsic; InvalidRequest for one of something else, or a signature that is
    not the sender's under this payload."""
    from scenarioctl.transactions.extrinsic import extrinsic_hash

    signature, whole = _read_signed(request)
    chain, given = find_payload(app, request.payload, field="payload", chain=request.chain)
    table = await app.runtime(chain)
    to_sign = await read_expected(app, chain, table, given, field="payload")
    scheme, data = await read_aside(
        app,
        whole or to_sign.payload,
        _join,
        app,
        chain,
        table,
        to_sign,
        signature,
        whole,
        request.scheme,
    )
    return Result(
        answer={
            "chain": chain.name,
            "tx": "0x" + data.hex(),
            "hash": extrinsic_hash(data),
            "scheme": scheme,
            **runtime_used(table, offline=app.settings.offline),
        }
    )


def _read_signed(request: AssembleTransaction) -> tuple[bytes, bytes]:
    """Return the signature and the whole signed transaction, one of which is empty."""
    from scenarioctl.transactions.signing.signatures import SCHEMES

    if request.signature and request.signed_transaction:
        raise InvalidRequest(
            field="signature", problem="and signed_transaction are both given", expected="only one"
        )
    if not request.signed_transaction:
        if not request.signature:
            raise InvalidRequest(
                field="signature",
                problem="is missing",
                expected="it, or the whole signed_transaction",
            )
        signature = parse_hex(request.signature, field="signature")
        if request.scheme != "":
            read_choice(request.scheme, field="scheme", choices=SCHEMES)
        return signature, b""
    if request.scheme != "":
        raise InvalidRequest(
            field="scheme",
            value=request.scheme,
            problem=(
                "cannot be combined with signed_transaction, which says it itself: leave it out"
            ),
        )
    return b"", parse_hex(request.signed_transaction, field="signed_transaction")


def _join(
    app: Application,
    chain: "Chain",
    table: "RuntimeTable",
    to_sign: "PayloadToSign",
    signature: bytes,
    whole: bytes,
    scheme: str,
) -> tuple[str, bytes]:
    """Return the kind of signature and the signed extrinsic: *whole*, or what *to_sign* and
    *signature* make."""
    from scenarioctl.transactions.signing.signatures import assemble

    field = "signed_transaction" if whole else "tx"
    data = whole or assemble(table, chain, to_sign, signature, scheme=scheme)[1]
    return require_expected(app, chain, table, data, to_sign, field=field), data
