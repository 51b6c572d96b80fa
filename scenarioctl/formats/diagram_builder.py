"""Build diagrams as the web editor saves them, laid out from left to right."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scenarioctl.errors import TooLarge
from scenarioctl.model.diagram import MAX_NODES, Diagram, Edge, Node


class EditorBox(NamedTuple):
    """What the web editor draws for a node: its type, label, picture, width and height."""

    type: str
    label: str
    image: str = ""
    width: int = 80
    height: int = 80


#: The box of every step that is a choice in `formData.action`.
ACTION_BOX = EditorBox(type="action", label="action", width=200, height=250)

_GAP = 140
_ROW = 520
#: Vertical center of the first row.
_MIDDLE = 300


def random_suffix() -> str:
    """Return 6 hexadecimal digits."""
    return os.urandom(3).hex()


def random_uuid() -> str:
    """Return a fresh UUID for a webhook's address."""
    from uuid import uuid4

    return str(uuid4())


class DiagramBuilder:
    """Collects boxes and arrows; `document` places them."""

    def __init__(
        self,
        new_suffix: Callable[[], str] = random_suffix,
        new_uuid: Callable[[], str] = random_uuid,
    ) -> None:
        self.new_uuid = new_uuid
        self._new_suffix = new_suffix
        self._nodes: dict[str, dict[str, Any]] = {}
        self._before: dict[str, list[str]] = {}
        #: The ids of the boxes, as they were drawn.
        self.drawn: list[str] = []

    def add(
        self, box: EditorBox, form: Mapping[str, Any], *, extra: Mapping[str, Any] | None = None
    ) -> str:
        """Draw a box and return its id; *extra* are keys that the editor keeps beside the form."""
        if len(self._nodes) >= MAX_NODES:
            raise TooLarge(f"the diagram would have more than {MAX_NODES} nodes")
        identifier = f"{box.type}_{self._new_suffix()}"
        while identifier in self._nodes:
            identifier = f"{box.type}_{self._new_suffix()}"
        data = {"label": box.label}
        if box.image:
            data |= {"image": box.image, "name": box.label}
        self._nodes[identifier] = {
            "id": identifier,
            "type": box.type,
            "position": {"x": 0, "y": 0},
            "data": data,
            "style": {},
            "formData": dict(form),
            "width": box.width,
            "height": box.height,
            "selected": False,
            "dragging": False,
            **(extra or {}),
        }
        self._before[identifier] = []
        self.drawn.append(identifier)
        return identifier

    def connect(self, source: str, target: str) -> None:
        """Draw an arrow."""
        if source not in self._before[target]:
            self._before[target].append(source)

    def form(self, identifier: str) -> dict[str, Any]:
        """Return the form of a box, which may be changed."""
        form: dict[str, Any] = self._nodes[identifier]["formData"]
        return form

    def document(self) -> dict[str, Any]:
        """Return the diagram.  Boxes must have been added in execution order."""
        self._place()
        return {
            "nodes": list(self._nodes.values()),
            "edges": [
                _edge(source, target)
                for target, sources in self._before.items()
                for source in sources
            ],
        }

    def diagram(self) -> Diagram:
        """Return what `read_diagram` reads from the document.  The limits of forms are not
        checked."""
        document = self.document()
        return Diagram(
            nodes=tuple(
                Node(
                    id=raw["id"], type=raw["type"], form=raw["formData"], position=position, raw=raw
                )
                for position, raw in enumerate(document["nodes"])
            ),
            edges=tuple(
                Edge(id=raw["id"], source=raw["source"], target=raw["target"])
                for raw in document["edges"]
            ),
            document=document,
        )

    def _place(self) -> None:
        columns: dict[str, int] = {}
        rows: dict[str, int] = {}
        taken: list[set[int]] = []
        widths: list[int] = []
        for identifier, sources in self._before.items():
            column = max((columns[source] + 1 for source in sources), default=0)
            if column == len(taken):
                taken.append(set())
                widths.append(0)
            row = rows[sources[0]] if sources else 0
            while row in taken[column]:
                row += 1
            taken[column].add(row)
            columns[identifier], rows[identifier] = column, row
            widths[column] = max(widths[column], self._nodes[identifier]["width"])
        lefts = [0]
        for width in widths:
            lefts.append(lefts[-1] + width + _GAP)
        for identifier, node in self._nodes.items():
            x = lefts[columns[identifier]]
            y = _MIDDLE + rows[identifier] * _ROW - node["height"] // 2
            node["position"] = {"x": x, "y": y}
            node["positionAbsolute"] = {"x": x, "y": y}


def _edge(source: str, target: str) -> dict[str, Any]:
    return {
        "id": f"{source}-{target}",
        "source": source,
        "target": target,
        "type": "simplebezier",
        "style": {"stroke": "green", "strokeWidth": 2},
        "markerEnd": {"type": "arrow", "strokeWidth": 1},
        "label": "",
        "focusable": True,
    }
