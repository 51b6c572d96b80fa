"""What a worker counts."""

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Counts:
    """What a worker has done since it started, for `/metrics`."""

    executed: int = 0
    failed: int = 0
    #: Runs that were not kept, since their job had another owner by then.
    lost: int = 0
    left_out: int = 0
    #: Runs that were begun before, by a worker that did not end them.
    taken_over: int = 0
    bugs: int = 0
    store_errors: int = 0
    flagged: int = 0
    notifications_delivered: int = 0
    #: Attempts that failed.
    notifications_failed: int = 0
    notifications_given_up: int = 0
    drafts: dict[str, int] = field(default_factory=dict)
