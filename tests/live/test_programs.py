"""Crafted transactions, checked and then sent: no check that says ok may be wrong."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import parse_account
from scenarioctl.chains.registry import Chain
from scenarioctl.config import load_settings
from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check, Holding
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.events import Event
from scenarioctl.transactions.simulation.findings import amount_of
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.xcm_programs import XCM_PALLETS
from tests.live.conftest import ASSETS, Live
from tests.live.network import Network
from tests.live.programs import ROWS, USD, Actors, Row, give
from tests.live.recorder import clock, fresh, pause
from tests.live.setup import (
    PATIENCE,
    blocks_after,
    create_fee_pool,
    fund_teleports,
    send,
    sign,
)
from tests.live.test_check import ROUTES, USDT_PLACE, accepted_assets
from tests.runner import finish
from tests.signing import dev_key

pytestmark = pytest.mark.live

ALICE, BOB = dev_key("//Alice"), dev_key("//Bob")
#: Events by which a call that succeeds tells that a part of it failed.
PARTS = ("Utility.BatchInterrupted", "Utility.ItemFailed", "Utility.BatchCompletedWithErrors")
#: What each row came to: verdict and what really happened.
OUTCOMES: list[tuple[Row, str, str]] = []


@pytest.fixture(scope="module")
def network(relay: Live, asset_hub: Live, dex: Live, live_config: Path) -> Iterator[Network]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    app = Application(load_settings({"config": str(live_config)}, {}))
    network = Network(app)
    if network.check("liveHub", "liveRelay", "native", 10**12).verdict != "ok":
        fund_teleports(app, network.relay, network.hub, ALICE)
    if USDT_PLACE not in accepted_assets(network):
        create_fee_pool(app, network.hub, 1984, ALICE)
    prepare_accounts(network)
    yield network
    finish(app.close())


def prepare_accounts(network: Network) -> None:
    """Back what returns from the exchange; let Alice act for Bob, and give him and the multisig something."""
    app, hub = network.app, network.hub
    for source, destination, asset, amount in ROUTES[2:4]:
        draft = network.draft(source, destination, asset, 10 * amount)
        send(app, app.registry.find(source), draft.call_data, ALICE)
    send(app, hub, give(BOB.public_key, 50 * 10**12), ALICE)
    send(app, hub, give(multisig_of_one(), 50 * 10**12), ALICE)
    dollars = {"id": 1984, "target": {"Id": BOB.public_key}, "amount": 50 * USD}
    send(app, hub, Call(pallet="Assets", method="transfer", args=dollars), ALICE)
    proxy = {"delegate": {"Id": ALICE.public_key}, "proxy_type": "Any", "delay": 0}
    if not finish(app.client(hub).storage("Proxy", "Proxies", BOB.public_key))[0]:
        send(app, hub, Call(pallet="Proxy", method="add_proxy", args=proxy), BOB)
    approval = {"id": 1984, "delegate": {"Id": ALICE.public_key}, "amount": 20 * USD}
    send(app, hub, Call(pallet="Assets", method="approve_transfer", args=approval), BOB)
    settle(network)


def multisig_of_one(member: bytes = ALICE.public_key) -> bytes:
    members = sorted((member, BOB.public_key))
    seed = b"modlpy/utilisuba" + encode_compact(len(members)) + b"".join(members) + (1).to_bytes(2, "little")
    return blake2b(seed, digest_size=32).digest()


def actors(network: Network) -> Actors:
    def transfer(source: str, destination: str, asset: str, amount: int, to: bytes) -> Call:
        app = network.app
        chain = app.registry.find(source)
        table = finish(app.client(chain).table())
        built = Transfer(
            source=chain,
            destination=app.registry.find(destination),
            asset=app.assets.find(chain, asset),
            amount=amount,
            beneficiary=to,
        )
        return build_transfer(built, table, assets=app.assets).call

    return Actors(
        a=fresh(32),
        b=fresh(32),
        alice=ALICE.public_key,
        bob=BOB.public_key,
        multisig=multisig_of_one(),
        transfer=transfer,
    )


def settle(network: Network) -> None:
    """Wait until no chain makes blocks any more."""
    chains = (network.relay, network.hub, network.dex)

    def heads() -> list[int]:
        return [finish(network.app.client(chain).head())[0] for chain in chains]

    last, since = heads(), clock()
    deadline = since + PATIENCE
    while clock() - since < 1.5 and clock() < deadline:
        pause(0.2)
        now = heads()
        if now != last:
            last, since = now, clock()


class Reality:
    """What the chains do with one signed transaction."""

    def __init__(self, network: Network, chain: Chain) -> None:
        self.network = network
        self.chain = chain
        self.chains = (network.relay, network.hub, network.dex)
        self.heads = {each.name: self._head(each) for each in self.chains}

    def send(self, call: Call) -> str:
        """Sign and send *call*, wait until all is quiet, and return what happened, if something went wrong."""
        app = self.network.app
        data = finish(app.client(self.chain).table()).encode_call(call)
        tx = "0x" + sign(app, self.chain, data, ALICE).hex()
        try:
            finish(app.client(self.chain).submit("author_submitExtrinsic", tx))
        except (ChainRefused, InvalidRequest) as error:
            print(f"\n{error}")
            return "not included"
        if not self._wait():
            return "not included"
        return self._judge(self._events())

    def _wait(self) -> bool:
        deadline = clock() + PATIENCE
        while self._head(self.chain) == self.heads[self.chain.name]:
            if clock() > deadline:
                return False
            pause(0.1)
        # On a busy machine a message takes longer than the quiet that follows it.
        while self._on_their_way() and clock() < deadline:
            pause(0.5)
        settle(self.network)
        return True

    def _on_their_way(self) -> bool:
        """Tell whether messages were sent that no chain has executed yet."""
        events = [event for each in self._events().values() for event in each]
        queued = sum(event.name in ("XcmpMessageSent", "UpwardMessageSent") for event in events)
        sent = sum(event.pallet in XCM_PALLETS and event.name == "Sent" for event in events)
        done = sum(event.pallet == "MessageQueue" and event.name.startswith("Process") for event in events)
        return done < max(queued, sent)

    def _events(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for chain in self.chains:
            before, now = self.heads[chain.name], self._head(chain)
            blocks = blocks_after(self.network.app, chain, before)
            found[chain.name] = [event for _ in range(now - before) for event in next(blocks)]
        return found

    def _judge(self, events: dict[str, list[Event]]) -> str:
        everywhere = [event for each in events.values() for event in each]
        if not any(_pays(event, ALICE.public_key) for event in events[self.chain.name]):
            # Whoever makes a block may drop what the pool took, and make it without.
            return "not included"
        if any(event.name == "AssetsTrapped" for event in everywhere):
            return "trapped"
        if any(_is_failure(event) for event in events[self.chain.name]):
            return "fails"
        if any(
            event.pallet == "MessageQueue"
            and (event.name == "ProcessingFailed" or event.fields.get("success") is False)
            for event in everywhere
        ):
            return "fails abroad"
        return "arrives"

    def _head(self, chain: Chain) -> int:
        number: int = finish(self.network.app.client(chain).head())[0]
        return number


def _pays(event: Event, account: bytes) -> bool:
    return str(event) == "TransactionPayment.TransactionFeePaid" and event.fields["who"] == account


def _is_failure(event: Event) -> bool:
    fields = event.fields if isinstance(event.fields, dict) else {}
    result, outcome = fields.get("result"), fields.get("outcome")
    return (
        str(event) in ("System.ExtrinsicFailed", *PARTS)
        or (event.pallet in ("Proxy", "Multisig") and isinstance(result, dict) and "Err" in result)
        or (event.name == "Attempted" and isinstance(outcome, dict) and "Complete" not in outcome)
    )


def balance(network: Network, holding: Holding) -> int:
    """Return what the account of *holding* has of its asset, as the chain's storage says."""
    app = network.app
    chain = app.registry.find(holding.chain)
    client = app.client(chain)
    account = parse_account(holding.account, field="account")
    native = app.assets.native(chain)
    if holding.amount.asset == amount_of(native, 0).asset:
        return int(finish(client.storage("System", "Account", account))["data"]["free"])
    numbers = [row["id"] for row in ASSETS.get(chain.name, ())]
    found = [app.assets.find(chain, number) for number in numbers]
    asset = next(asset for asset in found if amount_of(asset, 0).asset == holding.amount.asset)
    if asset.kind == "tokens":
        return int(finish(client.storage("Tokens", "Accounts", account, int(asset.id)))["free"])
    entry = finish(client.storage("Assets", "Account", int(asset.id), account))
    return 0 if entry is None else int(entry["balance"])


def receivers(check: Check) -> list[Holding]:
    """Return the credits that nothing but the transaction moves: a block's own fees go to the chain's accounts too."""
    apart = ("the sender", "collators' pot", "treasury")
    return [each for each in check.credits if not each.system and each.role not in apart]


def held(network: Network, check: Check) -> dict[tuple[str, str, str], int]:
    return {
        (each.chain, each.account, each.amount.asset): balance(network, each) for each in receivers(check)
    }


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_a_check_says_is_what_the_chains_do(network: Network, row: Row) -> None:
    chain = network.app.registry.find(row.chain)
    call = row.call(actors(network))
    check = network.check_bytes(chain, call)
    before = held(network, check)

    real = Reality(network, chain).send(call)

    after = held(network, check)
    missing: dict[Any, int] = Counter({key: before[key] - after[key] for key in before})
    for each in receivers(check):
        missing[each.chain, each.account, each.amount.asset] += each.amount.value
    if real == "arrives" and any(missing.values()) and not _waits(check):
        real = "lost"
    OUTCOMES.append((row, check.verdict, real))
    print(f"\n{row.chain[4:]:>5} {row.name}: {check.verdict}, {real}; {'; '.join(check.reasons)}")
    assert (check.verdict, real) == (row.verdict, row.real)
    assert any(row.reason in reason for reason in (check.reasons or ("",)))
    if check.verdict == "ok":
        assert real == "arrives"
        assert not any(missing.values())


def _waits(check: Check) -> bool:
    return any("Multisig.NewMultisig" in stop.events for stop in check.stops)


def test_no_check_says_ok_of_what_goes_wrong(network: Network) -> None:
    counts = Counter((verdict, real) for _, verdict, real in OUTCOMES)
    print("\nverdict  what the chains did  transactions")
    for (verdict, real), count in sorted(counts.items()):
        print(f"{verdict:<8} {real:<20} {count}")

    assert len(ROWS) >= 60
    assert [row.name for row, verdict, real in OUTCOMES if verdict == "ok" and real != "arrives"] == []
