"""An XCM program in words: every instruction is named, what moves or runs something is told, by its row in INSTRUCTIONS."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.addresses import format_account, format_ethereum_account
from scenarioctl.chains.locations import interior, junctions_of, write_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases
from scenarioctl.transactions.xcm_instructions import InstructionKind, kind_of, read_instruction
from scenarioctl.transactions.xcm_programs import chain_at

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


class NamedPlace(NamedTuple):
    """Where a program runs: a chain of the registry, or what another one calls it."""

    chain: "Chain | None"
    name: str


def unversioned(value: Any) -> Any:
    """Return what a versioned XCM value holds."""
    if len(value) != 1:
        raise NoPhrase
    return next(iter(value.values()))


def say_program(phrases: Phrases, program: Any, here: NamedPlace) -> str:
    """Return what *program* does at *here*, in brackets."""

    def say(inside: Phrases, instruction: Any) -> str:
        return _say_instruction(inside, instruction, here)

    return f"[{phrases.list(program, say, 'instruction')}]" if program else "[nothing]"


def say_place(phrases: Phrases, location: Any, here: NamedPlace) -> NamedPlace:
    """Return the chain that a location names, seen from *here*."""
    text = write_location(location)
    if not text:
        return NamedPlace(None, "an unknown location")
    chain = chain_at(phrases.assets.registry, here.chain, text) if here.chain is not None else None
    return NamedPlace(chain, chain.name if chain else f"the place {text} seen from {here.name}")


def say_receiver(phrases: Phrases, location: Any, here: NamedPlace) -> str:
    """Return the account that a location names, seen from *here*."""
    junctions = junctions_of(location)
    account = _say_account(phrases, junctions[-1], here) if junctions else ""
    if not account:
        return f"the account of {say_place(phrases, location, here).name}"
    if len(junctions) == 1 and location["parents"] == 0:
        return account
    # An account that another place has.
    around = {"parents": location["parents"], "interior": interior(junctions[:-1])}
    there = say_place(phrases, around, here)
    return f"{_say_account(phrases, junctions[-1], there)} on {there.name}"


def _say_account(phrases: Phrases, junction: Any, here: NamedPlace) -> str:
    """Return the account that a junction is; nothing if it is none."""
    if not isinstance(junction, Mapping) or len(junction) != 1:
        return ""
    ((kind, inner),) = junction.items()
    if kind not in ("AccountId32", "AccountKey20"):
        return ""
    network = inner.get("network")
    beside = "" if network is None else f" (of the network {say_plain(network)})"
    if kind == "AccountKey20":
        return f"{format_ethereum_account(inner['key'])}{beside}"
    prefix = here.chain.ss58_prefix if here.chain is not None else phrases.chain.ss58_prefix
    return f"{format_account(inner['id'], prefix)}{beside}"


def say_assets(phrases: Phrases, items: Any, here: NamedPlace) -> str:
    """Return a list of assets as amounts."""
    return " and ".join(_asset(phrases, item, here) for item in items) if items else "no assets"


def _asset(phrases: Phrases, item: Any, here: NamedPlace) -> str:
    ((kind, value),) = item["fun"].items()
    if kind != "Fungible":
        return f"a non-fungible item of {say_asset_id(phrases, item['id'], here)}"
    place = write_location(item["id"])
    found = phrases.assets.at(here.chain, place) if place and here.chain is not None else None
    return found.amount(value) if found else f"{value} smallest units of {_at(place, here)}"


def say_asset_id(phrases: Phrases, identity: Any, here: NamedPlace) -> str:
    """Return what an asset is called that a location names."""
    place = write_location(identity)
    found = phrases.assets.at(here.chain, place) if place and here.chain is not None else None
    return found.display_name if found else _at(place, here)


def _at(place: str, here: NamedPlace) -> str:
    return f"the asset at {place} seen from {here.name}" if place else "an unknown asset"


def _filter(phrases: Phrases, value: Any, here: NamedPlace) -> str:
    """Return which assets a filter lets through, or a list of them."""
    if isinstance(value, list):
        return say_assets(phrases, value, here)
    ((kind, inner),) = value.items()
    if kind == "Definite":
        return say_assets(phrases, inner, here)
    if inner == "All":
        return "everything that is left"
    ((wild, details),) = inner.items()
    if wild == "AllCounted":
        return f"everything that is left, of at most {details} asset{'s' * (details != 1)}"
    if wild in ("AllOf", "AllOfCounted"):
        return f"all that is left of {say_asset_id(phrases, details['id'], here)}"
    raise NoPhrase


def _say_instruction(phrases: Phrases, instruction: Any, here: NamedPlace) -> str:
    name, fields = read_instruction(instruction)
    kind = kind_of(name)
    try:
        if kind.words:
            return _PART.sub(lambda part: _say_part(phrases, kind, part, fields, here), kind.words)
    except MISFITS:
        pass
    return f"runs {name}"


def _say_part(
    phrases: Phrases, kind: InstructionKind, part: "re.Match[str]", fields: Any, here: NamedPlace
) -> str:
    """Return the words for one part of a row's sentence: `{filter:assets}`."""
    how, field = part.groups()
    value = fields[field] if field else fields
    match how:
        case "here":
            return here.name
        case "place":
            return say_place(phrases, value, here).name
        case "there":
            return say_program(phrases, value, say_place(phrases, fields[kind.onward], here))
        case "call":
            encoded = value["encoded"] if isinstance(value, Mapping) else value
            return say_encoded(phrases, encoded, here.chain, here.name)
    return _PARTS[how](phrases, value, here)


def _transfers(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    fees = fields["remote_fees"]
    said = []
    for item in [*fields["assets"], *([fees] if fees is not None else [])]:
        ((kind, assets),) = item.items()
        role = " for fees" if item is fees else ""
        said.append(f"{_filter(phrases, assets, here)}{role} ({kind})")
    return " and ".join(said) or "no assets"


def _origin(phrases: Phrases, descendant: Any, here: NamedPlace) -> str:  # noqa: ARG001 - parts are alike
    if descendant is None:
        return "without an origin"
    place = write_location({"parents": 0, "interior": descendant})
    return f"as {place} within its origin" if place else "as an account within its origin"


def _plain(phrases: Phrases, value: Any, here: NamedPlace) -> str:  # noqa: ARG001 - parts are alike
    return say_plain(value)


def say_encoded(phrases: Phrases, data: bytes, chain: "Chain | None", name: str = "") -> str:
    """Return what the encoded call *data* does on *chain*, in brackets; on another chain, by which runtime it was read."""
    table = None if chain is None else phrases.tables(chain)
    if chain is None or table is None:
        where = chain.name if chain is not None else name
        return f"[{len(data)} bytes that are not decoded, as the runtime of {where} is not known]"
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


def say_plain(value: Any) -> str:
    return (
        value if isinstance(value, str) else "/".join(map(str, value)) if isinstance(value, Mapping) else "?"
    )


#: A part of a row's sentence.
_PART = re.compile(r"\{(\w+)(?::(\w+))?\}")
#: How a part is written, by what stands before its field.
_PARTS: Mapping[str, Callable[[Phrases, Any, NamedPlace], str]] = {
    "assets": say_assets,
    "asset": _asset,
    "filter": _filter,
    "receiver": say_receiver,
    "program": say_program,
    "transfers": _transfers,
    "origin": _origin,
    "plain": _plain,
}
