"""Options of every command that answers with a transaction."""

from collections.abc import Callable
from typing import Any, TypeVar

from scenarioctl.cli.options import option

F = TypeVar("F", bound=Callable[..., Any])

#: The fields of `operations/signing_fields.py: Signer`, in its order.
SIGNER = (
    option("--sender", metavar="ADDRESS", default="", help="Account that will sign: SS58 or 0x public key."),
    option(
        "--nonce",
        metavar="N",
        help="How many transactions the sender has sent before; the connected chain tells, --offline it is needed.",
    ),
    option(
        "--era",
        metavar="ERA",
        choices=("immortal",),
        default="",
        help="immortal, a period in blocks, or the era's 0x hex; 64 by default; --offline immortal, or 64 with --block and --block-hash.",
    ),
    option(
        "--block",
        metavar="N",
        help="Number of the block that a mortal era starts from; by default the finalized one.",
    ),
    option(
        "--block-hash",
        metavar="0xHASH",
        default="",
        help="Hash of that block; the connected chain tells, --offline a mortal era needs it.",
    ),
    option("--tip", metavar="RAW", default=0, help="Tip in the native asset's smallest unit."),
    option(
        "--metadata-hash",
        metavar="auto|off|0xHASH",
        choices=("auto", "off"),
        default="",
        help="Commit the signature to the runtime's metadata (CheckMetadataHash): auto computes its hash. "
        "auto by default where the connected chain takes it, --offline off.",
    ),
    option(
        "--genesis", metavar="0xHASH", default="", help="Genesis hash, where the registry's is not meant."
    ),
)

OUTPUT_FORMAT = option(
    "--output-format",
    metavar="FORM",
    choices=("extrinsic", "call", "payload"),
    default="extrinsic",
    help="extrinsic (default; bare, what wallets read), call (call data alone) or payload (what the sender signs).",
)


def signer_options(function: F) -> F:
    """Add the options that say what a signature covers."""
    return _add(function, SIGNER)


def transaction_options(function: F) -> F:
    """Add the output form, and what a payload needs."""
    return _add(function, (OUTPUT_FORMAT, *SIGNER))


def _add(function: F, options: tuple[Callable[[Any], Any], ...]) -> F:
    for each in reversed(options):
        function = each(function)
    return function
