"""The reserve gate: which way a transfer takes from chain to chain, and whether it may.

A transfer over the wrong reserve is accepted by the runtimes, and the tokens or their backing are
gone.  So a transfer is built only if all of these hold (`find_route`):

1. The trust facts of both runtimes (`chains/trust.py`) allow a way from the source to the
   destination, directly or over the asset's reserve (`resolve`).
2. The table of routes (`ways.py`) has a row for this source, destination and asset, and it
   names the same way.
3. The destination is known to hold the asset.
4. The row opens `always`, not only by a check.
5. What goes along to pay on the destination has such a route of its own, and goes the same way
   (`_check_remote_fee`).

To add a route, add its facts and its proof to `tools/curate_routes.py`, and run it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import across, seen_from
from scenarioctl.chains.registry import closed_parachain
from scenarioctl.chains.trust import (
    HYDRATION_PARA_ID,
    HYDRATION_SPEC_NAME,
    JUDGED_ROLES,
    ExecutionFees,
    accepts_reserve,
    is_judged_by_runtime,
    refused_because,
    teleport_decided_by,
    trust_of,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.transfer.request import (
    BY_CHECK,
    Transfer,
    check_bridge,
    check_request,
    is_bridged,
    only_connected,
    refusal,
)
from scenarioctl.transactions.transfer.ways import (
    Route,
    TransferType,
    facts_known,
    find_rows,
    identity_of,
    kind_of_chain,
    pays_with_itself,
    reserve_of,
    resolve,
    routes_asked_for,
    same_way,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain, Registry


#: Kinds of two chains -> forms in which the native asset of one might go from the first to the
#: second, none known to arrive.  A check may open them: a dry run of every hop that ends in the
#: beneficiary's credit.
CANDIDATES: Mapping[tuple[str, str], tuple[TransferType, ...]] = {
    ("hydration", "asset_hub"): ("Teleport", "LocalReserve"),
    ("asset_hub", "hydration"): ("Teleport", "DestinationReserve"),
}


def check_route(transfer: Transfer, assets: "Assets") -> None:
    """Refuse a transfer that no runtime could make safely, before a runtime is asked for."""
    check_request(transfer)
    if not transfer.is_local:
        find_route(transfer, assets, fee_settled=True)


def find_route(transfer: Transfer, assets: "Assets", *, fee_settled: bool) -> Route:
    """Return the way of *transfer* between two chains; InvalidRequest says why there is none.

    With *fee_settled* it is known what pays the fee on the destination.
    """
    registry = assets.registry
    hub = check_chains(transfer, registry)
    route = resolve(transfer, registry)
    if route is None or not facts_known(transfer):
        asked = routes_asked_for(transfer, hub, registry)
        reason = _say_unread(transfer, asked) or _explain(transfer, registry)
        tried = asked if is_bridged(transfer) else asked or _candidates(transfer, hub, assets)
        raise refusal(transfer, reason, advice=_advise_check(transfer, tried))
    _check_remote_fee(transfer, route, assets)
    row, by_kind = find_rows(transfer, hub)
    route = replace(route, row=row, fees_as="" if by_kind is None else by_kind.name)
    arriving = assets.counterpart(transfer.asset, transfer.destination)
    _check_row(transfer, route, arriving)
    told_by_state = row is not None and row.opens == "state"
    if not fee_settled and told_by_state:
        reason = (
            f"only a connection to {transfer.source.title} tells what it takes for delivery to "
            f"{transfer.destination.title}"
        )
        raise only_connected(transfer, reason, advice="Use `tx transfer` without `offline`.")
    if fee_settled:
        return route
    if is_bridged(transfer) and pays_with_itself(transfer):
        raise only_connected(
            transfer,
            (
                f"only a connection to {transfer.destination.title} tells what it takes for "
                f"executing the message in {transfer.asset.display_name}"
            ),
        )
    if arriving is not None and arriving.pays_fees is False:
        raise refusal(
            transfer,
            (
                f"{transfer.destination.title} is not known to accept fees in "
                f"{arriving.label}, and would trap the whole transfer if it doesn't"
            ),
            advice=advise_remote_fee(transfer, assets),
        )
    return route


def _check_remote_fee(transfer: Transfer, route: Route, assets: "Assets") -> None:
    """Refuse an asset that goes along to pay, unless it has a route of its own and goes the same
    way as what it pays for."""
    fee_asset, destination = transfer.remote_fee_asset, transfer.destination
    if fee_asset is None:
        return
    named = f"remote_fee_asset {fee_asset.label}"
    alone = replace(transfer, asset=fee_asset, remote_fee_asset=None)
    try:
        fee_route = find_route(alone, assets, fee_settled=False)
    except InvalidRequest as error:
        raise InvalidRequest(field=named, problem=f"can't go along: {error.statement}") from None
    if assets.counterpart(fee_asset, destination) is None:
        raise InvalidRequest(
            field=named, problem=f"can't go along: {destination.title} is not known to list it"
        )
    if route.via is not None or fee_route.way != route.way:
        raise InvalidRequest(
            field=named,
            problem=(
                f"can't go along with {transfer.asset.display_name}: from "
                f"{transfer.source.title} to {destination.title} it goes by {fee_route.way}, "
                f"and {transfer.asset.display_name} by {route.way}"
            ),
            expected="one hop of the same type",
        )


def _may_go_along(transfer: Transfer, assets: "Assets") -> bool:
    """Tell whether what goes along to pay has its route, which no check opens; nothing goes along
    with most."""
    if transfer.remote_fee_asset is None:
        return True
    route = resolve(transfer, assets.registry)
    if route is None:
        return False
    try:
        _check_remote_fee(transfer, route, assets)
    except InvalidRequest:
        return False
    return True


def advise_remote_fee(transfer: Transfer, assets: "Assets") -> str:
    """Return the option by which the relay chain's asset goes along and pays; nothing if it
    can't."""
    native = assets.at(transfer.source, "1/Here")
    if native is None or native.id == transfer.asset.id:
        return ""
    try:
        find_route(replace(transfer, remote_fee_asset=native), assets, fee_settled=True)
    except InvalidRequest:
        return ""
    return (
        f"With `remote_fee_asset` {native.symbol} a little {native.symbol} goes along and pays the "
        "fee there."
    )


def check_chains(transfer: Transfer, registry: "Registry") -> "Chain":
    """Return the Asset Hub of two chains between which some assets go; InvalidRequest if none
    do."""
    source, destination = transfer.source, transfer.destination
    hub = registry.asset_hub(source)
    pays = transfer.remote_fee_asset
    for chain in (source, destination):
        if trust_of(chain) is None:
            asked = () if hub is None else routes_asked_for(transfer, hub, registry)
            if (
                not asked
                and transfer.asset.location
                and is_judged_by_runtime(chain)
                and not is_bridged(transfer)
            ):
                # Why no way is asked for, `find_route` says.
                continue
            raise refusal(
                transfer,
                f"{_say_unknown_facts(chain)}{_say_over(asked)}",
                advice=_advise_check(transfer, asked) or _say_untold(transfer, chain),
            )
    if is_bridged(transfer):
        check_bridge(transfer, registry)
        if pays is not None:
            raise InvalidRequest(
                field="remote_fee_asset",
                problem=(
                    f"{pays.label} is not for transfers over a bridge, where the chains tell "
                    "what pays: leave it out"
                ),
            )
    if hub is None:
        raise refusal(transfer, f"the registry has no Asset Hub of {source.relay}")
    for chain in (source, destination):
        # Two of them under one relay chain: the messages would go to the first.
        if chain.role == "asset_hub" and chain != registry.asset_hub(chain):
            raise refusal(
                transfer, f"the Asset Hub of {chain.relay} is {hub.title}, not {chain.title}"
            )
    return hub


def can_send(asset: "Asset", destination: "Chain", assets: "Assets") -> bool:
    """Tell whether *destination* holds *asset* too, and it can be sent there from its own chain,
    another one."""
    source = assets.registry.find(asset.chain)
    if destination == source or assets.counterpart(asset, destination) is None:
        return False
    beneficiary = bytes(destination.account_format.length)
    transfer = Transfer(
        source=source, destination=destination, asset=asset, amount=1, beneficiary=beneficiary
    )
    try:
        find_route(transfer, assets, fee_settled=True)
    except InvalidRequest:
        return False
    return True


def candidate_routes(transfer: Transfer, assets: "Assets") -> tuple[Route, ...]:
    """Return the ways in which a refused transfer might arrive after all; none for most."""
    hub = assets.registry.asset_hub(transfer.source)
    if hub is None or is_bridged(transfer):
        # No dry run proves what crosses a bridge.
        return ()
    if not _may_go_along(transfer, assets):
        return ()
    route = resolve(transfer, assets.registry) if facts_known(transfer) else None
    if route is not None:
        # A dry run may open a way that the facts allow, if no row contradicts it.
        row, _ = find_rows(transfer, hub)
        opens = row is None or (row.opens == "check" and same_way(row, route))
        return (route,) if opens else ()
    return routes_asked_for(transfer, hub, assets.registry) or _candidates(transfer, hub, assets)


def _candidates(transfer: Transfer, hub: "Chain", assets: "Assets") -> tuple[Route, ...]:
    """Return the ways in CANDIDATES of the native asset of a chain."""
    source, destination = transfer.source, transfer.destination
    held = assets.counterpart(transfer.asset, destination if source == hub else source)
    if held is None or held.kind != "native":
        return ()
    types = CANDIDATES.get((kind_of_chain(source), kind_of_chain(destination)), ())
    return tuple(Route(first=first) for first in types)


def teleport_asked_for(transfer: Transfer, assets: "Assets") -> "tuple[Chain, Chain] | None":
    """Return the Asset Hub that alone knows whether it takes the asset of a parachain by teleport,
    and the parachain.

    None if that is nothing to ask for.
    """
    source, destination = transfer.source, transfer.destination
    hub = assets.registry.asset_hub(source)
    routes = candidate_routes(transfer, assets)
    if hub not in (source, destination) or identity_of(transfer) == "":
        return None
    if not any(route.is_teleport for route in routes):
        return None
    return hub, routes[0].via or (destination if hub == source else source)


def _advise_check(transfer: Transfer, asked: tuple[Route, ...]) -> str:
    """Return how a check tries the ways *asked*; "" if there are none."""
    if not asked:
        return ""
    if transfer.remote_fee_asset is not None:
        # Of what goes along, the way has to be known.
        return "A check can open it only without `remote_fee_asset`."
    return BY_CHECK


def _say_unread(transfer: Transfer, asked: tuple[Route, ...]) -> str:
    """Return that the facts don't say whether runtimes accept the ways *asked*; "" if they say so,
    or there is none."""
    ends = (transfer.source, transfer.destination, *(route.via for route in asked[:1] if route.via))
    unread = [chain.title for chain in ends if is_judged_by_runtime(chain)]
    if not asked or not unread:
        return ""
    several = len(unread) > 1
    return (
        f"not all that {' and '.join(unread)} accept{'' if several else 's'} from other chains "
        f"is known{_say_over(asked)}"
    )


def _say_over(routes: tuple[Route, ...]) -> str:
    """Return over which chain the only way goes; "" if it goes over none."""
    return (
        f", and it goes there only over {routes[0].via.title}" if routes and routes[0].via else ""
    )


def _say_unknown_facts(chain: "Chain") -> str:
    reason = f"the assets that {chain.title} accepts from other chains are not known"
    if chain.role == "dex":
        return (
            f'{reason} (role = "dex" tells them of Hydration only: para_id {HYDRATION_PARA_ID} '
            f'under Polkadot, or spec_name = "{HYDRATION_SPEC_NAME}")'
        )
    return reason


def _say_untold(transfer: Transfer, chain: "Chain") -> str:
    """Return what has to be known before a check can open a transfer of a chain without trust
    facts; "" if nothing helps."""
    if chain.role not in JUDGED_ROLES:
        return ""
    if not chain.genesis:
        return f"Set genesis in [chains.{chain.name}], so that a check can ask its runtime."
    if not transfer.asset.location:
        return (
            f"Set location in [[chains.{transfer.source.name}.assets]], so that a check can ask "
            "its runtime."
        )
    return ""


def _check_row(transfer: Transfer, route: Route, arriving: "Asset | None") -> None:
    """Refuse a way that the table of routes does not have, or that only a check opens."""
    row = route.row
    if row is not None and not same_way(row, route):
        raise refusal(
            transfer, f"its route is {row.way}, but what the runtimes accept is {route.way}"
        )
    if row is not None and row.opens in ("always", "state"):
        # What a state decides is asked where the call is built.
        return
    if is_bridged(transfer):
        raise refusal(
            transfer,
            (
                "fewer than two of the registries of ParaSpell, Parity and Snowbridge have it "
                f"going from {transfer.source.title} to {transfer.destination.title}, so it isn't "
                "known to be registered on both"
            ),
        )
    if arriving is None:
        reason = (
            f"{transfer.destination.title} is not known to list it, and would trap it if it doesn't"
        )
    elif row is not None and row.proof != "none":
        reason = (
            f"only {' and '.join(row.sources)} lists it on both chains, and two sources have "
            "to agree"
        )
    else:
        reason = "no such transfer has been proven to arrive"
    raise refusal(transfer, reason, advice=BY_CHECK)


def _explain(transfer: Transfer, registry: "Registry") -> str:
    """Return why the facts allow no way."""
    source, destination, asset = transfer.source, transfer.destination, transfer.asset
    if not asset.location:
        return f"its location is not known. Set `location` in [[chains.{source.name}.assets]]"
    reserve = reserve_of(transfer, registry)
    sender = source if reserve in (None, destination) or is_bridged(transfer) else reserve
    identity = across(identity_of(transfer), source.consensus, destination.consensus)
    if sender is not None and (
        refused := refused_because(destination, identity, sender, registry, teleported=False)
    ):
        return refused
    if is_bridged(transfer):
        return "neither of the two Asset Hubs accepts the other as its reserve"
    for chain in (source, destination):
        facts = trust_of(chain)
        if facts is not None and facts.partial and not chain.genesis:
            return (
                f"not all that {chain.title} accepts from other chains is "
                f"known. {_say_untold(transfer, chain)}".rstrip(". ")
            )
    sending, receiving = trust_of(source), trust_of(destination)
    holds_only_its_own = (
        receiving is not None
        and receiving.execution_fees is ExecutionFees.NATIVE
        and not receiving.reserves
        and seen_from(identity_of(transfer), destination.para_id) != receiving.native
    )
    if holds_only_its_own:
        return f"{destination.title} holds only {destination.symbol}"
    undecided = teleport_decided_by(destination, identity_of(transfer), source, registry)
    if undecided is not None:
        chain, item = undecided
        return (
            f"it goes there only by teleport, and {chain.title} allows that only if its {item} "
            f"has an entry for {asset.display_name} with teleportable = true, which is not "
            "known here"
        )
    if reserve is None:
        issuer = identity_of(transfer).partition("/")[0]
        if issuer.startswith("Parachain("):
            para_id = int(issuer[len("Parachain(") : -1])
            closed = closed_parachain(source.relay, para_id)
            if closed is not None:
                return f"its reserve is {closed}. Nothing can be sent over it any more"
            return (
                f"its reserve, the parachain {para_id}, is not in the registry. If it still "
                "runs, declare it in [chains.NAME] with genesis, so that a check can ask it"
            )
        return "its reserve is not known, and over a wrong one it would be lost"
    if reserve == source:
        teleport = (
            ""
            if sending is None or sending.sends_teleports
            else f", and {source.title} allows no teleport of it"
        )
        return (
            f"{destination.title} does not accept {source.title} as its reserve, so it would "
            f"be lost on arrival (UntrustedReserveLocation){teleport}"
        )
    if reserve == destination:
        return (
            f"its reserve is {destination.title}, and {source.title} does not accept it from there"
        )
    known = is_judged_by_runtime(source) or accepts_reserve(
        source, identity_of(transfer), reserve, registry
    )
    end = destination if known else source
    return (
        f"its reserve is {reserve.title}, and {reserve.title} and {end.title} are not known to "
        "take it from each other"
    )
