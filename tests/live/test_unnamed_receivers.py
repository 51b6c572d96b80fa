"""A place on a third chain as the receiver: a runtime makes an account of it that the
transaction doesn't name."""

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import parse_account
from scenarioctl.transactions.simulation.simulate import simulate
from scenarioctl.transactions.simulation.trial import Trial
from tests.live.conftest import Live
from tests.live.playing import endow, new_key, play
from tests.live.programs import HERE, KSM, UP, asset, deposit, on_relay, pay, teleport, withdraw
from tests.live.recorder import fresh
from tests.live.setup import blocks_after, credit_of
from tests.runner import finish

pytestmark = pytest.mark.live


def test_what_an_unnamed_account_gets_is_unknown(
    live_app: Application, relay: Live, asset_hub: Live
) -> None:
    chain, hub = map(live_app.registry.find, (relay.name, asset_hub.name))
    clients, assets = live_app.client, live_app.assets
    person = {"AccountId32": {"network": None, "id": fresh(32)}}
    elsewhere = {"parents": 1, "interior": {"X2": [{"Parachain": 2034}, person]}}
    call = on_relay(withdraw(asset(HERE, KSM)), teleport(pay(UP), deposit(elsewhere)))
    key = new_key()
    endow(live_app, chain, key.public_key, 10 * KSM)
    trial = Trial(clients=clients, assets=assets, chain=chain, sender=key.public_key, call=call)

    check = finish(simulate(trial))
    before, _ = finish(clients(hub).head())
    played = play(live_app, chain, call, key)

    assert check.verdict == "unknown"
    (credit,) = [each for each in check.credits if each.chain == hub.name and not each.system]
    (reason,) = check.reasons
    assert credit.account in reason
    assert str(credit.amount) in reason
    assert played.outcome == "executed"
    account = parse_account(credit.account, field="account")
    credits = (
        credit_of(live_app, hub, events, assets.native(hub), account)
        for events in blocks_after(live_app, hub, before)
    )
    assert next(filter(None, credits)) == credit.amount.value
