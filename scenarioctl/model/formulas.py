"""Formulas of amounts, worked out in exact fractions; and conditions, which compare two values."""

import json
import operator
import re
from collections.abc import Callable
from datetime import datetime, time
from fractions import Fraction
from typing import Literal, NamedTuple

from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import RAW, U128_MAX, parse_number, parse_raw, refuse_unsure

#: The amount that stands for all that can be sent.
MAXIMUM = "max"
#: Stands in a template for data that a run fills in.
OPEN = "?"
#: Characters of a formula, and brackets within brackets.
_LONGEST, _DEEPEST = 200, 20

_DIGITS = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
_UNIT = r"(?!0[xX]|(?:and|or)\b)[^\W\d_][\w.]*"
_AMOUNT = re.compile(rf"\s*({_DIGITS})\s*({_UNIT})?\s*", re.ASCII)
#: A number with or without a unit, a word, or a sign.
TOKEN = (
    rf"\s*(?:(?P<number>{_DIGITS}|\?)(?:\s*(?P<unit>%|{_UNIT}))?|(?P<word>[^\W\d_][\w.]*)|"
    r"(?P<mark>[-+*/(),]))"
)
_TOKEN = re.compile(TOKEN)
#: What only a formula has: a sign between two values, a function, a share, or `max`.
_SIGNS = re.compile(r"[\w.)%]\s*[-+*/]|^\s*max\b|\bm(?:in|ax)\s*\(|[0-9?]\s*%|\(", re.IGNORECASE)
_BETWEEN_DIGITS = re.compile(r"[0-9],[0-9]")
_EXPECTED = "an amount like 1.5 DOT, max - 10 DOT, 25 % or min(max, 5 DOT)"

#: Whether a value is of an asset, a plain number, or not known before a run.
Kind = Literal["amount", "number", "open"]


class Value(NamedTuple):
    """What a part of a formula comes to: an amount in the smallest unit, or a plain number."""

    number: Fraction
    kind: Kind


def split_amount(text: str) -> tuple[str, str] | None:
    """Return the digits and the unit of *text* if it is one amount and nothing else: `1.5`, `1.5
    DOT`, `15000000000raw`."""
    match = _AMOUNT.fullmatch(text) if len(text) <= _LONGEST else None
    return None if match is None else (match[1], match[2] or "")


def is_formula(text: str) -> bool:
    """Return whether *text* is more than one number or amount."""
    return _AMOUNT.fullmatch(text) is None and _SIGNS.search(text) is not None


def needs_maximum(text: str) -> bool:
    """Return whether what the formula *text* comes to depends on what the sender can send."""
    return any(match["unit"] == "%" or _is_word(match, MAXIMUM) for match in _TOKEN.finditer(text))


def work_out(
    text: str,
    *,
    field: str,
    unit: Callable[[str], int],
    decimals: int,
    maximum: int | None = None,
) -> int:
    """Return what *text* comes to in the smallest unit, rounded down.

    *unit* returns how many smallest units one of a unit has, and raises for a unit of another
    asset; *maximum* is what `max` stands for. InvalidRequest if it can't be read, mixes numbers and
    amounts, or comes to nothing.
    """
    value = FormulaReader(text, field, unit, maximum).read()
    raw = (
        int(value.number // 1) if value.kind != "number" else int(value.number * 10**decimals // 1)
    )
    if raw > U128_MAX:
        raise InvalidRequest(
            field=field,
            value=text,
            problem="is more than any chain can hold (2^128 - 1 smallest units)",
        )
    if raw <= 0:
        raise InvalidRequest(
            field=field,
            value=text,
            problem=f"comes to {raw}{RAW}" if raw else "comes to nothing",
            expected="more than zero",
        )
    return raw


def check_template(text: str, *, field: str, unit: Callable[[str], int]) -> None:
    """Refuse a formula that no run could work out; *text* has `?` in place of each placeholder."""
    FormulaReader(text, field, unit, None, is_template=True).read()


def _is_word(match: "re.Match[str]", word: str) -> bool:
    return (match["word"] or "").lower() == word


class FormulaReader:
    """Reads a formula from left to right, and works it out."""

    tokens, expected, longest = _TOKEN, _EXPECTED, _LONGEST

    def __init__(
        self,
        text: str,
        field: str,
        unit: Callable[[str], int],
        maximum: int | None,
        *,
        is_template: bool = False,
    ) -> None:
        self._text, self._field, self._unit = text, field, unit
        self._maximum, self._is_template = maximum, is_template
        if len(text) > self.longest:
            raise self._wrong("is too long", f"at most {self.longest} characters")
        self._tokens = self._split()
        self._at = self._depth = 0

    def read(self) -> Value:
        value = self._sum()
        self._finish()
        return value

    def _finish(self) -> None:
        if self._at < len(self._tokens):
            raise self._wrong(
                f"has {shorten(self._tokens[self._at][0].strip())} where a sign or the end "
                "should be"
            )

    def _split(self) -> "list[re.Match[str]]":
        tokens, at, end = [], 0, len(self._text.rstrip())
        while at < end:
            match = self.tokens.match(self._text, at)
            if match is None or (match["number"] == OPEN and not self._is_template):
                raise self._wrong(f"can't be read at {shorten(self._text[at:end].strip())}")
            if match["mark"] == "," and _BETWEEN_DIGITS.match(self._text, match.end() - 2):
                raise self._wrong(
                    "has a comma that can separate values, thousands or decimals",
                    (
                        "a space behind a comma between values, and none in a number: min(1500 "
                        "DOT, max)"
                    ),
                )
            tokens.append(match)
            at = match.end()
        return tokens

    def _wrong(self, problem: str, expected: str = "") -> InvalidRequest:
        return InvalidRequest(
            field=self._field, value=self._text, problem=problem, expected=expected or self.expected
        )

    def _mark(self, *marks: str) -> str:
        """Return the next token if it is one of *marks*, and pass it; else return empty."""
        mark = self._tokens[self._at]["mark"] if self._at < len(self._tokens) else None
        if mark is None or mark not in marks:
            return ""
        self._at += 1
        return mark

    def _expect(self, mark: str) -> None:
        if not self._mark(mark):
            raise self._wrong(f"lacks a {mark!r}")

    def _sum(self) -> Value:
        value = self._product()
        while sign := self._mark("+", "-"):
            other = self._product()
            kind = self._common(value, other)
            number = value.number + other.number if sign == "+" else value.number - other.number
            value = Value(number, kind)
        return value

    def _product(self) -> Value:
        value = self._value()
        while sign := self._mark("*", "/"):
            value = self._times(value, sign, self._value())
        return value

    def _times(self, one: Value, sign: str, other: Value) -> Value:
        if sign == "/":
            if other.kind == "amount":
                raise self._wrong("divides by an amount", "a number there, like max / 2")
            if not other.number and self._is_template and OPEN in self._text:
                # It depends on what a run fills in.
                other = Value(Fraction(1), other.kind)
            if not other.number:
                raise self._wrong("divides by zero")
            other = Value(1 / other.number, other.kind)
        elif one.kind == other.kind == "amount":
            raise self._wrong("multiplies two amounts", "a number and an amount, like 2 * 5 DOT")
        kinds = {one.kind, other.kind}
        kind: Kind = "amount" if "amount" in kinds else "open" if "open" in kinds else "number"
        return Value(one.number * other.number, kind)

    def _common(self, one: Value, other: Value) -> Kind:
        """Return the kind of two values that are added or compared."""
        if "open" in (one.kind, other.kind):
            return one.kind if other.kind == "open" else other.kind
        if one.kind != other.kind:
            raise self._wrong(
                "has a number without a unit beside an amount", "a unit there, like 10 DOT or 10raw"
            )
        return one.kind

    def _value(self) -> Value:
        if self._at == len(self._tokens):
            raise self._wrong("ends where a value should be")
        if self._mark("("):
            return self._within(self._sum)
        token = self._tokens[self._at]
        self._at += 1
        if (
            token["mark"] == "-"
            and self._at < len(self._tokens)
            and self._tokens[self._at]["number"] is not None
        ):
            value = self._value()
            return Value(-value.number, value.kind)
        if token["number"] is not None:
            return self._number(token["number"], token["unit"] or "")
        if _is_word(token, "min") and self._mark("("):
            return self._within(self._least)
        if _is_word(token, MAXIMUM):
            return Value(Fraction(self._greatest()), "amount")
        raise self._wrong(f"has {shorten(token[0].strip())} where a value should be")

    def _within(self, read: Callable[[], Value]) -> Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong("has too many brackets", f"at most {_DEEPEST} within each other")
        value = read()
        self._expect(")")
        self._depth -= 1
        return value

    def _least(self) -> Value:
        value = self._sum()
        self._expect(",")
        while True:
            other = self._sum()
            value = Value(min(value.number, other.number), self._common(value, other))
            if not self._mark(","):
                return value

    def _number(self, digits: str, unit: str) -> Value:
        if self._is_template:
            # Its author wrote it; what data brings is written by programs.
            refuse_unsure(digits, field=self._field)
        if digits == OPEN:
            number = Fraction(1)
        elif unit.lower() == RAW:
            number = Fraction(parse_raw(digits, field=self._field, zero=True))
        else:
            parsed = parse_number(digits, field=self._field, zero=True, expected=_EXPECTED)
            if parsed and parsed.adjusted() < -60:
                raise self._wrong("has more decimals than any asset")
            number = Fraction(parsed)
        if unit == "%":
            if number > 100:
                raise self._wrong("is more than 100 %", "a share of what can be sent, like 25 %")
            return Value(number * self._greatest() / 100, "amount")
        if unit:
            return Value(number * self._unit(unit), "amount")
        return Value(number, "open" if digits == OPEN else "number")

    def _greatest(self) -> int:
        if self._maximum is not None:
            return self._maximum
        if not self._is_template:
            raise self._wrong(
                "depends on what the sender can send, which isn't known here",
                "an amount like 1.5 DOT",
            )
        return 1


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
