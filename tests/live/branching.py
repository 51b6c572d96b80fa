"""Crafted calls of which another branch, or what they have done before, takes more than is seen:
handlers, `if_else`, messages that come back, and proxies that are removed (mode xcm)."""

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

from scenarioctl.model.acting import multisig
from scenarioctl.model.calls import Call
from tests.live.cases import CAREFUL, OK, UNKNOWN, Case, Cast
from tests.live.losses import appendix, bond, burn_here, case, dollars
from tests.live.playing import endow
from tests.live.programs import (
    ALL,
    DEX,
    HERE,
    HUB,
    HUB_DOWN,
    KSM,
    UP,
    USD,
    USDT,
    H,
    R,
    account,
    and_then,
    asset,
    batch,
    deposit,
    execute,
    give,
    inner,
    multi,
    on_relay,
    pay,
    proxied,
    remark,
    teleport,
    utility,
    withdraw,
)

if TYPE_CHECKING:
    from tests.live.world import World

Make = Callable[[Cast], Call]
W1, K_HERE = withdraw(asset(UP, KSM)), withdraw(asset(HERE, KSM))


def of_one(x: Cast, call: Call) -> Call:
    """Return what the sender signs so that the multisig account, of which one signature is enough,
    makes *call*."""
    args = {"other_signatories": [x.bob], "call": inner(call)}
    return Call(pallet="Multisig", method="as_multi_threshold_1", args=args)


#: Who makes a call.
WRAPPED: dict[str, Callable[[Cast, Call], Call]] = {
    "by a proxy": lambda x, call: proxied(x.bob, call),
    "by a multisig": of_one,
    "by a multisig, later": multi,
    "in a batch": lambda x, call: batch(give(x.b), call),
}


def wrapped(name: str, make: Make, line: str) -> list[Case]:
    def wrap(by: Callable[[Cast, Call], Call]) -> Make:
        return lambda x: by(x, make(x))

    return [
        case(f"{name} {who}", H, UNKNOWN, wrap(by), line, prepare=fund_multisig)
        for who, by in WRAPPED.items()
    ]


def fund_multisig(world: "World", x: Cast) -> None:
    who = multisig((x.sender, x.a, x.b), 2).account
    endow(world.app, world.chain(H), who, 500 * KSM)
    world.touch()


#: What a program takes of its account, and how that is told.
TAKES: dict[str, tuple[Callable[[Cast], Any], str]] = {
    "more": (lambda _: withdraw(asset(UP, 100 * KSM)), "100 KSM"),
    "another asset": (lambda _: withdraw(asset(USDT, 5000 * USD)), "5000 USDT"),
    "two assets": (lambda _: withdraw(asset(UP, 3 * KSM), asset(USDT, USD)), "3 KSM and 1 USDT"),
    "a transfer": (lambda x: {"TransferAsset": {
        "assets": [asset(UP, 50 * KSM)], "beneficiary": account(x.a)}}, "50 KSM"),
}  # fmt: skip


def handled(*program: Any) -> dict[str, Any]:
    return {"SetErrorHandler": ["ClearError", *program]}


def expect(amount: int) -> dict[str, Any]:
    return {"ExpectAsset": [asset(UP, amount)]}


#: Where it stands, for the same receiver; of the last two, what isn't seen is the other branch.
PLACES: dict[str, Callable[[Any, Any], Call]] = {
    "in a handler": lambda take, to: execute(W1, handled(take, to), to),
    "in an appendix of a handler": lambda take, to: execute(W1, handled(appendix(take, to)), to),
    "in a handler of an appendix": lambda take, to: execute(W1, appendix(handled(take, to), to)),
    "behind an error": lambda take, to: execute(W1, handled(to), expect(2 * KSM), take, to),
    "in an appendix that is replaced": lambda take, to: execute(
        W1, handled(to), appendix(take), appendix(), to),
}  # fmt: skip


def taking(where: str, what: str) -> Make:
    return lambda x: PLACES[where](TAKES[what][0](x), deposit(x.a))


PROGRAMS = [
    *(
        case(f"{what} {where}", H, UNKNOWN, taking(where, what), TAKES[what][1])
        for where, what in product(PLACES, TAKES)
    ),
    *wrapped("more in a handler", taking("in a handler", "more"), "100 KSM"),
    case("more in a handler on the relay chain", R, UNKNOWN, lambda x: on_relay(
        K_HERE, handled(withdraw(asset(HERE, 100 * KSM)), deposit(x.a)), deposit(x.a)), "100 KSM"),
    case("more in a handler abroad", R, CAREFUL, lambda x: on_relay(K_HERE, teleport(
        pay(UP, KSM // 5), handled(withdraw(asset(UP, 9 * KSM)), deposit(x.a)),
        deposit(x.a))), "9 KSM"),
    case("a stranger behind an error", H, UNKNOWN, lambda x: execute(
        W1, handled(deposit(x.a)), expect(2 * KSM), deposit(x.mallory)), "", True),
    # Ordinary ones.
    case("a handler that gives it back", H, OK, lambda x: execute(
        W1, handled(deposit(x.sender)), deposit(x.a))),
    case("a handler for the same receiver, and an appendix", H, OK, lambda x: execute(
        W1, handled(deposit(x.a)), appendix("RefundSurplus"), deposit(x.a))),
]  # fmt: skip


def if_else(main: Call, fallback: Call) -> Call:
    return utility("if_else", main=inner(main), fallback=inner(fallback))


def money(method: str, to: bytes, **more: Any) -> Call:
    return Call(pallet="Balances", method=method, args={"dest": {"Id": to}, **more})


def swapped(to: bytes, amount: int, *, buys_ksm: bool = True) -> Call:
    """Return a sale in the pool, of which a KSM costs about 20 USDT, for at least 55 % of that."""
    path, price = ([USDT, UP], KSM // (20 * USD)) if buys_ksm else ([UP, USDT], 20 * USD / KSM)
    args = {"path": path, "amount_in": amount, "amount_out_min": int(amount * price * 55) // 100,
            "send_to": to, "keep_alive": False}  # fmt: skip
    return Call(pallet="AssetConversion", method="swap_exact_tokens_for_tokens", args=args)


def teleported(to: bytes, amount: int) -> Call:
    return and_then("XcmPallet", HUB_DOWN, HERE, amount, "Teleport", deposit(to))


def executed(to: bytes, amount: int) -> Call:
    return execute(withdraw(asset(UP, amount)), deposit(to))


#: Name, chain, what may run instead of a payment of 1 KSM, and how that is told.
OTHERS: tuple[tuple[str, str, Make, str], ...] = (
    ("more", H, lambda x: give(x.a, 300 * KSM), "300 KSM"),
    ("dollars", H, lambda x: dollars(x.a, 5000 * USD), "5000 USDT"),
    ("all", H, lambda x: money("transfer_all", x.a, keep_alive=False), "all KSM"),
    ("a batch", H, lambda x: batch(give(x.a), give(x.a, 90 * KSM)), "90 KSM"),
    ("a proxy's", H, lambda x: proxied(x.bob, give(x.a)), "1 KSM"),
    ("a burn", H, lambda _: burn_here(5 * KSM), "5 KSM"),
    ("a swap", H, lambda x: swapped(x.a, 5000 * USD), "5000 USDT"),
    ("a program", H, lambda x: executed(x.a, 70 * KSM), "70 KSM"),
    ("a teleport", R, lambda x: teleported(x.a, 80 * KSM), "80 KSM"),
    ("a stake", R, lambda _: bond("Staked"), "20 KSM"),
    ("a closed account", H, lambda x: money("transfer_allow_death", x.a, value=KSM), "1 KSM"),
)
#: Name, chain, what runs, what may run instead, and takes no more.
ALIKE: tuple[tuple[str, str, Make, Make], ...] = (
    ("the same", H, lambda x: give(x.a), lambda x: give(x.a)),
    ("less", R, lambda x: give(x.a, 2 * KSM), lambda x: give(x.a)),
    ("two halves", H, lambda x: give(x.a, 2 * KSM), lambda x: batch(give(x.a), give(x.a))),
    ("fewer dollars", H, lambda x: dollars(x.a, 5 * USD), lambda x: dollars(x.a, 4 * USD)),
    ("a remark", H, lambda x: give(x.a), lambda _: remark()),
)


def either(main: Make, fallback: Make) -> Make:
    return lambda x: if_else(main(x), fallback(x))


CHOICES = [
    *(
        case(f"if_else with {name}", chain, UNKNOWN, either(lambda x: give(x.a), other), line)
        for name, chain, other, line in OTHERS
    ),
    *(
        case(f"if_else with {name}", chain, OK, either(main, other))
        for name, chain, main, other in ALIKE
    ),
    *wrapped("if_else with more", lambda x: if_else(give(x.a), give(x.a, 40 * KSM)), "40 KSM"),
    case("if_else of dollars with KSM", H, UNKNOWN, lambda x: if_else(
        dollars(x.a, 100_000), give(x.a, 200 * KSM)), "200 KSM"),
    case("if_else whose main call fails now", H, UNKNOWN, lambda x: if_else(
        give(x.a, 10**9 * KSM), give(x.a)), "1000000000 KSM"),
    case("if_else behind a payment that hides it", H, UNKNOWN, lambda x: batch(
        give(x.a, 99 * KSM), if_else(give(x.a), give(x.a, 50 * KSM))), "50 KSM"),
]  # fmt: skip


# Messages that come back


def back(to: bytes, place: Any = USDT, amount: int = 100 * USD) -> Call:
    """Return a transfer to Hydration that comes back at once, and pays there with itself."""
    home = {"InitiateReserveWithdraw": {
        "assets": ALL, "reserve": HUB, "xcm": [pay(place, amount // 2), deposit(to)]}}  # fmt: skip
    return and_then("PolkadotXcm", DEX, place, amount, "LocalReserve", home)


def liquidity(x: Cast) -> Call:
    args = {"asset1": UP, "asset2": USDT, "amount1_desired": KSM, "amount2_desired": 20 * USD,
            "amount1_min": 1, "amount2_min": 1, "mint_to": x.sender}  # fmt: skip
    return Call(pallet="AssetConversion", method="add_liquidity", args=args)


#: What draws on the pool before, or after.
DRAWS: dict[str, Make] = {
    "a sale": lambda x: swapped(x.sender, 100 * USD),
    "a purchase": lambda x: swapped(x.sender, 5 * KSM, buys_ksm=False),
    "a sale for another": lambda x: swapped(x.b, 90 * USD),
    "a proxy's sale": lambda x: proxied(x.bob, swapped(x.bob, 20 * USD)),
    "liquidity": liquidity,
    "a fee that a pool exchanges": lambda x: execute(
        withdraw(asset(USDT, 20 * USD)), {"PayFees": {"asset": asset(USDT, 5 * USD)}},
        "RefundSurplus", deposit(x.b)),
}  # fmt: skip


def before(draw: Make) -> Make:
    return lambda x: batch(draw(x), back(x.a))


RETURNING = [
    case("there and back", H, OK, lambda x: back(x.a)),
    case("there and back in KSM", H, OK, lambda x: back(x.a, UP, KSM)),
    case("a payment, there and back", H, OK, lambda x: batch(give(x.b), back(x.a))),
    *(
        case(f"{name}, there and back", H, UNKNOWN, before(draw), "pool")
        for name, draw in DRAWS.items()
    ),
    case("there and back, and a sale", H, UNKNOWN, lambda x: batch(
        back(x.a), swapped(x.sender, 90 * USD)), "pool"),
    case("a purchase, there and back in KSM", H, OK, lambda x: batch(
        swapped(x.sender, KSM, buys_ksm=False), back(x.a, UP, KSM))),
    case("all but what comes back", H, CAREFUL, lambda x: batch(
        back(x.sender, UP, KSM // 10), money("transfer_all", x.b, keep_alive=False)),
        endowed=2 * KSM),
]  # fmt: skip


# Proxies that are removed


def has_proxies(*kinds: str) -> Callable[["World", Cast], None]:
    """Let only proxies control `a`, who holds something: the sender, Bob and a multisig."""

    def write(world: "World", x: Cast) -> None:
        people = (x.sender, x.bob, x.multisig)
        held = sorted(zip(people, kinds, strict=False))
        rows = [{"delegate": who, "proxy_type": kind, "delay": 0} for who, kind in held]
        endow(world.app, world.chain(H), x.a, 20 * KSM, reserved=KSM, consumers=1)
        world.put(H, "Proxy", "Proxies", x.a, value=(rows, KSM))

    return write


def removed(delegate: bytes, kind: str = "Any") -> Call:
    args = {"delegate": {"Id": delegate}, "proxy_type": kind, "delay": 0}
    return Call(pallet="Proxy", method="remove_proxy", args=args)


NONE_LEFT = Call(pallet="Proxy", method="remove_proxies", args={})
LOST = "only its proxies"
ANYTHING = has_proxies("Any", "Any", "Any")
#: By whom all proxies of `a` are removed, who is one of them.
REMOVERS: dict[str, Make] = {
    "through itself": lambda x: proxied(x.a, NONE_LEFT),
    "through a proxy of a proxy": lambda x: proxied(x.bob, proxied(x.a, NONE_LEFT)),
    "through a multisig": lambda x: of_one(x, proxied(x.a, NONE_LEFT)),
    "behind a payment": lambda x: batch(give(x.b), proxied(x.a, NONE_LEFT)),
    "in its own batch": lambda x: proxied(x.a, batch(give(x.b), NONE_LEFT)),
    "one by one": lambda x: proxied(x.a, batch(*map(removed, (x.bob, x.multisig, x.sender)))),
    "in a fallback": lambda x: proxied(x.a, if_else(give(x.b), NONE_LEFT)),
}
PROXIES = [
    *(
        case(f"all proxies removed {how}", H, UNKNOWN, call, LOST, prepare=ANYTHING)
        for how, call in REMOVERS.items()
    ),
    case("the last proxy removed", H, UNKNOWN, lambda x: proxied(x.a, removed(x.sender)), LOST,
         prepare=has_proxies("Any")),
    case("the last proxy for all removed", H, UNKNOWN, lambda x: proxied(x.a, removed(x.sender)),
         LOST, prepare=has_proxies("Any", "Governance")),
    case("a pure account given up", H, CAREFUL, lambda x: proxied(x.a, Call(
        pallet="Proxy", method="kill_pure", args={
            "spawner": {"Id": x.sender}, "proxy_type": "Any", "index": 0, "height": 1,
            "ext_index": 1})), prepare=has_proxies("Any")),
    # Others remain.
    case("one proxy of two removed", H, OK, lambda x: proxied(x.a, removed(x.bob)),
         prepare=has_proxies("Any", "Any")),
    case("a proxy for governance removed", H, OK,
         lambda x: proxied(x.a, removed(x.bob, "Governance")),
         prepare=has_proxies("Any", "Governance")),
    case("the signer's own proxies removed", H, OK, lambda _: NONE_LEFT, endowed=20 * KSM),
    case("a multisig's own proxies removed", H, OK, lambda x: of_one(x, NONE_LEFT)),
]  # fmt: skip
BRANCHING = [*PROGRAMS, *CHOICES, *RETURNING, *PROXIES]
