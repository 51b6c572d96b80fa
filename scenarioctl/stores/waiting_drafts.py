"""Drafts that wait for a signature, as a store finds them.

A draft waits while it is neither expired nor flagged, and until it, or a newer draft of the same job and node, is sent.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WaitingDraft:
    """The newest draft of a job that could be signed."""

    job: str
    seq: int
    expires: int
    #: How many drafts of the job wait, this one counted.
    count: int


@dataclass(frozen=True, kw_only=True)
class WaitingDrafts:
    """Drafts that somebody should sign."""

    items: tuple[WaitingDraft, ...] = ()
    #: How many jobs have such a draft, and how many of them will soon have none.
    total: int = 0
    expiring: int = 0
