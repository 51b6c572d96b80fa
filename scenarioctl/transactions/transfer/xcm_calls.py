"""Transfers within a chain and between a relay chain, its Asset Hub and its exchange.

To add a route, add a row to ROUTES and its builder.  What has no row is refused: a transfer over the wrong
reserve is accepted by the runtimes, and the backing or the funds are gone.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, read_location
from scenarioctl.errors import InvalidRequest, shorten
from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.model.calls import Call
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.transfer.expected_fees import expected_tolls

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.runtime.table import RuntimeTable

#: The versions of XCM whose shapes are known here.
XCM_VERSIONS = (5, 4, 3)
_OURS = frozenset(XCM_VERSIONS)
#: What runtimes call it: a relay chain the second.
_XCM_PALLETS = ("PolkadotXcm", "XcmPallet")


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """What is asked for."""

    source: "Chain"
    destination: "Chain"
    #: As the source holds it.
    asset: "Asset"
    #: In the smallest unit.
    amount: int
    #: AccountId32 on the destination.
    beneficiary: bytes
    #: Of XCM; None: the highest that both runtimes know.
    xcm_version: int | None = None


def build_transfer(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    registry: "Registry",
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    last_hop_fee: int | None = None,
    native_fee: int = 0,
    fee_accepted: bool = False,
) -> Draft:
    """Return the call that makes *transfer*, on the runtime *table* of its source.

    XCM is written in the highest version that both runtimes know, unless the transfer names one; without
    *destination_table* the source's word counts.  *last_hop_fee* is what the last hop of a route over the Asset
    Hub may cost, raw: measured by whoever can ask a chain, else half of the amount is set aside for it.
    InvalidRequest says why a transfer cannot be made safely.
    """
    _check_transfer(transfer)
    if transfer.source.name == transfer.destination.name:
        if transfer.xcm_version is not None:
            raise InvalidRequest(
                f"xcm_version {transfer.xcm_version} goes with a transfer between two chains, expected none within {transfer.source.name}"
            )
        return _transfer_within(transfer, table)
    fee_settled = native_fee > 0 or fee_accepted
    route = find_route(transfer, registry, assets, fee_settled=fee_settled)
    hop = _Hop(
        transfer=transfer,
        table=table,
        version=choose_xcm_version(transfer, table, destination_table),
        hub_id=_para_id(registry.sibling(transfer.source, "asset_hub")),
        last_hop_fee=last_hop_fee,
        native_fee=native_fee,
    )
    draft = route(hop)
    warnings = _warn(
        transfer,
        assets,
        destination_table,
        tolls=_tolls(transfer, registry),
        last_hop_fee=last_hop_fee,
        fee_settled=fee_settled,
    )
    return Draft(call=draft.call, warnings=(*draft.warnings, *warnings))


def build_candidates(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    registry: "Registry",
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
    native_fee: int = 0,
) -> tuple[Draft, ...]:
    """Return the calls that might make a transfer which `build_transfer` refuses; none for most.

    None of them is safe: some succeed on the source and lose the money.  Only a dry run of every hop that ends in
    the beneficiary's credit may open one.
    """
    _check_transfer(transfer)
    source, destination = transfer.source, transfer.destination
    hub = registry.sibling(source, "asset_hub")
    roles = (source.role, destination.role)
    if hub is None or hub.name not in (source.name, destination.name) or roles not in _CANDIDATES:
        return ()
    held = transfer.asset if source.role == "dex" else assets.counterpart(transfer.asset, destination)
    if held is None or held.kind != "native":
        return ()
    version = choose_xcm_version(transfer, table, destination_table)
    there = hub if source.role == "dex" else destination
    place = f"1/Parachain({_para_id(there)})"
    drafts = []
    for transfer_type in _CANDIDATES[roles]:
        for fee in (0, native_fee) if native_fee and source.role == "dex" else (0,):
            hop = _Hop(
                transfer=transfer,
                table=table,
                version=version,
                hub_id=_para_id(hub),
                last_hop_fee=None,
                native_fee=fee,
            )
            drafts.append(_type_and_then(hop, place, transfer_type, hop.deposit))
    return tuple(drafts)


def last_hop(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    registry: "Registry",
    assets: "Assets",
    destination_table: "RuntimeTable | None" = None,
) -> dict[str, Any] | None:
    """Return the message of the last hop of a route over the Asset Hub, to be weighed; None for the other routes."""
    if transfer.source.name == transfer.destination.name:
        return None
    route = find_route(transfer, registry, assets)
    if route not in _WITH_LAST_HOP:
        return None
    hop = _Hop(
        transfer=transfer,
        table=table,
        version=choose_xcm_version(transfer, table, destination_table),
        hub_id=_para_id(registry.sibling(transfer.source, "asset_hub")),
        last_hop_fee=None,
    )
    down = route is _dex_to_relay
    place = "0/Here" if down else "1/Here"
    incoming = {
        "ReceiveTeleportedAsset" if down else "ReserveAssetDeposited": [hop.asset(place, transfer.amount)]
    }
    message = [incoming, "ClearOrigin", *_pay_and_deposit(hop, place, transfer.amount), _TOPIC]
    return hop.versioned(message)


def native_fee_message(
    transfer: Transfer,
    table: "RuntimeTable",
    *,
    registry: "Registry",
    destination_table: "RuntimeTable | None" = None,
) -> dict[str, Any]:
    """Return the message in which an asset reaches the Asset Hub with the relay's asset beside it, to be weighed."""
    hub = registry.sibling(transfer.source, "asset_hub")
    hop = _Hop(
        transfer=transfer,
        table=table,
        version=choose_xcm_version(transfer, table, destination_table),
        hub_id=_para_id(hub),
        last_hop_fee=None,
        native_fee=1,
    )
    name = absolute(transfer.asset.place, transfer.source.para_id)
    own = f"Parachain({hop.hub_id})/"
    there = f"0/{name.removeprefix(own)}" if name.startswith(own) else f"1/{name}"
    brought = _in_order([(_RELAY, 1), (there, transfer.amount)])
    incoming = {"WithdrawAsset": [hop.asset(place, amount) for place, amount in brought]}
    return hop.versioned([incoming, "ClearOrigin", *_pay_and_deposit(hop, _RELAY, 1), _TOPIC])


def find_route(
    transfer: Transfer, registry: "Registry", assets: "Assets", *, fee_settled: bool = False
) -> "Callable[[_Hop], Draft]":
    """Return the builder of *transfer*'s route, after the gate: InvalidRequest says why there is none.

    With *fee_settled* it is known what pays the fee on the Asset Hub.
    """
    source, destination = transfer.source, transfer.destination
    hub = check_ends(transfer, registry)
    origin = origin_of(transfer.asset, source, hub)
    route = ROUTES.get((source.role, destination.role, origin))
    if route is None:
        raise _refuse(transfer, _reason(transfer, origin, hub, registry))
    if (source.role, destination.role, origin) == ("dex", "asset_hub", "hub") and not fee_settled:
        counterpart = assets.counterpart(transfer.asset, destination)
        if counterpart is not None and counterpart.pays_fees is False:
            raise _refuse(
                transfer,
                f"{hub.name} takes no fees in {counterpart.label}, so the whole transfer would be trapped there",
            )
    return route


def check_way(transfer: Transfer, registry: "Registry", assets: "Assets") -> None:
    """Refuse a transfer that no runtime could make safely, before one is asked for."""
    _check_transfer(transfer)
    if transfer.source.name != transfer.destination.name:
        find_route(transfer, registry, assets, fee_settled=True)


def check_ends(transfer: Transfer, registry: "Registry") -> "Chain":
    """Return the Asset Hub of two chains between which some assets go; InvalidRequest if none do."""
    source, destination = transfer.source, transfer.destination
    if source.role not in _ROUTED or destination.role not in _ROUTED:
        raise _refuse(
            transfer, "routes are known only between a relay chain, its Asset Hub and its exchange chain"
        )
    if not source.relay or source.relay != destination.relay:
        raise _refuse(
            transfer,
            f"they are not under one relay chain ({source.name} is under {source.relay or 'none'}, {destination.name} under {destination.relay or 'none'}), and no bridge is used here",
        )
    hub = registry.sibling(source, "asset_hub")
    if hub is None:
        raise _refuse(transfer, f"no Asset Hub of {source.relay} is in the registry")
    for chain in (source, destination):
        # Two of them under one relay: the messages would go to the first.
        if chain.role == "asset_hub" and chain.name != hub.name:
            raise _refuse(transfer, f"the Asset Hub of {chain.relay} is {hub.name}, not {chain.name}")
    return hub


def origin_of(asset: "Asset", chain: "Chain", hub: "Chain") -> str:
    """Return whose asset it is, by its location on *chain*: `relay`, `hub` (trust-backed), `dex`, or `other`."""
    place = asset.place
    if not place:
        return "unknown"
    if chain.role == "relay":
        return "relay" if place == "0/Here" else "other"
    if place == "1/Here":
        return "relay"
    own = "0/" if chain.role == "asset_hub" else f"1/Parachain({hub.para_id})/"
    if place.startswith(f"{own}PalletInstance(50)/GeneralIndex("):
        return "hub"
    if chain.role == "dex" and place.startswith("0/"):
        return "dex"
    return "other"


def choose_xcm_version(
    transfer: Transfer, table: "RuntimeTable", destination_table: "RuntimeTable | None" = None
) -> int:
    """Return the highest version of XCM that is known here and to both runtimes, or the one that *transfer* names."""
    known = known_xcm_versions(table) & _OURS
    if destination_table is not None:
        known &= known_xcm_versions(destination_table)
    if not known:
        raise _refuse(
            transfer, "their runtimes have no version of XCM in common that is known here (3, 4 or 5)"
        )
    wanted = transfer.xcm_version
    if wanted is None:
        return max(known)
    if wanted not in known:
        raise InvalidRequest(
            f"xcm_version {wanted} is not known to both {transfer.source.name} and {transfer.destination.name}, expected one of: {', '.join(map(str, sorted(known)))}"
        )
    return wanted


class _Hop:
    """A transfer that passed the gate, with what its builder needs."""

    def __init__(
        self,
        *,
        transfer: Transfer,
        table: "RuntimeTable",
        version: int,
        hub_id: int,
        last_hop_fee: int | None,
        native_fee: int = 0,
    ) -> None:
        self.transfer = transfer
        self.table = table
        self.version = version
        self.hub_id = hub_id
        self.last_hop_fee = last_hop_fee
        self.native_fee = native_fee

    def location(self, text: str) -> Any:
        return shape_location(read_location(text), self.version)

    def versioned_location(self, text: str) -> Any:
        return self.versioned(self.location(text))

    def versioned(self, value: Any) -> dict[str, Any]:
        return {f"V{self.version}": value}

    def asset(self, place: str, amount: int) -> dict[str, Any]:
        return {"id": self.asset_id(place), "fun": {"Fungible": amount}}

    def asset_id(self, place: str) -> Any:
        location = self.location(place)
        return {"Concrete": location} if self.version == 3 else location

    def versioned_asset_id(self, place: str) -> Any:
        return self.versioned(self.asset_id(place))

    @property
    def beneficiary(self) -> Any:
        account = {"AccountId32": {"network": None, "id": self.transfer.beneficiary}}
        return shape_location({"parents": 0, "interior": {"X1": [account]}}, self.version)

    @property
    def deposit(self) -> dict[str, Any]:
        assets = _all_counted(2 if self.native_fee else 1)
        return {"DepositAsset": {"assets": assets, "beneficiary": self.beneficiary}}

    @property
    def asset_place(self) -> str:
        return self.transfer.asset.place


def _all_counted(count: int) -> dict[str, Any]:
    """Return the filter of all that has arrived: of one asset, or of two."""
    return {"Wild": {"AllCounted": count}}


def _teleport(hop: _Hop) -> Draft:
    """Relay and Asset Hub trust each other to burn here and mint there."""
    down = hop.transfer.source.role == "relay"
    pallet = _xcm_pallet(hop, "limited_teleport_assets")
    arguments = {
        "dest": hop.versioned_location(f"0/Parachain({hop.hub_id})" if down else "1/Here"),
        "beneficiary": hop.versioned(hop.beneficiary),
        "assets": hop.versioned([hop.asset(hop.asset_place, hop.transfer.amount)]),
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    return Draft(call=Call(pallet=pallet, method="limited_teleport_assets", args=arguments))


def _hub_to_dex(hop: _Hop) -> Draft:
    """The Asset Hub is the reserve of the relay's asset and of its own."""
    return _type_and_then(
        hop, f"1/Parachain({_para_id(hop.transfer.destination)})", "LocalReserve", hop.deposit
    )


def _dex_to_hub(hop: _Hop) -> Draft:
    return _type_and_then(hop, f"1/Parachain({hop.hub_id})", "DestinationReserve", hop.deposit)


def _dex_to_relay(hop: _Hop) -> Draft:
    """Out of the reserve on the Asset Hub, and from there a teleport, in one signature."""
    fee, warning = _last_hop_fee(hop)
    onward = {
        "InitiateTeleport": {
            "assets": _all_counted(1),
            "dest": hop.location("1/Here"),
            "xcm": _pay_and_deposit(hop, "0/Here", fee),
        }
    }
    draft = _type_and_then(hop, f"1/Parachain({hop.hub_id})", "DestinationReserve", onward)
    return Draft(call=draft.call, warnings=warning)


def _relay_to_dex(hop: _Hop) -> Draft:
    """A teleport to the Asset Hub, and there into the exchange's reserve account, in one signature."""
    fee, warning = _last_hop_fee(hop)
    onward = {
        "DepositReserveAsset": {
            "assets": _all_counted(1),
            "dest": hop.location(f"1/Parachain({_para_id(hop.transfer.destination)})"),
            "xcm": _pay_and_deposit(hop, "1/Here", fee),
        }
    }
    draft = _type_and_then(hop, f"0/Parachain({hop.hub_id})", "Teleport", onward)
    return Draft(call=draft.call, warnings=warning)


def _type_and_then(hop: _Hop, dest: str, transfer_type: str, onward: Mapping[str, Any]) -> Draft:
    method = "transfer_assets_using_type_and_then"
    sent = [(hop.asset_place, hop.transfer.amount)]
    fee_place, fee_type = hop.asset_place, transfer_type
    if hop.native_fee:
        sent = _in_order([*sent, (_RELAY, hop.native_fee)])
        fee_place, fee_type = _RELAY, "DestinationReserve"
    arguments = {
        "dest": hop.versioned_location(dest),
        "assets": hop.versioned([hop.asset(place, amount) for place, amount in sent]),
        "assets_transfer_type": transfer_type,
        "remote_fees_id": hop.versioned_asset_id(fee_place),
        "fees_transfer_type": fee_type,
        "custom_xcm_on_dest": hop.versioned([onward]),
        "weight_limit": "Unlimited",
    }
    return Draft(call=Call(pallet=_xcm_pallet(hop, method), method=method, args=arguments))


def _in_order(assets: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return an asset and the relay's in the order of their locations: XCM takes them in no other."""
    return sorted(assets, key=lambda item: (item[0].partition("/")[0], item[0] != _RELAY))


def _pay_and_deposit(hop: _Hop, place: str, fee: int) -> list[dict[str, Any]]:
    buy = {"BuyExecution": {"fees": hop.asset(place, fee), "weight_limit": "Unlimited"}}
    return [buy, hop.deposit]


def _last_hop_fee(hop: _Hop) -> tuple[int, tuple[str, ...]]:
    """Return what the last hop may cost.  Too little is TooExpensive there, more than arrives NotHoldingFees."""
    transfer = hop.transfer
    if hop.last_hop_fee is not None:
        return hop.last_hop_fee, ()
    decimals = transfer.source.decimals if transfer.asset.decimals is None else transfer.asset.decimals
    symbol = transfer.asset.display_name
    way = f"{transfer.source.name} to {transfer.destination.name}"
    if transfer.amount < 10**decimals:
        raise InvalidRequest(
            f"amount {to_whole(transfer.amount, decimals)} {symbol} is too little for {way} without asking a chain for the last hop's fee, expected at least 1 {symbol}"
        )
    fee = transfer.amount // 2
    return fee, (
        f"{way} goes through the Asset Hub in one signature; offline, half of the amount ({to_whole(fee, decimals)} {symbol}) is set aside for the last hop's fee, and what is left of it arrives with the rest",
    )


#: (source's role, destination's role, whose asset) -> how it is sent.
ROUTES: Mapping[tuple[str, str, str], Callable[[_Hop], Draft]] = {
    ("relay", "asset_hub", "relay"): _teleport,
    ("asset_hub", "relay", "relay"): _teleport,
    ("asset_hub", "dex", "relay"): _hub_to_dex,
    ("asset_hub", "dex", "hub"): _hub_to_dex,
    ("dex", "asset_hub", "relay"): _dex_to_hub,
    ("dex", "asset_hub", "hub"): _dex_to_hub,
    ("dex", "relay", "relay"): _dex_to_relay,
    ("relay", "dex", "relay"): _relay_to_dex,
}
_ROUTED = ("relay", "asset_hub", "dex")
#: Those that cross the Asset Hub: what the last hop may cost is taken out of the amount, which can be too little for it.
_WITH_LAST_HOP = (_dex_to_relay, _relay_to_dex)
#: (source's role, destination's role) -> the ways in which the exchange's own asset might go, none known to arrive.
_CANDIDATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("dex", "asset_hub"): ("Teleport", "LocalReserve"),
    ("asset_hub", "dex"): ("Teleport", "DestinationReserve"),
}
#: The relay's asset, as a parachain sees it.
_RELAY = "1/Here"
#: Every message ends in one: the router sets it, and it weighs something.
_TOPIC = {"SetTopic": bytes(32)}

#: An asset's kind -> the call that moves it within its chain without killing the sender's account, and how its
#: arguments are called: (pallet, method, id, receiver, amount).
_WITHIN: Mapping[str, tuple[str, str, str, str, str]] = {
    "native": ("Balances", "transfer_keep_alive", "", "dest", "value"),
    "assets": ("Assets", "transfer_keep_alive", "id", "target", "amount"),
    "foreign": ("ForeignAssets", "transfer_keep_alive", "id", "target", "amount"),
    "tokens": ("Tokens", "transfer_keep_alive", "currency_id", "dest", "amount"),
    # Balances that a contract keeps: no pallet of theirs has a keep-alive form.
    "erc20": ("Currencies", "transfer", "currency_id", "dest", "amount"),
}


def _transfer_within(transfer: Transfer, table: "RuntimeTable") -> Draft:
    asset, chain = transfer.asset, transfer.source
    pallet, method, id_name, receiver_name, amount_name = _WITHIN[asset.kind]
    if not table.has_call(pallet, method):
        raise InvalidRequest(
            f"{asset.display_name} cannot be sent within {chain.name}: its runtime {table.spec_name} {table.spec_version} has no {pallet}.{method}"
        )
    arguments: dict[str, Any] = {
        receiver_name: account_argument(table, pallet, method, receiver_name, transfer.beneficiary),
        amount_name: transfer.amount,
    }
    if asset.kind == "foreign":
        path = table.types[_argument_type(table, pallet, method, id_name)][0]
        arguments[id_name] = shape_location(
            read_location(asset.place), 3 if "::v3::" in path else XCM_VERSIONS[0]
        )
    elif id_name:
        arguments[id_name] = int(asset.id)
    warnings = []
    if asset.kind == "erc20":
        warnings.append(
            f"{asset.display_name} is held by a contract and sent by Currencies.transfer, which has no keep-alive form: keep some {chain.symbol} for fees"
        )
    deposit = _existential_deposit(asset, table)
    if deposit is not None and transfer.amount < deposit:
        warnings.append(
            f"the amount is below the existential deposit of {_say(deposit, asset)} on {chain.name}: an account that holds none of it yet cannot receive it"
        )
    return Draft(call=Call(pallet=pallet, method=method, args=arguments), warnings=tuple(warnings))


def account_argument(table: "RuntimeTable", pallet: str, method: str, name: str, account: bytes) -> Any:
    """Return *account* as the call wants it: a MultiAddress, or (on Hydration) the bare AccountId32."""
    variants = table.variants(_argument_type(table, pallet, method, name))
    return {"Id": account} if "Id" in variants else account


def _argument_type(table: "RuntimeTable", pallet: str, method: str, name: str) -> int:
    for field in table.call_fields(pallet, method):
        if field.name == name:
            return field.type_id
    raise InvalidRequest(
        f"{pallet}.{method} of {table.spec_name} {table.spec_version} has no argument {name}"
    )


def _check_transfer(transfer: Transfer) -> None:
    if not 0 < transfer.amount <= U128_MAX:
        raise InvalidRequest(
            f"amount {shorten(transfer.amount)} cannot be sent, expected from 1 to 2^128 - 1 smallest units"
        )
    if len(transfer.beneficiary) != 32:
        raise InvalidRequest(
            f"beneficiary {shorten(transfer.beneficiary)} is not an AccountId32, expected 32 bytes"
        )
    if transfer.asset.chain != transfer.source.name:
        raise InvalidRequest(
            f"asset {transfer.asset.label} is of {transfer.asset.chain}, expected one of {transfer.source.name}, from where it is sent"
        )


def _refuse(transfer: Transfer, reason: str) -> InvalidRequest:
    asset = transfer.asset
    what = asset.display_name
    return InvalidRequest(
        f"{what} cannot be sent from {transfer.source.name} to {transfer.destination.name}: {reason}"
    )


def _reason(transfer: Transfer, origin: str, hub: "Chain", registry: "Registry") -> str:
    source, destination, asset = transfer.source, transfer.destination, transfer.asset
    relay = registry.relay_of(source)
    if origin == "unknown":
        return f"where it lives is not known, expected a location in [[chains.{source.name}.assets]]"
    if destination.role == "relay":
        return f"{destination.name} holds only {destination.symbol}"
    if source.role == destination.role:
        return f"no route is known between two chains of the role {source.role}"
    dex = source if source.role == "dex" else destination
    if origin == "dex" and destination.role == "asset_hub":
        if asset.kind == "native":
            return f"{hub.name} does not accept {source.name} as its reserve, so the transfer would leave {source.name} and be lost on arrival (UntrustedReserveLocation), and {source.name} allows no teleport of it"
        return f"{source.name} backs it, and nothing that {source.name} backs is known to arrive on {hub.name} (its {source.symbol} is lost there: UntrustedReserveLocation)"
    if source.role == "asset_hub" and f"Parachain({dex.para_id})/" in asset.place:
        return f"{dex.name} backs it, and no way back from {hub.name} is known to arrive"
    symbol = relay.symbol if relay is not None else "the relay's asset"
    return f"its reserve is neither {hub.name} nor the relay chain, and a transfer over any other reserve would put its backing in the wrong place (only {symbol} and assets of {hub.name} are sent)"


def _warn(
    transfer: Transfer,
    assets: "Assets",
    destination_table: "RuntimeTable | None",
    *,
    tolls: tuple[int, int] | None,
    last_hop_fee: int | None = None,
    fee_settled: bool = False,
) -> tuple[str, ...]:
    source, destination, asset = transfer.source, transfer.destination, transfer.asset
    warnings = []
    counterpart = assets.counterpart(asset, destination)
    deposit = None if counterpart is None else _existential_deposit(counterpart, destination_table)
    # What arrives is the amount less fees that only a chain can tell exactly.
    least = 2 * (deposit or 0)
    if tolls is not None:
        between, last = tolls
        least = between + max(last, last_hop_fee or 0) + (deposit or 0)
    if counterpart is not None and deposit is not None and transfer.amount < least:
        what = "the amount is" if transfer.amount < deposit else "less the fees on the way, the amount can be"
        warnings.append(
            f"{what} below the existential deposit of {_say(deposit, counterpart)} on {destination.name}: what arrives can be lost without a trace"
        )
    if counterpart is None:
        warnings.append(
            f"{destination.name} is not known to list asset {asset.label} of {source.name}: where it does not, what is sent is trapped there"
        )
    if source.role == "asset_hub":
        much = "about 0.1 DOT" if source.symbol == "DOT" else f"a little {source.symbol}"
        warnings.append(
            f"delivery is paid in {source.symbol} on {source.name}: keep {much} there beside the amount, without it the transfer fails (FeesNotMet)"
        )
    own_fee = source.role == "dex" and destination.role == "asset_hub" and asset.place != _RELAY
    if own_fee and not fee_settled:
        name = asset.display_name
        warnings.append(
            f"{destination.name} takes its fee for this in {name} itself, which works only while it accepts {name} for fees: where it does not, the transfer is trapped there"
        )
    return tuple(warnings)


def _tolls(transfer: Transfer, registry: "Registry") -> tuple[int, int] | None:
    """Return about what is taken out of the amount, by chains between and by the last one; None if that is not known."""
    source = transfer.source
    relay, hub = registry.relay_of(source), registry.sibling(source, "asset_hub")
    if relay is None or hub is None:
        return None
    origin = origin_of(transfer.asset, source, hub)
    return expected_tolls(relay.symbol, source.role, transfer.destination.role, origin)


def _existential_deposit(asset: "Asset", table: "RuntimeTable | None") -> int | None:
    """Return the smallest balance, from the runtime where it says so."""
    if asset.kind == "native" and table is not None:
        with suppress(InvalidRequest):
            constant = table.constant("Balances", "ExistentialDeposit")
            if isinstance(constant, int):
                return constant
    return asset.existential_deposit


def _say(raw: int, asset: "Asset") -> str:
    return asset.amount(raw)


def _xcm_pallet(hop: _Hop, method: str) -> str:
    """Return what this runtime calls the pallet that has *method*."""
    for pallet in _XCM_PALLETS:
        if hop.table.has_call(pallet, method):
            return pallet
    raise _refuse(
        hop.transfer, f"the runtime {hop.table.spec_name} {hop.table.spec_version} has no call {method}"
    )


def known_xcm_versions(table: "RuntimeTable") -> frozenset[int]:
    """Return the versions of VersionedLocation, which `limited_teleport_assets` takes on every chain with XCM."""
    for pallet in _XCM_PALLETS:
        if table.has_call(pallet, "limited_teleport_assets"):
            names = table.variants(_argument_type(table, pallet, "limited_teleport_assets", "dest"))
            return frozenset(int(name[1:]) for name in names if name[1:].isdigit())
    return frozenset()


def shape_location(location: dict[str, Any], version: int) -> dict[str, Any]:
    """Return *location* as *version* writes it: X1 is a list since V4."""
    inner = location["interior"]
    if version == 3 and isinstance(inner, dict) and "X1" in inner:
        return {"parents": location["parents"], "interior": {"X1": inner["X1"][0]}}
    return location


def _para_id(chain: "Chain | None") -> int:
    if chain is None or chain.para_id is None:
        raise InvalidRequest(
            f"{chain.name if chain else 'the Asset Hub'} has no para_id in the registry, a transfer to it cannot be addressed"
        )
    return chain.para_id
