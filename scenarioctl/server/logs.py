"""How the daemon logs: lines on stderr, for journald with its priorities, for people with the time."""

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, TextIO

#: What `log_level` can be.
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
#: syslog's numbers, which journald reads in front of a line.
_PRIORITIES = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
#: Lines that wait for whoever reads stderr; those beyond are left out, and counted.
_WAITING = 10_000
#: Seconds that the last lines have at the end.
_PARTING = 2.0
#: In front of a line that says why the daemon does not start.
ERROR = "<3>"
#: What every record has; whatever else is on one came as `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Line(logging.Formatter):
    """`sentence key=value key="two words"`: one line each, whatever a value holds, but for tracebacks."""

    def __init__(self, *, for_journal: bool) -> None:
        super().__init__()
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        words = [_in_one_line(record.getMessage())]
        words += [f"{key}={_quoted(value)}" for key, value in fields_of(record).items()]
        lines = [" ".join(words)]
        if record.exc_info:
            lines += [_in_one_line(each) for each in self.formatException(record.exc_info).splitlines()]
        if self._for_journal:
            # It has the time itself, and takes every line for an entry of its own.
            start = f"<{_priority(record.levelno)}>"
        else:
            moment = time.gmtime(record.created)
            start = f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(record.msecs):03}Z {record.levelname.lower()} "
        return "\n".join(start + line for line in lines)


class Journal(logging.Handler):
    """Lets a thread write the lines: stderr may be a pipe that nobody reads, and the event loop must not wait for it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: queue.Queue[str] = queue.Queue(_WAITING)
        self._left_out = 0
        threading.Thread(target=self._write, name="journal", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Put a line in the queue; leave it out if the queue is full, and say so when there is room again."""
        try:
            if self._left_out:
                told = f"{self._left_out} lines of the log were left out: nobody read stderr"
                fields = {
                    "name": "scenarioctl",
                    "levelno": logging.WARNING,
                    "levelname": "WARNING",
                    "msg": told,
                }
                self._lines.put_nowait(self.format(logging.makeLogRecord(fields)))
                self._left_out = 0
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self._left_out += 1

    def flush(self) -> None:
        """Wait for the lines to be written, as long as somebody reads them."""
        deadline = time.monotonic() + _PARTING
        while self._lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            data = (self._lines.get() + "\n").encode(errors="backslashreplace")
            try:
                # Not through sys.stderr: a thread that hangs in there would hold up the end of the process.
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                # A log that nobody reads any more is no reason to fail.
                pass
            finally:
                self._lines.task_done()


def fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return what was given as `extra`."""
    return {key: value for key, value in vars(record).items() if key not in _OWN}


def _priority(level: int) -> int:
    return next((priority for least, priority in _PRIORITIES if level >= least), 7)


def _in_one_line(text: str) -> str:
    # What clients send is in there too: it may neither begin a line nor command a terminal.
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _quoted(value: object) -> str:
    text = _in_one_line(f"{value:.6g}" if isinstance(value, float) else str(value))
    if text and not any(letter in ' "=' for letter in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_for_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether *stream* leads straight to journald, as systemd says in JOURNAL_STREAM."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def start_logging(level: str, *, environment: Mapping[str, str] = os.environ) -> None:
    """Log to stderr from now on; of libraries, warnings at least."""
    journal = Journal(sys.stderr.fileno())
    journal.setFormatter(Line(for_journal=is_for_journal(sys.stderr, environment)))
    root = logging.getLogger()
    root.handlers = [journal]
    logging.raiseExceptions = False
    set_level(level)


def set_level(level: str) -> None:
    """Log what is at least of *level*."""
    # Libraries log what they send when they log much.
    logging.getLogger().setLevel(max(LEVELS[level], logging.WARNING))
    logging.getLogger("scenarioctl").setLevel(LEVELS[level])
