"""The action `swap`: one asset is sold for another on the exchange parachain."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.chain import draw_action
from scenarioctl.actions.drafting import Drafted, draft_swap
from scenarioctl.actions.fields import Fields, note_worked_out, read_raw, read_tokens
from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Unfillable,
    has_placeholder,
    require_filled,
)
from scenarioctl.actions.placeholders import fill as fill_any
from scenarioctl.actions.sides import (
    action_data,
    asset_key,
    fill_action,
    form_sides,
    outline_source,
    read_sides,
)
from scenarioctl.actions.step_kind import FlowKeys, StepData, StepKind
from scenarioctl.actions.story import (
    AssetText,
    Look,
    Row,
    Story,
    group_digits,
    known,
    name_chain,
    one_line,
    side_texts,
)
from scenarioctl.errors import InvalidRequest, ScenarioctlError, name_of, shorten
from scenarioctl.formats.diagram_builder import ACTION_BOX
from scenarioctl.model.amounts import parse_number, parse_raw, to_text, to_whole
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import needs_maximum

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.formats.diagram_builder import DiagramBuilder
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.swap.swap_limits import SwapLimits

#: As the mempool calls it.
TX_TYPE = "swap"
#: The amount that is certain before the swap is in a block.
DATA = StepData(
    name="swap",
    title="a swap",
    label="",
    fields=("min_received",),
    editor_paths={("min_received",): ("min_received",)},
)
#: The chain of a swap that names none.
_DEFAULT_CHAIN = "hydraDx"


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    source, target = side_texts(app, diagram, node)
    options, least = action_data(node), _minimum_text(app, diagram, node)
    exact = " (exact)" if options.get("exactMinimum") is True else ""
    slippage = one_line(options.get("slippage")) or "1"
    chain = name_chain(app, source.chain)
    said = f"{source.said} for {target.asset.full} on {chain.title or '?'}"
    return Story(
        kind="Swap",
        sentence=f"{said}, at least {least}{exact}" if least else said,
        what=f"{source.tokens or '?'} → {target.asset.short}",
        named=(
            f"{source.full_tokens or '?'} → {f'at least {least}' if least else target.asset.full}"
        ),
        exact=f"{source.exact_tokens or '?'} → {_exactly(least, target.asset)}",
        chains=(chain,),
        gives=source.tokens,
        gets=group_digits(least) or known(target.asset.short),
        assets=(source.asset, target.asset),
        facts=(Row(label="At least", text=group_digits(least or f"the quote less {slippage} %")),),
    )


def _exactly(least: str, bought: AssetText) -> str:
    which = f" ({bought.which})" if bought.which else ""
    return f"at least {least}{which}" if least else bought.exact


def _minimum_text(app: "Application", diagram: Diagram, node: Node) -> str:
    """Return what a swap has to bring at least, in whole tokens if their decimals are known; empty
    if nothing is set."""
    given = action_data(node).get("minAmountOut")
    if given is None or given == "":
        return ""
    try:
        raw = parse_raw(given, field="minAmountOut")
        _, target = read_sides(diagram, node)
        asset = target.asset(app, target.chain(app, "chain"), "assetId")
    except ScenarioctlError:
        return one_line(given)
    return asset.amount(raw)


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    """Return the transaction; with a *sender* its quote is held against a dry run of theirs."""
    source, target = read_sides(diagram, node)
    chain, destination = source.chain(app, "chain"), target.chain(app, "chain")
    check_exchange(app, chain, "source.chain")
    if destination.name != chain.name:
        raise InvalidRequest(
            field="target.chain",
            value=destination.name,
            problem="is not the chain of the swap",
            expected=f"{chain.title!r}",
        )
    asset_in, asset_out = source.asset(app, chain, "assetId"), target.asset(app, chain, "assetId")
    amount, raw = source.amount("amount", asset_in)
    check_pair(asset_in, asset_out, "target.assetId")
    options = action_data(node)
    transaction = await draft_swap(
        app,
        chain=chain,
        asset_in=asset_in,
        asset_out=asset_out,
        amount=raw,
        bounds=_read_bounds(options),
        route=read_route(require_filled(options.get("route"), field="route"), "route"),
        sender=sender,
    )
    if formula := source.formula("amount"):
        note = note_worked_out(formula, raw, asset_in, None)
        transaction = replace(transaction, notes=(note, *transaction.notes))
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        asset=asset_in.id,
        amount=amount,
        raw_amount=raw,
        human=asset_in.whole_amount(raw),
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=transaction,
        sent=asset_in,
        received=asset_out,
        data=_carried(transaction.call, asset_out),
    )


def _carried(call: "Call", asset_out: "Asset") -> dict[str, str] | None:
    """Return what later steps may use of a swap: the amount that it receives at least, in whole
    tokens if they are known."""
    if asset_out.decimals is None:
        return None
    raw = call.args["min_buy_amount" if call.pallet == "Omnipool" else "min_amount_out"]
    return {"min_received": to_whole(raw, asset_out.decimals)}


def fill(form: Mapping[str, Any], data: Data) -> Mapping[str, Any]:
    """Return *form* with its placeholders replaced; in a route that is text, data is one name and
    brings no hops of its own."""
    filled = dict(fill_action(form, data))
    options = form.get("actionData")
    route = options.get("route") if isinstance(options, dict) else None
    if isinstance(route, str):
        filled["actionData"]["route"] = fill_any(route, data, encoder=_RouteEncoder)
    return filled


class _RouteEncoder(Encoder):
    _NAME = re.compile(r"[A-Za-z0-9_:.-]{1,80}", re.ASCII)

    def write(self, value: Any, following: str) -> str:
        text = super().write(value, following)
        if not self._NAME.fullmatch(text):
            raise Unfillable(
                "would be filled in with text that is not the name of one asset or pool"
            )
        return text


def draw(
    builder: "DiagramBuilder", app: "Application", fields: Fields, start: str
) -> tuple[str, str]:
    chain = fields.chain(app, "chain", default=_DEFAULT_CHAIN)
    with fields.checking():
        check_exchange(app, chain, fields.name("chain"))
    asset_in, asset_out = (
        fields.open_asset(app, chain, "assetin"),
        fields.open_asset(app, chain, "assetout"),
    )
    if not isinstance(asset_in, str) and not isinstance(asset_out, str):
        with fields.checking():
            check_pair(asset_in, asset_out, fields.name("assetout"))
    amount = fields.open_amount("amount", asset_in)[0]
    if needs_maximum(amount):
        with fields.checking():
            raise InvalidRequest(
                field=fields.name("amount"),
                value=amount,
                problem="is of what the sender can send, which only a transfer asks for",
                expected="an amount, or data of an earlier step like {{ query.data.free }}raw",
            )
    source, target, options = (chain, asset_in), (chain, asset_out), _options(fields, asset_out)
    return draw_action(builder, "swap", source, target, options, amount=amount, start=start)


def read_keys(app: "Application", form: Mapping[str, Any]) -> dict[str, Any]:
    _, source, target = form_sides(form)
    chain = source.get("chain")
    return {
        "chain": None if chain == _DEFAULT_CHAIN else chain,
        "assetin": asset_key(app, source),
        "assetout": asset_key(app, target),
    }


def _options(fields: Fields, asset_out: "Asset | str") -> dict[str, Any]:
    """Return what bounds and routes the swap, as `actionData` keeps it; nothing where nothing is
    given."""
    minimum = None
    with fields.checking():
        minimum = read_minimum(fields, asset_out)
    kept: dict[str, Any] = {
        "minAmountOut": minimum,
        "slippage": fields.open(
            "slippage", lambda value, field: to_text(read_slippage(value, field))
        ),
        "maxImpact": fields.open(
            "max_impact", lambda value, field: to_text(read_max_impact(value, field))
        ),
    }
    if fields.flag("exact_minimum"):
        given = "min_amount_out" if fields.get("min_received") is None else "min_received"
        names = {
            "minimum": fields.name(given),
            "slippage": fields.name("slippage"),
            "exact_minimum": fields.name("exact_minimum"),
        }
        with fields.checking():
            _check_exact(minimum, fields.get("slippage"), names=names)
        kept["exactMinimum"] = True
    with fields.checking():
        kept["route"] = _open_route(fields.get("route"), fields.name("route"))
    return {name: value for name, value in kept.items() if value is not None}


def _open_route(route: Any, field: str) -> Any:
    """Return *route* as `actionData` keeps it: text or a list, of which a run may fill in a
    part."""
    if isinstance(route, str) and route.lstrip().startswith("["):
        from scenarioctl.formats.documents import parse_json

        route = parse_json(route, field=field)
    if route is not None and not has_placeholder(route):
        read_route(route, field)
    return route


def read_minimum(fields: Fields, asset_out: "Asset | str") -> str | None:
    """Return the minimum in the smallest unit, or the text with the placeholder that will be it;
    None if there is none."""
    raw, tokens = fields.name("min_amount_out"), fields.name("min_received")
    received = fields.get("min_received")
    if received is None:
        return fields.open(
            "min_amount_out",
            lambda value, field: str(
                parse_raw(value, field=field)
                if isinstance(asset_out, str)
                else read_raw(value, asset_out, field)
            ),
        )
    if fields.get("min_amount_out") is not None:
        raise InvalidRequest(
            field=raw, problem=f"and {tokens} are both given", expected="one of them"
        )
    if has_placeholder(received) or isinstance(asset_out, str):
        raise InvalidRequest(
            f"{tokens} {shorten(received)} can't be counted in the smallest unit before a "
            f"run: expected {raw} instead"
        )
    return str(read_tokens(received, asset_out, tokens)[1])


def check_exchange(app: "Application", chain: "Chain", field: str) -> None:
    """Refuse a chain that has no exchange."""
    if chain.role != "dex":
        known = ", ".join(other.name for other in app.registry.all() if other.role == "dex")
        raise InvalidRequest(
            field=field, value=chain.name, problem="has no exchange", expected=f"one of: {known}"
        )


def check_pair(asset_in: "Asset", asset_out: "Asset", field: str) -> None:
    """Refuse to sell an asset for itself."""
    if asset_in.id == asset_out.id:
        raise InvalidRequest(
            field=field,
            value=asset_out.id,
            shown=asset_out.label,
            problem="is the asset sold",
            expected="another one to receive",
        )


def _read_bounds(options: Mapping[str, Any]) -> "SwapLimits":
    """Return what `actionData` sets for the swap."""
    from scenarioctl.transactions.swap.swap_limits import SwapLimits

    given = Fields(options, final=True)
    minimum, slippage, impact, exact = map(
        given.get, ("minAmountOut", "slippage", "maxImpact", "exactMinimum")
    )
    if exact is None:
        exact = False
    if not isinstance(exact, bool):
        raise InvalidRequest(
            field="exactMinimum", problem=f"is {name_of(exact)}", expected="true or false"
        )
    if exact:
        names = {"minimum": "minAmountOut", "slippage": "slippage", "exact_minimum": "exactMinimum"}
        _check_exact(minimum, slippage, names=names)
    return SwapLimits(
        minimum=None
        if minimum is None or minimum == ""
        else parse_raw(minimum, field="minAmountOut"),
        exact=exact,
        slippage=read_slippage(slippage, "slippage"),
        max_impact=read_max_impact(impact, "maxImpact"),
    )


def _check_exact(minimum: object, slippage: object, *, names: Mapping[str, str]) -> None:
    """Refuse an exact minimum that is missing, or that a slippage contradicts."""
    if minimum is None or minimum == "":
        raise InvalidRequest(
            field=names["exact_minimum"],
            problem=f"takes {names['minimum']} as it stands",
            expected="both together",
        )
    if slippage is not None and slippage != "":
        raise InvalidRequest(
            field=names["exact_minimum"],
            problem=f"takes {names['minimum']} as it stands",
            expected=f"no {names['slippage']} beside it",
        )


#: Per cent below the quote that a swap may still bring, where nothing else is said.
_DEFAULT_SLIPPAGE = Decimal(1)
#: Per cent that a swap's size may worsen its own price, where nothing else is said.
_DEFAULT_MAX_IMPACT = Decimal(5)


def read_slippage(value: object, field: str) -> Decimal:
    """Return a slippage in per cent, the default where *value* is none."""
    if value is None or value == "":
        return _DEFAULT_SLIPPAGE
    slippage = parse_number(value, field=field, zero=True)
    if slippage >= 100:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not a share in per cent",
            expected="0 to 99.9, like 0.5",
        )
    return slippage


def read_max_impact(value: object, field: str) -> Decimal:
    if value is None or value == "":
        return _DEFAULT_MAX_IMPACT
    impact = parse_number(value, field=field, zero=True)
    if impact > 100:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="is not a share in per cent",
            expected="0 to 100, like 5",
        )
    return impact


def read_route(value: object, field: str) -> Any:
    """Return the hops that *value* lists, None if it is empty."""
    if value is None or value == "":
        return None
    from scenarioctl.transactions.swap.swap_call import parse_route

    return parse_route(value, field=field)


STEP = StepKind(
    name="swap",
    box=ACTION_BOX,
    look=Look(name="swap", color="violet", icon="M5 8h13M14 4l4 4l-4 4M19 16H6M10 12l-4 4l4 4"),
    tell=tell,
    flow=FlowKeys(
        required=("assetin", "assetout", "amount"),
        optional=(
            "chain",
            "min_received",
            "min_amount_out",
            "exact_minimum",
            "slippage",
            "max_impact",
            "route",
        ),
        fields={
            "source.chain": "chain",
            "source.assetId": "assetin",
            "source.amount": "amount",
            "target.assetId": "assetout",
            "minAmountOut": "min_amount_out",
            "exactMinimum": "exact_minimum",
            "slippage": "slippage",
            "maxImpact": "max_impact",
            "route": "route",
            "amount": "amount",
        },
        draw=draw,
        read=read_keys,
    ),
    tx_type=TX_TYPE,
    outline=outline_source,
    draft=draft,
    data=DATA,
    fill=fill,
)
