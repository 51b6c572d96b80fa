"""The instructions of XCM: what each moves, whom it pays, what it sends on, which programs it holds, and its words.

To add one, add a row to INSTRUCTIONS.  Checks and words both read it; what has no row is named, and never *ok*.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class InstructionKind:
    """What one kind of instruction does."""

    #: What it does, for the signer: `{assets}` is its fields, `{filter:give}` the field `give`, written as a filter of assets.
    #: Without words it is named.
    words: str = ""
    #: Its fields are assets that come from the origin to the holding.
    brings: bool = False
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
    "ClaimAsset": InstructionKind(words="claims {assets:assets}"),
    "BurnAsset": InstructionKind(words="burns {assets}", destroys=True),
    "DepositAsset": InstructionKind(
        words="deposits {filter:assets} for {receiver:beneficiary}", pays="beneficiary", computed=True
    ),
    "TransferAsset": InstructionKind(
        words="transfers {assets:assets} to {receiver:beneficiary}", pays="beneficiary"
    ),
    "DepositReserveAsset": InstructionKind(
        words="sends {filter:assets} to {place:dest} over the reserve here, which does {program:xcm,dest}",
        onward="dest",
        arrives_as="ReserveAssetDeposited",
        **_RUNS_THERE,
    ),
    "TransferReserveAsset": InstructionKind(
        words="sends {assets:assets} to {place:dest} over the reserve here, which does {program:xcm,dest}",
        onward="dest",
        arrives_as="ReserveAssetDeposited",
        program="xcm",
        runs="there",
    ),
    "InitiateReserveWithdraw": InstructionKind(
        words="sends {filter:assets} back to the reserve on {place:reserve}, which does {program:xcm,reserve}",
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
        words="sends {transfers:assets}<remote_fees? and {fees:remote_fees}> to {place:destination}, which does {program:remote_xcm,destination}",
        onward="destination",
        program="remote_xcm",
        runs="there",
    ),
    "BuyExecution": InstructionKind(words="pays up to {item:fees} for execution", buys=True, computed=True),
    "PayFees": InstructionKind(words="pays up to {item:asset} for fees", buys=True),
    "SetAppendix": InstructionKind(words="at its end does {program}", program="*", runs="at end"),
    "SetErrorHandler": InstructionKind(words="on an error does {program}", program="*", runs="on error"),
    "ExecuteWithOrigin": InstructionKind(
        words="<descendant_origin?as {inside:descendant_origin} within its origin|without an origin> does {program:xcm}",
        program="xcm",
        changes_origin=True,
    ),
    "ExchangeAsset": InstructionKind(words="exchanges {filter:give} {price:want}", followed=False),
    "Transact": InstructionKind(
        words="runs on {here} as {plain:origin_kind} (Transact) the call {encoded:call}", followed=False
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
    """Give the assets, as XCM has them, that come to the holding by *instructions*: pairs of name and fields."""
    for name, fields in instructions:
        if kind_of(name).brings:
            yield from fields
