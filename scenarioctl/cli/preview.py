"""`scenarioctl scenario preview`, and pictures of other commands."""

import sys
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

import click

from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import asked_for_data, emit, perform, tell, warn
from scenarioctl.cli.options import option
from scenarioctl.cli.pictures import WAYS, find_way, show, text_for, write_whole
from scenarioctl.errors import InvalidRequest, shorten

_ENDINGS = {".png": "png", ".svg": "svg", ".txt": "text"}


def picture_options(function: Any) -> Any:
    """Add the options that say where a picture goes; its file's name tells the format."""
    output = option(
        "--output", "-o", metavar="FILE", help="Write the picture to FILE (.png, .svg or .txt); - is stdout."
    )
    form = option(
        "--format",
        metavar="FORMAT",
        choices=("png", "svg", "text"),
        help="png, svg or text, if the name of FILE doesn't tell.",
    )
    draw = option(
        "--draw",
        metavar="WAY",
        choices=WAYS,
        help="How this terminal shows pictures: kitty, iterm2, or text.",
    )
    return output(form(draw(function)))


@click.command(
    cls=Command,
    operation="previews.preview_scenario",
    arguments=("scenario_id",),
    example="scenarioctl scenario preview 3kf9Qz7aB -o picture.png --theme dark",
)
@picture_options
def preview(output: str | None, format: str | None, draw: str | None, **fields: Any) -> None:
    """Draw a scenario on the terminal or into a file.

    Without a file, the terminal shows the picture if it can; otherwise it is drawn as text.
    """
    show_preview(output, format, draw, fields)


def show_preview(output: str | None, format: str | None, draw: str | None, fields: dict[str, Any]) -> None:
    """Ask for the picture of a request of *fields*, and show it or write it into a file."""
    form = _choose_format(output, format)
    if draw is not None and draw not in WAYS:
        raise InvalidRequest(
            field="draw", value=draw, problem="is unknown", expected=f"one of: {', '.join(WAYS)}"
        )

    def ask(form: str, **more: str) -> Any:
        answer = perform(
            format=form,
            **fields | more,
        ).answer
        if not asked_for_data():
            _warn_of_problems(answer.get("problems", ()))
        return answer

    if form is not None and form not in _ENDINGS.values():
        # Refused in the words of the endpoint.
        ask(form)
    elif output is not None and output != "-":
        answer = ask(form or "png")
        write_whole(output, b64decode(answer["img"]), field="output")
        emit(answer, lambda: tell(f"Wrote {output}"))
    elif asked_for_data():
        if output is not None:
            raise InvalidRequest(
                field="output", problem="'-' and --json both write to stdout: omit one of them"
            )
        emit(ask(form or "png"), lambda: None)
    elif form in ("png", "svg") and (form == "svg" or not sys.stdout.isatty()):
        click.echo(b64decode(ask(form)["img"]), nl=False)
    else:
        _show(ask, draw, form, fields)


def _warn_of_problems(problems: Iterable[Mapping[str, Any]]) -> None:
    """Print each problem of a flow file in full: a card has room for its beginning."""
    for each in problems:
        if not each.get("waiting"):
            field = each.get("field")
            joint = "." if field and each["problem"].startswith(field) else ": "
            warn(f"{each['step']}{joint}{each['problem']}")


def _choose_format(output: str | None, given: str | None) -> str | None:
    """Return the format that the file's name, the option or `-o -` says; None where nothing does."""
    ending = next((name for end, name in _ENDINGS.items() if (output or "").lower().endswith(end)), None)
    if given is None:
        if output is None:
            return None
        if ending is None and output != "-":
            raise InvalidRequest(
                field="output",
                value=output,
                limit=200,
                problem="does not tell a format",
                expected=f"a name that ends in {', '.join(_ENDINGS)}, or --format",
            )
        return ending or "png"
    if ending is not None and given in _ENDINGS.values() and ending != given:
        raise InvalidRequest(
            field="format",
            value=given,
            problem=f"contradicts the name of output {shorten(output, 200)}: omit one of them",
        )
    return given


def _show(ask: Any, draw: str | None, form: str | None, fields: dict[str, Any]) -> None:
    """Draw on stdout: a picture where the terminal can show one, else text."""
    way = "text" if form == "text" else draw or find_way()
    if way == "text" and form == "png":
        raise InvalidRequest(
            field="format",
            problem="'png' cannot be shown on this terminal: name a file with -o, or omit --format for a text drawing",
        )
    if way != "text":
        for part in show(way, b64decode(ask("png")["img"])):
            click.echo(part, nl=False, color=True)
        return
    from shutil import get_terminal_size

    columns = fields["width"] or str(max(40, min(1000, get_terminal_size().columns)))
    drawing = b64decode(ask("text", width=columns)["img"]).decode()
    click.echo(text_for(sys.stdout, drawing), nl=False)
