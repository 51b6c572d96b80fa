"""Pictures for the tests: diagrams in the shape of the editor's, and what is drawn of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scenarioctl.actions.problems import find_problems
from scenarioctl.actions.story import summarise
from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.formats.documents import parse_json
from scenarioctl.model.diagram import read_diagram
from scenarioctl.render.picture import Picture, first_part, read_picture
from tests.conftest import DATA
from tests.runner import finish

SAMPLES = sorted((DATA / "diagrams").glob("*.json"))

POLKADOT = {
    "chain": "polkadot",
    "asset": {"name": "polkadotDot", "assetId": 0, "symbol": "DOT"},
    "address": "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
    "amount": "1.5",
}


def make_app(folder: Path) -> Application:
    return Application(
        Settings(config=folder / "c", store=str(folder / "s.db"), cache=folder / "r", offline=True)
    )


def read_document(path: Path) -> Any:
    return parse_json(path.read_bytes(), field="diagram")


def document(count: int, edges: Sequence[tuple[int, int]], form: Any = None) -> dict[str, Any]:
    """Return a diagram of so many chains, `n0` …, without positions."""
    return {
        "nodes": [
            {"id": f"n{n}", "type": "chain", "formData": POLKADOT if form is None else form}
            for n in range(count)
        ],
        "edges": [{"id": f"n{a}-n{b}", "source": f"n{a}", "target": f"n{b}"} for a, b in edges],
    }


def picture_of(app: Application, raw: Any) -> Picture:
    """Return what is drawn of a diagram's document."""
    whole = read_diagram(raw)
    shown = first_part(whole)
    found = finish(find_problems(app, shown))
    return read_picture(
        app, shown, found, summary=summarise(whole, app.registry), total=len(whole.nodes)
    )
