"""Makes a rig ready for cases: pools, reserves and accounts; asks the program to check."""

from hashlib import blake2b

from substrateinterface import Keypair

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.chains.registry import Chain
from scenarioctl.model.calls import Call
from scenarioctl.model.checks import Check
from scenarioctl.operations.views import CheckTransaction, find_check
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.transactions.swap.route_quote import fetch_quote
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.cases import ACTOR, Case, Cast
from tests.live.market import POOLED, open_market
from tests.live.playing import endow, new_key
from tests.live.programs import DEX, HERE, HUB_DOWN, KSM, UP, USD, USDT, and_then, deposit, give
from tests.live.recorder import fresh
from tests.live.setup import create_fee_pool, fund_teleports
from tests.live.test_system_chains import ROUTES as TELEPORTS
from tests.live.world import World
from tests.runner import finish
from tests.signing import dev_key

ALICE, BOB = dev_key("//Alice"), dev_key("//Bob")
#: Of the actor on each chain; a rig's dollars are Alice's.
_RICH = 10**18


def multisig_of_one(member: bytes) -> bytes:
    """Return the multisig account of *member* and Bob, for which one signature is enough."""
    members = sorted((member, BOB.public_key))
    seed = (
        b"modlpy/utilisuba"
        + encode_compact(len(members))
        + b"".join(members)
        + (1).to_bytes(2, "little")
    )
    return blake2b(seed, digest_size=32).digest()


class Stage:
    """The actors of a world, and what they ask of the program."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app = world.app

    def prepare(self, mode: str) -> None:
        """Give the chains of *mode* what a rig lacks."""
        for chain in self.world.chains:
            # What gas costs follows prices that mean nothing on a rig.
            endow(self.app, chain, ACTOR.public_key, _RICH * 10**6 if mode == "omnipool" else _RICH)
        if mode == "omnipool":
            with open_market(self.app, "liveOmnipool") as market:
                market.count_issued()
            for number, decimals in {**POOLED, 10: 6}.items():
                if number:
                    held = {"free": 10 ** (decimals + 7), "reserved": 0, "frozen": 0}
                    self.world.put(
                        "liveOmnipool", "Tokens", "Accounts", ACTOR.public_key, number, value=held
                    )
            return
        fund_teleports(self.app, self.world.chain("liveRelay"), self.world.chain("liveHub"), ALICE)
        if mode == "system":
            for source, destination, amount in TELEPORTS:
                call = self.build(source, destination, "native", 20 * amount, ALICE.public_key)
                self.world.submit(self.world.chain(source), call, ALICE)
            return
        self._prepare_exchange()

    def _prepare_exchange(self) -> None:
        relay, hub = self.world.chain("liveRelay"), self.world.chain("liveHub")
        create_fee_pool(self.app, hub, 1984, ALICE)
        down = and_then(
            "XcmPallet", HUB_DOWN, HERE, 2000 * KSM, "Teleport", deposit(ALICE.public_key)
        )
        self._done(relay, down, ALICE)
        for place, amount in ((UP, 400 * KSM), (USDT, 100_000 * USD)):
            backing = and_then(
                "PolkadotXcm", DEX, place, amount, "LocalReserve", deposit(ACTOR.public_key)
            )
            self._done(hub, backing, ALICE)
        for who, amount in ((ACTOR, 100_000 * USD), (BOB, 50 * USD)):
            dollars = {"id": 1984, "target": {"Id": who.public_key}, "amount": amount}
            self._done(hub, Call(pallet="Assets", method="transfer", args=dollars), ALICE)
        for account in (BOB.public_key, multisig_of_one(ACTOR.public_key)):
            self._done(hub, give(account, 500 * KSM), ALICE)
        proxy = {"delegate": {"Id": ACTOR.public_key}, "proxy_type": "Any", "delay": 0}
        for chain in (relay, hub):
            self._done(chain, Call(pallet="Proxy", method="add_proxy", args=proxy), BOB)
        approval = {"id": 1984, "delegate": {"Id": ACTOR.public_key}, "amount": 20 * USD}
        self._done(hub, Call(pallet="Assets", method="approve_transfer", args=approval), BOB)

    def _done(self, chain: Chain, call: Call, key: Keypair) -> None:
        outcome = self.world.submit(chain, call, key)
        if outcome.real != "arrives":
            raise RuntimeError(
                f"{chain.name}: {call.pallet}.{call.method}: {outcome.real}, {outcome.why}"
            )

    def cast(self, case: Case) -> tuple[Cast, Keypair]:
        """Return new accounts for *case*, and the key that signs."""
        key = ACTOR
        if case.endowed:
            key = new_key()
            self.world.touch()
            endow(self.app, self.world.chain(case.chain), key.public_key, case.endowed)
            if case.chain == "liveDex":
                endow(self.app, self.world.chain("liveHub"), key.public_key, case.endowed)
        cast = Cast(
            a=fresh(32),
            b=fresh(32),
            mallory=fresh(32),
            alice=ACTOR.public_key,
            bob=BOB.public_key,
            multisig=multisig_of_one(ACTOR.public_key),
            sender=key.public_key,
            transfer=self.build,
            encode=lambda chain, call: self.world.table(self.world.chain(chain)).encode_call(call),
            quote=self.quote,
        )
        return cast, key

    def build(self, source: str, destination: str, asset: str, amount: int, to: bytes) -> Call:
        chain = self.world.chain(source)
        return build_transfer(
            self.requested(source, destination, asset, amount, to),
            self.world.table(chain),
            assets=self.app.assets,
        ).call

    def requested(
        self, source: str, destination: str, asset: str, amount: int, to: bytes
    ) -> Transfer:
        chain = self.world.chain(source)
        return Transfer(
            source=chain,
            destination=self.world.chain(destination),
            asset=self.app.assets.find(chain, asset),
            amount=amount,
            beneficiary=to,
        )

    def quote(self, sold: int, bought: int, amount: int) -> int:
        chain = self.world.chain("liveOmnipool")
        quote = fetch_quote(
            self.app.client(chain),
            asset_in=self.app.assets.find(chain, str(sold)),
            asset_out=self.app.assets.find(chain, str(bought)),
            amount=amount,
        )
        return finish(quote).amount_out

    def check(self, chain: str, tx: str, sender: bytes) -> Check:
        """Return what `tx check HEX` says."""
        self.world.price()
        request = CheckTransaction(tx=tx, chain=chain, sender="0x" + sender.hex())
        return finish(find_check(self.app, request))[1]

    def check_transfer(
        self, source: str, destination: str, asset: str, amount: int, *, to: bytes, sender: bytes
    ) -> tuple[Call, Check]:
        """Return the call of a transfer that the program builds, and what its check says."""
        self.world.price()
        transfer = self.requested(source, destination, asset, amount, to)
        draft = finish(draft_transfer(self.app, transfer, sender=sender))
        assert draft.check is not None
        return self.world.table(transfer.source).decode_call(draft.call_data), draft.check
