"""Payouts: many payments from a CSV file, as a scenario whose steps are transactions that their
chains take."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NotRequired, TypedDict

from scenarioctl.actions.payout import draw_payout
from scenarioctl.actions.payout_files import reread
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
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import DiagramBuilder
from scenarioctl.model.amounts import read_number
from scenarioctl.model.diagram import Diagram, read_diagram
from scenarioctl.model.json_types import AmountAnswer, ScenarioId
from scenarioctl.model.request_fields import (
    Address,
    AssetName,
    ChainName,
    Count,
    ScenarioName,
    Value,
)
from scenarioctl.operations.built_transactions import CreationFields, check_sender
from scenarioctl.operations.creation import CheckedSteps, StepCheck, check_steps
from scenarioctl.operations.payout_balances import (
    PayoutBalance,
    PayoutTotal,
    amount_of,
    check_deposits,
    read_left,
)
from scenarioctl.operations.payout_changes import (
    SentPortion,
    keep_sent,
    open_former,
    replace_payout,
    with_labels,
)
from scenarioctl.operations.payout_portions import Told, by_chain, split_lines
from scenarioctl.operations.results import Result, refuse_warnings
from scenarioctl.operations.stored_diagrams import add_labels, store_document

__all__ = ["create_payout"]


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
    #: Read this file anew each time the payout is drafted: its whole path on the machine that
    #: drafts, in a folder that `payout_folders` in config.toml lists. Its lines have to fit into
    #: one transaction.
    reread: Annotated[str, Value("FILE")] = ""
    #: Change this payout in place of creating one: lines that were sent stay as they are and aren't
    #: paid again, the others become those of the file.
    replace: ScenarioName = ""
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
    former = await open_former(app, request.replace)
    kept = [] if former is None else await app.aside(keep_sent, app, former, lines, told)
    paid = {each.number for portion in kept for each in portion.lines}
    lines = [each for each in lines if each.number not in paid]
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
    if request.reread:
        if len(portions) + len(kept) != 1:
            raise InvalidRequest(
                field="reread",
                value=request.reread,
                limit=200,
                problem=(
                    f"needs payments that fit into one transaction, and these are {len(portions)}"
                ),
            )
        fresh, warned = await reread(
            app, request.reread, chain=lines[0].chain, asset=_asset_of(request)
        )
        told.warnings += () if request.yes else warned
        if Counter(map(_payment, fresh)) != Counter(map(_payment, lines)):
            told.warnings.append(
                f"{request.reread} has other lines now, and drafts pay those: "
                f"{_understood(fresh, 1)}."
            )
    left = await read_left(app, request.sender, lines, told)
    drawn = await app.aside(_draw, kept, portions, request)
    diagram = add_labels(app, drawn if former is None else with_labels(drawn, former), request)
    nodes = [node.id for node in diagram.nodes[len(kept) :]]
    checked = CheckedSteps()
    if sender is not None and portions:
        new = {**diagram.document, "nodes": diagram.document["nodes"][len(kept) :], "edges": []}
        checked = await check_steps(app, read_diagram(new), sender)
    told.notes += checked.notes
    told.warnings += checked.warnings
    if request.strict:
        refuse_warnings(told.warnings)
    if former is None:
        id = await store_document(app, diagram.document, diagram)
    else:
        id = await replace_payout(app, former, diagram)
    answer: CreatedPayout = {
        "result": id,
        "lines": len(lines),
        "total": _totals(lines),
        "transactions": [
            {
                "node": node,
                "chain": part[0].chain.name,
                "lines": len(part),
                "total": [amount_of(asset, value) for asset, value in sum_lines(part).items()],
            }
            for node, part in zip(nodes, portions, strict=True)
        ],
    }
    if left is not None:
        answer["left"] = left
    if sender is not None:
        answer["checks"] = checked.checks
    return Result(
        answer=answer,
        notes=(
            (
                f"{'Created' if former is None else 'Changed'} {id}: "
                f"{_understood(lines, len(portions))}"
            ),
            *told.notes,
        ),
        warnings=tuple(dict.fromkeys(told.warnings)),
    )


def _payment(line: PayoutLine) -> tuple[bytes, str, int]:
    return line.account, line.asset.id, line.raw


def _sums(lines: Sequence[PayoutLine]) -> list[str]:
    return [group_digits(asset.amount(value)) for asset, value in sum_lines(lines).items()]


def _understood(lines: Sequence[PayoutLine], transactions: int) -> str:
    """Return `200 payments in 1 transaction: 300 DOT on Polkadot`."""
    if not lines:
        return "no payment is left to make"
    count = f"{group_digits(str(len(lines)))} payment{'s' * (len(lines) != 1)}"
    parts = [
        f"{' and '.join(_sums(part))} on {part[0].chain.title}" for part in by_chain(lines).values()
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


def _draw(
    kept: Sequence[SentPortion], portions: Sequence[Sequence[PayoutLine]], request: CreatePayout
) -> Diagram:
    builder = DiagramBuilder()
    nodes = [
        draw_payout(
            builder,
            each.lines[0].chain,
            write_lines(each.lines),
            memos=each.node.form.get("memos") is True,
            force=each.node.form.get("forceBatch") is True,
        )
        for each in kept
    ]
    nodes += [
        draw_payout(
            builder,
            part[0].chain,
            write_lines(part),
            memos=request.memos,
            force=request.force_batch,
            path=request.reread,
            asset=_asset_of(request) if request.reread else "",
        )
        for part in portions
    ]
    for node, following in pairwise(nodes):
        builder.connect(node, following)
    document = builder.document()
    # What was sent is remembered by the ids of nodes.
    ids = dict(zip(nodes, (each.node.id for each in kept), strict=False))
    for raw in document["nodes"]:
        raw["id"] = ids.get(raw["id"], raw["id"])
    for raw in document["edges"]:
        raw |= {end: ids.get(raw[end], raw[end]) for end in ("source", "target")}
        raw["id"] = f"{raw['source']}-{raw['target']}"
    return read_diagram(document)


def _totals(lines: Iterable[PayoutLine]) -> list[PayoutTotal]:
    return [
        {"chain": asset.chain, **amount_of(asset, value)}
        for asset, value in sum_lines(lines).items()
    ]
