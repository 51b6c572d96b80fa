"""The form in which a transaction is wanted: bare extrinsic, call data, or what its sender signs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import ChainUnreachable, InvalidRequest, shorten
from scenarioctl.model.amounts import parse_raw
from scenarioctl.model.calls import UnsignedTransaction

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.extrinsic import SigningOptions

OUTPUT_FORMATS = ("extrinsic", "call", "payload")


@dataclass(frozen=True, kw_only=True)
class Signer:
    """What a signature covers besides the call."""

    #: Account that will sign: SS58 or 0x public key.
    sender: str = ""
    #: How many transactions the sender has sent before.
    nonce: int | str | None = None
    #: `immortal`, a period in blocks (a power of two from 4 to 65536), or the era's 0x hex.
    era: str | int = "immortal"
    #: Number of the block that a mortal era starts from.
    block: int | str | None = None
    #: Hash of that block; left out for an immortal era.
    block_hash: str = ""
    #: Raw amount of the chain's native asset.
    tip: int | str = 0
    #: 0x hex: with it the signature commits to the runtime's metadata (CheckMetadataHash).
    metadata_hash: str = ""
    #: 0x hex: genesis hash, where the registry's is not meant.
    genesis: str = ""


@dataclass(frozen=True, kw_only=True)
class Signing(Signer):
    """Fields of every operation that answers with a transaction."""

    #: `extrinsic` (bare), `call` (call data alone) or `payload` (what the sender signs).
    output_format: str = "extrinsic"


async def write_transaction(app: Application, transaction: UnsignedTransaction, request: Signing) -> str:
    """Return *transaction* as 0x hex in the form that *request* wants."""
    check_output_format(request.output_format)
    if request.output_format == "call":
        return "0x" + transaction.call_data.hex()
    if request.output_format == "payload":
        from scenarioctl.transactions.extrinsic import signing_payload

        chain = app.registry.find(transaction.chain)
        options = signing_options(chain, request)
        payload = signing_payload(await app.runtime(chain), transaction.call_data, options)
        return "0x" + payload.payload.hex()
    from scenarioctl.transactions.extrinsic import bare_extrinsic

    return "0x" + bare_extrinsic(transaction.call_data).hex()


def check_output_format(value: str) -> None:
    """Refuse a form that there is not, before any work is done for it."""
    if value not in OUTPUT_FORMATS:
        raise InvalidRequest(
            f"output_format {shorten(value)} is not known, expected one of: {', '.join(OUTPUT_FORMATS)}"
        )


def signing_options(chain: "Chain", request: Signer) -> "SigningOptions":
    """Return what a signature on *chain* covers, judged and completed."""
    from scenarioctl.chains.addresses import parse_account
    from scenarioctl.transactions.extrinsic import SigningOptions

    if not request.sender:
        raise InvalidRequest("sender is missing, a signing payload is made for the account that signs it")
    parse_account(request.sender, field="sender")
    if request.nonce is None or request.nonce == "":
        raise ChainUnreachable(f"{chain.name} was not asked for the sender's nonce, give it with --nonce")
    nonce = parse_count(request.nonce, field="nonce")
    genesis = request.genesis or chain.genesis
    if not genesis:
        raise InvalidRequest(f"genesis is missing, the genesis hash of {chain.name} is not in the registry")
    genesis_hash = parse_hash(genesis, field="genesis")
    metadata_hash = (
        parse_hash(request.metadata_hash, field="metadata_hash") if request.metadata_hash else None
    )
    era = parse_era_fields(request)
    immortal = era == b"\0"
    if not immortal and not request.block_hash:
        raise InvalidRequest("block_hash is missing, a mortal era needs the hash of the block it starts from")
    if immortal and request.block not in (None, ""):
        raise InvalidRequest(
            f"block {shorten(request.block)} does not go with an immortal era, which starts at the genesis block: "
            "leave it out, or give an era"
        )
    if immortal and request.block_hash and parse_hash(request.block_hash, field="block_hash") != genesis_hash:
        raise InvalidRequest(
            f"block_hash {shorten(request.block_hash)} does not go with an immortal era, which starts at the genesis "
            "block: leave it out, or give an era"
        )
    return SigningOptions(
        nonce=nonce,
        tip=parse_raw(request.tip, field="tip", zero=True),
        era=era,
        genesis_hash=genesis_hash,
        block_hash=genesis_hash if immortal else parse_hash(request.block_hash, field="block_hash"),
        mode=1 if metadata_hash else 0,
        metadata_hash=metadata_hash,
    )


def parse_era_fields(request: Signer) -> bytes:
    """Return the era's bytes: one for immortal, two for mortal."""
    from scenarioctl.transactions.extrinsic import encode_era, parse_era

    text = str(request.era).strip()
    if text == "immortal" or text.startswith("0x"):
        return parse_era(text, field="era")
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest(
            f"era {shorten(request.era)} is not an era, expected immortal, a period in blocks like 64, or 0x hex"
        )
    if request.block is None or request.block == "":
        raise InvalidRequest("block is missing, a mortal era needs the number of the block it starts from")
    # A longer number is no period either, and is named as it was given.
    period = int(text) if len(text) < 10 else 0
    if not (4 <= period <= 65536 and period & (period - 1) == 0):
        raise InvalidRequest(
            f"era {shorten(request.era)} is not a period, expected a power of two from 4 to 65536, like 64"
        )
    return encode_era(period, parse_count(request.block, field="block"))


def parse_count(value: object, *, field: str) -> int:
    """Return *value*, a number or its digits, as chains count transactions and blocks: in a u32."""
    text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < 2**32):
        raise InvalidRequest(
            f"{field} {shorten(value)} is wrong, expected a whole number from 0 to 4294967295"
        )
    return int(text)


def parse_hash(value: str, *, field: str) -> bytes:
    """Return the 32 bytes of a 0x hash."""
    try:
        data = parse_hex(value, field=field)
    except InvalidRequest:
        data = b""
    if len(data) != 32:
        raise InvalidRequest(
            f"{field} {shorten(value, 80)} is not a hash, expected 0x and 64 hex digits"
        ) from None
    return data


def parse_hex(value: object, *, field: str) -> bytes:
    """Return the bytes of 0x hex text."""
    text = value.strip() if isinstance(value, str) else ""
    digits = text[2:] if text[:2] in {"0x", "0X"} else ""
    try:
        # bytes.fromhex skips white space, which no hex in a transaction has.
        data = bytes.fromhex(digits) if digits and not any(letter.isspace() for letter in digits) else b""
    except ValueError:
        data = b""
    if not data:
        raise InvalidRequest(
            f"{field} {shorten(value)} is not hex, expected 0x and an even number of hex digits"
        )
    return data
