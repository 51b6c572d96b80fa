"""How far a long operation is, on stderr: a line that changes on a terminal, a line for each step elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from scenarioctl.cli.base import open_application, printable, say


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show what handlers tell while the block runs."""
    app = open_application()
    before = app.tell
    try:
        if not sys.stderr.isatty():
            app.tell = lambda words: say(printable(words))
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with Progress(
            SpinnerColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
        ) as progress:
            task = progress.add_task("")
            app.tell = lambda words: progress.update(task, description=printable(words))
            yield
    finally:
        app.tell = before
