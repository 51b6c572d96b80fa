"""A signed transaction that was sent to its chain, and what is known of it since."""

from dataclasses import dataclass
from enum import StrEnum

from scenarioctl.model.hexadecimal import from_hex


class SentState(StrEnum):
    """How far a transaction has come."""

    #: It was written down, and then the program stopped or lost the node: it may have been sent.
    UNCERTAIN = "uncertain"
    #: A node took it into its pool.
    SENT = "sent"
    #: In a block that is not final yet.
    IN_BLOCK = "in-block"
    FINALIZED = "finalized"
    #: Its validity has passed, and no final block has it: no block can include it any more.
    EXPIRED = "expired"


@dataclass(frozen=True, kw_only=True)
class SentTransaction:
    """What the store keeps of a transaction that was sent.  Its bytes are not kept."""

    chain: str
    #: blake2b-256 of its bytes, 0x hex.
    hash: str
    #: Nanoseconds since 1970, UTC.
    sent: int
    #: 0x hex of the account that signed it; empty if the runtime names it otherwise.
    signer: str = ""
    nonce: int | None = None
    #: Number of the best block when it was sent.
    at_block: int
    #: The last block that may include it; None if it is immortal.
    valid_until: int | None = None
    #: The job and the draft that it was made of; empty and None if it was made of none.
    job: str = ""
    draft: int | None = None
    #: The scenario that it was made of, with a job or without one, and the node of its step; no node: all of its
    #: transactions in one.  Empty if it was made of none.
    scenario: str = ""
    node: str = ""
    state: SentState = SentState.UNCERTAIN
    #: No block up to this one has it, and none of them can change any more.
    searched: int
    #: The block that has it; empty and None if none has.
    block: str = ""
    block_number: int | None = None
    #: What it did there, as the text of a JSON object; empty if that is not known.
    effects: str = ""
    #: How often what is known has changed.
    revision: int = 0

    @property
    def account(self) -> bytes | None:
        """Return the account that signed it; None if the runtime names it otherwise."""
        return from_hex(self.signer) or None
