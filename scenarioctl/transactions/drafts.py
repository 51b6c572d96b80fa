"""What a builder gives back: a call, and what its signer should know."""

from dataclasses import dataclass

from scenarioctl.model.calls import Call


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A call that is ready to be encoded."""

    call: Call
    #: Sentences for the person who signs.
    warnings: tuple[str, ...] = ()
