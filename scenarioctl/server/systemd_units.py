"""The systemd units, with the reason for every line.  `packaging/` has them for a program in /usr/bin."""

import stat
import sys
from collections.abc import Sequence
from pathlib import Path

#: Folders that `ProtectHome=yes` would hide the program in.
_HOMES = ("/home/", "/root/", "/run/user/")

_SERVICE = """\
# scenarioctl: {what}. Needs systemd {systemd} or newer.
# Install it as /etc/systemd/system/{file}, then:
#   systemctl daemon-reload && systemctl enable --now {started}

[Unit]
Description=scenarioctl: {description}
# Runs that query chains need the network.
Wants=network-online.target
After=network-online.target
# Never give up restarting.
StartLimitIntervalSec=0

[Service]
# The daemon reports readiness, reloads and shutdown itself (sd_notify).
Type=notify
NotifyAccess=main
ExecStart={executable} daemon{options}
# SIGHUP reloads config.toml without dropping jobs or connections.
ExecReload=/bin/kill -HUP $MAINPID
# Restart the daemon if its event loop or its worker hangs.
WatchdogSec=60
Restart=on-failure
# Leave time to fix what prevents a start, like a full disk or a wrong setting.
RestartSec=5
# Requests and runs have 10 seconds each to finish. The rest is for a store on a slow disk.
TimeoutStopSec=60

# Settings: /etc/scenarioctl/config.toml. The service's user must be able to read it. It holds only hashes of tokens.
# No ConfigurationDirectory=: systemd 252 would make that user its owner, who could then create tokens.
Environment=XDG_CONFIG_HOME=%E
# The store, unless config.toml names another: /var/lib/scenarioctl/scenarios.db, readable by this service only.
StateDirectory=scenarioctl
StateDirectoryMode=0700
Environment=XDG_DATA_HOME=%S
{passwords}# Cached runtime tables of connected chains. They can be deleted at any time.
CacheDirectory=scenarioctl
Environment=SCENARIOCTL_CACHE=%C/scenarioctl
# For listen = ["unix:/run/scenarioctl/api.sock"]. Only root can use that socket; for other users, use the socket unit.
# The directory stays when one of several such services stops. Each daemon removes its own socket.
RuntimeDirectory=scenarioctl
RuntimeDirectoryPreserve=yes

# A user that exists while the service runs and owns only the directories above. Units with other names get the same
# user, so that an API and a worker can share the store.
DynamicUser=yes
User=scenarioctl
# New files are readable by this user only.
UMask=0077
# 2048 client connections, plus connections to chains and web servers.
LimitNOFILE=8192
# Threads for the store, decoding and DNS.
TasksMax=256
# No core dumps when the watchdog kills it: memory holds tokens and webhook data.
LimitCORE=0

# No program that it starts can gain privileges.
NoNewPrivileges=yes
# Ports above 1023 need no root rights. For lower ports, use the socket unit.
CapabilityBoundingSet=
AmbientCapabilities=
# The file system is read-only, except for the directories above.
ProtectSystem=strict
{protect_home}
# A private /tmp, and no devices except /dev/null and similar ones.
PrivateTmp=yes
PrivateDevices=yes
# Remove shared memory and message queues when the service stops.
RemoveIPC=yes
# No changes to clock, host name, kernel settings, modules, kernel log or cgroups.
ProtectClock=yes
ProtectHostname=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
# Processes of other users are invisible. (Not ProcSubset=pid: workers are identified by the boot id in /proc/sys.)
ProtectProc=invisible
# TCP to clients, chains and web servers; Unix sockets for clients and systemd. No raw packets, no netlink.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
# No namespaces, real-time scheduling, setuid files or other personalities: they are ways out of a sandbox.
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
# Memory is never both writable and executable.
MemoryDenyWriteExecute=yes
# Only the system calls of an ordinary service on the native architecture. Others fail with EPERM.
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""

_PASSWORDS = """\
# Passwords of a store on PostgreSQL, in lines of libpq's format, readable by root only. The file must exist, and may be empty.
LoadCredential=pgpass:/etc/scenarioctl/pgpass
Environment=PGPASSFILE=%d/pgpass
"""

#: Role -> what instances of its template are, the option that has their port, and a port.
TEMPLATES = {
    "api": ("scenario API", "--listen", 8080),
    "worker": ("job worker and its API", "--worker-listen", 8081),
}

_SOCKET = """\
# systemd listens for scenarioctl, so that no request is refused during a restart. Ports below 1024 work too.
# Install it as /etc/systemd/system/scenarioctl.socket next to scenarioctl.service, then:
#   systemctl daemon-reload && systemctl enable --now scenarioctl.socket

[Unit]
Description=scenarioctl: sockets of the scenario API and the job worker

[Socket]
# The first is for the scenario API, the second for the job worker API.
ListenStream=127.0.0.1:8080
ListenStream=127.0.0.1:8081
# For a Unix socket instead (ListenStream=/run/scenarioctl.sock): its group can use it, root unless you set SocketGroup=.
SocketMode=0660
# The same as the daemon's own backlog.
Backlog=1024

[Install]
WantedBy=sockets.target
"""


def program() -> tuple[str, ...]:
    """Return the command line that runs this installation."""
    script = Path(sys.executable).parent / "scenarioctl"
    return (str(script),) if script.is_file() else (sys.executable, "-m", "scenarioctl")


def shut_folder(*files: str) -> Path | None:
    """Return the first directory on the path to one of *files* that other users can't enter; None if there is none."""
    for file in files:
        # Check the path of a link and the path of its target.
        for folder in (*reversed(Path(file).parents), *reversed(Path(file).resolve().parents)):
            try:
                if not folder.stat().st_mode & stat.S_IXOTH:
                    return folder
            except OSError:
                return folder
    return None


def interpreter() -> str:
    """Return the real path of this installation's Python."""
    return str(Path(sys.executable).resolve())


def service_unit(*words: str, options: Sequence[str] = (), python: str = "") -> str:
    """Return the service unit that runs the command *words*, whose interpreter is *python*, as a daemon with *options*."""
    return _write_unit(
        words,
        python,
        options="".join(" " + _quoted(option.replace("$", "$$")) for option in options),
        what="scenario API, job worker API and worker",
        systemd="247",
        file="scenarioctl.service",
        started="scenarioctl",
        description="scenario API and job worker",
        passwords="",
    )


def template_unit(*words: str, role: str, python: str = "") -> str:
    """Return the template of units that run the command *words* as daemons of *role*, each on the port that is its instance."""
    description, listen, port = TEMPLATES[role]
    return _write_unit(
        words,
        python,
        options=f" --role {role} {listen} 127.0.0.1:%i",
        what=f"{description} on a port of this machine, which is the instance",
        systemd="250",
        file=f"scenarioctl-{role}@.service",
        started=f"scenarioctl-{role}@{port}",
        description=f"{description} on port %i",
        passwords=_PASSWORDS,
    )


def _write_unit(words: Sequence[str], python: str, **texts: str) -> str:
    if any(each.startswith(_HOMES) for each in (words[0], python)):
        protect_home = "# Home directories are read-only instead of inaccessible, because the program or its Python is in one.\nProtectHome=read-only"
    else:
        protect_home = "# Home directories are inaccessible.\nProtectHome=yes"
    return _SERVICE.format(
        executable=" ".join(_quoted(word) for word in words),
        protect_home=protect_home,
        **texts,
    )


def socket_unit() -> str:
    """Return the socket unit."""
    return _SOCKET


def _quoted(word: str) -> str:
    # systemd doesn't expand $ in the program's path, and can't escape quotes in it.
    escaped = word.replace("%", "%%")
    return f'"{escaped}"' if any(letter.isspace() for letter in escaped) else escaped
