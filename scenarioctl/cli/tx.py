"""`scenarioctl tx`."""

from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import asked_for_json, perform, print_answer
from scenarioctl.cli.input import read_tx
from scenarioctl.cli.options import field_option, option
from scenarioctl.cli.output import draw_json, printable
from scenarioctl.cli.signing_options import signer_options
from scenarioctl.cli.tx_assemble import assemble
from scenarioctl.cli.tx_check import check


@click.group(cls=Group)
def tx() -> None:
    """Decode, check and assemble transactions, and make signing payloads."""


@tx.command(
    operation="decoded_transactions.decode_transaction",
    example="scenarioctl --offline tx decode 0x00071468656c6c6f --chain polkadot",
)
@click.argument("tx", metavar="HEX|-")
@option("--chain", metavar="CHAIN", required=True, help="Chain of the transaction.")
@field_option
def decode(tx: str, **fields: Any) -> None:
    """Decode a transaction: an extrinsic, signed or not, or call data."""
    result = perform(tx=read_tx(tx), **fields)
    print_answer(result, draw=lambda: draw_json(result.answer))


@tx.command(
    operation="decoded_transactions.transaction_payload",
    example="scenarioctl --offline tx payload 0x00071468656c6c6f --chain polkadot --nonce 0 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@click.argument("tx", metavar="HEX|-")
@option("--chain", metavar="CHAIN", required=True, help="Chain of the transaction.")
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
@field_option
def payload(tx: str, qr: bool, qr_file: str | None, **fields: Any) -> None:
    """Make the payload that SENDER signs for an unsigned transaction.

    Sign the field bytes_to_sign: the payload itself, or its blake2b-256 hash if it is longer than 256 bytes.
    signer_payload is the same for polkadot.js and its wallets (SignerPayloadJSON), vault_payload for Polkadot
    Vault. Nonce, era, block and metadata hash are read from the connected chain if you leave them out.
    """
    if qr_file is not None:
        from scenarioctl.cli.qr_output import check_file

        check_file(qr_file)
    result = perform(tx=read_tx(tx), **fields)
    structured = asked_for_json() or click.get_current_context().meta.get("scenarioctl.field") is not None
    if qr or qr_file is not None:
        from scenarioctl.cli.qr_output import draw_codes, write_files
        from scenarioctl.transactions.signing.wallet_formats import vault_frames

        frames = vault_frames(bytes.fromhex(result.answer["vault_payload"][2:]))
        for path in write_files(qr_file, frames) if qr_file is not None else ():
            click.echo(f"Wrote {printable(path)}", err=True)
        if qr:
            # What a script asked for stays alone on stdout.
            draw_codes(frames, err=structured)
    if structured or not qr:
        print_answer(result, draw=lambda: draw_json(result.answer))


tx.add_command(check)
tx.add_command(assemble)
