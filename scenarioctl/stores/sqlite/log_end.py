"""Where the write-ahead log of a store ends.  What was in it once has to stay, until SQLite begins it anew.

Format: https://sqlite.org/fileformat2.html#the_write_ahead_log.  SQLite holds no lock on the log, so that opening and
closing it here harms none.
"""

import os
from dataclasses import dataclass

_HEADER = 32
_FRAME = 24
#: In the header of a frame that is not the last of its transaction.
_NO_COMMIT = bytes(4)


@dataclass(frozen=True)
class LogEnd:
    """The end of a log."""

    #: The header of the log; empty if nothing was written yet.
    header: bytes = b""
    #: Where the header of the last frame of the last transaction is, and the header, which has a checksum of all before.
    offset: int = _HEADER
    frame: bytes = b""

    @property
    def generation(self) -> int:
        """How often the log was begun anew."""
        return int.from_bytes(self.header[12:16], "big")


def find_end(file: int, known: LogEnd = LogEnd()) -> LogEnd | None:
    """Return where the log in the open *file* ends, which ended at *known* before; None if what was in it then is not there any more."""
    try:
        return _read_end(file, known)
    except OSError:
        return None


def _read_end(file: int, known: LogEnd) -> LogEnd | None:
    end = LogEnd(os.pread(file, _HEADER, 0))
    if not end.header:
        return end
    step = _FRAME + int.from_bytes(end.header[8:12], "big")
    if end.header == known.header:
        end = known
    elif known.header and end.generation <= known.generation:
        return None
    offset, salts = end.offset, end.header[16:24]
    if end.frame:
        if os.pread(file, _FRAME, offset) != end.frame:
            return None
        offset += step
    # Frames of an earlier generation have other salts.
    while (frame := os.pread(file, _FRAME, offset))[8:16] == salts:
        if frame[4:8] != _NO_COMMIT:
            end = LogEnd(end.header, offset, frame)
        offset += step
    return end
