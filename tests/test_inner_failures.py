"""What failed inside a call that succeeded is found in the events of any pallet, by their types."""

from typing import Any

import pytest

from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation.conservation import check_inner_failures
from scenarioctl.transactions.simulation.dry_run import DryRunResult
from tests.check_rules import trial
from tests.messages import says
from tests.runner import finish

FAILED: dict[str, Any] = {"Err": {"Token": "FundsUnavailable"}}


@pytest.mark.parametrize(
    ("chain", "name", "fields"),
    [
        (
            "polkadot",
            "Utility.BatchInterrupted",
            {"index": 1, "error": {"Token": "FundsUnavailable"}},
        ),
        ("polkadot", "Utility.DispatchedAs", {"result": FAILED}),
        (
            "polkadot",
            "XcmPallet.Attempted",
            {"outcome": {"Error": {"index": 0, "error": "Barrier"}}},
        ),
        ("hydraDx", "EVM.ExecutedFailed", {"address": bytes(20)}),
        (
            "hydraDx",
            "Ethereum.Executed",
            {
                "from": bytes(20),
                "to": bytes(20),
                "transaction_hash": bytes(32),
                "extra_data": b"",
                "exit_reason": {"Revert": "Reverted"},
            },
        ),
        # Of another shape than its type: nothing is known of it.
        ("polkadot", "Utility.DispatchedAs", {"outcome": {"Ok": None}}),
        (
            "assetHub",
            "Revive.EthExtrinsicRevert",
            {"dispatch_error": {"Token": "FundsUnavailable"}},
        ),
    ],
)
def test_a_failure_is_refused(chain: str, name: str, fields: Any) -> None:
    pallet, _, event = name.partition(".")
    tried = trial(chain)
    events = (Event(pallet=pallet, name=event, fields=fields),)
    tried.hops = [DryRunResult(chain=tried.chain, events=events)]

    finish(check_inner_failures(tried))

    assert tried.findings.refusals == [says(chain, name)]


@pytest.mark.parametrize(
    ("chain", "name", "fields"),
    [
        ("polkadot", "Utility.DispatchedAs", {"result": {"Ok": None}}),
        (
            "hydraDx",
            "DCA.Terminated",
            {"id": 7, "who": bytes(32), "error": {"Module": {"index": 66, "error": 11}}},
        ),
        ("polkadot", "Utility.IfElseFallbackCalled", {"main_error": {"Token": "FundsUnavailable"}}),
        (
            "polkadot",
            "XcmPallet.Attempted",
            {"outcome": {"Complete": {"used": {"ref_time": 1, "proof_size": 1}}}},
        ),
        (
            "hydraDx",
            "Ethereum.Executed",
            {
                "from": bytes(20),
                "to": bytes(20),
                "transaction_hash": bytes(32),
                "extra_data": b"",
                "exit_reason": {"Succeed": "Stopped"},
            },
        ),
    ],
)
def test_a_success_is_none(chain: str, name: str, fields: Any) -> None:
    pallet, _, event = name.partition(".")
    tried = trial(chain)
    events = (Event(pallet=pallet, name=event, fields=fields),)
    tried.hops = [DryRunResult(chain=tried.chain, events=events)]

    finish(check_inner_failures(tried))

    assert tried.findings.refusals == []
