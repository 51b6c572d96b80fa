"""What the signer reads from your node, never from the daemon, and the bytes of transactions."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import websocket
from scalecodec.base import RuntimeConfigurationObject, ScaleBytes
from scalecodec.type_registry import load_type_registry_preset

#: Blocks for which a signature is valid.
PERIOD = 64
#: Bytes of the longest call that is signed. Transfers have at most a few hundred.
LONGEST_CALL = 4096
#: Error code of a node that has the transaction in its pool already.
ALREADY_IMPORTED = 1013


class Unreachable(Exception):
    """A node or the daemon doesn't answer. Nothing is decided; try again later."""


class Refused(Exception):
    """The signer doesn't sign this draft, and says why."""


class NodeError(Unreachable):
    """The node answers with an error."""

    def __init__(self, text: str, code: object) -> None:
        super().__init__(text)
        self.code = code


class Node:
    """One chain, asked over JSON-RPC."""

    def __init__(self, url: str, genesis: str) -> None:
        self.url, self.genesis = url, genesis.lower()
        self._socket: Any = None
        self._runtimes: dict[int, Runtime] = {}

    def ask(self, method: str, *params: Any) -> Any:
        try:
            if self._socket is None:
                self._socket = websocket.create_connection(self.url, timeout=60)
                if (found := self.ask("chain_getBlockHash", 0)) != self.genesis:
                    raise SystemExit(
                        f"{self.url} has the genesis hash {found}, expected {self.genesis}"
                    )
            self._socket.send(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            )
            answer = dict(json.loads(self._socket.recv()))
        except (OSError, TypeError, ValueError, websocket.WebSocketException) as error:
            self._socket = None
            raise Unreachable(f"{self.url}: {error}") from None
        if "result" not in answer:
            why = answer.get("error")
            raise NodeError(
                f"{self.url}: {method}: {why}", why.get("code") if isinstance(why, dict) else 0
            )
        return answer["result"]

    def known(self, method: str, *params: Any) -> Any:
        """Return the answer; Unreachable if the node knows nothing of it, because it is behind."""
        if (answer := self.ask(method, *params)) is None:
            raise Unreachable(f"{self.url}: {method}: your node doesn't know {params}")
        return answer

    def finalized(self) -> int:
        return int(
            self.known("chain_getHeader", self.known("chain_getFinalizedHead"))["number"], 16
        )

    def block_hash(self, number: int) -> str:
        return str(self.known("chain_getBlockHash", number))

    def nonce(self, account: bytes, block: str | None = None) -> int:
        """Return how many transactions *account* has in blocks, up to *block* or to the best
        one."""
        # twox128("System"), twox128("Account"), then blake2_128_concat of the account.
        prefix = "0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9"
        key = prefix + blake2b(account, digest_size=16).hexdigest() + account.hex()
        value = self.ask("state_getStorage", key, *([block] if block else []))
        return int.from_bytes(bytes.fromhex(value[2:10]), "little") if value else 0

    def find(self, tx: str, *, first: int, last: int) -> str:
        """Return the hash of the block from *first* to *last* that has the transaction; "" if none
        has."""
        for number in range(first, last + 1):
            block = self.block_hash(number)
            if tx in self.known("chain_getBlock", block)["block"]["extrinsics"]:
                return block
        return ""

    def fee(self, tx: bytes) -> int:
        """Return what the node estimates that the signed transaction costs, raw; Refused if it
        doesn't say."""
        given = "0x" + (tx + len(tx).to_bytes(4, "little")).hex()
        try:
            info = bytes.fromhex(
                self.ask("state_call", "TransactionPaymentApi_query_info", given)[2:]
            )
        except (NodeError, TypeError, ValueError, LookupError) as error:
            raise Refused(f"its fee is unknown: {error}") from None
        # RuntimeDispatchInfo: the weight (two compact numbers), the class (one byte), and the fee
        # (u128).
        if not 19 <= len(info) <= 35:
            raise Refused(f"its fee is unknown: your node answers 0x{info[:40].hex()}")
        return int.from_bytes(info[-16:], "little")

    def submit(self, tx: str) -> None:
        """Put a signed transaction into the node's pool; NodeError if the node doesn't take it."""
        try:
            self.ask("author_submitExtrinsic", tx)
        except NodeError as error:
            if error.code != ALREADY_IMPORTED:
                raise

    def runtime(self) -> "Runtime":
        version = self.ask("state_getRuntimeVersion")
        spec = int(version["specVersion"])
        if spec not in self._runtimes:
            metadata = self.ask("state_getMetadata")
            self._runtimes = {spec: Runtime(spec, int(version["transactionVersion"]), metadata)}
        return self._runtimes[spec]


@dataclass(frozen=True)
class Runtime:
    """One version of a chain's runtime."""

    spec: int
    transaction: int
    metadata: str

    @cached_property
    def _decoder(self) -> tuple[Any, Any]:
        config = RuntimeConfigurationObject(ss58_format=42, implements_scale_info=True)
        config.update_type_registry(load_type_registry_preset("core"))
        metadata = config.create_scale_object("MetadataVersioned", ScaleBytes(self.metadata))
        metadata.decode()
        config.add_portable_registry(metadata)
        return config, metadata

    def decode(self, call: bytes) -> dict[str, Any]:
        """Return the call as plain data; Refused if it isn't exactly one call."""
        config, metadata = self._decoder
        scale = config.create_scale_object(
            "Call", data=ScaleBytes(bytearray(call)), metadata=metadata
        )
        try:
            scale.decode(check_remaining=True)
        except Exception as error:
            raise Refused(
                f"the runtime {self.spec} of your node doesn't read the call: {error}"
            ) from None
        return dict(scale.value)

    def extensions(self) -> list[tuple[str, bool, bool]]:
        """Return each extension's name, and whether it adds bytes to the transaction and to the
        payload."""
        _, metadata = self._decoder
        return [
            (
                each["identifier"],
                self._has_bytes(each["ty"]),
                self._has_bytes(each["additional_signed"]),
            )
            for each in metadata[1][1]["extrinsic"]["signed_extensions"].value
        ]

    def address(self, account: bytes) -> bytes:
        """Return an account by its public key, as the runtime writes the sender of a
        transaction."""
        _, metadata = self._decoder
        of_extrinsic = self._type(metadata[1][1]["extrinsic"]["ty"].value)["params"]
        (kind,) = [
            self._type(each["type"])["path"][-1]
            for each in of_extrinsic
            if each["name"] == "Address"
        ]
        if kind not in ("MultiAddress", "AccountId32"):
            raise Refused(f"this signer doesn't know senders of the type {kind}")
        return account if kind == "AccountId32" else b"\0" + account

    def _type(self, type_id: int) -> dict[str, Any]:
        _, metadata = self._decoder
        return dict(metadata.portable_registry["types"][type_id].value["type"])

    def _has_bytes(self, type_id: int) -> bool:
        (kind, shape), *_ = self._type(type_id)["def"].items()
        if kind == "composite":
            return any(self._has_bytes(field["type"]) for field in shape["fields"])
        return kind != "tuple" or any(self._has_bytes(each) for each in shape)


def call_of(extrinsic: str) -> bytes:
    """Return the call of an unsigned (bare) extrinsic; Refused for anything else, and for a call
    that is too long."""
    try:
        data = bytes.fromhex(extrinsic.removeprefix("0x"))
    except ValueError:
        raise Refused("the draft is not hex") from None
    size = {0: 1, 1: 2, 2: 4}.get(data[0] & 3 if data else 3, 0)
    length = int.from_bytes(data[:size], "little") >> 2
    if not size or len(data) != size + length or data[size : size + 1] != b"\x04":
        raise Refused("the draft is not an unsigned extrinsic")
    if length > LONGEST_CALL + 1:
        raise Refused(f"its call has {length - 1} bytes, more than {LONGEST_CALL}")
    return data[size + 1 :]


def compact(number: int) -> bytes:
    """Return a whole number as SCALE writes it in a compact field."""
    for mode, bits in enumerate((6, 14, 30)):
        if number < 1 << bits:
            return (number << 2 | mode).to_bytes(1 << mode, "little")
    size = (number.bit_length() + 7) // 8
    return bytes([size - 4 << 2 | 3]) + number.to_bytes(size, "little")


def era_from(block: int) -> bytes:
    """Return the mortal era of PERIOD blocks that begins with *block*."""
    return ((PERIOD.bit_length() - 2) | (block % PERIOD) << 4).to_bytes(2, "little")


def signed_fields(
    extensions: list[tuple[str, bool, bool]],
    *,
    nonce: int,
    block: int,
    block_hash: str,
    genesis: str,
    runtime: Runtime,
) -> tuple[bytes, bytes]:
    """Return what the extensions add to the transaction, and what they add to the payload only.

    There is no tip, and no commitment to the metadata: only the daemon could tell its hash.
    """
    era = era_from(block)
    of_tx = {
        "CheckMortality": era,
        "CheckEra": era,
        "CheckNonce": compact(nonce),
        "ChargeTransactionPayment": compact(0),
        # The tip, then no asset: the fee is paid in the native one.
        "ChargeAssetTxPayment": compact(0) + b"\0",
        "CheckMetadataHash": b"\0",
    }
    beside = {
        "CheckSpecVersion": runtime.spec.to_bytes(4, "little"),
        "CheckTxVersion": runtime.transaction.to_bytes(4, "little"),
        "CheckGenesis": bytes.fromhex(genesis[2:]),
        "CheckMortality": bytes.fromhex(block_hash[2:]),
        "CheckEra": bytes.fromhex(block_hash[2:]),
        "CheckMetadataHash": b"\0",
    }
    parts = [b"", b""]
    for place, known in enumerate((of_tx, beside)):
        for name, *has_bytes in extensions:
            if has_bytes[place] and name not in known:
                raise Refused(f"this signer doesn't know the transaction extension {name}")
            parts[place] += known[name] if has_bytes[place] else b""
    return parts[0], parts[1]


def bytes_to_sign(call: bytes, extra: bytes, additional: bytes) -> bytes:
    """Return what a key signs: the payload, or its hash if it is long."""
    payload = call + extra + additional
    return payload if len(payload) <= 256 else blake2b(payload, digest_size=32).digest()


def assemble(sender: bytes, signature: bytes, extra: bytes, call: bytes) -> bytes:
    """Return a transaction of version 4, signed with sr25519."""
    body = b"\x84" + sender + b"\1" + signature + extra + call
    return compact(len(body)) + body
