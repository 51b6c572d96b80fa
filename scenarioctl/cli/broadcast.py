"""`scenarioctl broadcast`."""

from contextlib import nullcontext
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import perform, print_answer
from scenarioctl.cli.input import read_payload, read_tx
from scenarioctl.cli.options import argument, complete_jobs, option
from scenarioctl.cli.output import describe_amount, draw_facts, draw_json


@click.command(
    cls=Command,
    operation="broadcasts.broadcast",
    example="scenarioctl broadcast polkadot 0x45028400… --wait in-block",
)
@argument("chain", metavar="CHAIN")
@click.argument("tx", metavar="TX|-")
@option(
    "--wait",
    metavar="STATE",
    choices=("in-block", "finalized"),
    default="",
    help="Wait until it is in-block or finalized, and print what it did there.",
)
@option(
    "--job",
    metavar="ID",
    shell_complete=complete_jobs,
    default="",
    help="With --draft: the job whose draft was signed. The draft is marked as sent.",
)
@option("--draft", metavar="SEQ", default="", help="The draft that was signed, by its seq in job mempool.")
@option(
    "--scenario",
    metavar="ID",
    default="",
    help="The scenario whose transaction was signed. It is then known as sent.",
)
@option(
    "--step",
    metavar="N",
    default="",
    help="With --scenario: which of its transactions (default the first): its number, the id of its node, or all for those of scenario batch.",
)
@option(
    "--expect",
    metavar="FILE",
    help="What was to be signed: the answer of tx payload, or SignerPayloadJSON. Anything else is not sent. - reads stdin.",
)
@click.option("--again", is_flag=True, help="Send once more what was sent before, if no block has it.")
@option("--timeout", metavar="SECONDS", help="Wait at most this long (default 180).")
def broadcast(tx: str, expect: str | None, **fields: Any) -> None:
    """Send a signed transaction to its chain, and print its hash.

    It is sent only once, and only if it is a signed transaction of that chain with a valid signature and an unused
    nonce. With --expect, it also has to be what was to be signed, with the same call, signer, nonce, era, tip, fee asset and
    metadata hash. `tx status` says later what became of it. With --wait, the exit code is 6 if the chain included it and it failed.
    """
    from scenarioctl.cli.progress import shown_progress

    tx, payload = read_tx(tx), read_payload(expect, field="expect")
    with shown_progress() if fields["wait"] else nullcontext():
        result = perform(tx=tx, expect=payload, **fields)
    answer = result.answer
    if "block" not in answer:
        print_answer(result, plain="hash")
        return

    def draw() -> None:
        facts = {name: value for name, value in answer.items() if name != "events"}
        if "fee_paid_in" in answer:
            facts["fee_paid_in"] = describe_amount(answer["fee_paid_in"])
        draw_facts(facts)
        draw_json(answer["events"])

    print_answer(result, draw=draw)
