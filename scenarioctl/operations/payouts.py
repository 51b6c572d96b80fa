"""Payouts: many payments from a CSV file, as a scenario whose steps are transactions that their chains take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NotRequired, TypedDict

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
from scenarioctl.model.amounts import read_number
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.json_types import AmountAnswer, ScenarioId
from scenarioctl.model.request_fields import Address, AssetName, ChainName, Count, Value
from scenarioctl.operations.built_transactions import CreationFields, check_sender
from scenarioctl.operations.creation import CheckedSteps, StepCheck, check_steps
from scenarioctl.operations.payout_balances import (
    PayoutBalance,
    PayoutTotal,
    amount_of,
    check_deposits,
    read_left,
)
from scenarioctl.operations.payout_portions import Told, by_chain, split_lines
from scenarioctl.operations.results import Result, refuse_warnings
from scenarioctl.operations.stored_diagrams import add_labels, store_document

__all__ = ["create_payout"]


@dataclass(frozen=True, kw_only=True)
class CreatePayout(CreationFields):
    """Create a payout: a scenario that pays each line of a CSV file, in as few transactions as the chains take.

    The columns are `account` and `amount`, and if you like `asset`, `memo` and `chain`; the first line names them. Nothing is
    created until all lines are right.
    """

    #: The file's text.
    lines: Annotated[str, Value("CSV")]
    #: Chain of all lines, if the file has no such column.
    chain: ChainName = ""
    #: Asset of all lines, if the file has no such column: its id, symbol or location.
    asset: AssetName = ""
    #: Write the memos into the chain's history, as remarks that anybody can read.
    memos: bool = False
    #: Go on after a payment that fails (Utility.force_batch). Default: a transaction makes all of its payments or none.
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
    #: What the sender can spend of each asset once all is paid, without the fees; left out without a sender, and offline.
    left: NotRequired[list[PayoutBalance]]
    #: Of every transaction, if a check was asked for.
    checks: NotRequired[list[StepCheck]]


async def create_payout(app: Application, request: CreatePayout) -> Result[CreatedPayout]:
    sender = check_sender(request.check, request.sender)
    most = None
    if request.portion not in (None, ""):
        most = read_number(request.portion, field="portion", kind="a number of lines", least=1, most=MOST)
    reader, lines = await _read(app, request)
    told = Told()
    told.names(lines)
    told.other_prefixes(reader)
    await check_deposits(app, lines, told, goes_on=request.force_batch)
    portions = [
        each
        for part in by_chain(lines).values()
        for each in await split_lines(
            app, part, told, most=most or len(part), memos=request.memos, goes_on=request.force_batch
        )
    ]
    left = await read_left(app, request.sender, lines, told)
    diagram = add_labels(app, await app.aside(_draw, portions, request), request)
    checked = CheckedSteps()
    if sender is not None:
        # Each transaction is checked by itself, on what the chains hold now.
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


def _understood(lines: Sequence[PayoutLine], transactions: int) -> str:
    """Return `200 payments in 1 transaction: 300 DOT on Polkadot`."""
    count = f"{group_digits(str(len(lines)))} payment{'s' * (len(lines) != 1)}"
    parts = [
        f"{' and '.join(group_digits(asset.amount(value)) for asset, value in sum_lines(part).items())} on {part[0].chain.title}"
        for part in by_chain(lines).values()
    ]
    return f"{count} in {transactions} transaction{'s' * (transactions != 1)}: {', '.join(parts)}"


async def _read(app: Application, request: CreatePayout) -> tuple[LineReader, list[PayoutLine]]:
    """Return the lines, all of which are right, and what read them."""
    book = {each.name: each.address for each in await app.store.addresses().list()}
    asset = _asset_of(request)
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
        advice = "; pass --yes (yes) to accept accounts that are paid twice" * reader.has_duplicates
        raise mistakes_error(reader.mistakes, advice=advice)
    reader.check_totals(lines)
    return reader, lines


def _asset_of(request: CreatePayout) -> str:
    return "" if request.asset in ("", None) else str(request.asset)


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
    return [{"chain": asset.chain, **amount_of(asset, value)} for asset, value in sum_lines(lines).items()]
