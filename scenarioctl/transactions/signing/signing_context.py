"""What is signed beside the call: the sender's nonce and the block that an era starts from, read
from a connected chain; in words; and what a wallet signed otherwise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import ChainUnreachable, InvalidRequest, shorten
from scenarioctl.model.amounts import from_hex
from scenarioctl.runtime.storage_keys import StorageKey, storage_key
from scenarioctl.transactions.explain import describe_extensions
from scenarioctl.transactions.extrinsic import (
    IMMORTAL,
    decode_era,
    decode_extensions,
    encode_era,
    era_start,
)
from scenarioctl.transactions.signing.payload import SigningOptions

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.signing.payload import PayloadToSign
    from scenarioctl.transactions.signing.signatures import SignedExtrinsic

#: Letters of what a batch of many calls does.
_LONGEST = 1000


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
        genesis_hash = read_hash(client, next(left))
    if not mortal:
        return SigningOptions(
            nonce=nonce, genesis_hash=genesis_hash, era=IMMORTAL, block_hash=genesis_hash
        )
    best = client.read_number(next(left))
    known: dict[int, str] = {}
    if block is None:
        finalized_hash = "0x" + read_hash(client, next(left)).hex()
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
    return read_hash(client, found)


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
            advice="Pass it with `nonce`.",
        ) from None


def read_hash(client: "Client", answer: Any) -> bytes:
    """Return the block hash that a node answered."""
    data = from_hex(answer)
    if data is None or len(data) != 32:
        raise ChainUnreachable(f"{client.chain.title} returned no block hash: {shorten(answer)}")
    return data


def say_terms(options: "SigningOptions", payments: tuple[str, ...]) -> str:
    """Return what *options* put under the signature; *payments* says what the signer pays beside
    the plain fee."""
    era = decode_era(options.era)
    valid = (
        "an immortal era"
        if era is None
        else f"an era of {era[0]} blocks from {options.block_number}"
    )
    committed = "the metadata hash" if options.mode else "no metadata hash"
    return (
        "Signed with the call: "
        f"{', '.join((f'nonce {options.nonce}', valid, committed, *payments))}."
    )


def warn_of_terms(
    options: "SigningOptions", chain: "Chain", assets: "Assets", next_nonce: int | None = None
) -> tuple[str, ...]:
    """Return what a signer should know of *options* before signing.

    *next_nonce* is that of the account on *chain*, if the nonce was chosen and the chain can be
    asked.
    """
    found = []
    if options.tip:
        found.append(
            f"the signer pays a tip of {assets.native(chain).amount(options.tip)} in "
            "addition to the fee"
        )
    if next_nonce is not None and options.nonce > next_nonce:
        found.append(
            f"nonce {options.nonce} is not the account's next nonce {next_nonce} on {chain.title}: "
            "the transaction waits until those in between are included"
        )
    elif next_nonce is not None and options.nonce < next_nonce:
        found.append(
            f"nonce {options.nonce} is used already on {chain.title}, where the account's "
            f"next nonce is {next_nonce}: "
            "the transaction will be refused"
        )
    if decode_era(options.era) is None:
        found.append(
            "the signature is immortal: anyone who has it can send it at any time, and "
            "again if the account is ever "
            "emptied and used again; for one that expires, pass era, or offline block and "
            "block_hash"
        )
    if chain.genesis and options.genesis_hash.hex() != chain.genesis.lower().removeprefix("0x"):
        found.append(
            f"genesis 0x{options.genesis_hash.hex()} is not that of {chain.title}: "
            "the signature is good only for the chain that has it"
        )
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A part of a signed transaction that is not the payload's."""

    #: `call`, `signer`, `nonce`, `era`, `tip`, `fee asset`, `metadata hash`, or the identifier of
    #: another signed extension.
    part: str
    signed: str
    expected: str

    @property
    def sentence(self) -> str:
        if self.part == "call":
            return f"it {self.signed}, and the payload {self.expected}"
        return f"its {self.part} is {self.signed}, and the payload's is {self.expected}"


def find_differences(
    table: "RuntimeTable",
    chain: "Chain",
    assets: "Assets",
    signed: "SignedExtrinsic",
    expected: "PayloadToSign",
    say_call: Callable[["Call"], str],
) -> list[Difference]:
    """Return what *signed* has otherwise than *expected*, all that stands in an extrinsic but its
    signature."""
    parts: dict[str, tuple[str, str]] = {}
    if signed.call_data != expected.call_data:
        parts["call"] = say_call(signed.call), say_call(table.decode_call(expected.call_data))
        if parts["call"][0] == parts["call"][1]:
            parts["call"] = f"calls 0x{signed.call_data.hex()}", f"0x{expected.call_data.hex()}"
    if signed.account != expected.account:
        who = (
            shorten(signed.signer, 80)
            if signed.account is None
            else format_account(signed.account, chain.ss58_prefix)
        )
        parts["signer"] = who, format_account(expected.account, chain.ss58_prefix)
    has, should = (
        describe_extensions(decode_extensions(table, data)[0], chain, assets)
        for data in (signed.extra, expected.extra)
    )
    for name in {**has, **should}:
        if has.get(name) != should.get(name):
            told = [_say_part(each.get(name), chain) for each in (has, should)]
            parts[name.replace("_", " ")] = told[0], told[1]
    if signed.extra != expected.extra and not parts:
        parts["signed extensions"] = f"0x{signed.extra.hex()}", f"0x{expected.extra.hex()}"
    return [
        Difference(part=part, signed=one[:_LONGEST], expected=other[:_LONGEST])
        for part, (one, other) in parts.items()
    ]


def _say_part(value: Any, chain: "Chain") -> str:
    """Return a part of `describe_extensions` in words; a fee asset that isn't named is the native
    one."""
    if isinstance(value, dict) and "period" in value:
        return f"{value['period']} blocks, phase {value['phase']}"
    if isinstance(value, dict):
        return str(value.get("human") or value.get("symbol") or value)
    if isinstance(value, bool):
        return "signed" if value else "not signed"
    return chain.symbol if value is None else str(value)
