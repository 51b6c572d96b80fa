"""What an account has at stake: its bond, what unlocks and when, its nomination pool, and rewards
that nobody has claimed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import ChainUnreachable
from scenarioctl.model.json_types import AmountAnswer, Hex, Timestamp
from scenarioctl.model.request_fields import Address, ChainName
from scenarioctl.operations.lock_answers import LockRow, VoteRow, describe_locks, to_date
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.staking_state import StakingState, Unlocking

__all__ = ["show_staking"]


@dataclass(frozen=True, kw_only=True)
class ShowStaking:
    """Show what an account has at stake: its bond, what unlocks and when, its nomination pool, and
    rewards that nobody has claimed."""

    #: SS58 with any prefix, the public key in hex, or a name of the address book.
    address: Address
    #: Where it stakes: an Asset Hub.
    chain: ChainName = "assetHub"


class UnlockingRow(TypedDict):
    #: Null if unknown.
    amount: AmountAnswer | None
    #: From this era on it can be withdrawn.
    era: int
    #: About when that era begins, if all eras have their planned length; null if it has begun, or
    #: if the length is unknown.
    estimated: "Timestamp | None"
    #: Whether that era has begun. While slashes are processed, the chain may refuse a withdrawal
    #: nevertheless.
    withdrawable: bool


class UnclaimedRow(TypedDict):
    era: int
    validator: str
    #: The page of the validator's nominators that a payout pays.
    page: int
    #: What the account gets of it, computed from the chain's state: a newer runtime may round
    #: otherwise.
    amount: AmountAnswer
    #: About when the reward is lost at the earliest, if nobody claims it; null if that is unknown.
    estimated_end: "Timestamp | None"


class PoolMembership(TypedDict):
    id: int
    points: str
    #: What the points are worth, and the rewards that can be claimed; null if the chain doesn't
    #: tell.
    amount: AmountAnswer | None
    pending: AmountAnswer | None
    unlocking: list[UnlockingRow]


class StakingAnswer(TypedDict):
    chain: str
    #: The bonded account: another one than `address` if that is its controller.
    account: str
    block: int
    block_hash: "Hex"
    #: How many endpoints told the same.
    asked: Literal[1, 2]
    #: The active era.
    era: int
    #: All that is bonded, with what unlocks, and what earns rewards.
    total: AmountAnswer
    active: AmountAnswer
    unlocking: list[UnlockingRow]
    #: Where rewards go: `Staked`, `Stash`, `Controller`, `None`, or an account; null without a
    #: bond.
    payee: str | None
    #: The part of its nominators' rewards that a validator keeps, in percent; null if the account
    #: validates no blocks.
    commission: str | None
    nominations: list[str]
    pool: PoolMembership | None
    #: Rewards of the account, from it as a validator and from those that it nominates now, that no
    #: payout has paid.
    unclaimed: list[UnclaimedRow]
    unclaimed_total: AmountAnswer
    #: What keeps tokens of the account, besides what the pool has.
    locks: list[LockRow]
    #: Votes and delegations, which the lock `pyconvot` is for.
    votes: list[VoteRow]


async def show_staking(app: Application, request: ShowStaking) -> Result[StakingAnswer]:
    from scenarioctl.chains.confirmation import confirm, say_alone
    from scenarioctl.transactions.staking_state import read_staking

    chain = app.registry.find(request.chain)
    account = chain.account_format.parse(request.address.strip(), field="address")
    if app.settings.offline:
        raise ChainUnreachable(
            "what is staked can't be read offline", advice=app.settings.online_advice
        )
    found = await confirm(app.pool, lambda clients: read_staking(clients(chain), account))
    state = found.agreed()
    return Result(
        answer=_describe(app, chain, state, found.asked),
        notes=(*_notes(state), *say_alone(found.alone)),
    )


def _notes(state: "StakingState") -> list[str]:
    notes = []
    if state.nominations:
        notes.append(
            "Rewards from validators that the account no longer nominates aren't searched "
            "for; a payout of theirs pays it too."
        )
    if state.incentives:
        eras = ", ".join(map(str, state.incentives))
        notes.append(
            f"Besides, the validator gets an incentive that isn't counted here, in era {eras}."
        )
    return notes


def _describe(
    app: Application, chain: "Chain", state: "StakingState", asked: Literal[1, 2]
) -> StakingAnswer:
    from scenarioctl.model.checks import Amount

    native = app.assets.native(chain)
    begins = _era_dates(app, chain, state)
    locks, votes = describe_locks(app, chain, None, state.locks)

    def amount(raw: int) -> AmountAnswer:
        return Amount(value=raw, asset=native.display_name, decimals=native.decimals).answer()

    def written(account: bytes) -> str:
        return format_account(account, chain.ss58_prefix)

    def unlocking(chunks: "Sequence[Unlocking]") -> list[UnlockingRow]:
        return [
            {
                "amount": None if each.amount is None else amount(each.amount),
                "era": each.era,
                "estimated": begins(each.era) if each.era > state.active_era else None,
                "withdrawable": each.era <= state.active_era,
            }
            for each in chunks
        ]

    pool = state.pool
    return {
        "chain": chain.name,
        "account": written(state.stash),
        "block": state.block,
        "block_hash": state.block_hash,
        "asked": asked,
        "era": state.active_era,
        "total": amount(state.total),
        "active": amount(state.active),
        "unlocking": unlocking(state.unlocking),
        "payee": _payee(state.payee, written),
        "commission": None if state.commission is None else _percent(state.commission),
        "nominations": [written(each) for each in state.nominations],
        "pool": None
        if pool is None
        else {
            "id": pool.pool,
            "points": str(pool.points),
            "amount": None if pool.amount is None else amount(pool.amount),
            "pending": None if pool.pending is None else amount(pool.pending),
            "unlocking": unlocking(pool.unlocking),
        },
        "unclaimed": [
            {
                "era": each.era,
                "validator": written(each.validator),
                "page": each.page,
                "amount": amount(each.amount),
                # It ends with the planning of the next era, which Asset Hubs begin right after this
                # one's start.
                "estimated_end": begins(each.era + state.history),
            }
            for each in state.unclaimed
        ],
        "unclaimed_total": amount(sum(each.amount for each in state.unclaimed)),
        "locks": locks,
        "votes": votes,
    }


def _payee(payee: Any, written: Callable[[bytes], str]) -> str | None:
    if payee is None or isinstance(payee, str):
        return payee
    return written(payee["Account"])


def _percent(billionths: int) -> str:
    from scenarioctl.model.amounts import to_whole

    return to_whole(billionths, 7)


def _era_dates(
    app: Application, chain: "Chain", state: "StakingState"
) -> "Callable[[int], Timestamp | None]":
    """Return a function that tells about when an era begins; None if that is unknown.

    Eras have sessions of the relay chain, whose length stands in its runtime.
    """
    from scenarioctl.transactions.locks import relay_table

    table, start = relay_table(app.registry, chain), state.era_start
    if start is None or table is None:
        return lambda era: None  # noqa: ARG005
    session = int(table.constant("Babe", "EpochDuration")) * int(
        table.constant("Babe", "ExpectedBlockTime")
    )
    return lambda era: to_date(start + (era - state.active_era) * session * state.sessions)
