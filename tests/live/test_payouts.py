"""A payroll of 200 lines on a real runtime: every receiver has what their line says, and no line is
paid twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.errors import Conflict
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.payouts import CreatePayout, ListPayments, create_payout, list_payments
from scenarioctl.operations.scenarios import FullScenarioInfo, full_scenario_info
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.live.senders import UNIT, USDT, Sender
from tests.live.setup import call_in, sign
from tests.runner import finish

pytestmark = pytest.mark.live

LINES = 200


@pytest.fixture(scope="module")
def app(relay: Live, asset_hub: Live, live_config: Path) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    yield app
    finish(app.close())


class Payroll:
    """What a test pays: 200 accounts that nobody has used, every third of them in USDT."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.sender = Sender(app, "liveHub").holds(100 * UNIT).is_given(500_000_000)
        self.accounts = [fresh(32) for _ in range(LINES)]
        self.amounts = [1_000_000 + n if n % 3 == 0 else UNIT // 10 + n for n in range(LINES)]
        self.scenario = ""

    def create(self, **more: Any) -> Any:
        prefix = self.sender.chain.ss58_prefix
        lines = [
            f"{format_account(who, prefix)},{amount}raw,{USDT if n % 3 == 0 else 'KSM'},Salary {n}"
            for n, (who, amount) in enumerate(zip(self.accounts, self.amounts, strict=True))
        ]
        request = CreatePayout(
            lines="\n".join(("account,amount,asset,memo", *lines)),
            chain="liveHub",
            memos=True,
            sender=format_account(self.sender.account, prefix),
            **more,
        )
        answer = finish(create_payout(self.app, request)).answer
        self.scenario = answer["result"]
        return answer

    def send(self) -> None:
        """Sign the next transaction, and send it into a block."""
        drafted = finish(full_scenario_info(self.app, FullScenarioInfo(id=self.scenario)))
        self.send_signed(self.sign(call_in(drafted.answer["result"]["tx"])))

    def sign(self, call: bytes) -> str:
        return "0x" + sign(self.app, self.sender.chain, call, self.sender.key).hex()

    def send_signed(self, tx: str) -> None:
        request = Broadcast(chain="liveHub", tx=tx, scenario=self.scenario, wait="in-block")
        assert finish(broadcast(self.app, request)).answer["success"]

    def balance(self, place: int) -> int:
        client, account = self.app.client(self.sender.chain), self.accounts[place]
        if place % 3 == 0:
            row = finish(client.storage("Assets", "Account", USDT, account))
            return 0 if row is None else int(row["balance"])
        return int(finish(client.storage("System", "Account", account))["data"]["free"])


def test_each_receiver_of_a_payroll_has_what_the_file_says_and_no_line_is_paid_twice(
    app: Application,
) -> None:
    payroll = Payroll(app)
    payroll.amounts[150] += 7
    created = payroll.create(portion=120)
    payroll.send()
    assert [each["lines"] for each in created["transactions"]] == [120, 80]
    assert [each["lacks"] for each in created["left"]] == [None, None]

    call = finish(full_scenario_info(app, FullScenarioInfo(id=payroll.scenario)))
    payroll.send()
    with pytest.raises(Conflict):
        payroll.send_signed(payroll.sign(call_in(call.answer["result"]["tx"])))
    with pytest.raises(Conflict):
        payroll.send()

    assert [payroll.balance(place) for place in range(LINES)] == payroll.amounts
    payments = finish(list_payments(app, ListPayments(id=payroll.scenario))).answer["payments"]
    assert [each["line"] for each in payments] == list(range(2, LINES + 2))
    assert {each["status"] for each in payments} <= {"in-block", "finalized"}
    assert len({each["hash"] for each in payments}) == 2


def test_a_payroll_is_split_by_what_the_chain_says_it_weighs(app: Application) -> None:
    payroll = Payroll(app)

    answer = payroll.create()

    assert [each["lines"] for each in answer["transactions"]] == [LINES]
