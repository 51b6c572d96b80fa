"""A call in one sentence, for the person who is about to sign it.

Only what is understood whole is worded; for all else the sentence names the call, and the arguments beside it tell.
To word another call, add a row to WORDS.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import write_location
from scenarioctl.errors import shorten
from scenarioctl.model.calls import Call

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain, Registry


class _Unworded(Exception):
    """The call is of a shape that no sentence here describes whole."""


def say_call(call: Call, chain: "Chain", registry: "Registry", assets: "Assets") -> str:
    """Return what *call* does on *chain*: `sells 2 DOT for at least 900 HDX on hydraDx`."""
    words = WORDS.get((call.pallet, call.method))
    if words is not None:
        try:
            return words(_Speaker(chain, registry, assets), call.args)
        except (_Unworded, KeyError, TypeError, ValueError, AttributeError):
            # An argument of another shape than the one that is worded: say no more than is sure.
            pass
    return f"calls {call.pallet}.{call.method} on {chain.name}"


class _Speaker:
    """Words for the parts of calls on one chain."""

    def __init__(self, chain: "Chain", registry: "Registry", assets: "Assets") -> None:
        self.chain = chain
        self.registry = registry
        self.assets = assets

    def amount(self, value: int, asset: "Asset | None") -> str:
        if asset is None:
            return f"{value} smallest units of an asset that is not known here"
        return asset.amount(value)

    def native(self, value: int) -> str:
        return self.amount(value, self.assets.native(self.chain))

    def listed(self, value: int, number: Any) -> str:
        if not isinstance(number, int):
            raise _Unworded
        asset = self.assets.listed(self.chain, number)
        return self.amount(value, asset) if asset else f"{value} smallest units of asset {number}"

    def placed(self, value: int, location: Any) -> str:
        """Return an amount of what lives at *location*, seen from this chain."""
        if not isinstance(value, int):
            raise _Unworded
        place = write_location(location)
        if not place:
            raise _Unworded
        asset = self.assets.at(self.chain, place)
        return self.amount(value, asset) if asset else f"{value} smallest units of the asset at {place}"

    def account(self, value: Any, chain: "Chain | None" = None) -> str:
        """Return the SS58 form of an AccountId32, bare or in a MultiAddress."""
        if isinstance(value, Mapping) and set(value) == {"Id"}:
            value = value["Id"]
        if not isinstance(value, bytes) or len(value) != 32:
            raise _Unworded
        return format_account(value, (chain or self.chain).ss58_prefix)

    def beneficiary(self, location: Any, chain: "Chain") -> str:
        """Return the account that a location names on *chain* itself."""
        interior = location["interior"]["X1"]
        junction = interior[0] if isinstance(interior, list) else interior
        inner = junction["AccountId32"]
        if location["parents"] != 0 or len(junction) != 1 or inner["network"] is not None:
            raise _Unworded
        return self.account(inner["id"], chain)

    def place(self, location: Any, seen_from: "Chain") -> "Chain":
        """Return the chain that a location names, seen from another."""
        text = write_location(location)
        for other in self.registry.all():
            if not other.relay or other.relay != seen_from.relay or other.name == seen_from.name:
                continue
            if other.role == "relay":
                seen = "1/Here"
            else:
                seen = f"{0 if seen_from.role == 'relay' else 1}/Parachain({other.para_id})"
            if seen == text:
                return other
        raise _Unworded

    def one_asset(self, versioned: Any) -> tuple[str, str]:
        """Return what the only asset of an XCM call is in words, and where it lives."""
        items = unversioned(versioned)
        if len(items) != 1:
            raise _Unworded
        identity, amount = items[0]["id"], items[0]["fun"]["Fungible"]
        identity = identity.get("Concrete", identity)
        text = write_location(identity)
        return self.amount(amount, self.assets.at(self.chain, text)), text


#: Filters that let all of a single asset through.
_EVERYTHING = ({"Wild": "All"}, {"Wild": {"AllCounted": 1}})


def unversioned(value: Any) -> Any:
    """Return what a versioned XCM value holds."""
    if len(value) != 1:
        raise _Unworded
    return next(iter(value.values()))


def _balances(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    return f"transfers {speaker.native(args['value'])} to {speaker.account(args['dest'])} on {speaker.chain.name}"


def _assets(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    what = speaker.listed(args["amount"], args["id"])
    return f"transfers {what} to {speaker.account(args['target'])} on {speaker.chain.name}"


def _foreign(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    what = speaker.placed(args["amount"], args["id"])
    return f"transfers {what} to {speaker.account(args['target'])} on {speaker.chain.name}"


def _tokens(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    what = speaker.listed(args["amount"], args["currency_id"])
    return f"transfers {what} to {speaker.account(args['dest'])} on {speaker.chain.name}"


def _teleport(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    there = speaker.place(unversioned(args["dest"]), speaker.chain)
    what, _ = speaker.one_asset(args["assets"])
    receiver = speaker.beneficiary(unversioned(args["beneficiary"]), there)
    return f"teleports {what} from {speaker.chain.name} to {there.name} for {receiver}"


def _type_and_then(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    there = speaker.place(unversioned(args["dest"]), speaker.chain)
    what, place = speaker.one_asset(args["assets"])
    kind = args["assets_transfer_type"]
    fees = unversioned(args["remote_fees_id"])
    if kind != args["fees_transfer_type"] or write_location(fees.get("Concrete", fees)) != place:
        raise _Unworded
    how = {
        "Teleport": "by teleport",
        "LocalReserve": f"reserve on {speaker.chain.name}",
        "DestinationReserve": f"reserve on {there.name}",
    }[kind]
    message = unversioned(args["custom_xcm_on_dest"])
    if len(message) != 1:
        raise _Unworded
    onward = _onward(speaker, message[0], there)
    return f"sends {what} from {speaker.chain.name} to {there.name} ({how}){onward}"


def _onward(speaker: _Speaker, instruction: Any, there: "Chain") -> str:
    ((name, body),) = instruction.items()
    if name == "DepositAsset":
        return f" for {_receiver(speaker, body, there)}"
    ways = {"InitiateTeleport": "by teleport", "DepositReserveAsset": f"reserve on {there.name}"}
    last = speaker.place(body["dest"], there)
    buy, deposit = body["xcm"]
    if body["assets"] not in _EVERYTHING or set(buy) != {"BuyExecution"}:
        raise _Unworded
    return f" and on to {last.name} ({ways[name]}) for {_receiver(speaker, deposit['DepositAsset'], last)}"


def _receiver(speaker: _Speaker, deposit: Any, chain: "Chain") -> str:
    if deposit["assets"] not in _EVERYTHING:
        raise _Unworded
    return speaker.beneficiary(deposit["beneficiary"], chain)


def _omnipool_sell(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    sold = speaker.listed(args["amount"], args["asset_in"])
    least = speaker.listed(args["min_buy_amount"], args["asset_out"])
    return f"sells {sold} for at least {least} on {speaker.chain.name}"


def _router_sell(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    sold = speaker.listed(args["amount_in"], args["asset_in"])
    least = speaker.listed(args["min_amount_out"], args["asset_out"])
    hops = len(args["route"])
    through = f"through {hops} pool{'s' * (hops != 1)}" if hops else "over the route that the chain chooses"
    return f"sells {sold} for at least {least} on {speaker.chain.name}, {through}"


def _remark(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    text = args["remark"]
    shown = shorten(text.decode("utf-8"), 80) if text else "nothing"
    return f"writes {shown} to the history of {speaker.chain.name}"


def _batch(speaker: _Speaker, args: Mapping[str, Any]) -> str:
    said = []
    for each in args["calls"]:
        ((pallet, inner),) = each.items()
        ((method, arguments),) = ({inner: {}} if isinstance(inner, str) else inner).items()
        call = Call(pallet=pallet, method=method, args=arguments or {})
        said.append(say_call(call, speaker.chain, speaker.registry, speaker.assets))
    if not 0 < len(said) <= 5:
        raise _Unworded
    return "; then ".join(said)


Words = Callable[[_Speaker, Mapping[str, Any]], str]

#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("Balances", "transfer_keep_alive"): _balances,
    ("Balances", "transfer_allow_death"): _balances,
    ("Assets", "transfer"): _assets,
    ("Assets", "transfer_keep_alive"): _assets,
    ("ForeignAssets", "transfer"): _foreign,
    ("ForeignAssets", "transfer_keep_alive"): _foreign,
    ("Tokens", "transfer"): _tokens,
    ("Tokens", "transfer_keep_alive"): _tokens,
    ("Currencies", "transfer"): _tokens,
    ("XcmPallet", "limited_teleport_assets"): _teleport,
    ("PolkadotXcm", "limited_teleport_assets"): _teleport,
    ("XcmPallet", "transfer_assets_using_type_and_then"): _type_and_then,
    ("PolkadotXcm", "transfer_assets_using_type_and_then"): _type_and_then,
    ("Omnipool", "sell"): _omnipool_sell,
    ("Router", "sell"): _router_sell,
    ("System", "remark"): _remark,
    ("System", "remark_with_event"): _remark,
    ("Utility", "batch_all"): _batch,
}
