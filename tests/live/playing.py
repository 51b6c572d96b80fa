"""A transaction played for real: its verdict before, then signed, submitted, and what the runtime
did with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused
from scenarioctl.model.calls import Call
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.blocks import Event, explain_dispatch_error
from scenarioctl.transactions.extrinsic import encode_era
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.live.recorder import fresh
from tests.live.setup import blocks_after
from tests.runner import finish

#: Events by which a call that succeeds tells that a call inside it did not.
_PARTS = ("Utility.BatchInterrupted", "Utility.BatchCompletedWithErrors", "Utility.ItemFailed")


@dataclass(frozen=True, kw_only=True)
class Played:
    """What became of a signed transaction."""

    #: `rejected` by the pool, `dropped` by whoever made the block, `failed` in it, `partly` done,
    #: or `executed`.
    outcome: str
    reason: str = ""
    #: Those of its block.
    events: Sequence[Event] = ()


def new_key() -> Keypair:
    """Return the key pair of an account that nobody has used."""
    return Keypair.create_from_seed("0x" + fresh(32).hex())


def endow(
    app: Application,
    chain: Chain,
    account: bytes,
    free: int,
    *,
    reserved: int = 0,
    frozen: int = 0,
    consumers: int = 0,
) -> None:
    """Let *account* hold so much of the native asset from now on."""
    client = app.client(chain)
    table = finish(client.table())
    key = storage_key(table, "System", "Account", [account])
    now = finish(client.storage("System", "Account", account))
    data = {**now["data"], "free": free, "reserved": reserved, "frozen": frozen, "flags": 1 << 127}
    row = {**now, "providers": max(now["providers"], 1), "consumers": consumers, "data": data}
    value = "0x" + table.encode(key.entry.value_type, row).hex()
    finish(client.call("dev_setStorage", [[key.hex, value]]))


def put(app: Application, chain: Chain, pallet: str, entry: str, *keys: Any, value: Any) -> None:
    """Write one storage item."""
    client = app.client(chain)
    table = finish(client.table())
    key = storage_key(table, pallet, entry, keys)
    data = "0x" + table.encode(key.entry.value_type, value).hex()
    finish(client.call("dev_setStorage", [[key.hex, data]]))


def play(
    app: Application, chain: Chain, call: Call, key: Keypair, *, asset_id: Any = None
) -> Played:
    """Sign *call* as the check expects it to be signed, submit it, and tell what the runtime did.

    *asset_id* is the location of the asset that the transaction names to pay its fee.
    """
    client = app.client(chain)
    table = finish(client.table())
    data = table.encode_call(call)
    before, _ = finish(client.head())
    nonce = finish(client.storage("System", "Account", key.public_key))["nonce"]
    options = SigningOptions(
        nonce=nonce,
        asset_id=asset_id,
        era=encode_era(64, before),
        genesis_hash=bytes.fromhex(chain.genesis[2:]),
        block_hash=bytes.fromhex(_birth_hash(app, chain, before)[2:]),
    )
    payload = signing_payload(table, data, options)
    signed = encode_signed_extrinsic(
        table,
        data,
        payload.extra,
        account=key.public_key,
        scheme="sr25519",
        signature=key.sign(payload.bytes_to_sign),
    )
    try:
        finish(client.submit("author_submitExtrinsic", "0x" + signed.hex()))
    except ChainRefused as error:
        return Played(outcome="rejected", reason=str(error))
    for events in blocks_after(app, chain, before):
        for event in events:
            if str(event) == "System.ExtrinsicFailed":
                reason = explain_dispatch_error(table, event.fields["dispatch_error"])
                return Played(outcome="failed", reason=reason, events=events)
        if any(
            event.name in ("TransactionFeePaid", "AssetTxFeePaid")
            and event.fields["who"] == key.public_key
            for event in events
        ):
            part = next((event for event in events if _fails(event)), None)
            return Played(
                outcome="partly" if part else "executed", reason=str(part or ""), events=events
            )
    return Played(outcome="dropped")


def _birth_hash(app: Application, chain: Chain, number: int) -> str:
    """Return the hash of the block in which an era of 64 blocks that holds *number* begins: that
    block itself."""
    return str(finish(app.client(chain).call("chain_getBlockHash", number)))


def _fails(event: Event) -> bool:
    fields = event.fields if isinstance(event.fields, dict) else {}
    result, outcome = fields.get("result"), fields.get("outcome")
    return (
        str(event) in _PARTS
        or (isinstance(result, dict) and "Err" in result)
        or (isinstance(outcome, dict) and "Complete" not in outcome and event.name == "Attempted")
    )
