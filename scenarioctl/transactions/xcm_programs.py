"""XCM programs, read instruction by instruction: what stands in an appendix or goes on to another chain is read too.

A dry run shows what a program does now.  What it holds besides, and would do on another day, only reading shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.chains.locations import absolute, junctions_of, write_location
from scenarioctl.chains.trust import chain_beyond

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain, Registry

XCM_PALLETS = ("PolkadotXcm", "XcmPallet")
#: Calls that move nothing, whoever makes them.
HARMLESS_CALLS = frozenset((("System", "remark"), ("System", "remark_with_event")))
#: Instructions whose effects a dry run shows in full: in balances, in messages, or in nothing at all.
FOLLOWED = frozenset(
    (
        *("WithdrawAsset", "ReserveAssetDeposited", "ReceiveTeleportedAsset", "ClaimAsset"),
        *("TransferAsset", "TransferReserveAsset", "DepositAsset", "DepositReserveAsset"),
        *("InitiateTeleport", "InitiateReserveWithdraw", "InitiateTransfer", "ExecuteWithOrigin"),
        *("BuyExecution", "PayFees", "RefundSurplus", "UnpaidExecution", "SetFeesMode", "SetHints"),
        *("SetAppendix", "SetErrorHandler", "ClearError", "ClearTransactStatus", "Trap"),
        *("ClearOrigin", "DescendOrigin", "AliasOrigin", "BurnAsset", "SetTopic", "ClearTopic"),
        *("ExpectAsset", "ExpectOrigin", "ExpectError", "ExpectPallet", "ExpectTransactStatus"),
    )
)
#: Instructions that name another origin than the chain that sends the message.
_OTHER_ORIGIN = ("DescendOrigin", "AliasOrigin", "UniversalOrigin")
#: Instruction -> its field that names the other chain, and how the assets come there.
ONWARD: Mapping[str, tuple[str, str]] = {
    "DepositReserveAsset": ("dest", "ReserveAssetDeposited"),
    "TransferReserveAsset": ("dest", "ReserveAssetDeposited"),
    "InitiateReserveWithdraw": ("reserve", "WithdrawAsset"),
    "InitiateTeleport": ("dest", "ReceiveTeleportedAsset"),
}
#: The kinds of transfer that `InitiateTransfer` makes, and how the assets come to the other chain.
_TRANSFERS: Mapping[str, str] = {
    "Teleport": "ReceiveTeleportedAsset",
    "ReserveDeposit": "ReserveAssetDeposited",
    "ReserveWithdraw": "WithdrawAsset",
}


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


@dataclass(frozen=True, kw_only=True)
class OnwardAssets:
    """Assets that an instruction sends on to another chain."""

    #: As the message of the other chain has it: `ReceiveTeleportedAsset`, `ReserveAssetDeposited` or `WithdrawAsset`.
    arrives_as: str
    #: None where it is no chain of the registry.
    destination: "Chain | None"
    #: As `XCM` has it: a list where they are named, else None.
    assets: list[Any] | None


def read_instruction(value: Any) -> tuple[str, Any]:
    """Return an instruction's name and fields."""
    return next(iter(value.items())) if isinstance(value, Mapping) else (str(value), None)


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
    on_error: bool = False,
    at_end: bool = False,
) -> Iterator[Instruction]:
    """Give every instruction of *program*, those of programs inside it among them."""
    for value in program:
        name, fields = read_instruction(value)
        yield Instruction(
            name=name,
            fields=fields,
            chain=chain,
            origin=origin,
            as_chain=as_chain,
            on_error=on_error,
            at_end=at_end,
        )
        if name in _OTHER_ORIGIN:
            as_chain = False
        elif name in ("SetAppendix", "SetErrorHandler"):
            yield from walk_program(
                fields,
                registry,
                chain=chain,
                origin=origin,
                as_chain=as_chain,
                on_error=on_error or name == "SetErrorHandler",
                at_end=at_end or name == "SetAppendix",
            )
        elif name == "ExecuteWithOrigin":
            yield from walk_program(
                fields["xcm"],
                registry,
                chain=chain,
                origin=origin,
                as_chain=False,
                on_error=on_error,
                at_end=at_end,
            )
        elif name in ONWARD or name == "InitiateTransfer":
            place = fields[ONWARD[name][0]] if name in ONWARD else fields["destination"]
            remote = fields["xcm"] if name in ONWARD else fields["remote_xcm"]
            yield from walk_program(
                remote,
                registry,
                chain=_chain(registry, chain, place),
                origin=chain,
                on_error=on_error,
                at_end=at_end,
            )


def onward_assets(registry: "Registry", instruction: Instruction) -> list[OnwardAssets]:
    """Return what *instruction* sends on to another chain."""
    fields, chain = instruction.fields, instruction.chain
    if instruction.name in ONWARD:
        place, arrives_as = ONWARD[instruction.name]
        destination = _chain(registry, chain, fields[place])
        return [OnwardAssets(arrives_as=arrives_as, destination=destination, assets=_named(fields["assets"]))]
    if instruction.name != "InitiateTransfer":
        return []
    destination = _chain(registry, chain, fields["destination"])
    filters = [*fields["assets"], *([fields["remote_fees"]] if fields["remote_fees"] is not None else [])]
    found = []
    for item in filters:
        kind, assets = next(iter(item.items()))
        found.append(
            OnwardAssets(arrives_as=_TRANSFERS[kind], destination=destination, assets=_named(assets))
        )
    return found


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
        if instruction.name in ("DepositAsset", "TransferAsset")
        and instruction.chain is not None
        and not _is_account(instruction.fields["beneficiary"])
    )


def _is_account(location: Any) -> bool:
    last = (junctions_of(location) or [None])[-1]
    return isinstance(last, Mapping) and ("AccountId32" in last or "AccountKey20" in last)


def named_accounts(value: Any) -> Iterator[bytes]:
    """Give everything in a call or a program that is as long as an account, which all its accounts are."""
    if isinstance(value, bytes):
        if len(value) in ACCOUNT_FORMATS:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from named_accounts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from named_accounts(item)
