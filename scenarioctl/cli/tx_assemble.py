"""`scenarioctl tx assemble`."""

from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.input import TX_LIMIT, read_text, read_tx
from scenarioctl.cli.options import field_option, option
from scenarioctl.cli.signing_options import signer_options


@click.command(
    cls=Command,
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
@option("--signature", metavar="0xHEX", required=True, help="The signature, made by any wallet.")
@option(
    "--scheme",
    metavar="KIND",
    choices=("sr25519", "ed25519", "ecdsa"),
    default="",
    help="sr25519, ed25519 or ecdsa. Default: the one that matches.",
)
@signer_options
@field_option
def assemble(tx: str, payload: str | None, **fields: Any) -> None:
    """Join a transaction and its signature, and print the signed transaction.

    Pass what was signed: --payload, the payload's hex, or the transaction with the options that made its payload.
    A signature that does not match is refused.
    """
    given = None
    if payload is not None:
        from scenarioctl.formats.documents import parse_json

        given = parse_json(read_text(payload, field="payload", limit=TX_LIMIT), field="payload")
    print_answer(perform(tx=read_tx(tx), payload=given, **fields), plain="tx")
