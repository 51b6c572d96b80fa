"""`scenarioctl completion`."""

import os
from pathlib import Path

import click

from scenarioctl.cli.commands import Group
from scenarioctl.cli.execution import emit, tell
from scenarioctl.cli.options import argument
from scenarioctl.errors import InvalidRequest, shorten, suggest


@click.group(cls=Group)
def completion() -> None:
    """Complete commands in bash, zsh and fish."""


@completion.command(example="scenarioctl completion show bash")
@argument("shell", metavar="SHELL")
def show(shell: str) -> None:
    """Print the completion script of a shell: bash, zsh or fish."""
    script = _script(shell)
    emit({"shell": shell, "script": script}, lambda: click.echo(script, nl=False))


@completion.command(example="scenarioctl completion install bash")
@argument("shell", metavar="[SHELL]", default="")
def install(shell: str) -> None:
    """Install the completion script of a shell for yourself, and print its path.

    SHELL is bash, zsh or fish; by default the one in $SHELL. New shells use it.
    """
    from scenarioctl.files import atomic_write, reason_of

    shell = shell or Path(os.environ.get("SHELL", "")).name
    script, path = _script(shell), user_path(shell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, script.encode(), mode=0o644)
    except OSError as error:
        raise InvalidRequest(f"completion {str(path)!r} cannot be written: {reason_of(error)}") from None
    emit({"shell": shell, "path": str(path)}, lambda: click.echo(str(path)))
    if shell == "zsh":
        tell(f"Add this to ~/.zshrc, above compinit: fpath=({path.parent} $fpath)")
    if shell == "bash":
        tell("The package bash-completion has to be installed.")


def user_path(shell: str) -> Path:
    """Return where *shell* finds the completion scripts of this user; zsh needs to be told."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    if shell == "bash":
        own = os.environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion"
        return Path(own) / "completions" / "scenarioctl"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_scenarioctl"
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return config / "fish" / "completions" / "scenarioctl.fish"


def _script(shell: str) -> str:
    from scenarioctl.cli.completion_scripts import SHELLS, completion_script

    if shell not in SHELLS:
        raise InvalidRequest(f"shell {shorten(shell)} has no completion, {suggest(shell, tuple(SHELLS))}")
    return completion_script(shell)
