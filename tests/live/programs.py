"""Crafted transactions, each with the verdict on it and what the chains then did.

`real` is what happens once it is signed: `arrives` (everything that the check names is credited, to
the unit), `trapped`, `lost` (somebody gets less than that), `fails` (on its chain, as a whole or in
part), `fails abroad`, or `not included`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scenarioctl.model.calls import Call

KSM = 10**12
USD = 10**6
WEIGHT = {"ref_time": 10**11, "proof_size": 3 * 10**6}
HERE = {"parents": 0, "interior": "Here"}
UP = {"parents": 1, "interior": "Here"}
HUB_DOWN = {"parents": 0, "interior": {"X1": [{"Parachain": 1000}]}}
DEX_DOWN = {"parents": 0, "interior": {"X1": [{"Parachain": 2034}]}}
HUB = {"parents": 1, "interior": {"X1": [{"Parachain": 1000}]}}
DEX = {"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}
USDT = {"parents": 0, "interior": {"X2": [{"PalletInstance": 50}, {"GeneralIndex": 1984}]}}
USDT_UP = {
    "parents": 1,
    "interior": {"X3": [{"Parachain": 1000}, {"PalletInstance": 50}, {"GeneralIndex": 1984}]},
}
ALL: dict[str, Any] = {"Wild": "All"}


@dataclass(frozen=True, kw_only=True)
class Actors:
    """Whom a row is about: two accounts that hold nothing, and those that the tests made ready."""

    a: bytes
    b: bytes
    alice: bytes
    bob: bytes
    #: An account of Alice alone, with a threshold of 1, that holds something on the Asset Hub.
    multisig: bytes
    #: Builds a transfer as the program does: source, destination, asset, amount, receiver.
    transfer: Callable[[str, str, str, int, bytes], Call]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    chain: str
    call: Callable[[Actors], Call]
    verdict: str
    real: str
    #: Of one of its reasons.
    reason: str = ""


def account(who: bytes) -> dict[str, Any]:
    return {"parents": 0, "interior": {"X1": [{"AccountId32": {"network": None, "id": who}}]}}


def key20(byte: int) -> dict[str, Any]:
    return {
        "parents": 0,
        "interior": {"X1": [{"AccountKey20": {"network": None, "key": bytes([byte]) * 20}}]},
    }


def asset(place: Any, amount: int) -> dict[str, Any]:
    return {"id": place, "fun": {"Fungible": amount}}


def exactly(*assets: Any) -> dict[str, Any]:
    return {"Definite": list(assets)}


def withdraw(*assets: Any) -> dict[str, Any]:
    return {"WithdrawAsset": list(assets)}


def deposit(to: Any, assets: Any = ALL) -> dict[str, Any]:
    return {
        "DepositAsset": {
            "assets": assets,
            "beneficiary": account(to) if isinstance(to, bytes) else to,
        }
    }


def pay(place: Any, amount: int = KSM // 50) -> dict[str, Any]:
    return {"BuyExecution": {"fees": asset(place, amount), "weight_limit": "Unlimited"}}


def teleport(*program: Any, assets: Any = ALL, dest: Any = HUB_DOWN) -> dict[str, Any]:
    return {"InitiateTeleport": {"assets": assets, "dest": dest, "xcm": list(program)}}


def reserve(*program: Any, assets: Any = ALL, dest: Any = DEX) -> dict[str, Any]:
    return {"DepositReserveAsset": {"assets": assets, "dest": dest, "xcm": list(program)}}


def onward(*program: Any, kind: str, dest: Any, fee: Any, assets: Any = ALL) -> dict[str, Any]:
    return {
        "InitiateTransfer": {
            "destination": dest,
            "remote_fees": {kind: exactly(fee)},
            "preserve_origin": False,
            "assets": [{kind: assets}],
            "remote_xcm": list(program),
        }
    }


def transact(data: bytes) -> dict[str, Any]:
    return {
        "Transact": {
            "origin_kind": "SovereignAccount",
            "fallback_max_weight": None,
            "call": {"encoded": data},
        }
    }


REMARK = transact(bytes.fromhex("0000086869"))
DEX_REMARK = transact(bytes.fromhex("0100086869"))


def execute(*program: Any, pallet: str = "PolkadotXcm") -> Call:
    return Call(
        pallet=pallet,
        method="execute",
        args={"message": {"V5": list(program)}, "max_weight": WEIGHT},
    )


def on_relay(*program: Any) -> Call:
    return execute(*program, pallet="XcmPallet")


def utility(method: str, **arguments: Any) -> Call:
    return Call(pallet="Utility", method=method, args=arguments)


def inner(call: Call) -> dict[str, Any]:
    return {call.pallet: {call.method: call.args}}


def batch(*calls: Call, method: str = "batch_all") -> Call:
    return utility(method, calls=[inner(call) for call in calls])


def give(to: bytes, amount: int = KSM) -> Call:
    return Call(
        pallet="Balances", method="transfer_keep_alive", args={"dest": {"Id": to}, "value": amount}
    )


def remark() -> Call:
    return Call(pallet="System", method="remark_with_event", args={"remark": b"crafted"})


def proxied(real: bytes, call: Call) -> Call:
    return Call(
        pallet="Proxy",
        method="proxy",
        args={"real": {"Id": real}, "force_proxy_type": None, "call": inner(call)},
    )


def multi(actors: Actors, call: Call) -> Call:
    others = sorted((actors.a, actors.b))
    return Call(
        pallet="Multisig",
        method="as_multi",
        args={
            "threshold": 2,
            "other_signatories": others,
            "maybe_timepoint": None,
            "call": inner(call),
            "max_weight": WEIGHT,
        },
    )


def and_then(
    pallet: str,
    dest: Any,
    place: Any,
    amount: int,
    kind: str,
    *program: Any,
) -> Call:
    """Return a transfer whose last chain does what *program* says."""
    return Call(
        pallet=pallet,
        method="transfer_assets_using_type_and_then",
        args={
            "dest": {"V5": dest},
            "assets": {"V5": [asset(place, amount)]},
            "assets_transfer_type": kind,
            "remote_fees_id": {"V5": place},
            "fees_transfer_type": kind,
            "custom_xcm_on_dest": {"V5": list(program)},
            "weight_limit": "Unlimited",
        },
    )


def approved(actors: Actors) -> Call:
    arguments: Mapping[str, Any] = {
        "id": 1984,
        "owner": {"Id": actors.bob},
        "destination": {"Id": actors.a},
        "amount": 5 * USD,
    }
    return Call(pallet="Assets", method="transfer_approved", args=arguments)


def row(
    name: str, chain: str, verdict: str, real: str, call: Callable[[Actors], Call], reason: str = ""
) -> Row:
    return Row(name=name, chain=chain, call=call, verdict=verdict, real=real, reason=reason)


TRAPPED = "would be trapped on"
WRONG = "with liveRelay as its reserve, but liveHub backs it"
K, K_HERE = asset(UP, KSM), asset(HERE, KSM)
PART, PART_HERE = exactly(asset(UP, KSM // 10)), exactly(asset(HERE, KSM // 2))
R, H, D = "liveRelay", "liveHub", "liveDex"

#: Programs that an account executes on its own chain.
EXECUTED = (
    row(
        "a deposit of a part",
        H,
        "refused",
        "trapped",
        lambda x: execute(withdraw(K), deposit(x.a, PART)),
        TRAPPED,
    ),
    row(
        "the same behind an appendix",
        *(H, "refused", "trapped"),
        lambda x: execute(withdraw(K), {"SetAppendix": ["ClearError"]}, deposit(x.a, PART)),
        TRAPPED,
    ),
    row("a deposit of all", H, "ok", "arrives", lambda x: execute(withdraw(K), deposit(x.a))),
    row(
        "two receivers",
        H,
        "ok",
        "arrives",
        lambda x: execute(withdraw(K), deposit(x.a, PART), deposit(x.b)),
    ),
    row(
        "the remainder to an account of 20 bytes",
        *(H, "refused", "fails"),
        lambda x: execute(withdraw(K), deposit(x.a, PART), deposit(key20(7))),
    ),
    row(
        "all in the appendix",
        H,
        "ok",
        "arrives",
        lambda x: execute(withdraw(K), {"SetAppendix": [deposit(x.a)]}),
    ),
    row(
        "an appendix that leaves a rest",
        *(H, "refused", "trapped"),
        lambda x: execute(withdraw(K), {"SetAppendix": [deposit(x.b, PART)]}, deposit(x.a, PART)),
        TRAPPED,
    ),
    row(
        "an error handler that does not run",
        *(H, "ok", "arrives"),
        lambda x: execute(withdraw(K), {"SetErrorHandler": [deposit(x.b)]}, deposit(x.a)),
    ),
    row(
        "an error handler that runs",
        *(H, "ok", "arrives"),
        lambda x: execute(
            withdraw(K),
            {"SetErrorHandler": ["ClearError", deposit(x.b)]},
            {"Trap": 1},
            deposit(x.a),
        ),
    ),
    row(
        "an error handler that leaves a rest",
        *(H, "refused", "trapped"),
        lambda x: execute(
            withdraw(K), {"SetErrorHandler": ["ClearError", deposit(x.b, PART)]}, {"Trap": 1}
        ),
        TRAPPED,
    ),
    row(
        "an error without a handler",
        H,
        "refused",
        "fails",
        lambda x: execute(withdraw(K), {"Trap": 1}),
    ),
    row(
        "a transfer out of the account",
        *(H, "ok", "arrives"),
        lambda x: execute({"TransferAsset": {"assets": [K], "beneficiary": account(x.a)}}),
    ),
    row(
        "the same, and assets that nobody gets",
        *(H, "refused", "trapped"),
        lambda x: execute(
            {"TransferAsset": {"assets": [K], "beneficiary": account(x.a)}}, withdraw(K)
        ),
        TRAPPED,
    ),
    row(
        "assets that are burned",
        *(H, "refused", "arrives"),
        lambda x: execute(withdraw(K), {"BurnAsset": [asset(UP, KSM // 2)]}, deposit(x.a)),
        "credited to nobody",
    ),
    row(
        "one of two assets",
        *(H, "refused", "trapped"),
        lambda x: execute(
            withdraw(asset(USDT, 5 * USD), K), deposit(x.a, {"Wild": {"AllCounted": 1}})
        ),
        TRAPPED,
    ),
    row(
        "two assets",
        *(H, "ok", "arrives"),
        lambda x: execute(withdraw(asset(USDT, 5 * USD), K), deposit(x.a)),
    ),
    row(
        "two assets to two receivers",
        *(H, "ok", "arrives"),
        lambda x: execute(
            withdraw(asset(USDT, 5 * USD), K),
            deposit(x.a, exactly(asset(USDT, 5 * USD))),
            deposit(x.b),
        ),
    ),
    row(
        "an exchange",
        *(H, "unknown", "arrives"),
        lambda x: execute(
            withdraw(K),
            {"ExchangeAsset": {"give": ALL, "want": [asset(USDT, USD)], "maximal": True}},
            deposit(x.a),
        ),
        "contains ExchangeAsset",
    ),
    row(
        "an exchange at any price",
        *(H, "refused", "arrives"),
        lambda x: execute(
            withdraw(K),
            {"ExchangeAsset": {"give": ALL, "want": [asset(USDT, 1)], "maximal": True}},
            deposit(x.a),
        ),
        "at any price (ExchangeAsset)",
    ),
    row(
        "a call that pays, in Transact",
        *(H, "unknown", "arrives"),
        lambda x: execute(transact(bytes.fromhex("0a0300") + x.a + bytes.fromhex("070010a5d4e8"))),
        "executes Balances.transfer_keep_alive with Transact",
    ),
    row(
        "a remark in Transact",
        H,
        "ok",
        "arrives",
        lambda x: execute(withdraw(K), REMARK, deposit(x.a)),
    ),
    row(
        "fees that are bought",
        H,
        "ok",
        "arrives",
        lambda x: execute(withdraw(K), pay(UP), deposit(x.a)),
    ),
    row(
        "fees that are paid as V5 has it",
        *(H, "ok", "arrives"),
        lambda x: execute(
            withdraw(K), {"PayFees": {"asset": asset(UP, KSM // 50)}}, "RefundSurplus", deposit(x.a)
        ),
    ),
    row(
        "a rest, and another account that may claim it",
        *(H, "refused", "trapped"),
        lambda x: execute(
            {"SetHints": {"hints": [{"AssetClaimer": {"location": account(x.b)}}]}},
            withdraw(K),
            deposit(x.a, PART),
        ),
        "claim it there with `tx claim",
    ),
    row(
        "a program without an origin",
        *(H, "refused", "fails"),
        lambda x: execute(
            withdraw(K), {"ExecuteWithOrigin": {"descendant_origin": None, "xcm": [deposit(x.a)]}}
        ),
    ),
    row(
        "a claim of what was trapped",
        *(H, "ok", "arrives"),
        lambda x: Call(
            pallet="PolkadotXcm",
            method="claim_assets",
            args={
                "assets": {"V5": [asset(UP, KSM * 9 // 10)]},
                "beneficiary": {"V5": account(x.b)},
            },
        ),
    ),
    row(
        "a claim of what was not",
        *(H, "refused", "fails"),
        lambda x: Call(
            pallet="PolkadotXcm",
            method="claim_assets",
            args={"assets": {"V5": [asset(UP, 77)]}, "beneficiary": {"V5": account(x.b)}},
        ),
    ),
)

#: Programs that go from chain to chain.
SENT = (
    row(
        "a teleport of all",
        R,
        "ok",
        "arrives",
        lambda x: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(x.a))),
    ),
    row(
        "a teleport of a part",
        *(R, "refused", "trapped"),
        lambda x: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(x.a), assets=PART_HERE)),
        TRAPPED,
    ),
    row(
        "a teleport of a part, the rest deposited",
        *(R, "ok", "arrives"),
        lambda x: on_relay(
            withdraw(K_HERE), teleport(pay(UP), deposit(x.a), assets=PART_HERE), deposit(x.b)
        ),
    ),
    row(
        "a teleport to two receivers",
        *(R, "ok", "arrives"),
        lambda x: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(x.a, PART), deposit(x.b))),
    ),
    row(
        "a teleport of which a part is deposited",
        *(R, "refused", "trapped"),
        lambda x: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(x.a, PART))),
        TRAPPED,
    ),
    row(
        "a teleport that nobody gets",
        *(R, "refused", "trapped"),
        lambda _: on_relay(withdraw(K_HERE), teleport(pay(UP))),
        TRAPPED,
    ),
    row(
        "a teleport, deposited by the appendix",
        *(R, "ok", "arrives"),
        lambda x: on_relay(
            withdraw(K_HERE), teleport(pay(UP), {"SetAppendix": ["RefundSurplus", deposit(x.a)]})
        ),
    ),
    row(
        "a teleport to an account of 20 bytes",
        *(R, "refused", "trapped"),
        lambda _: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(key20(8)))),
    ),
    row(
        "a teleport to the account of a parachain",
        *(R, "ok", "arrives"),
        lambda _: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(DEX))),
    ),
    row(
        "a teleport that reports what it holds",
        *(R, "refused", "fails abroad"),
        lambda x: on_relay(
            withdraw(K_HERE),
            teleport(
                pay(UP),
                {
                    "ReportHolding": {
                        "response_info": {
                            "destination": UP,
                            "query_id": 1,
                            "max_weight": {"ref_time": 0, "proof_size": 0},
                        },
                        "assets": ALL,
                    }
                },
                deposit(x.a),
            ),
        ),
        "Barrier",
    ),
    row(
        "over two hops",
        *(R, "ok", "arrives"),
        lambda x: on_relay(withdraw(K_HERE), teleport(pay(UP), reserve(pay(UP), deposit(x.a)))),
    ),
    row(
        "a part over two hops",
        *(R, "refused", "trapped"),
        lambda x: on_relay(
            withdraw(K_HERE),
            teleport(pay(UP), reserve(pay(UP), deposit(x.a), assets=exactly(asset(UP, KSM // 2)))),
        ),
        TRAPPED,
    ),
    row(
        "a part over two hops, the rest deposited",
        *(R, "ok", "arrives"),
        lambda x: on_relay(
            withdraw(K_HERE),
            teleport(
                pay(UP),
                reserve(pay(UP), deposit(x.a), assets=exactly(asset(UP, KSM // 2))),
                deposit(x.b),
            ),
        ),
    ),
    row(
        "a transfer as V5 has it",
        *(R, "ok", "arrives"),
        lambda x: on_relay(
            withdraw(K_HERE),
            {"PayFees": {"asset": asset(HERE, KSM // 20)}},
            onward(
                "RefundSurplus",
                deposit(x.a),
                kind="Teleport",
                dest=HUB_DOWN,
                fee=asset(HERE, KSM // 50),
            ),
            "RefundSurplus",
            deposit(x.b),
        ),
    ),
    row(
        "a wrong reserve",
        *(R, "refused", "arrives"),
        lambda x: and_then("XcmPallet", DEX_DOWN, HERE, KSM, "LocalReserve", deposit(x.a)),
        WRONG,
    ),
    row(
        "a wrong reserve beside a Transact",
        *(R, "refused", "fails abroad"),
        lambda x: and_then(
            "XcmPallet",
            DEX_DOWN,
            HERE,
            KSM,
            "LocalReserve",
            deposit(x.a),
            {"SetAppendix": [DEX_REMARK]},
        ),
        WRONG,
    ),
    row(
        "a wrong reserve in an appendix",
        *(R, "refused", "arrives"),
        lambda x: on_relay(
            withdraw(K_HERE), {"SetAppendix": [reserve(pay(UP), deposit(x.a), dest=DEX_DOWN)]}
        ),
        WRONG,
    ),
    row(
        "a wrong reserve out of the account",
        *(R, "refused", "fails"),
        lambda x: on_relay(
            {
                "TransferReserveAsset": {
                    "assets": [K_HERE],
                    "dest": DEX_DOWN,
                    "xcm": [pay(UP), deposit(x.a)],
                }
            }
        ),
        WRONG,
    ),
    row(
        "a wrong reserve as V5 has it",
        *(R, "refused", "arrives"),
        lambda x: on_relay(
            withdraw(K_HERE),
            {"PayFees": {"asset": asset(HERE, KSM // 20)}},
            onward(
                "RefundSurplus",
                deposit(x.a),
                kind="ReserveDeposit",
                dest=DEX_DOWN,
                fee=asset(HERE, KSM // 50),
            ),
            "RefundSurplus",
            deposit(x.b),
        ),
        WRONG,
    ),
    row(
        "a teleport that neither end backs",
        *(R, "refused", "fails"),
        lambda x: on_relay(withdraw(K_HERE), teleport(pay(UP), deposit(x.a), dest=DEX_DOWN)),
    ),
    row(
        "a reserve transfer to two receivers",
        *(H, "ok", "arrives"),
        lambda x: and_then(
            "PolkadotXcm", DEX, UP, KSM, "LocalReserve", deposit(x.a, PART), deposit(x.b)
        ),
    ),
    row(
        # The chain credits it; of twenty equal bytes nobody has the key.
        "a reserve transfer to an account of 20 bytes",
        *(H, "refused", "arrives"),
        lambda _: and_then("PolkadotXcm", DEX, UP, KSM, "LocalReserve", deposit(key20(9))),
    ),
    row(
        "a reserve transfer of which a part is deposited",
        *(H, "refused", "trapped"),
        lambda x: and_then("PolkadotXcm", DEX, UP, KSM, "LocalReserve", deposit(x.a, PART)),
        TRAPPED,
    ),
    row(
        "a reserve transfer with an appendix",
        *(H, "ok", "arrives"),
        lambda x: and_then(
            *("PolkadotXcm", DEX, USDT, 50 * USD, "LocalReserve"),
            {"SetAppendix": ["RefundSurplus", deposit(x.b)]},
            deposit(x.a, exactly(asset(USDT_UP, 10 * USD))),
        ),
    ),
    row(
        "a reserve transfer that executes a call there",
        *(H, "refused", "trapped"),
        lambda x: and_then("PolkadotXcm", DEX, UP, KSM, "LocalReserve", DEX_REMARK, deposit(x.a)),
    ),
    row(
        "back to the reserve",
        *(D, "ok", "arrives"),
        lambda x: and_then("PolkadotXcm", HUB, UP, KSM, "DestinationReserve", deposit(x.a)),
    ),
    row(
        "a part of what goes back to the reserve",
        *(D, "refused", "trapped"),
        lambda x: and_then("PolkadotXcm", HUB, UP, KSM, "DestinationReserve", deposit(x.a, PART)),
        TRAPPED,
    ),
    row(
        "back to a chain that is not the reserve",
        *(D, "refused", "arrives"),
        lambda x: and_then("PolkadotXcm", UP, UP, KSM, "DestinationReserve", deposit(x.a)),
        WRONG,
    ),
    row(
        "what xTokens takes for the reserve",
        *(D, "refused", "arrives"),
        lambda x: Call(
            pallet="XTokens",
            method="transfer",
            args={
                "currency_id": 5,
                "amount": KSM,
                "dest": {
                    "V4": {
                        "parents": 1,
                        "interior": {"X1": [{"AccountId32": {"network": None, "id": x.a}}]},
                    }
                },
                "dest_weight_limit": "Unlimited",
            },
        ),
        WRONG,
    ),
    row(
        "a message without assets of its own",
        *(H, "refused", "fails abroad"),
        lambda x: Call(
            pallet="PolkadotXcm",
            method="send",
            args={
                "dest": {"V5": UP},
                "message": {"V5": [withdraw(K_HERE), pay(HERE), deposit(x.a)]},
            },
        ),
    ),
    row(
        "less than the existential deposit",
        *(H, "refused", "arrives"),
        lambda x: and_then("PolkadotXcm", UP, UP, KSM // 2500, "Teleport", deposit(x.a)),
    ),
)

#: Calls that hold other calls.
WRAPPED = (
    row(
        "a teleport and a transfer",
        *(R, "ok", "arrives"),
        lambda x: batch(x.transfer(R, H, "native", KSM, x.a), give(x.b)),
    ),
    row(
        "two teleports",
        *(R, "ok", "arrives"),
        lambda x: batch(x.transfer(R, H, "native", KSM, x.a), x.transfer(R, H, "native", KSM, x.b)),
    ),
    row(
        "a teleport and a trap",
        *(R, "refused", "trapped"),
        lambda x: batch(
            x.transfer(R, H, "native", KSM, x.a),
            on_relay(withdraw(K_HERE), deposit(x.b, exactly(asset(HERE, KSM // 2)))),
        ),
        TRAPPED,
    ),
    row(
        "a trap in a batch in a batch",
        *(H, "refused", "trapped"),
        lambda x: batch(
            batch(execute(withdraw(K), deposit(x.a, PART)), method="force_batch"), remark()
        ),
        TRAPPED,
    ),
    row("two transfers", H, "ok", "arrives", lambda x: batch(give(x.a), give(x.b, 2 * KSM))),
    row(
        "a batch that stops halfway",
        *(H, "refused", "fails"),
        lambda x: batch(give(x.a), give(x.b, 10**30), method="batch"),
    ),
    row("a batch that fails", H, "refused", "fails", lambda x: batch(give(x.a), give(x.b, 10**30))),
    row(
        "a batch that goes on",
        *(H, "refused", "fails"),
        lambda x: batch(give(x.b, 10**30), give(x.a), method="force_batch"),
    ),
    row("a proxy that pays", H, "ok", "arrives", lambda x: proxied(x.bob, give(x.a))),
    row("a proxy that cannot", H, "refused", "fails", lambda x: proxied(x.bob, give(x.a, 10**30))),
    row(
        "a proxy that traps",
        *(H, "refused", "trapped"),
        lambda x: proxied(x.bob, execute(withdraw(K), deposit(x.a, PART))),
        TRAPPED,
    ),
    row(
        "a proxy in a batch, which sends",
        *(H, "ok", "arrives"),
        lambda x: batch(proxied(x.bob, x.transfer(H, D, "native", KSM, x.a)), give(x.b)),
    ),
    row("a proxy for a stranger", H, "refused", "fails", lambda x: proxied(x.b, give(x.a))),
    row(
        "a derived account that holds nothing",
        *(H, "refused", "fails"),
        lambda x: utility("as_derivative", index=3, call=inner(give(x.a))),
    ),
    row(
        "a main call that passes",
        *(H, "ok", "arrives"),
        lambda x: utility("if_else", main=inner(give(x.a)), fallback=inner(give(x.b))),
    ),
    row(
        "a fallback that runs",
        *(H, "ok", "arrives"),
        lambda x: utility("if_else", main=inner(give(x.a, 10**30)), fallback=inner(give(x.b))),
    ),
    row(
        "a fallback that traps",
        *(H, "refused", "trapped"),
        lambda x: utility(
            "if_else",
            main=inner(give(x.a, 10**30)),
            fallback=inner(execute(withdraw(K), deposit(x.a, PART))),
        ),
        TRAPPED,
    ),
    row(
        "a multisig of one",
        *(H, "ok", "arrives"),
        lambda x: Call(
            pallet="Multisig",
            method="as_multi_threshold_1",
            args={"other_signatories": [x.bob], "call": inner(give(x.a))},
        ),
    ),
    row("a multisig that waits, with a remark", H, "ok", "arrives", lambda x: multi(x, remark())),
    row(
        "a multisig that waits, without means",
        *(H, "refused", "arrives"),
        lambda x: multi(x, give(x.a)),
        "after all approvals",
    ),
    row(
        "an approval of a hash",
        *(H, "unknown", "arrives"),
        lambda x: Call(
            pallet="Multisig",
            method="approve_as_multi",
            args={
                "threshold": 2,
                "other_signatories": sorted((x.a, x.b)),
                "maybe_timepoint": None,
                "call_hash": b"\7" * 32,
                "max_weight": WEIGHT,
            },
        ),
        "only the hash is given",
    ),
    row(
        "a batch too heavy for a block",
        *(H, "refused", "not included"),
        lambda x: batch(*[execute(withdraw(K), deposit(x.a))] * 20),
        "too heavy for a block",
    ),
    row("somebody else's money", H, "ok", "arrives", approved),
    row(
        "money that is burned",
        *(H, "unknown", "arrives"),
        lambda _: Call(pallet="Balances", method="burn", args={"value": KSM, "keep_alive": True}),
        "no account is seen to receive it",
    ),
    row(
        "two assets in a batch",
        *(D, "ok", "arrives"),
        lambda x: batch(
            Call(
                pallet="Tokens",
                method="transfer",
                args={"dest": x.a, "currency_id": 5, "amount": KSM},
            ),
            Call(
                pallet="Balances",
                method="transfer_keep_alive",
                args={"dest": x.b, "value": 5 * KSM},
            ),
        ),
    ),
)
ROWS = (*EXECUTED, *SENT, *WRAPPED)
