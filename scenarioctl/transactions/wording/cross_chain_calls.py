"""Words for the calls that send assets or programs to other chains.  To word another one, add a row: `sentences.py` says how."""

from collections.abc import Mapping
from typing import Any

from scenarioctl.chains.locations import XCM_PALLETS
from scenarioctl.transactions.wording.phrases import Phrases, Words
from scenarioctl.transactions.wording.sentences import fill, find_value, rows, say_program
from scenarioctl.transactions.xcm_instructions import read_instruction

#: Filters that let all of a single asset through.
_EVERYTHING = ({"Wild": "All"}, {"Wild": {"AllCounted": 1}})


def _type_and_then(phrases: Phrases, args: Mapping[str, Any]) -> str:
    items, fees = find_value(args, "assets"), find_value(args, "remote_fees_id")
    there = phrases.at(find_value(args, "dest"))
    program = find_value(args, "custom_xcm_on_dest")
    alike = args["assets_transfer_type"] == args["fees_transfer_type"]
    is_plain = alike and len(items) == 1 and items[0]["id"] == fees
    apart = "" if is_plain else "; fees in {asset:remote_fees_id}, {way:fees_transfer_type,dest}"
    over = " over the bridge" if there.place is not None and there.place.relay != phrases.chain.relay else ""
    sent = f"sends {{assets:assets}} from {{here}}{over} to {{place:dest}} ({{way:assets_transfer_type,dest}}{apart})"
    onward = _onward(there, program) if is_plain else ""
    return fill(phrases, sent, args) + (onward or f", which does {say_program(there, program)}")


def _onward(phrases: Phrases, program: Any) -> str:
    """Return whom a program gives everything, here or further on; nothing for one that does anything else."""
    if len(program) != 1:
        return ""
    name, fields = read_instruction(program[0])
    match name, fields:
        case "DepositAsset", {"assets": what, "beneficiary": receiver} if what in _EVERYTHING:
            return f" for {phrases.receiver(receiver)}"
        case (
            "InitiateTeleport" | "DepositReserveAsset",
            {"assets": what, "dest": place, "xcm": [{"BuyExecution": _}, *rest]},
        ) if what in _EVERYTHING:
            last = phrases.at(place)
            way = "by teleport" if name == "InitiateTeleport" else f"reserve on {phrases.here}"
            then = _onward(last, rest)
            return f" and on to {last.here} ({way}){then}" if then else ""
    return ""


_XCM = "|".join(XCM_PALLETS)
_SENDS = "{assets:assets} from {here} to {place:dest}%s for {receiver:beneficiary,dest}"
_PROGRAM = "sends an XCM program from {here} to {place:dest}: {program:message,dest}"
_TOKENS = "from {here} to {receiver:dest}"
#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    **{(pallet, "transfer_assets_using_type_and_then"): _type_and_then for pallet in XCM_PALLETS},
    **rows(
        {
            f"{_XCM}.teleport_assets|limited_teleport_assets": "teleports " + _SENDS % "",
            f"{_XCM}.reserve_transfer_assets|limited_reserve_transfer_assets": "sends "
            + _SENDS % " over their reserve",
            f"{_XCM}.transfer_assets": "sends " + _SENDS % "",
            f"{_XCM}.execute": "executes an XCM program on {here}: {program:message}",
            f"{_XCM}.send": _PROGRAM,
            f"{_XCM}.claim_assets": "claims {assets:assets} that were trapped on {here} for {receiver:beneficiary}",
            "OrmlXcm.send_as_sovereign": _PROGRAM,
            "XTokens.transfer": f"sends {{amount:amount,currency_id}} {_TOKENS}",
            "XTokens.transfer_with_fee": f"sends {{amount:amount,currency_id}} and {{amount:fee,currency_id}} for fees {_TOKENS}",
            "XTokens.transfer_multicurrencies": f"sends {{currencies:currencies}} {_TOKENS}",
            "XTokens.transfer_multiasset": f"sends {{item:asset}} {_TOKENS}",
            "XTokens.transfer_multiasset_with_fee": f"sends {{item:asset}} and {{item:fee}} for fees {_TOKENS}",
            "XTokens.transfer_multiassets": f"sends {{assets:assets}} {_TOKENS}",
        }
    ),
}
