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
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    InvalidElementStateException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.daemons import free_port
from tests.network import FakeNetwork
from tests.test_check import fill

T = TypeVar("T")

#: Seconds that a page or a daemon may take for anything here; the machine may be busy.
PATIENCE = 60
#: Pattern of what the page says of a time in this test: a busy machine takes more than the minute
#: of "just now".
RECENTLY = r"(?:just now|\d+ minutes? ago)"
#: What an element says that the page has drawn anew, moved, or hidden since it was found.
MOVED = (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    InvalidElementStateException,
    StaleElementReferenceException,
)

_ADDRESS = re.compile(r"scenario API on (http://\S+)")


class Daemon:
    """`scenarioctl daemon` as a process on a port of its own, offline where its config names no
    nodes."""

    def __init__(self, folder: Path, *, config: str = "", offline: bool = True) -> None:
        self.folder = folder
        self.offline = offline
        (folder / "config.toml").write_text(config)
        # It is held for a daemon that starts again.
        self.address = f"127.0.0.1:{free_port()}"
        self.url = ""
        self.start()

    def start(self) -> None:
        """Start it, again where it was before."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(
                ("SCENARIOCTL_", "XDG_", "NOTIFY_", "LISTEN_", "WATCHDOG_", "JOURNAL_")
            )
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
                break
        else:
            raise AssertionError(f"the daemon did not start: {''.join(said)}")
        # Or the daemon would wait, one day, for somebody to read what it says.
        self._reader = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._reader.start()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(PATIENCE)
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

    def wait(self, happens: Callable[[], T | None]) -> T:
        """Return what *happens* returns, once that is true; it is asked again if the page has
        changed meanwhile."""
        waiting = WebDriverWait(
            self.browser, PATIENCE, poll_frequency=0.05, ignored_exceptions=MOVED
        )
        found = waiting.until(lambda _: happens())
        assert found is not None
        return found

    def text(self) -> str:
        return str(self.browser.execute_script("return document.body?.innerText ?? ''"))

    def said(self) -> str:
        """Return the page, and what it said last at its edge, which it shows for some seconds
        only."""
        last = self.browser.execute_script(
            "return document.getElementById('said')?.textContent ?? ''"
        )
        return f"{self.text()}\n{last}"

    def wait_for(self, *texts: str) -> None:
        """Wait until the page says each of *texts*."""
        try:
            self.wait(lambda: all(text in shown for shown in [self.said()] for text in texts))
        except TimeoutException:
            shown = self.said()
            missing = [text for text in texts if text not in shown]
            raise AssertionError(f"the page does not say {missing}, but: {shown}") from None

    def wait_for_match(self, pattern: str) -> re.Match[str]:
        """Wait until the page says what *pattern* matches."""
        return self.wait(lambda: re.search(pattern, self.text()))

    def find(self, selector: str) -> WebElement:
        return self.wait(lambda: self.browser.find_element(By.CSS_SELECTOR, selector))

    def text_of(self, selector: str) -> str:
        """Return the text of an element that the page may draw anew at any time."""
        return self.wait(lambda: (self.browser.find_element(By.CSS_SELECTOR, selector).text,))[0]

    def value_of(self, selector: str, name: str) -> str:
        """Return an attribute of such an element; empty if it has none."""
        return self.wait(
            lambda: (
                self.browser.find_element(By.CSS_SELECTOR, selector).get_attribute(name) or "",
            )
        )[0]

    def click(self, selector: str) -> None:
        """Click on an element, once it is shown and nothing lies over it."""
        self.wait(lambda: self._clicked(self.browser.find_elements(By.CSS_SELECTOR, selector)[:1]))

    def _clicked(self, found: list[WebElement]) -> bool:
        element = next((each for each in found if each.is_displayed()), None)
        if element is None or not element.is_enabled():
            return False
        # Not at the edge, where the page says something.
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        return True

    def fill(self, name: str, value: str, *, within: str = "main") -> None:
        def filled() -> bool:
            box = self.browser.find_element(By.CSS_SELECTOR, f"{within} [name={name}]")
            box.clear()
            box.send_keys(value)
            return True

        self.wait(filled)

    def press(self, label: str) -> None:
        """Press the button with that label."""
        path = f"//button[normalize-space()={label!r}]"
        self.wait(lambda: self._clicked(self.browser.find_elements(By.XPATH, path)))

    def open_details(self, summary: str = "Details") -> None:
        """Open the first details whose summary says so."""
        path = f"//main//summary[normalize-space()={summary!r}]"
        self.wait(lambda: self.browser.find_elements(By.XPATH, path))
        self.browser.execute_script(
            "arguments[0].parentElement.open = true", self.browser.find_element(By.XPATH, path)
        )

    def choose(self, place: str | Callable[[], WebElement], wanted: str) -> None:
        """Choose the option *wanted* of the selector or the element *place*, once the daemon has
        sent it."""

        def chosen() -> bool:
            element = (
                self.browser.find_element(By.CSS_SELECTOR, place)
                if isinstance(place, str)
                else place()
            )
            has = "return [...arguments[0].options].some(option => option.value === arguments[1])"
            if not self.browser.execute_script(has, element, wanted):
                return False
            Select(element).select_by_value(wanted)
            return True

        self.wait(chosen)

    def answer(self, label: str) -> str:
        """Wait for a question, press the button with that label, and return what was asked."""
        asked = self.text_of("dialog[open]")
        path = f"//dialog[@open]//button[normalize-space()={label!r}]"
        self.wait(lambda: self._clicked(self.browser.find_elements(By.XPATH, path)))
        self.wait(lambda: not self.browser.find_elements(By.CSS_SELECTOR, "dialog"))
        return asked

    def keys(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def tab_to(self, name: str) -> None:
        """Go with the Tab key to what a screen reader calls *name*."""
        for _ in range(60):
            self.keys(Keys.TAB)
            if name in self.wait(self._names_of_focused):
                return
        raise AssertionError(f"{name!r} is not reached")

    def _names_of_focused(self) -> tuple[str, str]:
        at = self.browser.switch_to.active_element
        return at.text, at.accessible_name

    def drop(self, text: str, name: str = "") -> None:
        """Drop *text*, or a file of that *name* with it."""
        self.browser.execute_script(
            "const t = new DataTransfer();"
            "if (arguments[1]) t.items.add(new File([arguments[0]], arguments[1])); else "
            "t.setData('text', arguments[0]);"
            "document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: "
            "true, cancelable: true}))",
            text,
            name,
        )

    def paste(self, text: str) -> None:
        self.browser.execute_script(
            "const t = new DataTransfer(); t.setData('text', arguments[0]);"
            "document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData: t, "
            "bubbles: true}))",
            text,
        )

    @contextmanager
    def with_script(self, source: str) -> Iterator[None]:
        """Run a script in each page that is opened, before the scripts of the page."""
        added = self.browser.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": source}
        )
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
        """Close the page, and forget what it kept in the browser and what the console said of
        it."""
        # A blank page has no storage to clear.
        self.browser.execute_script(
            "if (location.protocol !== 'about:') try { localStorage.clear(); "
            "sessionStorage.clear() } catch {}"
        )
        self.browser.get("about:blank")
        self.complaints()

    def complaints(self) -> list[str]:
        """Return what the browser's console has against the page since it was asked last.

        Chromium writes down each answer with an error's status. 503 says of a chain that it can't
        be reached, whenever the page asks for a balance or a quote: the page shows that, and the
        tests of it look there.
        """
        logged = self.browser.get_log("browser")  # type: ignore[no-untyped-call]
        entries = [entry for entry in logged if entry["level"] == "SEVERE"]
        return [
            entry["message"]
            for entry in entries
            if "responded with a status of 503" not in entry["message"]
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
    # A port that selenium finds by itself may be somebody else's when the driver starts.
    started = webdriver.Chrome(
        options=options, service=Service(shutil.which("chromedriver"), port=free_port())
    )
    started.set_script_timeout(PATIENCE)
    try:
        yield started
    finally:
        started.quit()


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
def connected(
    browser: webdriver.Chrome, folder: Path
) -> Iterator[tuple[Page, Daemon, FakeNetwork]]:
    """Give the page of a daemon whose chains answer."""
    with FakeNetwork(folder) as network:
        fill(network)
        home = folder / "daemon"
        home.mkdir()
        with served(browser, home, config=network.config.read_text(), offline=False) as (
            page,
            running,
        ):
            yield page, running, network
