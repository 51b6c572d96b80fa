"""The action `swap`: one asset is sold for another on the exchange parachain."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.actions.chain import draw_action
from scenarioctl.actions.drafting import Drafted, draft_swap
from scenarioctl.actions.fields import (
    find_form_asset,
    note_worked_out,
    read_form_amount,
    read_raw,
    read_tokens,
)
from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    StepData,
    Unfillable,
    fill,
    has_placeholder,
    require_value,
)
from scenarioctl.actions.sides import action_data, read_sides
from scenarioctl.actions.step_kind import StepKind
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
from scenarioctl.actions.vocabulary import (
    ASSET,
    CHAIN,
    FLAG,
    TOKENS,
    Kind,
    Part,
    Reading,
    Terms,
    parsing,
    parts_of,
)
from scenarioctl.errors import InvalidRequest, ScenarioctlError, shorten
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.model.amounts import parse_number, parse_raw, to_text, to_whole
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import needs_maximum

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call

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
        chain = app.registry.find(target.get("chain"))
        asset = find_form_asset(app, chain, target, "target.assetId")
    except ScenarioctlError:
        return one_line(given)
    return asset.amount(raw)


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    """Return the transaction; with a *sender* its quote is held against a dry run of theirs."""
    from scenarioctl.transactions.swap.swap_limits import SwapLimits

    step = STEP.read(app, diagram, node)
    chain, asset_in, asset_out = (step[key] for key in ("chain", "assetin", "assetout"))
    (amount, raw), formula = step["amount"], ""
    if raw is None:
        formula, (amount, raw) = amount, read_form_amount(amount, asset_in, step.name("amount"))
    transaction = await draft_swap(
        app,
        chain=chain,
        asset_in=asset_in,
        asset_out=asset_out,
        amount=raw,
        bounds=SwapLimits(
            minimum=step["min_amount_out"],
            exact=step["exact_minimum"],
            slippage=step["slippage"],
            max_impact=step["max_impact"],
        ),
        route=step["route"][1],
        sender=sender,
    )
    if formula:
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


class _RouteEncoder(Encoder):
    _NAME = re.compile(r"[A-Za-z0-9_:.-]{1,80}", re.ASCII)

    def write(self, value: Any, following: str) -> str:
        text = super().write(value, following)
        if not self._NAME.fullmatch(text):
            raise Unfillable(
                "would be filled in with text that is not the name of one asset or pool"
            )
        return text


def _fill_route(route: Any, data: Data, _form: object) -> Any:
    """Return a route; in one that is text, data is one name and brings no hops of its own."""
    return fill(route, data, encoder=_RouteEncoder if isinstance(route, str) else Encoder)


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    source, target = ((step["chain"], step[key]) for key in ("assetin", "assetout"))
    return draw_action(builder, step, "swap", source, target, start)


def _check(step: Reading) -> None:
    chain, asset_in, asset_out = (step[key] for key in ("chain", "assetin", "assetout"))
    if step.way == "form":
        there = require_value(
            step.written["target"].get("chain"), field="target.chain", expected=CHAIN.expected
        )
        destination = step.app.registry.find(there, field="target.chain")
        if destination.name != chain.name:
            raise InvalidRequest(
                field="target.chain",
                value=destination.name,
                problem="is not the chain of the swap",
                expected=f"{chain.title!r}",
            )
    if not isinstance(asset_in, str) and not isinstance(asset_out, str):
        with step.checking("assetin", "assetout"):
            check_pair(asset_in, asset_out, step.name("assetout"))
    amount, raw = step["amount"]
    if raw is None and needs_maximum(amount):
        with step.checking("amount"):
            raise InvalidRequest(
                field=step.name("amount"),
                value=amount,
                problem="is of what the sender can send, which only a transfer asks for",
                expected="an amount, or data of an earlier step like {{ query.data.free }}raw",
            )
    with step.checking("min_received", "min_amount_out", "exact_minimum", "slippage"):
        _check_minimum(step)


def _check_minimum(step: Reading) -> None:
    received, named = step["min_received"], "min_amount_out"
    if received is not None:
        if step.given(named) is not None:
            raise InvalidRequest(
                field=step.name(named),
                problem=f"and {step.name('min_received')} are both given",
                expected="one of them",
            )
        step.put(named, received)
        named = "min_received"
    if not step["exact_minimum"]:
        return
    is_missing = step["min_amount_out"] is None
    if is_missing or step.given("slippage") not in (None, ""):
        raise InvalidRequest(
            field=step.name("exact_minimum"),
            problem=f"takes {step.name(named)} as it stands",
            expected="both together" if is_missing else f"no {step.name('slippage')} beside it",
        )


def _raw(reading: Reading, value: Any, name: str, asset: Any) -> int | None:
    if value is None:
        return None
    if reading.way == "form" or isinstance(asset, str):
        return parse_raw(value, field=name)
    return read_raw(value, asset, name)


def _received(_reading: Reading, value: Any, name: str, asset: Any) -> int | None:
    """Return a minimum that is written in whole tokens in the smallest unit."""
    if value is None:
        return None
    if has_placeholder(value) or isinstance(asset, str):
        raise InvalidRequest(
            f"{name} {shorten(value)} can't be counted in the smallest unit before a "
            f"run: expected {name.replace('min_received', 'min_amount_out')} instead"
        )
    return read_tokens(value, asset, name)[1]


def _route(reading: Reading, value: Any, name: str, _of: object) -> tuple[Any, Any]:
    """Return a route as a form keeps it, text or a list, and its hops: None where a run may fill in
    a part, or where there are none."""
    from scenarioctl.formats.documents import parse_json
    from scenarioctl.transactions.swap.swap_call import parse_route

    if reading.way == "kept" and isinstance(value, str) and value.lstrip().startswith("["):
        value = parse_json(value, field=name)
    if value in (None, "") or (reading.way == "kept" and has_placeholder(value)):
        return value, None
    return value, parse_route(value, field=name)


def _exchange(reading: Reading, value: Any, name: str, of: Any) -> "Chain":
    """Return a chain that has an exchange."""
    chain: Chain = CHAIN.read(reading, value, name, of)
    if chain.role != "dex":
        known = ", ".join(each.name for each in reading.app.registry.all() if each.role == "dex")
        raise InvalidRequest(
            field=name, value=chain.name, problem="has no exchange", expected=f"one of: {known}"
        )
    return chain


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


def _share(default: int, fits: Callable[[Decimal], bool], expected: str) -> Kind:
    """Return the kind of shares in per cent that are *default* where nothing is said."""

    def parse(value: object, *, field: str) -> Decimal:
        if value is None or value == "":
            return Decimal(default)
        share = parse_number(value, field=field, zero=True)
        if not fits(share):
            problem = "is not a share in per cent"
            raise InvalidRequest(field=field, value=value, problem=problem, expected=expected)
        return share

    return parsing(parse, write=lambda share, _: to_text(share), open=True)


@dataclass(frozen=True, kw_only=True)
class SwapStep:
    """What is sold, what for, how much and by which way."""

    #: Id, symbol or location of the asset sold.
    assetin: Annotated[
        str | int,
        Part(
            "ASSET",
            option="--sell",
            spellings=("--assetin",),
            kind=ASSET,
            at="source.assetId",
            of="chain",
        ),
    ]
    #: Id, symbol or location of the asset received.
    assetout: Annotated[
        str | int,
        Part(
            "ASSET",
            option="--buy",
            spellings=("--assetout",),
            kind=ASSET,
            at="target.assetId",
            of="chain",
        ),
    ]
    #: Whole tokens sold, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit.
    amount: Annotated[
        str | int | float, Part("TOKENS", kind=TOKENS, at="source.amount", of="assetin")
    ]
    #: How far below the quote the minimum lies, in per cent (default 1).
    slippage: Annotated[
        str | int | float | None,
        Part(
            "PERCENT",
            kind=_share(1, lambda share: share < 100, "0 to 99.9, like 0.5"),
            at="slippage",
        ),
    ] = None
    #: Pools to go through: `5>omnipool>102>stableswap:102>10`, or a JSON list.
    route: Annotated[
        Any,
        Part(
            "HOPS",
            kind=Kind(read=_route, write=lambda route, _: route[0], fill=_fill_route),
            at="route",
        ),
    ] = None
    #: The exchange parachain (default hydraDx).
    chain: Annotated[
        str, Part("CHAIN", rare=True, kind=replace(CHAIN, read=_exchange), at="source.chain")
    ] = "hydraDx"


@dataclass(frozen=True, kw_only=True)
class BoundedSwapStep(SwapStep):
    #: The least to receive, in whole tokens, like 900. If the quote less the slippage is more, that
    #: counts.
    min_received: Annotated[
        str | int | float | None, Part("TOKENS", kind=Kind(read=_received), of="assetout")
    ] = None
    #: The same in the smallest unit (raw): 900000000000000 is 900 HDX.
    min_amount_out: Annotated[
        str | int | None,
        Part(
            "RAW",
            rare=True,
            kind=Kind(read=_raw, write=lambda raw, _: str(raw), open=True),
            at="minAmountOut",
            of="assetout",
        ),
    ] = None
    #: Take the minimum as it stands, even below the quote less the slippage.
    exact_minimum: Annotated[bool, Part(rare=True, kind=FLAG, at="exactMinimum")] = False
    #: Confirm a minimum far below the quote. In JSON, `false` refuses one, and null only warns of
    #: it.
    yes: bool | None = None
    #: How far the size of the swap may worsen its own price, in per cent (default 5).
    max_impact: Annotated[
        str | int | float | None,
        Part(
            "PERCENT",
            rare=True,
            kind=_share(5, lambda share: share <= 100, "0 to 100, like 5"),
            at="maxImpact",
        ),
    ] = None


STEP = StepKind(
    name="swap",
    box=ACTION_BOX,
    look=Look(name="swap", color="violet", icon="M5 8h13M14 4l4 4l-4 4M19 16H6M10 12l-4 4l4 4"),
    tell=tell,
    terms=Terms(parts_of(BoundedSwapStep), _check),
    order=(
        "assetin",
        "assetout",
        "amount",
        "chain",
        "min_received",
        "min_amount_out",
        "exact_minimum",
        "slippage",
        "max_impact",
        "route",
    ),
    draw=draw,
    tx_type=TX_TYPE,
    draft=draft,
    data=DATA,
)
