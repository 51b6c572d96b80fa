"""A relay chain, its Asset Hub and an exchange: transfers between them are drafted, checked and
sent."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from scenarioctl.actions.drafting import draft_transfer
from scenarioctl.application import Application
from scenarioctl.chains.registry import Chain
from scenarioctl.model.calls import Call, UnsignedTransaction
from scenarioctl.model.checks import Check
from scenarioctl.operations.broadcasts import Broadcast, broadcast
from scenarioctl.operations.views import CheckTransaction, find_check
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.request import Transfer
from tests.live.recorder import fresh
from tests.live.setup import blocks_after, credit_of, has_prices, price_fees, sign
from tests.runner import finish
from tests.signing import dev_key

T = TypeVar("T")
ALICE = dev_key("//Alice")


class Network:
    """The three chains, made ready for money to move."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.relay = app.registry.find("liveRelay")
        self.hub = app.registry.find("liveHub")
        self.dex = app.registry.find("liveDex")

    def draft(
        self,
        source: str,
        destination: str,
        asset: str,
        amount: int,
        *,
        to: bytes = b"",
        by: bytes = b"",
        remote_fee_asset: str = "",
    ) -> UnsignedTransaction:
        """Return a checked transfer to *to*, or to an account that holds nothing yet."""
        chain = self.app.registry.find(source)
        pays = self.app.assets.find(chain, remote_fee_asset) if remote_fee_asset else None
        return self.priced(
            lambda: draft_transfer(
                self.app,
                Transfer(
                    source=chain,
                    destination=self.app.registry.find(destination),
                    asset=self.app.assets.find(chain, asset),
                    amount=amount,
                    beneficiary=to or fresh(32),
                    remote_fee_asset=pays,
                ),
                sender=by or ALICE.public_key,
            )
        )

    def check(
        self, source: str, destination: str, asset: str, amount: int, **options: Any
    ) -> Check:
        check = self.draft(source, destination, asset, amount, **options).check
        assert check is not None
        return check

    def check_bytes(self, chain: Chain, call: Call, *, by: bytes = b"") -> Check:
        """Return what `tx check HEX` says of a call made by hand."""
        data = finish(self.app.client(chain).table()).encode_call(call)
        request = CheckTransaction(
            tx="0x" + data.hex(), chain=chain.name, sender="0x" + (by or ALICE.public_key).hex()
        )
        return self.priced(lambda: find_check(self.app, request))[1]

    def build(
        self, source: Chain, destination: Chain, asset: str, amount: int, **options: Any
    ) -> Call:
        """Return the call of a transfer, with what its builder would measure given by hand."""
        transfer = Transfer(
            source=source,
            destination=destination,
            asset=self.app.assets.find(source, asset),
            amount=amount,
            beneficiary=fresh(32),
        )
        table = finish(self.app.client(source).table())
        return build_transfer(transfer, table, assets=self.app.assets, **options).call

    def price(self) -> None:
        price_fees(self.app, self.dex)

    def priced(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what *ask* finds while the exchange has its prices, from first to last."""
        for _ in range(5):
            self.price()
            answer = finish(ask())
            if has_prices(self.app, self.dex):
                return answer
        raise RuntimeError(f"{self.dex.name} did not come to rest")

    def arrived(
        self, transaction: UnsignedTransaction, destination: str, asset: str, to: bytes
    ) -> int:
        """Sign and broadcast *transaction*, and return what is credited to *to* on the last
        chain."""
        source = self.app.registry.find(transaction.chain)
        last = self.app.registry.find(destination)
        held = self.app.assets.counterpart(self.app.assets.find(source, asset), last)
        assert held is not None
        before, _ = finish(self.app.client(last).head())
        tx = "0x" + sign(self.app, source, transaction.call_data, ALICE).hex()
        sent = finish(broadcast(self.app, Broadcast(chain=source.name, tx=tx, wait="in-block")))
        assert sent.answer["success"]
        for events in blocks_after(self.app, last, before):
            credit = credit_of(self.app, last, events, held, to)
            if credit:
                return credit
        return 0
