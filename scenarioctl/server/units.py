"""The units for systemd, with the reason of every line; `packaging/` has them as for a program in /usr/bin."""

import stat
import sys
from collections.abc import Sequence
from pathlib import Path

#: Folders that `ProtectHome=yes` would hide the program in.
_HOMES = ("/home/", "/root/", "/run/user/")

_SERVICE = """\
# scenarioctl: the scenario API, the job worker's API and the worker, for systemd 247 or newer.
# Install it as /etc/systemd/system/scenarioctl.service, then:
#   systemctl daemon-reload && systemctl enable --now scenarioctl

[Unit]
Description=scenarioctl: scenario API and job worker
# Runs that ask chains would only fail before there is a network.
Wants=network-online.target
After=network-online.target
# It may try as often as it takes.
StartLimitIntervalSec=0

[Service]
# The daemon says itself when it serves, reloads and stops (sd_notify).
Type=notify
NotifyAccess=main
ExecStart={executable} daemon{options}
# SIGHUP: config.toml is read anew, and no job or connection is dropped.
ExecReload=/bin/kill -HUP $MAINPID
# Killed and started anew where the event loop or the worker do not move any more.
WatchdogSec=60
Restart=on-failure
# What keeps it from starting, like a full disk or a wrong setting, may have been mended by then.
RestartSec=5
# Requests and runs have 10 seconds each for their end; this is for a store on a slow disk.
TimeoutStopSec=60

# Settings: /etc/scenarioctl/config.toml, which the service's user must be able to read (it holds hashes of tokens only).
# (No ConfigurationDirectory=: systemd 252 makes that user its owner, who could give himself tokens.)
Environment=XDG_CONFIG_HOME=%E
# The store: /var/lib/scenarioctl/scenarios.db, for this service's eyes alone.
StateDirectory=scenarioctl
StateDirectoryMode=0700
Environment=SCENARIOCTL_STORE=%S/scenarioctl/scenarios.db
# Runtime tables of connected chains, which may be lost at any time.
CacheDirectory=scenarioctl
Environment=SCENARIOCTL_CACHE=%C/scenarioctl
# For listen = ["unix:/run/scenarioctl/api.sock"], which root alone may call: for others, use the socket unit.
# It stays when one of several such services ends; a socket goes with its daemon.
RuntimeDirectory=scenarioctl
RuntimeDirectoryPreserve=yes

# A user that exists while the service runs, and owns nothing but the folders above; the same one for units of other
# names, so that an api and a worker share the store.
DynamicUser=yes
User=scenarioctl
# Files that it makes are its own alone.
UMask=0077
# 2048 connections of clients, and those to chains and web servers.
LimitNOFILE=8192
# Threads for the store, chains and names.
TasksMax=256
# What the watchdog ends leaves no memory behind in a file: tokens and webhooks' data are in it.
LimitCORE=0

# No program that it could start gets rights that it has not.
NoNewPrivileges=yes
# It listens above port 1023, and needs no right of root; below, use the socket unit.
CapabilityBoundingSet=
AmbientCapabilities=
# The file system is read-only, but for the folders above.
ProtectSystem=strict
{protect_home}
# /tmp of its own, no devices beside /dev/null and its like.
PrivateTmp=yes
PrivateDevices=yes
# No shared memory or queues are left behind.
RemoveIPC=yes
# Clock, host name, kernel settings, modules, log and cgroups are none of its business.
ProtectClock=yes
ProtectHostname=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
# Processes of other users are invisible. (Not ProcSubset=pid: workers are told apart by the boot's id in /proc/sys.)
ProtectProc=invisible
# TCP to clients, chains and web servers; Unix sockets for clients and systemd. No packets, no netlink.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
# No namespaces, real-time scheduling, setuid files or other personalities: ways out of a sandbox.
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
# Memory is never both writable and executable: nothing in it is compiled while it runs.
MemoryDenyWriteExecute=yes
# The system calls of an ordinary service, of this machine's own kind; anything else fails, and is not fatal.
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""

_SOCKET = """\
# systemd listens for scenarioctl: no request is refused while it is started anew, and ports below 1024 are possible.
# Install it as /etc/systemd/system/scenarioctl.socket beside scenarioctl.service, then:
#   systemctl daemon-reload && systemctl enable --now scenarioctl.socket

[Unit]
Description=scenarioctl: sockets of the scenario API and the job worker

[Socket]
# The first is the scenario API's, the second the job worker's.
ListenStream=127.0.0.1:8080
ListenStream=127.0.0.1:8081
# For a Unix socket in their place (ListenStream=/run/scenarioctl.sock): its group may call, root unless SocketGroup= is given.
SocketMode=0660
# As many as the daemon takes itself.
Backlog=1024

[Install]
WantedBy=sockets.target
"""


def program() -> tuple[str, ...]:
    """Return how this installation's program is called."""
    script = Path(sys.executable).parent / "scenarioctl"
    return (str(script),) if script.is_file() else (sys.executable, "-m", "scenarioctl")


def shut_folder(*files: str) -> Path | None:
    """Return the first folder on the way to one of *files* that others than its owner and group may not pass."""
    for file in files:
        # Links are followed from both of their ends.
        for folder in (*reversed(Path(file).parents), *reversed(Path(file).resolve().parents)):
            try:
                if not folder.stat().st_mode & stat.S_IXOTH:
                    return folder
            except OSError:
                return folder
    return None


def interpreter() -> str:
    """Return where this installation's Python really is, which may be elsewhere than the program."""
    return str(Path(sys.executable).resolve())


def service_unit(*words: str, options: Sequence[str] = (), python: str = "") -> str:
    """Return the service's unit for the program that *words* call, and *python* runs, as a daemon with *options*."""
    if any(each.startswith(_HOMES) for each in (words[0], python)):
        protect_home = "# Other people's files are read-only, and not out of sight: the program or its Python is in a home itself.\nProtectHome=read-only"
    else:
        protect_home = "# Homes are out of sight.\nProtectHome=yes"
    return _SERVICE.format(
        executable=" ".join(_quoted(word) for word in words),
        options="".join(" " + _quoted(option.replace("$", "$$")) for option in options),
        protect_home=protect_home,
    )


def socket_unit() -> str:
    """Return the unit of the service's sockets."""
    return _SOCKET


def _quoted(word: str) -> str:
    # Of the program's own path, systemd reads no $; quotes in it are more than it can spell.
    escaped = word.replace("%", "%%")
    return f'"{escaped}"' if any(letter.isspace() for letter in escaped) else escaped
