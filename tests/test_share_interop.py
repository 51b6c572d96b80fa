"""Share strings made by pako, the web editor's own compressor (`tools/golden/editor_share.mjs`),
are read by ours."""

import json

import pytest

from scenarioctl.formats.documents import read_import, read_share, write_share
from scenarioctl.model.diagram import read_diagram

from .conftest import DATA

VECTORS = json.loads((DATA / "vectors" / "share.json").read_text())["vectors"]
SHARES = [
    pytest.param(vector["document"], share, id=f"{vector['name']}-{form}")
    for vector in VECTORS
    for form, share in vector["shares"].items()
]
DOCUMENTS = [pytest.param(vector["document"], id=vector["name"]) for vector in VECTORS]


@pytest.mark.parametrize(("document", "share"), SHARES)
def test_a_share_string_of_the_editor_is_read(document: object, share: str) -> None:
    read = read_share(share)

    assert read == document


@pytest.mark.parametrize(("document", "share"), SHARES)
def test_a_share_string_of_the_editor_is_imported_from_text_and_from_bytes(
    document: object, share: str
) -> None:
    assert read_import(share) == document
    assert read_import(share.encode()) == document


@pytest.mark.parametrize("document", DOCUMENTS)
def test_export_and_import_give_the_editors_diagram_back(document: object) -> None:
    diagram = read_diagram(document)

    again = read_share(write_share(diagram.document))

    # Compared as text too, since 1 == 1.0 == True in Python.
    assert json.dumps(again) == json.dumps(document)
