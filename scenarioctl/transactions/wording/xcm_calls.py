"""Words for the calls that send assets or programs to other chains.  To word another one, add a row to WORDS."""

from collections.abc import Mapping
from typing import Any

from scenarioctl.chains.locations import interior, junctions_of
from scenarioctl.transactions.wording.phrases import MISFITS, NoPhrase, Phrases, Words
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

#: Filters that let all of a single asset through.
_EVERYTHING = ({"Wild": "All"}, {"Wild": {"AllCounted": 1}})


def _here(phrases: Phrases) -> NamedPlace:
    return NamedPlace(phrases.chain, phrases.chain.name)


def _send_assets(way: str) -> Words:
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
    bridged = there.chain is not None and there.chain.relay != phrases.chain.relay
    over = " over the bridge" if bridged else ""
    sent = f"sends {what} from {here.name}{over} to {there.name} ({how})"
    try:
        if plain and len(program) == 1:
            return sent + _onward(phrases, program[0], there)
    except MISFITS:
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


def _tokens(phrases: Phrases, amount: Any, location: Any) -> str:
    """Return the words of a transfer over XTokens, whose destination is chain and account in one location."""
    here = _here(phrases)
    location = unversioned(location)
    *chain, account = junctions_of(location)
    there = say_place(phrases, {"parents": location["parents"], "interior": interior(chain)}, here)
    receiver = say_receiver(phrases, {"parents": 0, "interior": {"X1": [account]}}, there)
    return f"sends {amount} from {here.name} to {there.name} for {receiver}"


def _currency(phrases: Phrases, args: Mapping[str, Any]) -> str:
    amount = phrases.listed(args["amount"], args["currency_id"])
    if "fee" in args:
        amount += f" and {phrases.listed(args['fee'], args['currency_id'])} for fees"
    return _tokens(phrases, amount, args["dest"])


def _currencies(phrases: Phrases, args: Mapping[str, Any]) -> str:
    amount = " and ".join(phrases.listed(value, number) for number, value in args["currencies"])
    return _tokens(phrases, amount, args["dest"])


def _multiassets(phrases: Phrases, args: Mapping[str, Any]) -> str:
    items = unversioned(args["assets"]) if "assets" in args else [unversioned(args["asset"])]
    amount = say_assets(phrases, items, _here(phrases))
    if "fee" in args:
        amount += f" and {say_assets(phrases, [unversioned(args['fee'])], _here(phrases))} for fees"
    return _tokens(phrases, amount, args["dest"])


#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
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
    ("OrmlXcm", "send_as_sovereign"): _send,
    ("XTokens", "transfer"): _currency,
    ("XTokens", "transfer_with_fee"): _currency,
    ("XTokens", "transfer_multicurrencies"): _currencies,
    ("XTokens", "transfer_multiasset"): _multiassets,
    ("XTokens", "transfer_multiasset_with_fee"): _multiassets,
    ("XTokens", "transfer_multiassets"): _multiassets,
}
