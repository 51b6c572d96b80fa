"""What a worker counts."""

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Counts:
    """What a worker has done since it began, for the daemon's figures."""

    executed: int = 0
    failed: int = 0
    #: Runs whose job was another's when they ended.
    lost: int = 0
    left_out: int = 0
    bugs: int = 0
    store_errors: int = 0
    flagged: int = 0
    drafts: dict[str, int] = field(default_factory=dict)
