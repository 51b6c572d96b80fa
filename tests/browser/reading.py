"""What everybody needs to read a page: no stray value, nothing that axe finds, nothing beyond the
edge."""

import os
import re
from pathlib import Path
from typing import Any

from tests.browser.page import Page

#: What a value that was printed as it is looks like.
STRAY = re.compile(r"\[object|\bundefined\b|\bNaN\b|\bnull\b|^\s*(?:false|true)\s*$", re.MULTILINE)


#: An option, a command, a field of JSON or the key of a node, a place in a file, the file itself.
MACHINE = re.compile(
    r"(?:^|[\s('\"])--[a-z][\w-]+|`|\bscenarioctl (?!\d|holds)|\b[A-Za-z]+_\w+|\w+\[\d+\]"
    r"|\bconfig\.toml|\bzlib\b|\bxTransfer\b|\bchainTx\b|\bchainQuery\b",
    re.MULTILINE,
)


def look(page: Page) -> None:
    """Hold that the page shows no stray value."""
    text = page.text()
    assert not STRAY.search(text), text


def violations(page: Page) -> list[Any]:
    """Return what axe finds; nothing where tests/clients/run has not installed it."""
    if "SCENARIOCTL_CLIENTS" not in os.environ:
        return []
    axe = Path(os.environ["SCENARIOCTL_CLIENTS"], "node_modules/axe-core/axe.min.js")
    page.browser.execute_script(axe.read_text())
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


def barriers_everywhere(page: Page) -> list[Any]:
    """Return the barriers of the page as it is, and on a phone in the dark."""
    with page.screen(390), page.color_scheme("dark"):
        found = barriers(page)
    return found + barriers(page)
