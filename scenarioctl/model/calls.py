"""A runtime call, before and after encoding."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from scenarioctl.model.checks import Check

#: Ways to join calls -> the method of the pallet Utility.
BATCHES = {"batch-all": "batch_all", "batch": "batch", "force-batch": "force_batch"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One dispatchable with its arguments, spelled as in the runtime's metadata.

    The values follow the conventions at the top of `runtime/scale.py`.
    """

    pallet: str
    method: str
    args: Mapping[str, Any] = field(default_factory=dict)


class ActedCall(NamedTuple):
    """What a signer signs so that an account makes a call, and what to say of it."""

    call: Call
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UnsignedTransaction:
    """A call encoded for one runtime, with warnings and notes for its signer."""

    chain: str
    call: Call
    call_data: bytes
    spec_version: int
    #: Built offline, not checked against a node.
    offline: bool = False
    #: Warnings for the signer.
    warnings: tuple[str, ...] = ()
    #: What a person has to confirm before a scenario is made of it, like a minimum far below the
    #: quote.
    doubts: tuple[str, ...] = ()
    #: Further notes, like the quote behind a swap's minimum.
    notes: tuple[str, ...] = ()
    #: The result of a check, if one was requested.
    check: "Check | None" = None
    #: How many endpoints told what its amounts rest on (a maximum, a quote, trapped assets), 1 or
    #: 2; 0 if no node did.
    asked: Literal[0, 1, 2] = 0
    #: Of an amount `max`: what it is, in whole tokens; empty otherwise.
    maximum: str = ""
    #: What it sends beside its amount to pay on the way, in whole tokens; empty for nothing.
    beside: str = ""
    #: Only a check could open its route, and didn't: nobody may get the bytes.
    unproven: bool = False
    #: The lines of a payout that it pays, by their places, with spaces between; empty for all.
    part: str = ""
    #: As `DraftedCall.call`: of the call that the account makes for which its signer acts.
    key: str = ""


def call_key(call_data: bytes, account: bytes | None = None) -> str:
    """Return what `DraftedCall.call` says of a call that *account* makes, whose signer acts for it;
    None: that its signer makes."""
    hash = f"0x{blake2b(call_data, digest_size=32).hexdigest()}"
    return hash if account is None else f"{hash}/0x{account.hex()}"
