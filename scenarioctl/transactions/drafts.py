"""The result of a builder: a call, and warnings for its signer."""

from dataclasses import dataclass

from scenarioctl.model.calls import Call


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A call that is ready to be encoded."""

    call: Call
    #: Sentences for the signer.
    warnings: tuple[str, ...] = ()
    #: Only a check could open its route, and didn't: nobody may get the bytes.
    unproven: bool = False
