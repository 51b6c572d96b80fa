"""What was to be signed, and whether a signed transaction is that: the one comparison of `tx assemble` and `broadcast --expect`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.operations.signing_fields import read_aside

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.signatures import PayloadToSign


def find_payload(
    app: Application, given: object, *, field: str, chain: str = ""
) -> "tuple[Chain, Mapping[str, Any]]":
    """Return the chain that the payload in *field* is for, and the SignerPayloadJSON that it has.

    *given* is that itself or the answer of `tx payload`, which names its chain; *chain* is what the request names.
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
    found = [chain for chain in app.registry.all() if chain.genesis and chain.genesis == str(genesis).lower()]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidRequest(
            field="chain",
            problem=f"is missing, and the genesis hash of {field} belongs to several chains: {', '.join(chain.name for chain in found)}",
        )
    raise InvalidRequest(
        field="chain",
        problem=f"is missing, and the genesis hash of {field} ({shorten(genesis, 80)}) belongs to no known chain",
    )


async def read_expected(
    app: Application, chain: "Chain", table: "RuntimeTable", payload: Mapping[str, Any], *, field: str
) -> "PayloadToSign":
    """Return what *payload*, a SignerPayloadJSON, says is to be signed on *chain*."""
    from scenarioctl.transactions.signing.signatures import read_wallet_payload

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
    """Return the kind of signature of *data*, a signed extrinsic given in *field*, if it is *expected* with its account's signature.

    InvalidRequest says in words what differs; `differences` in its details has each part.
    """
    from scenarioctl.operations.decoded_transactions import say_transaction
    from scenarioctl.transactions.signed_differences import find_differences
    from scenarioctl.transactions.signing.signatures import assemble, decode_signed_extrinsic

    try:
        signed = decode_signed_extrinsic(table, data)
    except InvalidRequest as error:
        raise InvalidRequest(
            field=field, value=data, problem=f"is not a signed extrinsic of {chain.name} ({table}): {error}"
        ) from None

    found = find_differences(
        table, chain, app.assets, signed, expected, lambda call: say_transaction(app, chain, table, call)
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
            problem="doesn't match the payload: its payload and its signature make another transaction",
        )
    return scheme
