"""Text that a command reads from a file or stdin."""

import sys
from pathlib import Path

from scenarioctl.errors import InvalidRequest, NotFound, TooLarge, shorten
from scenarioctl.files import read_file, reason_of

#: The largest transaction that a chain takes is smaller than this, as hex.
TX_LIMIT = 16 * 1024 * 1024
#: A share string of the largest diagram that can be stored.
IMPORT_LIMIT = 32 * 1024 * 1024


def read_tx(tx: str, *, field: str = "tx") -> str:
    """Return a transaction's hex as the line gives it, or stdin for `-`."""
    return read_text(tx, field=field, limit=TX_LIMIT).strip() if tx == "-" else tx


def read_text(path: str, *, field: str, limit: int) -> str:
    """Return the text of the file *path*, or of stdin for `-`."""
    data = read_bytes(path, field=field, limit=limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"{field} {shorten(path, 200)} is not UTF-8 text: byte {error.start} is wrong"
        ) from None


def read_bytes(path: str, *, field: str, limit: int) -> bytes:
    """Return what is in the file *path*, or comes from stdin for `-`."""
    if not path:
        raise InvalidRequest(f"{field} '' is empty, expected the path of a file, or - for stdin")
    try:
        if path == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            data = read_file(Path(path), limit=limit)
    except FileNotFoundError:
        raise NotFound(
            f"{field} {shorten(path, 200)} does not exist, expected the path of a file, or - for stdin"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{field} {shorten(path, 200)} cannot be read: {reason_of(error)}") from None
    if len(data) > limit:
        raise TooLarge(f"{field} {shorten(path, 200)} is larger than {limit} bytes, the limit for it")
    return data


def read_payload(path: str | None, *, field: str) -> object:
    """Return the JSON of the payload in the file *path*, or on stdin for `-`; None for no path."""
    if path is None:
        return None
    from scenarioctl.formats.documents import parse_json

    return parse_json(read_text(path, field=field, limit=TX_LIMIT), field=field)
