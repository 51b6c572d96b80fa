"""What keeps native tokens of an account: locks, freezes, holds and reserves by their names, and
what ends vesting and each vote.

Parachains count blocks of the relay chain for vesting: Asset Hubs (asset-hub-paseo/src/lib.rs), and
Hydration (src/assets.rs). Votes are released as `try_remove_vote` and `undelegate` of
pallet-conviction-voting do it. Asset Hubs count blocks of the relay chain there
(paseo-network/runtimes, system-parachains/asset-hub-paseo/src/governance/mod.rs); Hydration counts
its own (galacticcouncil/hydration-node@5e61c1fa, runtime/hydradx/src/governance/mod.rs).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from scenarioctl.chains.availability import block_seconds
from scenarioctl.runtime.storage_keys import StorageAddress
from scenarioctl.runtime.table import load_bundled
from scenarioctl.transactions.storage_reader import StorageReader

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.runtime.table import RuntimeTable

#: Conviction -> so many times `VoteLockingPeriod`, a week on Polkadot, its votes are locked.
LOCK_PERIODS = (0, 1, 2, 4, 8, 16, 32)


Kind: TypeAlias = Literal["lock", "freeze", "hold", "reserve"]
#: Locks of vesting: of pallet-vesting, and of orml-vesting.
_VESTING = ("vesting", "ormlvest")


@dataclass(frozen=True, kw_only=True)
class Lock:
    """What a pallet keeps of the account's tokens, in the smallest unit. Locks and freezes overlap,
    holds and reserves add up."""

    kind: Kind
    #: As the chain names it: `pyconvot`, or pallet and reason, like `Staking.Staking`.
    id: str
    amount: int
    #: Of vesting: the block of the relay chain from which on it locks nothing; None for others, and
    #: if it is unknown.
    until: int | None = None


@dataclass(frozen=True, kw_only=True)
class VoteLock:
    """Tokens that a vote or a delegation keeps on one track, or kept and still locks."""

    track: int
    amount: int
    #: None for a delegation, and for what was removed.
    referendum: int | None = None
    delegate: bytes | None = None
    #: Block, of those that governance counts, from which on nothing locks it, 0 if nothing does;
    #: None as long as the referendum or the delegation goes on.
    until: int | None = None


@dataclass(frozen=True, kw_only=True)
class Locks:
    """What keeps tokens of an account."""

    locks: tuple[Lock, ...]
    votes: tuple[VoteLock, ...]
    #: The block, that of the relay chain, and the time in milliseconds since 1970; None if the
    #: chain doesn't tell.
    block: int | None
    relay_block: int | None
    time: int | None


def relay_table(registry: "Registry", chain: "Chain") -> "RuntimeTable | None":
    """Return the shipped table of the relay chain, which tells how long its blocks and sessions
    are; None if there is none."""
    relay = chain if chain.role == "relay" else registry.relay_of(chain)
    table = None if relay is None else load_bundled(relay.name)
    return table if table is not None and "Babe" in table.pallets else None


def governed_seconds(
    registry: "Registry", chain: "Chain", table: "RuntimeTable | None"
) -> float | None:
    """Return how long a block takes of those that governance of *chain* counts; None if that is
    unknown."""
    if chain.role == "dex":
        return None if table is None else block_seconds(table)
    relay = relay_table(registry, chain) if chain.role in ("relay", "asset_hub") else None
    return None if relay is None else block_seconds(relay)


async def read_locks(reader: StorageReader, account: bytes) -> Locks:
    """Return what keeps tokens of *account*; ChainUnreachable or ChainRefused if the chain can't be
    read."""
    on_parachain = reader.has("ParachainSystem", "LastRelayChainBlockNumber")
    number: StorageAddress = ("System", "Number", ())
    rows: dict[Kind, Any] = {}
    rows["lock"], rows["freeze"], rows["hold"], rows["reserve"], *others = await reader.read(
        ("Balances", "Locks", (account,)),
        ("Balances", "Freezes", (account,)),
        ("Balances", "Holds", (account,)),
        ("Balances", "Reserves", (account,)),
        ("ConvictionVoting", "ClassLocksFor", (account,)),
        ("Vesting", "Vesting", (account,)),
        ("Vesting", "VestingSchedules", (account,)),
        number,
        ("ParachainSystem", "LastRelayChainBlockNumber", ()) if on_parachain else number,
        ("Timestamp", "Now", ()),
    )
    tracks, vesting, schedules, block, relay_block, time = others
    end = _vesting_end(vesting or (), schedules or ())
    return Locks(
        locks=tuple(
            Lock(
                kind=kind, id=id, amount=int(each["amount"]), until=end if id in _VESTING else None
            )
            for kind, found in rows.items()
            for each in found or ()
            for id in (_name(each["id"]),)
        ),
        votes=await _read_votes(reader, account, [int(track) for track, _ in tracks or ()]),
        block=int(block) or None,
        relay_block=int(relay_block) or None,
        time=int(time) or None,
    )


def _vesting_end(vesting: Sequence[Any], schedules: Sequence[Any]) -> int | None:
    """Return the block from which on nothing of what is vesting is locked; None if that never
    comes, or is unknown."""
    ends = [
        int(each["starting_block"]) - (-int(each["locked"]) // int(each["per_block"]))
        if each["per_block"]
        else None
        for each in vesting
    ]
    ends += [
        int(each["start"]) + int(each["period"]) * int(each["period_count"]) for each in schedules
    ]
    return None if None in ends or not ends else max(end for end in ends if end is not None)


def _name(id: Any) -> str:
    if isinstance(id, bytes):
        text = id.decode("ascii", "replace").strip("\0 ")
        return text if text.isprintable() and text.isascii() else "0x" + id.hex()
    if isinstance(id, Mapping):
        ((pallet, reason),) = id.items()
        return f"{pallet}.{reason}" if isinstance(reason, str) else str(pallet)
    return str(id)


async def _read_votes(
    reader: StorageReader, account: bytes, tracks: list[int]
) -> tuple[VoteLock, ...]:
    if not tracks:
        return ()
    period = int(reader.table.constant("ConvictionVoting", "VoteLockingPeriod"))
    votings = await reader.read(
        *(("ConvictionVoting", "VotingFor", (account, track)) for track in tracks)
    )
    cast = [
        (track, int(poll), vote)
        for track, voting in zip(tracks, votings, strict=True)
        for poll, vote in voting.get("Casting", {}).get("votes", ())
    ]
    polls = await reader.read(*(("Referenda", "ReferendumInfoFor", (poll,)) for _, poll, _ in cast))
    found = [
        VoteLock(track=track, referendum=poll, amount=_stake(vote), until=_end(vote, info, period))
        for (track, poll, vote), info in zip(cast, polls, strict=True)
    ]
    for track, voting in zip(tracks, votings, strict=True):
        ((kind, details),) = voting.items()
        if kind == "Delegating":
            amount = int(details["balance"])
            found.append(VoteLock(track=track, amount=amount, delegate=details["target"]))
        block, amount = (int(each) for each in details["prior"])
        if amount:
            found.append(VoteLock(track=track, amount=amount, until=block))
    return tuple(sorted(found, key=lambda each: each.track))


def _stake(vote: Mapping[str, Any]) -> int:
    """Return the tokens of a vote, whichever sides they are on."""
    ((kind, details),) = vote.items()
    if kind == "Standard":
        return int(details["balance"])
    return sum(int(amount) for amount in details.values())


def _end(vote: Mapping[str, Any], info: Any, period: int) -> int | None:
    """Return the block from which on a vote locks nothing once it is removed, 0 if it doesn't; None
    while its referendum goes on."""
    if isinstance(info, Mapping) and "Ongoing" in info:
        return None
    ended = next(
        (each for each in ("Approved", "Rejected") if isinstance(info, Mapping) and each in info),
        "",
    )
    if not ended or "Standard" not in vote:
        return 0
    side, conviction = divmod(int(vote["Standard"]["vote"]), 0x80)
    # Who was on the side that won is bound to the outcome.
    if bool(side) is not (ended == "Approved"):
        return 0
    return int(info[ended][0]) + period * LOCK_PERIODS[conviction]
