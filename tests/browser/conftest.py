"""A daemon and a headless Chromium; without Debian's `chromium` and `chromium-driver` these tests are skipped."""

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

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

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

    def open(self, path: str) -> None:
        # A blank page between: else a link that differs in its hash alone would not load anew.
        self.browser.get("about:blank")
        self.browser.get(self.url + path)

    def wait(self, happens: Callable[[], object]) -> None:
        WebDriverWait(self.browser, PATIENCE, poll_frequency=0.05).until(lambda _: happens())

    def text(self) -> str:
        return str(self.browser.execute_script("return document.body.innerText"))

    def wait_for(self, text: str) -> None:
        """Wait until the page says *text*."""
        try:
            self.wait(lambda: text in self.text())
        except Exception:
            raise AssertionError(f"the page does not say {text!r}, but: {self.text()}") from None

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
        self.wait(lambda: self.browser.find_elements(By.XPATH, path))
        button = self.browser.find_element(By.XPATH, path)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        self.wait(button.is_enabled)
        button.click()

    def complaints(self) -> list[str]:
        """Return what the browser's console has against the page since it was asked last."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]


@contextmanager
def open_browser(folder: Path) -> Iterator[webdriver.Chrome]:
    """Start a headless Chromium that keeps its things in *folder*."""
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
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield started
    finally:
        started.quit()


@contextmanager
def connected(browser: webdriver.Chrome, folder: Path) -> Iterator[tuple[Page, Daemon, FakeNetwork]]:
    """Give the page of a daemon whose chains answer."""
    with FakeNetwork(folder) as network:
        fill(network)
        home = folder / "daemon"
        home.mkdir()
        running = Daemon(home, config=network.config.read_text(), offline=False)
        try:
            yield Page(browser, running.url), running, network
        finally:
            browser.get("about:blank")
            running.stop()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    if shutil.which("chromedriver") is None or shutil.which("chromium") is None:
        pytest.skip("chromium and chromium-driver are not installed")
    with open_browser(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    running = Daemon(tmp_path_factory.mktemp("daemon"))
    yield running
    running.stop()


@pytest.fixture
def page(browser: webdriver.Chrome, daemon: Daemon) -> Iterator[Page]:
    opened = Page(browser, daemon.url)
    yield opened
    browser.get("about:blank")
    opened.complaints()
