"""`scenarioctl scenario preview` and `flow preview`: pictures on a terminal and in files; QR codes
for wallets."""

import os
import struct
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from scenarioctl.cli.answer_file import write_whole
from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.create import FLOW_LIMIT, syntax_of, syntax_option
from scenarioctl.cli.execution import asked_for_data, emit, perform, read_text, tell, warn
from scenarioctl.cli.options import argument, option
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.render.raster import BORDER, make_codes

if TYPE_CHECKING:
    from segno import QRCode

#: How a terminal is shown a picture; `text` works on all of them.
WAYS = ("kitty", "iterm2", "text")

#: Of base64, as much as kitty takes in one sequence.
_CHUNK = 4096
#: Pixels of a character cell where the terminal does not say.
_CELL = 9


def find_way() -> str:
    """Return how stdout can be shown a picture: one of WAYS."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "").startswith(("screen", "tmux", "dumb")):
        return "text"
    term, program = os.environ.get("TERM", ""), os.environ.get("TERM_PROGRAM", "")
    if "KITTY_WINDOW_ID" in os.environ or "kitty" in term or "ghostty" in (term + program).lower():
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty") or os.environ.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    return "text"


def show(way: str, png: bytes) -> Iterator[str]:
    """Yield what makes a terminal show *png* in this *way*."""
    columns, pixels = _screen()
    (wide,) = struct.unpack(">I", png[16:20])
    cells = min(columns, max(1, round(wide / (pixels / columns if pixels else _CELL))))
    data = b64encode(png).decode()
    if way == "iterm2":
        yield (
            f"\x1b]1337;File=inline=1;size={len(png)};width={cells};"
            f"preserveAspectRatio=1:{data}\x07\n"
        )
        return
    for start in range(0, len(data), _CHUNK):
        # Quiet (q=2): what it answered would be typed into the shell that comes after.
        first = f"a=T,f=100,q=2,c={cells}," if start == 0 else ""
        more = int(start + _CHUNK < len(data))
        yield f"\x1b_G{first}m={more};{data[start : start + _CHUNK]}\x1b\\"
    yield "\n"


def text_for(stream: TextIO, drawing: str) -> str:
    """Return *drawing* in signs that *stream* can take."""
    try:
        drawing.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        from scenarioctl.render.text import ascii_only

        return ascii_only(drawing)
    return drawing


def _screen() -> tuple[int, int]:
    """Return the terminal's width in columns and in pixels, 0 where it does not say."""
    from shutil import get_terminal_size

    pixels = 0
    try:
        import fcntl
        import termios

        answer = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8))
        pixels = struct.unpack("HHHH", answer)[2]
    except (ImportError, OSError, ValueError):
        pass
    return get_terminal_size().columns, pixels


#: Pixels of a module in a file.
SCALE = 8
#: By whether the upper and the lower module are painted.
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_BLACK_ON_WHITE, _RESET = "\x1b[38;5;16;48;5;231m", "\x1b[0m"


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

    written = []
    for number, code in enumerate(make_codes(frames), 1):
        name = path if len(frames) == 1 else f"{path[:-4]}-{number}{path[-4:]}"
        picture = BytesIO()
        code.save(picture, kind="png", scale=SCALE, border=BORDER)
        write_whole(name, picture.getvalue(), field="qr_file")
        written.append(name)
    return written


def draw_codes(frames: Sequence[bytes], *, err: bool = False) -> None:
    """Draw a QR code for each of *frames*, two modules to a letter, on stdout or stderr."""
    stream = sys.stderr if err else sys.stdout
    terminal = stream.isatty()
    drawings = [draw_code(code, colored=terminal) for code in make_codes(frames)]
    _check_screen(drawings, stream, terminal)
    for number, drawing in enumerate(drawings, 1):
        if len(drawings) > 1:
            click.echo(f"{number} of {len(drawings)}", err=err)
        click.echo("\n".join(drawing), err=err, color=terminal)


def draw_code(code: "QRCode", *, colored: bool) -> list[str]:
    """Return the lines of a drawing: black on white, or where colors cannot be set for the dark
    screens most have."""
    rows = [[module & 1 for module in row] for row in code.matrix_iter(border=BORDER)]
    if len(rows) % 2:
        rows.append([0] * len(rows[0]))
    lines = [
        "".join(
            _HALVES[bool(upper) is colored, bool(lower) is colored]
            for upper, lower in zip(*pair, strict=True)
        )
        for pair in zip(rows[::2], rows[1::2], strict=True)
    ]
    return [f"{_BLACK_ON_WHITE}{line}{_RESET}" for line in lines] if colored else lines


def _check_screen(drawings: list[list[str]], stream: object, terminal: bool) -> None:
    from shutil import get_terminal_size

    try:
        "▀▄█".encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(
            field="qr",
            problem=(
                f"cannot be drawn: the terminal's encoding {getattr(stream, 'encoding', '')} "
                "has no block characters; use --qr-file, or UTF-8"
            ),
        ) from None
    width = max(
        len(line.removeprefix(_BLACK_ON_WHITE).removesuffix(_RESET)) for line in drawings[0]
    )
    columns = get_terminal_size().columns
    if terminal and width > columns:
        raise InvalidRequest(
            field="qr",
            problem=(
                f"needs {width} columns, but the terminal has {columns}: widen it, or use --qr-file"
            ),
        )


_ENDINGS = {".png": "png", ".svg": "svg", ".txt": "text"}


def picture_options(function: Any) -> Any:
    """Add the options that say where a picture goes; its file's name tells the format."""
    output = option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the picture to FILE (.png, .svg or .txt); - is stdout.",
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


def show_preview(
    output: str | None, format: str | None, draw: str | None, fields: dict[str, Any]
) -> None:
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
    """Return the format that the file's name, the option or `-o -` says; None where nothing
    does."""
    ending = next(
        (name for end, name in _ENDINGS.items() if (output or "").lower().endswith(end)), None
    )
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
            problem=(
                "'png' cannot be shown on this terminal: name a file with -o, or omit --format "
                "for a text drawing"
            ),
        )
    if way != "text":
        for part in show(way, b64decode(ask("png")["img"])):
            click.echo(part, nl=False, color=True)
        return
    from shutil import get_terminal_size

    columns = fields["width"] or str(max(40, min(1000, get_terminal_size().columns)))
    drawing = b64decode(ask("text", width=columns)["img"]).decode()
    click.echo(text_for(sys.stdout, drawing), nl=False)


@click.group(cls=Group)
def flow() -> None:
    """Draw flow files."""


@flow.command(
    "preview",
    operation="previews.preview_flow",
    arguments=("flow",),
    example="scenarioctl flow preview rent.toml -o rent.svg",
)
@argument("flow", metavar="FILE")
@syntax_option
@picture_options
def preview_flow(
    flow: str, syntax: str, output: str | None, format: str | None, draw: str | None, **fields: Any
) -> None:
    """Draw a flow file (- for stdin) without storing it, on the terminal or into a file.

    Without a file, the terminal shows the picture if it can; otherwise it is drawn as text. Cards
    show the problem of their step, and stderr has all of them in full.
    """
    text = read_text(flow, field="file", limit=FLOW_LIMIT)
    show_preview(output, format, draw, {"flow": text, "syntax": syntax_of(flow, syntax), **fields})
