"""An XCM program in words: every instruction is named, what moves or runs something is told.

To word another instruction, add a row to WORDS.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.chains.addresses import format_account, format_ethereum_account
from scenarioctl.chains.locations import interior, junctions_of, write_location
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases
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
    beside = "" if network is None else f" (of the network {_plain(network)})"
    if kind == "AccountKey20":
        return f"{format_ethereum_account(inner['key'])}{beside}"
    prefix = here.chain.ss58_prefix if here.chain is not None else phrases.chain.ss58_prefix
    return f"{format_account(inner['id'], prefix)}{beside}"


def say_assets(phrases: Phrases, items: Any, here: NamedPlace) -> str:
    """Return a list of assets as amounts, the first few of many."""
    if not items:
        return "no assets"
    said = [_asset(phrases, item, here) for item in items[:_SHOWN]]
    left = len(items) - len(said)
    return " and ".join(said) + (f" and {left} more asset{'s' * (left != 1)}" if left else "")


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
    """Return which assets a filter lets through."""
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
    words = WORDS.get(name)
    left = phrases.budget.left
    if words is not None:
        try:
            return words(phrases, fields, here)
        except MISFITS:
            phrases.budget.left = left
    return f"runs {name}"


def _moves(how: str) -> "Words":
    return lambda phrases, fields, here: f"{how} {say_assets(phrases, fields, here)}"


def _deposit(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    receiver = say_receiver(phrases, fields["beneficiary"], here)
    return f"deposits {_filter(phrases, fields['assets'], here)} for {receiver}"


def _transfer(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    receiver = say_receiver(phrases, fields["beneficiary"], here)
    return f"transfers {say_assets(phrases, fields['assets'], here)} to {receiver}"


def _onward(how: str, place: str) -> "Words":
    def say(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
        assets = fields["assets"]
        named = (
            say_assets(phrases, assets, here) if isinstance(assets, list) else _filter(phrases, assets, here)
        )
        there = say_place(phrases, fields[place], here)
        return f"{how.format(named, there.name)}, which does {say_program(phrases, fields['xcm'], there)}"

    return say


def _initiate_transfer(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    there = say_place(phrases, fields["destination"], here)
    fees = fields["remote_fees"]
    said = []
    for item in [*fields["assets"], *([fees] if fees is not None else [])]:
        ((kind, assets),) = item.items()
        role = " for fees" if item is fees else ""
        said.append(f"{_filter(phrases, assets, here)}{role} ({kind})")
    what = " and ".join(said) or "no assets"
    return f"sends {what} to {there.name}, which does {say_program(phrases, fields['remote_xcm'], there)}"


def _pays(field: str, what: str) -> "Words":
    return lambda phrases, fields, here: f"pays up to {_asset(phrases, fields[field], here)} for {what}"


def _exchange(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    given, wanted = _filter(phrases, fields["give"], here), say_assets(phrases, fields["want"], here)
    return f"exchanges {given} for at least {wanted}"


def _transact(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    call = fields["call"]
    encoded = call["encoded"] if isinstance(call, Mapping) else call
    kind = _plain(fields["origin_kind"])
    said = say_encoded(phrases, encoded, here.chain, here.name)
    return f"runs on {here.name} as {kind} (Transact) the call {said}"


def say_encoded(phrases: Phrases, data: bytes, chain: "Chain | None", name: str = "") -> str:
    """Return what the encoded call *data* does on *chain*, in brackets; on another chain, by which runtime it was read."""
    table = None if chain is None else phrases.tables(chain)
    if chain is None or table is None:
        where = chain.name if chain is not None else name
        return f"[{len(data)} bytes that are not decoded, as the runtime of {where} is not known]"
    inside = phrases.within(chain)
    if not phrases.budget.spend():
        return f"[{len(data)} bytes that are not shown]"
    try:
        call = table.decode_call(data)
    except InvalidRequest:
        return f"[{len(data)} bytes that are not a call of {table}]"
    said = f"[{inside.say(inside, call)}]"
    # A chain that isn't asked may have a newer runtime, to which the bytes mean something else.
    return said if chain.name == phrases.chain.name else f"{said}, as {table} reads it"


def _claim(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    return f"claims {say_assets(phrases, fields['assets'], here)}"


def _later(when: str) -> "Words":
    return lambda phrases, fields, here: f"{when} does {say_program(phrases, fields, here)}"


def _with_origin(phrases: Phrases, fields: Any, here: NamedPlace) -> str:
    descendant = fields["descendant_origin"]
    place = write_location({"parents": 0, "interior": descendant}) if descendant is not None else ""
    who = (
        f"as {place} within its origin" if place else "as an account within its origin" if descendant else ""
    )
    return f"{who or 'without an origin'} does {say_program(phrases, fields['xcm'], here)}"


def _plain(value: Any) -> str:
    return (
        value if isinstance(value, str) else "/".join(map(str, value)) if isinstance(value, Mapping) else "?"
    )


Words = Callable[[Phrases, Any, NamedPlace], str]

#: Instruction -> how it is said; the others are named.
WORDS: Mapping[str, Words] = {
    "WithdrawAsset": _moves("withdraws"),
    "ReserveAssetDeposited": _moves("takes as backed by its origin"),
    "ReceiveTeleportedAsset": _moves("takes as teleported"),
    "BurnAsset": _moves("burns"),
    "DepositAsset": _deposit,
    "TransferAsset": _transfer,
    "DepositReserveAsset": _onward("sends {} to {} over the reserve here", "dest"),
    "TransferReserveAsset": _onward("sends {} to {} over the reserve here", "dest"),
    "InitiateReserveWithdraw": _onward("sends {} back to the reserve on {}", "reserve"),
    "InitiateTeleport": _onward("teleports {} to {}", "dest"),
    "InitiateTransfer": _initiate_transfer,
    "BuyExecution": _pays("fees", "execution"),
    "PayFees": _pays("asset", "fees"),
    "ExchangeAsset": _exchange,
    "Transact": _transact,
    "ClaimAsset": _claim,
    "SetAppendix": _later("at its end"),
    "SetErrorHandler": _later("on an error"),
    "ExecuteWithOrigin": _with_origin,
}
