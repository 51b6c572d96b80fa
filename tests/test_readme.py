"""The examples in the documentation print what the documentation says."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.readme import documents, played, settled

pytestmark = pytest.mark.processes

#: What a link inside of the documentation leads to; the address of a page elsewhere has a colon.
LINK = re.compile(r"\]\(([^):#\s]+)(?:#[^)]*)?\)")


@pytest.mark.one_python
@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_the_examples_print_what_the_document_shows(document: Path) -> None:
    text = document.read_text()

    assert settled(played(text)) == settled(text)


def test_no_link_of_the_documentation_leads_nowhere() -> None:
    links = [
        (path.name, link)
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"))
        for link in LINK.findall(path.read_text())
        if not (path.parent / link).exists()
    ]

    assert links == []
