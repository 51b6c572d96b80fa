"""`scenarioctl version` and `scenarioctl help`: what `--version` and `--help` tell, as words."""

import platform

import click

from scenarioctl import __version__
from scenarioctl.cli.commands import Command
from scenarioctl.cli.execution import emit


@click.command(cls=Command, example="scenarioctl version --json")
def version() -> None:
    """Print the version."""
    answer = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    emit(answer, lambda: click.echo(f"scenarioctl {__version__}"))


@click.command("help", cls=Command, example="scenarioctl help create scenario")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of the program, or of a command."""
    here = context.find_root()
    for word in words:
        group = here.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{here.command_path} has no commands of its own: omit {word[:60]}", here)
        # A misspelt one is answered with what it may mean; an option is no command.
        _, command, _ = group.resolve_command(here, [word])
        if command is None:
            raise click.UsageError(f"there is no command {word[:60]}", here)
        here = click.Context(command, info_name=word, parent=here)
    text = here.get_help()
    emit({"help": text}, lambda: click.echo(text))
