"""The reference signer at a chain, a node and a daemon that tests make honest, late or
malicious."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from scenarioctl.model.calls import Call
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.transactions.extrinsic import bare_extrinsic, era_start
from scenarioctl.transactions.signing.payload import bytes_to_sign
from scenarioctl.transactions.signing.signatures import (
    decode_signed_extrinsic,
    rebuild_payload,
    verify_signature,
)
from tests.conftest import BOB, BOB_HEX, DATA, ROOT
from tests.signing import dev_key

sys.path.insert(0, str(ROOT / "examples" / "signer"))

import chain
import policy
import signer

__all__ = [
    "BOBS",
    "DOT",
    "GENESIS",
    "RUNTIME",
    "TABLE",
    "TABLE_OF_POLICY",
    "Desk",
    "Jobs",
    "Ledger",
    "OwnNode",
    "chain",
    "draft",
    "fee_of",
    "policy",
    "refusal",
    "remark",
    "rule",
    "signer",
    "transfer",
    "written",
]

METADATA = (DATA / "metadata" / "polkadot-1002005.v14.scale").read_bytes()
TABLE = read_metadata(METADATA)
RUNTIME = chain.Runtime(1002005, 26, "0x" + METADATA.hex())
GENESIS = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3"
BOBS = BOB_HEX.removeprefix("0x")
DOT = 10**10


def transfer(amount: int = DOT, dest: Any = None, method: str = "transfer_keep_alive") -> Call:
    return Call(
        pallet="Balances",
        method=method,
        args={"dest": dest or {"Id": bytes.fromhex(BOBS)}, "value": amount},
    )


def remark(size: int = 0) -> Call:
    return Call(pallet="System", method="remark", args={"remark": bytes(size)})


def draft(number: Any, call: Call | None = None, **changes: Any) -> dict[str, Any]:
    tx = "0x" + bare_extrinsic(TABLE.encode_call(call or transfer())).hex()
    return {
        "seq": number,
        "chain": "polkadot",
        "spec_version": 1002005,
        "state": "current",
        "tx": tx,
        **changes,
    }


TABLE_OF_POLICY: dict[str, Any] = {
    "daemon": "http://127.0.0.1:1",
    "journal": "journal.jsonl",
    "jobs": ["abc"],
    "max_transactions_per_day": 2,
    "chains": {
        "polkadot": {
            "node": "ws://127.0.0.1:1",
            "genesis": GENESIS,
            "decimals": 10,
            "max_fee": "0.1",
            "max_fee_per_day": "0.2",
        }
    },
    "allow": [
        {
            "chain": "polkadot", "kind": "transfer", "assets": ["native"], "decimals": 10,
                "max": "1",
            "max_per_day": "1.5", "receivers": [BOB],
        }
    ],
}  # fmt: skip


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "policy.toml"
    path.write_text(tomli_w.dumps({**TABLE_OF_POLICY, **changes}))
    return path


def rule(**changes: Any) -> dict[str, Any]:
    changed = {**TABLE_OF_POLICY["allow"][0], **changes}
    return {"allow": [{name: value for name, value in changed.items() if value is not None}]}


class Ledger:
    """A chain of one account, //Alice. It includes what is signed for it, each transaction in a
    block of its own."""

    def __init__(self) -> None:
        self.blocks: list[list[str]] = [[] for _ in range(101)]
        self.calls: list[Call] = []

    @property
    def paid(self) -> int:
        """How much the transfers paid, raw."""
        return sum(call.args["value"] for call in self.calls if call.method != "remark")

    @property
    def fees(self) -> int:
        return sum(fee_of(len(tx) // 2 - 1) for block in self.blocks for tx in block)

    def grow(self, blocks: int) -> None:
        self.blocks += [[] for _ in range(blocks)]

    def include(self, tx: str) -> str:
        """Include a transaction, or return why no block can."""
        signed = decode_signed_extrinsic(TABLE, bytes.fromhex(tx[2:]))
        assert signed.nonce is not None
        if signed.nonce != len(self.calls):
            return "Transaction is outdated" if signed.nonce < len(self.calls) else "Future"
        start = era_start(signed.era, len(self.blocks) - 1)
        payload = rebuild_payload(
            TABLE,
            signed,
            genesis_hash=bytes.fromhex(GENESIS[2:]),
            block_hash=bytes.fromhex(hash_of(start)[2:]),
        )
        account = dev_key().public_key
        assert signed.account == account
        assert verify_signature("sr25519", signed.signature, bytes_to_sign(payload), account), start
        self.blocks.append([tx])
        self.calls.append(signed.call)
        return ""

    def spend(self) -> None:
        """Include a transaction that something else signed with the account's key."""
        self.blocks.append(["0x"])
        self.calls.append(remark())


def fee_of(length: int) -> int:
    """Return 0.01 DOT, and 0.0001 DOT for each byte: what the relay chain takes, more or less."""
    return DOT // 100 + length * DOT // 10_000


def hash_of(number: int) -> str:
    return f"0x{number:064x}"


class OwnNode(chain.Node):
    """The signer's node. It may be `behind` the chain by some blocks, of which the newest `unfinal`
    ones aren't final."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__("ws://own", GENESIS)
        self.ledger, self.behind, self.unfinal = ledger, 0, 0
        self.submitted: list[str] = []
        #: Method -> what it answers in place of the truth, or the error that it raises.
        self.answers: dict[str, Any] = {}
        self._runtimes = {RUNTIME.spec: RUNTIME}

    def ask(self, method: str, *params: Any) -> Any:
        if method in self.answers:
            answer = self.answers[method]
            if isinstance(answer, Exception):
                raise answer
            return answer
        return getattr(self, "_" + method)(*params)

    @property
    def _best(self) -> int:
        return len(self.ledger.blocks) - 1 - self.behind

    def _chain_getHeader(self, block: str = "") -> Any:
        return {"number": hex(int(block, 16) if block else self._best)}

    def _chain_getFinalizedHead(self) -> str:
        return hash_of(self._best - self.unfinal)

    def _chain_getBlockHash(self, number: int) -> str:
        return hash_of(number)

    def _chain_getBlock(self, block: str) -> Any:
        return {"block": {"extrinsics": self.ledger.blocks[int(block, 16)]}}

    def _state_getStorage(self, key: str, block: str = "") -> str:
        assert key.endswith(dev_key().public_key.hex())
        last = int(block, 16) if block else self._best
        return (
            "0x"
            + sum(map(len, self.ledger.blocks[: last + 1])).to_bytes(4, "little").hex()
            + "00" * 76
        )

    def _state_getRuntimeVersion(self) -> Any:
        return {"specVersion": RUNTIME.spec, "transactionVersion": RUNTIME.transaction}

    def _state_call(self, method: str, given: str) -> str:
        assert method == "TransactionPaymentApi_query_info"
        tx, length = bytes.fromhex(given[2:-8]), int.from_bytes(bytes.fromhex(given[-8:]), "little")
        assert (decode_signed_extrinsic(TABLE, tx).account, length) == (
            dev_key().public_key,
            len(tx),
        )
        return "0x0284ce00" + fee_of(length).to_bytes(16, "little").hex()

    def _author_submitExtrinsic(self, tx: str) -> str:
        self.submitted.append(tx)
        if why := self.ledger.include(tx):
            raise chain.NodeError(why, 1010)
        return "0x"


class Jobs(signer.Daemon):
    """A daemon with drafts, which sends to the chain what it is given."""

    def __init__(self, ledger: Ledger, *drafts: dict[str, Any]) -> None:
        self.ledger, self.drafts = ledger, list(drafts)
        #: Path -> the error that it answers.
        self.fails: dict[str, Exception] = {}
        self.sent: list[str] = []
        self.list: Callable[..., Any] = self._list
        self.broadcast: Callable[..., Any] = self._broadcast

    def ask(self, path: str, **fields: Any) -> Any:
        if path in self.fails:
            raise self.fails[path]
        if path == "/scenario/tx":
            return self.list(**fields)
        assert path == "/api/chain/Broadcast"
        self.sent.append(fields["tx"])
        return self.broadcast(**fields)

    def _list(self, *, id: str, after: int = 0, limit: int = 0, tail: int = 0) -> Any:
        rows = [row for row in self.drafts if row["seq"] > after and row.get("job", "abc") == id]
        return {"mempool": rows[-tail:][: limit or None]}

    def _broadcast(self, *, tx: str, **_: Any) -> Any:
        if why := self.ledger.include(tx):
            raise chain.Refused(why)
        return {"status": "broadcasted", "block": hash_of(len(self.ledger.blocks) - 1)}


class Desk:
    """A signer with a journal in a folder, at a chain, a node and a daemon."""

    def __init__(self, folder: Path, daemon: type[Jobs] = Jobs, **changes: Any) -> None:
        self.folder, self.ledger = folder, Ledger()
        self.node, self.daemon = OwnNode(self.ledger), daemon(self.ledger)
        self.policy = policy.load_policy(written(folder, **changes))
        signer.create_journal(self.policy.journal, dev_key())
        self.open()
        self.signer.look()

    def open(self) -> None:
        """Start the signer, as after a crash."""
        journal = signer.Journal(self.policy.journal)
        try:
            self.signer = signer.Signer(self.policy, journal, self.daemon, dev_key())
        except SystemExit:
            journal.close()
            raise
        self.signer.nodes = {"polkadot": self.node}

    def restart(self) -> None:
        self.signer.journal.close()
        self.open()

    def look(self, times: int = 5) -> None:
        """Let the signer look some times, as `run` does."""
        for _ in range(times):
            try:
                self.signer.look()
            except (chain.Unreachable, chain.Refused) as error:
                self.signer.say(str(error))

    def lines(self, number: Any = 1) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.policy.journal.read_text().splitlines()]
        return [line for line in lines if line.get("seq") == number]

    def events(self, number: Any = 1) -> list[str]:
        return [line.get("status", line["event"]) for line in self.lines(number)]


def refusal(do: Callable[[], Any]) -> str:
    try:
        do()
    except chain.Refused as refused:
        return str(refused)
    raise AssertionError("it isn't refused")
