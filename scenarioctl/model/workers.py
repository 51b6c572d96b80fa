"""Workers, as the owners of leases: `HOST:BOOT:PID NAMESPACE:PID:START:RANDOM`.

Every lease runs out by itself.  A worker that finds the process of another one gone frees its leases at once, but it can
only know that of processes of its own host, boot and PID namespace.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

#: Seconds by which the clocks of a worker, a machine and the store may differ.
CLOCK_SKEW = 0.25
#: What a system without /proc does not tell.
_UNKNOWN = "-"


@dataclass(frozen=True, kw_only=True)
class KnownWorker:
    """What the store has of a worker."""

    owner: str
    #: Empty if it is too old to tell.
    version: str
    #: By how many nanoseconds its clock is ahead of the store's, at least; None if it has not told.
    clock_offset: int | None
    #: When it last renewed its lease, by the store's clock, and whether the lease has run out since.
    seen: int
    is_silent: bool
    #: How many legs it has in progress, and the jobs of some of them.
    running: int
    jobs: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """Return the name of its machine."""
        return self.owner.partition(":")[0]

    @property
    def process(self) -> int | None:
        """Return the number of its process there; None if its name doesn't tell."""
        parts = self.owner.split(":")
        return int(parts[3]) if len(parts) == 6 and parts[3].isascii() and parts[3].isdigit() else None


@dataclass(frozen=True, kw_only=True)
class RenewedLease:
    """What the store tells an owner that renews its lease."""

    #: The ids of the jobs whose legs are its own.
    jobs: set[str]
    #: The store's clock.
    now: int


def new_owner() -> str:
    """Return the name of this process as the owner of leases, another one at each call."""
    pid = os.getpid()
    return f"{_host()}:{_boot()}:{_namespace()}:{pid}:{_start(pid)}:{secrets.token_hex(8)}"


def is_gone(owner: str) -> bool:
    """Return whether *owner* has certainly ended; False if that can't be known from here."""
    parts = owner.split(":")
    if len(parts) != 6 or not (parts[3].isascii() and parts[3].isdigit()):
        return False
    host, boot, namespace, pid, start, _ = parts
    if (host, boot, namespace) != (_host(), _boot(), _namespace()):
        # Its process number means nothing here.
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    now = _start(int(pid))
    return _UNKNOWN not in (start, now) and start != now


def _host() -> str:
    return os.uname().nodename.replace(":", "-")


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or _UNKNOWN
    except OSError:
        return _UNKNOWN


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return _UNKNOWN


def _start(pid: int) -> str:
    """Return when the process began, in ticks since the boot: its number may be another's by now."""
    try:
        # The name, in parentheses, may hold anything.
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        # A zombie has ended: only nobody has asked yet how.
        return _UNKNOWN if len(fields) < 20 else "0" if fields[0] == "Z" else fields[19]
    except OSError:
        return _UNKNOWN
