"""Quotes of transfers, by the prices that nodes on loopback tell.
`tests/live/test_transfer_quotes.py` plays them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.operations.transfer_quotes import QuoteTransfer, quote_transfer
from tests.conftest import BOB
from tests.messages import says
from tests.network import FakeNetwork
from tests.runner import finish


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application]:
    with FakeNetwork(tmp_path) as network:
        weight = {"ref_time": 1000, "proof_size": 100}
        info = {"weight": weight, "class": "Normal", "partial_fee": 16_000_000}
        network.chains["assetHub"].api["TransactionPaymentApi_query_info"] = info
        app = Application(load_settings({"config": str(network.config)}, {}))
        yield app
        finish(app.close())


@pytest.mark.parametrize(
    ("amount", "received", "reasons"),
    [
        ("0.01", "0.01 DOT", []),
        ("0.0099", None, [says("less than 0.01 DOT", "Polkadot Asset Hub")]),
    ],
)
def test_what_keeps_no_account_is_not_told_to_arrive(
    app: Application, amount: str, received: str | None, reasons: list[str]
) -> None:
    request = QuoteTransfer(
        source_chain="assetHub",
        dest_chain="assetHub",
        assetid="DOT",
        amount=amount,
        destination_address=BOB,
    )

    answer = finish(quote_transfer(app, request)).answer

    got = answer["receive"]
    assert (got and got["human"], answer["reasons"]) == (received, reasons)
    assert answer["minimum"] is not None and answer["minimum"]["human"] == "0.01 DOT"
