"""Sentences with parts of a call's arguments, or of an XCM instruction's fields, in them: `stakes {native:value}`.

To write another kind of part, add a row to PARTS.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.transactions.inner_calls import read_call
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases, Words, counted
from scenarioctl.transactions.wording.xcm_values import (
    say_assets,
    say_descent,
    say_filter,
    say_item,
    say_receiver,
    say_transfers,
)
from scenarioctl.transactions.xcm_instructions import kind_of, read_instruction

#: Values that name nobody.
NOBODY: tuple[Any, ...] = (None, "Noop", "Remove", "Staked", "Stash", "Controller", "None", [])
#: Least amounts that protect nothing, and most amounts that protect nothing.
ANY_LEAST, ANY_MOST = (0, 1), U128_MAX
#: What the types of proxies that a runtime calls so may do; others are named.
_POWERS = {
    "Any": "do anything with this account",
    "NonTransfer": "do anything but transfers with this account",
}
_OPTION = re.compile(r"<([\w.*-]+)([?+])([^<>|]*)\|?([^<>|]*)>")
_PART = re.compile(r"\{(\w+):?([\w,.*-]*)\}")


def sentence(*templates: str) -> Words:
    """Return the words of the first of *templates* that fits the call, each read by `fill`."""

    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        for template in templates[:-1]:
            with suppress(*MISFITS):
                return fill(phrases, template, args)
        return fill(phrases, templates[-1], args)

    return say


def rows(templates: Mapping[str, str], end: str = "") -> dict[tuple[str, str], Words]:
    """Return the words of each `Pallet.method`; all of them have the same *end*."""
    named = {name.partition("."): sentence(template + end) for name, template in templates.items()}
    return {(pallet, method): words for (pallet, _, method), words in named.items()}


def fill(phrases: Phrases, template: str, args: Any) -> str:
    """Return *template* with its parts.

    `{how:field,field}` writes fields, `{how}` all that is there.  `<field?text|else>` is *text* if the field has a value,
    `<field+text|else>` if that isn't 0 or empty either.  `a.b.0` is a value in the field `a`, and `a.*` the only one in it.
    """

    def option(found: "re.Match[str]") -> str:
        field, mark, text, other = found.groups()
        value = find_value(args, field)
        is_there = bool(value) if mark == "+" else value is not None and value is not False
        return text if is_there else other

    def part(found: "re.Match[str]") -> str:
        how, fields = found.groups()
        return _PARTS[how](phrases, *(find_value(args, field) for field in fields.split(",")))

    return _PART.sub(part, _OPTION.sub(option, template))


def find_value(args: Any, path: str) -> Any:
    """Return the value at *path*, without the number of its XCM version."""
    value = args
    for step in filter(None, path.split(".")):
        if step == "*":
            (value,) = value.values()
        else:
            value = value[int(step) if isinstance(value, (list, tuple)) else step]
        if isinstance(value, Mapping) and _VERSION.fullmatch(next(iter(value), "")):
            (value,) = value.values()
    return value


def say_program(phrases: Phrases, program: Any, place: Any = None) -> str:
    """Return what *program* does here, or at the location *place*, in brackets."""
    if place is not None:
        return say_program(phrases.at(place), program)
    inside = replace(phrases, depth=phrases.depth + 1)
    if inside.too_deep:
        return f"[{len(program)} instructions that are not read]"
    said = counted(_say_instruction(inside, instruction) for instruction in program)
    return f"[{'; then '.join(said) or 'nothing'}]"


def _say_instruction(phrases: Phrases, instruction: Any) -> str:
    name, fields = read_instruction(instruction)
    words = kind_of(name).words
    try:
        return fill(phrases, words, fields) if words else f"runs {name}"
    except MISFITS:
        return f"runs {name}"


def _call(phrases: Phrases, value: Any) -> str:
    """Return what a call inside another one does, in brackets."""
    return f"[{phrases.say(phrases.within(phrases.chain), read_call(value))}]"


def _encoded(phrases: Phrases, value: Any) -> str:
    """Return what an encoded call does here, in brackets; on another chain, by which runtime it was read."""
    data = value["encoded"] if isinstance(value, Mapping) else value
    chain = phrases.place
    table = phrases.tables(chain) if chain else None
    if chain is None or table is None:
        return f"[{len(data)} bytes that are not decoded, as the runtime of {phrases.here} is not known]"
    inside = phrases.within(chain)
    if inside.too_deep:
        return f"[{len(data)} bytes that are not read]"
    try:
        call = table.decode_call(data)
    except InvalidRequest:
        return f"[{len(data)} bytes that are not a call of {table}]"
    said = f"[{inside.say(inside, call)}]"
    # A chain that isn't asked may have a newer runtime, to which the bytes mean something else.
    return said if chain.name == phrases.chain.name else f"{said}, as {table} reads it"


def _hash(phrases: Phrases, value: Any) -> str:  # noqa: ARG001 - parts are alike
    if not isinstance(value, bytes):
        raise NoPhrase
    return f"a call of which only the hash 0x{value.hex()} is known"


def _accounts(phrases: Phrases, values: Any) -> str:
    return " and ".join(map(phrases.account, values)) if values else "nobody"


def _plain(phrases: Phrases, value: Any) -> str:  # noqa: ARG001 - parts are alike
    if isinstance(value, bytes):
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            text = ""
        return text if text.isprintable() and 0 < len(text) < 32 else f"0x{value.hex()}"
    if isinstance(value, (str, int)):
        return str(value)
    raise NoPhrase


def _hex(phrases: Phrases, value: Any) -> str:  # noqa: ARG001 - parts are alike
    """Return bytes, or all of those in a value, as hex."""
    values = value.values() if isinstance(value, Mapping) else (value,)
    return " ".join(f"0x{bytes(each).hex()}" for each in values)


def _payee(phrases: Phrases, value: Any) -> str:
    kinds = {"Staked": "the stake itself", "Stash": "the staking account", "None": "nobody"}
    return phrases.account(value["Account"]) if isinstance(value, Mapping) else kinds[value]


def _power(phrases: Phrases, kind: Any) -> str:  # noqa: ARG001 - parts are alike
    return _POWERS.get(kind, f"act for this account as its proxy of the type {kind}")


def _amounts(phrases: Phrases, items: Any) -> str:
    pairs = [(each["asset_id"], each["amount"]) if isinstance(each, Mapping) else each for each in items]
    return " and ".join(phrases.amount(value, identity) for identity, value in pairs) or "nothing"


def _vote(phrases: Phrases, value: Any) -> str:
    ((kind, vote),) = value.items()
    if kind != "Standard":
        return " and ".join(f"{name} with {phrases.native(amount)}" for name, amount in vote.items())
    encoded = vote["vote"]
    encoded = encoded if isinstance(encoded, int) else encoded[0]
    side, conviction = ("aye" if encoded & 128 else "nay"), encoded & 127
    return f"{side} with {phrases.native(vote['balance'])}, locked by conviction {conviction}"


def _extra(phrases: Phrases, value: Any) -> str:
    return "the rewards" if value == "Rewards" else phrases.native(value["FreeBalance"])


def _set(phrases: Phrases, *values: Any) -> str:
    """Return the accounts that the optional ones of *values* name."""
    named = []
    for value in values:
        if isinstance(value, Mapping) and set(value) in ({"Set"}, {"Account"}):
            (value,) = value.values()
        if value not in NOBODY:
            named.append(phrases.account(value[-1] if isinstance(value, (list, tuple)) else value))
    return " and ".join(dict.fromkeys(named))


def _origin(phrases: Phrases, value: Any) -> str:
    """Return in whose name a call is dispatched."""
    match value:
        case {"system": "Root"}:
            return "root"
        case {"system": {"Signed": who}}:
            return phrases.account(who)
    ((pallet, kind),) = value.items()
    if not isinstance(kind, str):
        raise NoPhrase
    return f"the origin {pallet}.{kind}"


def _way(phrases: Phrases, kind: Any, place: Any) -> str:
    """Return how assets come to the chain at *place*."""
    match kind:
        case "Teleport":
            return "by teleport"
        case "LocalReserve":
            return f"reserve on {phrases.here}"
        case "DestinationReserve":
            return f"reserve on {phrases.at(place).here}"
    return "over another reserve"


def _least(phrases: Phrases, value: int, identity: Any) -> str:
    return "at any price" if value in ANY_LEAST else f"for at least {phrases.amount(value, identity)}"


def _most(phrases: Phrases, value: int, identity: Any) -> str:
    return "at any price" if value == ANY_MOST else f"for at most {phrases.amount(value, identity)}"


def _contract(phrases: Phrases, target: Any) -> str:
    """Return the contract at an address, a new one if that is none: what it does is not known."""
    contract = "a new contract" if target is None else f"the contract at 0x{target.hex()}"
    phrases.reading.misses(f"what {contract} does is not known")
    return contract


def _gas(phrases: Phrases, limit: Any) -> str:  # noqa: ARG001 - parts are alike
    return f"{limit['ref_time']} picoseconds" if isinstance(limit, Mapping) else f"{limit} gas"


def _number(noun: str) -> Callable[[Phrases, int], str]:
    return lambda _, number: f"{number} {noun}{'s' * (number != 1)}"


_VERSION = re.compile(r"V\d")
#: How a part is written, by what stands before its fields.
_PARTS: Mapping[str, Callable[..., str]] = {
    "here": lambda phrases, _: phrases.here,
    "native": Phrases.native,
    "symbol": lambda phrases, _: phrases.assets.native(phrases.chain).display_name,
    "product": lambda phrases, value, times: phrases.native(value * times),
    "amount": Phrases.amount,
    "amounts": _amounts,
    "pooled": lambda _, value, number: f"{value} smallest units of the pool asset {number}",
    "least": _least,
    "most": _most,
    "percent": lambda _, parts: to_whole(parts, 4),
    "asset": Phrases.asset,
    "account": Phrases.account,
    "accounts": _accounts,
    "subs": lambda phrases, pairs: _accounts(phrases, [account for account, _ in pairs]),
    "set": _set,
    "payee": _payee,
    "signatories": lambda _, others: f"{len(others) + 1} signatories",
    "origin": _origin,
    "power": _power,
    "vote": _vote,
    "extra": _extra,
    "count": lambda _, values: str(len(values)),
    "blocks": _number("block"),
    "pools": lambda phrases, route: _number("pool")(phrases, len(route)),
    "plain": _plain,
    "hex": _hex,
    "hash": _hash,
    "call": _call,
    "encoded": _encoded,
    "contract": _contract,
    "created": lambda phrases, _: _contract(phrases, None),
    "gas": _gas,
    "assets": say_assets,
    "item": say_item,
    "filter": say_filter,
    "receiver": say_receiver,
    "place": lambda phrases, location: phrases.at(location).here,
    "program": say_program,
    "transfers": say_transfers,
    "descent": say_descent,
    "way": _way,
}
