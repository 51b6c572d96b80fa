"""The action `xTransfer`: an asset goes to an account, on another chain or on the same one."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.actions.chain import draw_action
from scenarioctl.actions.drafting import Drafted, check_death, draft_transfer, maximum_of
from scenarioctl.actions.fields import (
    Fields,
    is_maximum,
    known_decimals,
    note_native,
    note_worked_out,
    read_remote_fee_asset,
    read_xcm_version,
)
from scenarioctl.actions.placeholders import WaitsForData, has_placeholder, require_filled
from scenarioctl.actions.sides import (
    action_data,
    asset_key,
    fill_action,
    form_sides,
    outline_source,
    read_sides,
)
from scenarioctl.actions.step_kind import FlowKeys, StepKind
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
from scenarioctl.errors import InvalidRequest, name_of
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.model.amounts import to_whole
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import MAXIMUM, needs_maximum
from scenarioctl.transactions.keyless_accounts import CONFIRM, check_receiver
from scenarioctl.transactions.transfer.request import Transfer

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import UnsignedTransaction

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
        return one_line(read_sides(diagram, node)[1].values.get("address"), 80)
    return ""


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    """Return the transaction; with a *sender* it is built for them, and checked."""
    view = app.acting_as(app.acting or diagram.acting)
    parsed = await _with_amount(view, _parse_node(app, diagram, node), sender, place="source")
    transfer = parsed.complete()
    source, destination = transfer.source, transfer.destination
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        asset=app.assets.answered_id(source, transfer.asset),
        amount=parsed.amount,
        raw_amount=transfer.amount,
        human=transfer.asset.whole_amount(transfer.amount),
        source_chain=source.name,
        dest_chain=destination.name,
        transaction=await draft_parsed(app, parsed, sender),
        sent=transfer.asset,
    )


def draw(
    builder: "DiagramBuilder", app: "Application", fields: Fields, start: str
) -> tuple[str, str]:
    return draw_parsed(builder, parse_transfer(app, fields), app, start=start)


def read_keys(app: "Application", form: Mapping[str, Any]) -> dict[str, Any]:
    data, source, _ = form_sides(form)
    return {
        "assetid": asset_key(app, source),
        "yes": "confirmedReceiver" in data or None,
        "xcm_version": data.get("xcmVersion"),
        "remote_fee_asset": _remote_fee_key(app, source.get("chain"), data.get("remoteFeeAsset")),
        "allow_death": data.get("allowDeath"),
        "accept_loss": data.get("acceptLoss"),
    }


def _remote_fee_key(app: "Application", source: Any, given: Any) -> str | None:
    """Return how a flow file names what pays on the destination."""
    asset = _read_remote_fee(app, app.registry.find(source), given)
    return None if asset is None else asset.id


def _read_remote_fee(app: "Application", source: "Chain", given: Any) -> "Asset | None":
    """Return what a diagram names to pay on the destination, None if it names nothing."""
    with suppress(WaitsForData):
        # A placeholder that nothing fills has been told of by that; any other is refused too.
        require_filled(given, field="remoteFeeAsset")
    return read_remote_fee_asset(app, source, given, "remoteFeeAsset")


@dataclass(frozen=True, kw_only=True)
class ParsedTransfer:
    """The fields of a transfer, of a request or of a node's form."""

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
    #: The caller confirms a receiver that nobody holds the key of.
    confirmed: bool = False
    xcm_version: int | None = None
    #: Goes along to pay on the destination.
    remote_fee_asset: "Asset | None" = None
    #: The sender's account may be closed by it.
    allow_death: bool = False
    #: It is built also if too little arrives to be held there.
    accept_loss: bool = False
    #: Whose balance `max` and shares are of; empty: the account that the transaction is drafted
    #: for.
    holder: str = ""
    notes: tuple[str, ...] = ()
    #: How many endpoints told its amount, 1 or 2; 0 if no node did.
    asked: Literal[0, 1, 2] = 0

    @property
    def has_placeholder(self) -> bool:
        """Whether a field is filled in only when the scenario runs."""
        return isinstance(self.asset, str) or self.raw is None or self.account is None

    def complete(self) -> Transfer:
        """Return the transfer, which must wait for no placeholder."""
        if isinstance(self.asset, str) or self.raw is None or self.account is None:
            raise InvalidRequest("the transfer has a placeholder, expected none")
        return Transfer(
            source=self.source,
            destination=self.destination,
            asset=self.asset,
            amount=self.raw,
            beneficiary=self.account,
            xcm_version=self.xcm_version,
            remote_fee_asset=self.remote_fee_asset,
            allow_death=self.allow_death,
            accept_loss=self.accept_loss,
        )


def parse_transfer(app: "Application", fields: Fields) -> ParsedTransfer:
    """Return what *fields* say, by the keys of `STEP.flow`."""
    source = fields.chain(app, "source_chain")
    destination = fields.chain(app, "dest_chain")
    asset = fields.open_asset(app, source, "assetid")
    amount, raw = fields.open_amount("amount", asset)
    address, account = fields.open_account("destination_address", destination)
    confirmed = fields.flag("yes")
    with fields.checking():
        _check_confirmation(fields, address, account, destination, confirmed=confirmed)
    version = None
    with fields.checking():
        version = _read_version(fields)
    remote_fee_asset = None
    with fields.checking():
        given = fields.get("remote_fee_asset")
        remote_fee_asset = read_remote_fee_asset(
            app, source, given, fields.name("remote_fee_asset")
        )
    allow_death = fields.flag("allow_death")
    with fields.checking():
        check_death(allow_death or None, source, destination, field=fields.name("allow_death"))
    notes = (
        ()
        if isinstance(asset, str)
        else note_native(fields.get("assetid"), asset, fields.name("assetid"))
    )
    return ParsedTransfer(
        source=source,
        destination=destination,
        asset=asset,
        amount=amount,
        raw=raw,
        address=address,
        account=account,
        confirmed=confirmed,
        xcm_version=version,
        remote_fee_asset=remote_fee_asset,
        allow_death=allow_death,
        accept_loss=fields.flag("accept_loss"),
        holder=_read_holder(fields, source),
        notes=notes,
    )


def _read_holder(fields: Fields, source: "Chain") -> str:
    """Return the sender as it was written; empty if none is given."""

    def parse(value: Any, field: str) -> str:
        source.account_format.parse(value, field=field)
        return str(value)

    given = fields.get("sender")
    return (fields.open("sender", parse) or "") if given not in (None, "") else ""


def _check_confirmation(
    fields: Fields, address: str, account: bytes | None, destination: "Chain", *, confirmed: bool
) -> None:
    """Refuse a receiver without a key that is not confirmed, and a confirmation of no address."""
    if account is not None:
        check_receiver(
            account,
            destination,
            address,
            field=fields.name("destination_address"),
            confirmed=confirmed,
            confirm=CONFIRM,
        )
    elif confirmed and has_placeholder(address):
        raise InvalidRequest(
            field=fields.name("yes"),
            problem=(
                f"confirms one receiver, but {fields.name('destination_address')} is filled in "
                "by each run"
            ),
            expected="an address",
        )


def _read_version(fields: Fields) -> int | None:
    version = fields.get("xcm_version")
    if has_placeholder(version):
        raise InvalidRequest(
            field=fields.name("xcm_version"),
            value=version,
            problem="is a placeholder",
            expected="3, 4 or 5",
        )
    return read_xcm_version(version, fields.name("xcm_version"))


def _parse_node(app: "Application", diagram: Diagram, node: Node) -> ParsedTransfer:
    """Return what the form of *node* says, or the chains beside it."""
    source, target = read_sides(diagram, node)
    chain, destination = source.chain(app, "chain"), target.chain(app, "chain")
    asset = source.asset(app, chain, "assetId")
    _check_target_asset(app, asset, source, target, destination)
    # What the sender can send is asked for once the rest is known.
    formula = source.formula("amount")
    amount, raw = (formula, None) if formula else source.amount("amount", asset)
    address, account = target.account("address", destination)
    confirmed = _confirms(node, destination, account)
    check_receiver(
        account,
        destination,
        address,
        field=target.name("address"),
        confirmed=confirmed,
        confirm="create the scenario with --yes (yes) if you mean it",
    )
    version = require_filled(action_data(node).get("xcmVersion"), field="xcmVersion")
    pays = _read_remote_fee(app, chain, action_data(node).get("remoteFeeAsset"))
    return ParsedTransfer(
        source=chain,
        destination=destination,
        asset=asset,
        amount=amount,
        raw=raw,
        address=address,
        account=account,
        confirmed=confirmed,
        xcm_version=read_xcm_version(version, "xcmVersion"),
        remote_fee_asset=pays,
        allow_death=_read_flag(node, "allowDeath"),
        accept_loss=_read_flag(node, "acceptLoss"),
        holder=require_filled(action_data(node).get("sender") or "", field="sender"),
        notes=note_native(source.get("assetId"), asset, source.name("assetId")),
    )


async def draft_parsed(
    app: "Application", transfer: ParsedTransfer, sender: bytes | None = None
) -> "UnsignedTransaction":
    """Return the transaction of a transfer that waits for no placeholder; with a *sender* it is
    checked."""
    transfer = await _with_amount(app, transfer, sender)
    transaction = await draft_transfer(app, transfer.complete(), sender=sender)
    return replace(transaction, notes=(*transaction.notes, *transfer.notes))


async def _with_amount(
    app: "Application", transfer: ParsedTransfer, sender: bytes | None, *, place: str = ""
) -> ParsedTransfer:
    """Return *transfer* with what the formula of its amount comes to now; others as they are.

    `max` and shares are of the account that *app* acts for, of the step's own `sender`, or of
    *sender*.
    """
    asset, given = transfer.asset, transfer.amount
    if (
        transfer.raw is not None
        or isinstance(asset, str)
        or transfer.account is None
        or has_placeholder(given)
    ):
        return transfer
    fields = Fields({"amount": given}, place, final=True)
    if not needs_maximum(given):
        amount, raw = fields.amount("amount", asset)
        note = note_worked_out(given, raw, asset, None)
        return replace(transfer, amount=amount, raw=raw, notes=(note, *transfer.notes))
    if app.acting is None and transfer.holder:
        sender = transfer.source.account_format.parse(transfer.holder, field="sender")
    if app.acting is None and sender is None:
        raise InvalidRequest(
            field=fields.name("amount"),
            value=given,
            problem="depends on whose balance it is",
            expected="the step's sender (sender), or a scenario that acts as an account (as)",
        )
    found = await maximum_of(app, replace(transfer, raw=1).complete(), sender or b"")
    amount, raw = fields.amount("amount", asset, maximum=found.amount)
    note = found.note if is_maximum(given) else note_worked_out(given, raw, asset, found.amount)
    notes = (*replace(found, note=note).notes, *transfer.notes)
    return replace(transfer, amount=amount, raw=raw, notes=notes, asked=found.asked)


async def maximize(
    app: "Application", transfer: ParsedTransfer, sender: bytes, *, allow_death: bool
) -> ParsedTransfer:
    """Return *transfer* with all that *sender* can send now as its amount."""
    if isinstance(transfer.asset, str) or transfer.account is None:
        raise InvalidRequest(
            field="amount",
            problem="max needs an asset and a receiver that are known now",
            expected="no placeholders",
        )
    asked = replace(transfer.complete(), allow_death=allow_death)
    found = await maximum_of(app, asked, sender)
    return replace(
        transfer,
        amount=to_whole(found.amount, known_decimals(transfer.asset, "amount", MAXIMUM)),
        raw=found.amount,
        # Between chains the amount alone decides what stays.
        allow_death=allow_death and asked.is_local,
        notes=(*found.notes, *transfer.notes),
        asked=found.asked,
    )


def draw_alone(app: "Application", transfer: ParsedTransfer) -> Diagram:
    """Return the diagram of a transfer alone."""
    builder = DiagramBuilder()
    draw_parsed(builder, transfer, app)
    return builder.diagram()


def draw_parsed(
    builder: "DiagramBuilder", transfer: ParsedTransfer, app: "Application", *, start: str = ""
) -> tuple[str, str]:
    asset, destination = transfer.asset, transfer.destination
    arriving = None if isinstance(asset, str) else app.assets.counterpart(asset, destination)
    return draw_action(
        builder,
        "xTransfer",
        (transfer.source, asset),
        (destination, arriving),
        _options(transfer),
        amount=transfer.amount,
        address=transfer.address,
        start=start,
    )


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
            node = replace(
                node, form={**node.form, "actionData": {**data, "confirmedReceiver": address}}
            )
        nodes.append(node)
    return replace(diagram, nodes=tuple(nodes))


def _options(transfer: ParsedTransfer) -> dict[str, Any]:
    """Return what `actionData` keeps beside the two sides; nothing for most."""
    kept: dict[str, Any] = {}
    if transfer.confirmed:
        # The address in place of a flag: a receiver that is edited later has to be confirmed again.
        kept["confirmedReceiver"] = transfer.address
    if transfer.xcm_version is not None:
        kept["xcmVersion"] = transfer.xcm_version
    if transfer.remote_fee_asset is not None:
        kept["remoteFeeAsset"] = transfer.remote_fee_asset.id
    if transfer.allow_death:
        kept["allowDeath"] = True
    if transfer.accept_loss:
        kept["acceptLoss"] = True
    if transfer.holder and transfer.raw is None:
        kept["sender"] = transfer.holder
    return kept


def _confirms(node: Node, destination: "Chain", beneficiary: bytes) -> bool:
    """Tell whether the diagram confirms *beneficiary*."""
    given = action_data(node).get("confirmedReceiver")
    try:
        account = destination.account_format.parse(given, field="confirmedReceiver")
    except InvalidRequest:
        return False
    return account == beneficiary


def _read_flag(node: Node, key: str) -> bool:
    """Return whether the diagram sets *key* of the transfer."""
    given = action_data(node).get(key)
    if given is not None and not isinstance(given, bool):
        raise InvalidRequest(field=key, problem=f"is {name_of(given)}", expected="true or false")
    return bool(given)


def _check_target_asset(
    app: "Application", asset: "Asset", source: Fields, target: Fields, destination: "Chain"
) -> None:
    """Refuse a diagram whose target names another asset; none there means the same one."""
    given = target.get("assetId")
    if given is None or given == "" or _repeats_id(source, target):
        return
    other = target.asset(app, destination, "assetId")
    if not app.assets.same_asset(asset, other):
        raise InvalidRequest(
            field="source",
            problem=(
                f"asset {asset.id} and target asset {other.id} are not the same asset: "
                f"{asset.display_name} on {app.registry.title_of(asset.chain)}, "
                f"{other.display_name} on {destination.title}"
            ),
        )


def _repeats_id(source: Fields, target: Fields) -> bool:
    """Return whether the target only repeats the source's id.

    The API that the editor came with writes the source's asset id on both sides, with no symbol
    beside it.
    """
    symbol = target.get("symbol")
    return (symbol is None or symbol == "") and str(target.get("assetId")) == str(
        source.get("assetId")
    )


STEP = StepKind(
    name="xTransfer",
    box=ACTION_BOX,
    look=Look(name="transfer", color="blue", icon="M4 12h15M13 6l6 6l-6 6"),
    tell=tell,
    flow=FlowKeys(
        required=("source_chain", "dest_chain", "destination_address", "amount", "assetid"),
        optional=("yes", "sender", "xcm_version", "remote_fee_asset", "allow_death", "accept_loss"),
        fields={
            "source.chain": "source_chain",
            "source.assetId": "assetid",
            "source.amount": "amount",
            "target.chain": "dest_chain",
            "target.address": "destination_address",
            "amount": "amount",
            "sender": "sender",
        },
        draw=draw,
        read=read_keys,
    ),
    tx_type=TX_TYPE,
    outline=outline_source,
    draft=draft,
    fill=fill_action,
)
