"""How far a long operation is, on stderr: a line for each step, and on a terminal a clock below them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scenarioctl.cli.execution import open_application, read_settings
from scenarioctl.cli.output import printable, say


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show what handlers tell while the block runs; those of a daemon tell nothing."""
    if read_settings().url:
        yield
        return
    app = open_application()
    before = app.tell
    try:
        if not sys.stderr.isatty():
            app.tell = lambda words: say(printable(words))
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
        from rich.text import Text

        with Progress(
            SpinnerColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
        ) as progress:
            progress.add_task("")
            # Above the clock, and left standing: the hash in it is wanted when the wait is broken off.
            app.tell = lambda words: progress.console.print(Text(printable(words)), soft_wrap=True)
            yield
    finally:
        app.tell = before


@contextmanager
def shown_bar() -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes how much is done and how much there is; on a terminal a bar shows it."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005 - nobody looks
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
