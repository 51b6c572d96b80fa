"""Transfers whose form depends on what the chains say now: what a hop costs, and in what it can be paid.

Here too the routes open that only a dry run of every hop may open.  What asks the chains is imported where it does: most
transfers have one form, and need none of it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.amounts import to_whole
from scenarioctl.transactions.drafts import Draft
from scenarioctl.transactions.transfer.bridges import is_bridged
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import make_plan
from scenarioctl.transactions.transfer.request import BelowLeast, Transfer, refusal
from scenarioctl.transactions.transfer.routes import candidate_routes, find_route, teleport_asked_for
from scenarioctl.transactions.transfer.ways import (
    Route,
    came_over_bridge,
    pays_with_itself,
    resolve,
)
from scenarioctl.transactions.transfer.xcm_calls import arriving_message, build_candidate
from scenarioctl.transactions.transfer.xcm_versions import choose_xcm_version

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.model.checks import Check
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.runtime_api import Clients

#: How many times what goes along to pay a fee is what the fee would be now: prices may rise until it is taken.
_MARGIN = 2


@dataclass(frozen=True, kw_only=True)
class Form:
    """One of the calls that might make a transfer which only a check opens."""

    draft: "Draft"
    #: Says what leaves beside the amount.
    notes: tuple[str, ...] = ()


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
    notes: tuple[str, ...] = ()
    #: Whether the asset is known to keep an account on the destination alive by itself.
    sufficient: bool = False
    #: Why a form that might have arrived could not be tried, if there is one, and whether a chain failed to tell.
    untried: str = ""
    is_untold: bool = False

    async def build(self, sender: bytes | None = None) -> "Draft":
        """Return the call; only with a *sender* may something of theirs go along to pay a fee.

        ChainUnreachable where a price or a reserve that it needs could not be asked for.
        """
        await self._check_reserves()
        return await self._build_form(sender)

    async def build_accepted(self) -> "Draft":
        """Return the call; BelowLeast if too little arrives for a receiver who isn't known to hold the asset."""
        try:
            return await self.build()
        except BelowLeast:
            if not await self._receiver_holds():
                raise
        self.transfer = replace(self.transfer, receiver_holds=True)
        return await self.build()

    async def _receiver_holds(self) -> bool:
        from scenarioctl.transactions.simulation.balances import existential_deposit, free_balance
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive

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
            from scenarioctl.transactions.simulation.reserves import check_configured_reserves

            await check_configured_reserves(self.clients, each, self.assets.registry)

    async def _build_form(self, sender: bytes | None) -> "Draft":
        if is_bridged(self.transfer):
            return await self._build_over_bridge(sender)
        if self.transfer.remote_fee_asset is not None:
            find_route(self.transfer, self.assets, fee_settled=True)
            return await self._build_with_remote_fee(sender)
        if not self.transfer.is_local:
            route = find_route(self.transfer, self.assets, fee_settled=False)
            if route.needs_last_hop_fee:
                table = await self._destination_table()
                # A check, and the largest amount, are refused offline.
                advice = "; --offline sets half of the amount aside for it" if sender is None else ""
                fee = await self._quote_last_hop(route, advice=advice)
                return self._build(destination_table=table, last_hop_fee=fee)
            if pays_with_itself(self.transfer):
                return await self._build_with_fee(sender)
        return self._build(destination_table=self.known_destination)

    async def build_checked(self, sender: bytes) -> "tuple[Draft, Check]":
        """Return the call and the verdict on it; where only a dry run may open a route, the first call that passes."""
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
            draft = replace(draft, warnings=self.notes)
        return draft, check

    async def _build_over_bridge(self, sender: bytes | None) -> "Draft":
        route = find_route(self.transfer, self.assets, fee_settled=True)
        if route.goes_home_over_hub:
            if self.transfer.relayer_fee is not None:
                raise refusal(
                    self.transfer,
                    f"relayer_fee is only for transfers from assetHub. Leave it out, or send {self.transfer.asset.display_name} to assetHub first",
                )
            from scenarioctl.transactions.ethereum_over_hub import build_ethereum_transfer_over_hub

            transfer = self.transfer if sender is None else replace(self.transfer, sender=sender)
            return await build_ethereum_transfer_over_hub(self.clients, self.assets, transfer, self.table)
        if self.transfer.relayer_fee is not None:
            from scenarioctl.transactions.relayed_ethereum_transfer import build_relayed_transfer

            return await build_relayed_transfer(self.clients, self.assets, self.transfer, self.table)
        if self.transfer.destination.is_ethereum:
            from scenarioctl.transactions.ethereum_transfer import build_ethereum_transfer

            return await build_ethereum_transfer(
                self.clients, self.assets, self.transfer, self.table, sender=sender
            )
        from scenarioctl.transactions.bridge_transfer import build_bridge_transfer

        return await build_bridge_transfer(
            self.clients, self.assets, self.transfer, self.table, sender=sender
        )

    async def _quote_last_hop(self, route: Route, *, advice: str = "") -> int:
        """Return what to set aside for the last hop, raw; InvalidRequest if the amount is no more than that.

        ChainUnreachable, with *advice*, if a chain doesn't tell.
        """
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive
        from scenarioctl.transactions.simulation.xcm_fees import quote_message

        transfer = self.transfer
        table = await self._destination_table()
        try:
            message = arriving_message(make_plan(transfer, route, self.table, table))
            fee = _MARGIN * await quote_message(self.clients(transfer.destination), message)
        except Inconclusive as problem:
            raise ChainUnreachable(
                f"what the last hop of {transfer.source.name} to {transfer.destination.name} costs could not be asked for ({problem})",
                advice=advice,
            ) from None
        if transfer.amount <= fee:
            raise InvalidRequest(
                field="amount",
                problem=f"{self._say(transfer.amount)} is too little for {transfer.source.name} to {transfer.destination.name}, where {self._say(fee)} is set aside for the last hop's fee alone",
            )
        return fee

    async def _build_with_remote_fee(self, sender: bytes | None) -> "Draft":
        beside = await self._quote_remote_fee(sender)
        draft = self._build(destination_table=await self._destination_table(), beside=beside)
        return replace(draft, warnings=(*draft.warnings, *self.notes))

    async def _quote_remote_fee(self, sender: bytes | None) -> "tuple[Asset, int]":
        """Return the asset that the transfer names, and how much of it goes along and pays; a *sender* must hold it.

        InvalidRequest if the destination takes no fees in it now, ChainUnreachable if it doesn't tell.
        """
        from scenarioctl.transactions.simulation.balances import (
            existential_deposit,
            free_balance,
            is_sufficient,
        )
        from scenarioctl.transactions.simulation.receiver_deposit import receiver_deposit
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive
        from scenarioctl.transactions.simulation.xcm_fees import accepts_fees_in, quote_message

        transfer, destination = self.transfer, self.transfer.destination
        asset = transfer.remote_fee_asset
        arriving = None if asset is None else self.assets.counterpart(asset, destination)
        route = resolve(transfer, self.assets.registry)
        if asset is None or arriving is None or route is None:
            raise RuntimeError(f"the reserve gate let {transfer.asset.label} pass without what pays for it")
        named = f"remote_fee_asset {asset.label}"
        try:
            table = await self._destination_table()
            version = choose_xcm_version(transfer, self.table, table)
            if not await accepts_fees_in(self.clients(destination), version, arriving.location):
                raise InvalidRequest(
                    field=named,
                    problem=f"can't go along: {destination.name} takes no fees in {arriving.display_name} now, so the whole transfer would be trapped there",
                )
            sent = self.assets.counterpart(transfer.asset, destination)
            deposit = 0
            if sent is not None:
                self.sufficient = await is_sufficient(self.clients(destination), sent)
                deposit = await receiver_deposit(
                    self.clients(destination),
                    self.assets,
                    asset=sent,
                    pays=arriving,
                    receiver=transfer.beneficiary,
                )
            message = arriving_message(
                replace(make_plan(transfer, route, self.table, table), beside=(asset, 1))
            )
            fee = _MARGIN * (await quote_message(self.clients(destination), message) + deposit)
            # What is left of it is deposited with the rest, and has to be enough to live on there.
            fee += await existential_deposit(self.clients(destination), arriving)
            held = fee if sender is None else await free_balance(self.clients(transfer.source), asset, sender)
        except Inconclusive as problem:
            raise ChainUnreachable(
                f"how much of {named} pays on {destination.name} could not be asked for ({problem})"
            ) from None
        if held < fee:
            raise InvalidRequest(
                field=named,
                problem=f": {asset.amount(fee)} goes along to pay the fee on {destination.name}, but the sender can spend {asset.amount(held)} on {transfer.source.name}",
            )
        self.notes = (
            f"{asset.amount(fee)} goes along, in addition to the amount, and pays the fee on {destination.name}; what is left of it is the receiver's",
        )
        if deposit:
            self.notes += (
                f"The receiver holds no {transfer.asset.display_name} on {destination.name} yet: it takes a deposit of about {arriving.amount(deposit)} from them for that, in the asset in which they pay fees there. It comes out of what goes along if they have none of their own.",
            )
        return asset, fee

    async def _build_with_fee(self, sender: bytes | None) -> "Draft":
        """Send one asset where the Asset Hub takes its fee in it, else a little of the relay's asset beside it."""
        from scenarioctl.transactions.simulation.balances import free_balance
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive
        from scenarioctl.transactions.simulation.xcm_fees import accepts_fees_in

        transfer = self.transfer
        hub = transfer.destination
        counterpart = self.assets.counterpart(transfer.asset, hub)
        try:
            table = await self._destination_table()
            version = choose_xcm_version(transfer, self.table, table)
            accepted = counterpart is not None and await accepts_fees_in(
                self.clients(hub), version, counterpart.location
            )
            if accepted:
                return self._build(destination_table=table, fee_accepted=True)
            native = self.assets.native(hub)
            what = transfer.asset.display_name
            refusal = f"{what} cannot be sent alone from {transfer.source.name} to {hub.name}: {hub.name} takes no fees in it now, so the whole transfer would be trapped there"
            held = self.assets.at(transfer.source, native.location)
            if held is None:
                raise InvalidRequest(
                    f"{refusal}; {transfer.source.name} lists no {native.symbol} that could pay"
                )
            if sender is None:
                raise InvalidRequest(
                    refusal,
                    advice=f"; with --check and --sender, or with --remote-fee-asset {held.symbol} (remote_fee_asset), a little {held.symbol} of the sender's goes along and pays the fee",
                )
            fee = await self._quote_native_fee(held, table)
            balance = await free_balance(self.clients(transfer.source), held, sender)
            if balance < fee:
                raise InvalidRequest(
                    f"{refusal}; {to_whole(fee, native.decimals or 0)} {native.symbol} beside it would pay, but the sender can spend {to_whole(balance, native.decimals or 0)} on {transfer.source.name}"
                )
        except (Inconclusive, ChainUnreachable):
            # The plain form, and its warning; a check will say what could not be proven.
            return self._build(destination_table=self.known_destination)
        draft = self._build(destination_table=table, beside=(held, fee))
        note = f"{to_whole(fee, native.decimals or 0)} {native.symbol} goes along and pays the fee on {hub.name}, which takes none in {what}; what is left of it is the receiver's"
        self.notes = (note,)
        return replace(draft, warnings=(*draft.warnings, note))

    async def _quote_native_fee(self, held: "Asset", destination_table: "RuntimeTable") -> int:
        """Return how much of the relay's asset pays on the Asset Hub."""
        from scenarioctl.transactions.simulation.balances import existential_deposit
        from scenarioctl.transactions.simulation.xcm_fees import quote_message

        client, native = (
            self.clients(self.transfer.destination),
            self.assets.native(self.transfer.destination),
        )
        deposit = await existential_deposit(client, native)
        plan = make_plan(self.transfer, Route(first="DestinationReserve"), self.table, destination_table)
        message = arriving_message(replace(plan, beside=(held, 1)))
        return _MARGIN * await quote_message(client, message) + deposit

    async def _try_candidates(self, sender: bytes) -> "tuple[Draft, Check] | None":
        from scenarioctl.transactions.simulation.para_ids import check_para_ids
        from scenarioctl.transactions.simulation.reserves import check_trusted_reserve
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive

        routes = candidate_routes(self.transfer, self.assets)
        if not routes:
            return None
        transfer, registry = self.transfer, self.assets.registry
        chains = [transfer.source, *(route.via for route in routes if route.via), transfer.destination]
        try:
            await check_para_ids(self.clients, chains, registry)
            await check_trusted_reserve(self.clients, transfer, routes[0])
        except Inconclusive as problem:
            raise ChainUnreachable(
                f"whether a message would reach {self.transfer.destination.name} from {self.transfer.source.name} could not be asked for ({problem})"
            ) from None
        forms = await self.accepted_forms(await self._forms(sender, routes))
        checks = []
        for form in forms:
            self.notes = form.notes
            check = await self._check(form.draft, sender)
            if check.verdict == "ok":
                return replace(form.draft, warnings=(*form.draft.warnings, *form.notes)), check
            checks.append(check)
        # What is not known of one way keeps all of it open.
        worst = next((check for check in checks if check.verdict == "unknown"), checks[-1])
        form = forms[checks.index(worst)]
        self.notes = form.notes
        reasons = [
            f"as {_say_type(form)}: {reason}"
            for form, check in zip(forms, checks, strict=True)
            for reason in check.reasons
        ]
        if self.untried:
            reasons.append(self.untried)
        verdict = "unknown" if self.is_untold else worst.verdict
        return replace(form.draft, unproven=True), replace(worst, verdict=verdict, reasons=tuple(reasons))

    async def _forms(self, sender: bytes, routes: Sequence[Route]) -> tuple[Form, ...]:
        """Return the calls to try: with the asset that the transfer names to pay, else alone, then with the relay's asset beside it."""
        from scenarioctl.transactions.simulation.balances import free_balance
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive

        transfer = self.transfer
        aside = await self._quote_last_hop(routes[0]) if routes[0].needs_last_hop_fee else None
        if transfer.remote_fee_asset is not None:
            beside = await self._quote_remote_fee(sender)
            drafts = await self._build_candidates(routes, beside, last_hop_fee=aside)
            return tuple(Form(draft=draft, notes=self.notes) for draft in drafts)
        alone = await self._build_candidates(routes, None, last_hop_fee=aside)
        forms = tuple(Form(draft=draft) for draft in alone)
        held = self.assets.at(transfer.source, "1/Here")
        if held is None or not pays_with_itself(transfer):
            return forms
        hub = transfer.destination.name
        try:
            fee = await self._quote_native_fee(held, await self._destination_table())
            balance = await free_balance(self.clients(transfer.source), held, sender)
        except (Inconclusive, ChainUnreachable) as problem:
            self.untried = f"with {held.display_name} beside it: how much of it pays the fee on {hub} could not be asked for ({problem})"
            self.is_untold = True
            return forms
        if balance < fee:
            self.untried = f"with {held.display_name} beside it: {held.amount(fee)} pays the fee on {hub}, but the sender can spend {held.amount(balance)} on {transfer.source.name}"
            return forms
        drafts = await self._build_candidates(routes, (held, fee), last_hop_fee=aside)
        note = (
            f"{held.amount(fee)} goes along and pays the fee on {hub}; what is left of it is the receiver's"
        )
        return (*forms, *(Form(draft=draft, notes=(note,)) for draft in drafts))

    async def _build_candidates(
        self, routes: Sequence[Route], beside: "tuple[Asset, int] | None", *, last_hop_fee: int | None
    ) -> "tuple[Draft, ...]":
        destination_table = self.known_destination
        # Where it can't be asked for, the check says so.
        with suppress(ChainRefused, ChainUnreachable):
            # Fees are quoted in the XCM version that this one knows.
            destination_table = await self._destination_table()
        plans = [make_plan(self.transfer, route, self.table, destination_table) for route in routes]
        calls = [build_candidate(replace(plan, beside=beside, last_hop_fee=last_hop_fee)) for plan in plans]
        return tuple(Draft(call=call, beside=beside) for call in calls)

    async def accepted_forms(self, forms: tuple[Form, ...]) -> tuple[Form, ...]:
        """Return those of *forms* by which the Asset Hub takes a parachain's own asset: by teleport, or over its reserve.

        InvalidRequest if there is none, ChainUnreachable if the Asset Hub doesn't tell.  Dry runs don't tell them apart
        where the parachain accepts both; the backing would end up in the wrong place.
        """
        from scenarioctl.transactions.simulation.reserves import trusts
        from scenarioctl.transactions.simulation.runtime_api import Inconclusive

        transfer = self.transfer
        asked = teleport_asked_for(transfer, self.assets)
        if asked is None:
            return forms
        hub, parachain = asked
        name = transfer.asset.display_name
        try:
            teleports = await trusts(self.clients, transfer, trusting=hub, keeper=parachain, teleported=True)
        except Inconclusive as problem:
            raise ChainUnreachable(
                f"whether {hub.name} takes {name} from {parachain.name} by teleport could not be asked for ({problem})"
            ) from None
        accepted = tuple(form for form in forms if _is_teleport(form.draft) == teleports)
        if not accepted:
            raise refusal(
                transfer,
                f"it goes there only by teleport, and {hub.name} takes {name} from {parachain.name} by no teleport now",
            )
        return accepted

    async def _check(self, draft: "Draft", sender: bytes) -> "Check":
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
            accepts_locked=self.transfer.accept_locked,
        )
        return await simulate(trial)

    def _build(
        self,
        *,
        destination_table: "RuntimeTable | None",
        last_hop_fee: int | None = None,
        beside: "tuple[Asset, int] | None" = None,
        fee_accepted: bool = False,
    ) -> "Draft":
        return build_transfer(
            self.transfer,
            self.table,
            assets=self.assets,
            destination_table=destination_table,
            last_hop_fee=last_hop_fee,
            beside=beside,
            fee_accepted=fee_accepted,
            sufficient=self.sufficient,
        )

    async def _destination_table(self) -> "RuntimeTable":
        return await self.clients(self.transfer.destination).table()

    def _say(self, amount: int) -> str:
        return self.transfer.asset.amount(amount)


def _is_teleport(draft: "Draft") -> bool:
    return bool(draft.call.args["assets_transfer_type"] == "Teleport")


def _say_type(form: Form) -> str:
    kind = "a teleport" if _is_teleport(form.draft) else "a reserve transfer"
    beside = form.draft.beside
    return kind if beside is None else f"{kind} with {beside[0].display_name} beside it"
