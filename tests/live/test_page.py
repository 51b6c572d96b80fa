"""The page on real runtimes: a transfer is signed by a wallet in Chromium, and the page sees it
arrive."""

from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from tests.browser.conftest import browser
from tests.browser.page import served
from tests.browser.scenarios import post
from tests.browser.signing import connect
from tests.browser.wallets import answer, injected, payload_asked_for, signature_of, wallet
from tests.conftest import BOB
from tests.live.conftest import Live
from tests.runner import finish

pytestmark = [pytest.mark.live, pytest.mark.acceptance, pytest.mark.usefixtures("live_only")]

__all__ = ["browser"]


def test_a_transfer_that_a_wallet_signed_is_seen_to_arrive(
    browser: Any,
    live_config: Path,
    live_app: Application,
    relay: Live,
    asset_hub: Live,
    tmp_path: Path,
) -> None:
    # A rig begins at block 0, which has no events: it is given blocks before which nothing is
    # searched.
    hub = live_app.client(live_app.registry.find(asset_hub.name))
    for _ in range(20):
        finish(hub.submit("dev_newBlock"))
    fields = {"source_chain": relay.name, "dest_chain": asset_hub.name, "amount": 2, "assetid": 0}
    with served(browser, tmp_path, config=live_config.read_text(), offline=False) as (page, daemon):
        made = post(daemon, "/api/create/scenario", {**fields, "destination_address": BOB})
        with injected(page, wallet()):
            connect(page, f"scenario={made['result']}")
            page.wait_for("Will succeed")
            page.press("Sign with Talisman")
            payload = payload_asked_for(page)
            chain = live_app.registry.find(relay.name)
            table = finish(live_app.client(chain).table())
            answer(page, signature=signature_of(payload, chain=chain, table=table))
            page.press("Send")
            page.wait_for(f"{asset_hub.name}: arrived in block")

        steps = page.browser.execute_script(
            "return [...document.querySelectorAll('.progress li')].map(each => "
            "each.className).join(' ')"
        )
        assert steps == "done done done done done"
