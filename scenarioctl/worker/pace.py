"""How often a worker does what."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a worker does what, in seconds."""

    #: A claim holds so long without being renewed: what a frozen worker holds is then free for others.
    lease: float = 10.0
    renew: float = 3.0
    #: Jobs that other processes start are noticed within this.
    poll: float = 0.5
    #: Leases of workers that died are looked for.
    owners: float = 3.0
    #: A graceful stop waits so long for runs that go on.
    grace: float = 10.0
    #: A run that takes longer waits for a server that hangs: its place is another's then.  Longer than the connections of
    #: a chain that is only asked too much are waited for, or more and more would wait for them.
    slow: float = 15.0
    #: Drafts are compared with the runtime of their chain.
    draft_checks: float = 30.0
    prune: float = 300.0
    #: And so soon after the start, for workers that never live for long.
    first_prune: float = 20.0
    #: After an error of the store, doubled up to `patience`.
    retry: float = 0.2
    patience: float = 15.0
