"""Fields and answers of operations that build a transaction, with its check: it is returned only if it passes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.model.json_types import CheckAnswer
from scenarioctl.model.request_fields import Address, AssetName, Value
from scenarioctl.operations.signing_fields import TransactionFields, parse_sender

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable

#: Said of several checks, none of which sees what another one's transaction does.
CHECKED_ALONE = (
    "each step was checked by itself, on what the chains hold now and not on what the steps before it leave"
)


@dataclass(frozen=True, kw_only=True)
class CheckableFields(TransactionFields):
    """Fields of every operation that answers with a transaction, checked where that is asked for."""

    #: Simulate it for `sender` on every chain it touches, and go on only if it passes.
    check: bool = False


@dataclass(frozen=True, kw_only=True)
class CreationFields:
    """Fields of operations that store a scenario, checked where that is asked for."""

    #: Simulate it for `sender` on every chain it touches, and create it only if it passes.
    check: bool = False
    #: Account that will sign, for `check`: SS58 or 0x public key.
    sender: Address = ""
    #: Refuse to create it if there is a warning.
    strict: bool = False


@dataclass(frozen=True, kw_only=True)
class TransferFields:
    """What a transfer may do, and how."""

    #: Confirm a receiver without a private key, like the account of a pallet.
    yes: bool = False
    #: Let the transfer close the sender's account, or keep it alive (default). Only within a chain, or with `amount` max.
    allow_death: Annotated[bool | None, Value(off="--keep-alive")] = None
    #: Version of XCM to write: 3, 4 or 5; the highest that both runtimes know if left out.
    xcm_version: Annotated[str | int | None, Value("3|4|5", offers=("3", "4", "5"))] = None
    #: Asset of the source chain that goes along and pays for execution on the destination: its id, symbol or location. The
    #: chain is asked how much; what is left is the receiver's.
    remote_fee_asset: AssetName = ""


@dataclass(frozen=True, kw_only=True)
class RawTransferFields(TransferFields):
    """Fields of a transfer that is drafted and not stored."""

    #: Accept that what arrives can't all be spent at first, because a deposit limit locks it.
    accept_locked: bool = False
    #: To Ethereum: send so much Ether of `sender` along for a relayer, like 0.0003. The message then goes by Snowbridge's second
    #: protocol (V2).
    relayer_fee: Annotated[str | int | float, Value("ETH")] = ""


@dataclass(frozen=True, kw_only=True)
class LossFields:
    """Fields of a transfer that is built without a check."""

    #: Build it also if so little arrives that it is lost. Not with `check`, which judges what arrives.
    accept_loss: bool = False


class RuntimeUsed(TypedDict):
    """The runtime that a transaction is built for."""

    spec_version: int
    #: Built offline, not checked against a node.
    offline: NotRequired[Literal[True]]
    #: Of a maximum, a swap or a claim: how many endpoints its amounts rest on, as in a check.
    asked: NotRequired[Literal[1, 2]]


class Checked(TypedDict):
    """The check of a transaction, if one was asked for."""

    check: NotRequired[CheckAnswer]


def runtime_used(built: "UnsignedTransaction | RuntimeTable", *, offline: bool) -> RuntimeUsed:
    used: RuntimeUsed = {"spec_version": built.spec_version}
    if offline:
        used["offline"] = True
    if isinstance(built, UnsignedTransaction) and built.asked:
        used["asked"] = built.asked
    return used


def check_sender(check: bool, sender: str, chain: "Chain | None" = None) -> bytes | None:
    """Return the account of *chain* that a check is made for; None where none is asked for."""
    return parse_sender(sender, chain) if check else None


def refuse_checked_fee_asset(request: CheckableFields) -> None:
    """Refuse a fee asset that the check of a drafted scenario would not see."""
    if request.check and request.fee_asset != "":
        raise InvalidRequest(
            field="fee_asset",
            value=request.fee_asset,
            problem="cannot be combined with check here: make the transaction without check, then pass it and fee_asset to tx check",
        )


def refuse_checked_loss(*, check: bool, accept_loss: bool) -> None:
    """Refuse to accept a loss that the check would refuse nevertheless."""
    if check and accept_loss:
        raise InvalidRequest(
            field="accept_loss",
            problem="cannot be combined with check, which refuses what would be lost: leave one of them out",
        )


def passed_check(transaction: "UnsignedTransaction") -> Checked:
    """Return the check of *transaction*, which must pass; nothing if none was asked for."""
    if transaction.check is None:
        return {}
    from scenarioctl.actions.drafting import require_ok

    require_ok(transaction.check)
    return {"check": transaction.check.answer()}
