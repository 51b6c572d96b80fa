"""Payouts: many payments from a CSV file, as a scenario whose steps are transactions that their
chains take."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from scenarioctl.actions.payout import draw_payout
from scenarioctl.actions.payout_lines import (
    MOST,
    LineReader,
    PayoutLine,
    mistakes_error,
    sum_lines,
    write_lines,
)
from scenarioctl.actions.story import group_digits
from scenarioctl.application import Application
from scenarioctl.formats.diagram_builder import DiagramBuilder
from scenarioctl.formats.documents import write_csv
from scenarioctl.model.amounts import read_number
from scenarioctl.model.checks import Amount
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.jobs import SentFor, SentTransaction
from scenarioctl.model.json_types import SHOWN, AmountAnswer, Hex, ScenarioId, Timestamp, timestamp
from scenarioctl.model.request_fields import (
    Address,
    AssetName,
    ChainName,
    Count,
    OwnScenarioName,
    Value,
)
from scenarioctl.operations.built_transactions import CreationFields, check_sender
from scenarioctl.operations.creation import CheckedSteps, StepCheck, check_steps
from scenarioctl.operations.payout_plans import (
    PayoutBalance,
    PayoutTotal,
    Told,
    amount_of,
    by_chain,
    check_deposits,
    read_left,
    split_lines,
)
from scenarioctl.operations.payout_records import (
    Attempt,
    PaymentStatus,
    find_attempts,
    payouts_of,
    read_payout,
    read_sent_payouts,
)
from scenarioctl.operations.results import Result, refuse_warnings
from scenarioctl.operations.sent_matches import Looked, look
from scenarioctl.operations.sent_states import received_by
from scenarioctl.operations.stored_diagrams import add_labels, open_stored, store_document
from scenarioctl.operations.transaction_status import read_effects

if TYPE_CHECKING:
    from scenarioctl.model.diagram import Node

__all__ = ["create_payout", "list_payments"]


@dataclass(frozen=True, kw_only=True)
class CreatePayout(CreationFields):
    """Create a payout: a scenario that pays each line of a CSV file, in as few transactions as the
    chains take.

    The columns are `account` and `amount`, and if you like `asset`, `memo` and `chain`; the first
    line names them. Nothing is created until all lines are right.
    """

    #: The file's text.
    lines: Annotated[str, Value("CSV")]
    #: Chain of all lines, if the file has no such column.
    chain: ChainName = ""
    #: Asset of all lines, if the file has no such column: its id, symbol or location.
    asset: AssetName = ""
    #: Write the memos into the chain's history, as remarks that anybody can read.
    memos: bool = False
    #: Go on after a payment that fails (Utility.force_batch). Default: a transaction makes all of
    #: its payments or none.
    force_batch: bool = False
    #: At most so many lines in a transaction. Default: as many as the chain takes.
    portion: Annotated[Count | None, Value("N", least=1, most=10_000, rare=True)] = None
    #: Accept several lines that pay the same account the same asset.
    yes: bool = False
    #: Account that pays. What it has left is told, and `check` simulates each transaction for it.
    sender: Address = ""


class PayoutTransaction(TypedDict):
    """One of the transactions that a payout drafts."""

    node: str
    chain: str
    #: How many lines it pays.
    lines: int
    total: list[AmountAnswer]


class CreatedPayout(TypedDict):
    result: "ScenarioId"
    #: How many lines it pays.
    lines: int
    total: list[PayoutTotal]
    transactions: list[PayoutTransaction]
    #: What the sender can spend of each asset once all is paid, without the fees; left out without
    #: a sender, and offline.
    left: NotRequired[list[PayoutBalance]]
    #: Of every transaction, if a check was asked for.
    checks: NotRequired[list[StepCheck]]


async def create_payout(app: Application, request: CreatePayout) -> Result[CreatedPayout]:
    sender = check_sender(request.check, request.sender)
    most = None
    if request.portion not in (None, ""):
        most = read_number(
            request.portion, field="portion", kind="a number of lines", least=1, most=MOST
        )
    reader, lines = await _read(app, request)
    told = Told()
    told.names(lines)
    told.other_prefixes(reader)
    await check_deposits(app, lines, told, goes_on=request.force_batch)
    portions = [
        each
        for part in by_chain(lines).values()
        for each in await split_lines(
            app,
            part,
            told,
            most=most or len(part),
            memos=request.memos,
            goes_on=request.force_batch,
        )
    ]
    left = await read_left(app, request.sender, lines, told)
    diagram = add_labels(app, await app.aside(_draw, portions, request), request)
    checked = CheckedSteps()
    if sender is not None:
        checked = await check_steps(app, read_diagram({**diagram.document, "edges": []}), sender)
    told.notes += checked.notes
    told.warnings += checked.warnings
    if request.strict:
        refuse_warnings(told.warnings)
    id = await store_document(app, diagram.document, diagram)
    answer: CreatedPayout = {
        "result": id,
        "lines": len(lines),
        "total": _totals(lines),
        "transactions": [
            {
                "node": node.id,
                "chain": part[0].chain.name,
                "lines": len(part),
                "total": [amount_of(asset, value) for asset, value in sum_lines(part).items()],
            }
            for node, part in zip(diagram.nodes, portions, strict=True)
        ],
    }
    if left is not None:
        answer["left"] = left
    if sender is not None:
        answer["checks"] = checked.checks
    return Result(
        answer=answer,
        notes=(f"Created {id}: {_understood(lines, len(portions))}", *told.notes),
        warnings=tuple(dict.fromkeys(told.warnings)),
    )


def _sums(lines: Sequence[PayoutLine]) -> list[str]:
    return [group_digits(asset.amount(value)) for asset, value in sum_lines(lines).items()]


def _understood(lines: Sequence[PayoutLine], transactions: int) -> str:
    """Return `200 payments in 1 transaction: 300 DOT on Polkadot`."""
    count = f"{group_digits(str(len(lines)))} payment{'s' * (len(lines) != 1)}"
    parts = [
        f"{' and '.join(_sums(part))} on {part[0].chain.title}" for part in by_chain(lines).values()
    ]
    return f"{count} in {transactions} transaction{'s' * (transactions != 1)}: {', '.join(parts)}"


async def _read(app: Application, request: CreatePayout) -> tuple[LineReader, list[PayoutLine]]:
    """Return the lines, all of which are right, and what read them."""
    book = {each.name: each.address for each in await app.store.addresses().list()}
    asset = "" if request.asset in ("", None) else str(request.asset)
    reader = LineReader(app=app, chain=request.chain, asset=asset, book=book)
    if request.chain:
        chain = app.registry.find(request.chain)
        if asset:
            app.assets.find(chain, asset, field="asset")

    def read() -> list[PayoutLine]:
        lines = reader.read(request.lines)
        if not request.yes:
            reader.refuse_duplicates(lines)
        return lines

    lines = await app.aside(read)
    if reader.mistakes:
        advice = "Pass `yes` to accept accounts that are paid twice." * reader.has_duplicates
        raise mistakes_error(reader.mistakes, advice=advice)
    reader.check_totals(lines)
    return reader, lines


def _draw(portions: Sequence[Sequence[PayoutLine]], request: CreatePayout) -> Diagram:
    builder = DiagramBuilder()
    nodes = [
        draw_payout(
            builder,
            part[0].chain,
            write_lines(part),
            memos=request.memos,
            force=request.force_batch,
        )
        for part in portions
    ]
    for node, following in pairwise(nodes):
        builder.connect(node, following)
    return read_diagram(builder.document())


def _totals(lines: Iterable[PayoutLine]) -> list[PayoutTotal]:
    return [
        {"chain": asset.chain, **amount_of(asset, value)}
        for asset, value in sum_lines(lines).items()
    ]


# What became of the lines

#: Rows above which the answer is made in a thread.
_MANY = 100


@dataclass(frozen=True, kw_only=True)
class ListPayments:
    """List the payments of a payout, and what became of each, as far as their chains can be asked
    now."""

    id: OwnScenarioName
    #: A table for a spreadsheet: CSV as RFC 4180 has it.
    csv: bool = False


class Payment(TypedDict):
    """A line of a payout; of one with a job, for each transaction that was sent."""

    #: In the file; the place among those of its step for one that was typed.
    line: Annotated[int, SHOWN]
    node: str
    chain: str
    account: Annotated[str, SHOWN]
    amount: Annotated[AmountAnswer, SHOWN]
    memo: str
    #: Of the transaction that pays it; null if none was sent.
    hash: Annotated[Hex | None, SHOWN]
    sent: "Timestamp | None"
    block_number: int | None
    #: `in-block` and `finalized`: the block shows that the account got it. `unknown`: the
    #: transaction succeeded, but its block doesn't show that. `pending`: a multisig collects
    #: approvals. `uncertain`: it may have been sent. `not known to be sent`: it was drafted, and a
    #: wallet may have sent it elsewhere.
    status: Annotated[PaymentStatus, SHOWN]
    #: How many endpoints the block rests on; null before it is in one.
    asked: Literal[1, 2] | None


class PaymentList(TypedDict):
    #: Empty with `csv`.
    payments: Annotated[list[Payment], SHOWN]
    #: The table, first a line with the names of the columns; null without `csv`.
    csv: str | None
    total: int


COLUMNS = (
    "line",
    "account",
    "amount",
    "asset",
    "memo",
    "chain",
    "hash",
    "block",
    "status",
)


async def list_payments(app: Application, request: ListPayments) -> Result[PaymentList]:
    diagram = await open_stored(app, request.id)
    nodes = payouts_of(diagram)
    looked = await look(app, request.id) if nodes else Looked()
    sent = await read_sent_payouts(app, request.id)
    unknown = await app.store.sent().drafted_of(request.id)
    drafted = {each.node for each in unknown if each not in looked.unsent}

    def describe() -> tuple[list[Payment], str | None]:
        found = [
            row
            for node in nodes
            for row in _describe(app, node, sent, is_drafted=bool(drafted & {node.id, ""}))
        ]
        return ([], write_csv([COLUMNS, *map(_cells, found)])) if request.csv else (found, None)

    total = sum(str(node.form.get("lines", "")).count("\n") for node in nodes)
    rows, text = await app.aside(describe) if total > _MANY else describe()
    return Result(
        answer={
            "payments": rows,
            "csv": text,
            "total": len(rows) if text is None else text.count("\r\n") - 1,
        },
        notes=() if nodes else ("It is not a payout: it has no payout step.",),
        warnings=looked.warnings,
    )


def _describe(
    app: Application,
    node: "Node",
    sent: Sequence[tuple[SentFor, SentTransaction]],
    *,
    is_drafted: bool,
) -> Iterator[Payment]:
    """Give the rows of the lines of *node*: those that a transaction has paid, or may still pay,
    the oldest first; then the others, with what was tried last."""
    lines = read_payout(app, node)
    attempts = find_attempts(app, node, lines, sent)
    standing: set[int] = set()
    for each in reversed(attempts):
        yield from _rows(node, lines, each, sorted(each.standing()))
        standing |= each.standing()
    for each in attempts:
        rest = sorted(each.lines.keys() - standing)
        yield from _rows(node, lines, each, rest)
        standing |= {*rest}
    status: PaymentStatus = "not known to be sent" if is_drafted else "not sent"
    for place in sorted({*range(len(lines))} - standing):
        yield _row(node, lines, place, status, None)


def _rows(
    node: "Node", lines: "Sequence[PayoutLine]", attempt: Attempt, places: Sequence[int]
) -> Iterator[Payment]:
    """Give the rows of the lines at these *places*, as *attempt* pays them."""
    got: dict[tuple[str, str], int] = {}
    for each in received_by(read_effects(attempt.sent)):
        key = each["account"], each["asset"]
        got[key] = got.get(key, 0) + int(each["value"])
    meant: dict[tuple[str, str], int] = {}
    for place in attempt.standing():
        key = lines[place].address, lines[place].asset.display_name
        meant[key] = meant.get(key, 0) + lines[place].raw
    for place in places:
        status = attempt.lines[place]
        key = lines[place].address, lines[place].asset.display_name
        if status in ("in-block", "finalized") and got.get(key, 0) < meant[key]:
            status = "unknown"
        yield _row(node, lines, place, status, attempt.sent)


def _row(
    node: "Node",
    lines: "Sequence[PayoutLine]",
    place: int,
    status: PaymentStatus,
    sent: SentTransaction | None,
) -> Payment:
    line = lines[place]
    return {
        # One that was typed has the place in which it stands.
        "line": line.number or place + 1,
        "node": node.id,
        "chain": line.chain.name,
        "account": line.address,
        "amount": Amount(
            value=line.raw, asset=line.asset.display_name, decimals=line.asset.decimals
        ).answer(),
        "memo": line.memo,
        "hash": None if sent is None else sent.hash,
        "sent": None if sent is None else timestamp(sent.sent),
        "block_number": None if sent is None else sent.block_number,
        "asked": None if sent is None or not sent.block else read_effects(sent).get("asked", 1),
        "status": status,
    }


def _cells(row: Payment) -> Sequence[str]:
    amount = row["amount"]
    return (
        str(row["line"]),
        row["account"],
        (amount["human"] or amount["value"]).split(" ")[0],
        amount["asset"],
        row["memo"],
        row["chain"],
        row["hash"] or "",
        str(row["block_number"] or ""),
        row["status"],
    )
