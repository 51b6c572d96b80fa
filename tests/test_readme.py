"""The examples in the documentation print what the documentation says."""

from pathlib import Path

import pytest

from tools.readme import documents, played, settled


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_the_examples_print_what_the_document_shows(document: Path) -> None:
    text = document.read_text()

    assert settled(played(text)) == settled(text)
