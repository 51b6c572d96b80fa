"""Sentences with parts of a call's arguments, or of an XCM instruction's fields, in them: `stakes
{native:value}`.

To write another kind of part, add a row to PARTS; one that only calls have, to that of `calls.py`.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from scenarioctl.chains.locations import write_location
from scenarioctl.errors import shorten
from scenarioctl.model.amounts import to_whole
from scenarioctl.transactions.inner_calls import GIVEN_TO
from scenarioctl.transactions.trades import ANY_LEAST, ANY_MOST, accepts_nothing
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases, Words, counted
from scenarioctl.transactions.xcm_instructions import kind_of, read_instruction

#: Conviction -> so many times `VoteLockingPeriod`, a week on Polkadot, its votes are locked.
_LOCK_PERIODS = (0, 1, 2, 4, 8, 16, 32)
#: Values that name nobody.
_NOBODY: tuple[Any, ...] = (None, "Noop", "Remove", "Staked", "Stash", "Controller", "None", [])
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


def fill(phrases: Phrases, template: str, args: Any) -> str:
    """Return *template* with its parts.

    `{how:field,field}` writes fields, `{how}` all that is there.  `<field?text|else>` is *text* if
    the field has a value, `<field+text|else>` if that isn't 0 or empty either.  `a.b.0` is a value
    in the field `a`, and `a.*` the only one in it.
    """

    def part(found: "re.Match[str]") -> str:
        how, fields = found.groups()
        return phrases.parts[how](
            phrases, *(find_value(args, field) for field in fields.split(","))
        )

    return _PART.sub(part, _choose(template, args))


def given_to(template: str, args: Mapping[str, Any]) -> list[Any] | None:
    """Return whom the right that *template* tells of is given to; None if its fields name
    nobody."""
    parts = _PART.findall(_choose(template, args))
    named = [
        find_value(args, field)
        for how, fields in parts
        if how in GIVEN_TO
        for field in fields.split(",")
    ]
    given = [value for value in named if value not in _NOBODY]
    return None if named and not given else given


def _choose(template: str, args: Any) -> str:
    """Return *template* with the texts that its `<field?…>` let through."""

    def option(found: "re.Match[str]") -> str:
        field, mark, text, other = found.groups()
        value = find_value(args, field)
        is_there = bool(value) if mark == "+" else value is not None and value is not False
        return text if is_there else other

    return _OPTION.sub(option, template)


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
        return f"[{_number('instruction')(phrases, len(program))} not read]"
    said = counted(_say_instruction(inside, instruction) for instruction in program)
    return f"[{'; then '.join(said) or 'nothing'}]"


def _say_instruction(phrases: Phrases, instruction: Any) -> str:
    name, fields = read_instruction(instruction)
    kind = kind_of(name)
    if kind.followed and not kind.words:
        return f"runs {name}"
    with suppress(*MISFITS):
        if kind.words:
            return fill(phrases, kind.words, fields)
    phrases.story.misses(f"what the instruction {name} does is not known here")
    return f"runs {name} (not understood: its fields are not shown)"


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


def _conviction(phrases: Phrases, value: Any) -> str:
    """Say how long a conviction locks: the byte of a vote, or a name like `Locked3x`."""
    number = (
        value & 0x7F
        if isinstance(value, int)
        else int(value.removeprefix("Locked")[0].replace("N", "0"))
    )
    periods = dict(enumerate(_LOCK_PERIODS))[number]
    return f"locked for {_number('lock period')(phrases, periods)}" if periods else "not locked"


def _text(phrases: Phrases, data: bytes) -> str:  # noqa: ARG001 - parts are alike
    try:
        return shorten(data.decode("utf-8"), 80) if data else "nothing"
    except UnicodeDecodeError:
        return f"{len(data)} bytes"


def _hex(phrases: Phrases, value: Any) -> str:  # noqa: ARG001 - parts are alike
    """Return bytes, or all of those in a value, as hex."""
    values = value.values() if isinstance(value, Mapping) else (value,)
    return " ".join(f"0x{each.hex()}" for each in values)


def _set(phrases: Phrases, *values: Any) -> str:
    """Return the accounts that the optional ones of *values* name."""
    named = []
    for value in values:
        if isinstance(value, Mapping) and set(value) in ({"Set"}, {"Account"}):
            (value,) = value.values()
        if value not in _NOBODY:
            named.append(phrases.account(value[-1] if isinstance(value, (list, tuple)) else value))
    return " and ".join(dict.fromkeys(named))


def _contract(phrases: Phrases, target: Any) -> str:
    """Return the contract at an address, a new one if that is none: what it does is not known."""
    contract = "a new contract" if target is None else f"the contract at 0x{target.hex()}"
    phrases.story.misses(f"what {contract} does is not known")
    return contract


def _number(noun: str) -> Callable[[Phrases, int], str]:
    return lambda _, number: f"{number} {noun}{'s' * (number != 1)}"


def _each(template: str, nothing: str) -> Words:
    """Return how a list is written of which each item is written by *template*."""
    return lambda phrases, items: (
        " and ".join(fill(phrases, template, item) for item in items) or nothing
    )


def _by_kind(**templates: str) -> Callable[..., str]:
    """Return how a variant is written: by the template of its name, from what it holds and any
    other values."""

    def say(phrases: Phrases, value: Any, *others: Any) -> str:
        kind, inner = read_instruction(value)
        return fill(phrases, templates[kind], (inner, *others) if others else inner)

    return say


_VERSION = re.compile(r"V\d")
#: How a part is written, by what stands before its fields.
PARTS: Mapping[str, Callable[..., str]] = {
    "here": lambda phrases, _: phrases.here,
    "place": lambda phrases, location: phrases.at(location).here,
    "native": Phrases.native,
    "product": lambda phrases, value, times: phrases.native(value * times),
    "symbol": lambda phrases, _: phrases.assets.native(phrases.chain).display_name,
    "amount": Phrases.amount,
    "amounts": _each("{amount:amount,asset_id}", "nothing"),
    "currencies": _each("{amount:1,0}", "nothing"),
    "pooled": lambda _, value, number: f"{value} smallest units of the pool asset {number}",
    "least": lambda phrases, value, identity: (
        "at any price" if value in ANY_LEAST else f"for at least {phrases.amount(value, identity)}"
    ),
    "most": lambda phrases, value, identity: (
        "at any price" if value == ANY_MOST else f"for at most {phrases.amount(value, identity)}"
    ),
    "price": lambda phrases, want: (
        "at any price" if accepts_nothing(want) else fill(phrases, "for at least {assets}", want)
    ),
    "percent": lambda _, parts: to_whole(parts, 4),
    "asset": Phrases.asset,
    "account": Phrases.account,
    "accounts": _each("{account}", "nobody"),
    "whose": Phrases.account,
    "subs": _each("{account:0}", "nobody"),
    "set": _set,
    "payee": _by_kind(
        Staked="the stake itself",
        Stash="the staking account",
        Account="{account}",
        **{"None": "nobody"},
    ),
    "signatories": lambda _, others: f"{len(others) + 1} signatories",
    "origin": sentence("{system:system}", "the origin {kind}.{plain:*}"),
    "system": _by_kind(Root="root", Signed="{account}"),
    "power": lambda _, kind: _POWERS.get(
        kind, f"act for this account as its proxy of the type {kind}"
    ),
    "vote": _by_kind(
        Standard=(
            "{side:vote} with {native:balance}, {conviction:vote} after it ends, if that side wins"
        ),
        Split="aye with {native:aye} and nay with {native:nay}",
        SplitAbstain=(
            "aye with {native:aye} and nay with {native:nay} and abstain with {native:abstain}"
        ),
    ),
    "side": lambda _, vote: "aye" if vote & 128 else "nay",
    "conviction": _conviction,
    "located": lambda phrases, value, place, identity: phrases.at(place).amount(value, identity),
    "extra": _by_kind(Rewards="the rewards", FreeBalance="{native}"),
    "count": lambda _, values: str(len(values)),
    "blocks": _number("block"),
    "pools": lambda phrases, route: _number("pool")(phrases, len(route)),
    "plain": _plain,
    "text": _text,
    "hex": _hex,
    "hash": sentence("a call of which only the hash {hex} is known"),
    "contract": _contract,
    "created": lambda phrases, _: _contract(phrases, None),
    "gas": sentence("{plain:ref_time} picoseconds", "{plain} gas"),
    "item": sentence(
        "{amount:fun.Fungible,id}", "<fun.NonFungible+a non-fungible item of {asset:id}>"
    ),
    "assets": _each("{item}", "no assets"),
    "filter": _by_kind(Definite="{assets}", Wild="{wild}"),
    "wild": _by_kind(
        All="everything that is left",
        AllCounted="everything that is left, of at most {counted}",
        AllOf="all that is left of {asset:id}",
        AllOfCounted="all that is left of {asset:id}",
    ),
    "counted": _number("asset"),
    "kind": lambda _, value: read_instruction(value)[0],
    "transfers": _each("{filter:*} ({kind})", "no assets"),
    "fees": sentence("{filter:*} for fees ({kind})"),
    "receiver": Phrases.receiver,
    "claimers": _each("{receiver:AssetClaimer.location}", "nobody"),
    "inside": lambda _, junctions: (
        write_location({"parents": 0, "interior": junctions}) or "an account"
    ),
    "program": say_program,
    "way": _by_kind(
        Teleport="by teleport",
        LocalReserve="reserve on {here}",
        DestinationReserve="reserve on {place:1}",
        RemoteReserve="over another reserve",
    ),
}
