"""Conditions: two values compared, joined with `and` and `or`.  The values are those of a formula,
texts in quotes, and times."""

import json
import operator
import re
from collections.abc import Callable
from datetime import datetime, time
from fractions import Fraction

from scenarioctl.model.formulas import TOKEN, FormulaReader, Value

#: A moment, and a time of day, in UTC.
NOW, TIME = "now", "time"
#: What a swap brings now.
QUOTE = "quote"

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2})?"
_TOKENS = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<date>"""
    + _DATE
    + r""")|(?P<clock>[0-9]{2}:[0-9]{2})|(?P<compare>[<>!]=|[<>=]))|"""
    + TOKEN
)
_KINDS = {
    "text": "a text",
    "date": "a date",
    "clock": "a time of day",
    "amount": "an amount",
    "number": "a number",
}


class ConditionReader(FormulaReader):
    """Reads a condition from left to right, and judges it."""

    tokens, longest = _TOKENS, 4000
    expected = (
        "a comparison like {{ query.data.free }}raw < 5 DOT, or {{ http.status }} = 200 and "
        "time >= 08:00"
    )

    def __init__(
        self,
        text: str,
        *,
        field: str,
        unit: Callable[[str], int],
        now: str = "",
        quote: int | None = None,
        is_template: bool = False,
    ) -> None:
        """*now* is the moment as `2026-12-01T08:30` in UTC, *quote* what the swap brings, raw; None
        if it has none."""
        super().__init__(text, field, unit, None, is_template=is_template)
        self._now, self._quote = now, quote

    def judge(self) -> bool:
        """Return whether the condition is met; InvalidRequest if it can't be read, or compares what
        can't be compared."""
        met = self._every()
        while self._word("or"):
            # Both are read, so that a mistake shows in the first run.
            met = self._every() or met
        self._finish()
        return met

    def _every(self) -> bool:
        met = self._compared()
        while self._word("and"):
            met = self._compared() and met
        return met

    def _compared(self) -> bool:
        kind, value = self._operand()
        sign = self._next("compare")
        if not sign:
            raise self._wrong("lacks a comparison", "one of <, <=, >, >=, =, !=")
        other_kind, other = self._operand()
        if "open" in (kind, other_kind):
            return True
        if kind != other_kind:
            raise self._wrong(f"compares {_KINDS[kind]} with {_KINDS[other_kind]}")
        if kind == "text" and sign not in ("=", "!="):
            raise self._wrong(f"compares texts with {sign}", "= or !=")
        return bool(_COMPARE[sign](value, other))

    def _operand(self) -> tuple[str, Fraction | str]:
        if text := self._next("text"):
            try:
                return "text", str(json.loads(text))
            except ValueError:
                raise self._wrong(f"has a text that can't be read: {text}") from None
        try:
            if date := self._next("date"):
                return "date", datetime.fromisoformat(date).isoformat(timespec="minutes")
            if clock := self._next("clock"):
                return "clock", time.fromisoformat(clock).isoformat(timespec="minutes")
        except ValueError:
            raise self._wrong(
                "has a time that doesn't exist", "one like 2026-12-01T08:30 or 08:30, in UTC"
            ) from None
        for word in ("true", "false", "null"):
            if self._word(word):
                return "text", word
        if self._word(NOW):
            return "date", self._now
        if self._word(TIME):
            return "clock", self._now[-5:]
        number, kind = self._sum()
        return kind, number

    def _value(self) -> Value:
        if self._word(QUOTE):
            if self._quote is None and not self._is_template:
                raise self._wrong("needs what is sold for the quote", "`sell`, like 2 DOT")
            return Value(Fraction(self._quote or 1), "amount")
        return super()._value()

    def _next(self, group: str) -> str:
        """Return the next token if it is of that *group*, and pass it; else return empty."""
        text = self._tokens[self._at][group] if self._at < len(self._tokens) else None
        self._at += text is not None
        return text or ""

    def _word(self, word: str) -> bool:
        found = (
            self._at < len(self._tokens) and (self._tokens[self._at]["word"] or "").lower() == word
        )
        self._at += found
        return found


def names_quote(text: str) -> bool:
    """Return whether a condition names the quote of a swap."""
    return any((match["word"] or "").lower() == QUOTE for match in _TOKENS.finditer(text))
