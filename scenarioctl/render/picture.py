"""The content of a preview, before layout: cards and the edges between them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from scenarioctl.actions import find_step
from scenarioctl.actions.story import Card, Look, Story, one_line, tell_step
from scenarioctl.model.diagram import Diagram, Node, Problem
from scenarioctl.render.layout import clean

if TYPE_CHECKING:
    from scenarioctl.application import Application

#: Choices of a request.
THEMES = ("light", "dark")
#: Narrower pictures are centered in this many pixels.
LEAST_WIDTH, MOST_WIDTH = 400, 4096

#: Further cards are left out.
MOST_CARDS = 1000
MOST_EDGES = 1200

#: Card of a missing node that an edge leads to.
MISSING = Look(name="missing", color="slate", icon="M5 12h3M16 12h3M10 8l4 8M14 8l-4 8")


class Arrow(NamedTuple):
    """An edge: indexes of its cards, and its label."""

    source: int
    target: int
    label: str = ""
    #: Leads to a missing node, or back to an earlier step.
    unfinished: bool = False


class Picture(NamedTuple):
    """A diagram to draw."""

    summary: str
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...]
    #: Indexes of the cards in execution order, for screen readers.
    order: tuple[int, ...]
    #: Number of cards left out.
    left_out: int = 0

    def texts(self) -> tuple[str, ...]:
        """Return all that it says."""
        labels = tuple(arrow.label for arrow in self.arrows)
        return tuple(text for card in self.cards for text in card.texts()) + labels


def first_part(diagram: Diagram) -> Diagram:
    """Return the first nodes of *diagram* in execution order, as many as a picture shows."""
    if len(diagram.nodes) <= MOST_CARDS and len(diagram.edges) <= MOST_EDGES:
        return diagram
    nodes = tuple(
        replace(node, position=position)
        for position, node in enumerate(diagram.in_safe_order()[:MOST_CARDS])
    )
    kept = {node.id for node in nodes}
    gone = {node.id for node in diagram.nodes} - kept
    chosen = [
        number
        for number, edge in enumerate(diagram.edges)
        if edge.source not in gone and edge.target not in gone
    ][:MOST_EDGES]
    raw = diagram.document["edges"]
    return Diagram(
        nodes=nodes,
        edges=tuple(diagram.edges[number] for number in chosen),
        document={
            "nodes": [node.raw for node in nodes],
            "edges": [raw[number] for number in chosen],
        },
    )


def read_picture(
    app: "Application",
    diagram: Diagram,
    problems: tuple[Problem, ...],
    *,
    summary: str,
    total: int = 0,
) -> Picture:
    """Return the picture of *diagram*, the `first_part` of a diagram with *total* nodes."""
    by_node: defaultdict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        by_node[problem.node].append(problem)
    stories = [tell_step(app, diagram, node) for node in diagram.nodes]
    cards = [
        _card_of(node, story, by_node[node.id])
        for node, story in zip(diagram.nodes, stories, strict=True)
    ]
    index: dict[str, int] = {}
    for node in diagram.nodes:
        index.setdefault(node.id, node.position)
    real = len(cards)
    arrows = []
    for edge, raw in zip(diagram.edges, diagram.document["edges"], strict=True):
        ends = []
        for end in (edge.source, edge.target):
            if end not in index:
                index[end] = len(cards)
                cards.append(_missing_card(end))
            ends.append(index[end])
        source, target = ends
        label = one_line(raw.get("label"), 60)
        if not label and source < real and target < real:
            label = _arrow_label(diagram.nodes[source], diagram.nodes[target], stories)
        arrows.append(
            Arrow(
                source=source,
                target=target,
                label=label,
                unfinished=source >= real or target >= real,
            )
        )
    order = (*(node.position for node in diagram.in_safe_order()), *range(real, len(cards)))
    turn = {number: place for place, number in enumerate(order)}
    return Picture(
        summary=summary,
        cards=tuple(cards),
        arrows=tuple(
            arrow._replace(unfinished=True) if turn[arrow.source] >= turn[arrow.target] else arrow
            # Equal ones are one line.
            for arrow in dict.fromkeys(arrows)
        ),
        order=order,
        left_out=max(0, total - len(diagram.nodes)),
    )


def without_shown_chains(picture: Picture, diagram: Diagram) -> Picture:
    """Return *picture*, of *diagram*, without the chains that a card beside them names: one card
    for chain, transfer, chain.

    A chain stays if more than one edge leads to it or away from it, if one leads to another chain,
    or if something is wrong with it.
    """
    shared = [(step := find_step(node)) is not None and step.is_shared for node in diagram.nodes]
    naming = {
        number for number, card in enumerate(picture.cards) if card.chain and not shared[number]
    }
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for arrow in picture.arrows:
        before.setdefault(arrow.target, []).append(arrow.source)
        after.setdefault(arrow.source, []).append(arrow.target)

    def is_shown(number: int) -> bool:
        sources, targets = before.get(number, []), after.get(number, [])
        beside = sources + targets
        return (
            picture.cards[number].state == "ok"
            and len(sources) < 2
            and len(targets) < 2
            and not naming.isdisjoint(beside)
            and not any(other < len(shared) and shared[other] for other in beside)
        )

    gone = {number for number, is_chain in enumerate(shared) if is_chain and is_shown(number)}
    kept = [number for number in range(len(picture.cards)) if number not in gone]
    place = {number: new for new, number in enumerate(kept)}
    arrows = [
        Arrow(source=before[number][0], target=after[number][0])
        for number in sorted(gone)
        if number in before and number in after
    ]
    arrows += [arrow for arrow in picture.arrows if gone.isdisjoint((arrow.source, arrow.target))]
    return picture._replace(
        cards=tuple(picture.cards[number] for number in kept),
        arrows=tuple(
            arrow._replace(source=place[arrow.source], target=place[arrow.target])
            for arrow in arrows
        ),
        order=tuple(place[number] for number in picture.order if number in place),
    )


def _card_of(node: Node, story: Story, problems: Sequence[Problem]) -> Card:
    """Return the card of *node*, of which *problems* are told."""
    step, card = find_step(node), story.card._replace(id=clean(node.id[:256]))
    if step is not None:
        card = card._replace(look=step.look)
    elif node.type == "action":
        card = card._replace(state="problem")
    else:
        card = card._replace(note="skipped in a run", state="problem")
    # A missing quote is no fault of the diagram.
    serious = [problem for problem in problems if problem.code != "chain_unreachable"]
    if not serious:
        return card
    shown = next((problem for problem in serious if not problem.waiting), serious[0])
    return card._replace(
        note=clean(shown.sentence[:300]), state="waiting" if shown.waiting else "problem"
    )


def _missing_card(identifier: str) -> Card:
    """Return the card of a missing node that an edge leads to."""
    return Card(
        id=clean(identifier[:256]),
        look=MISSING,
        title="No such node",
        caption=one_line(identifier),
        state="missing",
    )


def _arrow_label(source: Node, target: Node, stories: Sequence[Story]) -> str:
    """Return the text on the arrow from *source* to *target*; may be empty."""
    before = find_step(source)
    if before is None:
        return ""
    entering, leaving = stories[target.position].gives, stories[source.position].gets
    if before.is_shared and entering:
        return entering
    return leaving or ("" if before.data is None else before.data.label)
