"""XCM programs, read instruction by instruction: what stands in an appendix or goes on to another chain is read too.

A dry run shows what a program does now.  What it holds besides, and would do on another day, only reading shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.chains.trust import chain_beyond
from scenarioctl.transactions.xcm_instructions import TRANSFERS, kind_of, read_instruction

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction, and where it would be executed."""

    name: str
    fields: Any
    #: None where that is no chain of the registry.
    chain: "Chain | None"
    #: The chain that the program comes from; None where an account executes it on its own chain.
    origin: "Chain | None"
    #: Whether it acts in the name of `origin`, and not of an account or a place within it.
    as_chain: bool
    #: Whether only an error lets it run.
    on_error: bool
    #: Whether it runs at the end, of a program that failed too: then with all that was left.
    at_end: bool = False
    #: Whether it stands in a program that is sent to another chain: what of it runs there stands in that message too.
    sent_on: bool = False


@dataclass(frozen=True, kw_only=True)
class OnwardAssets:
    """Assets that an instruction sends on to another chain."""

    #: As the message of the other chain has it: `ReceiveTeleportedAsset`, `ReserveAssetDeposited` or `WithdrawAsset`.
    arrives_as: str
    #: None where it is no chain of the registry.
    destination: "Chain | None"
    #: As `XCM` has it: a list where they are named, else None.
    assets: list[Any] | None


def chain_at(registry: "Registry", origin: "Chain", place: str) -> "Chain | None":
    """Return the chain that *origin* sees at *place*, which may be beyond a bridge; None where it is none of the registry."""
    if place.startswith("2/"):
        return chain_beyond(registry, origin, place)
    return find_chain(registry, origin, absolute(place, origin.para_id))


def find_chain(registry: "Registry", near: "Chain", name: str) -> "Chain | None":
    """Return the chain under the relay chain of *near* that has the `para_name` *name*; None if there is none."""
    for chain in registry.all():
        if chain.relay and chain.relay == near.relay and para_name(chain) == name:
            return chain
    return None


def para_name(chain: "Chain") -> str:
    """Return `Parachain(1000)`, or `` for a relay chain; unlike `chain_identity`, also if *chain* has no para_id."""
    return "" if chain.role == "relay" else f"Parachain({chain.para_id})"


def walk_program(
    program: Sequence[Any],
    registry: "Registry",
    *,
    chain: "Chain | None",
    origin: "Chain | None",
    as_chain: bool = True,
) -> Iterator[Instruction]:
    """Give every instruction of *program*, those of programs inside it among them."""
    around = Instruction(name="", fields=None, chain=chain, origin=origin, as_chain=as_chain, on_error=False)
    yield from _walk(program, registry, around)


def _walk(program: Sequence[Any], registry: "Registry", around: Instruction) -> Iterator[Instruction]:
    for value in program:
        name, fields = read_instruction(value)
        yield replace(around, name=name, fields=fields)
        kind = kind_of(name)
        if kind.program:
            inside = replace(
                around,
                as_chain=around.as_chain and not kind.changes_origin,
                on_error=around.on_error or kind.runs == "on error",
                at_end=around.at_end or kind.runs == "at end",
            )
            if kind.runs == "there":
                there = _chain(registry, around.chain, fields[kind.onward])
                inside = replace(inside, chain=there, origin=around.chain, as_chain=True, sent_on=True)
            yield from _walk(fields if kind.program == "*" else fields[kind.program], registry, inside)
        elif kind.changes_origin:
            around = replace(around, as_chain=False)


def onward_assets(registry: "Registry", instruction: Instruction) -> list[OnwardAssets]:
    """Return what *instruction* sends on to another chain."""
    kind, fields = kind_of(instruction.name), instruction.fields
    if not kind.onward:
        return []
    destination = _chain(registry, instruction.chain, fields[kind.onward])
    if kind.arrives_as:
        named = _named(fields["assets"])
        return [OnwardAssets(arrives_as=kind.arrives_as, destination=destination, assets=named)]
    beside = [] if fields["remote_fees"] is None else [fields["remote_fees"]]
    return [
        OnwardAssets(arrives_as=TRANSFERS[way], destination=destination, assets=_named(assets))
        for item in (*fields["assets"], *beside)
        for way, assets in item.items()
    ]


def _named(assets: Any) -> list[Any] | None:
    """Return the assets of a filter that names them; None for a wild one."""
    if isinstance(assets, list):
        return assets
    return assets.get("Definite")  # type: ignore[no-any-return]


def _chain(registry: "Registry", seen_from: "Chain | None", location: Any) -> "Chain | None":
    place = write_location(location)
    return chain_at(registry, seen_from, place) if place and seen_from is not None else None


def gives_to_places(instructions: Sequence[Instruction]) -> frozenset[str]:
    """Return the chains on which a program gives something to a place that is no account, like a parachain's own."""
    return frozenset(
        instruction.chain.name
        for instruction in instructions
        if (paid := kind_of(instruction.name).pays)
        and instruction.chain is not None
        and split_account(instruction.fields[paid])[1] is None
    )
