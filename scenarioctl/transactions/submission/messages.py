"""The XCM messages that a transaction sent, as its events tell: where to, and by which id the destination will know them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import write_location
from scenarioctl.transactions.events import Event
from scenarioctl.transactions.xcm_instructions import chain_at, find_chain, walk_program

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


@dataclass(frozen=True, kw_only=True)
class SentMessage:
    """A message on its way to another chain."""

    #: Name of the chain that it goes to; empty if that is none of the registry.
    chain: str
    #: Where it goes, as text.
    place: str
    #: 0x hex: what `MessageQueue.Processed` calls it there.  It is the topic of the message, else its hash.
    id: str
    #: Names of chains that its program sends something on to.
    onward: tuple[str, ...] = ()


def find_messages(registry: "Registry", chain: "Chain", events: Sequence[Event]) -> Iterator[SentMessage]:
    """Give the messages that a transaction on *chain* sent, by its *events*."""
    told = [event for event in events if event.is_of_xcm("Sent") and isinstance(event.fields, Mapping)]
    for event in told:
        place = write_location(event.fields["destination"])
        destination = chain_at(registry, chain, place) if place else None
        yield SentMessage(
            chain=destination.name if destination is not None else "",
            place=place or "an unnamed location",
            id=message_id(event.fields.get("message_id")),
            onward=_onward(registry, chain, destination, event.fields["message"]),
        )
    if told:
        return
    # What an executed program sends, some runtimes tell by the transport alone.
    for event in events:
        if str(event) == "ParachainSystem.UpwardMessageSent":
            relay = find_chain(registry, chain, "")
            name = relay.name if relay is not None else ""
            yield SentMessage(chain=name, place="1/Here", id=message_id(event.fields["message_hash"]))
        elif str(event) == "XcmpQueue.XcmpMessageSent":
            yield SentMessage(
                chain="",
                place="a parachain that the event doesn't name",
                id=message_id(event.fields["message_hash"]),
            )


def message_id(value: Any) -> str:
    """Return the id of a message, as an event has it, in 0x hex; empty if it isn't one."""
    return "0x" + value.hex() if isinstance(value, bytes) else ""


def _onward(
    registry: "Registry", origin: "Chain", destination: "Chain | None", program: Sequence[Any]
) -> tuple[str, ...]:
    if destination is None:
        return ()
    passed = walk_program(program, registry, chain=destination, origin=origin)
    names = [each.chain.name for each in passed if each.chain is not None]
    return tuple(dict.fromkeys(name for name in names if name != destination.name))
