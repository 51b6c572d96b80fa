"""Parts of texts for calls that no text alone can tell: what they hold decides what they do."""

from collections.abc import Callable, Mapping
from typing import Any

from scenarioctl.transactions.call_kinds import Danger, call_kinds
from scenarioctl.transactions.inner_calls import DISPATCH_PRECOMPILE, decoded_call
from scenarioctl.transactions.wording.phrases import GrantedRight, NoPhrase, Phrases
from scenarioctl.transactions.wording.sentences import fill, find_value, say_program
from scenarioctl.transactions.xcm_instructions import kind_of, read_instruction

#: Before the number of an asset in its address on Hydration, …
_ASSET = bytes(15) + b"\1"
#: … which these functions of ERC-20 are called at, with an account and an amount.
_TRANSFER, _APPROVE = bytes.fromhex("a9059cbb"), bytes.fromhex("095ea7b3")
_ERC20 = 4 + 32 + 32
#: Filters that let all of a single asset through.
_EVERYTHING = ({"Wild": "All"}, {"Wild": {"AllCounted": 1}})


def _is_plain(args: Mapping[str, Any]) -> bool:
    return not (args["value"] or args["access_list"] or args["authorization_list"])


def _dispatched(phrases: Phrases, args: Mapping[str, Any]) -> str:
    """Return the call that the EVM hands to the precompile that dispatches calls."""
    table = phrases.tables(phrases.chain)
    is_call = table is not None and decoded_call(args["input"], table) is not None
    if not (_is_plain(args) and args["target"] == DISPATCH_PRECOMPILE and is_call):
        raise NoPhrase
    return fill(phrases, "{encoded:input}", args)


def _erc20(phrases: Phrases, args: Mapping[str, Any]) -> str:
    """Return what a call of an asset's own contract does."""
    target, data = args["target"], args["input"]
    if not (_is_plain(args) and target[:16] == _ASSET and len(data) == _ERC20 and not any(data[4:16])):
        raise NoPhrase
    who, amount = data[16:36], phrases.amount(int.from_bytes(data[36:]), int.from_bytes(target[16:]))
    if data[:4] == _TRANSFER:
        phrases.story.note(Danger.MONEY)
        return f"transfers {amount} to 0x{who.hex()} on {phrases.here}, through the EVM"
    if data[:4] == _APPROVE:
        right = f"lets 0x{who.hex()} transfer up to {amount} of the signer to anyone from now on, on {phrases.here}"
        phrases.story.grants(GrantedRight(sentence=right, accounts=frozenset((who,))))
        return right
    raise NoPhrase


def _sent_by_type(phrases: Phrases, args: Mapping[str, Any]) -> str:
    """Return what a transfer does whose ways of the assets and of the fees are chosen apart."""
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
    kind = kind_of(name)
    if not isinstance(fields, Mapping) or fields.get("assets") not in _EVERYTHING:
        return ""
    if kind.pays:
        return f" for {phrases.receiver(fields[kind.pays])}"
    match kind.arrives_as, fields.get(kind.program):
        case "ReceiveTeleportedAsset" | "ReserveAssetDeposited", [{"BuyExecution": _}, *rest]:
            last = phrases.at(fields[kind.onward])
            way = (
                "by teleport" if kind.arrives_as == "ReceiveTeleportedAsset" else f"reserve on {phrases.here}"
            )
            then = _onward(last, rest)
            return f" and on to {last.here} ({way}){then}" if then else ""
    return ""


def _trade(method: str) -> Callable[[Phrases, Any], str]:
    """Return how an order of the router is written that has the fields of its trade *method*."""
    return lambda phrases, order: fill(phrases, call_kinds()["Router", method].words[0], order)


PARTS: Mapping[str, Callable[..., str]] = {
    "dispatched": _dispatched,
    "erc20": _erc20,
    "sent_by_type": _sent_by_type,
    "sale": _trade("sell"),
    "purchase": _trade("buy"),
}
