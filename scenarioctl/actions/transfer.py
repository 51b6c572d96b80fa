"""The action `xTransfer`: an asset goes to an account, on another chain or on the same one."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.actions.chain import draw_action
from scenarioctl.actions.drafting import Drafted, check_death, draft_transfer, maximum_of
from scenarioctl.actions.fields import (
    find_form_asset,
    is_maximum,
    known_decimals,
    note_native,
    note_worked_out,
    read_form_amount,
    read_remote_fee_asset,
)
from scenarioctl.actions.placeholders import has_placeholder, require_filled
from scenarioctl.actions.sides import action_data, read_node, read_sides
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
from scenarioctl.actions.transfer_fields import PARTS
from scenarioctl.actions.vocabulary import Reading
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.model.amounts import to_whole
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import MAXIMUM, needs_maximum
from scenarioctl.transactions.keyless_accounts import CONFIRM, check_receiver
from scenarioctl.transactions.transfer.request import Transfer

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
    step = read_node(app, STEP, diagram, node)
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
    arriving = None if isinstance(asset, str) else step.app.assets.counterpart(asset, destination)
    source = step["source_chain"], asset
    return draw_action(builder, step, "xTransfer", source, (destination, arriving), start)


def is_open(step: Reading) -> bool:
    """Tell whether a field of a transfer is filled in only when the scenario runs."""
    asset, (_, raw), (_, account) = (
        step[key] for key in ("assetid", "amount", "destination_address")
    )
    return isinstance(asset, str) or raw is None or account is None


def complete(step: Reading) -> Transfer:
    """Return the transfer, which must wait for no placeholder."""
    if is_open(step):
        raise InvalidRequest("the transfer has a placeholder, expected none")
    return Transfer(
        source=step["source_chain"],
        destination=step["dest_chain"],
        asset=step["assetid"],
        amount=step["amount"][1],
        beneficiary=step["destination_address"][1],
        xcm_version=step["xcm_version"],
        remote_fee_asset=step["remote_fee_asset"],
        allow_death=step["allow_death"],
        accept_loss=step["accept_loss"],
    )


def _check(step: Reading) -> None:
    source, destination, asset = step["source_chain"], step["dest_chain"], step["assetid"]
    (address, account), is_form = step["destination_address"], step.way == "form"
    field = step.name("destination_address")
    if is_form:
        _check_target_asset(step)
    with step.checking("dest_chain", "destination_address", "yes"):
        if account is not None:
            check_receiver(
                account,
                destination,
                address,
                field=field,
                confirmed=step["yes"],
                confirm="create the scenario with --yes (yes) if you mean it"
                if is_form
                else CONFIRM,
            )
        elif step["yes"] and has_placeholder(address):
            raise InvalidRequest(
                field=step.name("yes"),
                problem=f"confirms one receiver, but {field} is filled in by each run",
                expected="an address",
            )
    with step.checking("source_chain", "dest_chain", "allow_death"):
        death = step["allow_death"] and not is_form
        check_death(death or None, source, destination, field=step.name("allow_death"))
    if not isinstance(asset, str):
        step.notes = note_native(step.given("assetid"), asset, step.name("assetid"))
    if step["amount"][1] is not None:
        # It is nobody's share.
        step.put("sender", "")


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


def _check_target_asset(step: Reading) -> None:
    """Refuse a diagram whose target names another asset; none there means the same one."""
    source, target = step.written["source"], step.written["target"]
    given = require_filled(target.get("assetId"), field="target.assetId")
    # The API that the editor came with writes the source's asset id on both sides, with no symbol
    # beside it.
    repeats = target.get("symbol") in (None, "") and str(given) == str(source.get("assetId"))
    asset, destination = step["assetid"], step["dest_chain"]
    if given is None or given == "" or repeats or isinstance(asset, str):
        return
    other = find_form_asset(step.app, destination, target, "target.assetId")
    with step.checking("assetid", "dest_chain"):
        if not step.app.assets.same_asset(asset, other):
            raise InvalidRequest(
                field="source",
                problem=(
                    f"asset {asset.id} and target asset {other.id} are not the same asset: "
                    f"{asset.display_name} on {step.app.registry.title_of(asset.chain)}, "
                    f"{other.display_name} on {destination.title}"
                ),
            )


STEP = StepKind(
    name="xTransfer",
    box=ACTION_BOX,
    look=Look(name="transfer", color="blue", icon="M4 12h15M13 6l6 6l-6 6"),
    tell=tell,
    parts=PARTS,
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
        "allow_death",
        "accept_loss",
    ),
    rules=_check,
    draw=draw,
    tx_type=TX_TYPE,
    draft=draft,
)
