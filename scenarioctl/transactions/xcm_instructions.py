"""The instructions of XCM and programs of them: what each moves, whom it pays, what it sends on,
and its words.

To add one, add a row to INSTRUCTIONS.  Checks and words both read it; what has no row is named, and
never *ok*. A dry run shows what a program does now.  What it holds besides, in an appendix or for
another chain, only reading shows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from scenarioctl.chains.locations import absolute, split_account, write_location
from scenarioctl.chains.trust import chain_beyond

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry


@dataclass(frozen=True, kw_only=True)
class InstructionKind:
    """What one kind of instruction does."""

    #: What it does, for the signer: `{assets}` is its fields, `{filter:give}` the field `give`,
    #: written as a filter of assets. Without words it is named.
    words: str = ""
    #: Its fields are assets that come from the origin to the holding.
    brings: bool = False
    #: It takes the assets in its field `assets` from the origin, or what is trapped of it.
    takes: bool = False
    #: It destroys the assets that are its fields.
    destroys: bool = False
    #: It pays for execution out of the holding.
    buys: bool = False
    #: The field of whom it pays.
    pays: str = ""
    #: The field of the chain that assets go on to, and the instruction by which they come there.
    onward: str = ""
    arrives_as: str = ""
    #: The field of the program inside it, "*" for all its fields; and where, or when, that runs.
    program: str = ""
    runs: Literal["here", "there", "on error", "at end"] = "here"
    #: What follows acts in the name of another origin than the chain that sends the message.
    changes_origin: bool = False
    #: A simulation shows all of its effects: in balances, in messages, or in nothing at all.
    followed: bool = True
    #: It leaves what can be computed without a simulation.
    computed: bool = False


_RUNS_THERE: Mapping[str, Any] = {"program": "xcm", "runs": "there", "computed": True}
#: Instructions that move nothing and pay nobody.
_QUIET = (
    *("RefundSurplus", "UnpaidExecution", "SetFeesMode", "ClearError", "ClearTransactStatus"),
    *("Trap", "ClearTopic", "ExpectAsset", "ExpectOrigin", "ExpectError", "ExpectPallet"),
    "ExpectTransactStatus",
)
INSTRUCTIONS: Mapping[str, InstructionKind] = {
    **dict.fromkeys(_QUIET, InstructionKind()),
    **dict.fromkeys(("ClearOrigin", "SetTopic"), InstructionKind(computed=True)),
    "DescendOrigin": InstructionKind(
        words="acts from then on as {inside} within its origin", changes_origin=True
    ),
    "AliasOrigin": InstructionKind(words="acts from then on as {receiver}", changes_origin=True),
    "UniversalOrigin": InstructionKind(changes_origin=True, followed=False),
    "WithdrawAsset": InstructionKind(words="withdraws {assets}", brings=True, computed=True),
    "ReserveAssetDeposited": InstructionKind(
        words="takes as backed by its origin {assets}", brings=True, computed=True
    ),
    "ReceiveTeleportedAsset": InstructionKind(
        words="takes as teleported {assets}", brings=True, computed=True
    ),
    "SetHints": InstructionKind(words="lets {claimers:hints} claim assets that are trapped"),
    "ClaimAsset": InstructionKind(words="claims {assets:assets}", takes=True),
    "BurnAsset": InstructionKind(words="burns {assets}", destroys=True),
    "DepositAsset": InstructionKind(
        words="deposits {filter:assets} for {receiver:beneficiary}",
        pays="beneficiary",
        computed=True,
    ),
    "TransferAsset": InstructionKind(
        words="transfers {assets:assets} to {receiver:beneficiary}",
        pays="beneficiary",
        takes=True,
    ),
    "DepositReserveAsset": InstructionKind(
        words=(
            "sends {filter:assets} to {place:dest} over the reserve here, which does "
            "{program:xcm,dest}"
        ),
        onward="dest",
        arrives_as="ReserveAssetDeposited",
        **_RUNS_THERE,
    ),
    "TransferReserveAsset": InstructionKind(
        words=(
            "sends {assets:assets} to {place:dest} over the reserve here, which does "
            "{program:xcm,dest}"
        ),
        onward="dest",
        arrives_as="ReserveAssetDeposited",
        program="xcm",
        runs="there",
        takes=True,
    ),
    "InitiateReserveWithdraw": InstructionKind(
        words=(
            "sends {filter:assets} back to the reserve on {place:reserve}, which does "
            "{program:xcm,reserve}"
        ),
        onward="reserve",
        arrives_as="WithdrawAsset",
        **_RUNS_THERE,
    ),
    "InitiateTeleport": InstructionKind(
        words="teleports {filter:assets} to {place:dest}, which does {program:xcm,dest}",
        onward="dest",
        arrives_as="ReceiveTeleportedAsset",
        **_RUNS_THERE,
    ),
    # How the assets come there, it says for each of them.
    "InitiateTransfer": InstructionKind(
        words=(
            "sends {transfers:assets}<remote_fees? and {fees:remote_fees}> to "
            "{place:destination}, which does {program:remote_xcm,destination}"
        ),
        onward="destination",
        program="remote_xcm",
        runs="there",
    ),
    "BuyExecution": InstructionKind(
        words="pays up to {item:fees} for execution", buys=True, computed=True
    ),
    "PayFees": InstructionKind(words="pays up to {item:asset} for fees", buys=True),
    "SetAppendix": InstructionKind(words="at its end does {program}", program="*", runs="at end"),
    "SetErrorHandler": InstructionKind(
        words="on an error does {program}", program="*", runs="on error"
    ),
    "ExecuteWithOrigin": InstructionKind(
        words=(
            "<descendant_origin?as {inside:descendant_origin} within its origin|without an "
            "origin> does {program:xcm}"
        ),
        program="xcm",
        changes_origin=True,
    ),
    "ExchangeAsset": InstructionKind(words="exchanges {filter:give} {price:want}", followed=False),
    "Transact": InstructionKind(
        words="runs on {here} as {plain:origin_kind} (Transact) the call {encoded:call}",
        followed=False,
    ),
}
_UNKNOWN = InstructionKind(followed=False)
#: The kinds of transfer that `InitiateTransfer` makes, and how the assets come to the other chain.
TRANSFERS: Mapping[str, str] = {
    "Teleport": "ReceiveTeleportedAsset",
    "ReserveDeposit": "ReserveAssetDeposited",
    "ReserveWithdraw": "WithdrawAsset",
}


def kind_of(name: str) -> InstructionKind:
    """Return the row of an instruction; one of which nothing is known where it has none."""
    return INSTRUCTIONS.get(name, _UNKNOWN)


def read_instruction(value: Any) -> tuple[str, Any]:
    """Return name and fields of an instruction, or of any other variant."""
    return next(iter(value.items())) if isinstance(value, Mapping) else (str(value), None)


def brought_items(instructions: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """Give the assets, as XCM has them, that come to the holding by *instructions*: pairs of name
    and fields."""
    for name, fields in instructions:
        if kind_of(name).brings:
            yield from fields


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
    #: Whether an error handler stands before it: then it may be skipped.
    skippable: bool = False
    #: Whether it stands in a program that is sent to another chain: what of it runs there stands in
    #: that message too.
    sent_on: bool = False


@dataclass(frozen=True, kw_only=True)
class OnwardAssets:
    """Assets that an instruction sends on to another chain."""

    #: As the message of the other chain has it: `ReceiveTeleportedAsset`, `ReserveAssetDeposited`
    #: or `WithdrawAsset`.
    arrives_as: str
    #: None where it is no chain of the registry.
    destination: "Chain | None"
    #: As `XCM` has it: a list where they are named, else None.
    assets: list[Any] | None


def chain_at(registry: "Registry", origin: "Chain", place: str) -> "Chain | None":
    """Return the chain that *origin* sees at *place*, which may be beyond a bridge; None where it
    is none of the registry."""
    if place.startswith("2/"):
        return chain_beyond(registry, origin, place)
    return find_chain(registry, origin, absolute(place, origin.para_id))


def find_chain(registry: "Registry", near: "Chain", name: str) -> "Chain | None":
    """Return the chain under the relay chain of *near* that has the `para_name` *name*; None if
    there is none."""
    for chain in registry.all():
        if chain.relay and chain.relay == near.relay and para_name(chain) == name:
            return chain
    return None


def para_name(chain: "Chain") -> str:
    """Return `Parachain(1000)`, or `` for a relay chain; unlike `chain_identity`, also if *chain*
    has no para_id."""
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
    around = Instruction(
        name="", fields=None, chain=chain, origin=origin, as_chain=as_chain, on_error=False
    )
    yield from _walk(program, registry, around)


def _walk(
    program: Sequence[Any], registry: "Registry", around: Instruction
) -> Iterator[Instruction]:
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
                inside = replace(
                    inside, chain=there, origin=around.chain, as_chain=True, sent_on=True
                )
            yield from _walk(
                fields if kind.program == "*" else fields[kind.program], registry, inside
            )
            around = replace(around, skippable=around.skippable or kind.runs == "on error")
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
    """Return the chains on which a program gives something to a place that is no account, like a
    parachain's own."""
    return frozenset(
        instruction.chain.name
        for instruction in instructions
        if (paid := kind_of(instruction.name).pays)
        and instruction.chain is not None
        and split_account(instruction.fields[paid])[1] is None
    )
