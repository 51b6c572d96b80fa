"""Find out whether the messages of a transaction were executed on the chains that they were sent
to, and which assets they trapped.

pallet-xcm keeps a count for each hash, blake2b-256 of the origin and the assets, both in the
version of XCM that the runtime writes (polkadot-sdk, pallet_xcm: `DropAssets::drop_assets`, read
2026-11-23).  Its event names all three.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from scenarioctl.chains.locations import split_account
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.json_types import HoldingAnswer
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.blocks import (
    Event,
    name_of,
    read_block_hashes,
    read_event,
    read_events,
    read_heads,
)
from scenarioctl.transactions.simulation.dry_run import try_call
from scenarioctl.transactions.simulation.trapped_assets import say_trapped
from scenarioctl.transactions.submission.inclusion import SentMessage, gains, message_id

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable
    from scenarioctl.transactions.simulation.dry_run import DryRunResult
    from scenarioctl.transactions.simulation.runtime_api import Clients


#: Blocks of a destination that are searched at a time.
AT_ONCE = 64
#: Blocks of a destination after which a message is not looked for any more: an hour of the fastest
#: chains.
MOST = 1800
#: Seconds between the blocks of the fastest chains, and blocks that are searched besides.
_FASTEST = 2
_MARGIN = 8
#: Blocks whose events are fetched in one exchange.
_FETCHED = 16


class Arrival(TypedDict):
    """A message, and what is known of it on the chain that it goes to."""

    chain: str
    state: Literal["waiting", "arrived", "failed", "unknown"]
    #: The destination's block that executed it.
    block_number: int | None
    #: Why it failed, or why it isn't known.
    reason: str
    #: By which the destination knows it.
    id: str
    #: Whether the state can't change any more.
    settled: bool
    #: Accounts that it pays there, 0x hex; and what it gave them, absent before it is executed.
    receivers: NotRequired[list[str]]
    received: NotRequired[list[HoldingAnswer]]
    #: How many endpoints say that it arrived, or failed; absent before.
    asked: NotRequired[int]
    #: The first block that was searched, and the last one that can't change any more; absent before
    #: the first search.
    first: NotRequired[int]
    searched: NotRequired[int]


def expect_arrivals(messages: Sequence[SentMessage], *, is_followed: bool) -> list[Arrival]:
    """Return what is known of *messages* as they are sent; they are looked for only if
    *is_followed*."""
    found = []
    for message in messages:
        reason = ""
        if message.place.startswith("2/GlobalConsensus("):
            reason = (
                f"It crosses the bridge to {message.title or message.place}, which takes "
                "minutes to hours, and isn't followed there."
            )
        elif not message.chain:
            reason = f"It went to {message.place}, which is not a chain of the registry."
        elif not message.id:
            reason = "The chain doesn't tell the id of its message."
        elif not is_followed:
            reason = "Only messages of transactions that were sent from here are followed."
        found.append(_arrival(message.chain or message.place, message.id, reason))
        found[-1]["receivers"] = list(message.receivers)
        found += [
            _arrival(each, "", f"It goes on from {message.title}, and that way isn't followed.")
            for each in message.onward
        ]
    return found


def _arrival(chain: str, id: str, reason: str) -> Arrival:
    return {
        "chain": chain,
        "state": "unknown" if reason else "waiting",
        "block_number": None,
        "reason": reason,
        "id": id,
        "settled": bool(reason),
    }


@dataclass(frozen=True, kw_only=True)
class MessageSender:
    """Who sent the messages that are looked for."""

    chain: "Chain"
    #: None if it isn't known.
    account: bytes | None
    #: Seconds since then.
    seconds: float


async def look_for(
    client: "Client", arrival: Arrival, sender: MessageSender, *, assets: "Assets"
) -> Arrival:
    """Return *arrival* as the destination shows it now."""
    heads = await read_heads(client)
    first = arrival.get("first")
    if first is None:
        back = int(sender.seconds / _FASTEST) + _MARGIN
        if back > MOST:
            return {
                **arrival,
                "state": "unknown",
                "settled": True,
                "reason": (
                    "It was sent too long ago to be looked for in the blocks of "
                    f"{client.chain.title}."
                ),
            }
        first = max(heads.best - back, 1)
    searched = arrival.get("searched", first - 1)
    last = min(heads.best, searched + AT_ONCE)
    known: Arrival = {**arrival, "first": first, "state": "waiting", "block_number": None}
    if arrival["state"] != "waiting":
        known["reason"] = ""
    async with aclosing(read_blocks(client, range(searched + 1, last + 1))) as blocks:
        async for number, events in blocks:
            outcome = _find_outcome(
                events, arrival["id"], _Place(client.chain, sender, assets, number)
            )
            if outcome is None:
                continue
            known["state"], known["reason"], own = outcome
            if known["state"] != "waiting":
                known["received"] = gains(own, client.chain, assets, arrival.get("receivers", ()))
                known["block_number"], known["settled"] = number, number <= heads.finalized
                # A block that isn't final is looked at again.
                known["searched"] = max(searched, min(number - 1, heads.finalized))
                return known
    known["searched"] = max(searched, min(last, heads.finalized))
    if known["searched"] - first >= MOST:
        known["state"], known["settled"] = "unknown", True
        known["reason"] = (
            f"No block of {client.chain.title} from {first} to {known['searched']} has executed it."
        )
    return known


async def confirm_arrival(
    client: "Client",
    before: Arrival,
    known: Arrival,
    sender: MessageSender,
    *,
    assets: "Assets",
) -> Arrival:
    """Return *known*, the arrival that *client* tells of, as far as a second endpoint tells the
    same; *before* is what was known.

    What only one of them tells is not said: the message is waited for.
    """
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.confirmation import second_pool

    known = {**known}
    known.pop("asked", None)
    number = known["block_number"]
    if number is None:
        return known
    pool = second_pool(client)
    if pool is None:
        return {**known, "asked": 1}
    second = Client(pool)
    start: Arrival = {**before, "first": known.get("first", number), "searched": number - 1}
    try:
        there = await look_for(second, start, sender, assets=assets)
    except (ChainUnreachable, ChainRefused):
        return {**known, "asked": 1}
    told = ("state", "block_number", "reason", "received")
    said = f"{client.endpoint} says that it {known['state']} in block {number}, and "
    if there["state"] == "waiting":
        known["state"], known["reason"] = (
            "waiting",
            f"{said}{second.endpoint} doesn't say so yet.",
        )
    elif [there.get(name) for name in told] != [known.get(name) for name in told]:
        known["state"], known["reason"] = (
            "unknown",
            f"{said}{second.endpoint} that it {there['state']} in block {there['block_number']}: "
            "one of them is wrong.",
        )
    else:
        return {**known, "settled": known["settled"] and there["settled"], "asked": 2}
    return {**known, "settled": False, "block_number": None}


async def read_blocks(
    client: "Client", numbers: range
) -> AsyncGenerator[tuple[int, list[Event]], None]:
    """Yield number and events of each block, in their order."""
    for start in range(0, len(numbers), _FETCHED):
        for found in await _read_some(client, numbers[start : start + _FETCHED]):
            yield found


async def _read_some(client: "Client", numbers: range) -> Iterator[tuple[int, list[Event]]]:
    """Return number and events of each block, all fetched together."""
    blocks = await read_block_hashes(client, numbers)
    newest = await client.table_at(blocks[-1])
    oldest = await client.table_at(blocks[0])
    key = storage_key(newest, "System", "Events", ())
    raw = await client.call_many([("state_getStorage", (key.hex, block)) for block in blocks])
    tables = [newest] * len(blocks)
    if oldest.spec_version != newest.spec_version:
        tables = [await client.table_at(block) for block in blocks]
    return (
        # A block without events has none stored.
        (number, [read_event(each["event"]) for each in read_events(client, table, some or "0x00")])
        for number, table, some in zip(numbers, tables, raw, strict=True)
    )


@dataclass(frozen=True)
class _Place:
    """Where a message is executed, and who sent it."""

    chain: "Chain"
    sender: MessageSender
    assets: "Assets"
    #: The block that is read.
    number: int

    def origin(self) -> Any:
        """Return what its queue calls the chain that sent it."""
        source = self.sender.chain
        if source.role == "relay":
            return "Parent"
        return (
            {"Ump": {"Para": source.para_id}}
            if self.chain.role == "relay"
            else {"Sibling": source.para_id}
        )

    def say_trapped(self, events: Sequence[Event]) -> str:
        account, block = self.sender.account, self.number
        return " ".join(
            say_trapped(self.assets, self.chain, event, account, block) for event in events
        )


def _find_outcome(
    events: Sequence[Event], id: str, place: _Place
) -> tuple[Literal["waiting", "arrived", "failed"], str, Sequence[Event]] | None:
    """Return what a block's *events* tell of the message *id*, and which are its own; None if they
    tell nothing."""
    trapped: list[Event] = []
    begin = 0
    for number, event in enumerate(events):
        if event.is_of_xcm("AssetsTrapped"):
            trapped.append(event)
        if event.pallet != "MessageQueue" or not isinstance(event.fields, Mapping):
            continue
        name = place.chain.title
        # Anybody can give a message this id, but not send it in the name of the chain.
        if (
            message_id(event.fields.get("id")) == id
            and event.fields.get("origin") == place.origin()
        ):
            if event.name == "Processed" and event.fields["success"]:
                return "arrived", place.say_trapped(trapped), events[begin:number]
            if event.name == "Processed":
                reason = (
                    place.say_trapped(trapped) or f"{name} executed the message, and it failed."
                )
                return "failed", reason, events[begin:number]
            if event.name == "ProcessingFailed":
                return (
                    "failed",
                    f"{name} could not process the message: {name_of(event.fields.get('error'))}.",
                    (),
                )
            if event.name == "OverweightEnqueued":
                return (
                    "waiting",
                    f"The message needs too much weight for a block of {name}. Somebody "
                    "must execute it there with"
                    " MessageQueue.execute_overweight.",
                    (),
                )
        if event.name in ("Processed", "ProcessingFailed"):
            # What happened before it belongs to another message.
            trapped, begin = [], number + 1
    return None


@dataclass(frozen=True, kw_only=True)
class AssetTrap:
    """Assets that one event says were trapped, and what the state says now."""

    #: The block of the event.
    number: int
    #: The event itself: `hash`, `origin` and `assets` are its fields.
    event: "Event"
    #: How many times the same assets of the same origin are in the trap now; 0 if they were
    #: claimed.
    count: int
    #: Whether the hash follows from the origin and the assets, in the versions that the runtime
    #: reads now.
    proven: bool

    @property
    def hash(self) -> str:
        data: bytes = self.event.fields["hash"]
        return "0x" + data.hex()

    @property
    def claimant(self) -> bytes | None:
        """The account of the chain itself that may claim them there; None if they are gone, or no
        such account's.

        That the chain lets it claim them, only a dry run tells (`try_claim`): the trap hashes the
        network of its origin too, which a runtime may leave out or write for its signers, and
        metadata doesn't tell which.
        """
        place, account = split_account(self.event.fields["origin"])
        return account if self.count and self.proven and place == "0/Here" else None


def trap_hash(table: "RuntimeTable", pallet: str, origin: Any, assets: Any) -> bytes | None:
    """Return the hash under which the trap keeps *assets*, a VersionedAssets, of *origin*, a
    Location.

    None if *table* has no such versions.
    """
    types = {field.name: field.type_id for field in table.call_fields(pallet, "claim_assets")}
    newest = max(table.types.variants(types["beneficiary"]), key=lambda name: int(name[1:]))
    try:
        # The trap hashes a Location, without the byte of its version.
        location = table.encode(types["beneficiary"], {newest: origin})[1:]
        data = location + table.encode(types["assets"], assets)
    except InvalidRequest:
        return None
    return blake2b(data, digest_size=32).digest()


async def find_traps(client: "Client", number: int) -> list[AssetTrap]:
    """Return what was trapped in the block with this *number*."""
    found = [
        event
        async for _, events in read_blocks(client, range(number, number + 1))
        for event in events
        if event.is_of_xcm("AssetsTrapped")
    ]
    table = await client.table()
    counts = await client.storages(
        [(event.pallet, "AssetTraps", (event.fields["hash"],)) for event in found]
    )
    return [
        AssetTrap(number=number, event=event, count=count, proven=_is_proven(table, event))
        for event, count in zip(found, counts, strict=True)
    ]


async def try_claim(
    clients: "Clients", registry: "Registry", chain: "Chain", trap: AssetTrap, claim: "Call"
) -> "DryRunResult":
    """Return what *claim* by the claimant of *trap* would do on *chain* now: a failure if it claims
    nothing, or others."""
    if trap.claimant is None:
        raise ValueError(f"no account claims {trap.hash}")
    result = await try_call(clients, registry, chain, claim, trap.claimant)
    claimed = any(
        event.pallet == trap.event.pallet
        and event.name == "AssetsClaimed"
        and event.fields["hash"] == trap.event.fields["hash"]
        for event in result.events
    )
    if result.failure or result.unknown:
        return result
    if any(
        event.pallet == trap.event.pallet and event.name == "AssetsTrapped"
        for event in result.events
    ):
        return replace(result, failure=f"{chain.title} traps assets again")
    if claimed:
        return result
    # The same assets in the name of the same account, whose origin has its network once and once
    # not.
    return replace(result, failure=f"{chain.title} takes them from another entry of the trap")


def _is_proven(table: "RuntimeTable", event: "Event") -> bool:
    fields = event.fields
    expected = trap_hash(table, event.pallet, fields["origin"], fields["assets"])
    return expected is not None and fields["hash"] == expected
