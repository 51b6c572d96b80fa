"""What systemd is told (sd_notify): readiness, reloads, stops, and that the daemon is alive."""

import os
import socket
import time
from collections.abc import MutableMapping


class SystemdNotifier:
    """The socket in `NOTIFY_SOCKET`; silent where there is none.

    The variables are taken out of *environment*: what the daemon starts has no business with them.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        address = environment.pop("NOTIFY_SOCKET", "")
        # A leading @ spells the NUL of the abstract namespace.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        microseconds, process = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        counts = microseconds.isascii() and microseconds.isdigit() and process in ("", str(os.getpid()))
        #: Seconds within which a beat is expected; 0 where nobody watches.
        self.watchdog = int(microseconds) / 1_000_000 if counts else 0.0

    def tell(self, *words: str) -> None:
        """Send *words* like `READY=1`; that nobody reads them stops nothing."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                # A supervisor that does not read must not hold the loop up.
                sock.setblocking(False)
                sock.sendto("\n".join(words).encode(), self._address)
        except OSError:
            pass

    def ready(self, status: str) -> None:
        self.tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        self.tell("STOPPING=1", "STATUS=Stopping: requests and runs that go on may end")

    def beat(self, status: str) -> None:
        self.tell("WATCHDOG=1", f"STATUS={status}")
