"""The node `payout`: many payments on one chain in one transaction, a batch of transfers with their
memos as remarks."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.drafting import Drafted, draft_calls
from scenarioctl.actions.payout_lines import PayoutLine, read_lines, sum_lines, write_lines
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Row, Story, group_digits, name_chain, one_line
from scenarioctl.actions.vocabulary import CHAIN, FLAG, Kind, Part, Reading, Terms
from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.formats.diagram_builder import EditorBox
from scenarioctl.formats.documents import read_csv
from scenarioctl.model.acting import MultisigLayer
from scenarioctl.model.amounts import parse_number, to_text
from scenarioctl.model.calls import Call
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.transactions.transfer.build import build_payments

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Chain
    from scenarioctl.formats.diagram_builder import DiagramBuilder
    from scenarioctl.runtime.table import RuntimeTable

#: Its name in the list of drafts.
TX_TYPE = "Payout"
#: The type of its node, and the key under which its form says, while it is opened, what was sent
#: for it: `told`, and the places of the lines that are `left`.
PAYOUT, SENT = "payout", "sent"

BOX = EditorBox(type=PAYOUT, label="Payout")
#: Lines that are read on the event loop, in a few milliseconds.
_AT_ONCE = 50
#: Assets that a card names.
_SHOWN = 3
#: More decimals than any asset has, and what adds amounts without rounding them.
_DECIMALS, _EXACT = 40, Context(prec=120)


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    count, sums = _count(node.form.get("lines"))
    chain = name_chain(app, node.form.get("selectedChain"))
    totals = [
        group_digits(f"{to_text(total)} {_name(app, chain.literal, asset)}")
        for asset, total in list(sums.items())[:_SHOWN]
    ]
    paid = " and ".join([*totals, *["other assets"] * (len(sums) > _SHOWN)])
    payments = f"{group_digits(str(count))} payment{'s' * (count != 1)}"
    facts = [Row(label="Memos", text="as remarks")] if node.form.get("memos") is True else []
    return Story(
        kind="Payout",
        sentence=f"{payments} on {chain.title or '?'}{paid and f', {paid} in total'}"
        if count
        else "no payments yet",
        what=paid,
        named=f"{payments}{paid and f', {paid}'}" if count else "payout without payments",
        chains=(chain,),
        facts=(Row(label="Lines", text=str(count)), *facts),
    )


def _name(app: "Application", chain: str, asset: str) -> str:
    try:
        return app.assets.find(app.registry.find(chain), asset).display_name
    except InvalidRequest:
        return one_line(asset) or "?"


def _count(text: Any) -> tuple[int, dict[str, Decimal]]:
    """Return how many payments *text* has, and how much of each asset; no sums if one can't be
    read, and nothing else is checked."""
    sums: dict[str, Decimal] = {}
    count = unread = 0
    try:
        rows = read_csv(text, field="lines") if isinstance(text, str) else iter(())
        header = next(rows, (0, []))[1]
        place, named = header.index("amount"), header.index("asset")
        for _, cells in rows:
            count += 1
            try:
                amount = parse_number(cells[place], field="amount")
                sums[cells[named]] = _EXACT.add(sums.get(cells[named], Decimal(0)), amount)
                unread += amount.adjusted() < -_DECIMALS
            except (InvalidRequest, LookupError):
                unread += 1
    except (InvalidRequest, ValueError):
        return count, {}
    return count, {} if unread else sums


def was_sent(node: Node) -> bool:
    """Tell whether *node* is a payout of which all payments were sent, as far as its scenario was
    opened to draft from it."""
    sent = node.form.get(SENT)
    return isinstance(sent, dict) and not sent["left"]


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    form = node.form
    if was_sent(node):
        acting = app.acting or diagram.acting
        layers = () if acting is None else acting.layers
        if any(isinstance(each, MultisigLayer) and each.threshold > 1 for each in layers):
            raise Conflict(
                f"a signatory's transaction was sent: {form[SENT]['told']}. The others approve it "
                "with multisig approve; it isn't drafted again. To pay everybody once "
                "more, copy the scenario"
            )
        raise Conflict(
            f"its payments were sent: {form[SENT]['told']}. They aren't drafted again; to pay "
            "everybody once more, copy the scenario"
        )
    sent = form.get(SENT) or {}
    step = STEP.read(app, diagram, node)
    chain, text, kind = step["chain"], step["lines"], batch_kind(step["force_batch"])
    table = await app.runtime(chain)

    def build() -> tuple[list[PayoutLine], list[Call]]:
        lines = read_lines(app, text, chain=chain)
        lines = [lines[place] for place in sent.get("left", range(len(lines)))]
        return lines, build_calls(lines, table, memos=step["memos"])

    few = isinstance(text, str) and text.count("\n") <= _AT_ONCE
    lines, calls = build() if few else await app.aside(build)
    sums = sum_lines(lines)
    asset = next(iter(sums)) if len(sums) == 1 else None
    transaction = await draft_calls(
        app,
        chain=chain,
        kind=kind,
        calls=calls,
        warnings=warn_of_deposits(lines, table, kind),
    )
    if sent:
        rest = f"the other payments were sent: {sent['told']}. Only these are drafted again"
        transaction = replace(
            transaction,
            part=" ".join(map(str, sent["left"])),
            warnings=(rest, *transaction.warnings),
        )
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        asset="" if asset is None else app.assets.answered_id(chain, asset),
        amount="0" if asset is None else asset.amount(sums[asset]).split(" ")[0],
        raw_amount=0 if asset is None else sums[asset],
        human=" and ".join(each.whole_amount(total) for each, total in sums.items()),
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=transaction,
    )


def batch_kind(goes_on: bool) -> str:
    """Return the kind of batch that does all payments or none, or that *goes on* after one that
    fails."""
    return "force-batch" if goes_on else "batch-all"


def build_calls(lines: Sequence[PayoutLine], table: "RuntimeTable", *, memos: bool) -> list[Call]:
    """Return the transfer of each of *lines*, followed by its memo, if *memos* are wanted and it
    has one."""
    payments = build_payments(
        lines[0].chain, ((each.asset, each.account, each.raw) for each in lines), table
    )
    calls: list[Call] = []
    for line, call in zip(lines, payments, strict=True):
        calls.append(call)
        if memos and line.memo:
            calls.append(
                Call(pallet="System", method="remark", args={"remark": line.memo.encode()})
            )
    return calls


def below_deposit(lines: Sequence[PayoutLine], table: "RuntimeTable | None") -> list[PayoutLine]:
    """Return those of *lines* that an account which holds none of the asset can't receive."""
    deposits = {asset: asset.known_deposit(table) or 0 for asset in sum_lines(lines)}
    return [each for each in lines if each.raw < deposits[each.asset]]


def warn_of_deposits(
    lines: Sequence[PayoutLine], table: "RuntimeTable | None", kind: str
) -> tuple[str, ...]:
    small = below_deposit(lines, table)
    if not small:
        return ()
    named = ", ".join(f"{each.asset.amount(each.raw)} to {each.address}" for each in small[:3])
    return (
        (
            f"{len(small)} of {len(lines)} payments are below the existential deposit, like "
            f"{named}. An account that holds none yet can't receive so "
            f"little{', and then none of the payments is made' * (kind == 'batch-all')}."
        ),
    )


def _lines(reading: Reading, value: Any, name: str, chain: Any) -> Any:
    if reading.way == "form":
        return value
    try:
        return write_lines(read_lines(reading.app, value, chain=chain))
    except InvalidRequest as error:
        raise error.named(name) from None


def draw_payout(
    builder: "DiagramBuilder",
    chain: "Chain",
    text: str,
    *,
    memos: bool,
    force: bool,
) -> str:
    """Draw the box of a payout with lines that were written; return its id."""
    form: dict[str, Any] = {"selectedChain": chain.name, "lines": text}
    given = {"memos": memos, "forceBatch": force}
    return builder.add(BOX, form | {key: value for key, value in given.items() if value})


STEP = StepKind(
    name="payout",
    box=BOX,
    look=Look(name="payout", color="blue", icon="M4 7h9M4 12h9M4 17h9M17 5v12M14 14l3 3l3-3"),
    route="payout",
    tell=tell,
    terms=Terms(
        {
            "chain": Part(kind=CHAIN, at="selectedChain", needed=True),
            "lines": Part(
                kind=Kind(read=_lines, write=lambda text, _: text),
                at="lines",
                of="chain",
                needed=True,
            ),
            "memos": Part(kind=FLAG, at="memos"),
            "force_batch": Part(kind=FLAG, at="forceBatch"),
        }
    ),
    tx_type=TX_TYPE,
    draft=draft,
    is_done=was_sent,
)
