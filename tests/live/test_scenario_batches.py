"""All transfers of a scenario in one batch: what its check says, held against what arrives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions.batching import draft_together
from scenarioctl.actions.drafting import require_check
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.model.diagram import read_diagram
from tests.live.conftest import Live
from tests.live.playing import new_key, play
from tests.live.recorder import clock, pause
from tests.live.senders import ALICE, UNIT, USDT, Sender
from tests.live.setup import PATIENCE, fund_teleports, price_fees
from tests.runner import finish

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def app(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    fund_teleports(app, app.registry.find("liveRelay"), app.registry.find("liveHub"), ALICE)
    yield app
    finish(app.close())


def transfer(
    app: Application, destination: str, asset: str, amount: int, to: bytes
) -> dict[str, Any]:
    return {
        "type": "xTransfer",
        "source_chain": "liveHub",
        "dest_chain": destination,
        "assetid": asset,
        "amount": f"{amount}raw",
        "destination_address": format_account(to, app.registry.find(destination).ss58_prefix),
    }


def native(app: Application, chain: str, account: bytes) -> int:
    row = finish(app.client(app.registry.find(chain)).storage("System", "Account", account))
    return int(row["data"]["free"])


def token(app: Application, account: bytes) -> int:
    client = app.client(app.registry.find("liveDex"))
    return int(finish(client.storage("Tokens", "Accounts", account, 10))["free"])


def test_every_transfer_of_a_batch_arrives_as_its_check_says(app: Application) -> None:
    sender = Sender(app, "liveHub").holds(10 * UNIT).is_given(50_000_000)
    near, up, far = (new_key().public_key for _ in range(3))
    steps = [
        transfer(app, "liveHub", "KSM", UNIT, near),
        transfer(app, "liveRelay", "KSM", 2 * UNIT, up),
        transfer(app, "liveDex", str(USDT), 5_000_000, far),
    ]
    document = draw_flow(app, read_flow({"name": "three", "steps": steps}, syntax="json")).document
    dex = app.registry.find("liveDex")
    price_fees(app, dex)

    transaction, _ = finish(draft_together(app, read_diagram(document), sender=sender.account))
    played = play(app, sender.chain, transaction.call, sender.key)

    deadline = clock() + PATIENCE
    while not (native(app, "liveRelay", up) and token(app, far)) and clock() < deadline:
        pause(0.5)
    check = require_check(transaction)
    print("\n", check.verdict, check.reasons, check.warnings)
    for step in check.steps:
        print(step.chain, step.what, step.amount)
    arrived = {(step.chain, step.amount.value) for step in check.steps if step.what == "arrives"}
    assert (check.verdict, check.reasons, played.outcome) == ("ok", (), "executed")
    assert native(app, "liveHub", near) == UNIT
    assert arrived == {("liveRelay", native(app, "liveRelay", up)), ("liveDex", token(app, far))}
