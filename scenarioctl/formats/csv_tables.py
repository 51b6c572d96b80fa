"""Tables as CSV (RFC 4180), written such that no spreadsheet takes a cell for a formula."""

import csv
import io
import re
from collections.abc import Sequence

#: What a cell begins with that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@")


def write_csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    # The dialect `excel` is that of RFC 4180: CRLF, and quotes where they are needed.
    csv.writer(text).writerows([_harmless(cell) for cell in line] for line in lines)
    return text.getvalue()


def _harmless(cell: str) -> str:
    """Return *cell* on one line, such that no spreadsheet takes it for a formula; a number stays one."""
    text = "".join(each if each.isprintable() else " " for each in cell).strip()
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", text, re.ASCII)
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text
