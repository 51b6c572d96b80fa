"""The verdict on a batch, held against those on its steps."""

import pytest

from scenarioctl.actions.batching import doubt_steps
from scenarioctl.actions.drafting import Drafted
from scenarioctl.model.calls import Call, UnsignedTransaction
from scenarioctl.model.checks import Check
from scenarioctl.model.json_types import Verdict


def drafted(verdict: Verdict, *reasons: str) -> Drafted:
    transaction = UnsignedTransaction(
        chain="assetHub",
        call=Call(pallet="System", method="remark", args={}),
        call_data=b"",
        spec_version=1,
        offline=False,
        check=Check(verdict=verdict, reasons=reasons),
    )
    return Drafted(
        node="second",
        txtype="xTransfer",
        source_chain="assetHub",
        dest_chain="hydration",
        transaction=transaction,
    )


@pytest.mark.parametrize("verdict", ["refused", "unknown"])
def test_a_batch_is_not_proven_if_one_of_its_steps_is_not(verdict: Verdict) -> None:
    found = doubt_steps(
        Check(verdict="ok"), [drafted("ok"), drafted(verdict, "nothing would arrive")]
    )
    assert found == Check(
        verdict="unknown", reasons=("node 'second' alone is not proven: nothing would arrive",)
    )


def test_what_a_batch_is_refused_for_stays() -> None:
    refused = Check(verdict="refused", reasons=("too little",))
    assert doubt_steps(refused, [drafted("unknown", "no answer")]) is refused
    assert doubt_steps(Check(verdict="ok"), [drafted("ok")]) == Check(verdict="ok")
