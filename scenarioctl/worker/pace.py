"""How often a worker does what."""

from dataclasses import dataclass

from scenarioctl.model.jobs import LEASE_SECONDS


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a worker does what, in seconds."""

    #: A claim lasts this long unless it is renewed; then other workers may take the jobs of a frozen one.
    lease: float = LEASE_SECONDS
    renew: float = 3.0
    #: How often a worker renews it that has no legs and shares them with nobody.
    seen: float = 60.0
    #: Jobs that other processes start are noticed within this time.
    poll: float = 0.5
    #: How often leases of dead workers are looked for.
    owners: float = 3.0
    #: A stop waits this long for runs in progress.
    grace: float = 10.0
    #: A run that takes longer is taken to wait for a server that hangs, and loses its place.  This is longer than the wait
    #: for a connection to a busy chain, or more and more runs would wait for one.
    slow: float = 15.0
    #: How often drafts are compared with the runtime of their chain.
    draft_checks: float = 30.0
    #: Notifications that are tried again are sent within this time; those that other workers left behind, within eight times
    #: this.
    notifications: float = 2.0
    prune: float = 300.0
    #: The first time after the start, for workers that never run for long.
    first_prune: float = 20.0
    #: The pause after an error of the store, doubled up to `patience`.
    retry: float = 0.2
    patience: float = 15.0
