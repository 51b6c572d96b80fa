"""Notifications to systemd (sd_notify): readiness, reloads, shutdown and watchdog."""

import os
import socket
import time
from collections.abc import MutableMapping


class SystemdNotifier:
    """Sends notifications to `NOTIFY_SOCKET`, if it is set.

    Removes the variables of systemd from *environment*, so that child processes don't inherit them.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        address = environment.pop("NOTIFY_SOCKET", "")
        # A leading @ means the abstract namespace, whose names start with NUL.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        microseconds, process = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        counts = microseconds.isascii() and microseconds.isdigit() and process in ("", str(os.getpid()))
        #: Seconds within which the watchdog expects a notification; 0 without a watchdog.
        self.watchdog = int(microseconds) / 1_000_000 if counts else 0.0

    def tell(self, *words: str) -> None:
        """Send *words* like `READY=1`, and ignore errors."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                # Don't block the event loop if systemd doesn't read.
                sock.setblocking(False)
                sock.sendto("\n".join(words).encode(), self._address)
        except OSError:
            pass

    def ready(self, status: str) -> None:
        self.tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        self.tell("STOPPING=1", "STATUS=Stopping: requests and runs in progress may finish")

    def beat(self, status: str) -> None:
        self.tell("WATCHDOG=1", f"STATUS={status}")
