"""Build unsigned transactions, for the steps of a diagram and for operations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from scenarioctl.errors import (
    ChainRefused,
    ChainUnreachable,
    InvalidRequest,
)
from scenarioctl.model.calls import ActedCall, UnsignedTransaction, call_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.confirmation import Confirmed
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.model.checks import Check
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.connected_transfer import Maximum, TransferBuilder
    from scenarioctl.transactions.extrinsic import Draft
    from scenarioctl.transactions.simulation.runtime_api import Clients
    from scenarioctl.transactions.swap.swap_call import RouteHop
    from scenarioctl.transactions.swap.swap_limits import SwapLimits
    from scenarioctl.transactions.transfer.request import Transfer


T = TypeVar("T")

#: Calls of a batch that is made in a thread.
_MANY_CALLS = 50


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """The transaction of a step, and its facts."""

    node: str
    #: `xTransfer`, `swap`, `Remark` or `ChainTx`.
    txtype: str
    #: The id on the source chain; empty where no asset moves.
    asset: str = ""
    #: Whole tokens.
    amount: str = "0"
    #: The same in the smallest unit.
    raw_amount: int = 0
    #: The same as people read it, like `1.5 DOT`; empty if no asset moves, or if its decimals are
    #: unknown.
    human: str = ""
    source_chain: str
    dest_chain: str
    transaction: UnsignedTransaction
    #: What leaves the sender, and what a swap brings; None: nothing, or nothing that is known.
    sent: "Asset | None" = None
    received: "Asset | None" = None
    #: What placeholders of later steps find, like a swap's minimum received; None: nothing.
    data: "Mapping[str, str] | None" = None
    #: Nodes whose transactions have to be in a block before this one, in order.
    after: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Return `polkadot > xTransfer > assetHub`."""
        return f"{self.source_chain} > {self.txtype} > {self.dest_chain}"


async def draft_transfer(
    app: "Application",
    transfer: "Transfer",
    *,
    sender: bytes | None = None,
    fee_asset: "Asset | None" = None,
) -> UnsignedTransaction:
    """Return the transaction of *transfer*.

    With a *sender* it is checked on the chains, with its fee paid in *fee_asset*, and the verdict
    is in its `check`.  InvalidRequest says why where no safe route exists, ChainUnreachable where
    the source has no runtime table.
    """
    from scenarioctl.chains.trust import is_judged_by_runtime
    from scenarioctl.transactions.transfer.build import build_transfer
    from scenarioctl.transactions.transfer.request import check_request
    from scenarioctl.transactions.transfer.routes import candidate_routes, check_chains, check_route

    source, destination = transfer.source, transfer.destination
    if app.acting is not None and sender is not None:
        # What the signer signs is another call, which the chain runs as it would.
        return await check_draft(app, await draft_transfer(app, transfer), sender, fee_asset)
    check_request(transfer)
    if sender is not None and not transfer.is_local:
        # A check may open a route for an asset that has none without it.
        if not candidate_routes(transfer, app.assets):
            check_chains(transfer, app.registry)
        elif app.settings.offline and any(map(is_judged_by_runtime, (source, destination))):
            raise ChainUnreachable(
                (
                    f"whether {destination.title} takes {transfer.asset.display_name} from "
                    f"{source.title} can't be told offline"
                ),
                advice=app.settings.online_advice,
            )
    elif sender is None or not app.settings.offline:
        # A transfer that no runtime could make is refused before a node is asked, and not for the
        # lack of a runtime.
        check_route(transfer, app.assets)
    if transfer.remote_fee_asset is not None and app.settings.offline:
        raise ChainUnreachable(
            (
                f"how much {transfer.remote_fee_asset.display_name} pays the fee on "
                f"{destination.title} can't be told offline"
            ),
            advice=app.settings.online_advice,
        )
    table = await app.runtime(source)
    if app.settings.offline:
        if sender is not None:
            app.client(source)
        known = _known_destination(app, transfer)
        draft = build_transfer(transfer, table, assets=app.assets, destination_table=known)
        return await encode_draft(app, source, table, draft, destination)
    builder = _connect(app, transfer, table, fee_asset)
    if sender is None:
        return await encode_draft(app, source, table, await builder(app.client).build_accepted())
    found = await _confirm_check(app, lambda clients: builder(clients).build_checked(sender))
    return _with_check(await encode_draft(app, source, table, found.answer[0]), found)


def _connect(
    app: "Application", transfer: "Transfer", table: "RuntimeTable", fee_asset: "Asset | None"
) -> "Callable[[Clients], TransferBuilder]":
    """Return what makes the builder of *transfer*, by the clients that it asks with."""
    from scenarioctl.transactions.connected_transfer import TransferBuilder

    known = _known_destination(app, transfer)
    return lambda clients: TransferBuilder(
        clients=clients,
        assets=app.assets,
        transfer=transfer,
        table=table,
        known_destination=known,
        fee_asset=fee_asset,
    )


def _known_destination(app: "Application", transfer: "Transfer") -> "RuntimeTable | None":
    # Only for the versions of XCM that it knows; what is known of it without asking is enough for
    # that.
    return None if transfer.is_local else app.known_runtime(transfer.destination)


def check_death(
    allow_death: bool | None, source: "Chain", destination: "Chain", *, field: str = "allow_death"
) -> None:
    """Refuse a choice that has no effect: what a transfer to another chain leaves is decided by its
    amount alone."""
    if allow_death is not None and source.name != destination.name:
        raise InvalidRequest(
            field=field,
            problem="applies only within a chain, or with amount max",
            expected=(
                f"none between {source.title} and {destination.title}, where the amount alone "
                "decides whether the sender's account is closed"
            ),
        )


async def maximum_of(
    app: "Application", transfer: "Transfer", sender: bytes, fee_asset: "Asset | None" = None
) -> "Maximum":
    """Return the most that *transfer* can send for *sender* now, with its fee paid in *fee_asset*;
    its own amount doesn't count.

    ChainUnreachable if no chain may be asked.
    """
    from scenarioctl.chains.confirmation import confirm
    from scenarioctl.transactions.connected_transfer import find_maximum
    from scenarioctl.transactions.transfer.routes import candidate_routes, check_route

    try:
        check_route(transfer, app.assets)
    except InvalidRequest:
        if transfer.is_local or not candidate_routes(transfer, app.assets):
            raise
        source, destination = transfer.source.title, transfer.destination.title
        raise InvalidRequest(
            field="amount",
            problem=(
                f"max is unknown for {transfer.asset.display_name} from {source} to "
                f"{destination}, which only a check can open: pass an amount"
            ),
        ) from None
    if app.settings.offline:
        raise ChainUnreachable(
            "amount max can't be computed offline: it depends on the sender's balance and on fees",
            advice=app.settings.online_advice,
        )
    mover, pays_fee = app.mover(sender), app.acting is None
    builder = _connect(app, transfer, await app.runtime(transfer.source), fee_asset)
    found = await confirm(
        app.pool,
        lambda clients: find_maximum(builder(clients), mover, pays_fee=pays_fee),
        say=lambda maximum: maximum.note,
    )
    return replace(found.agreed(), asked=found.asked, alone=found.alone)


async def check_draft(
    app: "Application",
    transaction: UnsignedTransaction,
    sender: bytes,
    fee_asset: "Asset | None" = None,
    *,
    confirmed: bool = False,
) -> UnsignedTransaction:
    """Return *transaction* with the verdict on it, were *sender* to sign it and to pay the fee in
    *fee_asset*.

    *confirmed* are receivers that nobody holds the key of, and swaps without protection; doubts of
    its builder were asked there.
    """
    from scenarioctl.transactions.simulation.simulate import simulate
    from scenarioctl.transactions.simulation.trial import Trial

    if transaction.check is not None:
        return transaction
    chain = app.registry.find(transaction.chain)

    async def ask(clients: "Clients") -> "tuple[None, Check]":
        trial = Trial(
            clients=clients,
            assets=app.assets,
            chain=chain,
            call=transaction.call,
            sender=sender,
            fee_asset=fee_asset,
            confirmed=confirmed or bool(transaction.doubts),
        )
        return None, await simulate(trial)

    return _with_check(transaction, await _confirm_check(app, ask))


async def _confirm_check(
    app: "Application", ask: "Callable[[Clients], Awaitable[tuple[T, Check]]]"
) -> "Confirmed[tuple[T, Check]]":
    """Return the draft and the check that *ask* makes; it is made again elsewhere unless nothing
    could be proven."""
    from scenarioctl.chains.confirmation import confirm

    return await confirm(
        app.pool,
        ask,
        decides=lambda found: found[1].verdict != "unknown",
        say=lambda found: str(found[1]),
    )


def _with_check(
    transaction: UnsignedTransaction, found: "Confirmed[tuple[Any, Check]]"
) -> UnsignedTransaction:
    from scenarioctl.chains.confirmation import say_alone
    from scenarioctl.model.checks import Check

    check = replace(found.answer[1], asked=found.asked)
    if found.difference:
        # Nothing of what one of them made up may look like a fact.
        check = Check(
            verdict="unknown", reasons=(found.difference,), warnings=check.warnings, asked=2
        )
    warnings = tuple(dict.fromkeys((*transaction.warnings, *check.warnings)))
    alone = say_alone(found.alone) if check.verdict == "ok" else ()
    notes = tuple(dict.fromkeys((*transaction.notes, *alone)))
    return replace(transaction, check=check, warnings=warnings, notes=notes)


def require_check(transaction: UnsignedTransaction) -> "Check":
    """Return the check of a transaction that was drafted for a sender."""
    if transaction.check is None:
        raise RuntimeError(f"{transaction.call.pallet}.{transaction.call.method} was not checked")
    return transaction.check


def require_ok(check: "Check") -> None:
    """Refuse what a check did not prove: ChainRefused, or ChainUnreachable where it stayed open."""
    reasons = "; ".join(check.reasons)
    if check.verdict == "refused":
        raise ChainRefused(f"the check refuses this transaction: {reasons}")
    if check.verdict != "ok":
        raise ChainUnreachable(
            f"the check could not prove that this transaction does what it should: {reasons}"
        )


async def draft_swap(
    app: "Application",
    *,
    chain: "Chain",
    asset_in: "Asset",
    asset_out: "Asset",
    amount: int,
    bounds: "SwapLimits",
    route: "tuple[RouteHop, ...] | None",
    sender: bytes | None = None,
) -> UnsignedTransaction:
    """Return the transaction that sells *amount* smallest units of *asset_in*, for at least what
    `price_swap` says.

    Offline the minimum of *bounds* is used as it stands.  ChainUnreachable if there is neither a
    minimum nor a chain to quote from.
    """
    from scenarioctl.chains.confirmation import EndpointsDisagree, confirm, say_alone
    from scenarioctl.transactions.swap.swap_call import Swap, build_swap
    from scenarioctl.transactions.swap.swap_limits import PricedSwap, price_swap, price_swap_offline

    swap = Swap(
        chain=chain,
        asset_in=asset_in,
        asset_out=asset_out,
        amount=amount,
        min_amount_out=bounds.minimum or 1,
        route=route,
    )

    async def build(terms: PricedSwap) -> UnsignedTransaction:
        table = await app.runtime(chain)
        draft = build_swap(
            replace(swap, min_amount_out=terms.min_amount_out, route=terms.route), table
        )
        transaction = await encode_draft(app, chain, table, draft, chain)
        return replace(
            transaction,
            warnings=(*transaction.warnings, *terms.warnings),
            doubts=terms.doubts,
            notes=(*transaction.notes, *terms.notes),
        )

    known = app.known_runtime(chain)
    if known is not None:
        # What no quote could mend is refused as such, and not as a chain that was not reached.
        build_swap(swap, known)
    if app.settings.offline:
        if bounds.minimum is None:
            raise ChainUnreachable(
                (
                    f"a swap without a minimum received needs a quote from {chain.title}, "
                    "which can't be asked offline"
                ),
                advice=(
                    "Give the minimum with `min_received`, or in the smallest unit with "
                    "`min_amount_out`."
                ),
            )
        return await build(
            price_swap_offline(
                asset_in=asset_in,
                asset_out=asset_out,
                amount=amount,
                minimum=bounds.minimum,
                route=route,
            )
        )

    async def ask(clients: "Clients") -> PricedSwap:
        return await price_swap(
            clients(chain),
            asset_in=asset_in,
            asset_out=asset_out,
            amount=amount,
            bounds=bounds,
            route=route,
            sender=None if sender is None else app.mover(sender),
        )

    try:
        found = await confirm(
            app.pool, ask, say=lambda terms: "; ".join((*terms.notes, *terms.warnings))
        )
        terms = found.agreed()
    except EndpointsDisagree:
        raise
    except ChainUnreachable as error:
        given = (
            "`offline`"
            if bounds.minimum is not None
            else "`min_received`, or `min_amount_out`, and `offline`"
        )
        raise ChainUnreachable(
            f"a swap is quoted before it is built: {error.statement}",
            advice=f"With {given} it is built without a node.",
        ) from None
    priced = await build(terms)
    return replace(priced, asked=found.asked, notes=(*priced.notes, *say_alone(found.alone)))


async def draft_remark(
    app: "Application", *, chain: "Chain", text: str, plain: bool
) -> UnsignedTransaction:
    """Return the transaction that writes *text* into the history of *chain*."""
    from scenarioctl.transactions.call_builder import build_remark

    draft = build_remark(text, plain=plain)
    return await encode_draft(app, chain, await app.runtime(chain), draft)


async def draft_call(
    app: "Application",
    *,
    chain: "Chain",
    pallet: str,
    method: str,
    params: "Mapping[str, object] | Sequence[object]",
) -> UnsignedTransaction:
    """Return the transaction of any call, its arguments given as text, by name or in their
    order."""
    from scenarioctl.transactions.call_builder import build_call

    table = await app.runtime(chain)
    return await encode_draft(app, chain, table, build_call(pallet, method, params, table))


async def draft_claim(
    app: "Application", *, chain: "Chain", pallet: str, assets: Any, beneficiary: bytes
) -> UnsignedTransaction:
    """Return the transaction that claims *assets*, a VersionedAssets, from the asset trap of
    *chain*."""
    from scenarioctl.transactions.extrinsic import Draft
    from scenarioctl.transactions.transfer.plan import build_claim

    draft = Draft(call=build_claim(chain, pallet, assets, beneficiary))
    return await encode_draft(app, chain, await app.runtime(chain), draft)


async def draft_batch(
    app: "Application", *, chain: "Chain", kind: str, calls: "Sequence[Call]"
) -> UnsignedTransaction:
    """Return the transaction that runs *calls*, read by the chain's runtime, in one batch."""
    from scenarioctl.transactions.call_builder import build_batch

    table = await app.runtime(chain)
    return await encode_draft(app, chain, table, build_batch(kind, calls, table))


async def draft_calls(
    app: "Application",
    *,
    chain: "Chain",
    kind: str,
    calls: "Sequence[Call]",
    warnings: tuple[str, ...] = (),
) -> UnsignedTransaction:
    """Return the transaction that runs *calls*: one alone as it is, several in one batch of this
    *kind*."""
    from scenarioctl.transactions.call_builder import join_calls

    table = await app.runtime(chain)
    is_long = len(calls) > _MANY_CALLS
    draft = (
        await app.aside(join_calls, kind, calls, table)
        if is_long
        else join_calls(kind, calls, table)
    )
    return await encode_draft(
        app, chain, table, replace(draft, warnings=(*warnings, *draft.warnings))
    )


async def encode_draft(
    app: "Application", chain: "Chain", table: "RuntimeTable", draft: "Draft", *others: "Chain"
) -> UnsignedTransaction:
    """Return the transaction of *draft*: what its sender signs, or what another one signs who acts
    for them.

    *others* are the chains with whose facts it was built, beside the runtime table.
    """
    from scenarioctl.transactions.extrinsic import check_length

    aged = app.warn_of_old_facts(chain, table, *others)
    acted = await act_as(app, chain, table, draft.call)
    call_data = table.encode_call(acted.call)
    check_length(len(call_data))
    made, account = call_data, None
    if app.acting is not None:
        made, account = table.encode_call(draft.call), app.acting.account
    return UnsignedTransaction(
        chain=chain.name,
        call=acted.call,
        call_data=call_data,
        key=call_key(made, account),
        spec_version=table.spec_version,
        offline=app.settings.offline,
        warnings=(*draft.warnings, *acted.warnings, *app.runtime_warnings(chain, table), *aged),
        notes=acted.notes,
        beside="" if draft.beside is None else draft.beside[0].amount(draft.beside[1]),
        unproven=draft.unproven,
    )


async def act_as(
    app: "Application", chain: "Chain", table: "RuntimeTable", call: "Call"
) -> ActedCall:
    """Return what the signer of *call* sends: the call itself, or what `acting.act` puts around it
    for whom *app* acts."""
    if app.acting is None:
        return ActedCall(call=call)
    # Few act for others: nobody else loads it.
    from scenarioctl.actions.acting import act

    return await act(app, app.acting, chain, table, call)
