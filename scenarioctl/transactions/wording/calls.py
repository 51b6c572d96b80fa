"""A call in one sentence, for the person who is about to sign it.

Only what is understood whole is worded; a call that is not is named, and the arguments beside the sentence tell.  Calls
inside others are said too, as far as `Phrases.budget` goes; what is left then is counted.  To word another call, add a
row to WORDS.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import write_location
from scenarioctl.errors import shorten
from scenarioctl.model.calls import Call
from scenarioctl.transactions.wording.phrases import NoPhrase, Phrases
from scenarioctl.transactions.wording.xcm_programs import (
    NamedPlace,
    say_asset_id,
    say_assets,
    say_place,
    say_program,
    say_receiver,
    unversioned,
)
from scenarioctl.transactions.xcm_programs import XCM_PALLETS

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.extrinsic import Extrinsic


def say_call(call: Call, chain: "Chain", assets: "Assets") -> str:
    """Return what *call* does on *chain*: `sells 2 DOT for at least 900 HDX on hydraDx`."""
    return _say(Phrases(chain, assets), call)


def say_extrinsic(extrinsic: "Extrinsic", chain: "Chain", assets: "Assets") -> str:
    """Return what *extrinsic* does, and what its signer pays beside the plain fee: a tip, or the fee in another asset."""
    said = say_call(extrinsic.call, chain, assets)
    for identifier in ("ChargeTransactionPayment", "ChargeAssetTxPayment"):
        value = extrinsic.extensions.get(identifier)
        tip = value.get("tip") if isinstance(value, Mapping) else value
        if isinstance(tip, int) and tip:
            said += f", with a tip of {assets.native(chain).amount(tip)}"
        paid_in = value.get("asset_id") if isinstance(value, Mapping) else None
        if paid_in is not None:
            said += f", with its fee paid in {_fee_asset(paid_in, chain, assets)}"
    return said


def _fee_asset(identity: Any, chain: "Chain", assets: "Assets") -> str:
    asset = assets.named(chain, identity)
    if asset is not None:
        return asset.display_name
    if isinstance(identity, int):
        return f"asset {identity}"
    place = write_location(identity)
    return f"the asset at {place}" if place else "an unknown asset"


def _say(phrases: Phrases, call: Call) -> str:
    words = WORDS.get((call.pallet, call.method))
    left = phrases.budget.left
    if words is not None:
        try:
            return words(phrases, call.args)
        except (NoPhrase, KeyError, TypeError, ValueError, AttributeError):
            # An argument of another shape than the one that is worded: say no more than is sure.
            phrases.budget.left = left
    named = f"calls {call.pallet}.{call.method} on {phrases.chain.name}"
    inner = call.args.get("call")
    try:
        return f"{named} with the call {_inner(phrases, inner)}" if isinstance(inner, Mapping) else named
    except (NoPhrase, TypeError, ValueError):
        return named


def _inner(phrases: Phrases, value: Any) -> str:
    """Return what a call inside another one does, in brackets."""
    inside = phrases.within()
    if phrases.budget.spend():
        return f"[{_say_value(inside, value)}]"
    call = _read_call(value)
    return f"[calls {call.pallet}.{call.method} on {phrases.chain.name}, with more inside]"


def _say_value(phrases: Phrases, value: Any) -> str:
    return _say(phrases, _read_call(value))


def _read_call(value: Any) -> Call:
    ((pallet, inner),) = value.items()
    ((method, arguments),) = ({inner: {}} if isinstance(inner, str) else inner).items()
    return Call(pallet=pallet, method=method, args=arguments or {})


def _transfers(amount: "Words", receiver: str) -> "Words":
    """Return the words of a transfer of what *amount* says to the account in the argument *receiver*."""

    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        to = phrases.account(args[receiver])
        return f"transfers {amount(phrases, args)} to {to} on {phrases.chain.name}"

    return say


_balances = _transfers(lambda phrases, args: phrases.native(args["value"]), "dest")
_assets = _transfers(lambda phrases, args: phrases.listed(args["amount"], args["id"]), "target")
_foreign = _transfers(lambda phrases, args: phrases.placed(args["amount"], args["id"]), "target")
_tokens = _transfers(lambda phrases, args: phrases.listed(args["amount"], args["currency_id"]), "dest")


#: Filters that let all of a single asset through.
_EVERYTHING = ({"Wild": "All"}, {"Wild": {"AllCounted": 1}})


def _here(phrases: Phrases) -> NamedPlace:
    return NamedPlace(phrases.chain, phrases.chain.name)


def _send_assets(way: str) -> "Words":
    """Return the words of a call that sends assets to one beneficiary on another chain: *way* is its verb and its means."""
    verb, _, means = way.partition(" ")

    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        here = _here(phrases)
        there = say_place(phrases, unversioned(args["dest"]), here)
        what = say_assets(phrases, unversioned(args["assets"]), here)
        receiver = say_receiver(phrases, unversioned(args["beneficiary"]), there)
        how = f" {means}" if means else ""
        return f"{verb} {what} from {phrases.chain.name} to {there.name}{how} for {receiver}"

    return say


def _type_and_then(phrases: Phrases, args: Mapping[str, Any]) -> str:
    here = _here(phrases)
    there = say_place(phrases, unversioned(args["dest"]), here)
    items = unversioned(args["assets"])
    what = say_assets(phrases, items, here)
    fees_id = unversioned(args["remote_fees_id"])
    fees = say_asset_id(phrases, fees_id, here)
    kinds = [
        _transfer_kind(args[name], here, there) for name in ("assets_transfer_type", "fees_transfer_type")
    ]
    program = unversioned(args["custom_xcm_on_dest"])
    plain = len(items) == 1 and items[0]["id"] == fees_id and kinds[0] == kinds[1]
    how = kinds[0] if plain else f"{kinds[0]}; fees in {fees}, {kinds[1]}"
    sent = f"sends {what} from {here.name} to {there.name} ({how})"
    try:
        if plain and len(program) == 1:
            return sent + _onward(phrases, program[0], there)
    except (NoPhrase, KeyError, TypeError, ValueError, AttributeError):
        # Not one of the transfers that are made here: its program is told instruction by instruction.
        pass
    return f"{sent}, which does {say_program(phrases, program, there)}"


def _transfer_kind(kind: Any, here: NamedPlace, there: NamedPlace) -> str:
    plain = {
        "Teleport": "by teleport",
        "LocalReserve": f"reserve on {here.name}",
        "DestinationReserve": f"reserve on {there.name}",
    }
    return plain[kind] if isinstance(kind, str) else "over another reserve"


def _onward(phrases: Phrases, instruction: Any, there: NamedPlace) -> str:
    ((name, body),) = instruction.items()
    if name == "DepositAsset":
        return f" for {_receiver(phrases, body, there)}"
    ways = {"InitiateTeleport": "by teleport", "DepositReserveAsset": f"reserve on {there.name}"}
    last = say_place(phrases, body["dest"], there)
    buy, deposit = body["xcm"]
    if body["assets"] not in _EVERYTHING or set(buy) != {"BuyExecution"}:
        raise NoPhrase
    return f" and on to {last.name} ({ways[name]}) for {_receiver(phrases, deposit['DepositAsset'], last)}"


def _receiver(phrases: Phrases, deposit: Any, here: NamedPlace) -> str:
    if deposit["assets"] not in _EVERYTHING:
        raise NoPhrase
    return say_receiver(phrases, deposit["beneficiary"], here)


def _execute(phrases: Phrases, args: Mapping[str, Any]) -> str:
    program = say_program(phrases, unversioned(args["message"]), _here(phrases))
    return f"executes an XCM program on {phrases.chain.name}: {program}"


def _send(phrases: Phrases, args: Mapping[str, Any]) -> str:
    there = say_place(phrases, unversioned(args["dest"]), _here(phrases))
    program = say_program(phrases, unversioned(args["message"]), there)
    return f"sends an XCM program from {phrases.chain.name} to {there.name}: {program}"


def _claim(phrases: Phrases, args: Mapping[str, Any]) -> str:
    here = _here(phrases)
    what = say_assets(phrases, unversioned(args["assets"]), here)
    receiver = say_receiver(phrases, unversioned(args["beneficiary"]), here)
    return f"claims {what} that were trapped on {phrases.chain.name} for {receiver}"


def _omnipool_sell(phrases: Phrases, args: Mapping[str, Any]) -> str:
    sold = phrases.listed(args["amount"], args["asset_in"])
    least = phrases.listed(args["min_buy_amount"], args["asset_out"])
    return f"sells {sold} for at least {least} on {phrases.chain.name}"


def _router_sell(phrases: Phrases, args: Mapping[str, Any]) -> str:
    sold = phrases.listed(args["amount_in"], args["asset_in"])
    least = phrases.listed(args["min_amount_out"], args["asset_out"])
    hops = len(args["route"])
    through = f"through {hops} pool{'s' * (hops != 1)}" if hops else "over the route that the chain chooses"
    return f"sells {sold} for at least {least} on {phrases.chain.name}, {through}"


def _remark(phrases: Phrases, args: Mapping[str, Any]) -> str:
    text = args["remark"]
    shown = shorten(text.decode("utf-8"), 80) if text else "nothing"
    return f"writes {shown} to the history of {phrases.chain.name}"


def _batch_all(phrases: Phrases, args: Mapping[str, Any]) -> str:
    if not args["calls"]:
        raise NoPhrase
    return phrases.list(args["calls"], _say_value, "call")


def _batch(beside: str) -> "Words":
    return lambda phrases, args: f"[{_batch_all(phrases, args)}], and {beside}"


def _if_else(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return (
        f"tries {_inner(phrases, args['main'])}, and only if that fails {_inner(phrases, args['fallback'])}"
    )


def _derivative(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"as derivative account {args['index']} of the signer: {_inner(phrases, args['call'])}"


def _dispatch_as(phrases: Phrases, args: Mapping[str, Any]) -> str:
    origin = args["as_origin"]["system"]
    who = "root" if origin == "Root" else phrases.account(origin["Signed"])
    return f"as {who}: {_inner(phrases, args['call'])}"


def _proxy(phrases: Phrases, args: Mapping[str, Any]) -> str:
    kind = args["force_proxy_type"]
    through = "a proxy" if kind is None else f"a proxy of the type {kind}"
    if "delegate" in args:
        through += f", as announced by {phrases.account(args['delegate'])}"
    return f"as {phrases.account(args['real'])}, through {through}: {_inner(phrases, args['call'])}"


def _multisig(phrases: Phrases, args: Mapping[str, Any]) -> str:
    number = len(args["other_signatories"]) + 1
    threshold = args.get("threshold", 1)
    once = f", once {threshold} of them approve" if threshold > 1 else ""
    return f"as the multisig of {number} signatories{once}: {_inner(phrases, args['call'])}"


def _schedule(phrases: Phrases, args: Mapping[str, Any]) -> str:
    after = args.get("after")
    when = f"at block {args['when']}" if after is None else f"after {after} block{'s' * (after != 1)}"
    if args["maybe_periodic"] is not None:
        period, times = args["maybe_periodic"]
        when += f" and every {period} blocks from then, {times} times"
    return f"{when}: {_inner(phrases, args['call'])}"


def _sudo(phrases: Phrases, args: Mapping[str, Any]) -> str:
    who = phrases.account(args["who"]) if "who" in args else "root"
    return f"as {who}: {_inner(phrases, args['call'])}"


def _transfer_all(phrases: Phrases, args: Mapping[str, Any]) -> str:
    kept = " but the existential deposit" if args["keep_alive"] else ""
    native = phrases.assets.native(phrases.chain).display_name
    return f"transfers all {native} of the signer{kept} to {phrases.account(args['dest'])} on {phrases.chain.name}"


Words = Callable[[Phrases, Mapping[str, Any]], str]

#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("Balances", "transfer_keep_alive"): _balances,
    ("Balances", "transfer_allow_death"): _balances,
    ("Assets", "transfer"): _assets,
    ("Assets", "transfer_keep_alive"): _assets,
    ("ForeignAssets", "transfer"): _foreign,
    ("ForeignAssets", "transfer_keep_alive"): _foreign,
    ("Tokens", "transfer"): _tokens,
    ("Tokens", "transfer_keep_alive"): _tokens,
    ("Currencies", "transfer"): _tokens,
    ("Balances", "transfer_all"): _transfer_all,
    **{
        (pallet, method): words
        for pallet in XCM_PALLETS
        for method, words in {
            "teleport_assets": _send_assets("teleports"),
            "limited_teleport_assets": _send_assets("teleports"),
            "reserve_transfer_assets": _send_assets("sends over their reserve"),
            "limited_reserve_transfer_assets": _send_assets("sends over their reserve"),
            "transfer_assets": _send_assets("sends"),
            "transfer_assets_using_type_and_then": _type_and_then,
            "execute": _execute,
            "send": _send,
            "claim_assets": _claim,
        }.items()
    },
    ("Omnipool", "sell"): _omnipool_sell,
    ("Router", "sell"): _router_sell,
    ("System", "remark"): _remark,
    ("System", "remark_with_event"): _remark,
    ("Utility", "batch_all"): _batch_all,
    ("Utility", "batch"): _batch("nothing after the first that fails"),
    ("Utility", "force_batch"): _batch("goes on after one that fails"),
    ("Utility", "if_else"): _if_else,
    ("Utility", "as_derivative"): _derivative,
    ("Utility", "dispatch_as"): _dispatch_as,
    ("Utility", "dispatch_as_fallible"): _dispatch_as,
    ("Proxy", "proxy"): _proxy,
    ("Proxy", "proxy_announced"): _proxy,
    ("Multisig", "as_multi"): _multisig,
    ("Multisig", "as_multi_threshold_1"): _multisig,
    ("Scheduler", "schedule"): _schedule,
    ("Scheduler", "schedule_named"): _schedule,
    ("Scheduler", "schedule_after"): _schedule,
    ("Scheduler", "schedule_named_after"): _schedule,
    ("Sudo", "sudo"): _sudo,
    ("Sudo", "sudo_unchecked_weight"): _sudo,
    ("Sudo", "sudo_as"): _sudo,
}
