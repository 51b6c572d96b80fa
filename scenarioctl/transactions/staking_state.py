"""What an account has at stake on a chain, all of one block: its bond, its nomination pool, and
rewards that nobody has claimed.

Rewards are computed as `do_payout_stakers_by_page` of pallet-staking and pallet-staking-async pays
them (paritytech/polkadot-sdk@00cee51ab, substrate/frame/staking-async/src/pallet/impls.rs, and
sp-arithmetic for `Perbill`). Runtimes that know pots, like Asset Hub 2003001, split and round
otherwise, in older eras too (paritytech/polkadot-sdk@0b38a7c66,
substrate/frame/staking-async/src/reward.rs, `DefaultStakerRewardCalculator`), if they kept the
calculator that the pallet brings. No payout of a real chain was compared with either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainUnreachable, Conflict, InvalidRequest
from scenarioctl.transactions.locks import Locks, read_locks
from scenarioctl.transactions.storage_reader import StorageReader

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

_BILLION = 10**9


@dataclass(frozen=True, kw_only=True)
class Unlocking:
    """An amount that was unbonded, and can be withdrawn from an era on."""

    #: In the smallest unit; None if it is unknown.
    amount: int | None
    era: int


@dataclass(frozen=True, kw_only=True)
class Unclaimed:
    """What a payout of one page of a validator's nominators would pay the account."""

    era: int
    validator: bytes
    page: int
    #: In the smallest unit; 0 for a validator of whose page only the nominators get something.
    amount: int


@dataclass(frozen=True, kw_only=True)
class PoolShare:
    """The membership in a nomination pool."""

    pool: int
    points: int
    #: What the points are worth, and what can be claimed, in the smallest unit; None if the chain
    #: doesn't tell.
    amount: int | None
    pending: int | None
    unlocking: tuple[Unlocking, ...]


@dataclass(frozen=True, kw_only=True)
class StakingState:
    """What an account has at stake; amounts in the smallest unit."""

    block: int
    block_hash: str
    active_era: int
    #: When the active era began, in milliseconds since 1970; None if it hasn't yet.
    era_start: int | None
    #: Sessions of an era, and eras for which rewards are kept.
    sessions: int
    history: int
    #: The bonded account: another one if the one that was asked for is its controller.
    stash: bytes
    #: What keeps its tokens.
    locks: Locks
    total: int = 0
    active: int = 0
    unlocking: tuple[Unlocking, ...] = ()
    #: As the runtime has it: `Staked`, or `{"Account": …}`; None without a bond.
    payee: Any = None
    #: What it keeps of its nominators' rewards, in billionths; None if it is no validator.
    commission: int | None = None
    nominations: tuple[bytes, ...] = ()
    pool: PoolShare | None = None
    unclaimed: tuple[Unclaimed, ...] = ()
    #: Eras of unclaimed rewards for which its validator also gets an incentive, which isn't
    #: counted.
    incentives: tuple[int, ...] = ()


async def read_staking(client: "Client", account: bytes) -> StakingState:
    """Return what *account* has at stake at the best block; ChainUnreachable or ChainRefused if the
    chain can't be read.

    Conflict if staking has moved away from the chain, InvalidRequest if it has none like
    Polkadot's.
    """
    table = await client.table()
    number, at = await client.head()
    await require_staking(client, at=at)
    reader = StorageReader(client, table, at)
    if not reader.has("Staking", "ErasStakersPaged") or _claims_entry(reader) is None:
        raise _no_staking(client.chain, table)
    active, current, bonded, ledger, member = await reader.read(
        ("Staking", "ActiveEra", ()),
        ("Staking", "CurrentEra", ()),
        ("Staking", "Bonded", (account,)),
        ("Staking", "Ledger", (account,)),
        ("NominationPools", "PoolMembers", (account,)),
    )
    if active is None or current is None:
        raise ChainUnreachable(
            f"{client.chain.title} has no active era: staking hasn't begun there"
        )
    if bonded not in (None, account):
        (ledger,) = await reader.read(("Staking", "Ledger", (bonded,)))
    stash = account if ledger is None else ledger["stash"]
    history = int(table.constant("Staking", "HistoryDepth"))
    pool = None if member is None else await _read_pool(reader, account, member)
    era_start = None if active["start"] is None else int(active["start"])
    state = StakingState(
        block=number,
        block_hash=at,
        active_era=int(active["index"]),
        era_start=era_start,
        sessions=int(table.constant("Staking", "SessionsPerEra")),
        history=history,
        stash=stash,
        locks=await read_locks(reader, stash),
        pool=pool,
    )
    if ledger is None:
        return state
    payee, nominators = await reader.read(
        ("Staking", "Payee", (stash,)), ("Staking", "Nominators", (stash,))
    )
    prefs = await reader.stored("Staking", "Validators", stash)
    nominations = tuple(nominators["targets"]) if nominators else ()
    # The active era isn't over: it has no rewards yet.
    eras = range(max(int(current) - history, 0), int(active["index"]))
    unclaimed = await _read_unclaimed(
        reader, eras, stash, tuple(dict.fromkeys((stash, *nominations)))
    )
    own = sorted({each.era for each in unclaimed if each.validator == stash})
    return replace(
        state,
        total=int(ledger["total"]),
        active=int(ledger["active"]),
        unlocking=tuple(
            Unlocking(amount=int(each["value"]), era=int(each["era"]))
            for each in ledger["unlocking"]
        ),
        payee=payee,
        commission=None if prefs is None else int(prefs["commission"]),
        nominations=nominations,
        unclaimed=unclaimed,
        incentives=await _read_incentives(reader, own),
    )


async def require_staking(client: "Client", *, at: str | None = None) -> None:
    """Refuse a chain on which nobody stakes, or no longer does, at the block *at*: Conflict if
    staking has moved away."""
    chain, table = client.chain, await client.table()
    # Passive: before the migration. Buffered: in its midst. Active: the Asset Hub elects.
    if (
        "StakingAhClient" in table.pallets
        and await client.storage("StakingAhClient", "Mode", at=at) != "Passive"
    ):
        raise Conflict(
            f"staking has moved from {chain.title} to its Asset Hub: pass the Asset Hub as "
            "the chain"
        )
    if "Staking" not in table.pallets or "HistoryDepth" not in table.constants("Staking"):
        raise _no_staking(chain, table)


def _no_staking(chain: "Chain", table: "RuntimeTable") -> InvalidRequest:
    return InvalidRequest(
        field="chain",
        value=chain.name,
        problem=f"has no staking like Polkadot's ({table})",
        expected="an Asset Hub, like assetHub",
    )


def _claims_entry(reader: StorageReader) -> str | None:
    """Return the name of what lists the pages that were paid out; None of an older runtime, which
    has no pages."""
    # Newer runtimes may call it so.
    return next(
        (each for each in ("ClaimedRewards", "ErasClaimedRewards") if reader.has("Staking", each)),
        None,
    )


async def _read_pool(reader: StorageReader, account: bytes, member: Mapping[str, Any]) -> PoolShare:
    pool, points = int(member["pool_id"]), int(member["points"])
    (subpools,) = await reader.read(("NominationPools", "SubPoolsStorage", (pool,)))
    by_era = {int(era): each for era, each in subpools["with_era"]} if subpools else {}
    unlocking = []
    for era, unbonding in member["unbonding_eras"]:
        # An era that is long over has been merged into the rest.
        rest = by_era.get(int(era), subpools["no_era"] if subpools else None)
        of_pool = int(rest["points"]) if rest else 0
        amount = int(rest["balance"]) * int(unbonding) // of_pool if rest and of_pool else None
        unlocking.append(Unlocking(amount=amount, era=int(era)))
    return PoolShare(
        pool=pool,
        points=points,
        amount=await reader.ask("NominationPoolsApi", "points_to_balance", pool, points),
        pending=await reader.ask("NominationPoolsApi", "pending_rewards", account),
        unlocking=tuple(unlocking),
    )


async def _read_unclaimed(
    reader: StorageReader, eras: Iterable[int], account: bytes, validators: Sequence[bytes]
) -> tuple[Unclaimed, ...]:
    """Return what *account* would get from pages of *validators* that nobody has claimed, the
    oldest era first."""
    rewards = dict(
        zip(
            eras,
            await reader.read(*(("Staking", "ErasValidatorReward", (era,)) for era in eras)),
            strict=True,
        )
    )
    pairs = [(era, who) for era, reward in rewards.items() if reward for who in validators]
    overviews = await reader.read(*(("Staking", "ErasStakersOverview", each) for each in pairs))
    exposed = {pair: overview for pair, overview in zip(pairs, overviews, strict=True) if overview}
    claims = _claims_entry(reader) or ""
    claimed = await reader.read(*(("Staking", claims, each) for each in exposed))
    pages = [
        (*pair, page)
        for (pair, overview), done in zip(exposed.items(), claimed, strict=True)
        for page in range(max(int(overview["page_count"]), 1))
        if page not in done
    ]
    open_eras = list(dict.fromkeys(era for era, _, _ in pages))
    points = dict(
        zip(
            open_eras,
            await reader.read(*(("Staking", "ErasRewardPoints", (era,)) for era in open_eras)),
            strict=True,
        )
    )
    open_pairs = list(dict.fromkeys((era, who) for era, who, _ in pages))
    prefs = dict(
        zip(
            open_pairs,
            await reader.read(*(("Staking", "ErasValidatorPrefs", each) for each in open_pairs)),
            strict=True,
        )
    )
    exposures = await reader.read(*(("Staking", "ErasStakersPaged", each) for each in pages))
    found = []
    for (era, who, page), exposure in zip(pages, exposures, strict=True):
        amount = compute_reward(
            account,
            who,
            page,
            reward=int(rewards[era]),
            points=points[era],
            commission=int(prefs[era, who]["commission"]),
            overview=exposed[era, who],
            exposure=exposure,
            from_pot=reader.has("Staking", "DisableMintingGuard"),
        )
        # A validator without commission gets nothing of a page, whose nominators wait for somebody
        # to pay it out.
        if amount or (who == account and exposure and _points_of(who, points[era])):
            found.append(Unclaimed(era=era, validator=who, page=page, amount=amount))
    return tuple(found)


def _points_of(validator: bytes, points: Mapping[str, Any]) -> int:
    return sum(int(earned) for who, earned in points["individual"] if who == validator)


def compute_reward(
    account: bytes,
    validator: bytes,
    page: int,
    *,
    reward: int,
    points: Mapping[str, Any],
    commission: int,
    overview: Mapping[str, Any],
    exposure: Mapping[str, Any] | None,
    from_pot: bool,
) -> int:
    """Return what a payout of a page pays *account*, in the smallest unit.

    *reward* is that of all validators in the era, *points* how it is shared, *commission* in
    billionths; *overview* and
    *exposure* are the stake behind the validator, in all and on this page.  *from_pot*: the runtime
    knows pots.
    """
    own_points = _points_of(validator, points)
    if not own_points:
        return 0
    times = _times_down if from_pot else _times
    payout = times(_part(own_points, int(points["total"])), reward)
    all_commission = times(commission, payout)
    left, total, own = payout - all_commission, int(overview["total"]), int(overview["own"])
    own_reward, others_total = times(_part(own, total), left), total
    own_on_page = own if page == 0 else 0
    page_part = _part(own_on_page + (int(exposure["page_total"]) if exposure else 0), total)
    of_validator = (own_reward if own_on_page else 0) + times(page_part, all_commission)
    if from_pot:
        # The validator's reward is spread over the pages; nominators share what it leaves, by the
        # stake that is theirs.
        of_validator = times(page_part, all_commission + own_reward)
        left, others_total = left - own_reward, total - own
    others = exposure["others"] if exposure else ()
    amount = sum(
        times(_part(int(each["value"]), others_total), left)
        for each in others
        if each["who"] == account
    )
    return amount + of_validator if account == validator else amount


def _part(share: int, whole: int) -> int:
    """Return a share in billionths, rounded down: `Perbill::from_rational`."""
    return _BILLION if share >= whole else share * _BILLION // whole


def _times(part: int, amount: int) -> int:
    """Return billionths of an amount, rounded to the nearest, a half down: `Perbill * amount`."""
    whole, rest = divmod(part * amount, _BILLION)
    return whole + (rest > _BILLION // 2)


def _times_down(part: int, amount: int) -> int:
    """Return billionths of an amount, rounded down: `Perbill::mul_floor`."""
    return part * amount // _BILLION


async def _read_incentives(reader: StorageReader, eras: Sequence[int]) -> tuple[int, ...]:
    budgets = await reader.read(
        *(("Staking", "ErasValidatorIncentiveBudget", (era,)) for era in eras)
    )
    return tuple(era for era, budget in zip(eras, budgets, strict=True) if budget)
