"""The lines of a payout, as CSV: read with every mistake named, and written so that reading them
again gives the same."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from scenarioctl.actions.fields import read_tokens
from scenarioctl.actions.placeholders import has_placeholder
from scenarioctl.chains.addresses import ACCOUNT_ID_32, GENERIC, decode_ss58
from scenarioctl.errors import InvalidRequest, meant, shorten, suggest
from scenarioctl.formats.documents import FORMULA, read_csv
from scenarioctl.model.amounts import read_digits, several_meanings
from scenarioctl.model.request_fields import could_be_address, normalized
from scenarioctl.transactions.keyless_accounts import describe_keyless, parse_receiver

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain

T = TypeVar("T")

#: The most lines of a payout, and the most characters.
MOST = 10_000
LONGEST = 4 * 1024 * 1024
#: Characters of a memo.
LONGEST_MEMO = 200
#: Mistakes that a sentence names; an answer has more of them in `mistakes`.
_NAMED, _LISTED = 10, 1000
#: An amount whose point can separate thousands.
_UNSURE = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}(?![0-9])", re.ASCII)
_EXPONENT = re.compile(r"[0-9.,][eE][+-]?[0-9]")
#: The columns of a file that people write, …
COLUMNS = ("account", "amount", "asset", "memo", "chain")
#: … and of what is stored, which is all of one chain.
_STORED = ("line", "account", "amount", "asset", "memo")


@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutLine:
    """One payment: so much of an asset to an account of the same chain."""

    #: The line of the file that it stands on; 0 if it stands in none.
    number: int
    chain: "Chain"
    account: bytes
    asset: "Asset"
    #: In the smallest unit, and in whole tokens.
    raw: int
    amount: str
    memo: str = ""
    #: The name in the address book that it was given by; empty for an address.
    name: str = ""

    @property
    def address(self) -> str:
        return self.chain.account_format.format(self.account, self.chain.ss58_prefix)


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """What is wrong with a line."""

    line: int
    column: str
    sentence: str


def mistakes_error(mistakes: Sequence[Mistake], *, advice: str = "") -> InvalidRequest:
    """Return the error that names the first of *mistakes*, and says how many more there are."""
    ordered = sorted(mistakes, key=lambda each: each.line)
    count, more = len(ordered), len(ordered) - _NAMED
    named = "; ".join(each.sentence for each in ordered[:_NAMED])
    listed: list[dict[str, object]] = [
        {"line": each.line, "column": each.column, "problem": each.sentence}
        for each in ordered[:_LISTED]
    ]
    return InvalidRequest(
        field="lines",
        problem=(
            f": {f'{count} mistakes: ' if count > 1 else ''}{named}"
            f"{f'; and {more} more' if more > 0 else ''}"
        ),
        advice=advice,
        details={"mistakes": listed},
    )


@dataclass(kw_only=True)
class LineReader:
    """Reads lines, and collects what is wrong with them."""

    app: "Application"
    #: Of lines whose file has no such column; empty for none.
    chain: str = ""
    asset: str = ""
    #: The address book: name -> address. None if names mean nothing.
    book: Mapping[str, str] | None = None
    #: They were written by `write_lines`.
    is_stored: bool = False
    mistakes: list[Mistake] = field(default_factory=list)
    has_duplicates: bool = False
    #: An amount shows that the file writes decimals with a point.
    _is_point_sure: bool = False
    #: Chain and prefix of addresses that are written for another network -> their lines.
    _foreign: "dict[tuple[Chain, int], list[int]]" = field(default_factory=dict)
    #: What was named before, or why it names nothing.
    _found: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def read(self, text: object) -> list[PayoutLine]:
        """Return the lines in *text* that are right; InvalidRequest if it is no table of payments
        at all."""
        if not isinstance(text, str) or not text.strip():
            raise InvalidRequest(
                field="lines",
                problem="are empty",
                expected="CSV with the columns account and amount",
            )
        if len(text) > LONGEST:
            raise InvalidRequest(
                field="lines",
                problem=f"has {len(text)} characters",
                expected=f"at most {LONGEST}: split the file",
            )
        rows = read_csv(text, field="lines")
        header = self._read_header(next(rows, (1, []))[1])
        payments = list(islice(rows, MOST + 1))
        if not payments:
            raise InvalidRequest(field="lines", problem="have no payment below the header")
        if len(payments) > MOST:
            raise InvalidRequest(
                field="lines",
                problem="are too many",
                expected=f"at most {MOST}: split the file",
            )
        place = header.index("amount")
        amounts = [cells[place] for _, cells in payments if len(cells) > place]
        self._is_point_sure = self.is_stored or any(
            "." in amount and not _UNSURE.match(amount) for amount in amounts
        )
        lines = [self._read_line(number, header, cells) for number, cells in payments]
        return [line for line in lines if line is not None]

    def refuse_duplicates(self, lines: Sequence[PayoutLine]) -> None:
        """Add a mistake for each line that pays an account an asset that a line before pays it
        too."""
        first: dict[tuple[str, bytes, str], int] = {}
        for each in lines:
            before = first.setdefault((each.chain.name, each.account, each.asset.id), each.number)
            if before != each.number:
                self.has_duplicates = True
                said = (
                    f"line {each.number}, account {each.name or each.address} is paid "
                    f"{each.asset.display_name} in line {before}, too"
                )
                self.add(each.number, "account", said)

    def check_totals(self, lines: Iterable[PayoutLine]) -> None:
        """Refuse more of an asset than can exist."""
        for asset, total in sum_lines(lines).items():
            if not asset.can_exist(total):
                raise InvalidRequest(
                    field="lines",
                    problem=(
                        f"pay {asset.amount(total)} in total, more than can exist: check the digits"
                    ),
                )

    def foreign(self) -> "Iterator[tuple[Chain, int, list[int]]]":
        """Give chain and prefix of addresses that are written for another network, and their
        lines."""
        for (chain, prefix), numbers in self._foreign.items():
            yield chain, prefix, numbers

    def _read_header(self, cells: Sequence[str]) -> list[str]:
        known = _STORED if self.is_stored else COLUMNS
        names = [cell.lower() for cell in cells]
        if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
            raise InvalidRequest(
                field="lines",
                problem=(
                    "have columns that are not separated by commas: save the file as CSV with "
                    "commas"
                ),
            )
        for name in names:
            if name not in known:
                raise InvalidRequest(
                    field="lines",
                    problem=(
                        f"have an unknown column {shorten(name)} in the header, "
                        f"{suggest(name, known)}"
                    )
                    if {"account", "amount"} & set(names)
                    else (
                        "have no header, expected a first line with the names of the columns: "
                        f"{','.join(known)}"
                    ),
                )
            if names.count(name) > 1:
                raise InvalidRequest(
                    field="lines", problem=f"have the column {name} twice in the header"
                )
        given = {"chain": self.chain, "asset": self.asset}
        for name in ("account", "amount", "asset", "chain"):
            if name not in names and not given.get(name):
                option = f", or {name} for all lines (--{name})" if name in given else ""
                raise InvalidRequest(
                    field="lines",
                    problem=f"have no column {name}, expected it in the header{option}",
                )
        return names

    def _read_line(
        self, number: int, header: Sequence[str], cells: Sequence[str]
    ) -> PayoutLine | None:
        if len(cells) > len(header):
            self.add(
                number,
                header[-1],
                (
                    f"line {number} has {len(cells)} cells, and the header {len(header)} "
                    "columns: put a cell with a comma in quotes"
                ),
            )
            return None
        values = dict(zip(header, cells, strict=False))
        before = len(self.mistakes)
        for column, value in values.items():
            # The sign of a number is told of by the number.
            if value.startswith(FORMULA) and not (column == "amount" and value[0] in "+-"):
                self._refuse(
                    number, column, value, "begins like a formula of a spreadsheet", "a plain value"
                )
            elif not value.isprintable():
                self._refuse(
                    number, column, value, "has a line break or a character that can't be printed"
                )
            elif has_placeholder(value):
                self._refuse(
                    number, column, value, "has a placeholder, which no run fills in a payout"
                )
        if len(self.mistakes) > before:
            return None
        registry, assets = self.app.registry, self.app.assets
        literal, named = values.get("chain") or self.chain, values.get("asset") or self.asset
        chain = self._find(
            number, "chain", (literal,), lambda: registry.find(literal, field="chain")
        )
        asset = (
            None
            if chain is None
            else self._find(
                number,
                "asset",
                (chain.name, named),
                lambda: assets.find(chain, named, field="asset"),
            )
        )
        account, name = self._read_account(number, chain, values.get("account", ""))
        amount, raw = self._read_amount(number, asset, values.get("amount", ""))
        memo = values.get("memo", "")
        if len(memo) > LONGEST_MEMO:
            self._refuse(
                number, "memo", memo, f"has {len(memo)} characters", f"at most {LONGEST_MEMO}"
            )
        if len(self.mistakes) > before or chain is None or asset is None:
            return None
        place = (read_digits(values.get("line", "")) or 0) if self.is_stored else number
        return PayoutLine(
            number=place,
            chain=chain,
            account=account,
            asset=asset,
            raw=raw,
            amount=amount,
            memo=memo,
            name=name,
        )

    def add(self, number: int, column: str, sentence: str) -> None:
        self.mistakes.append(Mistake(line=number, column=column, sentence=sentence))

    def _refuse(
        self, number: int, column: str, value: str, problem: str, expected: str = ""
    ) -> None:
        self._add(
            number,
            column,
            InvalidRequest(field=column, value=value, problem=problem, expected=expected),
        )

    def _add(self, number: int, column: str, error: InvalidRequest) -> None:
        said = (
            error.named(f"line {number}, {column}")
            if error.field
            else error.within(f"line {number}")
        )
        self.add(number, column, said.statement)

    def _find(
        self, number: int, column: str, key: tuple[str, ...], find: Callable[[], T]
    ) -> T | None:
        """Return what a cell names, which the same words named before; None if there is a
        mistake."""
        if not key[-1]:
            self.add(number, column, f"line {number}, {column} is missing")
            return None
        if key not in self._found:
            try:
                self._found[key] = find()
            except InvalidRequest as error:
                self._found[key] = error
        found: T | InvalidRequest = self._found[key]
        if isinstance(found, InvalidRequest):
            self._add(number, column, found)
            return None
        return found

    def _read_account(self, number: int, chain: "Chain | None", text: str) -> tuple[bytes, str]:
        """Return the account that *text* means, and its name in the address book; an empty one if
        there is a mistake."""
        name = normalized(text)
        address = text if self.book is None or could_be_address(text) else self.book.get(name, "")
        if not text:
            self.add(number, "account", f"line {number}, account is missing")
        elif not address:
            problem, book = "is neither an address nor in the address book", self.book or {}
            known = list(book) if meant(name, list(book)) else None
            error = InvalidRequest(field="account", value=text, problem=problem, known=known)
            self._add(number, "account", error)
        elif chain is not None:
            try:
                account = parse_receiver(address, chain, field="account")
            except InvalidRequest as error:
                self._add(number, "account", error)
                return b"", ""
            if address == text:
                self._note_prefix(number, chain, text)
            if keyless := describe_keyless(account, chain):
                self._refuse(number, "account", text, f"is {keyless}")
            return account, "" if address == text else name
        return b"", ""

    def _note_prefix(self, number: int, chain: "Chain", address: str) -> None:
        if chain.account_format is ACCOUNT_ID_32 and address[:2] not in ("0x", "0X"):
            prefix = decode_ss58(address, "account")[1]
            if prefix not in (chain.ss58_prefix, GENERIC):
                self._foreign.setdefault((chain, prefix), []).append(number)

    def _read_amount(self, number: int, asset: "Asset | None", text: str) -> tuple[str, int]:
        if not text:
            self.add(number, "amount", f"line {number}, amount is missing")
        elif text[:1] in "0123456789.," and _EXPONENT.search(text):
            problem = "is written with an exponent, as spreadsheets shorten numbers"
            self._refuse(number, "amount", text, problem, "all its digits")
        elif asset is not None:
            try:
                read = read_tokens(text, asset, "amount")
                if _UNSURE.match(text) and not self._is_point_sure:
                    both = _UNSURE.sub(r"\g<0>0", text), text.replace(".", "", 1)
                    raise several_meanings("amount", text, both)
                return read
            except InvalidRequest as error:
                self._add(number, "amount", error)
        return "", 0


def read_lines(app: "Application", text: object, *, chain: "Chain") -> list[PayoutLine]:
    """Return the lines of a payout on *chain* that is stored, or written in a flow file;
    InvalidRequest names all mistakes."""
    reader = LineReader(app=app, chain=chain.name, is_stored=True)
    lines = reader.read(text)
    if reader.mistakes:
        raise mistakes_error(reader.mistakes)
    return lines


def write_lines(lines: Iterable[PayoutLine]) -> str:
    """Return *lines*, of one chain, as `read_lines` takes them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_STORED)
    writer.writerows(
        (each.number or "", each.address, each.amount, each.asset.id, each.memo) for each in lines
    )
    return text.getvalue()


def sum_lines(lines: Iterable[PayoutLine]) -> "dict[Asset, int]":
    """Return how much is paid of each asset, raw, in the order in which the assets come first."""
    sums: dict[Asset, int] = {}
    for each in lines:
        sums[each.asset] = sums.get(each.asset, 0) + each.raw
    return sums
