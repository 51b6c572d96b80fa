"""`scenarioctl tx`: transactions, and `xcm`, the interface's word for a transfer."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.drawing import (
    draw_answer,
    draw_check,
    plain_command,
    print_drawn,
    show_meaning,
)
from scenarioctl.cli.execution import (
    asked_for_data,
    is_verbose,
    perform,
    print_answer,
    tell,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.cli.output import (
    draw_json,
    printable,
    read_local,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import parse_typed, several_meanings, to_text
from scenarioctl.operations import answer_type

#: A whole number from which on nobody can tell by its size that it is in whole tokens.
_LARGE = 1_000_000


@click.group(cls=Group)
def tx() -> None:
    """Build, decode, check, sign, send and track transactions."""


tx.add_command(
    plain_command(
        "transfer",
        "builds.transfer_tokens",
        prints="tx",
        example="scenarioctl --offline tx transfer --from polkadot --to assetHub --asset DOT "
        "--amount 1.5 \\\n"
        "    --to-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


tx.add_command(
    plain_command(
        "claim",
        "asset_traps.claim_assets",
        prints="tx",
        arguments=("chain",),
        example="scenarioctl tx claim assetHub --trapped-in 9000000 \\\n"
        "    --sender 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@click.group(cls=Group, hidden=True)
def xcm() -> None:
    """Build unsigned cross-chain transfers from raw amounts; `tx transfer` takes whole tokens."""


xcm.add_command(
    plain_command(
        "asset-transfer",
        "builds.asset_transfer",
        prints="txdata",
        example="scenarioctl --offline xcm asset-transfer --from polkadot --to assetHub --asset "
        "DOT \\\n"
        "    --amount 15000000000 --to-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@tx.command(
    operation="views.decode_transaction",
    arguments=("tx",),
    example="scenarioctl --offline tx decode 0x00071468656c6c6f --chain polkadot",
)
def decode(**fields: Any) -> None:
    """Decode a transaction: an extrinsic, signed or not, or call data."""
    result = perform(**fields)
    print_answer(result, draw=lambda: draw_json(result.answer))


@tx.command(
    operation="payload.transaction_payload",
    arguments=("tx",),
    example="scenarioctl --offline tx payload 0x00071468656c6c6f --chain polkadot --nonce 0 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5\n"
    "  scenarioctl tx payload 3kf9Qz7aB --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@argument("tx", metavar="[HEX|-|SCENARIO]", default="")
@option(
    "--qr-file",
    metavar="FILE.png",
    help="Write the QR code for Polkadot Vault. A long payload needs several files.",
)
def payload(tx: str, qr_file: str | None, **fields: Any) -> None:
    """Make the payload that SENDER signs for an unsigned transaction.

    Pass HEX (an unsigned extrinsic or call data) with --chain, the id of a stored SCENARIO, or a
    --job. stderr says what the transaction does.

    Sign the field bytes_to_sign: the payload itself, or its blake2b-256 hash if it is longer than
    256 bytes. signer_payload is the same for polkadot.js and its wallets (SignerPayloadJSON),
    vault_payload for Polkadot Vault. Nonce, era, block and metadata hash are read from the
    connected chain if you leave them out.
    """
    if qr_file is not None:
        from scenarioctl.cli.create import check_file

        check_file(qr_file)
    result = perform(**_source(tx, fields))
    frames: Sequence[bytes] = ()
    if qr_file is not None:
        from scenarioctl.transactions.signing.payload import vault_frames

        # What is too long for codes is refused before anything is shown.
        frames = vault_frames(bytes.fromhex(result.answer["vault_payload"][2:]))
    show_meaning(result.answer, printed=not asked_for_data())
    if qr_file is not None:
        from scenarioctl.cli.create import write_files

        for path in write_files(qr_file, frames):
            tell(f"Wrote {path}")
    print_answer(result, draw=lambda: draw_json(result.answer))


def _source(tx: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return *fields* with what *tx* names: hex needs its chain, so that a word without one can
    only be a scenario."""
    is_text = tx[:1] in ("", "-", "@") and tx != "@last"
    if is_text or fields["chain"] or fields["scenario"] or tx[:2] in ("0x", "0X"):
        return {**fields, "tx": tx}
    return {**fields, "tx": "", "scenario": tx}


@tx.command(
    operation="views.check_transaction",
    arguments=("tx",),
    without=("unit",),
    example="scenarioctl tx check 3kf9Qz7aB \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5\n"
    "  scenarioctl tx check --from polkadot --to assetHub --asset DOT --amount 1.5 \\\n"
    "    --to-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3 \\\n"
    "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
)
@argument("tx", metavar="[HEX|-|SCENARIO]", default="")
@option(
    "--amount",
    metavar="TOKENS",
    default="",
    help=(
        "Whole tokens, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit. max is "
        "all that --sender can send now."
    ),
)
def check(tx: str, amount: str, **fields: Any) -> None:
    """Simulate a transaction on every chain it touches, before it is signed.

    Pass HEX (an unsigned extrinsic or call data) with --chain, the id of a stored SCENARIO, a
    --job, or a transfer. The exit code is 6 if the verdict is refused, and 5 if it is unknown.
    """
    from scenarioctl.operations.results import OUTCOMES

    if amount:
        _refuse_old_unit(amount)
        fields["unit"] = "tokens"
    result = perform(amount=amount, **_source(tx, fields))
    print_answer(result, draw=lambda: draw_check(result.answer))
    verdict = result.answer["verdict"]
    if verdict != "ok":
        code = "chain_refused" if verdict == "refused" else "chain_unreachable"
        click.get_current_context().exit(OUTCOMES[code].exit)


def _refuse_old_unit(amount: str) -> None:
    """Refuse a large whole number: it was in the smallest unit before whole tokens were taken, and
    a script may still mean that."""
    try:
        typed = parse_typed(amount, field="amount")
    except InvalidRequest:
        # The operation says what is wrong, for the asset.
        return
    if typed.is_bare and typed.number >= _LARGE:
        found = to_text(typed.number)
        raise several_meanings(
            "amount", amount, (f"{found}raw (smallest unit)", f"{found}.0 (whole tokens)")
        )


tx.add_command(
    plain_command(
        "assemble",
        "signed_transactions.assemble_transaction",
        prints="tx",
        example="scenarioctl tx payload 0x00071468656c6c6f --chain polkadot \\\n"
        "    --sender 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5 --json > payload.json\n"
        "  scenarioctl tx assemble --payload payload.json --signature 0x01… | scenarioctl "
        "tx send polkadot -",
    )
)


@tx.command(
    operation="transaction_status.transaction_status",
    arguments=("chain", "hash"),
    example="scenarioctl tx status polkadot 0x5c1b… --field state",
)
def status(**fields: Any) -> None:
    """Show what became of a sent transaction, by its hash.

    The chain is asked each time. A transaction that wasn't sent from here is looked for in the
    newest 64 blocks.
    """
    result = perform(**fields)
    print_answer(result, draw=lambda: draw_status(result.answer))


@tx.command(
    "list",
    operation="transaction_history.list_transactions",
    example=(
        "scenarioctl tx list --since 30d\n  scenarioctl tx list --since 2026-01-01 --until "
        "2027-01-01 --limit 1000 --csv > 2026.csv"
    ),
)
def list_(**fields: Any) -> None:
    """List the transactions that were sent from here, the newest first.

    No chain is asked: the state is that of the last `tx status`. The store keeps the newest 10,000.

    With --csv, there is a row for each asset that left the account, without the fee, or came to it.
    A page after the first has no line with the names of the columns.
    """
    for name in ("since", "until"):
        fields[name] = read_local(fields[name])
    print_drawn(**fields)


@tx.command(
    operation="broadcasts.broadcast",
    arguments=("chain", "tx"),
    example="scenarioctl tx send polkadot 0x45028400… --wait in-block",
)
def send(**fields: Any) -> None:
    """Send a signed transaction to its chain, and print its hash.

    It is sent only once, and only if it is a signed transaction of that chain with a valid
    signature and an unused nonce. With --expect, it also has to be what was to be signed, with the
    same call, signer, nonce, era, tip, fee asset and metadata hash. `tx status` says later what
    became of it. With --wait, the exit code is 6 if it, or a call inside it, failed.
    """
    from scenarioctl.cli.drawing import shown_progress

    with shown_progress() if fields["wait"] else nullcontext():
        result = perform(**fields)
    answer = result.answer
    if "block" not in answer:
        print_answer(result, plain="hash")
        return

    def draw() -> None:
        verdict = "It succeeded" if answer["success"] else "It failed"
        click.echo(f"{verdict} in block {answer['block_number']} of {printable(fields['chain'])}.")
        draw_answer(answer, answer_type("broadcasts.broadcast"))
        if is_verbose():
            draw_json(answer["events"])
        tell(f"What arrives elsewhere: scenarioctl tx status {fields['chain']} {answer['hash']}")

    print_answer(result, draw=draw)


def draw_status(answer: Mapping[str, Any]) -> None:
    """Print what became of a transaction: a sentence, the facts that are known, and its events."""
    click.echo(printable(answer["summary"]))
    draw_answer(answer, answer_type("transaction_status.transaction_status"))
    for note in answer["notes"]:
        click.echo(printable(note))
    if is_verbose() and answer["events"]:
        draw_json(answer["events"])


tx.add_command(
    plain_command(
        "call",
        "builds.build_call",
        prints="tx",
        arguments=("chain", "pallet", "method", "args"),
        example="scenarioctl --offline tx call polkadot System remark hello\n"
        "  scenarioctl --offline tx call hydraDx omnipool sell 5 0 20000000000 900000000000000\n"
        "  scenarioctl --offline tx call polkadot Utility as_derivative 3 @call.hex",
        help="""Build the unsigned transaction of any call of a chain.

        ARGs are the call's arguments in their order: whole numbers (in the smallest unit),
        addresses, 0x hex, text, the name of a variant, null or '' for an option without a value,
        JSON for what has parts, and 0x hex for a call inside the call. @FILE stands for the text of
        a file, - for stdin, @@ for text that begins with @. Put -- before negative numbers. Names
        are matched without case, _ and -.""",
    )
)
tx.add_command(
    plain_command(
        "batch",
        "builds.batch_calls",
        prints="tx",
        arguments=("chain", "calls"),
        example="scenarioctl --offline tx batch polkadot 0x00001468656c6c6f 0x00000c627965\n"
        "  scenarioctl --offline tx batch assetHub @calls.txt --kind force-batch",
        help="""Join several calls in one unsigned transaction.

        Each is call data or an unsigned extrinsic in hex; @FILE is a file with one of them to a
        line, - is stdin.""",
    )
)
