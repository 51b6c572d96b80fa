"""`scenarioctl doctor`: whether all that the program needs is here, and what to do where it
isn't."""

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scenarioctl import __version__
from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import emit, open_application, read_settings, run
from scenarioctl.cli.output import list_some, printable
from scenarioctl.errors import (
    ChainUnreachable,
    DaemonUnreachable,
    InvalidRequest,
    ScenarioctlError,
    StoreUnavailable,
    shorten,
)
from scenarioctl.files import reason_of
from scenarioctl.operations.outcomes import OUTCOMES

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.probing import Probe
    from scenarioctl.chains.registry import Chain
    from scenarioctl.config import Settings


#: Seconds by which a chain's newest block, or a daemon, may be ahead of this machine's clock.
_AHEAD = 10
#: Seconds that a chain's newest block may be old.
_OLD = 120


@dataclass(frozen=True)
class HealthCheck:
    """What one check found."""

    name: str
    #: None if it is only a warning, or unknown.
    ok: bool | None
    text: str
    #: What to do about it; empty if there is nothing to do.
    advice: str = ""
    #: Whether it is broken only because something can't be reached.
    unreachable: bool = False
    #: What it has in common with other chains, with which it is shown as one line; empty for a line
    #: of its own.
    shared: str = ""


# This program


def check_python() -> HealthCheck:
    text, broken = _describe_packages("")
    started = f"scenarioctl {__version__}, Python {platform.python_version()}, {text}"
    if broken:
        missing = f"{started}; missing or too old: {', '.join(broken)}"
        return HealthCheck("python", False, missing, "install scenarioctl again")
    return HealthCheck("python", True, started)


def check_postgres() -> HealthCheck:
    text, broken = _describe_packages("postgres")
    if broken:
        advice = "only for a store on PostgreSQL: pip install 'scenarioctl[postgres]'"
        return HealthCheck("postgres", None, f"not installed: {', '.join(broken)}", advice)
    return HealthCheck("postgres", True, text)


def _describe_packages(extra: str) -> tuple[str, list[str]]:
    """Return the installed packages that the program, or its *extra*, needs; and those that are
    missing or too old."""
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        needed = requires("scenarioctl") or []
    except PackageNotFoundError:
        return "packages unknown: not installed as a package", []
    found, broken = [], []
    for requirement in needed:
        marker = re.search(r"extra\s*==\s*['\"](\w+)['\"]", requirement)
        name = re.match(r"[\w.-]+", requirement)
        if name is None or (marker[1] if marker else "") != extra:
            continue
        least = re.search(r">=\s*([\d.]+)", requirement)
        try:
            there = version(name[0])
        except PackageNotFoundError:
            broken.append(name[0])
            continue
        if least is not None and _numbers(there) < _numbers(least[1]):
            broken.append(f"{name[0]} {there} (needs {least[1]})")
        found.append(f"{name[0]} {there}")
    return ", ".join(found), broken


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in leading[0].split(".")] if leading else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def check_config(settings: "Settings") -> HealthCheck:
    """Describe config.toml, which was read: an unknown key or a wrong value was refused."""
    if not settings.config.exists():
        return HealthCheck("config", True, f"{settings.config} does not exist, the defaults apply")
    from scenarioctl.config import secrets_in
    from scenarioctl.files import is_open

    written = {
        name: getattr(settings, name)
        for name, origin in settings.origins.items()
        if origin == "config.toml"
    }
    secrets = secrets_in(written)
    if secrets and is_open(settings.config):
        text = (
            f"{settings.config} has a secret ({', '.join(secrets)}), and every user of this "
            "machine can read it"
        )
        return HealthCheck("config", False, text, f"chmod 600 {settings.config}")
    return HealthCheck(
        "config", True, f"{settings.config}, {len(written)} settings, no unknown keys"
    )


def check_store(app: "Application") -> HealthCheck:
    from scenarioctl.config import is_server, without_password

    origin = app.settings.origins.get("store", "default")
    location = (
        f"{without_password(app.settings.store)} ({'--store' if origin == 'flag' else origin})"
    )
    on_server = is_server(app.settings.store)
    if on_server and app.settings.offline:
        return HealthCheck("store", None, f"{location}, not checked: offline")
    try:
        path = None if on_server else Path(app.settings.store)
        if path is not None:
            folder = next(each for each in path.absolute().parents if each.exists())
            reason = _try_to_write(path, folder)
            if reason:
                text = f"{location} cannot be written: {reason}"
                return HealthCheck("store", False, text, f"make {folder} writable, or set store")
            if not path.exists():
                return HealthCheck("store", True, f"{location}, created with the first scenario")
        found = run(app.store.inspect(app.clock))
        text = f"{location}, {found.engine}, tables of version {found.version}"
        if path is not None:
            text += f", {path.stat().st_size / 2**20:.1f} MiB, writable"
    except (ScenarioctlError, OSError) as error:
        return HealthCheck(
            "store",
            False,
            f"{location}: {error}",
            "for more: scenarioctl store check",
            unreachable=isinstance(error, StoreUnavailable),
        )
    if found.findings:
        return HealthCheck("store", None, text, "; ".join(found.findings))
    return HealthCheck("store", True, text)


def _try_to_write(path: Path, folder: Path) -> str:
    """Return why *path*, if it exists, and new files beside it can't be written; empty if they
    can."""
    from tempfile import TemporaryFile

    try:
        # Before the store is opened: SQLite would lose its locks when another descriptor of the
        # file is closed.
        if path.exists():
            path.open("r+b").close()
        with TemporaryFile(dir=folder) as file:
            file.write(b"scenarioctl")
            file.flush()
    except OSError as error:
        return reason_of(error)
    return ""


def check_notifications(app: "Application") -> HealthCheck | None:
    """Tell where notifications go, and whether they arrive; None if nobody asked for any."""
    from scenarioctl.model.notifications import describe_target

    settings = app.settings
    try:
        waiting = run(app.store.outbox().figures())
    except (ScenarioctlError, OSError):
        # The check of the store says why.
        return None
    if waiting.retrying:
        text = f"{waiting.queued} queued, {waiting.retrying} not delivered so far: {waiting.error}"
        return HealthCheck("notifications", None, text, "to try it: scenarioctl notify test")
    targets = ", ".join(describe_target(each) for each in settings.notify)
    if not targets and not waiting.queued:
        return None
    text = f"{waiting.queued} queued, to {targets or 'targets of single jobs'}"
    if not settings.notify_secret:
        return HealthCheck(
            "notifications", None, f"{text}, not signed", "set notify_secret to sign them"
        )
    return HealthCheck("notifications", True, f"{text}, signed")


# Chains

_UNCHECKED = "endpoints not checked: offline"
_WITHOUT_ENDPOINTS = "no endpoints"
_UNREACHABLE = "no endpoint answers"
_ANSWERING = "no current runtime table here"
#: What chains have in common -> what to do about all of them.
_SHARED_ADVICE = {
    _UNCHECKED: "to build offline where there is no runtime table: scenarioctl chain refresh CHAIN",
    _WITHOUT_ENDPOINTS: "set chains.CHAIN.endpoints to connect",
    _UNREACHABLE: (
        "check the network, or set chains.CHAIN.endpoints; --offline builds with the runtime "
        "tables here"
    ),
    _ANSWERING: "to build offline as they are now: scenarioctl chain refresh CHAIN...",
}


def look_at_chains(app: "Application") -> tuple[list[HealthCheck], tuple[str, float] | None]:
    """Return a check of each chain, and of one that answers its endpoint and how old its newest
    block is, in seconds."""
    from scenarioctl.cli.chain import describe_state

    chains = app.registry.all()
    if app.settings.offline:
        return [_check_table(app, each) for each in chains], None
    from scenarioctl.chains.probing import probe

    probes = run(probe(chains))
    checks = []
    for each in chains:
        own = [one for one in probes if one.chain == each.name]
        checks.append(_judge_chain(each, own, describe_state(app, each, own)["table"]))
    return checks, next(filter(None, (_block_age(app, one) for one in probes if one.healthy)), None)


def _check_table(app: "Application", chain: "Chain") -> HealthCheck:
    from scenarioctl.operations.chains import source_of

    table = app.known_runtime(chain)
    if table is None:
        text = f"no runtime table here; {_UNCHECKED}"
        advice = f"to build offline: scenarioctl chain refresh {chain.name}"
        return HealthCheck(chain.name, None, text, advice, shared=_UNCHECKED)
    known = f"runtime table {table.spec_version} ({source_of(table, chain)})"
    return HealthCheck(chain.name, None, f"{known}; {_UNCHECKED}", shared=_UNCHECKED)


def _judge_chain(chain: "Chain", probes: "Sequence[Probe]", table: dict[str, Any]) -> HealthCheck:
    known = f"runtime table {table['spec_version']} ({table['source']})"
    known = "no runtime table here" if table["state"] == "none" else f"{known}, {table['state']}"
    healthy = [one for one in probes if one.healthy]
    if not probes:
        text = f"no endpoints, {known}"
        advice = f"set chains.{chain.name}.endpoints to connect"
        return HealthCheck(chain.name, None, text, advice, shared=_WITHOUT_ENDPOINTS)
    if not healthy:
        text = f"no endpoint answers: {probes[0].reason}; {known}"
        what_to_do = f"check the network, or set chains.{chain.name}.endpoints"
        if table["state"] != "none":
            what_to_do += "; --offline builds with that table"
        return HealthCheck(
            chain.name, False, text, what_to_do, unreachable=True, shared=_UNREACHABLE
        )
    best = min(healthy, key=lambda one: one.latency or 0)
    genesis = "genesis as expected" if chain.genesis else "genesis unknown"
    runs = f"{best.spec_name} {best.spec_version}"
    text = (
        f"{len(healthy)} of {len(probes)} endpoints answer, "
        f"{(best.latency or 0) * 1000:.0f} ms, block {best.block}, "
        f"{genesis}, runs {runs}; {known}"
    )
    bad = [one.reason for one in probes if not one.healthy]
    warnings = [f"an endpoint is not to be relied on: {bad[0]}"] if bad else []
    if table["state"] != "current":
        warnings.append(
            f"to build offline as the chain is now: scenarioctl chain refresh {chain.name}"
        )
    return HealthCheck(
        chain.name,
        None if warnings else True,
        text,
        "; ".join(warnings),
        shared="" if bad else _ANSWERING,
    )


def _block_age(app: "Application", one: "Probe") -> tuple[str, float] | None:
    from scenarioctl.chains.connection import NodeConnection
    from scenarioctl.runtime.storage_keys import TIMESTAMP_NOW, read_timestamp

    async def ask() -> Any:
        connection = await NodeConnection.open(app.registry.find(one.chain), one.endpoint)
        try:
            return await connection.call("state_getStorage", TIMESTAMP_NOW)
        finally:
            await connection.abort()

    try:
        milliseconds = read_timestamp(run(ask()))
    except (ScenarioctlError, OSError):
        return None
    if milliseconds is None:
        return None
    return one.endpoint, app.clock() / 1e9 - milliseconds / 1000


# The daemon, and the clock


def check_daemon(settings: "Settings") -> tuple[HealthCheck, float | None]:
    """Return what a daemon at `url` tells, or at the address where one listens by default; and the
    time of its clock."""
    from scenarioctl.cli.remote import fetch_page, parse_url

    named = bool(settings.url)
    # Without `url`, who listens there is not known, so it is sent no token.
    listen = next(iter(settings.listen), "127.0.0.1:8080")
    here = f"unix://{listen[5:]}" if listen.startswith("unix:") else f"http://{listen}"
    asked = settings if named else replace(settings, url=here, token="")
    try:
        if settings.offline and not parse_url(asked.url).is_local:
            return HealthCheck("daemon", None, f"{shorten(asked.url)} not asked: offline"), None
        page = fetch_page(asked, "/version")
        # A daemon on this machine has this clock, which proves nothing.
        date = None if parse_url(asked.url).is_local else page.date
        version = json.loads(page.body)
        if page.status != 200 or version["name"] != "scenarioctl":
            raise DaemonUnreachable(f"{asked.url} is not a scenarioctl daemon")
        text = f"scenarioctl {version['version']} at {asked.url}, role {version['role']}"
        status = fetch_page(asked, "/metrics").status if named else None
    except (ScenarioctlError, OSError, ValueError, KeyError, TypeError) as error:
        if not named:
            return HealthCheck(
                "daemon", None, f"none at {asked.url}", "to serve: scenarioctl daemon"
            ), None
        said = (
            str(error)
            if isinstance(error, (ScenarioctlError, OSError))
            else f"{asked.url} is not a scenarioctl daemon"
        )
        is_away = isinstance(error, (DaemonUnreachable, OSError))
        return HealthCheck(
            "daemon", False, said, "correct url, or start it", unreachable=is_away
        ), None
    if status in (401, 403):
        said = "the token is refused" if settings.token else "it needs a token"
        advice = (
            "make one there with scenarioctl config token NAME, and set token or "
            "SCENARIOCTL_TOKEN here"
        )
        return HealthCheck("daemon", False, f"{text}, {said}", advice), date
    if status == 200:
        text += ", the token is accepted" if settings.token else ", no token is needed to read"
    if version["version"] != __version__:
        return HealthCheck(
            "daemon", None, text, f"this is {__version__}: use the same version"
        ), date
    return HealthCheck("daemon", True, text), date


def check_clock(
    app: "Application", block: tuple[str, float] | None, date: float | None
) -> HealthCheck:
    """Compare this machine's clock with a chain's newest block, else with the daemon's."""
    if block is not None:
        endpoint, age = block
        if age < -_AHEAD:
            text = f"this clock is at least {-age:.0f} s behind the newest block of {endpoint}"
            return HealthCheck("clock", False, text, "set the clock, for example with NTP")
        if age > _OLD:
            text = f"the newest block of {endpoint} is {age:.0f} s old by this clock"
            return HealthCheck(
                "clock", None, text, "either the chain stands still, or this clock is ahead"
            )
        return HealthCheck(
            "clock", True, f"the newest block of {endpoint} is {max(age, 0):.0f} s old"
        )
    if date is not None:
        ahead = app.clock() / 1e9 - date
        if abs(ahead) > _AHEAD:
            text = (
                f"this clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} "
                "that of the daemon"
            )
            return HealthCheck("clock", None, text, "set the wrong one, for example with NTP")
        return HealthCheck("clock", True, "agrees with the daemon's")
    return HealthCheck("clock", None, "unknown: no chain and no daemon to compare it with")


# What the shell finds


def check_completion() -> HealthCheck:
    from scenarioctl.cli.about import SHELLS, user_path

    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        return HealthCheck(
            "completion", None, f"unknown shell {shorten(shell)}, expected bash, zsh or fish"
        )
    own = user_path(shell)
    places = _completion_places(shell, own.parent)
    found = next((path for each in places if (path := each / own.name).is_file()), None)
    if found is not None:
        return HealthCheck("completion", True, f"{shell} finds {found}")
    if own.is_file():
        text = f"{own} is there; whether fpath in ~/.zshrc has its directory is unknown"
        return HealthCheck(
            "completion", None, text, f"if not, add above compinit: fpath=({own.parent} $fpath)"
        )
    text = f"{shell} finds none where it looks by default"
    return HealthCheck(
        "completion", None, text, f"to install it: scenarioctl completion install {shell}"
    )


def _completion_places(shell: str, own: Path) -> Iterator[Path]:
    """Yield the directories that *shell* searches without being told; *own* is the user's, which
    zsh isn't told of."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    system = [
        Path(each)
        for each in (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    ]
    if shell == "bash":
        yield own
        yield from (each / "bash-completion/completions" for each in system)
    elif shell == "zsh":
        # A shell rarely exports its fpath; these are in it by default.
        yield from map(Path, filter(None, os.environ.get("FPATH", "").split(":")))
        for each in (Path("/usr/local/share"), Path("/usr/share")):
            yield from (each / "zsh/site-functions", each / "zsh/vendor-completions")
    else:
        yield own
        yield from (each / "fish/vendor_completions.d" for each in (data, *system))


def check_man_page() -> HealthCheck:
    if shutil.which("man") is None:
        return HealthCheck(
            "man page", None, "there is no man on this machine", "use scenarioctl help"
        )
    # As man-db does: beside each directory of programs.
    beside = [
        Path(each).parent / "share/man"
        for each in os.environ.get("PATH", "").split(os.pathsep)
        if each
    ]
    written = [Path(each) for each in os.environ.get("MANPATH", "").split(":") if each]
    places = [*written, *beside, Path("/usr/local/share/man"), Path("/usr/share/man")]
    names = ("scenarioctl.1", "scenarioctl.1.gz")
    found = next(
        (path for each in places for name in names if (path := each / "man1" / name).is_file()),
        None,
    )
    if found is not None:
        return HealthCheck("man page", True, f"man finds {found}")
    own = Path(sys.prefix, "share/man")
    advice = "install scenarioctl with pipx, which brings it"
    if (own / "man1" / names[0]).is_file():
        advice = f"export MANPATH={own}:"
    return HealthCheck("man page", None, "man finds none", advice)


_MARKS = {True: "✓", False: "✗", None: "!"}
#: As many chains with the same fault are named.
_NAMED = 3


@click.command(cls=Command, example="scenarioctl doctor\n  scenarioctl doctor --offline --json")
def doctor() -> None:
    """Check this installation: settings, store, chains, daemon, shell and clock.

    ✗ is broken, ! is a warning or unknown, and one line has all that is fine; --verbose shows every
    check. The exit code is 0 if nothing is broken, 5 if only a chain, a daemon or a store's server
    can't be reached, else 2. With --offline, nothing is asked over a network.
    """
    checks = list(_checks())
    broken = [each for each in checks if each.ok is False]
    answer = {
        "ok": not broken,
        "checks": [
            {"name": each.name, "ok": each.ok, "text": each.text, "advice": each.advice}
            for each in checks
        ],
    }
    emit(answer, lambda: _draw(checks))
    if broken:
        # What can't be reached may be back in a moment; anything else needs a person, so it counts
        # more.
        kind = ChainUnreachable if all(each.unreachable for each in broken) else InvalidRequest
        click.get_current_context().exit(OUTCOMES[kind.code].exit)


def _checks() -> Iterator[HealthCheck]:
    yield check_python()
    yield check_postgres()
    try:
        app, broken = _open_without_errors()
    except (ScenarioctlError, OSError) as error:
        # A flag or a variable: what is meant is not known.
        text = "correct it; all that depends on the settings was not checked"
        yield HealthCheck("config", False, str(error), text)
    else:
        yield broken or check_config(app.settings)
        yield from (
            HealthCheck(f"chains.{name}", None, said)
            for name, said in app.registry.incomplete.items()
        )
        yield check_store(app)
        notifications = check_notifications(app)
        if notifications is not None:
            yield notifications
        yield check_facts(app)
        moment = None
        try:
            chains, moment = look_at_chains(app)
            yield from chains
        except (ScenarioctlError, OSError) as error:
            yield HealthCheck("chains", False, str(error))
        daemon, date = check_daemon(app.settings)
        yield daemon
        yield check_clock(app, moment, date)
    yield check_completion()
    yield check_man_page()


def check_facts(app: "Application") -> HealthCheck:
    """Tell how old the facts about the chains are."""
    from scenarioctl.transactions import fact_ages

    today = fact_ages.day_of(app.clock())
    oldest = fact_ages.find_oldest(app.registry.all(), app.registry)
    if oldest is None:
        return HealthCheck("facts", None, "none here", "install scenarioctl again")
    fact, chain = oldest
    if fact.read > today:
        text = (
            f"it is {today} by this clock, and the {fact.what} of {chain.title} was read on "
            f"{fact.read}"
        )
        return HealthCheck("facts", False, text, "set the clock, for example with NTP")
    text = (
        f"the oldest, {fact.what} of {chain.title}, is {(today - fact.read).days} days old "
        f"({fact.read})"
    )
    is_old = today - fact.read > fact_ages.LIMIT
    return HealthCheck(
        "facts", None if is_old else True, text, "upgrade scenarioctl" if is_old else ""
    )


def _open_without_errors() -> "tuple[Application, HealthCheck | None]":
    """Return the application, and what is wrong with config.toml, without which it is opened
    then."""
    try:
        read_settings()
    except (ScenarioctlError, OSError) as error:
        # Whether it forbids to ask a node isn't known.
        read_settings(config=os.devnull, offline=True)
        text = "correct it; the other checks are made without it, and offline"
        return open_application(warns=False), HealthCheck("config", False, str(error), text)
    app = open_application(warns=False)
    try:
        # Read now: a wrong [chains.NAME] is one in config.toml.
        _ = app.registry
    except ScenarioctlError as error:
        app.renew(replace(app.settings, chains={}))
        text = "correct it; the other checks are made without the chains of config.toml"
        return app, HealthCheck("config", False, str(error), text)
    return app, None


def _draw(checks: list[HealthCheck]) -> None:
    shown = (
        checks if click.get_current_context().find_root().obj.get("verbose") else _in_brief(checks)
    )
    width = max(len(each.name) for each in shown)
    letters = _MARKS if _spells_marks() else {True: "ok", False: "x ", None: "! "}
    for each in shown:
        stop = "" if each.text.endswith("?") else "."
        advice = f"{stop} {each.advice[:1].upper()}{each.advice[1:]}" if each.advice else ""
        click.echo(f"{letters[each.ok]} {each.name:{width}}  {printable(each.text + advice)}")


def _in_brief(checks: list[HealthCheck]) -> list[HealthCheck]:
    """Return what is wrong, chains with the same fault as one check, and one check of all that is
    fine."""
    groups: dict[str, list[HealthCheck]] = {}
    for each in checks:
        if not each.ok:
            groups.setdefault(each.shared or each.name, []).append(each)
    shown = [own[0] if len(own) == 1 else _join(shared, own) for shared, own in groups.items()]
    fine = [each for each in checks if each.ok]
    names = [each.name for each in fine if not each.shared]
    count = len(fine) - len(names)
    if count:
        names.append(f"{count} chain{'s'[: count > 1]}")
    return [*shown, HealthCheck("fine", True, ", ".join(names))] if names else shown


def _join(shared: str, own: list[HealthCheck]) -> HealthCheck:
    names = list_some([each.name for each in own], _NAMED)
    return HealthCheck(
        f"{len(own)} chains", own[0].ok, f"{shared} ({names})", _SHARED_ADVICE[shared]
    )


def _spells_marks() -> bool:
    try:
        "".join(_MARKS.values()).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
