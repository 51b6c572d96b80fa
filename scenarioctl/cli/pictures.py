"""Pictures on a terminal, where it can show them, and in files; QR codes for wallets that scan them."""

import os
import struct
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from scenarioctl.errors import InvalidRequest
from scenarioctl.files import atomic_write, reason_of
from scenarioctl.render.qr import BORDER, make_codes

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
        yield f"\x1b]1337;File=inline=1;size={len(png)};width={cells};preserveAspectRatio=1:{data}\x07\n"
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


def write_whole(path: str, data: bytes, *, field: str) -> None:
    """Write a file whole or not at all; one that is there is replaced, and keeps its permissions."""
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
            field="qr",
            problem=f"cannot be drawn: the terminal's encoding {getattr(stream, 'encoding', '')} has no block characters; use --qr-file, or UTF-8",
        ) from None
    width = max(len(line.removeprefix(_BLACK_ON_WHITE).removesuffix(_RESET)) for line in drawings[0])
    columns = get_terminal_size().columns
    if terminal and width > columns:
        raise InvalidRequest(
            field="qr",
            problem=f"needs {width} columns, but the terminal has {columns}: widen it, or use --qr-file",
        )
