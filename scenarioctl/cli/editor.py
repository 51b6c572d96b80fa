"""A text that is changed in the editor of the person at the terminal."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from scenarioctl.cli.execution import IMPORT_LIMIT, read_text
from scenarioctl.cli.output import printable, say
from scenarioctl.errors import BadJson, InvalidRequest, ScenarioctlError, TooLarge, Warned, shorten

T = TypeVar("T")

#: Tried in this order if neither VISUAL nor EDITOR is set.
_EDITORS = ("sensible-editor", "nano", "vi")


def check_terminal() -> None:
    """Refuse to open an editor where nobody could use it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidRequest(
            "the editor needs a terminal on stdin and stdout. Pass the new version with "
            "--file FILE, or --file - for stdin."
        )
    _find_editor()


def _find_editor() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        text = os.environ.get(variable, "").strip()
        if text:
            try:
                return shlex.split(text)
            except ValueError:
                raise InvalidRequest(
                    field=variable,
                    value=text,
                    problem="is not a command",
                    expected="one like: nano",
                ) from None
    found = next(filter(shutil.which, _EDITORS), None)
    if found is None:
        raise InvalidRequest(
            "no editor was found. Set EDITOR to the command of one, or pass the new "
            "version with --file FILE."
        )
    return [found]


def edit_text(text: str, *, about: Sequence[str], name: str, save: Callable[[str], T]) -> T | None:
    """Return what *save* returns for the text that the editor leaves behind; None if it wasn't
    changed.

    If *save* refuses the text, the editor opens again with the reason at the top.  A person who
    then changes nothing gives up. What they wrote stays in a file, which a note of the error names.
    """
    folder = Path(tempfile.mkdtemp(prefix="scenarioctl-"))
    path = folder / name
    refused: ScenarioctlError | None = None
    said = list(about)
    last = text
    shown = b""
    try:
        while True:
            shown = ("".join(f"# {printable(line)}\n" for line in said) + last).encode()
            path.write_bytes(shown)
            _open(path)
            edited = _without_comments(read_text(str(path), field="file", limit=IMPORT_LIMIT))
            shown = path.read_bytes()
            if not edited.strip():
                if refused is None:
                    break
                edited = last
            if edited == last:
                if refused is None:
                    break
                raise refused  # noqa: TRY301
            last = edited
            try:
                # As many lines as the comments will have that show an error, so that its line is
                # the one in the file.
                saved = save("\n" * (len(about) + 2) + edited)
            except (InvalidRequest, BadJson, TooLarge, Warned) as error:
                refused = error
                said = [f"Error: {error}", "Change nothing to give up.", *about]
                say(f"Error: {printable(error)}")
                continue
            shutil.rmtree(folder, ignore_errors=True)
            return saved
    except BaseException as error:
        # What the editor left but could not be read stays as it is: it is newer than the last
        # version.
        is_unread = path.exists() and path.read_bytes() != shown
        if last == text and not is_unread:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            if not is_unread:
                path.write_text(last, "utf-8")
            error.add_note(f"Your version is kept in {path}")
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _without_comments(text: str) -> str:
    """Return *text* without the comments at its top."""
    lines = text.splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        del lines[0]
    return "".join(lines)


def _open(path: Path) -> None:
    command = _find_editor()
    try:
        with _left_to_the_editor():
            # The person has set the command.
            ended = subprocess.run([*command, str(path)], check=False)  # noqa: S603
    except OSError as error:
        raise InvalidRequest(
            f"the editor {shorten(command[0])} cannot be started: {error.strerror}. Set "
            "EDITOR to the command of another one."
        ) from error
    if ended.returncode:
        raise InvalidRequest(
            f"the editor {shorten(command[0])} ended with exit code {ended.returncode}: "
            "nothing was changed"
        )


@contextmanager
def _left_to_the_editor() -> Iterator[None]:
    """Let Ctrl-C go to the editor alone."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
