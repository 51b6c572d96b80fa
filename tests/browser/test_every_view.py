"""Every view of the page: nothing that a program says to itself, nothing out of reach, light and
dark, wide and narrow."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.browser.page import Daemon, Page
from tests.browser.reading import MACHINE, STRAY, barriers_everywhere
from tests.browser.scenarios import a_flow, a_remark, a_transfer, diagram_of, post
from tests.browser.wallets import ALICE_42
from tests.conftest import BOB

pytestmark = pytest.mark.acceptance

_STEPS: list[dict[str, Any]] = [
    {"type": "Remark", "chain": "polkadot", "text": "first"},
    {"type": "delay", "seconds": 1},
    {"type": "http", "method": "GET", "url": "http://127.0.0.1:9/never"},
    {"type": "Remark", "chain": "assetHub", "text": "after the failure"},
]


@pytest.fixture(scope="module")
def links(daemon: Daemon) -> Iterator[dict[str, str]]:
    """Return a link to each view, by what it shows."""
    transfer, remark = a_transfer(daemon), a_remark(daemon)
    several = a_flow(daemon, {"steps": _STEPS})
    odd = str(
        post(daemon, "/api/template/saveUrl", {"url": json.dumps(diagram_of("odd"))})["shortUrl"]
    )
    empty = str(
        post(daemon, "/api/template/saveUrl", {"url": json.dumps({"nodes": [], "edges": []})})[
            "shortUrl"
        ]
    )
    post(daemon, "/api/address/add", {"name": "Bob", "address": BOB, "watch": True})
    council = {"name": "council", "threshold": 2, "signatories": ["Bob", ALICE_42]}
    post(daemon, "/api/address/add", council)
    acted = {"chain": "polkadot", "text": "as", "as": "council", "sender": BOB}
    made_as = post(daemon, "/api/create/remark", acted)["result"]
    lines = {"lines": f"account,amount,memo\n{BOB},1.5,May\n", "chain": "polkadot", "asset": "DOT"}
    payout = post(daemon, "/api/create/payout", lines)["result"]
    post(daemon, "/job/start", {"id": remark, "every": "1h"})
    for id in (remark, transfer):
        post(daemon, "/job/run", {"id": id})
    with suppress(AssertionError):
        # Its request goes nowhere, so the run fails.
        post(daemon, "/job/run", {"id": several})
    (draft,) = post(daemon, "/scenario/tx", {"id": transfer, "tail": 1})["mempool"]
    yield {
        "home": "/#/",
        "list": "/#/scenarios",
        "accounts": "/#/accounts",
        "history": "/#/history",
        "transfer": f"/#/create/?diagramData={transfer}",
        "job": f"/#/create/?diagramData={remark}",
        "several steps": f"/#/create/?diagramData={several}",
        "odd": f"/#/create/?diagramData={odd}",
        "empty": f"/#/create/?diagramData={empty}",
        **{f"new {kind}": f"/#/new/{kind}" for kind in ("transfer", "swap", "flow")},
        "edit": f"/#/edit/{several}",
        "duplicate": f"/#/duplicate/{transfer}",
        "import": "/#/import",
        "sign": f"/#/sign/?scenario={transfer}",
        "sign a draft": f"/#/sign/?job={transfer}&draft={draft['seq']}",
        "sent": f"/#/tx/?chain=polkadot&hash=0x{'ab' * 32}",
        "made as": f"/#/create/?diagramData={made_as}",
        "sign as": f"/#/sign/?scenario={made_as}",
        "approvals": "/#/multisig/council",
        "payout": f"/#/create/?diagramData={payout}",
        "not found": "/#/nowhere",
    }


def open_view(page: Page, link: str) -> None:
    page.open(link)
    page.wait(lambda: page.browser.find_elements("css selector", "main h1"))
    page.wait(
        lambda: page.browser.execute_script(
            "const main = document.querySelector('main');"
            "return !main.querySelector('[aria-busy=true]') && "
            "!/(Drafting|Loading|Simulating)…/.test(main.innerText)"
        )
    )


def all_text(page: Page) -> str:
    """Return all that is read or read aloud."""
    return str(
        page.browser.execute_script(
            """
            const texts = [document.title, document.body.innerText];
            for (const each of document.querySelectorAll("*")) {
              for (const name of ["aria-label", "title", "alt", "placeholder", "value", "href"]) {
                if (each.hasAttribute(name)) texts.push(each.getAttribute(name));
              }
            }
            return texts.join("\\n");
            """
        )
    )


def faults(page: Page, view: str) -> list[Any]:
    """Return what is wrong with the view that is shown."""
    text = all_text(page)
    found: list[Any] = STRAY.findall(text) + MACHINE.findall(page.text())
    if ("Page not found" in text) != (view == "not found"):
        found.append("Page not found")
    # Some views are of what doesn't exist.
    found += [
        each for each in page.complaints() if "the server responded with a status of" not in each
    ]
    return found + barriers_everywhere(page)


def test_every_view_can_be_read_by_everybody(page: Page, links: dict[str, str]) -> None:
    found = {}
    for view, link in links.items():
        open_view(page, link)
        if each := faults(page, view):
            found[view] = each

    assert found == {}
