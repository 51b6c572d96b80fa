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

from tests.browser.conftest import Daemon, Page, open_browser
from tests.browser.test_page import a_remark, a_transfer, diagram_of, post
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


def check(page: Page) -> None:
    page.fill("sender", ALICE, within="[aria-labelledby=check]")
    page.press("Simulate")
    page.wait_for("Simulation passed")


def make_payload(page: Page) -> None:
    page.fill("sender", ALICE, within="[aria-labelledby=payload]")
    page.fill("nonce", "7", within="[aria-labelledby=payload]")
    page.press("Prepare for signing")
    page.wait_for("Scan with Polkadot Vault.")


def take_checked(browser: webdriver.Chrome) -> None:
    """Take the picture of a transaction that was tried on chains, which stand on this machine."""
    folder = Path(tempfile.mkdtemp())
    with FakeNetwork(Path(tempfile.mkdtemp())) as network:
        fill(network)
        daemon = Daemon(folder, config=network.config.read_text(), offline=False)
        try:
            path = f"/#/create/?diagramData={a_transfer(daemon)}"
            take(browser, Page(browser, daemon.url), "check", path, "Copy hex", use=check)
            browser.get("about:blank")
        finally:
            daemon.stop()


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
        post(daemon, "/job/start", {"id": remark, "every": "1s"})
        take(browser, page, "scenarios", "/", "Created")
        take(browser, page, "scenarios-phone", "/", "Created", width=390)
        take(browser, page, "transfer", f"/#/create/?diagramData={transfer}", "Copy hex")
        take(browser, page, "payload", f"/#/create/?diagramData={transfer}", "Copy hex", use=make_payload)
        take(browser, page, "transfer-dark", f"/#/create/?diagramData={transfer}", "Copy hex", scheme="dark")
        take(browser, page, "phone", f"/#/create/?diagramData={transfer}", "Copy hex", width=390)
        take(browser, page, "job", f"/#/create/?diagramData={remark}", "workload executed")
        take(browser, page, "problems", f"/#/create/?diagramData={steps}", "problems")
        take(browser, page, "new-transfer", "/#/new/transfer", "Receiver")
        take(browser, page, "new-swap", "/#/new/swap", "You sell")
        take(browser, page, "new-remark", "/#/new/remark", "permanent part")
        take(browser, page, "import", "/#/import", "Import a diagram")
        take_checked(browser)
    daemon.stop()


if __name__ == "__main__":
    main()
