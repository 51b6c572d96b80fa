"""`scenarioctl tx`."""

from collections.abc import Sequence
from typing import Any

import click

from scenarioctl.cli.check_report import draw_check, show_meaning
from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import asked_for_data, perform, print_answer, tell
from scenarioctl.cli.input import read_payload, read_tx
from scenarioctl.cli.options import argument, complete_jobs, option
from scenarioctl.cli.output import draw_json
from scenarioctl.cli.sent_report import draw_status
from scenarioctl.cli.shared_options import (
    RAW,
    accept_locked_option,
    fee_asset_option,
    relayer_fee_option,
    remote_fee_asset_option,
    signer_options,
    transfer_options,
    xcm_version_option,
    yes_option,
)


@click.group(cls=Group)
def tx() -> None:
    """Decode, check, assemble and track transactions, and make signing payloads."""


@tx.command(
    operation="decoded_transactions.decode_transaction",
    example="scenarioctl --offline tx decode 0x00071468656c6c6f --chain polkadot",
)
@click.argument("tx", metavar="HEX|-")
@option("--chain", metavar="CHAIN", required=True, help="Chain of the transaction.")
def decode(tx: str, **fields: Any) -> None:
    """Decode a transaction: an extrinsic, signed or not, or call data."""
    result = perform(tx=read_tx(tx), **fields)
    print_answer(result, draw=lambda: draw_json(result.answer))


@tx.command(
    operation="decoded_transactions.transaction_payload",
    example="scenarioctl --offline tx payload 0x00071468656c6c6f --chain polkadot --nonce 0 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5\n"
    "  scenarioctl tx payload 3kf9Qz7aB --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@argument("tx", metavar="[HEX|-|SCENARIO]", default="")
@option("--chain", metavar="CHAIN", default="", help="Chain of HEX. A scenario and a draft have their own.")
@option("--scenario", metavar="ID", default="", help="The same as SCENARIO, for an id that looks like hex.")
@option(
    "--step",
    metavar="N",
    default="",
    help="Which transaction of the scenario (default the first): its number, or the id of its node.",
)
@yes_option
@option(
    "--job",
    metavar="ID",
    shell_complete=complete_jobs,
    default="",
    help="Take the transaction from the mempool of this job.",
)
@option(
    "--draft",
    metavar="SEQ",
    default="",
    help="With --job: the draft, by its seq in job mempool (default the newest).",
)
@signer_options
@option(
    "--crypto",
    metavar="KIND",
    choices=("sr25519", "ed25519"),
    default="sr25519",
    help="Key type of the sender, for Polkadot Vault: sr25519 (default) or ed25519.",
)
@click.option(
    "--qr", is_flag=True, help="Draw the QR code for Polkadot Vault instead of printing the answer."
)
@option(
    "--qr-file",
    metavar="FILE.png",
    help="Write the QR code for Polkadot Vault. A long payload needs several files.",
)
def payload(tx: str, qr: bool, qr_file: str | None, **fields: Any) -> None:
    """Make the payload that SENDER signs for an unsigned transaction.

    Pass HEX (an unsigned extrinsic or call data) with --chain, the id of a stored SCENARIO, or a --job. stderr says what
    the transaction does.

    Sign the field bytes_to_sign: the payload itself, or its blake2b-256 hash if it is longer than 256 bytes.
    signer_payload is the same for polkadot.js and its wallets (SignerPayloadJSON), vault_payload for Polkadot
    Vault. Nonce, era, block and metadata hash are read from the connected chain if you leave them out.
    """
    if qr_file is not None:
        from scenarioctl.cli.qr_output import check_file

        check_file(qr_file)
    if tx != "-" and not fields["chain"] and not fields["scenario"] and tx[:2] not in ("0x", "0X"):
        # Hex needs its chain, so that this can only be an id.
        tx, fields["scenario"] = "", tx
    result = perform(tx=read_tx(tx), **fields)
    structured = asked_for_data()
    frames: Sequence[bytes] = ()
    if qr or qr_file is not None:
        from scenarioctl.transactions.signing.wallet_formats import vault_frames

        # What is too long for codes is refused before anything is shown.
        frames = vault_frames(bytes.fromhex(result.answer["vault_payload"][2:]))
    show_meaning(result, printed=not structured and not qr)
    if frames:
        from scenarioctl.cli.qr_output import draw_codes, write_files

        for path in write_files(qr_file, frames) if qr_file is not None else ():
            tell(f"Wrote {path}")
        if qr:
            # What a script asked for stays alone on stdout.
            draw_codes(frames, err=structured)
    if structured or not qr:
        print_answer(result, draw=lambda: draw_json(result.answer))


@tx.command(
    operation="transaction_checks.check_transaction",
    example="scenarioctl tx check --from polkadot --to assetHub --assetid DOT --amount 15000000000 \\\n"
    "    --destinationaddress 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@click.argument("tx", metavar="[HEX|-]", default="")
@option("--chain", metavar="CHAIN", default="", help="Chain of HEX.")
@option("--sender", metavar="ADDRESS", required=True, help="Account that will sign: SS58 or 0x public key.")
@transfer_options("sourchain", "destchain", "destinationaddress", amount=RAW, needed=False)
@yes_option
@accept_locked_option
@xcm_version_option
@relayer_fee_option
@remote_fee_asset_option
@fee_asset_option
def check(tx: str, **fields: Any) -> None:
    """Simulate a transaction on every chain it touches, before it is signed.

    Pass HEX (an unsigned extrinsic or call data) with --chain, or a transfer. The exit code is 6 if the verdict is
    refused, and 5 if it is unknown.
    """
    from scenarioctl.operations.outcomes import OUTCOMES

    result = perform(tx=read_tx(tx), **fields)
    print_answer(result, draw=lambda: draw_check(result.answer))
    verdict = result.answer["verdict"]
    if verdict != "ok":
        code = "chain_refused" if verdict == "refused" else "chain_unreachable"
        click.get_current_context().exit(OUTCOMES[code].exit)


@tx.command(
    operation="signed_transactions.assemble_transaction",
    example="scenarioctl tx payload 0x00071468656c6c6f --chain polkadot \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 --json > payload.json\n"
    "  scenarioctl tx assemble --payload payload.json --signature 0x01… | scenarioctl broadcast polkadot -",
)
@click.argument("tx", metavar="[HEX|-]", default="")
@option(
    "--chain", metavar="CHAIN", default="", help="Chain it is signed for. Not needed if --payload names it."
)
@option(
    "--payload",
    metavar="FILE",
    help="The answer of tx payload, or SignerPayloadJSON. - reads stdin.",
)
@option("--signature", metavar="0xHEX", default="", help="The signature, made by any wallet.")
@option(
    "--signed-transaction",
    metavar="HEX|-",
    default="",
    help="In place of --signature: the whole transaction, as some wallets return it. It is refused unless it is what was to be signed.",
)
@option(
    "--scheme",
    metavar="KIND",
    choices=("sr25519", "ed25519", "ecdsa", "ethereum"),
    default="",
    help="sr25519, ed25519, ecdsa or ethereum. Default: the one that matches.",
)
@signer_options
def assemble(tx: str, payload: str | None, signed_transaction: str, **fields: Any) -> None:
    """Join a transaction and its signature, and print the signed transaction.

    Pass what was to be signed: --payload, the payload's hex, or the transaction with the options that made its payload.
    A signature that does not match is refused, and so is a whole signed transaction of anything else: another call,
    signer, nonce, era, tip, fee asset or metadata hash.
    """
    given = read_payload(payload, field="payload")
    signed = read_tx(signed_transaction, field="signed_transaction")
    print_answer(perform(tx=read_tx(tx), payload=given, signed_transaction=signed, **fields), plain="tx")


@tx.command(
    operation="transaction_status.transaction_status",
    example="scenarioctl tx status polkadot 0x5c1b… --field state",
)
@argument("chain", metavar="CHAIN")
@argument("hash", metavar="HASH")
def status(**fields: Any) -> None:
    """Show what became of a sent transaction, by its hash.

    The chain is asked each time. A transaction that wasn't sent from here is looked for in the newest 64 blocks.
    """
    result = perform(**fields)
    print_answer(result, draw=lambda: draw_status(result.answer))
