"""The program `scenarioctl`.  To add a command, write a module and add a row to COMMANDS.

The table keeps `--help` and TAB completion from importing every command for one line of help.
"""

import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from scenarioctl import __version__
from scenarioctl.cli.commands import Group, wants_json
from scenarioctl.cli.failure import fail
from scenarioctl.cli.output import prepare_output, say
from scenarioctl.errors import ScenarioctlError, Warned

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Name -> (module under scenarioctl.cli, attribute, short help).
COMMANDS = {
    "create": (
        "create",
        "create",
        "Create a scenario: a transfer, a swap, a remark, a query or a flow.",
    ),
    "scenario": (
        "scenario",
        "scenario",
        "List, show, build, change, import, export and delete scenarios.",
    ),
    "job": ("job", "job", "Run scenarios on a schedule; show their logs and drafts."),
    "tx": ("tx", "tx", "Build, decode, check, sign, send and track transactions."),
    "asset": ("accounts", "asset", "List and show the known assets."),
    "balance": ("accounts", "balance", "Read what an account holds, in every known asset."),
    "address": ("accounts", "address", "Show what an address tells, and keep the address book."),
    "chain": ("chain", "chain", "List, show and refresh chains."),
    "query": ("chain", "query", "Read a chain: storage, constants, runtime APIs."),
    "store": ("status", "store", "Create, back up, restore and copy the store."),
    "config": ("config", "config", "Show and change the settings."),
    "daemon": ("config", "daemon", "Serve the HTTP API and run the jobs."),
    "doctor": ("status", "doctor", "Check this installation, and tell what to do."),
    "completion": ("about", "completion", "Complete commands in bash, zsh and fish."),
    "help": ("about", "help_", "Show the help of a command, or a guide."),
}
#: The same of commands that fewer people need.
MORE = {
    "multisig": (
        "accounts",
        "multisig",
        "List, approve, run and cancel the operations of multisigs.",
    ),
    "status": ("status", "status", "Show what needs you, and how the chains and jobs are."),
    "webhook": ("job", "webhook", "List the events of a webhook step, or post one."),
}
#: Words of the HTTP interface, which no help shows.
HIDDEN = {"xcm": ("tx", "xcm", "Build transfers from raw amounts.")}
_ALL = COMMANDS | MORE | HIDDEN


class LazyGroup(Group):
    """A group that imports a command only when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_ALL)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        row = _ALL.get(cmd_name)
        if row is None:
            return None
        from importlib import import_module

        command = getattr(import_module(f"scenarioctl.cli.{row[0]}"), row[1])
        return command if isinstance(command, click.Command) else None

    def shown(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS | MORE)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        for title, rows in (("Commands", COMMANDS), ("More", MORE)):
            with formatter.section(title):
                formatter.write_dl([(name, row[2]) for name, row in rows.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=row[2])
            for name, row in (COMMANDS | MORE).items()
            if name.startswith(incomplete)
        ]


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Answers go to stdout, everything else to stderr. Exit codes: 0 ok, 1 bug, 2 bad "
    "input, 3 not found, "
    "4 conflict, 5 chain unreachable, 6 the chain refused, 7 the job's last run failed, or "
    "--strict and a warning.",
)
@click.version_option(__version__, "-V", "--version", message="scenarioctl %(version)s")
def cli() -> None:
    """Unsigned transactions for Polkadot, Kusama and their parachains, from saved scenarios.

    scenarioctl builds transactions and never signs them: it holds no keys.
    """


def main() -> NoReturn:
    """Run the program, and end it with the exit code of the one table."""
    arguments = sys.argv[1:]
    prepare_output()
    flags: dict[str, object] = {}
    try:
        # Click returns the code of a command that exits, where it does not exit itself.
        status = cli.main(args=arguments, prog_name="scenarioctl", standalone_mode=False, obj=flags)
        sys.stdout.flush()
    except ScenarioctlError as error:
        fail(error, as_json=wants_json(arguments, flags), operation=str(flags.get("operation", "")))
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        fail(error, as_json=wants_json(arguments, flags), operation=str(flags.get("operation", "")))
    except (click.Abort, KeyboardInterrupt) as stop:
        for note in getattr(stop.__cause__ or stop, "__notes__", ()):
            say(f"Warning: {note}")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except SystemExit as stop:
        # Click ends with 1, which is a bug's, where the reader has had enough (`| head`); it means
        # no other.
        sys.exit(stop.code if "_SCENARIOCTL_COMPLETE" in os.environ else 141)
    except Exception as error:
        fail(error, as_json=wants_json(arguments, flags), operation=str(flags.get("operation", "")))
    if not status and flags.get("warnings") and flags.get("strict"):
        from scenarioctl.operations.results import OUTCOMES

        sys.exit(OUTCOMES[Warned.code].exit)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
