"""`scenarioctl tx`."""

from typing import Any

import click

from scenarioctl.cli.base import Group, draw_json, field_option, option, perform, print_answer, read_text
from scenarioctl.cli.signing import signer_options
from scenarioctl.cli.tx_check import check

#: The largest transaction that a chain takes is smaller than this, as hex.
TX_LIMIT = 16 * 1024 * 1024


@click.group(cls=Group)
def tx() -> None:
    """Read transactions, and make the bytes that are signed."""


@tx.command(
    operation="transactions.decode_transaction",
    example="scenarioctl --offline tx decode 0x00071468656c6c6f --chain polkadot",
)
@click.argument("tx", metavar="HEX|-")
@option("--chain", metavar="CHAIN", required=True, help="Chain it is meant for.")
@field_option
def decode(tx: str, **fields: Any) -> None:
    """Say what a transaction does: an extrinsic, signed or not, or call data."""
    result = perform("transactions.decode_transaction", "DecodeTransaction", tx=_read(tx), **fields)
    print_answer(result, draw=lambda: draw_json(result.answer()))


@tx.command(
    operation="transactions.transaction_payload",
    example="scenarioctl --offline tx payload 0x00071468656c6c6f --chain polkadot --nonce 0 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@click.argument("tx", metavar="HEX|-")
@option("--chain", metavar="CHAIN", required=True, help="Chain it is meant for.")
@signer_options
@field_option
def payload(tx: str, **fields: Any) -> None:
    """Make the exact bytes that SENDER signs for an unsigned transaction.

    What is to be signed is bytes_to_sign: the payload itself, or its blake2b-256 hash where it is longer
    than 256 bytes.
    """
    result = perform("transactions.transaction_payload", "TransactionPayload", tx=_read(tx), **fields)
    print_answer(result, draw=lambda: draw_json(result.answer()))


tx.add_command(check)


def _read(tx: str) -> str:
    return read_text(tx, field="tx", limit=TX_LIMIT).strip() if tx == "-" else tx
