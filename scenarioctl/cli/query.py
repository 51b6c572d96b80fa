"""`scenarioctl query`."""

import json
import sys
from typing import Any

import click

from scenarioctl.cli.base import (
    Command,
    asked_for_json,
    draw_json,
    dump_json,
    field_option,
    finish,
    open_application,
    option,
    perform,
    print_answer,
    printable,
)
from scenarioctl.errors import InvalidRequest, shorten


@click.command(
    cls=Command,
    operation="queries.query_chain",
    example="scenarioctl query polkadot System Account 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl query assetHub Assets Metadata --limit 20\n"
    "  scenarioctl query polkadot Balances ExistentialDeposit\n"
    "  scenarioctl query polkadot Core version",
)
@click.argument("chain", metavar="CHAIN")
@click.argument("pallet_name", metavar="PALLET")
@click.argument("method_name", metavar="METHOD")
@click.argument("params", metavar="[PARAM]...", nargs=-1)
@option("--block", metavar="BLOCK", default="", help="Read at this block: its hash or its number.")
@option(
    "--limit",
    metavar="NUMBER",
    default="100",
    help="At most so many entries of a map (default 100, up to 10000).",
)
@click.option("--watch", is_flag=True, help="Follow new blocks: a line with block and value per change.")
@option("--count", metavar="NUMBER", default="", help="With --watch: end after so many lines.")
@field_option
def query(watch: bool, count: str, **fields: Any) -> None:
    """Read a chain: a storage item, a constant, or what a runtime API answers.

    PALLET may be a runtime API; names are matched without case, _ and -. PARAMs are numbers, addresses,
    0x hex, text, or JSON for what has parts. A map is listed where keys are left out. Text and numbers are
    printed as they are, all else as JSON with every integer as text.
    """
    if watch:
        _follow(read_count(count), **fields)
        return
    if count:
        raise InvalidRequest("count says how many changes --watch prints: leave it out, or add --watch")
    result = perform("queries.query_chain", "QueryChain", **fields)
    shown = _drawable(result.result) if sys.stdout.isatty() and not asked_for_json() else None
    if shown is not None:
        draw_json(shown)
    else:
        print_answer(result, plain=result.result)


def _drawable(text: str) -> Any:
    """Return the list or object that *text* is; None for a text that is none, whatever it begins with."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


def read_count(text: str) -> int:
    """Return after how many lines to end; 0 is never."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise InvalidRequest(f"count {shorten(text)} is not a number of lines, expected 1 or more")
    return int(text)


def _follow(count: int, **fields: Any) -> None:
    from scenarioctl.actions.chain_query import Change, watch
    from scenarioctl.operations.queries import QueryChain, entry_limit, read_request

    app = open_application()
    request = QueryChain(**fields)
    if request.block:
        raise InvalidRequest(
            f"block {shorten(request.block)} stands still, --watch follows the newest: leave one out"
        )
    changes = watch(app, read_request(app, request), limit=entry_limit(request.limit))

    async def following() -> Change:
        return await anext(changes)

    printed, warned = 0, False
    while not count or printed < count:
        change = finish(following())
        if change.warnings and not warned:
            click.echo(f"Warning: {printable(change.warnings[0])}", err=True)
            warned = True
        if asked_for_json():
            click.echo(dump_json({"block": change.block, "result": change.text}))
        else:
            click.echo(f"{change.block}\t{printable(change.text)}")
        printed += 1
    finish(changes.aclose())
