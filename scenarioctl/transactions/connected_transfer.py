"""Transfers on connected chains: gate, plan, prices, call, check; and the most that can be sent.

Here too the routes open that only a dry run of every hop may open.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from scenarioctl.chains.confirmation import say_alone
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.transactions.balances import Figures, read_holdings
from scenarioctl.transactions.bridge_prices import BridgePricing
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.simulation.arrival import delivery_fees
from scenarioctl.transactions.simulation.costs import dispatch_info
from scenarioctl.transactions.simulation.dry_run import DryRunResult, try_call
from scenarioctl.transactions.simulation.fees import convert_fee, fee_currency
from scenarioctl.transactions.simulation.reserves import (
    check_configured_reserves,
    check_para_ids,
    check_trusted_reserve,
    trusts,
)
from scenarioctl.transactions.simulation.runtime_api import (
    Inconclusive,
    asset_at,
    existential_deposit,
    free_balance,
)
from scenarioctl.transactions.transfer.build import build_transfer, draft_plan
from scenarioctl.transactions.transfer.plan import Plan, build_candidate, make_plan
from scenarioctl.transactions.transfer.request import (
    BelowLeast,
    Transfer,
    check_request,
    is_bridged,
    refusal,
)
from scenarioctl.transactions.transfer.routes import (
    candidate_routes,
    find_route,
    teleport_asked_for,
)
from scenarioctl.transactions.transfer.ways import UNLISTED, came_over_bridge, pays_with_itself
from scenarioctl.transactions.transfer_prices import MORE_IF_CONVERTED, Pricing, asking, more

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.model.checks import Check
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.runtime_api import Clients


@dataclass(kw_only=True)
class TransferBuilder:
    """Builds one transfer on connected chains."""

    clients: "Clients"
    assets: "Assets"
    transfer: Transfer
    #: Of the source.
    table: "RuntimeTable"
    #: What is known of the destination's table without asking.
    known_destination: "RuntimeTable | None"
    #: What the transaction names to pay its own fee; None for the native asset.
    fee_asset: "Asset | None" = None

    async def build(self, sender: bytes | None = None) -> Draft:
        """Return the call; only with a *sender* may something of theirs go along to pay a fee.

        ChainUnreachable where a price or a reserve that it needs could not be asked for.
        """
        await self._check_reserves()
        return await self._build_form(sender)

    async def build_accepted(self) -> Draft:
        """Return the call; BelowLeast if too little arrives for a receiver who isn't known to hold
        the asset."""
        try:
            return await self.build()
        except BelowLeast:
            if not await self._receiver_holds():
                raise
        self.transfer = replace(self.transfer, receiver_holds=True)
        return await self.build()

    async def _receiver_holds(self) -> bool:
        transfer = self.transfer
        arriving = self.assets.counterpart(transfer.asset, transfer.destination)
        if arriving is None:
            return False
        client = self.clients(transfer.destination)
        try:
            deposit = await existential_deposit(client, arriving)
            return await free_balance(client, arriving, transfer.beneficiary) >= deposit
        except (Inconclusive, ChainUnreachable, ChainRefused):
            return False

    async def _check_reserves(self) -> None:
        transfer, pays = self.transfer, self.transfer.remote_fee_asset
        alone = () if pays is None else (replace(transfer, asset=pays, remote_fee_asset=None),)
        for each in (transfer, *alone):
            if each.is_local or not (is_bridged(each) or came_over_bridge(each)):
                continue
            await check_configured_reserves(self.clients, each, self.assets.registry)

    async def _build_form(self, sender: bytes | None) -> Draft:
        if self.transfer.is_local:
            return build_transfer(self.transfer, self.table, assets=self.assets)
        return draft_plan(await self._plan(sender), self.assets)

    async def _plan(self, sender: bytes | None = None) -> Plan:
        transfer = self.transfer
        check_request(transfer)
        # What pays there is asked for, or known of a route with one form.
        is_asked = is_bridged(transfer) or transfer.remote_fee_asset is not None
        route = find_route(transfer, self.assets, fee_settled=is_asked)
        if is_asked or route.needs_last_hop_fee or pays_with_itself(transfer):
            return await self.pricing(sender).price(route)
        return make_plan(transfer, route, self.table, self.known_destination)

    def pricing(self, sender: bytes | None = None) -> Pricing:
        """Return what asks the chains on the way for their prices."""
        kind = BridgePricing if is_bridged(self.transfer) else Pricing
        return kind(
            clients=self.clients,
            assets=self.assets,
            transfer=self.transfer,
            table=self.table,
            known_destination=self.known_destination,
            sender=sender,
        )

    async def build_checked(self, sender: bytes) -> "tuple[Draft, Check]":
        """Return the call and the verdict on it; where only a dry run may open a route, the first
        call that passes."""
        await self._check_reserves()
        # What arrives is what the check tells.
        self.transfer = replace(self.transfer, accept_loss=True)
        try:
            draft = await self._build_form(sender)
        except InvalidRequest:
            found = await self._try_candidates(sender)
            if found is None:
                raise
            return found
        check = await self._check(draft, sender)
        if check.verdict == "ok":
            # What might have gone wrong was tried, and did not.
            draft = replace(draft, warnings=draft.notes)
        return draft, check

    async def _try_candidates(self, sender: bytes) -> "tuple[Draft, Check] | None":
        routes = candidate_routes(self.transfer, self.assets)
        if not routes:
            return None
        transfer, registry = self.transfer, self.assets.registry
        source, destination = transfer.source, transfer.destination
        chains = [source, *(route.via for route in routes if route.via), destination]
        with asking(f"whether a message would reach {destination.title} from {source.title}"):
            await check_para_ids(self.clients, chains, registry)
            await check_trusted_reserve(self.clients, transfer, routes[0])
        pricing = self.pricing(sender)
        plans = await self.accepted_plans(await pricing.price_ways(routes))
        tried = []
        for plan in plans:
            draft = Draft(call=build_candidate(plan), warnings=plan.notes, beside=plan.beside)
            check = await self._check(draft, sender)
            if check.verdict == "ok":
                return draft, check
            tried.append((plan, draft, check))
        # What is not known of one way keeps all of it open.
        _, draft, worst = next((each for each in tried if each[2].verdict == "unknown"), tried[-1])
        reasons = [
            f"as {'a teleport' if plan.route.is_teleport else 'a reserve transfer'}"
            f"{f' with {plan.beside[0].display_name} beside it' if plan.beside else ''}: {reason}"
            for plan, _, check in tried
            for reason in check.reasons
        ]
        if pricing.untried:
            reasons.append(pricing.untried)
        verdict = "unknown" if pricing.is_untold else worst.verdict
        unproven = replace(draft, warnings=(), unproven=True)
        return unproven, replace(worst, verdict=verdict, reasons=tuple(reasons))

    async def accepted_plans(self, plans: "Sequence[Plan]") -> "Sequence[Plan]":
        """Return those of *plans* by which the Asset Hub takes a parachain's own asset: by
        teleport, or over its reserve.

        InvalidRequest if there is none, ChainUnreachable if the Asset Hub doesn't tell.  Dry runs
        don't tell them apart where the parachain accepts both; the backing would end up in the
        wrong place.
        """
        transfer = self.transfer
        asked = teleport_asked_for(transfer, self.assets)
        if asked is None:
            return plans
        hub, parachain = asked
        name = transfer.asset.display_name
        with asking(f"whether {hub.title} takes {name} from {parachain.title} by teleport"):
            teleports = await trusts(
                self.clients, transfer, trusting=hub, keeper=parachain, teleported=True
            )
        accepted = [plan for plan in plans if plan.route.is_teleport == teleports]
        if not accepted:
            raise refusal(
                transfer,
                (
                    f"it goes there only by teleport, and {hub.title} takes {name} from "
                    f"{parachain.title} by no teleport now"
                ),
            )
        return accepted

    async def _check(self, draft: Draft, sender: bytes) -> "Check":
        from scenarioctl.transactions.simulation.simulate import simulate
        from scenarioctl.transactions.simulation.trial import Trial

        trial = Trial(
            clients=self.clients,
            assets=self.assets,
            chain=self.transfer.source,
            transfer=self.transfer,
            call=draft.call,
            sender=sender,
            beside=draft.beside,
            fee_asset=self.fee_asset,
        )
        return await simulate(trial)


#: A larger amount may be a byte longer, and cost more: so often the costs are asked for again.
_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class Maximum:
    """The largest amount, and how it was found."""

    #: In the smallest unit.
    amount: int
    note: str
    #: How many endpoints gave it, and of which chains only one told.
    asked: Literal[1, 2] = 1
    alone: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self.note, *say_alone(self.alone)


async def find_maximum(
    builder: TransferBuilder, sender: bytes, *, pays_fee: bool = True
) -> Maximum:
    """Return the most of its asset that the transfer of *builder* can send for *sender*; its own
    amount doesn't count.

    Unless the sender *pays_fee*, somebody else signs for them, as a proxy or a signatory, and pays
    the fee. What stays is decided by `transfer.allow_death`.  InvalidRequest if nothing can be
    sent, ChainRefused if the chain refuses the transfer itself, ChainUnreachable if it doesn't tell
    what that takes.
    """
    transfer = builder.transfer
    asset, source = transfer.asset, transfer.source
    if asset.kind == UNLISTED:
        raise InvalidRequest(
            field="amount",
            problem=(
                f"max of {asset.display_name} is unknown: {source.title} is not known to list "
                "it. Pass an amount"
            ),
        )
    figures, stopped = await _read_figures(builder, sender)
    budget = figures.transferable if transfer.allow_death else figures.transferable_keep_alive
    if not budget:
        held = f"the sender holds no {asset.display_name} on {source.title}"
        if figures.free:
            held = (
                f"all of the sender's {asset.amount(figures.free)} on {source.title} has to "
                "stay there"
            )
        advice = (
            "With `allow_death`, the account need not stay alive." if figures.transferable else ""
        )
        raise InvalidRequest(
            field="amount", problem=f"max is nothing: {stopped or held}", advice=advice
        )
    # Between chains, what delivery takes has to be left.
    amount = budget if transfer.is_local else max(budget // 2, 1)
    for _ in range(_ROUNDS):
        tried = amount
        costs = await _costs(
            replace(builder, transfer=replace(transfer, amount=amount)), sender, pays_fee=pays_fee
        )
        amount = budget - costs
        if amount <= 0:
            raise InvalidRequest(
                field="amount",
                problem=(
                    f"max is nothing: the sender can send {asset.amount(budget)} on "
                    f"{source.title}, and the fees are {asset.amount(costs)}"
                ),
            )
        if amount == tried:
            break
    amount = min(amount, tried)
    note = _describe(transfer, figures, amount, budget - amount)
    return Maximum(amount=amount, note=note if pays_fee else f"{note}; the signer pays the fee")


async def _read_figures(builder: TransferBuilder, sender: bytes) -> tuple[Figures, str]:
    """Return what *sender* holds of the asset, and why none of it can be sent if the asset or the
    account is frozen."""
    asset = builder.transfer.asset
    client = builder.clients(builder.transfer.source)
    found = await read_holdings(client, builder.assets, sender, only=asset)
    holding = next(each for each in found.holdings if each.asset.id == asset.id)
    figures = holding.figures
    if figures is None or figures.transferable is None or figures.transferable_keep_alive is None:
        raise ChainUnreachable(
            f"amount max of {asset.display_name} on {client.chain.title} is unknown: "
            f"{holding.reason}"
        )
    return figures, holding.reason


async def _costs(builder: TransferBuilder, sender: bytes, *, pays_fee: bool) -> int:
    """Return what the chain takes of the asset for the transfer beside its amount: the fee, if the
    sender *pays_fee*, and delivery."""
    transfer, assets, fee_asset = builder.transfer, builder.assets, builder.fee_asset
    client = builder.clients(transfer.source)
    # The largest amount is looked for; whether it is enough is judged when it is found.
    call = (await replace(builder, transfer=replace(transfer, accept_loss=True)).build(sender)).call
    try:
        costs = 0
        currency = await fee_currency(client, assets, call, sender, fee_asset) if pays_fee else None
        if currency is not None and currency.asset.id == transfer.asset.id:
            info = await dispatch_info(client, call, sender, fee_asset)
            costs = await convert_fee(client, currency, int(info["partial_fee"]))
            if currency.asset.kind != "native":
                costs = more(costs, MORE_IF_CONVERTED)
        if not transfer.is_local:
            hop = await try_call(builder.clients, assets.registry, transfer.source, call, sender)
            _require_success(hop)
            native = assets.native(transfer.source)
            for message in hop.sent:
                for fee in await delivery_fees(client, message):
                    asset = asset_at(assets, transfer.source, fee.identity) or native
                    costs += fee.amount if asset.id == transfer.asset.id else 0
    except Inconclusive as problem:
        raise ChainUnreachable(
            f"amount max can't be computed: {problem}", advice="Pass an amount."
        ) from None
    return costs


def _require_success(hop: DryRunResult) -> None:
    if hop.failure:
        raise ChainRefused(hop.failure)
    if hop.unknown:
        raise Inconclusive(hop.unknown)


def _describe(transfer: Transfer, figures: Figures, amount: int, costs: int) -> str:
    asset = transfer.asset
    # A fee that is converted may take less than what is kept for it.
    is_estimate = bool(costs) and asset.kind != "native"
    said = f"amount max is {asset.amount(amount)}"
    if costs:
        fees = asset.amount(costs)
        said += f", with {fees} kept for fees" if is_estimate else f", after {fees} for fees"
    stays = figures.free - amount - costs
    if stays:
        return f"{said}; {'at least ' if is_estimate else ''}{asset.amount(stays)} stays"
    if transfer.allow_death and not is_estimate:
        return (
            f"{said}; the sender's account "
            f"{'' if asset.kind == 'native' else 'of this asset '}is closed by it"
        )
    return said
