"""Words for calls that hold other calls: in batches, through proxies and multisigs, at a later block, by their hash.

To word another one, add a row to WORDS.  One without a row is named, with the calls that its arguments hold.
"""

from collections.abc import Callable, Mapping
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.transactions.inner_calls import held_values, read_call
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases, Words
from scenarioctl.transactions.wording.xcm_programs import NamedPlace, say_encoded, say_program, unversioned

#: Calls and programs in the arguments of one call without a row that are told.
_SHOWN = 8


def say_named(phrases: Phrases, call: Call) -> str:
    """Return the name of a call without words of its own, and what the calls and programs in its arguments do."""
    named = f"calls {call.pallet}.{call.method} on {phrases.chain.name}"
    said: list[str] = []
    read: set[str] = set()
    for held in held_values(call, phrases.tables(phrases.chain)):
        if len(said) == _SHOWN:
            said.append("more that is not shown")
            break
        try:
            said.append(_HELD[held.kind](phrases, held.value))
        except MISFITS:
            continue
        read.add(held.field)
    if set(call.args) - read:
        named += f" (its {'other ' if read else ''}arguments are not shown)"
    return f"{named} with {' and '.join(said)}" if said else named


def _say_inner(phrases: Phrases, value: Any) -> str:
    """Return what a call inside another one does, in brackets."""
    inside = phrases.within()
    call = read_call(value)
    if phrases.budget.spend():
        return f"[{phrases.say(inside, call)}]"
    return f"[calls {call.pallet}.{call.method} on {phrases.chain.name}, with more inside]"


def _bounded(phrases: Phrases, value: Any) -> str:
    """Return what a call does that is stored with its bytes or by its hash."""
    ((kind, inner),) = value.items()
    if kind == "Inline":
        return f"the call {say_encoded(phrases, inner, phrases.chain)}"
    return _unknown_call(inner["hash"])


def _program(phrases: Phrases, value: Any) -> str:
    return f"the XCM program {say_program(phrases, unversioned(value), NamedPlace(None, 'another place'))}"


#: The last name of a type's path -> the words for its value.
_HELD: Mapping[str, Callable[[Phrases, Any], str]] = {
    "RuntimeCall": lambda phrases, value: f"the call {_say_inner(phrases, value)}",
    "Bounded": _bounded,
    "VersionedXcm": _program,
}


def _unknown_call(hashed: Any) -> str:
    if not isinstance(hashed, bytes):
        raise NoPhrase
    return f"a call of which only the hash 0x{hashed.hex()} is known"


def _say_value(phrases: Phrases, value: Any) -> str:
    return phrases.say(phrases, read_call(value))


def _batch_all(phrases: Phrases, args: Mapping[str, Any]) -> str:
    if not args["calls"]:
        return "does nothing (an empty batch)"
    return phrases.list(args["calls"], _say_value, "call")


def _batch(beside: str) -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        said = _batch_all(phrases, args)
        return f"[{said}], and {beside}" if args["calls"] else said

    return say


def _if_else(phrases: Phrases, args: Mapping[str, Any]) -> str:
    main, fallback = (_say_inner(phrases, args[name]) for name in ("main", "fallback"))
    return f"tries {main}, and only if that fails {fallback}"


def _derivative(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"as derivative account {args['index']} of the signer: {_say_inner(phrases, args['call'])}"


def _with_weight(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"as root, with a weight of its own: {_say_inner(phrases, args['call'])}"


def _dispatch_as(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"as {_origin(phrases, args['as_origin'])}: {_say_inner(phrases, args['call'])}"


def _origin(phrases: Phrases, value: Any) -> str:
    ((pallet, inner),) = value.items()
    if pallet == "system" and inner == "Root":
        return "root"
    if pallet == "system" and isinstance(inner, Mapping) and set(inner) == {"Signed"}:
        return phrases.account(inner["Signed"])
    if isinstance(inner, str):
        return f"the origin {pallet}.{inner}"
    raise NoPhrase


def _proxy(phrases: Phrases, args: Mapping[str, Any]) -> str:
    kind = args["force_proxy_type"]
    through = "a proxy" if kind is None else f"a proxy of the type {kind}"
    if "delegate" in args:
        through += f", as announced by {phrases.account(args['delegate'])}"
    return f"as {phrases.account(args['real'])}, through {through}: {_say_inner(phrases, args['call'])}"


def _announce(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"announces, as a proxy of {phrases.account(args['real'])}, {_unknown_call(args['call_hash'])}"


def _multisig(phrases: Phrases, args: Mapping[str, Any]) -> str:
    number = len(args["other_signatories"]) + 1
    threshold = args.get("threshold", 1)
    once = f", once {threshold} of them approve" if threshold > 1 else ""
    return f"as the multisig of {number} signatories{once}: {_say_inner(phrases, args['call'])}"


def _approve(phrases: Phrases, args: Mapping[str, Any]) -> str:
    number = len(args["other_signatories"]) + 1
    needed = f"{args['threshold']} of {number} signatories"
    return (
        f"approves, for the multisig of {needed} on {phrases.chain.name}, {_unknown_call(args['call_hash'])}"
    )


def _schedule(phrases: Phrases, args: Mapping[str, Any]) -> str:
    after = args.get("after")
    when = f"at block {args['when']}" if after is None else f"after {after} block{'s' * (after != 1)}"
    if args["maybe_periodic"] is not None:
        period, times = args["maybe_periodic"]
        when += f" and every {period} blocks from then, {times} times"
    return f"{when}: {_say_inner(phrases, args['call'])}"


def _sudo(phrases: Phrases, args: Mapping[str, Any]) -> str:
    who = phrases.account(args["who"]) if "who" in args else "root"
    return f"as {who}: {_say_inner(phrases, args['call'])}"


def _recovered(phrases: Phrases, args: Mapping[str, Any]) -> str:
    return f"as the recovered account {phrases.account(args['account'])}: {_say_inner(phrases, args['call'])}"


def _note_preimage(phrases: Phrases, args: Mapping[str, Any]) -> str:
    data = args["bytes"]
    table = phrases.tables(phrases.chain)
    try:
        if table is not None:
            table.decode_call(data)
            said = say_encoded(phrases, data, phrases.chain)
            return f"stores the call {said} on {phrases.chain.name}, to be run by its hash"
    except InvalidRequest:
        pass
    return f"stores {len(data)} bytes on {phrases.chain.name} that are not a call"


#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("Utility", "batch_all"): _batch_all,
    ("Utility", "batch"): _batch("nothing after the first that fails"),
    ("Utility", "force_batch"): _batch("goes on after one that fails"),
    ("Utility", "if_else"): _if_else,
    ("Utility", "as_derivative"): _derivative,
    ("Utility", "with_weight"): _with_weight,
    ("Utility", "dispatch_as"): _dispatch_as,
    ("Utility", "dispatch_as_fallible"): _dispatch_as,
    ("Proxy", "proxy"): _proxy,
    ("Proxy", "proxy_announced"): _proxy,
    ("Proxy", "announce"): _announce,
    ("Multisig", "as_multi"): _multisig,
    ("Multisig", "as_multi_threshold_1"): _multisig,
    ("Multisig", "approve_as_multi"): _approve,
    ("Scheduler", "schedule"): _schedule,
    ("Scheduler", "schedule_named"): _schedule,
    ("Scheduler", "schedule_after"): _schedule,
    ("Scheduler", "schedule_named_after"): _schedule,
    ("Sudo", "sudo"): _sudo,
    ("Sudo", "sudo_unchecked_weight"): _sudo,
    ("Sudo", "sudo_as"): _sudo,
    ("Recovery", "as_recovered"): _recovered,
    ("Preimage", "note_preimage"): _note_preimage,
}
