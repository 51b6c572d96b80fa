"""A chain with accounts of 20 bytes: a transfer is checked, signed as on Ethereum, and arrives."""

from pathlib import Path

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.payload import TransactionPayload, transaction_payload
from scenarioctl.operations.signed_transactions import AssembleTransaction, assemble_transaction
from scenarioctl.operations.views import CheckTransaction, check_transaction
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.runner import finish
from tests.signing import ALITH, ALITH_KEY, ethereum_signature

pytestmark = pytest.mark.live

AMOUNT = 10**18


def test_a_transfer_is_checked_and_signed_and_arrives(mythos: Live, live_config: Path) -> None:
    app = Application(load_settings({"config": str(live_config)}, {}))
    chain = app.registry.find(mythos.name)
    to = fresh(20)
    sender = format_account(ALITH, 0)

    built = finish(
        check_transaction(
            app,
            CheckTransaction(
                sourchain=chain.name,
                destchain=chain.name,
                assetid="native",
                amount=AMOUNT,
                destinationaddress=format_account(to, 0),
                sender=sender,
            ),
        )
    ).answer
    check = built
    assert (check["verdict"], check["reasons"], check["warnings"]) == ("ok", [], [])
    credited = check["arrival"]["credited"]
    assert credited is not None
    assert credited["value"] == str(AMOUNT)
    paid = finish(
        transaction_payload(
            app, TransactionPayload(tx=built["txdata"], chain=chain.name, sender=sender)
        )
    ).answer
    assert (paid["signer_payload"]["address"], paid["vault_payload"]) == (sender, "0x")
    signature = ethereum_signature(ALITH_KEY, bytes.fromhex(paid["bytes_to_sign"][2:]))
    signed = finish(
        assemble_transaction(
            app, AssembleTransaction(payload=paid, signature="0x" + signature.hex())
        )
    ).answer
    assert signed["scheme"] == "ethereum"
    sent = finish(
        broadcast(app, Broadcast(chain=chain.name, tx=signed["tx"], wait="in-block"))
    ).answer
    balance = finish(app.client(chain).storage("System", "Account", to))["data"]["free"]
    finish(app.close())

    assert sent["success"]
    assert balance == AMOUNT
