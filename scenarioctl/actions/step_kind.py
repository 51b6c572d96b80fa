"""What the program knows of a step type: one `StepKind` record, exported as `STEP` by the module of
the type."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scenarioctl.actions.fields import read_form_amount
from scenarioctl.actions.placeholders import Data, StepData
from scenarioctl.actions.placeholders import fill as fill_form
from scenarioctl.actions.sides import action_data, read_side
from scenarioctl.actions.story import Look, Story, chain_text
from scenarioctl.actions.vocabulary import Collect, Reading, Terms, find_side
from scenarioctl.errors import InvalidRequest, ScenarioctlError
from scenarioctl.formats.diagram_builder import ACTION_BOX, DiagramBuilder, EditorBox
from scenarioctl.model.diagram import Diagram, Node

if TYPE_CHECKING:
    from scenarioctl.actions.drafting import Drafted
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Registry

#: Form of a node, as the editor saves it.
Form = Mapping[str, Any]
#: (app, diagram, node, sender) -> what is drafted.
DraftStep = Callable[["Application", Diagram, Node, bytes | None], Awaitable["Drafted"]]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What a run waits for before its next leg."""

    #: As jobs show it: `webhook 6f1c…`.
    step: str
    seconds: float
    #: UUID of the webhook whose event ends it sooner; empty if nothing does.
    webhook: str = ""


@dataclass(frozen=True, kw_only=True)
class StepKind:
    """One step type.  A step drafts a transaction (`draft`), or does something else in a run
    (`check` and `run`)."""

    #: In flow files, and in the web editor: the type of the node, or the choice of a node of type
    #: `action`.
    name: str
    #: The node in the web editor.
    box: EditorBox
    #: Icon and color in a preview.
    look: Look
    #: The step's word in a route like `polkadot > xTransfer > query(assetHub)`, before its chain;
    #: None: its name alone.
    route: str | None = None
    #: What the step does, finished or not.
    tell: Callable[["Application", Diagram, Node], Story]
    #: Its fields, in the order in which they are read; none if a flow file has no such step.
    terms: Terms = field(default=Terms({}))
    #: The keys that come first in a flow file, if that has another order.
    order: tuple[str, ...] = ()
    #: (builder, step, start) -> ids of the first and the last box drawn; None: one box. *start* is
    #: the box of the step before, which serves as the first box if it shows the same chain and
    #: asset.
    draw: Callable[[DiagramBuilder, Reading, str], tuple[str, str]] | None = None
    #: What is wrong with a node that has no form.
    formless: str = ""

    #: `txType` of the entry that each run leaves in the mempool; empty: none.
    tx_type: str = ""
    #: Return the transaction, for the account that will sign if one is given, or raise what is
    #: wrong.
    draft: DraftStep | None = None
    #: Tell whether all that it drafts was sent: it isn't drafted again.
    is_done: Callable[[Node], bool] = lambda _node: False
    #: Raise what is wrong with a step that drafts nothing.
    check: Callable[["Application", Diagram, Node], object] | None = None
    #: Do what the step does in a `Run`, or raise what went wrong.  Without `tx_type`, later steps
    #: are then left out.  It takes no longer than the requests that it makes: a `Wait` that it
    #: returns comes before it is done again, and is in `Run.wait` then.
    run: Callable[[Any, Diagram, Node], Awaitable[Wait | None]] | None = None
    data: StepData | None = None

    #: Return what is read of a form, if the editor keeps more in it.
    read_form: Callable[[Form], Form] = dict
    #: The form belongs to the actions beside the step, and is judged with them.
    is_shared: bool = False

    def read(
        self, app: "Application", diagram: Diagram, node: Node, collect: Collect | None = None
    ) -> Reading:
        """Return what the form of *node* says; of an action, or the chains beside it.

        InvalidRequest names the field at fault, WaitsForData one with a placeholder.
        """
        if self.box is ACTION_BOX:
            places = {part.at.partition(".")[0] for part in self.terms.parts.values()}
            sides: Form = {
                place: read_side(diagram, node, place)
                for place in ("source", "target")
                if place in places
            }
            form: Form = {**action_data(node), **sides}
        elif node.form or not self.formless:
            form = self.read_form(node.form)
        else:
            raise InvalidRequest(self.formless)
        return Reading(app, self.terms, form, "form", collect=collect)

    def outline(self, app: "Application", diagram: Diagram, node: Node) -> tuple[str, str]:
        """Return the chain that a step starts on and the raw amount that leaves, as far as its form
        tells."""
        name, amount = "", "0"
        with suppress(ScenarioctlError):
            step = self.read(app, diagram, node, lambda _: None)
            key = "source_chain" if "source_chain" in step else "chain"
            name = "" if key in step.unread else step[key].name
            if "amount" in step and "amount" not in step.unread:
                (text, raw), asset = step["amount"], step[step.parts["amount"].of]
                amount = str(read_form_amount(text, asset, "amount")[1] if raw is None else raw)
        return name, amount

    def fill(self, form: Form, data: Data) -> Form:
        """Return what is read of *form* with its placeholders replaced."""
        read = self.read_form(form)
        filled: dict[str, Any] = fill_form(dict(read), data)
        for part in self.terms.parts.values():
            *sides, last = part.at.split(".")
            if self.box is ACTION_BOX:
                sides.insert(0, "actionData")
            side = find_side(read, sides)
            if part.kind.fill is not None and last in side:
                found: Any = find_side(filled, sides)
                found[last] = part.kind.fill(side[last], data, filled)
        return filled

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of a flow file, in its order: first those that it must have."""
        keys = dict.fromkeys((*self.order, *self.terms.parts))
        return tuple(sorted(keys, key=lambda key: not self.terms.parts[key].needed))

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(key for key in self.keys if self.terms.parts[key].needed)

    def word(self, node: Node, registry: "Registry") -> str:
        """Return what the step is called in a route; empty to leave it out."""
        if self.route is None:
            return self.name
        chain = chain_text(node.form.get("chain" if self.is_shared else "selectedChain"), registry)
        return f"{self.route}({chain})" if self.route and chain else self.route or chain
