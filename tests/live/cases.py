"""Transactions to be checked and then executed, each with the answers that a right check may
give."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from tests.live.programs import Actors
from tests.signing import dev_key

if TYPE_CHECKING:
    from tests.live.world import World

#: Who signs: Alice herself makes the blocks of a rig, and gets a part of each fee.
ACTOR = dev_key("//Alice//truth")
Verdicts = frozenset[str]
OK: Verdicts = frozenset({"ok"})
REFUSED: Verdicts = frozenset({"refused"})
UNKNOWN: Verdicts = frozenset({"unknown"})
#: Anything but ok.
CAREFUL: Verdicts = REFUSED | UNKNOWN
ANY: Verdicts = CAREFUL | OK


@dataclass(frozen=True, kw_only=True)
class Cast(Actors):
    """Those a case is about: `a` and `b` are meant to get something, `mallory` is not; `alice` is
    the actor."""

    mallory: bytes
    #: Who signs.
    sender: bytes
    #: Chain, call -> its bytes.
    encode: Callable[[str, Call], bytes]
    #: Sold asset, bought asset, amount -> what the sale would bring on Hydration.
    quote: Callable[[int, int, int], int]


def _nothing(world: "World", cast: Cast) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    #: Of the rig: `xcm`, `omnipool` or `system`.
    mode: str
    chain: str
    call: Callable[[Cast], Call]
    #: What a right check may answer.
    verdicts: Verdicts
    #: Of a reason, warning or step, unless the answer is refused.
    line: str = ""
    #: Of one of the reasons, whatever the answer.
    reason: str = ""
    #: Must be named in reasons or warnings, unless the answer is refused.
    names: Callable[[Cast], bytes] | None = None
    #: `crafted`, `generated` or `ordinary`.
    kind: str = "crafted"
    #: Before the check; between check and execution; after it.
    prepare: Callable[["World", Cast], None] = _nothing
    meanwhile: Callable[["World", Cast], None] = _nothing
    restore: Callable[["World", Cast], None] = _nothing
    #: Signed by a new account that holds this much of the native asset; 0 for the actor.
    endowed: int = 0
    #: A transfer that the program builds: source, destination, asset, amount.
    transfer: tuple[str, str, str, int] | None = None
    #: More words for the record.
    notes: dict[str, Any] = field(default_factory=dict)
