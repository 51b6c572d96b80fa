"""Crafted calls that reserve, hold or lock something of whoever makes them, or set it free: the
sender, a proxied account, a multisig, a derivative account (mode xcm)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scenarioctl.model.acting import derivative_account, multisig
from scenarioctl.model.calls import Call
from tests.live.cases import ACTOR, CAREFUL, OK, UNKNOWN, Case, Cast, Verdicts
from tests.live.playing import endow
from tests.live.programs import KSM, USD, H, batch, give, inner, multi, proxied, utility
from tests.live.rights import approve, bond, proxy_of

if TYPE_CHECKING:
    from tests.live.world import World

Make = Callable[[Cast], Call]
#: Of the sender's derivative accounts, the one that acts.
INDEX = 7


def of_one(x: Cast, call: Call) -> Call:
    others = {"other_signatories": [x.bob], "call": inner(call)}
    return Call(pallet="Multisig", method="as_multi_threshold_1", args=others)


def derived(call: Call) -> Call:
    return utility("as_derivative", index=INDEX, call=inner(call))


def rich(world: "World", x: Cast) -> None:
    members = multisig((x.sender, x.bob), 1).account
    for who in (derivative_account(x.sender, INDEX), members):
        endow(world.app, world.chain(H), who, 100 * KSM)
    world.touch()


#: Who makes a call in the end, and what is around it.
MAKERS: dict[str, Callable[[Cast, Call], Call]] = {
    "": lambda _, call: call,
    " of Bob": lambda x, call: proxied(x.bob, call),
    " of a multisig": lambda x, call: of_one(x, call),
    " of a derivative account": lambda _, call: derived(call),
    " of a derivative account, in a batch": lambda x, call: batch(give(x.a), derived(call)),
}


def noted(size: int, byte: int = 0) -> Call:
    return Call(pallet="Preimage", method="note_preimage", args={"bytes": bytes([byte]) * size})


def once(call: Call) -> Callable[["World", Cast], None]:
    """Return what has the actor make *call* before, alone."""

    def prepare(world: "World", _: Cast) -> None:
        world.submit(world.chain(H), call, ACTOR)

    return prepare


def approval(method: str, **more: Any) -> Make:
    return lambda x: Call(
        pallet="Assets", method=method, args={"id": 1984, "delegate": {"Id": x.b}, **more}
    )


def alias(x: Cast) -> Call:
    key = {"AccountKey20": {"network": None, "key": x.a[:20]}}
    place = {"parents": 1, "interior": {"X2": [{"Parachain": 2034}, key]}}
    args = {"aliaser": {"V5": place}, "expires": None}
    return Call(pallet="PolkadotXcm", method="add_authorized_alias", args=args)


def vested(x: Cast) -> Call:
    schedule = {"locked": 50 * KSM, "per_block": KSM, "starting_block": 10**8}
    return Call(
        pallet="Vesting", method="vested_transfer",
        args={"target": {"Id": x.a}, "schedule": schedule},
    )  # fmt: skip


def delegated(x: Cast) -> Call:
    args = {"class": 0, "to": {"Id": x.b}, "conviction": "Locked1x", "balance": 20 * KSM}
    return Call(pallet="ConvictionVoting", method="delegate", args=args)


def case(name: str, verdicts: Verdicts, call: Make, chain: str = H, **more: Any) -> Case:
    return Case(name=name, mode="xcm", chain=chain, call=call, verdicts=verdicts, **more)


#: Name, verdicts, the call.
HELD: tuple[tuple[str, Verdicts, Make], ...] = (
    ("a preimage of 1 kB", OK, lambda x: noted(1000, x.a[0])),
    ("a preimage of 50 kB", OK, lambda x: noted(50_000, x.a[0])),
    ("a stake", OK, lambda x: bond(x, "Staked")),
    ("a proxy", UNKNOWN, lambda x: proxy_of({"Id": x.b})),
    ("an alias", UNKNOWN, alias),
    ("an approval", UNKNOWN, lambda x: approve(x, USD)),
    ("a pure account", OK, lambda _: Call(
        pallet="Proxy", method="create_pure",
        args={"proxy_type": "Any", "delay": 0, "index": 3})),
    ("a delegated vote", UNKNOWN, delegated),
    ("a waiting multisig", CAREFUL | OK, lambda x: multi(x, give(x.b))),
    ("an index of assets", OK, lambda x: Call(
        pallet="Assets", method="create",
        args={"id": 10**6 + x.a[0], "admin": {"Id": x.sender}, "min_balance": 1})),
)  # fmt: skip


def _acting(name: str, verdicts: Verdicts, make: Make, maker: str) -> Case:
    put = MAKERS[maker]
    endowed = 0 if maker == " of Bob" else 1000 * KSM
    return case(
        f"{name}{maker}", verdicts, lambda x: put(x, make(x)), prepare=rich, endowed=endowed
    )


DEPOSITS = [
    _acting(name, verdicts, make, maker) for name, verdicts, make in HELD for maker in MAKERS
]
