"""QR codes on a terminal and as PNG files, for wallets that scan them."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from scenarioctl.cli.pictures import write_whole
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.render.qr import BORDER, make_codes

if TYPE_CHECKING:
    from segno import QRCode

#: Pixels of a module in a file.
SCALE = 8
#: By whether the upper and the lower module are painted.
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_BLACK_ON_WHITE, _RESET = "\x1b[38;5;16;48;5;231m", "\x1b[0m"


def check_file(path: str) -> None:
    """Refuse a path that no picture should be written to, before any work is done for it."""
    if not path.lower().endswith(".png"):
        raise InvalidRequest(
            f"qr_file {shorten(path, 200)} is not a PNG file, expected a path that ends in .png"
        )


def write_files(path: str, frames: Sequence[bytes]) -> list[str]:
    """Write a PNG for each of *frames* and return their paths: *path*, or where there are several `name-1.png` ….

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
    """Return the lines of a drawing: black on white, or where colors cannot be set for the dark screens most have."""
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
            f"qr cannot be drawn: the terminal's encoding {getattr(stream, 'encoding', '')} has no block characters; use --qr-file, or UTF-8"
        ) from None
    width = max(len(line.removeprefix(_BLACK_ON_WHITE).removesuffix(_RESET)) for line in drawings[0])
    columns = get_terminal_size().columns
    if terminal and width > columns:
        raise InvalidRequest(
            f"qr needs {width} columns, but the terminal has {columns}: widen it, or use --qr-file"
        )
