"""The action `xTransfer`: an asset goes to an account, on another chain or on the same one."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.cards import Card, Look, Row, chain_title, known, mark_rows, shorten_middle, tokens
from scenarioctl.actions.chain import draw_chain, editor_id
from scenarioctl.actions.drafting import Drafted, draft_transfer
from scenarioctl.actions.fields import Fields, known_decimals, note_native, read_xcm_version
from scenarioctl.actions.form_text import side_texts
from scenarioctl.actions.placeholders import has_placeholder, require_filled
from scenarioctl.actions.sides import Side, action_data, outline_source, read_sides
from scenarioctl.actions.step_kind import FlowKeys, StepKind
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.model.amounts import parse_number, to_raw, to_text
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.transactions.keyless_accounts import CONFIRM, check_receiver

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction

#: As the mempool calls it.
TX_TYPE = "xTransfer"


def describe(app: "Application", diagram: Diagram, node: Node) -> str:
    source, target = side_texts(app, diagram, node)
    return (
        f"{source['amount']} {source['asset']} from {source['chain']} to {target['chain']}, "
        f"for {target['address']}"
    )


def card(app: "Application", diagram: Diagram, node: Node) -> Card:
    source, target = side_texts(app, diagram, node)
    origin, origin_title = chain_title(app, source["chain"])
    _, destination = chain_title(app, target["chain"])
    rows = (
        Row(text=tokens(source["amount"], source["short"]) or "?", strong=True),
        *mark_rows(source["id"], source["mark"]),
        Row(label="From", text=origin_title or "?"),
        Row(label="To", text=destination or "?"),
        Row(label="For", text=shorten_middle(target["address"])),
    )
    return Card(title="Transfer", rows=rows, chain=origin)


def incoming(app: "Application", diagram: Diagram, node: Node) -> str:
    source, _ = side_texts(app, diagram, node)
    return tokens(source["amount"], source["short"])


def outgoing(app: "Application", diagram: Diagram, node: Node) -> str:
    return known(side_texts(app, diagram, node)[1]["short"])


async def draft(app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None) -> Drafted:
    """Return the transaction; with a *sender* it is built for them, and checked."""
    source_side, target_side = read_sides(diagram, node)
    source, destination = source_side.chain(app), target_side.chain(app)
    asset = source_side.asset(app, source)
    _check_target_asset(app, asset, source_side, target_side, destination)
    given = source_side.require("amount", "whole tokens, like 1.5")
    amount = parse_number(given, field="source.amount")
    decimals = known_decimals(asset, "source.amount", given)
    raw = to_raw(amount, decimals, field="source.amount", symbol=asset.display_name)
    address = target_side.require("address", "the receiver's address")
    beneficiary = destination.account_format.parse(address, field="target.address")
    check_receiver(
        beneficiary,
        address,
        field="target.address",
        confirmed=_confirms(node, destination, beneficiary),
        confirm="create the scenario with --yes (yes) if you mean it",
    )
    version = require_filled(action_data(node).get("xcmVersion"), field="xcmVersion")
    transaction = await draft_transfer(
        app,
        source=source,
        destination=destination,
        asset=asset,
        amount=raw,
        beneficiary=beneficiary,
        xcm_version=read_xcm_version(version, "xcmVersion"),
        sender=sender,
    )
    notes = note_native(source_side.get("assetId"), asset, "source.assetId")
    transaction = replace(transaction, notes=(*transaction.notes, *notes))
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        summary=f"{source.name} > xTransfer > {destination.name}",
        asset=app.assets.answered_id(source, asset),
        amount=to_text(amount),
        raw_amount=raw,
        source_chain=source.name,
        dest_chain=destination.name,
        transaction=transaction,
    )


def draw(
    builder: "DiagramBuilder", app: "Application", values: Mapping[str, Any], place: str, start: str
) -> tuple[str, str]:
    return draw_plan(builder, plan(app, values, place=place), app, start=start)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The fields of a transfer, judged one by one."""

    source: "Chain"
    destination: "Chain"
    #: Or the text with the placeholder that will name it; so with the two that follow.
    asset: "Asset | str"
    #: Whole tokens.
    amount: str
    #: The same in the smallest unit; None where a placeholder has to come first.
    raw: int | None
    address: str
    #: Whose address it is; None where a placeholder will name it.
    account: bytes | None
    #: The caller means this receiver, though nobody holds it.
    confirmed: bool = False
    xcm_version: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def has_placeholder(self) -> bool:
        """Whether a field is filled in only when the scenario runs."""
        return isinstance(self.asset, str) or self.raw is None or self.account is None


def plan(app: "Application", values: Mapping[str, Any], *, place: str = "") -> Plan:
    """Return what *values* say, by the keys of `STEP.flow`."""
    fields = Fields(values, place)
    source = fields.chain(app, "source_chain")
    destination = fields.chain(app, "dest_chain")
    asset = fields.asset(app, source, "assetid")
    amount, raw = fields.scaled_amount("amount", asset)
    address, account = fields.account("destination_address", destination)
    confirmed = fields.flag("yes")
    if account is not None:
        check_receiver(
            account, address, field=fields.name("destination_address"), confirmed=confirmed, confirm=CONFIRM
        )
    elif confirmed:
        raise InvalidRequest(
            f"{fields.name('yes')} confirms one receiver, but {fields.name('destination_address')} is filled in by each "
            "run: expected an address"
        )
    version = fields.get("xcm_version")
    if not has_placeholder(version):
        version = read_xcm_version(version, fields.name("xcm_version"))
    else:
        raise InvalidRequest(
            f"{fields.name('xcm_version')} {shorten(version)} is a placeholder, expected 3, 4 or 5"
        )
    notes = (
        () if isinstance(asset, str) else note_native(fields.get("assetid"), asset, fields.name("assetid"))
    )
    return Plan(
        source=source,
        destination=destination,
        asset=asset,
        amount=amount,
        raw=raw,
        address=address,
        account=account,
        confirmed=confirmed,
        xcm_version=version,
        notes=notes,
    )


async def draft_plan(app: "Application", planned: Plan, sender: bytes | None = None) -> "UnsignedTransaction":
    """Return the transaction of a transfer that waits for no placeholder; with a *sender* it is checked."""
    if isinstance(planned.asset, str) or planned.raw is None or planned.account is None:
        raise InvalidRequest("the transfer has a placeholder, expected none")
    return await draft_transfer(
        app,
        source=planned.source,
        destination=planned.destination,
        asset=planned.asset,
        amount=planned.raw,
        beneficiary=planned.account,
        xcm_version=planned.xcm_version,
        sender=sender,
    )


def draw_document(app: "Application", planned: Plan) -> dict[str, Any]:
    """Return the diagram of a transfer alone."""
    builder = DiagramBuilder()
    draw_plan(builder, planned, app)
    return builder.document()


def draw_plan(
    builder: "DiagramBuilder", planned: Plan, app: "Application", *, start: str = ""
) -> tuple[str, str]:
    source, destination, asset = planned.source, planned.destination, planned.asset
    amount, address = planned.amount, planned.address
    arriving = None if isinstance(asset, str) else app.assets.counterpart(asset, destination)
    first = draw_chain(builder, source, asset, amount=amount, start=start)
    action = builder.add(
        ACTION_BOX,
        {
            "action": "xTransfer",
            "actionData": {
                "actionType": "xTransfer",
                "source": {
                    "chain": source.name,
                    "assetId": asset if isinstance(asset, str) else editor_id(source, asset),
                    "address": None,
                    "amount": amount,
                    "symbol": None if isinstance(asset, str) else asset.symbol,
                },
                "target": {
                    "chain": destination.name,
                    "assetId": None if arriving is None else editor_id(destination, arriving),
                    "address": address,
                    "symbol": None if arriving is None else arriving.symbol,
                },
                **_options(planned),
            },
        },
    )
    last = draw_chain(builder, destination, arriving, address=address)
    builder.connect(first, action)
    builder.connect(action, last)
    return first, last


def confirm_receivers(diagram: Diagram) -> Diagram:
    """Return *diagram* with the receiver of each transfer confirmed, as it stands there now."""
    nodes = []
    for node in diagram.nodes:
        data = action_data(node)
        address = None
        if str(node.form.get("action")).lower() == "xtransfer":
            with suppress(InvalidRequest):
                address = read_sides(diagram, node)[1].values.get("address")
        if isinstance(address, str) and not has_placeholder(address):
            node = replace(node, form={**node.form, "actionData": {**data, "confirmedReceiver": address}})
        nodes.append(node)
    return replace(diagram, nodes=tuple(nodes))


def _options(planned: Plan) -> dict[str, Any]:
    """Return what `actionData` keeps beside the two sides; nothing for most."""
    kept: dict[str, Any] = {}
    if planned.confirmed:
        # The address, and no flag: whoever edits the receiver later has to confirm the new one.
        kept["confirmedReceiver"] = planned.address
    if planned.xcm_version is not None:
        kept["xcmVersion"] = planned.xcm_version
    return kept


def _confirms(node: Node, destination: "Chain", beneficiary: bytes) -> bool:
    """Tell whether the diagram confirms *beneficiary*."""
    given = action_data(node).get("confirmedReceiver")
    try:
        account = destination.account_format.parse(given, field="confirmedReceiver")
    except InvalidRequest:
        return False
    return account == beneficiary


def _check_target_asset(
    app: "Application", asset: "Asset", source: Side, target: Side, destination: "Chain"
) -> None:
    """Refuse a diagram whose target names another asset; none there means the same one."""
    given = target.get("assetId")
    if given is None or given == "" or _repeats_id(source, target):
        return
    other = target.asset(app, destination)
    if not app.assets.same_asset(asset, other):
        raise InvalidRequest(
            f"source asset {asset.id} and target asset {other.id} are not the same asset: "
            f"{asset.display_name} on {asset.chain}, {other.display_name} on {destination.name}"
        )


def _repeats_id(source: Side, target: Side) -> bool:
    """Return whether the target only repeats the source's id.

    The API that the editor came with writes the source's asset id on both sides, with no symbol beside it.
    """
    symbol = target.get("symbol")
    return (symbol is None or symbol == "") and str(target.get("assetId")) == str(source.get("assetId"))


STEP = StepKind(
    name="xTransfer",
    box=ACTION_BOX,
    look=Look(name="transfer", color="blue", icon="M4 12h15M13 6l6 6l-6 6"),
    describe=describe,
    card=card,
    incoming=incoming,
    outgoing=outgoing,
    flow=FlowKeys(
        required=("source_chain", "dest_chain", "destination_address", "amount", "assetid"),
        optional=("yes", "xcm_version"),
        fields={
            "source.chain": "source_chain",
            "source.assetId": "assetid",
            "source.amount": "amount",
            "target.chain": "dest_chain",
            "target.address": "destination_address",
            "amount": "amount",
        },
        draw=draw,
    ),
    tx_type=TX_TYPE,
    outline=outline_source,
    draft=draft,
)
