"""Assets in the asset trap of a chain: build the transaction that claims them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenarioctl.actions.chain_query import parse_block
from scenarioctl.actions.drafting import draft_claim
from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, InvalidRequest, NotFound
from scenarioctl.model.request_fields import Address, Block, ChainName, Hash
from scenarioctl.operations.built_transactions import (
    BuiltCall,
    BuiltFields,
    answer_call,
    parse_sender,
)
from scenarioctl.operations.results import Result
from scenarioctl.transactions.extrinsic import parse_hash
from scenarioctl.transactions.keyless_accounts import read_receiver

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.submission.arrivals import AssetTrap

__all__ = ["claim_assets"]


@dataclass(frozen=True, kw_only=True)
class ClaimAssets(BuiltFields):
    """Build the unsigned transaction that claims trapped assets.

    The account from which they were trapped has to sign it. All that was trapped together is
    claimed together.
    """

    chain: ChainName
    #: Block in which the assets were trapped, a hash or a number.
    trapped_in: Block
    #: Hash of the assets in their event, if several of the sender were trapped in that block.
    hash: Hash = ""
    #: Who receives them: SS58 or 0x hex. Default: the account that claims.
    beneficiary: Address = ""
    #: Confirm a receiver without a private key, like the account of a pallet.
    yes: bool = False


class ClaimTransaction(BuiltCall):
    #: The account that has to sign it.
    signer: str


async def claim_assets(app: Application, request: ClaimAssets) -> Result[ClaimTransaction]:
    from scenarioctl.transactions.submission.arrivals import find_traps

    chain = app.registry.find(request.chain)
    block = parse_block(request.trapped_in, field="trapped_in")
    if not block:
        raise InvalidRequest(
            field="trapped_in",
            problem="is missing",
            expected="the block in which the assets were trapped",
        )
    wanted = "0x" + parse_hash(request.hash, field="hash").hex() if request.hash else ""
    receiver = (
        read_receiver(request.beneficiary, chain, field="beneficiary", confirmed=request.yes)
        if request.beneficiary
        else None
    )
    claimant = parse_sender(request.sender, chain) if request.sender else None
    client = app.client(chain)
    number = await client.number_of(await client.find_block(block))
    traps = await find_traps(client, number)
    trap, account, notes = _choose(app, chain, number, traps, wanted, claimant)
    fields = trap.event.fields
    transaction = await draft_claim(
        app,
        chain=chain,
        pallet=trap.event.pallet,
        assets=fields["assets"],
        beneficiary=account if receiver is None else receiver,
    )
    doubts = await _prove(app, chain, trap, transaction.call)
    # One node says what was trapped, and whose it is.
    result = await answer_call(app, replace(transaction, asked=1))
    return Result(
        answer={**result.answer, "signer": chain.account_format.format(account, chain.ss58_prefix)},
        notes=(*notes, *result.notes),
        warnings=(*doubts, *result.warnings),
    )


async def _prove(
    app: Application, chain: "Chain", trap: "AssetTrap", claim: "Call"
) -> tuple[str, ...]:
    """Refuse a *claim* that fails in a dry run, or claims something else; return a warning if
    *chain* can't try it."""
    from scenarioctl.transactions.submission.arrivals import try_claim

    tried = await try_claim(app.client, app.registry, chain, trap, claim)
    if tried.failure:
        raise ChainRefused(f"the claim fails in a dry run: {tried.failure}")
    if tried.unknown:
        return (
            (
                "Whether the claim succeeds is unknown, because a dry run isn't possible: "
                f"{tried.unknown}."
            ),
        )
    return ()


def _choose(
    app: Application,
    chain: "Chain",
    number: int,
    traps: "Sequence[AssetTrap]",
    wanted: str,
    claimant: bytes | None,
) -> "tuple[AssetTrap, bytes, tuple[str, ...]]":
    """Return the trap that a claim is for, the account that can claim it, and what to say of the
    choice.

    It is the one with the hash *wanted*, or the only one of *claimant*; without a claimant, of any
    account.
    """
    named = [trap for trap in traps if wanted in ("", trap.hash)]
    if not named:
        what = f"no assets with the hash {wanted} were" if wanted else "no assets were"
        raise NotFound(
            f"{what} trapped in block {number} of {chain.title}; scenarioctl tx status tells the "
            "block of a transaction"
        )
    able = {trap.hash: (trap, trap.claimant) for trap in named if trap.claimant is not None}
    if not able:
        raise InvalidRequest("; ".join(_explain(app, chain, trap, claimant) for trap in named))
    own = {
        hash: (trap, account)
        for hash, (trap, account) in able.items()
        if claimant in (None, account)
    }
    if not own:
        owners = dict.fromkeys(_write(chain, account) for _, account in able.values())
        raise InvalidRequest(
            field="sender",
            value=_write(chain, claimant),
            limit=80,
            problem="can't claim these assets",
            expected=f"{' or '.join(owners)}, from whom they were trapped",
        )
    if len(own) > 1:
        missing, whose = (
            ("hash", "assets of the sender") if claimant else ("hash or sender", "assets")
        )
        raise InvalidRequest(
            field=missing,
            problem=f"is missing, as several {whose} were trapped in block {number}",
            expected=f"one of these hashes: {', '.join(own)}",
        )
    trap, account = next(iter(own.values()))
    if len(able) == 1:
        return trap, account, ()
    note = (
        f"Several assets were trapped in block {number}. This claims the only ones of the "
        f"sender, with the hash {trap.hash}."
    )
    return trap, account, (note,)


def _explain(app: Application, chain: "Chain", trap: "AssetTrap", claimant: bytes | None) -> str:
    """Return why no account of *chain* can claim what was trapped there."""
    from scenarioctl.transactions.simulation.trapped_assets import describe_assets, describe_claim

    fields = trap.event.fields
    what = describe_assets(app.assets, chain, fields["assets"])
    if trap.count == 0:
        return (
            f"{what} trapped in block {trap.number} is no longer in the trap of {chain.title}: "
            "it was claimed."
        )
    if not trap.proven:
        return (
            f"{what} is in the trap of {chain.title} under a hash that its runtime doesn't "
            "compute for it now, so how to claim it is unknown."
        )
    claim = describe_claim(
        app.assets.registry, chain, trap.event.pallet, fields["origin"], claimant, trap.number
    )
    return f"{what} is in the trap of {chain.title}. {claim}"


def _write(chain: "Chain", account: bytes | None) -> str:
    return "nobody" if account is None else chain.account_format.format(account, chain.ss58_prefix)
