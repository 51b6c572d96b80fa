"""What ties a signature to a chain and a time: the sender's nonce and the block that an era starts
from, read from a connected chain."""

from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainUnreachable, InvalidRequest, shorten
from scenarioctl.model.amounts import from_hex
from scenarioctl.runtime.storage_keys import StorageKey, storage_key
from scenarioctl.transactions.extrinsic import IMMORTAL, encode_era, era_start
from scenarioctl.transactions.signing.payload import SigningOptions

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client


async def read_signing_context(
    client: "Client",
    *,
    account: bytes,
    nonce: int | None = None,
    genesis_hash: bytes | None = None,
    era: bytes | int,
    block: int | None = None,
    block_hash: bytes | None = None,
) -> SigningOptions:
    """Return what a signature by *account* covers, asking the chain for what is None; what is given
    is checked against it.

    *era* is an era's bytes, or a period in blocks.  It starts from *block*, or else from the
    finalized head, which no fork takes back; where finality is far behind, from the best one.
    """
    mortal = era != IMMORTAL
    wanted: list[tuple[str, tuple[Any, ...]]] = [
        *(
            []
            if nonce is not None
            else [("state_getStorage", ((await _account_key(client, account)).hex,))]
        ),
        *([] if genesis_hash is not None else [("chain_getBlockHash", (0,))]),
        *([("chain_getHeader", ())] if mortal else []),
        *([("chain_getFinalizedHead", ())] if mortal and block is None else []),
    ]
    left = iter(await client.call_many(wanted) if wanted else ())
    if nonce is None:
        nonce = await _decode_nonce(client, await _account_key(client, account), next(left))
    if genesis_hash is None:
        genesis_hash = _read_hash(client, next(left))
    if not mortal:
        return SigningOptions(
            nonce=nonce, genesis_hash=genesis_hash, era=IMMORTAL, block_hash=genesis_hash
        )
    best = client.read_number(next(left))
    known: dict[int, str] = {}
    if block is None:
        finalized_hash = "0x" + _read_hash(client, next(left)).hex()
        finalized = await client.number_of(finalized_hash)
        known[finalized] = finalized_hash
        block = finalized if best - finalized <= _period_of(era) // 2 else best
    encoded = encode_era(era, block) if isinstance(era, int) else era
    start = era_start(encoded, block)
    if block <= best:
        await _check_alive(client, start, _period_of(era), best)
    start_hash = await _read_start_hash(client, block, start, known.get(start))
    if block_hash not in (None, start_hash):
        raise InvalidRequest(
            field="block_hash",
            problem=(
                f"0x{block_hash.hex()} is not that of block {start} of {client.chain.title}, "
                "from which the era starts"
            ),
            expected=f"0x{start_hash.hex()}: leave it out",
        )
    return SigningOptions(
        nonce=nonce,
        genesis_hash=genesis_hash,
        era=encoded,
        block_number=start,
        block_hash=start_hash,
    )


async def _read_start_hash(client: "Client", block: int, start: int, known: str | None) -> bytes:
    """Return the hash of the block *start*, which an era that holds *block* starts from."""
    found = known or await client.call("chain_getBlockHash", start)
    if found is None:
        raise InvalidRequest(
            field="block",
            value=block,
            problem=f"is not on {client.chain.title} yet",
            expected="the number of an existing block",
        )
    return _read_hash(client, found)


async def _check_alive(client: "Client", start: int, period: int, best: int) -> None:
    """Refuse an era whose last block the chain has already, or whose first one it has forgotten."""
    kept = (await client.table()).constant("System", "BlockHashCount")
    end = start + min(period, int(kept))
    if end <= best:
        raise InvalidRequest(
            field="block",
            problem=(
                f"{start} is too old: a signature with an era of {period} blocks from there "
                f"was valid until block {end}, and {client.chain.title} is at {best}"
            ),
        )


def _period_of(era: bytes | int) -> int:
    return era if isinstance(era, int) else 2 << (era[0] & 0xF)


async def _account_key(client: "Client", account: bytes) -> StorageKey:
    return storage_key(await client.table(), "System", "Account", (account,))


async def read_next_nonce(client: "Client", account: bytes) -> int:
    """Return the nonce of the next transaction of *account*, at the head of the chain."""
    key = await _account_key(client, account)
    return await _decode_nonce(client, key, await client.call("state_getStorage", key.hex))


async def _decode_nonce(client: "Client", key: StorageKey, answer: Any) -> int:
    # From the state at the head: `system_accountNextIndex` of some nodes lags behind it.
    stored = client.read_value(await client.table(), key, answer)
    try:
        return int(stored["nonce"])
    except (TypeError, KeyError, ValueError):
        raise InvalidRequest(
            field="nonce",
            problem=f"is missing, and the accounts of {client.chain.title} have an unknown format",
            advice=": pass it with --nonce",
        ) from None


def _read_hash(client: "Client", answer: Any) -> bytes:
    data = from_hex(answer)
    if data is None or len(data) != 32:
        raise ChainUnreachable(f"{client.chain.title} returned no block hash: {shorten(answer)}")
    return data
