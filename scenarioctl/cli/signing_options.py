"""Options of every command that answers with a transaction."""

from scenarioctl.cli.options import option, together

#: The fields of `operations/signing_fields.py: Signer`, in its order.
SIGNER = (
    option("--sender", metavar="ADDRESS", default="", help="Account that will sign: SS58 or 0x public key."),
    option(
        "--nonce",
        metavar="N",
        help="The sender's nonce. Read from the chain; required with --offline.",
    ),
    option(
        "--era",
        metavar="ERA",
        choices=("immortal",),
        default="",
        help="immortal, a period in blocks, or the era's 0x hex. Default: 64; with --offline immortal, or 64 with --block and --block-hash.",
    ),
    option(
        "--block",
        metavar="N",
        help="Number of the block that a mortal era starts from. Default: the finalized block.",
    ),
    option(
        "--block-hash",
        metavar="0xHASH",
        default="",
        help="Hash of that block. Read from the chain; required with --offline and a mortal era.",
    ),
    option("--tip", metavar="RAW", default=0, help="Tip in the native asset's smallest unit."),
    option(
        "--metadata-hash",
        metavar="auto|off|0xHASH",
        choices=("auto", "off"),
        default="",
        help="Commit the signature to the runtime's metadata (CheckMetadataHash); auto computes its hash. "
        "Default: auto if the connected chain supports it; with --offline off.",
    ),
    option("--genesis", metavar="0xHASH", default="", help="Override the chain's genesis hash."),
)

OUTPUT_FORMAT = option(
    "--output-format",
    metavar="FORM",
    choices=("extrinsic", "call", "payload"),
    default="extrinsic",
    help="extrinsic (default, bare, read by wallets), call (only the call data) or payload (what the sender signs).",
)

#: What a signature covers.
signer_options = together(*SIGNER)
#: The form of the output, and what a payload needs.
transaction_options = together(OUTPUT_FORMAT, *SIGNER)
