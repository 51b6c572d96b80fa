"""Take the screenshots of the page for the README and the documentation, with Debian's chromium and chromium-driver.

.venv/bin/python tools/screenshots.py      writes docs/pictures/*.png
"""

import base64
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from selenium import webdriver

from tests.browser.page import Daemon, Page, open_browser
from tests.browser.scenarios import a_remark, a_transfer, diagram_of, post
from tests.browser.wallets import LivingChain, injected, wallet
from tests.conftest import BOB
from tests.network import FakeNetwork
from tests.test_check import ALICE, fill

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
#: Seconds until animations on the page have ended.
SETTLED = 0.7


def take(
    browser: webdriver.Chrome,
    page: Page,
    name: str,
    path: str,
    ready: str,
    *,
    scheme: str = "light",
    width: int = 1200,
    use: Callable[[Page], None] | None = None,
) -> None:
    """Write a picture of the whole view at *path*, once it says *ready* and was *used*."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.open(path)
    page.wait_for(ready)
    if use is not None:
        use(page)
    time.sleep(SETTLED)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": min(height, 2600)})
    time.sleep(SETTLED)
    data = browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
    (PICTURES / f"{name}.png").write_bytes(base64.b64decode(data))


def sign(page: Page) -> None:
    page.press("Connect Talisman")
    page.find(".choice").click()
    page.wait_for("Valid for about")


def show_codes(page: Page) -> None:
    page.fill("sender", ALICE)
    page.press("Use this account")
    page.wait_for("Scan with Polkadot Vault")


def take_signing(browser: webdriver.Chrome) -> None:
    """Take the pictures of a transaction that is signed, for chains that stand on this machine."""
    folder = Path(tempfile.mkdtemp())
    with FakeNetwork(Path(tempfile.mkdtemp())) as network:
        fill(network)
        LivingChain(network)
        daemon = Daemon(folder, config=network.config.read_text(), offline=False)
        page = Page(browser, daemon.url)
        path = f"/#/sign/?scenario={a_transfer(daemon)}"
        try:
            with injected(page, wallet()):
                take(browser, page, "sign", path, "Connect Talisman", use=sign)
            take(browser, page, "vault", path, "No wallet found", use=show_codes)
            browser.execute_script("localStorage.clear()")
            browser.get("about:blank")
        finally:
            daemon.stop()


FLOW = {
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


def open_first_step(page: Page) -> None:
    page.find("main details summary").click()


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    daemon = Daemon(Path(tempfile.mkdtemp()))
    with open_browser(Path(tempfile.mkdtemp())) as browser:
        page = Page(browser, daemon.url)
        transfer, remark = a_transfer(daemon), a_remark(daemon, "hello from a job")
        swap = {"assetin": 5, "assetout": 10, "amount": 2.5, "min_amount_out": 9000000}
        post(daemon, "/api/create/swap", swap)
        steps = post(
            daemon, "/api/template/saveUrl", {"url": str(diagram_of("price alert")).replace("'", '"')}
        )["shortUrl"]
        flow = post(daemon, "/api/create/flow", {"flow": FLOW, "syntax": "json"})["result"]
        for id in (remark, transfer, flow):
            post(daemon, "/job/start", {"id": id, "every": "5s"})
        # Until there are some runs to see.
        time.sleep(17)
        post(daemon, "/job/pause", {"id": transfer})
        take(browser, page, "home", "/", "To sign")
        take(browser, page, "home-dark", "/", "To sign", scheme="dark")
        take(browser, page, "home-phone", "/", "To sign", width=390)
        take(browser, page, "scenarios", "/#/scenarios", "price alert")
        take(browser, page, "transfer", f"/#/create/?diagramData={transfer}", "Copy hex")
        take(browser, page, "transfer-dark", f"/#/create/?diagramData={transfer}", "Copy hex", scheme="dark")
        take(browser, page, "phone", f"/#/create/?diagramData={transfer}", "Copy hex", width=390)
        take(browser, page, "job", f"/#/create/?diagramData={flow}", "workload executed")
        take(browser, page, "problems", f"/#/create/?diagramData={steps}", "problems")
        take(browser, page, "new-transfer", "/#/new/transfer", "Receiver")
        take(browser, page, "new-swap", "/#/new/swap", "Swap")
        take(browser, page, "editor", f"/#/edit/{flow}", "More options", use=open_first_step)
        take(browser, page, "import", "/#/import", "Import")
        take_signing(browser)
    daemon.stop()


if __name__ == "__main__":
    main()
