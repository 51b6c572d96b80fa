"""A call to a runtime, before and after it is bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarioctl.model.checks import Check


@dataclass(frozen=True, kw_only=True)
class Call:
    """One dispatchable with its arguments, spelled as in the runtime's metadata.

    The values follow the conventions at the top of `runtime/scale.py`.
    """

    pallet: str
    method: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UnsignedTransaction:
    """A call encoded for one runtime, and what its signer should know."""

    chain: str
    call: Call
    call_data: bytes
    spec_version: int
    #: Built from a table that no node confirmed.
    offline: bool = False
    #: Sentences for the person who signs.
    warnings: tuple[str, ...] = ()
    #: What else they may want to know: the quote that a swap's minimum comes from.
    notes: tuple[str, ...] = ()
    #: What a check before signing found, where one was asked for.
    check: "Check | None" = None
