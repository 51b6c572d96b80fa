"""The transactions that were sent, as the store remembers them: a list, and a table for
accountants.  No chain is asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.formats.documents import write_csv
from scenarioctl.model.amounts import read_choice
from scenarioctl.model.jobs import SentState, SentTransaction
from scenarioctl.model.json_types import (
    SHOWN,
    AmountAnswer,
    Column,
    Hex,
    HoldingAnswer,
    Timestamp,
    timestamp,
)
from scenarioctl.model.request_fields import Address, ChainName, ScenarioName, Value
from scenarioctl.operations.results import PageFields, Result, read_page_size
from scenarioctl.operations.runs import read_since
from scenarioctl.operations.sent_states import (
    Became,
    fee_of,
    negated,
    outcome_of,
    received_by,
    standing_of,
    sum_by_asset,
)
from scenarioctl.operations.stored_diagrams import titles_of
from scenarioctl.operations.transaction_status import block_time, is_settled, read_effects
from scenarioctl.stores.sent import SentFilter
from scenarioctl.transactions.submission.outcomes import Outcome

__all__ = ["list_transactions"]

STATES = tuple(SentState)
#: Rows above which an answer is encoded in a thread.
_MANY = 100


@dataclass(frozen=True, kw_only=True)
class ListTransactions(PageFields):
    """List the transactions that were sent from here, the newest first. No chain is asked: `tx
    status` does that."""

    #: Only those that this account signed: SS58 with any prefix, or hex.
    account: Address = ""
    #: Only those of this chain.
    chain: ChainName = ""
    #: Only those that were made of this scenario or its job.
    scenario: ScenarioName = ""
    #: Only those that are `uncertain`, `sent`, `in-block`, `finalized` or `expired`.
    state: Annotated[str, Value("STATE", offers=STATES)] = ""
    #: Only those sent from this time on, like 2026-11-22T15:30 (local time), or in the last 2h or
    #: 30d.
    since: Annotated[str, Value("TIME")] = ""
    #: Only those sent before this time.
    until: Annotated[str, Value("TIME")] = ""
    #: A table for a spreadsheet: CSV as RFC 4180 has it, with a row for each asset that left the
    #: account or came to it.
    csv: bool = False


class SentRow(TypedDict):
    """A transaction that was sent. What isn't known is null or empty."""

    sent: Annotated[Timestamp, Column("time")]
    chain: Annotated[str, SHOWN]
    state: Literal["uncertain", "sent", "in-block", "finalized", "expired"]
    #: What became of it, as it was last seen, in one word as `tx status` has it, and in words.
    became: Annotated[Became, Column("state")]
    outcome: str
    #: Who signed it, as the chain writes addresses.
    account: str
    #: What it does, in a sentence.
    says: Annotated[str, Column("transaction")]
    hash: Annotated[Hex, SHOWN]
    #: The scenario that it was made of, and its name; a deleted one's as it was when this was sent.
    scenario: str
    name: str
    node: str
    job: str
    draft: int | None
    block_number: int | None
    block_time: "Timestamp | None"
    #: How many endpoints it rests on; null before it is in a block.
    asked: Literal[1, 2] | None
    #: False if it did nothing in its block; null if a part of it failed or is unknown.
    success: bool | None
    #: What the account has less by it, fees included.
    left: list[AmountAnswer] | None
    #: What the others that make its calls have less: multisigs, proxied accounts.
    spent: list[HoldingAnswer]
    #: What the account and the receivers got, on this chain and on others.
    received: list[HoldingAnswer]
    #: Chains that it sent a message to.
    destinations: list[str]
    #: Its page at an explorer; null before it is in a block, and if the chain has none.
    explorer: str | None
    #: Whether nothing of this can change any more.
    settled: bool


class SentList(TypedDict):
    #: Empty with `csv`.
    transactions: Annotated[list[SentRow], SHOWN]
    #: The lines of this page, the first page's after a line with the names of the columns; null
    #: without `csv`.
    csv: str | None
    total: int
    #: `after` of the next page; null on the last one.
    next: str | None


async def list_transactions(app: Application, request: ListTransactions) -> Result[SentList]:
    page = await app.existing_store.sent().list(
        _read_filter(app, request), limit=read_page_size(request.limit), after=request.after
    )
    names = await _names_of(app, page.items)

    def describe() -> tuple[list[SentRow], str | None]:
        rows = [
            _describe(app, each, names.get(each.origin.scenario, each.name)) for each in page.items
        ]
        if not request.csv:
            return rows, None
        lines = [
            line
            for row, each in zip(rows, page.items, strict=True)
            for line in _lines(app, row, each)
        ]
        return [], write_csv(lines if request.after else [COLUMNS, *lines])

    rows, text = await app.aside(describe) if len(page.items) > _MANY else describe()
    return Result(
        answer={"transactions": rows, "csv": text, "total": page.total, "next": page.next or None},
    )


async def _names_of(app: Application, sent: Sequence[SentTransaction]) -> dict[str, str]:
    """Return what their scenarios are called now, by their ids; deleted ones are left out."""
    titles = await titles_of(app, [each.origin.scenario for each in sent if each.origin.scenario])
    return {id: title.name for id, title in titles.items()}


def _read_filter(app: Application, request: ListTransactions) -> SentFilter:
    from scenarioctl.chains.addresses import format_of

    moments: dict[str, Any] = {
        name: read_since(value, now=app.clock(), field=name)
        for name, value in (("since", request.since), ("until", request.until))
        if value
    }
    account = request.account.strip()
    state = read_choice(request.state, field="state", choices=STATES) if request.state else ""
    signer = format_of(account).parse(account, field="account").hex() if account else ""
    return SentFilter(
        signer=signer and f"0x{signer}",
        chain=app.registry.find(request.chain).name if request.chain else "",
        scenario=request.scenario,
        state=str(state),
        **moments,
    )


def _describe(app: Application, sent: SentTransaction, name: str) -> SentRow:
    from scenarioctl.chains.addresses import format_account

    chain, origin = app.registry.known(sent.chain), sent.origin
    effects, standing = read_effects(sent), standing_of(sent)
    account = sent.signer
    if chain is not None and sent.account:
        account = format_account(sent.account, chain.ss58_prefix)
    return {
        "chain": sent.chain,
        "hash": sent.hash,
        "state": sent.state.value,
        "became": standing.became,
        "outcome": outcome_of(sent),
        "sent": timestamp(sent.sent),
        "account": account,
        "says": sent.says,
        "scenario": origin.scenario,
        "name": name,
        "node": origin.node,
        "job": origin.job,
        "draft": origin.draft or None,
        "block_number": sent.block_number,
        "block_time": block_time(effects),
        "asked": effects.get("asked", 1) if sent.block else None,
        "success": standing.success,
        "left": effects.get("left"),
        "spent": effects.get("spent", []),
        "received": received_by(effects),
        "destinations": list(dict.fromkeys(each["chain"] for each in effects.get("arrivals", ()))),
        "explorer": chain.explorer_link(sent.hash) if chain is not None and sent.block else None,
        "settled": is_settled(sent),
    }


COLUMNS = (
    *("time", "account", "asset", "amount", "fee", "fee asset", "counterparty"),
    *("block", "hash", "memo", "state", "chain", "sent"),
)


def _lines(app: Application, row: SentRow, sent: SentTransaction) -> Iterator[Sequence[str]]:
    """Give a line for each payment, and for each asset that left an account that makes its calls
    otherwise, or came to it, on any chain; one of the signer at least, with the fee.

    The amounts are without the fee.
    """
    chain = app.registry.known(row["chain"])
    effects = read_effects(sent)
    fee = fee_of(effects, chain) if chain is not None else None
    actors = {sent.account} | {Outcome.read(each).account for each in effects.get("outcomes", ())}
    others = _counterparties(app, row, effects, actors)
    lines: list[tuple[str, AmountAnswer | None, str, str]] = []
    spent = row["spent"]
    for account in dict.fromkeys((row["account"], *(each["account"] for each in spent))):
        is_signer = account == row["account"]
        changes = [
            negated(each) for each in (row["left"] or () if is_signer else _of(account, spent))
        ]
        changes += _of(account, effects.get("received") or ())
        if is_signer and fee and any(each["asset"] == fee["asset"] for each in changes):
            changes.append(fee)
        for each in effects.get("paid", ()):
            if each["payer"] == account:
                lines.append((account, negated(each), each["receiver"], row["chain"]))
                changes.append(each)
        rest = [each for each in sum_by_asset(changes) if each["value"] != "0"]
        lines += [
            (account, each, others if each["value"].startswith("-") else "", row["chain"])
            for each in rest
        ]
        if is_signer and not lines:
            lines.append((account, None, others, row["chain"]))
    for got in received_by(effects):
        if got["chain"] != row["chain"] and _is_of(app, got, actors):
            lines.append((got["account"], got, "", got["chain"]))
    time = row["block_time"] or ""
    state = row["state"] if row["became"] == "partly-failed" else row["became"]
    for account, moved, counterparty, where in lines:
        # The block is one of the chain that it was sent to.
        block = str(row["block_number"] or "") if where == row["chain"] else ""
        yield (
            *(_utc(time), account, *_cells(moved), *_cells(fee)[::-1], counterparty),
            *(block, row["hash"], row["name"], state, where, _utc(row["sent"])),
        )
        fee = None


def _of(account: str, holdings: Iterable[HoldingAnswer]) -> list[HoldingAnswer]:
    return [each for each in holdings if each["account"] == account]


def _is_of(app: Application, got: HoldingAnswer, actors: set[bytes | None]) -> bool:
    """Tell whether one of *actors* got it, on whatever chain."""
    from scenarioctl.chains.addresses import format_account

    chain = app.registry.known(got["chain"])
    return chain is not None and any(
        got["account"] == format_account(each, chain.ss58_prefix) for each in actors if each
    )


def _counterparties(
    app: Application, row: SentRow, effects: Mapping[str, Any], actors: set[bytes | None]
) -> str:
    """Return the others that got something that isn't known as a payment, or that a message pays
    that isn't known to have arrived, with spaces between."""
    from scenarioctl.chains.addresses import format_account

    paid = {each["receiver"] for each in effects.get("paid", ())}
    others = [
        each["account"]
        for each in row["received"]
        if each["account"] not in paid and not _is_of(app, each, actors)
    ]
    for each in effects.get("arrivals", ()):
        chain = app.registry.known(each["chain"])
        if chain is not None and not each.get("received"):
            accounts = [bytes.fromhex(account[2:]) for account in each.get("receivers", ())]
            others += [
                format_account(account, chain.ss58_prefix)
                for account in accounts
                if account not in actors
            ]
    return " ".join(dict.fromkeys(others))


def _utc(moment: str) -> str:
    """Return a time as spreadsheets read it: `2026-11-22 15:30:00`."""
    return moment[:19].replace("T", " ")


def _cells(amount: AmountAnswer | None) -> tuple[str, str]:
    """Return the name of an asset, and *amount* in whole tokens, as the chain counts it if its
    decimals are unknown; empty ones for None."""
    if amount is None:
        return "", ""
    if amount["human"] is None:
        return f"{amount['asset']} (smallest unit)", amount["value"]
    return amount["asset"], amount["human"].split(" ")[0]
