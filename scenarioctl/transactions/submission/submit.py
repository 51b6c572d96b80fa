"""Sending a signed extrinsic: once, whatever becomes of the answer; then following it into a block.

Nothing here sends twice.  Where an answer is lost, the sentence says that it may have been sent, and how to find out.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.connection import NodeError
from scenarioctl.chains.locations import write_location
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest, shorten
from scenarioctl.model.checks import Amount
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.dispatch_errors import explain_dispatch_error
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.simulation.trapped_assets import describe_assets, describe_claim
from scenarioctl.transactions.submission.node_errors import ALREADY_IMPORTED, explain_node_error, meaning_of
from scenarioctl.transactions.values import ValueWriter
from scenarioctl.transactions.xcm_programs import XCM_PALLETS

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.signatures import SignedExtrinsic

#: What may be waited for.
IN_BLOCK, FINALIZED = "in-block", "finalized"
#: States that name a block, and those after which it tells no more.
_IN_A_BLOCK = {"inBlock", "finalized"}
_ENDS = {"finalized", "finalityTimeout", "usurped", "dropped", "invalid"}


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A signed extrinsic on its way."""

    client: "Client"
    data: bytes
    #: blake2b-256 of its bytes, 0x hex: what chains and explorers know it by.
    hash: str
    signed: "SignedExtrinsic"
    #: Number of the best block before it was sent.
    number: int
    tell: Callable[[str], None]

    @property
    def hex(self) -> str:
        return "0x" + self.data.hex()

    async def send(self) -> tuple[str, ...]:
        """Send it, and return what is to be known besides."""
        self.tell(f"sending {self.hash} to {self.client.chain.name}")
        try:
            answer = await self.client.submit("author_submitExtrinsic", self.hex)
        except NodeError as error:
            if error.number == ALREADY_IMPORTED:
                return (f"{self.client.chain.name} has it in its pool already, it was not sent again",)
            raise self._refused(explain_node_error(self.client.chain, error)) from None
        except ChainUnreachable as error:
            self._lost(error)
        if answer != self.hash:
            return (
                f"{self.client.endpoint} calls it {shorten(answer, 80)}, but the hash of its bytes is {self.hash}",
            )
        return ()

    async def send_and_follow(self, until: str, seconds: float) -> tuple[str, tuple[str, ...]]:
        """Send it, and return the hash of the block that holds it, and what is to be known besides."""
        chain = self.client.chain
        deadline = time.monotonic() + seconds
        self.tell(f"sending {self.hash} to {chain.name}")
        state, value, block = "", None, ""
        try:
            updates = self.client.subscribe(
                "author_submitAndWatchExtrinsic",
                self.hex,
                deadline=deadline,
                ended_by="author_unwatchExtrinsic",
            )
            async with aclosing(updates):
                async for update in updates:
                    state, value = _read_state(update)
                    self.tell(_say_state(state, value))
                    block = str(value) if state in _IN_A_BLOCK else "" if state == "retracted" else block
                    if state in _ENDS or (block and until == IN_BLOCK):
                        break
        except NodeError as error:
            if error.number != ALREADY_IMPORTED:
                raise self._refused(explain_node_error(chain, error)) from None
            note = f"{chain.name} has it in its pool already, it was not sent again"
            return await self._find(until, deadline, seconds), (note,)
        except ChainUnreachable as error:
            if not state:
                self._lost(error)
            self.tell(f"{self.client.endpoint} was lost, looking for it in the blocks")
            return await self._find(until, deadline, seconds), ()
        if state in _ENDS - {"finalized"}:
            self._unfortunate(state, value)
        if block and (until == IN_BLOCK or state == "finalized"):
            return block, ()
        if block:
            raise self._unseen(f"is in block {block}, which was not final", seconds, block=block)
        raise self._unseen("was sent and was in no block", seconds)

    async def _find(self, until: str, deadline: float, seconds: float) -> str:
        """Return the hash of the block that holds it, looking through those after the one it was sent at."""
        final = until == FINALIZED
        name = "FinalizedHeads" if final else "NewHeads"
        following = self.number + 1
        try:
            # A call that reads finds another endpoint where this one is lost.
            await self.client.call("chain_getHeader")
            heads = self.client.subscribe(
                f"chain_subscribe{name}", deadline=deadline, ended_by=f"chain_unsubscribe{name}"
            )
            async with aclosing(heads):
                async for head in heads:
                    last = _read_number(self.client, head)
                    for number in range(following, last + 1):
                        block_hash = await self.client.call("chain_getBlockHash", number)
                        block = await self.client.call("chain_getBlock", block_hash)
                        if self.hex in _read_block(self.client, block)[1]:
                            self.tell(_say_state("finalized" if final else "inBlock", block_hash))
                            return str(block_hash)
                    following = max(following, last + 1)
        except (ChainUnreachable, ChainRefused) as error:
            raise ChainUnreachable(
                f"the transaction {self.hash} was sent to {self.client.chain.name}, and then the connection was lost "
                f"({error}): {self._look()}",
                details={"hash": self.hash},
            ) from None
        raise self._unseen("was sent and was in no block" if not final else "was in no final block", seconds)

    def _unfortunate(self, state: str, value: Any) -> NoReturn:
        """End with what a last state other than a block means."""
        chain = self.client.chain.name
        if state == "usurped":
            raise self._refused(
                f"{chain} took {value} instead of the transaction {self.hash}: it has the same sender and nonce, and a higher tip"
            )
        if state == "dropped":
            raise self._refused(
                f"{chain} dropped the transaction {self.hash} from its full pool: send it again later, or with a tip"
            )
        if state == "invalid":
            words = json.dumps(value)
            said = "" if value is None else f", {meaning_of(words)} (the node said {words})"
            raise self._refused(f"{chain} found the transaction {self.hash} invalid while it waited{said}")
        raise ChainUnreachable(
            f"the transaction {self.hash} is in block {value} of {chain}, which the node waited too long to see final",
            details={"hash": self.hash, "block": value},
        )

    def _refused(self, sentence: str) -> ChainRefused:
        return ChainRefused(sentence, details={"hash": self.hash})

    def _unseen(self, what: str, seconds: float, **details: str) -> ChainUnreachable:
        return ChainUnreachable(
            f"the transaction {self.hash} {what} of {self.client.chain.name} after {seconds:g} seconds: {self._look()}",
            details={"hash": self.hash, **details},
        )

    def _lost(self, error: ChainUnreachable) -> NoReturn:
        raise ChainUnreachable(
            f"{self.client.chain.name} did not answer, the transaction {self.hash} may have been sent or not ({error}): {self._look()}",
            details={"hash": self.hash},
        ) from None

    def _look(self) -> str:
        signed = self.signed
        nonce = ""
        if signed.account is not None and signed.nonce is not None:
            who = format_account(signed.account, self.client.chain.ss58_prefix)
            nonce = f", or see whether the nonce of {who} has passed {signed.nonce}"
        return (
            f"look for its hash in an explorer{nonce}, before you sign another; the same bytes can be broadcast again, "
            "they are executed once"
        )


def _read_state(update: Any) -> tuple[str, Any]:
    """Return what a node tells of a transaction: a word, or a word and a value."""
    if isinstance(update, Mapping) and len(update) == 1:
        state, value = next(iter(update.items()))
        return str(state), value
    return str(update), None


def _say_state(state: str, value: Any) -> str:
    if state == "broadcast" and isinstance(value, list):
        return f"passed on to {len(value)} other node{'s' * (len(value) != 1)}"
    said = {
        "future": "waiting for earlier transactions of its sender",
        "ready": "waiting in the pool",
        "inBlock": f"in block {value}",
        "retracted": f"block {value} was abandoned, waiting for another",
        "finalized": f"final in block {value}",
    }
    return said.get(state, state)


# What became of it


@dataclass(frozen=True, kw_only=True)
class Inclusion:
    """What a transaction did in its block."""

    block: str
    number: int
    #: Place among the block's extrinsics.
    index: int
    #: As plain data, `{"Pallet": {"Event": fields}}`.
    events: tuple[Any, ...]
    #: Raw amount of the native asset; None where the runtime does not tell.
    fee: int | None = None
    #: Why it failed; empty unless it did.
    error: str = ""
    #: What its signer paid for it, where that was another asset than the native one.
    fee_paid_in: Amount | None = None
    #: What went wrong inside a call that succeeded: of a batch, a proxy, a multisig; and what it left trapped.
    inner: tuple[str, ...] = ()


async def read_inclusion(
    client: "Client",
    block_hash: str,
    data: bytes,
    *,
    registry: "Registry",
    assets: "Assets",
    account: bytes | None = None,
) -> Inclusion:
    """Return what the extrinsic *data* of *account* did in the block that holds it."""
    table = await client.table_at(block_hash)
    key = storage_key(table, "System", "Events", ())
    answer, raw = await client.call_many(
        [("chain_getBlock", (block_hash,)), ("state_getStorage", (key.hex, block_hash))]
    )
    number, extrinsics = _read_block(client, answer)
    if "0x" + data.hex() not in extrinsics:
        raise ChainUnreachable(f"{client.endpoint} gave a block {block_hash} without it")
    index = extrinsics.index("0x" + data.hex())
    try:
        records = table.decode(key.entry.value_type, bytes.fromhex(raw[2:]))
    except (TypeError, ValueError, InvalidRequest):
        raise ChainUnreachable(
            f"{client.endpoint} gave no events that can be read: {shorten(raw, 80)}"
        ) from None
    ours = [record["event"] for record in records if record["phase"] == {"ApplyExtrinsic": index}]
    event_type = next(
        field[1] for field in table.types[table.types[key.entry.value_type][3]][3] if field[0] == "event"
    )
    writer = ValueWriter(table, client.chain)
    error, fee, paid, inner = "", None, None, []
    for pallet, name, fields in map(_read_event, ours):
        if (pallet, name) == ("System", "ExtrinsicFailed"):
            error = explain_dispatch_error(table, fields["dispatch_error"])
        elif (pallet, name) == ("TransactionPayment", "TransactionFeePaid"):
            fee = fields["actual_fee"]
        elif (pallet, name) in _OTHER_FEES:
            label, amount = _OTHER_FEES[pallet, name]
            paid = _read_other_fee(client.chain, assets, fields[label], fields[amount]) or paid
        elif pallet in XCM_PALLETS and name == "AssetsTrapped":
            what = describe_assets(assets, client.chain, fields["assets"])
            claim = describe_claim(registry, client.chain, pallet, fields["origin"], account)
            inner.append(f"{what} trapped on {client.chain.name}: nobody got it. {claim}")
        else:
            inner += [f"{pallet}.{name}: {why}" for why in _inner_errors(table, name, fields)]
    return Inclusion(
        block=block_hash,
        number=number,
        index=index,
        events=tuple(writer.value(event_type, event) for event in ours),
        fee=fee,
        error=error,
        fee_paid_in=paid,
        inner=tuple(inner),
    )


#: Events that tell of a fee in another asset: their fields that name the asset and the amount.
_OTHER_FEES = {
    ("AssetTxPayment", "AssetTxFeePaid"): ("asset_id", "actual_fee"),
    ("AssetConversionTxPayment", "AssetTxFeePaid"): ("asset_id", "actual_fee"),
    ("MultiTransactionPayment", "FeeWithdrawn"): ("asset_id", "non_native_fee_amount"),
}


def _read_other_fee(chain: "Chain", assets: "Assets", identity: Any, value: int) -> Amount | None:
    """Return a fee that was paid in the asset *identity*; None for the native one, whose fee another event tells."""
    if isinstance(identity, int):
        asset, called = assets.listed(chain, identity), f"asset {identity}"
    else:
        place = write_location(identity)
        asset = assets.at(chain, place) if place else None
        called = f"the asset at {place}" if place else "an asset that is not known here"
    if asset is None:
        return Amount(value=value, asset=called)
    return None if asset.kind == "native" else amount_of(asset, value)


def _read_number(client: "Client", header: Any) -> int:
    try:
        return int(header["number"], 16)
    except (KeyError, TypeError, ValueError):
        raise ChainUnreachable(
            f"{client.endpoint} gave no head that can be read: {shorten(header, 200)}"
        ) from None


def _read_block(client: "Client", answer: Any) -> tuple[int, list[Any]]:
    """Return number and extrinsics of a block."""
    block = answer.get("block") if isinstance(answer, Mapping) else None
    extrinsics = block.get("extrinsics") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(extrinsics, list):
        raise ChainUnreachable(f"{client.endpoint} gave no block that can be read: {shorten(answer, 200)}")
    return _read_number(client, block.get("header")), extrinsics


def _read_event(event: Any) -> tuple[str, str, Any]:
    """Return pallet, name and fields of an event."""
    pallet, inner = next(iter(event.items()))
    if isinstance(inner, Mapping) and len(inner) == 1:
        name, fields = next(iter(inner.items()))
        return pallet, name, fields if isinstance(fields, Mapping) else {"": fields}
    return pallet, str(inner), {}


def _inner_errors(table: "RuntimeTable", name: str, fields: Mapping[str, Any]) -> list[str]:
    """Return what failed inside a call that succeeded as a whole."""
    found = []
    if name in ("BatchInterrupted", "ItemFailed"):
        found.append(explain_dispatch_error(table, fields["error"]))
    for value in fields.values():
        if isinstance(value, Mapping) and set(value) == {"Err"}:
            found.append(explain_dispatch_error(table, value["Err"]))
        if name == "Attempted" and isinstance(value, Mapping) and "Complete" not in value:
            found.append(f"the message was not executed in full ({shorten(value, 200)})")
    return found
