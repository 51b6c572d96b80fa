"""Files of facts beside the modules that use them: JSON objects, in which a key and its value may have a line of their own."""

from functools import cache
from pathlib import Path
from typing import Any


@cache
def read_text(file: Path) -> str:
    """Return a file as it was when it was first read: a program that was upgraded meanwhile may not know the new one."""
    return file.read_text(encoding="utf-8")


def read_document(file: Path) -> Any:
    """Return all that a file says."""
    from json import loads

    return loads(read_text(file))


def read_line(file: Path, key: str) -> Any:
    """Return what a file says of *key*, parsing its line only; None if it says nothing of it."""
    from json import loads

    text = read_text(file)
    start = text.find(f'\n"{key}":')
    if start < 0:
        return None
    end = text.index("\n", start + 1)
    return loads(text[start + len(key) + 4 : end].rstrip(","))
