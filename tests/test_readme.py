"""The examples in the documentation print what the documentation says."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.readme import documents, played, settled

pytestmark = pytest.mark.processes

#: A link inside of the documentation: a file, a heading, or both. The address of a page elsewhere
#: has a colon.
LINK = re.compile(r"\]\(([^):#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings of *page*."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.one_python
@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_the_examples_print_what_the_document_shows(document: Path) -> None:
    text = document.read_text()

    assert settled(played(text)) == settled(text)


def test_no_link_of_the_documentation_leads_nowhere() -> None:
    links = [
        (path, path.parent / file if file else path, anchor)
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"))
        for file, anchor in LINK.findall(path.read_text())
    ]

    assert [
        (path.name, target.name, anchor)
        for path, target, anchor in links
        if not target.exists() or (anchor and anchor not in anchors(target))
    ] == []
