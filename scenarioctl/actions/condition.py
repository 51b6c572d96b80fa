"""The node `condition`: the run goes on if a comparison is true; else it ends, or skips the steps
behind it."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.actions.fields import Fields, read_tokens, units_of
from scenarioctl.actions.placeholders import Data, Encoder, Filled, JsonEncoder, replace_each
from scenarioctl.actions.placeholders import fill as fill_any
from scenarioctl.actions.sides import asset_key
from scenarioctl.actions.step_kind import FlowKeys, StepData, StepKind
from scenarioctl.actions.story import Look, Row, Story, one_line
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import EditorBox
from scenarioctl.model.amounts import RAW, read_choice
from scenarioctl.model.conditions import ConditionReader, names_quote
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import OPEN, split_amount
from scenarioctl.model.jobs import SECOND

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.formats.diagram_builder import DiagramBuilder

BOX = EditorBox(type="condition", label="Condition")

DATA = StepData(
    name="condition", title="a condition", label="if so", fields=("met",), editor_paths={}
)

#: What a run does if the condition isn't met.
SKIP, END = "skip", "end"
_SAID = {SKIP: "the steps behind it are skipped", END: "the run ends"}
_TOLD = {SKIP: "skip what follows", END: "end the run"}


class _Condition(NamedTuple):
    """What the form of a condition says."""

    when: str
    otherwise: str
    #: Of the amounts in it; None: it has none, or only raw ones.
    asset: "Asset | None"
    chain: "Chain | None"
    #: What is sold for the quote, and how much of it, raw.
    sold: "tuple[Asset, int] | None"


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    when = one_line(node.form.get("when"), 120)
    otherwise = _SAID.get(str(node.form.get("otherwise")), _SAID[SKIP])
    sold = one_line(node.form.get("sell"))
    return Story(
        kind="Condition",
        sentence=f"goes on if {when}, else {otherwise}" if when else "no condition yet",
        what=when,
        facts=(
            *([Row(label="Quote for", text=sold)] if sold else []),
            Row(label="Else", text=_TOLD.get(str(node.form.get("otherwise")), _TOLD[SKIP])),
        ),
    )


def check(app: "Application", diagram: Diagram, node: Node) -> None:
    found = _read(app, node)
    _judge(found, now="2000-01-01T00:00", quote=1)


async def run(running: "Run", diagram: Diagram, node: Node) -> None:
    found = _read(running.app, node)
    quote = await _quote(running.app, found) if names_quote(found.when) else None
    now = (
        datetime.fromtimestamp(running.now // SECOND, UTC)
        .replace(tzinfo=None)
        .isoformat(timespec="minutes")
    )
    is_met = _judge(found, now=now, quote=quote)
    if quote is not None and found.asset is not None:
        running.say(f"The quote is {found.asset.amount(quote)}")
    outcome = "is met" if is_met else f"isn't met: {_SAID[found.otherwise]}"
    running.say(f"{found.when} {outcome}")
    running.data.add(DATA, {"met": is_met}, node=node.id)
    if not is_met:
        running.leave_behind(node, everything=found.otherwise == END)


def _judge(found: _Condition, *, now: str, quote: int | None) -> bool:
    unit = _units(found.asset, "when", found.when)
    return ConditionReader(found.when, field="when", unit=unit, now=now, quote=quote).judge()


async def _quote(app: "Application", found: _Condition) -> int:
    """Return what the swap would bring now, raw."""
    from scenarioctl.chains.confirmation import confirm
    from scenarioctl.transactions.swap.route_quote import fetch_quote

    if found.sold is None or found.chain is None or found.asset is None:
        raise InvalidRequest(
            field="sell", problem="is missing", expected="what is sold for the quote, like 2 DOT"
        )
    (sold, amount), chain, bought = found.sold, found.chain, found.asset

    async def ask(clients: Any) -> Any:
        return await fetch_quote(
            clients(chain), asset_in=sold, asset_out=bought, amount=amount, route=None
        )

    quote = (await confirm(app.pool, ask, say=lambda found: found.describe())).agreed()
    return int(quote.amount_out)


def _read(app: "Application", node: Node) -> _Condition:
    if not node.form:
        raise InvalidRequest("the condition has no form, expected `when` to go on")
    fields = Fields(node.form, final=True)
    when = fields.get("when")
    if not isinstance(when, str) or not when.strip():
        raise InvalidRequest(field="when", problem="is missing", expected=ConditionReader.expected)
    otherwise = read_choice(fields.get("otherwise") or SKIP, field="otherwise", choices=(SKIP, END))
    chain = fields.chain(app, "chain") if fields.get("chain") else None
    asset = sold = None
    if chain is not None:
        asset = (
            fields.asset(app, chain, "assetId") if fields.get("assetId") not in (None, "") else None
        )
        sold = _parse_sold(app, chain, fields.get("sell"), "sell") if fields.get("sell") else None
    return _Condition(when, otherwise, asset, chain, sold)


def _parse_sold(
    app: "Application", chain: "Chain", value: object, field: str
) -> "tuple[Asset, int]":
    """Return the asset that is sold for the quote, and how much of it, raw."""
    _, unit = (split_amount(value) if isinstance(value, str) else None) or ("", "")
    if not unit or unit.lower() == RAW:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="doesn't say of which asset",
            expected="an amount like 2 DOT",
        )
    asset = app.assets.find(chain, unit, field=field)
    return asset, read_tokens(value, asset, field)[1]


def _units(asset: "Asset | None", field: str, when: str) -> Callable[[str], int]:
    if asset is not None:
        return units_of(asset, field, when)

    def smallest(unit: str) -> int:
        if unit.lower() == RAW:
            return 1
        raise InvalidRequest(
            field=field,
            value=when,
            problem=f"has an amount in {unit}, but the step names no asset",
            expected="its `chain` and `asset`",
        )

    return smallest


class _ConditionEncoder(JsonEncoder):
    """Writes data into a condition: a number or an amount as it is, anything else as a text."""

    typed = False

    def write(self, value: Any, following: str) -> str:
        if self._inside:
            return super().write(value, following)
        text = Encoder.write(self, value, following)
        if value is None or isinstance(value, bool):
            return f" {text} "
        if split_amount(text.removeprefix("-")) is None:
            return f" {json.dumps(text, ensure_ascii=False)} "
        if text.startswith("-"):
            text = f"({text})"
        # The digits around it belong to other numbers; no number goes on with `raw`.
        return f" {text}" if following in ("r", "R") else f" {text} "


def fill(form: Mapping[str, Any], data: Data) -> Mapping[str, Any]:
    """Return *form* with its placeholders replaced; in the condition, data is one value."""
    when = fill_any(form.get("when"), data, encoder=_ConditionEncoder)
    return {
        **fill_any(dict(form), data),
        "when": Filled(when.strip()) if isinstance(when, Filled) else when,
    }


def draw(
    builder: "DiagramBuilder", app: "Application", fields: Fields, start: str
) -> tuple[str, str]:
    when = fields.filled("when")
    otherwise = SKIP
    with fields.checking():
        otherwise = read_choice(
            fields.text("else", SKIP), field=fields.name("else"), choices=(SKIP, END)
        )
    form: dict[str, Any] = {"when": when, "otherwise": otherwise}
    asset = None
    if fields.get("chain"):
        chain = fields.chain(app, "chain")
        form["chain"] = chain.name
        if fields.get("asset") not in (None, ""):
            asset = fields.open_asset(app, chain, "asset")
            form |= (
                {"assetId": asset}
                if isinstance(asset, str)
                else {"assetId": asset.id, "symbol": asset.symbol}
            )
        if (sold := fields.get("sell")) is not None:
            with fields.checking():
                _parse_sold(app, chain, sold, fields.name("sell"))
            form["sell"] = sold
    elif fields.get("asset") or fields.get("sell"):
        with fields.checking():
            raise InvalidRequest(
                field=fields.name("chain"), problem="is missing", expected="the chain of the asset"
            )
    with fields.checking():
        _check(fields, when, None if isinstance(asset, str) else asset, sold="sell" in form)
    node = builder.add(BOX, form)
    return node, node


def _check(fields: Fields, when: str, asset: "Asset | None", *, sold: bool) -> None:
    """Refuse a condition that no run could judge."""
    field, template = fields.name("when"), replace_each(when, OPEN)
    if names_quote(template) and not (sold and asset is not None):
        raise InvalidRequest(
            field=field,
            value=when,
            problem="names a quote",
            expected="`chain`, `asset` (received) and `sell`, like 2 DOT, beside it",
        )
    ConditionReader(
        template, field=field, unit=_units(asset, field, when), is_template=True
    ).judge()


def read_keys(app: "Application", form: Mapping[str, Any]) -> dict[str, Any]:
    asset = asset_key(app, form) if form.get("assetId") not in (None, "") else None
    return {
        "asset": asset,
        "else": None if form.get("otherwise") == SKIP else form.get("otherwise"),
    }


STEP = StepKind(
    name="condition",
    box=BOX,
    look=Look(name="condition", color="amber", icon="M12 3l9 9l-9 9l-9-9zM12 8v5M12 16v.01"),
    tell=tell,
    flow=FlowKeys(
        required=("when",),
        optional=("else", "chain", "asset", "sell"),
        fields={
            "when": "when",
            "otherwise": "else",
            "chain": "chain",
            "assetId": "asset",
            "sell": "sell",
        },
        draw=draw,
        read=read_keys,
    ),
    check=check,
    run=run,
    fill=fill,
    data=DATA,
)
