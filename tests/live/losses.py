"""Crafted transactions by which money is destroyed, locked, or gets to somebody who isn't meant
(mode xcm)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from tests.live.cases import ACTOR, ANY, CAREFUL, OK, REFUSED, UNKNOWN, Case, Cast, Verdicts
from tests.live.programs import (
    ALL,
    DEX,
    DEX_DOWN,
    HERE,
    HUB,
    KSM,
    UP,
    USD,
    USDT,
    USDT_UP,
    D,
    H,
    R,
    account,
    and_then,
    asset,
    batch,
    deposit,
    exactly,
    execute,
    give,
    inner,
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

if TYPE_CHECKING:
    from tests.live.world import World

TENTH = KSM * 9 // 10
#: Nobody holds the keys of these.
ZERO = bytes(32)
TREASURY = b"modlpy/trsry".ljust(32, b"\0")
SOVEREIGN = b"sibl" + (2034).to_bytes(4, "little") + bytes(24)
CHECKING = b"modlpy/xcmch".ljust(32, b"\0")


def case(
    name: str,
    chain: str,
    verdicts: Verdicts,
    call: Callable[[Cast], Call],
    line: str = "",
    mallory: bool = False,
    **more: Any,
) -> Case:
    names = (lambda cast: cast.mallory) if mallory else None
    return Case(
        name=name,
        mode="xcm",
        chain=chain,
        call=call,
        verdicts=verdicts,
        line=line,
        names=names,
        **more,
    )


def burn(place: Any, amount: int) -> dict[str, Any]:
    return {"BurnAsset": [asset(place, amount)]}


def dollars(to: bytes, amount: int, method: str = "transfer") -> Call:
    return Call(
        pallet="Assets", method=method, args={"id": 1984, "target": {"Id": to}, "amount": amount}
    )


def token(to: bytes, amount: int, currency: int = 10) -> Call:
    return Call(
        pallet="Tokens",
        method="transfer",
        args={"dest": to, "currency_id": currency, "amount": amount},
    )


def burn_here(amount: int) -> Call:
    return Call(pallet="Balances", method="burn", args={"value": amount, "keep_alive": True})


def handler(to: bytes) -> dict[str, Any]:
    return {"SetErrorHandler": [deposit(to)]}


def appendix(*program: Any) -> dict[str, Any]:
    return {"SetAppendix": list(program)}


W100, W100_HERE = withdraw(asset(UP, 100 * KSM)), withdraw(asset(HERE, 100 * KSM))
BURNED = "destroys 0.9 KSM"
#: Hydration calls it DOT on a rig.
BURNED_DOT = "destroys 0.9 DOT"

BURNS = (
    case("burns a part of what it withdraws", H, ANY, lambda x: execute(W100, burn(UP, TENTH),
        deposit(x.a)), BURNED),
    case("teleports, and burns a part there", R, ANY, lambda x: on_relay(W100_HERE,
        teleport(pay(UP), burn(UP, TENTH), deposit(x.a))), BURNED),
    case("burns a part in the appendix", H, ANY, lambda x: execute(W100, appendix(burn(UP, TENTH),
        deposit(x.a))), BURNED),
    case("burns a part in an error handler that runs", H, ANY, lambda x: execute(W100,
        {"SetErrorHandler": ["ClearError", burn(UP, TENTH), deposit(x.a)]}, {"Trap": 1}), BURNED),
    case("burns another asset beside it", H, ANY, lambda x: execute(withdraw(asset(USDT,
        100 * USD), asset(UP, KSM)), burn(USDT, USD * 9 // 10), deposit(x.a)),
        "destroys 0.9 USDT"),
    case("sends on, and burns a part two hops away", R, ANY, lambda x: on_relay(W100_HERE,
        teleport(pay(UP), reserve(pay(UP), burn(UP, TENTH), deposit(x.a)))), BURNED_DOT),
    case("a reserve transfer that burns a part there", H, ANY, lambda x: and_then("PolkadotXcm",
        DEX, UP, 100 * KSM, "LocalReserve", burn(UP, TENTH), deposit(x.a)), BURNED_DOT),
    case("a transfer, and a burn in one batch", H, ANY, lambda x: batch(give(x.a, 100 * KSM),
        burn_here(TENTH)), BURNED),
    case("a burn alone", H, ANY, lambda _: burn_here(TENTH), BURNED),
    case("a burn on the relay chain", R, ANY, lambda _: burn_here(TENTH), BURNED),
    case("a burn by a proxy", H, ANY, lambda x: proxied(x.bob, burn_here(TENTH)), BURNED),
    case("an issuer that burns what others hold", H, ANY, lambda x: Call(pallet="Assets",
        method="burn", args={"id": 77000001, "who": {"Id": x.sender}, "amount": 900}),
        "900 of the smallest unit", prepare=lambda world, cast: create_asset(world, cast.alice)),
)  # fmt: skip


def create_asset(world: "World", owner: bytes) -> None:
    """Let Alice be the issuer and owner of an asset, of which she holds 1000."""
    if world.read(H, "Assets", "Asset", 77_000_001) is not None:
        return
    who = {"Id": owner}
    made = (
        ("create", {"id": 77_000_001, "admin": who, "min_balance": 1}),
        ("mint", {"id": 77_000_001, "beneficiary": who, "amount": 1000}),
    )
    for method, args in made:
        world.submit(world.chain(H), Call(pallet="Assets", method=method, args=args), ACTOR)


def limit_deposits(world: "World", cast: Cast) -> None:
    change_registry(world, {"xcm_rate_limit": 50 * USD})


def limit_and_reach(world: "World", cast: Cast) -> None:
    limit_deposits(world, cast)
    call = and_then("PolkadotXcm", DEX, USDT, 100 * USD, "LocalReserve", deposit(cast.b))
    world.submit(world.chain(H), call, ACTOR)


def lift_limit(world: "World", cast: Cast) -> None:
    change_registry(world, {"xcm_rate_limit": None})
    world.clear(D, "CircuitBreaker", "AssetLockdownState", 10)


def change_registry(world: "World", fields: dict[str, Any]) -> None:
    entry = world.read(D, "AssetRegistry", "Assets", 10)
    world.put(D, "AssetRegistry", "Assets", 10, value={**entry, **fields})


def to_dex(amount: int, to: bytes) -> Call:
    return and_then("PolkadotXcm", DEX, USDT, amount, "LocalReserve", deposit(to))


#: Refused unless accepted.
LOCKS = (
    case("more than Hydration's deposit limit", H, REFUSED, lambda x: to_dex(100 * USD, x.a),
        prepare=limit_deposits, restore=lift_limit),
    case("while the asset is locked there", H, REFUSED, lambda x: to_dex(10 * USD, x.a),
        prepare=limit_and_reach, restore=lift_limit),
    case("two that reach the limit only together", H, CAREFUL, lambda x: batch(to_dex(40 * USD,
        x.a), to_dex(40 * USD, x.b)), prepare=limit_deposits, restore=lift_limit),
    case("the program's own transfer over the limit", H, REFUSED, lambda x: x.transfer(H, D,
        "1984", 100 * USD, x.a), prepare=limit_deposits, restore=lift_limit),
    case("below the limit", H, OK, lambda x: to_dex(20 * USD, x.a), prepare=limit_deposits,
        restore=lift_limit),
    case("a bond", R, ANY, lambda _: bond("Staked"), "20 KSM", endowed=50 * KSM),
    case("a transfer that vests", R, ANY, lambda x: Call(pallet="Vesting",
        method="vested_transfer", args={"target": {"Id": x.a}, "schedule": {"locked": 10 * KSM,
        "per_block": KSM, "starting_block": 10 ** 6}}), "10 KSM"),
)  # fmt: skip


def bond(payee: Any) -> Call:
    return Call(pallet="Staking", method="bond", args={"value": 20 * KSM, "payee": payee})


def give_dollars(amount: int) -> Callable[["World", Cast], None]:
    return lambda world, cast: _ready(world, H, dollars(cast.sender, amount))


def give_tokens(amount: int) -> Callable[["World", Cast], None]:
    return lambda world, cast: _ready(world, D, token(cast.sender, amount))


def _ready(world: "World", chain: str, call: Call) -> None:
    world.submit(world.chain(chain), call, ACTOR)


DUST = (
    case("all but dust, on Asset Hub", H, ANY, lambda x: dollars(x.a, 999930001), "1000 USDT",
        prepare=give_dollars(1000 * USD), endowed=20 * KSM),
    case("all but dust, from Asset Hub to Hydration", H, ANY, lambda x: to_dex(999930001, x.a),
        "0.069999 USDT", prepare=give_dollars(1000 * USD), endowed=20 * KSM),
    case("all but dust, in a batch", H, ANY, lambda x: batch(dollars(x.a, 500 * USD), dollars(x.b,
        499930001)), "1000 USDT", prepare=give_dollars(1000 * USD), endowed=20 * KSM),
    case("all but dust, on Hydration", D, ANY, lambda x: token(x.a, 9990001), "0.009999 USDT",
        prepare=give_tokens(10 * USD), endowed=20 * KSM),
    case("all but dust, from Hydration to Asset Hub", D, ANY, lambda x: and_then("PolkadotXcm",
        HUB, USDT_UP, 9990001, "DestinationReserve", deposit(x.a)), "0.009999 USDT",
        prepare=give_tokens(10 * USD), endowed=20 * KSM),
    case("all but the deposit that keeps an account", H, ANY, lambda x: Call(pallet="Balances",
        method="transfer_allow_death", args={"dest": {"Id": x.a}, "value": 19997000000000}),
        endowed=20 * KSM),
)  # fmt: skip


def exchanged(*program: Any, amount: int = 100 * USD) -> Call:
    return execute(
        withdraw(asset(USDT, amount)), {"PayFees": {"asset": asset(USDT, USD)}}, *program
    )


#: What a program pays for itself in an asset, the Asset Hub exchanges in a pool.
EXCHANGED = (
    case("a fee that a pool exchanges", H, OK, lambda x: exchanged("RefundSurplus",
        deposit(x.a))),
    case("a fee that a pool exchanges, the rest to another", H, UNKNOWN, lambda x:
        exchanged(deposit(x.a), appendix("RefundSurplus", deposit(x.b)))),
    case("a fee that is bought in a pool", H, OK, lambda x: execute(withdraw(asset(USDT,
        100 * USD)), pay(USDT, USD), deposit(x.a))),
    case("dollars that go home", D, OK, lambda x: and_then("PolkadotXcm", HUB, USDT_UP, 100 * USD,
        "DestinationReserve", deposit(x.a))),
    case("two exchanges in one pool", H, CAREFUL, lambda x: batch(*(execute(withdraw(asset(UP,
        5 * KSM)), {"ExchangeAsset": {"give": ALL, "want": [asset(USDT, 1)], "maximal": True}},
        deposit(who)) for who in (x.a, x.b)))),
    case("an exchange and a fee in the same pool", D, CAREFUL, lambda x:
        batch(and_then("PolkadotXcm", HUB, USDT_UP, 40 * USD, "DestinationReserve", deposit(x.a)),
        and_then("PolkadotXcm", HUB, USDT_UP, 50 * USD, "DestinationReserve", deposit(x.b)))),
)  # fmt: skip


def move_price(world: "World", cast: Cast) -> None:
    """Sell so many dollars that a fee in them is another from now on."""
    path = [USDT, UP]
    args = {
        "path": path,
        "amount_in": 8000 * USD,
        "amount_out_min": 1,
        "send_to": cast.alice,
        "keep_alive": False,
    }
    call = Call(pallet="AssetConversion", method="swap_exact_tokens_for_tokens", args=args)
    world.submit(world.chain(H), call, ACTOR)


def expecting(x: Cast, amount: int) -> Call:
    return and_then(
        *("PolkadotXcm", HUB, USDT_UP, 100 * USD, "DestinationReserve"),
        handler(x.mallory),
        appendix("RefundSurplus", deposit(x.b)),
        {"ExpectAsset": [asset(USDT, amount)]},
        deposit(x.a),
    )


#: Whoever a branch could pay is a stranger unless the verdict says otherwise.
BRANCHES = (
    case("a price that moves, and a handler that pays a stranger", D, UNKNOWN, lambda x:
        expecting(x, 99200000), "", True, meanwhile=move_price),
    case("a handler that pays a stranger, if a price moved", D, UNKNOWN, lambda x: expecting(x,
        90000000), "", True),
    case("a handler that isn't run pays a stranger", H, UNKNOWN, lambda x:
        execute(withdraw(asset(UP, KSM)), handler(x.mallory), deposit(x.a)), "", True),
    case("a handler there pays a stranger", R, CAREFUL, lambda x: on_relay(withdraw(asset(HERE,
        KSM)), teleport(pay(UP, KSM // 5), handler(x.mallory), deposit(x.a))), "", True),
    case("an appendix pays what is left to a stranger", H, UNKNOWN | OK, lambda x:
        execute(withdraw(asset(UP, KSM)), appendix(deposit(x.mallory)), deposit(x.a)), "", True),
    case("an appendix in a handler pays a stranger", H, UNKNOWN, lambda x:
        execute(withdraw(asset(UP, KSM)), {"SetErrorHandler": [appendix(deposit(x.mallory))]},
        deposit(x.a)), "", True),
    case("a handler that sends to a stranger abroad", H, CAREFUL, lambda x:
        execute(withdraw(asset(UP, KSM)), {"SetErrorHandler": [reserve(pay(UP),
        deposit(x.mallory))]}, deposit(x.a)), "", True),
    case("a program of another origin", H, CAREFUL, lambda x: execute(withdraw(asset(UP, KSM)),
        deposit(x.a), {"ExecuteWithOrigin": {"descendant_origin": None, "xcm":
        [deposit(x.mallory)]}})),
    case("the same, with an origin that is nobody's", H, CAREFUL | OK, lambda x:
        execute(withdraw(asset(UP, KSM)), {"ExecuteWithOrigin": {"descendant_origin": {"X1":
        [{"GeneralIndex": 7}]}, "xcm": [handler(x.mallory)]}}, deposit(x.a)), "", True),
    case("a stranger may claim what could be trapped", H, UNKNOWN | OK, lambda x:
        execute({"SetHints": {"hints": [{"AssetClaimer": {"location": account(x.mallory)}}]}},
        withdraw(asset(UP, KSM)), deposit(x.a)), "", True),
    case("a stranger may claim it there", R, UNKNOWN | OK, lambda x: on_relay(withdraw(asset(HERE,
        KSM)), teleport({"SetHints": {"hints": [{"AssetClaimer": {"location":
        account(x.mallory)}}]}}, pay(UP), deposit(x.a))), "", True),
    case("a fallback that pays a stranger", H, UNKNOWN, lambda x: utility("if_else",
        main=inner(give(x.a)), fallback=inner(give(x.mallory))), "", True),
    case("a fallback in a batch that pays a stranger", H, UNKNOWN, lambda x: batch(give(x.b),
        utility("if_else", main=inner(give(x.a)), fallback=inner(give(x.mallory)))), "", True),
    case("a scheduled transfer", R, CAREFUL, lambda x: Call(pallet="Scheduler", method="schedule",
        args={"when": 10 ** 6, "maybe_periodic": None, "priority": 0, "call":
        inner(give(x.mallory))})),
    case("an announcement", H, CAREFUL, lambda x: Call(pallet="Proxy", method="announce",
        args={"real": {"Id": x.bob}, "call_hash": b"\5" * 32})),
    case("a preimage", R, ANY, lambda _: Call(pallet="Preimage", method="note_preimage",
        args={"bytes": b"\1" * 200}), "KSM"),
)  # fmt: skip


def _keyless(name: str, who: bytes) -> tuple[Case, ...]:
    return (
        case(f"{name} as receiver", *(H, REFUSED, lambda _: give(who))),
        case(
            f"{name} as receiver in a batch", *(H, REFUSED, lambda x: batch(give(x.a), give(who)))
        ),
        case(
            f"{name} as receiver abroad",
            *(
                R,
                REFUSED,
                lambda _: on_relay(withdraw(asset(HERE, KSM)), teleport(pay(UP), deposit(who))),
            ),
        ),
    )


KEYLESS = (
    *_keyless("the zero account", ZERO),
    *_keyless("the treasury", TREASURY),
    *_keyless("a sovereign account", SOVEREIGN),
    *_keyless("the checking account", CHECKING),
)

TOGETHER = (
    case("two that go home together", D, OK | UNKNOWN, lambda x: batch(and_then("PolkadotXcm",
        HUB, UP, KSM, "DestinationReserve", deposit(x.a)), and_then("PolkadotXcm", HUB, UP,
        2 * KSM, "DestinationReserve", deposit(x.b)))),
    case("two halves, each below what keeps an account", R, CAREFUL | OK, lambda x:
        batch(on_relay(withdraw(asset(HERE, KSM)), teleport(pay(UP), deposit(x.a,
        exactly(asset(UP, KSM // 600))), deposit(x.b))), give(x.b))),
    case("a wrong reserve behind remarks", R, REFUSED, lambda x: batch(*[remark()] * 9,
        and_then("XcmPallet", DEX_DOWN, HERE, KSM, "LocalReserve", deposit(x.a)))),
    case("a transfer behind nine remarks", H, OK, lambda x: batch(*[remark()] * 9, give(x.a,
        150 * KSM))),
    case("a transfer of V5 whose fees are too much", R, ANY, lambda x: on_relay(W100_HERE,
        {"PayFees": {"asset": asset(HERE, KSM)}}, onward("RefundSurplus", deposit(x.a),
        kind="Teleport", dest={"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}},
        fee=asset(HERE, 50 * KSM)), "RefundSurplus", deposit(x.b))),
    case("fees that nobody gets back", H, CAREFUL, lambda x: execute(W100, {"PayFees": {"asset":
        asset(UP, 50 * KSM)}}, deposit(x.a))),
)  # fmt: skip
LOSSES = (*BURNS, *LOCKS, *DUST, *EXCHANGED, *BRANCHES, *KEYLESS, *TOGETHER)
