"""`scenarioctl version`, `help` and `completion`: the program itself."""

import os
import platform
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from scenarioctl import __version__
from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.execution import emit, tell
from scenarioctl.cli.options import argument
from scenarioctl.errors import InvalidRequest


@click.command(cls=Command, example="scenarioctl version --json")
def version() -> None:
    """Print the version."""
    answer = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    emit(answer, lambda: click.echo(f"scenarioctl {__version__}"))


@click.command("help", cls=Command, example="scenarioctl help create transfer")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of the program, or of a command."""
    here = context.find_root()
    left = list(words)
    while left:
        word, group = left[0], here.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{here.command_path} has no commands of its own: omit {word[:60]}", here)
        # A misspelt one is answered with what it may mean; an option is no command.
        name, command, left = group.resolve_command(here, left)
        if command is None:
            raise click.UsageError(f"there is no command {word[:60]}", here)
        here = click.Context(command, info_name=name, parent=here)
    text = here.get_help()
    emit({"help": text}, lambda: click.echo(text))


SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}

#: Fixes for click's completion scripts: text in the script -> its replacement.
_FIXES = {
    # For `--from=hy` click offers the value without the option, and zsh would replace the whole word.
    "zsh": [
        (
            "    for type key descr in ${response}; do",
            """    local option=""
    [[ $words[CURRENT] == --*=* ]] && option="${words[CURRENT]%%=*}="

    for type key descr in ${response}; do
        if [[ "$type" == "plain" ]]; then
            key="$option$key"
        else
            compset -P "$option"
        fi""",
        )
    ],
    # click cuts a description at a comma, and fish compares a candidate with the whole word, option included.
    "fish": [
        ('(string split "," $completion)', '(string split --max 1 "," $completion)'),
        ("            echo $metadata[2];", '            echo "$option$metadata[2]";'),
        (
            "    for completion in $response;",
            """    set -l option (string match --regex -- '^--[^=]+=' (commandline -t));

    for completion in $response;""",
        ),
    ],
    # Bash splits `--from=hy` into three words, and inserts a value as it is.
    "bash": [
        (
            "            COMPREPLY+=($value)",
            """            [[ $value == *' '* ]] && printf -v value %q "$value"
            COMPREPLY+=("$value")""",
        ),
        (
            '    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD',
            """    local -a words=()
    local place word=$COMP_CWORD
    for place in "${!COMP_WORDS[@]}"; do
        if [[ ${COMP_WORDS[place]} == = && $place -lt $COMP_CWORD ]]; then
            word=$((word - 1))
        else
            words+=("${COMP_WORDS[place]}")
        fi
    done

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$word""",
        ),
    ],
}


def completion_script(shell: str) -> str:
    """Return the script for *shell*, one of SHELLS."""
    from scenarioctl.cli.main import cli

    completion = SHELLS[shell](cli, {}, "scenarioctl", "_SCENARIOCTL_COMPLETE")
    script = completion.source_template % completion.source_vars()
    for old, new in _FIXES.get(shell, ()):
        if script.count(old) != 1:
            raise RuntimeError(f"click's completion for {shell} has changed: {old!r} is not in it once")
        script = script.replace(old, new)
    return script


@click.group(cls=Group)
def completion() -> None:
    """Complete commands in bash, zsh and fish."""


@completion.command(hidden=True, example="scenarioctl completion show bash")
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
        raise InvalidRequest(
            field="completion", value=str(path), problem=f"cannot be written: {reason_of(error)}"
        ) from None
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

    if shell not in SHELLS:
        raise InvalidRequest(field="shell", value=shell, problem="has no completion", known=tuple(SHELLS))
    return completion_script(shell)
