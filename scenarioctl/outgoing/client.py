"""Sending a step's request."""

from collections.abc import Sequence


class Outgoing:
    """The way to web servers, kept away from private networks but those in *private_targets*."""

    def __init__(self, *, private_targets: Sequence[str] = ()) -> None:
        self.private_targets = tuple(private_targets)

    async def close(self) -> None:
        """Let go of open connections."""
