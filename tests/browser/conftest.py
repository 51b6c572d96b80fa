"""A daemon and a headless Chromium; without Debian's `chromium` and `chromium-driver` these tests
are skipped."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.browser.page import Daemon, Page, connected, open_browser, served
from tests.browser.signing import Started
from tests.browser.wallets import LivingChain, injected, wallet


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
    opened.leave()


@pytest.fixture
def own(browser: webdriver.Chrome, tmp_path: Path) -> Iterator[tuple[Page, Daemon]]:
    """Give a page and a daemon with an empty store of its own."""
    with served(browser, tmp_path) as running:
        yield running


@pytest.fixture
def started(browser: webdriver.Chrome, tmp_path: Path) -> Iterator[Started]:
    """A page whose browser has Talisman with one account, on a chain that takes transactions."""
    with connected(browser, tmp_path) as (page, daemon, network), injected(page, wallet()):
        yield page, daemon, network, LivingChain(network)
