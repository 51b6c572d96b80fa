"""The node `condition`: the run goes on if a comparison is true; else it ends, or skips the steps
behind it."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import read_tokens, units_of
from scenarioctl.actions.placeholders import (
    Data,
    Encoder,
    Filled,
    JsonEncoder,
    StepData,
    fill,
    replace_each,
)
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Row, Story, one_line
from scenarioctl.actions.vocabulary import ASSET, CHAIN, FILLED, Kind, Part, Reading, Terms, parsing
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import DiagramBuilder, EditorBox
from scenarioctl.model.amounts import RAW, read_choice
from scenarioctl.model.diagram import Diagram, Node
from scenarioctl.model.formulas import OPEN, ConditionReader, names_quote, split_amount
from scenarioctl.model.jobs import SECOND

if TYPE_CHECKING:
    from scenarioctl.actions.running import Run
    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset

BOX = EditorBox(type="condition", label="Condition")

DATA = StepData(
    name="condition", title="a condition", label="if so", fields=("met",), editor_paths={}
)

#: What a run does if the condition isn't met.
SKIP, END = "skip", "end"
_SAID = {SKIP: "the steps behind it are skipped", END: "the run ends"}
_TOLD = {SKIP: "skip what follows", END: "end the run"}


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
    _judge(STEP.read(app, diagram, node), now="2000-01-01T00:00", quote=1)


async def run(running: "Run", diagram: Diagram, node: Node) -> None:
    step = STEP.read(running.app, diagram, node)
    quote = await _quote(running.app, step) if names_quote(step["when"]) else None
    now = (
        datetime.fromtimestamp(running.now // SECOND, UTC)
        .replace(tzinfo=None)
        .isoformat(timespec="minutes")
    )
    is_met = _judge(step, now=now, quote=quote)
    if quote is not None:
        running.say(f"The quote is {step['asset'].amount(quote)}")
    outcome = "is met" if is_met else f"isn't met: {_SAID[step['else']]}"
    running.say(f"{step['when']} {outcome}")
    running.data.add(DATA, {"met": is_met}, node=node.id)
    if not is_met:
        running.leave_behind(node, everything=step["else"] == END)


def _judge(step: Reading, *, now: str, quote: int | None) -> bool:
    when = step["when"]
    unit = _units(step["asset"], "when", when)
    return ConditionReader(when, field="when", unit=unit, now=now, quote=quote).judge()


async def _quote(app: "Application", step: Reading) -> int:
    """Return what the swap would bring now, raw."""
    from scenarioctl.chains.confirmation import confirm
    from scenarioctl.transactions.swap.route_quote import fetch_quote

    if None in (step["sell"], step["chain"], step["asset"]):
        raise InvalidRequest(
            field="sell", problem="is missing", expected="what is sold for the quote, like 2 DOT"
        )
    (sold, amount), chain, bought = step["sell"], step["chain"], step["asset"]

    async def ask(clients: Any) -> Any:
        return await fetch_quote(
            clients(chain), asset_in=sold, asset_out=bought, amount=amount, route=None
        )

    quote = (await confirm(app.pool, ask, say=lambda found: found.describe())).agreed()
    return int(quote.amount_out)


def _chain(reading: Reading, value: Any, name: str, of: Any) -> Any:
    return CHAIN.read(reading, value, name, of) if value else None


def _sold(reading: Reading, value: Any, field: str, chain: Any) -> "tuple[Asset, int] | None":
    """Return the asset that is sold for the quote, and how much of it, raw."""
    if chain is None or value is None:
        return None
    _, unit = (split_amount(value) if isinstance(value, str) else None) or ("", "")
    if not unit or unit.lower() == RAW:
        raise InvalidRequest(
            field=field,
            value=value,
            problem="doesn't say of which asset",
            expected="an amount like 2 DOT",
        )
    asset = reading.app.assets.find(chain, unit, field=field)
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


def _fill(when: Any, data: Data, _form: object) -> Any:
    """Return a condition with its placeholders replaced: data is one value in it."""
    filled = fill(when, data, encoder=_ConditionEncoder)
    return Filled(filled.strip()) if isinstance(filled, Filled) else filled


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    form = {"otherwise": SKIP, **step.form()}
    if step["asset"] is not None and not isinstance(step["asset"], str):
        form["symbol"] = step["asset"].symbol
    node = builder.add(BOX, form)
    return node, node


def _check(step: Reading) -> None:
    """Refuse a condition that no run could judge."""
    if step.way == "form":
        return
    field, when, asset = step.name("when"), step["when"], step["asset"]
    if step["chain"] is None and (step.given("asset") or step.given("sell")):
        with step.checking("chain"):
            raise InvalidRequest(
                field=step.name("chain"), problem="is missing", expected="the chain of the asset"
            )
    with step.checking("when", "asset", "sell"):
        template = replace_each(when, OPEN)
        if names_quote(template) and None in (step["sell"], asset):
            raise InvalidRequest(
                field=field,
                value=when,
                problem="names a quote",
                expected="`chain`, `asset` (received) and `sell`, like 2 DOT, beside it",
            )
        unit = _units(None if isinstance(asset, str) else asset, field, when)
        ConditionReader(template, field=field, unit=unit, is_template=True).judge()


STEP = StepKind(
    name="condition",
    box=BOX,
    look=Look(name="condition", color="amber", icon="M12 3l9 9l-9 9l-9-9zM12 8v5M12 16v.01"),
    tell=tell,
    terms=Terms(
        {
            "when": Part(
                kind=replace(FILLED, fill=_fill),
                at="when",
                expected=ConditionReader.expected,
                needed=True,
            ),
            "else": Part(
                kind=parsing(
                    lambda value, field: read_choice(
                        value or SKIP, field=field, choices=(SKIP, END)
                    ),
                    write=lambda otherwise, _: otherwise,
                ),
                at="otherwise",
                default=SKIP,
            ),
            "chain": Part(kind=replace(CHAIN, read=_chain, expected=""), at="chain"),
            "asset": Part(kind=replace(ASSET, expected=""), at="assetId", of="chain"),
            "sell": Part(kind=Kind(read=_sold), at="sell", of="chain"),
        },
        _check,
    ),
    draw=draw,
    formless="the condition has no form, expected `when` to go on",
    check=check,
    run=run,
    data=DATA,
)
