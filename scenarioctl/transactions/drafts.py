"""The result of a builder: a call, and warnings for its signer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenarioctl.model.calls import Call

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A call that is ready to be encoded."""

    call: Call
    #: Sentences for the signer.
    warnings: tuple[str, ...] = ()
    #: Those of them that stay true once the call was tried.
    notes: tuple[str, ...] = ()
    #: Only a check could open its route, and didn't: nobody may get the bytes.
    unproven: bool = False
    #: What a transfer sends beside its amount, to pay on the way: an asset of the source, and the raw amount.
    beside: "tuple[Asset, int] | None" = None
