"""Take pictures of the page, with Debian's chromium and chromium-driver.

.venv/bin/python tools/screenshots.py              writes docs/pictures/*.png
.venv/bin/python tools/screenshots.py FOLDER [WORD]  writes every view whose name has WORD, wide and
narrow, light and dark, to FOLDER
"""

import base64
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from selenium import webdriver

from tests.browser.page import Page, connected, open_browser, served
from tests.browser.scenarios import UUID, a_remark, a_transfer, diagram_of, imported, post
from tests.browser.signing import sign_in_wallet, to_the_wallet
from tests.browser.test_history import ARRIVED, HASH
from tests.browser.wallets import LivingChain, injected, stubbed, wallet
from tests.conftest import BOB
from tests.test_check import ALICE

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
#: Seconds until animations on the page have ended.
SETTLED = 0.5
#: Seconds that one picture may take.
LIMIT = 60
WIDE, NARROW = 1280, 390
EVERY = [(width, scheme) for width in (WIDE, NARROW) for scheme in ("light", "dark")]
#: The pictures in the documentation: the view, and how it is seen.
DOCUMENTED = {
    "home": ("home", WIDE, "light"),
    "home-dark": ("home", WIDE, "dark"),
    "home-phone": ("home", NARROW, "light"),
    "scenarios": ("scenarios", WIDE, "light"),
    "transfer": ("transfer", WIDE, "light"),
    "transfer-dark": ("transfer", WIDE, "dark"),
    "phone": ("transfer", NARROW, "light"),
    "job": ("run", WIDE, "light"),
    "problems": ("problems", WIDE, "light"),
    "new-transfer": ("new-transfer", WIDE, "light"),
    "new-swap": ("new-swap", WIDE, "light"),
    "editor": ("editor", WIDE, "light"),
    "import": ("import", WIDE, "light"),
    "sign": ("sign", WIDE, "light"),
    "vault": ("vault", WIDE, "light"),
    "sent": ("arrived", WIDE, "light"),
}


@dataclass(frozen=True)
class View:
    """A state of the page: what *path* shows once it says *ready* and was *used*."""

    name: str
    path: str
    ready: str
    use: Callable[[Page], object] = lambda _: None


@contextmanager
def limited(name: str) -> Iterator[None]:
    """Say which view failed, also if nothing answers."""

    def expire(*_: object) -> None:
        raise TimeoutError(f"no answer within {LIMIT} s")

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(LIMIT)
    try:
        yield
    except Exception as error:
        raise SystemExit(f"{name} failed: {f'{error}'[:400] or type(error).__name__}") from error
    finally:
        signal.alarm(0)


class Camera:
    """Takes the pictures that are wanted: of each view, a name, a width and a scheme."""

    def __init__(self, browser: webdriver.Chrome, folder: Path, word: str | None) -> None:
        self.browser = browser
        self.folder = folder
        self.word = word

    def wanted(self, view: View) -> list[tuple[str, int, str]]:
        if self.word is None:
            return [(name, *how[1:]) for name, how in DOCUMENTED.items() if how[0] == view.name]
        return [
            (f"{view.name}-{width}-{scheme}", width, scheme)
            for width, scheme in EVERY
            if self.word in view.name
        ]

    def take(self, page: Page, *views: View) -> None:
        for view in views:
            wanted = self.wanted(view)
            for width in sorted({width for _, width, _ in wanted}):
                schemes = [(name, scheme) for name, wide, scheme in wanted if wide == width]
                with limited(f"{view.name}, {width} px wide"):
                    self._take(page, view, width, schemes)

    def _take(self, page: Page, view: View, width: int, schemes: list[tuple[str, str]]) -> None:
        size = {
            "width": width,
            "height": 844 if width < 500 else 900,
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        }
        run = self.browser.execute_cdp_cmd
        run("Emulation.setDeviceMetricsOverride", size)
        page.open(view.path)
        page.wait_for(view.ready)
        view.use(page)
        for name, scheme in schemes:
            run(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
            )
            time.sleep(SETTLED)
            height = self.browser.execute_script("return document.documentElement.scrollHeight")
            run(
                "Emulation.setDeviceMetricsOverride",
                {**size, "height": max(size["height"], min(height, 2600))},
            )
            data = run("Page.captureScreenshot", {})["data"]
            (self.folder / f"{name}.png").write_bytes(base64.b64decode(data))


def opened(*selectors: str) -> Callable[[Page], None]:
    """Press what the selectors find, one after the other."""

    def press(page: Page) -> None:
        for selector in selectors:
            page.browser.execute_script("arguments[0].click()", page.find(selector))

    return press


def scrolled(selector: str) -> Callable[[Page], None]:
    return lambda page: page.browser.execute_script(
        "arguments[0].scrollIntoView()", page.find(selector)
    )


def blamed(page: Page) -> None:
    page.fill("amount", "12345678901234567890")
    page.press("Create")
    page.wait_for("Receiver is missing")


def simulated(page: Page) -> None:
    page.press("Connect Talisman")
    page.find(".choice").click()
    page.wait_for("min left")


def with_codes(page: Page) -> None:
    page.fill("sender", ALICE)
    page.press("Use this account")
    page.wait_for("Scan with Polkadot Vault")


def empty(camera: Camera) -> None:
    """Take what a new user sees."""
    with served(camera.browser, Path(tempfile.mkdtemp())) as (page, _):
        camera.take(
            page,
            View("empty-home", "/", "No scenarios yet"),
            View("empty-scenarios", "/#/scenarios", "No scenarios yet"),
            View("empty-history", "/#/history", "Nothing was sent"),
            View("empty-accounts", "/#/accounts", "You watch no account"),
            View("menu", "/", "No scenarios yet", opened(".menu summary")),
            View("not-found", "/#/nowhere", "Page not found"),
            View("unknown", "/#/create/?diagramData=nobody000", "Something went wrong"),
            View("new-transfer", "/#/new/transfer", "Receiver"),
            View("new-transfer-blamed", "/#/new/transfer", "Receiver", blamed),
            View("new-swap", "/#/new/swap", "You sell"),
            View("new-remark", "/#/new/remark", "Text"),
            View("new-flow", "/#/new/flow", "Which step comes first"),
            View("import", "/#/import", "Import"),
        )
        with page.blocked("*/readyz"):
            camera.take(page, View("outage", "/#/import", "not responding"))
        with page.with_script("window.fetch = () => new Promise(() => {})"):
            camera.take(
                page, View("loading", "/#/scenarios", "Loading"), View("loading-home", "/", "Home")
            )


FLOW: dict[str, Any] = {
    "name": "Pay and report",
    "steps": [
        {
            "type": "xTransfer",
            "source_chain": "polkadot",
            "dest_chain": "assetHub",
            "destination_address": BOB,
            "amount": "1500",
            "assetid": "DOT",
        },
        {"type": "delay", "seconds": 1},
        {"type": "Remark", "chain": "assetHub", "text": "paid"},
    ],
}
HOOK: dict[str, Any] = {"type": "webhook", "name": "notes", "uuid": UUID}
SWAP = {"assetin": 5, "assetout": 10, "amount": 2.5, "min_amount_out": 9000000}
FAILING = {"type": "http", "url": "http://127.0.0.1:9/never", "method": "GET"}


def full(camera: Camera) -> None:
    """Take scenarios, with jobs and their runs."""
    with served(camera.browser, Path(tempfile.mkdtemp())) as (page, daemon):
        transfer, remark = a_transfer(daemon), a_remark(daemon, "hello from a job")
        swap = post(daemon, "/api/create/swap", SWAP)["swap"]["scenarioid"]
        odd = imported(daemon, diagram_of("price alert"))
        bare = imported(daemon, {"nodes": [], "edges": []})
        made = [
            post(daemon, "/api/create/flow", {"flow": flow, "syntax": "json"})["result"]
            for flow in (
                FLOW,
                {
                    "name": "Alert",
                    "steps": [HOOK, {"type": "Remark", "chain": "polkadot", "text": "{{ note }}"}],
                },
                {"name": "Check the price", "steps": [FAILING]},
                {
                    "steps": [
                        {"type": "Remark", "chain": "polkadot", "text": f"number {each}"}
                        for each in range(40)
                    ]
                },
            )
        ]
        flow, hook, failing, long = made
        post(daemon, "/api/scenario/replace", {"id": flow, "tags": ["rent", "monthly"]})
        post(daemon, "/api/address/add", {"name": "Landlady", "address": BOB, "watch": False})
        for id in (remark, transfer, flow):
            post(daemon, "/job/start", {"id": id, "every": "5s"})
        post(daemon, "/job/start", {"id": failing, "every": "1h"})
        # Until there are some runs to see.
        time.sleep(17)
        post(daemon, "/job/pause", {"id": transfer})
        link = "/#/create/?diagramData={}".format
        last = ".runs details[open] "
        camera.take(
            page,
            View("home", "/", "To sign"),
            View("scenarios", "/#/scenarios", "price alert"),
            View("transfer", link(transfer), "Sign and send"),
            View(
                "transfer-details",
                link(transfer),
                "Sign and send",
                opened("article summary", "[aria-labelledby=managing] summary"),
            ),
            View("swap", link(swap), "Sign and send"),
            View("run", link(flow), "workload executed"),
            View("drafts", link(flow), "workload executed", opened(f"{last}.mempool summary")),
            View("failing", link(failing), "run failed"),
            View("waiting", link(hook), "Share or delete"),
            View("problems", link(odd), "problems"),
            View("bare", link(bare), "Share or delete"),
            View("long", link(long), "Share or delete"),
            View("question", link(transfer), "Sign and send", opened("button.danger")),
            View("editor", f"/#/edit/{flow}", "More options", opened("main details summary")),
            View("editor-list", f"/#/edit/{long}", "Add a step"),
            View("duplicate", f"/#/duplicate/{transfer}", "Receiver"),
        )


def chains(camera: Camera) -> None:
    """Take the way of a transaction, for chains that stand on this machine."""
    # These pictures are of a browser that remembers no account.
    forgetting = "if (location.protocol !== 'about:') localStorage.clear()"
    with connected(camera.browser, Path(tempfile.mkdtemp())) as (page, daemon, network):
        network.chains["hydraDx"].api["CurrenciesApi_accounts"] = []
        chain = LivingChain(network)
        transfer = a_transfer(daemon)
        source = f"scenario={transfer}"
        sign = f"/#/sign/?{source}"
        post(daemon, "/api/address/add", {"name": "Savings", "address": ALICE, "watch": True})
        post(daemon, "/api/address/add", {"name": "Landlady", "address": BOB, "watch": False})
        with page.with_script(forgetting):
            camera.take(
                page,
                View("no-wallet", sign, "No wallet found"),
                View("vault", sign, "No wallet found", with_codes),
                View("accounts", "/#/accounts", "5 DOT"),
            )
        with injected(page, wallet()):
            with page.with_script(forgetting):
                camera.take(
                    page,
                    View("account", sign, "Connect Talisman"),
                    View("sign", sign, "Connect", simulated),
                )
                with limited("the signature"):
                    sign_in_wallet(page, to_the_wallet(page, source))
            camera.take(
                page,
                View("signed", sign, "Discard the signature"),
                View("home-signed", "/", "Signed here, not sent"),
                View("discard", sign, "Discard", lambda page: page.press("Discard the signature")),
            )
            with limited("the transaction"):
                page.open(sign)
                page.press("Send")
                page.wait(lambda: chain.taken)
                chain.include()
                page.wait_for("In block")
                sent = page.browser.current_url.removeprefix(daemon.url)
            camera.take(
                page,
                View("sent", sent, "Sent transaction"),
                View("history", "/#/history", "1 transaction"),
                View("home-chains", "/", "Polkadot"),
                View("sent-before", f"/#/create/?diagramData={transfer}", "It was sent from here"),
            )
        answer = f"if (target.includes('/api/tx/status')) return {json.dumps(ARRIVED)};"
        with stubbed(page, answer):
            camera.take(page, View("arrived", f"/#/tx/?chain=polkadot&hash={HASH}", "Total"))


def main() -> None:
    folder, word = (
        (Path(sys.argv[1]), (sys.argv[2:] or [""])[0]) if sys.argv[1:] else (PICTURES, None)
    )
    folder.mkdir(parents=True, exist_ok=True)
    with open_browser(Path(tempfile.mkdtemp())) as browser:
        camera = Camera(browser, folder, word)
        for part in (empty, full, chains):
            part(camera)


if __name__ == "__main__":
    main()
