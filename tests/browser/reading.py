"""What everybody needs to read a page: no stray value, nothing that axe finds, nothing beyond the
edge."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.page import Page

#: Where tests/clients/run has put the packages of npm.
AXE = Path(os.environ.get("SCENARIOCTL_CLIENTS", "/nowhere"), "node_modules/axe-core/axe.min.js")
needs_axe = pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is not installed, tests/clients/run does it"
)

#: What a value that was printed as it is looks like.
STRAY = re.compile(r"\[object|\bundefined\b|\bNaN\b|\bnull\b|^\s*(?:false|true)\s*$", re.MULTILINE)


def look(page: Page) -> None:
    """Hold that the page shows no stray value."""
    text = page.text()
    assert not STRAY.search(text), text


def violations(page: Page) -> list[Any]:
    """Return what axe finds."""
    page.browser.execute_script(AXE.read_text())
    return list(
        page.browser.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then(r => done(r.violations.map(v => [v.id, v.nodes.map(n => n.html "
            "+ ' | ' + n.failureSummary)])))"
        )
    )


def barriers(page: Page) -> list[Any]:
    """Return what axe finds, and by how many pixels the page is too wide."""
    wide = page.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    return violations(page) + ([["too wide", wide]] if wide > 0 else [])
