"""What a test does in the step editor."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.page import Daemon, Page
from tests.browser.scenarios import UUID, post

FLOW: dict[str, Any] = {
    "name": "Pay out",
    "steps": [
        {"type": "webhook", "name": "payouts", "uuid": UUID},
        {"type": "Remark", "chain": "polkadot", "text": "first"},
        {"type": "Remark", "chain": "polkadot", "text": "second"},
        {"type": "delay", "seconds": 60},
    ],
}


def stored(daemon: Daemon, scenario: str) -> dict[str, Any]:
    """Return the flow of a stored scenario."""
    written = post(daemon, "/api/scenario/flow", {"id": scenario, "syntax": "json"})
    return json.loads(written["text"])  # type: ignore[no-any-return]


def saved(page: Page) -> str:
    """Wait until the editor has saved, and return the scenario's id."""
    page.wait(lambda: "#/create/?diagramData=" in page.browser.current_url)
    return page.browser.current_url.rpartition("=")[2]


def steps(page: Page) -> list[str]:
    """Return what the cards say."""
    return [title.text for title in page.browser.find_elements("css selector", ".step-title")]


def box(page: Page, number: int, name: str) -> WebElement:
    """Return the field *name* of the card *number*, counted from 0."""

    def found() -> WebElement | None:
        script = (
            "return document.querySelectorAll('.step-card')"
            "[arguments[0]]?.querySelector(`[name=${arguments[1]}]`)"
        )
        return page.browser.execute_script(script, number, name)  # type: ignore[no-any-return]

    page.wait(found)
    element = found()
    assert element is not None
    return element


def value(page: Page, number: int, name: str) -> str | None:
    """Return what is in the field *name* of a card; None before there is one."""
    script = (
        "return document.querySelectorAll('.step-card')"
        "[arguments[0]]?.querySelector(`[name=${arguments[1]}]`)?.value"
    )
    return page.browser.execute_script(script, number, name)  # type: ignore[no-any-return]


def type_in(page: Page, number: int, name: str, value: str) -> None:
    element = box(page, number, name)
    element.clear()
    element.send_keys(value)


@contextmanager
def typing_quickly(page: Page) -> Iterator[None]:
    """Stop the clock of each page that is opened, by which changes that soon follow each other are
    undone at once."""
    with page.with_script("{ const began = Date.now(); Date.now = () => began; }"):
        yield


def choose(page: Page, name: str, wanted: str, number: int = 0) -> None:
    """Choose from a list, or type into a box with one."""
    if box(page, number, name).tag_name == "select":
        page.choose(lambda: box(page, number, name), wanted)
        return
    box(page, number, name).send_keys(Keys.CONTROL, "a", Keys.NULL, wanted or Keys.BACKSPACE)
    box(page, number, name).send_keys(Keys.TAB)


def problems(page: Page) -> dict[str, str]:
    """Return the problem of each field that says one, as a screen reader finds it."""
    found: dict[str, str] = page.browser.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('[aria-invalid=true]')"
        "].filter(e => !e.hidden).map("
        "e => [e.name, (e.getAttribute('aria-describedby') ?? '').split(' ').map("
        "id => document.getElementById(id)).filter(p => "
        "p.classList.contains('problem')).map(p => p.textContent).join(' ')]))"
    )
    return found
