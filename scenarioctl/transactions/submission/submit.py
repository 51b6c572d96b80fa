"""Submit a signed extrinsic once, and follow it into a block.

Nothing here sends twice.  If the answer is lost, the error says that it may have been sent, and how
to find out.  To explain another error of a node that refuses a transaction, add a row.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.rpc_errors import NodeError
from scenarioctl.errors import ChainRefused, ChainUnreachable, shorten
from scenarioctl.transactions.blocks import read_block, read_block_hashes

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.signing.signatures import SignedExtrinsic


#: The pool holds the very same bytes.
ALREADY_IMPORTED = 1013

#: Words of a runtime's `InvalidTransaction`, as nodes spell it out and as its variant's name in
#: JSON; what it means.
_INVALID = (
    (("outdated", '"stale"'), "its nonce is already used"),
    (("valid in the future", '"future"'), "its nonce is ahead of the account's next one"),
    (
        ("bad signature", '"badproof"'),
        (
            "its signature does not match this chain, its runtime or the transaction: make a "
            "new payload and sign that"
        ),
    ),
    (
        ("inability to pay", '"payment"'),
        "its sender cannot pay the fee, or must keep the existential deposit",
    ),
    (
        ("ancient birth block", '"ancientbirthblock"'),
        (
            "its era has ended, or starts further back than the chain remembers: make a new "
            "payload and sign that"
        ),
    ),
    (("exhaust the block", '"exhaustsresources"'), "it is too heavy for a block"),
    (("call is not expected", '"call"'), "the runtime does not accept such a call from outside"),
    (("invalid signing address", '"badsigner"'), "its signer is not an account that may sign"),
    (
        ("mandatory", '"badmandatory"', '"mandatoryvalidation"'),
        "only block authors may make such a call",
    ),
    (
        ("could not lookup", '"cannotlookup"'),
        "the runtime cannot look up what it needs to validate it",
    ),
    (("unsigned validator", '"nounsignedvalidator"'), "no pallet accepts such a call unsigned"),
    (
        ("custom error", '"custom"'),
        "a rule of its runtime forbids it, and only that number says which",
    ),
)

#: Number of the JSON-RPC error; what it means.
_NUMBERS = {
    -32601: "the node accepts no transactions: use another endpoint",
    1001: "it is not a valid extrinsic of the node's runtime",
    1002: "the runtime failed while it validated it",
    1010: "the runtime does not accept it",
    1011: "the runtime cannot tell whether it is valid",
    1012: (
        "it was recently found invalid, and the node does not look at it again for about half "
        "an hour"
    ),
    ALREADY_IMPORTED: "it is already in the pool",
    1014: (
        "the pool holds another transaction with this sender and nonce, and this one has no "
        "higher tip: raise the tip by more than 10 %, or wait"
    ),
    1015: "it depends on a transaction that depends on it",
    1016: "the pool is full and dropped it at once: send it again later, or with a tip",
    1018: "no node would include it in a block or pass it on",
    1019: "it has nothing that the pool could order it by",
    1020: "the node lost the block against which it validated it: send it again",
    1021: (
        "its nonce is ahead of the account's next one, and this node does not keep such "
        "transactions"
    ),
}


def explain_node_error(chain: "Chain", error: "NodeError") -> str:
    """Return why *chain* does not take a transaction, in one sentence with the node's own words at
    its end."""
    data = (
        error.data
        if isinstance(error.data, str)
        else ""
        if error.data is None
        else json.dumps(error.data)
    )
    said = ": ".join(part for part in (error.message, data) if part)[:400]
    return (
        f"{chain.title} refused the transaction, {meaning_of(said, error.number)} (the node "
        f"said {said!r}, {error.number})"
    )


def meaning_of(said: str, number: object = None) -> str:
    """Return what a node's words mean; for words that are not known, what the number of the error
    means."""
    words = said.lower()
    if number in (None, 1010, 1011):
        for spellings, meaning in _INVALID:
            if any(spelling in words for spelling in spellings):
                return meaning
    known = _NUMBERS.get(number) if isinstance(number, int) else None
    return known or "for a reason that only the node's message gives"


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
    #: Called once, as soon as a node has taken it.
    taken: Callable[[], Awaitable[None]]

    @property
    def hex(self) -> str:
        return "0x" + self.data.hex()

    async def send(self) -> tuple[str, ...]:
        """Send it, and return what is to be known besides."""
        self.tell(f"sending {self.hash} to {self.client.chain.title}")
        try:
            answer = await self.client.submit("author_submitExtrinsic", self.hex)
        except NodeError as error:
            if error.number == ALREADY_IMPORTED:
                await self.taken()
                return (
                    f"{self.client.chain.title} already has it in its pool; it was not sent again",
                )
            raise self._refused(explain_node_error(self.client.chain, error)) from None
        except ChainUnreachable as error:
            self._lost(error)
        await self.taken()
        if answer != self.hash:
            return (
                (
                    f"{self.client.endpoint} returned the hash {shorten(answer, 80)}, but the "
                    f"hash of the transaction is {self.hash}"
                ),
            )
        return ()

    async def send_and_follow(self, until: str, seconds: float) -> tuple[str, tuple[str, ...]]:
        """Send it, and return the hash of the block that holds it, and what is to be known
        besides."""
        chain = self.client.chain
        deadline = time.monotonic() + seconds
        self.tell(f"sending {self.hash} to {chain.title}")
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
                    if not state:
                        await self.taken()
                    state, value = _read_state(update)
                    self.tell(_say_state(state, value))
                    block = (
                        str(value)
                        if state in _IN_A_BLOCK
                        else ""
                        if state == "retracted"
                        else block
                    )
                    if state in _ENDS or (block and until == IN_BLOCK):
                        break
        except NodeError as error:
            if error.number != ALREADY_IMPORTED:
                raise self._refused(explain_node_error(chain, error)) from None
            await self.taken()
            note = f"{chain.title} already has it in its pool; it was not sent again"
            return await self._find(until, deadline, seconds), (note,)
        except ChainUnreachable as error:
            if not state:
                self._lost(error)
            self.tell(f"lost the connection to {self.client.endpoint}, searching the blocks")
            return await self._find(until, deadline, seconds), ()
        if state in _ENDS - {"finalized"}:
            self._unfortunate(state, value)
        if block and (until == IN_BLOCK or state == "finalized"):
            return block, ()
        if block:
            raise self._unseen(
                f"is in block {block} of {chain.title}, which was not finalized",
                seconds,
                block=block,
            )
        raise self._unseen(f"was sent but was in no block of {chain.title}", seconds)

    async def _find(self, until: str, deadline: float, seconds: float) -> str:
        """Return the hash of the block that holds it, looking through those after the one it was
        sent at."""
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
                    last = self.client.read_number(head)
                    for number in range(following, last + 1):
                        (block_hash,) = await read_block_hashes(self.client, [number])
                        block = await self.client.call("chain_getBlock", block_hash)
                        if self.hex in read_block(self.client, block, block_hash)[1]:
                            self.tell(_say_state("finalized" if final else "inBlock", block_hash))
                            return block_hash
                    following = max(following, last + 1)
        except (ChainUnreachable, ChainRefused) as error:
            raise ChainUnreachable(
                f"the transaction {self.hash} was sent to {self.client.chain.title}, then "
                "the connection was lost "
                f"({error}): {self._look()}",
                details={"hash": self.hash},
            ) from None
        found_in_none = "was in no finalized block" if final else "was sent but was in no block"
        raise self._unseen(f"{found_in_none} of {self.client.chain.title}", seconds)

    def _unfortunate(self, state: str, value: Any) -> NoReturn:
        """End with what a last state other than a block means."""
        chain = self.client.chain.title
        if state == "usurped":
            raise self._refused(
                f"{chain} took {value} instead of the transaction {self.hash}: that one "
                "has the same sender and nonce, and a higher tip"
            )
        if state == "dropped":
            raise self._refused(
                f"{chain} dropped the transaction {self.hash} from its full pool: send it "
                "again later, or with a tip"
            )
        if state == "invalid":
            words = json.dumps(value)
            said = "" if value is None else f", {meaning_of(words)} (the node said {words})"
            raise self._refused(
                f"{chain} found the transaction {self.hash} invalid while it waited{said}"
            )
        raise ChainUnreachable(
            (
                f"the transaction {self.hash} is in block {value} of {chain}, but the node "
                "gave up waiting for its finality"
            ),
            details={"hash": self.hash, "block": value},
        )

    def _refused(self, sentence: str) -> ChainRefused:
        return ChainRefused(sentence, details={"hash": self.hash})

    def _unseen(self, what: str, seconds: float, **details: str) -> ChainUnreachable:
        return ChainUnreachable(
            f"the transaction {self.hash} {what} after {seconds:g} seconds: {self._look()}",
            details={"hash": self.hash, **details},
        )

    def _lost(self, error: ChainUnreachable) -> NoReturn:
        raise ChainUnreachable(
            (
                f"{self.client.chain.title} did not answer, so the transaction {self.hash} may "
                f"or may not have been sent ({error}): {self._look()}"
            ),
            details={"hash": self.hash},
        ) from None

    def _look(self) -> str:
        signed = self.signed
        nonce = ""
        if signed.account is not None and signed.nonce is not None:
            who = format_account(signed.account, self.client.chain.ss58_prefix)
            nonce = f", or check whether the nonce of {who} is above {signed.nonce}"
        return (
            f"look for its hash with tx status or in an explorer{nonce}, before you sign "
            "another one; you can broadcast the "
            "same bytes once more (again), a chain executes them once"
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
        "finalized": f"finalized in block {value}",
    }
    return said.get(state, state)
