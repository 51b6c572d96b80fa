"""The action `xTransfer`: an asset goes to an account, on another chain or on the same one."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.actions.chain import draw_action
from scenarioctl.actions.drafting import Drafted, draft_transfer, maximum_of
from scenarioctl.actions.fields import (
    is_maximum,
    known_decimals,
    note_worked_out,
    read_form_amount,
    read_remote_fee_asset,
)
from scenarioctl.actions.placeholders import has_placeholder
from scenarioctl.actions.sides import action_data, read_sides
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import (
    Look,
    Row,
    Story,
    account_row,
    known,
    name_chain,
    one_line,
    side_texts,
)
from scenarioctl.actions.transfer_fields import TRANSFER, complete, is_open
from scenarioctl.actions.vocabulary import Reading
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.model.amounts import to_whole
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import MAXIMUM, needs_maximum

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.transactions.connected_transfer import Maximum

#: Its name in the list of drafts.
TX_TYPE = "xTransfer"


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    source, target = side_texts(app, diagram, node)
    pays, receiver = _remote_fee_name(app, source.chain, node), _receiver(diagram, node)
    beside = f" with a little {pays}" if pays else ""
    ends = name_chain(app, source.chain), name_chain(app, target.chain)
    origin, destination = (each.title or "?" for each in ends)
    said = f"{source.said} from {origin} to {destination}, for {target.address}"
    return Story(
        kind="Transfer",
        sentence=said + (f", with a little {pays} that pays the fee there" if pays else ""),
        what=source.tokens or "?",
        named=(source.full_tokens or "?") + beside,
        exact=(source.exact_tokens or "?") + beside,
        chains=ends,
        receiver=receiver,
        gives=source.tokens,
        gets=known(target.asset.short),
        assets=(source.asset,),
        facts=(
            account_row("For", receiver or target.address),
            *([Row(label="Remote fee", text=pays)] if pays else []),
        ),
    )


def _remote_fee_name(app: "Application", source: str, node: Node) -> str:
    """Return what goes along and pays on the destination; empty if the form names nothing."""
    given = action_data(node).get("remoteFeeAsset")
    if given is None or given == "":
        return ""
    name = one_line(given, 40)
    with suppress(InvalidRequest):
        asset = read_remote_fee_asset(app, app.registry.find(source), given, "remoteFeeAsset")
        name = name if asset is None else asset.display_name
    return name


def _receiver(diagram: Diagram, node: Node) -> str:
    """Return the address in full: a public key is longer than what a form's values are cut to."""
    with suppress(InvalidRequest):
        return one_line(read_sides(diagram, node)[1].get("address"), 80)
    return ""


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    """Return the transaction; with a *sender* it is built for them, and checked."""
    view = app.acting_as(app.acting or diagram.acting)
    step = STEP.read(app, diagram, node)
    await _work_out(view, step, sender)
    transfer = complete(step)
    source, destination = transfer.source, transfer.destination
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        asset=app.assets.answered_id(source, transfer.asset),
        amount=step["amount"][0],
        raw_amount=transfer.amount,
        human=transfer.asset.whole_amount(transfer.amount),
        source_chain=source.name,
        dest_chain=destination.name,
        transaction=await draft_step(app, step, sender),
        sent=transfer.asset,
    )


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    asset, destination = step["assetid"], step["dest_chain"]
    is_known = not isinstance(asset, str) and "dest_chain" not in step.unread
    arriving = step.app.assets.counterpart(asset, destination) if is_known else None
    source = step["source_chain"], asset
    return draw_action(builder, step, "xTransfer", source, (destination, arriving), start)


async def draft_step(
    app: "Application", step: Reading, sender: bytes | None = None
) -> "UnsignedTransaction":
    """Return the transaction of a transfer that waits for no placeholder; with a *sender* it is
    checked."""
    await _work_out(app, step, sender)
    transaction = await draft_transfer(app, complete(step), sender=sender)
    return replace(transaction, notes=(*transaction.notes, *step.notes))


async def _work_out(app: "Application", step: Reading, sender: bytes | None) -> None:
    """Let the amount of a transfer mean what its formula comes to now.

    `max` and shares are of the account that *app* acts for, of the step's own `sender`, or of
    *sender*.
    """
    asset, (given, raw), field = step["assetid"], step["amount"], step.name("amount")
    if (
        raw is not None
        or isinstance(asset, str)
        or step["destination_address"][1] is None
        or has_placeholder(given)
    ):
        return
    if not needs_maximum(given):
        step.put("amount", read_form_amount(given, asset, field))
        note = note_worked_out(given, step["amount"][1], asset, None)
        step.notes = (note, *step.notes)
        return
    if app.acting is None and step["sender"]:
        sender = step["source_chain"].account_format.parse(step["sender"], field="sender")
    if app.acting is None and sender is None:
        raise InvalidRequest(
            field=field,
            value=given,
            problem="depends on whose balance it is",
            expected="the step's sender (sender), or a scenario that acts as an account (as)",
        )
    step.put("amount", (given, 1))
    found = await maximum_of(app, complete(step), sender or b"")
    amount = read_form_amount(given, asset, field, found.amount)
    step.put("amount", amount)
    if not is_maximum(given):
        found = replace(found, note=note_worked_out(given, amount[1], asset, found.amount))
    step.notes = (*found.notes, *step.notes)


async def maximize(
    app: "Application", step: Reading, sender: bytes, *, allow_death: bool
) -> "Maximum":
    """Let the amount of a transfer be all that *sender* can send now, and return that."""
    asset = step["assetid"]
    if is_open(step):
        raise InvalidRequest(
            field="amount",
            problem="max needs an asset and a receiver that are known now",
            expected="no placeholders",
        )
    asked = replace(complete(step), allow_death=allow_death)
    found = await maximum_of(app, asked, sender)
    whole = to_whole(found.amount, known_decimals(asset, "amount", MAXIMUM))
    step.put("amount", (whole, found.amount))
    # Between chains the amount alone decides what stays.
    is_closing = allow_death and asked.is_local
    step.put("allow_death", is_closing, is_closing)
    step.notes = (*found.notes, *step.notes)
    return found


def confirm_receivers(diagram: Diagram) -> Diagram:
    """Return *diagram* with the receiver of each transfer confirmed, as it stands there now."""
    nodes = []
    for node in diagram.nodes:
        data = action_data(node)
        address = None
        if str(node.form.get("action")).lower() == "xtransfer":
            with suppress(InvalidRequest):
                address = read_sides(diagram, node)[1].get("address")
        if isinstance(address, str) and not has_placeholder(address):
            node = replace(
                node, form={**node.form, "actionData": {**data, "confirmedReceiver": address}}
            )
        nodes.append(node)
    return replace(diagram, nodes=tuple(nodes))


STEP = StepKind(
    name="xTransfer",
    box=ACTION_BOX,
    look=Look(name="transfer", color="blue", icon="M4 12h15M13 6l6 6l-6 6"),
    tell=tell,
    terms=TRANSFER,
    order=(
        "source_chain",
        "dest_chain",
        "destination_address",
        "amount",
        "assetid",
        "yes",
        "sender",
        "xcm_version",
        "remote_fee_asset",
    ),
    draw=draw,
    tx_type=TX_TYPE,
    draft=draft,
)
