"""`--output`: what a command prints goes into a file."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click

from scenarioctl.cli.output import printable, say
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.files import atomic_write, reason_of


@contextmanager
def written_whole(path: str, *, quiet: bool = False) -> Iterator[None]:
    """Write to the file *path* what is printed on stdout meanwhile; nothing if an error ends it.

    Then say so on stderr, unless *quiet*.  A path that can't be written is refused before anything
    is done: nobody would hear what was created then.
    """
    _check(path)
    written, stdout = BytesIO(), sys.stdout
    sys.stdout = TextIOWrapper(written, "utf-8", newline="")
    try:
        yield
    except click.exceptions.Exit:
        # The answer is there, and the exit code says something about it.
        _write(path, written, quiet=quiet)
        raise
    else:
        _write(path, written, quiet=quiet)
    finally:
        sys.stdout = stdout


def _check(path: str) -> None:
    try:
        reason = _obstacle(Path(os.path.realpath(path)))
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    if reason:
        raise InvalidRequest(
            field="output", value=path, limit=200, problem=f"cannot be written: {reason}"
        )


def _obstacle(target: Path) -> str:
    """Return why a file can't be written; empty if it can, as far as anybody can tell before."""
    if target.is_dir():
        return "it is a directory"
    if not target.parent.is_dir():
        return f"there is no directory {shorten(str(target.parent), 200)}"
    try:
        is_file = stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        is_file = True
    # A file is replaced; a device or a pipe is written to.
    return "" if os.access(target.parent if is_file else target, os.W_OK) else "no permission"


def _write(path: str, written: BytesIO, *, quiet: bool) -> None:
    sys.stdout.flush()
    write_whole(path, written.getvalue(), field="output")
    if not quiet:
        say(printable(f"Wrote {path}"))


def write_whole(path: str, data: bytes, *, field: str) -> None:
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
