"""The action `Remark`: a text is written into a chain's history."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.actions.chain import draw_chain
from scenarioctl.actions.drafting import Drafted, draft_remark
from scenarioctl.actions.placeholders import Data, Filled, fill
from scenarioctl.actions.sides import action_data
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Story, name_chain, one_line, side_texts
from scenarioctl.actions.vocabulary import CHAIN, FLAG, LINE, Part, Reading, Terms, parts_of
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: As the mempool calls it.
TX_TYPE = "Remark"


def _fill(text: Any, data: Data, _form: object) -> Any:
    """Return a remark with its placeholders replaced: text, whatever the data is."""
    found = fill(text, data)
    if isinstance(found, str) or not isinstance(text, str):
        return found
    return Filled(json.dumps(found, ensure_ascii=False))


@dataclass(frozen=True, kw_only=True)
class RemarkStep:
    #: Chain to write to.
    chain: Annotated[str, Part("CHAIN", kind=CHAIN, at="source.chain")]
    #: What to write.
    text: Annotated[str, Part(kind=replace(LINE, fill=_fill), at="source.target")]
    #: Use `System.remark`, which leaves no event, in place of `System.remark_with_event`.
    plain: Annotated[bool, Part(kind=FLAG, at="plain")] = False


def tell(app: "Application", diagram: Diagram, node: Node) -> Story:
    source, _ = side_texts(app, diagram, node)
    values = action_data(node).get("source")
    given = values.get("target") if isinstance(values, dict) else None
    text, chain = one_line(given), name_chain(app, source.chain)
    return Story(
        kind="Remark",
        sentence=f"{text!r} on {chain.title or '?'}"
        if text
        else f"no text yet, on {chain.title or '?'}",
        what=one_line(given, 200),
        named=f'remark "{text}"' if text else "remark without text",
        chains=(chain,),
    )


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    step = STEP.read(app, diagram, node)
    chain = step["chain"]
    if not step["text"]:
        raise InvalidRequest("the Remark has no text, expected it in actionData.source.target")
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=await draft_remark(app, chain=chain, text=step["text"], plain=step["plain"]),
    )


def draw(builder: DiagramBuilder, step: Reading, start: str) -> tuple[str, str]:
    form = step.form()
    nothing = dict.fromkeys(("assetId", "address", "amount", "symbol"))
    data = {**form, "actionType": "remark", "source": form["source"] | nothing, "target": None}
    first = draw_chain(builder, step["chain"], None, start=start)
    action = builder.add(ACTION_BOX, {"action": "Remark", "actionData": data})
    builder.connect(first, action)
    return first, action


STEP = StepKind(
    name="Remark",
    box=ACTION_BOX,
    look=Look(name="remark", color="rose", icon="M5 5h14v10h-8l-4 4v-4h-2zM9 9h6M9 12h3"),
    tell=tell,
    terms=Terms(parts_of(RemarkStep)),
    draw=draw,
    tx_type=TX_TYPE,
    draft=draft,
)
