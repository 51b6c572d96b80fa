"""`scenarioctl create`: scenarios from options or from a flow file; pictures of them, and QR codes
for wallets."""

import os
import sys
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.drawing import plain_command, print_drawn, print_one
from scenarioctl.cli.execution import (
    asked_for_data,
    emit,
    fields_for,
    perform,
    read_text,
    tell,
    warn,
)
from scenarioctl.cli.options import argument, option
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.files import atomic_write, reason_of

#: A flow file is written by hand; one larger than this is something else.
FLOW_LIMIT = 1024 * 1024
#: Ten thousand lines with long memos are shorter.
PAYOUT_LIMIT = 4 * 1024 * 1024


#: With no default: the file's name tells it.
syntax_option = option(
    "--syntax",
    metavar="toml|json",
    choices=("toml", "json"),
    default="",
    help="Syntax of the flow, toml or json, if the file name doesn't tell.",
)


def syntax_of(path: str, given: str) -> str:
    """Return the syntax that is *given*, else that of the file's name."""
    return given or ("json" if path.lower().endswith(".json") else "toml")


def is_file(word: str) -> bool:
    """Return whether *word* names a flow file, or stdin, and no scenario."""
    return word == "-" or "." in word or os.sep in word


class CreateGroup(Group):
    """`create FILE` is `create flow FILE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if is_file(args[0]):
            args = ["flow", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=CreateGroup, subcommand_metavar="COMMAND|FILE [ARGS]...")
def create() -> None:
    """Create a scenario; its id is printed.

    With FILE, create one of several steps from a flow file: `scenarioctl help flow` describes it.
    """


@create.command(
    operation="creation.create_flow", without=("flow",), example="scenarioctl create flow rent.toml"
)
@argument("path", metavar="FILE|-")
@syntax_option
def flow(path: str, syntax: str, **fields: Any) -> None:
    """Create a scenario of several steps from a flow file (.toml or .json); - reads stdin."""
    text = read_text(path, field="file", limit=FLOW_LIMIT)
    print_one(perform(flow=text, syntax=syntax_of(path, syntax), **fields), "result", is_id=True)


@create.command(
    operation="payouts.create_payout",
    without=("lines",),
    example="scenarioctl create payout salaries.csv --chain assetHub --asset USDT --memos",
)
@argument("csv_file", metavar="FILE.csv|-")
def payout(csv_file: str, **fields: Any) -> None:
    """Create a payout: pay each line of a CSV file, in as few transactions as the chains take; -
    reads stdin.

    The columns are account and amount, and if you like asset, memo and chain; the first line names
    them. Nothing is created until all lines are right.
    """
    text = read_text(csv_file, field="file", limit=PAYOUT_LIMIT)
    print_one(perform(lines=text, **fields), "result", is_id=True)


create.add_command(
    plain_command(
        "transfer",
        "creation.create_scenario",
        prints="result",
        is_id=True,
        example="scenarioctl create transfer --from polkadot --to assetHub --amount 1.5 --asset "
        "DOT \\\n"
        "    --to-address 14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3",
    )
)


@create.command(
    operation="creation.create_swap",
    others=("swap_quotes.quote_swap",),
    example="scenarioctl --offline create swap --sell DOT --buy HDX --amount 2 --min-received 900"
    "\n  scenarioctl create swap --sell DOT --buy HDX --amount 2 --quote",
)
@click.option(
    "--quote",
    is_flag=True,
    help="Only ask the exchange chain what it would buy now; nothing is built or stored.",
)
def swap(quote: bool, **fields: Any) -> None:
    """Create a swap scenario on the exchange parachain, and draft it.

    The id is printed; `--json` gives the unsigned transaction too.

    A minimum more than 50 % below the quote has to be confirmed with --yes; offline, one below a
    millionth of the tokens sold.
    """
    if quote:
        operation = "swap_quotes.quote_swap"
        print_drawn(operation, **fields_for(operation, "quote", fields))
    else:
        print_one(perform(**fields), "swap.scenarioid", is_id=True)


create.add_command(
    plain_command(
        "remark",
        "creation.create_remark",
        prints="result",
        is_id=True,
        example="scenarioctl create remark --chain polkadot --text 'paid in full'",
    )
)
create.add_command(
    plain_command(
        "query",
        "creation.create_query",
        prints="result",
        is_id=True,
        arguments=("pallet_name", "method_name", "params"),
        example=(
            "scenarioctl create query --chain polkadot System Account "
            "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
        ),
    )
)


#: Pixels of a module in a file.
SCALE = 8


def check_file(path: str) -> None:
    """Refuse a path that no picture should be written to, before any work is done for it."""
    if not path.lower().endswith(".png"):
        raise InvalidRequest(
            field="qr_file",
            value=path,
            limit=200,
            problem="is not a PNG file",
            expected="a path that ends in .png",
        )


def write_files(path: str, frames: Sequence[bytes]) -> list[str]:
    """Write a PNG for each of *frames* and return their paths: *path*, or where there are several
    `name-1.png` ….

    A file that is there is replaced.
    """
    from io import BytesIO

    from scenarioctl.render.svg import BORDER, make_codes

    written = []
    for number, code in enumerate(make_codes(frames), 1):
        name = path if len(frames) == 1 else f"{path[:-4]}-{number}{path[-4:]}"
        picture = BytesIO()
        code.save(picture, kind="png", scale=SCALE, border=BORDER)
        _write_whole(name, picture.getvalue(), field="qr_file")
        written.append(name)
    return written


def _write_whole(path: str, data: bytes, *, field: str) -> None:
    """Write a file whole or not at all; one that is there is replaced, and keeps its
    permissions."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            # A device or a pipe cannot be replaced; a folder says so itself.
            target.write_bytes(data)
            return
        atomic_write(target, data, mode=0o666)
    except (OSError, ValueError) as error:
        raise InvalidRequest(
            field=field, value=path, limit=200, problem=f"cannot be written: {reason_of(error)}"
        ) from None


_ENDINGS = {".png": "png", ".svg": "svg"}


def picture_options(function: Any) -> Any:
    """Add the options that say where a picture goes; its file's name tells the format."""
    output = option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the picture to FILE (.png or .svg). Default: stdout.",
    )
    form = option(
        "--format",
        metavar="FORMAT",
        choices=tuple(_ENDINGS.values()),
        help="png (default) or svg, if the name of FILE doesn't tell.",
    )
    return output(form(function))


@click.command(
    cls=Command,
    operation="previews.preview_scenario",
    others=("previews.preview_flow",),
    arguments=("scenario_id",),
    example="scenarioctl scenario preview 3kf9Qz7aB -o picture.png --theme dark\n"
    "  scenarioctl scenario preview rent.toml -o rent.svg",
)
@argument("scenario_id", metavar="ID|FILE|-")
@syntax_option
@picture_options
def preview(
    scenario_id: str, syntax: str, output: str | None, format: str | None, **fields: Any
) -> None:
    """Draw a scenario, or a flow file that isn't stored, into a file or to stdout.

    Cards show the problem of their step, and stderr has all of those of a flow file in full.
    """
    if is_file(scenario_id):
        text = read_text(scenario_id, field="file", limit=FLOW_LIMIT)
        fields |= {"instead": "previews.preview_flow", "flow": text}
        fields["syntax"] = syntax_of(scenario_id, syntax)
    elif syntax:
        raise InvalidRequest(field="syntax", problem="is only for a flow file")
    else:
        fields["scenario_id"] = scenario_id
    form = _choose_format(output, format)
    to_stdout = output in (None, "-")
    if asked_for_data() and output == "-":
        raise InvalidRequest(
            field="output", problem="'-' and --json both write to stdout: omit one of them"
        )
    if form == "png" and to_stdout and not asked_for_data() and sys.stdout.isatty():
        raise InvalidRequest(
            field="output", problem="is missing: a terminal shows no PNG", expected="-o FILE"
        )
    answer = perform(format=form, **fields).answer
    if not asked_for_data():
        _warn_of_problems(answer.get("problems", ()))
    picture = b64decode(answer["img"])
    if output is None or output == "-":
        emit(answer, lambda: click.echo(picture, nl=False))
        return
    _write_whole(output, picture, field="output")
    emit(answer, lambda: tell(f"Wrote {output}"))


def _warn_of_problems(problems: Iterable[Mapping[str, Any]]) -> None:
    """Print each problem of a flow file in full: a card has room for its beginning."""
    for each in problems:
        if not each.get("waiting"):
            field = each.get("field")
            joint = "." if field and each["problem"].startswith(field) else ": "
            warn(f"{each['step']}{joint}{each['problem']}")


def _choose_format(output: str | None, given: str | None) -> str:
    """Return the format that the file's name or the option says, PNG where nothing does."""
    ending = next(
        (name for end, name in _ENDINGS.items() if (output or "").lower().endswith(end)), None
    )
    if given is None:
        if output not in (None, "-") and ending is None:
            raise InvalidRequest(
                field="output",
                value=output,
                limit=200,
                problem="does not tell a format",
                expected=f"a name that ends in {' or '.join(_ENDINGS)}, or --format",
            )
        return ending or "png"
    if ending is not None and given in _ENDINGS.values() and ending != given:
        raise InvalidRequest(
            field="format",
            value=given,
            problem=f"contradicts the name of output {shorten(output, 200)}: omit one of them",
        )
    return given
