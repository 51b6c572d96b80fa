"""A step type of its own, for test_step_kind.py: all that the program knows of it is in this
module."""

from typing import Any

from scenarioctl.actions.drafting import Drafted, draft_remark
from scenarioctl.actions.fields import Fields
from scenarioctl.actions.placeholders import require_filled
from scenarioctl.actions.step_kind import FlowKeys, Form, StepKind
from scenarioctl.actions.story import Look, Story, name_chain
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import DiagramBuilder, EditorBox
from scenarioctl.model.diagram import Diagram, Node

BOX = EditorBox(type="note", label="Note")


def tell(app: Application, diagram: Diagram, node: Node) -> Story:
    words = node.form.get("words")
    chains = (name_chain(app, "polkadot"),)
    return Story("Note", f"notes {words}", what=str(words), chains=chains, gets="noted")


async def draft(app: Application, diagram: Diagram, node: Node, sender: bytes | None) -> Drafted:
    words = require_filled(node.form.get("words"), field="formWords")
    if not words:
        raise InvalidRequest(field="formWords", problem="is empty", expected="text")
    chain = app.registry.find("polkadot")
    return Drafted(
        node=node.id,
        txtype="Note",
        source_chain=chain.name,
        dest_chain=chain.name,
        transaction=await draft_remark(app, chain=chain, text=words, plain=True),
    )


def draw(builder: DiagramBuilder, app: Application, fields: Fields, start: str) -> tuple[str, str]:
    node = builder.add(BOX, {"words": fields.text("words")})
    return node, node


def read_keys(app: Application, form: Form) -> dict[str, Any]:
    return {"words": form.get("words")}


STEP = StepKind(
    name="note",
    box=BOX,
    look=Look(name="note", color="rose", icon="M5 5h14v10"),
    tell=tell,
    flow=FlowKeys(
        required=("words",),
        optional=("loud",),
        fields={"formWords": "words"},
        draw=draw,
        read=read_keys,
    ),
    tx_type="Note",
    draft=draft,
)
