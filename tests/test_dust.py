"""What is left of an account below the existential deposit goes with it, whether events tell or
not."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation.dry_run import DryRunResult
from scenarioctl.transactions.simulation.ledger import HopLedger, LedgerEntry
from scenarioctl.transactions.simulation.runtime_api import Findings
from scenarioctl.transactions.simulation.trapped_assets import check_dust
from tests.check_rules import trial
from tests.messages import says
from tests.network import table_of
from tests.runner import finish
from tests.test_check import ALICE_KEY, BOB_KEY

ASSETS = Assets(Registry())
HUB = Registry().find("assetHub")
USDT = ASSETS.find(HUB, "1984")
HELD, LEAST = 10**9, 70_000


class Client:
    """Holds a thousand USDT for everybody."""

    chain = HUB

    async def table(self) -> Any:
        return table_of("assetHub")

    async def storage(self, pallet: str, entry: str, *_: Any) -> Any:
        return {"balance": HELD, "min_balance": LEAST, "status": "Liquid"}


def dust(
    *events: Event, value: int = 0, account: bytes = ALICE_KEY, system: bool = False
) -> Findings:
    """Return what is found where the sender, or another *account*, gets *value*."""
    entry = LedgerEntry(account=account, asset=USDT, value=value, identity="", system=system)
    ledger = HopLedger(hop=DryRunResult(chain=HUB, events=events), entries=[entry] if value else [])
    tried = trial("assetHub", clients=lambda _: Client(), hops=[ledger.hop], ledgers=[ledger])
    finish(check_dust(tried))
    return tried.findings


@pytest.mark.parametrize(
    ("left", "lost"), [(0, False), (1, True), (LEAST - 1, True), (LEAST, False), (2 * HELD, False)]
)
def test_what_no_event_tells_is_read_from_the_state(left: int, lost: bool) -> None:
    findings = dust(value=left - HELD)

    assert [(step.what, step.amount.value) for step in findings.steps] == (
        [("dust", left)] if lost else []
    )
    assert bool(findings.losses) == lost


def test_an_account_of_the_chain_itself_is_not_asked_for() -> None:
    assert dust(value=1 - HELD, account=BOB_KEY, system=True).losses == []


def test_dust_of_somebody_else_is_told_and_no_step() -> None:
    findings = dust(value=1 - HELD, account=BOB_KEY)

    assert findings.steps == []
    assert findings.losses == [
        says("14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3", "Polkadot Asset Hub")
    ]


@pytest.mark.parametrize(("account", "told"), [(ALICE_KEY, True), (BOB_KEY, False)])
def test_only_the_senders_account_that_is_closed_is_told(account: bytes, told: bool) -> None:
    killed = Event(pallet="System", name="KilledAccount", fields={"account": account})
    other = Event(pallet="System", name="NewAccount", fields={"account": ALICE_KEY})

    assert bool(dust(killed, other).losses) == told
