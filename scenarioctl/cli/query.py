"""`scenarioctl query`, `quote` and `contract`: what chains are asked."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.execution import (
    asked_for_data,
    emit,
    open_application,
    perform,
    print_answer,
    read_settings,
    read_text,
    refuse_output_file,
    run,
    tell,
    warn,
)
from scenarioctl.cli.options import option
from scenarioctl.cli.output import draw_facts, draw_json, draw_table, printable
from scenarioctl.errors import (
    ChainRefused,
    ChainUnreachable,
    DaemonUnreachable,
    InvalidRequest,
    NotReady,
    ScenarioctlError,
)
from scenarioctl.model.amounts import read_number

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: How often a daemon is asked for the newest block: less than any chain's block takes.
POLL_SECONDS = 2.0
#: So long is a node that was lost, or a daemon, tried again before --watch ends.
PATIENCE_SECONDS = 300.0
#: Between two attempts; the first is made at once.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
#: A connection that stood so long was good: its loss is another one.
STOOD_SECONDS = 30.0


@click.command(
    cls=Command,
    operation="queries.query_chain",
    arguments=("chain", "pallet_name", "method_name", "params"),
    example="scenarioctl query polkadot System Account "
    "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3\n"
    "  scenarioctl query assetHub Assets Metadata --limit 20\n"
    "  scenarioctl query polkadot Balances ExistentialDeposit\n"
    "  scenarioctl query polkadot Core version",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Follow new blocks and print block and value at each change. If the node is lost, "
    "reconnect for five minutes, "
    "to other endpoints too, and print the changes in between.",
)
@option("--count", metavar="NUMBER", default="", help="With --watch: end after this many lines.")
def query(watch: bool, count: str, **fields: Any) -> None:
    """Read a chain: a storage item, a constant, or what a runtime API answers.

    PALLET may be a runtime API; names are matched without case, _ and -. PARAMs are numbers,
    addresses, 0x hex, text, or JSON for what has parts. A map is listed where keys are left out.
    Text and numbers are printed as they are, all else as JSON with every integer as text.
    """
    if watch:
        refuse_output_file("--watch")
        _follow(read_count(count), **fields)
        return
    if count:
        raise InvalidRequest(
            field="count",
            problem="is only for --watch, which prints that many changes: omit it, or add --watch",
        )
    result = perform(**fields)
    text = result.answer["result"]
    shown = _drawable(text) if sys.stdout.isatty() and not asked_for_data() else None
    if shown is not None:
        draw_json(shown)
    else:
        print_answer(result, plain="result")
    if "human" in result.answer and sys.stdout.isatty() and not asked_for_data():
        tell(result.answer["human"])


def _drawable(text: str) -> Any:
    """Return the list or object that *text* is; None for a text that is none, whatever it begins
    with."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


def read_count(text: str) -> int:
    """Return after how many lines to end; 0 is never."""
    if not text:
        return 0
    return read_number(text, field="count", kind="a number of lines", expected="1 or more", least=1)


def _follow(count: int, **fields: Any) -> None:
    if fields["block"]:
        raise InvalidRequest(
            field="block",
            value=fields["block"],
            problem="is fixed, but --watch follows new blocks: omit one of them",
        )
    output = _Output(count)
    if read_settings().url:
        for change in _remote_changes(fields):
            if output.is_full_after(*change):
                return
    else:
        run(_print_changes(open_application(), output, fields))


class _Output:
    """Prints changes, one a line, until there are *count*; 0 is never."""

    def __init__(self, count: int) -> None:
        self._left = count

    def is_full_after(self, block: int, text: str, warnings: Sequence[str]) -> bool:
        """Print a change, and tell whether it was the last one."""
        for warning in warnings[:1]:
            warn(warning)
        emit({"block": block, "result": text}, lambda: click.echo(f"{block}\t{printable(text)}"))
        self._left -= 1
        return self._left == 0


async def _print_changes(app: "Application", output: _Output, fields: Mapping[str, Any]) -> None:
    """Print the answer of now, and at each new block that changes it."""
    import asyncio

    from scenarioctl.actions.query_watch import Watch
    from scenarioctl.operations.queries import QueryChain, entry_limit, read_request

    app.tell = tell
    request = QueryChain(**fields)
    watch = Watch(app, read_request(app, request), limit=entry_limit(request.limit))
    patience = Patience()
    while True:
        try:
            async with aclosing(watch.changes()) as changes:
                async for change in changes:
                    if output.is_full_after(change.block, change.text, change.warnings):
                        return
        except ChainUnreachable as error:
            if watch.number is None:
                raise
            await watch.leave()
            await asyncio.sleep(patience.next_pause(error, watch.number))


def _remote_changes(fields: Mapping[str, Any]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """Yield block, answer and warnings of each change; the daemon is asked for the newest block
    again and again."""
    from time import sleep

    from scenarioctl.actions.query_watch import MOST_MISSED, Unread
    from scenarioctl.cli.remote import ask
    from scenarioctl.operations.queries import QueryChain

    settings = read_settings()
    _refuse_what_stands_still(fields)
    head = QueryChain(chain=fields["chain"], pallet_name="System", method_name="Number")
    before: str | None = None
    seen: int | None = None
    patience = Patience()
    while True:
        try:
            newest = int(ask(settings, "queries.query_chain", head).answer["result"])
            if patience.waited:
                patience.waited = False
                tell(f"following {fields['chain']} again at {settings.url}, block {newest}")
            following = newest if seen is None else seen + 1
            first = max(following, newest - MOST_MISSED)
            with Unread(tell) as unread:
                unread.add(range(following, first), f"they are more than {MOST_MISSED}")
                for block in range(first, newest + 1):
                    at = QueryChain(**{**fields, "block": str(block)})
                    try:
                        result = ask(settings, "queries.query_chain", at)
                    except ChainRefused as error:
                        if block == newest:
                            raise
                        unread.add(range(block, block + 1), str(error))
                        continue
                    seen, text = block, result.answer["result"]
                    if text != before:
                        before = text
                        yield block, text, result.warnings
        except (ChainUnreachable, DaemonUnreachable, NotReady) as error:
            if seen is None:
                raise
            sleep(patience.next_pause(error, seen))
            continue
        sleep(POLL_SECONDS)


def _refuse_what_stands_still(fields: Mapping[str, Any]) -> None:
    """Refuse to follow a constant, as the daemon would be asked for it for ever; a chain of its
    alone is not known here."""
    from scenarioctl.actions.query_watch import check_watch
    from scenarioctl.operations.queries import QueryChain, read_request

    app = open_application()
    try:
        query = read_request(app, QueryChain(**fields))
    except InvalidRequest:
        # The daemon says what it is.
        return
    check_watch(app, query)


class Patience:
    """How long a lost node is tried again."""

    def __init__(self) -> None:
        #: Whether the last thing that happened is a loss.
        self.waited = False
        self._since = self._tried = 0.0
        self._block: int | None = None
        self._pause = 0.0

    def next_pause(self, error: ScenarioctlError, block: int) -> float:
        """Return the seconds until the next attempt to go on behind *block*; raise *error* after
        the last one."""
        from time import monotonic

        now = monotonic()
        if self._block != block or now - self._tried > STOOD_SECONDS:
            self._since, self._block, self._pause = now, block, 0.0
            tell(
                f"lost after block {block}, trying again for {PATIENCE_SECONDS:g} seconds: {error}"
            )
        elif now + self._pause - self._since > PATIENCE_SECONDS:
            raise type(error)(f"{error}; nothing new came for {PATIENCE_SECONDS:g} seconds")
        pause = self._pause
        self._pause = min(max(pause * 2, SHORTEST_PAUSE), LONGEST_PAUSE)
        self._tried = now + pause
        self.waited = True
        return pause


@click.command(
    cls=Command,
    operation="swap_quotes.quote_swap",
    example="scenarioctl quote --sell DOT --buy HDX --amount 2\n"
    "  scenarioctl quote --sell DOT --buy HDX --amount 2 --field min_amount_out",
)
def quote(**fields: Any) -> None:
    """Ask the exchange chain what a swap would buy now.

    Nothing is built or stored: `create swap` asks again. Amounts are in the smallest unit, the
    price in whole tokens.
    """
    result = perform(**fields)
    print_answer(result, draw=lambda: _draw_quote(result.answer))


def _draw_quote(answer: Mapping[str, Any]) -> None:
    from scenarioctl.transactions.swap.swap_call import format_route, parse_route

    impact = answer["impact_percent"]
    facts = {
        "sold": answer["sold"],
        "received": answer["received"],
        "at least": answer["at_least"],
        "price": answer["price"] or "unknown",
        "impact": "unknown" if impact is None else f"{impact} %",
    }
    if answer["asset_fee"] is not None:
        facts["asset fee"] = f"{answer['asset_fee']} %"
        facts["protocol fee"] = f"{answer['protocol_fee']} %"
    route = parse_route(answer["route"], field="route")
    draw_facts({**facts, "route": format_route(route), "block": answer["block"] + 1})


#: Contract metadata with the code blob in it stays below this.
ABI_LIMIT = 16 * 1024 * 1024


@click.group(cls=Group)
def contract() -> None:
    """Describe ink! smart contracts."""


@contract.command(operation="queries.contract_info", arguments=("address",), without=("abiJson",))
@option(
    "--abi",
    "abi",
    metavar="FILE",
    required=True,
    help="The contract's JSON metadata (or .contract bundle); - reads stdin.",
)
def info(abi: str, **fields: Any) -> None:
    """List the messages of an ink! contract: name, selector, whether it changes the contract,
    arguments."""
    from scenarioctl.formats.documents import parse_json

    metadata = parse_json(read_text(abi, field="abi", limit=ABI_LIMIT), field="abi")
    result = perform(abiJson=metadata, **fields)

    def draw() -> None:
        answer = result.answer
        draw_table(
            ("selector", "mutates", "function"),
            (
                (
                    each["selector"],
                    "yes" if each["mutates"] else "no",
                    f"{each['function_name']}({', '.join(each['args'])})",
                )
                for each in answer["description"]
            ),
        )
        known = {True: "yes", False: "no", None: "not known"}[answer["onchain"]]
        click.echo(f"a contract lives at the address: {known}")

    print_answer(result, draw=draw)
