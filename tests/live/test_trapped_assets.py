"""Assets that are really trapped, and claimed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.operations.asset_traps import ClaimAssets, claim_assets
from scenarioctl.operations.views import CheckTransaction, check_transaction
from scenarioctl.transactions.submission.arrivals import find_traps
from tests.live.conftest import Live
from tests.live.playing import play
from tests.live.programs import HERE, UP, USDT, asset, pay, reserve, withdraw
from tests.live.recorder import pause
from tests.live.senders import UNIT, Sender
from tests.runner import finish

pytestmark = pytest.mark.live


DOLLARS = 7 * 10**6


@pytest.fixture(scope="module")
def app(relay: Live, asset_hub: Live, live_config: Path) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    yield app
    finish(app.close())


def head(sender: Sender) -> int:
    return int(finish(sender.app.client(sender.chain).head())[0])


def trap(sender: Sender, *assets: Any, onward: Any = None) -> int:
    """Withdraw *assets* in a program that gives them to nobody, or goes *onward* with them; return
    the block."""
    pallet = "XcmPallet" if sender.chain.role == "relay" else "PolkadotXcm"
    weight = {"ref_time": 10**11 if onward else 10**10, "proof_size": 10**6}
    args = {
        "message": {"V5": [withdraw(*assets), *([onward] if onward else [])]},
        "max_weight": weight,
    }
    call = Call(pallet=pallet, method="execute", args=args)
    played = play(sender.app, sender.chain, call, sender.key)
    assert played.outcome == "executed", played.reason
    return head(sender)


def count_of(sender: Sender, block: int) -> int:
    """Return how often what was trapped in *block* is in the trap now."""
    (trap,) = finish(find_traps(sender.app.client(sender.chain), block))
    return trap.count


def build(sender: Sender, block: int, *, check: bool = True, **fields: Any) -> Any:
    """Return the claim, with its check if that is wanted."""
    account = "0x" + sender.account.hex()
    request = ClaimAssets(chain=sender.chain.name, trapped_in=block, sender=account, **fields)
    answer: dict[str, Any] = {**finish(claim_assets(sender.app, request)).answer}
    if check:
        asked = CheckTransaction(chain=sender.chain.name, tx=answer["tx"], sender=account)
        answer["check"] = finish(check_transaction(sender.app, asked)).answer
    return answer


def claimed(sender: Sender, answer: Any) -> Call:
    return sender.table.decode_call(bytes.fromhex(answer["call_data"][2:]))


def free(sender: Sender, account: bytes) -> int:
    row = finish(sender.app.client(sender.chain).storage("System", "Account", account))
    return int(row["data"]["free"])


@pytest.mark.parametrize("chain", ["liveRelay", "liveHub"])
def test_what_an_account_trapped_is_claimed_by_it_to_the_last_unit(
    app: Application, chain: str
) -> None:
    sender = Sender(app, chain).holds(10 * UNIT)
    block = trap(sender, asset(HERE if chain == "liveRelay" else UP, UNIT))
    receiver = Sender(app, chain)

    count = count_of(sender, block)
    answer = build(sender, block, beneficiary="0x" + receiver.account.hex())
    played = play(app, sender.chain, claimed(sender, answer), sender.key)

    assert count == 1
    assert (played.outcome, played.reason) == ("executed", "")
    credits = [
        int(each["value"])
        for each in answer["check"]["credits"]
        if each["account"]
        == sender.chain.account_format.format(receiver.account, sender.chain.ss58_prefix)
    ]
    assert credits == [free(sender, receiver.account)] == [UNIT]
    print(f"\n{chain}: claimed {UNIT}, said {credits}")
    assert count_of(sender, block) == 0


def test_two_assets_are_claimed_together(app: Application) -> None:
    sender = Sender(app, "liveHub").holds(10 * UNIT).is_given(2 * DOLLARS)
    block = trap(sender, asset(USDT, DOLLARS), asset(UP, UNIT))

    answer = build(sender, block)
    played = play(app, sender.chain, claimed(sender, answer), sender.key)

    row = finish(app.client(sender.chain).storage("Assets", "Account", 1984, sender.account))
    assert (played.outcome, row["balance"]) == ("executed", 2 * DOLLARS)
    assert count_of(sender, block) == 0


def test_the_same_assets_trapped_twice_are_claimed_twice(app: Application) -> None:
    sender = Sender(app, "liveHub").holds(20 * UNIT)
    blocks = [trap(sender, asset(UP, UNIT)), trap(sender, asset(UP, UNIT))]
    counts = []

    for block in blocks:
        counts.append(count_of(sender, block))
        call = claimed(sender, build(sender, block, check=False))
        played = play(app, sender.chain, call, sender.key)
        assert played.outcome == "executed"
        told = {str(event): event.fields for event in played.events}
        assert told["PolkadotXcm.AssetsClaimed"]["assets"] == {"V5": [asset(UP, UNIT)]}
        assert told["Balances.Minted"] == {"who": sender.account, "amount": UNIT}

    assert [*counts, count_of(sender, blocks[0])] == [2, 1, 0]


def test_what_a_message_of_a_chain_trapped_is_that_chains_to_claim(
    app: Application, dex: Live
) -> None:
    sender = Sender(app, "liveHub").holds(10 * UNIT)
    client = app.client(app.registry.find(dex.name))
    searched = int(finish(client.head())[0])
    trap(sender, asset(UP, UNIT), onward=reserve(pay(UP)))
    found: list[Any] = []
    for _ in range(20):
        head = int(finish(client.head())[0])
        while searched < head and not found:
            searched += 1
            found = finish(find_traps(client, searched))
        if found:
            break
        pause(1)

    with pytest.raises(InvalidRequest) as refused:
        finish(
            claim_assets(
                app,
                ClaimAssets(
                    chain=dex.name, trapped_in=searched, sender="0x" + sender.account.hex()
                ),
            )
        )

    assert [each.count for each in found] == [1]
    assert "Only the chain liveHub itself can claim it" in str(refused.value)
