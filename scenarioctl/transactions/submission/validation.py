"""Validate a transaction before it is sent: its form, its chain, its nonce and its signature."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import ChainRefused, Conflict, InvalidRequest
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.extrinsic import (
    BARE_V4,
    BARE_V5,
    GENERAL_V5,
    SIGNED_V4,
    decode_era,
    era_start,
    length_size,
    looks_like_extrinsic,
)
from scenarioctl.transactions.signing.payload import bytes_to_sign
from scenarioctl.transactions.signing.signatures import (
    SignedExtrinsic,
    decode_signed_extrinsic,
    explain_signature,
    rebuild_payload,
    verify_signature,
)
from scenarioctl.transactions.signing.signing_context import read_hash

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Chains that a transaction may have been signed for instead, each with a runtime known here.
Others = Callable[[], Iterable[tuple["Chain", "RuntimeTable"]]]

#: Does what may take long: a function and its arguments.
Aside = Callable[..., Awaitable[Any]]

#: Two hashes stand at the end of every signing payload.
_PAYLOAD_TAIL = 64
#: So many eras back an expired signature is looked for.
_EXPIRED_ERAS = 3
_SIGN_IT = "tx payload makes the bytes to sign, and tx assemble joins the signature"
_ANEW = "make a new payload and sign that"


def check_is_signed(chain: "Chain", table: "RuntimeTable | None", data: bytes) -> None:
    """Refuse what is not framed as a signed extrinsic, saying what it is; *table* names its call
    where it can."""
    what = _what_it_is(table, data)
    if what:
        raise InvalidRequest(
            field="tx", value=data, problem=f"is not a signed extrinsic of {chain.title}: {what}"
        )


def _what_it_is(table: "RuntimeTable | None", data: bytes) -> str:
    start = length_size(data)
    head = data[start] if 0 < start < len(data) else None
    if looks_like_extrinsic(data):
        if head == SIGNED_V4:
            return ""
        if head == GENERAL_V5:
            return f"it is a general extrinsic of version 5, which has no signature; {_SIGN_IT}"
        call, _ = _call_at(table, data, start + 1)
        return f"it is unsigned{f' ({call})' if call else ''}; {_SIGN_IT}"
    call, end = _call_at(table, data, 0)
    if call and end == len(data):
        return f"it is call data ({call}) without a signature; {_SIGN_IT}"
    if head == SIGNED_V4 or head in (BARE_V4, BARE_V5):
        length, follow = int.from_bytes(data[:start], "little") >> 2, len(data) - start
        signed = "" if head == SIGNED_V4 else "it is unsigned, and "
        if length > follow:
            return f"{signed}it is truncated: its length says {length} bytes, and {follow} follow"
        return f"{signed}{follow - length} bytes too many follow after its {length}"
    if data[0] == SIGNED_V4:
        return "its length is missing, which every extrinsic begins with"
    if call and len(data) - end >= _PAYLOAD_TAIL:
        return (
            f"it looks like a signing payload of {call}, which is signed but not sent; tx "
            "assemble joins it with the signature"
        )
    return "it does not begin with a length and a version, as every extrinsic does"


def _call_at(table: "RuntimeTable | None", data: bytes, start: int) -> tuple[str, int]:
    """Return the name of the call that begins at *start*, "" for none, and where it ends."""
    if table is None:
        return "", start
    try:
        call, end = table.decode_call_at(data, start)
    except InvalidRequest:
        return "", start
    return f"{call.pallet}.{call.method}", end


def decode_for_chain(
    chain: "Chain", table: "RuntimeTable", data: bytes, others: Others = tuple
) -> SignedExtrinsic:
    """Return the signed extrinsic of *chain* that *data* is, by its runtime *table*."""
    try:
        return decode_signed_extrinsic(table, data)
    except InvalidRequest as error:
        for other, its_table in others():
            if _is_of(other, its_table, data):
                raise InvalidRequest(
                    field="tx", problem=f"is signed for {other.title}, not for {chain.title}"
                ) from None
        raise InvalidRequest(
            field="tx",
            value=data,
            problem=f"is not a valid signed extrinsic of {chain.title} ({table}): {error}",
        ) from None


# What the chain says of the signer


@dataclass(frozen=True, kw_only=True)
class SignerState:
    """Chain and signer, as they were when the chain was asked."""

    #: Number of the best block.
    number: int
    #: Transactions that the signer has sent; None where the runtime does not tell.
    nonce: int | None


async def read_signer_state(
    client: "Client", table: "RuntimeTable", signed: SignedExtrinsic
) -> SignerState:
    """Return where the chain and the signer stand, in one round trip."""
    requests: list[tuple[str, tuple[Any, ...]]] = [("chain_getHeader", ())]
    key = None
    if signed.account is not None and signed.nonce is not None:
        try:
            key = storage_key(table, "System", "Account", (signed.account,))
            requests.append(("state_getStorage", (key.hex,)))
        except InvalidRequest:
            # A runtime without accounts of this kind: the chain judges the nonce alone.
            key = None
    header, *stored = await client.call_many(requests)
    account = None if key is None else client.read_value(table, key, stored[0])
    nonce = account.get("nonce") if isinstance(account, dict) else None
    return SignerState(number=client.read_number(header), nonce=nonce)


def check_nonce(chain: "Chain", signed: SignedExtrinsic, standing: SignerState) -> str:
    """Return what is to be known of a nonce that is ahead, "" for the next one; Conflict for a used
    one."""
    if signed.nonce is None or standing.nonce is None or signed.account is None:
        return ""
    who = format_account(signed.account, chain.ss58_prefix)
    if signed.nonce < standing.nonce:
        raise Conflict(
            field="nonce",
            problem=(
                f"{signed.nonce} of {who} is already used, the next one is {standing.nonce}: "
                "this transaction, or another one with this nonce, is in a block of "
                f"{chain.title}; nothing was sent"
            ),
        )
    if signed.nonce > standing.nonce:
        missing = (
            f"nonce {standing.nonce} is used"
            if signed.nonce == standing.nonce + 1
            else f"nonces {standing.nonce} to {signed.nonce - 1} are used"
        )
        return (
            f"nonce {signed.nonce} is ahead of the next one of {who}: the transaction waits in "
            f"the pool until {missing}"
        )
    return ""


# Signatures


@dataclass(kw_only=True)
class _SignatureCheck:
    """One extrinsic's signature, tried under what it may have been signed for."""

    client: "Client"
    table: "RuntimeTable"
    signed: SignedExtrinsic
    number: int
    genesis: bytes = b""
    #: Of the blocks that its era may start from, newest first.
    births: list[tuple[int, bytes]] = field(default_factory=list)

    async def prepare(self, births: int) -> None:
        """Fetch genesis hash and the hashes of *births* blocks that the era may start from."""
        if not self.genesis:
            known = self.client.chain.genesis or await self.client.call("chain_getBlockHash", 0)
            self.genesis = bytes(32) if known is None else read_hash(self.client, known)
        era = decode_era(self.signed.era)
        if era is None:
            self.births = [(0, self.genesis)]
            return
        # It is judged for the next block; a block that is not there yet cannot have been signed.
        first = era_start(self.signed.era, self.number + 1)
        numbers = [first - back * era[0] for back in range(births)]
        wanted = [number for number in numbers if 0 <= number <= self.number]
        if not wanted:
            return
        hashes = await self.client.call_many(
            [("chain_getBlockHash", (number,)) for number in wanted]
        )
        # The node may not know the block.
        self.births = [
            (number, read_hash(self.client, each))
            for number, each in zip(wanted, hashes, strict=True)
            if each is not None
        ]

    def fits(self, hashes: tuple[bytes | None, ...]) -> bool:
        """Tell whether it was signed with one of those metadata hashes."""
        return any(
            _fits(self.signed, payload) for each in hashes for _, payload in self.payloads(each)
        )

    def payloads(self, metadata_hash: bytes | None) -> Iterator[tuple[int, bytes]]:
        for number, block_hash in self.births:
            yield (
                number,
                rebuild_payload(
                    self.table,
                    self.signed,
                    genesis_hash=self.genesis,
                    block_hash=block_hash,
                    metadata_hash=metadata_hash,
                ),
            )


async def check_signature(
    client: "Client",
    table: "RuntimeTable",
    data: bytes,
    signed: SignedExtrinsic,
    standing: SignerState,
    others: Others,
    aside: Aside,
) -> str:
    """Return "" for a good signature, or why it could not be checked here; InvalidRequest for a bad
    one.

    What may take long is done by *aside*.
    """
    chain = client.chain
    if signed.account is None or not signed.scheme:
        return (
            "the signature was not checked, because its type or its signer is unknown: "
            f"{chain.title} will check it"
        )
    check = _SignatureCheck(client=client, table=table, signed=signed, number=standing.number)
    await check.prepare(1)
    hashes: tuple[bytes | None, ...] = (_digest(chain, table) if signed.mode else None,)
    if signed.mode and hashes == (None,):
        return (
            "the signature was not checked, because it commits to a metadata hash that cannot "
            f"be computed: {chain.title} will check it"
        )
    era = decode_era(signed.era)
    if (
        not check.births
        and era is not None
        and era_start(signed.era, standing.number + 1) <= standing.number
    ):
        return (
            "the signature was not checked, because the node does not know the block that its "
            f"era starts from: {chain.title} will check it"
        )
    try:
        if await aside(check.fits, hashes):
            return ""
        if signed.mode:
            hashes = (*hashes, *await _hashes_as_told(client, table))
            if await aside(check.fits, hashes[-1:]):
                return ""
    except InvalidRequest as error:
        return f"the signature was not checked ({error}): {chain.title} will check it"
    await check.prepare(1 + _EXPIRED_ERAS)
    raise InvalidRequest(await aside(_why_bad, check, hashes, data, others))


def _fits(signed: SignedExtrinsic, payload: bytes) -> bool:
    return signed.account is not None and verify_signature(
        signed.scheme, signed.signature, bytes_to_sign(payload), signed.account
    )


def _why_bad(
    check: _SignatureCheck, hashes: tuple[bytes | None, ...], data: bytes, others: Others
) -> str:
    """Return the sentence about a bad signature, with its cause where one is found."""
    signed, chain, table = check.signed, check.client.chain, check.table
    account = signed.account or b""
    for payload in (payload for each in hashes for _, payload in check.payloads(each)):
        if why := explain_signature(signed.signature, payload, account, signed.scheme):
            return f"the signature of tx {why}"
    era = decode_era(signed.era)
    if era is not None:
        for birth, payload in (pair for each in hashes for pair in check.payloads(each)):
            if _fits(signed, payload):
                return (
                    f"tx has expired: it was signed for the {era[0]} blocks from {birth} "
                    f"to {birth + era[0] - 1}, but "
                    f"{chain.title} is at {check.number}: {_ANEW}"
                )
    for other, its_table in others():
        # Its runtime as it is known here, or, where chains share one, the connected chain's.
        if other.name != chain.name and any(
            _is_of(other, each, data) for each in (its_table, table)
        ):
            return f"tx is signed for {other.title}, not for {chain.title}"
        if other.name == chain.name and _is_of(other, its_table, data):
            return (
                f"tx is signed for the runtime {its_table}, but {chain.title} runs {table} "
                f"now: {_ANEW}"
            )
    return (
        f"tx has a wrong signature: {format_account(account, chain.ss58_prefix)} did not "
        "sign this transaction for "
        f"{chain.title} with {table} (perhaps another chain, runtime version, nonce, era, "
        f"tip or call, or another key): {_ANEW}"
    )


def _is_of(chain: "Chain", table: "RuntimeTable", data: bytes) -> bool:
    """Tell whether *data* is signed for *chain*, as far as can be told without asking it."""
    if not chain.genesis:
        return False
    genesis = bytes.fromhex(chain.genesis[2:])
    try:
        signed = decode_signed_extrinsic(table, data)
        if decode_era(signed.era) is not None or signed.account is None or not signed.scheme:
            return False
        metadata_hash = _digest(chain, table) if signed.mode else None
        payload = rebuild_payload(
            table, signed, genesis_hash=genesis, block_hash=genesis, metadata_hash=metadata_hash
        )
    except InvalidRequest:
        return False
    return _fits(signed, payload)


async def _hashes_as_told(client: "Client", table: "RuntimeTable") -> tuple[bytes, ...]:
    """Return the metadata hash for the native asset as the node names it, which may be otherwise
    than the registry."""
    try:
        properties = await client.call("system_properties")
    except ChainRefused:
        return ()
    first = {
        key: value[0] if isinstance(value, list) and value else value
        for key, value in (properties if isinstance(properties, dict) else {}).items()
    }
    symbol, decimals = first.get("tokenSymbol"), first.get("tokenDecimals")
    if not (isinstance(symbol, str) and isinstance(decimals, int)):
        return ()
    found = _digest(client.chain._replace(symbol=symbol, decimals=decimals), table)
    return () if found is None else (found,)


def _digest(chain: "Chain", table: "RuntimeTable") -> bytes | None:
    try:
        from scenarioctl.runtime.metadata_hash import has_digest, metadata_digest

        if not has_digest(table):
            return None
        # The runtime's own prefix, which is hashed, and not the registry's, which is printed.
        prefix = table.constant("System", "SS58Prefix")
        return metadata_digest(
            table, ss58_prefix=prefix, decimals=chain.decimals, symbol=chain.symbol
        )
    except (ImportError, InvalidRequest):
        return None
