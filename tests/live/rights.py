"""Crafted calls that let somebody do something from now on, calls of other interpreters, and swaps
at any price."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from tests.live.cases import ACTOR, ANY, CAREFUL, OK, REFUSED, UNKNOWN, Case, Cast, Verdicts
from tests.live.losses import TREASURY
from tests.live.programs import KSM, USD, D, H, R, batch, give, inner, proxied, utility

if TYPE_CHECKING:
    from tests.live.world import World

P, POOLS = "livePeople", "liveOmnipool"
U128 = 2**128 - 1
DOT = 10**10
HDX = 10**12
#: The precompile that dispatches calls; a token's ERC-20 is 1 and the asset's number in its last 17
#: bytes.
DISPATCH = bytes(18) + b"\x04\x01"


def case(
    name: str,
    chain: str,
    verdicts: Verdicts,
    call: Callable[[Cast], Call],
    mallory: bool = True,
    mode: str = "xcm",
    **more: Any,
) -> Case:
    names = (lambda cast: cast.mallory) if mallory else None
    return Case(
        name=name, mode=mode, chain=chain, call=call, verdicts=verdicts, names=names, **more
    )


def proxy_of(who: Any, kind: str = "Any") -> Call:
    return Call(
        pallet="Proxy", method="add_proxy", args={"delegate": who, "proxy_type": kind, "delay": 0}
    )


def any_proxy(x: Cast) -> Call:
    return proxy_of({"Id": x.mallory})


def recovery(x: Cast) -> Call:
    args = {"friends": sorted((x.mallory, x.bob)), "threshold": 1, "delay_period": 10}
    return Call(pallet="Recovery", method="create_recovery", args=args)


def approve(x: Cast, amount: int) -> Call:
    args = {"id": 1984, "delegate": {"Id": x.mallory}, "amount": amount}
    return Call(pallet="Assets", method="approve_transfer", args=args)


def bond(x: Cast, payee: Any) -> Call:
    return Call(pallet="Staking", method="bond", args={"value": 20 * KSM, "payee": payee})


def of_asset(method: str, x: Cast) -> Call:
    who = {"Id": x.mallory}
    args: dict[str, dict[str, Any]] = {
        "transfer_ownership": {"id": 77_000_002, "owner": who},
        "set_team": {"id": 77_000_002, "issuer": who, "admin": who, "freezer": who},
    }
    return Call(pallet="Assets", method=method, args=args[method])


def own_asset(world: "World", cast: Cast) -> None:
    if world.read(H, "Assets", "Asset", 77_000_002) is None:
        args = {"id": 77_000_002, "admin": {"Id": cast.alice}, "min_balance": 1}
        world.submit(world.chain(H), Call(pallet="Assets", method="create", args=args), ACTOR)


def own_item(world: "World", cast: Cast) -> None:
    if world.read(H, "Uniques", "Class", 71) is None:
        who = {"Id": cast.alice}
        for method, args in (
            ("create", {"collection": 71, "admin": who}),
            ("mint", {"collection": 71, "item": 1, "owner": who}),
        ):
            world.submit(world.chain(H), Call(pallet="Uniques", method=method, args=args), ACTOR)


def of_item(method: str, x: Cast) -> Call:
    who = {"Id": x.mallory}
    args: dict[str, dict[str, Any]] = {
        "approve_transfer": {"collection": 71, "item": 1, "delegate": who},
        "transfer": {"collection": 71, "item": 1, "dest": who},
        "set_team": {"collection": 71, "issuer": who, "admin": who, "freezer": who},
    }
    return Call(pallet="Uniques", method=method, args=args[method])


RIGHTS = (
    case("a proxy for everything", *(H, UNKNOWN, any_proxy)),
    case("a proxy behind a transfer", *(H, UNKNOWN, lambda x: batch(give(x.a), any_proxy(x)))),
    case("a proxy before a transfer, on the relay chain", *(R, UNKNOWN, lambda x: batch(any_proxy(
        x), give(x.a)))),
    case("a proxy on Hydration", *(D, UNKNOWN, lambda x: proxy_of(x.mallory))),
    case("a proxy for governance", *(R, UNKNOWN, lambda x: proxy_of({"Id": x.mallory},
        "Governance"))),
    case("a proxy that a proxy adds", *(H, UNKNOWN, lambda x: proxied(x.bob, any_proxy(x)))),
    case("a proxy in a fallback that isn't run", *(H, UNKNOWN, lambda x: utility(
        "if_else", main=inner(give(x.a)), fallback=inner(any_proxy(x))))),
    case("a recovery", *(R, UNKNOWN, recovery)),
    case("a recovery behind a transfer", *(H, CAREFUL, lambda x: batch(give(x.a), recovery(x)))),
    case("a bond with another payee", *(R, UNKNOWN, lambda x: bond(x, {"Account": x.mallory})),
        endowed=50 * KSM),
    case("a bond whose payee is the account", *(R, ANY, lambda x: bond(x, "Staked"), False),
        line="20 KSM", endowed=50 * KSM),
    case("an approval of 1 000 000 dollars", *(H, UNKNOWN, lambda x: approve(x, 10**6 * USD))),
    case("an approval behind a transfer", *(H, UNKNOWN, lambda x: batch(give(x.a), approve(x,
        5 * USD)))),
    case("an asset's new owner", *(H, CAREFUL, lambda x: of_asset("transfer_ownership", x)),
        prepare=own_asset),
    case("an asset's new team", *(H, UNKNOWN, lambda x: of_asset("set_team", x)),
        prepare=own_asset),
    case("an approval for an item", *(H, UNKNOWN, lambda x: of_item("approve_transfer", x)),
        prepare=own_item),
    case("a collection's new team", *(H, UNKNOWN, lambda x: of_item("set_team", x)),
        prepare=own_item),
    case("an item given away", *(H, UNKNOWN, lambda x: of_item("transfer", x)), prepare=own_item),
    case("session keys", *(R, CAREFUL, lambda x: session_keys(), False)),
    case("a vote delegated", *(R, UNKNOWN, lambda x: Call(
        pallet="ConvictionVoting", method="delegate",
        args={"class": 0, "to": {"Id": x.mallory}, "conviction": "Locked6x",
            "balance": 50 * KSM}))),
    case("a code that nobody may set", *(H, REFUSED, lambda _: Call(
        pallet="System", method="set_code", args={"code": b"\0asm"}), False)),
    case("an upgrade that nobody may authorize", *(R, REFUSED, lambda _: Call(
        pallet="System", method="authorize_upgrade", args={"code_hash": b"\3" * 32}), False)),
    case("an approval of a contract's", *(D, ANY, lambda x: Call(
        pallet="Uniques", method="create", args={"collection": 10**9, "admin": x.mallory}))),
    case("identity's sub-accounts", *(D, CAREFUL, lambda x: subs(x))),
    case("a multisig that waits, whose call gives a right", *(H, CAREFUL, lambda x: Call(
        pallet="Multisig", method="as_multi",
        args={"threshold": 2, "other_signatories": sorted((x.bob, x.a)), "maybe_timepoint": None,
              "call": inner(any_proxy(x)), "max_weight": {"ref_time": 10**11,
                  "proof_size": 10**6}}), False)),
)  # fmt: skip


def session_keys() -> Call:
    names = ("grandpa", "babe", "para_validator", "para_assignment", "authority_discovery")
    keys: dict[str, bytes] = {**dict.fromkeys(names, b"\x04" * 32), "beefy": b"\2" + b"\4" * 32}
    return Call(pallet="Session", method="set_keys", args={"keys": keys, "proof": b""})


def subs(x: Cast) -> Call:
    return Call(
        pallet="Identity", method="add_sub", args={"sub": x.mallory, "data": {"Raw3": b"sub"}}
    )


# Mode omnipool: Hydration with its pools.


def sell(least: int, amount: int = DOT, method: str = "sell") -> Call:
    args = {"asset_in": 5, "asset_out": 0, "amount": amount, "min_buy_amount": least}
    return Call(pallet="Omnipool", method=method, args=args)


def routed(least: int, amount: int = DOT) -> Call:
    args = {
        "asset_in": 5,
        "asset_out": 0,
        "amount_in": amount,
        "min_amount_out": least,
        "route": [],
    }
    return Call(pallet="Router", method="sell", args=args)


def buy(most: int, amount: int = 10 * HDX) -> Call:
    args = {"asset_out": 0, "asset_in": 5, "amount": amount, "max_sell_amount": most}
    return Call(pallet="Omnipool", method="buy", args=args)


def routed_buy(most: int, amount: int = 10 * HDX) -> Call:
    args = {"asset_in": 5, "asset_out": 0, "amount_out": amount, "max_amount_in": most, "route": []}
    return Call(pallet="Router", method="buy", args=args)


def dca(owner: bytes, least: int) -> Call:
    order = {
        "Sell": {
            "asset_in": 5,
            "asset_out": 0,
            "amount_in": 5000 * DOT,
            "min_amount_out": least,
            "route": [],
        }
    }
    schedule = {
        "owner": owner, "period": 50, "total_amount": 0, "max_retries": None,
        "stability_threshold": None, "slippage": 10_000, "order": order,
    }  # fmt: skip
    args = {"schedule": schedule, "start_execution_block": None}
    return Call(pallet="DCA", method="schedule", args=args)


def hydra_give(to: bytes, amount: int, currency: int = 5) -> Call:
    return Call(
        pallet="Tokens",
        method="transfer",
        args={"dest": to, "currency_id": currency, "amount": amount},
    )


def evm(world_account: bytes, target: bytes, data: bytes) -> Call:
    args = {
        "source": world_account[:20], "target": target, "input": data, "value": 0,
            "gas_limit": 2_000_000,
        "max_fee_per_gas": 10**10, "max_priority_fee_per_gas": None, "nonce": None, "access_list": [
            ],
        "authorization_list": [],
    }  # fmt: skip
    return Call(pallet="EVM", method="call", args=args)


def erc20(number: int) -> bytes:
    return bytes(15) + b"\x01" + number.to_bytes(4, "big")


def erc20_transfer(to: bytes, amount: int) -> bytes:
    return bytes.fromhex("a9059cbb") + to.rjust(32, b"\0") + amount.to_bytes(32, "big")


def erc20_approve(to: bytes, amount: int) -> bytes:
    return bytes.fromhex("095ea7b3") + to.rjust(32, b"\0") + amount.to_bytes(32, "big")


def bind(world: "World", cast: Cast) -> None:
    """Give Alice an address of 20 bytes, and ether there to pay with."""
    world.put(POOLS, "EVMAccounts", "AccountExtension", cast.alice[:20], value=cast.alice[20:])
    held = {"free": 10**19, "reserved": 0, "frozen": 0}
    world.put(POOLS, "Tokens", "Accounts", cast.alice, 20, value=held)
    # Gas in the native asset would follow a price that means nothing on a rig.
    world.put(POOLS, "MultiTransactionPayment", "AccountCurrencyMap", cast.alice, value=20)


def unbind(world: "World", cast: Cast) -> None:
    world.clear(POOLS, "MultiTransactionPayment", "AccountCurrencyMap", cast.alice)


def dispatched(x: Cast) -> bytes:
    """Return 5 DOT for a stranger, as the bytes of a call."""
    return x.encode(POOLS, hydra_give(x.mallory, 5 * DOT))


on_dex = partial(case, mode="omnipool")
EXCHANGE = (
    on_dex("a sale at any price", *(POOLS, CAREFUL, lambda _: sell(0), False)),
    on_dex("a sale for one unit", *(POOLS, CAREFUL, lambda _: sell(1), False)),
    on_dex("a routed sale at any price", *(POOLS, CAREFUL, lambda _: routed(0), False)),
    on_dex("a routed sale for one unit", *(POOLS, CAREFUL, lambda _: routed(1), False)),
    on_dex("a purchase at any price", *(POOLS, CAREFUL, lambda _: buy(U128), False)),
    on_dex("a routed purchase at any price", *(POOLS, CAREFUL, lambda _: routed_buy(U128), False)),
    on_dex("a sale at any price in a batch", *(POOLS, CAREFUL, lambda x: batch(hydra_give(x.a, DOT),
        sell(0)), False)),
    on_dex("two sales in the same pool", *(POOLS, CAREFUL | OK, lambda _: batch(sell(HDX), sell(
        HDX)), False)),
    on_dex("an order at any price", *(POOLS, CAREFUL | OK, lambda x: dca(x.alice, 0), False),
        line="its slippage limits each trade"),
    on_dex("an order for one unit", *(POOLS, CAREFUL | OK, lambda x: dca(x.alice, 1), False),
        line="its slippage limits each trade"),
    on_dex("an order of somebody else", *(POOLS, CAREFUL, lambda x: dca(x.mallory, 0), False)),
    on_dex("a sale of more than there is", *(POOLS, REFUSED, lambda _: sell(1, 10**30), False)),
    on_dex("liquidity", *(POOLS, CAREFUL | OK, lambda _: Call(
        pallet="Omnipool", method="add_liquidity", args={"asset": 5, "amount": 10 * DOT}), False),
            line="10 DOT"),
    on_dex("an order over the counter", *(POOLS, CAREFUL | OK, lambda _: Call(
        pallet="OTC", method="place_order",
        args={"asset_in": 0, "asset_out": 5, "amount_in": 10_000 * HDX, "amount_out": 1000 * DOT,
            "partially_fillable": True}), False),
        line="1000 DOT"),
    on_dex("an ERC-20 transfer that reverts", *(POOLS, REFUSED, lambda x: evm(
        x.alice, erc20(5), erc20_transfer(x.mallory[:20], 10**30)), False), prepare=bind,
            restore=unbind),
    on_dex("a contract's code that isn't there", *(POOLS, CAREFUL, lambda x: evm(x.alice,
        b"\x77" * 20, b"\1\2\3\4"), False), prepare=bind, restore=unbind),
    on_dex("an ERC-20 transfer", *(POOLS, UNKNOWN | OK, lambda x: evm(
        x.alice, erc20(5), erc20_transfer(x.mallory[:20], 5 * DOT)), False), prepare=bind,
            restore=unbind),
    on_dex("an ERC-20 approval", *(POOLS, CAREFUL, lambda x: evm(
        x.alice, erc20(5), erc20_approve(x.mallory[:20], 10**30)), False), prepare=bind,
            restore=unbind),
    on_dex("a dispatch precompile that pays a stranger", *(POOLS, UNKNOWN | OK, lambda x: evm(
        x.alice, DISPATCH, dispatched(x)), True), prepare=bind, restore=unbind),
    on_dex("a dispatch precompile in a batch", *(POOLS, UNKNOWN | OK, lambda x: batch(
        hydra_give(x.a, DOT), evm(x.alice, DISPATCH, dispatched(x)))), prepare=bind,
            restore=unbind),
    on_dex("a dispatch precompile that gives a right", *(POOLS, UNKNOWN, lambda x: evm(
        x.alice, DISPATCH, proxy_bytes(x)), True), prepare=bind, restore=unbind),
    on_dex("a call with more gas", *(POOLS, OK, lambda x: Call(
        pallet="Dispatcher", method="dispatch_with_extra_gas",
        args={"call": inner(hydra_give(x.a, DOT)), "extra_gas": 100_000}), False)),
    on_dex("a proxy for everything", *(POOLS, UNKNOWN, lambda x: proxy_of(x.mallory))),
    on_dex("a burn", *(POOLS, ANY, lambda _: Call(
        pallet="Balances", method="burn", args={"value": HDX * 9 // 10, "keep_alive": True}),
            False), line="destroys 0.9 HDX"),
    on_dex("the treasury as receiver", *(POOLS, REFUSED, lambda _: hydra_give(TREASURY, DOT),
        False)),
)  # fmt: skip


def proxy_bytes(x: Cast) -> bytes:
    return x.encode(POOLS, proxy_of(x.mallory))


# Mode system: identities live on the people chain.


def known(world: "World", cast: Cast) -> None:
    info = dict.fromkeys(
        ("display", "legal", "web", "matrix", "email", "image", "twitter", "github", "discord"),
        "None",
    )
    args = {"info": {**info, "display": {"Raw5": b"Alice"}, "pgp_fingerprint": None}}
    world.submit(world.chain(P), Call(pallet="Identity", method="set_identity", args=args), ACTOR)


def sub_of(x: Cast) -> Call:
    return Call(
        pallet="Identity",
        method="add_sub",
        args={"sub": {"Id": x.mallory}, "data": {"Raw3": b"sub"}},
    )


on_system = partial(case, mode="system")
SYSTEM = (
    on_system("an identity's sub-account", *(P, UNKNOWN, sub_of), prepare=known),
    on_system("a list of sub-accounts", *(P, UNKNOWN, lambda x: Call(
        pallet="Identity", method="set_subs", args={"subs": [(x.mallory, {"Raw3": b"sub"})]})),
            prepare=known),
    on_system("a proxy on the people chain", *(P, UNKNOWN, any_proxy)),
    on_system("a proxy behind a transfer there", *(P, UNKNOWN, lambda x: batch(give(x.a), any_proxy(
        x)))),
    on_system("a burn there", *(P, ANY, lambda _: Call(
        pallet="Balances", method="burn", args={"value": KSM, "keep_alive": True}), False),
            line="destroys 1 KSM"),
    on_system("the treasury there as receiver", *(P, REFUSED, lambda _: give(TREASURY), False)),
    on_system("a proxy on a hub for fellows", *("liveCollectives", UNKNOWN, any_proxy)),
    on_system("a recovery on the relay chain", *(R, UNKNOWN, recovery)),
)  # fmt: skip
