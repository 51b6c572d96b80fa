"""Crafted calls of which another branch, or what they have done before, takes more than is seen:
handlers, `if_else`, messages that come back, and proxies that are removed (mode xcm)."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from tests.live.cases import CAREFUL, OK, UNKNOWN, Case, Cast
from tests.live.losses import appendix, burn_here, case, dollars
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
    USDT_UP,
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
W1 = withdraw(asset(UP, KSM))


def of_one(x: Cast, call: Call) -> Call:
    """Return what the sender signs so that the multisig account, of which one signature is enough,
    makes *call*."""
    args = {"other_signatories": [x.bob], "call": inner(call)}
    return Call(pallet="Multisig", method="as_multi_threshold_1", args=args)


#: Who makes a call.
WRAPPED: dict[str, Callable[[Cast, Call], Call]] = {
    "by the sender": lambda _, call: call,
    "by a proxy": lambda x, call: proxied(x.bob, call),
    "by a multisig": of_one,
    "by a multisig, later": multi,
    "in a batch": lambda x, call: batch(give(x.b), call),
}
FIRST = dict([*WRAPPED.items()][:1])


def wrapped(name: str, chain: str, verdicts: Any, make: Make, line: str = "",
            wrappers: Any = FIRST, **more: Any) -> list[Case]:  # fmt: skip
    """Return a case for each of *wrappers*."""
    return [
        case(f"{name} {who}", chain, verdicts, partial(_wrap, wrap, make), line, **more)
        for who, wrap in wrappers.items()
    ]


def _wrap(wrap: Callable[[Cast, Call], Call], make: Make, x: Cast) -> Call:
    return wrap(x, make(x))


#: What a program takes of its account, and how that is told.
TAKES: dict[str, tuple[Callable[[Cast], Any], str]] = {
    "more": (lambda _: withdraw(asset(UP, 100 * KSM)), "100 KSM"),
    "another asset": (lambda _: withdraw(asset(USDT, 5000 * USD)), "5000 USDT"),
    "two assets": (lambda _: withdraw(asset(UP, 3 * KSM), asset(USDT, USD)), "3 KSM and 1 USDT"),
    "a transfer": (
        lambda x: {"TransferAsset": {"assets": [asset(UP, 50 * KSM)],
                                     "beneficiary": account(x.a)}},
        "50 KSM",
    ),
}  # fmt: skip
#: Where it stands, for the same receiver; of the last two, what isn't seen is the other branch.
PLACES: dict[str, Callable[[Cast, Any], Call]] = {
    "in a handler": lambda x, take: execute(
        W1, {"SetErrorHandler": ["ClearError", take, deposit(x.a)]}, deposit(x.a)
    ),
    "in an appendix of a handler": lambda x, take: execute(
        W1, {"SetErrorHandler": ["ClearError", appendix(take, deposit(x.a))]}, deposit(x.a)
    ),
    "in a handler of an appendix": lambda x, take: execute(
        W1,
        appendix({"SetErrorHandler": ["ClearError", take, deposit(x.a)]}, deposit(x.a)),
    ),
    "behind an error": lambda x, take: execute(
        W1, {"SetErrorHandler": ["ClearError", deposit(x.a)]},
        {"ExpectAsset": [asset(UP, 2 * KSM)]}, take, deposit(x.a),
    ),
    "in an appendix that is replaced": lambda x, take: execute(
        W1, {"SetErrorHandler": ["ClearError", deposit(x.a)]}, appendix(take, deposit(x.a)),
        {"ExpectAsset": [asset(UP, KSM)]}, appendix(deposit(x.a)), deposit(x.a),
    ),
}  # fmt: skip


def _taking(place: Callable[[Cast, Any], Call], take: Callable[[Cast], Any], x: Cast) -> Call:
    return place(x, take(x))


PROGRAMS = [
    *(
        case(f"{what} {where}", H, UNKNOWN, partial(_taking, place, take), line)
        for (where, place), (what, (take, line)) in product(PLACES.items(), TAKES.items())
    ),
    *wrapped(
        "more in a handler", H, UNKNOWN,
        lambda x: _taking(PLACES["in a handler"], TAKES["more"][0], x), "100 KSM",
        dict([*WRAPPED.items()][1:]),
    ),
    case("more in a handler on the relay chain", R, UNKNOWN, lambda x: on_relay(
        withdraw(asset(HERE, KSM)),
        {"SetErrorHandler": ["ClearError", withdraw(asset(HERE, 100 * KSM)), deposit(x.a)]},
        deposit(x.a)), "100 KSM"),
    case("more in a handler abroad", R, UNKNOWN, lambda x: on_relay(
        withdraw(asset(HERE, KSM)),
        teleport(pay(UP), {"SetErrorHandler": ["ClearError", withdraw(asset(UP, 9 * KSM)),
                                               deposit(x.a)]}, deposit(x.a))), "9 KSM"),
    case("a stranger behind an error", H, UNKNOWN, lambda x: execute(
        W1, {"SetErrorHandler": ["ClearError", deposit(x.a)]},
        {"ExpectAsset": [asset(UP, 2 * KSM)]}, deposit(x.mallory)), "", True),
    # Ordinary ones.
    case("a handler that gives it back", H, OK, lambda x: execute(
        W1, {"SetErrorHandler": ["ClearError", deposit(x.sender)]}, deposit(x.a))),
    case("a handler for the same receiver, and an appendix", H, OK, lambda x: execute(
        W1, {"SetErrorHandler": ["ClearError", "RefundSurplus", deposit(x.a)]},
        appendix("RefundSurplus", deposit(x.sender)), deposit(x.a))),
]  # fmt: skip


def if_else(main: Call, fallback: Call) -> Call:
    return utility("if_else", main=inner(main), fallback=inner(fallback))


def allowing(to: bytes, amount: int) -> Call:
    args = {"dest": {"Id": to}, "value": amount}
    return Call(pallet="Balances", method="transfer_allow_death", args=args)


def give_all(to: bytes) -> Call:
    args = {"dest": {"Id": to}, "keep_alive": False}
    return Call(pallet="Balances", method="transfer_all", args=args)


def bonded(amount: int) -> Call:
    args = {"value": amount, "payee": "Staked"}
    return Call(pallet="Staking", method="bond", args=args)


def swapped(to: bytes, amount: int, path: Any = (USDT, UP)) -> Call:
    args = {"path": [*path], "amount_in": amount, "amount_out_min": 1, "send_to": to,
            "keep_alive": False}  # fmt: skip
    return Call(pallet="AssetConversion", method="swap_exact_tokens_for_tokens", args=args)


def teleported(to: bytes, amount: int) -> Call:
    return and_then("XcmPallet", HUB_DOWN, HERE, amount, "Teleport", deposit(to))


def executed(to: bytes, amount: int) -> Call:
    return execute(withdraw(asset(UP, amount)), deposit(to))


#: Name, chain, what runs, what may run instead, how that is told.
OTHERS: tuple[tuple[str, str, Make, Make, str], ...] = (
    ("more", H, lambda x: give(x.a), lambda x: give(x.a, 300 * KSM), "300 KSM"),
    ("another asset", H, lambda x: dollars(x.a, 10_000), lambda x: give(x.a, 200 * KSM), "200 KSM"),
    ("dollars", H, lambda x: give(x.a), lambda x: dollars(x.a, 5000 * USD), "5000 USDT"),
    ("all", H, lambda x: give(x.a), lambda x: give_all(x.a), "all KSM"),
    ("a batch", H, lambda x: give(x.a), lambda x: batch(give(x.a), give(x.a, 90 * KSM)), "90 KSM"),
    ("a proxy's", H, lambda x: give(x.a), lambda x: proxied(x.bob, give(x.a)), "1 KSM"),
    ("a burn", H, lambda x: give(x.a), lambda _: burn_here(5 * KSM), "5 KSM"),
    ("a swap", H, lambda x: give(x.a), lambda x: swapped(x.a, 5000 * USD), "5000 USDT"),
    ("a program", H, lambda x: executed(x.a, KSM), lambda x: executed(x.a, 70 * KSM), "70 KSM"),
    ("a teleport", R, lambda x: teleported(x.a, KSM), lambda x: teleported(x.a, 80 * KSM),
     "80 KSM"),
    ("a stake", R, lambda x: give(x.a), lambda _: bonded(20 * KSM), "20 KSM"),
    ("a payment that closes the account", H, lambda x: give(x.a), lambda x: allowing(x.a, KSM),
     "1 KSM"),
    ("a main call that fails now", H, lambda x: give(x.a, 10**9 * KSM), lambda x: give(x.a),
     "1000000000 KSM"),
)  # fmt: skip
#: Of which none takes more.
ALIKE: tuple[tuple[str, str, Make, Make], ...] = (
    ("the same", H, lambda x: give(x.a), lambda x: give(x.a)),
    ("less", R, lambda x: give(x.a, 2 * KSM), lambda x: give(x.a)),
    ("two halves", H, lambda x: give(x.a, 2 * KSM), lambda x: batch(give(x.a), give(x.a))),
    ("fewer dollars", H, lambda x: dollars(x.a, 5 * USD), lambda x: dollars(x.a, 4 * USD)),
    ("a remark", H, lambda x: give(x.a), lambda _: remark()),
)


def _either(main: Make, fallback: Make, x: Cast) -> Call:
    return if_else(main(x), fallback(x))


CHOICES = [
    *(
        case(f"if_else with {name}", chain, UNKNOWN, partial(_either, main, other), line)
        for name, chain, main, other, line in OTHERS
    ),
    *(
        case(f"if_else with {name}", chain, OK, partial(_either, main, other))
        for name, chain, main, other in ALIKE
    ),
    *wrapped(
        "if_else with more", H, UNKNOWN,
        lambda x: if_else(give(x.a), give(x.a, 40 * KSM)), "40 KSM", dict([*WRAPPED.items()][1:]),
    ),
    case("if_else behind a payment that hides it", H, UNKNOWN, lambda x: batch(
        give(x.a, 99 * KSM), if_else(give(x.a), give(x.a, 50 * KSM))), "50 KSM"),
]  # fmt: skip


# Messages that come back


def back(to: bytes, place: Any = USDT, there: Any = USDT_UP, amount: int = 100 * USD) -> Call:
    """Return a transfer to Hydration that comes back at once, and pays there with itself."""
    home = {"InitiateReserveWithdraw": {
        "assets": ALL, "reserve": HUB, "xcm": [pay(place, amount // 2), deposit(to)]}}  # fmt: skip
    return and_then("PolkadotXcm", DEX, place, amount, "LocalReserve", home)


def liquidity(x: Cast) -> Call:
    args = {"asset1": UP, "asset2": USDT, "amount1_desired": KSM, "amount2_desired": 20 * USD,
            "amount1_min": 1, "amount2_min": 1, "mint_to": x.sender}  # fmt: skip
    return Call(pallet="AssetConversion", method="add_liquidity", args=args)


def exchanging(*program: Any) -> Call:
    return execute(
        withdraw(asset(USDT, 20 * USD)), {"PayFees": {"asset": asset(USDT, 5 * USD)}},
        "RefundSurplus", *program,
    )  # fmt: skip


RETURNING = [
    case("there and back", H, OK, lambda x: back(x.a)),
    case("there and back in KSM", H, OK, lambda x: back(x.a, UP, UP, KSM)),
    case("a payment, there and back", H, OK, lambda x: batch(give(x.b), back(x.a))),
    *(
        case(f"{name}, there and back", H, UNKNOWN, call, "pool")
        for name, call in (
            ("a sale", lambda x: batch(swapped(x.sender, 9000 * USD), back(x.a))),
            ("a purchase", lambda x: batch(swapped(x.sender, 5 * KSM, (UP, USDT)), back(x.a))),
            ("a sale for another", lambda x: batch(swapped(x.b, 900 * USD), back(x.a))),
            ("a proxy's sale",
             lambda x: batch(proxied(x.bob, swapped(x.bob, 20 * USD)), back(x.a))),
            ("liquidity", lambda x: batch(liquidity(x), back(x.a))),
            ("a fee that a pool exchanges", lambda x: batch(exchanging(deposit(x.b)), back(x.a))),
        )
    ),
    case("there and back, and a sale", H, UNKNOWN, lambda x: batch(
        back(x.a), swapped(x.sender, 9000 * USD)), "pool"),
    case("a sale, there and back in KSM", H, OK | UNKNOWN, lambda x: batch(
        swapped(x.sender, 100 * USD), back(x.a, UP, UP, KSM))),
    case("all but what comes back", H, CAREFUL, lambda x: batch(
        back(x.sender, UP, UP, KSM // 10), give_all(x.b)), endowed=2 * KSM),
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
KILLED = {"proxy_type": "Any", "index": 0, "height": 1, "ext_index": 1}


def through(number: int) -> Callable[[Call], Make]:
    """Return what makes a call as `a`, signed by the sender: directly, as Bob or as a multisig."""
    ways: tuple[Callable[[Cast, Call], Call], ...] = (
        lambda x, call: proxied(x.a, call),
        lambda x, call: proxied(x.bob, proxied(x.a, call)),
        lambda x, call: of_one(x, proxied(x.a, call)),
    )
    return lambda call: lambda x: ways[number](x, call)


LOST = "only its proxies"
PROXIES = [
    *(
        case(f"all proxies removed {how}", H, UNKNOWN, call, LOST,
             prepare=has_proxies(*["Any"] * 3))
        for how, call in (
            ("through itself", through(0)(NONE_LEFT)),
            ("through a proxy of a proxy", through(1)(NONE_LEFT)),
            ("through a multisig", through(2)(NONE_LEFT)),
            ("behind a payment", lambda x: batch(give(x.b), proxied(x.a, NONE_LEFT))),
            ("in its own batch", lambda x: proxied(x.a, batch(give(x.b), NONE_LEFT))),
            ("one by one", lambda x: proxied(
                x.a, batch(*(removed(each) for each in (x.bob, x.multisig, x.sender))))),
            ("in a multisig that waits", lambda x: multi(x, proxied(x.bob, NONE_LEFT))),
            ("in a fallback", lambda x: proxied(x.a, if_else(give(x.b), NONE_LEFT))),
        )
    ),
    case("the last proxy removed", H, UNKNOWN, lambda x: proxied(x.a, removed(x.sender)), LOST,
         prepare=has_proxies("Any")),
    case("the last proxy for all removed", H, UNKNOWN, lambda x: proxied(x.a, removed(x.sender)),
         LOST, prepare=has_proxies("Any", "Governance")),
    case("a pure account given up", H, CAREFUL, lambda x: proxied(x.a, Call(
        pallet="Proxy", method="kill_pure", args={**KILLED, "spawner": {"Id": x.sender}})),
        prepare=has_proxies("Any")),
    # Others remain.
    case("one proxy of two removed", H, OK, lambda x: proxied(x.a, removed(x.bob)),
         prepare=has_proxies("Any", "Any")),
    case("a proxy for governance removed", H, OK,
         lambda x: proxied(x.a, removed(x.bob, "Governance")),
         prepare=has_proxies("Any", "Governance")),
    case("the signer's own proxies removed", H, OK, lambda _: batch(NONE_LEFT),
         endowed=20 * KSM),
    case("a multisig's own proxies removed", H, OK, lambda x: of_one(x, NONE_LEFT)),
]  # fmt: skip
BRANCHING = [*PROGRAMS, *CHOICES, *RETURNING, *PROXIES]
