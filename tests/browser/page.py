"""A daemon as a process, and its page in a headless Chromium, as somebody uses it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.network import FakeNetwork
from tests.test_check import fill

#: Seconds that a page may take for anything here; the machine may be busy.
PATIENCE = 20

_ADDRESS = re.compile(r"scenario API on (http://\S+)")


class Daemon:
    """`scenarioctl daemon` as a process on a port of its own, offline where its config names no nodes."""

    def __init__(self, folder: Path, *, config: str = "", offline: bool = True) -> None:
        self.folder = folder
        self.offline = offline
        (folder / "config.toml").write_text(config)
        self.address = "127.0.0.1:0"
        self.url = ""
        self.start()

    def start(self) -> None:
        """Start it, again where it was before."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("SCENARIOCTL_")
        }
        self._process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "scenarioctl",
                    *(["--offline"] if self.offline else []),
                    "--store",
                    str(self.folder / "scenarios.db"),
                ),
                *("--config", str(self.folder / "config.toml"), "daemon"),
                *("--listen", self.address, "--worker-listen", "127.0.0.1:0"),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "HOME": str(self.folder)},
        )
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            found = _ADDRESS.search(line)
            if found:
                self.url = found[1].rstrip("/")
                self.address = self.url.removeprefix("http://")
                break
        else:
            raise AssertionError(f"the daemon did not start: {''.join(said)}")
        # Or the daemon would wait, one day, for somebody to read what it says.
        self._reader = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._reader.start()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(20)
            self._reader.join()
            assert self._process.stderr is not None
            self._process.stderr.close()


class Page:
    """The page in a browser, as somebody uses it."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self.browser = browser
        self.url = url
        # The browser's console still has what it said of other pages.
        self.complaints()

    def open(self, path: str) -> None:
        # A blank page between: else a link that differs in its hash alone would not load anew.
        self.browser.get("about:blank")
        self.browser.get(self.url + path)

    def wait(self, happens: Callable[[], object]) -> None:
        WebDriverWait(self.browser, PATIENCE, poll_frequency=0.05).until(lambda _: happens())

    def text(self) -> str:
        return str(self.browser.execute_script("return document.body.innerText"))

    def wait_for(self, *texts: str) -> None:
        """Wait until the page says each of *texts*."""
        try:
            self.wait(lambda: all(text in self.text() for text in texts))
        except Exception:
            shown = self.text()
            missing = [text for text in texts if text not in shown]
            raise AssertionError(f"the page does not say {missing}, but: {shown}") from None

    def find(self, selector: str) -> WebElement:
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, selector))
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def fill(self, name: str, value: str, *, within: str = "main") -> None:
        box = self.find(f"{within} [name={name}]")
        self.wait(box.is_displayed)
        box.clear()
        box.send_keys(value)

    def press(self, label: str) -> None:
        """Press the button with that label."""
        path = f"//button[normalize-space()={label!r}]"

        def pressed() -> bool:
            try:
                found = self.browser.find_elements(By.XPATH, path)
                button = next((each for each in found if each.is_displayed()), None)
                if button is None or not button.is_enabled():
                    return False
                self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
                button.click()
            except (ElementNotInteractableException, StaleElementReferenceException):
                # The page has drawn it anew, or hidden it, meanwhile.
                return False
            return True

        self.wait(pressed)

    def open_details(self, summary: str = "Details") -> None:
        """Open the first details whose summary says so."""
        path = f"//main//summary[normalize-space()={summary!r}]"
        self.wait(lambda: self.browser.find_elements(By.XPATH, path))
        self.browser.execute_script(
            "arguments[0].parentElement.open = true", self.browser.find_element(By.XPATH, path)
        )

    def choose(self, element: WebElement, wanted: str) -> None:
        """Choose the option *wanted*, once the daemon has sent it."""
        self.wait(
            lambda: self.browser.execute_script(
                "return [...arguments[0].options].some(option => option.value === arguments[1])",
                element,
                wanted,
            )
        )
        Select(element).select_by_value(wanted)

    def answer(self, label: str) -> str:
        """Wait for a question, press the button with that label, and return what was asked."""
        asked = self.find("dialog[open]").text
        self.find("dialog[open]").find_element(By.XPATH, f".//button[normalize-space()={label!r}]").click()
        self.wait(lambda: not self.browser.find_elements(By.CSS_SELECTOR, "dialog"))
        return asked

    def keys(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def tab_to(self, name: str) -> None:
        """Go with the Tab key to what a screen reader calls *name*."""
        for _ in range(60):
            self.keys(Keys.TAB)
            at = self.browser.switch_to.active_element
            if name in (at.text, at.accessible_name):
                return
        raise AssertionError(f"{name!r} is not reached")

    def drop(self, text: str, name: str = "") -> None:
        """Drop *text*, or a file of that *name* with it."""
        self.browser.execute_script(
            "const t = new DataTransfer();"
            "if (arguments[1]) t.items.add(new File([arguments[0]], arguments[1])); else t.setData('text', arguments[0]);"
            "document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: true, cancelable: true}))",
            text,
            name,
        )

    def paste(self, text: str) -> None:
        self.browser.execute_script(
            "const t = new DataTransfer(); t.setData('text', arguments[0]);"
            "document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData: t, bubbles: true}))",
            text,
        )

    @contextmanager
    def with_script(self, source: str) -> Iterator[None]:
        """Run a script in each page that is opened, before the scripts of the page."""
        added = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    @contextmanager
    def blocked(self, url: str) -> Iterator[None]:
        """Keep requests to *url*, which may have a *, from being answered."""
        self.browser.execute_cdp_cmd("Network.enable", {})
        self.browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": [url]})
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})

    @contextmanager
    def color_scheme(self, scheme: str) -> Iterator[None]:
        """Let somebody prefer a light or a dark page."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    @contextmanager
    def screen(self, width: int, height: int = 812, *, touch: bool = False) -> Iterator[None]:
        """Show the page on a screen of that size: a phone, if it is narrow."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def leave(self) -> None:
        """Close the page, and forget what it kept in the browser and what the console said of it."""
        # A blank page has no storage to clear.
        self.browser.execute_script(
            "if (location.protocol !== 'about:') try { localStorage.clear(); sessionStorage.clear() } catch {}"
        )
        self.browser.get("about:blank")
        self.complaints()

    def complaints(self) -> list[str]:
        """Return what the browser's console has against the page since it was asked last.

        Chromium writes down each answer with an error's status. 503 says of a chain that it can't be reached, whenever the page
        asks for a balance or a quote: the page shows that, and the tests of it look there.
        """
        entries = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
        return [
            entry["message"] for entry in entries if "responded with a status of 503" not in entry["message"]
        ]


@contextmanager
def open_browser(folder: Path, *more: str) -> Iterator[webdriver.Chrome]:
    """Start a headless Chromium that keeps its things in *folder*, with *more* arguments."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        *(
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--hide-scrollbars",
        ),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--disable-dev-shm-usage", "--window-size=1280,900", f"--user-data-dir={folder}"),
        *more,
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield started
    finally:
        started.quit()


#: Lists in `window.tasks` how many milliseconds each task of the page takes that takes more than 50.
LONG_TASKS = (
    "window.tasks = []; new PerformanceObserver(list => "
    "window.tasks.push(...list.getEntries().map(task => task.duration))).observe({type: 'longtask'})"
)


@contextmanager
def served(
    browser: webdriver.Chrome, folder: Path, *, config: str = "", offline: bool = True
) -> Iterator[tuple[Page, Daemon]]:
    """Give the page of a daemon with an empty store of its own."""
    running = Daemon(folder, config=config, offline=offline)
    page = Page(browser, running.url)
    try:
        yield page, running
    finally:
        page.leave()
        running.stop()


@contextmanager
def connected(browser: webdriver.Chrome, folder: Path) -> Iterator[tuple[Page, Daemon, FakeNetwork]]:
    """Give the page of a daemon whose chains answer."""
    with FakeNetwork(folder) as network:
        fill(network)
        home = folder / "daemon"
        home.mkdir()
        with served(browser, home, config=network.config.read_text(), offline=False) as (page, running):
            yield page, running, network
