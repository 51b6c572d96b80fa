"""The daemon under systemd: its units, and notifications (sd_notify) of readiness, reloads,
shutdown and watchdog.

The units in `units/` say the reason for every line.  They name a program in /usr/bin, and are
printed for the one that runs.
"""

import os
import socket
import sys
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path


class SystemdNotifier:
    """Sends notifications to `NOTIFY_SOCKET`, if it is set.

    Removes the variables of systemd from *environment*, so that child processes don't inherit them.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        names = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
        address, microseconds, process = (environment.pop(name, "") for name in names)
        # A leading @ means the abstract namespace, whose names start with NUL.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        watches = process in ("", str(os.getpid()))
        #: Seconds within which the watchdog expects a notification; 0 without a watchdog.
        self.watchdog = int(microseconds or 0) / 1_000_000 if watches else 0.0

    def tell(self, *words: str) -> None:
        """Send *words* like `READY=1`, and ignore errors."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, suppress(OSError):
            # Don't block the event loop if systemd doesn't read.
            sock.setblocking(False)
            sock.sendto("\n".join(words).encode(), self._address)


#: Folders that `ProtectHome=yes` would hide the program in.
_HOMES = ("/home/", "/root/", "/run/user/")
#: What a home directory with the program in it changes.
_NO_HOMES = "# Home directories are inaccessible.\nProtectHome=yes\n"
_READ_ONLY_HOMES = (
    "# Home directories are read-only instead of inaccessible, because the program or its "
    "Python is in one.\nProtectHome=read-only\n"
)
#: The program in the units.
_PROGRAM = "/usr/bin/scenarioctl"
UNITS = Path(__file__).with_name("units")
#: The roles that have a template.
TEMPLATES = ("api", "worker")


def program() -> tuple[str, ...]:
    """Return the command line that runs this installation."""
    script = Path(sys.executable).parent / "scenarioctl"
    return (str(script),) if script.is_file() else (sys.executable, "-m", "scenarioctl")


def interpreter() -> str:
    """Return the real path of this installation's Python."""
    return str(Path(sys.executable).resolve())


def service_unit(*words: str, options: Sequence[str] = (), python: str = "") -> str:
    """Return the service unit that runs the command *words*, whose interpreter is *python*, as a
    daemon with *options*."""
    more = "".join(" " + _quoted(option.replace("$", "$$")) for option in options)
    unit = _for_program("scenarioctl.service", words, python)
    return unit.replace(" daemon\n", f" daemon{more}\n", 1)


def template_unit(*words: str, role: str, python: str = "") -> str:
    """Return the template of units that run the command *words* as daemons of *role*, each on the
    port that is its instance."""
    return _for_program(f"scenarioctl-{role}@.service", words, python)


def socket_unit() -> str:
    """Return the socket unit."""
    return (UNITS / "scenarioctl.socket").read_text(encoding="utf-8")


def _for_program(file: str, words: Sequence[str], python: str) -> str:
    unit = (UNITS / file).read_text(encoding="utf-8")
    if any(each.startswith(_HOMES) for each in (words[0], python)):
        unit = unit.replace(_NO_HOMES, _READ_ONLY_HOMES)
    return unit.replace(_PROGRAM, " ".join(_quoted(word) for word in words))


def _quoted(word: str) -> str:
    # systemd doesn't expand $ in the program's path, and can't escape quotes in it.
    escaped = word.replace("%", "%%")
    return f'"{escaped}"' if any(letter.isspace() for letter in escaped) else escaped
