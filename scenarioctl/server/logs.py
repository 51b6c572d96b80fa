"""The daemon's log on stderr: with priorities for journald, else with timestamps."""

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from scenarioctl.errors import StoreUnavailable

#: Level -> syslog priority, which journald reads from the start of a line.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4}
#: Lines queued for stderr. Further lines are dropped.
_WAITING = 10_000
#: Seconds for writing the last lines at exit.
_PARTING = 2.0
#: journald prefix of the error that keeps the daemon from starting.
ERROR = "<3>"
#: Attributes of every record; others come from `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Line(logging.Formatter):
    """Formats `sentence key=value key="two words"` in one line, followed by any traceback."""

    def __init__(self, *, for_journal: bool) -> None:
        super().__init__()
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        words = [_in_one_line(record.getMessage())]
        words += [f"{key}={_quoted(value)}" for key, value in fields_of(record).items()]
        lines = [" ".join(words)]
        if record.exc_info:
            lines += [
                _in_one_line(each) for each in self.formatException(record.exc_info).splitlines()
            ]
        if self._for_journal:
            # journald adds the time, and treats each line as an entry.
            start = f"<{_PRIORITIES.get(record.levelno, 3)}>"
        else:
            moment = time.gmtime(record.created)
            start = (
                f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(record.msecs):03}Z "
                f"{record.levelname.lower()} "
            )
        return "\n".join(start + line for line in lines)


class Journal(logging.Handler):
    """Writes lines in a thread, so that a pipe that nobody reads on stderr doesn't block the event
    loop."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: queue.Queue[str] = queue.Queue(_WAITING)
        threading.Thread(target=self._write, name="journal", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, unless the queue is full."""
        with suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def flush(self) -> None:
        """Wait up to 2 seconds until the queue is written."""
        deadline = time.monotonic() + _PARTING
        while self._lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            data = self._lines.get().encode(errors="backslashreplace") + b"\n"
            # Ignore a closed stderr.
            with suppress(OSError):
                while data:
                    data = data[os.write(self._descriptor, data) :]
            self._lines.task_done()


def fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the `extra` fields of *record*."""
    return {key: value for key, value in vars(record).items() if key not in _OWN}


def _in_one_line(text: str) -> str:
    # Client data must neither start a new line nor send escape sequences to a terminal.
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    )


def _quoted(value: object) -> str:
    text = _in_one_line(f"{value:.6g}" if isinstance(value, float) else str(value))
    if text and not any(letter in ' "=' for letter in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether *record* says more than that the store is away, which the store tells itself,
    once."""
    return not any(isinstance(value, StoreUnavailable) for value in record.args or ())


def is_for_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether *stream* is connected to journald, according to JOURNAL_STREAM."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def start_logging(level: str, *, environment: Mapping[str, str] = os.environ) -> None:
    """Start logging to stderr, from libraries only warnings and errors."""
    journal = Journal(sys.stderr.fileno())
    journal.addFilter(_is_news)
    journal.setFormatter(Line(for_journal=is_for_journal(sys.stderr, environment)))
    root = logging.getLogger()
    root.handlers = [journal]
    logging.raiseExceptions = False
    set_level(level)


def set_level(level: str) -> None:
    """Set the log level: of libraries, at least warning."""
    # At lower levels, libraries log the data that they send.
    logging.getLogger().setLevel(logging.ERROR if level == "error" else logging.WARNING)
    logging.getLogger("scenarioctl").setLevel(level.upper())
