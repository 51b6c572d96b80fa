"""The action `Remark`: a text is written into a chain's history."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.chain import draw_chain
from scenarioctl.actions.drafting import Drafted, draft_remark
from scenarioctl.actions.fields import Fields
from scenarioctl.actions.placeholders import Data, Filled
from scenarioctl.actions.placeholders import fill as fill_any
from scenarioctl.actions.sides import action_data, outline_source, read_side
from scenarioctl.actions.step_kind import FlowKeys, StepKind
from scenarioctl.actions.story import Look, Story, name_chain, one_line, side_texts
from scenarioctl.errors import InvalidRequest, name_of
from scenarioctl.formats.diagram_builder import ACTION_BOX
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.formats.diagram_builder import DiagramBuilder

#: As the mempool calls it.
TX_TYPE = "Remark"


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


def outline(app: "Application", diagram: Diagram, node: Node) -> tuple[str, str]:
    return outline_source(app, diagram, node)[0], "0"


async def draft(
    app: "Application", diagram: Diagram, node: Node, sender: bytes | None = None
) -> Drafted:
    source = read_side(diagram, node, "source")
    chain = source.chain(app, "chain")
    text = source.get("target")
    if text is None or text == "":
        raise InvalidRequest("the Remark has no text, expected it in actionData.source.target")
    if not isinstance(text, str):
        raise InvalidRequest(
            field="source.target", problem=f"is {name_of(text)}", expected="the text of the Remark"
        )
    plain = action_data(node).get("plain")
    if plain is not None and not isinstance(plain, bool):
        raise InvalidRequest(
            field="plain", problem=f"is {name_of(plain)}", expected="true or false"
        )
    return Drafted(
        node=node.id,
        txtype=TX_TYPE,
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=await draft_remark(app, chain=chain, text=text, plain=bool(plain)),
    )


def fill(form: Mapping[str, Any], data: Data) -> Mapping[str, Any]:
    """Return *form* with its placeholders replaced; a remark is text, whatever the data is."""
    filled: dict[str, Any] = fill_any(dict(form), data)
    values = form.get("actionData")
    source = values.get("source") if isinstance(values, dict) else None
    if isinstance(source, dict) and isinstance(source.get("target"), str):
        text = filled["actionData"]["source"]["target"]
        if not isinstance(text, str):
            filled["actionData"]["source"]["target"] = Filled(json.dumps(text, ensure_ascii=False))
    return filled


def draw(
    builder: "DiagramBuilder", app: "Application", fields: Fields, start: str
) -> tuple[str, str]:
    chain = fields.chain(app, "chain")
    text = fields.text("text")
    if not text:
        with fields.checking():
            raise InvalidRequest(
                field=fields.name("text"), problem="is empty", expected="the text of the remark"
            )
    data: dict[str, Any] = {
        "actionType": "remark",
        "source": {
            "chain": chain.name,
            "assetId": None,
            "address": None,
            "amount": None,
            "symbol": None,
            "target": text,
        },
        "target": None,
    }
    if fields.flag("plain"):
        data["plain"] = True
    first = draw_chain(builder, chain, None, start=start)
    action = builder.add(ACTION_BOX, {"action": "Remark", "actionData": data})
    builder.connect(first, action)
    return first, action


STEP = StepKind(
    name="Remark",
    box=ACTION_BOX,
    look=Look(name="remark", color="rose", icon="M5 5h14v10h-8l-4 4v-4h-2zM9 9h6M9 12h3"),
    tell=tell,
    flow=FlowKeys(
        required=("chain", "text"),
        optional=("plain",),
        fields={
            "source.chain": "chain",
            "source.target": "text",
            "plain": "plain",
        },
        draw=draw,
    ),
    tx_type=TX_TYPE,
    outline=outline,
    draft=draft,
    fill=fill,
)
