"""What people do every day: transfers over every route, local ones, swaps, batches and remarks,
with random amounts."""

import random
from collections.abc import Callable, Iterator

from scenarioctl.model.calls import Call
from tests.live.cases import OK, Case, Cast
from tests.live.generated import give_on
from tests.live.losses import dollars, token
from tests.live.programs import KSM, USD, D, H, R, batch, inner, proxied, remark, utility
from tests.live.rights import DOT, POOLS, P, buy, hydra_give, routed, sell
from tests.live.test_system_chains import ROUTES as TELEPORTS

SEED = 150
#: source, destination, asset, its unit.
ROUTES = (
    (R, H, "native", KSM),
    (H, R, "native", KSM),
    (H, D, "native", KSM),
    (H, D, "1984", 10 * USD),
    (D, H, "5", KSM),
    (D, H, "10", USD),
    (D, R, "5", KSM),
    (R, D, "native", KSM),
)


class _Day:
    """Draws amounts, and numbers the cases."""

    def __init__(self) -> None:
        self.chance = random.Random(SEED)

    def amount(self, unit: int) -> int:
        """Return one to ten units: less than one HDX can't arrive."""
        return int(unit * 10 ** self.chance.uniform(0, 1))

    def case(
        self,
        name: str,
        chain: str,
        call: Callable[[Cast], Call],
        mode: str = "xcm",
        transfer: tuple[str, str, str, int] | None = None,
    ) -> Case:
        return Case(
            name=name,
            mode=mode,
            chain=chain,
            call=call,
            verdicts=OK,
            kind="ordinary",
            transfer=transfer,
        )

    def sent(
        self, source: str, destination: str, asset: str, amount: int, mode: str = "xcm"
    ) -> Case:
        return self.case(
            f"{amount} of {asset} from {source} to {destination}",
            source,
            lambda cast: cast.transfer(source, destination, asset, amount, cast.a),
            mode,
            (source, destination, asset, amount),
        )

    def routes(self) -> Iterator[Case]:
        for _ in range(7):
            for source, destination, asset, unit in ROUTES:
                yield self.sent(source, destination, asset, self.amount(unit))
        for source, destination, amount in TELEPORTS:
            yield self.sent(
                source, destination, "native", amount + self.chance.randint(0, 10**9), "system"
            )

    def local(self) -> Iterator[Case]:
        for number in range(5):
            native, many = self.amount(KSM), self.amount(10 * USD)
            for chain in (R, H, D):
                yield self.sent(chain, chain, "native", native)
            yield self.sent(H, H, "1984", many)
            yield self.sent(D, D, "10", many // 20)
            yield self.sent(D, D, "5", native // 20)
            if number % 2:
                yield self.sent(P, P, "native", native, "system")
            yield self.sent(POOLS, POOLS, "5", self.amount(DOT), "omnipool")

    def batches(self) -> Iterator[Case]:
        for number in range(4):
            one, two, many = self.amount(KSM), self.amount(KSM), self.amount(USD)
            yield self.case("a payroll", H, _payroll(H, one, two))
            yield self.case("a payroll on the relay chain", R, _payroll(R, one, two))
            yield self.case("two assets", H, _two_assets(one, many))
            yield self.case("two assets on Hydration", D, _two_tokens(one, many))
            yield self.case("by a proxy", H, _by_proxy(one))
            yield self.case("a transfer and a remark", H, _with_remark(two))
            if number < 2:
                yield self.case("a teleport and a transfer", R, _there_and_here(one, two))
                yield self.case("twice the same receiver", H, _twice(one))

    def remarks(self) -> Iterator[Case]:
        for chain in (R, H, D):
            yield self.case("a remark", chain, lambda _: remark())
        yield self.case("a remark", POOLS, lambda _: remark(), "omnipool")

    def swaps(self) -> Iterator[Case]:
        for _ in range(5):
            amount = self.amount(DOT)
            yield self.case("a sale", POOLS, _sold(amount), "omnipool")
            yield self.case("a routed sale", POOLS, _routed(amount), "omnipool")
            yield self.case("a purchase", POOLS, _bought(amount), "omnipool")
            yield self.case("a transfer of two tokens", POOLS, _two_of_pool(amount), "omnipool")


def _payroll(chain: str, one: int, two: int) -> Callable[[Cast], Call]:
    return lambda x: batch(
        give_on(chain, x.a, one), give_on(chain, x.b, two), give_on(chain, x.bob, one)
    )


def _two_assets(one: int, many: int) -> Callable[[Cast], Call]:
    return lambda x: batch(give_on(H, x.a, one), dollars(x.a, many + 100_000), dollars(x.bob, many))


def _two_tokens(one: int, many: int) -> Callable[[Cast], Call]:
    return lambda x: batch(give_on(D, x.a, one), token(x.a, many), token(x.b, one // 10, 5))


def _by_proxy(one: int) -> Callable[[Cast], Call]:
    return lambda x: proxied(x.bob, give_on(H, x.a, one // 10))


def _with_remark(two: int) -> Callable[[Cast], Call]:
    return lambda x: batch(remark(), give_on(H, x.a, two), remark(), method="force_batch")


def _there_and_here(one: int, two: int) -> Callable[[Cast], Call]:
    return lambda x: batch(x.transfer(R, H, "native", one, x.a), give_on(R, x.b, two))


def _twice(one: int) -> Callable[[Cast], Call]:
    return lambda x: utility(
        "batch", calls=[inner(give_on(H, x.a, one)), inner(give_on(H, x.a, one // 2))]
    )


def _sold(amount: int) -> Callable[[Cast], Call]:
    return lambda x: sell(x.quote(5, 0, amount) * 99 // 100, amount)


def _routed(amount: int) -> Callable[[Cast], Call]:
    return lambda x: routed(x.quote(5, 0, amount) * 99 // 100, amount)


def _bought(amount: int) -> Callable[[Cast], Call]:
    return lambda x: buy(amount, x.quote(5, 0, amount) * 97 // 100)


def _two_of_pool(amount: int) -> Callable[[Cast], Call]:
    return lambda x: batch(hydra_give(x.a, amount), hydra_give(x.b, 20 * 10**6, 10))


def ordinary() -> list[Case]:
    """Return the same cases each time."""
    day = _Day()
    return [*day.routes(), *day.local(), *day.batches(), *day.remarks(), *day.swaps()]
