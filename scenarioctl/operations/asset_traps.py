"""Assets in the asset trap of a chain: find those of an account, and build the transaction that
claims them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, TypedDict

from scenarioctl.actions.chain_query import parse_block
from scenarioctl.actions.drafting import draft_claim
from scenarioctl.application import Application
from scenarioctl.errors import ChainRefused, InvalidRequest, NotFound
from scenarioctl.model.amounts import read_number
from scenarioctl.model.json_types import Hex, Told
from scenarioctl.model.request_fields import Address, Block, ChainName, Hash, Value
from scenarioctl.operations.answered_calls import BuiltCall, answer_call
from scenarioctl.operations.built_transactions import (
    CheckableFields,
    check_form,
    check_sender,
    parse_sender,
)
from scenarioctl.operations.results import Result
from scenarioctl.transactions.hex_fields import parse_hash
from scenarioctl.transactions.keyless_accounts import read_receiver

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.calls import Call
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.submission.arrivals import AssetTrap

__all__ = ["claim_assets", "find_trapped_assets"]

#: Claims that are tried for one list: each is a dry run.
MOST_TRIED = 32
#: Blocks that are searched unless one is named, and at most.
DEFAULT_BLOCKS = 64
MOST_BLOCKS = 1000


@dataclass(frozen=True, kw_only=True)
class FindTrappedAssets:
    """Find the assets that were trapped in some blocks of a chain, and who can claim those that are
    still there."""

    chain: ChainName
    #: Only what this account can claim: SS58 with any prefix, or 0x hex.
    address: Address = ""
    #: Last block to search, a hash or a number. Default: the newest block.
    block: Block = ""
    #: Search so many blocks, up to 1000. Default: only `block`; without it the newest 64.
    blocks: Annotated[str | int, Value("N", least=1, most=MOST_BLOCKS)] = ""


class TrappedAssets(TypedDict):
    """What one event says was trapped."""

    block_number: int
    #: Under which the chain keeps it.
    hash: "Hex"
    #: The assets in words: `1.5 DOT and 3 USDT`.
    assets: str
    #: How many times the same assets of the same origin are in the trap now; 0 if they were
    #: claimed.
    count: int
    #: Whether an account of this chain can claim it with `xcm claim`: a dry run of the claim
    #: succeeded.
    claimable: bool
    #: Who can claim it, and how.
    summary: str


class FoundTraps(Told):
    chain: str
    first_block: int
    last_block: int
    traps: list[TrappedAssets]


async def find_trapped_assets(app: Application, request: FindTrappedAssets) -> Result[FoundTraps]:
    from scenarioctl.transactions.submission.arrivals import find_traps, try_claims

    chain = app.registry.find(request.chain)
    account = (
        chain.account_format.parse(request.address, field="address") if request.address else None
    )
    block = parse_block(request.block, field="block")
    count = DEFAULT_BLOCKS if not block else 1
    if request.blocks != "":
        count = read_number(
            request.blocks,
            field="blocks",
            kind="a number of blocks",
            expected=f"1 to {MOST_BLOCKS}",
            least=1,
            most=MOST_BLOCKS,
        )
    client = app.client(chain)
    last = await _number_of(client, block)
    first = max(last - count + 1, 1)
    traps = await find_traps(client, range(first, last + 1), account)
    tried = await try_claims(app.client, app.registry, chain, traps, most=MOST_TRIED)
    return Result(
        answer={
            "chain": chain.name,
            "asked": 1,
            "first_block": first,
            "last_block": last,
            "traps": [_describe(app, chain, trap, tried.get(trap.hash), account) for trap in traps],
        },
        large=True,
    )


@dataclass(frozen=True, kw_only=True)
class ClaimAssets(CheckableFields):
    """Build the unsigned transaction that claims trapped assets.

    The account from which they were trapped has to sign it. All that was trapped together is
    claimed together.
    """

    chain: ChainName
    #: Block in which the assets were trapped, a hash or a number.
    trapped_in: Block
    #: Hash of the assets, as `xcm trapped` lists it, if several of the sender were trapped in that
    #: block.
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

    check_form(request, by_sender=True)
    chain = app.registry.find(request.chain)
    sender = check_sender(request.check, request.sender, chain)
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
    number = await _number_of(client, block)
    traps = await find_traps(client, range(number, number + 1))
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
    if sender is None:
        # One node says what was trapped, and whose it is.
        transaction = replace(transaction, asked=1)
    result = await answer_call(app, transaction, request, sender)
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
            f"{what} trapped in block {number} of {chain.title}; list blocks with "
            f"scenarioctl xcm trapped {chain.name} --blocks 1000"
        )
    able = {trap.hash: (trap, trap.claimant) for trap in named if trap.claimant is not None}
    if not able:
        raise InvalidRequest(
            "; ".join(_summarize(app, chain, trap, None, claimant) for trap in named)
        )
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


def _describe(
    app: Application,
    chain: "Chain",
    trap: "AssetTrap",
    tried: "DryRunResult | None",
    account: bytes | None,
) -> TrappedAssets:
    from scenarioctl.transactions.simulation.trapped_assets import describe_assets

    return {
        "block_number": trap.number,
        "hash": trap.hash,
        "assets": describe_assets(app.assets, chain, trap.event.fields["assets"]),
        "count": trap.count,
        "claimable": tried is not None and not tried.failure and not tried.unknown,
        "summary": _summarize(app, chain, trap, tried, account),
    }


def _summarize(
    app: Application,
    chain: "Chain",
    trap: "AssetTrap",
    tried: "DryRunResult | None",
    account: bytes | None,
) -> str:
    """Return who can claim what was trapped, and how; or why nobody can.  *tried* is a dry run of
    the claim."""
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
            "compute for it now, "
            "so how to claim it is unknown."
        )
    found = f"{what} is in the trap of {chain.title}."
    if tried is not None and tried.failure:
        return (
            f"{found} A claim by {_write(chain, trap.claimant)} fails in a dry run: "
            f"{tried.failure}."
        )
    claim = describe_claim(
        app.assets.registry,
        chain,
        trap.event.pallet,
        fields["origin"],
        account,
        trap.number,
        is_tried=tried is not None and not tried.unknown,
    )
    if trap.claimant is None:
        return f"{found} {claim}"
    if tried is None:
        return (
            f"{found} {claim} This was not tried, because a list tries only {MOST_TRIED} "
            "claims: list fewer blocks."
        )
    unknown = (
        f" This is not proven, because a dry run isn't possible: {tried.unknown}."
        if tried.unknown
        else ""
    )
    return f"{found} {claim}{unknown}"


def _write(chain: "Chain", account: bytes | None) -> str:
    return "nobody" if account is None else chain.account_format.format(account, chain.ss58_prefix)


async def _number_of(client: "Client", block: str) -> int:
    """Return the number of *block*, a hash or a number; of the newest block if it is empty."""
    if not block:
        return (await client.head())[0]
    return await client.number_of(await client.find_block(block))
