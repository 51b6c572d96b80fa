"""Pictures on a terminal, where it can show them, and in files."""

import os
import struct
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.files import atomic_write, reason_of

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
        raise InvalidRequest(f"{field} {shorten(path, 200)} cannot be written: {reason_of(error)}") from None


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
