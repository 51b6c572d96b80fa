"""A step type of its own, for test_step_kind.py: all that the program knows of it is in this
module."""

from scenarioctl.actions.drafting import Drafted, draft_remark
from scenarioctl.actions.placeholders import require_filled
from scenarioctl.actions.step_kind import StepKind
from scenarioctl.actions.story import Look, Story, name_chain
from scenarioctl.actions.vocabulary import FLAG, LINE, Part, Terms
from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.formats.diagram_builder import EditorBox
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


STEP = StepKind(
    name="note",
    box=BOX,
    look=Look(name="note", color="rose", icon="M5 5h14v10"),
    tell=tell,
    terms=Terms(
        {
            "words": Part(kind=LINE, at="words", called=("formWords",), needed=True),
            "loud": Part(kind=FLAG, at="loud"),
        }
    ),
    tx_type="Note",
    draft=draft,
)
