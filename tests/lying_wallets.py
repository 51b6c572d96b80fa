"""What wallets that lie sign in place of the payload that they are given."""

from typing import Any

from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.signing.payload import bytes_to_sign, read_wallet_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.runtimes import bundled
from tests.signing import dev_key

BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
CHARLIE = "14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q"
#: Raw, of a chain whose native asset has 10 decimals.
ONE = 10**10


def pays(table: RuntimeTable, tokens: int, address: str) -> str:
    """Return the call data of a payment."""
    account = Registry().find("polkadot").account_format.parse(address, field="address")
    call = {"Balances": {"transfer_keep_alive": {"dest": {"Id": account}, "value": tokens * ONE}}}
    return "0x" + table.encode(table.call_type, call).hex()


def lies(table: RuntimeTable, genesis: str) -> dict[str, dict[str, Any]]:
    """Return what each wallet changes in a payload that pays something to Bob, with an era and a
    metadata hash.

    All of it stands in the signed transaction, where it can be named.
    """
    changes: dict[str, dict[str, Any]] = {
        "call": {"method": pays(table, 500, CHARLIE)},
        "receiver": {"method": pays(table, 1, CHARLIE)},
        "signer": {"address": BOB},
        "nonce": {"nonce": "0x00000009"},
        "era": {"era": "0x00", "blockHash": genesis, "blockNumber": "0x00000000"},
        "tip": {"tip": f"0x{1000 * ONE:032x}"},
        "metadata hash": {"mode": 0, "metadataHash": None},
        "nonce and tip": {"nonce": "0x00000009", "tip": f"0x{ONE:032x}"},
    }
    if any(extension.identifier == "ChargeAssetTxPayment" for extension in table.extensions):
        # USDT.
        changes["fee asset"] = {"assetId": "0x010002043205011f"}
    return changes


#: What is signed and doesn't stand in the transaction: only the signature tells that it is not the
#: payload's.
UNSEEN: dict[str, dict[str, Any]] = {
    "metadata of another chain": {"metadataHash": "0x" + "99" * 32},
    "an era of another fork": {"blockHash": "0x" + "99" * 32},
}


def sign(
    payload: dict[str, Any], table: RuntimeTable, chain: Chain, *, uri: str = ""
) -> tuple[str, str]:
    """Return the signature of *payload*, and the whole signed transaction, by the key of its
    account or that of *uri*."""
    wanted = read_wallet_payload(table, chain, payload)
    key = dev_key(uri or ("//Bob" if payload["address"] == BOB else "//Alice"))
    signature = key.sign(bytes_to_sign(wanted.payload))
    data = encode_signed_extrinsic(
        table,
        wanted.call_data,
        wanted.extra,
        account=wanted.account,
        scheme="sr25519",
        signature=signature,
    )
    return "0x01" + signature.hex(), "0x" + data.hex()


ASSET_HUB = bundled("assetHub")
LIES = lies(ASSET_HUB, Registry().find("assetHub").genesis)
CALL = pays(ASSET_HUB, 1, BOB)
BLOCK_HASH = "0x" + "22" * 32
