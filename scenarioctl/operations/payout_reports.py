"""What became of each line of a payout: its transaction, block and share of the fee."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, TypedDict, cast

from scenarioctl.actions.payout_files import REREAD
from scenarioctl.application import Application
from scenarioctl.formats.csv_tables import write_csv
from scenarioctl.model.checks import Amount
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.model.json_types import AmountAnswer, Hex, Timestamp, timestamp
from scenarioctl.model.request_fields import OwnScenarioName
from scenarioctl.operations.payout_records import is_standing, payouts_of, read_sent_payouts
from scenarioctl.operations.results import Result
from scenarioctl.operations.stored_diagrams import open_stored
from scenarioctl.operations.transaction_costs import fee_of, received_by, whole_tokens
from scenarioctl.operations.transaction_status import read_effects

if TYPE_CHECKING:
    from scenarioctl.actions.payout_lines import PayoutLine
    from scenarioctl.model.diagram import Node

__all__ = ["list_payments"]

#: Rows above which the answer is made in a thread.
_MANY = 100

PaymentStatus = Literal[
    "not sent", "uncertain", "sent", "in-block", "finalized", "failed", "expired", "unknown"
]


@dataclass(frozen=True, kw_only=True)
class ListPayments:
    """List the payments of a payout, and what became of each. No chain is asked: `tx status` does
    that."""

    id: OwnScenarioName
    #: A table for a spreadsheet: CSV as RFC 4180 has it.
    csv: bool = False


class Payment(TypedDict):
    """A line of a payout; of one with a job, for each transaction that was sent."""

    #: In the file; null for a line that was sent and isn't in the file any more.
    line: int | None
    node: str
    chain: str
    account: str
    amount: AmountAnswer
    memo: str
    #: Of the transaction that pays it; null if none was sent.
    hash: "Hex | None"
    sent: "Timestamp | None"
    block_number: int | None
    #: `in-block` and `finalized`: the block shows that the account got it. `unknown`: the
    #: transaction succeeded, but its block doesn't show that.
    status: PaymentStatus
    #: How many endpoints the block rests on; null before it is in one.
    asked: Literal[1, 2] | None
    #: Its part of the fee of the transaction; null if that isn't known.
    fee: AmountAnswer | None


class PaymentList(TypedDict):
    #: Empty with `csv`.
    payments: list[Payment]
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
    "fee",
    "fee asset",
)


async def list_payments(app: Application, request: ListPayments) -> Result[PaymentList]:
    diagram = await open_stored(app, request.id)
    nodes = payouts_of(diagram)
    sent = await read_sent_payouts(app, request.id)

    def describe() -> tuple[list[Payment], str | None]:
        lines = {node.id: _lines_of(app, node) for node in nodes}
        found = [
            row
            for node in nodes
            for each in _transactions_of(sent, node.id)
            for row in _describe(node, lines, each)
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
        notes=_notes(nodes),
        large=total > _MANY,
    )


def _notes(nodes: "Sequence[Node]") -> tuple[str, ...]:
    if not nodes:
        return ("It is not a payout: it has no payout step.",)
    if any(node.form.get(REREAD) for node in nodes):
        return (
            (
                "Each draft reads the file anew. These are the lines that it had when the "
                "payout was created."
            ),
        )
    return ()


def _lines_of(app: Application, node: "Node") -> "list[PayoutLine]":
    from scenarioctl.actions.payout_lines import read_lines

    chain = app.registry.find(node.form.get("selectedChain"), field="selectedChain")
    return read_lines(app, node.form.get("lines"), chain=chain)


def _transactions_of(sent: Sequence[SentTransaction], node: str) -> list[SentTransaction | None]:
    """Return the transactions that pay the lines of *node*, the oldest first; if none may have
    paid, what was tried last."""
    own = [each for each in sent if each.node in (node, "")]
    standing = [each for each in reversed(own) if is_standing(each)]
    return [*standing] or [*own[:1]] or [None]


def _describe(
    node: "Node", by_node: "Mapping[str, Sequence[PayoutLine]]", sent: SentTransaction | None
) -> Iterator[Payment]:
    """Give the rows of the lines of *node*; one transaction may pay those of all nodes."""
    lines = by_node[node.id]
    others = [] if sent is None or sent.node else list(by_node.items())
    count = sum(len(each) for _, each in others) or len(lines)
    first = sum(len(each) for _, each in takewhile(lambda item: item[0] != node.id, others))
    effects = {} if sent is None else read_effects(sent)
    got: dict[tuple[str, str], int] = {}
    for each in received_by(effects):
        key = each["account"], each["asset"]
        got[key] = got.get(key, 0) + int(each["value"])
    meant: dict[tuple[str, str], int] = {}
    for line in lines:
        key = line.address, line.asset.display_name
        meant[key] = meant.get(key, 0) + line.raw
    fee = None if sent is None else fee_of(effects, lines[0].chain)
    for place, line in enumerate(lines, start=first):
        key = line.address, line.asset.display_name
        yield {
            "line": line.number or None,
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
            "asked": effects.get("asked", 1) if sent is not None and sent.block else None,
            "status": _status(
                sent, success=effects.get("success"), arrived=got.get(key, 0) >= meant[key]
            ),
            "fee": None if fee is None else _share(fee, place, count),
        }


def _status(sent: SentTransaction | None, *, success: bool | None, arrived: bool) -> PaymentStatus:
    if sent is None:
        return "not sent"
    if sent.state not in (SentState.IN_BLOCK, SentState.FINALIZED):
        return cast("PaymentStatus", sent.state.value)
    if success is False:
        return "failed"
    return cast("PaymentStatus", sent.state.value) if arrived else "unknown"


def _share(fee: AmountAnswer, place: int, count: int) -> AmountAnswer:
    """Return the part of *fee* that the payment at *place* of *count* bears; all parts together are
    the fee."""
    whole, rest = divmod(int(fee["value"]), count)
    value = whole + (place < rest)
    human = None if fee["human"] is None else f"{whole_tokens(fee, value)} {fee['asset']}"
    return {"value": str(value), "asset": fee["asset"], "human": human}


def _cells(row: Payment) -> Sequence[str]:
    amount, fee = row["amount"], row["fee"]
    paid = "" if fee is None else (fee["human"] or f"{fee['value']} raw").split(" ")[0]
    return (
        *(
            str(row["line"] or ""),
            row["account"],
            (amount["human"] or amount["value"]).split(" ")[0],
        ),
        *(
            amount["asset"],
            row["memo"],
            row["chain"],
            row["hash"] or "",
            str(row["block_number"] or ""),
        ),
        *(row["status"], paid, "" if fee is None else fee["asset"]),
    )
