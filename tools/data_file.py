"""The command of a tool that makes a data file of the program: it writes the file, or compares it
with `--check`."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def run(file: Path, curate: Callable[[], str], *, sources: str) -> int:
    """Write what *curate* returns, made from *sources*, to *file*; return the exit code.  `--check`
    changes nothing."""
    parser = argparse.ArgumentParser(description=f"Make {file.name} from {sources}.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    text = curate()
    if not arguments.check:
        file.write_text(text, encoding="utf-8")
        return 0
    if file.read_text(encoding="utf-8") == text:
        return 0
    print(f"{file} is not what {Path(sys.argv[0]).name} makes", file=sys.stderr)
    return 1
