"""Where the write-ahead log of a store ends, and whether its index says the same.

What was in the log once has to stay, until SQLite begins it anew, and the index has to name the page of each frame: SQLite
reads and writes by the index alone, so by one of another moment it builds on what isn't there any more.

Formats: https://sqlite.org/fileformat2.html#the_write_ahead_log and https://sqlite.org/walformat.html.  SQLite holds no lock on
the log, so that opening and closing it here harms none.  Closing the index would end the locks that SQLite has on it.
"""

import os
import struct
import sys
from dataclasses import dataclass, field

_HEADER = 32
_FRAME = 24
#: In the header of a frame that is not the last of its transaction.
_NO_COMMIT = bytes(4)

#: File descriptors among which that of SQLite is looked for: it was opened a moment ago, so it is one of the lowest.
_DESCRIPTORS = 2**16
#: A log whose first salt is so many less is an older one.
_SALTS, _OLDER = 2**32, 2**16

#: The index begins with its header twice, and what readers and checkpoints know of each other.
_INDEX_HEADER, _INDEX_START = 48, 136
#: So long is each part of the index, which has the pages of so many frames; the first has fewer, beside the header.
_INDEX_PART, _FRAMES = 32768, 4096
_FIRST_FRAMES = _FRAMES - _INDEX_START // 4


@dataclass(frozen=True)
class LogEnd:
    """The end of a log."""

    #: The header of the log; empty if nothing is in it.
    header: bytes = b""
    #: How many frames there are, and the header of the last one, which has a checksum of all before.
    frames: int = 0
    frame: bytes = b""
    #: The page of each frame, as the index has it.
    pages: bytes = field(default=b"", repr=False)

    @property
    def salt(self) -> int:
        """The first salt, which SQLite counts up whenever it begins the log anew, or draws by lot."""
        return int.from_bytes(self.header[16:20], "big")


def find_index(path: str) -> int:
    """Return the file descriptor by which SQLite has the index at *path* open in this process; -1, which reads nothing, without one.

    By a hard link to a file that this process has open, SQLite uses the index beside the first name.
    """
    try:
        index = os.stat(path)  # noqa: PTH116 - the paths are texts
    except OSError:
        return -1
    for file in range(_DESCRIPTORS):
        try:
            found = os.fstat(file)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (index.st_dev, index.st_ino):
            return file
    return -1


def find_end(log: int, index: int, known: LogEnd = LogEnd()) -> LogEnd | None:
    """Return where the log in the open files ends, which ended at *known* before.

    None if what was in it then is not there any more, or if the index says something else: so for a moment, while
    another process writes.  Without *known*, the log must not go on by several transactions behind what the index tells of.
    """
    try:
        return _read_end(log, index, known)
    except OSError:
        return None


def _read_end(log: int, index: int, known: LogEnd) -> LogEnd | None:
    twice = os.pread(index, 2 * _INDEX_HEADER, 0)
    told, again = twice[:_INDEX_HEADER], twice[_INDEX_HEADER:]
    if len(told) < _INDEX_HEADER or told != again:
        return None
    (frames,) = struct.unpack_from("=I", told, 16)
    salts = told[32:40]
    header = os.pread(log, _HEADER, 0)
    is_first = not known.header
    if not frames and _is_begun_anew(header, salts, known):
        return LogEnd()
    if header[16:24] != salts:
        return None
    if header != known.header:
        begun = LogEnd(header)
        if known.header and (known.salt - begun.salt) % _SALTS < _OLDER:
            return None
        known = begun
    step = _FRAME + int.from_bytes(header[8:12], "big")
    if known.frames > frames or (known.frame and _read_frame(log, known.frames, step) != known.frame):
        return None
    frame, pages = known.frame, [known.pages]
    for number in range(known.frames + 1, frames + 1):
        frame = _read_frame(log, number, step)
        if frame[8:16] != salts:
            return None
        pages.append(int.from_bytes(frame[:4], "big").to_bytes(4, sys.byteorder))
    if is_first and _count_behind(log, frames, frame, header) > 1:
        return None
    end = LogEnd(header, frames, frame, b"".join(pages))
    return end if _is_commit(frame) and _read_pages(index, frames) == end.pages else None


def _is_begun_anew(header: bytes, salts: bytes, known: LogEnd) -> bool:
    """Return whether the next write begins the log, or begins it anew when its content is all in the file."""
    header = header or known.header
    if not header or not any(salts):
        return not known.frames
    # The header of the log follows with the first frame.
    return int.from_bytes(salts[:4], "big") == (LogEnd(header).salt + 1) % _SALTS


def _count_behind(log: int, frames: int, frame: bytes, header: bytes) -> int:
    """Return how many transactions follow the first *frames* frames, of which *frame* is the last; the index doesn't tell of them (yet).

    One may be that of a process which was killed between the log and the index: nobody was told that it is stored, and SQLite writes over
    it.  What an earlier one has left further behind doesn't belong to the log, by its checksum.
    """
    step = _FRAME + int.from_bytes(header[8:12], "big")
    order = ">" if header[3] & 1 else "<"
    checksum = frame[16:24] or header[24:32]
    found = 0
    while True:
        following = os.pread(log, step, _HEADER + frames * step)
        checksum = _add_up(checksum, following[:8] + following[_FRAME:], order)
        if len(following) < step or following[8:24] != header[16:24] + checksum:
            return found
        found += _is_commit(following[:_FRAME])
        frames += 1


def _add_up(checksum: bytes, content: bytes, order: str) -> bytes:
    """Return the checksum of all before, *checksum*, and *content*."""
    first, second = struct.unpack(">2I", checksum)
    content = content[: len(content) // 8 * 8]
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return struct.pack(">2I", first, second)


def _is_commit(frame: bytes) -> bool:
    """Return whether *frame* ends a transaction, or there is none."""
    return frame[4:8] != _NO_COMMIT


def _read_frame(log: int, number: int, step: int) -> bytes:
    """Return the header of the frame with that *number*, counted from 1."""
    return os.pread(log, _FRAME, _HEADER + (number - 1) * step)


def _read_pages(index: int, frames: int) -> bytes:
    """Return the pages of the first *frames* frames as the index has them."""
    first = min(frames, _FIRST_FRAMES)
    pages = [os.pread(index, first * 4, _INDEX_START)]
    for part, done in enumerate(range(first, frames, _FRAMES), 1):
        pages.append(os.pread(index, min(frames - done, _FRAMES) * 4, part * _INDEX_PART))
    return b"".join(pages)
