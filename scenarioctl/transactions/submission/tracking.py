"""Find out what became of a sent transaction: which block has it, and what it did there.

The chain is always asked; what it said is remembered with the transaction, so that nothing is
searched twice.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import from_hex
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.transactions.blocks import (
    Heads,
    read_block,
    read_block_hashes,
    read_heads,
)
from scenarioctl.transactions.extrinsic import extrinsic_hash
from scenarioctl.transactions.submission.arrivals import expect_arrivals
from scenarioctl.transactions.submission.inclusion import Inclusion, read_inclusion

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client

log = logging.getLogger("scenarioctl.chains")

#: Blocks that are searched at a time.
AT_ONCE = 128
#: Of the newest blocks, those that are searched for a transaction that the store doesn't know.
NEWEST = 64
#: Blocks before the best one that a fork may replace: one of them may have a transaction that was
#: sent after it.
FORK = 16
#: Seconds between two questions whether a block is final by now.
_PAUSE = 0.5
#: Blocks that are fetched in one exchange.
_FETCHED = 8
#: Characters of events that are remembered; more are read from the chain again.
_EVENTS_MAX = 64 * 1024


async def track(
    client: "Client", transaction: SentTransaction, *, assets: "Assets"
) -> tuple[SentTransaction, tuple[str, ...]]:
    """Return *transaction* as the chain shows it now, and warnings."""
    heads = await read_heads(client)
    if transaction.block_number is not None:
        number = transaction.block_number
        there = await client.call("chain_getBlockHash", number) if number <= heads.best else None
        if there == transaction.block:
            return await _describe(client, transaction, heads, assets)
        if not isinstance(there, str):
            # It has not come that far, so it can't show that a fork has replaced the block.
            raise ChainUnreachable(
                f"{client.endpoint} is only at block {heads.best}, and the transaction is "
                f"in block {number}"
            )
        # A fork has replaced the block.
        transaction = replace(
            transaction, state=SentState.SENT, block="", block_number=None, effects=""
        )
    last = min(heads.best, transaction.searched + AT_ONCE)
    if transaction.valid_until is not None:
        last = min(last, transaction.valid_until)
    numbers, hash = range(transaction.searched + 1, last + 1), transaction.hash
    found = await find_block(client, lambda data: extrinsic_hash(data) == hash, numbers)
    if found is not None:
        number, block, _ = found
        return await _describe(
            client, replace(transaction, block=block, block_number=number), heads, assets
        )
    searched = max(transaction.searched, min(last, heads.finalized))
    transaction = replace(transaction, searched=searched)
    if transaction.valid_until is not None and searched >= transaction.valid_until:
        return replace(transaction, state=SentState.EXPIRED), ()
    if searched == heads.finalized and await _is_replaced(client, transaction, searched):
        effects = json.dumps({"replaced": True})
        return replace(transaction, state=SentState.EXPIRED, effects=effects), ()
    return transaction, ()


async def _is_replaced(client: "Client", transaction: SentTransaction, searched: int) -> bool:
    """Tell whether another transaction has the nonce of *transaction*: it is used in the block
    *searched*, and no block up to that one has this one."""
    if transaction.account is None or transaction.nonce is None:
        return False
    (block,) = await read_block_hashes(client, [searched])
    try:
        account = await client.storage("System", "Account", transaction.account, at=block)
    except (ChainRefused, InvalidRequest):
        # It shows the state of no such block, or has no accounts of this kind.
        return False
    return bool(account["nonce"] > transaction.nonce)


async def find_unknown(
    client: "Client", chain: str, hash: str, *, assets: "Assets"
) -> tuple[SentTransaction | None, tuple[str, ...]]:
    """Return the transaction with *hash* if one of the chain's newest blocks has it, and
    warnings."""
    heads = await read_heads(client)
    first = max(heads.best - NEWEST + 1, 0)
    newest = range(heads.best, first - 1, -1)
    found = await find_block(client, lambda data: extrinsic_hash(data) == hash, newest)
    if found is None:
        return None, ()
    number, block, _ = found
    transaction = SentTransaction(
        chain=chain, hash=hash, sent=0, at_block=0, searched=0, block=block, block_number=number
    )
    return await _describe(client, transaction, heads, assets)


async def find_block(
    client: "Client", is_wanted: Callable[[bytes], bool], numbers: Sequence[int]
) -> tuple[int, str, bytes] | None:
    """Return number and hash of the first block of *numbers* that has an extrinsic which
    *is_wanted*, and that extrinsic."""
    for start in range(0, len(numbers), _FETCHED):
        some = numbers[start : start + _FETCHED]
        blocks = await read_block_hashes(client, some)
        bodies = await client.call_many([("chain_getBlock", (block,)) for block in blocks])
        for number, block, body in zip(some, blocks, bodies, strict=True):
            for each in read_block(client, body, block)[1]:
                data = from_hex(each) if isinstance(each, str) else None
                if data is not None and is_wanted(data):
                    return number, block, data
    return None


async def _describe(
    client: "Client", transaction: SentTransaction, heads: Heads, assets: "Assets"
) -> tuple[SentTransaction, tuple[str, ...]]:
    """Return *transaction*, which is in its block, with what it did there."""
    number = transaction.block_number or 0
    state = SentState.FINALIZED if number <= heads.finalized else SentState.IN_BLOCK
    transaction = replace(transaction, state=state)
    if transaction.effects:
        return transaction, ()
    try:
        inclusion = await read_inclusion(
            client, transaction.block, transaction.hash, assets=assets, account=transaction.account
        )
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        return transaction, (f"The effects of the transaction could not be read: {error}",)
    return replace(
        transaction, effects=write_effects(inclusion, is_followed=bool(transaction.sent))
    ), ()


async def confirm_final(
    client: "Client", transaction: SentTransaction, *, assets: "Assets"
) -> tuple[SentTransaction, tuple[str, ...]]:
    """Return *transaction*, of which *client* says that it is final, as far as a second endpoint
    says so too; and warnings.

    EndpointsDisagree if that one has another block there, or other effects in it.
    """
    from scenarioctl.chains.confirmation import (
        BlockMissing,
        EndpointsDisagree,
        find_second,
        say_difference,
    )

    number, effects = transaction.block_number, json.loads(transaction.effects)
    second, why = await find_second(client, transaction.block)
    if isinstance(why, BlockMissing):
        said = f"According to {client.endpoint}: {transaction.block} is block {number}. {why}"
        raise EndpointsDisagree(say_difference([client.chain], said))
    if second is None:
        log.debug(
            "%s: only %s was asked (%s)",
            client.chain.name,
            client.endpoint,
            why or "no other endpoint",
        )
        return replace(transaction, effects=json.dumps({**effects, "asked": 1})), ()
    until = time.monotonic() + client.timeouts.catching_up
    asked = replace(transaction, state=SentState.IN_BLOCK, effects="")
    while True:
        there, _ = await track(second, asked, assets=assets)
        # One that keeps the state of its newest blocks only tells no effects.
        told = json.loads(there.effects or "{}")
        # Not compared is what its destinations say, how many endpoints were asked, and what an
        # older version didn't remember.
        compared = (told.keys() & effects.keys()) - {"arrivals", "asked"}
        differs = any(told[name] != effects[name] for name in compared)
        if there.block != transaction.block or differs:
            said = (
                f"{client.endpoint} and {second.endpoint} have different blocks {number}, or "
                "different events of the transaction there."
            )
            raise EndpointsDisagree(say_difference([client.chain], said))
        if there.state is SentState.FINALIZED:
            return replace(
                transaction, effects=json.dumps({**effects, "asked": 2 if told else 1})
            ), ()
        if time.monotonic() > until:
            doubt = (
                f"{client.endpoint} says that block {number} of {client.chain.title} is final, "
                f"and {second.endpoint} that it isn't yet."
            )
            return replace(transaction, state=SentState.IN_BLOCK), (doubt,)
        await asyncio.sleep(_PAUSE)


def write_effects(inclusion: Inclusion, *, is_followed: bool = True, asked: int = 1) -> str:
    """Return what the store remembers of a transaction that is in a block, and that so many
    endpoints were *asked* about."""
    effects: dict[str, Any] = {
        "asked": asked,
        "extrinsic_index": inclusion.index,
        "success": not inclusion.error,
        "error": inclusion.error,
        "fee": None if inclusion.fee is None else str(inclusion.fee),
        "fee_paid_in": None if inclusion.fee_paid_in is None else inclusion.fee_paid_in.answer(),
        "left": None if inclusion.left is None else [each.answer() for each in inclusion.left],
        "received": None if inclusion.received is None else list(inclusion.received),
        "spent": list(inclusion.spent),
        "paid": list(inclusion.paid),
        "delivery": [each.answer() for each in inclusion.delivery],
        "time": inclusion.time,
        "events": list(inclusion.events),
        "outcomes": [each.write() for each in inclusion.outcomes],
        "notes": list(inclusion.inner),
        "arrivals": expect_arrivals(inclusion.messages, is_followed=is_followed),
    }
    if len(json.dumps(effects["events"])) > _EVENTS_MAX:
        effects["events"] = []
        effects["notes"].append("Its events are too long to be kept. An explorer shows them.")
    return json.dumps(effects)
