"""Tables as CSV (RFC 4180): read strictly, and written such that no spreadsheet takes a cell for a
formula."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from scenarioctl.errors import InvalidRequest

#: What a cell begins with that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@")


def read_csv(text: str, *, field: str) -> Iterator[tuple[int, list[str]]]:
    """Give the line on which each row of *text* begins, from 1, and its cells without spaces around
    them.

    Empty lines are left out. InvalidRequest names the line on which the text is no CSV.
    """
    rows = csv.reader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True, skipinitialspace=True
    )
    while True:
        begins = rows.line_num + 1
        try:
            cells = [cell.strip() for cell in next(rows)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidRequest(
                field=field, problem=f": line {begins} is not CSV: {error}"
            ) from None
        if any(cells):
            yield begins, cells


def write_csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    # The dialect `excel` is that of RFC 4180: CRLF, and quotes where they are needed.
    csv.writer(text).writerows([_harmless(cell) for cell in line] for line in lines)
    return text.getvalue()


def _harmless(cell: str) -> str:
    """Return *cell* on one line, such that no spreadsheet takes it for a formula; a number stays
    one."""
    text = "".join(each if each.isprintable() else " " for each in cell).strip()
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", text, re.ASCII)
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text
