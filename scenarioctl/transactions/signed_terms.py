"""What a signer signs beside the call, and what to heed of it: nonce, era, tip, genesis hash,
metadata hash."""

from typing import TYPE_CHECKING

from scenarioctl.transactions.mortality import decode_era

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.signing.payload import SigningOptions


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
