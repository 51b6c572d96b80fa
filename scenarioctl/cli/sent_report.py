"""What a terminal sees of a sent transaction."""

from collections.abc import Mapping
from typing import Any

import click

from scenarioctl.cli.output import describe_amount, draw_facts, draw_json, printable, short_time


def draw_status(answer: Mapping[str, Any]) -> None:
    """Print what became of a transaction: a sentence, the facts that are known, and its events."""
    click.echo(printable(answer["summary"]))
    facts = {
        "sent": short_time(answer["sent"]),
        "signer": answer["signer"],
        "nonce": answer["nonce"],
        "block": answer["block"],
        "block_number": answer["block_number"],
        "success": answer["success"],
        "error": answer["error"],
        "fee": "" if answer["fee_paid_in"] else answer["fee_human"],
        "fee_paid_in": answer["fee_paid_in"] and describe_amount(answer["fee_paid_in"]),
        "valid_until_block": answer["valid_until_block"],
        "job": answer["job"],
        "draft": answer["draft"],
    }
    draw_facts({name: value for name, value in facts.items() if value not in (None, "")})
    for each in answer["arrivals"]:
        click.echo(f"{printable(each['chain'])}: {printable(_say_arrival(each))}")
    for note in answer["notes"]:
        click.echo(printable(note))
    if answer["events"]:
        draw_json(answer["events"])


def _say_arrival(arrival: Mapping[str, Any]) -> str:
    block = "" if arrival["block_number"] is None else f" in block {arrival['block_number']}"
    reason = f": {arrival['reason']}" if arrival["reason"] else ""
    return f"{arrival['state']}{block}{reason}"
