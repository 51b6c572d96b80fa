"""Sentences with parts of a call's arguments in them: `stakes {native:value}`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from scenarioctl.transactions.inner_calls import read_call
from scenarioctl.transactions.wording.phrases import NoPhrase, Phrases, Words
from scenarioctl.transactions.wording.xcm_programs import NamedPlace, say_receiver, unversioned

#: What the types of proxies that a runtime calls so may do; others are named.
_POWERS = {
    "Any": "do anything with this account",
    "NonTransfer": "do anything but transfers with this account",
}


def sentence(template: str) -> Words:
    """Return the words that *template* says, on which chain at its end."""
    return around(f"{template} on {{here}}")


def around(template: str) -> Words:
    """Return the words that *template* says of a call around another one."""
    return lambda phrases, args: fill(phrases, template, args)


def say_inner(phrases: Phrases, value: Any) -> str:
    """Return what a call inside another one does, in brackets."""
    return f"[{phrases.say(phrases.within(), read_call(value))}]"


def say_hash(phrases: Phrases, value: Any) -> str:  # noqa: ARG001 - parts are alike
    """Return the words of a call that is named by its hash."""
    if not isinstance(value, bytes):
        raise NoPhrase
    return f"a call of which only the hash 0x{value.hex()} is known"


def fill(phrases: Phrases, template: str, args: Mapping[str, Any]) -> str:
    """Return *template* with its parts: `{how:field}` or `{how:field,field}`, and `{here}`, the chain."""

    def part(found: "re.Match[str]") -> str:
        how, fields = found.groups()
        return _PARTS[how](phrases, *(args[field] for field in fields.split(",")))

    return _PART.sub(part, template.replace("{here}", phrases.chain.name))


def _accounts(phrases: Phrases, values: Any) -> str:
    return " and ".join(map(phrases.account, values)) if values else "nobody"


def _count(phrases: Phrases, values: Any) -> str:  # noqa: ARG001 - parts are alike
    return str(len(values))


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


def _delay(phrases: Phrases, blocks: int) -> str:  # noqa: ARG001 - parts are alike
    return f", {blocks} blocks after announcing each call" if blocks else ""


def _until(phrases: Phrases, block: Any) -> str:  # noqa: ARG001 - parts are alike
    return "from now on" if block is None else f"until block {block}"


def _amounts(phrases: Phrases, items: Any) -> str:
    return " and ".join(phrases.listed(each["amount"], each["asset_id"]) for each in items) or "nothing"


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


def _place(phrases: Phrases, value: Any) -> str:
    return say_receiver(phrases, unversioned(value), NamedPlace(phrases.chain, phrases.chain.name))


def _set(phrases: Phrases, *values: Any) -> str:
    """Return the accounts that the optional ones of *values* name."""
    named = []
    for value in values:
        if isinstance(value, Mapping) and set(value) in ({"Set"}, {"Account"}):
            (value,) = value.values()
        if value not in NOBODY:
            named.append(phrases.account(value[-1] if isinstance(value, (list, tuple)) else value))
    return " and ".join(dict.fromkeys(named))


def _subs(phrases: Phrases, values: Any) -> str:
    return _accounts(phrases, [account for account, _ in values])


def _buyer(phrases: Phrases, value: Any) -> str:
    return "anyone" if value is None else phrases.account(value)


#: Values that name nobody.
NOBODY: tuple[Any, ...] = (None, "Noop", "Remove", "Staked", "Stash", "Controller", "None", [])
_PART = re.compile(r"\{(\w+):([\w,]+)\}")
#: How a part is written, by what stands before its fields.
_PARTS: Mapping[str, Callable[..., str]] = {
    "native": Phrases.native,
    "listed": Phrases.listed,
    "placed": Phrases.placed,
    "asset": Phrases.asset,
    "account": Phrases.account,
    "accounts": _accounts,
    "count": _count,
    "plain": _plain,
    "hex": _hex,
    "payee": _payee,
    "power": _power,
    "delay": _delay,
    "until": _until,
    "amounts": _amounts,
    "vote": _vote,
    "extra": _extra,
    "place": _place,
    "set": _set,
    "call": say_inner,
    "hash": say_hash,
    "subs": _subs,
    "buyer": _buyer,
}
