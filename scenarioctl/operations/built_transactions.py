"""Fields and answers of operations that build a transaction, with its check: it is returned only if it passes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from scenarioctl.errors import InvalidRequest
from scenarioctl.operations.signing_fields import TransactionFields

if TYPE_CHECKING:
    from scenarioctl.model.calls import UnsignedTransaction
    from scenarioctl.model.checks import Check


@dataclass(frozen=True, kw_only=True)
class CheckableFields(TransactionFields):
    """Fields of every operation that answers with a transaction, checked where that is asked for."""

    #: Check it on the chains for `sender`, and answer only if it passes.
    check: bool = False


class RuntimeUsed(TypedDict):
    """The runtime that a transaction is built for."""

    spec_version: int
    #: Built offline, not checked against a node.
    offline: NotRequired[Literal[True]]


def check_sender(check: bool, sender: str) -> bytes | None:
    """Return the account that a check is made for; None where none is asked for."""
    return parse_sender(sender) if check else None


def parse_sender(sender: str) -> bytes:
    """Return the account that will sign; there is no check without one."""
    from scenarioctl.chains.addresses import parse_account

    if not sender:
        raise InvalidRequest("sender is missing, expected the account that will sign")
    return parse_account(sender, field="sender")


def passed_check(transaction: "UnsignedTransaction") -> "Check | None":
    """Return the check of *transaction*, which passed; None where none was asked for."""
    if transaction.check is not None:
        from scenarioctl.actions.drafting import require_ok

        require_ok(transaction.check)
    return transaction.check
