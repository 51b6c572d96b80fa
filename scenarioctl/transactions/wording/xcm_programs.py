"""An XCM program in words: every instruction is named, what moves or runs something is told.

To word another instruction, add a row to WORDS.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import write_location
from scenarioctl.transactions.wording.phrases import NoPhrase, Phrases
from scenarioctl.transactions.xcm_programs import chain_at, read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain

#: Assets of one instruction that are named.
_SHOWN = 5


class NamedPlace(NamedTuple):
    """Where a program runs: a chain of the registry, or what another one calls it."""

    chain: "Chain | None"
    name: str


def unversioned(value: Any) -> Any:
    """Return what a versioned XCM value holds."""
    if len(value) != 1:
        raise NoPhrase
    return next(iter(value.values()))


def say_program(speaker: Phrases, program: Any, where: NamedPlace) -> str:
    """Return what *program* does at *where*, in brackets."""

    def say(inside: Phrases, instruction: Any) -> str:
        return _say_instruction(inside, instruction, where)

    return f"[{speaker.list(program, say, 'instruction')}]" if program else "[nothing]"


def say_place(speaker: Phrases, location: Any, where: NamedPlace) -> NamedPlace:
    """Return the chain that a location names, seen from *where*."""
    text = write_location(location)
    if not text:
        return NamedPlace(None, "a place that is not known here")
    chain = chain_at(speaker.registry, where.chain, text) if where.chain is not None else None
    return NamedPlace(chain, chain.name if chain else f"the place {text} seen from {where.name}")


def say_receiver(speaker: Phrases, location: Any, where: NamedPlace) -> str:
    """Return the account that a location names, seen from *where*."""
    interior = location["interior"]
    junctions = interior.get("X1") if isinstance(interior, Mapping) and len(interior) == 1 else None
    junction = junctions[0] if isinstance(junctions, list) and junctions else junctions
    if location["parents"] == 0 and isinstance(junction, Mapping) and len(junction) == 1:
        ((kind, inner),) = junction.items()
        beside = ""
        if isinstance(inner, Mapping) and inner.get("network") is not None:
            beside = f" (of the network {_plain(inner['network'])})"
        if kind == "AccountId32":
            prefix = where.chain.ss58_prefix if where.chain is not None else speaker.chain.ss58_prefix
            return f"{format_account(inner['id'], prefix)}{beside}"
        if kind == "AccountKey20":
            return f"0x{inner['key'].hex()}{beside}"
    place = say_place(speaker, location, where)
    return f"the account of {place.name}"


def say_assets(speaker: Phrases, items: Any, where: NamedPlace) -> str:
    """Return a list of assets as amounts, the first few of many."""
    if not items:
        return "no assets"
    said = [_asset(speaker, item, where) for item in items[:_SHOWN]]
    left = len(items) - len(said)
    return " and ".join(said) + (f" and {left} more asset{'s' * (left != 1)}" if left else "")


def _asset(speaker: Phrases, item: Any, where: NamedPlace) -> str:
    ((kind, value),) = item["fun"].items()
    if kind != "Fungible":
        return f"a non-fungible item of {say_asset_id(speaker, item['id'], where)}"
    place = write_location(item["id"])
    found = speaker.assets.at(where.chain, place) if place and where.chain is not None else None
    return found.amount(value) if found else f"{value} smallest units of {_at(place, where)}"


def say_asset_id(speaker: Phrases, identity: Any, where: NamedPlace) -> str:
    """Return what an asset is called that a location names."""
    place = write_location(identity)
    found = speaker.assets.at(where.chain, place) if place and where.chain is not None else None
    return found.display_name if found else _at(place, where)


def _at(place: str, where: NamedPlace) -> str:
    return f"the asset at {place} seen from {where.name}" if place else "an asset that is not known here"


def _filter(speaker: Phrases, value: Any, where: NamedPlace) -> str:
    """Return which assets a filter lets through."""
    ((kind, inner),) = value.items()
    if kind == "Definite":
        return say_assets(speaker, inner, where)
    if inner == "All":
        return "everything that is left"
    ((wild, details),) = inner.items()
    if wild == "AllCounted":
        return f"everything that is left, of at most {details} asset{'s' * (details != 1)}"
    if wild in ("AllOf", "AllOfCounted"):
        return f"all that is left of {say_asset_id(speaker, details['id'], where)}"
    raise NoPhrase


def _say_instruction(speaker: Phrases, instruction: Any, where: NamedPlace) -> str:
    name, fields = read_instruction(instruction)
    words = WORDS.get(name)
    room = speaker.room.left
    if words is not None:
        try:
            return words(speaker, fields, where)
        except (NoPhrase, KeyError, TypeError, ValueError, AttributeError):
            speaker.room.left = room
    return f"runs {name}"


def _withdraw(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    return f"withdraws {say_assets(speaker, fields, where)}"


def _arrives(how: str) -> "Words":
    return lambda speaker, fields, where: f"{how} {say_assets(speaker, fields, where)}"


def _deposit(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    receiver = say_receiver(speaker, fields["beneficiary"], where)
    return f"deposits {_filter(speaker, fields['assets'], where)} for {receiver}"


def _transfer(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    receiver = say_receiver(speaker, fields["beneficiary"], where)
    return f"transfers {say_assets(speaker, fields['assets'], where)} to {receiver}"


def _onward(how: str, place: str) -> "Words":
    def say(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
        assets = fields["assets"]
        named = (
            say_assets(speaker, assets, where)
            if isinstance(assets, list)
            else _filter(speaker, assets, where)
        )
        there = say_place(speaker, fields[place], where)
        return f"{how.format(named, there.name)}, which does {say_program(speaker, fields['xcm'], there)}"

    return say


def _initiate_transfer(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    there = say_place(speaker, fields["destination"], where)
    fees = fields["remote_fees"]
    said = []
    for item in [*fields["assets"], *([fees] if fees is not None else [])]:
        ((kind, assets),) = item.items()
        role = " for fees" if item is fees else ""
        said.append(f"{_filter(speaker, assets, where)}{role} ({kind})")
    what = " and ".join(said) or "no assets"
    return f"sends {what} to {there.name}, which does {say_program(speaker, fields['remote_xcm'], there)}"


def _buy(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    return f"pays up to {_asset(speaker, fields['fees'], where)} for execution"


def _pay(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    return f"pays up to {_asset(speaker, fields['asset'], where)} for fees"


def _exchange(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    given, wanted = _filter(speaker, fields["give"], where), say_assets(speaker, fields["want"], where)
    return f"exchanges {given} for at least {wanted}"


def _transact(_: Phrases, fields: Any, where: NamedPlace) -> str:
    call = fields["call"]
    encoded = call["encoded"] if isinstance(call, Mapping) else call
    kind = _plain(fields["origin_kind"])
    return f"runs an encoded call of {len(encoded)} bytes on {where.name} as {kind} (Transact), which is not read here"


def _claim(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    return f"claims {say_assets(speaker, fields['assets'], where)}"


def _later(when: str) -> "Words":
    return lambda speaker, fields, where: f"{when} does {say_program(speaker, fields, where)}"


def _with_origin(speaker: Phrases, fields: Any, where: NamedPlace) -> str:
    descendant = fields["descendant_origin"]
    place = write_location({"parents": 0, "interior": descendant}) if descendant is not None else ""
    who = (
        f"as {place} within its origin" if place else "as an account within its origin" if descendant else ""
    )
    return f"{who or 'without an origin'} does {say_program(speaker, fields['xcm'], where)}"


def _plain(value: Any) -> str:
    return (
        value if isinstance(value, str) else "/".join(map(str, value)) if isinstance(value, Mapping) else "?"
    )


Words = Callable[[Phrases, Any, NamedPlace], str]

#: Instruction -> how it is said; the others are named.
WORDS: Mapping[str, Words] = {
    "WithdrawAsset": _withdraw,
    "ReserveAssetDeposited": _arrives("takes as backed by its origin"),
    "ReceiveTeleportedAsset": _arrives("takes as teleported"),
    "BurnAsset": _arrives("burns"),
    "DepositAsset": _deposit,
    "TransferAsset": _transfer,
    "DepositReserveAsset": _onward("sends {} to {} over the reserve here", "dest"),
    "TransferReserveAsset": _onward("sends {} to {} over the reserve here", "dest"),
    "InitiateReserveWithdraw": _onward("sends {} back to the reserve on {}", "reserve"),
    "InitiateTeleport": _onward("teleports {} to {}", "dest"),
    "InitiateTransfer": _initiate_transfer,
    "BuyExecution": _buy,
    "PayFees": _pay,
    "ExchangeAsset": _exchange,
    "Transact": _transact,
    "ClaimAsset": _claim,
    "SetAppendix": _later("at its end"),
    "SetErrorHandler": _later("on an error"),
    "ExecuteWithOrigin": _with_origin,
}
