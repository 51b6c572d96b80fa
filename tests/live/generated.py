"""Transactions composed at random of instructions and calls: what is tested is a rule, not a list.

A seed gives the same ones each time.  Nobody says what a right answer is: the outcome does.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scenarioctl.model.calls import Call
from tests.live.cases import ANY, Case, Cast
from tests.live.losses import appendix, burn, burn_here, dollars, token
from tests.live.programs import (
    ALL,
    DEX,
    DEX_DOWN,
    HERE,
    HUB,
    HUB_DOWN,
    KSM,
    UP,
    USD,
    USDT,
    USDT_UP,
    D,
    H,
    R,
    and_then,
    asset,
    batch,
    deposit,
    exactly,
    execute,
    give,
    inner,
    multi,
    on_relay,
    onward,
    pay,
    proxied,
    remark,
    reserve,
    teleport,
    utility,
    withdraw,
)

SEED = 26
COUNT = 100
Make = Callable[[Cast], Any]


class _Composer:
    """Draws instructions and calls; all that it draws is fixed before the accounts are known."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    # Amounts and accounts

    def whole(self, unit: int, most: float = 50) -> int:
        return int(
            unit * round(10 ** self.chance.uniform(-1, 1) * most / 10, self.chance.randint(0, 6))
        )

    def someone(self) -> Callable[[Cast], bytes]:
        name = self.chance.choices(("a", "b", "alice", "mallory"), (8, 3, 2, 2))[0]
        return lambda cast: getattr(cast, name)

    # Programs

    def program(self, place: Any, amount: int, depth: int = 0) -> Make:
        """Draw what is done with a holding of *amount* of what is at *place*; deposited at the end,
        mostly."""
        parts = [self.instruction(place, amount, depth) for _ in range(self.chance.randint(0, 2))]
        last = self.end(place, amount)
        return lambda cast: [*(each for part in parts for each in part(cast)), *last(cast)]

    def end(self, place: Any, amount: int) -> Make:
        first, second = self.someone(), self.someone()
        part = exactly(asset(place, max(amount // self.chance.randint(2, 20), 1)))
        kind = self.chance.choices(("all", "part and rest", "part", "nothing"), (12, 5, 1, 1))[0]
        ends: dict[str, Make] = {
            "all": lambda cast: [deposit(first(cast))],
            "part and rest": lambda cast: [deposit(first(cast), part), deposit(second(cast))],
            "part": lambda cast: [deposit(first(cast), part)],
            "nothing": lambda _: [],
        }
        return ends[kind]

    def instruction(self, place: Any, amount: int, depth: int) -> Make:
        drawn = self.chance.choices(
            (self.burns, self.handles, self.appends, self.expects, self.pays, self.refunds,
                self.exchanges, self.exact),
            (4, 4, 4, 4, 4, 2, 2, 2),
        )[0]  # fmt: skip
        return drawn(place, amount, depth)

    def burns(self, place: Any, amount: int, _: int) -> Make:
        part = amount // self.chance.choice((2, 10, 111, 1000))
        return lambda _: [burn(place, max(part, 1))]

    def handles(self, place: Any, amount: int, depth: int) -> Make:
        inside = self.nested(place, amount, depth)
        fails = self.chance.random() < 0.3
        return lambda cast: [{"SetErrorHandler": inside(cast)}, *([{"Trap": 7}] if fails else [])]

    def appends(self, place: Any, amount: int, depth: int) -> Make:
        inside = self.nested(place, amount, depth)
        return lambda cast: [appendix(*inside(cast))]

    def nested(self, place: Any, amount: int, depth: int) -> Make:
        if depth > 1:
            return self.end(place, amount)
        return self.program(place, amount, depth + 1)

    def expects(self, place: Any, amount: int, _: int) -> Make:
        least = amount * self.chance.choice((50, 90, 99, 101)) // 100
        return lambda _: [{"ExpectAsset": [asset(place, least)]}]

    def pays(self, place: Any, amount: int, _: int) -> Make:
        fee = max(amount // self.chance.choice((3, 20, 50)), 1)
        if self.chance.random() < 0.5:
            return lambda _: [pay(place, fee)]
        return lambda _: [{"PayFees": {"asset": asset(place, fee)}}]

    def refunds(self, place: Any, amount: int, _: int) -> Make:
        return lambda _: ["RefundSurplus"]

    def exchanges(self, place: Any, amount: int, _: int) -> Make:
        wanted = asset(USDT if place == UP else UP, self.chance.choice((1, 1000, 10**9)))
        return lambda _: [{"ExchangeAsset": {"give": ALL, "want": [wanted], "maximal": True}}]

    def exact(self, place: Any, amount: int, _: int) -> Make:
        who, part = self.someone(), max(amount // 7, 1)
        return lambda cast: [deposit(who(cast), exactly(asset(place, part)))]

    def abroad(self, place: Any, amount: int) -> Make:
        fee = pay(place, max(amount // self.chance.choice((3, 10)), 1))
        inside = self.program(place, amount * 9 // 10)
        return lambda cast: [fee, *inside(cast)]

    # Whole transactions

    def executed(self) -> tuple[str, Make]:
        """Draw a program that Alice executes on Asset Hub."""
        place, unit = self.chance.choice(((UP, KSM), (USDT, USD)))
        amount = self.whole(unit)
        inside = self.program(place, amount)
        return H, lambda cast: execute(withdraw(asset(place, amount)), *inside(cast))

    def teleported(self) -> tuple[str, Make]:
        amount = self.whole(KSM)
        inside, rest = self.abroad(UP, amount), self.someone()
        part = exactly(asset(HERE, amount // 2)) if self.chance.random() < 0.3 else ALL
        return R, lambda cast: on_relay(
            withdraw(asset(HERE, amount)), teleport(*inside(cast), assets=part), deposit(rest(cast))
        )

    def reserved(self) -> tuple[str, Make]:
        amount = self.whole(KSM)
        inside, rest = self.abroad(UP, amount), self.someone()
        return H, lambda cast: execute(
            withdraw(asset(UP, amount)), reserve(*inside(cast), dest=DEX), deposit(rest(cast))
        )

    def onwards(self) -> tuple[str, Make]:
        amount = self.whole(KSM) + KSM
        inside, rest = self.program(UP, amount), self.someone()
        return R, lambda cast: on_relay(
            withdraw(asset(HERE, amount)),
            {"PayFees": {"asset": asset(HERE, KSM // 20)}},
            onward(*inside(cast), kind="Teleport", dest=HUB_DOWN, fee=asset(HERE, KSM // 10)),
            "RefundSurplus",
            deposit(rest(cast)),
        )

    def then(self) -> tuple[str, Make]:
        kinds: tuple[tuple[str, str, Any, Any, str, int, Any], ...] = (
            (H, "PolkadotXcm", DEX, UP, "LocalReserve", KSM, UP),
            (H, "PolkadotXcm", DEX, USDT, "LocalReserve", USD, USDT_UP),
            (H, "PolkadotXcm", UP, UP, "Teleport", KSM, HERE),
            (D, "PolkadotXcm", HUB, UP, "DestinationReserve", KSM, UP),
            (D, "PolkadotXcm", HUB, USDT_UP, "DestinationReserve", USD, USDT),
            (R, "XcmPallet", HUB_DOWN, HERE, "Teleport", KSM, UP),
            (R, "XcmPallet", DEX_DOWN, HERE, "LocalReserve", KSM, UP),
        )
        chain, pallet, dest, place, kind, unit, there = self.chance.choices(
            kinds, (3, 3, 2, 3, 3, 3, 1)
        )[0]
        amount = self.whole(unit)
        inside = self.program(there, amount)
        return chain, lambda cast: and_then(pallet, dest, place, amount, kind, *inside(cast))

    # Calls

    def simple(self, chain: str) -> Make:
        to, amount = self.someone(), self.whole(KSM)
        drawn = self.chance.random()
        if drawn < 0.15:
            return lambda _: remark()
        if drawn < 0.3:
            return lambda _: burn_here(max(amount // 50, 1))
        if drawn < 0.5 and chain == H:
            return lambda cast: dollars(to(cast), amount * USD // KSM + 1)
        if drawn < 0.65 and chain == H:
            return lambda cast: Call(
                pallet="Assets",
                method="approve_transfer",
                args={"id": 1984, "delegate": {"Id": to(cast)}, "amount": amount},
            )
        if drawn < 0.6 and chain == D:
            return lambda cast: token(to(cast), amount // 10 + 1, 5)
        return lambda cast: give_on(chain, to(cast), amount)

    def wrapped(self, depth: int = 0, chain: str = "") -> tuple[str, Make]:
        chain = chain or self.chance.choice((H, H, R, D))

        def one() -> Make:
            if depth < 2 and self.chance.random() < 0.35:
                return self.wrapped(depth + 1, chain)[1]
            return self.simple(chain)

        kinds = ["batch", "batch_all", "force_batch"]
        kinds += [] if chain == D else ["proxy", "multi"]
        kind = self.chance.choice((*kinds, "if_else", "as_derivative"))
        if kind in ("batch", "batch_all", "force_batch"):
            calls = [one() for _ in range(self.chance.randint(1, 4))]
            return chain, lambda cast: batch(*(call(cast) for call in calls), method=kind)
        first, second = one(), one()
        kinds_of: dict[str, Make] = {
            "proxy": lambda cast: proxied(cast.bob, first(cast)),
            "multi": lambda cast: multi(cast, first(cast)),
            "if_else": lambda cast: utility(
                "if_else", main=inner(first(cast)), fallback=inner(second(cast))
            ),
            "as_derivative": lambda cast: utility(
                "as_derivative", index=7, call=inner(first(cast))
            ),
        }
        return chain, kinds_of[kind]

    def any(self) -> tuple[str, Make]:
        drawn: Sequence[Callable[[], tuple[str, Make]]] = (
            self.executed,
            self.teleported,
            self.reserved,
            self.onwards,
            self.then,
            self.wrapped,
        )
        return self.chance.choices(drawn, (5, 4, 3, 2, 4, 6))[0]()


def give_on(chain: str, to: bytes, amount: int) -> Call:
    if chain != D:
        return give(to, amount)
    args = {"dest": to, "value": amount}
    return Call(pallet="Balances", method="transfer_keep_alive", args=args)


def compose(count: int = COUNT, seed: int = SEED) -> list[Case]:
    """Return *count* cases, the same for the same seed."""
    cases = []
    for number in range(count):
        chain, make = _Composer(seed * 10_000 + number).any()
        cases.append(
            Case(
                name=f"composed {number}",
                mode="xcm",
                chain=chain,
                call=partial(_made, make),
                verdicts=ANY,
                kind="generated",
            )
        )
    return cases


def _made(make: Make, cast: Cast) -> Call:
    made: Call = make(cast)
    return made
